"""Audits of tables with labels for some prompts: drawn by a design, and without one."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from auditing.tables import cohort, heavy_labels, parts, table, two_judges
from bonwise.auditing.front import audit
from bonwise.errors import InputError, UsageError
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.level_bias import level_bias
from bonwise.table.label_design import LabelDesign
from bonwise.testing import simulate
from stats import twins
from stats.nominal import assert_covered
from stats.pools import pools

JUDGE_ONLY = {"judge_between_share", "tie_rate", "top1_tie_rate"}
PROMPT = ([0.9, 0.5, 0.1], [1.0, 0.5, 0.0])


def without_labels(prompts, at):
    """Return the prompts, some of them without labels."""
    return [(s, [None] * len(s) if x in at else o) for x, (s, o) in enumerate(prompts)]


@pytest.mark.parametrize(("lacking", "method"), [(0, "complete"), (10, "complete"), (11, "labelled_only")])
def test_five_percent_may_lack_labels(lacking, method):
    """Of 200 prompts 10 without labels are dropped by name; 11 make the audit one of labelled prompts only."""
    found = audit(cohort(200, unlabelled=lacking))
    dropped = [(drop["prompt_id"], drop["reason"]) for drop in found.data["dropped"]]
    expected = [(f"p{x:07d}", "unlabelled") for x in range(200 - lacking, 200)]
    assert dropped == (expected if method == "complete" else [])
    assert found["recovery"].method == method
    assert found["recovery"].n == found.data["labelled_prompts"] == 200 - lacking
    assert found.data["prompts"] == (200 - lacking if method == "complete" else 200)


def test_prompts_dropped_for_want_of_labels_change_nothing_else():
    """An audit with 5 unlabelled prompts of 100 is that of the 95 others alone."""
    lacking, alone = audit(cohort(100, unlabelled=5)), audit(cohort(95))
    assert lacking.metrics == alone.metrics


def test_a_partly_labelled_prompt_is_not_labelled():
    """A prompt counts as labelled only when all its candidates are, and the partly labelled are counted."""
    partly = ([0.9, 0.5, 0.1], [1.0, None, 0.0])
    found = audit(table([PROMPT] * 8 + [partly] * 2))
    assert (found.data["prompts"], found.data["labelled_prompts"]) == (10, 8)
    assert found.data["partly_labelled_prompts"] == 2
    assert found["value_random"].estimate == pytest.approx(0.5)


def test_what_needs_no_labels_uses_every_prompt():
    """Judge-only metrics of a partly labelled table are complete and equal those of the fully labelled one."""
    partial, full = audit(cohort(200, unlabelled=100)), audit(cohort(200))
    for name, found in partial.metrics.items():
        if name in JUDGE_ONLY:
            assert found == full[name], name
            assert (found.method, found.n) == ("complete", 200)
        else:
            assert found.method == "labelled_only", name
            assert found.n <= 100


def test_label_metrics_are_those_of_the_labelled_prompts():
    """Figures against labels are those of an audit of the labelled prompts alone."""
    partial, alone = audit(cohort(200, unlabelled=100)), audit(cohort(100))
    for name in set(partial.metrics) - JUDGE_ONLY:
        assert partial[name] == alone[name].model_copy(update={"method": "labelled_only"}), name


def test_the_document_says_what_the_figures_describe():
    """A partly labelled audit says how many prompts are labelled and that why is unknown, with balance and bounds."""
    document = audit(cohort(200, unlabelled=100)).to_dict()
    assert any("100 of 200" in s and "unknown" in s for s in document["verdict"]["sentences"])
    assert document["bounds"].keys() == {"value_random", "value_judge", "value_oracle", "recovery", "gain"}
    assert document["balance"]
    assert "bounds" not in audit(cohort(200)).to_dict()


def test_no_gate_on_all_prompts_passes():
    """However high the estimate, a gate is inconclusive while part of the prompts is unlabelled; others pass."""
    found = audit(cohort(400, unlabelled=200))
    states = {
        gate.metric: gate.state for gate in found.check({"value_judge": 0.01, "recovery": -5, "tie_rate": 0.1}).gates
    }
    assert states == {"value_judge": "inconclusive", "recovery": "inconclusive", "tie_rate": "met"}
    assert {gate.state for gate in audit(cohort(400)).check({"value_judge": 0.01}).gates} == {"met"}


def test_balance_compares_the_scores_of_both_groups():
    """Balance gives the means of a feature with and without labels and a Welch interval of their difference."""
    # Mean scores .5 on 8 labelled prompts; .2 and .4 on the two others: difference .2, variance of the second
    # mean .02/2 = .01 with 1 degree of freedom, t = 12.7062: .2 -/+ 1.27062.
    low, high = ([0.3, 0.1], [None] * 2), ([0.5, 0.3], [None] * 2)
    found = audit(table([([0.6, 0.4], [1.0, 0.0])] * 8 + [low, high])).to_dict()["balance"]
    row = next(row for row in found if row["feature"] == "mean score")
    assert [row[key] for key in ("labelled", "unlabelled", "difference")] == pytest.approx([0.5, 0.3, 0.2])
    assert (row["low"], row["high"]) == pytest.approx((0.2 - 1.27062, 0.2 + 1.27062), abs=1e-5)


@given(pools(least=3, most=8), st.sets(st.integers(0, 7), min_size=1))
@settings(max_examples=60)
def test_bounds_hold_every_completion(prompts, lacking):
    """Whatever labels are hidden, the figures of the completed table lie within the worst-case bounds."""
    assume(2 <= sum(x not in lacking for x in range(len(prompts))) < len(prompts))
    bounds = audit(table(without_labels(prompts, lacking)), shape="ragged").judges["judge"].bounds
    truth = twins.metrics(prompts)
    for name in ("value_random", "value_judge", "value_oracle", "recovery"):
        if truth[name] is not None:
            assert bounds[name][0] - 1e-9 <= truth[name] <= bounds[name][1] + 1e-9, name


def test_bounds_of_values_are_worked_by_hand():
    """With 2 of 4 prompts unlabelled the mean value may be half of what is known, or that and a half more."""
    found = audit(table(without_labels([PROMPT] * 4, {0, 2}))).judges["judge"].bounds
    assert found["value_random"] == pytest.approx((0.25, 0.75))
    assert found["value_judge"] == pytest.approx((0.5, 1.0))


def test_random_labels_make_an_unbiased_audit():
    """Labelling half the prompts at random leaves the estimates within noise of the complete ones."""
    frame, rng = cohort(2000), np.random.default_rng(20261121)
    frame.loc[np.repeat(rng.random(2000) < 0.5, 4), "oracle_label"] = np.nan
    partial, full = audit(frame), audit(cohort(2000))
    gaps = [
        abs(partial[name].estimate - full[name].estimate) / partial[name].se
        for name in partial.metrics
        if partial[name].se and name != "level_bias"
    ]
    assert fmean(gaps) < 1
    assert max(gaps) < 4


def test_no_labels_at_all_is_refused():
    """Without a single completely labelled prompt there is nothing to audit, and the error says so."""
    nothing = table([([0.9, 0.1], [None, None])] * 3)
    some = table([([0.9, 0.1], [1.0, None])] * 3)
    for frame in (nothing, some):
        with pytest.raises(InputError, match="label"):
            audit(frame)


OF_INFLUENCE = {"value_random", "value_judge", "value_oracle", "gain", "recovery", "top1_accuracy", "hit_rate"}


def hide(frame, labelled):
    """Return a table with the labels of the prompts that are not labelled taken away."""
    out = frame.copy()
    out.loc[~out["prompt_id"].isin(labelled), "oracle_label"] = np.nan
    return out


def some_of(frame, share, seed=20261122):
    """Return a seeded random part of the prompts."""
    prompts = frame["prompt_id"].unique()
    return np.random.default_rng(seed).permutation(prompts)[: round(share * len(prompts))]


def halves(frame, shares=(0.2, 0.6), seed=7):
    """Draw a share of each half of the prompts, and return the record of it."""
    prompts, rng = np.sort(frame["prompt_id"].unique()), np.random.default_rng(seed)
    stratum = np.arange(len(prompts)) % 2
    phase = np.zeros(len(prompts), dtype=np.int64)
    for half, share in enumerate(shares):
        mine = np.flatnonzero(stratum == half)
        phase[rng.permutation(mine)[: round(share * len(mine))]] = 1
    propensity = np.array(shares)[stratum]
    return LabelDesign(pd.Index(prompts, dtype=object), phase, propensity, stratum, "stratified", seed, "judge")


def drawn(design):
    """Return the prompts that a design drew."""
    return design.prompt_ids[design.drawn]


@pytest.mark.parametrize("judges", [cohort, two_judges])
def test_a_design_without_gaps_changes_nothing(judges):
    """With every prompt labelled a stated design gives the complete audit, figure for figure."""
    frame = judges(150)
    plain, stated = audit(frame), audit(frame, design="uniform")
    for name, judge in plain.judges.items():
        assert stated.judges[name].metrics == judge.metrics
        assert parts(stated).judges[name].labelling.method == "complete"


def test_each_metric_says_how_it_was_made():
    """Under a design values and recovery come by influence, other metrics of labels by weights, the rest whole."""
    frame = cohort(600)
    found = audit(hide(frame, some_of(frame, 0.3)), design="uniform")
    for name, metric in found.metrics.items():
        expected = "complete" if name in JUDGE_ONLY else "aipw" if name in OF_INFLUENCE else "weighted"
        assert metric.method == expected, name
        assert (metric.ess is None) == (name in JUDGE_ONLY or name == "level_bias"), name
    assert found["recovery"].n == 180
    assert found.data["prompts"] == 600
    assert found.data["labelled_prompts"] == 180
    assert list(found.metrics) == [*(e.name for e in ESTIMANDS), "level_bias"]


def test_the_labelled_prompts_alone_stand_beside_the_estimate():
    """Each estimate for all prompts carries the complete-data estimate of the labelled prompts."""
    frame = cohort(600)
    mine = some_of(frame, 0.3)
    found, alone = audit(hide(frame, mine), design="uniform"), audit(frame[frame["prompt_id"].isin(mine)])
    for name in OF_INFLUENCE | {"within_r", "kendall_tau"}:
        assert found[name].labelled_only == alone[name].model_copy(update={"method": "labelled_only"}), name


@pytest.mark.parametrize("design", ["uniform", "cells"])
def test_correlations_of_heavy_labels_have_no_interval_under_a_design(design):
    """Nor has what the labelled prompts say alone; gates on them stay open, and other figures have intervals."""
    frame = heavy_labels(120)
    part = frame.assign(oracle_label=frame["oracle_label"].where(np.random.default_rng(2).random(len(frame)) < 0.7))
    found = audit(hide(frame, some_of(frame, 0.6)) if design == "uniform" else part, design=design)
    for name in ("within_r", "global_r"):
        figures = [found[name]] + ([found[name].labelled_only] if design == "uniform" else [])
        assert {(one.low, "a few labels lie far from the others" in one.reason) for one in figures} == {(None, True)}
    assert found.check({"within_r": 0.1}).gates[0].state == "inconclusive"
    assert found["attenuation"].low is not None


def test_random_labels_under_a_design_estimate_the_whole():
    """Labels of a random third estimate each metric of all prompts within four standard errors."""
    frame = cohort(3000)
    whole, part = audit(frame), audit(hide(frame, some_of(frame, 1 / 3)), design="uniform")
    for name, metric in part.metrics.items():
        if metric.se:
            assert abs(metric.estimate - whole[name].estimate) < 4 * metric.se, name


def test_unequal_shares_are_weighed_out():
    """A draw of a fifth of the low prompts and three fifths of the high ones estimates the whole, not the mixture."""
    frame = cohort(3000)
    order = frame.groupby("prompt_id")["oracle_label"].mean().sort_values(kind="stable").index
    record = halves(frame)
    by_half = np.argsort(record.stratum, kind="stable")
    ranked = replace(record, prompt_ids=pd.Index(np.asarray(order)[np.argsort(by_half)], dtype=object))
    whole, part = audit(frame), audit(hide(frame, drawn(ranked)), design=ranked)
    for name in ("value_random", "value_judge", "global_r", "within_r"):
        assert abs(part[name].estimate - whole[name].estimate) < 4 * part[name].se, name
    alone = part["value_random"].labelled_only
    assert abs(alone.estimate - whole["value_random"].estimate) > 4 * alone.se


def test_a_record_is_read_back(tmp_path):
    """The file of a draw gives what the record itself gives, and the audit names its rule and seed."""
    frame, record = cohort(500), halves(cohort(500))
    record.write(tmp_path / "todo.csv")
    hidden = hide(frame, drawn(record))
    there, back = audit(hidden, design=record), audit(hidden, design=tmp_path / "todo.csv")
    assert there.metrics == back.metrics
    assert back.to_dict()["sampling"]["design"] == "stratified"
    assert "(seed 7)" in back.verdict.sentences[1]


def test_labels_beyond_the_draw_are_left_out_and_counted():
    """Labels of prompts that were not drawn change no figure; how many there were is said."""
    frame, record = cohort(500), halves(cohort(500))
    extra = record.prompt_ids[~record.drawn][:40]
    exact = audit(hide(frame, drawn(record)), design=record)
    more = audit(hide(frame, [*drawn(record), *extra]), design=record)
    assert more.metrics == exact.metrics
    assert more.to_dict()["sampling"]["labelled_not_drawn"] == 40
    assert "labels of 40 prompts not drawn are left out" in more.verdict.sentences[1]


def test_labels_that_are_worked_on_in_parts_are_worth_the_same(monkeypatch):
    """Few prompts at a time are left out; the figures are the same."""
    frame, record = cohort(200), halves(cohort(200))
    hidden = hide(frame, drawn(record))
    whole = audit(hidden, design=record).metrics
    assert "weighted" in {metric.method for metric in whole.values()}
    monkeypatch.setattr("bonwise.auditing.weighted_metrics._CHUNK", 7)
    assert audit(hidden, design=record).metrics == whole


@pytest.mark.parametrize(("lacking", "method"), [(10, "aipw"), (11, "labelled_only")])
def test_a_draw_with_gaps_stops_speaking_for_all(lacking, method):
    """Of 200 drawn prompts 10 may lack labels and are counted; with 11 the figures describe the labelled alone."""
    frame, record = cohort(500), halves(cohort(500))
    found = audit(hide(frame, drawn(record)[lacking:]), design=record)
    assert found["recovery"].method == method
    assert found.to_dict()["sampling"]["drawn_without_labels"] == lacking
    gate = found.check({"value_judge": 0.01}).gates[0]
    assert gate.state == ("met" if method == "aipw" else "inconclusive")
    if method == "labelled_only":
        assert "11 of 200 prompts that were drawn" in found.verdict.sentences[1]


def test_a_stratum_without_labels_is_joined_to_its_neighbour():
    """Where no prompt of a stratum is labelled the next one stands for it, so no prompt is lost."""
    frame = cohort(400)
    record = halves(frame)
    few = np.arange(400) < 3
    lone = replace(record, stratum=np.where(few, 9, record.stratum), phase=record.phase * ~few)
    found = audit(hide(frame, drawn(lone)), design=lone)
    assert found["value_random"].method == "aipw"
    assert found["value_random"].ess <= lone.drawn.sum()


def test_a_record_of_other_prompts_is_refused():
    """A design that lacks a scored prompt was drawn from something else, and the prompt is named."""
    frame, record = cohort(100), halves(cohort(90))
    with pytest.raises(InputError, match="p0000090"):
        audit(hide(frame, drawn(record)), design=record)


def test_a_propensity_column_is_a_design():
    """A column of propensities gives what the record with the same strata gives."""
    frame, record = cohort(500), halves(cohort(500))
    by_prompt = dict(zip(record.prompt_ids, record.propensity, strict=True))
    hidden = hide(frame, drawn(record))
    column = audit(hidden.assign(propensity=hidden["prompt_id"].map(by_prompt)))
    assert column.to_dict()["sampling"]["labelled_not_drawn"] == 0
    stated = audit(hidden, design=record)
    for name, metric in column.metrics.items():
        if metric.estimate is not None:
            assert metric.estimate == pytest.approx(stated[name].estimate, abs=1e-9), name
            assert metric.method == stated[name].method


def test_propensities_come_along_with_the_labels():
    """A column of propensities in the label file is used as one of the table is."""
    frame = cohort(500).assign(propensity=0.4)
    mine = some_of(frame, 0.4)
    labels = frame.loc[frame["prompt_id"].isin(mine), ["prompt_id", "candidate", "oracle_label", "propensity"]]
    joined = audit(frame[["prompt_id", "candidate", "judge_score"]], labels=labels)
    assert joined["recovery"].method == "aipw"
    uniform = audit(hide(frame.drop(columns="propensity"), mine), design="uniform")
    assert joined["recovery"].estimate == pytest.approx(uniform["recovery"].estimate, abs=1e-3)
    with pytest.raises(InputError, match="both state propensities"):
        audit(frame.drop(columns="oracle_label"), labels=labels)


def test_labelled_prompts_alone_are_weighted():
    """Prompts drawn with unequal propensities from a table that is not there are weighed to stand for it."""
    frame, record = cohort(3000), halves(cohort(3000))
    by_prompt = dict(zip(record.prompt_ids, record.propensity, strict=True))
    part = frame[frame["prompt_id"].isin(drawn(record))]
    found = audit(part.assign(propensity=part["prompt_id"].map(by_prompt)))
    assert {found[name].method for name in ("recovery", "within_r", "value_judge")} == {"weighted"}
    whole = audit(frame)
    assert abs(found["recovery"].estimate - whole["recovery"].estimate) < 4 * found["recovery"].se


def test_propensities_that_do_not_add_up_are_refused():
    """Labelled prompts that would stand for many more prompts than there are have the wrong propensities."""
    frame = cohort(500)
    hidden = hide(frame, some_of(frame, 0.5))
    with pytest.raises(InputError, match=r"would stand for about 2,500 prompts.*500"):
        audit(hidden.assign(propensity=0.1))


def test_a_column_and_a_design_are_one_too_many():
    """Two statements of how prompts were drawn are refused, and so is a design that is not a file."""
    frame = cohort(100).assign(propensity=0.5)
    with pytest.raises(UsageError, match="beside it"):
        audit(frame, design="uniform")
    with pytest.raises(UsageError, match="no design"):
        audit(cohort(100), design="nowhere.csv")


def test_a_further_judge_narrows_the_interval_and_it_is_said():
    """A better judge beside the audited one narrows the interval of recovery; by how much is in the document."""
    frame = two_judges(1500)
    mine = some_of(frame, 0.25)
    both = audit(hide(frame, mine), design="uniform")
    alone = audit(hide(frame[frame["judge"] == "first"], mine), design="uniform")
    wide, narrow = alone["recovery"], both.judges["first"].metrics["recovery"]
    said = both.to_dict()["judges"]["first"]["sampling"]
    assert narrow.high - narrow.low < 0.95 * (wide.high - wide.low)
    assert said["further_judges"] == ["second"]
    assert said["narrowed"] == pytest.approx(1 - (narrow.high - narrow.low) / (wide.high - wide.low), abs=0.02)
    assert "% narrower" in both.to_text(full=True)


def test_two_judges_are_compared_by_weights():
    """Under a design paired differences are weighted, and are the difference of the judges' weighted estimates."""
    frame = two_judges(800)
    found = audit(hide(frame, some_of(frame, 0.4)), design="uniform")
    assert {e.method for e in found.comparisons[0].differences.values()} == {"weighted"}
    gap = found.comparisons[0].differences["within_r"].estimate
    first, second = (found.judges[name].metrics["within_r"].estimate for name in ("first", "second"))
    assert gap == pytest.approx(first - second, abs=1e-12)


