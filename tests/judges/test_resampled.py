from __future__ import annotations

import asyncio

import pytest

from bonwise.calls.ask import Answer, Answers
from bonwise.errors import JudgeError, UsageError
from bonwise.judges.comparing import Pairwise
from bonwise.judges.local import Length
from bonwise.judges.parse.readers import ReadChoice
from bonwise.judges.pointwise import Interval, Pointwise
from bonwise.judges.protocol import is_asking
from bonwise.judges.wrappers import Quantized, Resampled
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.testing.scripted_judge import ScriptedJudge
from judges.replies import answered, said

T_975 = {1: 12.706204736, 2: 4.302652730, 3: 3.182446305, 4: 2.776445105}
T_95 = {2: 2.919985580}
"""Quantiles of Student's t, from a printed table."""


class Drawing:
    """A judge that asks no model and says something else each time."""

    name, version = "drawing", "1"

    def __init__(self, *answers):
        self.answers, self.calls_made = list(answers), 0

    def judge(self, _prompt, _candidates):
        """Give the next answer."""
        self.calls_made += 1
        return self.answers[self.calls_made - 1]


class Waiting(Drawing):
    """The same, asynchronous."""

    async def judge(self, prompt, candidates):
        """Give the next answer after a turn of the event loop."""
        await asyncio.sleep(0)
        return super().judge(prompt, candidates)


def test_the_same_questions_are_asked_several_times():
    """Questions are the inner judge's, with several samples and the temperature of the draws."""
    inner = Pointwise("openai/m")
    for ask, plain in zip(Resampled(inner, draws=3).asks("p", ["a", "b"]), inner.asks("p", ["a", "b"]), strict=True):
        assert (ask.user, ask.system, ask.schema) == (plain.user, plain.system, plain.schema)
        assert (ask.samples, ask.temperature) == (3, 1.0)
    assert Resampled(inner, temperature=None).asks("p", ["a"])[0].temperature is None


def test_the_score_is_the_mean_with_students_interval():
    """By hand: 0.6, 0.7 and 0.8 have the mean 0.7, the deviation 0.1 and the half width 4.303 * 0.1 / sqrt(3)."""
    judge = Resampled(Pointwise("openai/m"), draws=3)
    (found,) = answered(judge, "p", ["a"], [["60", "70", "80"]]).verdicts
    half = T_975[2] * 0.1 / 3**0.5
    assert (found.value, found.draws) == (pytest.approx(0.7), (0.6, 0.7, 0.8))
    assert (found.low, found.high) == (pytest.approx(0.7 - half), pytest.approx(0.7 + half))
    (narrow,) = answered(
        Resampled(Pointwise("openai/m"), 3, confidence=0.9), "p", ["a"], [["60", "70", "80"]]
    ).verdicts
    assert narrow.width == pytest.approx(2 * T_95[2] * 0.1 / 3**0.5)


def test_the_interval_may_reach_beyond_the_scale():
    """By hand: 0 and 1 have the mean 0.5 and the half width 12.706 * 0.7071 / sqrt(2); nothing is clipped."""
    (found,) = answered(Resampled(Pointwise("openai/m"), draws=2), "p", ["a"], [["0", "100"]]).verdicts
    assert found.low == pytest.approx(0.5 - T_975[1] / 2)
    assert (found.low < 0, found.high > 1) == (True, True)


def test_equal_draws_have_a_narrow_interval():
    """Draws that do not differ have an interval of no width."""
    (found,) = answered(Resampled(Pointwise("openai/m"), draws=3), "p", ["a"], [["70", "70", "70"]]).verdicts
    assert (found.low, found.high) == (found.value, found.value)


def test_unscored_draws_are_left_out_and_marked():
    """A draw that is unscored is None among the draws; the interval has the freedom of those that are scored."""
    judge = Resampled(Pointwise("openai/m"), draws=4)
    (found,) = answered(judge, "p", ["a"], [["60", "none", "80", ""]]).verdicts
    assert found.draws == (0.6, None, 0.8, None)
    assert found.value == pytest.approx(0.7)
    assert found.width == pytest.approx(2 * T_975[1] * 0.1)


def test_one_scored_draw_has_no_interval():
    """A single draw says nothing of its own spread."""
    (found,) = answered(Resampled(Pointwise("openai/m"), draws=2), "p", ["a"], [["60", "none"]]).verdicts
    assert (found.value, found.low, found.high, found.draws) == (0.6, None, None, (0.6, None))


def test_where_no_draw_is_scored_the_reasons_are_counted():
    """All draws unscored leave the candidate unscored, for the reasons of the draws."""
    judge = Resampled(Pointwise("openai/m"), draws=3)
    (found,) = answered(judge, "p", ["a"], [["", "none", "neither"]]).verdicts
    assert found.reason == "none of 3 draws was scored: no score in the reply (2), empty reply (1)"
    assert not found.owed


