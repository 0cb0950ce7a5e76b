from __future__ import annotations

import asyncio
import json
import os

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import estimate_asks
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.registry import judge_from_spec
from bonwise.testing.script import Script
from bonwise.testing.stand_in import stand_in
from bonwise.testing.transport import FakeTransport
from calls.virtual_time import run_virtual

OPENAI, ANTHROPIC = "openai/gpt-4.1-mini", "anthropic/claude-opus-5"
POOLS = [
    ("Why?", ["one", "two", "three", " "]),
    ("How?", ["one", "one", "four"]),
    ("Why?", ["two", "one"]),
]
SPECS = [
    "pointwise",
    "pointwise,prompt=pointwise-reason",
    "interval",
    "pairwise",
    "pairwise,orders=1",
    "probability",
    "resampled,draws=3,of=pointwise",
    "resampled,draws=2,of=pairwise",
    "quantized,bins=5,of=interval",
]
BOTH = [f"{spec}:{model}" for model in (OPENAI, ANTHROPIC) for spec in SPECS]
LOGPROBS = [f"{spec}:{OPENAI}" for spec in ("logprob", "logprob,pairs=true")]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set a key for each provider, and nothing else that the SDKs read."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_", "BONWISE_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-2")


def over(script, **settings):
    """Return an engine in front of a script."""
    return Engine(connection=Connection(transport=FakeTransport(script)), **settings)


def greedy(request, reply):
    """Count as many tokens as a server can: a token a byte of what was sent, and every answer up to its limit."""
    words = len(json.dumps(request.body, ensure_ascii=False).encode())
    return Usage(uncached=words, output=len(reply.choices) * request.max_tokens)


def questions(specs, pools):
    """Return everything that judges ask about pools."""
    judges = [judge_from_spec(spec) for spec in specs]
    return [ask for prompt, texts in pools for judge in judges for ask in judge.asks(prompt, texts)]


def foreseen(script, specs, pools=POOLS, **settings):
    """Estimate what judging will take; nothing is sent for it."""

    async def main():
        async with over(script, **settings) as engine:
            return estimate_asks(engine, questions(specs, pools))

    requests = script.counts.requests
    found = asyncio.run(main())
    assert script.counts.requests == requests
    return found


def spent(script, specs, pools=POOLS, **settings):
    """Judge, and return what it took."""

    async def main():
        async with over(script, **settings) as engine:
            judges = [judge_from_spec(spec) for spec in specs]
            await asyncio.gather(
                *(judge_with(engine, judge, prompt, texts) for prompt, texts in pools for judge in judges)
            )
            return engine.totals.bill

    return run_virtual(main())


def holds(found, bill):
    """The calls are the ones foreseen, and nothing exceeds its bound."""
    assert found.calls == bill.calls
    assert found.input_tokens_most >= bill.input_tokens
    assert found.output_tokens_most >= bill.output_tokens
    assert found.cost_most >= bill.cost
    assert found.cost <= found.cost_most


@pytest.mark.parametrize("spec", [*BOTH, *LOGPROBS])
def test_the_calls_of_a_judge_are_foreseen(spec):
    """The calls foreseen are those that a run then makes, and no server can bill more than the bounds."""
    script = Script(usage=greedy)
    found = foreseen(script, [spec])
    assert found.calls > 0
    holds(found, spent(script, [spec]))


def test_the_calls_of_many_judges_are_foreseen(tmp_path):
    """Judges that ask the same share the calls, models are told apart, and a run leaves nothing to be asked."""
    script = Script(usage=greedy)
    specs = [f"pointwise:{OPENAI}", f"quantized,bins=5,of=pointwise:{OPENAI}", f"pairwise:{ANTHROPIC}"]
    found = foreseen(script, specs, ledger=tmp_path)
    assert [str(row.model) for row in found.by_model] == [OPENAI, ANTHROPIC]
    # Five texts for OpenAI, the first prompt's again in the last pool. Pairs: three in two orders; one text with
    # itself, and with the other, in two orders; none that is new.
    assert [row.calls for row in found.by_model] == [3 + 2, 6 + 1 + 2]
    holds(found, spent(script, specs, ledger=tmp_path))
    after = foreseen(script, specs, ledger=tmp_path)
    assert (after.calls, after.cost, after.cost_most) == (0, 0.0, 0.0)
    assert after.stored == after.samples == found.samples


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
def test_what_is_stored_is_not_foreseen_again(tmp_path, model):
    """With a part of the answers stored, only the rest is foreseen, and only the rest is then asked."""
    script = Script(usage=greedy)
    spent(script, [f"resampled,draws=2,of=pointwise:{model}"], POOLS[:1], ledger=tmp_path)
    spec = f"resampled,draws=5,of=pointwise:{model}"
    found = foreseen(script, [spec], ledger=tmp_path)
    bill = spent(script, [spec], ledger=tmp_path)
    holds(found, bill)
    assert found.calls == (3 + 2 if model == OPENAI else 3 * 3 + 2 * 5)


