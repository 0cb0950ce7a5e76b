"""Nothing is lost in a storm of faults, and little is asked twice."""

from __future__ import annotations

import asyncio

import pytest

from bonwise.calls.ledger.ledger import Ledger
from bonwise.testing.faults import Faults
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from calls.scripted_runs import ANTHROPIC, OPENAI, in_memory, judged, pools, tally
from calls.virtual_time import run_virtual

TRANSPORT = {
    "throttled": 0.09,
    "server_error": 0.05,
    "overloaded": 0.05,
    "slow": 0.04,
    "cut": 0.04,
    "malformed": 0.03,
}
"""30 % of all attempts."""
PAID_IN_VAIN = ("cut", "malformed")
PATIENCE = 50.0
"""Seconds; a slow answer takes longer."""


def storm(**changes):
    """Return the faults, and 5 % of refusals."""
    return Faults(**{**TRANSPORT, "refusal": 0.05, "with_retry_after": 0.5, "slow_seconds": 60.0, **changes})


def refused(script):
    """Count the bodies that the script refuses."""
    return sum(script.faults.refused(script.seed, digest) for digest in script.counts.paid)


def holds(script, verdicts, engine, judgments):
    """Hold a run to what a storm must leave: return attempts a judgment."""
    counts, bill = script.counts, engine.totals.bill
    assert tally(verdicts) == {"scored": judgments - refused(script), "unscored": refused(script)}
    assert bill.owed == 0
    assert bill.calls == len(counts.paid) == judgments
    assert sum(counts.faults[kind] for kind in TRANSPORT) / counts.requests == pytest.approx(0.3, abs=0.06)
    assert engine.totals.retries == counts.requests - judgments
    return counts.requests / judgments


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set keys: the servers of the providers themselves are played."""
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-scripted")
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)


@pytest.mark.parametrize(
    ("judge", "judgments"),
    [
        (OPENAI, 600),
        (ANTHROPIC, 300),
        pytest.param(OPENAI, 5000, marks=pytest.mark.slow),
        pytest.param(ANTHROPIC, 5000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("patience", [600.0, PATIENCE], ids=["slow answers wait", "slow answers time out"])
def test_a_storm_loses_nothing(tmp_path, judge, judgments, patience, request):
    """30 % of attempts fail and 5 % are refused: every judgment is answered, in at most 1.6 attempts each."""
    script = Script(faults=storm(), seed=judgments, latency=0.5)
    settings = {"ledger": tmp_path, "connection": in_memory(script, timeout=patience)}
    verdicts, engine = run_virtual(judged(pools(judgments), judge, **settings))
    ratio = holds(script, verdicts, engine, judgments)
    lost = [*PAID_IN_VAIN, "slow"] if patience < storm().slow_seconds else PAID_IN_VAIN
    in_vain = sum(script.counts.faults[kind] for kind in lost)
    assert ratio <= 1.6
    assert engine.totals.bill.unknown == in_vain
    assert script.counts.answers == judgments + in_vain
    with Ledger.open(tmp_path) as ledger:
        stats = ledger.stats()
    assert (stats.calls, stats.samples, stats.lost_attempts) == ({"answered": judgments}, judgments, in_vain)
    request.node.user_properties.append(("attempts a judgment", ratio))


@pytest.mark.parametrize("judgments", [80, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("judge", [OPENAI, ANTHROPIC])
def test_a_storm_over_real_sockets_loses_nothing(tmp_path, judge, judgments):
    """The same over HTTP: broken connections are broken, and the same run again asks nothing."""
    faults = storm(with_retry_after=1.0, retry_after=0.05, slow_seconds=0.2)
    script = Script(faults=faults, seed=judgments, latency=0.01)
    with ScriptedServer(script).in_thread() as server:
        url = f"{server.url}/v1" if judge == OPENAI else server.url
        verdicts, engine = asyncio.run(judged(pools(judgments), judge, base_url=url, ledger=tmp_path))
        assert holds(script, verdicts, engine, judgments) <= 1.6
        requests = script.counts.requests
        again, engine = asyncio.run(judged(pools(judgments), judge, base_url=url, ledger=tmp_path))
    assert again == verdicts
    assert engine.totals.bill.from_ledger == judgments
    assert script.counts.requests == requests
