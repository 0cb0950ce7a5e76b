from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

import bonwise as bw
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import CallError, UsageError
from bonwise.selection.front import aselect, select
from bonwise.selection.selector import Selector
from bonwise.table.pools import Candidate, Pool
from bonwise.testing import FakeTransport, Script, ScriptedServer
from calls.virtual_time import run_virtual
from selection.services import JUDGE, POOL, asking, by_worth, worth


async def slow(_prompt, text):
    """Judge asynchronously."""
    await asyncio.sleep(0.01)
    return len(text)


def quick(_prompt, text):
    """Judge at once."""
    return len(text)


JUDGES = pytest.mark.parametrize("judge", [JUDGE, slow, quick], ids=["model", "asynchronous", "function"])


def served(judge, **settings):
    """Return a selector with a scripted service behind it."""
    return asking(by_worth(), judge, **settings)


@JUDGES
def test_it_selects_from_synchronous_code(judge):
    """A selector picks again and again, and closes what it opened."""
    with served(judge) as selector:
        first = selector.select("p", ["worth 1", "worth 22"])
        again = selector.select("p", ["worth 1", "worth 22"])
    assert first == again
    assert first.best_id == "c1"


@JUDGES
def test_it_selects_from_asynchronous_code(judge):
    """The same, awaited; nothing of it is left when it is closed."""

    async def main():
        async with served(judge) as selector:
            found = await asyncio.gather(*(selector.aselect(f"p{at}", ["worth 1", "worth 22"]) for at in range(5)))
        return found, asyncio.all_tasks() - {asyncio.current_task()}

    found, left = asyncio.run(main())
    assert {one.best_id for one in found} == {"c1"}
    assert left == set()


@JUDGES
def test_it_selects_synchronously_inside_a_running_loop(judge):
    """In a notebook, `select` waits beside the loop that runs there."""

    async def main():
        with served(judge) as selector:
            return selector.select("p", ["worth 1", "worth 22"])

    assert asyncio.run(main()).best_id == "c1"


def test_a_notebook_may_mix_both_doors():
    """In the loop in which the selector works `select` works beside it; only `close` would wait for that loop."""

    async def main():
        async with asking(by_worth()) as selector:
            awaited = await selector.aselect("p", POOL)
            waited = selector.select("p", POOL)
            assert next(selector.select_many([("p", POOL)])).best_id == "c1"
            with pytest.raises(UsageError, match="event loop it stands in") as caught:
                selector.close()
            assert "await aclose" in caught.value.hint
            assert await selector.aselect("p", POOL) == awaited == waited

    asyncio.run(main())


def run_in_threads(count, work):
    """Call ``work(number)`` in each thread at once; return what came of it within a minute."""
    with ThreadPoolExecutor(count) as workers:
        return [one.result(60) for one in [workers.submit(work, number) for number in range(count)]]


def attempted(selector, pools, *, asynchronous):
    """Pick from pools at once, or one after the other, until the limit; return those that were picked."""

    async def all_at_once():
        found = await asyncio.gather(*(selector.aselect(*pool) for pool in pools), return_exceptions=True)
        assert all(isinstance(one, CallError | bw.Selection) for one in found), found
        return [one for one in found if isinstance(one, bw.Selection)]

    if asynchronous:
        return asyncio.run(all_at_once())
    picks = []
    for pool in pools:
        with suppress(CallError):
            picks.append(selector.select(*pool))
    return picks


def test_a_limit_holds_across_threads_and_loops():
    """Eight threads, half of them with a loop of their own, share a limit of 50 calls: not one more is sent."""
    script = by_worth(latency=0.002)
    selector = asking(script, max_calls=50)

    def work(number):
        pools = [(f"p{number} {at}", POOL) for at in range(10)]
        return attempted(selector, pools, asynchronous=number % 2 == 0)

    picks = [pick for some in run_in_threads(8, work) for pick in some]
    assert script.counts.requests == 50
    assert {pick.best_id for pick in picks} == {"c1"}
    assert 50 // len(POOL) - 16 <= len(picks) <= 50 // len(POOL)
    selector.close()