@pytest.mark.parametrize("last", [Unscored("owed: max_calls=2 is reached", owed=True), None], ids=str)
def test_no_mean_while_a_draw_is_owed(last):
    """A draw that has not arrived leaves the candidate owed, whatever the others said: the mean would move."""
    answers = [Answer(90), Answer(Unscored("empty reply")), *([Answer(last)] if last else [])]
    (found,) = Resampled(Pointwise("openai/m"), draws=3).conclude("p", ["a"], [Answers(tuple(answers))]).verdicts
    assert found == (last or Unscored("owed: no answer arrived", owed=True))


def test_no_comparison_while_a_draw_of_it_is_owed():
    """A comparison is owed as its draw is, and so are both candidates; the other order stays as it is."""
    judge, lost = Resampled(Pairwise("openai/m"), draws=2), Unscored("owed: lost", owed=True)
    whole, part = (
        Answers((Answer(ReadChoice("A")), Answer(ReadChoice("B")))),
        Answers((Answer(ReadChoice("A")), Answer(lost))),
    )
    found = judge.conclude("p", ["a", "b"], [whole, part])
    assert found.preferences == (Preference(0, 1, 0.5, lost),)
    assert found.preferences[0].value is None
    assert found.verdicts == (lost, lost)


def test_no_mean_while_a_draw_of_another_judge_is_owed():
    """The verdicts of a judge that is called may be owed as well."""
    lost = Unscored("owed: lost", owed=True)
    assert Resampled(Drawing([Score(0.2)], [lost]), draws=2).judge("p", ["a"]) == (lost,)


def test_a_blank_candidate_is_an_empty_answer():
    """A candidate without words has the reason of its own, not that of draws."""
    found = answered(Resampled(Pointwise("openai/m"), draws=2), "p", [" ", "a"], [["60", "80"]]).verdicts
    assert found[0] == Unscored("empty answer")
    assert found[1].value == pytest.approx(0.7)


def test_an_inner_interval_gives_way_to_that_of_the_draws():
    """The interval is that of the mean, not one that a single draw stated."""
    one, two = '{"score": 60, "low": 10, "high": 90}', '{"score": 80, "low": 79, "high": 81}'
    (found,) = answered(Resampled(Interval("openai/m"), draws=2), "p", ["a"], [[one, two]]).verdicts
    assert found.width == pytest.approx(2 * T_975[1] * 0.1)


def test_preferences_are_means_over_draws():
    """By hand: a wins 2 of 3 draws shown first and 1 of 2 scored ones shown second; scores follow draw by draw."""
    judge = Resampled(Pairwise("openai/m"), draws=3)
    first = [
        '{"choice": "A", "confidence": 5}',
        '{"choice": "A", "confidence": 2}',
        '{"choice": "B", "confidence": 4}',
    ]
    found = answered(judge, "p", ["a", "b"], [first, ["A", "B", "none"]])
    (pair,) = found.preferences
    assert (pair.shown_first, pair.shown_second) == (pytest.approx(2 / 3), 0.5)
    assert pair.confidence == (4, None)
    # Draw by draw a earns (1 + 0) / 2, (1 + 1) / 2 and, in the one order that was scored, 0.
    assert found.verdicts[0].draws == (0.5, 1.0, 0.0)
    assert found.verdicts[1].draws == (0.5, 0.0, 1.0)


def test_a_comparison_without_a_scored_draw_keeps_its_reasons():
    """An order in which no draw was scored says so; an order that was not asked stays None."""
    judge = Resampled(Pairwise("openai/m", orders=1), draws=2)
    found = answered(judge, "p", ["a", "b"], [["none", "none"]])
    (pair,) = found.preferences
    sides = [pair.shown_first, pair.shown_second]
    assert None in sides
    (asked,) = (side for side in sides if side is not None)
    assert asked.reason == "none of 2 draws was scored: no choice in the reply (2)"
    assert all(isinstance(one, Unscored) for one in found.verdicts)


def test_a_judge_that_asks_no_model_is_called_once_a_draw():
    """A plain judge has no questions; its own answers are the draws."""
    inner = Drawing([Score(0.2), Score(1.0)], [Score(0.4), Unscored("tired")])
    judge = Resampled(inner, draws=2)
    assert not judge.asking
    assert not is_asking(judge)
    with pytest.raises(JudgeError, match="'drawing' asks no model"):
        judge.asks("p", ["a", "b"])
    first, second = judge.judge("p", ["a", "b"])
    assert inner.calls_made == 2
    assert (first.value, first.draws) == (pytest.approx(0.3), (0.2, 0.4))
    assert (second.value, second.draws, second.low) == (1.0, (1.0, None), None)
    assert judge.calls(4) == 0


