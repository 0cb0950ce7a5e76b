"""Which prompts to label: every rule of drawing, in one phase and in two."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bonwise.auditing.front import audit
from bonwise.auditing.partial_metrics import partial_estimates
from bonwise.errors import InputError, UsageError
from bonwise.labels.front import draw_labels
from bonwise.labels.population import label_population
from bonwise.labels.rules import _residuals
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.partial.label_allocation import size_measure, strata
from bonwise.stats.partial.label_features import label_features
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import prompt_sums
from bonwise.table.label_design import LabelDesign
from bonwise.table.scales import Scale
from bonwise.table.score_table import ScoreTable
from bonwise.testing import simulate
from stats.nominal import assert_covered
from stats.second_judge import replications

HOSTILE = ("=1+1", "'=x", "a,b", 'q"uote', "line\nbreak", "é\u202e", "@SUM(A1)", " -1", "001", "nan-ish")
RULES = ("rule", "uniform", "stratified", "neyman", "pick", "pair")


def scores(n=300, seed=1):
    """Return a simulated table without labels."""
    return simulate("arena", n=n, seed=seed).frame().drop(columns="oracle_label")


def judged_twice(n=300, seed=1):
    """Return a simulated table with labels, scored by a second judge who is nearer to them."""
    drawn = simulate("arena", n=n, seed=seed)
    frame = drawn.frame().assign(judge="first")
    noise = np.random.default_rng(seed).normal(0, 0.11, len(frame))
    return pd.concat([frame, frame.assign(judge="second", judge_score=frame["oracle_label"] + noise)])


def hiding(frame, design):
    """Blank the labels of prompts that were not drawn."""
    known = set(design.prompt_ids[design.drawn])
    return frame.assign(oracle_label=frame["oracle_label"].where(frame["prompt_id"].isin(known)))


@pytest.mark.parametrize("rule", RULES)
def test_a_draw_holds_what_was_asked_and_records_its_chances(rule):
    """Labels sum up, propensities are n_h / N_h, and the record says rule, seed, phase and judge."""
    found = draw_labels(scores(), labels=60, design=rule, seed=3)
    design = found.design
    prompts = {"pair": 30, "neyman": 20}.get(rule, 60)
    assert design.drawn.sum() == prompts
    assert found.data["candidate_labels_now"] == {"pick": 60, "pair": 60}.get(rule, 4 * prompts)
    assert (design.rule, design.seed, design.judge) == (rule, 3, "judge")
    share = np.bincount(design.stratum, weights=design.drawn) / np.bincount(design.stratum)
    assert design.propensity == pytest.approx(share[design.stratum])
    assert set(design.phase.tolist()) == {0, 1}
    assert sum(one["drawn_now"] for one in found.strata) == prompts
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["schema"] == "bonwise.labels/1"
    assert "to be labelled now" in str(found)


@pytest.mark.parametrize("rule", RULES)
def test_the_same_seed_draws_the_same_whatever_the_order_of_rows(rule):
    """Shuffled rows give the same design; another seed another one."""
    frame = scores(120)
    designs = [
        draw_labels(one, labels=40, design=rule, seed=seed).design.frame()
        for one, seed in ((frame, 1), (frame.sample(frac=1, random_state=7), 1), (frame, 2))
    ]
    pd.testing.assert_frame_equal(designs[0], designs[1])
    assert not designs[0].equals(designs[2])


def test_the_rule_is_drawn_by_the_size_measure_of_the_second_judge():
    """Strata are those of the size measure; prompts with a larger one are likelier."""
    frame = judged_twice()
    found = draw_labels(frame, labels=100, judge="first")
    by = {
        name: part.sort_values(["prompt_id", "candidate"])["judge_score"].to_numpy()
        for name, part in frame.groupby("judge")
    }
    size = size_measure(by["first"], np.full(300, 4), by["second"])
    assert found.design.stratum.tolist() == strata(size, 100).tolist()
    assert (np.diff([one["propensity"] for one in found.strata]) > 0).all()
    assert any("scores of second" in sentence for sentence in found.sentences)


def test_each_prompt_is_drawn_as_often_as_its_propensity_says():
    """Over 250 seeds the share of draws lies within 4.5 standard errors of the propensity, for every prompt."""
    table, seeds = ScoreTable.from_frame(scores(40)), 250
    draws = [draw_labels(table, labels=15, seed=seed).design for seed in range(seeds)]
    share = np.mean([one.drawn for one in draws], axis=0)
    chance = draws[0].propensity
    assert (np.abs(share - chance) <= 4.5 * np.sqrt(chance * (1 - chance) / seeds) + 1e-12).all()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rule=st.sampled_from(RULES), labels=st.integers(4, 20), seed=st.integers(0, 99))
def test_a_design_is_read_back_as_it_was_written(tmp_path, rule, labels, seed):
    """Through CSV with hostile ids every field stays the same."""
    frame = scores(24)
    names = dict(zip(frame["prompt_id"].unique(), (f"{HOSTILE[i % 10]}{i}" for i in range(24)), strict=True))
    found = draw_labels(frame.assign(prompt_id=frame["prompt_id"].map(names)), labels=labels, design=rule, seed=seed)
    (tmp_path / "todo.csv").unlink(missing_ok=True)
    found.write(tmp_path / "todo.csv")
    read = LabelDesign.read(tmp_path / "todo.csv")
    pd.testing.assert_frame_equal(read.frame(), found.design.frame(), check_column_type=False)


def test_labels_are_not_looked_at_before_an_earlier_draw():
    """A table with labels, even wild ones, gives the draw of the table without."""
    plain = scores(100)
    labelled = plain.assign(oracle_label=np.where(np.arange(400) % 3, 0.2, np.nan))
    for frame in (labelled, ScoreTable.from_frame(labelled)):
        assert draw_labels(frame, labels=30).design.frame().equals(draw_labels(plain, labels=30).design.frame())


@pytest.mark.parametrize("rule", ["rule", "uniform", "stratified", "neyman"])
def test_a_second_phase_draws_more_and_takes_nothing_back(rule):
    """What was drawn stays, in its phase; propensities are the shares of both phases together."""
    frame = judged_twice(400)
    first = draw_labels(frame, labels=150 if rule == "neyman" else 60, design=rule, judge="first", seed=1).design
    second = draw_labels(hiding(frame, first), labels=150, after=first, seed=1)
    design = second.design
    assert (design.phase[first.drawn] == 1).all()
    assert design.drawn.sum() == 150
    assert second.data["drawn_now"] == 150 - first.drawn.sum()
    share = np.bincount(design.stratum, weights=design.drawn) / np.bincount(design.stratum)
    assert design.propensity == pytest.approx(share[design.stratum])
    assert rule == "uniform" or any("decided where the others" in sentence for sentence in second.sentences)
    assert set(second.sheet["prompt_id"]) == set(design.prompt_ids[design.phase == 2])
    third = draw_labels(hiding(frame, design), labels=200, after=design)
    assert (third.design.phase[design.drawn] == design.phase[design.drawn]).all()


@pytest.mark.parametrize("rule", ["pick", "pair"])
def test_a_second_phase_of_candidates_keeps_the_candidates(rule):
    """Picks of the first phase are those of the design that tops it up."""
    frame = scores(200)
    first = draw_labels(frame, labels=40, design=rule, seed=1).design
    second = draw_labels(frame, labels=80, after=first, seed=2).design
    kept = np.flatnonzero(first.drawn)
    assert [second.picks[x] for x in kept] == [first.picks[x] for x in kept]
    assert [second.others[x] for x in kept] == [first.others[x] for x in kept]


def test_the_second_phase_goes_where_outcomes_were_seen_to_spread():
    """Where only the lower half of the prompts has labels that differ, the top-up goes there."""
    n = 400
    rng = np.random.default_rng(5)
    pool = rng.permuted(np.tile([0.1, 0.4, 0.7, 0.9], (n, 1)), axis=1)
    pool[: n // 2] *= 0.8
    labels = np.where(np.arange(n)[:, None] < n // 2, rng.random((n, 4)), 0.5 + 0.001 * rng.random((n, 4)))
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{x:03d}" for x in range(n)], 4),
            "candidate": np.tile(list("abcd"), n),
            "judge_score": pool.ravel(),
            "oracle_label": labels.ravel(),
        }
    )
    first = draw_labels(frame, labels=80, seed=1).design
    second = draw_labels(hiding(frame, first), labels=160, after=first, seed=1).design
    new = second.phase == 2
    assert new[: n // 2].sum() > 2 * new[n // 2 :].sum()


def test_a_pick_is_uniform_on_the_top_set_and_the_other_uniform_off_it():
    """Over 150 draws of one pool with two top scores each side is taken half of the time, and no tie is drawn."""
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat(["p", "q", "r", "tied"], 4),
            "candidate": ["a", "b", "c", "d"] * 4,
            "judge_score": [0.9, 0.9, 0.1, 0.3] * 3 + [0.5] * 4,
        }
    )
    table = ScoreTable.from_frame(frame)
    designs = [draw_labels(table, labels=6, design="pair", seed=seed).design for seed in range(150)]
    assert all(one.phase.tolist() == [1, 1, 1, 0] for one in designs)
    assert designs[0].propensity.tolist() == [1, 1, 1, 0]
    for side, names in (("picks", "ab"), ("others", "cd")):
        drawn = [getattr(one, side)[0] for one in designs]
        assert set(drawn) == set(names)
        assert abs(drawn.count(names[0]) / 150 - 0.5) < 4 * math.sqrt(0.25 / 150)


def test_the_sheet_does_not_give_the_pick_away():
    """Prompts stand as drawn and candidates by name, whichever is the pick; labels are blank, no score is shown."""
    drawn = draw_labels(scores(50), labels=40, design="pair", seed=1)
    sheet = drawn.sheet
    assert list(sheet.columns) == ["prompt_id", "candidate", "oracle_label"]
    assert sheet["oracle_label"].isna().all()
    assert sheet["prompt_id"].unique().tolist() == drawn.design.frame()["prompt_id"].head(20).tolist()
    for _, pool in sheet.groupby("prompt_id", sort=False):
        assert pool["candidate"].is_monotonic_increasing


def test_texts_stand_in_the_sheet_where_they_are_asked_for(tmp_path):
    """Words of prompt and candidate are joined by prompt and candidate; formulas are defused in the file."""
    frame = scores(30).assign(prompt="=cmd()", raw="judge's words")
    frame["text"] = frame["prompt_id"] + "/" + frame["candidate"]
    frame.to_csv(tmp_path / "s.csv", index=False)
    for source in (frame, tmp_path / "s.csv"):
        found = draw_labels(source, labels=10, texts=True)
        assert list(found.sheet.columns) == ["prompt_id", "candidate", "oracle_label", "prompt", "text"]
        assert (found.sheet["text"] == found.sheet["prompt_id"] + "/" + found.sheet["candidate"]).all()
    found.write(tmp_path / "todo.csv", sheet=tmp_path / "sheet.csv")
    assert pd.read_csv(tmp_path / "sheet.csv")["prompt"].unique().tolist() == ["'=cmd()"]


def test_a_judge_that_ties_everything_leaves_nothing_to_choose_by():
    """Rules by prompt draw at random and say why; a pair is refused."""
    frame = scores(50).assign(judge_score=0.5)
    for rule in ("rule", "stratified"):
        found = draw_labels(frame, labels=20, design=rule)
        assert np.unique(found.design.propensity).tolist() == [0.4]
        assert any("its recovery is 0" in sentence for sentence in found.sentences)
    with pytest.raises(InputError, match="ties all candidates"):
        draw_labels(frame, labels=20, design="pair")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"labels": 1}, "1 labelled prompt cannot"),
        ({"labels": -3}, "-3 labelled prompts cannot"),
        ({"labels": 61}, "holds 60 prompts, and 61 were asked"),
        ({"labels": 3, "design": "pair"}, "make 1 pair"),
        ({"labels": 118, "design": "pair"}, "tells candidates apart in"),
        ({"labels": 10, "design": "margin"}, "unknown rule 'margin'"),
        ({"labels": 10, "seed": -1}, "seed"),
        ({"labels": 10, "seed": 1.5}, "seed must be a whole number"),
        ({"labels": 50.5}, "labels must be a whole number"),
        ({"labels": "x"}, "labels must be a whole number"),
        ({"labels": True}, "labels must be a whole number"),
        ({"labels": 10, "after": 3}, "after is an earlier draw"),
        ({"labels": 10, "exclude": 3}, "exclude takes a name"),
        ({"labels": 10, "design": ["rule"]}, "design is a text"),
        ({"labels": 10, "judge": "nobody"}, "no judge named"),
        ({"labels": 10, "label_file": pd.DataFrame()}, "a first draw looks at no label"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, words):
    """One line says what is wrong."""
    with pytest.raises(InputError, match=words):
        draw_labels(scores(60), **arguments)


def test_several_judges_need_a_name():
    """The error lists them."""
    with pytest.raises(UsageError, match="holds 2 judges") as error:
        draw_labels(judged_twice(20), labels=10)
    assert "first, second" in error.value.hint


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        ({}, {"labels": 20}, "20 prompts drawn already"),
        ({}, {"labels": 30, "design": "uniform"}, "was drawn by rule, and uniform"),
        ({"judge": "other"}, {"labels": 30, "judge": "judge"}, "drawn for the audit of 'other'"),
        ({"prompts": 50}, {"labels": 30}, "differ: 10 of the prompts in the table alone"),
    ],
)
def test_a_first_phase_of_something_else_is_refused(change, arguments, words):
    """Another rule, judge or table, or no more labels than before."""
    first = draw_labels(
        scores(change.get("prompts", 60)).assign(judge=change.get("judge", "judge")), labels=20
    ).design
    with pytest.raises(InputError, match=words):
        draw_labels(scores(60), after=first, **arguments)


def test_labels_from_a_file_tell_the_second_phase(tmp_path):
    """A filled sheet is joined; what is owed is said."""
    frame = simulate("arena", n=300, seed=1).frame()
    first = draw_labels(frame, labels=60)
    first.write(tmp_path / "todo.csv")
    filled = first.sheet.drop(columns="oracle_label").merge(frame.drop(columns="judge_score")).iloc[:-2]
    second = draw_labels(
        frame.drop(columns="oracle_label"), labels=120, after=tmp_path / "todo.csv", label_file=filled
    )
    assert second.data["drawn_now"] == 60
    assert any("60 prompts drawn before 1 still" in sentence for sentence in second.sentences)


def test_ragged_pools_are_drawn_from():
    """Pools of two to four candidates have propensities in (0, 1] and whole sheets."""
    frame = scores(90)
    keep = (frame["candidate"].str[1].astype(int) < 2) | (frame["prompt_id"].str[-1].astype(int) % 2 == 0)
    found = draw_labels(frame[keep], labels=30)
    assert found.settings["shape"] == "ragged"
    assert ((found.design.propensity > 0) & (found.design.propensity <= 1)).all()


@pytest.mark.shared
def test_the_arena_sample_is_drawn_from(shared):
    """Of the sample's 100 pools 30 are drawn, the clear and spread ones likelier."""
    found = draw_labels(shared / "data" / "arena100" / "scores.csv", labels=30, exclude=["unhelpful"], seed=1)
    assert [one["drawn_now"] for one in found.strata] == [10, 10, 10]
    assert found.to_dict()["data"]["dropped"] == [{"prompt_id": "arena_22", "reason": "lacks base"}]
    assert 0.5 < found.width_ratio["estimate"] < 1


