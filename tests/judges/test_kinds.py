"""Judges that ask a model, kind by kind: one score, an interval, a pair, a probability, log probabilities."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import openai
import pytest

from bonwise.calls.ask import Answer, Answers, Choice, Model, Request
from bonwise.calls.engine import Engine
from bonwise.calls.providers.parameters import ignored
from bonwise.calls.providers.protocol import Connection, http_library
from bonwise.calls.tokens import expected_output_tokens
from bonwise.errors import FileError, UsageError
from bonwise.judges.asking import most_common, owed_among
from bonwise.judges.comparing import Logprob, Pairwise, Probability, pairs
from bonwise.judges.judging import judge_with
from bonwise.judges.parse.answer import VERSION
from bonwise.judges.parse.readers import ReadChoice
from bonwise.judges.pointwise import Interval, Pointwise
from bonwise.judges.prompt_loading import load, prompts_folder
from bonwise.judges.protocol import AskingJudge
from bonwise.judges.registry import judge_from_spec
from bonwise.judges.wrappers import Quantized, Resampled
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.testing.stand_in import stand_in
from bonwise.testing.wire import WireRequest, body_digest
from judges.replies import answered, first_token, said

HTTP = http_library(openai)
MODEL = "openai/m"
KINDS = [Pointwise, Pairwise, Probability, Interval, Logprob]


def test_each_candidate_is_asked_about_alone():
    """One question per candidate, in order, with the words of the prompt file and the settings of the judge."""
    judge = Pointwise("openai/org/m", base_url="http://localhost:1/v1", temperature=0.5, max_tokens=7)
    asks = judge.asks("Say hi", ["hello", "goodbye"])
    for ask, text in zip(asks, ["hello", "goodbye"], strict=True):
        words = load("pointwise").render("Say hi", [text])
        assert (ask.system, ask.user) == (words.system, words.user)
        assert ask.model == Model("openai", "org/m", "http://localhost:1/v1")
        assert ask.schema == load("pointwise").schema
        assert (ask.temperature, ask.max_tokens, ask.samples, ask.top_logprobs) == (0.5, 7, 1, 0)
    assert asks[0].system == asks[1].system


def test_a_score_becomes_a_share():
    """A score from 0 to 100 is divided by 100; a reply that gives none is unscored with its reason."""
    replies = [['{"score": 85}'], ["0"], ["Score: 100"], ["85 or 90"]]
    found = answered(Pointwise(MODEL), "p", list("abcd"), replies)
    assert found.verdicts == (Score(0.85), Score(0.0), Score(1.0), Unscored("two answers: 85 or 90", "85 or 90"))
    assert found.preferences == ()


def test_a_fraction_is_a_score_whatever_the_prompt_asks_for():
    """A model that says more than a whole number is not refused for it."""
    (verdict,) = answered(Pointwise(MODEL), "p", ["a"], [['{"score": 85.5}']]).verdicts
    assert verdict == Score(0.855)


@pytest.mark.parametrize("kind", [Pointwise, Interval, Pairwise, Probability])
def test_a_judge_may_say_that_it_cannot_judge(kind):
    """The schema has room for it and the prompt names it; an answer beside a reason against it is none."""
    judge = kind(MODEL)
    first, *_ = judge.asks("p", ["a", "b"])
    assert first.schema["required"][-1] == "why"
    fields = [name for name in first.schema["required"] if name != "why"]
    assert all("null" in first.schema["properties"][name]["type"] for name in (*fields, "why"))
    assert f'"{fields[0]}": null' in first.system
    nothing = json.dumps({**dict.fromkeys(fields), "why": "No text arrived."})
    assert first.read(Choice(nothing)).reason == "cannot judge: No text arrived."
    answer = json.dumps(
        {**dict(zip(fields, ("A", 1) if kind is Pairwise else (1, 0, 1), strict=False)), "why": "No text arrived."}
    )
    assert first.read(Choice(answer)).reason == f"cannot judge, though it gives a {fields[0]}: No text arrived."
    assert not isinstance(first.read(Choice(answer.replace('"No text arrived."', "null"))), Unscored)
    assert expected_output_tokens(first) < 60


@pytest.mark.parametrize("kind", [Pointwise, Interval, Pairwise, Probability])
def test_the_stand_in_judges(kind):
    """The double of a service fills the schema of every judge with an answer that is read."""
    judge = kind(MODEL)
    for ask in judge.asks("p", ["a", "b", "c"]):
        body = {"response_format": {"json_schema": {"schema": ask.schema}}}
        reply = stand_in(WireRequest("openai", body, body_digest(body)))
        assert not isinstance(ask.read(Choice(reply.text)), Unscored)


@pytest.mark.parametrize(
    ("reply", "said"),
    [('{"score": 85}', 0), ('{"score": 85, "why": null}', 0), ('{"why": null}', 1), ('{"rating": 85}', 1), ("85", 1)],
)
def test_a_reply_without_a_why_keeps_to_the_schema(reply, said):
    """A model that leaves out what is null as a rule does not ignore its schema; any other key must be there."""
    (ask,) = Pointwise(MODEL).asks("p", ["a"])
    request = Request("openai", "http://localhost", "", "/chat/completions", {}, "m", {"schema": True})
    assert len(list(ignored(ask, request, Choice(reply)))) == said


SCALED = """+++
name = "published"
version = 1
mode = "pointwise"
variables = ["prompt", "candidate"]
form = "tag"
scale = [1, 5]
+++

