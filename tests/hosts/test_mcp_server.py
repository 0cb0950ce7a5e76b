"""The tools of the Model Context Protocol, by a real client over the standard streams of a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from bonwise.errors import UsageError
from bonwise.testing import simulate

pytest.importorskip("mcp")
pytest.importorskip("scipy", reason="bonwise[audit] is not installed")

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import bonwise as bw
from bonwise.hosts.mcp_server import PLACES, AssistantTools, mcp_server


@pytest.fixture
def root(tmp_path):
    """Return a folder with a table of scores, beside a file that nobody may read."""
    folder = tmp_path / "root"
    folder.mkdir()
    frame = simulate("arena", n=60, seed=1).frame()
    frame.to_csv(folder / "scores.csv", index=False)
    frame.drop(columns="oracle_label").to_csv(folder / "bare.csv", index=False)
    frame[["prompt_id", "candidate", "oracle_label"]].to_csv(folder / "labels.csv", index=False)
    frame.to_csv(tmp_path / "private.csv", index=False)
    return folder


@asynccontextmanager
async def talking(arguments):
    """Start an interpreter that serves, and talk to it."""
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        yield session


@asynccontextmanager
async def client(root, *arguments):
    """Start the command and talk to it."""
    start = ["-c", "from bonwise.cli.entry import main; raise SystemExit(main())", "mcp", "--root", str(root)]
    async with talking([*start, *arguments]) as session:
        session.told = await session.initialize()
        yield session


def called(root, calls, *arguments):
    """Return whether each call of a tool failed, and its words."""

    async def go():
        async with client(root, *arguments) as session:
            answers = [await session.call_tool(name, given) for name, given in calls]
            return [(one.is_error, one.content[0].text) for one in answers]

    return anyio.run(go)


def test_the_tools_answer_a_real_client(root):
    """Each tool gives what its function gives, as Markdown."""
    gates = {"recovery": -5.0, "gain": 9.0}
    doctor, apart, audit, beside, plan, pick = called(
        root,
        [
            ("doctor", {"file": "scores.csv"}),
            ("doctor", {"file": "bare.csv", "labels": "labels.csv"}),
            ("audit", {"file": "scores.csv", "gates": gates}),
            ("audit", {"file": "bare.csv", "labels": "labels.csv"}),
            ("plan", {"question": "recovery>0", "candidates": 4, "within_r": 0.3}),
            ("select", {"prompt": "p", "candidates": ["a", "bbb"]}),
        ],
        "--judge",
        "local:length",
    )
    table = root / "scores.csv"
    found = bw.audit(table)
    assert doctor == (False, bw.doctor(table).to_markdown())
    assert apart == (False, bw.doctor(root / "bare.csv", labels=root / "labels.csv").to_markdown())
    assert audit == (False, found.check(gates).to_markdown())
    assert "recovery" in beside[1]
    assert not beside[0]
    assert plan == (False, bw.plan(question="recovery>0", candidates=4, within_r=0.3).to_markdown())
    assert pick[1].startswith("## c1, decided by score")


def test_the_picks_of_two_files_are_compared(root):
    """As `bonwise compare` does."""
    pools = [(f"p{at}", ["a" * (at + 1), "b" * (3 * at + 2)]) for at in range(12)]
    for name, judge in {"one": lambda _, text: len(text), "two": lambda _, text: -len(text)}.items():
        picks = [bw.select(prompt, texts, judge=judge) for prompt, texts in pools]
        lines = [{**pick.to_dict(), "prompt_id": prompt} for pick, (prompt, _) in zip(picks, pools, strict=True)]
        (root / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    rows = [f"p{at},c{one},{at * one}" for at in range(12) for one in range(2)]
    (root / "oracle.csv").write_text("prompt_id,candidate,oracle_label\n" + "\n".join(rows) + "\n", "utf-8")
    files = {"first": "one.jsonl", "second": "two.jsonl", "labels": "oracle.csv"}
    ((failed, text),) = called(root, [("compare", files)])
    assert not failed, text
    assert text == bw.compare(root / "one.jsonl", root / "two.jsonl", labels=root / "oracle.csv").to_markdown()


def test_what_can_be_mended_is_told(root):
    """An error is an answer with the sentence of the command line."""
    (root / "out.csv").symlink_to(root.parent / "private.csv")
    (root / "folder").mkdir()
    (root / "folder" / "out.csv").symlink_to(root.parent / "private.csv")
    said = {
        "absent.csv": "no such file (check the path)",
        "../private.csv": "lies outside of",
        str(root.parent / "private.csv"): "lies outside of",
        "out.csv": "lies outside of",
        "folder": "lies outside of",
        "a\0b": "is no path",
    }
    answers = called(root, [("audit", {"file": file}) for file in said])
    for (failed, text), sentence in zip(answers, said.values(), strict=True):
        assert failed
        assert sentence in text
        assert "Traceback" not in text
    (unknown,) = called(root, [("audit", {"file": "scores.csv", "gates": {"recal": 0.1}})])
    assert unknown[0]
    assert "no metric named 'recal'" in unknown[1]


def test_labels_and_designs_are_files_below_the_root_too(root):
    """No argument leads out."""
    tools = AssistantTools(root)
    for given in ({"labels": "../private.csv"}, {"design": "../private.csv"}):
        with pytest.raises(UsageError, match="lies outside of"):
            anyio.run(lambda given=given: tools.audit("bare.csv", **given))


def test_without_a_judge_nothing_is_picked(root):
    """The tool that may cost money is there only where the server was started with a judge."""

    async def names(*arguments):
        async with client(root, *arguments) as session:
            return {tool.name for tool in (await session.list_tools()).tools}, session.told.instructions

    without, told = anyio.run(names)
    assert without == {"doctor", "audit", "compare", "plan"}
    assert anyio.run(names, "--judge", "local:length")[0] == without | {"select"}
    assert str(root) in told
    with pytest.raises(UsageError, match="has no judge"):
        anyio.run(AssistantTools(root).select, "p", ["a"])


def test_hostile_words_of_a_file_are_shown_as_text(root):
    """Markdown, HTML and what a terminal obeys."""
    name = "<img src=x onerror=alert(1)> **bold** \x1b[31m"
    rows = [f'p{at},"{name if one else "other"}",{one},{one}' for at in range(30) for one in range(2)]
    (root / "odd.csv").write_text("prompt_id,candidate,judge_score,oracle_label\n" + "\n".join(rows) + "\n", "utf-8")
    ((failed, text),) = called(root, [("doctor", {"file": "odd.csv"})])
    assert not failed
    assert "<img" not in text
    assert "**bold**" not in text
    assert "\x1b" not in text


def text_of(answer):
    """Return the words of an answer, whichever shape the version of the protocol gives it."""
    return (getattr(answer, "content", None) or answer)[0].text


def test_a_long_answer_is_cut_and_counted(root):
    """An assistant's context is not filled with the rows of a table."""
    whole = bw.audit(root / "scores.csv").to_markdown()
    text = text_of(anyio.run(mcp_server(root, max_answer=1000).call_tool, "audit", {"file": "scores.csv"}))
    kept, _, last = text.rpartition("\n\n")
    assert whole.startswith(kept + "\n")
    assert 500 < len(kept) < len(text) <= 1000
    assert last == f"{len(whole) - len(kept):,} further characters are left out."


