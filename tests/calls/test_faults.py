"""Faulty servers: nothing is lost or paid twice, limits hold, and the throughput stays."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.limiter import LATEST, ConcurrencyWindow
from bonwise.calls.prices import Prices
from bonwise.calls.retry import Latencies
from bonwise.testing.faults import Faults
from bonwise.testing.script import Delivery, Script
from bonwise.testing.server import ScriptedServer
from bonwise.testing.wire import WireResponse
from calls.load import HANGING, TEN, Capacity, loaded
from calls.scripted_runs import ANTHROPIC, OPENAI, in_memory, judged, pools, tally
from calls.virtual_time import run_virtual
from cli.commands import pool_file, typed

# Faults of a few answers cost a few answers, not the throughput; a server that has too much to do is used up.


SERVICES = [{"clients": 100, "pool": 4}, {"clients": 200, "pool": 2}]


@pytest.fixture
def key(monkeypatch):
    """Any key will do."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("service", SERVICES, ids=["pools of 4", "pools of 2"])
def test_faults_cost_little(service):
    """With a tenth of the attempts going wrong .85 of the picks come, nearly all judged, within the deadline."""
    whole = loaded(Faults(), **service, seconds=0.8)
    assert whole.judged == whole.picks
    for faults, least in ((TEN, 0.85), (HANGING, 0.70)):
        found = loaded(Faults(**faults), **service, seconds=0.8)
        assert found.picks >= least * whole.picks
        assert found.judged >= 0.99 * found.picks
        assert found.p99 <= 2.1


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("retry_after", [None, 0.02, 1.0])
def test_a_server_that_is_overloaded_is_used_up(retry_after):
    """It answers nine tenths of what it can, whatever it says of when to come back."""
    server = Capacity(200, retry_after)
    loaded(server, clients=100, pool=4, seconds=3)
    assert server.taken >= 0.9 * server.per_second * server.at
    assert server.turned_away > 0


def failed(window):
    """Tell whether a window shrinks by an attempt that failed after its last cut."""
    return window.failed(window.cuts)


def answered(window, seconds=1.0, running=0):
    """Tell whether it shrinks by an answer to a call that started after its last cut."""
    return window.answered(seconds, window.cuts, running=running)


@pytest.mark.usefixtures("key")
def test_a_few_failures_are_no_sign_of_overload():
    """One in ten, and 30 % of the latest 50, are not; one more is, and so are ten in a row at the beginning."""
    window = ConcurrencyWindow(64)
    assert not any(failed(window) if at % 10 == 3 else answered(window) for at in range(500))
    window = ConcurrencyWindow(64)
    shrinks = [answered(window) for _ in range(35)] + [failed(window) for _ in range(15)]
    assert not any(shrinks)
    assert failed(window)
    window = ConcurrencyWindow(64)
    assert [failed(window) for _ in range(10)] == [False] * 9 + [True]


@pytest.mark.usefixtures("key")
def test_a_window_shrinks_once_by_the_same_attempts():
    """The signs begin anew with each cut, and calls from before it do not count."""
    window = ConcurrencyWindow(64)
    shrinks = [failed(window) for _ in range(30)]
    assert [at for at, shrunk in enumerate(shrinks) if shrunk] == [9, 19, 29]
    assert window.in_a_row == 30
    assert window.size == pytest.approx(8 * 0.7**3)
    assert not any(window.failed(window.cuts - 1) for _ in range(30))
    assert window.cuts == 3
    answered(window)
    assert window.in_a_row == 0


@pytest.mark.usefixtures("key")
def test_a_window_shrinks_once_by_answers_that_take_twice_as_long():
    """Where they stay slow with fewer calls at once, slow is what is usual."""
    window = ConcurrencyWindow(64)

    def block(seconds):
        return [answered(window, seconds) for _ in range(LATEST)].count(True)

    assert [block(1.0), block(1.9), block(2.1), block(2.1), block(2.1), block(4.1), block(4.3)] == [
        0,
        0,
        1,
        0,
        0,
        0,
        1,
    ]
    assert [block(1.0), block(2.1)] == [0, 1]


@pytest.mark.usefixtures("key")
def test_a_window_grows_on_only_where_few_fail():
    """Fast up to the size at which the server complained, slowly beyond it, and not at all where some fail."""
    window = ConcurrencyWindow(64)
    for at in range(40):
        answered(window, running=8 + at)
    assert window.size == 48
    assert not answered(window, running=46)  # one that is not used up stays as it is
    assert window.size == 48
    assert [failed(window) for _ in range(16)] == [False] * 15 + [True]  # the signs begin anew: none has failed
    size = window.size
    assert size == pytest.approx(48 * 0.7)
    answered(window, running=64)
    assert size < window.size < size + 0.05
    size = window.size
    failed(window)
    answered(window, running=64)
    assert window.size == size  # one of three has failed
    for _ in range(20):
        answered(window)
    answered(window, running=64)
    assert size < window.size < size + 0.05


