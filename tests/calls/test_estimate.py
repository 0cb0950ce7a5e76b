"""What calls will cost before any of them is sent, also where one answer holds several samples."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.ask import Ask, Model
from bonwise.calls.bill import Bill, Usage
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import estimate, estimate_asks
from bonwise.calls.prices import Prices
from bonwise.calls.providers.protocol import Connection, provider
from bonwise.calls.tokens import expected_input_tokens, expected_output_tokens, most_input_tokens
from bonwise.errors import UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.registry import judge_from_spec
from bonwise.table.verdicts import Unscored
from bonwise.testing.script import Script
from bonwise.testing.stand_in import stand_in
from bonwise.testing.transport import FakeTransport
from calls.virtual_time import run_virtual

MINI = Model("openai", "gpt-5-mini")
OPUS = Model("anthropic", "claude-opus-5")
UNKNOWN = Model("openai", "nobody-knows")
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}


def ask(model=MINI, characters=4_000, **settings):
    """Make a question of so many letters."""
    return Ask(model, "s" * 400, "u" * (characters - 400), str, **settings)


def test_a_worked_example_by_hand():
    """Two asks of 1,000 input tokens, five samples each, one stored, sent one by one."""
    found = estimate(
        [ask(samples=5, max_tokens=100), ask(samples=5, max_tokens=100)],
        lambda _: 1,
        Prices.load(),
        observed_output={"openai/gpt-5-mini": 25.0},
    )
    assert (found.asks, found.samples, found.stored, found.calls) == (2, 10, 2, 8)
    assert (found.input_tokens, found.output_tokens_expected, found.output_tokens_most) == (8_000, 200, 800)
    # 8,000 x 0.25 + 200 x 2.00 = 2,000 + 400 millionths of a dollar.
    assert found.cost == pytest.approx(2_400e-6, rel=1e-12)
    # At most 4,000 + 2 x 16 + 512 input tokens per call: 8 x 4,544 x 0.25 + 800 x 2.00 = 9,088 + 1,600.
    assert found.input_tokens_most == 8 * 4_544
    assert found.cost_most == pytest.approx(10_688e-6, rel=1e-12)
    assert found.prices == Prices.load().version


def test_samples_at_once_are_charged_their_input_once():
    """One call that brings four samples has one input and four outputs."""
    many = [ask(samples=4, max_tokens=100)]
    apart, together = (
        estimate(many, lambda _: 0, Prices.load(), samples_at_once=at_once, observed_output={str(MINI): 30})
        for at_once in (False, True)
    )
    assert (apart.calls, apart.input_tokens, apart.output_tokens_expected) == (4, 4_000, 120)
    assert (together.calls, together.input_tokens, together.output_tokens_expected) == (1, 1_000, 120)
    assert together.cost == pytest.approx((1_000 * 0.25 + 120 * 2) / 1e6, rel=1e-12)
    assert together.cost_most < apart.cost_most


def test_whether_samples_come_at_once_may_differ_by_model():
    """A run of two providers counts the calls of each in its own way."""
    found = estimate(
        [ask(samples=3), ask(OPUS, samples=3)],
        lambda _: 0,
        Prices.load(),
        samples_at_once=lambda model: model.provider == "openai",
    )
    assert [(row.model, row.calls) for row in found.by_model] == [(MINI, 1), (OPUS, 3)]


def test_what_is_stored_costs_nothing():
    """Nothing is sent for what is there, whatever its price, and more stored than asked for changes nothing."""
    found = estimate([ask(samples=2), ask(UNKNOWN)], lambda _: 7, Prices.load())
    assert (found.calls, found.stored, found.samples, found.cost, found.cost_most) == (0, 3, 3, 0.0, 0.0)
    assert found.unknown_price_models == ()
    assert found.assumed_output_models == ()


def test_an_unknown_price_is_never_zero():
    """One model without a price makes the total unknown, is named, and leaves the other's row as it is."""
    found = estimate([ask(), ask(UNKNOWN), ask(UNKNOWN)], lambda _: 0, Prices.load())
    assert (found.cost, found.cost_most) == (None, None)
    assert found.unknown_price_models == ("openai/nobody-knows",)
    assert found.by_model[0].cost > 0
    elsewhere = Model("openai", "gpt-5-mini", "http://localhost:8000/v1")
    assert estimate([ask(elsewhere)], lambda _: 0, Prices.load()).cost is None


