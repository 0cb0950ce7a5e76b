from __future__ import annotations

import itertools

import pytest

from bonwise.calls.ask import Answer, Answers
from bonwise.errors import UsageError
from bonwise.judges.comparing import Pairwise, pairs
from bonwise.judges.parse.readers import ReadChoice
from bonwise.table.verdicts import Preference, Score, Unscored
from judges.replies import answered

JUDGE = Pairwise("openai/m")


def shown(ask):
    """Return the two candidates of a question in the order in which they are shown."""
    lines = ask.user.splitlines()
    return tuple(
        lines[lines.index(next(line for line in lines if f"BEGIN CANDIDATE {one} " in line)) + 1] for one in "AB"
    )


def test_every_pair_is_asked_about_in_both_orders():
    """Pairs in order, each first as it stands and then the other way round."""
    asks = JUDGE.asks("p", ["x", "y", "z"])
    assert [shown(ask) for ask in asks] == [("x", "y"), ("y", "x"), ("x", "z"), ("z", "x"), ("y", "z"), ("z", "y")]


def test_scores_are_mean_credits():
    """By hand: x beats y and ties with z, z beats y; x earns (1 + 0.5) / 2, y nothing, z (0.5 + 1) / 2."""
    replies = [["A"], ["B"], ["TIE"], ["TIE"], ["B"], ["A"]]
    found = answered(JUDGE, "p", ["x", "y", "z"], replies)
    assert found.verdicts == (Score(0.75), Score(0.0), Score(0.75))
    assert found.preferences == (Preference(0, 1, 1.0, 1.0), Preference(0, 2, 0.5, 0.5), Preference(1, 2, 0.0, 0.0))


def test_an_order_effect_is_kept():
    """A judge that always prefers what it is shown first ties every candidate, and the preference shows why."""
    found = answered(JUDGE, "p", ["x", "y"], [["A"], ["A"]])
    assert found.verdicts == (Score(0.5), Score(0.5))
    (pair,) = found.preferences
    assert (pair.shown_first, pair.shown_second, pair.order_effect) == (1.0, 0.0, 1.0)


def test_confidence_stands_beside_its_order():
    """Each order keeps its own stated confidence, None where none is stated."""
    found = answered(JUDGE, "p", ["x", "y"], [['{"choice": "A", "confidence": 4}'], ["B"]])
    assert found.preferences == (Preference(0, 1, 1.0, 1.0, (4, None)),)


def test_what_is_not_scored_is_left_out_of_the_mean():
    """An unscored comparison counts for neither; a pair with one scored order has that order's value."""
    replies = [["A"], ["gibberish"], ["nothing"], [""], ["B"], ["TIE"]]
    found = answered(JUDGE, "p", ["x", "y", "z"], replies)
    first, second, third = found.preferences
    assert (first.shown_first, first.value) == (1.0, 1.0)
    assert isinstance(first.shown_second, Unscored)
    assert second.value is None
    # y against z: z wins in the first order, a tie in the second.
    assert third.value == 0.25
    assert found.verdicts == (Score(1.0), Score((0.0 + 0.25) / 2), Score(0.75))


def test_a_candidate_without_a_scored_pair_is_unscored():
    """Where no comparison was scored, the reasons are counted."""
    replies = [["gibberish"], ["gibberish"], [""], ["nonsense"], ["A"], ["A"]]
    found = answered(JUDGE, "p", ["x", "y", "z"], replies).verdicts
    assert found[0].reason == "none of 4 comparisons was scored: no choice in the reply (3), empty reply (1)"
    assert found[1:] == (Score(0.5), Score(0.5))


@pytest.mark.parametrize("said", [Unscored("empty reply"), ReadChoice("A", 3)], ids=["unscored", "scored"])
def test_no_score_while_a_comparison_is_owed(said):
    """One answer that did not arrive leaves both candidates owed, and no other: half a pair is no comparison."""
    lost = Unscored("owed: lost", owed=True)
    answers = [Answers((Answer(one),)) for one in (said, lost)]
    found = JUDGE.conclude("p", ["x", "y"], answers)
    assert found.verdicts == (lost, lost)
    assert found.preferences[0].value is None
    third = [Answers((Answer(ReadChoice("TIE")),))] * 4
    found = JUDGE.conclude("p", ["x", "z", "y"], [*third[:2], *answers, *third[2:]]).verdicts
    assert found == (lost, Score(0.5), lost)


def test_a_candidate_alone_cannot_be_compared():
    """A pool with one candidate, or one that has words, asks nothing."""
    alone = Unscored("no other answer to compare with")
    assert JUDGE.asks("p", ["x"]) == []
    assert JUDGE.conclude("p", ["x"], []).verdicts == (alone,)
    assert JUDGE.conclude("p", [" ", "x"], []).verdicts == (Unscored("empty answer"), alone)


def test_positions_count_blank_candidates():
    """Preferences name positions in the pool as it was given."""
    found = answered(JUDGE, "p", ["x", "", "y"], [["A"], ["B"]])
    assert found.preferences == (Preference(0, 2, 1.0, 1.0),)
    assert found.verdicts == (Score(1.0), Unscored("empty answer"), Score(0.0))


def test_a_single_order_does_not_depend_on_the_places_in_the_pool():
    """With one order, which text is shown first depends on seed, prompt and texts alone, and both orders occur."""
    texts = [f"text {number}" for number in range(12)]
    judge = Pairwise("openai/m", orders=1)
    forward = {shown(ask) for ask in judge.asks("p", texts)}
    assert forward == {shown(ask) for ask in judge.asks("p", texts[::-1])}
    assert len(forward) == judge.calls(12) == 66
    in_order = sum(first < second for first, second in forward)
    assert 15 < in_order < 51
    for other in (Pairwise("openai/m", orders=1, seed=1).asks("p", texts), judge.asks("q", texts)):
        assert {shown(ask) for ask in other} != forward


def test_a_single_order_leaves_the_other_one_out():
    """With one order the other side of a preference is None, and the credit is that of the right candidate."""
    judge = Pairwise("openai/m", orders=1)
    for texts in itertools.permutations(["x", "y", "z"], 2):
        (pair,) = pairs("p", texts, orders=1, seed=0)
        (found,) = judge.conclude("p", texts, [Answers((Answer(ReadChoice("A", 3)),))]).preferences
        if pair.orders == (True,):
            assert found == Preference(0, 1, 1.0, None, (3, None))
        else:
            assert found == Preference(0, 1, None, 0.0, (None, 3))


def test_surrogates_have_an_order_too():
    """Text that no UTF-8 can hold is compared as any other."""
    assert len(Pairwise("openai/m", orders=1).asks("p", ["a\ud800", "b"])) == 1


@pytest.mark.parametrize(
    "settings", [{"orders": 0}, {"orders": 3}, {"orders": True}, {"seed": -1}, {"seed": 0.5}], ids=str
)
def test_settings_that_mean_nothing_are_refused(settings):
    """Orders are one or two, and a seed is a whole number."""
    with pytest.raises(UsageError):
        Pairwise("openai/m", **settings)


def test_a_seed_counts_where_it_decides_what_is_asked():
    """Orders are in the name; the seed is a setting of the run and changes the version, if orders are drawn."""
    judge = Pairwise("openai/m", orders=1, seed=7)
    assert judge.name == "pairwise,orders=1:openai/m"
    assert judge.version != Pairwise("openai/m", orders=1, seed=8).version
    assert Pairwise("openai/m", seed=7).version == JUDGE.version
