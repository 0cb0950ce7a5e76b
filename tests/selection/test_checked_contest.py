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
from bonwise.routing.control import FirstPass, Route
from bonwise.selection.checked_contest import CheckedContest, consulted, most_calls_of
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
        assert (found.decided_by, found.failure) == (how, caught.value.message)
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

    contest = CheckedContest(Mine(next=following), Entrants(2, order=(0, 1)), as_judge(length))
    assert all(contest.next() for _ in range(20_000))
    with pytest.raises(JudgeError, match="more than 20,000 questions about 2"):
        contest.next()


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
