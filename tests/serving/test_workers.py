"""Several processes that serve one address: limits and metrics hold over all, one that dies is replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from bonwise.serving.metrics import WorkerMetrics
from serving.test_load import SETTINGS, WIDE, Clients, Command, answers_of, drawing

__all__ = ["drawing"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers share a socket")

KEYS = """
[keys]
wide = "sk-wide"
narrow = {value = "sk-narrow", max_concurrency = 3}
poor = {value = "sk-poor", max_cost = 0.5}
"""


def workers_of(command):
    """Return the numbers of the processes that a command has started."""
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdigit():
            try:
                fields = (one / "stat").read_text("utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == command.process.pid and fields[0] != "Z":
                found.append(int(one.name))
    return sorted(found)


def until(fits, seconds=30):
    """Wait until something holds."""
    ends = time.monotonic() + seconds
    while not fits():
        assert time.monotonic() < ends
        time.sleep(0.1)


def values_of(address, key="sk-wide"):
    """Return the metrics as numbers."""
    text = httpx.get(f"{address}/metrics", headers={"authorization": f"Bearer {key}"}, timeout=30).text
    return {
        line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
        for line in text.splitlines()
        if not line.startswith("#")
    }


def test_no_wrong_winner_and_all_are_counted(drawing, tmp_path):
    """Two workers answer; whichever is asked tells the sum of both."""
    upstream, url = drawing
    with Command(tmp_path, SETTINGS.format(url=url), "--workers", "2", "--run", str(tmp_path / "run")) as command:
        assert len(workers_of(command)) == 2
        found = asyncio.run(answers_of(command.address, "auto", 200))
        for prompt, answer in found.items():
            assert answer.choices[0].message.content == upstream.best(prompt)
            assert answer.usage.completion_tokens == sum(map(len, upstream.drawn[prompt]))
        time.sleep(2.5)  # each writes its own about once a second
        told = [values_of(command.address) for _ in range(6)]
        assert {one['bonwise_requests_total{model="auto",status="200"}'] for one in told} == {200.0}
        assert {one["bonwise_requests_in_flight"] for one in told} == {0.0}
        command.process.send_signal(signal.SIGTERM)
        assert command.process.wait(timeout=30) == 0


def test_limits_of_a_key_hold_over_all_workers(drawing, tmp_path, monkeypatch):
    """Never more than three requests of one key at once; and no more is spent than one process would let through."""
    upstream, url = drawing
    prices = tmp_path / "prices.toml"
    price = f'[[price]]\nprovider = "openai"\nbase_url = "{url}/v1"\nmodels = ["*"]\ninput = 0.0\noutput = 1.0\n'
    prices.write_text(price, encoding="utf-8")
    monkeypatch.setenv("BONWISE_PRICES", str(prices))
    settings = SETTINGS.format(url=url).replace("attempts = 8", "max_tokens = 4000") + KEYS

    def ask(address, key, number):
        body = {"model": "bon/auto", "messages": [{"role": "user", "content": f"{key} {number}"}]}
        headers = {"authorization": f"Bearer {key}"}
        return httpx.post(f"{address}/v1/chat/completions", json=body, headers=headers, timeout=60)

    with (
        Command(tmp_path, settings, "--workers", "2", "--run", str(tmp_path / "run")) as command,
        ThreadPoolExecutor(16) as pool,
    ):
        upstream.latency = 0.5
        statuses = [one.status_code for one in pool.map(lambda at: ask(command.address, "sk-narrow", at), range(16))]
        assert upstream.most_at_once <= 3
        assert statuses.count(200) >= 3
        assert set(statuses) == {200, 429}
        upstream.latency, before = 0.0, upstream.tokens["output"]
        statuses = [one.status_code for one in pool.map(lambda at: ask(command.address, "sk-poor", at), range(120))]
        spent = (upstream.tokens["output"] - before) / 1e6
        assert set(statuses) == {200, 429}
        assert 0.5 - 16 * 4 * 4000 / 1e6 < spent <= 0.5
        # What is spent outlives a restart.
        command.process.send_signal(signal.SIGTERM)
        assert command.process.wait(timeout=30) == 0
    with Command(tmp_path, settings, "--run", str(tmp_path / "run")) as command:
        while ask(command.address, "sk-poor", 0).status_code == 200:
            pass
    assert (upstream.tokens["output"] - before) / 1e6 <= 0.5


def test_a_signal_under_load_loses_nothing(drawing, tmp_path):
    """As with one process: all workers end well, and so does the command."""
    upstream, url = drawing
    upstream.latency = 0.05

    async def work(command):
        clients = Clients(command.address)
        tasks = [asyncio.ensure_future(clients.ask(number, number % 2 == 0)) for number in range(WIDE)]
        for _ in range(400):
            await asyncio.sleep(0.05)
            if clients.answered >= 2 * WIDE:
                break
        command.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(asyncio.gather(*tasks), 60)
        return clients

    with Command(tmp_path, SETTINGS.format(url=url), "--workers", "2") as command:
        clients = asyncio.run(work(command))
        assert command.process.wait(timeout=30) == 0
    assert clients.lost == []
    assert clients.answered >= 2 * WIDE


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="needs /proc")
def test_a_worker_that_dies_is_replaced(drawing, tmp_path):
    """Requests are answered again; a file of settings that no longer fits ends the server with 1."""
    _, url = drawing
    with Command(tmp_path, SETTINGS.format(url=url), "--workers", "2") as command:
        first = workers_of(command)
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len(workers_of(command)) == 2 and first[0] not in workers_of(command))
        assert len(asyncio.run(answers_of(command.address, "auto", 20))) == 20
        (tmp_path / "serve.toml").write_text("[models]", encoding="utf-8")
        for one in workers_of(command):
            os.kill(one, signal.SIGKILL)
        assert command.process.wait(timeout=60) == 1
    assert any("is replaced" in line for line in command.lines)
    assert any("there is no model" in line for line in command.lines)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="needs /proc")
def test_workers_end_with_the_command(drawing, tmp_path):
    """Where the command is killed nobody would stop them."""
    _, url = drawing
    with Command(tmp_path, SETTINGS.format(url=url), "--workers", "2") as command:
        workers = workers_of(command)
        assert len(workers) == 2
        command.process.kill()
        command.process.wait()
        until(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))


def test_what_a_dead_worker_counted_stays(tmp_path):
    """But what it had under way is no longer."""
    one, other = WorkerMetrics(tmp_path / "metrics"), WorkerMetrics(tmp_path / "metrics")
    one.write({"bonwise_requests_in_flight": 2, "bonwise_candidates_total": 8})
    assert one.of_others() == []
    assert other.of_others() == [{"bonwise_requests_in_flight": 2, "bonwise_candidates_total": 8}]
    other.end(os.getpid())
    assert other.of_others() == [{"bonwise_candidates_total": 8}]
    other.clear()
    assert other.of_others() == []
    one.close()
    other.close()
