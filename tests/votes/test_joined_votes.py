"""Verdicts of a judge against votes of people in a second file: by hand, by plain loops, whichever side is first."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import BonwiseError, InputError, RowError, UsageError

JUDGE = [
    ("p1", "x", "y", "A"),
    ("p2", "x", "y", "B"),
    ("p3", "y", "x", "A"),
    ("p4", "x", "y", "tie"),
    ("p5", "x", "z", "A"),
]
CROWD = [
    *(("p1", "y", "x", "right"), ("p1", "x", "y", "left"), ("p1", "x", "y", "right")),
    *(("p2", "x", "y", "left"), ("p3", "x", "y", "right"), ("p3", "x", "y", "left")),
    *(("p4", "x", "y", ""), ("p4", "y", "x", "both bad"), ("p9", "x", "y", "left"), ("p5", "x", "y", "left")),
]
TURN = {"A": "B", "B": "A", "left": "right", "right": "left", "tie": "tie", "both bad": "both bad", "": ""}


def frames(judge=JUDGE, crowd=CROWD):
    """Return both tables, with columns of other names."""
    return (
        pd.DataFrame(judge, columns=["prompt_id", "model_a", "model_b", "winner"]),
        pd.DataFrame(crowd, columns=["Question ID", "left", "right", "Vote"]),
    )


def joined(judge=JUDGE, crowd=CROWD, **asked):
    """Audit the judge against the crowd."""
    verdicts, labels = frames(judge, crowd)
    return bw.audit_preferences(verdicts, labels=labels, **asked)


PANDA = [("i1", "r", "s", 1, 1, 2), ("i2", "", "t", 2, 2, 2), ("i3", "u", "v", 1, 2, 0), ("i4", "w", "", 1, 1, 1)]


def test_votes_of_several_columns_on_texts_of_which_some_are_empty():
    """i1: 2 of 3 for the first; i2: the second; i3: one each and a tie; i4: the first. An empty answer is an answer.

    The judge's file names no sides: the first side is that of the first text, which is said.
    """
    names = ["idx", "response1", "response2", "annotator1", "annotator2", "annotator3"]
    labels = pd.DataFrame(PANDA, columns=names)
    judge = pd.DataFrame({"idx": ["i1", "i2", "i3", "i4"], "panda_result": [1, 2, 1, 0]})
    asked = {"prompt_col": "idx", "verdict_map": {1: "first", 2: "second", 0: "tie"}}
    people = {"labels": labels, "label_col": "annotator1,annotator2,annotator3"}
    found = bw.audit_preferences(judge, verdict_col="panda_result", **people, **asked)
    assert found.judges["judge"].metrics["agreement"].estimate == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)
    assert found.settings.readings["labels: sides"] == "the first side is that of response1 in both files"
    assert found.to_dict()["labels"]["votes"] == 12
    # With the texts in both files, whichever stands first.
    turned = labels[["idx"]].assign(response1=labels["response2"], response2=labels["response1"], winner=[2, 1, 2, 0])
    again = bw.audit_preferences(turned, verdict_col="winner", **people, **asked)
    assert again.judges["judge"].metrics["agreement"].estimate == pytest.approx(0.75)


def test_a_prompt_with_two_pairs_of_texts_is_not_compared_by_position():
    """Nothing says which of the two the judge's row is on."""
    labels = pd.DataFrame([("i1", "r", "s", "A"), ("i1", "t", "u", "B")], columns=["idx", "text_a", "text_b", "vote"])
    judge = pd.DataFrame({"idx": ["i1"], "winner": ["A"]})
    with pytest.raises(UsageError, match="names the sides of a pair by"):
        bw.audit_preferences(judge, labels=labels, prompt_col="idx")


def test_the_shared_votes_give_their_figure(shared):
    """PandaLM's judge and three annotators per pair; a tie of the judge is no exact agreement."""
    shapes = shared / "data" / "shapes"
    expected = json.loads((shapes / "expected.json").read_text("utf-8"))
    metrics = (
        bw.audit_preferences(
            shapes / "blank_response_judge.json",
            labels=shapes / "blank_response_votes.json",
            verdict_col="pandalm_result",
            prompt_col="idx",
            verdict_map={"0": "tie", "1": "first", "2": "second"},
            label_col="annotator1,annotator2,annotator3",
        )
        .judges["judge"]
        .metrics
    )
    exact = metrics["agreement"].estimate - metrics["judge_tie_rate"].estimate / 2
    known = expected["blank_response_votes.json + blank_response_judge.json"]
    assert (exact, metrics["agreement"].n) == (pytest.approx(known["exact_agreement"]), known["with_majority"])


