"""Many requests at once, of one process and of several: no wrong winner, no lost usage, limits that hold over all."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import openai
import pytest

from bonwise.serving.metrics import WorkerMetrics
from bonwise.serving.server import allow_many_files
from serving.upstreams import DrawingUpstream, in_thread, served

# Many requests at once: no wrong winner, no lost usage; faults; a signal to stop; nothing left behind.


SETTINGS = """
[models.auto]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
attempts = 8

[models.calls]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
draw = "calls"
attempts = 8
"""
WIDE = 64

SIZES = [pytest.param(150, id="150 requests"), pytest.param(1000, id="1000 requests", marks=pytest.mark.slow)]


@pytest.fixture
def drawing(monkeypatch):
    """Serve an upstream that takes a while."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
    upstream = DrawingUpstream(latency=0.02)
    with in_thread(upstream.app) as url:
        yield upstream, url


async def answers_of(address, model, requests):
    """Ask for the best of n by the official client, so many at once; return the answers by prompt."""
    found, numbers = {}, iter(range(requests))
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="x", max_retries=0, timeout=120) as client:

        async def ask():
            for number in numbers:
                prompt = f"{model} {number}"
                messages = [{"role": "user", "content": prompt}]
                found[prompt] = await client.chat.completions.create(model=f"bon/{model}", messages=messages)

        await asyncio.gather(*(ask() for _ in range(WIDE)))
    return found


@pytest.mark.parametrize("requests", SIZES)
@pytest.mark.parametrize(("model", "faults"), [("auto", 0.0), ("calls", 0.0), ("calls", 0.1), ("auto", 0.1)])
def test_no_wrong_winner_and_no_lost_usage(drawing, tmp_path, requests, model, faults):
    """At 64 at once each answer is the longest of its own four draws, and its usage is the sum of exactly these."""
    upstream, url = drawing
    upstream.faults = faults
    with served(tmp_path, SETTINGS.format(url=url)) as (endpoint, address):
        found = asyncio.run(answers_of(address, model, requests))
        values = endpoint.records.metrics.values
        assert values[f'bonwise_requests_total{{model="{model}",status="200"}}'] == requests
        assert values[f'bonwise_candidates_total{{model="{model}"}}'] == 4 * requests
        assert values[f'bonwise_upstream_tokens_total{{model="{model}",kind="output"}}'] == upstream.tokens["output"]
    assert len(found) == requests
    for prompt, answer in found.items():
        assert len(upstream.drawn[prompt]) == 4
        assert answer.choices[0].message.content == upstream.best(prompt)
        assert answer.usage.completion_tokens == sum(map(len, upstream.drawn[prompt]))
        assert answer.usage.prompt_tokens == 7 * answer.bonwise["upstream"]["calls"]
    total = sum(
        (Counter(input=one.usage.prompt_tokens, output=one.usage.completion_tokens) for one in found.values()),
        Counter(),
    )
    assert total == upstream.tokens


def test_draws_that_fail_are_listed(drawing, tmp_path):
    """Without a second attempt some draws fail: the best of the others wins, and the usage is theirs."""
    upstream, url = drawing
    upstream.faults = 0.3
    settings = SETTINGS.format(url=url).replace("attempts = 8", "attempts = 1")
    with served(tmp_path, settings) as (_, address):
        found = asyncio.run(some_of(address, 100))
    assert len(found) > 90
    assert any(answer.bonwise.get("failed_draws") for answer in found.values())
    for prompt, answer in found.items():
        drawn = upstream.drawn[prompt]
        assert len(drawn) + len(answer.bonwise.get("failed_draws", [])) == 4
        assert answer.choices[0].message.content == max(drawn, key=len)
        assert answer.usage.completion_tokens == sum(map(len, drawn))


async def some_of(address, requests):
    """Return the answers there were: where all four draws fail there is none."""
    found, statuses = {}, set()
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="x", max_retries=0, timeout=60) as client:

        async def ask(number):
            prompt = f"some {number}"
            messages = [{"role": "user", "content": prompt}]
            try:
                found[prompt] = await client.chat.completions.create(model="bon/calls", messages=messages)
            except openai.APIStatusError as error:
                statuses.add(error.status_code)

        await asyncio.gather(*map(ask, range(requests)))
    assert statuses <= {429, 502}
    return found


