"""Processes and the server are killed at random: nothing answered is paid again, no budget or pace is exceeded."""

from __future__ import annotations

import bisect
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from bonwise.calls.ledger.postgres import PostgresLedger, split_address
from cluster.claims import AT_ONCE
from cluster.pace import TOKENS

HERE = Path(__file__).parent
PROCESSES = 4


class Fleet:
    """Processes that run one script, and the lines that they write."""

    def __init__(self, script, *arguments):
        self._command = [sys.executable, str(HERE / script), *map(str, arguments)]
        self.kills = 0
        self.lines = []
        self._readers = []
        self.processes = [self._start() for _ in range(PROCESSES)]

    def _start(self):
        folders = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
        process = subprocess.Popen(self._command, stdout=subprocess.PIPE, env=environment)
        reader = threading.Thread(target=self._read, args=(process,))
        reader.start()
        self._readers.append(reader)
        return process

    def _read(self, process):
        with process.stdout as lines:
            self.lines.extend(line.decode().split() for line in lines)

    def kill(self, chance):
        """Kill one of those that run, and start another in its place."""
        place = chance.randrange(PROCESSES)
        if self.processes[place].poll() is None:
            self.processes[place].kill()
            self.processes[place].wait()
            self.kills += 1
            self.processes[place] = self._start()

    def wait_for(self, lines):
        """Wait until so many lines were written."""
        until = time.monotonic() + 120
        while len(self.lines) < lines:
            assert time.monotonic() < until, self.lines[-5:]
            time.sleep(0.01)

    def count(self, word):
        """Return how often something was said of each number."""
        return Counter(int(line[1]) for line in self.lines if line[0] == word)

    def ended(self, seconds=90):
        """Wait for all, and return their exit codes."""
        codes = [process.wait(timeout=seconds) for process in self.processes]
        for reader in self._readers:
            reader.join()
        return codes

    def close(self):
        """Leave nothing behind."""
        for process in self.processes:
            process.kill()
            process.wait()
        for reader in self._readers:
            reader.join()


@pytest.fixture
def start():
    """Return what starts a fleet."""
    fleets = []

    def begin(*arguments):
        fleets.append(Fleet(*arguments))
        return fleets[-1]

    yield begin
    for fleet in fleets:
        fleet.close()


def strike(fleet, server, chance, kills, each):
    """Kill processes, and each third time the server, whenever so many lines have come."""
    for kill in range(kills):
        fleet.wait_for((kill + 1) * each)
        if kill % 3 == 1:
            server.kill()
            time.sleep(chance.uniform(0.0, 0.4))
            server.start()
        else:
            fleet.kill(chance)


@pytest.mark.parametrize(("keys", "kills"), [(600, 4), pytest.param(2000, 12, marks=pytest.mark.slow)])
def test_nothing_is_paid_twice_but_what_was_in_flight(server, address, start, keys, kills):
    """Each key is answered once; what was paid again stands as unknown."""
    fleet = start("claims.py", address, keys, keys, 0, 1000)
    chance = random.Random(keys)  # noqa: S311 - no secret
    strike(fleet, server, chance, kills, 2 * keys // (kills + 2))
    assert fleet.ended() == [0] * PROCESSES
    paid, kept = fleet.count("paid"), fleet.count("kept")
    assert set(paid) == set(range(keys))
    assert max(kept.values()) == 1
    again = sum(paid.values()) - keys
    assert again <= AT_ONCE * fleet.kills
    with PostgresLedger(address) as ledger:
        stats = ledger.stats()
    assert stats.samples == keys
    # Each call that was paid again stands as one that may have been billed.
    assert again <= stats.calls.get("unknown", 0) <= AT_ONCE * fleet.kills
    whole = "SELECT count(*) FROM call JOIN request ON id = call"
    assert server.sql(whole, split_address(address)[1]) == [str(sum(stats.calls.values()))]


@pytest.mark.parametrize(("keys", "kills"), [(500, 3), pytest.param(2000, 9, marks=pytest.mark.slow)])
def test_a_budget_is_never_exceeded(server, address, start, keys, kills):
    """Whoever is killed, what was set aside counts as spent."""
    cost = 1000
    most = 6 * keys // 10 * cost  # calls take .75 of their worst case: .8 of the keys can be paid
    fleet = start("claims.py", address, keys, keys, most, cost)
    chance = random.Random(keys)  # noqa: S311 - no secret
    strike(fleet, server, chance, kills, keys // (kills + 2))
    assert fleet.ended() == [0] * PROCESSES
    spent = sum(int(line[2]) for line in fleet.lines if line[0] == "paid")
    assert [line for line in fleet.lines if line[0] == "broke"]
    schema = split_address(address)[1]
    assert server.sql("SELECT coalesce(sum(cost), 0) FROM lease", schema) == ["0"]
    counted = int(server.sql("SELECT sum(cost) FROM spent", schema)[0])
    # What a killed process had set aside counts as spent, at least what it really paid, and an eighth at most.
    assert spent <= counted <= most
    assert spent >= most * (1 - fleet.kills / 8) - AT_ONCE * cost


def windows(times, seconds):
    """Return how many of the sorted times are in each window that one of them begins."""
    return [
        bisect.bisect_left(times, begun + seconds) - at
        for at, begun in enumerate(times)
        if begun + seconds <= times[-1]
    ]


@pytest.mark.parametrize(
    ("kind", "seconds", "window"),
    [
        ("requests", 8, 5.0),
        ("tokens", 8, 5.0),
        pytest.param("requests", 130, 60.0, marks=pytest.mark.slow),
        pytest.param("tokens", 130, 60.0, marks=pytest.mark.slow),
    ],
)
def test_processes_together_keep_the_pace_of_one(address, start, kind, seconds, window):
    """Within 2 % of the limit, over a minute."""
    limit = 3000
    with PostgresLedger(address):
        end = time.time() + seconds + 2.0
    fleet = start("pace.py", address, kind, limit * (TOKENS if kind == "tokens" else 1), end)
    assert fleet.ended(seconds + 60) == [0] * PROCESSES
    begun = sorted(float(line[0]) for line in fleet.lines)
    counts = windows(begun, window)
    share = limit * window / 60.0
    # What a bucket holds may start besides, once a minute: a hundredth of the minute's allowance.
    assert max(counts) <= 1.02 * share + (0.01 * limit if window < 60.0 else 0)
    # The median: a busy machine may hold all of them up for a second.
    assert sorted(counts)[len(counts) // 2] >= 0.98 * share - (0.01 * limit if window < 60.0 else 0)


@pytest.mark.slow
def test_the_pace_is_kept_while_processes_and_the_server_are_killed(server, address, start):
    """No minute holds more than the limit."""
    limit, chance = 1200, random.Random(3)  # noqa: S311 - no secret
    fleet = start("pace.py", address, "requests", limit, time.time() + 75)
    strike(fleet, server, chance, 5, 200)
    fleet.ended(120)
    begun = sorted(float(line[0]) for line in fleet.lines)
    assert max(windows(begun, 60.0)) <= 1.02 * limit
