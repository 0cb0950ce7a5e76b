"""Many pools at once: judged and selected from, in any form, in their order, resumed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import CallError, JudgeError, UsageError
from bonwise.table.pools import Candidate, Pool
from bonwise.testing import FakeTransport
from cli.commands import typed
from cli.served import without_keys
from selection.services import JUDGE, by_worth
from selection.sources import as_file, produced

# ``bw.judge`` and ``bw.ajudge``: pools in any form, runs that resume, limits, ends from outside, tables.


POOLS = [(f"prompt {at}", [f"worth {at + 1}", f"worth {at + 11}"]) for at in range(6)]


def scores(found):
    """Return the scores of the first judge, pool by pool."""
    return [[getattr(verdict, "value", None) for verdict in one.judgments[0].verdicts] for one in found]


def judged(script, pools=POOLS, judge=JUDGE, **settings):
    """Judge pools by a scripted service."""
    return bw.judge(pools, judge=judge, connection=Connection(transport=FakeTransport(script)), **settings)


async def awaited(script, pools=POOLS, judge=JUDGE, **settings):
    """Judge pools by a scripted service, in the running loop."""
    return await bw.ajudge(pools, judge=judge, connection=Connection(transport=FakeTransport(script)), **settings)


def length(_prompt, text):
    """Judge at once."""
    return len(text)


async def slowly(_prompt, text):
    """Judge asynchronously."""
    await asyncio.sleep(0.001)
    return len(text)


FORMS = {
    "pairs": POOLS,
    "mappings": [{"prompt": prompt, "candidates": texts} for prompt, texts in POOLS],
    "pools": [
        Pool(str(at), prompt, tuple(Candidate(f"c{n}", text) for n, text in enumerate(texts)))
        for at, (prompt, texts) in enumerate(POOLS)
    ],
    "a generator": "generator",
    "a file": "file",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("judge", [JUDGE, length, slowly], ids=["model", "function", "asynchronous"])
def test_pools_of_any_form_give_the_same(form, judge, tmp_path):
    """A file, pairs, mappings and pools come to the same rows, in both doors, in the order of the pools."""

    def given():
        if form == "file" or FORMS[form] == "file":
            return as_file(tmp_path, POOLS)
        return iter(POOLS) if FORMS[form] == "generator" else FORMS[form]

    here, there = judged(by_worth(), given(), judge), asyncio.run(awaited(by_worth(), given(), judge))
    expected = judged(by_worth(), POOLS, judge)
    assert here.to_csv() == there.to_csv() == expected.to_csv()
    assert [one.pool.prompt_id for one in here] == [str(at) for at in range(6)]


def test_pools_come_from_an_asynchronous_iterable():
    """`ajudge` takes pools as they come."""
    assert scores(asyncio.run(awaited(by_worth(), produced(POOLS)))) == scores(judged(by_worth()))


def test_it_waits_inside_a_running_loop():
    """The synchronous door works inside a running loop and a notebook too."""

    async def main():
        return judged(by_worth())

    assert scores(asyncio.run(main())) == scores(judged(by_worth()))


def test_a_run_resumes_and_is_not_paid_twice(tmp_path):
    """What a limit left out is pending with its reason; the same call asks for that alone, and then for nothing."""
    script = by_worth()
    cut = judged(script, run=tmp_path / "run", max_calls=5)
    assert cut.pending == {"max_calls=5 is reached": 7}
    assert (cut.bill.calls, script.counts.paid.total()) == (5, 5)
    whole = judged(script, run=tmp_path / "run")
    assert (whole.pending, whole.bill.calls, whole.bill.from_ledger) == ({}, 7, 5)
    again = judged(script, run=tmp_path / "run", offline=True)
    assert (again.to_csv(), again.bill.calls) == (whole.to_csv(), 0)
    assert again.run == tmp_path / "run"


@pytest.mark.parametrize("generator", [False, True], ids=["a list", "a generator"])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["judge", "ajudge"])
def test_a_missing_key_ends_before_anything_is_kept(tmp_path, monkeypatch, generator, asynchronous):
    """Also that of one of several judges; what is stored, or stopped beforehand, needs none."""

    def called(run, pools=POOLS, judge=JUDGE, **settings):
        pools = iter(pools) if generator else pools
        if asynchronous:
            return asyncio.run(awaited(script, pools, judge, run=run, **settings))
        return judged(script, pools, judge, run=run, **settings)

    script = by_worth()
    called(tmp_path / "kept")
    paid = script.counts.paid.total()
    without_keys(monkeypatch)
    for judge in (JUDGE, [length, JUDGE]):
        with pytest.raises(CallError, match="no key for openai") as caught:
            called(tmp_path / "new", judge=judge)
        assert caught.value.hint == "set OPENAI_API_KEY"
    assert not (tmp_path / "new").exists()
    assert scores(called(tmp_path / "kept")) == [[(at + 1) / 100, (at + 11) / 100] for at in range(6)]
    with pytest.raises(CallError, match="no key for openai"):
        called(tmp_path / "kept", [*POOLS, ("new", ["worth 1", "worth 2"])])
    stop = bw.Stop()
    stop.request()
    assert set(called(None, stop=stop).pending) == {"interrupted"}
    assert script.counts.paid.total() == paid


def test_the_command_writes_the_same_and_shares_the_ledger(tmp_path, monkeypatch, capsys):
    """``bonwise judge`` on the run folder of `bw.judge` asks for nothing and writes what `to_csv` returns."""
    monkeypatch.chdir(tmp_path)
    as_file(tmp_path, POOLS)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://scripted/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    found = judged(by_worth(), tmp_path / "pools.jsonl", bw.Pointwise("openai/m"), run="bonwise-run")
    done = typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "scores.csv")
    assert (done.code, "0 calls sent, 12 answers from the ledger" in done.err) == (0, True)
    assert Path("scores.csv").read_text("utf-8") == found.to_csv()


def test_several_judges_and_their_pairs():
    """Each judge has a judgment per pool; comparisons are a table of their own."""
    found = judged(by_worth(), POOLS[:2], [JUDGE, length, bw.Pairwise("openai/m", base_url="http://scripted/v1")])
    assert [len(one.judgments) for one in found] == [3, 3]
    header, *rows = found.pairs_to_csv().splitlines()
    assert header.startswith("prompt_id,judge,a,b,")
    assert [row.split(",")[1] for row in rows] == ["pairwise:openai/m"] * 2
    assert len(found.to_csv().splitlines()) == 1 + 2 * 2 * 3


def test_what_it_found_is_told():
    """Length, text and counts say what happened; a candidate without words is unscored."""
    found = judged(by_worth(), [("p", ["worth 1", "worth 2", ""]), ("q", ["worth 3", "worth 4"])])
    assert (len(found), repr(found)) == (2, "<JudgedPools: 2 pools, 5 candidates, 1 judge>")
    assert str(found).splitlines() == [
        "2 pools, 5 candidates, 1 judge, 4 calls, 0 answers from the ledger",
        "pointwise:openai/m: 4 scored, 1 unscored, 0 pending",
        "unscored (1): empty answer",
    ]
    assert (found.unscored, found.pending, found.verdicts) == ({"empty answer": 1}, {}, 5)
    assert [one.pool.prompt for one in found] == ["p", "q"]
    assert bw.judge(POOLS, judge=length).cost == 0.0


def test_files_are_written(tmp_path):
    """`to_csv` returns what it writes."""
    found = bw.judge(POOLS, judge=length)
    assert found.to_csv(tmp_path / "a.csv") == (tmp_path / "a.csv").read_text("utf-8") == found.to_csv()


BAD = {
    "no pools": (7, length, "pools is a int"),
    "no pool": ([("p", ["a"]), 7], length, "pool 1"),
    "no judge": ([("p", ["a"])], [], "no judge"),
    "two of a name": ([("p", ["a"])], [length, length], "two judges are named"),
    "two ids": ([{"prompt_id": "x", "prompt": "p", "candidates": ["a"]}] * 2, length, "both have the prompt_id 'x'"),
    "what is no judge": ([("p", ["a"])], 7, "judge"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_means_nothing_is_refused_before_anything_is_paid(name):
    """The error says what, and which pool."""
    pools, judge, says = BAD[name]
    with pytest.raises((UsageError, JudgeError), match=says):
        bw.judge(pools, judge=judge)
    with pytest.raises((UsageError, JudgeError), match=says):
        asyncio.run(bw.ajudge(pools, judge=judge))


def test_a_pool_that_is_none_costs_nothing_even_as_the_last():
    """A list is looked through before the first call."""
    script = by_worth()
    with pytest.raises(UsageError, match="pool 6"):
        judged(script, [*POOLS, 7])
    assert script.counts.requests == 0


def test_a_generator_that_fails_is_raised_after_what_came_before():
    """What the source raises is raised, and what was asked before is kept."""

    def source():
        yield from POOLS[:3]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        judged(by_worth(), source())


def test_the_pools_of_a_caller_are_read_in_the_callers_thread():
    """A generator that belongs to a thread, such as a cursor of a database, stays there."""
    threads = set()

    def source():
        for pool in POOLS:
            threads.add(threading.get_ident())
            yield pool

    judged(by_worth(), source())
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_progress_is_told(asynchronous):
    """It begins with nothing done, never goes back, and ends with everything; the total is known for a list."""
    seen = []
    if asynchronous:
        asyncio.run(awaited(by_worth(), progress=seen.append))
    else:
        judged(by_worth(), progress=seen.append)
    assert (seen[0].done, seen[-1].done, seen[-1].total, seen[-1].what) == (0, 12, 12, "answers")
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert seen[-1].from_ledger == 0


def test_progress_of_functions_counts_pools():
    """Where no model is asked pools are counted; of a generator nobody knows how many."""
    seen = []
    bw.judge(POOLS, judge=length, progress=seen.append)
    assert (seen[-1].what, seen[-1].done, seen[-1].total) == ("pools", 6, 6)
    bw.judge(iter(POOLS), judge=length, progress=seen.append)
    assert (seen[-1].done, seen[-1].total) == (6, None)


def test_a_stop_ends_a_run_and_the_next_one_goes_on(tmp_path):
    """After a stop nothing new is sent; what is missing is pending, and the same call asks for the rest."""
    stop, script = bw.Stop(), by_worth()
    script.on_paid = lambda _request: stop.request() if stop.requests == 0 else None
    cut = judged(script, run=tmp_path, stop=stop, max_concurrency=1)
    assert set(cut.pending) == {"interrupted"}
    assert len(cut) == 6
    paid = script.counts.paid.total()
    assert 0 < paid < 12
    whole = judged(script, run=tmp_path)
    assert (whole.pending, script.counts.paid.total()) == ({}, 12)


def test_two_requests_leave_at_once():
    """The second request cancels the run, also where a judge hangs."""
    stop, begun = bw.Stop(), threading.Event()

    async def hangs(_prompt, _text):
        begun.set()
        await asyncio.sleep(3600)

    def ask_for_the_end():
        begun.wait(60)
        stop.request()
        stop.request()

    asker = threading.Thread(target=ask_for_the_end)
    asker.start()
    with pytest.raises((asyncio.CancelledError, concurrent.futures.CancelledError)):
        bw.judge(POOLS, judge=hangs, stop=stop)
    asker.join()


def test_a_judge_that_breaks_its_contract_ends_the_run():
    """The error is the judge's, in both doors."""

    def broken(_prompt, _text):
        raise ValueError("no model file")

    with pytest.raises(JudgeError, match="no model file"):
        bw.judge(POOLS, judge=broken)
    with pytest.raises(JudgeError, match="no model file"):
        asyncio.run(bw.ajudge(POOLS, judge=broken))


