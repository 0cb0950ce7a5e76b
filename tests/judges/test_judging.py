from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.portal import Portal
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import CallError, JudgeError, UsageError
from bonwise.judges.calling import FunctionJudge, as_judge
from bonwise.judges.comparing import Pairwise
from bonwise.judges.judging import judge_now, judge_with
from bonwise.judges.pointwise import Pointwise
from bonwise.judges.protocol import Conclusion, is_asking
from bonwise.judges.scoring import expected_answers, judge_pools, judge_pools_now
from bonwise.judges.wrappers import Quantized, Resampled
from bonwise.table.pools import Candidate, Pool
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.testing.faults import drawn_share
from bonwise.testing.script import Script
from bonwise.testing.scripted_judge import ScriptedJudge
from bonwise.testing.server import ScriptedServer
from bonwise.testing.transport import FakeTransport
from calls.virtual_time import run_virtual

URL = "http://scripted/v1"


def pool(number, size=2):
    """Return a numbered pool."""
    return Pool(f"p{number}", f"Question {number}?", tuple(Candidate(f"c{at}", f"Text {at}") for at in range(size)))


def over(script, **settings):
    """Return an engine in front of a script."""
    return Engine(connection=Connection(transport=FakeTransport(script)), **settings)


def judged(judge, texts, script=None, **settings):
    """Judge with an engine made for it."""

    async def main():
        async with over(script or Script(), **settings) as engine:
            return await judge_with(engine, judge, "Why?", texts)

    return asyncio.run(main())


class Backwards:
    """A judge that keeps to itself: asks once about all candidates, and concludes in its own way."""

    name, version = "backwards", "1"

    def __init__(self, verdicts=None):
        self.verdicts = verdicts

    def asks(self, prompt, candidates):
        """Ask one question about all candidates."""
        return [Ask(Model("openai", "m", URL), prompt, "\n".join(candidates), lambda choice: choice.text)]

    def calls(self, _candidates):
        """One, however many candidates there are."""
        return 1

    def conclude(self, _prompt, candidates, answers):
        """Give each candidate a share of the length of the answer."""
        length = len(answers[0].answers[0].reading)
        return Conclusion(tuple(self.verdicts or (Score(length / 100) for _ in candidates)))

    def judge(self, _prompt, _candidates):
        """Not called where there is an engine."""
        raise AssertionError


def test_a_judge_that_asks_is_put_to_the_engine():
    """Its questions are asked, its conclusion is the verdict, and the bill and parameters are those of the calls."""
    script = Script(lambda _: "x" * 50)
    found = judged(Backwards(), ["a", "b", "c"], script)
    assert found.verdicts == (Score(0.5),) * 3
    assert (script.counts.requests, found.bill.calls) == (1, 1)
    assert found.effective == ({"max_tokens": 1024, "schema": False},)


def test_every_set_of_parameters_that_was_sent_is_told():
    """Where questions were sent with different parameters each set stands there once, in order of appearance."""

    class Varied(Backwards):
        def asks(self, prompt, candidates):
            (ask,) = super().asks(prompt, candidates)
            return [replace(ask, temperature=value) for value in (0.5, None, 0.5, 1.0)]

    assert [one.get("temperature") for one in judged(Varied(), ["a"]).effective] == [0.5, None, 1.0]


def test_a_judge_of_any_shape_is_run():
    """A function, an asynchronous function, an asynchronous judge and one that returns an awaitable are all run."""

    async def slow(_prompt, text):
        await asyncio.sleep(0)
        return len(text)

    class Later(ScriptedJudge):
        async def judge(self, prompt, candidates):
            await asyncio.sleep(0)
            return super().judge(prompt, candidates)

    expected = (Score(1), Score(2))
    for judge in (
        FunctionJudge(lambda _prompt, text: len(text)),
        FunctionJudge(slow),
        ScriptedJudge({"a": 1, "bb": 2}),
        Later({"a": 1, "bb": 2}),
        Quantized(FunctionJudge(slow), bins=2),
    ):
        found = judged(judge, ["a", "bb"])
        if isinstance(judge, Quantized):
            assert found.verdicts == (Score(1.0), Unscored("2 lies off [0, 1]"))
        else:
            assert found.verdicts == expected
        assert (found.bill.calls, found.bill.cost, found.effective) == (0, 0.0, ())


