"""From an audit to other candidates: strata, their weights, intervals, and what is not covered."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditing.tables import cohort, lossy, table, two_judges
from bonwise.auditing.front import audit
from bonwise.errors import BonwiseError, InputError, UsageError
from bonwise.studies.candidates.engine import post_stratified
from bonwise.studies.candidates.front import study_transfer
from bonwise.table.scales import Scale
from cli.commands import typed
from stats.nominal import assert_covered

PAIRS, POOLS = ("effective_agreement", "pair_loss"), ("gain", "recovery")


def without_labels(frame):
    """Return the scores alone."""
    return frame.drop(columns="oracle_label")


@pytest.mark.parametrize("unpicked", ["random", "drop"])
def test_to_the_audits_own_scores_nothing_changes(unpicked):
    """Where the target is the audit's own scores every figure is that of the audit, and of `bonwise.audit`."""
    frame = lossy(two_judges(150), seed=3, share=0.1)
    study = study_transfer(frame, to=without_labels(frame), gap_groups=2, unpicked=unpicked)
    audited = audit(frame, unpicked=unpicked)
    for name, judge in study.judges.items():
        for metric in ("effective_agreement", *POOLS):
            own = judge.figures["audit"][metric]
            assert own.estimate == pytest.approx(audited.judges[name].metrics[metric].estimate)
        for metric in PAIRS:
            expected = judge.figures["target"][metric].estimate
            if judge.uncovered["pairs"] == 0:
                assert expected == pytest.approx(judge.figures["audit"][metric].estimate)
        assert sum(each.target for each in judge.strata["pairs"]) == pytest.approx(1)


def test_the_intervals_of_the_audit_are_those_of_an_audit():
    """Gain and recovery of the audit have its intervals: the prompts are left out one by one in both."""
    frame = cohort(120)
    own, audited = study_transfer(frame, to=frame).judges["judge"].figures["audit"], audit(frame).metrics
    for metric in POOLS:
        ends = audited[metric].low, audited[metric].high
        assert (own[metric].low, own[metric].high) == pytest.approx(ends, abs=1e-9)


COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=3, max_size=6)


@given(COUNTS, COUNTS, st.integers(0, 100))
@settings(max_examples=50, deadline=None)
def test_post_stratified_is_the_sum_of_weighted_means(counts, wanted, seed):
    """A plain loop over strata gives the same, and leaving prompts out by hand the same squares."""
    counts, wanted = np.array(counts) + np.eye(len(counts), 3, dtype=int), np.array(wanted) + 1
    counts[:2] += 1
    totals = np.random.default_rng(seed).normal(size=(2, *counts.shape)) * counts

    def by_hand(totals, counts, wanted):
        value = 0.0
        for s in range(3):
            mean = sum(row[s] for row in totals) / sum(row[s] for row in counts)
            value += mean * sum(row[s] for row in wanted) / wanted.sum()
        return value

    values, adds = post_stratified(totals, counts, wanted)
    for at in range(2):
        assert values[at] == pytest.approx(by_hand(totals[at], counts, wanted))
        squares = 0.0
        for left, n in (
            (
                [by_hand(np.delete(totals[at], x, 0), np.delete(counts, x, 0), wanted) for x in range(len(counts))],
                len(counts),
            ),
            ([by_hand(totals[at], counts, np.delete(wanted, y, 0)) for y in range(len(wanted))], len(wanted)),
        ):
            squares += (n - 1) / n * sum((value - np.mean(left)) ** 2 for value in left)
        assert adds[at] @ adds[at] == pytest.approx(squares)


