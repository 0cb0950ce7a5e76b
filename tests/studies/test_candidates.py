"""How many candidates are worth asking for: the values over subsets, the curve, costs, and what is refused."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from auditing.tables import cohort, lossy, table, two_judges
from bonwise.auditing.front import audit
from bonwise.errors import InputError, UsageError
from bonwise.studies.candidates.engine import subset_values
from bonwise.studies.candidates.front import study_candidates
from cli.commands import typed
from stats.nominal import assert_covered
from stats.pools import arrays, pools


def top_value(ranked, values):
    """Return the mean value of the cells that share the highest rank."""
    top = max(ranked)
    return float(np.mean([value for rank, value in zip(ranked, values, strict=True) if rank == top]))


@given(pools(most=4, candidates=(1, 6)), st.data())
@settings(max_examples=50, deadline=None)
def test_the_values_are_those_of_all_subsets(prompts, data):
    """Looking at every subset of every pool, ties in expectation and unscored cells last, gives the same."""
    scores, labels, sizes = arrays(prompts)
    lost = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    ranked = np.where(lost, -np.inf, np.round(scores, 9))
    found = subset_values(ranked, labels, sizes, 6)
    for x, end in enumerate(np.cumsum(sizes)):
        cells = range(end - sizes[x], end)
        for m in range(1, 7):
            tops = [top_value(ranked[list(some)], labels[list(some)]) for some in combinations(cells, m)]
            if tops:
                assert found[m - 1, x] == pytest.approx(np.mean(tops), abs=1e-12)
            else:
                assert math.isnan(found[m - 1, x])


def test_a_pool_by_hand():
    """Of .9, .5, .5 with labels 0, 1, .4: a random one .4667; of two, twice the first and once the tie's .7; 0."""
    found = subset_values(np.array([0.9, 0.5, 0.5]), np.array([0.0, 1.0, 0.4]), np.array([3]), 3)
    assert found[:, 0] == pytest.approx([1.4 / 3, 0.7 / 3, 0.0])


@pytest.mark.parametrize("unpicked", ["random", "drop"])
def test_the_end_of_the_curve_is_the_audit(unpicked):
    """With all candidates of every pool the figures are those of an audit, intervals included."""
    frame = lossy(two_judges(80), seed=4)
    study, audited = study_candidates(frame, unpicked=unpicked), audit(frame, unpicked=unpicked)
    for name, judge in study.judges.items():
        last = judge.figures[str(len(judge.figures))]
        for metric in ("value_judge", "value_oracle", "gain", "recovery"):
            one, other = last[metric], audited.judges[name].metrics[metric]
            assert (one.n, one.interval, one.method, one.effective_n) == (
                other.n,
                other.interval,
                other.method,
                other.effective_n,
            )
            assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high))


@pytest.mark.shared
def test_arena_like(shared):
    """Looking at every subset of 5,000 simulated pools recovers .2117 of two candidates, .2129 and .2168."""
    study = study_candidates(shared / "data" / "simulated" / "arena_like_5000.csv.gz")
    figures = study.judges["judge"].figures
    recovery = [figures[m]["recovery"].estimate for m in "234"]
    assert recovery == pytest.approx([0.21166, 0.21289, 0.21675], abs=1e-5)
    assert figures["4"]["recovery"].low < 0.2168 < figures["4"]["recovery"].high
    steps = [figures[m]["step"] for m in "234"]
    total = figures["4"]["value_judge"].estimate - figures["1"]["value_judge"].estimate
    assert sum(step.estimate for step in steps) == pytest.approx(total)
    assert all(step.low > 0 for step in steps)


