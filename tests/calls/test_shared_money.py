"""A limit on money with a window: what all processes spend on a ledger, on any clock, and after any end."""

from __future__ import annotations

import asyncio
import math
import random
import sqlite3
import time
from contextlib import closing

import pytest

import bonwise as bw
from bonwise.calls.bill import PICO
from bonwise.calls.cost_limit import LIMIT_REACHED, CostLimit
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.damage import repair
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.shared_money import SharedMoney
from bonwise.calls.spending import Spending, SpendingLimitReached
from bonwise.errors import UsageError
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from calls.ledgers import ask, key, process
from calls.scripted_runs import in_memory, judged, pools, tally
from cli.commands import pool_file, typed

HOUR, DAY, MONTH = 3600.0, 86_400.0, 30 * 86_400.0
NOON = 1_790_000_040.0
"""A whole minute, so that what is spent at it stands alone."""


class Clock:
    """A clock that goes where it is told."""

    def __init__(self, now=NOON):
        self.now = now

    def __call__(self):
        """Return the time."""
        return self.now


@pytest.fixture(autouse=True)
def prices(monkeypatch):
    """Take the built-in prices, and the scripted service's key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    for name in ("OPENAI_BASE_URL", "BONWISE_PRICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ledger(tmp_path):
    """Return an open ledger."""
    with Ledger.open(tmp_path / "run") as opened:
        yield opened


def shared(ledger, limit, clock=None):
    """Return the money of a ledger by a clock."""
    money = SharedMoney(ledger, CostLimit.of("max_cost", limit))
    money._clock = clock or time.time
    return money


async def spend(ledger, limit, clock, cost, *, most=None, end="settle"):
    """Let one call reserve `most`, and end it at `cost`."""
    most = cost if most is None else most
    reservation = await Spending(max_cost=limit).reserve(1000, most)
    await shared(ledger, limit, clock).cover(reservation)
    if end == "settle":
        reservation.settle(10, cost)
    elif end == "lost":
        reservation.lost()
    elif end == "cancel":
        reservation.cancel()
    return reservation


def fits(ledger, limit, clock, cost):
    """Tell whether a call still fits, and give the room back."""
    try:
        asyncio.run(asyncio.wait_for(spend(ledger, limit, clock, cost, end="cancel"), 0.2))
    except SpendingLimitReached as reached:
        return LIMIT_REACHED.search(reached.reason) is None
    return True


def spent(ledger):
    """Return the dollars that the ledger counts, spent and held, once all is written."""
    asyncio.run(ask(ledger, key(random.random())))  # noqa: S311 - after it, what had queued is written
    tables = ("SELECT total(cost) FROM spent", "SELECT total(cost) FROM held")
    with closing(sqlite3.connect(ledger.path)) as connection:
        return tuple(connection.execute(statement).fetchone()[0] / PICO for statement in tables)


LIMITS = [
    (5, (5.0, None), "5"),
    (5.0, (5.0, None), "5"),
    (0, (0.0, None), "0"),
    ("5", (5.0, None), "5"),
    ("0.5", (0.5, None), "0.5"),
    ((5.0, "day"), (5.0, "day"), "5/day"),
    ([5, "hour"], (5.0, "hour"), "5/hour"),
    ("5/day", (5.0, "day"), "5/day"),
    (" 0.25/hour ", (0.25, "hour"), "0.25/hour"),
    ("1e3/month", (1000.0, "month"), "1000/month"),
]


@pytest.mark.parametrize(("given", "expected", "shown"), LIMITS)
def test_a_limit_is_read(given, expected, shown):
    """As a number, as a pair and as text."""
    limit = CostLimit.of("max_cost", given)
    assert ((limit.dollars, limit.window), str(limit)) == (expected, shown)


@pytest.mark.parametrize(
    "given",
    [
        *(
            -1,
            math.nan,
            math.inf,
            True,
            "",
            "x",
            "5/week",
            "5/",
            "/day",
            "-5/day",
            "5/day/day",
            "5 per day",
            "nan/day",
        ),
        *((5.0,), (5.0, "week"), (5.0, None), ("5", "day"), (-1, "day"), (5.0, "day", 1), (math.inf, "day"), {}),
        *(b"5/day", "5,0/day", (True, "day"), "1e999/day"),
    ],
)
def test_what_is_no_limit_is_refused(given, ledger):
    """Where it is read, and wherever it is given."""
    for make in (lambda: CostLimit.of("max_cost", given), lambda: Engine(ledger, max_cost=given)):
        with pytest.raises(UsageError, match=r"^max_cost (is .*(day|US dollars)|must be a finite number)"):
            make()


@pytest.mark.parametrize(
    "opened",
    [
        lambda: Engine(max_cost=(5.0, "day")),
        lambda: Engine(max_cost="5/day"),
        lambda: bw.Selector(bw.Pointwise("openai/gpt-5-mini"), max_cost="5/day"),
        lambda: bw.judge([("p", ["a"])], judge=bw.Pointwise("openai/gpt-5-mini"), max_cost=[5, "day"]),
    ],
)
def test_a_window_needs_a_ledger(opened):
    """Nothing else knows what other processes spend; dollars alone need none."""
    with pytest.raises(UsageError, match="max_cost=5/day needs a ledger"):
        opened()
    Engine(max_cost=5.0)


WINDOWS = {"hour": HOUR, "day": DAY, "month": MONTH}


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_rolls(ledger, window):
    """What was spent counts until the moment at which it was spent has left the window, and not a minute longer."""
    clock, limit = Clock(), (1.0, window)
    asyncio.run(spend(ledger, limit, clock, 0.6))
    clock.now += WINDOWS[window] / 2
    assert fits(ledger, limit, clock, 0.4)
    assert not fits(ledger, limit, clock, 0.41)
    asyncio.run(spend(ledger, limit, clock, 0.4))
    clock.now = NOON + WINDOWS[window] - 1.0
    assert not fits(ledger, limit, clock, 0.01)
    clock.now = NOON + WINDOWS[window] + 60.0
    assert fits(ledger, limit, clock, 0.6)
    assert not fits(ledger, limit, clock, 0.61)
    clock.now = NOON + 1.5 * WINDOWS[window] + 60.0
    assert fits(ledger, limit, clock, 1.0)


@pytest.mark.parametrize("back", [1.0, HOUR, DAY, 400 * DAY, NOON - 1.0, NOON + DAY])
def test_a_clock_that_goes_back_frees_no_money(ledger, back):
    """Neither while it is behind nor once it is right: what was spent meanwhile is spent as late as the rest."""
    clock, limit = Clock(), (1.0, "day")
    asyncio.run(spend(ledger, limit, clock, 0.5))
    clock.now -= back
    assert not fits(ledger, limit, clock, 0.51)
    asyncio.run(spend(ledger, limit, clock, 0.5))
    assert not fits(ledger, limit, clock, 0.01)
    clock.now = NOON + DAY - 1.0
    assert not fits(ledger, limit, clock, 0.01)
    clock.now = NOON + DAY + 60.0
    assert fits(ledger, limit, clock, 1.0)


def test_a_clock_that_stands_still_frees_no_money(ledger):
    """Twenty calls at the same moment spend the limit."""
    clock, limit = Clock(), (1.0, "hour")
    for _ in range(20):
        asyncio.run(spend(ledger, limit, clock, 0.05))
    assert not fits(ledger, limit, clock, 0.01)
    assert spent(ledger)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("ahead", [DAY + 60.0, 400 * DAY, 1e11])
def test_a_clock_that_jumps_ahead_frees_each_dollar_once(ledger, ahead):
    """The window that has passed is free; what is spent in the new one counts, also when the clock is put right."""
    clock, limit = Clock(), (1.0, "day")
    asyncio.run(spend(ledger, limit, clock, 1.0))
    clock.now += ahead
    assert fits(ledger, limit, clock, 1.0)
    asyncio.run(spend(ledger, limit, clock, 1.0))
    assert not fits(ledger, limit, clock, 0.01)
    clock.now -= ahead
    assert not fits(ledger, limit, clock, 0.01)
    clock.now += ahead + DAY + 60.0
    assert fits(ledger, limit, clock, 1.0)


def test_windows_of_several_lengths_count_the_same_money(ledger):
    """Each limit sees all that was spent, and so does one that was set later."""
    clock = Clock()
    asyncio.run(spend(ledger, (9.0, "month"), clock, 3.0))
    clock.now += 2 * HOUR
    asyncio.run(spend(ledger, (9.0, "month"), clock, 1.0))
    assert [fits(ledger, (4.5, window), clock, 0.6) for window in WINDOWS] == [True, False, False]


ENDS = [("settle", 0.2, 0.2), ("lost", 0.2, 0.8), ("cancel", 0.2, 0.0)]


@pytest.mark.parametrize(("end", "cost", "charged"), ENDS)
def test_a_call_counts_as_it_ended(ledger, end, cost, charged):
    """Its cost where it is known, its worst case where it may have been billed, nothing where it was not sent."""
    asyncio.run(spend(ledger, (1.0, "day"), Clock(), cost, most=0.8, end=end))
    assert spent(ledger) == (pytest.approx(charged), 0.0)


def test_small_costs_do_not_drift(ledger):
    """Ten thousand calls of a hundred thousandth come to a tenth, exactly; one more does not fit."""
    clock, limit = Clock(), (0.1, "day")

    async def run():
        money, spending = shared(ledger, limit, clock), Spending(max_cost=limit)
        for _ in range(100):
            reservation = await spending.reserve(1, 1e-3)
            await money.cover(reservation)
            reservation.settle(1, 1e-3)

    asyncio.run(run())
    assert spent(ledger) == (0.1, 0.0)
    assert not fits(ledger, limit, clock, 1e-12)


def test_a_huge_cost_is_held_against_the_limit(ledger):
    """A server that counts beyond all measure stops the window; the ledger stays usable."""
    clock = Clock()
    for _ in range(12):
        asyncio.run(spend(ledger, (1e15, "day"), clock, 5e8, most=1.0))
    assert spent(ledger)[0] > 1e6
    assert not fits(ledger, (5.0, "day"), clock, 0.01)
    assert ledger.check().damage == ()


def test_calls_wait_for_room_that_others_give_back(ledger):
    """What does not fit now may once calls in flight have cost less than their worst case; in the order of coming."""

    async def run():
        limit, clock = (1.0, "day"), Clock()
        first = await spend(ledger, limit, clock, 0.0, most=0.9, end="")
        waiting = [asyncio.create_task(spend(ledger, limit, clock, 0.1, most=0.9)) for _ in range(3)]
        await asyncio.sleep(0.15)
        assert not any(task.done() for task in waiting)
        first.settle(1, 0.05)
        done = await asyncio.gather(*waiting, return_exceptions=True)
        return [type(one).__name__ for one in done]

    # 0.05 and 0.1 are spent when the second has ended: 0.9 more do not fit even if nothing else is in flight.
    assert asyncio.run(run()) == ["Reservation", "SpendingLimitReached", "SpendingLimitReached"]
    assert spent(ledger) == (pytest.approx(0.15), 0.0)


@pytest.mark.parametrize("cancel_after", [0.0, 0.001, 0.01, 0.1])
def test_a_call_that_is_given_up_while_it_waits_holds_nothing(ledger, cancel_after):
    """Whenever that happens."""

    async def run():
        first = await spend(ledger, (1.0, "day"), Clock(), 0.0, most=0.6, end="")
        for most in (0.3, 0.6):
            task = asyncio.create_task(spend(ledger, (1.0, "day"), Clock(), 0.0, most=most, end="cancel"))
            await asyncio.sleep(cancel_after)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        first.cancel()

    asyncio.run(run())
    assert spent(ledger) == (0.0, 0.0)


SENDS_AND_WAITS = """
import asyncio, sys
from bonwise.calls.cost_limit import CostLimit
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.shared_money import SharedMoney
from bonwise.calls.spending import Spending

