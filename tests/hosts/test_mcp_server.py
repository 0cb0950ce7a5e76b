"""The tools of the Model Context Protocol, by a real client over the standard streams of a real server."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager

import pytest

from bonwise.errors import UsageError
from bonwise.testing import simulate

pytest.importorskip("mcp")
pytest.importorskip("scipy", reason="bonwise[audit] is not installed")

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import bonwise as bw
from bonwise.hosts.mcp_server import AssistantTools, mcp_server


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
async def client(root, *arguments):
    """Start the command and talk to it."""
    start = ["-c", "from bonwise.cli.entry import main; raise SystemExit(main())"]
    server = StdioServerParameters(command=sys.executable, args=[*start, "mcp", "--root", str(root), *arguments])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
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


def test_a_long_answer_is_cut_at_a_line_and_said(root, monkeypatch):
    """An assistant's context is not filled with the rows of a table."""
    whole = bw.doctor(root / "scores.csv").to_markdown()
    monkeypatch.setattr("bonwise.hosts.mcp_server.LONGEST", 600)
    answer = anyio.run(mcp_server(root).call_tool, "doctor", {"file": "scores.csv"})
    text = (getattr(answer, "content", None) or answer)[0].text
    kept, _, said = text.rpartition("\n\n")
    assert whole.startswith(kept)
    assert 500 < len(kept) <= 600
    assert said == f"{whole.count(chr(10)) - kept.count(chr(10))} further lines are left out."


def test_a_root_that_is_no_folder_is_refused(root):
    """Before anything is served."""
    with pytest.raises(UsageError, match="is no folder"):
        mcp_server(root / "scores.csv")