def test_the_order_of_the_rows_does_not_matter():
    """A shuffled table gives the same figures to the last bit."""
    frame = two_judges(300)
    hidden = hide(frame, some_of(frame, 0.5))
    shuffled = hidden.sample(frac=1, random_state=3, ignore_index=True)
    left, right = audit(hidden, design="uniform"), audit(shuffled, design="uniform")
    for name, judge in left.judges.items():
        assert judge.metrics == right.judges[name].metrics


def test_another_outcome_model_may_take_the_place_of_the_ridge():
    """A regressor is used, cross-fitted and named; what cannot fit and predict is refused."""
    frame = cohort(600)
    hidden = hide(frame, some_of(frame, 0.5))
    plain, other = audit(hidden, design="uniform"), audit(hidden, design="uniform", outcome_model=LinearRegression())
    assert other.to_dict()["settings"]["outcome_model"] == "LinearRegression"
    assert "LinearRegression" in other.to_dict()["sampling"]["model"]["name"]
    assert other["recovery"].estimate == pytest.approx(plain["recovery"].estimate, abs=0.05)
    with pytest.raises(UsageError, match="no fit and predict"):
        audit(hidden, design="uniform", outcome_model=7)


def test_the_page_says_how_labels_were_drawn():
    """The text names the draw, the effective sample size, the model with its reason, and the labelled-only column."""
    frame = cohort(600)
    text = str(audit(hide(frame, some_of(frame, 0.3)), design="uniform"))
    for words in ("uniform random sample", "effective sample size", "outcome model", "labels alone"):
        assert words in text, words