@pytest.mark.usefixtures("key")
def test_the_time_of_an_attempt_follows_the_latencies():
    """Nothing is known of fewer than 20; then it is four times the 95th percentile, and rises with the given up."""
    latencies = Latencies()
    for _ in range(19):
        latencies.add(0.001)
    assert (latencies.median, latencies.patience) == (None, None)
    latencies.add(0.001)
    assert (latencies.median, latencies.patience) == (0.001, 0.1)
    for _ in range(300):
        latencies.add(0.03)
    assert latencies.patience == pytest.approx(0.12)
    waited = []
    for _ in range(60):
        waited.append(latencies.patience)
        latencies.add(latencies.patience)
    assert waited[-1] > 1.9
    assert waited == sorted(waited)


@pytest.mark.usefixtures("key")
def test_a_pool_whose_call_waits_gives_its_place_to_another():
    """With places for one pool, the second is picked while the first waits 1 s for its next attempt."""

    class First(Capacity):
        """Refuses the first request, and asks it to come back in a second."""

        def of_attempt(self, *_of_any):
            self.turned_away += 1
            return "throttled" if self.turned_away == 1 else None

    faults = First(1, retry_after=1.0)
    found = loaded(faults, clients=2, pool=2, seconds=0.01, max_concurrency=1)
    assert sorted(round(one, 2) for one in found.seconds) == [0.12, 1.06]


# Nothing is lost in a storm of faults, and little is asked twice.


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


@pytest.fixture
def keys(monkeypatch):
    """Set keys: the servers of the providers themselves are played."""
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-scripted")
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)


@pytest.mark.usefixtures("keys")
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


@pytest.mark.usefixtures("keys")
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


# A limit in US dollars is never exceeded, whatever a server bills within its bounds, and nothing is paid twice.


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


@pytest.fixture
def keys_of_max_cost(monkeypatch):
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


@pytest.mark.usefixtures("keys_of_max_cost")
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


@pytest.mark.usefixtures("keys_of_max_cost")
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


# A content filter's refusal is final and is no score; a stream that nobody asked for is no answer.


class Saying(Script):
    """Gives one response to every first attempt, or to all attempts; what it says is paid where it is a success."""

    status, content, always = 200, b"", True

    def _answered(self, request, now):
        if self._attempts[request.digest] and not self.always:
            return super()._answered(request, now)
        self._attempts[request.digest] += 1
        if self.status == 200:
            self.counts.paid[request.digest] += 1
        return Delivery(WireResponse(self.status, {}, self.content))


FILTERED = {"hate": {"filtered": True, "severity": "high"}, "jailbreak": {"filtered": False, "detected": False}}
INNER = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": FILTERED}
AZURE = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."


def refusal_of_azure(**changes):
    """Return the body of 400."""
    error = {"message": AZURE, "type": None, "param": "prompt", "code": "content_filter", "status": 400}
    return {"error": error | {"innererror": INNER} | changes}


def filtered_answer(*messages, results=FILTERED, finish="content_filter"):
    """Return the body of 200; a message that is None is left out."""
    choice = {"index": 0, "finish_reason": finish, "content_filter_results": results}
    choices = [choice | {"message": one} if one is not None else choice for one in messages]
    asked = {"prompt_index": 0, "content_filter_results": FILTERED}
    usage = {"prompt_tokens": 50, "completion_tokens": 3, "total_tokens": 53}
    return {"model": "gpt-5-mini", "choices": choices, "prompt_filter_results": [asked], "usage": usage}


