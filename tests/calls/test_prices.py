from __future__ import annotations

import hashlib
import random
import tomllib
from importlib import resources

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.prices import ENVIRONMENT_VARIABLE, Prices
from bonwise.errors import FileError, InputError

BUILT_IN = tomllib.loads((resources.files("bonwise.calls") / "prices.toml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    """Take away a file of prices that the person who runs the tests may have."""
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)


@pytest.fixture
def table(tmp_path):
    """Write a user's file and load it over the built-in table."""

    def load(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return Prices.load(path)

    return load


def entry(**fields):
    """Write one entry; a field that is None is left out."""
    base = {"provider": '"openai"', "models": '["m"]', "input": "1.0", "output": "2.0"} | fields
    return "[[price]]\n" + "".join(f"{name} = {value}\n" for name, value in base.items() if value is not None)


def test_openai_cached_input_is_charged_once_by_hand():
    """A usage of 1,000 prompt tokens, 800 of them cached, costs 200 at full price and 800 at the cached one."""
    prices = Prices.load()
    usage = Usage(uncached=1_000 - 800, cache_read=800, output=100, reasoning=60)
    # gpt-5-mini: 200 x 0.25 + 800 x 0.025 + 100 x 2.00 = 50 + 20 + 200 millionths of a dollar.
    assert prices.cost(prices.price("openai", "gpt-5-mini"), usage) == pytest.approx(270e-6, rel=1e-12)


def test_anthropic_cache_kinds_stand_beside_the_input_by_hand():
    """Anthropic counts 200 input tokens beside 800 read, 300 written for minutes and 100 for an hour."""
    prices = Prices.load()
    usage = Usage(uncached=200, cache_read=800, cache_write_5m=300, cache_write_1h=100, output=50)
    # claude-opus-5: 200 x 5 + 800 x 0.5 + 300 x 6.25 + 100 x 10 + 50 x 25 = 1000 + 400 + 1875 + 1000 + 1250.
    assert prices.cost(prices.price("anthropic", "claude-opus-5"), usage) == pytest.approx(5_525e-6, rel=1e-12)


def test_reasoning_is_not_charged_twice():
    """Reasoning tokens are among the output: saying how many there were changes no cost."""
    prices = Prices.load()
    price = prices.price("openai", "gpt-5-mini")
    assert prices.cost(price, Usage(output=500, reasoning=400)) == prices.cost(price, Usage(output=500))


@pytest.mark.parametrize(("tokens", "dollars"), [(100_000, 0.01), (100_001, 0.0500005)])
def test_a_long_prompt_moves_the_whole_call_to_its_rates(tokens, dollars):
    """The higher rates begin one token above the boundary, cached input counts towards it, and no token is exempt."""
    prices = Prices.load()
    price = prices.price("anthropic", "claude-haiku-5-5")
    assert prices.cost(price, Usage(uncached=tokens)) == pytest.approx(dollars, rel=1e-12)
    cached = Usage(uncached=tokens - 90_000, cache_read=90_000)
    expected = (tokens - 90_000) * price.rates_for(tokens).input + 90_000 * price.rates_for(tokens).cached_input
    assert prices.cost(price, cached) == pytest.approx(expected / 1e6, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "same_as"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-4.1-nano-2025-04-14", "gpt-4.1-nano"),
    ],
)
def test_a_dated_snapshot_has_the_price_of_its_model(model, same_as):
    """A real date behind a name is a snapshot of that model and of no shorter name."""
    prices = Prices.load()
    assert prices.price("openai", model) == prices.price("openai", same_as)
    assert prices.price("openai", "gpt-4o") != prices.price("openai", "gpt-4o-mini")
    assert prices.price("anthropic", "claude-sonnet-4-5-20250929") == prices.price("anthropic", "claude-sonnet-4-5")


@pytest.mark.parametrize(
    "model",
    [
        *(
            "gpt-4",
            "gpt-4o-",
            "gpt-4o-audio-preview",
            "gpt-4o-2024-08-06-mine",
            "gpt-4o-2024-13-40",
            "gpt-4o-20249999",
        ),
        *("GPT-4o", "gpt-4o-mini-2", "ft:gpt-4o-mini", "gpt-4o-2024-05-13", "claude-opus-5", "*", ""),
    ],
)
def test_no_price_is_taken_from_a_name_that_only_looks_alike(model):
    """A name that is neither exact nor dated has no price, nor has a dated one that is excepted."""
    assert Prices.load().price("openai", model) is None


def test_another_server_has_no_official_price(table):
    """A custom address has a price only where the user's file names it; the official address is no custom one."""
    mine = table(entry(base_url='"http://LOCALHOST:8000/v1/"', models='["gpt-4o"]', input="0", output="0"))
    official = Prices.load()
    assert official.price("openai", "gpt-4o", "http://localhost:8000/v1") is None
    assert official.price("openai", "gpt-4o", "https://api.openai.com/v1/") == official.price("openai", "gpt-4o")
    assert official.price("anthropic", "claude-opus-5", "https://api.openai.com/v1") is None
    assert official.price("openai", "gpt-4o", "http://[::1") is None
    local = mine.price("openai", "gpt-4o", "http://localhost:8000/v1")
    assert mine.cost(local, Usage(uncached=10**6, output=10**6)) == 0
    assert mine.price("openai", "gpt-4o", "http://localhost:8001/v1") is None
    assert mine.price("openai", "gpt-4o") == official.price("openai", "gpt-4o")


def test_a_star_prices_all_models_of_one_server_after_those_that_are_named(table):
    """An entry for every model of a server gives way to an entry that names the model."""
    server = 'base_url = "http://gpu:8000/v1"\n'
    prices = table(entry(models='["*"]', input="0", output="0") + server + entry(models='["big"]') + server)
    assert prices.price("openai", "small", "http://gpu:8000/v1").rates.input == 0
    assert prices.price("openai", "big-2026-01-02", "http://gpu:8000/v1").rates.input == 1
    assert prices.price("openai", "small") is None


def test_the_users_entries_win_and_the_others_stay(table):
    """An entry of the user's file replaces the built-in one, for dated names too."""
    prices = table(entry(models='["gpt-4o"]', input="7"))
    assert prices.price("openai", "gpt-4o").rates.input == 7
    assert prices.price("openai", "gpt-4o-2024-08-06").rates.input == 7
    assert prices.price("openai", "gpt-4o-mini") == Prices.load().price("openai", "gpt-4o-mini")


def test_the_argument_comes_before_the_environment(tmp_path, monkeypatch):
    """The file named by the argument is read, and the environment's only without one."""
    for name, price in (("argument.toml", "3"), ("environment.toml", "4")):
        (tmp_path / name).write_text(entry(input=price), encoding="utf-8")
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "environment.toml"))
    assert Prices.load().price("openai", "m").rates.input == 4
    assert Prices.load(tmp_path / "argument.toml").price("openai", "m").rates.input == 3
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "")
    assert Prices.load().price("openai", "m") is None