def test_a_limit_holds_over_many_loops_one_after_the_other():
    """One selector serves `asyncio.run` again and again, as a trainer calls it, and its limit counts all of them."""
    script = by_worth()
    selector = asking(script, max_calls=5 * len(POOL))
    for step in range(5):
        assert asyncio.run(selector.aselect(f"p{step}", POOL)).best_id == "c1"
    with pytest.raises(CallError, match="max_calls"):
        asyncio.run(selector.aselect("p5", POOL))
    with pytest.raises(CallError, match="max_calls"):
        selector.select("p6", POOL)
    assert script.counts.requests == 5 * len(POOL)
    selector.close()


def test_a_second_loop_does_not_depend_on_the_first():
    """A thread that selects while another thread's loop does gets its pick, though that loop ends before."""
    script = by_worth(latency=0.2)
    selector = asking(script)
    begun = threading.Event()

    async def first():
        task = asyncio.create_task(selector.aselect("p0", POOL))
        await asyncio.sleep(0.05)
        begun.set()
        await asyncio.sleep(0.1)
        task.cancel()

    async def second():
        await asyncio.to_thread(begun.wait, 10)
        return await asyncio.wait_for(selector.aselect("p1", POOL), 20)

    def work(number):
        if number == 0:
            return asyncio.run(first())
        return asyncio.run(second()) if number == 1 else begun.wait(10) and selector.select("p2", POOL)

    found = run_in_threads(3, work)
    assert [pick.best_id for pick in found[1:]] == ["c1", "c1"]
    selector.close()


@pytest.mark.parametrize("first", ["thread", "loop"])
def test_threads_and_loops_share_a_selector(first):
    """Several threads and event loops use one selector at once, whichever of them came first; answers are shared."""
    script = by_worth()
    selector = asking(script)

    def synchronous(at):
        return [selector.select(f"p{at % 3}", POOL) for at in range(at, at + 4)]

    def asynchronous(at):
        async def main():
            return await asyncio.gather(*(selector.aselect(f"p{at % 3}", POOL) for at in range(at, at + 4)))

        return asyncio.run(main())

    async def everyone():
        if first == "loop":
            await selector.aselect("p0", POOL)
        with ThreadPoolExecutor(6) as workers:
            loop = asyncio.get_running_loop()
            works = [synchronous, asynchronous] * 3
            many = [loop.run_in_executor(workers, work, at) for at, work in enumerate(works)]
            here = [selector.aselect(f"p{at % 3}", POOL) for at in range(4)]
            found = await asyncio.gather(*many, *here)
        await selector.aclose()
        return found

    if first == "thread":
        selector.select("p0", POOL)
    found = asyncio.run(everyone())
    picks = [one for some in found[:6] for one in some] + found[6:]
    assert len(picks) == 28
    assert {one.best_id for one in picks} == {"c1"}


def test_a_thousand_selections_at_once():
    """One loop carries a thousand selections, with no more calls in flight than it may, and leaves nothing."""
    script = by_worth(latency=1.0)

    async def main():
        async with asking(script, max_concurrency=500) as selector:
            pools = [[f"{at} worth {value}" for value in (10, 20 + at % 50)] for at in range(1000)]
            found = await asyncio.gather(*(selector.aselect("p", pool) for pool in pools))
        return found, asyncio.all_tasks() - {asyncio.current_task()}

    found, left = run_virtual(main())
    assert [one.best_id for one in found] == ["c1"] * 1000
    assert script.counts.requests == 2000
    assert script.counts.peak <= 500
    assert left == set()


POOLS = [
    ("p", ["worth 1", "worth 2"]),
    {"prompt": "p", "candidates": ["worth 3", "worth 2"], "prompt_id": 7},
    {"prompt": "p", "candidates": ["worth 3", "worth 5"]},
    Pool("named", "p", (Candidate("a", "worth 3"), Candidate("b", "worth 9"))),
]
WINNERS = {"0": "worth 2", "7": "worth 3", "2": "worth 5", "named": "worth 9"}


