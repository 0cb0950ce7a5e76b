from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bonwise.data.label_design import LabelDesign
from bonwise.data.table import ScoreTable
from bonwise.errors import InputError, RowError, UsageError
from bonwise.planning.monitoring.label_order import labelled_in_order
from bonwise.planning.monitoring.monitor import monitor
from bonwise.planning.monitoring.vote_order import votes_in_order
from bonwise.testing import simulate

CELL = ["prompt_id", "candidate"]


@pytest.fixture(scope="module")
def arena():
    """Return scores of 400 prompts and their labels, prompts in shuffled order."""
    table = simulate("arena", n=400, seed=8).frame()
    order = np.random.default_rng(4).permutation(400)
    labels = table.assign(at=order.repeat(4)).sort_values("at", kind="stable")
    return table.drop(columns="oracle_label"), labels[[*CELL, "oracle_label"]].reset_index(drop=True)


def strict(found):
    """Return the document as a reader of strict JSON sees it."""
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_too_few_labels_are_no_error(arena):
    """Before the first look the answer is to go on, with an estimate and no interval."""
    scores, labels = arena
    found = monitor(scores, labels=labels.iloc[:80], question="precision", half_width=0.1)
    assert found.verdict == "continue"
    assert (found.now.n, found.now.low, found.watched.next_look) == (20, None, 30)
    assert "before the first look" in str(found)
    assert strict(found)["looks"] == []


def test_the_rule_stops_once_and_stays_stopped(arena):
    """The verdict on all labels names the same stop as the verdict at that moment."""
    scores, labels = arena
    later = monitor(scores, labels=labels, question="precision", half_width=0.1, planned=170)
    assert later.verdict == "stop: precise enough"
    n = later.stopped.n
    assert n % 10 == 0
    at_once = monitor(scores, labels=labels.iloc[: 4 * n], question="precision", half_width=0.1, planned=170)
    before = monitor(scores, labels=labels.iloc[: 4 * n - 1], question="precision", half_width=0.1, planned=170)
    assert (at_once.stopped.n, at_once.stopped.half_width) == (n, pytest.approx(later.stopped.half_width))
    assert at_once.stopped.half_width <= 0.1
    assert before.verdict == "continue"
    assert before.data["partly_labelled_prompts"] == 1
    assert 0 < before.expected_more < 60
    document = strict(later)
    assert document["schema"] == "bonwise.monitor/1"
    assert n in [look["n"] for look in document["looks"]]


def test_prompts_count_in_the_order_of_their_last_label():
    """A prompt begun first and completed last counts last, and one half done not at all."""
    scores = pd.DataFrame({"prompt_id": list("aabbccdd"), "candidate": ["x", "y"] * 4, "judge_score": [1, 0] * 4})
    labels = pd.DataFrame(
        {"prompt_id": list("acbbcad"), "candidate": list("xxxyyyx"), "oracle_label": [1, 0, 0, 1, 1, 0, 1]}
    )
    found = labelled_in_order(scores, labels=labels)
    assert found.prompt_ids.tolist() == ["b", "c", "a"]
    np.testing.assert_allclose(found.gained, [-0.5, -0.5, 0.5])
    assert (found.pools, found.partly, found.sorted_by_id) == (4, 1, False)


def test_one_file_holds_scores_and_labels_in_its_own_order():
    """Without a second file the rows of the table are the order, whatever the ids; a blank label is none."""
    rows = pd.DataFrame(
        {
            "prompt_id": list("zzaamm"),
            "candidate": ["x", "y"] * 3,
            "judge_score": [1, 0] * 3,
            "oracle_label": [1, 0, 0, 1, 1, None],
        }
    )
    found = labelled_in_order(rows)
    assert found.prompt_ids.tolist() == ["z", "a"]
    assert found.partly == 1
    blank = rows.assign(oracle_label=[None, None, 0, 1, 1, None])
    split = labelled_in_order(rows.drop(columns="oracle_label"), labels=blank[[*CELL, "oracle_label"]])
    assert split.prompt_ids.tolist() == ["a"]