@pytest.fixture
def topped_up():
    """Draw 40 prompts and, with their labels on a scale of 0 to 10, 80 in all; return truth and both draws."""
    truth = simulate("arena", n=200, seed=1).frame()
    first = draw_labels(truth.drop(columns="oracle_label"), labels=40, seed=1)
    truth["oracle_label"] = (10 * truth["oracle_label"]).round()
    filled = first.sheet.drop(columns="oracle_label").merge(truth.drop(columns="judge_score"))
    second = draw_labels(
        truth.drop(columns="oracle_label"),
        labels=80,
        after=first.design,
        label_file=filled,
        label_scale=Scale(0, 10),
        seed=2,
    )
    return truth, filled, first, second


def test_the_sheet_of_a_second_phase_holds_the_labels_of_the_first(topped_up):
    """One file for all phases: the rows of the first as they were filled in, on their scale, then blank ones."""
    truth, filled, first, second = topped_up
    sheet = second.sheet
    pd.testing.assert_frame_equal(sheet.head(160), filled, check_dtype=False)
    assert sheet["oracle_label"].tail(160).isna().all()
    assert second.data["candidate_labels_now"] == 160
    whole = sheet.drop(columns="oracle_label").merge(truth.drop(columns="judge_score"))
    found = audit(truth.drop(columns="oracle_label"), labels=whole, label_scale=Scale(0, 10), design=second.design)
    assert found.metrics["recovery"].n == 80
    assert found.metrics["recovery"].method == "aipw"
    assert first.sheet["oracle_label"].isna().all()