def test_a_table_by_hand():
    """Ties agree by a half, gaps of .2 in 3 of 4 and gaps of .6 always; a target of 1, 1 and 2 such pools: .8125."""
    pools = [([0.5, 0.5], [0.0, 1.0])] * 20
    pools += [([0.7, 0.5], [1.0, 0.0])] * 30 + [([0.7, 0.5], [0.2, 0.7])] * 10
    pools += [([0.9, 0.3], [0.8, 0.0])] * 40
    target = [([0.4, 0.4], [0, 0])] * 5 + [([0.6, 0.4], [0, 0])] * 5 + [([0.9, 0.3], [0, 0])] * 10
    judge = study_transfer(table(pools), to=without_labels(table(target)), gap_groups=2).judges["judge"]
    expected = judge.figures["target"]
    assert expected["effective_agreement"].estimate == pytest.approx((0.5 + 0.75 + 2 * 1) / 4)
    assert expected["pair_loss"].estimate == pytest.approx((0.5 + 0.125 + 0) / 4)
    gains, rooms = (0.0, (30 * 0.5 - 10 * 0.25) / 40, 0.4), (0.5, (30 * 0.5 + 10 * 0.25) / 40, 0.4)
    assert expected["gain"].estimate == pytest.approx((gains[0] + gains[1] + 2 * gains[2]) / 4)
    assert expected["recovery"].estimate == pytest.approx(
        (gains[0] + gains[1] + 2 * gains[2]) / (rooms[0] + rooms[1] + 2 * rooms[2])
    )
    strata = {each.stratum: (each.prompts, each.target) for each in judge.strata["pairs"]}
    assert strata == {"tie": (20, 0.25), "gap up to 0.2": (40, 0.25), "gap up to 0.6": (40, 0.5)}
    assert judge.uncovered == {"pairs": 0, "pools": 0}


GAPS = np.array([0.0, 0.1, 0.3, 0.6])
RIGHT = np.array([0.5, 0.6, 0.75, 0.9])
"""How often the higher score of a pair of each gap has the higher label."""


def pools_of_two(n, shares, seed):
    """Return pools of two whose gaps are drawn by shares; whether the judge is right depends on the gap alone."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(len(GAPS), n, p=shares)
    right = rng.random(n) < RIGHT[kinds]
    scores = np.stack([0.2 + GAPS[kinds], np.full(n, 0.2)], axis=1).round(6)
    labels = np.stack([right, ~right], axis=1).astype(float)
    return table(list(zip(scores.tolist(), labels.tolist(), strict=True)))


SOURCE, TARGET = (0.35, 0.3, 0.2, 0.15), (0.1, 0.2, 0.3, 0.4)


def covered(reps, n=400):
    """Count how often the intervals hold what is true of the target, and how often those of the audit do."""
    shares = np.array(TARGET)
    agreement = shares @ RIGHT
    gain = shares @ (RIGHT - 0.5)
    truth = {"effective_agreement": agreement, "gain": gain, "recovery": gain / 0.5}
    hits = dict.fromkeys([*truth, "the audit's agreement"], 0)
    for seed in range(reps):
        target = without_labels(pools_of_two(150, TARGET, seed + 10_000))
        figures = study_transfer(pools_of_two(n, SOURCE, seed), to=target).judges["judge"].figures
        for name, value in truth.items():
            hits[name] += figures["target"][name].low <= value <= figures["target"][name].high
        naive = figures["audit"]["effective_agreement"]
        hits["the audit's agreement"] += naive.low <= agreement <= naive.high
    return hits


def test_intervals_hold_what_is_true_of_the_target():
    """Where agreement depends on the gap alone the intervals hold the target's figures; those of the audit do not."""
    hits = covered(25)
    assert hits.pop("the audit's agreement") < 10
    assert_covered(hits, 25)


@pytest.mark.slow
def test_intervals_hold_what_is_true_in_many_tables():
    """The same in 600 tables."""
    hits = covered(600)
    assert hits.pop("the audit's agreement") < 60
    assert_covered(hits, 600)


