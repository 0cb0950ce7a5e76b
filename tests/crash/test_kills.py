"""Processes that are interrupted or killed lose no answer; those that share a ledger share the work."""

from __future__ import annotations

import json
import random
import re
import shlex
import signal
import time

import pytest

from bonwise.calls.ledger.ledger import Ledger
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from crash.runs import Trap, committed, done, judging, pool_file, start
from judges.rerank_server import by_length, reranking
from processes import ended

# Ctrl-C keeps what is on the wire, and says how to go on.


PROMPTS = 25
CALLS = 4 * PROMPTS
INTERRUPTED = 130


@pytest.fixture
def folder(tmp_path):
    """Return a folder with pools."""
    pool_file(tmp_path / "pools.jsonl", PROMPTS)
    return tmp_path


def interrupted(script, folder, url, *, after=20, then=None, sent=signal.SIGINT):
    """Run the command, send it a signal after some paid requests, do something once it has heard; return its end."""
    with script.on_paid.being_set():
        running = start(judging(folder, url, "--max-concurrency", "8"))
        script.on_paid.set((after, 0.0, lambda: running.send_signal(sent)))
    said = ""
    if then is not None:
        said = running.stderr.readline().decode()
        then(running)
    code, out, err = ended(running)
    return code, out, said + err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_an_interrupted_run_keeps_what_is_on_the_wire(folder, sent):
    """Told to end, it waits for calls on the wire; the command it prints asks for the rest, paying nothing twice."""
    script = Script(latency=0.2, on_paid=Trap())
    with ScriptedServer(script).in_thread() as server:
        code, _, said = interrupted(script, folder, server.url, sent=sent)
        paid = script.counts.answers
        assert code == INTERRUPTED, said
        assert 20 <= paid < CALLS
        with Ledger.open(folder / "run") as ledger:
            assert ledger.stats().calls == {"answered": paid}
        printed = re.search(r"bonwise judge .*", said)
        assert printed, said
        _, *arguments = shlex.split(printed[0].rstrip(")"))
        assert arguments == judging(folder, server.url, "--max-concurrency", "8")
        done(arguments)
    assert script.counts.paid_again == {}
    assert script.counts.answers == CALLS
    assert (folder / "scores.csv").read_text().count("\n") == CALLS + 1


def test_an_interrupted_run_sends_nothing_new(folder):
    """A call on the wire that fails after Ctrl-C is owed; it is not sent again."""
    script = Script(latency=3600.0, on_paid=Trap())
    with ScriptedServer(script).in_thread() as server:

        def cut(_running):
            script.latency = 0.0
            for connection in list(server._connections):
                script.on_paid.loop.call_soon_threadsafe(connection.cancel)

        code, _, said = interrupted(script, folder, server.url, after=8, then=cut)
    assert code == INTERRUPTED, said
    assert script.counts.requests == 8
    with Ledger.open(folder / "run") as ledger:
        stats = ledger.stats()
    assert (stats.calls, stats.lost_attempts) == ({"failed": 8}, 8)


def test_a_second_interrupt_leaves_at_once(folder):
    """Ctrl-C twice does not wait for answers that take an hour; the calls on the wire are then unknown."""
    script = Script(latency=3600.0, on_paid=Trap())
    with ScriptedServer(script).in_thread() as server:
        code, _, said = interrupted(
            script, folder, server.url, after=8, then=lambda running: running.send_signal(signal.SIGINT)
        )
    assert code == INTERRUPTED, said
    assert "Traceback" not in said
    with Ledger.open(folder / "run") as ledger:
        stats = ledger.stats()
    assert stats.lost_attempts == script.counts.answers == 8


# A process that is killed at any moment loses no answer that was on the disk, and nothing is paid twice.


