from __future__ import annotations

import asyncio
import re
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from bonwise.calls.ask import Choice
from bonwise.calls.bill import Usage
from bonwise.calls.engine import Engine
from bonwise.cli import running
from bonwise.cli.running import _progress_figures, judge_all, shown_progress, summarise
from bonwise.errors import JudgeError
from bonwise.judges.registry import judge_from_spec
from bonwise.selection.run import RunProgress, RunSummary
from bonwise.selection.settings import Engines
from bonwise.table.pools import read_pools
from bonwise.table.verdicts import Score
from bonwise.testing import Faults
from cli.commands import pool_file, rows_of, strict, typed
from cli.served import served

POOLS = {"p1": ["one", "two"], "p2": ["three", "four"], "p3": ["five", "six"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with three pools of two candidates."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    return tmp_path


def judged(capsys, *more, judge="pointwise:openai/m"):
    """Judge the pools into scores.csv, one call at a time."""
    words = ("--judge", judge, "--out", "scores.csv", "--max-concurrency", "1", *more)
    return typed(capsys, "judge", "pools.jsonl", *words)


def test_a_denied_model_takes_nothing_from_the_others(capsys, folder, monkeypatch):
    """Where a server refuses a key, finished scores are written, what was paid is said, and the code is 2."""
    with served(monkeypatch, folder, keys=frozenset({"right"})) as script:
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "wrong-canary-0123456789")
        done = judged(capsys, "--judge", "pointwise:anthropic/c")
        rows = rows_of("scores.csv")
        assert script.counts.paid.total() == 6
    assert done.code == 2
    assert [bool(row["judge_score"]) for row in rows] == [True, False] * 6
    assert all(row["unscored"].startswith("owed: ") for row in rows[1::2])
    assert "6 answers: 6 calls sent" in done.err
    assert "$" in done.err
    assert "anthropic/c at " in done.err.splitlines()[-1]
    assert "canary" not in done.err + Path("scores.csv").read_text("utf-8")


def test_a_denied_model_selects_nothing(capsys, folder, monkeypatch):
    """Selecting with a refused key writes a line a pool, each owed, and ends with 2."""
    with served(monkeypatch, folder, keys=frozenset({"right"})):
        monkeypatch.setenv("OPENAI_API_KEY", "wrong")
        done = typed(capsys, "select", "pools.jsonl", "--judge", "pointwise:openai/m")
    assert done.code == 2
    assert [strict(line)["decided_by"] for line in done.out.splitlines()] == ["owed"] * 3


def test_a_lost_ledger_hides_no_bill(capsys, folder, monkeypatch):
    """When the ledger cannot be written any more the command ends with 2, and what was paid is said."""
    paid = []

    def count(request):
        paid.append(request)
        if len(paid) == 4:
            Path("bonwise-run/ledger.sqlite").unlink()

    with served(monkeypatch, folder, on_paid=count):
        done = judged(capsys)
    assert done.code == 2
    assert "3 calls sent" in done.err or "4 calls sent" in done.err
    assert "ledger.sqlite" in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


class _Waits:
    """A judge that answers at once but for the last prompt: there it fails when the model has answered everything."""

    name, version = "mine", "1"

    def __init__(self, script):
        self.script = script

    async def judge(self, prompt, candidates):
        if not prompt.endswith("p3"):
            return [Score(0.5)] * len(candidates)
        while self.script.counts.paid.total() < 6:  # noqa: ASYNC110 - counts ring no bell
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)  # the last answer is on its way
        return []


def test_a_judge_that_breaks_its_contract_hides_no_bill(capsys, folder, monkeypatch):
    """When a judge of one's own fails in the middle, what the others cost is said before the error."""
    pools, seen = list(read_pools(Path("pools.jsonl"))), []
    with served(monkeypatch, folder) as script:
        judges = [judge_from_spec("pointwise:openai/m"), _Waits(script)]
        with pytest.raises(JudgeError):
            judge_all(pools, judges, Engines.of(ledger=folder / "run"), folder, seen.append)
    assert len(seen) == 2
    assert "6 answers: 6 calls sent" in capsys.readouterr().err