[system]
Write feedback, then [RESULT] and a number from 1 to 5.

[user]
{{prompt}}
{{candidate}}
"""


def test_a_prompt_file_may_have_a_scale_of_its_own(tmp_path):
    """A published prompt that rates from 1 to 5 in a tag is sent without a schema, and its ends are 0 and 1."""
    path = tmp_path / "published.md"
    path.write_text(SCALED, encoding="utf-8")
    judge = Pointwise(MODEL, prompt=path)
    assert [ask.schema for ask in judge.asks("p", ["a"])] == [None]
    replies = [["Poor. [RESULT] 1"], ["Fine. [RESULT] 4"], ["Great. [RESULT] 5"], ["[RESULT] 6"]]
    verdicts = answered(judge, "p", ["a", "b", "c", "d"], replies).verdicts
    assert verdicts[:3] == (Score(0.0), Score(0.75), Score(1.0))
    assert verdicts[3].reason == "off the scale 1 to 5: 6"


@pytest.mark.parametrize("kind", KINDS)
def test_a_candidate_without_words_is_not_asked_about(kind):
    """A blank candidate is unscored and costs nothing, whatever the kind of judge."""
    judge = kind(MODEL)
    blank = ["", " \n", "\u200b"]
    assert judge.asks("p", blank) == []
    assert judge.conclude("p", blank, []).verdicts == (Unscored("empty answer"),) * 3
    several = [*blank, "a", "b"]
    asks = judge.asks("p", several)
    assert len(asks) == judge.calls(2)
    verdicts = judge.conclude("p", several, [said(ask, "nonsense") for ask in asks]).verdicts
    assert verdicts[:3] == (Unscored("empty answer"),) * 3
    assert all(isinstance(one, Unscored) and "empty" not in one.reason for one in verdicts[3:])


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_did_not_arrive_is_owed(kind):
    """Where no answer arrived the verdict is owed, so that a later run asks again."""
    judge = kind(MODEL)
    verdicts = judge.conclude("p", ["a", "b"], [Answers(()) for _ in judge.asks("p", ["a", "b"])]).verdicts
    assert all(isinstance(one, Unscored) and one.owed for one in verdicts)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_must_fit_the_questions(kind):
    """Answers to other questions are an error, never assigned to the wrong candidate."""
    judge = kind(MODEL)
    with pytest.raises(ValueError, match=r"answers|argument"):
        judge.conclude("p", ["a", "b"], [Answers(())] * 3)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_keeps_the_contract(kind):
    """Each judge is an asking judge, a value that can be compared and hashed, and asks the same every time."""
    judge = kind(MODEL)
    assert isinstance(judge, AskingJudge)
    assert judge == kind(MODEL)
    assert len({judge, kind(MODEL), kind("openai/n")}) == 2
    assert judge.asks("p", ["a", "b", "c"]) == judge.asks("p", ["a", "b", "c"])
    assert judge.name == f"{judge.kind}:{MODEL}"
    assert judge.version == f"{judge.file.identity} parse{VERSION}"
    assert [judge.calls(n) for n in (0, 1)] in ([0, 1], [0, 0])
    assert len(judge.asks("p", list("abcde"))) == judge.calls(5)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "pointwise:openai/m"),
        ({"prompt": "pointwise", "temperature": 0, "base_url": "http://localhost:1"}, "pointwise:openai/m"),
        ({"prompt": "pointwise-reason"}, "pointwise,prompt=pointwise-reason:openai/m"),
        ({"temperature": None}, "pointwise,temperature=none:openai/m"),
        ({"temperature": 1.0}, "pointwise,temperature=1:openai/m"),
        ({"temperature": 0.7, "max_tokens": 9}, "pointwise,temperature=0.7,max_tokens=9:openai/m"),
    ],
    ids=str,
)
def test_the_name_says_what_differs_from_the_defaults(settings, name):
    """A name holds the settings that are not at their default, apart from the server's address."""
    assert Pointwise(MODEL, **settings).name == name


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -0.1},
        {"temperature": 2.1},
        {"temperature": math.nan},
        {"temperature": "1"},
        {"temperature": True},
        {"max_tokens": 0},
        {"max_tokens": 1.5},
        {"max_tokens": True},
        {"longest": 0},
        {"prompt": "nonsense"},
        {"prompt": "pairwise"},
        {"model": "m"},
        {"model": ""},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings):
    """A setting out of range, an unknown prompt or one of another mode, and no model are usage errors."""
    with pytest.raises(UsageError) as caught:
        Pointwise(**{"model": MODEL, **settings})
    assert caught.value.hint