def test_a_judge_that_blocks_runs_beside_the_loop_and_never_twice_at_once():
    """Judges of one function run in one worker thread, however many: the loop goes on, and it needs no locks."""
    here = threading.get_ident()
    inside, most, threads = [], [], set()

    def measured(_prompt, text):
        inside.append(text)
        most.append(len(inside))
        threads.add(threading.get_ident())
        inside.remove(text)
        return 1.0

    async def main():
        async with over(Script()) as engine:
            judges = [as_judge(measured) for _ in range(8)]
            await asyncio.gather(*(judge_with(engine, judge, "Why?", ["a", "b"]) for judge in judges))

    asyncio.run(main())
    assert max(most) == 1
    assert len(threads) == 1
    assert here not in threads


def raisers(error):
    """Return a function, and an asynchronous one, that raise an error."""

    def at_once(_prompt, _text):
        raise error

    async def later(_prompt, _text):
        await asyncio.sleep(0)
        raise error

    return at_once, later


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StopIteration(), "failed"),
        (StopAsyncIteration("x"), "failed: StopAsyncIteration: x"),
        (TimeoutError("x"), "failed: TimeoutError: x"),
        (asyncio.CancelledError(), "cancelled itself"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseException) else "",
)
def test_whatever_a_judge_raises_is_its_own_error(error, said):
    """Neither what no future takes nor a cancellation of the judge's own reaches who asked, and nobody waits on."""
    for function in raisers(error):
        with pytest.raises(JudgeError, match=f"'{function.__name__}' {said}") as caught:
            judged(FunctionJudge(function), ["a"])
        assert caught.value.__cause__ is not None


def test_an_exhausted_iterator_is_an_error_of_the_judge():
    """A function that reads scores from an iterator which ends raises no more than any other failure."""
    scores = iter([1.0])
    with pytest.raises(JudgeError, match="failed: StopIteration"):
        judged(FunctionJudge(lambda _prompt, _text: next(scores)), ["a", "b"])


@pytest.mark.parametrize("which", [0, 1], ids=["blocking", "asynchronous"])
def test_who_is_cancelled_while_a_judge_works_is_cancelled(which):
    """A cancellation from outside stays one, whatever kind of judge is at work."""
    begun, let_go = threading.Event(), threading.Event()

    def blocks(_prompt, _text):
        begun.set()
        let_go.wait(20)

    async def waits(_prompt, _text):
        begun.set()
        await asyncio.sleep(1000)

    async def main():
        async with over(Script()) as engine:
            task = asyncio.create_task(judge_with(engine, FunctionJudge((blocks, waits)[which]), "Why?", ["a"]))
            await asyncio.to_thread(begun.wait, 20)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return task.cancelled()

    assert asyncio.run(main())
    let_go.set()


def test_what_a_judge_says_when_it_fails_is_kept_short():
    """An exception with a text of any length makes a message of one line that can be read."""
    for function in raisers(ValueError("x" * 10**6 + "\x1b[31m\n")):
        with pytest.raises(JudgeError) as caught:
            judged(FunctionJudge(function), ["a"])
        assert len(caught.value.message) < 250
        assert "ValueError: xxx" in caught.value.message


def test_verdicts_that_come_one_by_one_come_beside_the_loop():
    """What a judge does between its verdicts is done in its thread as well."""
    here, seen = threading.get_ident(), []

    class Yielding:
        name, version = "yielding", "1"

        def judge(self, _prompt, candidates):
            for text in candidates:
                seen.append(threading.get_ident())
                yield Score(len(text))

    assert judged(Yielding(), ["a", "bb"]).verdicts == (Score(1), Score(2))
    assert here not in seen