async def main():
    ledger = Ledger.open(sys.argv[1])
    reservation = await Spending(max_cost=(1.0, "day")).reserve(1, 0.7)
    await SharedMoney(ledger, CostLimit(1.0, "day")).cover(reservation)
    print("held", flush=True)
    sys.stdin.readline()
    reservation.settle(1, 0.1)
    ledger.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("ends", ["killed", "by itself"])
def test_processes_share_the_money(ledger, ends):
    """What another process holds leaves no room; once it is killed its worst case is spent, else what it took."""
    other = process(SENDS_AND_WAITS, ledger.path)
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(TimeoutError):
            fits(ledger, (1.0, "day"), None, 0.4)
        if ends == "killed":
            other.kill()
        other.communicate("\n")
    finally:
        other.kill()
        other.wait()
    assert fits(ledger, (1.0, "day"), None, 0.4) is (ends == "by itself")
    assert spent(ledger) == (pytest.approx(0.1 if ends == "by itself" else 0.7), 0.0)


SPENDS = """
import asyncio, random, sys
from bonwise.calls.cost_limit import CostLimit
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.shared_money import SharedMoney
from bonwise.calls.spending import Spending, SpendingLimitReached

async def main():
    real, draw = 0, random.Random(sys.argv[2])
    with Ledger.open(sys.argv[1]) as ledger:
        spending = Spending(max_cost=(1.0, "day"))
        money = SharedMoney(ledger, CostLimit(1.0, "day"))

        async def call():
            nonlocal real
            for _ in range(40):
                reservation = await spending.reserve(1, 0.01)
                try:
                    await money.cover(reservation)
                except SpendingLimitReached:
                    reservation.cancel()
                    return
                used = draw.randint(0, 10)
                real += used
                reservation.settle(1, used / 1000)

        await asyncio.gather(*(call() for _ in range(4)))
    print(real)

asyncio.run(main())
"""