def test_the_limits_are_flags_of_the_command(root):
    """A length of answers and a time of calls are the command's, as they are the function's."""
    ((failed, text),) = called(root, [("audit", {"file": "scores.csv"})], "--max-answer", "1000")
    assert (failed, len(text) <= 1000) == (False, True)
    ((failed, text),) = called(root, [("audit", {"file": "scores.csv"})], "--call-timeout", "0.01")
    assert (failed, "no answer within 0.01 s" in text) == (True, True)


def test_an_answer_of_one_line_is_cut_within_it(root):
    """What has no end of a line is not lost whole."""
    selector = bw.Selector(lambda _, text: len(text))
    names = {"prompt": "p", "candidates": ["a" * at for at in range(1, 900)]}
    text = text_of(anyio.run(mcp_server(root, selector, max_answer=1000).call_tool, "select", names))
    assert 900 < len(text) <= 1000
    assert re.search(r"\n\n[\d,]+ further characters are left out\.$", text)


@pytest.mark.parametrize(
    "limits",
    [
        *({"call_timeout": seconds} for seconds in (0, float("nan"), True, 1e300)),
        *({"max_answer": characters} for characters in (999, 1e6, True)),
    ],
)
def test_a_limit_that_is_none_is_refused(root, limits):
    """Before anything is served."""
    with pytest.raises(UsageError, match=next(iter(limits))):
        mcp_server(root, **limits)


