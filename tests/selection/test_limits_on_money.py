"""Prices of judges, limits with a window, and what a pick says that a limit has stopped."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import sqlite3
from contextlib import closing

import openai
import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import estimate
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.prices import Prices
from bonwise.errors import InputError, UsageError
from bonwise.judges.judging import asked
from bonwise.testing.script import Script
from calls.scripted_runs import in_memory
from selection.services import asking, by_worth

UNKNOWN = "openai/a-model-of-ours"
POOL = ["worth 20", "worth 90", "worth 50"]
PRICE = (0.5, 4.0)

KINDS = {
    "pointwise": bw.Pointwise,
    "interval": bw.Interval,
    "pairwise": bw.Pairwise,
    "probability": bw.Probability,
    "logprob": bw.Logprob,
}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set a key, and no file of prices."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    for name in ("OPENAI_BASE_URL", "BONWISE_PRICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("kind", KINDS)
def test_each_judge_takes_a_price(kind):
    """Its questions carry it, and its name does not: prices change."""
    judge = KINDS[kind](UNKNOWN, price=[0.5, 4])
    assert judge.price == PRICE
    assert {ask.model.price for ask in asked(judge, "p", POOL)} == {PRICE}
    assert judge.name == KINDS[kind](UNKNOWN).name
    assert bw.judge_from_spec(judge.name, price=PRICE) == judge != KINDS[kind](UNKNOWN)
    assert bw.Resampled(judge, draws=2).of.price == PRICE


@pytest.mark.parametrize(
    "price",
    [
        *(
            1,
            0.5,
            "0.5/4/1",
            "54",
            "a/b",
            (1e300, 1e300),
            (),
            (1,),
            (1, 2, 3),
            (1, -2),
            (-1, 2),
            (1, math.nan),
            (math.inf, 1),
            (1, None),
        ),
        {},
    ],
)
@pytest.mark.parametrize("client", [None, openai.OpenAI(api_key="none", base_url="http://localhost:1/v1")])
def test_what_is_no_price_is_refused_with_the_judge(price, client):
    """Before anything else is made of it."""
    with pytest.raises(UsageError, match=r"^price.*( is .*US dollars| must be a finite number)"):
        bw.Pointwise(UNKNOWN, price=price, client=client)


def test_a_price_may_be_written_in_a_spec():
    """As the two numbers of a pair."""
    assert bw.judge_from_spec(f"pointwise,price=0.5/4:{UNKNOWN}").price == PRICE


def test_a_price_in_python_is_what_is_charged(tmp_path):
    """In the bill, in the ledger, and in the estimate; also where the model has a built-in price."""
    script = Script()
    for model in (UNKNOWN, "openai/gpt-5-mini"):
        judge = bw.Pointwise(model, price=PRICE)
        with bw.Selector(judge, ledger=tmp_path, connection=in_memory(script), max_cost=1.0) as selector:
            pick = selector.select("p", POOL)
        expected = (0.5 * pick.bill.input_tokens + 4.0 * pick.bill.output_tokens) / 1e6
        assert pick.cost == pytest.approx(expected)
        said = estimate(asked(judge, "p", POOL), lambda _: 0, Prices.load())
        assert said.cost == pytest.approx((0.5 * said.input_tokens + 4.0 * said.output_tokens_expected) / 1e6)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection:
        assert set(connection.execute("SELECT price_version FROM call")) == {("price=0.5/4",)}


def test_two_judges_of_one_model_have_prices_of_their_own(tmp_path):
    """Each is charged by its own."""

    async def run():
        async with Engine(tmp_path, connection=in_memory(Script())) as engine:
            for number, price in enumerate([(1.0, 1.0), (0.0, 0.0), None]):
                judge = bw.Pointwise(UNKNOWN, price=price)
                yield (await engine.ask(asked(judge, f"p{number}", ["a"])[0])).bill.cost

    async def costs():
        return [cost async for cost in run()]

    dear, free, unknown = asyncio.run(costs())
    assert (dear > 0, free, unknown) == (True, 0.0, None)


def test_a_price_of_a_client_of_ones_own():
    """Azure's deployments have names of their own, and no price that anybody knows."""
    client = openai.AsyncAzureOpenAI(api_key="none", azure_endpoint="https://x.example", api_version="2025-01-01")
    with pytest.raises(UsageError, match="max_cost cannot hold for openai/a-model-of-ours"):
        bw.Selector(bw.Pointwise(UNKNOWN, client=client), max_cost=1.0)
    bw.Selector(bw.Pointwise(UNKNOWN, client=client, price=PRICE), max_cost=1.0).close()


