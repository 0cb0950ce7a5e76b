"""Judges made of judges: asked again, on a coarser scale, drawn anew."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.ask import Answer, Answers
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import JudgeError, UsageError
from bonwise.judges.comparing import Pairwise
from bonwise.judges.judging import judge_with
from bonwise.judges.local import Length
from bonwise.judges.parse.readers import ReadChoice
from bonwise.judges.pointwise import Interval, Pointwise
from bonwise.judges.protocol import AskingJudge, is_asking
from bonwise.judges.wrappers import Quantized, Resampled
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.testing.script import Script
from bonwise.testing.scripted_judge import ScriptedJudge
from bonwise.testing.transport import FakeTransport
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
    """By hand: a draw of which an order was lost has no value; of the others a wins 2 shown first, 1 shown second."""
    judge = Resampled(Pairwise("openai/m"), draws=3)
    first = [
        '{"choice": "A", "confidence": 5}',
        '{"choice": "A", "confidence": 2}',
        '{"choice": "B", "confidence": 4}',
    ]
    found = answered(judge, "p", ["a", "b"], [first, ["A", "B", "none"]])
    (pair,) = found.preferences
    assert (pair.shown_first, pair.shown_second) == (1.0, 0.5)
    assert pair.confidence == (2, None)
    # Draw by draw a earns (1 + 0) / 2, (1 + 1) / 2 and nothing that is known.
    assert found.verdicts[0].draws == (0.5, 1.0, None)
    assert found.verdicts[1].draws == (0.5, 0.0, None)


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
        *({"draws": one} for one in (1, 2.5, True)),
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


def rounded(value, bins):
    """Return what becomes of one score."""
    (found,) = Quantized(lambda _prompt, _text: value, bins=bins).judge("p", ["a"])
    return found


@pytest.mark.parametrize(
    ("value", "bins", "level"),
    [
        (0.0, 2, 0.0),
        (0.49, 2, 0.0),
        (0.5, 2, 1.0),
        (1.0, 2, 1.0),
        (0.25, 3, 0.5),
        (0.24, 3, 0.0),
        (0.75, 3, 1.0),
        (0.5, 20, 10 / 19),
        (0.85, 20, 16 / 19),
        (0.85, 101, 0.85),
    ],
)
def test_a_score_goes_to_the_nearest_level(value, bins, level):
    """Levels are k / (bins - 1); half-way scores go up."""
    assert rounded(value, bins) == Score(level)


@given(st.floats(0, 1), st.integers(2, 200))
def test_rounding_moves_a_score_by_half_a_step_at_most(value, bins):
    """A level is never further away than half a step, and rounding it again changes nothing."""
    level = rounded(value, bins).value
    assert abs(level - value) <= 0.5 / (bins - 1) + 1e-12
    assert 0 <= level <= 1
    assert rounded(level, bins).value == level


@pytest.mark.parametrize("value", [-0.01, 1.01, 85, 1e300])
def test_a_score_off_the_scale_is_unscored(value):
    """What lies beyond 0 or 1 is never moved onto the scale."""
    assert rounded(value, 20).reason == f"{value:g} lies off [0, 1]"


def test_unscored_stays_unscored():
    """A reason passes through."""
    assert Quantized(Length()).judge("p", [""]) == (Unscored("empty answer"),)


def test_questions_and_preferences_are_the_inner_judge_s():
    """Only scores are rounded: 0.75 goes to 1 of three levels, and the comparisons stay."""
    inner, judge = Pairwise("openai/m"), Quantized(Pairwise("openai/m"), bins=3)
    assert isinstance(judge, AskingJudge)
    assert judge.asks("p", ["a", "b"]) == inner.asks("p", ["a", "b"])
    replies = [["A"], ["TIE"]]
    found, plain = (answered(one, "p", ["a", "b"], replies) for one in (judge, inner))
    assert [one.value for one in plain.verdicts] == [0.75, 0.25]
    assert found.verdicts == (Score(1.0), Score(0.5))
    assert found.preferences == plain.preferences


def test_intervals_are_rounded_in_the_same_way():
    """Ends go to levels too, so that they still enclose the score."""
    reply = '{"score": 70, "low": 60, "high": 85}'
    (found,) = answered(Quantized(Interval("openai/m"), bins=11), "p", ["a"], [[reply]]).verdicts
    assert (found.low, found.value, found.high) == (0.6, 0.7, 0.9)


def test_draws_are_rounded_one_by_one():
    """The draws behind a mean go to levels, None stays None, and an end beyond the scale stays beyond it."""
    judge = Quantized(Resampled(Pointwise("openai/m"), draws=3), bins=2)
    (found,) = answered(judge, "p", ["a"], [["40", "none", "90"]]).verdicts
    assert (found.value, found.draws) == (1.0, (0.0, None, 1.0))
    assert found.low < 0
    assert found.high > 1


def test_an_asynchronous_judge_is_awaited_and_quantized():
    """The scores of an asynchronous judge are rounded when they arrive."""

    class Waiting:
        name, version = "waiting", "1"

        async def judge(self, _prompt, candidates):
            return [Score(0.6) for _ in candidates]

    async def main():
        return await Quantized(Waiting(), bins=2).judge("p", ["a", "b"])

    assert asyncio.run(main()) == (Score(1.0), Score(1.0))


def test_the_name_makes_the_quantized_judge():
    """The name holds the bins and the inner judge, and the calls are the inner judge's."""
    judge = Quantized(Pointwise("openai/x", prompt="pointwise-reason"))
    assert judge.name == "quantized,bins=20,of=pointwise,prompt=pointwise-reason:openai/x"
    assert judge.version.startswith(judge.of.version)
    assert (judge.calls(4), Quantized(Length()).calls(4)) == (4, 0)


