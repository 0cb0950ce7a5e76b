"""What a model's tokens cost: a dated table, and the user's own file over it."""

from __future__ import annotations

import hashlib
import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bonwise.calls.bill import Usage
from bonwise.errors import FileError, InputError, UsageError
from bonwise.table.text_files import open_plain

if TYPE_CHECKING:
    from bonwise.calls.ask import Model

ENVIRONMENT_VARIABLE = "BONWISE_PRICES"

_PER_TOKENS = 1_000_000
_RATES = ("input", "cached_input", "cache_write_5m", "cache_write_1h", "output")
_FIELDS = frozenset({*_RATES, "provider", "models", "except", "base_url", "long_prompt", "as_of", "source", "batch"})
_DATED = re.compile(r"(?P<stem>.+)-(?P<day>\d{4}-\d{2}-\d{2}|\d{8})")
_EVERY = "*"


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per 1,000,000 tokens, by kind."""

    input: float
    cached_input: float
    cache_write_5m: float
    cache_write_1h: float
    output: float
    """The kinds of `bonwise.calls.bill.Usage`; reasoning is output."""

    def times(self, share: float) -> Rates:
        """Return a share of each rate."""
        return Rates(*(share * getattr(self, name) for name in _RATES))


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model."""

    rates: Rates
    long_prompt: Rates | None = None
    """Rates for the whole call when its input is longer than `above` tokens."""
    above: int = 0
    as_of: str = ""
    """The day the price was stated for, empty where the file does not say."""
    source: str = ""
    """Where it is stated."""
    batch: float = 1.0
    """What a batch costs as a share of this."""

    def in_batch(self) -> Price:
        """Return the price of the same in a batch."""
        long_prompt = None if self.long_prompt is None else self.long_prompt.times(self.batch)
        return replace(self, rates=self.rates.times(self.batch), long_prompt=long_prompt, batch=1.0)

    def rates_for(self, input_tokens: int) -> Rates:
        """Return the rates of a call with this much input, cached or not."""
        return self.rates if self.long_prompt is None or input_tokens <= self.above else self.long_prompt


_Key = tuple[str, str, str]
"""Provider, server (empty for the provider's own) and model."""


_Table = tuple[Mapping[_Key, Price], frozenset[_Key]]
"""Prices, and the models that look dated and are not."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model."""

    version: str
    _tables: tuple[_Table, ...] = field(repr=False)
    _official: frozenset[tuple[str, str]] = field(repr=False)
    _batch: Mapping[str, float] = field(repr=False)
    """What a batch costs at a provider's own servers, as a share of the price."""

    @classmethod
    def load(cls, path: Path | None = None) -> Prices:
        """Read the built-in table, the user's file over it: `path`, or else the one ``BONWISE_PRICES`` names."""
        built_in = _parse((resources.files(__package__) / "prices.toml").read_bytes(), "prices.toml of bonwise")
        official = frozenset(
            (provider, server_of(url)) for provider, urls in built_in["official"].items() for url in urls
        )
        batch: Mapping[str, float] = built_in["batch"]
        tables = [_table(built_in, "prices.toml of bonwise", official, batch)]
        version = str(built_in["version"])
        chosen = path or _from_environment()
        if chosen is not None:
            content = _bytes(chosen)
            document = _parse(content, str(chosen))
            _known(document, {"version", "price"}, str(chosen))
            tables.insert(0, _table(document, str(chosen), official, batch))
            version += f"+{hashlib.sha256(content).hexdigest()[:8]}"
        return cls(version, tuple(tables), official, batch)

    def price(self, provider: str, model: str, base_url: str | None = None) -> Price | None:
        """Return a model's price, the user's entries first; at another server only by entries that name it."""
        server = "" if base_url is None else server_of(base_url)
        if (provider, server) in self._official:
            server = ""
        for prices, excepted in self._tables:
            stem = _stem(model, (provider, server, model) in excepted)
            for name in (model, stem, _EVERY):
                if (provider, server, name) in prices:
                    return prices[provider, server, name]
        return None

    def of(self, model: Model, base_url: str | None) -> Price | None:
        """Return the price that was stated with a model, or else that of the files for the server at `base_url`."""
        if model.price is None:
            return self.price(model.provider, model.name, base_url)
        into, out = model.price
        is_official = (model.provider, server_of(base_url or "")) in self._official
        return Price(Rates(into, into, into, into, out), batch=self._batch[model.provider] if is_official else 1.0)

    @staticmethod
    def cost(price: Price, usage: Usage) -> float:
        """Return what a call cost, in US dollars; reasoning is part of the output and not charged twice."""
        rates = price.rates_for(usage.input)
        parts = (
            usage.uncached * rates.input,
            usage.cache_read * rates.cached_input,
            usage.cache_write_5m * rates.cache_write_5m,
            usage.cache_write_1h * rates.cache_write_1h,
            usage.output * rates.output,
        )
        return math.fsum(parts) / _PER_TOKENS

    @staticmethod
    def most_cost(price: Price, input_tokens: int, output_tokens: int, *, hour_cache: bool = False) -> float:
        """Return the most a call can cost, each input token at its dearest rate; `hour_cache` is of long caches."""
        reachable = (price.rates, price.rates_for(input_tokens))
        inputs = [rate for r in reachable for rate in (r.input, r.cached_input, r.cache_write_5m)]
        if hour_cache:
            inputs += [rates.cache_write_1h for rates in reachable]
        outputs = [rates.output for rates in reachable]
        return math.fsum((input_tokens * max(inputs), output_tokens * max(outputs))) / _PER_TOKENS