def test_the_price_is_that_of_the_server_which_really_answers():
    """A model that the environment moves to another server has no official price, and back again it has."""
    moved = estimate([ask()], lambda _: 0, Prices.load(), address=lambda _: "http://localhost:8000/v1")
    official = estimate([ask()], lambda _: 0, Prices.load(), address=lambda _: "https://api.openai.com/v1")
    assert moved.cost is None
    assert official.cost == estimate([ask()], lambda _: 0, Prices.load()).cost


def test_input_is_corrected_by_what_servers_counted():
    """A model whose servers counted a fifth more tokens than expected is expected to do so again."""
    found = estimate([ask(), ask(OPUS)], lambda _: 0, Prices.load(), input_correction={str(OPUS): 1.2})
    assert [row.input_tokens for row in found.by_model] == [1_000, 1_200]


def test_assumed_answers_are_named():
    """Models without observed answers are named, since no one knows how much they reason."""
    found = estimate([ask(), ask(OPUS)], lambda _: 0, Prices.load(), observed_output={str(OPUS): 9})
    assert found.assumed_output_models == ("openai/gpt-5-mini",)
    assert [row.output_basis for row in found.by_model] == ["assumed", "observed"]


def test_a_long_prompt_is_estimated_at_its_rates():
    """An input above the boundary of a price is estimated at the more expensive rates."""
    haiku = Model("anthropic", "claude-haiku-5-5")
    short, long = (
        estimate([ask(haiku, characters)], lambda _: 0, Prices.load(), observed_output={str(haiku): 0}).cost
        for characters in (400_000, 400_004)
    )
    assert short == pytest.approx(100_000 * 0.10 / 1e6, rel=1e-12)
    assert long == pytest.approx(100_001 * 0.50 / 1e6, rel=1e-12)


def test_the_document_is_strict_json_with_every_figure():
    """An estimate without a known price is JSON all the same, with null where the cost is not known."""
    document = estimate([ask(samples=2), ask(UNKNOWN)], lambda _: 0, Prices.load()).to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert (document["cost"], document["calls"], len(document["by_model"])) == (None, 3, 2)
    assert document["by_model"][1]["model"] == "openai/nobody-knows"


def test_asks_are_taken_one_by_one():
    """A generator of asks is read once, and no ask at all is an estimate of nothing."""
    assert estimate((ask() for _ in range(3)), lambda _: 0, Prices.load()).calls == 3
    assert estimate([], lambda _: 0, Prices.load()).cost == 0.0


@given(st.text(max_size=200))
def test_the_expected_input_is_within_the_bound(text):
    """No text is expected to have more tokens than bytes."""
    assert 0 <= expected_input_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))
    assert most_input_tokens(len(text.encode("utf-8", "surrogatepass")), 1) > expected_input_tokens(text)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcde", 2), ("日本語", 3), ("прив", 2), ("😀", 2), ("a—b", 2), ("\ud800", 1)]
)
def test_the_guess_by_script(text, tokens):
    """Four bytes a token, one token for a character of three bytes, two for one of four."""
    assert expected_input_tokens(text) == tokens


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({"schema": SCHEMA}, 12),
        ({"schema": SCHEMA, "max_tokens": 8}, 8),
        ({"schema": {"properties": {"why": {"type": "string"}, "pick": {"enum": ["A", "B"]}}}}, 4 + 54 + 7),
        ({"schema": {}}, 4),
        ({}, 150),
    ],
)
def test_the_assumed_length_of_an_answer(settings, tokens):
    """A number takes about ten tokens, a text fifty, plain words 150, and none more than max_tokens."""
    assert expected_output_tokens(ask(**settings)) == tokens


OPENAI, ANTHROPIC = "openai/gpt-4.1-mini", "anthropic/claude-opus-5"
POOLS = [("Why?", ["one", "two", "three", " "]), ("How?", ["one", "one", "four"]), ("Why?", ["two", "one"])]
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


@pytest.fixture
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


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("spec", [*BOTH, *LOGPROBS])
def test_the_calls_of_a_judge_are_foreseen(spec):
    """The calls foreseen are those that a run then makes, and no server can bill more than the bounds."""
    script = Script(usage=greedy)
    found = foreseen(script, [spec])
    assert found.calls > 0
    holds(found, spent(script, [spec]))


@pytest.mark.usefixtures("keys")
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


@pytest.mark.usefixtures("keys")
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


