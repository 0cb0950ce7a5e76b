"""Batches survive a kill at any moment between the plan and the last result: submitted once, and nothing is lost."""

from __future__ import annotations

import os
import random
import shlex
import signal
import threading
from contextlib import suppress

import pytest

from bonwise.calls.ledger.ledger import Ledger
from bonwise.testing.script import Script
from crash.batch_service import BatchService
from crash.forked import starter
from crash.runs import judging, pool_file
from docs.pages import blocks

PROMPTS, CANDIDATES = 6, 4
REQUESTS = PROMPTS * CANDIDATES
JUDGES = {"openai": "pointwise:openai/gpt-5-mini", "anthropic": "pointwise:anthropic/claude-opus-5"}
TRIALS = 50
"""Kills for each provider."""
EVERY_DAY = 5
"""Of these, those of every run of the tests."""
LONGEST = 0.6
"""Seconds after an event within which a kill may come, where it does not come at once."""


def command(folder, service, provider, *more, out="scores.csv"):
    """Return the arguments of a run in batches."""
    url = service.url if provider == "openai" else service.url.removesuffix("/v1")
    arguments = judging(folder, url, "--batch", *more, out=out, judges=(JUDGES[provider],))
    return arguments if provider == "openai" else [one.removesuffix("/v1") for one in arguments]


@pytest.fixture(scope="module")
def commands():
    """Return what starts commands."""
    with starter() as process:
        yield process


class Killer:
    """Kills a process while it plans, or at an event of a service: at once or a moment later."""

    def __init__(self, draw, events):
        self.at = draw.randrange(-2, events)
        self.later = draw.choice((0.0, 0.0, draw.uniform(0, 0.01), draw.uniform(0, LONGEST)))
        self.seen, self.victim, self.ended = 0, None, False

    def begin(self, victim):
        """Aim at a process that was just started."""
        self.victim = victim
        if self.at < 0:
            threading.Timer(self.later, self.strike).start()

    def __call__(self, _name):
        """Count an event."""
        self.seen += 1
        if self.seen == self.at + 1:
            threading.Timer(self.later, self.strike).start() if self.later else self.strike()

    def strike(self):
        """Kill it, unless it has ended."""
        if not self.ended:
            with suppress(ProcessLookupError):
                os.kill(self.victim, signal.SIGKILL)


@pytest.mark.parametrize("provider", JUDGES)
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed < EVERY_DAY else pytest.mark.slow) for seed in range(TRIALS)]
)
def test_a_kill_submits_nothing_twice_and_loses_nothing(tmp_path, commands, provider, seed, request):
    """After kills at drawn moments the same command ends as a run that nobody disturbs."""
    draw = random.Random(f"{provider} {seed}")  # noqa: S311 - moments of kills, no secret
    pool_file(tmp_path / "pools.jsonl", PROMPTS, CANDIDATES)
    kills = 0
    with BatchService(Script(), polls=draw.randrange(4), page=draw.choice((1, 20))).served() as service:
        for _ in range(draw.choice((1, 1, 2))):
            killer = Killer(draw, events=6)
            with service.lock:
                service.on_event = killer
                killer.begin(commands.start(command(tmp_path, service, provider), tmp_path))
            code = commands.ended(killer.victim)
            killer.ended = True
            assert code in {-9, 0}, (tmp_path / "err").read_text()
            kills += code == -9
        service.on_event = lambda _name: None
        assert commands.ended(commands.start(command(tmp_path, service, provider), tmp_path)) == 0, (
            tmp_path / "err"
        ).read_text()
        scores = (tmp_path / "scores.csv").read_text()
        assert service.submitted.total() == len(service.submitted) == REQUESTS
        events = len(service.events)
        assert commands.ended(commands.start(command(tmp_path, service, provider, out="new.csv"), tmp_path)) == 0
        assert (service.live, len(service.events)) == (0, events)
    assert (tmp_path / "new.csv").read_text() == scores
    rows = [row.split(",") for row in scores.splitlines()[1:]]
    assert len(rows) == REQUESTS
    assert all(row[3] and not row[4] for row in rows)
    with Ledger.open(tmp_path / "run") as ledger:
        assert not ledger.check().damage
        assert ledger.stats().calls == {"answered": REQUESTS}
        assert ledger.batches() == []
    assert not list((tmp_path / "run").glob("tmp*"))
    request.node.user_properties += [("kills", kills), ("events", service.events)]


def test_the_page_is_typed(tmp_path, commands):
    """The commands of docs/batches.md: an estimate, a run that waits, and the same that does not."""
    pool_file(tmp_path / "pools.jsonl", 2, 2)
    lines = "\n".join(blocks("docs/batches.md", "sh")).splitlines()
    with BatchService(polls=1).served() as service:
        for line in lines:
            _, *arguments = shlex.split(line.replace("runs/a", str(tmp_path / "a")))
            arguments = [str(tmp_path / one) if one.endswith((".csv", ".jsonl")) else one for one in arguments]
            assert commands.ended(commands.start([*arguments, "--base-url", f"{service.url}/v1"], tmp_path)) == 0
        assert service.events.count("submitted") == 1
    assert len(lines) == 3


@pytest.mark.parametrize("provider", JUDGES)
def test_a_command_that_does_not_wait_leaves_answers_pending(tmp_path, commands, provider):
    """Exit code 4 until they are there; what was perhaps submitted is sent again on demand."""
    pool_file(tmp_path / "pools.jsonl", 2, 2)
    with BatchService(polls=3).served() as service:
        codes = []
        while not codes or (codes[-1] == 4 and len(codes) < 9):
            arguments = command(tmp_path, service, provider, "--no-wait", "--resubmit")
            codes.append(commands.ended(commands.start(arguments, tmp_path)))
        assert codes[0] == 4
        assert codes[-1] == 0
        assert service.submitted.total() == 4
