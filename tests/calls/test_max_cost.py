"""A limit in US dollars is never exceeded, whatever a server bills within its bounds, and nothing is paid twice."""

from __future__ import annotations

import json
import re

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.prices import Prices
from bonwise.testing.faults import Faults
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from calls.scripted_runs import in_memory, judged, pools, tally
from calls.virtual_time import run_virtual
from cli.commands import pool_file, typed

JUDGMENTS = 160
STORM = Faults(throttled=0.06, server_error=0.06, cut=0.06, malformed=0.06, slow=0.06, slow_seconds=60.0)


class Till:
    """Counts what a script bills: give it as ``usage``."""

    def __init__(self, share, prices=None, base_url=None):
        prices = prices or Prices.load()
        self.price = prices.price("openai", "gpt-5-mini", base_url)
        self.share = share
        self.cost = 0.0

    def __call__(self, request, _reply):
        """Bill a share of the most that a call may take: bytes of the words as input, ``max_tokens`` as output."""
        words = len(json.dumps(request.body, ensure_ascii=False).encode())
        usage = Usage(uncached=round(self.share * words), output=round(self.share * request.max_tokens))
        self.cost += Prices.cost(self.price, usage)
        return usage


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set a key: OpenAI's own server, whose prices are known, is played."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    for name in ("OPENAI_BASE_URL", "BONWISE_PRICES"):
        monkeypatch.delenv(name, raising=False)


def run(folder, script, max_cost):
    """Judge with 64 calls at once and a limit."""
    settings = {"ledger": folder, "max_concurrency": 64, "max_cost": max_cost}
    found = judged(pools(JUDGMENTS), connection=in_memory(script, timeout=50.0), **settings)
    return run_virtual(found)


def whole_cost(share):
    """Return what all judgments cost without faults."""
    till = Till(share)
    run(None, Script(usage=till), None)
    return till.cost


SLOW = pytest.mark.slow


@pytest.mark.parametrize("share", [0.05, pytest.param(0.5, marks=SLOW), 1.0])
@pytest.mark.parametrize("part", [pytest.param(0.02, marks=SLOW), 0.3, pytest.param(0.8, marks=SLOW)])
@pytest.mark.parametrize("faults", [Faults(), STORM], ids=["calm", "storm"])
def test_max_cost_is_never_exceeded(tmp_path, share, part, faults, request):
    """With 64 calls at once the server bills at most the limit; what is owed is asked later, and only that."""
    whole, till = whole_cost(share), Till(share)
    script = Script(usage=till, faults=faults, latency=0.5)
    limit = part * whole
    verdicts, engine = run(tmp_path, script, limit)
    counts = tally(verdicts)
    assert till.cost <= limit
    assert engine.spending.cost <= till.cost + 1e-9
    assert till.cost <= engine.spending.cost + engine.spending.possible_cost + 1e-9
    assert counts["owed"] > 0
    assert counts["owed"] == engine.totals.bill.owed
    assert counts["scored"] == JUDGMENTS - counts["owed"]
    assert any("max_cost" in reason for reason in engine.totals.owed_because)
    request.node.user_properties.append(("used", till.cost / limit))
    request.node.user_properties.append(("reckoned", (engine.spending.cost + engine.spending.possible_cost) / limit))
    # What was held back was at most what was perhaps billed, and one more call at worst.
    room = engine.spending.possible_cost + 2 * whole / JUDGMENTS / share
    assert till.cost >= limit - room
    answered = counts["scored"]
    verdicts, engine = run(tmp_path, script, 100 * whole)
    assert tally(verdicts) == {"scored": JUDGMENTS}
    assert (engine.totals.bill.from_ledger, engine.totals.bill.calls) == (answered, JUDGMENTS - answered)


def test_the_command_keeps_its_limit_and_a_higher_one_pays_the_rest(tmp_path, capsys, monkeypatch):
    """``--max-cost`` ends with exit code 4 and says what is owed; a higher limit pays the rest, and no more."""
    names = [f"p{number}" for number in range(15)]
    file = pool_file(tmp_path / "pools.jsonl", {name: [f"{name}.{at}" for at in range(4)] for name in names})
    with ScriptedServer(Script(latency=0.01)).in_thread() as server:
        url = f"{server.url}/v1"
        mine = tmp_path / "prices.toml"
        mine.write_text(
            f'version = "x"\n[[price]]\nprovider = "openai"\nmodels = ["*"]\nbase_url = "{url}"\n'
            "input = 1.0\noutput = 4.0\n",
            encoding="utf-8",
        )
        till = Till(0.5, Prices.load(mine), url)
        server.script.usage = till
        command = ("judge", file, "--judge", "pointwise:openai/gpt-5-mini", "--base-url", url)
        where = ("--run", tmp_path / "run", "--out", tmp_path / "scores.csv")
        without = typed(capsys, *command, *where, "--max-cost", "0.05")
        assert without.code == 2
        assert "price" in without.err
        assert server.script.counts.requests == 0
        monkeypatch.setenv("BONWISE_PRICES", str(mine))
        first = typed(capsys, *command, *where, "--max-cost", "0.05")
        assert first.code == 4, first.err
        assert 0 < till.cost <= 0.05
        owed = int(re.search(r"incomplete: (\d+) answers are pending", first.err)[1])
        assert owed == 60 - server.script.counts.answers
        second = typed(capsys, *command, *where, "--max-cost", "5")
        assert second.code == 0, second.err
    assert server.script.counts.paid_again == {}
    assert server.script.counts.answers == 60
    with Ledger.open(tmp_path / "run") as ledger:
        assert ledger.stats().cost == pytest.approx(till.cost)
