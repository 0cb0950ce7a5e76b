"""What stands on the page of an audit beside its figures: spread, differences, strata; and as a document."""

from __future__ import annotations

import json
import tracemalloc
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from auditing.tables import cohort, heavy_labels, parts, table, two_judges
from bonwise.auditing.exhibits import METRICS, differences, exhibits, spread, strata
from bonwise.auditing.front import audit
from bonwise.auditing.result_exhibits import ColumnLeftOut, Note
from bonwise.auditing.what_if import what_if
from bonwise.labels.front import draw_labels
from bonwise.table.score_table import ScoreTable
from bonwise.table.words import Words
from results.round_trips import read_back, refusal
from stats.pools import arrays, pools


def shown(found):
    """Return the exhibits of an audit, held to strict JSON."""
    out = exhibits(tuple(parts(found).judges.values()), found.table, Words(found.table), seed=1)
    return json.loads(json.dumps(out.to_dict(), allow_nan=False))


def test_every_judge_has_its_exhibits():
    """The document names its schema and holds the drawings of each judge and the prompts of all."""
    found = audit(two_judges(40))
    document = shown(found)
    assert document["schema"] == "bonwise.exhibits/1"
    assert list(document["judges"]) == ["first", "second"]
    for name, judge in document["judges"].items():
        assert set(judge) == {"chance", "differences", "spread", "strata", "strata_left_out"}
        ties = judge["differences"]["judge"]["ties"] / judge["differences"]["judge"]["pairs"]
        assert ties == pytest.approx(found.judges[name].metrics["tie_rate"].estimate)
    prompts = document["prompts"]
    assert prompts["of"] + prompts["without_loss"] == 80
    assert prompts["unknown_loss"] == 0


def test_chance_is_what_a_judge_that_ties_everything_reaches():
    """Random picks reach the top-1 accuracy and hit rate of a judge that cannot tell candidates apart."""
    prompts = [([0.5] * 4, [0.1, 0.9, 0.9, 0.3]), ([0.5] * 2, [0.2, 0.7]), ([0.5] * 3, [0.4, 0.4, 0.4])]
    found = audit(table(prompts), shape="ragged")
    chance = shown(found)["judges"]["judge"]["chance"]
    assert chance == {name: pytest.approx(found[name].estimate) for name in ("top1_accuracy", "hit_rate")}


def test_partial_labels_give_the_oracle_side_of_the_labelled_prompts():
    """With labels missing the judge's differences are of all prompts, the oracle's of those with labels."""
    judge = shown(audit(cohort(60, unlabelled=20)))["judges"]["judge"]
    assert judge["differences"]["judge"]["pairs"] == 60 * 6
    assert judge["differences"]["oracle"]["pairs"] == 40 * 6
    assert judge["spread"]["prompts"] == 40


def test_strata_of_a_sample_are_marked_as_of_the_labelled_prompts():
    """Where the audit estimates for all prompts its strata still rest on the labelled ones, and say so."""
    frame = cohort(80)
    codes = np.repeat(np.arange(80), 4)
    frame["topic"] = np.where(codes % 2, "a", "b")
    frame.loc[codes >= 50, "oracle_label"] = np.nan
    (column,) = shown(audit(frame, design="uniform"))["judges"]["judge"]["strata"]
    assert [row["prompts"] for row in column["rows"]] == [25, 25]
    assert {e["method"] for row in column["rows"] for e in row["metrics"].values()} == {"labelled_only"}
    (column,) = shown(audit(frame))["judges"]["judge"]["strata"]
    assert {e["method"] for row in column["rows"] for e in row["metrics"].values()} == {"labelled_only"}


def test_labels_of_single_candidates_leave_the_oracle_out(tmp_path):
    """Under a design of candidates no pool is labelled whole: what needs whole pools is null, the rest is there."""
    frame = cohort(200)
    frame["topic"] = np.where(np.repeat(np.arange(200), 4) % 2, "a", "b")
    drawn = draw_labels(frame.drop(columns="oracle_label"), labels=120, design="pair", seed=1)
    record = tmp_path / "design.csv"
    drawn.write(record)
    asked = set(zip(drawn.sheet["prompt_id"], drawn.sheet["candidate"], strict=True))
    keep = [pair in asked for pair in zip(frame["prompt_id"], frame["candidate"], strict=True)]
    frame["oracle_label"] = frame["oracle_label"].where(keep)
    judge = shown(audit(frame, design=record))["judges"]["judge"]
    assert judge["differences"]["oracle"] is None
    assert judge["differences"]["judge"]["pairs"] == 200 * 6
    assert judge["spread"] is None
    assert judge["strata"] == []
    assert judge["strata_left_out"] == [{"column": "topic", "reason": "no prompt is labelled completely"}]
    assert judge["chance"]["hit_rate"] is None