class Command:
    """``bonwise serve`` in a process of its own."""

    def __init__(self, folder, text, *flags):
        path = Path(folder) / "serve.toml"
        path.write_text(text, encoding="utf-8")
        words = [sys.executable, "-c", "from bonwise.cli.entry import main; main()", "serve", "--config", str(path)]
        self.process = subprocess.Popen([*words, "--port", "0", *flags], stderr=subprocess.PIPE, text=True)
        self.lines = []
        first = self.process.stderr.readline()
        self.address = first.split()[-1].removesuffix("/v1")
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stderr.close()


class Clients:
    """Clients that ask one request after the other, some of them on one connection, until they are turned away."""

    def __init__(self, address, model="calls"):
        host, _, port = address.removeprefix("http://").partition(":")
        self.place, self.model = (host, int(port)), model
        self.answered, self.lost = 0, []

    async def ask(self, number, keep):
        """Ask until no connection is taken any more."""
        streams, count = None, 0
        while True:
            count += 1
            fresh = streams is None
            if fresh:
                try:
                    streams = await asyncio.open_connection(*self.place)
                except OSError:
                    return
            prompt = f"{number}-{count}"
            body = {"model": f"bon/{self.model}", "messages": [{"role": "user", "content": prompt}]}
            content = json.dumps(body).encode()
            closing = await self.exchange(streams, content, prompt, fresh=fresh)
            if closing is None:
                streams[1].close()
                return
            if closing or not keep:
                streams[1].close()
                streams = None

    async def exchange(self, streams, content, prompt, *, fresh):
        """Return whether the server closes the connection; None where it has turned the client away."""
        reader, writer = streams
        try:
            writer.write(
                f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                f"content-length: {len(content)}\r\n\r\n".encode()
            )
            writer.write(content)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length: ")[2].split("\r\n")[0])
            answer = json.loads(await reader.readexactly(length))
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            self.lost.append((prompt, fresh, repr(error)))
            return None
        if " 200 " not in head:
            self.lost.append((prompt, fresh, head))
        self.answered += answer["choices"][0]["message"]["content"] != ""
        return "connection: close" in head


@pytest.mark.parametrize("latency", [0.3, 0.01])
def test_a_signal_under_load_loses_nothing(drawing, tmp_path, latency):
    """Whoever has a connection gets an answer, later clients are turned away, and the exit code is 0."""
    upstream, url = drawing
    upstream.latency = latency

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

    with Command(tmp_path, SETTINGS.format(url=url)) as command:
        clients = asyncio.run(work(command))
        assert command.process.wait(timeout=30) == 0
    assert clients.lost == []
    assert clients.answered >= 2 * WIDE
    assert len([line for line in command.lines if '"status": 200' in line]) == clients.answered


def test_a_signal_ends_an_idle_server(drawing, tmp_path):
    """At once, with 0."""
    _, url = drawing
    with Command(tmp_path, SETTINGS.format(url=url)) as command:
        command.process.send_signal(signal.SIGINT)
        assert command.process.wait(timeout=30) == 0