@pytest.mark.parametrize("verdicts", [[Score(1.0)], [Score(1.0)] * 3, [1.0, 2.0], 5, None], ids=str)
def test_a_judge_that_breaks_its_contract_is_named(verdicts):
    """Too few verdicts, too many, or something else: `JudgeError` with the judge's name, nothing made up."""

    class Broken:
        name, version = "broken", "1"

        def judge(self, _prompt, _candidates):
            return verdicts

    with pytest.raises(JudgeError, match="'broken'"):
        judged(Broken(), ["a", "b"])


def test_a_conclusion_that_breaks_the_contract_is_named():
    """A judge that asks and concludes too few verdicts is named as well; its answers were paid and are kept."""
    with pytest.raises(JudgeError, match="'backwards' returned 1 verdicts for 2"):
        judged(Backwards([Score(1.0)]), ["a", "b"])


def test_what_asks_a_model_is_told_from_what_does_not():
    """A wrapper asks a model if the judge inside does."""
    asking, local = Pointwise("openai/m"), FunctionJudge(lambda _prompt, text: len(text))
    for judge in (asking, Resampled(asking), Quantized(Resampled(Pairwise("openai/m"))), Backwards()):
        assert is_asking(judge)
    for judge in (local, Resampled(local), Quantized(Resampled(local)), ScriptedJudge({})):
        assert not is_asking(judge)


def test_a_judge_is_never_asked_about_texts_of_no_pool():
    """Telling whether a judge asks a model asks it nothing: its questions may be of the caller's texts only."""
    seen = []

    class Curious(Backwards):
        def asks(self, prompt, candidates):
            seen.append((prompt, *candidates))
            return super().asks(prompt, candidates)

    judged(Curious([Score(1.0)] * 2), ["a", "b"])
    judged(Resampled(Curious([Score(1.0)] * 2), draws=2), ["a", "b"])
    assert expected_answers([pool(0)], [Curious()]) == 1
    assert seen == [("Why?", "a", "b")] * 2


def test_a_wrapper_may_have_no_model_to_ask():
    """A judge of anybody's that says so is called, and its questions are never asked for."""

    class Outer(Backwards):
        asking = False

        def asks(self, _prompt, _candidates):
            raise AssertionError

        def judge(self, _prompt, candidates):
            return [Score(0.5) for _ in candidates]

    assert (
        judged(Outer(), ["a", "b"]).verdicts == judge_now(Outer(), "Why?", ["a", "b"]).verdicts == (Score(0.5),) * 2
    )
    assert expected_answers([pool(0)], [Outer()]) == 0


def failing(*_):
    """Fail as careless code does."""
    return {}["score\n"]


@pytest.mark.parametrize("method", ["asks", "conclude"])
def test_a_judge_whose_code_fails_is_named(method):
    """What careless code raises becomes one line with judge, method and exception; the exception is its cause."""
    judge = type("Careless", (Backwards,), {method: failing})()
    with pytest.raises(JudgeError, match=rf"^judge 'backwards' failed in {method}\(\): KeyError: .*score") as caught:
        judged(judge, ["a", "b"])
    assert isinstance(caught.value.__cause__, KeyError)
    assert len(str(caught.value).splitlines()) == 1


def test_questions_that_come_one_by_one_may_fail_too():
    """Questions may be yielded; what is raised on the way is named all the same."""

    class Yielding(Backwards):
        def asks(self, prompt, candidates):
            yield from super().asks(prompt, candidates)
            failing()

    with pytest.raises(JudgeError, match="'backwards' failed in asks"):
        judged(Yielding(), ["a"])


def test_errors_made_for_users_pass_as_they_are():
    """A judge that raises an error of this package has said what is wrong."""

    class Strict(Backwards):
        def asks(self, _prompt, _candidates):
            raise UsageError("the rubric is empty", hint="fill it in")

    with pytest.raises(UsageError, match="the rubric is empty"):
        judged(Strict(), ["a"])


