from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path

import anthropic
import openai
import pytest

from bonwise.testing import FakeTransport, Faults, Script
from http_libraries import HTTP, SDKS, each_library
from testing.asking import ASK, OVERLOADED, SCHEMA, chat_body, client, words

SERVICES = ["openai", "anthropic"]


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
def test_the_services_own_clients_read_the_answers(service):
    """The clients of both services parse what is answered with their own types."""
    reply = asyncio.run(ASK[service](client(HTTP[service], FakeTransport(Script())), schema=SCHEMA))
    assert set(json.loads(words(reply))) == set(SCHEMA["required"])
    assert reply.model in {"gpt-5-mini", "claude-opus-5"}
    assert reply._request_id.startswith("req_")


@pytest.mark.parametrize(
    ("fault", "status", "name"),
    [
        ("throttled", 429, "RateLimitError"),
        ("server_error", 500, "InternalServerError"),
        ("overloaded", None, None),
    ],
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