def test_logged_picks_have_no_differences(tmp_path):
    """A logged pick holds no scores, so nothing of scores is drawn; what is picked is."""
    frame = cohort(40)
    lines = [
        {"prompt_id": prompt, "ids": pool["candidate"].tolist(), "best": "c0"}
        for prompt, pool in frame.groupby("prompt_id")
    ]
    path = tmp_path / "picks.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    found = audit(path, labels=frame[["prompt_id", "candidate", "oracle_label"]])
    (judge,) = shown(found)["judges"].values()
    assert (judge["differences"], judge["spread"]) == (None, None)
    assert judge["chance"]["top1_accuracy"] == pytest.approx(0.25)


@pytest.mark.shared
def test_arena_ties_are_those_of_its_audit(shared):
    """On the arena sample 54.5 % of the judge's pairs and 25.3 % of the labels' are exact ties."""
    found = shown(audit(shared / "data" / "arena100" / "scores.csv", exclude="unhelpful"))
    sides = found["judges"]["judge"]["differences"]
    assert sides["judge"]["ties"] / sides["judge"]["pairs"] == pytest.approx(0.5455, abs=1e-4)
    assert sides["oracle"]["ties"] / sides["oracle"]["pairs"] == pytest.approx(0.2525, abs=1e-4)
    assert (found["prompts"]["of"], found["prompts"]["without_loss"]) == (70, 29)


def test_more_labels_take_the_interval_off_the_gate():
    """With as many more prompts as are named the half-width just reaches the gate; off the gate nothing is named."""
    found = audit(cohort(60))
    recovery = found["recovery"]
    gate = recovery.estimate + 0.37 * (recovery.high - recovery.estimate)
    shown_of = exhibits(tuple(parts(found).judges.values()), None, None, seed=1, gate=("recovery", gate)).judges[
        "judge"
    ]
    more = shown_of.to_decide
    assert 4 * more.prompts - 4 < more.labels <= 4 * more.prompts

    def upper(prompts):
        return recovery.estimate + (recovery.high - recovery.estimate) * (60 / prompts) ** 0.5

    assert upper(60 + more.prompts) <= gate < upper(60 + more.prompts - 1)
    for beyond in (recovery.high + 0.01, recovery.low - 0.01):
        none = exhibits(tuple(parts(found).judges.values()), None, None, seed=1, gate=("recovery", beyond))
        assert none.judges["judge"].to_decide is None


def plain(prompts, edges):
    """Count in plain loops: every pair in both directions, on bins whose outer edge belongs to the next one."""
    counts, ties = [0] * (len(edges) - 1), 0
    for pool in prompts:
        for first, second in combinations([round(value, 9) for value in pool[0]], 2):
            if first == second:
                ties += 1
                continue
            at = max(i for i, edge in enumerate(edges[:-1]) if edge <= abs(second - first) + 1e-8)
            counts[at] += 1
            counts[len(counts) - 1 - at] += 1
    return counts, ties


