from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from bonwise.calls.ask import Answers, Model
from bonwise.errors import FileError, UsageError
from bonwise.judges.asking import most_common, owed_among
from bonwise.judges.comparing import Logprob, Pairwise, Probability
from bonwise.judges.parse.answer import VERSION
from bonwise.judges.pointwise import Interval, Pointwise
from bonwise.judges.prompt_loading import load, prompts_folder
from bonwise.judges.protocol import AskingJudge
from bonwise.judges.wrappers import Quantized, Resampled
from bonwise.table.verdicts import Score, Unscored
from judges.replies import answered, said

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


def test_the_prompt_file_says_whether_scores_are_whole(tmp_path):
    """A prompt file whose score is a number takes fractions; one whose score is an integer does not."""
    fractional = tmp_path / "fractional.md"
    text = (prompts_folder() / "pointwise.md").read_text()
    fractional.write_text(text.replace('score = { type = "integer"', 'score = { type = "number"'))
    (verdict,) = answered(Pointwise(MODEL, prompt=fractional), "p", ["a"], [['{"score": 85.5}']]).verdicts
    assert verdict == Score(0.855)
    (verdict,) = answered(Pointwise(MODEL), "p", ["a"], [['{"score": 85.5}']]).verdicts
    assert isinstance(verdict, Unscored)


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
