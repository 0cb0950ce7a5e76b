from __future__ import annotations

import json

import numpy as np
import pytest

from auditing.tables import cohort, parts, table, two_judges
from bonwise.auditing.exhibits import exhibits
from bonwise.auditing.front import audit
from bonwise.labels.front import draw_labels
from bonwise.table.words import Words


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
