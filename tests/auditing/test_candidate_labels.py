from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from auditing.tables import cohort, parts, table, two_judges
from bonwise.auditing.drawn_labels import audit_candidate_labels
from bonwise.auditing.front import audit
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import estimate
from bonwise.stats.sums import prompt_sums
from bonwise.table.label_design import LabelDesign
from bonwise.table.opening import open_table
from bonwise.table.panel import lay_out
from stats import twins
from stats.pools import pools

SEED = 20261124
SETTINGS = Settings()
PROMPTS = [
    ([0.9, 0.5, 0.1], [0.8, 0.4, 0.2]),
    ([0.9, 0.5, 0.1], [0.6, 0.5, 0.1]),
    ([0.9, 0.5, 0.1], [0.7, 0.1, 0.9]),
    ([0.5, 0.9, 0.9], [0.1, 0.2, 0.6]),
    ([0.5, 0.5, 0.5], [0.3, 0.5, 0.4]),
]


def panel_of(frame, shape=None):
    """Lay a table of one judge out."""
    return lay_out(open_table(frame), shape=shape)[0]


def judge_only(panel):
    """Estimate what needs no labels."""
    sums = prompt_sums(panel.scores, np.zeros(len(panel.scores)), panel.sizes)
    return estimate([e for e in ESTIMANDS if not e.on_labels], sums, SETTINGS.rule(np.zeros(0)))


def design_for(panel, rule, *, taken=None, strata=None, seed=1):
    """Draw candidates of the taken prompts for the panel's scores."""
    rng, prompts = np.random.default_rng(seed), len(panel.sizes)
    taken = np.ones(prompts, dtype=bool) if taken is None else taken
    strata = np.zeros(prompts, dtype=np.int64) if strata is None else strata
    picks, others, possible = [], [], np.ones(prompts, dtype=bool)
    for x, start in enumerate(np.cumsum(panel.sizes) - panel.sizes):
        cells = np.arange(start, start + panel.sizes[x])
        scores = np.round(panel.scores[cells], 9)
        top = scores == scores.max()
        possible[x] = rule == "pick" or not top.all()
        drawn = taken[x] and possible[x]
        picks.append(name_of(panel, rng.choice(cells[top])) if drawn else "")
        others.append(name_of(panel, rng.choice(cells[~top])) if drawn and rule == "pair" else "")
    phase = (taken & possible).astype(np.int64)
    shares = [phase[(strata == h) & possible].mean() if possible[strata == h].any() else 0.0 for h in strata]
    propensity = np.where(possible, shares, 0.0)
    return LabelDesign(panel.prompt_ids, phase, propensity, strata, rule, seed, panel.judge, picks, others)


def name_of(panel, cell):
    """Name the candidate of a cell."""
    return str(panel.candidates[panel.names[cell]])


def labelled_as_drawn(panel, design, *, but=(), and_also=()):
    """Keep the labels of the drawn candidates, but not of some prompts, and those of further cells."""
    labels = np.full(len(panel.labels), np.nan)
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    for cell, x in enumerate(owner.tolist()):
        if x not in but and name_of(panel, cell) in (design.picks[x], design.others[x]):
            labels[cell] = panel.labels[cell]
    for cell in and_also:
        labels[cell] = panel.labels[cell]
    return replace(panel, labels=labels)


def audited(panel, design, others=()):
    """Audit with the judge's own metrics."""
    return audit_candidate_labels(panel, others, design, SETTINGS, judge_only=judge_only(panel))


def drawn_cohort(rule, n=300, share=0.4, seed=SEED):
    """Return a simulated panel with all labels, and a design over two strata."""
    panel = panel_of(cohort(n))
    rng = np.random.default_rng(seed)
    taken = rng.random(n) < share
    return panel, design_for(panel, rule, taken=taken, strata=rng.integers(0, 2, n))


