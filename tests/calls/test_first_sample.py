from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bonwise.calls.ask import Ask, Model
from bonwise.calls.bill import Bill
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import estimate_asks
from bonwise.calls.providers.protocol import Connection, provider
from bonwise.table.verdicts import Unscored
from bonwise.testing.script import Script
from bonwise.testing.transport import FakeTransport
from calls.virtual_time import run_virtual

OPENAI = Model("openai", "m", "http://scripted/v1")
ANTHROPIC = Model("anthropic", "m", "http://scripted")
MODELS = pytest.mark.parametrize("model", [OPENAI, ANTHROPIC], ids=lambda model: model.provider)


def asked(model=OPENAI, **settings):
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