def test_what_cannot_be_waited_for_is_cut_off(drawing, tmp_path):
    """After `shutdown_timeout` the server ends, and says so by its exit code."""
    upstream, url = drawing
    upstream.latency = 6.0

    async def work(command):
        clients = Clients(command.address)
        task = asyncio.ensure_future(clients.ask(0, keep=False))
        for _ in range(200):
            if upstream.at_once:
                break
            await asyncio.sleep(0.05)
        command.process.send_signal(signal.SIGTERM)
        await task
        return clients

    settings = SETTINGS.format(url=url) + "\n[server]\nshutdown_timeout = 1\n"
    with Command(tmp_path, settings) as command:
        clients = asyncio.run(work(command))
        assert command.process.wait(timeout=15) == 1
    assert len(clients.lost) == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_nothing_is_left_behind(drawing, tmp_path):
    """After 20,000 requests there are as many sockets and tasks as after 2,000, and not noticeably more memory."""
    upstream, url = drawing
    upstream.latency = 0.0

    def state(pid):
        pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
        return len(list(Path(f"/proc/{pid}/fd").iterdir())), pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    async def ask(address, requests, keep):
        clients = Clients(address, "auto")

        async def some(number):
            for count in range(requests // WIDE):
                streams = await asyncio.open_connection(*clients.place)
                body = {"model": "bon/auto", "messages": [{"role": "user", "content": f"{keep}-{number}-{count}"}]}
                assert await clients.exchange(streams, json.dumps(body).encode(), "x", fresh=True) is not None
                streams[1].close()

        await asyncio.gather(*map(some, range(WIDE)))
        assert clients.lost == []
        upstream.drawn.clear()
        upstream.bodies.clear()
        gc.collect()
        await asyncio.sleep(7)  # connections to the upstream rest 5 s before they are closed

    with Command(tmp_path, SETTINGS.format(url=url)) as command:
        states = []
        for turn in range(10):
            asyncio.run(ask(command.address, 2000, turn))
            states.append(state(command.process.pid))
    assert states[-1][0] <= states[0][0] + 4, states
    assert states[-1][1] <= states[0][1] * 1.1 + 8, states


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_ten_thousand_slow_clients(drawing, tmp_path):
    """They are refused or closed: connections and memory stay bounded, and a client that asks is answered."""
    _, url = drawing
    allow_many_files()
    settings = SETTINGS.format(url=url) + "\n[server]\nmax_connections = 1000\nbody_timeout = 3\n"

    def state(pid):
        pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
        return len(list(Path(f"/proc/{pid}/fd").iterdir())), pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    async def attack(command):
        before, states, streams = state(command.process.pid), [], []
        place = Clients(command.address).place
        for at in range(10_000):
            with contextlib.suppress(OSError):
                streams.append(await asyncio.open_connection(*place))
                streams[-1][1].write(b"POST /v1/chat/completions HTTP/1.1\r\nhost:")
            if at % 500 == 0:
                states.append(state(command.process.pid))
        found = await answers_of_one(command.address)
        states.append(state(command.process.pid))
        for _, writer in streams:
            writer.close()
        return before, states, found

    with Command(tmp_path, settings) as command:
        before, states, found = asyncio.run(attack(command))
    assert found.choices[0].message.content
    # At one look the server takes as many as wait for it, at most 2,048, and closes those that are too many.
    assert max(files for files, _ in states) <= before[0] + 1000 + 2048 + 100
    assert states[-1][0] <= before[0] + 1000 + 100
    assert max(memory for _, memory in states) <= before[1] + 120


async def answers_of_one(address):
    """Ask until there is room, for at most half a minute."""
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="x", max_retries=30, timeout=10) as client:
        messages = [{"role": "user", "content": "Is anybody there?"}]
        return await client.chat.completions.create(model="bon/auto", messages=messages)


# Several processes that serve one address: limits and metrics hold over all, one that dies is replaced.


KEYS = """
[keys]
wide = "sk-of-wide"
narrow = {value = "sk-of-narrow", max_concurrency = 3}
poor = {value = "sk-of-poor", max_cost = 0.5}
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


def values_of(address, key="sk-of-wide"):
    """Return the metrics as numbers."""
    text = httpx.get(f"{address}/metrics", headers={"authorization": f"Bearer {key}"}, timeout=30).text
    return {
        line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
        for line in text.splitlines()
        if not line.startswith("#")
    }


@pytest.mark.skipif(sys.platform == "win32", reason="workers share a socket")
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


@pytest.mark.skipif(sys.platform == "win32", reason="workers share a socket")
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
        statuses = [
            one.status_code for one in pool.map(lambda at: ask(command.address, "sk-of-narrow", at), range(16))
        ]
        assert upstream.most_at_once <= 3
        assert statuses.count(200) >= 3
        assert set(statuses) == {200, 429}
        upstream.latency, before = 0.0, upstream.tokens["output"]
        statuses = [
            one.status_code for one in pool.map(lambda at: ask(command.address, "sk-of-poor", at), range(120))
        ]
        spent = (upstream.tokens["output"] - before) / 1e6
        assert set(statuses) == {200, 429}
        assert 0.5 - 16 * 4 * 4000 / 1e6 < spent <= 0.5
        # What is spent outlives a restart.
        command.process.send_signal(signal.SIGTERM)
        assert command.process.wait(timeout=30) == 0
    with Command(tmp_path, settings, "--run", str(tmp_path / "run")) as command:
        while ask(command.address, "sk-of-poor", 0).status_code == 200:
            pass
    assert (upstream.tokens["output"] - before) / 1e6 <= 0.5


@pytest.mark.skipif(sys.platform == "win32", reason="workers share a socket")
def test_a_signal_to_workers_under_load_loses_nothing(drawing, tmp_path):
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


@pytest.mark.skipif(sys.platform == "win32", reason="workers share a socket")
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


@pytest.mark.skipif(sys.platform == "win32", reason="workers share a socket")
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


@pytest.mark.skipif(sys.platform == "win32", reason="workers share a socket")
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
