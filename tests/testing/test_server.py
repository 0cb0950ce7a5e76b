"""Scripted services: as a server on this machine, and in the place of the network."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import anthropic
import openai
import pytest

from bonwise.testing import FakeTransport, Faults, Script, ScriptedServer
from bonwise.testing.server import main as serve
from bonwise.testing.wire import body_digest
from calls.held_time import run_held
from http_libraries import HTTP, SDKS, each_library
from testing.asking import ASK, OVERLOADED, SCHEMA, chat_body, client, words

SERVICES = ["openai", "anthropic"]
POST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"


def served(script, ask):
    """Serve while a coroutine function of the URL runs; return its result."""

    async def main():
        async with ScriptedServer(script) as server:
            return await ask(server.url)

    return asyncio.run(main())


def fetched(url, method, path, data=None):
    """Make one request without any client library; return status and JSON."""
    with closing(HTTPConnection(url.removeprefix("http://"))) as connection:
        connection.request(method, path, data)
        response = connection.getresponse()
        return response.status, json.load(response)


def posted(url, body):
    """Post one chat completion."""
    return fetched(url, "POST", "/v1/chat/completions", json.dumps(body))


def stats(url):
    """Return the counts of a server."""
    return fetched(url, "GET", "/stats")[1]


async def exchanged(url, raw, *, end=True):
    """Send bytes and return all that comes back until the server closes."""
    reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
    try:
        writer.write(raw)
        if end:
            writer.write_eof()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("service", SERVICES)
def test_the_services_own_clients_read_the_answers(service):
    """Over a real connection the clients of both services parse the answers with their own types."""
    script = Script()
    reply = served(script, lambda url: ASK[service](client(HTTP[service]), url, schema=SCHEMA))
    assert set(json.loads(words(reply))) == set(SCHEMA["required"])
    assert script.counts.paid == script.counts.delivered


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("throttled", "RateLimitError"),
        ("server_error", "InternalServerError"),
        ("overloaded", None),
        ("cut", "APIConnectionError"),
    ],
)
@pytest.mark.parametrize("service", SERVICES)
def test_faults_become_the_clients_exceptions(service, fault, name):
    """Each fault on the wire is what the client makes of it in real life."""
    script = Script(faults=Faults(**{fault: 1}))
    expected = (getattr(SDKS[service], name or OVERLOADED[service]), HTTP[service].RemoteProtocolError)
    with pytest.raises(expected):
        served(script, lambda url: ASK[service](client(HTTP[service], timeout=60), url))
    assert script.counts.faults == {fault: 1}
    assert script.counts.in_flight == 0


@pytest.mark.parametrize("service", SERVICES)
def test_a_slow_answer_is_a_timeout_of_the_client(service):
    """A client waits as long as it was told, and then says that the time was up."""
    script = Script(faults=Faults(slow=1, slow_seconds=3600))

    async def main():
        script.on_paid = lambda _: asyncio.get_running_loop().let_go()
        async with ScriptedServer(script) as server:
            await ASK[service](client(HTTP[service], timeout=60), server.url)

    with pytest.raises(SDKS[service].APITimeoutError):
        run_held(main())
    assert script.counts.faults == {"slow": 1}
    assert script.counts.in_flight == 0


@each_library
def test_a_cut_is_seen_by_the_http_layer(http):
    """The connection ends before the body does."""

    async def ask(url):
        async with client(http) as made:
            return await made.post(f"{url}/v1/chat/completions", json=chat_body())

    with pytest.raises(http.RemoteProtocolError):
        served(Script(faults=Faults(cut=1)), ask)


def test_a_malformed_answer_is_whole_for_http():
    """Half a JSON document arrives with status 200 and the right length."""
    server = ScriptedServer(Script(faults=Faults(malformed=1)))
    with server.in_thread(), pytest.raises(ValueError, match="line 1"):
        posted(server.url, chat_body())


@each_library
def test_many_at_once_over_kept_connections(http):
    """Hundreds of requests on few connections are all answered, counted, and answered as without a network."""
    script = Script(latency=0.01)

    async def ask(url):
        limits = http.Limits(max_connections=16, max_keepalive_connections=16)
        async with client(http, limits=limits) as made:
            calls = [made.post(f"{url}/v1/chat/completions", json=chat_body(f"case {at}")) for at in range(200)]
            return [response.json() for response in await asyncio.gather(*calls)]

    answers = served(script, ask)
    assert len({one["id"] for one in answers}) == 200
    assert script.counts.answers == script.counts.delivered.total() == 200
    assert 1 < script.counts.peak <= 16


def test_from_a_thread():
    """Code without a loop asks a server that runs in a thread, and reads its counts."""
    script = Script(lambda request: request.user)
    with ScriptedServer(script).in_thread() as server:
        for _ in range(2):
            status, body = posted(server.url, chat_body("over"))
            assert (status, body["choices"][0]["message"]["content"]) == (200, "over")
        assert stats(server.url)["paid"] == {body_digest(chat_body("over")): 2}
    assert server.url == ""
    assert script.counts.requests == 2


def test_an_occupied_port_is_an_error_of_the_caller():
    """A port that is taken is said where the server was started."""
    with ScriptedServer(Script()).in_thread() as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(OSError, match=str(port)), ScriptedServer(Script(), port=port).in_thread():
            pass


def test_leaving_the_block_hangs_up():
    """A server that is left waits for no slow answer."""

    async def main():
        arrived = asyncio.Event()
        script = Script(latency=3600, on_paid=lambda _: arrived.set())
        async with ScriptedServer(script) as server:
            asking = asyncio.create_task(exchanged(server.url, request(chat_body()), end=False))
            await arrived.wait()
        assert await asking == b""
        return script.counts

    counts = asyncio.run(main())
    assert (counts.in_flight, counts.answers, counts.delivered.total()) == (0, 1, 0)


def request(body, headers=b""):
    """Return the bytes of one request."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return POST + headers + b"content-length: %d\r\n\r\n" % len(data) + data