@pytest.mark.parametrize(("rule", "known"), [("pick", "value_judge"), ("pair", "gain")])
def test_every_metric_is_there_or_says_why_not(rule, known):
    """One label metric is estimated, what needs no labels is complete, and each other one says what it would need."""
    panel, design = drawn_cohort(rule)
    found = audited(labelled_as_drawn(panel, design), design)
    assert list(found.metrics) == [*(e.name for e in ESTIMANDS), "level_bias"]
    for name, one in found.metrics.items():
        if name == known:
            assert (one.method, one.reason) == ("aipw", None)
            assert one.low < one.estimate < one.high
            assert one.labelled_only.method == "labelled_only"
        elif name in judge_only(panel):
            assert (one.method, one.n) == ("complete", 300)
        else:
            assert one.estimate is None, name
            assert one.reason.startswith("undefined: "), name
    assert "best label" in found.metrics["recovery"].reason
    assert found.metrics[known].ess <= found.labelled


@given(pools(least=3, most=8, candidates=(2, 4)), st.sampled_from(["pick", "pair"]), st.integers(0, 9))
@hypothesis_settings(max_examples=25)
def test_every_prompt_labelled_gives_the_drawn_mean(prompts, rule, seed):
    """With every prompt drawn the estimate is the plain mean of what the drawn labels measure, zeros included."""
    panel = panel_of(table(prompts), shape="ragged")
    design = design_for(panel, rule, seed=seed)
    if not design.drawn.any():
        return
    found = audited(labelled_as_drawn(panel, design), design)
    total = 0.0
    for x, (scores, labels) in enumerate(prompts):
        if design.picks[x]:
            i = int(design.picks[x][1:])
            a = sum(round(s, 9) == round(max(scores), 9) for s in scores)
            total += (
                labels[i]
                if rule == "pick"
                else (1 - a / len(scores)) * (labels[i] - labels[int(design.others[x][1:])])
            )
    metric = found.metrics["gain" if rule == "pair" else "value_judge"]
    assert metric.estimate == pytest.approx(total / len(prompts), abs=1e-9)
    assert metric.n == found.labelled == int(design.drawn.sum())


def test_pairs_worked_by_hand():
    """The gain of five prompts, one of them tied entirely, by hand."""
    # c = 2/3 three times: .8 - .4, .6 - .1, .7 - .9; top of two in the fourth: c = 1/3, .6 - .1; zero in the fifth.
    panel = panel_of(table(PROMPTS))
    design = replace(
        design_for(panel, "pair"), picks=["c0", "c0", "c0", "c2", ""], others=["c1", "c2", "c2", "c0", ""]
    )
    found = audited(labelled_as_drawn(panel, design), design)
    assert found.metrics["gain"].estimate == pytest.approx((2 / 3 * (0.4 + 0.5 - 0.2) + 1 / 3 * 0.5) / 5)
    assert (found.drawn, found.labelled, found.lacking, found.not_drawn) == (4, 4, 0, 0)
    assert "1 more that the judge ties entirely" in found.how


def test_the_order_of_the_design_does_not_matter():
    """A design in another order, with prompts that the table lacks, gives the same figures."""
    panel, design = drawn_cohort("pair")
    order = np.random.default_rng(SEED).permutation(300)
    shuffled = LabelDesign(
        pd.Index([*design.prompt_ids[order], "elsewhere"]),
        np.append(design.phase[order], 0),
        np.append(design.propensity[order], 0.5),
        np.append(design.stratum[order], 0),
        "pair",
        1,
        panel.judge,
        [*(design.picks[x] for x in order), ""],
        [*(design.others[x] for x in order), ""],
    )
    known = labelled_as_drawn(panel, design)
    assert audited(known, shuffled).metrics == audited(known, design).metrics


def test_a_second_judge_narrows():
    """Scores of a further judge near the labels make the interval narrower, whatever the scale they come in."""
    panel, design = drawn_cohort("pair", n=1000, share=0.3)
    noise = 0.05 * np.random.default_rng(SEED).standard_normal(len(panel.labels))
    known = labelled_as_drawn(panel, design)
    alone = audited(known, design).metrics["gain"]
    for further in (panel.labels + noise, 100 * (panel.labels + noise) - 40):
        found = audited(known, design, [further])
        assert found.metrics["gain"].se < 0.8 * alone.se
        assert found.tuning > 0.5