def test_by_hand():
    """p1: 2 of 3 for x; p2: x; p3: one each, a tie; p4: a tie; p5 has no vote on its pair."""
    found = joined()
    assert found.judges["judge"].metrics["agreement"].estimate == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    data = found.judges["judge"].data
    assert (data.prompts, data.pairs) == (4, 4)
    assert data.dropped == {"no label of the pair": 1}
    assert found.to_dict()["labels"] == {
        "source": "labels",
        "rows": 10,
        "votes": 7,
        "turned": 4,
        "pairs": 4,
        "several": 2,
        "unanimous": 0,
        "no_majority": 1,
        "left_out": {"no verdict": 1, "prompt not judged": 1, "pair not judged": 1},
    }
    assert found.settings.prompt == ["prompt_id"]
    assert found.settings.pair == ["model_a", "model_b"]
    said = str(found)
    for piece in ("verdicts left out", "turned round", "the label is a tie", "votes left out"):
        assert piece in " ".join(said.split())
    assert "winner read as A: first; tie: tie; B: second" in " ".join(found.to_text(full=True).split())


def test_a_pair_of_which_one_order_has_no_verdict_is_left_out():
    """A row for each order: where one of them says nothing, the other is no verdict on the pair."""
    judge = [*JUDGE, ("p1", "y", "x", ""), ("p2", "y", "x", "A")]
    data = joined(judge).judges["judge"].data
    assert data.dropped == {"no verdict": 1, "a verdict in one order only": 1, "no label of the pair": 1}
    assert (data.pairs, data.pairs_in_both_orders) == (3, 1)
    verdicts, labels = frames([*JUDGE, ("p1", "y", "x", ""), ("p2", "x", "y", "A")])
    names = ["one"] * len(JUDGE) + ["other"] * 2
    two = bw.audit_preferences(verdicts.assign(judge=names), labels=labels, judge_col=["judge"])
    assert (two.judges["one"].data.pairs, two.judges["other"].data.pairs) == (4, 1)


rows = st.lists(
    st.tuples(
        st.sampled_from(["p", "q", "r", "s"]),
        st.sampled_from([("x", "y"), ("y", "x"), ("x", "z"), ("z", "y")]),
        st.sampled_from(["A", "B", "tie", ""]),
    ),
    min_size=1,
    max_size=25,
)


def once(judge):
    """Keep one row per prompt and pair."""
    return list({(prompt, frozenset(sides)): (prompt, *sides, won) for prompt, sides, won in judge}.values())


@given(rows, rows)
@settings(max_examples=60, deadline=None)
def test_the_labels_of_plain_loops(judge, crowd):
    """The agreement is that of a loop over judged pairs that counts the votes of each."""
    judge = once(judge)
    worth = {"A": 1.0, "B": 0.0, "tie": 0.5}
    scores = []
    for prompt, one, other, won in judge:
        ahead, votes = 0, 0
        for p, (left, right), vote in crowd:
            if p == prompt and {left, right} == {one, other} and vote:
                votes += 1
                for_left = {"A": 1, "B": -1, "tie": 0}[vote]
                ahead += for_left if left == one else -for_left
        if won and votes:
            label = 1.0 if ahead > 0 else 0.0 if ahead < 0 else 0.5
            scores.append(1 - abs(worth[won] - label))
    table = [(p, left, right, vote) for p, (left, right), vote in crowd]
    if not scores:
        with pytest.raises(BonwiseError):
            joined(judge, table)
        return
    found = joined(judge, table)
    assert found.judges["judge"].metrics["agreement"].estimate == pytest.approx(sum(scores) / len(scores))
    assert found.judges["judge"].data.pairs == len(scores)