REFUSED = {
    "judge": lambda price: {"judge": bw.Pointwise(UNKNOWN, price=price)},
    "another server": lambda price: {
        "judge": bw.Pointwise("openai/gpt-5-mini", base_url="http://localhost:1/v1", price=price)
    },
    "wrapped": lambda price: {"judge": bw.Resampled(bw.Interval(UNKNOWN, price=price))},
    "router": lambda price: {
        "judge": bw.Interval("openai/gpt-5-mini"),
        "router": bw.Router(strong=bw.Pairwise(UNKNOWN, price=price), signal="interval_width", share=0.5),
    },
    "strategy": lambda price: {
        "judge": bw.Pointwise("openai/gpt-5-mini"),
        "strategy": bw.TieBreak(bw.Pairwise(UNKNOWN, price=price)),
    },
    "strategy beside a function": lambda price: {
        "judge": lambda _prompt, text: len(text),
        "strategy": bw.TieBreak(bw.Pairwise(UNKNOWN, price=price)),
    },
}


@pytest.mark.parametrize("limit", [1.0, (1.0, "day")])
@pytest.mark.parametrize("where", REFUSED)
def test_a_limit_beside_an_unknown_price_is_refused_when_the_selector_is_made(where, limit, tmp_path):
    """Not at the first request; a price, no limit, or nothing to send is fine."""
    settings = {"max_cost": limit, "ledger": tmp_path}
    with pytest.raises(UsageError, match=r"max_cost cannot hold for openai/.* at http.*price is not known.*price="):
        bw.Selector(**REFUSED[where](None), **settings)
    for given in ((PRICE, settings), (None, {}), (None, settings | {"offline": True})):
        bw.Selector(**REFUSED[where](given[0]), **given[1]).close()


def test_a_file_of_prices_is_enough(tmp_path, monkeypatch):
    """As before."""
    entry = '[[price]]\nprovider = "openai"\nmodels = ["a-model-of-ours"]\ninput = 1\noutput = 2\n'
    (tmp_path / "prices.toml").write_text(entry)
    monkeypatch.setenv("BONWISE_PRICES", str(tmp_path / "prices.toml"))
    bw.Selector(bw.Pointwise(UNKNOWN), max_cost=1.0).close()


@pytest.mark.parametrize("limit", [0.5, (5.0, "day"), "5/month"])
def test_plain_values_hold_price_and_window(tmp_path, limit):
    """What `to_dict` writes is JSON, and makes the same selector."""
    judge = bw.Resampled(bw.Interval(UNKNOWN, price=PRICE), draws=2)
    made = bw.Selector(
        judge, strategy=bw.TieBreak(bw.Pairwise(UNKNOWN, price=PRICE)), max_cost=limit, ledger=tmp_path
    )
    written = json.loads(json.dumps(made.to_dict()))
    again = bw.Selector.from_dict(written)
    assert json.loads(json.dumps(again.to_dict())) == written
    assert again.settings.judge == judge
    assert written["judge"]["price"] == written["strategy"]["price"] == [0.5, 4.0]