@JUDGES
def test_many_pools_of_any_form(judge):
    """Pairs, mappings and pools are all picked; one without an id is named by its position."""
    with served(judge) as selector:
        found = list(selector.select_many(iter(POOLS)))
        assert {one.prompt_id for one in found} == set(WINNERS)
        if judge is JUDGE:
            assert {one.prompt_id: one.text for one in found} == WINNERS


@pytest.mark.parametrize("form", ["sync", "async"])
def test_many_pools_come_as_they_are_ready(form):
    """Picks come in the order of completion, with no more pools under way than allowed, and one from each pool."""
    waits = {"p0": 0.5, "p1": 0.1, "p2": 0.3, "p3": 0.1}
    under_way, peak = [], []

    async def judge(prompt, text):
        under_way.append(prompt)
        peak.append(len(set(under_way)))
        await asyncio.sleep(waits[prompt])
        under_way.remove(prompt)
        return len(text)

    pools = [(name, ["a", "bb"]) for name in waits]
    if form == "async":

        async def main():
            async with Selector(judge, max_concurrency=2) as selector:
                return [one.prompt_id async for one in selector.aselect_many(pools)]

        order = run_virtual(main())
    else:
        with Selector(judge, max_concurrency=2, deadline=60) as selector:
            order = [one.prompt_id for one in selector.select_many(pools)]
    assert order[0] == "1"
    assert sorted(order) == ["0", "1", "2", "3"]
    assert max(peak) == 2


def test_pools_are_taken_only_when_there_is_room():
    """A long stream of pools is read no further than `max_concurrency` ahead of what was yielded."""
    taken = []

    def pools():
        for at in range(20):
            taken.append(at)
            yield "p", [f"worth {at}", "worth 99"]

    with asking(by_worth(), max_concurrency=3) as selector:
        many = selector.select_many(pools())
        for seen in range(1, 6):
            next(many)
            assert len(taken) <= seen + 3
        many.close()


def test_a_closed_generator_cancels_what_is_under_way():
    """Who stops listening stops the work: no task is left, and the rest is not begun."""
    begun, ended = [], []

    async def judge(prompt, text):
        begun.append(prompt)
        try:
            await asyncio.sleep(0.1 if prompt == "p0" else 1000)
        except asyncio.CancelledError:
            ended.append(prompt)
            raise
        return len(text)

    async def main():
        async with Selector(judge, max_concurrency=3) as selector:
            many = selector.aselect_many((f"p{at}", ["a", "bb"]) for at in range(9))
            first = await anext(many)
            await many.aclose()
            left = asyncio.all_tasks() - {asyncio.current_task()}
        return first, left

    first, left = run_virtual(main())
    assert (first.prompt_id, left) == ("0", set())
    assert set(begun) == {"p0", "p1", "p2"}
    assert set(ended) == {"p1", "p2"}


def test_a_closed_generator_cancels_what_is_under_way_in_threads_too():
    """The same from synchronous code; the selector closes at once."""
    script = Script(worth)

    async def judge(prompt, text):
        await asyncio.sleep(0 if prompt == "p0" else 1000)
        return len(text)

    with asking(script, judge, max_concurrency=3, deadline=2000.0) as selector:
        many = selector.select_many((f"p{at}", ["a", "bb"]) for at in range(9))
        assert next(many).prompt_id == "0"
        many.close()
    gc.collect()


def test_a_failure_ends_many_pools():
    """With `raise` the first failure ends it all; with `owe` it costs one pick."""

    def pools():
        return [(f"p{at}", ["worth 1", "worth 2"]) for at in range(6)]

    def half(request):
        return "no" if "p1" in request.user else worth(request)

    with asking(Script(half), max_calls=5, on_failure="owe") as selector:
        found = list(selector.select_many(pools()))
    assert len(found) == 6
    assert sum(one.decided_by == "owed" for one in found) >= 3
    with asking(by_worth(), max_calls=5) as selector, pytest.raises(CallError, match="max_calls=5"):
        list(selector.select_many(pools()))


