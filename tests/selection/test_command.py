"""The command `bonwise select`: picks as they come, and what a failure leaves of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import types
from contextlib import ExitStack, contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import processes
from bonwise.cli import select as select_command
from bonwise.judges import registry as judges
from bonwise.judges.pool_loop import ThreadReader, Turns, work_on_many
from bonwise.selection import registry as strategies
from bonwise.selection.strategies.scores import Greedy
from bonwise.table.verdicts import Score
from bonwise.testing import Script, ScriptedServer
from calls.held_time import run_held
from calls.virtual_time import run_virtual
from cli.commands import pool_file, strict, typed
from cli.picked import decisions, picks
from cli.served import served, without_keys
from crash.runs import Trap

COMMAND = str(Path(sys.executable).with_name("bonwise"))
JUDGE = ("--judge", "pointwise:openai/m")


def pool(name, *texts):
    """Return the line of a pool."""
    return json.dumps({"prompt_id": name, "prompt": f"The prompt {name}", "candidates": texts}) + "\n"


def started(*arguments, **more):
    """Start the command that reads pools from a pipe."""
    return processes.started(
        [COMMAND, "select", "-", *arguments],
        stdin=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "BONWISE"))},
        **more,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def standard_input(folder, monkeypatch):
    """Return a function that makes some text the standard input."""
    with ExitStack() as opened:

        def put(text):
            Path("input").write_bytes(text if isinstance(text, bytes) else text.encode())
            monkeypatch.setattr(sys, "stdin", opened.enter_context(Path("input").open(encoding="utf-8")))

        yield put


def test_a_pick_leaves_before_the_next_pool_comes(folder):
    """Through a pipe each pick is out as soon as it is made, whether or not another pool ever follows."""
    running = started("--judge", "local:length")
    for name in ("p1", "p2"):
        running.stdin.write(pool(name, "a", "longer").encode())
        assert strict(running.stdout.readline())["prompt_id"] == name
    code, out, err = processes.ended(running)
    assert (code, out) == (0, "")
    assert "2 pools by local:length" in err


def test_no_pick_of_a_pipe_is_held_back(standard_input, monkeypatch, capsys):
    """Picks of a file may be written together; those of a pipe are written one by one, however fast they come."""
    written = []
    monkeypatch.setattr(select_command, "_WRITTEN_EVERY", 3600.0)
    monkeypatch.setattr(select_command.arguments, "emit", written.append)
    standard_input("".join(pool(f"p{at}", "a", "longer") for at in range(5)))
    assert typed(capsys, "select", "-", "--judge", "local:length").code == 0
    assert [text.count("\n") for text in written] == [1] * 5


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_a_run_that_waits_for_input_can_be_ended(folder, sent):
    """Told to end while it waits for a pool that never comes, the command ends at once, with its picks out."""
    running = started("--judge", "local:length")
    running.stdin.write(pool("p1", "a", "longer").encode())
    first = strict(running.stdout.readline())
    running.send_signal(sent)
    code = running.wait(timeout=processes.PATIENCE)
    _, out, err = processes.ended(running)
    assert (code, first["best"], out) == (130, "c1", "")
    assert "1 pool by local:length" in err
    assert "Traceback" not in err
    assert "Fatal" not in err


def test_an_interrupt_lets_the_pools_under_way_land(folder):
    """After a signal nothing new is begun; what is on the wire is paid, stored, and never paid again."""
    pools = pool_file("pools.jsonl", {f"p{x:03d}": [f"a{x}", f"b{x}"] for x in range(60)})
    script = Script(latency=0.02, on_paid=Trap())
    with ScriptedServer(script).in_thread() as server:
        command = [COMMAND, "select", pools, *JUDGE, "--base-url", f"{server.url}/v1", "--max-concurrency", "4"]
        with script.on_paid.being_set():
            running = processes.started(command)
            script.on_paid.set((30, 0.0, lambda: running.send_signal(signal.SIGINT)))
        code, out, err = processes.ended(running)
        paid = script.counts.paid.total()
        assert code == 130, err
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        assert script.counts.paid.total() == 120
        assert script.counts.paid_again == {}
    lines = [strict(line) for line in out.splitlines()]
    assert 30 <= paid < 120
    finished = [line for line in lines if line["decided_by"] != "owed"]
    assert finished
    whole = [strict(line) for line in again.stdout.splitlines()]
    assert [line["prompt_id"] for line in whole] == [f"p{x:03d}" for x in range(60)]
    assert [line["prompt_id"] for line in lines] == [line["prompt_id"] for line in whole[: len(lines)]]
    assert [line["best"] for line in finished] == [
        line["best"] for line in whole if line["prompt_id"] in {one["prompt_id"] for one in finished}
    ]


def test_a_pipe_and_a_file_give_the_same_picks(capsys, folder, standard_input, monkeypatch):
    """What is in a file may as well come through standard input."""
    text = "".join(pool(f"p{x}", f"one {x}", f"another {x}") for x in range(5))
    Path("pools.jsonl").write_text(text, encoding="utf-8")
    with served(monkeypatch, folder) as script:
        from_file = typed(capsys, "select", "pools.jsonl", *JUDGE)
        standard_input("\ufeff" + text.replace("\n", "\r\n"))
        from_pipe = typed(capsys, "select", "-", *JUDGE)
        assert script.counts.paid.total() == 10
    assert (from_file.code, from_pipe.code) == (0, 0)
    assert decisions(from_file) == decisions(from_pipe)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{bad\n", "standard input, row 4: not JSON"),
        ("[]\n", "standard input, row 4: not a JSON object"),
        (pool("p1", "a", "b"), "standard input, row 4: prompt_id 'p1' is in row 2 already"),
        (b"\xff\n", "standard input, row 4: not UTF-8"),
    ],
    ids=["no JSON", "no object", "twice", "no UTF-8"],
)
def test_a_bad_line_ends_a_stream_after_the_pools_before_it(capsys, folder, standard_input, monkeypatch, line, words):
    """The picks of the pools before a bad line are written and what they cost is said; the code is 2."""
    line = line if isinstance(line, bytes) else line.encode()
    before, after = "\n" + pool("p1", "a", "b") + pool("p2", "c", "d"), pool("p3", "e", "f")
    standard_input(before.encode() + line + after.encode())
    with served(monkeypatch, folder) as script:
        done = typed(capsys, "select", "-", *JUDGE)
        assert script.counts.paid.total() == 4
    assert done.code == 2
    assert [found["best"] is None for found in picks(done)] == [False, False]
    assert "4 calls sent" in done.err
    assert words in done.err.splitlines()[-1]


def test_a_bad_line_in_a_file_costs_nothing(capsys, folder, monkeypatch):
    """A file is read once before anything is asked, so that its last line can stop the run in time."""
    Path("pools.jsonl").write_text(pool("p1", "a", "b") + "{bad\n", encoding="utf-8")
    with served(monkeypatch, folder) as script:
        done = typed(capsys, "select", "pools.jsonl", *JUDGE)
        assert script.counts.requests == 0
    assert (done.code, done.out) == (2, "")
    assert "row 2" in done.err


def test_an_empty_stream_is_no_file_of_pools(capsys, standard_input):
    """Standard input without a pool is an error, as an empty file is."""
    standard_input("\n \n")
    done = typed(capsys, "select", "-", "--judge", "local:length")
    assert done.code == 2
    assert "standard input: no pools" in done.err


def test_a_stream_cannot_be_estimated(capsys, standard_input):
    """A dry run reads its pools more than once, which a pipe does not allow."""
    standard_input(pool("p1", "a", "b"))
    done = typed(capsys, "select", "-", "--judge", "local:length", "--dry-run")
    assert done.code == 2
    assert "file" in done.err


def test_memory_does_not_grow_with_the_file():
    """Of a stream of a thousand large items only those under way are held, while the slowest is at work."""
    size, at_once = 100_000, 8

    async def work(position, item):
        await asyncio.sleep(0.001 if position % 50 else 0.01)
        return len(item)

    async def main():
        source = ThreadReader(bytes(size) for _ in range(1000))
        return [found async for found in work_on_many(source, work, at_once=at_once, stop=asyncio.Event())]

    tracemalloc.start()
    try:
        assert asyncio.run(main()) == [size] * 1000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (at_once + 6) * size


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 5), st.data())
def test_results_leave_in_order_and_turns_are_taken_in_order(pauses, at_once, data):
    """Whatever workers take, fail to take a turn, or how many are at work, order holds and nothing waits for ever."""
    takes = data.draw(st.lists(st.booleans(), min_size=len(pauses), max_size=len(pauses)))
    turns, passed = Turns(), []
    under_way, most = 0, 0

    async def work(position, pause):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            await asyncio.sleep(pause)
            if takes[position]:
                await turns.wait(position)
                passed.append(position)
            await asyncio.sleep(9 - pause)
            return position
        finally:
            under_way -= 1
            turns.give_up(position)

    class Here:
        """The items, without a thread, whose time is not that of the loop."""

        def __init__(self):
            self.items = iter(pauses)

        async def next(self):
            """Return the next one."""
            return next(self.items, None)

        def close(self):
            """Do nothing."""

    async def main():
        return [found async for found in work_on_many(Here(), work, at_once=at_once, stop=asyncio.Event())]

    assert run_virtual(main()) == list(range(len(pauses)))
    assert passed == [position for position, take in enumerate(takes) if take]
    assert most <= at_once


def test_a_failed_worker_ends_the_row_after_those_before_it():
    """What a worker raises comes when its turn has come; the others are cancelled and the source is read no more."""
    cancelled, last_has_begun, never = [], asyncio.Event(), asyncio.Event()

    async def work(position, item):
        try:
            if position == 4:
                last_has_begun.set()
            await (last_has_begun if position < 3 else never).wait()
        except asyncio.CancelledError:
            cancelled.append(position)
            raise
        if position == 2:
            raise ValueError(item)
        return item

    async def main(found):
        async for one in work_on_many(ThreadReader(iter("abcdefgh")), work, at_once=5, stop=asyncio.Event()):
            found.append(one)

    found = []
    with pytest.raises(ValueError, match="c"):
        asyncio.run(main(found))
    assert found == ["a", "b"]
    assert {3, 4} <= set(cancelled)


def test_the_thread_that_reads_ends_with_the_run():
    """When the results are all there nothing keeps reading."""

    async def work(_, item):
        return item

    async def main():
        return [one async for one in work_on_many(ThreadReader(iter("abc")), work, at_once=2, stop=asyncio.Event())]

    assert asyncio.run(main()) == ["a", "b", "c"]
    until = time.monotonic() + processes.PATIENCE
    while any(thread.name == "bonwise-input" for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.01)


POOLS = {f"p{at}": [f"answer {at}.{one}" for one in range(3)] for at in range(6)}


@pytest.fixture
def folder_of_failures(tmp_path, monkeypatch):
    """Work in a folder with six pools of three."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    return tmp_path