@pytest.mark.parametrize("prompt_id", [b"p", ["p"], {"p": 1}, ("p",)])
def test_an_id_that_is_no_text_is_refused(prompt_id):
    """Bytes, lists and objects are nobody's identifier, in a mapping as in a pool."""
    for pool in ({"prompt_id": prompt_id, "prompt": "q", "candidates": ["a", "b"]}, Pool(prompt_id, "q", ())):
        with pytest.raises(UsageError, match=r"pool 0 .*neither text nor a number"):
            bw.judge([pool], judge=lambda _prompt, text: len(text) / 10)


# ``bw.select_many`` and ``bw.aselect_many``: picks in the order of the pools.


POOLS_OF_SELECT_MANY = [(f"prompt {at}", [f"worth {at + 1}", f"worth {50 - at}"]) for at in range(8)]


def settings(script):
    """Return the settings that ask a script."""
    return {"judge": JUDGE, "connection": Connection(transport=FakeTransport(script))}


async def gathered(pools, **given):
    """Return the picks of the asynchronous door."""
    return [pick async for pick in bw.aselect_many(pools, **given)]


def test_both_doors_pick_in_order(tmp_path):
    """Lists, generators, files and asynchronous iterables give the same picks, in the order of the pools."""
    path = as_file(tmp_path, POOLS_OF_SELECT_MANY)
    found = [
        list(bw.select_many(POOLS_OF_SELECT_MANY, **settings(by_worth()))),
        list(bw.select_many(iter(POOLS_OF_SELECT_MANY), **settings(by_worth()))),
        list(bw.select_many(path, **settings(by_worth()))),
        asyncio.run(gathered(POOLS_OF_SELECT_MANY, **settings(by_worth()))),
        asyncio.run(gathered(iter(POOLS_OF_SELECT_MANY), **settings(by_worth()))),
        asyncio.run(gathered(str(path), **settings(by_worth()))),
        asyncio.run(gathered(produced(POOLS_OF_SELECT_MANY), **settings(by_worth()))),
    ]
    assert all([pick.best_id for pick in one] == [pick.best_id for pick in found[0]] for one in found)
    assert [pick.prompt_id for pick in found[0]] == [str(at) for at in range(8)]


def test_picks_come_while_pools_are_read():
    """The first pick is there before the last pool has been read."""
    read = []

    def source():
        for at, pool in enumerate(POOLS_OF_SELECT_MANY * 50):
            read.append(at)
            yield pool

    picks = bw.select_many(source(), **settings(by_worth()), max_concurrency=2)
    next(picks)
    assert len(read) < 400
    picks.close()


def test_a_run_folder_resumes(tmp_path):
    """With a ledger a second run pays nothing."""
    script = by_worth()
    first = list(bw.select_many(POOLS_OF_SELECT_MANY, **settings(script), ledger=tmp_path))
    paid = script.counts.paid.total()
    again = list(bw.select_many(POOLS_OF_SELECT_MANY, **settings(script), ledger=tmp_path, offline=True))
    assert [pick.best for pick in again] == [pick.best for pick in first]
    assert script.counts.paid.total() == paid


def test_what_is_no_source_is_refused():
    """Neither a path nor an iterable."""
    with pytest.raises(UsageError, match="pools is a int"):
        list(bw.select_many(7, judge=lambda _prompt, text: len(text)))