def test_the_length_of_stored_answers_is_what_is_expected_of_others(tmp_path):
    """Once answers of a model are stored, their mean length is expected, and the estimate says so."""
    script = Script(usage=lambda *_: Usage(uncached=700, output=33))
    spec = f"pointwise:{OPENAI}"
    assert foreseen(script, [spec], ledger=tmp_path).assumed_output_models == (OPENAI,)
    spent(script, [spec], POOLS[:1], ledger=tmp_path)
    found = foreseen(script, [spec], POOLS[1:2], ledger=tmp_path)
    assert found.assumed_output_models == ()
    assert (found.calls, found.output_tokens_expected) == (2, 66)


def test_foreseeing_needs_no_key(monkeypatch):
    """Without any key the calls are foreseen all the same."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name)
    assert foreseen(Script(), [f"pointwise:{OPENAI}", f"pointwise:{ANTHROPIC}"]).calls == 10


def test_an_unknown_price_is_said():
    """A model at a server of one's own has no price: the calls are foreseen, the cost is not known."""
    judge = judge_from_spec("pointwise:openai/m", base_url="http://localhost:1/v1")

    async def main():
        async with Engine() as engine:
            return estimate_asks(engine, judge.asks("Why?", ["one", "two"]))

    found = asyncio.run(main())
    assert (found.calls, found.cost, found.cost_most) == (2, None, None)
    assert found.unknown_price_models == ("openai/m",)


def test_a_server_that_is_known_to_ignore_n_is_foreseen_call_by_call(tmp_path):
    """Where a ledger knows that ``n`` brings one answer, a call for each answer is foreseen."""
    script = Script(usage=greedy, ignores={"n"})
    spec = f"resampled,draws=3,of=pointwise:{OPENAI}"
    spent(script, [spec], POOLS[:1], ledger=tmp_path)
    found = foreseen(script, [spec], POOLS[1:2], ledger=tmp_path)
    holds(found, spent(script, [spec], POOLS[1:2], ledger=tmp_path))


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
def test_what_is_asked_again_is_foreseen(tmp_path, model):
    """With ``reask`` the stored answers that are unscored are calls again, beside what is missing, and once."""
    script = Script(lambda request: "no idea" if "one" in request.user else stand_in(request), usage=greedy)
    spent(script, [f"resampled,draws=2,of=pointwise:{model}"], POOLS[:1], ledger=tmp_path)
    script.answer = stand_in
    specs = [f"resampled,draws=3,of=pointwise:{model}", f"resampled,draws=2,of=pointwise:{model}"]
    assert foreseen(script, specs, POOLS[:1], ledger=tmp_path).calls == 3
    found = foreseen(script, specs, POOLS[:1], ledger=tmp_path, reask=1)
    holds(found, spent(script, specs, POOLS[:1], ledger=tmp_path, reask=1))
    assert found.samples == (3 + 2) * 3
    assert foreseen(script, specs, POOLS[:1], ledger=tmp_path, reask=1).calls == 0


def test_a_request_refused_for_good_is_foreseen_again_with_reask(tmp_path):
    """A request that was refused for good is no call without ``reask``, and one with it."""
    script = Script(usage=greedy, context_length=1)
    spec = f"pointwise:{OPENAI}"
    spent(script, [spec], POOLS[:1], ledger=tmp_path)
    assert foreseen(script, [spec], POOLS[:1], ledger=tmp_path).calls == 0
    assert foreseen(script, [spec], POOLS[:1], ledger=tmp_path, reask=1).calls == 3


def test_what_cannot_be_asked_is_not_foreseen():
    """A question that its provider can never answer is refused, as it is when it is asked."""
    with pytest.raises(UsageError, match="log probabilities"):
        foreseen(Script(), [f"logprob:{ANTHROPIC}"])