def test_files_frames_and_tables_give_the_same(arena, tmp_path):
    """Whatever holds the scores and the labels, the answer is one."""
    scores, labels = arena
    scores.to_csv(tmp_path / "scores.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    asked = {"question": "significance", "planned": 300}
    first = monitor(scores, labels=labels, **asked)
    second = monitor(tmp_path / "scores.csv", labels=tmp_path / "labels.csv", **asked)
    third = monitor(ScoreTable.from_frame(scores), labels=labels, **asked)
    assert first.to_dict()["looks"] == second.to_dict()["looks"] == third.to_dict()["looks"]


def test_a_judge_that_helps_is_found_better(arena):
    """The sequence excludes 0 from above, and a recovery that is out of reach from below."""
    scores, labels = arena
    better = monitor(scores, labels=labels, question="significance")
    worse = monitor(scores, labels=labels, question="significance", than=0.6)
    assert better.verdict == "stop: better"
    assert better.stopped.low > 0
    assert worse.verdict == "stop: not better"
    assert worse.stopped.high < 0.6
    assert better.settings["target"] == 400
    assert better.watched.looks[0].n == 200


def test_a_judge_that_says_nothing_goes_on(arena):
    """A judge that ties everything is never claimed to be good or bad, and no number of labels is named."""
    scores, labels = arena
    found = monitor(scores.assign(judge_score=0.5), labels=labels, question="significance")
    assert found.verdict == "continue"
    assert found.expected_more is None
    assert any("no sign of equivalence" in sentence for sentence in found.sentences)
    assert any("No number of further labels" in sentence for sentence in found.sentences)
    assert strict(found)["now"]["estimate"] == 0


def test_equal_labels_are_said_to_be_equal(arena):
    """With nothing to recover there is no estimate, but a reason."""
    scores, labels = arena
    for question in ({"question": "precision", "half_width": 0.1}, {"question": "significance"}):
        found = monitor(scores, labels=labels.assign(oracle_label=0.5), **question)
        assert found.verdict == "continue"
        assert found.now.estimate is None
        assert "all labels are equal" in str(found)
        strict(found)


def test_a_judge_that_is_always_right_is_not_called_precise(arena):
    """Prompts that all recover alike show no spread: the rule goes on and says why."""
    scores, labels = arena
    right = scores.drop(columns="judge_score").merge(labels, on=CELL).rename(columns={"oracle_label": "judge_score"})
    found = monitor(right, labels=labels, question="precision", half_width=0.1)
    assert found.verdict == "continue"
    assert "recovered alike" in str(found)


def test_one_labelled_prompt_is_counted(arena):
    """A single prompt has an estimate or a reason, and no interval."""
    scores, labels = arena
    found = monitor(scores, labels=labels.iloc[:4], question="precision", half_width=0.1)
    assert (found.now.n, found.verdict) == (1, "continue")
    assert strict(monitor(scores, labels=labels.iloc[:2], question="significance"))["now"]["estimate"] is None


def test_a_candidate_labelled_twice_is_refused(arena, tmp_path):
    """The row is named."""
    scores, labels = arena
    pd.concat([labels, labels.iloc[[3]]]).to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(RowError, match=r"row 1602: .* labelled again"):
        monitor(scores, labels=tmp_path / "labels.csv", question="precision", half_width=0.1)


def test_heavy_tails_are_said(arena):
    """Where a few prompts carry the variance a later first look is recommended, and taken when asked for."""
    scores, labels = arena
    heavy = labels.assign(oracle_label=labels["oracle_label"] * np.where(np.arange(1600) < 12, 40.0, 1.0))
    asked = {"labels": heavy, "question": "precision", "half_width": 0.001}
    assert any("--first-look 100" in one for one in monitor(scores, **asked).sentences)
    later = monitor(scores, **asked, first_look=100)
    assert later.watched.looks[0].n == 100
    assert not any("--first-look" in one for one in later.sentences)


def test_ids_in_order_are_pointed_at(arena):
    """Labels that come in the order of the ids may come in the order of something else."""
    scores, labels = arena
    asked = {"question": "precision", "half_width": 0.1}
    ordered = labels.sort_values(CELL)
    assert any("order of their ids" in one for one in monitor(scores, labels=ordered, **asked).sentences)
    assert not any("order of their ids" in one for one in monitor(scores, labels=labels, **asked).sentences)


def drawn(scores, rule, taken):
    """Return a design that drew the first prompts."""
    ids = pd.Index(sorted(set(scores["prompt_id"])), dtype=object)
    zeros = np.zeros(len(ids), dtype=np.int64)
    phase = (np.arange(len(ids)) < taken).astype(np.int64)
    return LabelDesign(ids, phase, np.full(len(ids), taken / len(ids)), zeros, rule, 1, "judge")


def test_only_a_uniform_design_will_do(arena, tmp_path):
    """A uniform draw is taken; unequal chances are refused, and so are labels that it did not draw."""
    scores, labels = arena
    asked = {"labels": labels, "question": "precision", "half_width": 0.1}
    assert monitor(scores, **asked, design=drawn(scores, "uniform", 400)).verdict == "stop: precise enough"
    drawn(scores, "rule", 400).write(tmp_path / "todo.csv")
    with pytest.raises(InputError, match="drawn by the rule 'rule'"):
        monitor(scores, **asked, design=tmp_path / "todo.csv")
    with pytest.raises(InputError, match="100 labelled prompts were not drawn"):
        monitor(scores, **asked, design=drawn(scores, "uniform", 300))


def test_of_several_judges_one_is_named(arena):
    """One sequence of looks is for one judge."""
    scores, labels = arena
    both = pd.concat([scores.assign(judge="a"), scores.assign(judge="b")])
    with pytest.raises(UsageError, match="2 judges"):
        monitor(both, labels=labels, question="significance")
    assert monitor(both, labels=labels, question="significance", judge="b").settings["judge"] == "b"
    with pytest.raises(UsageError, match="no judge named 'c'"):
        monitor(both, labels=labels, question="significance", judge="c")
    own = both.merge(labels, on=CELL)
    assert monitor(own, question="significance", judge="a").now.n == 400


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"question": "precision"}, "needs half_width"),
        ({"question": "precision", "half_width": 0.0}, "half-width must be above 0"),
        ({"question": "precision", "half_width": float("nan")}, "half-width must be above 0"),
        ({"question": "precision", "half_width": 0.1, "first_look": 10}, "too early"),
        ({"question": "precision", "half_width": 0.1, "planned": 0}, "planned must be above 0"),
        ({"question": "significance", "first_look": 30}, "too early"),
        ({"question": "significance", "half_width": 0.1}, "half_width means nothing"),
        ({"question": "significance", "than": 1.0}, "than must be below 1"),
        ({"question": "significance", "confidence": 95}, "confidence"),
        ({"question": "preference"}, "needs verdict"),
        ({"question": "preference", "verdict": "w", "margin": 0.6}, "margin"),
        ({"question": "preference", "verdict": "w", "exclude": ["c0"]}, "exclude means nothing"),
        ({"question": "preference", "verdict": "w", "labels": pd.DataFrame({"a": [1]})}, "labels means nothing"),
        ({"question": "peek"}, "no question 'peek'"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arena, arguments, words):
    """One line that says what is wrong."""
    with pytest.raises(UsageError, match=words):
        monitor(arena[0], **arguments)