@pytest.mark.parametrize(("asks", "said"), [(lambda *_: None, "NoneType"), (lambda *_: ["Which?"], "str")])
def test_questions_are_asks(asks, said):
    """A judge that returns anything but questions is named."""
    with pytest.raises(JudgeError, match=f"'backwards' asks by {said}"):
        judged(type("Odd", (Backwards,), {"asks": asks})(), ["a"])


@pytest.mark.parametrize("preference", [Preference(0, 2, 1.0, None), (0, 1)], ids=repr)
def test_preferences_are_among_the_candidates(preference):
    """A conclusion that compares candidates there are not, or that holds anything else, names the judge."""

    class Beyond(Backwards):
        def conclude(self, _prompt, candidates, _answers):
            return Conclusion(tuple(Score(1.0) for _ in candidates), (preference,))

    with pytest.raises(JudgeError, match="'backwards' prefers among 2 candidates"):
        judged(Beyond(), ["a", "b"])
    with pytest.raises(JudgeError, match="'backwards' concluded list"):
        judged(type("Odd", (Backwards,), {"conclude": lambda *_: [Score(1.0)]})(), ["a"])


def test_the_answers_that_judges_will_want_are_counted():
    """For a progress line: candidates, or pairs in each order, times the draws, over all pools; local judges none."""
    pools = [pool(0, 2), pool(1, 2), pool(2, 4)]
    judges = [
        Pointwise("openai/m"),
        Pairwise("openai/m"),
        Resampled(Pairwise("openai/m", orders=1), draws=3),
        FunctionJudge(lambda _prompt, text: len(text)),
    ]
    assert expected_answers(pools, judges) == 8 + (2 + 2 + 12) + 3 * (1 + 1 + 6)


# Many pools.


async def pools_judged(pools, judges, engine, **settings):
    """Judge pools and return them as they come."""
    return [one async for one in judge_pools(pools, judges, engine, **settings)]


class Latencies(FakeTransport):
    """A transport whose answers take between 1 and 100 seconds, by the request."""

    def __init__(self, script):
        super().__init__(script)
        self.begun, self.ended = [], []

    async def handle_async_request(self, request):
        """Wait, then answer."""
        content = await request.aread()
        self.begun.append(content)
        await asyncio.sleep(1 + 99 * drawn_share(content))
        self.ended.append(content)
        return await super().handle_async_request(request)


def test_pools_come_in_input_order_whatever_finishes_first():
    """With latencies from 1 to 100 seconds the pools come in input order, each judge's verdicts at its place."""
    pools = [pool(number, 1 + number % 3) for number in range(30)]
    first = Pointwise("openai/m", base_url=URL)
    local = FunctionJudge(lambda prompt, text: len(prompt) + len(text))
    second = Pairwise("openai/m", base_url=URL)
    slow = Latencies(Script())

    async def main(transport):
        async with Engine(connection=Connection(transport=transport)) as engine:
            return await pools_judged(pools, [first, local, second], engine)

    found, straight = run_virtual(main(slow)), run_virtual(main(FakeTransport(Script())))
    assert [one.pool for one in found] == pools
    assert [[judgment.verdicts for judgment in one.judgments] for one in found] == [
        [judgment.verdicts for judgment in one.judgments] for one in straight
    ]
    assert all(len(judgment.verdicts) == len(one.pool.candidates) for one in found for judgment in one.judgments)
    assert slow.begun != slow.ended


def test_only_so_many_pools_are_under_way():
    """No more than ``at_once`` pools are begun before the first of them is handed over, and memory stays bounded."""
    begun, taken = [], []

    def endless():
        number = 0
        while True:
            begun.append(number)
            yield pool(number)
            number += 1

    async def main():
        async with over(Script(latency=1.0)) as engine:
            judge = Pointwise("openai/m", base_url=URL)
            running = judge_pools(endless(), [judge], engine, at_once=5)
            async for one in running:
                taken.append(one.pool.prompt_id)
                assert len(begun) - len(taken) < 5
                if len(taken) == 20:
                    break
            await running.aclose()
            # The calls of the pools that were given up may still land.
            assert all("CallAttempts" in repr(task) for task in asyncio.all_tasks() - {asyncio.current_task()})

    run_virtual(main())
    assert taken == [f"p{number}" for number in range(20)]