def test_a_prompt_file_is_read_once(tmp_path):
    """A judge keeps the words it was made with, so that its version and its questions belong together."""
    path = tmp_path / "mine.md"
    path.write_bytes((prompts_folder() / "pointwise.md").read_bytes())
    judge = Pointwise(MODEL, prompt=path)
    before = judge.version, judge.asks("p", ["a"])
    path.unlink()
    assert (judge.version, judge.asks("p", ["a"])) == before
    with pytest.raises(FileError):
        Pointwise(MODEL, prompt=path)


def test_a_path_stays_a_path_in_a_name():
    """A file in the current folder is not mistaken for a built-in prompt."""
    path = Path("pointwise")
    with pytest.raises(FileError):
        Pointwise(MODEL, prompt=path)


def test_reasons_are_counted():
    """Several reasons become one line with the number of each."""
    reasons = [Unscored(one, f"said {one}") for one in "abbcd"]
    assert most_common(reasons, "draws") == Unscored(
        "none of 5 draws was scored: b (2), a (1), c (1), other reasons (1)", "said b"
    )


def test_of_what_is_owed_the_most_frequent_reason_is_given():
    """One owed part makes the whole owed; parts that were answered, scored or not, have no say in it."""
    lost, late = Unscored("owed: lost", owed=True), Unscored("owed: late", owed=True)
    assert owed_among([Unscored("refused"), 0.5, None, late, lost, lost]) == lost
    assert owed_among([Unscored("refused"), Score(0.5), None]) is None


def test_long_texts_are_shortened_as_told():
    """Of a text beyond `longest` the middle is not sent."""
    (ask,) = Pointwise(MODEL, longest=10).asks("p", ["a" * 50 + "b" * 50])
    assert "aaaaa" in ask.user
    assert "a" * 6 not in ask.user
    assert "90 characters left out" in ask.user
    assert (ask.shortened, ask.replaced) == (1, 0)


def test_what_no_server_takes_is_replaced_and_counted():
    """Halves of surrogate pairs are shown as U+FFFD; the question says how many, in prompt and candidate."""
    (ask,) = Pointwise(MODEL).asks("p\udc00", ["\ud800a\ud800"])
    assert ask.replaced == 3
    assert ask.user.count("\ufffd") == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("one", "same"), [(0, 0.0), (-0.0, 0), (1, 1.0)])
def test_a_temperature_is_one_question_however_it_is_written(kind, one, same):
    """A whole number, a float and a negative zero are sent as the same float, under the same name and version."""
    first, second = (kind(MODEL, temperature=value) for value in (one, same))
    assert (first, first.name, first.version) == (second, second.name, second.version)
    sent = [repr(ask.temperature) for judge in (first, second) for ask in judge.asks("p", ["a", "b"])]
    assert set(sent) == {repr(float(same))}


def test_a_name_is_made_once():
    """Names and versions are asked for at every judgment, and are not put together anew."""
    for judge in (Pointwise(MODEL, temperature=1), Resampled(Pointwise(MODEL)), Quantized(Pointwise(MODEL))):
        assert judge.name is judge.name
    judge = Pointwise(MODEL)
    assert judge.version is judge.version
    assert replace(judge, temperature=1).name == "pointwise,temperature=1:openai/m"