def test_labels_that_were_not_drawn_are_counted_and_left_out():
    """Labels beside the drawn ones change no figure and are counted."""
    panel, design = drawn_cohort("pick")
    cells = [c for c in range(40) if name_of(panel, c) != design.picks[c // 4]]
    plain = audited(labelled_as_drawn(panel, design), design)
    found = audited(labelled_as_drawn(panel, design, and_also=cells), design)
    assert found.not_drawn == len(cells)
    assert found.metrics["value_judge"] == plain.metrics["value_judge"]
    assert f"labels of {len(cells)} candidates not drawn are left out" in found.how


def test_five_percent_of_the_drawn_may_lack_labels():
    """Up to 5 % of the drawn prompts may lack labels, which are counted; beyond that the figures are refused."""
    panel = panel_of(cohort(300))
    taken = np.arange(300) < 100
    design = design_for(panel, "pick", taken=taken)
    found = audited(labelled_as_drawn(panel, design, but=range(5)), design)
    assert (found.drawn, found.labelled, found.lacking) == (100, 95, 5)
    assert "5 more were drawn and lack labels" in found.how
    assert found.metrics["value_judge"].ess == pytest.approx(95)
    with pytest.raises(InputError, match=r"6 of 100 prompts .* lack the labels"):
        audited(labelled_as_drawn(panel, design, but=range(6)), design)


def test_a_stratum_without_labels_is_spoken_for_by_the_next():
    """When all labels of a stratum are lacking the next one stands for its prompts, which are counted."""
    panel = panel_of(cohort(300))
    strata = (np.arange(300) >= 296).astype(np.int64)
    design = design_for(panel, "pick", strata=strata)
    found = audited(labelled_as_drawn(panel, design, but=range(296, 300)), design)
    assert "4 lie in strata without any label" in found.how
    one = replace(design, stratum=0 * strata)
    alike = audited(labelled_as_drawn(panel, one, but=range(296, 300)), one)
    assert found.metrics["value_judge"].estimate == pytest.approx(alike.metrics["value_judge"].estimate, abs=1e-12)


def of_scores(panel, scores):
    """Return the panel with other scores."""
    return replace(panel, scores=np.asarray(scores, dtype=float))


@pytest.mark.parametrize(
    ("scores", "rule", "named"),
    [
        ([0.1, 0.5, 0.9], "pick", "pick .* is not among"),
        ([0.9, 0.9, 0.9], "pair", "was drawn, and this judge ties it"),
        ([0.9, 0.9, 0.1], "pair", "other candidate .* is among"),
    ],
)
def test_a_design_for_other_scores_is_refused(scores, rule, named):
    """A pick that is not the judge's, or an other candidate that is, tells that another judge was drawn for."""
    panel = panel_of(table(PROMPTS[:3]))
    design = replace(design_for(panel, rule), picks=["c0"] * 3, others=["c1" if rule == "pair" else ""] * 3)
    other = of_scores(labelled_as_drawn(panel, design), scores * 3)
    with pytest.raises(InputError, match=f"drawn for another judge than 'judge': .*{named}"):
        audited(other, design)


def test_a_design_that_could_not_draw_a_prompt_is_refused():
    """A prompt that these scores order, and that the design could not draw, is left out by no figure."""
    panel = panel_of(table(PROMPTS))
    design = design_for(panel, "pair")
    scores = np.append(panel.scores[:-3], [0.5, 0.4, 0.5])
    with pytest.raises(InputError, match="'p004' could not be drawn"):
        audited(of_scores(labelled_as_drawn(panel, design), scores), design)


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        ({"rule": "uniform"}, UsageError, "draws prompts, not candidates"),
        ({"judge": "other"}, InputError, "names the judge 'other'"),
        (
            {"prompt_ids": pd.Index(["p000", "p001", "x"])},
            InputError,
            "1 of 3 scored prompts could not have been drawn",
        ),
        ({"picks": ["c0", "c9", "c0"]}, InputError, "'p001' has no candidate 'c9'"),
        ({"picks": ["c0", "", "c0"]}, InputError, "'p001' has no candidate ''"),
    ],
)
def test_a_design_that_does_not_fit_is_refused(change, error, named):
    """A design of another kind, judge, table or candidate is refused by name."""
    panel = panel_of(table(PROMPTS[:3]))
    design = design_for(panel, "pick")
    with pytest.raises(error, match=named):
        audited(labelled_as_drawn(panel, design), replace(design, **change))