class Flaky:
    """A judge that breaks at one prompt."""

    version = "1"

    def __init__(self, name):
        self.name = f"flaky:{name}"

    def judge(self, prompt, candidates):
        """Score by length."""
        if "p2" in prompt:
            raise ValueError("the model file is broken\nat all")
        return [Score(float(len(one))) for one in candidates]


class Broken:
    """A strategy whose contests fail in a method."""

    compares = False

    def __init__(self, method="next"):
        self.method, self.name = method, f"broken:method={method}"

    def contest(self, entrants):
        """Open one."""

        def fails(*_):
            raise KeyError("mine")

        contest = Greedy().contest(entrants)
        setattr(contest, self.method, fails)
        return contest

    def most_calls(self, _judge, _candidates):
        """Return none."""
        return 0


@pytest.fixture
def plugged(monkeypatch):
    """Install a judge and a strategy that fail."""
    module = types.ModuleType("bonwise_failures_of_a_test")
    module.flaky, module.broken = Flaky, Broken
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for registry, group, name in ((judges, "bonwise.judges", "flaky"), (strategies, "bonwise.strategies", "broken")):
        installed = [*entry_points(group=group), EntryPoint(name, f"{module.__name__}:{name}", group)]
        monkeypatch.setattr(registry, "entry_points", lambda *, group, mine=installed: mine if group else [])