def test_a_root_that_is_no_folder_is_refused(root):
    """Before anything is served."""
    with pytest.raises(UsageError, match="is no folder"):
        mcp_server(root / "scores.csv")


# Calls that do not end, in a real server: what `doctor` does with a file is replaced by something that blocks.


HANGING = """
import os, re, signal, sys, time
import bonwise as bw
from bonwise.hosts import mcp_server

def blocked(path, labels=None):
    with open(os.environ["BLOCKED_PIDS"], "a") as file:
        file.write(f"{os.getpid()}\\n")
    match path.stem:
        case "pause":
            while True:
                signal.pause()
        case "deaf":
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            while True:
                signal.pause()
        case "spin":
            while True:
                pass
        case "lock":  # the interpreter's lock is held
            re.fullmatch("(a|a)*b", "a" * 64)
        case "pipe":
            open(path).read()
        case "floods":
            while True:
                os.write(2, b"x" * 65536)
        case "exits":
            os._exit(0)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "babbles":
            os.write(1, b"GET / HTTP/1.1" * 99)
        case "fails":
            raise KeyError("what only the server may know")

if __name__ == "__main__":
    bw.doctor = blocked
    judge = lambda prompt, text: time.sleep(3600)
    selector = bw.Selector(bw.FunctionJudge(judge))
    mcp_server.PROGRESS_EVERY = 0.5
    mcp_server.mcp_server(sys.argv[1], selector, call_timeout=float(sys.argv[2])).run("stdio")
"""
ENDLESS = ("pause", "deaf", "spin", "lock", "pipe", "floods")
BROKEN = ("exits", "killed", "babbles")
LIMIT = 30
"""Seconds of a call: on a machine at work a process takes some of them until it begins."""
ENDED = re.compile(
    rf"no answer within {LIMIT} s: the call was ended|other calls are under way, and none ended in {LIMIT // 2} s"
)


@pytest.fixture
def hanging(root, tmp_path, monkeypatch):
    """Return the arguments of an interpreter that serves tools that hang, and how to count their processes."""
    for name in (*ENDLESS, *BROKEN, "fails"):
        (root / f"{name}.csv").touch()
    (root / "pipe.csv").unlink()
    os.mkfifo(root / "pipe.csv")
    script = tmp_path / "a server.py"
    script.write_text(HANGING, "utf-8")
    pids = tmp_path / "pids"
    pids.touch()
    monkeypatch.setenv("BLOCKED_PIDS", str(pids))

    def running():
        found = {int(line) for line in pids.read_text("utf-8").splitlines()}
        return {pid for pid in found if Path(f"/proc/{pid}").exists() or (sys.platform != "linux" and _is_there(pid))}

    return [str(script), str(root), str(LIMIT)], running