def test_no_labels_at_all_are_refused():
    """A design none of whose labels has come back gives no figures."""
    panel, design = drawn_cohort("pair")
    with pytest.raises(InputError, match="lack the labels that were drawn"):
        audited(labelled_as_drawn(panel, design, but=range(300)), design)


def test_bounds_hold_the_truth_of_the_table():
    """Bounds of pairs and of picks hold what the labels that nobody saw make true."""
    for rule in ("pick", "pair"):
        panel, design = drawn_cohort(rule, n=1000)
        found = audited(labelled_as_drawn(panel, design), design)
        prompts = list(zip(panel.scores.reshape(-1, 4).tolist(), panel.labels.reshape(-1, 4).tolist(), strict=True))
        truth = twins.metrics(prompts)
        for name, (low, high) in found.bounds.items():
            assert low <= truth[name] <= high, (rule, name)
        assert "recovery" in found.bounds
        assert (found.bounds["recovery"] == (-3.0, 1.0)) == (rule == "pick")
    assert found.bounds["recovery"][1] < 1


def test_a_written_design_reads_back_the_same(tmp_path):
    """Figures from a design read from its file are those from the design itself."""
    panel, design = drawn_cohort("pair")
    design.write(tmp_path / "todo.csv")
    known = labelled_as_drawn(panel, design)
    assert audited(known, LabelDesign.read(tmp_path / "todo.csv")).metrics == audited(known, design).metrics


def as_table(panel, frame):
    """Give a table the labels of a panel of all its prompts, whatever the order of its rows."""
    owner = np.repeat(panel.prompt_ids.to_numpy(), panel.sizes)
    names = panel.candidates.to_numpy()[panel.names]
    labels = dict(zip(zip(owner, names, strict=True), panel.labels, strict=True))
    keys = zip(frame["prompt_id"], frame["candidate"], strict=True)
    return frame.assign(oracle_label=[labels[key] for key in keys])


def audit_of(rule, frame, share=0.3, **settings):
    """Draw candidates for the first judge of a table, keep their labels, and audit."""
    panel = panel_of(frame[frame["judge"] == "first"] if "judge" in frame else frame)
    taken = np.random.default_rng(SEED).random(len(panel.sizes)) < share
    design = design_for(panel, rule, taken=taken)
    return audit(as_table(labelled_as_drawn(panel, design), frame), design=design, **settings)


@pytest.mark.parametrize("rule", ["pick", "pair"])
def test_another_judge_serves_as_covariate(rule):
    """A judge that candidates were not drawn for is listed as a covariate, is used, and leaves no gate open."""
    frame = two_judges(500)
    found = audit_of(rule, frame)
    assert list(found.judges) == ["first"]
    document = found.to_dict()
    assert document["judge"] == "first"
    assert document["covariates"] == {"second": "serves as covariate: the design was drawn for first"}
    assert document["sampling"]["further_judges"] == ["second"]
    assert "second serves as covariate: the design was drawn for first" in str(found)
    metric = "gain" if rule == "pair" else "value_judge"
    (gate,) = found.check({metric: -1.0}).gates
    assert (gate.judge, gate.state) == ("first", "met")
    alone = audit_of(rule, frame[frame["judge"] == "first"])
    assert found[metric].se < alone[metric].se


def test_a_design_for_a_judge_that_is_not_there_is_refused():
    """A design that names no judge of the table fits none of them."""
    frame = two_judges(100)
    panel = panel_of(frame[frame["judge"] == "first"])
    design = design_for(panel, "pick")
    hidden = as_table(labelled_as_drawn(panel, design), frame)
    with pytest.raises(InputError, match="names the judge 'first'"):
        audit(hidden.assign(judge=hidden["judge"] + " anew"), design=design)