def selected(capsys, *more):
    """Select from the pools."""
    return typed(capsys, "select", "pools.jsonl", *more)


@contextmanager
def late(monkeypatch, script, slow, seconds):
    """Let a script never answer what names one of some texts; whenever it is asked that, so much time passes."""
    receive, loops = script.receive, []

    def received(method, path, headers, content, now):
        delivery = receive(method, path, headers, content, now)
        if any(text.encode() in content for text in slow):
            delivery.delay = 3600.0
            loops[0].let_go(seconds)
        return delivery

    async def noting(work):
        loops.append(asyncio.get_running_loop())
        await work

    with monkeypatch.context() as patched:
        patched.setattr(script, "receive", received)
        patched.setattr("asyncio.run", lambda work: run_held(noting(work)))
        yield


WITHOUT_KEY = {
    "first": JUDGE,
    "strong": ("--judge", "local:length", "--strong", "pairwise:openai/m", "--route", "margin", "--share", "1"),
    "second": (
        *("--judge", "local:length", "--second", "pointwise:openai/m"),
        *("--strong", "local:format", "--route", "disagreement"),
    ),
    "tie-break": ("--judge", "local:length", "--strategy", "tie_break:of=pairwise:openai/m"),
}


@pytest.mark.parametrize("on_failure", ["owe", "first", "raise"])
@pytest.mark.parametrize("command", WITHOUT_KEY.values(), ids=WITHOUT_KEY)
def test_a_missing_key_ends_before_anything_is_written(capsys, folder_of_failures, monkeypatch, command, on_failure):
    """Whose key it is: one line with the variable to set, no pick, no page, no run folder."""
    with served(monkeypatch, folder_of_failures):
        monkeypatch.delenv("OPENAI_BASE_URL")
        done = selected(capsys, *command, "--on-failure", on_failure, "--html", "page.html")
    assert (done.code, done.out) == (2, "")
    assert done.err == "bonwise: no key for openai (set OPENAI_API_KEY)\n"
    assert not Path("bonwise-run").exists()
    assert not Path("page.html").exists()