def unpriced(model: Model, base_url: str) -> UsageError:
    """Return why nothing is sent to a model whose price is not known, where money is limited."""
    return UsageError(
        f"max_cost cannot hold for {model} at {base_url}: its price is not known",
        hint="state it: price=INPUT/OUTPUT of the judge or a file in BONWISE_PRICES; or limit calls or tokens",
    )


def _stem(model: str, excepted: bool) -> str:
    match = _DATED.fullmatch(model)
    if match is None or excepted:
        return model
    try:
        date.fromisoformat(match["day"])
    except ValueError:
        return model
    return match["stem"]


def server_of(url: str) -> str:
    """Return which server an address means: without login and query, so that it may be shown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        # No address at all is the same server as nothing but itself.
        return url
    # Names and passwords in an address are not part of which server it is.
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme.lower()}://{host}{parts.path.rstrip('/')}"


def _from_environment() -> Path | None:
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(named) if named else None


def _bytes(path: Path) -> bytes:
    try:
        with open_plain(path) as stream:
            return stream.read()
    except OSError as error:
        raise FileError(
            f"{path}: the file of prices cannot be read: {error.strerror or error}",
            hint=f"correct the path, or unset {ENVIRONMENT_VARIABLE}",
        ) from error


def _parse(content: bytes, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{name}: the file of prices is not TOML: {error}", hint=_HINT) from error


_HINT = 'an entry reads: [[price]] provider = "openai", models = ["some-model"], input = 1.25, output = 10.0'


def _table(
    document: Mapping[str, Any], name: str, official: frozenset[tuple[str, str]], batch: Mapping[str, float]
) -> _Table:
    entries = document.get("price", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{name}: price is not a list of entries", hint=_HINT)
    prices: dict[_Key, Price] = {}
    excepted: set[_Key] = set()
    for number, entry in enumerate(entries, 1):
        where = f"{name}: price {number}"
        _known(entry, _FIELDS, where)
        place = _place(entry, where, official)
        models = _names(entry, "models", where, required=True)
        usual = 1.0 if place[1] else batch.get(place[0], 1.0)
        price = _price(entry, f"{where} ({place[0]} {', '.join(models)})", usual)
        for model in models:
            _check_model(model, place, prices, where)
            prices[*place, model] = price
        excepted.update((*place, model) for model in _names(entry, "except", where, required=False))
    return prices, frozenset(excepted)


def _place(entry: Mapping[str, Any], where: str, official: frozenset[tuple[str, str]]) -> tuple[str, str]:
    provider = _text(entry, "provider", where, required=True)
    base_url = _text(entry, "base_url", where, required=False)
    if not base_url:
        return provider, ""
    if "://" not in base_url:
        raise InputError(
            f"{where}: base_url is not an address: {base_url!r}", hint="such as http://localhost:8000/v1"
        )
    server = server_of(base_url)
    return provider, "" if (provider, server) in official else server


def _check_model(model: str, place: tuple[str, str], prices: Mapping[_Key, Price], where: str) -> None:
    if model == _EVERY and not place[1]:
        raise InputError(f'{where}: models = ["*"] needs a base_url', hint="name the models, or the server")
    if (*place, model) in prices:
        raise InputError(f"{where}: models names {model!r}, which has a price already", hint="keep one of the two")


def _price(entry: Mapping[str, Any], where: str, batch: float) -> Price:
    long_prompt, above = entry.get("long_prompt"), 0
    if long_prompt is not None:
        if not isinstance(long_prompt, dict):
            raise InputError(
                f"{where}: long_prompt is not a table", hint="{ above = 272_000, input = 4, output = 15 }"
            )
        _known(long_prompt, {*_RATES, "above"}, f"{where}: long_prompt")
        above = long_prompt.get("above", 0)
        if type(above) is not int or above <= 0:
            raise InputError(
                f"{where}: long_prompt.above is not a number of tokens: {above!r}", hint="write above = N"
            )
    return Price(
        _rates(entry, where, ""),
        None if long_prompt is None else _rates(long_prompt, where, "long_prompt."),
        above,
        str(entry.get("as_of", "")),
        _text(entry, "source", where, required=False),
        _rate(entry.get("batch", batch), f"{where}: batch"),
    )


def _rates(values: Mapping[str, Any], where: str, prefix: str) -> Rates:
    for name in ("input", "output"):
        if name not in values:
            raise InputError(f"{where}: {prefix}{name} is missing", hint=_HINT)
    read = {name: _rate(values[name], f"{where}: {prefix}{name}") for name in _RATES if name in values}
    minutes = read.get("cache_write_5m", read["input"])
    return Rates(
        read["input"],
        read.get("cached_input", read["input"]),
        minutes,
        read.get("cache_write_1h", minutes),
        read["output"],
    )


def _rate(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise InputError(
            f"{where} must be a number that is not negative, not {value!r}",
            hint="US dollars per 1,000,000 tokens; 0 for a model that costs nothing",
        )
    return float(value)


def _text(entry: Mapping[str, Any], name: str, where: str, *, required: bool) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str) or (required and not value):
        raise InputError(f"{where}: {name} {'is missing' if name not in entry else 'must be a text'}", hint=_HINT)
    return value


def _names(entry: Mapping[str, Any], name: str, where: str, *, required: bool) -> list[str]:
    values = entry.get(name, [])
    if not isinstance(values, list) or not all(isinstance(v, str) and v for v in values) or (required and not values):
        raise InputError(f"{where}: {name} must be a list of model names", hint=_HINT)
    return values


def _known(fields: Iterable[str], known: Iterable[str], where: str) -> None:
    # A misspelt field would silently fall back to another rate.
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise InputError(f"{where}: there is no field {unknown[0]}", hint=f"fields are {', '.join(sorted(known))}")