@pytest.mark.parametrize(("specs", "total"), [(["local:length"], 3), (["local:length", "pointwise:openai/m"], 6)])
def test_progress_counts_what_there_will_be(folder, monkeypatch, specs, total):
    """Judges that ask no model are done by pools, others by answers: what is done is never more than all of it."""
    shown = []

    @contextmanager
    def noted():
        yield shown.append

    monkeypatch.setattr(running, "shown_progress", noted)
    with served(monkeypatch, folder):
        judges = [judge_from_spec(spec) for spec in specs]
        judge_all(list(read_pools(Path("pools.jsonl"))), judges, Engines.of(ledger=None), folder, lambda _: None)
    assert {now.total for now in shown} == {total}
    assert shown[-1].done == total


def test_a_deadline_owes_what_it_cuts_off(capsys, folder, monkeypatch):
    """After --deadline a question is tried no more: it is owed, and the same command continues."""
    with served(monkeypatch, folder, faults=Faults(server_error=1.0)) as script:
        done = judged(capsys, "--deadline", "0.3")
        assert done.code == 4
        assert "6 answers are pending" in done.err
        script.faults = Faults()
        assert judged(capsys, "--deadline", "300").code == 0


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_a_deadline_that_means_nothing_is_refused(capsys, folder, seconds):
    """A deadline is a number of seconds above zero."""
    done = judged(capsys, "--deadline", seconds)
    assert done.code == 2
    assert "deadline" in done.err


def test_retries_are_said(capsys, folder, monkeypatch):
    """Attempts that were made again are counted in the summary, and only where there were any."""
    with served(monkeypatch, folder, faults=Faults(throttled=0.5, retry_after=0.01), seed=1) as script:
        done = judged(capsys)
        assert f"{script.counts.faults['throttled']} attempts were made again" in done.err
        assert "made again" not in judged(capsys).err


def test_answers_beyond_their_limit_are_said(capsys, folder, monkeypatch):
    """A server that bills more output than was allowed is named as one that ignores the limit."""
    with served(monkeypatch, folder, usage=lambda *_: Usage(uncached=5, output=900_000)):
        assert "6 answers were longer than allowed" in judged(capsys).err


def test_a_cost_that_nobody_counted_is_said(capsys, folder, monkeypatch):
    """Where a server counts no tokens the summary says how much more may be billed."""
    with served(monkeypatch, folder, usage=lambda *_: None):
        assert "more may be billed" in judged(capsys).err


def test_characters_that_were_replaced_are_said(capsys):
    """Characters that were shown as another are counted in the summary."""
    engine = Engine()
    engine.totals.answers, engine.totals.replaced = 1, 3
    summarise(RunSummary(engine, [], Path("run")))
    assert "shown as U+FFFD 3 times" in capsys.readouterr().err


def test_requests_refused_for_good_can_be_asked_again(capsys, folder, monkeypatch):
    """The summary counts what a server refused for good and names --reask 1; the dry run foresees that."""
    with served(monkeypatch, folder, context_length=1) as script:
        done = judged(capsys)
        assert done.code == 1
        assert "6 verdicts are missing; --reask 1 asks again" in done.err
        script.context_length = None
        assert "6 calls" in judged(capsys, "--reask", "1", "--dry-run").out
        again = judged(capsys, "--reask", "1")
        assert script.counts.paid.total() == 6
        assert "0 calls" in judged(capsys, "--reask", "1", "--dry-run").out
    assert "--reask 1 asks again" not in again.err