@pytest.mark.parametrize("command", WITHOUT_KEY.values(), ids=WITHOUT_KEY)
def test_stored_answers_need_no_key(capsys, folder_of_failures, monkeypatch, command):
    """A run whose answers are all stored makes the same picks without a key; one that lacks some writes nothing."""
    with served(monkeypatch, folder_of_failures) as script:
        first = selected(capsys, *command)
        paid = script.counts.paid.total()
        without_keys(monkeypatch)
        again = selected(capsys, *command)
        pool_file("pools.jsonl", POOLS | {"new": ["a new answer", "an old story"]})
        more = selected(capsys, *command)
    assert paid == script.counts.paid.total() > 0
    assert (again.code, decisions(again)) == (first.code, decisions(first)) == (0, decisions(first))
    assert (more.code, more.out) == (2, "")
    assert more.err == "bonwise: no key for openai (set OPENAI_API_KEY)\n"


def test_a_pipe_without_a_key(capsys, folder, standard_input, monkeypatch):
    """Without a ledger nothing is written; with one what is stored is picked, and the end says what to set."""
    text = Path(pool_file("pools.jsonl", POOLS)).read_text(encoding="utf-8")
    with served(monkeypatch, folder):
        with monkeypatch.context() as patched:
            without_keys(patched)
            standard_input(text)
            refused = typed(capsys, "select", "-", *JUDGE)
        typed(capsys, "select", "pools.jsonl", *JUDGE)
        without_keys(monkeypatch)
        standard_input(text)
        stored = typed(capsys, "select", "-", *JUDGE)
        added = {"prompt_id": "new", "prompt": "Why?", "candidates": ["a new answer", "another"]}
        standard_input(text + json.dumps(added) + "\n")
        partly = typed(capsys, "select", "-", *JUDGE)
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert stored.code == 0
    assert (partly.code, picks(partly)[-1]["decided_by"]) == (2, "owed")
    words = "no key for openai: set OPENAI_API_KEY; the same command then asks for what is missing"
    assert partly.err.splitlines()[-1] == f"bonwise: {words}"


def test_a_deadline_is_that_of_a_pool(capsys, folder_of_failures, monkeypatch):
    """A pool without an answer in time is owed, one with some has the best of them; the same command continues."""
    command = (*JUDGE, "--max-concurrency", "1", "--deadline")
    with served(monkeypatch, folder_of_failures) as script:
        with late(monkeypatch, script, ["answer 1.", "answer 4.2"], 4.0):
            cut = selected(capsys, *command, "4")
        resumed = selected(capsys, *command, "3600")
        whole = selected(capsys, *command, "3600", "--run", "whole")
    lines = {line["prompt_id"]: line for line in picks(cut)}
    assert cut.code == 4, cut.err
    assert {name: line["decided_by"] for name, line in lines.items()} == {
        **dict.fromkeys(POOLS, "score"),
        "p1": "owed",
        "p4": "deadline",
    }
    assert (lines["p1"]["best"], lines["p1"]["failure"]) == (None, "no answer within 4 s")
    assert lines["p4"]["failure"] == "the time of 4 s was up before every answer was there"
    assert (lines["p4"]["best"] in {"c0", "c1"}, lines["p4"]["scores"][2]) == (True, None)
    assert [line["latency"] for line in lines.values()] == [0.0, 4.0, 0.0, 0.0, 4.0, 0.0]
    assert {line["settings"]["deadline"] for line in lines.values()} == {4.0}
    assert "WARNING: 1 picks are the best that was known when the time of --deadline was up" in cut.err
    assert "incomplete" in cut.err
    assert (resumed.code, decisions(resumed)) == (0, decisions(whole)), resumed.err