LATENCY = 0.03
AT_ONCE = 16
PROMPTS_OF_KILLS = 60
CALLS_OF_KILLS = 4 * PROMPTS_OF_KILLS
TRIALS = 34
EVERY_DAY = {0, 1}
"""The trials of every run of the tests: four kills."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the scores of a run that nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    pool_file(folder / "pools.jsonl", PROMPTS_OF_KILLS)
    script = Script()
    with ScriptedServer(script).in_thread() as server:
        done(judging(folder, server.url))
    assert script.counts.requests == CALLS_OF_KILLS
    return (folder / "scores.csv").read_bytes()


class Trial:
    """One ledger, some kills."""

    def __init__(self, folder, seed):
        self.folder, self.draw = folder, random.Random(seed)  # noqa: S311 - moments of kills, no secret
        self.kills, self.most_lost, self.safe = 0, 0, {}
        self.trap = Trap()
        self.script = Script(latency=LATENCY, on_paid=self.trap)
        pool_file(folder / "pools.jsonl", PROMPTS_OF_KILLS)

    def begin(self, url):
        """Start the command."""
        return start(judging(self.folder, url, "--max-concurrency", str(AT_ONCE)))

    def kill_at(self, *victims):
        """Return a strike that kills processes, at a moment drawn at random."""
        self.kills += len(victims)
        self.most_lost += AT_ONCE * len(victims)

        def strike():
            for one in victims:
                one.kill()

        return self.draw.randint(1, CALLS_OF_KILLS // 4), self.draw.uniform(0, LATENCY), strike

    def bury(self, victims):
        """Wait until the killed are gone, and note what was safe by then."""
        for victim in victims:
            assert ended(victim)[0] == -9
        self.safe |= {digest: self.trap.paid[digest] for digest in committed(self.folder / "run")}

    def alone(self, url):
        """Kill a process, and the one that goes on with its work."""
        for _ in range(2):
            with self.trap.being_set():
                running = self.begin(url)
                self.trap.set(self.kill_at(running))
            self.bury([running])

    def shared(self, url):
        """Let two processes share the ledger: kill both at once, one after the other, or the one only."""
        with self.trap.being_set():
            pair = [self.begin(url), self.begin(url)]
            self.draw.shuffle(pair)
            how = self.draw.choice(("both", "in turn", "in turn", "one"))
            strikes = {
                "both": lambda: [self.kill_at(*pair)],
                "in turn": lambda: [self.kill_at(one) for one in pair],
                "one": lambda: [self.kill_at(pair[0])],
            }
            self.trap.set(*strikes[how]())
        self.bury(pair[:1] if how == "one" else pair)
        if how == "one":
            assert ended(pair[1])[0] == 0


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed in EVERY_DAY else pytest.mark.slow) for seed in range(TRIALS)]
)
def test_kills_cost_only_what_was_on_the_wire(tmp_path, undisturbed, seed, request):
    """After kills the same command ends as if undisturbed, pays again at most what was on the wire, then nothing."""
    trial = Trial(tmp_path, seed)
    with ScriptedServer(trial.script).in_thread() as server:
        (trial.shared if seed % 2 else trial.alone)(server.url)
        assert trial.trap.sprung
        done(judging(tmp_path, server.url))
        assert (tmp_path / "scores.csv").read_bytes() == undisturbed
        requests = trial.script.counts.requests
        done(judging(tmp_path, server.url, out="again.csv"))
        assert trial.script.counts.requests == requests
    assert (tmp_path / "again.csv").read_bytes() == undisturbed
    with Ledger.open(tmp_path / "run") as ledger:
        assert ledger.integrity() == "ok"
        unknown = ledger.stats().calls.get("unknown", 0)
    again = trial.script.counts.paid_again
    assert len(trial.script.counts.paid) == CALLS_OF_KILLS
    assert sum(again.values()) <= unknown <= trial.most_lost
    assert {digest: trial.trap.paid[digest] for digest in trial.safe} == trial.safe
    figures = {"kills": trial.kills, "unknown": unknown, "again": sum(again.values()), "safe": len(trial.safe)}
    for name, value in figures.items():
        request.node.user_properties.append((name, value))


MANY_KINDS = ("rubric", "checklist", "listwise", "pairwise", "resampled,draws=2", "jury:pointwise:openai/a+interval")


def test_a_run_of_every_kind_of_judge_survives_a_kill(tmp_path):
    """Drafts, criteria, members and draws are on the disk too: the same command ends as if undisturbed."""
    judges = [f"{kind}:openai/gpt-5-mini" for kind in MANY_KINDS]
    scores = {}
    for name in ("undisturbed", "killed"):
        folder, trap = tmp_path / name, Trap()
        folder.mkdir()
        pool_file(folder / "pools.jsonl", 6, 3)
        script = Script(latency=LATENCY, on_paid=trap)
        with ScriptedServer(script).in_thread() as server:
            command = judging(folder, server.url, "--max-concurrency", "8", judges=judges)
            if name == "killed":
                with trap.being_set():
                    running = start(command)
                    trap.set((60, LATENCY / 2, running.kill))
                assert ended(running)[0] == -9
                safe = committed(folder / "run")
                assert 20 < len(safe) < 80
            done(command)
        scores[name] = (folder / "scores.csv").read_bytes()
        assert sum(script.counts.paid_again.values()) <= (8 if name == "killed" else 0)
    assert {trap.paid[digest] for digest in safe} == {1}
    assert scores["killed"] == scores["undisturbed"]


def test_a_reranker_survives_a_kill(tmp_path):
    """Killed after some answers, the same command pays again at most what was on the wire."""
    running, at_once = [], 4

    def answer(path, body):
        time.sleep(LATENCY)
        if len(served.asked) >= 15 and running:
            running[0].kill()
        return by_length(path, body)

    pool_file(tmp_path / "pools.jsonl", 30, 3)
    with reranking(answer) as served:
        command = judging(tmp_path, served.url, "--max-concurrency", str(at_once), judges=["rerank:tei/m"])
        command[command.index("--base-url") + 1] = served.url
        running.append(start(command))
        assert ended(running[0])[0] == -9
        running.clear()
        done(command)
    rows = (tmp_path / "scores.csv").read_text().splitlines()[1:]
    assert len(rows) == 90
    assert all(float(row.split(",")[3]) > 0 for row in rows)
    assert len({content for _, content, _ in served.asked}) == 30
    assert 30 <= len(served.asked) <= 30 + at_once


# Processes that share a ledger share the work; a finished run needs neither server nor key.


PROMPTS_OF_SHARING = 30
CALLS_OF_SHARING = 4 * PROMPTS_OF_SHARING


@pytest.fixture
def folder_of_sharing(tmp_path):
    """Return a folder with pools."""
    pool_file(tmp_path / "pools.jsonl", PROMPTS_OF_SHARING)
    return tmp_path


def test_two_runs_at_once_pay_what_one_pays(folder_of_sharing):
    """The same command twice at once, on one ledger: each answer is paid once, and both write the same scores."""
    script = Script(latency=0.03)
    with ScriptedServer(script).in_thread() as server:
        running = [start(judging(folder_of_sharing, server.url, out=out)) for out in ("one.csv", "other.csv")]
        assert [ended(one)[0] for one in running] == [0, 0]
    assert script.counts.paid_again == {}
    assert script.counts.answers == script.counts.requests == CALLS_OF_SHARING
    assert (folder_of_sharing / "one.csv").read_bytes() == (folder_of_sharing / "other.csv").read_bytes()
    with Ledger.open(folder_of_sharing / "run") as ledger:
        assert ledger.stats().calls == {"answered": CALLS_OF_SHARING}


def test_a_finished_run_needs_neither_server_nor_key(folder_of_sharing):
    """With the server gone and no key the same command writes the same bytes, and its ledger can be looked into."""
    script = Script()
    with ScriptedServer(script).in_thread() as server:
        url = server.url
        done(judging(folder_of_sharing, url), OPENAI_API_KEY="sk-of-the-first-run")
    first = (folder_of_sharing / "scores.csv").read_bytes()
    said = done(judging(folder_of_sharing, url, out="again.csv"))
    assert "0 calls sent" in said
    assert (folder_of_sharing / "again.csv").read_bytes() == first
    done(["ledger", "stats", str(folder_of_sharing / "run"), "--json", str(folder_of_sharing / "stats.json")])
    document = json.loads((folder_of_sharing / "stats.json").read_text(encoding="utf-8"))
    assert (document["calls"], document["answers"], document["integrity"]) == (
        {"answered": CALLS_OF_SHARING},
        CALLS_OF_SHARING,
        "ok",
    )
    done(["ledger", "export", str(folder_of_sharing / "run"), "--out", str(folder_of_sharing / "rows.jsonl")])
    rows = [json.loads(line) for line in (folder_of_sharing / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["key"] for row in rows}) == CALLS_OF_SHARING
    assert done(["ledger", "show", str(folder_of_sharing / "run"), "--key", rows[0]["key"]]).count('"key"') == 1