SAID = {"role": "assistant", "content": '{"score": 80}'}
FILTERS = {
    "400": (400, refusal_of_azure(), AZURE),
    "400 without a message": (400, refusal_of_azure(message=None), "content_filter"),
    "400 of an older version": (400, refusal_of_azure(innererror=None, inner_error=INNER, param=None), AZURE),
    "400 of an own blocklist": (400, refusal_of_azure(code="content_filter", innererror=None, param=None), AZURE),
    "content null": (200, filtered_answer({"role": "assistant", "content": None}), "content_filter"),
    "no content": (200, filtered_answer({"role": "assistant"}), "content_filter"),
    "empty message": (200, filtered_answer({}), "content_filter"),
    "no message": (200, filtered_answer(None), "content_filter"),
    "half an answer": (200, filtered_answer(SAID), "content_filter"),
}


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("name", FILTERS)
def test_a_content_filter_is_final_and_no_score(tmp_path, name):
    """Asked once, paid at most once, unscored with a reason that names the filter; the next run asks nothing."""
    status, body, words = FILTERS[name]
    script = Saying()
    script.status, script.content = status, json.dumps(body).encode()
    verdicts, _ = run_virtual(judged(pools(4), ledger=tmp_path, connection=in_memory(script)))
    assert tally(verdicts) == {"unscored": 4}
    assert all(words in verdict.reason for verdict in verdicts)
    again, _ = run_virtual(judged(pools(4), ledger=tmp_path, connection=in_memory(script)))
    assert (again, script.counts.requests) == (verdicts, 4)


@pytest.mark.usefixtures("keys")
def test_an_answer_that_no_filter_looked_at_counts():
    """Azure says so inside the choice; it is no error of the choice."""
    failed = {"error": {"code": "content_filter_error", "message": "The contents are not filtered"}}
    script = Saying()
    script.content = json.dumps(filtered_answer(SAID, results=failed, finish="stop")).encode()
    assert tally(run_virtual(judged(pools(4), connection=in_memory(script)))[0]) == {"scored": 4}


BEGUN = {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 50, "output_tokens": 1}}}
WORDS = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": '{"score": 80}'}}
ENDED = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}


def stream(*events):
    """Return the content of a stream of Anthropic's; a word for a type of error stands for its event."""
    named = [
        {"type": "error", "error": {"type": one, "message": ""}} if isinstance(one, str) else one for one in events
    ]
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in named).encode()


STREAMS = {
    "overloaded at once": (ANTHROPIC, stream("overloaded_error"), "overloaded_error"),
    "overloaded in the middle": (ANTHROPIC, stream(BEGUN, WORDS, "overloaded_error"), "overloaded_error"),
    "api_error in the middle": (ANTHROPIC, stream(BEGUN, WORDS, "api_error"), "api_error"),
    "no stream, an error": (
        ANTHROPIC,
        b'{"type": "error", "error": {"type": "overloaded_error"}}',
        "overloaded_error",
    ),
    "OpenAI's": (OPENAI, b'data: {"choices": []}\n\ndata: {"error": {"code": "overloaded"}}\n\n', "overloaded"),
}


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
def test_a_stream_that_ends_in_an_error_is_asked_again(tmp_path, name, always):
    """It may be billed; an error that passes costs a second attempt, and one that stays is owed with its name."""
    judge, content, words = STREAMS[name]
    script = Saying()
    script.content, script.always = content, always
    verdicts, engine = run_virtual(judged(pools(4), judge, ledger=tmp_path, connection=in_memory(script)))
    assert tally(verdicts) == {"owed" if always else "scored": 4}
    assert engine.totals.bill.unknown == script.counts.answers - (0 if always else 4)
    if always:
        assert all(words in verdict.reason and "error" in verdict.reason for verdict in verdicts)


@pytest.mark.usefixtures("keys")
def test_a_server_that_streams_unasked_is_asked_once():
    """The reason says what to mend, and no attempt is repeated."""
    script = Saying()
    script.content = stream(BEGUN, WORDS, ENDED, {"type": "message_stop"})
    verdicts, engine = run_virtual(judged(pools(40), ANTHROPIC, connection=in_memory(script), max_concurrency=1))
    assert tally(verdicts) == {"owed": 40}
    assert all("turn streaming off" in verdict.reason for verdict in verdicts)
    assert script.counts.requests == engine.totals.bill.unknown == 1


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("judge", [OPENAI, ANTHROPIC])
def test_filters_and_streams_over_real_sockets(tmp_path, judge):
    """A third of the questions is filtered, a third of the answers breaks: all others are scored, nothing is lost."""
    script = Script(faults=Faults(filtered=0.3, broken_stream=0.3), seed=3)
    with ScriptedServer(script).in_thread() as server:
        url = f"{server.url}/v1" if judge == OPENAI else server.url
        verdicts, engine = asyncio.run(judged(pools(60), judge, base_url=url, ledger=tmp_path))
    faults = script.counts.faults
    assert faults["filtered"] >= 10
    assert faults["broken_stream"] >= 10
    assert tally(verdicts) == {"scored": 60 - faults["filtered"], "unscored": faults["filtered"]}
    assert engine.totals.bill.unknown == faults["broken_stream"] == sum(script.counts.paid_again.values())