CHAT = request(chat_body())
RAW = [
    (b"", b""),
    (b"\r\n\r\n", b"400"),
    (b"GET\r\n\r\n", b"400"),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9, b""),
    (b"\x00" * 100_000, b"431"),
    (POST + b"x: " + b"y" * 100_000 + b"\r\n\r\n", b"431"),
    (POST + b"no colon\r\n\r\n", b"400"),
    (POST + b"content-length: -1\r\n\r\n", b"400"),
    (POST + b"content-length: many\r\n\r\n", b"400"),
    (POST + b"content-length: 99999999999\r\n\r\n", b"413"),
    (POST + b"\r\n", b"411"),
    (POST + b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n", b"411"),
    (b"POST /v1/messages HTTP/2\r\ncontent-length: 0\r\n\r\n", b"400"),
    (b"PUT /v1/messages HTTP/1.1\r\ncontent-length: 0\r\n\r\n", b"404"),
    (CHAT[:30], b""),
    (CHAT[:-1], b""),
    (request(b"not json"), b"400"),
    (request(b'{"model":"m","messages":[{"content":"' + b"\xff" * 50 + b'"}]}'), b"400"),
    (CHAT.replace(b"HTTP/1.1", b"HTTP/1.0"), b"200"),
    (request(chat_body(), b"connection: close\r\n"), b"200"),
    (request(chat_body(), b"expect: 100-continue\r\n"), b"100"),
]


@pytest.mark.parametrize(("raw", "status"), RAW, ids=range(len(RAW)))
def test_whatever_arrives_is_survived(raw, status):
    """Garbage and halves get an error or a closed door, and the next caller gets an answer."""
    script = Script()

    async def ask(url):
        got = await exchanged(url, raw)
        return got, await ASK["openai"](client(HTTP["openai"]), url)

    got, reply = served(script, ask)
    assert got.split(b" ", 2)[1:2] == ([status] if status else [])
    assert words(reply)
    assert script.counts.in_flight == 0