@pytest.mark.parametrize("bad", [3, "p", ("p",), {"prompt": "p"}, None], ids=repr)
def test_what_is_no_pool_is_named_by_its_position(bad):
    """Something that is no pool is a usage error that says which."""
    with asking(by_worth()) as selector, pytest.raises(UsageError, match="pool 1 is a"):
        list(selector.select_many([("p", POOL), bad]))


def test_a_closed_selector_says_so():
    """After closing, nothing is selected, by whatever door; closing twice does no harm."""
    selector = asking(by_worth())
    selector.select("p", POOL)
    selector.close()
    selector.close()

    async def many():
        return [one async for one in selector.aselect_many([("p", POOL)])]

    for call in (
        lambda: selector.select("p", POOL),
        lambda: list(selector.select_many([("p", POOL)])),
        lambda: asyncio.run(selector.aselect("p", POOL)),
        lambda: asyncio.run(many()),
    ):
        with pytest.raises(UsageError, match="the selector is closed"):
            call()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_selection_that_is_cut_off_by_closing_says_so(asynchronous):
    """Who still waits when a selector is closed in another thread gets an error, and waits no longer."""
    begun = threading.Event()

    async def judge(_prompt, text):
        begun.set()
        await asyncio.sleep(1000)
        return len(text)

    selector = asking(by_worth(), judge, deadline=2000.0)
    selector.select("p", ["one"])
    with ThreadPoolExecutor(1) as worker:
        if asynchronous:
            waiting = worker.submit(lambda: asyncio.run(selector.aselect("p", POOL)))
        else:
            waiting = worker.submit(selector.select, "p", POOL)
        assert begun.wait(30)
        selector.close()
        with pytest.raises(UsageError, match="closed before"):
            waiting.result(30)


def test_a_selector_of_local_judges_closes_too():
    """Also a selector that never needed an event loop is closed when it is closed."""
    selector = Selector(quick)
    selector.close()
    for call in (lambda: selector.select("p", POOL), lambda: list(selector.select_many([("p", POOL)]))):
        with pytest.raises(UsageError, match="closed"):
            call()


def test_a_selector_outlives_an_event_loop(tmp_path):
    """A second `asyncio.run`, or a thread while the loop stands still, is served anew, from the same ledger."""
    script = by_worth()
    selector = asking(script, ledger=tmp_path / "run")
    picks = [
        asyncio.run(selector.aselect("p", POOL)),
        asyncio.run(selector.aselect("p", POOL)),
        selector.select("p", POOL),
    ]
    selector.close()
    assert {one.best_id for one in picks} == {"c1"}
    assert script.counts.requests == len(POOL)
    resting = asking(by_worth())
    with asyncio.Runner() as runner:
        runner.run(resting.aselect("p", POOL))
        assert resting.select("p", POOL).best_id == "c1"
        assert runner.run(resting.aselect("p", POOL)).best_id == "c1"
        runner.run(resting.aclose())


def test_a_function_that_asks_a_model_keeps_the_limits(tmp_path):
    """What a function asks in its turn is kept in the selector's ledger and counts against its limits."""
    inner = JUDGE

    def outer(prompt, text):
        (verdict,) = inner.judge(prompt, [text])
        return getattr(verdict, "value", None)

    script = by_worth()
    with asking(script, outer, ledger=tmp_path / "run", max_calls=2, on_failure="first") as selector:
        found = selector.select("p", POOL)
    assert found.decided_by == "limit"
    assert (found.calls, script.counts.requests) == (2, 2)
    assert "max_calls=2" in found.failure