@given(pools(candidates=(2, 5)))
def test_counts_are_those_of_plain_loops(prompts):
    """Every untied pair counts in both directions, every tied pair apart, whatever the sizes of the pools."""
    scores, _, sizes = arrays(prompts)
    found = differences(scores, sizes)
    assert (found["counts"], found["ties"]) == plain(prompts, found["edges"])
    assert found["pairs"] == sum(len(pool[0]) * (len(pool[0]) - 1) // 2 for pool in prompts)


@given(pools(), st.floats(1e-3, 1e6))
def test_the_histogram_is_symmetric_and_whole_on_any_scale(prompts, scale):
    """Bins mirror each other about 0, reach as far as the differences do, and hold two for each untied pair."""
    scores, _, sizes = arrays(prompts)
    found = differences(scale * scores, sizes)
    edges, counts = np.array(found["edges"]), found["counts"]
    assert counts == counts[::-1]
    assert edges == pytest.approx(-edges[::-1])
    assert sum(counts) == 2 * (found["pairs"] - found["ties"])
    assert 1 <= len(counts) <= 41


@pytest.mark.parametrize("steps", [7, 200, 10**6])
def test_a_large_pool_is_counted_as_small_ones_are(steps):
    """A pool of 2,100 beside small ones has the bins and ties of all its pairs, however many of them tie."""
    values = np.random.default_rng(3).integers(0, steps, 2_108) / steps
    sizes = np.array([3, 2_100, 5])
    found = differences(values, sizes)
    width = found["edges"][1] - found["edges"][0]
    side = len(found["counts"]) // 2
    every = [np.round(pool, 9) for pool in np.split(values, [3, 2_103])]
    apart = np.concatenate([np.abs(pool[:, None] - pool)[np.triu_indices(len(pool), 1)] for pool in every])
    bins = np.bincount(np.floor(apart[apart > 0] / width + 0.5 + 1e-6).astype(int), minlength=side + 1)
    assert found["counts"][side + 1 :] == bins[1:].tolist()
    assert found["counts"][side] == 2 * bins[0]
    assert found["ties"] == (apart == 0).sum()


@given(pools(candidates=(1, 5)))
def test_the_largest_is_that_of_plain_loops(prompts):
    """The largest difference is that of two candidates of one prompt, not where a bin ends."""
    scores, _, sizes = arrays(prompts)
    values = [[round(value, 9) for value in pool[0]] for pool in prompts]
    found = differences(scores, sizes)["largest"]
    assert found == pytest.approx(max(max(pool) - min(pool) for pool in values), abs=1e-9)


def test_a_grid_of_scores_falls_on_the_middle_of_bins():
    """Scores in steps of .05 have bins of .05 centred on their differences."""
    found = differences(np.array([0.0, 0.05, 0.3, 1.0]), np.array([4]))
    centres = (np.array(found["edges"])[1:] + np.array(found["edges"])[:-1]) / 2
    held = [round(float(at), 9) for at, count in zip(centres, found["counts"], strict=True) if count]
    assert held == [-1.0, -0.95, -0.7, -0.3, -0.25, -0.05, 0.05, 0.25, 0.3, 0.7, 0.95, 1.0]


def test_a_pair_nearer_than_half_a_bin_counts_twice_in_the_middle():
    """The middle bin holds both directions of a pair that is all but tied, like the two bins of any other."""
    found = differences(np.array([0.0, 0.001, 1.0]), np.array([3]))
    counts = found["counts"]
    assert (counts[len(counts) // 2], sum(counts), found["ties"]) == (2, 6, 0)


def test_equal_but_for_rounding_is_tied():
    """0.1 + 0.2 ties 0.3; where all are tied one empty bin is left."""
    found = differences(np.array([0.1 + 0.2, 0.3]), np.array([2]))
    assert (found["counts"], found["ties"], found["pairs"], found["largest"]) == ([0], 1, 1, 0.0)
    assert differences(np.array([0.1, 0.4]), np.array([2]))["largest"] == 0.3
    assert differences(np.zeros(0), np.zeros(0, dtype=np.int64)) is None


def test_large_pools_take_memory_by_the_candidate():
    """Of pools of 200 candidates no table of all pairs is made."""
    values = np.random.default_rng(1).random(40_000)
    tracemalloc.start()
    found = differences(values, np.full(200, 200))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["pairs"] == 200 * 199 * 100
    assert peak < 20 * values.nbytes


def test_points_are_prompt_means_and_deviations():
    """A point between prompts is a prompt's two means, one within a candidate's two deviations from them."""
    found = spread(np.array([0.2, 0.6, 0.5, 0.1, 0.3]), np.array([0, 1, 0.3, 0.3, 0.6]), np.array([2, 3]), seed=0)
    assert found.between.to_dict() == {"judge": [0.4, 0.3], "oracle": [0.5, 0.4]}
    assert found["within"]["judge"] == pytest.approx([-0.2, 0.2, 0.2, -0.2, 0.0])
    assert found["within"]["oracle"] == pytest.approx([-0.5, 0.5, -0.1, -0.1, 0.2])
    assert [found[key] for key in ("prompts_shown", "prompts", "cells_shown", "cells")] == [2, 2, 5, 5]


def test_many_points_are_a_seeded_sample_with_the_count():
    """Of more than 2,000 points as many are drawn, each a point that is there, the same by the same seed."""
    rng = np.random.default_rng(2)
    scores, labels = rng.random(5000), rng.random(5000)
    first, again, other = (spread(scores, labels, np.full(2500, 2), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first["within"] != other["within"]
    assert (first["prompts_shown"], first["prompts"], first["cells_shown"], first["cells"]) == (
        2000,
        2500,
        2000,
        5000,
    )
    pairs = set(zip(first["between"]["judge"], first["between"]["oracle"], strict=True))
    means = scores.reshape(-1, 2).mean(1).round(6).tolist(), labels.reshape(-1, 2).mean(1).round(6).tolist()
    assert len(pairs) == 2000
    assert pairs <= set(zip(*means, strict=True))


def test_without_prompts_there_is_nothing_to_draw():
    """No labelled prompt, no scatter."""
    assert spread(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), seed=0) is None


def of(frame, **options):
    """Return the strata of a frame's only judge, by column, and the columns left out."""
    found = audit(frame, **options)
    judge = next(iter(parts(found).judges.values()))
    panel = judge.labelling.panel.keep(judge.labelling.labelled)
    shown, left_out = strata(found.table, panel, confidence=0.95)
    return {one["column"]: one["rows"] for one in shown}, {one["column"]: one["reason"] for one in left_out}


def by_prompt(frame, values):
    """Return one value per prompt as a column, in the order of the prompts."""
    codes = pd.factorize(frame["prompt_id"])[0]
    return np.array([*values, None], dtype=object)[:-1][codes]


def test_a_stratum_is_the_audit_of_its_prompts():
    """The metrics of a value are those of an audit of its prompts alone, intervals too."""
    frame = cohort(120)
    frame["topic"] = by_prompt(frame, ["maths"] * 50 + ["law"] * 70)
    rows, _ = of(frame)
    assert [(row["value"], row["kind"], row["prompts"]) for row in rows["topic"]] == [
        ("law", "value", 70),
        ("maths", "value", 50),
    ]
    for row in rows["topic"]:
        alone = audit(frame[frame["topic"] == row["value"]])
        for name in METRICS:
            for key in ("estimate", "low", "high"):
                expected = getattr(alone[name], key)
                assert row["metrics"][name][key] == pytest.approx(expected, abs=1e-9), (name, key)


def test_correlations_of_subsets_have_no_interval_where_those_of_the_table_have_none():
    """Heavy labels of all prompts are those of each subset, however few of them a subset shows."""
    frame = heavy_labels(80)
    frame["topic"] = by_prompt(frame, ["maths"] * 30 + ["law"] * 50)
    rows, _ = of(frame)
    for row in rows["topic"]:
        assert row["metrics"]["within_r"]["reason"] == audit(frame)["within_r"].reason
        assert row["metrics"]["recovery"]["low"] is not None


def test_numbers_with_many_values_are_cut_in_three():
    """More than 12 numbers are three groups of about as many prompts, named by their ends; written as text or not."""
    frame = cohort(90)
    frame["words"] = by_prompt(frame, range(100, 1000, 10))
    frame["typed"] = by_prompt(frame, [str(one) for one in range(100, 1000, 10)])
    frame["few"] = by_prompt(frame, [0.5, 1.0, 2.0] * 30).astype(float)
    rows, _ = of(frame)
    for column in ("words", "typed"):
        assert [(row["value"], row["kind"], row["prompts"]) for row in rows[column]] == [
            ("100 to 390", "range", 30),
            ("400 to 690", "range", 30),
            ("700 to 990", "range", 30),
        ]
    assert [row["value"] for row in rows["few"]] == ["0.5", "1", "2"]


def test_blank_and_rare_values_are_counted_apart():
    """Blank cells are a row of their own; values of fewer than 10 prompts stand together, and every prompt counts."""
    frame = cohort(100)
    frame["topic"] = by_prompt(frame, ["a"] * 40 + ["b"] * 30 + ["c"] * 5 + ["d"] * 5 + [""] * 10 + [None] * 10)
    rows, _ = of(frame)
    assert [(row["value"], row["kind"], row["prompts"]) for row in rows["topic"]] == [
        ("a", "value", 40),
        ("b", "value", 30),
        ("(other 2 values: c, d)", "other", 10),
        ("(blank)", "blank", 20),
    ]


def test_a_rare_value_alone_keeps_its_name():
    """A single rare value is no other values."""
    frame = cohort(40)
    frame["topic"] = by_prompt(frame, ["a"] * 35 + ["b"] * 5)
    assert [row["value"] for row in of(frame)[0]["topic"]] == ["a", "b"]


@pytest.mark.shared
def test_longer_answers_of_the_arena_are_ordered_worse_not_better(shared):
    """Split at the median mean length: sign agreement .732 of 97 pairs short, .632 of 117 long, in JSON too."""
    data = shared / "data" / "arena100"
    pools = [json.loads(line) for line in (data / "candidates.jsonl").read_text("utf-8").splitlines()]
    lengths = {(pool["prompt_id"], one["id"]): len(one["text"]) for pool in pools for one in pool["candidates"]}
    frame = pd.read_csv(data / "scores.csv")
    frame = frame[frame["candidate"] != "unhelpful"]
    whole = frame.groupby("prompt_id")["oracle_label"].transform("count") == 4
    frame = frame[whole]
    own = [lengths[key] for key in zip(frame["prompt_id"], frame["candidate"], strict=True)]
    mean = frame.assign(own=own).groupby("prompt_id")["own"].transform("mean")
    median = mean.groupby(frame["prompt_id"]).first().median()
    frame = frame.assign(half=np.where(mean <= median, "short", "long"))
    found = audit(frame)
    long, short = found.strata[0].rows
    assert (short.value, short.pairs, long.pairs) == ("short", 97, 117)
    assert short.metrics["sign_agreement"].estimate == pytest.approx(0.732, abs=5e-4)
    assert long.metrics["sign_agreement"].estimate == pytest.approx(0.632, abs=1e-3)
    assert "untied pairs" in found.to_text(full=True)
    assert json.loads(found.to_json())["strata"][0]["rows"][1]["metrics"]["sign_agreement"]["n"] == 34


def test_a_stratum_without_a_figure_is_named_with_its_prompts_and_the_reason():
    """Eight prompts with equal labels have no recovery: the full text says so, and nothing vanishes."""
    frame = cohort(60)
    frame["plen"] = by_prompt(frame, ["short"] * 52 + ["long"] * 8)
    frame.loc[frame["plen"] == "long", "oracle_label"] = 0.5
    frame["policy"] = frame["candidate"]
    found = audit(frame)
    text = " ".join(found.to_text(full=True).split())
    assert "plen long (8 prompts): no recovery" in text
    assert "policy: not shown: it differs within prompts" in text
    assert {row.value for row in found.strata[0].rows} == {"short", "long"}
    assert [left.column for left in found.strata_left_out] == ["policy"]


def test_strata_of_an_audit_are_those_of_its_page():
    """By the same rule, whoever shows them."""
    frame = cohort(40)
    frame["topic"] = by_prompt(frame, ["a"] * 25 + ["b"] * 15)
    found = audit(frame)
    (judge,) = exhibits(tuple(parts(found).judges.values()), found.table, Words(found.table), seed=1).judges.values()
    assert found.strata == judge.strata


def test_columns_that_say_nothing_are_left_out_with_the_reason():
    """What differs within prompts, is the same everywhere, is blank, or is free text is left out by name."""
    frame = cohort(40)
    frame["policy"] = frame["candidate"]
    frame["same"] = "x"
    frame["empty"] = ""
    frame["free"] = by_prompt(frame, [f"text {at}" for at in range(40)])
    frame["half"] = np.where(frame["candidate"] == "c0", None, "x")
    rows, left_out = of(frame)
    assert rows == {}
    assert left_out == {
        "policy": "it differs within prompts",
        "same": "it has the same value for every prompt",
        "empty": "it is blank",
        "free": "it has more than 12 values, which are not numbers",
        "half": "it differs within prompts",
    }


def test_only_so_many_columns_are_shown():
    """Beyond 20 columns the others are named, not shown."""
    frame = cohort(30)
    for at in range(23):
        frame[f"k{at:02d}"] = by_prompt(frame, ["a", "b"] * 15)
    rows, left_out = of(frame)
    assert len(rows) == 20
    assert left_out == dict.fromkeys(("k20", "k21", "k22"), "20 columns are shown already")


def test_candidates_that_are_left_out_do_not_speak():
    """A column that differs only in an excluded candidate, or in another judge's rows, is constant for this judge."""
    frame = two_judges(40)
    frame["topic"] = by_prompt(frame, ["a", "b"] * 20)
    frame.loc[frame["candidate"] == "c3", "topic"] = "?"
    frame.loc[frame["judge"] == "second", "topic"] = frame["candidate"]
    found = audit(frame, exclude="c3")
    shown = {
        name: strata(found.table, judge.labelling.panel, confidence=0.9)
        for name, judge in parts(found).judges.items()
    }
    assert [row["value"] for row in shown["first"][0][0]["rows"]] == ["a", "b"]
    assert shown["second"] == ([], [ColumnLeftOut(column="topic", reason="it differs within prompts")])


def test_without_labelled_prompts_every_column_is_left_out():
    """Where no prompt is labelled completely no stratum has a figure, and each column says so."""
    frame = cohort(12)
    frame["topic"] = by_prompt(frame, ["a", "b"] * 6)
    found = audit(frame)
    panel = parts(found).judges["judge"].labelling.panel
    none = panel.keep(np.zeros(12, dtype=bool))
    assert strata(found.table, none, confidence=0.95) == (
        [],
        [ColumnLeftOut(column="topic", reason="no prompt is labelled completely")],
    )


def test_values_that_are_no_texts_are_written_out(tmp_path):
    """Lists, truth values and large numbers of a file are grouped by how they read."""
    frame = cohort(30)
    frame["tags"] = by_prompt(frame, ["[1, 2]", "[3]"] * 15)
    frame["flag"] = by_prompt(frame, [True, False] * 15)
    frame["size"] = by_prompt(frame, [1234567, 7654321, None] * 10)
    path = tmp_path / "scores.jsonl"
    lines = frame.to_json(orient="records", lines=True).replace('"[1, 2]"', "[1, 2]").replace('"[3]"', "[3]")
    path.write_text(lines, "utf-8")
    rows, _ = of(ScoreTable.read(path))
    assert [row["value"] for row in rows["tags"]] == ["[1, 2]", "[3]"]
    assert {row["value"].lower() for row in rows["flag"]} == {"true", "false"}
    assert [row["value"] for row in rows["size"]] == ["1234567", "7654321", "(blank)"]


def shown_of_document():
    """Return the exhibits of an audit with strata and words."""
    frame = cohort(30).assign(text="the text", raw="the judge's words")
    frame["topic"] = frame["prompt_id"].str[-1]
    found = bw.audit(frame)
    rests_on = found.source_of("this")
    steps = what_if(rests_on.judges, rests_on.settings, source=found.settings.source)
    return exhibits(tuple(rests_on.judges.values()), found.table, Words(found.table), seed=1, what_if=steps)


def test_what_is_written_is_read_back(tmp_path):
    """Exhibits and notes are read back with the same bytes."""
    loaded = read_back(shown_of_document(), tmp_path)
    assert loaded.prompts.rows[0].candidates[0].text == "the text"
    read_back(Note.on("A study", "no data"), tmp_path)


@pytest.mark.parametrize(
    ("keys", "value", "why"),
    [
        ("judges.judge.differences.judge.ties", 10**6, "more pairs tie than there are"),
        ("judges.judge.differences.oracle.counts", [], "one edge more than counts"),
        ("judges.judge.spread.within.judge", [], "of different lengths"),
        ("judges.judge.strata.0.rows.0.kind", "odd", "judges.judge.strata[0].rows[0].kind"),
        ("prompts.of", 3, "more rows than there are prompts"),
        ("what_if.gate.current", 3, "gate.current is not the step of gate_value"),
        ("what_if.gate.steps.3.gate", 0.9, "rising order of the gate"),
        ("what_if.labels.steps.3.prompts", 1, "rising order of the prompts"),
        ("what_if.labels.current", 99, "current is beyond the last step"),
        ("what_if.labels.steps.3.lower", None, "one end of the bounds is missing"),
        ("what_if.labels.steps.3.low", 5.0, "the ends of the interval are in the wrong order"),
        ("what_if.labels.steps.3.chance", 1.5, "what_if.labels.steps[3].chance"),
        ("what_if.gate.steps.3.sentence", " ", "what_if.gate.steps[3].sentence"),
        ("prompts.rows.0.candidates.0.picked", "yes", "prompts.rows[0].candidates[0].picked"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, why):
    """Histograms, points and rows that cannot be are refused."""
    assert why in refusal(shown_of_document(), tmp_path, keys, value)