def test_random_bytes_are_survived():
    """A hundred callers who send noise, whole or inside of a request, harm nobody."""
    source = random.Random(5)  # noqa: S311 - noise, no secret

    async def ask(url):
        noise = [source.randbytes(source.randrange(400)) for _ in range(100)]
        raw = [one if at % 2 else CHAT[: source.randrange(len(CHAT))] + one for at, one in enumerate(noise)]
        await asyncio.gather(*(exchanged(url, one) for one in raw))
        return await ASK["anthropic"](client(HTTP["anthropic"]), url)

    assert words(served(Script(), ask))


def test_two_requests_in_one_packet_are_answered_in_order():
    """Pipelined requests get their answers one after the other on the same connection."""
    raw = b"".join(request(chat_body(word)) for word in ("one", "two"))
    got = served(Script(lambda asked: asked.user), lambda url: exchanged(url, raw))
    assert got.count(b"HTTP/1.1 200") == 2
    assert 0 < got.find(b'"one"') < got.find(b'"two"')


def test_a_body_of_a_megabyte_is_answered():
    """Long candidates are read whole."""
    script = Script(lambda asked: str(len(asked.user)))
    with ScriptedServer(script).in_thread() as server:
        _, body = posted(server.url, chat_body("x" * 1_000_000))
    assert body["choices"][0]["message"]["content"] == "1000000"


def test_a_client_that_hangs_up_is_survived():
    """Callers who leave before, in the middle of and after their answer do no harm."""
    script = Script(lambda _: "x" * 400_000, latency=0.005)

    async def leave(url, wait):
        _, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
        writer.write(CHAT)
        await writer.drain()
        await asyncio.sleep(wait)
        linger = socket.SO_LINGER
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, linger, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        writer.close()

    async def ask(url):
        await asyncio.gather(*(leave(url, wait) for wait in (0, 0.004, 0.006, 0.02) for _ in range(3)))
        return await ASK["openai"](client(HTTP["openai"]), url)

    assert words(served(script, ask))
    assert script.counts.in_flight == 0


