"""What ``serve.toml`` says: models, keys, and the limits of the server."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from bonwise.calls import ask, settings
from bonwise.calls.providers import secrets, service
from bonwise.errors import BonwiseError, FileError, InputError
from bonwise.flags import options_of
from bonwise.serving.client_keys import ClientKey, read_keys
from bonwise.table.checks import Limit, between, check
from bonwise.table.text_files import open_plain

_NEEDED = object()


def _text(words: str, fits: Callable[[str], bool] = bool) -> Limit:
    return Limit(words, lambda value: isinstance(value, str) and fits(value))


def _one_of(*names: str) -> Limit:
    return Limit(f"one of {', '.join(names)}", lambda value: value in names)


_COUNT = between(1, 1_000_000, "a whole number", int)
_CHOICES = between(1, 128, "a whole number", int)
_SECONDS = between(0.01, 604_800, "a number of seconds")
_BYTES = between(1024, 2**30, "a whole number of bytes", int)
_YES_OR_NO = Limit("true or false", lambda value: isinstance(value, bool))


def _are_hosts(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, str) and re.fullmatch(r"[a-z0-9.:-]+", one) for one in value
    )


def _setting(limit: Limit, default: Any = _NEEDED) -> Any:
    if default is _NEEDED:
        return field(metadata={"limit": limit})
    return field(default=default, metadata={"limit": limit})


@dataclass(frozen=True, kw_only=True)
class ServerLimits:
    """What the server takes at once; see docs/serve.md."""

    max_requests: int = _setting(_COUNT, 256)
    """Requests that are worked on at once, in each worker; more get 503."""
    max_connections: int = _setting(_COUNT, 2048)
    """Connections at once, in each worker; beyond them the one that has been idle longest is closed."""
    max_connections_per_address: int = _setting(_COUNT, 1024)
    """Those of one address among them."""
    max_body: int = _setting(_BYTES, 10_000_000)
    """Bytes of a request; more get 413."""
    body_timeout: float = _setting(_SECONDS, 30.0)
    """Seconds for the head of a request, and for its body."""
    send_timeout: float = _setting(_SECONDS, 30.0)
    """Seconds in which a client must have taken its answer."""
    shutdown_timeout: float = _setting(_SECONDS, 60.0)
    """Seconds for the requests under way after a signal to stop."""
    allowed_hosts: Sequence[str] = _setting(
        Limit("a list of host names in small letters, without ports", _are_hosts), ()
    )
    """Names beside those of this machine by which it may be asked where clients need no key."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """One ``[models.NAME]``; see docs/serve.md."""

    name: str
    upstream: str = _setting(_text("a model such as openai/gpt-5-mini"))
    """``openai/MODEL``."""
    judge: str = _setting(_text("a judge as of --judge, such as pointwise:openai/gpt-5-mini"))
    """As of ``--judge``."""
    base_url: str | None = _setting(_text("an address"), None)
    judge_base_url: str | None = _setting(_text("an address"), None)
    judge_params: Mapping[str, Any] | None = _setting(
        Limit("a table of fields", lambda value: isinstance(value, Mapping)), None
    )
    """Further fields of the judge's requests, as of ``--param``."""
    n: int = _setting(_CHOICES, 4)
    """Candidates per request."""
    max_n: int | None = _setting(_CHOICES, None)
    """The most choices that a request may ask for; `n` unless given."""
    draw: Literal["auto", "n", "calls"] = _setting(_one_of("auto", "n", "calls"), "auto")
    strategy: str | None = _setting(_text("a strategy as of --strategy"), None)
    router: Mapping[str, Any] | None = _setting(
        Limit("a table with strong, signal and share", lambda value: isinstance(value, Mapping)), None
    )
    deadline: float | None = _setting(_SECONDS, None)
    """Seconds for judging."""
    on_failure: Literal["random", "first", "raise"] = _setting(_one_of("random", "first", "raise"), "random")
    seed: int = _setting(between(0, 2**53, "a whole number", int), 0)
    timeout: float = _setting(_SECONDS, 120.0)
    """Seconds for one call of the upstream."""
    attempts: int = _setting(_COUNT, 3)
    """Of one call of the upstream, where waiting may help."""
    max_tokens: int | None = _setting(_COUNT, None)
    """Output tokens per candidate, where the request says nothing."""
    tools: Literal["choose", "refuse"] = _setting(_one_of("choose", "refuse"), "choose")
    transport: Literal["aiohttp"] | None = _setting(_one_of("aiohttp"), None)
    forward_client_key: bool = _setting(_YES_OR_NO, default=False)
    """Whether candidates are drawn with the key that the client sends, in place of the server's own."""
    share_judgements: bool = _setting(_YES_OR_NO, default=False)
    """Whether what the judge said to one key is used for the others: they can tell by it what the one has asked."""
    judge_concurrency: int = _setting(_COUNT, 64)
    asking: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the judge's engine, by option: ``judge_attempts`` is its ``attempts``, and so on."""

    @property
    def most_choices(self) -> int:
        """The most choices that a request may ask for."""
        return self.n if self.max_n is None else self.max_n

    @property
    def model(self) -> ask.Model:
        """The model that draws candidates."""
        return ask.model_from_spec(self.upstream, base_url=self.base_url)

    def selector_mapping(self, run: str | None) -> dict[str, Any]:
        """Return the settings of the selector, as `bonwise.Selector.from_dict` takes them."""
        beside = {"base_url": self.judge_base_url, "params": self.judge_params}
        beside = {name: value for name, value in beside.items() if value is not None}
        given = {
            "judge": {"spec": self.judge, **beside},
            "strategy": None if self.strategy is None else {"spec": self.strategy, **beside},
            "router": self.router,
            "deadline": self.deadline,
            "on_failure": self.on_failure,
            "seed": self.seed,
            "max_concurrency": self.judge_concurrency,
            "ledger": run,
            **self.asking,
        }
        if self.transport is not None:
            given["connection"] = {"transport": self.transport, "connections": self.judge_concurrency}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class ServeConfig:
    """A file of settings, checked."""

    models: Mapping[str, ModelConfig]
    """By name."""
    keys: tuple[ClientKey, ...] = ()
    """Empty where clients need none."""
    limits: ServerLimits = field(default_factory=ServerLimits)


