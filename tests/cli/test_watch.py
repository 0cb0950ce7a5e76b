from __future__ import annotations

import json

import pytest

from auditing.watching.logs import write_log
from bonwise.cli.entry import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_exit_codes(folder, capsys):
    """Nothing moved, moved, too early, and an unquoted pattern that would watch the baseline."""
    write_log("still", 30)
    write_log("moved", 40, shift_at=25, shifted={"length": 150})
    assert run(["watch", "still/*.jsonl"]) == 0
    assert "Verdict: nothing moved" in capsys.readouterr().out
    assert run(["watch", "moved/*.jsonl", "--json", "watch.json", "--html", "watch.html"]) == 1
    printed = capsys.readouterr().out
    assert "Length fell" in printed
    assert printed.index("Length fell") < printed.index("Signals")
    assert json.loads((folder / "watch.json").read_text("utf-8"))["verdict"] == "moved"
    assert run(["watch", "still/*.jsonl", "--first", "30"]) == 3
    early = sorted(map(str, (folder / "still").glob("2026-10-0*.jsonl")))
    late = sorted(map(str, (folder / "still").glob("2026-10-2*.jsonl")))
    assert run(["watch", *late, "--baseline", *early]) == 2
    assert "quote a pattern that follows --baseline" in capsys.readouterr().err


def test_json_alone_on_standard_output(folder, capsys):
    """A daily job reads the document and the words step aside."""
    write_log("p", 30)
    assert run(["watch", "p/*.jsonl", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["schema"] == "bonwise.watch/1"
    assert "Verdict" in said.err


def test_a_result_replaces_no_picks(folder, capsys):
    """An output that is an input is refused, also where a pattern names it."""
    write_log("p", 30)
    assert run(["watch", "p/*.jsonl", "--json", "p/2026-10-03.jsonl"]) == 2
    assert "read or written already" in capsys.readouterr().err


def test_hostile_names_and_values_stay_text(folder, capsys):
    """Escapes in settings, reasons and names of files reach neither the terminal nor a page."""
    write_log("p", 20)
    path = folder / "p" / "2026-10-20.jsonl"
    lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
    for one in lines:
        one["settings"] = {"judge": "j", "<script>alert(1)</script>\x1b[31m": 1}
    path.unlink()
    hostile = folder / "p" / "2026-10-20-\x1b[2J<b>.jsonl"
    hostile.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    assert run(["watch", "p/*.jsonl", "--html", "page.html"]) == 0
    assert "\x1b[2J" not in capsys.readouterr().out
    page = (folder / "page.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "2026-10-20-\x1b[2J<b>" not in page