def overrated(n, K, seed, weight=0.6, turn=1.0):
    """Return pools whose label follows the score up to `turn` standard deviations, and falls twice as fast above."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, K))
    labels = weight * (scores - 3 * np.maximum(scores - turn, 0)) + 0.5 * rng.standard_normal((n, K))
    return table(list(zip(scores.tolist(), labels.tolist(), strict=True)))


def true_values(K, weight=0.6, turn=1.0):
    """Return the expected label of the pick from 1 to K such candidates, by integration."""
    z = np.linspace(-8, 8, 16001)
    of_score = weight * (z - 3 * np.maximum(z - turn, 0))
    return np.array([np.trapezoid(of_score * m * norm.pdf(z) * norm.cdf(z) ** (m - 1), z) for m in range(1, K + 1)])


def covered(reps, n=100, K=6, value=1.0, cost=0.02):
    """Count how often intervals and the sets of sizes hold what is true, and what was refused wrongly."""
    truth = true_values(K)
    net, steps = value * truth - cost * np.arange(K), np.diff(truth)
    hits = dict.fromkeys(("value", "all steps", "best"), 0)
    for seed in range(reps):
        judge = study_candidates(overrated(n, K, seed), value=value, candidate_cost=cost).judges["judge"]
        at = judge.figures[str(K)]["value_judge"]
        hits["value"] += at.low <= truth[-1] <= at.high
        own = [judge.figures[str(m)]["step"] for m in range(2, K + 1)]
        hits["all steps"] += all(one.low <= step <= one.high for one, step in zip(own, steps, strict=True))
        hits["best"] += int(net.argmax()) + 1 in judge.may_be_best
    return hits


def test_intervals_hold_what_is_true():
    """On pools with a known curve intervals of a value hold it, those of all steps together, and the best size."""
    hits = covered(25)
    assert_covered({"value": hits["value"]}, 25)
    assert_covered({name: hits[name] for name in ("all steps", "best")}, 25, most=1.0)


@pytest.mark.slow
def test_intervals_hold_what_is_true_in_many_tables():
    """The same in 600 tables."""
    hits = covered(600)
    assert_covered({"value": hits["value"]}, 600)
    assert_covered({name: hits[name] for name in ("all steps", "best")}, 600, most=1.0)


def test_normal_scores_recover_their_correlation_at_every_size():
    """Of normal scores the share recovered is their correlation with the label, however many there are."""
    rng = np.random.default_rng(1)
    labels = rng.standard_normal((4000, 6))
    scores = 0.5 * labels + math.sqrt(0.75) * rng.standard_normal((4000, 6))
    study = study_candidates(table(list(zip(scores.tolist(), labels.tolist(), strict=True))))
    for m, figures in study.judges["judge"].figures.items():
        if m != "1":
            assert figures["recovery"].estimate == pytest.approx(0.5, abs=0.03)
            assert figures["gain_per_call"].estimate == pytest.approx(figures["gain"].estimate / int(m))


def test_picks_that_get_worse_are_named():
    """Where the judge prefers what is overrated the first sentence says between which sizes; elsewhere none does."""
    judge = study_candidates(overrated(800, 8, seed=3)).judges["judge"]
    fewer, more = judge.worse
    assert true_values(8)[more - 1] < true_values(8)[fewer - 1]
    assert judge.worse_by.high < 0
    assert f"worse: from {fewer} to {more} their value changes by -" in judge.sentences[0]
    good = study_candidates(overrated(800, 8, seed=3, turn=9)).judges["judge"]
    assert (good.worse, good.worse_by) == (None, None)
    assert "worse" not in " ".join(good.sentences)
    assert str(study_candidates(overrated(800, 8, seed=3))).startswith("Verdict: picks get worse")


def test_costs_decide_the_size():
    """A dearer candidate or score means fewer of them; both costs are those of the whole pool."""
    frame = overrated(400, 6, seed=5, turn=9)
    sizes = [study_candidates(frame, value=1, candidate_cost=cost).judges["judge"].best for cost in (0, 0.1, 0.5)]
    assert sizes == [6, 4, 1]
    judge = study_candidates(frame, value=2, candidate_cost=0.01, judge_cost=0.03).judges["judge"]
    gain = judge.figures["4"]["gain"].estimate
    assert judge.figures["4"]["worth"].estimate == pytest.approx(2 * gain - 3 * 0.01 - 4 * 0.03)
    assert judge.best in judge.may_be_best
    assert judge.sentences[0].startswith(f"At these prices it pays best to ask for {judge.best} candidates: +")


def test_no_judge_can_make_more_pay_than_the_bound():
    """Were more drawn alike, the best candidate of m would cost more than it adds from the bound on."""
    judge = study_candidates(overrated(400, 6, seed=5), value=1, candidate_cost=0.2).judges["judge"]
    cost = 0.2
    rng = np.random.default_rng(9)
    z = rng.standard_normal((20000, judge.most + 1))
    labels = 0.6 * (z - 3 * np.maximum(z - 1, 0)) + 0.5 * rng.standard_normal(z.shape)
    perfect = np.maximum.accumulate(labels, axis=1).mean(axis=0) - cost * np.arange(z.shape[1])
    reached = true_values(6)[judge.best - 1] - cost * (judge.best - 1)
    assert judge.most >= 6
    assert perfect[judge.most] < reached
    assert (np.diff(np.diff(perfect)) < 0.01).all()
    assert study_candidates(overrated(400, 6, seed=5), value=1, candidate_cost=0).judges["judge"].most is None


def test_pools_of_unequal_size_count_where_they_reach():
    """A step is of the pools that allow both sizes; the curve ends where fewer than 20 do, and both are said."""
    whole = overrated(60, 6, seed=2)
    prompts = whole["prompt_id"].astype("category").cat.codes
    place = whole["candidate"].str[1:].astype(int)
    frame = whole[(place < 3) | (prompts < 40) & (place < 5) | (prompts < 10)]
    judge = study_candidates(frame, shape="ragged").judges["judge"]
    assert list(judge.figures) == list("12345")
    assert [judge.figures[m]["step"].n for m in "2345"] == [60, 60, 40, 40]
    assert (judge.largest_pool, judge.figures["3"]["value_judge"].n) == (6, 60)
    assert "40 of 60 hold 5, where the curve ends. The largest pool holds 6." in judge.sentences[-1]
    long = study_candidates(whole[prompts < 40]).judges["judge"]
    assert len(long.figures) == 6
    assert judge.figures["5"]["value_judge"].estimate == pytest.approx(
        study_candidates(frame[frame["prompt_id"].isin(whole["prompt_id"][prompts < 40].unique())], shape="ragged")
        .judges["judge"]
        .figures["5"]["value_judge"]
        .estimate
    )


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (lambda: overrated(60, 2, seed=1), "60 labelled pools hold 2 candidates"),
        (lambda: overrated(19, 4, seed=1), "19 labelled pools hold 3 candidates"),
        (lambda: overrated(60, 4, seed=1).assign(oracle_label=1.0), "worth 0 prompts"),
    ],
)
def test_too_little_is_refused(frame, why):
    """Pools of two, fewer than 20 prompts, and labels without a difference have no curve, and the error says so."""
    with pytest.raises(InputError, match=why) as raised:
        study_candidates(frame())
    assert "20 pools" in raised.value.hint


def test_one_of_two_judges_may_be_refused():
    """A judge with too few prompts is named, and the other one studied."""
    frame = two_judges(60)
    keep = frame["prompt_id"].isin(frame["prompt_id"].unique()[:10]) | (frame["judge"] == "first")
    study = study_candidates(frame[keep])
    assert list(study.judges) == ["first"]
    assert "10 labelled pools" in study.not_studied["second"]


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ({"value": 1}, "go together"),
        ({"candidate_cost": 1}, "go together"),
        ({"judge_cost": 1}, "go together"),
        ({"value": -1, "candidate_cost": 1}, "value is -1"),
        ({"value": 1, "judge_cost": -2}, "judge_cost is -2"),
        ({"unpicked": "first"}, "no first candidate"),
    ],
)
def test_what_cannot_be_priced_is_refused(costs, said):
    """Costs without a value, a value without costs, and negative ones are refused in one line, with a way out."""
    with pytest.raises(UsageError, match=said) as raised:
        study_candidates(cohort(30), **costs)
    assert raised.value.hint


def test_a_judge_that_ties_everything_gains_nothing():
    """All ties: every size is worth a random pick, no step has an interval, and one candidate pays best."""
    judge = study_candidates(cohort(40).assign(judge_score=0.5), value=1, candidate_cost=0.1).judges["judge"]
    assert judge.figures["4"]["step"].estimate == pytest.approx(0)
    assert judge.best == 1
    assert judge.figures["4"]["step"].reason == "no interval: leaving out any prompt changes nothing"


def test_the_labelled_prompts_are_named_where_labels_are_missing():
    """With labels missing beyond the limit every figure is of the labelled prompts, and a sentence says so."""
    judge = study_candidates(cohort(60, unlabelled=20)).judges["judge"]
    assert {figure.method for own in judge.figures.values() for figure in own.values()} == {"labelled_only"}
    assert judge.sentences[-1] == "Figures describe the 40 prompts whose candidates all have labels."


def test_the_command_writes_what_python_returns(tmp_path, capsys):
    """The flags are the keywords; the page, the table and the JSON are written."""
    frame = cohort(60)
    frame.to_csv(tmp_path / "scores.csv", index=False)
    flags = ["--value", "3", "--candidate-cost", "0.01", "--judge-cost", "0.002", "--seed", "4"]
    targets = ["--json", tmp_path / "s.json", "--html", tmp_path / "s.html", "--out", tmp_path / "s.csv"]
    done = typed(capsys, "study", "candidates", tmp_path / "scores.csv", *flags, *targets)
    assert done.code == 0
    study = study_candidates(tmp_path / "scores.csv", value=3, candidate_cost=0.01, judge_cost=0.002, seed=4)
    assert json.loads((tmp_path / "s.json").read_text("utf-8")) == study.to_dict()
    assert study.judges["judge"].sentences[0] in " ".join(done.out.split())
    assert "<svg" in (tmp_path / "s.html").read_text("utf-8")
    assert set(pd.read_csv(tmp_path / "s.csv")["metric"]) >= {"value_judge", "step", "worth", "gain_per_call"}
    lines = [line for line in study.to_text(full=True).splitlines() if not line.startswith("bonwise ")]
    assert max(map(len, lines)) <= 118


def test_one_size_alone_is_no_range():
    """Where no other number could pay better, the sentence says so instead of naming the same number twice."""
    judge = study_candidates(cohort(40), value=1, candidate_cost=100).judges["judge"]
    assert judge.may_be_best == [1]
    assert "No other number studied could pay better." in judge.sentences[0]
    assert "It could be" not in judge.sentences[0]