def test_a_score_has_its_interval():
    """All three numbers are divided by 100."""
    replies = [['{"score": 70, "low": 60, "high": 85}'], ['{"score": 0, "low": 0, "high": 0}']]
    found = answered(Interval("openai/m"), "p", ["a", "b"], replies).verdicts
    assert found == (Score(0.7, low=0.6, high=0.85), Score(0.0, low=0.0, high=0.0))
    assert [one.width for one in found] == [pytest.approx(0.25), 0.0]


def test_a_score_outside_its_interval_is_none():
    """A score beyond its own ends, and an end that is missing, leave the candidate unscored."""
    replies = [['{"score": 90, "low": 60, "high": 85}'], ['{"score": 70}']]
    found = answered(Interval("openai/m"), "p", ["a", "b"], replies).verdicts
    assert all(isinstance(one, Unscored) for one in found)
    assert "outside its interval" in found[0].reason


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


def test_what_is_lost_is_a_half_for_both():
    """A pair of which one order or both could not be read has no value, and is no loss of either."""
    replies = [["A"], ["gibberish"], ["nothing"], [""], ["B"], ["TIE"]]
    found = answered(JUDGE, "p", ["x", "y", "z"], replies)
    first, second, third = found.preferences
    assert (first.shown_first, first.value, first.order_effect) == (1.0, None, None)
    assert isinstance(first.shown_second, Unscored)
    assert second.value is None
    # y against z: z wins in the first order, a tie in the second.
    assert third.value == 0.25
    assert found.verdicts[0].reason == "2 of 2 comparisons lost: no choice in the reply (2), empty reply (1)"
    assert found.verdicts[1:] == (Score((0.5 + 0.25) / 2), Score((0.5 + 0.75) / 2))


def test_a_candidate_without_a_scored_pair_is_unscored():
    """Where no comparison was scored, the reasons are counted."""
    replies = [["gibberish"], ["gibberish"], [""], ["nonsense"], ["A"], ["A"]]
    found = answered(JUDGE, "p", ["x", "y", "z"], replies).verdicts
    assert found[0].reason == "2 of 2 comparisons lost: no choice in the reply (3), empty reply (1)"
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
def test_settings_of_pairs_that_mean_nothing_are_refused(settings):
    """Orders are one or two, and a seed is a whole number."""
    with pytest.raises(UsageError):
        Pairwise("openai/m", **settings)


def test_a_seed_counts_where_it_decides_what_is_asked():
    """Orders are in the name; the seed is a setting of the run and changes the version, if orders are drawn."""
    judge = Pairwise("openai/m", orders=1, seed=7)
    assert judge.name == "pairwise,orders=1:openai/m"
    assert judge.version != Pairwise("openai/m", orders=1, seed=8).version
    assert Pairwise("openai/m", seed=7).version == JUDGE.version


JUDGE_OF_PROBABILITY = Probability("openai/m")


def test_probabilities_are_turned_round_for_the_other_order():
    """By hand: x is better with 0.8 shown first, 1 - 0.4 shown second; x scores 0.7 and y 0.3."""
    found = answered(JUDGE_OF_PROBABILITY, "p", ["x", "y"], [['{"probability": 0.8}'], ["40%"]])
    (pair,) = found.preferences
    assert (pair.shown_first, pair.shown_second) == (0.8, pytest.approx(0.6))
    assert pair.order_effect == pytest.approx(0.2)
    assert [one.value for one in found.verdicts] == [pytest.approx(0.7), pytest.approx(0.3)]


def test_scores_are_means_over_pairs():
    """By hand, in one order: 0.9 against y and 0.6 against z; y against z 0.5."""
    replies = [["0.9"], ["0.1"], ["0.6"], ["0.4"], ["0.5"], ["0.5"]]
    found = answered(JUDGE_OF_PROBABILITY, "p", ["x", "y", "z"], replies).verdicts
    assert [one.value for one in found] == [pytest.approx(0.75), pytest.approx(0.3), pytest.approx(0.45)]


def test_an_unreadable_order_is_kept_as_such():
    """A probability off the scale is unscored in its order, and the other order alone is no comparison."""
    found = answered(JUDGE_OF_PROBABILITY, "p", ["x", "y"], [["1.5"], ["0.25"]])
    assert found.preferences == (Preference(0, 1, Unscored("off the scale 0 to 1: 1.5", "1.5"), 0.75),)
    assert {one.reason for one in found.verdicts} == {"1 of 1 comparison lost: off the scale 0 to 1: 1.5 (1)"}


