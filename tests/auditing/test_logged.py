from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

from auditing.tables import cohort, table
from bonwise.auditing.front import audit
from bonwise.auditing.judge_audit import NO_SCORES
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from stats.pools import pools

OF_PICKS = ("top1_accuracy", "hit_rate", "value_random", "value_judge", "value_oracle", "gain", "recovery")


def greedy_lines(frame, seed=0):
    """Pick the best-scored candidate of each prompt as a selection does, ties drawn."""
    rng = np.random.default_rng(seed)
    lines = []
    for prompt, pool in frame.groupby("prompt_id", sort=False):
        scores = pool["judge_score"].round(9)
        ids = pool["candidate"].tolist()
        tied = pool["candidate"][scores == scores.max()].tolist()
        level = tied if len(tied) > 1 else []
        decided = "tie-break" if level else "score"
        best = tied[rng.integers(len(tied))]
        lines.append({"prompt_id": prompt, "ids": ids, "best": best, "level": level, "decided_by": decided})
    return lines


def logged(path, lines):
    """Write picks and return their path."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def labels_of(frame):
    """Return the labels of a table as a table of their own."""
    return frame[["prompt_id", "candidate", "oracle_label"]]


def same(found, expected):
    """Compare the metrics of picks of two audits, intervals too."""
    for name in (*OF_PICKS, "oracle_tie_rate", "oracle_between_share"):
        a, b = found[name], expected[name]
        assert (a.n, a.interval, a.reason) == (b.n, b.interval, b.reason), name
        for one, other in zip((a.estimate, a.low, a.high, a.se), (b.estimate, b.low, b.high, b.se), strict=True):
            assert one == (None if other is None else pytest.approx(other, abs=1e-12, rel=0)), name


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prompts=pools(least=2, most=12))
def test_greedy_picks_are_the_score_audit_in_expectation(prompts, tmp_path):
    """Whatever the table, greedy picks audited as logged picks equal the audit of the scores, intervals too."""
    frame = table(prompts)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    same(audit(path, labels=labels_of(frame), shape="ragged"), audit(frame, shape="ragged"))


def test_a_cohort_of_greedy_picks_is_the_score_audit(tmp_path):
    """The same on a table of 400 prompts, with either kind of interval and with labels missing."""
    frame = cohort(400, unlabelled=5)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    for asked in ({}, {"interval": "bootstrap", "resamples": 50}, {"confidence": 0.9}):
        same(audit(path, labels=labels_of(frame), **asked), audit(frame, **asked))


def test_metrics_of_scores_are_null_with_the_reason(tmp_path):
    """What is made of scores is undefined, and the verdict says no more than follows from picks."""
    frame = cohort(60)
    found = audit(logged(tmp_path / "picks.jsonl", greedy_lines(frame)), labels=labels_of(frame))
    for name, e in found.metrics.items():
        if name in OF_PICKS or name.startswith("oracle_"):
            assert e.estimate is not None, name
        else:
            assert (e.estimate, e.reason) == (None, NO_SCORES), name
    assert {found.verdict.checks[key] for key in ("correlation", "level", "directional")} == {"undefined"}
    assert found.verdict.checks["decision"] in {"pass", "fail", "inconclusive"}
    assert found.per_prompt()["margin"].isna().all()
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["settings"]["picks"]["as_picked"] is False
    assert sum(document["settings"]["picks"]["decided_by"].values()) == 60
    assert "within_r" not in str(found)


def test_drawn_picks_scatter_around_their_expectation(tmp_path):
    """Picks as drawn have, over many seeds, the mean of the picks in expectation, and never less noise."""
    frame = cohort(80)
    drawn = []
    for seed in range(40):
        path = logged(tmp_path / f"{seed}.jsonl", greedy_lines(frame, seed))
        drawn.append(audit(path, labels=labels_of(frame), as_picked=True)["value_judge"].estimate)
    expected = audit(path, labels=labels_of(frame))["value_judge"].estimate
    assert np.std(drawn) > 0
    assert np.mean(drawn) == pytest.approx(expected, abs=4 * np.std(drawn) / np.sqrt(40))


def test_prompts_without_a_pick_are_dropped_and_counted(tmp_path):
    """Nothing picked, a single candidate and no labels are each a reason, and each prompt is named."""
    frame = cohort(100)
    lines = greedy_lines(frame)
    prompts = [line["prompt_id"] for line in lines]
    lines[3] |= {"best": None, "level": [], "decided_by": "nothing scored"}
    lines[4] |= {"ids": lines[4]["ids"][:1], "best": lines[4]["ids"][0], "level": []}
    labels = labels_of(frame)
    gone = (labels["prompt_id"] == prompts[5]) | (
        (labels["prompt_id"] == prompts[4]) & (labels["candidate"] != lines[4]["ids"][0])
    )
    found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels[~gone])
    reasons = {drop["prompt_id"]: drop["reason"] for drop in found.data["dropped"]}
    assert reasons == {
        prompts[3]: "nothing picked: nothing scored",
        prompts[4]: "one candidate",
        prompts[5]: "unlabelled",
    }
    assert found.data["prompts"] == 97


def test_many_unlabelled_prompts_leave_bounds_and_no_balance_of_scores(tmp_path):
    """With many labels missing the figures describe the labelled prompts; worst cases are the scores' own."""
    frame = cohort(100, unlabelled=30)
    found = audit(logged(tmp_path / "picks.jsonl", greedy_lines(frame)), labels=labels_of(frame)).to_dict()
    scored = audit(frame).to_dict()
    assert [row["feature"] for row in found["balance"]] == ["candidates"]
    assert found["metrics"]["recovery"]["method"] == "labelled_only"
    for name, ends in scored["bounds"].items():
        assert found["bounds"][name] == pytest.approx(ends, abs=1e-12)