def test_picks_come_while_the_producer_is_slow():
    """A pick is yielded as soon as it is there, also while the next pool is still to come."""

    async def pools():
        for at in range(4):
            yield f"p{at}", ["a", "bb"]
            await asyncio.sleep(10)

    async def main():
        loop = asyncio.get_running_loop()
        async with Selector(slow) as selector:
            return [(pick.prompt_id, loop.time()) async for pick in selector.aselect_many(pools())]

    seen = run_virtual(main())
    assert [name for name, _ in seen] == ["0", "1", "2", "3"]
    assert all(when < 10 * at + 1 for at, (_, when) in enumerate(seen))


def test_of_a_crowd_with_little_time_the_first_are_served():
    """Pools beyond `max_concurrency` wait in line while their time runs; those that had no turn are late."""

    async def main():
        async def judge(prompt, text):
            await asyncio.sleep(0.4)
            return len(text)

        async with Selector(judge, max_concurrency=10, deadline=1.0, on_failure="first") as selector:
            return await asyncio.gather(*(selector.aselect(f"p{at}", ["a", "bb"]) for at in range(50)))

    found = run_virtual(main())
    assert [one.decided_by for one in found] == ["score"] * 20 + ["first"] * 30


def test_ties_do_not_depend_on_where_a_pool_stands():
    """A pool without an id keeps its pick when another one is put before it."""
    pools = [(f"prompt {at}", ["a", "b"]) for at in range(40)]
    with Selector(lambda _prompt, _text: 1) as selector:
        first = [one.best for one in selector.select_many(pools)]
        later = [one.best for one in selector.select_many([("another", ["a", "b"]), *pools])]
        alone = [selector.select(*pool).best for pool in pools]
    assert first == later[1:] == alone


def test_a_cancelled_selection_leaves_nothing():
    """Cancelling leaves no task of its own, and after closing no task and no connection at all."""
    open_connections = []

    async def main():
        asked = asyncio.Semaphore(0)
        async with ScriptedServer(Script(latency=0.2, on_paid=lambda _request: asked.release())) as server:
            judge = bw.Pointwise("openai/m", base_url=f"{server.url}/v1")
            async with Selector(judge) as selector:
                task = asyncio.create_task(selector.aselect("p", POOL))
                for _ in POOL:
                    await asked.acquire()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                names = {one.get_coro().__qualname__ for one in asyncio.all_tasks()}
                assert not any("Selector" in name or "_judged" in name for name in names)
            for _ in range(100):
                open_connections.append(len(server._connections))
                if not open_connections[-1]:
                    break
                await asyncio.sleep(0.01)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(main()) == set()
    assert open_connections[-1] == 0
    gc.collect()


def test_closing_without_waiting_gives_up_what_is_on_the_wire():
    """`aclose(wait=False)` ends at once, while plain closing waits five seconds for the answer."""
    for wait, latency, seconds in ((True, 3.0, 3.0), (True, 100.0, 5.0), (False, 3.0, 0.0)):

        async def main(wait=wait, latency=latency):
            asked = asyncio.Event()
            selector = asking(by_worth(latency=latency, on_paid=lambda _request: asked.set()))
            task = asyncio.create_task(selector.aselect("p", POOL))
            await asked.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await selector.aclose(wait=wait)
            return asyncio.get_running_loop().time(), asyncio.all_tasks() - {asyncio.current_task()}

        assert run_virtual(main()) == (seconds, set())


@pytest.mark.parametrize("ledger", [None, "kept"])
def test_the_front_door_gives_up_with_its_caller(tmp_path, ledger):
    """Who waits for `aselect` for a moment waits no longer, however long the judge takes, and nothing is left."""
    folder = None if ledger is None else tmp_path / ledger

    async def main():
        asked = asyncio.Event()
        async with ScriptedServer(Script(latency=5.0, on_paid=lambda _request: asked.set())) as server:
            judge = bw.Pointwise("openai/m", base_url=f"{server.url}/v1")
            task = asyncio.create_task(aselect("p", POOL, judge=judge, ledger=folder))
            await asked.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return task.cancelled(), server.script.counts.delivered

    assert asyncio.run(main()) == (True, {})