def test_the_version_names_the_users_file_by_its_content(table):
    """The version is the built-in one, and a short digest of the user's file behind it."""
    text = entry()
    assert Prices.load().version == BUILT_IN["version"]
    assert table(text).version == f"{BUILT_IN['version']}+{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def test_rates_that_are_not_stated_are_the_next_dearer_kind(table):
    """Cached input and written caches fall back to the input price, and hours to minutes."""
    rates = table(entry(cache_write_5m="1.5")).price("openai", "m").rates
    assert (rates.cached_input, rates.cache_write_5m, rates.cache_write_1h) == (1.0, 1.5, 1.5)
    plain = table(entry()).price("openai", "m").rates
    assert (plain.cached_input, plain.cache_write_5m, plain.cache_write_1h) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("field", ["input", "cached_input", "cache_write_5m", "cache_write_1h", "output"])
@pytest.mark.parametrize("value", ["-1", "nan", "inf", '"1"', "true", "[]"])
def test_a_rate_that_is_no_price_is_refused(table, field, value):
    """A negative, infinite or missing number and anything else are refused, with the file and the field."""
    with pytest.raises(InputError, match=rf"mine\.toml: price 1 \(openai m\): {field} must be"):
        table(entry(**{field: value}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (entry(input=None), r"price 1 \(openai m\): input is missing"),
        (entry(output=None), "output is missing"),
        (entry(provider=None), "price 1: provider is missing"),
        (entry(provider="3"), "provider must be a text"),
        (entry(models='"m"'), "models must be a list"),
        (entry(models="[]"), "models must be a list"),
        (entry(models="7"), "models must be a list"),
        (entry(models='["*"]'), "needs a base_url"),
        (entry(models='["a", "a"]'), "'a', which has a price already"),
        (entry() + entry(), "price 2: models names 'm'"),
        (entry(cached="1"), "there is no field cached"),
        (entry(base_url='"localhost"'), "base_url is not an address"),
        (entry(long_prompt="3"), "long_prompt is not a table"),
        (entry(long_prompt="{ input = 1, output = 1 }"), "above is not a number"),
        (entry(long_prompt="{ above = true, input = 1, output = 1 }"), "above is not a number"),
        (entry(long_prompt="{ above = 9, input = 1 }"), r"long_prompt\.output is missing"),
        (entry(long_prompt="{ above = 9, input = 1, output = -1 }"), r"long_prompt\.output must be"),
        ("price = 3", "price is not a list"),
        ("[official]\nopenai = []", "there is no field official"),
        ("[[price]\n", "is not TOML"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused(table, text, says):
    """Each mistake is named with the file, and with a hint."""
    with pytest.raises(InputError, match=says) as caught:
        table(text)
    assert "mine.toml" in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """A path that names no file is a mistake, not an empty table."""
    with pytest.raises(FileError, match=r"none\.toml"):
        Prices.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(InputError, match="is not TOML"):
        Prices.load(tmp_path / "latin.toml")


def test_every_built_in_entry_says_when_and_where():
    """The table is dated, and each entry has a day not after the table's and an address."""
    assert str(BUILT_IN["version"]).startswith("2026-")
    for price in BUILT_IN["price"]:
        assert str(price["as_of"]) <= BUILT_IN["version"]
        assert price["source"].startswith("https://")
        assert price.get("cached_input", 0) <= price["input"] <= price["output"]


def test_no_call_costs_more_than_its_worst_case():
    """Whatever way the tokens of a call fall, within its bounds, the worst case covers them."""
    prices, draw = Prices.load(), random.Random(5)  # noqa: S311 - chance, not secrecy
    for model in ("claude-haiku-5-5", "claude-opus-5-5"):
        price = prices.price("anthropic", model)
        for _ in range(300):
            most = draw.choice([0, 1, 99_999, 100_000, 100_001, 500_000])
            cuts = sorted(draw.randint(0, most) for _ in range(4))
            kinds = [b - a for a, b in zip([0, *cuts], cuts, strict=False)]
            usage = Usage(*kinds, output=draw.randint(0, 900))
            assert prices.cost(price, usage) <= prices.most_cost(price, most, 900, hour_cache=True) * (1 + 1e-12)
            minutes = Usage(*kinds[:3], output=usage.output)
            assert prices.cost(price, minutes) <= prices.most_cost(price, most, 900) * (1 + 1e-12)


def test_the_worst_case_covers_a_price_that_falls_with_length(table):
    """Where long prompts are cheaper, a call that may stay below the boundary is bounded by the higher rates."""
    prices = table(entry(input="4", output="8", long_prompt="{ above = 100, input = 1, output = 2 }"))
    price = prices.price("openai", "m")
    assert prices.cost(price, Usage(uncached=100, output=10)) <= prices.most_cost(price, 101, 10)