@pytest.mark.usefixtures("keys")
def test_the_length_of_stored_answers_is_what_is_expected_of_others(tmp_path):
    """Once answers of a model are stored, their mean length is expected, and the estimate says so."""
    script = Script(usage=lambda *_: Usage(uncached=700, output=33))
    spec = f"pointwise:{OPENAI}"
    assert foreseen(script, [spec], ledger=tmp_path).assumed_output_models == (OPENAI,)
    spent(script, [spec], POOLS[:1], ledger=tmp_path)
    found = foreseen(script, [spec], POOLS[1:2], ledger=tmp_path)
    assert found.assumed_output_models == ()
    assert (found.calls, found.output_tokens_expected) == (2, 66)


@pytest.mark.usefixtures("keys")
def test_foreseeing_needs_no_key(monkeypatch):
    """Without any key the calls are foreseen all the same."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name)
    assert foreseen(Script(), [f"pointwise:{OPENAI}", f"pointwise:{ANTHROPIC}"]).calls == 10


@pytest.mark.usefixtures("keys")
def test_an_unknown_price_is_said():
    """A model at a server of one's own has no price: the calls are foreseen, the cost is not known."""
    judge = judge_from_spec("pointwise:openai/m", base_url="http://localhost:1/v1")

    async def main():
        async with Engine() as engine:
            return estimate_asks(engine, judge.asks("Why?", ["one", "two"]))

    found = asyncio.run(main())
    assert (found.calls, found.cost, found.cost_most) == (2, None, None)
    assert found.unknown_price_models == ("openai/m",)


@pytest.mark.usefixtures("keys")
def test_a_server_that_is_known_to_ignore_n_is_foreseen_call_by_call(tmp_path):
    """Where a ledger knows that ``n`` brings one answer, a call for each answer is foreseen."""
    script = Script(usage=greedy, ignores={"n"})
    spec = f"resampled,draws=3,of=pointwise:{OPENAI}"
    spent(script, [spec], POOLS[:1], ledger=tmp_path)
    found = foreseen(script, [spec], POOLS[1:2], ledger=tmp_path)
    holds(found, spent(script, [spec], POOLS[1:2], ledger=tmp_path))


@pytest.mark.usefixtures("keys")
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


@pytest.mark.usefixtures("keys")
def test_a_request_refused_for_good_is_foreseen_again_with_reask(tmp_path):
    """A request that was refused for good is no call without ``reask``, and one with it."""
    script = Script(usage=greedy, context_length=1)
    spec = f"pointwise:{OPENAI}"
    spent(script, [spec], POOLS[:1], ledger=tmp_path)
    assert foreseen(script, [spec], POOLS[:1], ledger=tmp_path).calls == 0
    assert foreseen(script, [spec], POOLS[:1], ledger=tmp_path, reask=1).calls == 3


@pytest.mark.usefixtures("keys")
def test_what_cannot_be_asked_is_not_foreseen():
    """A question that its provider can never answer is refused, as it is when it is asked."""
    with pytest.raises(UsageError, match="log probabilities"):
        foreseen(Script(), [f"logprob:{ANTHROPIC}"])


OPENAI_OF_FIRST_SAMPLE = Model("openai", "m", "http://scripted/v1")
ANTHROPIC_OF_FIRST_SAMPLE = Model("anthropic", "m", "http://scripted")
MODELS = pytest.mark.parametrize(
    "model", [OPENAI_OF_FIRST_SAMPLE, ANTHROPIC_OF_FIRST_SAMPLE], ids=lambda model: model.provider
)


def asked(model=OPENAI_OF_FIRST_SAMPLE, **settings):
    """Make a question."""
    return Ask(model, "Judge.", "Is it good?", lambda choice: choice.text, **settings)


def numbered():
    """Return a service that numbers its answers in the order in which it is paid for them."""
    script = Script()
    script.answer = lambda _request: str(script.counts.answers)
    return script


def engine_to(script, ledger=None, **settings):
    """Return an engine in front of a script."""
    return Engine(ledger, connection=Connection(transport=FakeTransport(script)), **settings)


def texts(answers):
    """Return what was said."""
    return [one.reading for one in answers.answers]


@MODELS
def test_each_draw_is_paid_once_and_kept_under_its_index(model, tmp_path):
    """Draws 0, 1 and 2 of one question are three answers, each paid once, and come back from the ledger."""
    script = numbered()

    async def main():
        async with engine_to(script, tmp_path) as engine:
            return [await engine.ask(asked(model, first_sample=at)) for at in (0, 1, 2, 1, 0, 2)]

    found = asyncio.run(main())
    assert [texts(one) for one in found] == [["1"], ["2"], ["3"], ["2"], ["1"], ["3"]]
    assert script.counts.answers == 3
    assert [one.bill.calls for one in found] == [1, 1, 1, 0, 0, 0]
    again = asyncio.run(main())
    assert [texts(one) for one in again] == [texts(one) for one in found]
    assert script.counts.answers == 3


