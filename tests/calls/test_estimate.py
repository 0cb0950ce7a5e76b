from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.ask import Ask, Model
from bonwise.calls.estimate import estimate
from bonwise.calls.prices import Prices
from bonwise.calls.tokens import expected_input_tokens, expected_output_tokens, most_input_tokens

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