@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_at_once_keep_to_one_limit(ledger, count):
    """At least 480 calls of half a cent each on average, of which one dollar pays for 200."""
    others = [process(SPENDS, ledger.path, seed) for seed in range(count)]
    real = sum(int(other.communicate()[0]) for other in others) / 1000
    assert 0.98 < real <= 1.0
    assert spent(ledger) == (pytest.approx(real), 0.0)


def test_what_was_paid_without_such_a_limit_counts_too(tmp_path):
    """Whoever limits the day later finds what the same ledger has cost today, by whatever limit."""
    _, engine = asyncio.run(judged(pools(8), ledger=tmp_path, connection=in_memory(Script())))
    paid = engine.spending.cost
    assert paid > 0
    with Ledger.open(tmp_path) as ledger:
        assert spent(ledger) == (pytest.approx(paid), 0.0)
        assert not fits(ledger, (paid, "day"), None, 1e-9)
        assert fits(ledger, (paid + 1e-3, "day"), None, 1e-4)


def test_a_ledger_of_an_older_version_knows_what_its_calls_have_cost(tmp_path):
    """The costs of its answers are those of their moment."""
    _, engine = asyncio.run(judged(pools(8), ledger=tmp_path, connection=in_memory(Script())))
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection:
        later = ("DROP TABLE spent", "DROP TABLE held", "DROP TABLE batch", "DROP INDEX call_of_batch")
        for statement in (*later, "ALTER TABLE call DROP COLUMN batch", "PRAGMA user_version = 3"):
            connection.execute(statement)
    with Ledger.open(tmp_path) as ledger:
        assert spent(ledger) == (pytest.approx(engine.spending.cost), 0.0)