def test_an_asynchronous_judge_is_awaited():
    """Of an asynchronous judge the draws are awaited one after the other."""
    judge = Resampled(Waiting([Score(0.2)], [Score(0.4)], [Score(0.6)]), draws=3)

    async def main():
        return await judge.judge("p", ["a"])

    (found,) = asyncio.run(main())
    assert found.draws == (0.2, 0.4, 0.6)


def test_a_function_can_be_resampled():
    """Any function will do, and a deterministic one has draws that do not differ."""
    (found,) = Resampled(lambda _prompt, text: len(text), draws=2).judge("p", ["abc"])
    assert (found.value, found.width) == (3.0, 0.0)


def test_a_judge_that_breaks_the_contract_is_named():
    """Each draw of a plain judge is held to the contract."""
    with pytest.raises(JudgeError, match="drawing"):
        Resampled(Drawing([Score(1.0)], []), draws=2).judge("p", ["a"])
    with pytest.raises(JudgeError, match="asks no model"):
        Resampled(Drawing(), draws=2).conclude("p", ["a"], [])


@pytest.mark.parametrize(
    ("inner", "temperature", "words"),
    [
        (Pointwise("openai/m"), 0.7, "temperature 0.7"),
        (Quantized(Pairwise("openai/m")), 1.0, "temperature 1"),
        (Length(), 1.0, "the judge itself"),
        (Quantized(Length()), 1.0, "the judge itself"),
    ],
    ids=repr,
)
def test_it_says_what_makes_draws_differ(inner, temperature, words):
    """Draws of a model differ by the temperature, those of another judge by the judge."""
    assert Resampled(inner, temperature=temperature).varies_by == words


def test_without_a_temperature_the_provider_says_what_makes_draws_differ():
    """A provider whose requests carry no temperature has words of its own; so has a judge that leaves it open."""
    from bonwise.calls.providers.protocol import provider  # noqa: PLC0415

    for name in ("openai", "anthropic"):
        words = provider(name).capabilities.draws_differ_by
        assert Resampled(Pointwise(f"{name}/m"), temperature=None).varies_by == words
    assert "temperature 1" not in Resampled(Pointwise("anthropic/m")).varies_by


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "resampled,draws=5,of=pointwise:openai/m"),
        ({"draws": 3, "temperature": 0.5}, "resampled,draws=3,temperature=0.5,of=pointwise:openai/m"),
        ({"confidence": 0.9}, "resampled,draws=5,confidence=0.9,of=pointwise:openai/m"),
    ],
    ids=str,
)
def test_the_name_makes_the_judge(settings, name):
    """The name holds the draws, what differs from the defaults, and the inner judge."""
    judge = Resampled(Pointwise("openai/m"), **settings)
    assert judge.name == name
    assert judge.version.startswith(Pointwise("openai/m").version)
    assert judge.calls(4) == 4 * judge.draws


def test_a_temperature_is_one_question_however_it_is_written():
    """A whole number is sent as the float that it is, under the same name."""
    whole, plain = (Resampled(Pointwise("openai/m"), temperature=one) for one in (2, 2.0))
    assert (whole, whole.name) == (plain, plain.name)
    assert {repr(judge.asks("p", ["a"])[0].temperature) for judge in (whole, plain)} == {"2.0"}


def test_what_another_judge_calls_its_calls_is_left_alone():
    """A judge that asks no model may have an attribute of that name; it needs no answer of a model."""
    for judge in (ScriptedJudge({"a": 1}), Resampled(ScriptedJudge({"a": 1})), Quantized(ScriptedJudge({"a": 1}))):
        assert not is_asking(judge)
        assert Resampled(ScriptedJudge({"a": 1}), draws=2).calls(3) == Quantized(judge).calls(3) == 0


@pytest.mark.parametrize(
    "settings",
    [
        *({"draws": one} for one in (1, 2.0, True)),
        *({"temperature": one} for one in (3, -1)),
        *({"confidence": one} for one in (0, 1, 95)),
        *({"of": one} for one in (Resampled(Length()), Quantized(Resampled(Length())))),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings):
    """Too few draws, numbers out of range and draws of draws are usage errors."""
    with pytest.raises(UsageError):
        Resampled(**{"of": Length(), **settings})


def test_what_is_no_judge_is_refused():
    """Only a judge or a function can be resampled."""
    with pytest.raises(JudgeError):
        Resampled(7)


def test_answers_are_kept_apart():
    """Each candidate has its own draws."""
    judge = Resampled(Pointwise("openai/m"), draws=2)
    asks = judge.asks("p", ["a", "b"])
    found = judge.conclude("p", ["a", "b"], [said(asks[0], "10", "20"), said(asks[1], "80", "90")]).verdicts
    assert [one.draws for one in found] == [(0.1, 0.2), (0.8, 0.9)]