def test_parameters_that_changed_on_the_way_are_said(capsys, folder, monkeypatch):
    """Where a server stops taking a parameter in the middle, the judge is named with both sets."""

    def forbid(_request):
        script.refuses_parameters = frozenset({"temperature"} if script.counts.paid.total() >= 3 else ())

    with served(monkeypatch, folder, on_paid=forbid) as script:
        done = judged(capsys)
    line = next(line for line in done.err.splitlines() if "the same parameters" in line)
    assert "pointwise:openai/m" in line
    assert line.count("max_tokens=") == 2
    assert line.count("temperature=") == 1


def test_a_dry_run_refuses_what_the_run_refuses(capsys, folder, monkeypatch):
    """A judge that needs what a provider never sends is refused before and at the run, in the same words."""
    with served(monkeypatch, folder):
        dry, real = (judged(capsys, *more, judge="logprob:anthropic/x") for more in (["--dry-run"], []))
    assert (dry.code, real.code) == (2, 2)
    assert dry.err == real.err
    assert "log probabilities" in dry.err


def test_a_dry_run_counts_what_is_asked_again(capsys, folder, monkeypatch):
    """With --reask 1 the estimate holds the calls for stored answers that are unscored, once."""

    def answer(request):
        return Choice("no idea") if "one" in request.user or "two" in request.user else Choice('{"score": 7}')

    with served(monkeypatch, folder, answer=answer) as script:
        judged(capsys, "--reask", "0")
        paid = script.counts.paid.total()
        assert "0 calls" in judged(capsys, "--dry-run").out
        assert "2 calls (4 of 6" in judged(capsys, "--reask", "1", "--dry-run").out
        judged(capsys, "--reask", "1")
        assert script.counts.paid.total() == paid + 2
        assert "0 calls" in judged(capsys, "--reask", "1", "--dry-run").out


def progress(**now):
    """Return how far a run has come, with 4 of 9 answers."""
    fixed = {"what": "answers", "done": 4, "total": 9, "answers": 4, "from_ledger": 1, "unscored": 0, "pending": 0}
    return RunProgress(**fixed | {"waiting": 0, "trouble": "", "cost": 0.25, "seconds": 3.0} | now)


def test_a_storm_is_seen_while_it_lasts():
    """While calls wait to be tried again the progress says so, and why, in printable words."""
    assert _progress_figures(progress()) == "4 of 9 answers, 1 from the ledger, $0.2500"
    assert "3 to be tried again, $" in _progress_figures(progress(waiting=3))
    assert "3 to be tried again (429: slow\\x1b down)" in _progress_figures(
        progress(waiting=3, trouble="429: slow\x1b down")
    )


@pytest.mark.parametrize("width", [80, 100])
def test_the_bar_keeps_cost_and_time_left(capsys, monkeypatch, width):
    """On a narrow terminal the figures are cut, and never what was paid nor how long the run will take."""
    for name, value in {"COLUMNS": str(width), "TTY_COMPATIBLE": "1", "FORCE_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    long = {"total": 123_456, "answers": 1200, "from_ledger": 800, "unscored": 7, "waiting": 17, "pending": 3}
    with shown_progress() as show:
        for done in (300, 600, 900):
            show(progress(done=done, cost=1234.5, trouble="503: " + "busy " * 9, **long))
            time.sleep(0.15)
    told = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", one) for one in re.split(r"[\r\n]", capsys.readouterr().err)]
    shown = [one for one in told if "of 123,456 answers" in one]
    assert shown
    assert all("$1,234.50" in one and len(one) <= width for one in shown)
    assert re.search(r" (\d+:)?\d\d:\d\d ", shown[-1])


def test_lines_come_every_quarter_of_a_minute(capsys, monkeypatch):
    """Where nobody sees a terminal one line stands for many looks, and says how much time is left."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    with shown_progress() as show:
        for seconds in (0.0, 14.9, 15.0, 15.2, 29.9, 30.5):
            show(progress(what="pools", done=4, seconds=seconds))
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(", ")[2] for line in lines] == ["about 19 s left", "about 38 s left"]
    assert lines[0].startswith("bonwise: 4 of 9 pools, 4 answers, 1 from the ledger")