def test_a_label_that_a_first_phase_still_owes_stays_blank_in_the_sheet(topped_up):
    """What was drawn and not labelled stands there to be labelled."""
    truth, filled, first, _ = topped_up
    second = draw_labels(
        truth.drop(columns="oracle_label"),
        labels=80,
        after=first.design,
        label_file=filled.iloc[2:],
        label_scale=Scale(0, 10),
    )
    assert second.sheet["oracle_label"].isna().tolist()[:4] == [True, True, False, False]


def test_each_phase_keeps_its_seed_and_its_order(topped_up, tmp_path):
    """The record says by which seed each prompt was drawn, and a later phase does not reorder the first."""
    _, _, first, second = topped_up
    design = second.design
    assert design.seed == 2
    assert set(design.seeds[design.phase == 1]) == {1}
    assert set(design.seeds[design.phase != 1]) == {2}
    second.write(tmp_path / "todo.csv")
    read = LabelDesign.read(tmp_path / "todo.csv")
    assert read.seed == 2
    assert set(read.seeds[read.phase == 1]) == {1}
    pd.testing.assert_frame_equal(read.frame(), design.frame())
    assert design.frame()["prompt_id"].head(40).tolist() == first.design.frame()["prompt_id"].head(40).tolist()


@pytest.mark.parametrize("rule", ["uniform", "pick"])
def test_a_second_phase_has_random_numbers_of_its_own(rule):
    """With the seed of the first phase its draw is not the rest of a single longer one."""
    frame = scores(200)
    first = draw_labels(frame, labels=40, design=rule, seed=1).design
    second = draw_labels(frame, labels=80, after=first, seed=1).design
    assert second.drawn.tolist() != draw_labels(frame, labels=80, design=rule, seed=1).design.drawn.tolist()