def test_a_repaired_ledger_keeps_what_was_spent(tmp_path):
    """It is copied like all else."""
    with Ledger.open(tmp_path) as ledger:
        asyncio.run(ask(ledger, key(0)))
        asyncio.run(spend(ledger, (5.0, "day"), Clock(), 3.0))
    repair(tmp_path / "ledger.sqlite")
    with Ledger.open(tmp_path) as ledger:
        assert spent(ledger) == (3.0, 0.0)


def test_a_run_within_a_window_goes_on_when_the_window_has_passed(tmp_path, monkeypatch):
    """Two runs on one ledger have one day's money; the day after, the same command asks for what is missing."""

    async def run():
        return await judged(pools(40), ledger=tmp_path, max_cost=(0.01, "day"), connection=in_memory(Script()))

    verdicts, engine = asyncio.run(run())
    first = tally(verdicts)
    assert first["scored"] > 0
    assert first["owed"] > 0
    assert engine.spending.cost <= 0.01
    assert set(engine.totals.owed_because) == {"max_cost=0.01/day leaves no room for the worst case of another call"}
    again, engine = asyncio.run(run())
    assert (tally(again), engine.spending.calls) == (first, 0)
    clock = Clock(engine.terms.money._clock() + DAY + 60)
    monkeypatch.setattr("bonwise.calls.shared_money.time.time", clock)
    later, _ = asyncio.run(run())
    assert tally(later)["scored"] > first["scored"]


