from __future__ import annotations

import asyncio
import json
import math
import re

import pytest

import bonwise as bw
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import CallError, JudgeError, LedgerError, UsageError
from bonwise.judges.calling import as_judge
from bonwise.routing.control import Route
from bonwise.selection.selector import Selector
from bonwise.selection.strategies.scores import Resample
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import FakeTransport, Faults, Script, ScriptedServer
from bonwise.testing.scripted_judge import ScriptedJudge
from calls.virtual_time import run_virtual
from selection.services import JUDGE, POOL, asking, by_worth, worth


def closed_port():
    """Return a judge at an address where nobody listens."""
    with ScriptedServer(Script()).in_thread() as server:
        url = server.url
    return Selector, bw.Pointwise("openai/m", base_url=f"{url}/v1"), {"deadline": 0.3}


def denied():
    """Return a judge whose key is not taken."""
    return asking_at(by_worth(keys={"another"})), JUDGE, {}


def broken():
    """Return a function that raises."""

    def fails(_prompt, _text):
        raise ZeroDivisionError("mine")

    return Selector, fails, {}


def broken_later():
    """Return an asynchronous function that raises."""

    async def fails(_prompt, _text):
        raise ZeroDivisionError("mine")

    return Selector, fails, {}


def miscounting():
    """Return a judge that returns too few verdicts."""

    class Short:
        name, version = "short", "1"

        def judge(self, _prompt, candidates):
            return [Score(1.0)] * (len(candidates) - 1)

    return Selector, Short(), {}


def ranking_strangers():
    """Return a listwise judge that answers about more candidates than there are."""

    class Long:
        name, version = "long", "1"

        async def judge(self, _prompt, candidates):
            return [Score(float(at)) for at in range(len(candidates) + 2)]

    return Selector, Long(), {}


def spent():
    """Return a judge that may send nothing."""
    return asking_at(by_worth()), JUDGE, {"max_calls": 0}


def asking_at(script):
    """Return what makes a selector in front of a script."""
    return lambda judge, **settings: asking(script, judge, **settings)


DOWN = {
    "connection refused": (closed_port, CallError, "within 0.3 s|connect|was not answered"),
    "401": (denied, CallError, "was not answered"),
    "function raises": (broken, JudgeError, "ZeroDivisionError: mine"),
    "asynchronous function raises": (broken_later, JudgeError, "ZeroDivisionError: mine"),
    "too few verdicts": (miscounting, JudgeError, "2 verdicts for 3 candidates"),
    "too many verdicts": (ranking_strangers, JudgeError, "5 verdicts for 3 candidates"),
    "spending limit": (spent, CallError, "max_calls=0"),
}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("case", DOWN)
def test_a_judge_that_is_down(case, asynchronous):
    """Whatever ails the judge: its error with `raise`, else a pick, or none, that says what failed; never a score."""
    made, kind, words = DOWN[case]
    for on_failure in ("raise", "first", "random", "owe"):
        make, judge, settings = made()
        selector = make(judge, on_failure=on_failure, **settings)
        if on_failure == "raise":
            with pytest.raises(kind, match=words) as caught:
                picked(selector, asynchronous=asynchronous)
            assert isinstance(caught.value.__cause__, ZeroDivisionError) == ("raises" in case)
            continue
        found = picked(selector, asynchronous=asynchronous)
        assert found.decided_by == {"owe": "owed"}.get(on_failure, on_failure)
        assert found.failure
        assert (found.scores, found.ranking, found.tied) == ((None, None, None), (), ())
        assert set(found.unscored) == {"c0", "c1", "c2"}
        assert (found.best is None) == (on_failure == "owe")
        if on_failure == "first":
            assert (found.index, found.best) == (0, POOL[0])
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["failure"] == found.failure


def picked(selector, *, asynchronous):
    """Select once, and close."""
    if not asynchronous:
        with selector:
            return selector.select("p", POOL)

    async def main():
        async with selector:
            return await selector.aselect("p", POOL)

    return asyncio.run(main())


def test_a_random_pick_is_the_same_again_and_fair():
    """What `random` picks depends on seed and prompt, not on when or where in the list."""
    pool = [{"id": name, "text": f"text {name}"} for name in "abc"]

    def fails(_prompt, _text):
        raise ZeroDivisionError

    def pick(seed, candidates):
        with Selector(fails, on_failure="random", seed=seed) as selector:
            return selector.select("p", candidates).best_id

    assert {pick(seed, pool) for seed in range(30)} == {"a", "b", "c"}
    assert all(pick(seed, pool) == pick(seed, pool[::-1]) for seed in range(10))


