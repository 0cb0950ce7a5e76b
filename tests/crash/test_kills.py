"""A process that is killed at any moment loses no answer that was on the disk, and nothing is paid twice."""

from __future__ import annotations

import random

import pytest

from bonwise.calls.ledger.ledger import Ledger
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from crash.runs import Trap, committed, done, judging, pool_file, start
from processes import ended

LATENCY = 0.03
AT_ONCE = 16
PROMPTS = 60
CALLS = 4 * PROMPTS
TRIALS = 34
EVERY_DAY = {0, 1}
"""The trials of every run of the tests: four kills."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the scores of a run that nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    pool_file(folder / "pools.jsonl", PROMPTS)
    script = Script()
    with ScriptedServer(script).in_thread() as server:
        done(judging(folder, server.url))
    assert script.counts.requests == CALLS
    return (folder / "scores.csv").read_bytes()


class Trial:
    """One ledger, some kills."""

    def __init__(self, folder, seed):
        self.folder, self.draw = folder, random.Random(seed)  # noqa: S311 - moments of kills, no secret
        self.kills, self.most_lost, self.safe = 0, 0, {}
        self.trap = Trap()
        self.script = Script(latency=LATENCY, on_paid=self.trap)
        pool_file(folder / "pools.jsonl", PROMPTS)

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

        return self.draw.randint(1, CALLS // 4), self.draw.uniform(0, LATENCY), strike

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
    assert len(trial.script.counts.paid) == CALLS
    assert sum(again.values()) <= unknown <= trial.most_lost
    assert {digest: trial.trap.paid[digest] for digest in trial.safe} == trial.safe
    figures = {"kills": trial.kills, "unknown": unknown, "again": sum(again.values()), "safe": len(trial.safe)}
    for name, value in figures.items():
        request.node.user_properties.append((name, value))