def test_pairs_unlike_any_labelled_one_are_refused():
    """Gaps beyond every labelled one, and pools of another size, have no figure; their share is named."""
    source, target = pools_of_two(300, (0.5, 0.5, 0, 0), 1), pools_of_two(100, (0.5, 0, 0, 0.5), 2)
    study = study_transfer(source, to=without_labels(target))
    judge = study.judges["judge"]
    assert judge.uncovered["pairs"] == pytest.approx(judge.strata["pairs"][-1].target)
    assert 0.35 < judge.uncovered["pairs"] < 0.65
    for figure in judge.figures["target"].values():
        assert figure.estimate is None
        assert "in groups that too few labelled prompts hold" in figure.reason
    assert judge.sentences[0].startswith("Nothing is said of effective_agreement: ")
    assert [(each.stratum, each.covered) for each in judge.strata["pairs"]] == [
        ("tie", True),
        ("gap up to 0.1", True),
        ("gap above 0.1", False),
    ]
    assert str(study).startswith("Verdict: cannot be said")
    # Agreement is of pairs, of which pools of three hold alike ones; what is picked of three is not known.
    three = table([([0.2, 0.3, 0.2], [0, 0, 0])] * 30)
    judge = study_transfer(source, to=without_labels(three)).judges["judge"]
    assert (judge.uncovered["pairs"], judge.uncovered["pools"]) == (0, 1)
    assert judge.figures["target"]["effective_agreement"].estimate is not None
    assert judge.figures["target"]["recovery"].estimate is None


def test_a_few_pairs_are_left_out_and_counted():
    """Up to 5 % of the pairs may be unlike any labelled one: the figures are of the others, which is said."""
    source, target = pools_of_two(300, (0.5, 0.5, 0, 0), 1), pools_of_two(100, (0.48, 0.5, 0, 0.02), 2)
    judge = study_transfer(source, to=without_labels(target)).judges["judge"]
    assert 0 < judge.uncovered["pairs"] <= 0.05
    assert judge.figures["target"]["effective_agreement"].estimate is not None
    assert any(one.startswith("The figures leave out ") and "of the pairs" in one for one in judge.sentences)


def test_few_labelled_prompts_cover_nothing():
    """A pilot of 19 prompts covers no stratum: many pairs of few prompts tell as little as these prompts."""
    judge = study_transfer(cohort(19), to=without_labels(cohort(50, seed=2))).judges["judge"]
    assert not any(each.covered for each in judge.strata["pairs"])
    assert judge.uncovered == pytest.approx({"pairs": 1, "pools": 1})


def similar(n, share, seed):
    """Return pools of two, a `share` of them alike: the judge is right in .5 of these and in .9 of the others."""
    rng = np.random.default_rng(seed)
    alike = rng.random(n) < share
    right = rng.random(n) < np.where(alike, 0.5, 0.9)
    labels = np.stack([right, ~right], axis=1).astype(float)
    frame = table(list(zip([[0.6, 0.4]] * n, labels.tolist(), strict=True)))
    return frame.assign(alike=np.repeat(alike.astype(float), 2))


def test_similarity_splits_the_pairs():
    """Where only similarity tells the pairs apart it takes the column of similarity to see the difference."""
    source, target = similar(600, 0.4, 1), without_labels(similar(400, 0.9, 2))
    blind, seeing = (
        study_transfer(source, to=target, similarity=column).judges["judge"].figures["target"]["effective_agreement"]
        for column in (None, "alike")
    )
    assert blind.estimate == pytest.approx(0.74, abs=0.04)
    assert seeing.estimate == pytest.approx(0.54, abs=0.04)
    names = {
        each.stratum for each in study_transfer(source, to=target, similarity="alike").judges["judge"].strata["pairs"]
    }
    assert names == {"gap up to 0.2, lower similarity", "gap up to 0.2, higher similarity"}