def test_a_second_phase_weighs_the_first_by_its_chances():
    """Residuals come from a regression that counts a prompt of weight 3 three times."""
    population = label_population(judged_twice(120), judge="first", with_labels=True)
    rng = np.random.default_rng(3)
    seen, phi = rng.random(120) < 0.5, rng.normal(size=120)
    w = rng.integers(1, 5, 120).astype(float)[seen]
    left, explained = _residuals(phi[seen], population, seen, w)
    features = population.features()
    X = np.column_stack((np.ones(120), features.stand_ins[:, 1:3], features.spread))[seen]
    copies = np.repeat(np.arange(len(w)), w.astype(int))
    slope = np.linalg.lstsq(X[copies], phi[seen][copies], rcond=None)[0]
    assert left == pytest.approx(phi[seen] - X @ slope)
    assert 0 <= explained <= 1


def test_a_draw_neither_wipes_labels_nor_another_draw(tmp_path):
    """The same draw is written again; filled-in labels and another draw stay, and then nothing is written."""
    out, sheet = tmp_path / "todo.csv", tmp_path / "sheet.csv"
    draw = draw_labels(scores(60), labels=20, seed=1)
    for _ in range(2):
        draw.write(out, sheet=sheet)
    other = draw_labels(scores(60), labels=20, seed=2)
    with pytest.raises(UsageError, match="holds another draw") as error:
        other.write(out)
    assert "--after" in error.value.hint
    draw.sheet.assign(oracle_label=[0.5] + [None] * 79).to_csv(sheet, index=False)
    kept = sheet.read_bytes()
    with pytest.raises(UsageError, match="holds labels already"):
        draw.write(out, sheet=sheet)
    with pytest.raises(UsageError, match="holds labels already"):
        other.write(tmp_path / "new.csv", sheet=sheet)
    assert sheet.read_bytes() == kept
    assert not (tmp_path / "new.csv").exists()