@pytest.mark.parametrize("rule", ["pick", "pair"])
def test_whole_labels_leave_the_design_unused(rule):
    """Where all labels are there the audit is complete, of every judge, and says that it does not use the design."""
    frame = two_judges(60)
    panel = panel_of(frame[frame["judge"] == "first"])
    found = audit(frame, design=design_for(panel, rule))
    assert {judge.metrics["recovery"].method for judge in found.judges.values()} == {"complete"}
    assert found.judges["second"].sampling.to_dict() == {
        "design": rule,
        "how": "all prompts are labelled: the design is not used",
    }


@pytest.mark.parametrize(("rule", "each"), [("pick", 1), ("pair", 2)])
def test_gates_count_prompts_and_the_labels_they_take(rule, each):
    """An open gate names further prompts, one label each for picks and two for pairs, and those the table lacks."""
    found = audit_of(rule, cohort(200))
    metric = "gain" if rule == "pair" else "value_judge"
    low, estimate = parts(found).judges["judge"].metrics[metric].bounds(0.9)[0], found[metric].estimate
    (near,) = found.check({metric: (9 * low + estimate) / 10}).gates
    (far,) = found.check({metric: (low + 9 * estimate) / 10}).gates
    for gate in (near, far):
        assert abs(gate.more_labels - each * gate.more_prompts) <= 1
        assert f"about {gate.more_prompts:,} more prompts ({gate.more_labels:,} candidate labels)" in gate.sentence
    drawn = found.to_dict()["metrics"][metric]["n"]
    assert far.more_prompts == pytest.approx(99 * drawn, abs=1)
    left = int((~panel_top_tied(found)).sum()) - drawn if rule == "pair" else 200 - drawn
    assert f"more than the {left} unlabelled prompts of this table" in far.sentence
    assert "more than" not in near.sentence


def test_a_pair_of_two_is_a_pool_that_is_labelled_whole():
    """Of pools of two candidates the labels of a pair are all there are."""
    frame = cohort(120)
    found = audit_of("pair", frame[frame.groupby("prompt_id").cumcount() < 2]).to_dict()
    assert found["data"]["labelled_prompts"] == found["metrics"]["gain"]["n"] > 0
    assert found["data"]["partly_labelled_prompts"] == 0


def panel_top_tied(found):
    """Mark the prompts of an audit that the judge ties entirely."""
    panel = parts(found).judges["judge"].labelling.panel
    return np.ptp(panel.scores.reshape(-1, 4), axis=1) < 1e-9


@pytest.mark.parametrize("rule", ["pick", "pair"])
def test_the_page_shows_what_is_defined_and_each_reason_once(rule):
    """A page of candidate labels lists metrics with figures, says each reason once, and is at most 124 wide."""
    found = audit_of(rule, cohort(300))
    text = found.to_text(full=True)
    assert max(map(len, text.splitlines())) <= 124
    rows = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.split()]
    assert ("gain" if rule == "pair" else "value_judge") in rows
    assert "within_r" not in rows
    joined = " ".join(text.split())
    assert joined.count("needs the labels of all candidates of a prompt") == 1
    assert "worth undefined" not in joined
    assert "recovery lies in [" in joined
    value = "The pick is worth" if rule == "pair" else "The pick has a mean label of"
    assert value in joined
    assert ("more than a random one" in joined) == (rule == "pair")


def test_recovery_is_bounded_on_any_scale():
    """Where the labels' scale is unknown recovery alone is bounded, and the page says what values would need."""
    frame = cohort(100)
    found = audit_of(
        "pick", frame.assign(oracle_label=frame["oracle_label"] * 7, judge_score=7 * frame["judge_score"])
    )
    assert found.to_dict()["bounds"] == {"recovery": [-3.0, 1.0]}
    assert "of values unknown: they need the scale of the labels (--label-scale)" in " ".join(str(found).split())