def test_a_server_refuses_settings_that_would_fail_at_the_first_request(tmp_path):
    """A limit of its judge without a price or, with a window, without a run folder; both name the model's table."""
    pytest.importorskip("starlette", reason="bonwise[serve] is not installed")
    from bonwise.serving.best_of_model import BestOfModel  # noqa: PLC0415
    from bonwise.serving.config import read_config  # noqa: PLC0415

    def made(judge, limit, run=None):
        settings = (
            f'[models.fast]\nupstream = "openai/m"\njudge = "pointwise:openai/{judge}"\njudge_max_cost = {limit}\n'
        )
        (tmp_path / "serve.toml").write_text(settings)
        return BestOfModel(read_config(tmp_path / "serve.toml").models["fast"], Prices.load(), run)

    with pytest.raises(InputError, match=r"^models.fast: max_cost cannot hold for openai/ours"):
        made("ours", "1.0")
    with pytest.raises(InputError, match=r"^models.fast: max_cost=5/day needs a ledger"):
        made("gpt-5-mini", '"5/day"')
    with pytest.raises(InputError, match=r"judge_max_cost is '5/week'"):
        made("gpt-5-mini", '"5/week"')
    made("gpt-5-mini", '"5/day"', str(tmp_path / "run"))
    made("gpt-5-mini", "1.0")


STOPPED = [
    ("first", 2, "limit", "c1"),
    ("random", 2, "limit", "c1"),
    ("owe", 2, "owed", None),
    ("first", 0, "first", "c0"),
    ("owe", 0, "owed", None),
]


@pytest.mark.parametrize(("on_failure", "calls", "decided_by", "best"), STOPPED)
def test_a_pick_that_a_limit_stopped_says_so(caplog, on_failure, calls, decided_by, best):
    """In `decided_by` where there was something to go by, in `stopped` and in the log in any case."""
    caplog.set_level(logging.WARNING, "bonwise")
    with asking(by_worth(), max_calls=calls, on_failure=on_failure, max_concurrency=1) as selector:
        found = selector.select("p", POOL)
    assert (found.best_id, found.decided_by) == (best, decided_by)
    reached = f"max_calls={calls} is reached"
    assert found.stopped.endswith(f"was not answered: {reached}")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "bonwise.selection"]
    assert reached in line
    assert line.endswith(f"the pick was decided by {decided_by}")


def test_words_of_a_server_are_no_limit(caplog):
    """A failure that names a limit in a server's words is a failure like any other."""
    script = by_worth()

    def judge(_prompt, text):
        if "50" in text:
            raise bw.CallError("the server answered HTTP 400: max_tokens=5 is reached")
        return float(text.split()[1])

    with bw.Selector(judge, on_failure="first") as selector:
        found = selector.select("p", POOL)
    assert (found.decided_by, script.counts.requests) == ("partial", 0)
    assert "max_tokens" not in caplog.text


def test_a_selector_in_production_goes_on_the_next_day(tmp_path, monkeypatch):
    """One that lives long: reached today, open again tomorrow, and a second one on the ledger sees the same."""
    now = [1_790_000_000.0]
    monkeypatch.setattr("bonwise.calls.shared_money.time.time", lambda: now[0])
    judge = bw.Pointwise("openai/gpt-5-mini", max_tokens=64)
    settings = {"ledger": tmp_path, "max_cost": (0.003, "day"), "on_failure": "first", "max_concurrency": 1}

    def made():
        return bw.Selector(judge, connection=in_memory(by_worth()), **settings)

    with made() as one, made() as other:
        today = [one.select(f"p{at}", POOL) for at in range(20)]
        stopped = [pick for pick in today if pick.failure]
        assert 0 < len(stopped) < 20
        assert all("max_cost=0.003/day leaves no room" in pick.stopped for pick in stopped)
        assert other.select("q", POOL).failure
        now[0] -= 86_400.0
        assert other.select("r", POOL).failure
        now[0] += 2 * 86_400.0 + 60.0
        assert not other.select("q", POOL).failure
        assert not one.select("p19", POOL).failure
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().cost <= 2 * 0.003