def test_labels_may_be_on_any_scale(tmp_path):
    """Labels from 1 to 5 are no sign of another scale: a pick has none."""
    frame = cohort(60)
    labels = labels_of(frame).assign(oracle_label=1 + 4 * frame["oracle_label"])
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    found, unit = audit(path, labels=labels), audit(path, labels=labels_of(frame))
    assert found["gain"].estimate == pytest.approx(4 * unit["gain"].estimate)
    assert found["recovery"].estimate == pytest.approx(unit["recovery"].estimate)


REFUSED = {
    "no labels": ({"labels": None}, InputError, "no oracle labels"),
    "exclude": ({"exclude": "base"}, UsageError, "made among all its candidates"),
    "system": ({"target": "system"}, UsageError, "no scores to compare systems by"),
    "oracle": ({"labels": None, "oracle": "judge:x"}, UsageError, "hold no scores"),
    "column": ({"columns": {"judge_score": "score"}}, UsageError, "no column for judge_score"),
}


@pytest.mark.parametrize(("asked", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_picks_cannot_answer_is_refused(tmp_path, asked, error, words):
    """What asks for scores, or for another pool, is refused in plain words."""
    frame = cohort(10)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    with pytest.raises(error, match=words):
        audit(path, **{"labels": labels_of(frame), **asked})


def test_labels_that_match_no_candidate_are_refused(tmp_path):
    """A label of a candidate that was in no pool is an error, as it is beside scores."""
    frame = cohort(10)
    labels = pd.concat([labels_of(frame), labels_of(frame).head(1).assign(candidate="stranger")])
    with pytest.raises(RowError, match="match no scored candidate"):
        audit(logged(tmp_path / "picks.jsonl", greedy_lines(frame)), labels=labels)


@pytest.mark.parametrize("role", ["prompt_id", "candidate", "oracle_label"])
def test_columns_named_with_picks_are_those_of_the_label_file(tmp_path, role):
    """Picks have no columns of a table, so a named column must be in the label file, their own name or not."""
    frame = cohort(10)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    renamed = labels_of(frame).rename(columns={role: "other"})
    assert audit(path, labels=renamed, columns={role: "other"})["recovery"].n == 10
    for name in ("nope", role):
        with pytest.raises(ColumnError, match=f"no column named '{name}' for {role}"):
            audit(path, labels=renamed, columns={role: name})


def test_picks_of_some_prompts_take_their_labels_from_a_file_of_all(tmp_path):
    """A log of the first prompts is audited as with their labels alone; what the file held beyond is counted."""
    frame = cohort(60)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame)[:20])
    found = audit(path, labels=labels_of(frame))
    prompts = frame["prompt_id"].drop_duplicates()[:20]
    same(found, audit(path, labels=labels_of(frame[frame["prompt_id"].isin(prompts)])))
    assert found.to_dict()["settings"]["labels_left_out"] == {"prompts": 40, "rows": 160}
    assert "labels of 40 prompts that are not in the file left out (160 rows)" in str(found)
    scored = audit(frame[frame["prompt_id"].isin(prompts)].drop(columns="oracle_label"), labels=labels_of(frame))
    assert scored.to_dict()["settings"]["labels_left_out"] == {"prompts": 40, "rows": 160}