@MODELS
def test_keys_are_those_of_the_index(model):
    """The ledger key of a draw depends on its index alone, not on how many are asked for at once."""
    adapter = provider(model.provider)
    for samples, first in ((1, 0), (3, 0), (1, 2)):
        keys = adapter.request(asked(model, samples=samples, first_sample=first), 1, frozenset()).keys(range(4))
        assert keys == adapter.request(asked(model), 1, frozenset()).keys(range(4))
        assert len(set(keys)) == 4


@MODELS
def test_several_samples_and_later_draws_are_the_same_answers(model, tmp_path):
    """Three samples at once are the draws 0, 1 and 2; only what is missing of a wider range is sent for."""
    script = numbered()

    async def main():
        async with engine_to(script, tmp_path) as engine:
            whole = texts(await engine.ask(asked(model, samples=3)))
            single = [texts(await engine.ask(asked(model, first_sample=at)))[0] for at in range(3)]
            paid = script.counts.answers
            wider = texts(await engine.ask(asked(model, samples=3, first_sample=1)))
            return whole, single, paid, wider

    whole, single, paid, wider = asyncio.run(main())
    assert whole == single
    assert wider[:2] == whole[1:]
    assert script.counts.answers == paid + 1


def test_another_temperature_is_another_question():
    """A draw at a temperature of its own shares nothing with the same draw without."""
    script = numbered()

    async def main():
        async with engine_to(script) as engine:
            return [texts(await engine.ask(asked(temperature=one))) for one in (None, 1.0, 0.5)]

    assert asyncio.run(main()) == [["1"], ["2"], ["3"]]


def test_foresight_counts_draws(tmp_path):
    """What is estimated is what a run then pays, draw by draw, stored ones left out."""
    script = numbered()
    asks = [asked(first_sample=at) for at in (0, 1, 1)] + [asked(samples=2, first_sample=1)]

    async def main():
        async with engine_to(script, tmp_path) as engine:
            before = estimate_asks(engine, asks)
            await engine.ask(asks[1])
            after = estimate_asks(engine, asks)
            for ask in asks:
                await engine.ask(ask)
            return before, after, estimate_asks(engine, asks)

    before, after, at_last = asyncio.run(main())
    assert [one.calls for one in (before, after, at_last)] == [3, 2, 0]
    assert script.counts.answers == 3


def test_an_unscored_draw_is_asked_again_under_its_own_index(tmp_path):
    """With reask only the draw that was unscored is asked for once more."""
    script = numbered()
    ask = replace(
        asked(samples=2, first_sample=3), read=lambda one: Unscored("odd") if one.text in "13" else one.text
    )

    async def main():
        async with engine_to(script, tmp_path, reask=1) as engine:
            return await engine.ask(ask)

    found = asyncio.run(main())
    assert len(texts(found)) == 2
    assert script.counts.answers <= 3


def test_the_bill_tells_the_tokens_of_stored_answers(tmp_path):
    """Answers of the ledger count as such, with the tokens that they took when they were paid."""
    script = numbered()

    async def main(first):
        async with engine_to(script, tmp_path) as engine:
            return (await engine.ask(asked(first_sample=first))).bill, engine.totals.bill

    paid, _ = asyncio.run(main(1))
    stored, totals = asyncio.run(main(1))
    assert (paid.calls, paid.reused_tokens) == (1, 0)
    assert stored == totals == Bill(from_ledger=1, reused_tokens=paid.input_tokens + paid.output_tokens)


def test_a_shared_call_that_ran_out_of_another_askers_time_is_made_again():
    """Who asked later has the whole of his own time, also where he shares the call of who asked before."""
    script = numbered()
    script.latency = 50.0

    async def main():
        asyncio.get_running_loop().call_later(0.9, setattr, script, "latency", 0.0)
        connection = Connection(transport=FakeTransport(script), timeout=1.0)
        async with Engine(deadline=1.0, connection=connection) as engine:
            first = asyncio.create_task(engine.ask(asked()))
            await asyncio.sleep(0.6)
            second = asyncio.create_task(engine.ask(asked()))
            return await asyncio.gather(first, second)

    first, second = run_virtual(main())
    assert first.answers[0].reading.owed
    assert texts(second) == ["2"]