@pytest.mark.parametrize("on_failure", ["first", "random"])
def test_the_best_of_what_could_be_judged(on_failure):
    """With two of three answers, the better of the two is picked as `limit`, and the third is listed as owed."""
    with asking(by_worth(), max_calls=2, on_failure=on_failure, max_concurrency=1) as selector:
        found = selector.select("p", POOL)
    assert (found.best_id, found.decided_by, found.scores) == ("c1", "limit", (0.2, 0.9, None))
    assert (found.ranking, set(found.unscored)) == (("c1", "c0"), {"c2"})
    assert found.unscored["c2"] == "owed: max_calls=2 is reached"
    assert "max_calls=2 is reached" in found.failure
    assert found.stopped == found.failure


@pytest.mark.parametrize("asynchronous", [False, True], ids=["function", "asynchronous"])
def test_a_function_that_fails_at_one_candidate_costs_that_one(asynchronous):
    """A function that raises for one text leaves the others judged."""

    def judge(_prompt, text):
        return float(text.split()[1]) if text != POOL[1] else 1 / 0

    async def waiting(prompt, text):
        await asyncio.sleep(0)
        return judge(prompt, text)

    with Selector(waiting if asynchronous else judge, on_failure="first") as selector:
        found = selector.select("p", POOL)
    assert (found.best_id, found.decided_by, found.scores) == ("c2", "partial", (20.0, None, 50.0))
    assert "ZeroDivisionError" in found.failure
    assert "ZeroDivisionError" in found.unscored["c1"]


def test_owed_answers_come_with_the_next_run(tmp_path):
    """With `owe` and a ledger a later run pays only what is missing, and then picks."""
    script = by_worth()
    with asking(script, max_calls=2, on_failure="owe", ledger=tmp_path) as selector:
        found = selector.select("p", POOL)
    assert (found.best, found.decided_by, found.index, found.ranking) == (None, "owed", None, ())
    assert found.failure
    with asking(script, on_failure="owe", ledger=tmp_path) as selector:
        found = selector.select("p", POOL)
    assert (found.best_id, found.decided_by, found.failure) == ("c1", "score", "")
    assert (found.calls, found.bill.from_ledger, script.counts.answers) == (1, 2, 3)


@pytest.mark.parametrize("on_failure", ["first", "random", "owe"])
def test_answers_that_say_nothing_are_no_failure_of_the_judge(on_failure):
    """Where every answer came and none has a score: `first` and `random` pick all the same, `owe` picks nothing."""
    with asking(Script(lambda _request: "I cannot say."), on_failure=on_failure) as selector:
        found = selector.select("p", POOL)
    assert set(found.unscored) == {"c0", "c1", "c2"}
    if on_failure in {"first", "random"}:
        assert (found.decided_by, found.failure) == (on_failure, "nothing could be scored")
        assert found.best is not None
    else:
        assert (found.decided_by, found.best, found.failure) == ("nothing scored", None, "")


async def _returns_text(_prompt, text):
    return f"{len(text)}/10"


WITHOUT_SCORES = {
    "refused": (Script(lambda _request: "I cannot say."), "no score in the reply (3 of 3)"),
    "text": (lambda *_: "9/10", "the function returned str, not a number (3 of 3)"),
    "awaited text": (_returns_text, "the function returned str, not a number (3 of 3)"),
    "nan": (lambda *_: math.nan, "the function returned nan (3 of 3)"),
    "several": (
        lambda _, text: None if "90" in text else math.inf,
        "the function returned inf (2 of 3); the function returned nothing (1 of 3)",
    ),
}


@pytest.mark.filterwarnings("ignore:judge .* returned str:UserWarning")
@pytest.mark.parametrize(("judge", "why"), WITHOUT_SCORES.values(), ids=WITHOUT_SCORES)
def test_raise_raises_where_nothing_could_be_scored(judge, why):
    """Whatever the reason: it is counted, and the error names the other settings. A ranking holds it instead."""
    with asking(judge) if isinstance(judge, Script) else Selector(judge) as selector:
        for select in (selector.select, lambda *pool: next(selector.select_many([pool]))):
            with pytest.raises(JudgeError, match="scored no candidate: " + re.escape(why)) as caught:
                select("p", POOL)
            assert "on_failure='owe'" in caught.value.hint
        assert [one.rank for one in selector.rank("p", POOL)] == [None] * 3
        assert isinstance(selector.score("p", "one"), bw.Unscored)


