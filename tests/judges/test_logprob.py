from __future__ import annotations

import pytest

from bonwise.calls.ask import Answer, Answers
from bonwise.errors import UsageError
from bonwise.judges.comparing import Logprob
from bonwise.judges.pointwise import Pointwise
from bonwise.table.verdicts import Preference, Unscored
from judges.replies import answered, first_token

ALONE, PAIRS = Logprob("openai/m"), Logprob("openai/m", pairs=True)


@pytest.mark.parametrize("judge", [ALONE, PAIRS])
def test_probabilities_are_asked_for(judge):
    """A question asks for the alternatives of each token, and for plain text."""
    for ask in judge.asks("p", ["a", "b"]):
        assert (ask.top_logprobs, ask.max_tokens, ask.schema) == (20, 16, None)


def test_alone_a_candidate_scores_the_mean_of_its_digit():
    """By hand: the mean of 9 and 3 with 0.75 and 0.25 is 7.5 of 9."""
    found = answered(ALONE, "p", ["a", "b"], [[first_token(_9=0.75, _3=0.25)], [first_token(_0=1.0)]])
    assert [one.value for one in found.verdicts] == [pytest.approx(7.5 / 9), 0.0]
    assert found.preferences == ()


def test_in_pairs_a_candidate_earns_its_probability():
    """By hand: 0.6 + 0.2 / 2 shown first, 1 - (0.5 + 0) shown second."""
    found = answered(PAIRS, "p", ["a", "b"], [[first_token(A=0.6, B=0.2, T=0.2)], [first_token(A=0.5, B=0.5)]])
    (pair,) = found.preferences
    assert (pair.shown_first, pair.shown_second) == (pytest.approx(0.7), pytest.approx(0.5))
    assert [one.value for one in found.verdicts] == [pytest.approx(0.6), pytest.approx(0.4)]


def test_without_logprobs_every_candidate_is_unscored():
    """A server that sends none is the reason for each candidate, and the class says that they are needed."""
    found = answered(ALONE, "p", ["a", "b"], [["7"], ["9"]]).verdicts
    assert found == (Unscored("the server sent no logprobs", "7"), Unscored("the server sent no logprobs", "9"))
    (pair,) = answered(PAIRS, "p", ["a", "b"], [["A"], ["B"]]).preferences
    assert isinstance(pair, Preference)
    assert pair.value is None
    assert Logprob.needs_logprobs
    assert not Pointwise.needs_logprobs


def test_no_score_while_a_comparison_is_owed():
    """In pairs a candidate is owed while one of its orders is."""
    lost = Unscored("owed: lost", owed=True)
    found = PAIRS.conclude("p", ["a", "b"], [Answers((Answer(0.9),)), Answers((Answer(lost),))])
    assert found.verdicts == (lost, lost)


def test_each_way_has_its_own_prompt():
    """In pairs the built-in prompt is another one, and each refuses the other's."""
    assert (ALONE.file.mode, PAIRS.file.mode) == ("logprob", "logprob-pairwise")
    assert Logprob("openai/m", prompt="logprob").version == ALONE.version
    for settings in ({"prompt": "logprob-pairwise"}, {"prompt": "logprob", "pairs": True}):
        with pytest.raises(UsageError):
            Logprob("openai/m", **settings)


def test_the_name_says_whether_candidates_are_compared():
    """Pairs are in the name; orders mean something only there."""
    assert ALONE.name == "logprob:openai/m"
    assert Logprob("openai/m", pairs=True, orders=1).name == "logprob,pairs=true,orders=1:openai/m"