def test_a_command_keeps_to_the_day_of_its_run(tmp_path, capsys, monkeypatch):
    """`--max-cost 0.01/day` ends with code 4 and says why; the same command and another spend no more today."""
    with ScriptedServer(Script()).in_thread() as server:
        entry = f'[[price]]\nprovider = "openai"\nbase_url = "{server.url}/v1"\nmodels = ["*"]\n'
        (tmp_path / "prices.toml").write_text(f"{entry}input = 0.25\noutput = 2.0\n")
        monkeypatch.setenv("BONWISE_PRICES", str(tmp_path / "prices.toml"))
        pools_of_two = pool_file(tmp_path / "pools.jsonl", {f"p{at}": ["a", "b"] for at in range(60)})
        asking = (
            "--judge",
            "pointwise:openai/gpt-5-mini",
            "--base-url",
            f"{server.url}/v1",
            "--max-cost",
            "0.01/day",
        )
        judge = ("judge", pools_of_two, *asking, "--run", tmp_path / "run", "--out", tmp_path / "scores.csv")
        done = typed(capsys, *judge)
        again = typed(capsys, *judge)
        select = ("select", pools_of_two, *asking, "--on-failure", "owe", "--run", tmp_path / "run")
        picked = typed(capsys, *select)
    reason = "max_cost=0.01/day leaves no room for the worst case of another call"
    for ended in (done, again, picked):
        assert ended.code == 4, ended.err
        assert reason in ended.err
    assert " 0 calls sent" in again.err
    with Ledger.open(tmp_path / "run") as ledger:
        assert 0 < spent(ledger)[0] <= 0.01


@pytest.mark.parametrize(
    ("given", "wrong"),
    [("5/week", "there is no window 'week'"), ("x", "max_cost is 'x'"), ("-5/day", "max_cost is '-5/day'")],
)
def test_a_command_refuses_what_is_no_limit(tmp_path, capsys, given, wrong):
    """In one line, with code 2, and before anything is asked."""
    asked = ("judge", pool_file(tmp_path / "pools.jsonl", {"p": ["a"]}), "--judge", "pointwise:openai/gpt-5-mini")
    done = typed(capsys, *asked, f"--max-cost={given}", "--run", tmp_path / "run", "--out", tmp_path / "s.csv")
    assert done.code == 2
    assert wrong in done.err