@pytest.mark.parametrize("prompts", [0, 1])
def test_one_labelled_prompt_or_none(prompts):
    """Without a labelled prompt the audit is refused; with one, figures stand without an interval and say why."""
    frame = cohort(50)
    hidden = hide(frame, some_of(frame, prompts / 50))
    if not prompts:
        with pytest.raises(InputError, match="no oracle labels"):
            audit(hidden, design="uniform")
        return
    found = audit(hidden, design="uniform")
    assert found["value_judge"].low is None
    assert found["value_judge"].reason


def test_equal_labels_leave_recovery_undefined():
    """Where all labels are equal nothing can be recovered, and the audit says so instead of dividing by 0."""
    frame = cohort(300)
    hidden = hide(frame.assign(oracle_label=0.5), some_of(frame, 0.4))
    found = audit(hidden, design="uniform")
    assert found["recovery"].estimate is None
    assert found["recovery"].reason
    assert found["value_judge"].estimate == pytest.approx(0.5)


@pytest.mark.shared
def test_arena_with_seven_of_ten_prompts_unlabelled(shared):
    """On real data with labels hidden for a random 30 % of prompts the interval covers the complete figure .2126."""
    frame = pd.read_csv(shared / "data" / "arena100" / "scores.csv")
    complete = parts(audit(frame, exclude="unhelpful")).judges["judge"].labelling.panel.prompt_ids
    lost = np.random.default_rng(20261122).permutation(complete)[: round(0.3 * len(complete))]
    found = audit(hide(frame, set(complete) - set(lost)), exclude="unhelpful", design="uniform")["recovery"]
    assert found.method == "aipw"
    assert found.low < 0.2126 < found.high