def test_a_script_that_raises_is_heard_of(caplog):
    """A mistake in a script is said to the client and logged, and the server goes on."""
    script = Script(lambda asked: 1 // 0 if asked.user == "bad" else "fine")
    with ScriptedServer(script).in_thread() as server:
        status, body = posted(server.url, chat_body("bad"))
        assert (status, "ZeroDivisionError" in body["error"]["message"]) == (500, True)
        assert posted(server.url, chat_body("good"))[0] == 200
    assert "a script failed to answer" in caplog.text


def started(*arguments):
    """Start the server as a process; return it and its URL."""
    command = [sys.executable, "-m", "bonwise.testing.server", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    return process, process.stdout.readline().strip()


def test_as_a_process(tmp_path):
    """The command prints its URL first, plays its faults, logs what is paid, tells its counts and stops when told."""
    log = tmp_path / "calls.jsonl"
    faults = "throttled=.3,retry_after=.05"
    process, url = started("--port", "0", "--latency", ".001", "--faults", faults, "--seed", "1", "--log", str(log))
    with process:
        bodies = [chat_body(f"case {at}", temperature=1) for at in range(30)]
        statuses = [posted(url, body)[0] for body in bodies]
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        told = stats(url)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
    paid = [body_digest(body) for body, status in zip(bodies, statuses, strict=True) if status == 200]
    assert set(statuses) == {200, 429}
    assert [line["digest"] for line in lines] == paid
    assert told["paid"] == dict.fromkeys(paid, 1)
    assert told["faults"] == {"throttled": statuses.count(429)}
    assert (process.returncode, errors) == (0, "")


def test_a_killed_process_leaves_its_log(tmp_path):
    """What was paid is on disk before it is answered."""
    log = tmp_path / "calls.jsonl"
    process, url = started("--log", str(log), "--ignores", "n", "--refuses", "temperature", "--rate-limit", "9")
    with process:
        assert len(posted(url, chat_body(n=3))[1]["choices"]) == 1
        assert posted(url, chat_body(temperature=1))[0] == 400
        process.kill()
    assert len(log.read_text("utf-8").splitlines()) == 1


@pytest.mark.parametrize("wrong", [["--faults", "kut=1"], ["--ignores", "x"], ["--log", "/nowhere/at/all"]])
def test_a_wrong_flag_is_one_line(wrong, capsys):
    """What cannot be served is said in one line."""
    assert serve(wrong) == 2
    assert capsys.readouterr().err.count("\n") == 1


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still, and jumps to the next thing that is due."""

    seconds = 0.0

    def time(self):
        """Return the virtual seconds."""
        return self.seconds

    def _run_once(self):
        if self._scheduled and not self._ready:
            self.seconds = max(self.seconds, self._scheduled[0]._when)
        super()._run_once()


def run_virtually(main):
    """Run on a virtual loop; return the result and the virtual seconds it took."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main), runner.get_loop().seconds


@pytest.mark.parametrize("service", SERVICES)
def test_the_services_own_clients_read_what_the_transport_says(service):
    """The clients of both services parse what is answered with their own types."""
    reply = asyncio.run(ASK[service](client(HTTP[service], FakeTransport(Script())), schema=SCHEMA))
    assert set(json.loads(words(reply))) == set(SCHEMA["required"])
    assert reply.model in {"gpt-5-mini", "claude-opus-5"}
    assert reply._request_id.startswith("req_")


@pytest.mark.parametrize(
    ("fault", "status", "name"),
    [("throttled", 429, "RateLimitError"), ("server_error", 500, "InternalServerError"), ("overloaded", None, None)],
)
@pytest.mark.parametrize("service", SERVICES)
def test_errors_become_the_clients_exceptions(service, fault, status, name):
    """A fault that is a status is the exception which the client has for it."""
    script = Script(faults=Faults(**{fault: 1}))
    with pytest.raises(getattr(SDKS[service], name or OVERLOADED[service])) as caught:
        asyncio.run(ASK[service](client(HTTP[service], FakeTransport(script))))
    assert caught.value.status_code == status or caught.value.status_code in {503, 529}
    assert script.counts.faults == {fault: 1}


def test_a_refused_parameter_is_named_by_the_client():
    """The client of OpenAI tells code and parameter apart."""
    script = Script(refuses_parameters={"temperature"})
    with pytest.raises(openai.BadRequestError) as caught:
        asyncio.run(ASK["openai"](client(HTTP["openai"], FakeTransport(script)), temperature=0.5))
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "temperature")


def test_an_exhausted_account_is_named_by_the_clients():
    """The clients tell an exhausted account from one that is too fast."""
    script = Script(quota=0)
    with pytest.raises(openai.RateLimitError) as caught:
        asyncio.run(ASK["openai"](client(HTTP["openai"], FakeTransport(script))))
    assert caught.value.code == "insufficient_quota"
    with pytest.raises(anthropic.RateLimitError) as other:
        asyncio.run(ASK["anthropic"](client(HTTP["anthropic"], FakeTransport(script))))
    assert other.value.body["error"]["details"]["error_code"] == "contract_spend_limit_reached"


@pytest.mark.parametrize("service", SERVICES)
def test_a_refusal_is_read_by_the_clients(service):
    """A refusal stands where the client of the service looks for it."""
    reply = asyncio.run(ASK[service](client(HTTP[service], FakeTransport(Script(faults=Faults(refusal=1))))))
    if service == "openai":
        assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == (None, "stop")
        assert reply.choices[0].message.refusal
    else:
        assert (reply.content, reply.stop_reason, reply.stop_details.type) == ([], "refusal", "refusal")


@pytest.mark.parametrize("service", SERVICES)
def test_a_cut_answer_is_a_broken_connection(service):
    """The body breaks off in the middle, as an HTTP library says it of a real connection, and the answer is paid."""
    script = Script(faults=Faults(cut=1))
    with pytest.raises((SDKS[service].APIConnectionError, HTTP[service].RemoteProtocolError)):
        asyncio.run(ASK[service](client(HTTP[service], FakeTransport(script))))
    assert (script.counts.answers, script.counts.delivered.total()) == (1, 0)


@each_library
def test_a_cut_answer_has_a_head_and_half_a_body(http):
    """Status, headers and the first half arrive before the connection breaks."""
    got = []

    async def main():
        made = client(http, FakeTransport(Script(faults=Faults(cut=1))))
        async with made, made.stream("POST", "http://scripted/v1/chat/completions", json=chat_body()) as response:
            got.append(response)
            got.extend([part async for part in response.aiter_raw(8)])

    with pytest.raises(http.RemoteProtocolError, match="broke after"):
        asyncio.run(main())
    assert got[0].status_code == 200


@each_library
def test_a_malformed_answer_is_status_200_and_no_json(http):
    """Half a document arrives as if it were whole."""

    async def main():
        async with client(http, FakeTransport(Script(faults=Faults(malformed=1)))) as made:
            return await made.post("http://scripted/v1/chat/completions", json=chat_body())

    response = asyncio.run(main())
    assert response.status_code == 200
    assert int(response.headers["content-length"]) == len(response.content)
    with pytest.raises(ValueError, match="line 1"):
        response.json()


@pytest.mark.parametrize("service", SERVICES)
def test_slow_answers_time_out_on_the_loops_clock(service):
    """A slow answer is a read timeout after the client's own patience; no real time passes, and it is paid."""
    script = Script(faults=Faults(slow=1, slow_seconds=900))

    async def main():
        with pytest.raises(SDKS[service].APITimeoutError):
            await ASK[service](client(HTTP[service], FakeTransport(script), timeout=300))

    _, seconds = run_virtually(main())
    assert seconds == 300
    assert (script.counts.answers, script.counts.delivered.total(), script.counts.in_flight) == (1, 0, 0)


def test_a_patient_client_gets_slow_answers():
    """Without a timeout a slow answer arrives after latency and slowness."""
    script = Script(latency=5, faults=Faults(slow=1, slow_seconds=100))

    async def main():
        return await ASK["anthropic"](client(HTTP["anthropic"], FakeTransport(script), timeout=None))

    reply, seconds = run_virtually(main())
    assert words(reply)
    assert seconds == 105


@each_library
def test_the_rate_limit_follows_the_loops_clock(http):
    """A minute of the loop after the limit was met, requests are accepted again."""
    script = Script(rate_limit=2)

    async def main():
        statuses = []
        async with client(http, FakeTransport(script)) as made:
            for wait in (0, 0, 0, 30, 30):
                await asyncio.sleep(wait)
                response = await made.post("http://scripted/v1/chat/completions", json=chat_body())
                statuses.append(response.status_code)
        return statuses

    assert run_virtually(main())[0] == [200, 200, 429, 429, 200]


@each_library
def test_concurrency_and_payments_are_counted(http):
    """The peak of requests at work, and the paid answers by body, are what really happened."""
    script = Script(latency=1.0)

    async def main():
        async with client(http, FakeTransport(script)) as made, asyncio.TaskGroup() as group:
            for at in range(12):
                body = chat_body(f"case {at % 4}")
                group.create_task(made.post("http://scripted/v1/chat/completions", json=body))

    run_virtually(main())
    assert (script.counts.peak, script.counts.in_flight, script.counts.requests) == (12, 0, 12)
    assert Counter(script.counts.paid.values()) == {3: 4}
    assert script.counts.paid == script.counts.delivered
    assert set(script.counts.paid_again.values()) == {2}


@each_library
def test_a_caller_that_leaves_has_paid(http):
    """A cancelled request was accepted: it is paid, not delivered, and no longer at work."""
    script = Script(latency=100)

    async def main():
        async with client(http, FakeTransport(script)) as made:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await made.post("http://scripted/v1/chat/completions", json=chat_body(), timeout=None)

    run_virtually(main())
    assert (script.counts.answers, script.counts.delivered.total(), script.counts.in_flight) == (1, 0, 0)


def test_the_examples_of_the_page_run():
    """Every Python example of the page on testing holds."""
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    exec(compile("\n".join(blocks), "testing.md", "exec"), {})  # noqa: S102 - our own page