@pytest.mark.parametrize(
    ("settings", "kind", "said"),
    [
        ({"gap_groups": 0}, UsageError, "gap_groups"),
        ({"similarity": "nothing"}, BonwiseError, "no column named 'nothing'"),
        ({"to": without_labels(cohort(30)).assign(judge="another")}, InputError, "no scores of a judge of"),
    ],
)
def test_what_cannot_be_compared_is_refused(settings, kind, said):
    """Groups, columns and judges that do not fit are refused in one line, with a way out."""
    with pytest.raises(kind, match=said) as raised:
        study_transfer(cohort(30), **{"to": without_labels(cohort(30)), **settings})
    assert raised.value.hint


def test_a_judge_without_scores_in_the_target_is_named():
    """Of two judges the one that did not score the target is not studied."""
    frame = two_judges(60)
    study = study_transfer(frame, to=without_labels(frame[frame["judge"] == "first"]))
    assert list(study.judges) == ["first"]
    assert study.not_studied == {"second": "table has no scores of it"}


def test_what_is_said_of_labels_is_not_said_of_the_target():
    """Labels in a file of their own, their scale and their column are those of the audit alone."""
    frame = cohort(60)
    labels = frame[["prompt_id", "candidate"]].assign(gold=100 * frame["oracle_label"])
    scales = {"label_scale": Scale(0, 100), "judge_scale": Scale(0, 1)}
    target = without_labels(cohort(40, seed=2))
    study = study_transfer(without_labels(frame), to=target, labels=labels, label_col="gold", exclude="c3", **scales)
    judge = study.judges["judge"]
    assert judge.target_prompts == 40
    assert judge.figures["audit"]["gain"].estimate == pytest.approx(
        audit(frame, exclude="c3").metrics["gain"].estimate
    )


def test_the_command_writes_what_python_returns(tmp_path, capsys):
    """The flags are the keywords; the page and the JSON are written, and the target is not overwritten."""
    cohort(80).to_csv(tmp_path / "audit.csv", index=False)
    without_labels(cohort(50, seed=2)).to_csv(tmp_path / "production.csv", index=False)
    asked = ["study", "transfer", tmp_path / "audit.csv", "--to", tmp_path / "production.csv", "--gap-groups", "2"]
    done = typed(capsys, *asked, "--json", tmp_path / "s.json", "--html", tmp_path / "s.html")
    assert done.code == 0
    study = study_transfer(tmp_path / "audit.csv", to=tmp_path / "production.csv", gap_groups=2)
    assert json.loads((tmp_path / "s.json").read_text("utf-8")) == study.to_dict()
    assert study.judges["judge"].sentences[0] in " ".join(done.out.split())
    assert "production.csv" in (tmp_path / "s.html").read_text("utf-8")
    refused = typed(capsys, *asked, "--html", tmp_path / "production.csv")
    assert (refused.code, "read or written already" in refused.err) == (2, True)
    lines = [line for line in study.to_text(full=True).splitlines() if not line.startswith("bonwise ")]
    assert max(map(len, lines)) <= 118
    assert set(study.to_frame()["of"]) == {"audit", "target"}
    similar(60, 0.5, 1).to_csv(tmp_path / "similar.csv", index=False)
    asked = ["study", "transfer", tmp_path / "similar.csv", "--to", tmp_path / "similar.csv", "--similarity", "alike"]
    assert "higher similarity" in typed(capsys, *asked, "--full").out


def test_every_pair_is_in_one_stratum():
    """Looking at each pair of scored and unscored candidates, the strata count all of them."""
    frame = lossy(cohort(60), seed=2)
    judge = study_transfer(frame, to=without_labels(frame), gap_groups=3).judges["judge"]
    ties = unscored = pairs = 0
    for _, pool in frame.groupby("prompt_id"):
        for one, two in combinations(pool["judge_score"], 2):
            pairs += 1
            ties += one == two or (np.isnan(one) and np.isnan(two))
            unscored += np.isnan(one) != np.isnan(two)
    shares = {each.stratum: each.target for each in judge.strata["pairs"]}
    assert (shares["tie"], shares["one without a score"]) == pytest.approx((ties / pairs, unscored / pairs))
    assert pd.Series(shares).sum() == pytest.approx(1)