@pytest.mark.parametrize(("owed", "state"), [(0, "met"), (5, "met"), (6, "inconclusive"), (60, "inconclusive")])
def test_a_log_that_lacks_more_than_five_percent_of_its_picks_passes_no_gate(tmp_path, owed, state):
    """Of 100 pools 5 may lack a pick; with 6 no gate is settled, whichever way, and the audit says of whom it is."""
    frame = cohort(100)
    lines = greedy_lines(frame)
    for line in lines[:owed]:
        line |= {"best": None, "level": [], "decided_by": "owed"}
    found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels_of(frame))
    met, missed = found.check({"value_judge": -5, "gain": 5}).gates
    assert (met.state, missed.state) == (state, "not met" if state == "met" else state)
    document = found.to_dict()
    assert (document["data"]["pools"], document["data"]["pools_without_pick"]) == (100, owed)
    said = f"{100 - owed} of 100 pools that have a pick" in str(found)
    assert said == (state == "inconclusive")
    if said:
        assert f"{owed} of 100 pools have no pick" in met.sentence


def test_a_single_candidate_is_no_missing_pick(tmp_path):
    """A pool of one needs no pick, so any number of them leaves gates as they are."""
    frame = cohort(40)
    lines = greedy_lines(frame)
    alone = [{"prompt_id": f"one{x}", "ids": ["a"], "best": None} for x in range(40)]
    found = audit(logged(tmp_path / "picks.jsonl", [*lines, *alone]), labels=labels_of(frame), shape="ragged")
    assert (found.data["pools"], found.data["pools_without_pick"]) == (40, 0)
    assert {gate.state for gate in found.check({"value_judge": -5}).gates} == {"met"}


def test_what_decided_is_counted_over_the_audited_prompts(tmp_path):
    """Counts of what decided are those behind the figures; prompts without a pick or a label stand apart."""
    frame = cohort(100)
    lines = greedy_lines(frame)
    for line in lines:
        line["decided_by"] = "score"
    lines[0] |= {"best": None, "level": [], "decided_by": "owed"}
    labels = labels_of(frame)
    gone = labels["prompt_id"].isin([line["prompt_id"] for line in lines[1:3]])
    found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels[~gone])
    picks = found.to_dict()["settings"]["picks"]
    assert (picks["decided_by"], picks["left_out"]) == ({"score": 97}, {"score": 2, "owed": 1})
    assert "decided by score (97); left out: score (2), owed (1)" in str(found)


def test_routed_picks_name_their_router(tmp_path):
    """Signal, share and stronger judge stand in the words and in the JSON; picks of 0.1.0 name the judge alone."""
    frame = cohort(100)
    settings = {"strategy": "greedy", "judge": "j", "strong": "local:length"}
    for more, words in (
        ({"router": "margin at a share of 25%"}, "routed by margin at a share of 25%, stronger judge local:length;"),
        ({}, "routed by stronger judge local:length;"),
    ):
        lines = [line | {"settings": settings | more} for line in greedy_lines(frame)]
        found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels_of(frame))
        assert list(found.to_dict()["settings"]["picks"]["by"].items()) == list((settings | more).items())
        assert words in " ".join(str(found).split())
    plain = audit(logged(tmp_path / "picks.jsonl", greedy_lines(frame)), labels=labels_of(frame))
    assert "routed by" not in str(plain)


def test_only_picks_can_be_taken_as_drawn():
    """Asking for drawn picks of a table of scores is an error."""
    with pytest.raises(UsageError, match="works only with logged picks"):
        audit(cohort(10), as_picked=True)