@pytest.mark.parametrize("bins", [1, 0, -3, 2.5, True, "20"])
def test_too_few_levels_are_refused(bins):
    """Fewer than two levels, or what is not a whole number, is a usage error."""
    with pytest.raises(UsageError):
        Quantized(Length(), bins=bins)


JUDGE = Pointwise("openai/m", base_url="http://scripted/v1")
MESSAGES = Pointwise("anthropic/m", base_url="http://scripted")


def counting():
    """Return a service whose scores count its answers."""
    script = Script()
    script.answer = lambda _request: str(script.counts.answers)
    return script


def drawn(script, folder, *calls):
    """Judge with the same ledger, each call a judge, texts and settings; return the judgments."""

    async def main():
        async with Engine(folder, connection=Connection(transport=FakeTransport(script))) as engine:
            return [await judge_with(engine, judge, "p", texts, **settings) for judge, texts, settings in calls]

    return asyncio.run(main())


def values(judgment):
    """Return the scores of a judgment."""
    return [one.value for one in judgment.verdicts]


@pytest.mark.parametrize("judge", [JUDGE, MESSAGES], ids=str)
def test_redraws_are_further_answers(judge, tmp_path):
    """Draws 0, 1 and 2 are three answers to the same question; the same draw is the same answer."""
    script = counting()
    found = drawn(script, tmp_path, *((judge, ["a"], {"draw": at}) for at in (0, 1, 2, 1, 0)))
    assert [values(one) for one in found] == [[0.01], [0.02], [0.03], [0.02], [0.01]]
    assert script.counts.answers == 3
    assert [one.bill.from_ledger for one in found] == [0, 0, 0, 1, 1]


def test_draw_0_is_a_plain_judgment(tmp_path):
    """Draw 0 at the judge's own temperature costs nothing where the pool was judged before."""
    script = counting()
    first, again = drawn(script, tmp_path, (JUDGE, ["a", "b"], {}), (JUDGE, ["a", "b"], {"draw": 0}))
    assert values(first) == values(again)
    assert script.counts.answers == 2


@pytest.mark.parametrize("judge", [JUDGE, MESSAGES], ids=str)
def test_redraws_share_the_draws_of_a_resampled_judge(judge, tmp_path):
    """Single draws at the temperature of a resampled judge are its draws, in whichever order they were asked."""
    for order in (1, -1):
        script, folder = counting(), tmp_path / str(order)
        single = [(judge, ["a"], {"draw": at, "temperature": 1.0}) for at in range(3)]
        whole = [(Resampled(judge, draws=3), ["a"], {})]
        found = drawn(script, folder, *[*single, *whole][::order])[::order]
        assert list(found[3].verdicts[0].draws) == [values(one)[0] for one in found[:3]]
        paid = 1 if order < 0 and judge is JUDGE else 3
        assert script.counts.requests == paid


def test_another_temperature_is_another_draw(tmp_path):
    """A redraw at a given temperature is not the judge's own draw of that number."""
    script = counting()
    settings = ({"draw": 1}, {"draw": 1, "temperature": 1.0}, {"draw": 1, "temperature": 0.5}, {"temperature": 1.0})
    found = drawn(script, tmp_path, *((JUDGE, ["a"], one) for one in settings))
    assert script.counts.answers == 4
    assert len({values(one)[0] for one in found}) == 4
    assert [one.effective[0].get("temperature") for one in found] == [0.0, 1.0, 0.5, 1.0]
    warm = replace(JUDGE, temperature=1.0)
    (same,) = drawn(script, tmp_path, (warm, ["a"], {"draw": 1}))
    assert values(same) == values(found[1])
    assert script.counts.answers == 4


def test_redraws_of_a_resampled_judge_are_all_new(tmp_path):
    """The next draw of a judge that takes three is the three that follow."""
    script = counting()
    judge = Resampled(JUDGE, draws=3)
    first, second = drawn(script, tmp_path, *((judge, ["a"], {"draw": at}) for at in (0, 1)))
    assert (len(first.verdicts[0].draws), script.counts.requests) == (3, 2)
    ((third,),) = [values(one) for one in drawn(script, tmp_path, (JUDGE, ["a"], {"draw": 5, "temperature": 1.0}))]
    assert third == second.verdicts[0].draws[2]
    assert script.counts.requests == 2


def test_comparisons_are_redrawn_too(tmp_path):
    """Both orders of a comparison have further draws."""
    script = Script(lambda _request: "A")
    pairs = Pairwise("openai/m", base_url="http://scripted/v1")
    drawn(script, tmp_path, *((pairs, ["a", "b"], {"draw": at}) for at in (0, 1, 0)))
    assert script.counts.answers == 4


def test_a_judge_that_asks_no_model_is_just_asked_again():
    """A local judge is called for each draw and knows nothing of its number."""
    judge = ScriptedJudge([0.1, 0.2])
    found = drawn(Script(), None, (judge, ["a"], {"draw": 0}), (judge, ["a"], {"draw": 1, "temperature": 1.0}))
    assert [one.verdicts for one in found] == [(Score(0.1),), (Score(0.2),)]