@pytest.mark.parametrize("on_failure", ["owe", "first", "raise"])
def test_a_missing_key_comes_with_its_remedy(monkeypatch, on_failure):
    """The error and the failure of a pick name the variable to set."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with Selector(bw.Pointwise("openai/m"), on_failure=on_failure) as selector:
        if on_failure == "raise":
            with pytest.raises(CallError) as caught:
                selector.select("p", POOL)
            assert caught.value.hint == "set OPENAI_API_KEY"
        else:
            assert selector.select("p", POOL).failure == "no key for openai (set OPENAI_API_KEY)"


def test_redraws_that_fail_leave_what_is_known():
    """A limit that is met among redraws: `first` keeps the best of what is known, `raise` raises."""
    for on_failure in ("first", "raise"):
        with asking(by_worth(), max_calls=4, on_failure=on_failure, strategy=Resample(3)) as selector:
            if on_failure == "raise":
                with pytest.raises(CallError, match="max_calls=4"):
                    selector.select("p", POOL)
            else:
                found = selector.select("p", POOL)
                assert (found.best_id, found.decided_by) == ("c1", "limit")
                assert found.calls == 4


def test_a_service_that_recovers_is_no_failure():
    """Errors that pass are waited for, and the selection says nothing of them."""
    script = by_worth(faults=Faults(throttled=0.3, server_error=0.2, cut=0.1, retry_after=0.5))

    async def main():
        async with asking(script) as selector:
            return [await selector.aselect(f"p{at}", POOL) for at in range(5)]

    found = run_virtual(main())
    assert {(one.best_id, one.decided_by, one.failure) for one in found} == {("c1", "score", "")}


def test_a_ledger_that_breaks_is_not_owed():
    """What cannot be kept would be paid for in every later run: with `owe` the error of the ledger ends it."""

    async def full(_prompt, _text):
        raise LedgerError("the disk is full")

    for on_failure in ("raise", "owe"):
        with Selector(full, on_failure=on_failure) as selector, pytest.raises(LedgerError, match="the disk is full"):
            selector.select("p", POOL)


@pytest.mark.parametrize("on_failure", ["raise", "first", "owe"])
def test_a_strong_judge_that_fails(on_failure):
    """A complete first pass is kept as `partial` with `first` only; `raise` raises, and `owe` picks nothing."""

    def strong(_prompt, _text):
        raise ZeroDivisionError("down")

    class Always:
        second = None

        def __init__(self):
            self.strong = as_judge(strong)

        def consider(self, _first_pass, **_key):
            return Route(strong=True, signal=1.0, reason="above")

    settings = {"judge": lambda _, text: len(text), "router": Always(), "on_failure": on_failure}
    if on_failure == "raise":
        with pytest.raises(JudgeError, match="down"):
            bw.select("p", POOL, **settings)
        return
    found = bw.select("p", [*POOL, "the longest"], **settings)
    assert (found.best, found.decided_by) == (("the longest", "partial") if on_failure == "first" else (None, "owed"))
    assert "ZeroDivisionError: down" in found.failure
    assert (found.routed.strong, found.routed.first_pick) == (None, "c3")


def test_usage_errors_are_never_swallowed():
    """A mistake of the caller is raised whatever `on_failure` says."""
    for on_failure in ("first", "random", "owe"):
        with Selector(JUDGE, on_failure=on_failure) as selector, pytest.raises(UsageError):
            selector.select("p", [])


def test_a_judge_that_cancels_itself_is_a_failure_of_the_judge():
    """A judge whose own work was cancelled does not look like a cancelled caller."""

    async def judge(_prompt, text):
        if text == POOL[0]:
            raise asyncio.CancelledError
        return float(text.split()[1])

    async def main(on_failure):
        async with Selector(judge, on_failure=on_failure) as selector:
            return await selector.aselect("p", POOL)

    with pytest.raises(JudgeError, match="cancelled itself"):
        asyncio.run(main("raise"))
    assert asyncio.run(main("first")).best_id == "c1"


def test_unscored_is_not_partial():
    """A candidate that was judged and could not be scored is no failure of the judge."""
    judge = ScriptedJudge({POOL[0]: 0.3, POOL[1]: Unscored("a refusal"), POOL[2]: 0.1})
    found = Selector(judge, on_failure="first").select("p", POOL)
    assert (found.best_id, found.decided_by, found.failure) == ("c0", "score", "")
    assert found.unscored == {"c1": "a refusal"}


def test_two_selectors_fail_apart():
    """A judge that is down for one selector does not disturb another one beside it."""
    bad = Selector(JUDGE, on_failure="first", connection=Connection(transport=FakeTransport(by_worth(keys={"x"}))))
    with bad, asking(Script(worth)) as good:
        assert bad.select("p", POOL).decided_by == "first"
        assert good.select("p", POOL).decided_by == "score"