_ELSEWHERE = {"max_concurrency", "deadline", "connection"}
"""Settings of the judge's engine under names of their own: judge_concurrency, deadline, transport."""

OF_THE_JUDGE = {f"judge_{name}": name for name in options_of(settings.EngineSettings) if name not in _ELSEWHERE}
"""The others, by what they are called here: without ``judge_`` a setting is that of the upstream."""


def read_config(path: str | Path) -> ServeConfig:
    """Read a file of settings."""
    path = Path(path)
    try:
        with open_plain(path) as stream:
            document = tomllib.load(stream)
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}", hint="correct --config") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: is not UTF-8", hint="save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        # What is quoted may be a key.
        words = re.sub(r"""(['"]).*\1""", "...", str(error), flags=re.DOTALL)
        raise InputError(f"{path}: is not TOML: {words}", hint="see docs/serve.md for an example") from None
    try:
        for place in _misplaced_secrets("", document):
            raise InputError(
                f"{place} holds a login or a key",
                hint="keys of services come from the environment alone, keys of clients are values of [keys]",
            )
        return _config(document)
    except FileError:
        raise
    except BonwiseError as error:
        raise InputError(f"{path}: {error.message}", hint=error.hint) from error


_PART = re.compile(r"[\s:/,=@?#&]+")
_RANDOM = re.compile(r"(?=(?:.*[0-9]){4})(?=(?:.*[A-Za-z]){4})[A-Za-z0-9]{24,}")