def test_the_help_says_whose_deadline_it_is(capsys):
    """Of `select` it is that of a pool, of `judge` that of a question."""
    for command, words in (("select", "Seconds for one pool"), ("judge", "Seconds for one question")):
        shown = " ".join(typed(capsys, command, "--help-all").out.replace("│", " ").split())
        assert words in shown


def test_a_judge_that_breaks_at_one_pool_costs_that_pool(capsys, folder_of_failures, plugged):
    """With `owe` the other pools are picked from and the command ends with 4; `first` picks; `raise` ends it."""
    owed = selected(capsys, "--judge", "flaky:x")
    assert owed.code == 4
    assert {line["prompt_id"]: line["decided_by"] for line in picks(owed) if line["decided_by"] == "owed"} == {
        "p2": "owed"
    }
    assert len(picks(owed)) == len(POOLS)
    assert "failed once: judge 'flaky:x' failed: ValueError: the model file is broken" in owed.err
    assert "incomplete: 1 pool has no pick; the same command continues" in owed.err
    first = selected(capsys, "--judge", "flaky:x", "--on-failure", "first")
    assert first.code == 4
    assert [line["decided_by"] for line in picks(first)].count("first") == 1
    raised = selected(capsys, "--judge", "flaky:x", "--on-failure", "raise")
    assert (raised.code, "Traceback" in raised.err) == (2, False)
    assert "judge 'flaky:x' failed: ValueError" in raised.err.splitlines()[-1]


@pytest.mark.parametrize("method", ["next", "hear", "standing"])
def test_a_strategy_that_fails_is_said_in_one_line(capsys, folder_of_failures, plugged, method):
    """A plug-in's fault owes the picks, or ends the run, in plain words and never with a traceback."""
    command = ("--judge", "local:length", "--strategy", f"broken:method={method}")
    owed = selected(capsys, *command)
    assert (owed.code, {line["decided_by"] for line in picks(owed)}) == (4, {"owed"})
    assert f"failed 6 times: strategy broken:method={method} failed in {method}(): KeyError: 'mine'" in owed.err
    raised = selected(capsys, *command, "--on-failure", "raise")
    assert (raised.code, raised.out) == (2, "")
    assert "Traceback" not in owed.err + raised.err
    assert f"strategy broken:method={method} failed in {method}()" in raised.err.splitlines()[-1]


def test_a_dry_run_of_a_strategy_that_fails_is_one_line(capsys, folder_of_failures, plugged):
    """The estimate refuses such a plug-in as the run would."""
    done = selected(capsys, *JUDGE, "--strategy", "broken", "--dry-run")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "strategy broken:method=next failed in next()" in done.err


def test_a_router_without_a_signal_sends_nothing_and_says_so_once(capsys, folder_of_failures, monkeypatch):
    """Where no pool has the signal the first picks stand and one line says so; told so, the router sends a share."""
    command = ("--judge", "local:length", "--strong", "local:lexical", "--route", "interval_width", "--share", "0.5")
    kept = selected(capsys, *command)
    lines = picks(kept)
    assert {line["routed"]["strong"] for line in lines if line["routed"]} == {None}
    assert {line["settings"]["router"] for line in lines} == {"interval_width at a share of 50%"}
    assert "WARNING: no pool had the signal interval_width (no score came with an interval): 0 of " in kept.err
    assert kept.err.count("WARNING") == 1
    assert "UserWarning" not in kept.err
    assert "--on-missing random" in kept.err
    sent = selected(capsys, *command, "--on-missing", "random")
    assert any(line["routed"]["strong"] for line in picks(sent) if line["routed"])
    assert "went to the stronger judge, at random" in sent.err
    routed = command[2:]
    with served(monkeypatch, folder_of_failures):
        assert "WARNING" not in selected(capsys, "--judge", "interval:openai/m", *routed).err
