"""Processes that share a ledger share the work; a finished run needs neither server nor key."""

from __future__ import annotations

import json

import pytest

from bonwise.calls.ledger.ledger import Ledger
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from crash.runs import done, judging, pool_file, start
from processes import ended

PROMPTS = 30
CALLS = 4 * PROMPTS


@pytest.fixture
def folder(tmp_path):
    """Return a folder with pools."""
    pool_file(tmp_path / "pools.jsonl", PROMPTS)
    return tmp_path


def test_two_runs_at_once_pay_what_one_pays(folder):
    """The same command twice at once, on one ledger: each answer is paid once, and both write the same scores."""
    script = Script(latency=0.03)
    with ScriptedServer(script).in_thread() as server:
        running = [start(judging(folder, server.url, out=out)) for out in ("one.csv", "other.csv")]
        assert [ended(one)[0] for one in running] == [0, 0]
    assert script.counts.paid_again == {}
    assert script.counts.answers == script.counts.requests == CALLS
    assert (folder / "one.csv").read_bytes() == (folder / "other.csv").read_bytes()
    with Ledger.open(folder / "run") as ledger:
        assert ledger.stats().calls == {"answered": CALLS}


def test_a_finished_run_needs_neither_server_nor_key(folder):
    """With the server gone and no key the same command writes the same bytes, and its ledger can be looked into."""
    script = Script()
    with ScriptedServer(script).in_thread() as server:
        url = server.url
        done(judging(folder, url), OPENAI_API_KEY="sk-of-the-first-run")
    first = (folder / "scores.csv").read_bytes()
    said = done(judging(folder, url, out="again.csv"))
    assert "0 calls sent" in said
    assert (folder / "again.csv").read_bytes() == first
    done(["ledger", "stats", str(folder / "run"), "--json", str(folder / "stats.json")])
    document = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
    assert (document["calls"], document["answers"], document["integrity"]) == ({"answered": CALLS}, CALLS, "ok")
    done(["ledger", "export", str(folder / "run"), "--out", str(folder / "rows.jsonl")])
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["key"] for row in rows}) == CALLS
    assert done(["ledger", "show", str(folder / "run"), "--key", rows[0]["key"]]).count('"key"') == 1