def votes(*words):
    """Return a frame of votes."""
    return pd.DataFrame({"winner": list(words)})


def asked(frame, **arguments):
    """Ask about votes."""
    return monitor(frame, question="preference", verdict="winner", **arguments)


def test_votes_decide_either_way_or_not_yet():
    """Thirty of one kind decide, an even split does not and names no number."""
    assert asked(votes(*["a"] * 30)).verdict == "stop: better"
    assert asked(votes(*["b"] * 30)).verdict == "stop: not better"
    even = asked(votes(*["a", "b"] * 15))
    assert (even.verdict, even.expected_more) == ("continue", None)
    leaning = asked(votes(*["a", "a", "b"] * 5))
    assert 20 < leaning.expected_more < 200
    assert strict(leaning)["data"]["votes"] == 15


def test_a_single_vote_and_none_go_on():
    """Nothing is known yet, and nothing breaks."""
    assert asked(votes("a")).verdict == "continue"
    assert strict(asked(votes("", "")))["now"]["n"] == 0
    assert strict(asked(votes("tie", "tie"), ties="drop"))["data"]["ties"] == 2


def test_ties_count_as_was_said():
    """Left out, half, or against the first answer; without a word they are refused."""
    frame = votes("a", "tie", "b", "", "tie")
    for ties, worth in {"drop": [1, 0], "half": [1, 0.5, 0, 0.5], "pessimistic": [1, 0, 0, 0]}.items():
        found = votes_in_order(frame, verdict="winner", ties=ties)
        assert found.worth.tolist() == worth
        assert (found.tied, found.blank) == (2, 1)
    with pytest.raises(UsageError, match="2 of 4 votes are ties"):
        votes_in_order(frame, verdict="winner")
    with pytest.raises(UsageError, match="cannot count as 'win'"):
        votes_in_order(frame, verdict="winner", ties="win")


def test_models_that_change_places_are_told_apart_by_name():
    """The alphabetically first model is the first answer, whichever column it stood in; three are one too many."""
    frame = pd.DataFrame({"l": ["x", "y", "x"], "r": ["y", "x", "y"], "winner": ["a", "a", "tie"]})
    found = votes_in_order(frame, verdict="winner", pair=["l", "r"], ties="pessimistic")
    assert (found.sides, found.worth.tolist()) == (("x", "y"), [1, 0, 0])
    with pytest.raises(InputError, match="3 models"):
        votes_in_order(frame.assign(r=["y", "x", "z"]), verdict="winner", pair=["l", "r"], ties="drop")


def test_votes_on_one_prompt_are_not_independent():
    """Where the prompt is named it has one vote; without it the assumption is said."""
    frame = votes("a", "a", "b").assign(prompt_id=["p", "q", "p"])
    with pytest.raises(InputError, match="3 votes on 2 prompts"):
        asked(frame, prompt="prompt_id")
    assert asked(frame.iloc[:2], prompt="prompt_id").verdict == "continue"
    assert "one vote a prompt" in asked(frame).sentences[-1]


def test_a_table_of_scores_holds_no_votes(arena):
    """It is refused in one line."""
    with pytest.raises(UsageError, match="holds no votes"):
        monitor(ScoreTable.from_frame(arena[0]), question="preference", verdict="winner")