def test_one_at_once_is_one_after_the_other():
    """With ``at_once=1`` a pool is begun when the one before has been handed over."""
    script, judge = Script(latency=1.0), Pointwise("openai/m", base_url=URL)

    async def main():
        async with over(script) as engine:
            await pools_judged([pool(number) for number in range(5)], [judge], engine, at_once=1)

    run_virtual(main())
    assert script.counts.peak == 2


def test_an_error_of_a_judge_ends_the_pools_and_leaves_no_task():
    """A judge that breaks its contract at a pool raises there: what came before was handed over, nothing runs on."""
    judge = ScriptedJudge(lambda prompt, _text: None if prompt != "Question 3?" else object())
    came = []

    async def taken(engine):
        async for one in judge_pools([pool(number) for number in range(9)], [judge], engine):
            came.append(one.pool.prompt_id)  # noqa: PERF401 - what came before the error is what counts

    async def main():
        async with over(Script()) as engine:
            with pytest.raises(JudgeError):
                await taken(engine)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(main()) == set()
    assert came == ["p0", "p1", "p2"]


def test_no_pools_and_no_judges_are_no_error():
    """No pools give nothing; pools without a judge come back with no judgments."""

    async def main():
        async with over(Script()) as engine:
            return await pools_judged([], [Pointwise("openai/m")], engine), await pools_judged([pool(0)], [], engine)

    nothing, (only,) = asyncio.run(main())
    assert nothing == []
    assert only.judgments == ()


# From synchronous code.


def test_synchronous_code_judges_through_the_shared_engine():
    """`judge()` of a judge that asks works without a loop and inside of one, and says what the service said."""
    with ScriptedServer(Script(lambda _: '{"score": 60}')).in_thread() as server:
        judge = Pointwise("openai/m", base_url=f"{server.url}/v1")
        assert judge_now(judge, "Why?", ["a", "b"]).verdicts == (Score(0.6), Score(0.6))

        async def inside():
            return judge.judge("Why?", ["a"])

        assert asyncio.run(inside()) == (Score(0.6),)
        (one,) = judge_pools_now([pool(0)], [judge])
        assert one.judgments[0].verdicts == (Score(0.6), Score(0.6))


def test_synchronous_code_is_told_what_did_not_arrive():
    """Where an answer did not arrive, synchronous code gets an error with the reason, not a verdict."""
    with ScriptedServer(Script(keys={"right"})).in_thread() as server:
        judge = Pointwise("openai/m", base_url=f"{server.url}/v1")
        with pytest.raises(CallError, match="was not answered: "):
            judge_now(judge, "Why?", ["a", "b"])


@pytest.mark.parametrize(
    "judge",
    [Resampled(Pointwise("anthropic/m", base_url="http://scripted")), Pairwise("openai/m", base_url=URL)],
    ids=str,
)
def test_synchronous_code_is_told_where_only_a_part_arrived(monkeypatch, judge):
    """Half a comparison, or some of the draws, is not a verdict: synchronous code gets the error all the same."""
    portal = Portal(lambda: over(Script(), max_calls=1))
    monkeypatch.setattr("bonwise.calls.portal.default_portal", lambda: portal)
    with pytest.raises(CallError, match="was not answered: max_calls=1 is reached"):
        judge_now(judge, "Why?", ["a", "b"])
    portal.close()


def test_synchronous_code_awaits_an_asynchronous_judge():
    """A judge whose `judge` is asynchronous is awaited for synchronous code, also inside of a running loop."""

    async def slow(_prompt, text):
        await asyncio.sleep(0)
        return len(text)

    async def inside():
        return judge_now(FunctionJudge(slow), "Why?", ["a", "bb"])

    expected = (Score(1), Score(2))
    assert judge_now(FunctionJudge(slow), "Why?", ["a", "bb"]).verdicts == expected
    assert asyncio.run(inside()).verdicts == expected
