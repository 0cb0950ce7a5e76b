"""A contest holds every strategy to its contract, and verdicts that are kept are not asked for again."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import re

import pytest

import bonwise as bw
from bonwise.errors import JudgeError, UsageError
from bonwise.judges.calling import as_judge
from bonwise.judges.local import from_name
from bonwise.routing.control import FirstPass, Route
from bonwise.selection.contest_run import ContestRun, consulted, most_calls_of
from bonwise.selection.draws import kept_verdict
from bonwise.selection.judge_runner import ThreadJudgeRunner
from bonwise.selection.protocol import Draw, Entrants, Match, Standing
from bonwise.selection.strategies.scores import Resample
from bonwise.table.verdicts import Score, Unscored

POOL = ["aa", "b", "ccc"]


def length(_prompt, text):
    """Score a text by its length."""
    return len(text)


class Sound:
    """A contest as it should be: every score once."""

    def __init__(self, entrants):
        self.count = entrants.count
        self.verdicts = [Unscored("not asked")] * entrants.count
        self.rounds = 0

    def next(self):
        """Ask for every score, once."""
        self.rounds += 1
        return [Draw(at) for at in range(self.count)] if self.rounds == 1 else []

    def hear(self, question, answer):
        """Keep it."""
        self.verdicts[question.candidate] = answer

    def standing(self):
        """Return what was heard."""
        return Standing(tuple(self.verdicts), stopped="all asked")


class Mine:
    """A strategy whose contests are of a class, with methods of its own in the place of some."""

    name, compares = "mine", False

    def __init__(self, calls=0, **methods):
        self.calls = calls
        self.kind = type("Broken", (Sound,), methods)

    def contest(self, entrants):
        """Open a contest."""
        return self.kind(entrants)

    def most_calls(self, _judge, _candidates):
        """Return what it was made with."""
        return self.calls


def raises(*_):
    """Fail as a careless plug-in does."""
    raise KeyError("mine\nat all")


def stands(**values):
    """Return a standing that holds something more."""
    return lambda self: Standing(tuple(self.verdicts), **values)


BROKEN = {
    "contest raises": (Mine(__init__=raises), r"failed in contest\(\): KeyError", 0),
    "next raises": (Mine(next=raises), r"failed in next\(\): KeyError", 0),
    "hear raises": (Mine(hear=raises), r"failed in hear\(\): KeyError", 3),
    "standing raises": (Mine(standing=raises), r"failed in standing\(\): KeyError", 3),
    "next is none": (Mine(next=lambda _: None), r"next\(\) returned NoneType", 0),
    "next is junk": (Mine(next=lambda _: ["a"]), "asks 'a'", 0),
    "beyond the pool": (Mine(next=lambda _: [Draw(17)]), "candidate=17", 0),
    "before the pool": (Mine(next=lambda _: [Draw(-1)]), "candidate=-1", 0),
    "half a number": (Mine(next=lambda _: [Draw(0, 0.5)]), "number=0.5", 0),
    "no temperature": (Mine(next=lambda _: [Draw(0, 0, math.nan)]), "temperature=nan", 0),
    "against itself": (Mine(next=lambda _: [Match(0, 0)]), "Match", 0),
    "in the other order": (Mine(next=lambda _: [Match(1, 0)]), "Match", 0),
    "by nobody": (Mine(next=lambda _: [Match(0, 1, "judge")]), "Match", 0),
    "no standing": (Mine(standing=lambda _: None), r"standing\(\) returned NoneType", 3),
    "too few": (Mine(standing=lambda self: Standing(tuple(self.verdicts)[:1])), "no verdict for each of 3", 3),
    "too many": (Mine(standing=lambda self: Standing((*self.verdicts, Score(9.0)))), "no verdict for each of 3", 3),
    "no verdicts": (Mine(standing=lambda _: Standing((1.0, 2.0, 3.0))), "no verdict for each of 3", 3),
    "short p_best": (Mine(standing=stands(p_best=(0.5,))), "p_best has 1 entries", 3),
    "p_best is not a number": (Mine(standing=stands(p_best=(math.nan,) * 3)), "p_best holds nan", 3),
    "infinite error": (Mine(standing=stands(standard_errors=(math.inf,) * 3)), "standard_errors holds inf", 3),
    "regret is not a number": (Mine(standing=stands(expected_regret=math.nan)), "expected_regret holds nan", 3),
    "second is text": (Mine(standing=stands(second=("a",) * 3)), "second holds 'a'", 3),
    "the same again": (Mine(next=lambda _: [Draw(0)]), "asks again what it was answered", 1),
    "without end": (Mine(next=lambda _: (Draw(0, at) for at in itertools.count())), "more than 30,000 questions", 0),
    "more than it said": (Mine(2, next=lambda _: (Draw(0, at) for at in range(10))), "more than 9 questions", 0),
}


@pytest.mark.parametrize("deadline", [None, 30.0], ids=["here", "in a loop"])
@pytest.mark.parametrize("case", BROKEN)
def test_a_strategy_that_breaks_its_contract_is_a_judge_that_fails(case, deadline):
    """One error in one line that names the strategy; `on_failure` decides by the first scores that were had."""
    strategy, words, known = BROKEN[case]
    with pytest.raises(JudgeError, match=words) as caught:
        bw.select("p", POOL, judge=length, strategy=strategy, deadline=deadline)
    assert "strategy mine" in caught.value.message
    assert "\n" not in str(caught.value)
    assert ("KeyError" in words) == isinstance(caught.value.__cause__, KeyError)
    for on_failure, how in (("first", "partial" if known else "first"), ("owe", "owed")):
        found = bw.select("p", POOL, judge=length, strategy=strategy, deadline=deadline, on_failure=on_failure)
        assert (found.decided_by, found.failure) == (how, str(caught.value))
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["failure"] == found.failure
    assert (found.best, found.ranking) == (None, ())
    if known == len(POOL):
        partial = bw.select("p", POOL, judge=length, strategy=strategy, on_failure="first")
        assert (partial.best, partial.scores) == ("ccc", (2.0, 1.0, 3.0))


def test_new_questions_without_end_are_cut_off():
    """A contest that asks one question more, round after round, ends after 10,000 about each candidate."""

    def following(self):
        self.rounds += 1
        return [Draw(0, self.rounds)]

    judge, runner = as_judge(length), ThreadJudgeRunner()
    entrants = Entrants(2, order=(0, 1))
    contest = ContestRun(Mine(next=following), entrants, judge, runner, "p", ("a", "bb"), until=None)
    asyncio.run(contest.finish())
    assert contest.draws == {0: 20_000}
    assert isinstance(contest.error, JudgeError)
    assert "more than 20,000 questions about 2" in contest.error.message


def test_what_is_sound_passes_as_it_is():
    """Questions, answers and the standing of a contest that keeps its contract are handed on; repeats once."""
    strategy = Mine(next=lambda self: [*Sound.next(self), Draw(1)] if not self.rounds else [])
    found = bw.select("p", POOL, judge=length, strategy=strategy)
    assert (found.best, found.decided_by, found.draws, found.stopped) == ("ccc", "score", (1, 1, 1), "all asked")
    many = bw.select("p", POOL, judge=length, strategy=Resample(2_000))
    assert (many.best, many.draws) == ("ccc", (2_000,) * 3)


@pytest.mark.parametrize("calls", [-1, 1.5, None, "3", True], ids=repr)
def test_what_a_strategy_takes_is_a_number(calls):
    """A strategy that cannot say how many calls it takes is refused before anything is asked."""
    with pytest.raises(JudgeError, match=r"strategy mine: most_calls\(\) returned"):
        bw.select("p", POOL, judge=length, strategy=Mine(calls))
    assert most_calls_of(Mine(3), as_judge(length), 2) == 3


def test_a_mistake_of_the_caller_is_raised_as_it_is():
    """A strategy that refuses the pool by a usage error is no failing judge."""

    def refuses(*_):
        raise UsageError("not with 3 candidates", hint="take 2")

    with pytest.raises(UsageError, match="not with 3 candidates"):
        bw.select("p", POOL, judge=length, strategy=Mine(__init__=refuses), on_failure="first")


ROUTES = {
    "raises": (lambda: 1 / 0, "ZeroDivisionError"),
    "none": (lambda: None, "it returned NoneType"),
    "beyond": (lambda: Route(True, 1.0, "x", (0, 9)), r"\(0, 9\) are not two or more of 3"),
    "before": (lambda: Route(True, 1.0, "x", (-1, 0)), r"\(-1, 0\) are not"),
    "alone": (lambda: Route(True, 1.0, "x", (1,)), r"\(1,\) are not"),
    "twice": (lambda: Route(True, 1.0, "x", (1, 1)), r"\(1, 1\) are not"),
}


class Routing:
    """A router that says what it was made to say."""

    strong, second = as_judge(lambda _, text: -len(text)), None

    def __init__(self, says):
        self.says = says

    def consider(self, _first_pass, key=""):
        """Say it."""
        assert key
        return self.says()


@pytest.mark.parametrize("on_failure", ["raise", "owe"])
@pytest.mark.parametrize("case", ROUTES)
def test_a_router_that_fails_sends_nothing(case, on_failure):
    """The first judge decides without it, and the reason says what went wrong."""
    says, words = ROUTES[case]
    found = bw.select("p", POOL, judge=length, router=Routing(says), on_failure=on_failure)
    assert (found.best, found.decided_by, found.failure, found.routed.strong) == ("ccc", "score", "", None)
    assert found.routed.reason.startswith("the router failed: ")
    assert re.search(words, found.routed.reason)
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("signal", [math.nan, math.inf, "high", True], ids=repr)
def test_a_signal_that_is_no_number_is_none(signal):
    """A route stands without its signal where that is not a finite number."""
    shown = FirstPass([Score(1.0), Score(2.0)])
    route = consulted(Routing(lambda: Route(True, signal, "x", (0, 1))), shown, "p")
    assert route == Route(True, None, "x", (0, 1))


def test_a_broken_strategy_breaks_no_other_pool():
    """Side by side, only the pools in which a contest fails have no pick."""

    def fails_at_four(self):
        return raises() if self.count == 4 else Sound.next(self)

    async def main():
        async with bw.Selector(length, strategy=Mine(next=fails_at_four), on_failure="owe", deadline=30) as selector:
            pools = [("p", POOL), ("q", [*POOL, "dddd"]), ("r", POOL)]
            return {one.prompt_id: one.decided_by async for one in selector.aselect_many(pools)}

    assert asyncio.run(main()) == {"0": "score", "1": "owed", "2": "score"}


class Scripted:
    """A judge object with a list of answers per text; it notes what it was shown."""

    name, version = "scripted", "1"

    def __init__(self, answers, *, listwise=False):
        self.answers = {text: iter(said) for text, said in answers.items()}
        self.shown = []
        self.listwise = listwise

    def judge(self, _, candidates):
        """Return the next answer to each text."""
        self.shown.append(tuple(candidates))
        return [next(self.answers[text]) for text in candidates]


def stated(value, width=0.2, raw=""):
    """Return a score with an interval around it."""
    return bw.Score(value, low=value - width, high=value + width, raw=raw)


def test_a_selection_keeps_interval_words_and_reason():
    """Each verdict is there as the judge gave it, in candidate order; twins share it."""
    judge = Scripted(
        {
            "a": [stated(0.4, raw="so so"), stated(0.4, raw="so so")],
            "b": [stated(0.6, width=0.1, raw="good")],
            "c": [bw.Unscored("refused", "I will not")],
        }
    )
    found = bw.select("p", ["a", "b", "c", "a"], judge=judge)
    assert [type(one).__name__ for one in found.verdicts] == ["Score", "Score", "Unscored", "Score"]
    assert (found.verdicts[1].low, found.verdicts[1].high, found.verdicts[1].raw) == (0.5, 0.7, "good")
    assert found.verdicts[0] is found.verdicts[3]
    assert (found.verdicts[2].reason, found.verdicts[2].raw) == ("refused", "I will not")
    assert found.standard_errors == ()
    line = found.to_dict()
    assert line["low"] == [0.2, 0.5, None, 0.2]
    assert line["high"] == [pytest.approx(0.6), 0.7, None, pytest.approx(0.6)]
    assert line["raw"] == ["so so", "good", "I will not", "so so"]
    assert (line["draw_scores"], line["evaluations"]) == ([], 4)


def test_several_draws_are_kept_with_the_mean_of_their_ends():
    """The ends of redrawn candidates are the mean of what the judge stated; words stand one below the other."""
    draws = {
        text: [stated(0.5, raw="one"), stated(at, width=0.1, raw="two")] for text, at in (("a", 0.7), ("b", 0.3))
    }
    judge = Scripted(draws)
    found = bw.select("p", ["a", "b"], judge=judge, strategy=bw.Resample(draws=2))
    assert found.scores == (0.6, 0.4)
    assert [one.draws for one in found.verdicts] == [(0.5, 0.7), (0.5, 0.3)]
    assert (found.verdicts[0].low, found.verdicts[0].high) == (pytest.approx(0.45), pytest.approx(0.75))
    assert found.verdicts[0].raw == "one\n\ntwo"
    assert found.to_dict()["draw_scores"] == [[0.5, 0.7], [0.5, 0.3]]
    assert found.evaluations == 4


def test_ends_are_left_out_where_they_would_be_about_another_number():
    """No ends where a draw has none, nor where a strategy ranks by something else than the mean."""
    assert kept_verdict(bw.Score(0.5), [stated(0.4), bw.Score(0.6)]).width is None
    shrunk = kept_verdict(bw.Score(0.45), [stated(0.4), stated(0.6)])
    assert (shrunk.value, shrunk.width, shrunk.draws) == (0.45, None, (0.4, 0.6))


def test_a_draw_without_score_stays_among_the_draws():
    """The mean is of those with a score, and so are its ends; the reason of the other is in its words."""
    found = kept_verdict(bw.Score(0.4), [stated(0.4, raw="x"), bw.Unscored("empty reply", "?")])
    assert (found.draws, found.raw) == ((0.4, None), "x\n\n?")
    assert (found.low, found.high) == (pytest.approx(0.2), pytest.approx(0.6))


def test_value_of_information_keeps_words_beside_its_posterior_means():
    """The value is what the candidate is ranked by; what the judge said stands beside it."""
    judge = Scripted({text: [stated(at, raw=text)] * 8 for text, at in (("a", 0.7), ("b", 0.69), ("c", 0.2))})
    found = bw.select("p", ["a", "b", "c"], judge=judge, strategy=bw.ValueOfInformation(price=0.001))
    assert tuple(one.value for one in found.verdicts) == found.scores
    assert found.verdicts[2].raw.split() == ["c"] * found.draws[2]
    assert len(found.verdicts[found.index].draws) == found.draws[found.index]


def test_no_judge_no_verdict():
    """Where nothing was asked there is no verdict; blanks have their reason."""
    assert bw.select("p", ["a"], judge=lambda *_: 1 / 0).verdicts == (None,)
    assert bw.select("p", ["a", "a"], judge=lambda *_: 1 / 0).to_dict()["low"] == []


def test_win_rates_have_no_words():
    """A candidate that was compared only has its win rate as verdict."""
    found = bw.select("p", ["a", "bb"], judge=lambda _, text: len(text), strategy=bw.RoundRobin())
    assert found.verdicts == (bw.Score(0.0), bw.Score(1.0))
    assert found.evaluations == 2


def test_the_stronger_judge_has_the_last_word():
    """Where it decided, the verdicts are its own, at the places of its contenders, and its evaluations count."""

    class Sends:
        second = None

        def __init__(self, strong):
            self.strong = strong

        def consider(self, _, key=""):
            del key
            return Route(strong=True, signal=0.1, reason="close", contenders=(0, 2))

    weak = Scripted({text: [stated(0.5, raw="weak")] for text in "abc"})
    strong = Scripted({"a": [stated(0.2, raw="strong a")], "c": [stated(0.9, raw="strong c")]})
    found = bw.select("p", ["a", "b", "c"], judge=weak, router=Sends(strong))
    assert [one.raw for one in found.verdicts] == ["strong a", "", "strong c"]
    assert (found.best, found.evaluations) == ("c", 5)


POOL_OF_KEPT_VERDICTS = ["a", "b", "c", "d"]
VALUES = {"a": 0.70, "b": 0.69, "c": 0.3, "d": 0.1}


@pytest.mark.parametrize("deadline", [None, 60.0], ids=["here", "in a loop"])
def test_only_candidates_to_be_redrawn_are_shown_to_a_judge_object(deadline):
    """After the first pass the two best alone are judged again: 8 evaluations, not 12, as of a function."""
    judge = Scripted({text: [bw.Score(value)] * 3 for text, value in VALUES.items()})
    found = bw.select(
        "p", POOL_OF_KEPT_VERDICTS, judge=judge, strategy=bw.Adaptive(margin=0.1, max_draws=3), deadline=deadline
    )
    assert judge.shown == [tuple(POOL_OF_KEPT_VERDICTS), ("a", "b"), ("a", "b")]
    by_function = bw.select(
        "p", POOL_OF_KEPT_VERDICTS, judge=lambda _, text: VALUES[text], strategy=bw.Adaptive(max_draws=3)
    )
    assert found.draws == by_function.draws == (3, 3, 1, 1)
    assert found.evaluations == by_function.evaluations == 8
    assert found.scores == by_function.scores


def test_a_listwise_judge_sees_the_pool_each_time():
    """What scores a candidate by the others is shown them all, also inside of another judge."""
    answers = {text: [bw.Score(value)] * 3 for text, value in VALUES.items()}
    judge = Scripted(answers, listwise=True)
    found = bw.select("p", POOL_OF_KEPT_VERDICTS, judge=judge, strategy=bw.Adaptive(margin=0.1, max_draws=3))
    assert judge.shown == [tuple(POOL_OF_KEPT_VERDICTS)] * 3
    assert (found.draws, found.evaluations) == ((3, 3, 1, 1), 12)
    again = Scripted({text: [bw.Score(value)] * 3 for text, value in VALUES.items()}, listwise=True)
    bw.select(
        "p", POOL_OF_KEPT_VERDICTS, judge=bw.Quantized(again, bins=101), strategy=bw.Adaptive(margin=0.1, max_draws=2)
    )
    assert again.shown == [tuple(POOL_OF_KEPT_VERDICTS)] * 2


@pytest.mark.parametrize("name", ["consensus", "lexical"])
def test_local_judges_that_compare_texts_keep_their_scores_when_asked_again(name):
    """Their score of a candidate rests on the pool: asked again it is the same."""
    pool = ["the sky is blue", "the sky is wide", "grass is green", "the sky is blue and wide"]
    judge = from_name(name)
    once = bw.select("why is the sky blue", pool, judge=judge)
    again = bw.select("why is the sky blue", pool, judge=judge, strategy=bw.Adaptive(margin=1e9))
    assert again.scores == pytest.approx(once.scores)


def test_long_replies_lose_their_middle_and_lines_stay_lines():
    """A judge that says much is cut with a mark; a pick is one line of JSON whatever was said."""
    judge = Scripted({"a": [bw.Score(1.0, raw="x\n" * 20_000)], "b": [bw.Score(0.0, raw="\u2028\ud800")]})
    line = bw.select("p", ["a", "b"], judge=judge).to_dict()
    assert "[30000 characters left out here]" in line["raw"][0]
    assert len(line["raw"][0]) < 10_100
    assert "\n" not in json.dumps(line)


def test_an_asynchronous_function_counts_its_evaluations():
    """What is awaited is counted alike."""

    async def judge(prompt, text):
        return len(text)

    assert asyncio.run(bw.aselect("p", ["a", "bb", "ccc"], judge=judge)).evaluations == 3


CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
AS_TEXT = "system: Be brief.\n\nuser: Hi"


def test_a_prompt_of_messages_is_read_as_text():
    """The judge sees the conversation as one text, wherever a prompt can stand; the tie falls as for the text."""
    seen = []
    pools = [(CHAT, ["a", "b"]), {"prompt": CHAT, "candidates": ["a", "b"]}]
    with bw.Selector(lambda prompt, _: seen.append(prompt) or 1) as selector:
        found = [selector.select(CHAT, ["a", "b"]), *selector.select_many(pools)]
        by_text = selector.select(AS_TEXT, ["a", "b"])
    assert set(seen) == {AS_TEXT}
    assert {one.best for one in found} == {by_text.best}
    assert asyncio.run(bw.aselect(CHAT, ["a", "bb"], judge=lambda _, text: len(text))).best == "bb"


def test_a_generator_may_take_messages():
    """The first argument of a decorated function is the prompt also where it is a conversation."""
    answers = iter(["a", "bb"])

    @bw.best_of(n=2, judge=lambda prompt, text: len(text) if prompt == AS_TEXT else 0)
    def write(_):
        return next(answers)

    assert write(CHAT) == "bb"