def test_an_empty_sheet_is_written_over(tmp_path):
    """A sheet without a label holds nothing to lose; a file of something else may."""
    draw = draw_labels(scores(60), labels=20, seed=1)
    draw.write(tmp_path / "a.csv", sheet=tmp_path / "sheet.csv")
    draw_labels(scores(60), labels=30, seed=1).write(tmp_path / "b.csv", sheet=tmp_path / "sheet.csv")
    assert len(pd.read_csv(tmp_path / "sheet.csv")) == 120
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(UsageError, match="holds labels already"):
        draw.write(tmp_path / "a.csv", sheet=tmp_path / "notes.csv")


def test_an_odd_number_of_labels_makes_pairs_and_says_so():
    """Of 41 labels 40 are used."""
    found = draw_labels(scores(200), labels=41, design="pair")
    assert found.data["candidate_labels_now"] == 40
    assert "Labels come in pairs: 40 of the 41 asked for are used." in found.sentences


def test_settings_of_a_draw_repeat_how_the_table_was_read():
    """Columns, scales, exclusions and shape are in the document, and the settings cannot be changed."""
    frame = scores(60).rename(columns={"judge_score": "rating"})
    found = draw_labels(
        frame,
        labels=20,
        seed=3,
        exclude="c3",
        shape="ragged",
        columns={"judge_score": "rating"},
        judge_scale={"judge": Scale(0, 1)},
        label_scale=Scale(1, 5),
    )
    settings = json.loads(json.dumps(found.to_dict()["settings"]))
    expected = {
        "seed": 3,
        "exclude": ["c3"],
        "shape_asked": "ragged",
        "columns": {"judge_score": "rating"},
        "judge_scale": {"judge": "0:1"},
        "label_scale": "1:5",
        "label_file": None,
    }
    assert {name: settings[name] for name in expected} == expected
    with pytest.raises(TypeError):
        found.settings["seed"] = 5