def _is_there(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def seconds_of(call):
    """Return what a call gives, and the seconds that it took."""
    began = time.monotonic()
    return await call, time.monotonic() - began


PICK = ("select", {"prompt": "p", "candidates": ["a", "b"]})
PLAN = ("plan", {"question": "recovery>0", "candidates": 4, "within_r": 0.3})
AUDIT = ("audit", {"file": "scores.csv"})


@pytest.mark.parametrize(
    ("calls", "meanwhile"),
    [
        pytest.param(
            [("doctor", {"file": f"{at // 6 * './'}{ENDLESS[at % 6]}.csv"}) for at in range(36)] + [PICK] * 9,
            PLAN,
            id="many files",
            marks=pytest.mark.slow,  # some of them take a processor each
        ),
        pytest.param(
            [("doctor", {"file": "pipe.csv"}), ("doctor", {"file": "x/../pipe.csv"})] * 22 + [PICK],
            AUDIT,
            id="one file",
        ),
    ],
)
def test_calls_that_hang_take_nothing_from_others(hanging, calls, meanwhile):
    """Each ends in its time, the server answers meanwhile, and then all its places are free."""
    arguments, running = hanging
    answers, seen = [], {}

    async def go():
        async with talking(arguments) as session:
            await session.initialize()
            async with anyio.create_task_group() as tasks:

                async def call(name, given):
                    answers.append(await seconds_of(session.call_tool(name, given)))

                for name, given in calls:
                    tasks.start_soon(call, name, given)
                for _ in range(10 * LIMIT // 2):
                    await anyio.sleep(0 if running() else 0.1)
                seen["ping"] = await seconds_of(session.send_ping())
                seen["tools"] = await seconds_of(session.list_tools())
                seen["processes"] = len(running())
                seen["meanwhile"] = await seconds_of(session.call_tool(*meanwhile))
                seen["left"] = len(calls) - len(answers)
            seen["after"] = await seconds_of(session.call_tool(*AUDIT))

    anyio.run(go)
    assert len(answers) == len(calls)
    for answer, seconds in answers:
        assert answer.is_error
        assert ENDED.search(answer.content[0].text), answer.content[0].text
        assert seconds < 2 * LIMIT
    assert seen["ping"][1] < LIMIT / 4
    assert seen["tools"][1] < LIMIT / 4
    assert 0 < seen["processes"] <= PLACES
    assert seen["left"] > 0
    for name in ("meanwhile", "after"):
        assert not seen[name][0].is_error, (name, seen[name][0].content[0].text)
    assert not running()


def test_a_process_that_ends_is_an_error_of_its_call(hanging):
    """One sentence; the next call gets another process."""
    (*arguments, _), running = hanging
    arguments.append("300")

    async def go():
        async with talking(arguments) as session:
            await session.initialize()
            said = [(await session.call_tool("doctor", {"file": f"{name}.csv"})) for name in (*BROKEN, "fails")]
            return said, await session.call_tool(*PLAN)

    (*said, failed), plan = anyio.run(go)
    for name, one in zip(BROKEN, said, strict=True):
        assert one.is_error
        assert "the process of this call ended without an answer (name a smaller file)" in one.content[0].text, name
    assert failed.content[0].text == "Error executing tool doctor"
    assert not plan.is_error
    assert not running()


def test_progress_is_reported_and_a_call_can_be_taken_back(hanging):
    """Seconds of how many; a client that gives up ends the process of its call at once."""
    arguments, running = hanging
    heard = []

    async def listen(progress, total, message):
        heard.append((progress, total, message))

    async def go():
        async with talking(arguments) as session:
            await session.initialize()
            with anyio.move_on_after(LIMIT / 3):
                await session.call_tool("doctor", {"file": "pause.csv"}, progress_callback=listen)
            assert running()
            for _ in range(10 * LIMIT // 4):
                await anyio.sleep(0.1 if running() else 0)
            return running()

    left = anyio.run(go)
    assert not left
    assert len(heard) >= 3
    assert heard == sorted(heard)
    assert all(
        re.fullmatch(r"doctor: \d+ s of at most 30 s", message) and total == LIMIT for _, total, message in heard
    )


HELLO = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
]


@pytest.mark.parametrize(
    ("name", "end", "most"),
    [
        ("lock", "close", 4),
        ("lock", "kill", LIMIT + 5),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [("pause", "close", 4), ("pause", "kill", LIMIT + 5), ("pause", "terminate", LIMIT + 5)]
        ),
    ],
)
def test_a_server_that_ends_leaves_no_process_behind(hanging, name, end, most):
    """What works on a call ends with the server, or by itself in the time of the call."""
    arguments, running = hanging
    call = {"id": 2, "method": "tools/call", "params": {"name": "doctor", "arguments": {"file": f"{name}.csv"}}}
    server = subprocess.Popen([sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for message in (*HELLO, call):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
    began = time.monotonic()
    while not running() and time.monotonic() - began < 30:
        time.sleep(0.05)
    assert running()
    began = time.monotonic()
    (server.stdin.close if end == "close" else getattr(server, end))()
    server.wait(4)
    while running() and time.monotonic() - began < most:
        time.sleep(0.05)
    assert not running()
    server.stdin.close()