def _misplaced_secrets(place: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the places of secrets where messages and logs would repeat them; a name that is one goes by its table."""
    for name, value in table.items():
        where = f"{place}.{name}" if place else name
        if _is_secret(name):
            yield f"a name in {f'[{place}]' if place else 'the file'}"
        elif isinstance(value, Mapping):
            yield from _misplaced_secrets(where, value)
        elif not re.fullmatch(r"keys\.[^.]+(?:\.(?:value|env|file))?", where):
            several = value if isinstance(value, list) else [value]
            yield from (where for one in several if _is_secret(one if isinstance(one, str) else ""))


def _is_secret(text: str) -> bool:
    """Tell whether a text has the shape of a key, or is an address with a login, a fragment or a key in its query."""
    if "://" in text:
        query = parse_qsl(text.partition("?")[2], keep_blank_values=True)
        return "@" in text or "#" in text or any(secrets.is_secret_in_query(*one) for one in query)
    return any(
        _RANDOM.fullmatch(part)
        or (secrets.KEY_LIKE.fullmatch(part) and (part.startswith("sk") or re.search("[0-9]", part)))
        for part in _PART.split(text)
    )


def _config(document: Mapping[str, Any]) -> ServeConfig:
    unknown = sorted(document.keys() - {"server", "models", "keys"})
    if unknown:
        raise InputError(f"there is no table [{unknown[0]}]", hint="tables are [server], [models.NAME] and [keys]")
    models = {name: _model(name, one) for name, one in _table(document, "models").items()}
    if not models:
        raise InputError("there is no model", hint='add [models.NAME] with upstream = "openai/MODEL" and judge = ...')
    return ServeConfig(
        models=models,
        keys=read_keys(_table(document, "keys")),
        limits=ServerLimits(**_checked("server", _table(document, "server"), ServerLimits)),
    )


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{name} is not a table", hint=f"write [{name}] on a line of its own")
    return found


def _checked(place: str, given: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Return the settings of a table, each within its limit."""
    known = {one.name: one.metadata["limit"] for one in fields(kind) if "limit" in one.metadata}
    for name, value in given.items():
        if name not in known:
            names = [*known, *(OF_THE_JUDGE if kind is ModelConfig else ())]
            raise InputError(f"{place}.{name} is not a setting", hint=f"settings are {', '.join(names)}")
        check(f"{place}.{name}", value, known[name])
    return dict(given)


def _model(name: str, given: object) -> ModelConfig:
    place = f"models.{name}"
    if not isinstance(given, Mapping):
        raise InputError(f"{place} is not a table", hint=f"write [{place}] on a line of its own")
    if not name or not name.isprintable() or any(c.isspace() for c in name):
        raise InputError(f"the model name {name!r} holds a blank or no letter", hint="clients ask for bon/NAME")
    asking = {name: given[name] for name in given if name in OF_THE_JUDGE}
    checked = _checked(place, {name: given[name] for name in given if name not in asking}, ModelConfig)
    for key, value in asking.items():
        check = options_of(settings.EngineSettings)[OF_THE_JUDGE[key]].check
        if check is not None:
            check(f"{place}.{key}", value)
    for needed in ("upstream", "judge"):
        if needed not in checked:
            raise InputError(f"{place}.{needed} is missing", hint=_example(needed))
    made = ModelConfig(name=name, **checked, asking={OF_THE_JUDGE[key]: value for key, value in asking.items()})
    _check_model(place, made)
    return made


def _example(needed: str) -> str:
    value = "openai/gpt-5-mini" if needed == "upstream" else "pointwise:openai/gpt-5-mini"
    return f'such as {needed} = "{value}"'


def _check_model(place: str, made: ModelConfig) -> None:
    provider, _, model = made.upstream.partition("/")
    if provider != "openai" or not model:
        raise InputError(
            f"{place}.upstream is {made.upstream!r}",
            hint="requests are passed on in OpenAI's format: write openai/MODEL, and base_url for another server",
        )
    if made.max_n is not None and made.max_n < made.n:
        raise InputError(f"{place}.max_n is {made.max_n}, below n = {made.n}", hint=f"write {made.n} or more")
    if made.forward_client_key and made.transport is not None:
        raise InputError(f"{place} has transport and forward_client_key", hint="leave one of the two out")
    for name in ("base_url", "judge_base_url"):
        address = getattr(made, name)
        if address is not None:
            service.read_address(address, f"{place}.{name}")