PROMPTS, LABELS, FIRST = 1000, 250, 100
SEED = 20261130
RECOVERY = simulate("arena", n=1).population["recovery"]
NAMES = {
    "prompt_id": np.repeat([f"p{x:04d}" for x in range(PROMPTS)], 4),
    "candidate": np.tile(list("abcd"), PROMPTS),
}


def table_of(drawn, seen):
    """Return the scores of both judges with the labels of some prompts."""
    labels = np.where(seen[:, None], drawn.labels, np.nan).ravel()
    judged = {"first": drawn.scores, "second": drawn.second}
    rows = [
        pd.DataFrame(NAMES | {"judge": judge, "judge_score": scores.ravel(), "oracle_label": labels})
        for judge, scores in judged.items()
    ]
    return ScoreTable.from_frame(pd.concat(rows, ignore_index=True))


def two_phases(drawn, seed):
    """Draw 40 % of the labels by the scores, the others by what they showed."""
    first = draw_labels(table_of(drawn, np.zeros(PROMPTS, bool)), labels=FIRST, judge="first", seed=seed).design
    return draw_labels(table_of(drawn, first.drawn), labels=LABELS, judge="first", after=first, seed=seed).design


def recovery_interval(drawn, design, seed):
    """Estimate recovery from the labels of a design as an audit does."""
    sample = LabelSample.realised(design.drawn, design.stratum)
    features = label_features(drawn.scores.ravel(), drawn.sizes, (drawn.second.ravel(),))
    seen = design.drawn
    sums = prompt_sums(drawn.scores[seen].ravel(), drawn.labels[seen].ravel(), drawn.sizes[seen])
    return partial_estimates(sums, features, sample, IntervalRule(), seed=seed).metrics["recovery"]


def covered(count):
    """Count the intervals that hold the population's recovery."""
    hits = 0
    for at, drawn in enumerate(replications(PROMPTS, count, seed=SEED, kind="T1")):
        found = recovery_interval(drawn, two_phases(drawn, at), at)
        hits += found.low <= RECOVERY <= found.high
    return hits


def test_recovery_is_covered_after_a_second_phase():
    """Over 100 replications of 100 then 250 labels by the rule, with a second judge, coverage agrees with 95 %."""
    assert_covered({"recovery": covered(100)}, 100)


@pytest.mark.slow
def test_coverage_after_a_second_phase_is_nominal():
    """The same over 1,000 replications."""
    assert_covered({"recovery": covered(1000)}, 1000)