def test_a_single_order_halves_the_calls():
    """Four candidates make twelve questions in both orders, six in one."""
    assert (JUDGE_OF_PROBABILITY.calls(4), Probability("openai/m", orders=1).calls(4)) == (12, 6)
    with pytest.raises(UsageError):
        Probability("openai/m", orders="both")


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
    (part,) = answered(ALONE, "p", ["a"], [[first_token(_9=0.6, _3=0.2)]]).verdicts
    assert [9 * value for value in (part.low, part.value, part.high)] == pytest.approx([6.0, 7.5, 7.8])


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("most", [1, 5, 20])
def test_how_many_probabilities_are_asked_for_can_be_said(most, pairs):
    """In the question, and in the name where it is not the usual number, from which the same judge is made."""
    judge = Logprob("openai/m", pairs=pairs, top_logprobs=most)
    assert {ask.top_logprobs for ask in judge.asks("p", ["a", "b"])} == {most}
    assert judge_from_spec(judge.name) == judge
    assert (f"top_logprobs={most}" in judge.name) == (most != 20)


@pytest.mark.parametrize("most", [0, 21, "5"])
def test_a_number_of_probabilities_that_means_nothing_is_refused(most):
    """From 1 to 20, a whole number."""
    with pytest.raises(UsageError, match="top_logprobs is") as refused:
        Logprob("openai/m", top_logprobs=most)
    assert refused.value.hint == "give a whole number of 1 to 20"


class FewLogprobs:
    """A service that allows some log probabilities and complains of more, in its own words."""

    def __init__(self, *allowed):
        self.allowed, self.asked = list(allowed), []

    async def __call__(self, request):
        """Answer with as many as are asked for, or complain."""
        most, asked = self.allowed[0], json.loads(request.content)["top_logprobs"]
        self.asked.append(asked)
        if asked > most:
            self.allowed = self.allowed[1:] or self.allowed
            said = {
                "error": {
                    "message": f"Requested sample logprobs of {asked}, which is greater than max allowed: {most}"
                }
            }
            return HTTP.Response(400, json=said)
        top = [{"token": str(9 - at), "logprob": math.log(0.9 if at == 0 else 0.01)} for at in range(min(asked, 9))]
        choice = {"message": {"content": "9"}, "logprobs": {"content": [top[0] | {"top_logprobs": top}]}}
        return HTTP.Response(200, json={"choices": [choice | {"finish_reason": "stop"}]})


@pytest.mark.parametrize(
    ("allowed", "asked"), [((20,), [20]), ((5,), [20, 5]), ((8, 5), [20, 8, 5]), ((1,), [20, 1])], ids=str
)
def test_a_service_that_allows_fewer_is_asked_for_fewer(tmp_path, allowed, asked):
    """What it allows is learnt from its own words, said, kept in the ledger, and the second run asks nothing."""
    judge, service = Logprob("openai/m", base_url="http://memory/v1"), FewLogprobs(*allowed)

    def judged(texts):
        async def main():
            connection = Connection(transport=HTTP.MockTransport(service))
            async with Engine(connection=connection, ledger=tmp_path) as engine:
                return await judge_with(engine, judge, "Why?", texts), dict(engine.totals.notices)

        return asyncio.run(main())

    found, notices = judged(["a"])
    (score,) = found.verdicts
    seen = 0.9 + 0.01 * (min(asked[-1], 9) - 1)
    assert score.high - score.low == pytest.approx(1 - seen)
    assert found.effective == ({"max_tokens": 16, "schema": False, "temperature": 0.0, "top_logprobs": asked[-1]},)
    learnt = [
        f"openai/m takes top_logprobs up to {most} (the server takes top_logprobs up to {most} (HTTP 400))"
        for most in asked[1:]
    ]
    assert list(notices) == learnt
    again, notices = judged(["a", "b"])
    assert again.verdicts[0] == score
    assert service.asked == [*asked, asked[-1]]
    assert list(notices) == [
        f"openai/m takes top_logprobs up to {most}: fewer are asked for" for most in sorted(asked[1:])
    ]


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


def test_no_log_probability_while_a_comparison_is_owed():
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