def test_propensities_that_are_right_are_not_refused():
    """A draw that came out short of its rare, heavy prompts is a draw, and is not taken for a misstatement."""
    frame = cohort(200)
    chances = dict(zip(np.sort(frame["prompt_id"].unique()), np.repeat([0.03, 0.9], 100), strict=True))
    stated = frame.assign(propensity=frame["prompt_id"].map(chances))
    often = [name for name, chance in chances.items() if chance > 0.5]
    found = audit(hide(stated, often[:90]))
    assert found["value_judge"].method == "aipw"


@pytest.mark.parametrize("replications", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("alone", [True, False])
def test_independent_draws_are_covered(replications, alone):
    """Prompts drawn one by one, each with its stated chance: intervals of values cover, whatever rows were kept."""
    truth = simulate("arena", n=10, seed=1).population
    covered = {"value_judge": 0, "value_random": 0}
    for at in range(replications):
        frame = simulate("arena", n=300, seed=50_000 + at).frame()
        level = frame.groupby("prompt_id")["judge_score"].mean()
        chances = level.rank(pct=True).map(lambda rank: 0.2 if rank < 0.4 else 0.4 if rank < 0.7 else 0.8)
        drawn_prompts = chances.index[np.random.default_rng(at).random(300) < chances]
        stated = frame.assign(propensity=frame["prompt_id"].map(chances))
        table = stated[stated["prompt_id"].isin(drawn_prompts)] if alone else hide(stated, drawn_prompts)
        found = audit(table)
        for name in covered:
            covered[name] += found[name].low <= truth[name] <= found[name].high
    assert_covered(covered, replications)


@pytest.mark.parametrize("chance", [1e-9, 0.001])
def test_one_impossible_propensity_is_refused(chance):
    """A single prompt that would stand for far more prompts than there are is a misstatement, and is refused."""
    frame = cohort(99)
    mine = some_of(frame, 30 / 99)
    stated = hide(frame, mine).assign(propensity=30 / 99)
    stated.loc[stated["prompt_id"] == mine[0], "propensity"] = chance
    with pytest.raises(InputError, match="would stand for about"):
        audit(stated)
    known = stated.assign(propensity=stated["propensity"].where(stated["prompt_id"].isin(mine)))
    with pytest.raises(InputError, match="would stand for about"):
        audit(known)


def test_too_few_labels_for_their_propensities_are_refused():
    """Twenty labels where the stated chances would draw ninety were not drawn by them, whatever they add up to."""
    frame = cohort(200)
    prompts = np.sort(frame["prompt_id"].unique())
    chances = dict(zip(prompts, np.repeat([0.03, 0.9], 100), strict=True))
    stated = hide(frame, [*prompts[:3], *prompts[100:120]]).assign(propensity=frame["prompt_id"].map(chances))
    with pytest.raises(InputError, match="23 prompts are labelled where these propensities would draw about 93"):
        audit(stated)


def test_a_design_of_another_file_is_refused_even_where_it_is_not_needed():
    """A record that knows none of the prompts is an error, also where every prompt is labelled."""
    frame = cohort(100)
    other = halves(frame.assign(prompt_id="q" + frame["prompt_id"]))
    with pytest.raises(InputError, match="none of its 100 prompts"):
        audit(frame, design=other)


@pytest.mark.parametrize("stated", ["uniform", "record", "propensity"])
def test_a_design_that_is_not_needed_is_said_to_be_unused(stated):
    """With all prompts labelled the audit is complete, and page and document say that the design was not used."""
    frame = cohort(100)
    if stated == "propensity":
        found, word = audit(frame.assign(propensity=0.3)), "propensities are"
    else:
        found, word = audit(frame, design=halves(frame) if stated == "record" else "uniform"), "design is"
    assert found.metrics == audit(frame).metrics
    assert found.to_dict()["sampling"]["how"] == f"all prompts are labelled: the {word} not used"
    assert f"the {word} not used" in str(found)


def test_the_level_bias_is_weighted():
    """Under unequal chances the level bias is that of the labels weighted by 1 / pi, and not that of the mixture."""
    frame, record = cohort(600), halves(cohort(600))
    found = audit(hide(frame, drawn(record)), design=record)
    labelling = parts(found).judges["judge"].labelling
    known, weights = labelling.panel.keep(labelling.labelled), labelling.sample.weights[labelling.labelled]
    made = [
        level_bias(known.scores, known.labels, known.sizes, known.names, confidence=0.95, seed=0, weights=w).estimate
        for w in (weights, None)
    ]
    assert found["level_bias"].estimate == made[0] != made[1]
    assert set(weights.round(2)) == {1.67, 5.0}


def test_one_huge_weight_passes_no_gate():
    """Where one label outweighs all others no figure has an interval, level bias included, and gates stay open."""
    frame = cohort(60)
    mine = some_of(frame, 0.3)
    record = LabelDesign(
        pd.Index(np.sort(frame["prompt_id"].unique()), dtype=object),
        np.isin(np.sort(frame["prompt_id"].unique()), mine).astype(np.int64),
        np.full(60, 0.3),
        np.where(np.isin(np.sort(frame["prompt_id"].unique()), mine[1:]), 0, 1),
        "stratified",
        1,
        "judge",
    )
    found = audit(hide(frame, mine), design=record)
    assert found["value_judge"].ess < 2
    for name in set(found.metrics) - JUDGE_ONLY:
        assert found[name].low is None, name
    (gate,) = found.check({"value_judge": -5.0}).gates
    assert gate.state == "inconclusive"
    assert "labels drawn alike" in gate.sentence


def test_nothing_explained_is_not_said():
    """Where no model is fitted nothing is explained, and no share of 0 % stands on the page; one prompt is one."""
    frame = cohort(60)
    text = str(audit(hide(frame, some_of(frame, 20 / 60)), design="uniform"))
    assert "outcome model: labels only" in text
    assert "explains" not in text
    assert "0 %" not in text
    assert "; 1 prompt labelled" in str(audit(hide(frame, some_of(frame, 1 / 60)), design="uniform"))


def test_a_page_of_estimates_fits_a_page():
    """With the labels' own estimate beside each, lines are at most 120 wide in a file."""
    frame = two_judges(400)
    for found in (
        audit(hide(frame, some_of(frame, 0.3)), design="uniform"),
        audit(hide(cohort(200), some_of(cohort(200), 0.05)), design="uniform"),
    ):
        assert max(map(len, str(found).splitlines())) <= 120