def test_the_front_doors_agree():
    """`select` and `aselect` give the selection that a selector gives."""
    with ScriptedServer(by_worth()).in_thread() as server:
        judge = bw.Pointwise("openai/m", base_url=f"{server.url}/v1")
        found = [select("p", POOL, judge=judge), asyncio.run(aselect("p", POOL, judge=judge))]
        found.append(select("p", POOL, judge=judge, deadline=60))
        with Selector(judge) as selector:
            found.append(selector.select("p", POOL))
    assert found[0] == found[1] == found[3]
    assert found[2].scores == found[0].scores


def test_one_ledger_for_both_front_doors(tmp_path):
    """A run folder keeps the answers of one selection for the next."""
    with ScriptedServer(by_worth()).in_thread() as server:
        judge = bw.Pointwise("openai/m", base_url=f"{server.url}/v1")
        first = select("p", POOL, judge=judge, ledger=tmp_path)
        again = asyncio.run(aselect("p", POOL, judge=judge, ledger=tmp_path))
    assert first == again
    assert (first.calls, again.calls, again.bill.from_ledger) == (3, 0, 3)


@pytest.mark.parametrize(
    "settings",
    [
        {"deadline": 0},
        {"deadline": -1},
        {"deadline": float("nan")},
        {"deadline": True},
        {"on_failure": "ignore"},
        {"strategy": "greedy"},
        {"strategy": bw.Pairwise},
        {"max_concurrency": 0},
        {"max_concurrency": 1.5},
        {"max_concurrency": True},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings):
    """A setting that means nothing is a usage error when the selector is made, with how to mend it."""
    with pytest.raises(UsageError) as caught:
        Selector(quick, **settings)
    assert caught.value.hint


def test_a_judge_may_select_in_turn():
    """An asynchronous judge that awaits the same selector's loop does not wait for ever."""
    inner = Selector(JUDGE, connection=Connection(transport=FakeTransport(by_worth())))

    async def judge(prompt, text):
        return (await inner.aselect(prompt, [text, "worth 1"])).scores[0]

    async def main():
        async with inner, Selector(judge) as outer:
            return await outer.aselect("p", POOL)

    assert asyncio.run(main()).best_id == "c1"


def test_without_a_loop_of_asyncio_it_is_refused():
    """As under trio: one sentence, which names the synchronous function."""
    with Selector(lambda _prompt, text: len(text)) as selector:
        pending = selector.aselect("p", POOL)
        with pytest.raises(UsageError, match=r"need the event loop of asyncio.*call the synchronous one in a thread"):
            pending.send(None)


LOADING = """
import asyncio, sys
import bonwise as bw
model = bw.Pointwise("openai/m", base_url=sys.argv[1])

def loaded():
    return {name for name in sys.modules if name.partition(".")[0] in {"openai", "anthropic"}}

bw.Selector(lambda prompt, text: len(text), deadline=1.0)
bw.Selector(model, offline=True)
bw.Selector.for_one_run(model)
bw.Selector(bw.Pointwise("nobody/m"))
print(sorted(loaded() | {"bonwise.calls.engine"} & sys.modules.keys()))
strong = bw.Pointwise("anthropic/m", base_url=sys.argv[1])
bw.Selector(lambda prompt, text: len(text), router=bw.Router(strong, signal="margin", share=0.5))
print(*({"openai", "anthropic"} & loaded()))
selector = bw.Selector(model, deadline=60.0)
before = loaded()

async def first():
    async with selector:
        return (await selector.aselect("p", ["worth 1", "worth 2"])).decided_by

print(asyncio.run(first()), "openai" in before, sorted(loaded() - before))
"""


def test_what_asks_models_is_loaded_before_the_first_pick(monkeypatch):
    """A selector that asks a model loads its SDK when it is made: the first pick finds all of it there.

    One that asks none, or perhaps nothing, loads none; what is wrong with a judge is said when it is asked.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with ScriptedServer(by_worth()).in_thread() as server:
        command = [sys.executable, "-c", LOADING, f"{server.url}/v1"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "anthropic", "score True []"]