@given(st.lists(st.booleans(), min_size=15, max_size=15))
@settings(max_examples=40, deadline=None)
def test_swapping_sides_with_the_verdict_turned_changes_nothing(swaps):
    """Rows of either file may name the sides the other way round: every figure stays."""
    judge = [(p, b, a, TURN[w]) if s else (p, a, b, w) for (p, a, b, w), s in zip(JUDGE, swaps, strict=False)]
    crowd = [(p, b, a, TURN[w]) if s else (p, a, b, w) for (p, a, b, w), s in zip(CROWD, swaps[5:], strict=True)]
    one, other = joined().to_dict(), joined(judge, crowd).to_dict()
    assert one["judges"] == other["judges"]
    assert {**one["labels"], "turned": 0} == {**other["labels"], "turned": 0}


def test_a_judge_that_saw_both_orders_in_rows():
    """Two rows of a pair with the sides changed are averaged and counted; twice in one order is refused."""
    both = [*JUDGE, ("p1", "y", "x", "A"), ("p2", "y", "x", "A")]
    found = joined(both)
    assert found.to_dict()["judges"]["judge"]["data"]["pairs_in_both_orders"] == 2
    assert found.judges["judge"].metrics["agreement"].estimate == pytest.approx((0.5 + 0 + 0.5 + 1) / 4)
    assert "2 pairs judged in both orders" in found.to_text(full=True)
    with pytest.raises(RowError, match=r"row 5: 'judge' judges 'p1 / x / y' again"):
        joined([*JUDGE, JUDGE[0]])


def test_turns_tell_pairs_apart():
    """A column of turns in both files counts; in one alone the judge's rows are not told apart."""
    verdicts, labels = frames()
    verdicts = pd.concat([verdicts.assign(turn=1), verdicts.assign(turn=2, winner="A")])
    labels = pd.concat([labels.assign(Turn=1), labels.assign(Turn=2)])
    found = bw.audit_preferences(verdicts, labels=labels)
    assert found.judges["judge"].data.pairs == 8
    assert found.settings.pair == ["model_a", "model_b", "turn"]
    with pytest.raises(RowError, match="again"):
        bw.audit_preferences(verdicts, labels=labels.drop(columns="Turn"))


def test_pairs_without_sides_are_joined_by_prompt():
    """Where neither file names the sides, A is A in both; where one alone does, they cannot be joined."""
    verdicts, labels = frames()
    alone = bw.audit_preferences(
        verdicts[["prompt_id", "winner"]], labels=labels[["Question ID", "Vote"]][3:5], pair_col=()
    )
    assert alone.judges["judge"].metrics["agreement"].estimate == 0
    with pytest.raises(UsageError, match="names the sides of a pair by 'model_a' and 'model_b', and labels does not"):
        bw.audit_preferences(verdicts, labels=labels[["Question ID", "Vote"]])


def test_no_vote_on_a_judged_pair():
    """The message shows what a pair of each file looks like."""
    with pytest.raises(InputError, match=r"no vote is on a pair of table, which has prompt 'p1' with 'x' and 'y'"):
        joined(crowd=[("u", "x", "y", "left")])


@pytest.mark.shared
def test_mt_bench(shared):
    """GPT-4 against the people of MT-Bench, as pandas counts it."""
    folder = shared / "data"
    found = bw.audit_preferences(folder / "mt_bench_gpt4_pair.csv", labels=folder / "mt_bench_human.csv")
    judge, people = (pd.read_csv(folder / name) for name in ("mt_bench_gpt4_pair.csv", "mt_bench_human.csv"))
    for frame in (judge, people):
        first = frame["model_a"] < frame["model_b"]
        frame["low"] = frame["model_a"].where(first, frame["model_b"])
        frame["high"] = frame["model_b"].where(first, frame["model_a"])
        lead = frame["winner"].map({"model_a": 1, "model_b": -1}).fillna(0)
        frame["lead"] = lead.where(first, -lead)
    key = ["question_id", "turn", "low", "high"]
    majority = people.groupby(key)["lead"].sum().map(lambda lead: (lead > 0) - (lead < 0)).rename("label")
    both = judge.merge(majority.reset_index(), on=key)
    expected = (1 - (both["lead"] - both["label"]).abs() / 2).mean()
    assert found.judges["gpt4_pair"].metrics["agreement"].estimate == pytest.approx(expected)
    assert found.judges["gpt4_pair"].data.pairs == len(both)
    assert found.judges["gpt4_pair"].data.dropped == {"no label of the pair": len(judge) - len(both)}
