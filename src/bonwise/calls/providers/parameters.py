"""Fields of a request's body: those that the user names, and what a model or a provider does not take of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from bonwise.calls.ask import encoded, logprobs_taken
from bonwise.calls.providers.secrets import is_secret
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask, Choice, Request
    from bonwise.calls.providers.protocol import Capabilities, Provider

_EXTRA = "extra_body"  # what the SDKs call further fields
_KEYS = frozenset(
    {
        "api_key",
        "apikey",
        "authorization",
        "password",
        "secret",
        "client_secret",
        "token",
        "access_token",
        "auth_token",
    }
)


def checked_params(params: object, provider: Provider) -> dict[str, Any]:
    """Return fields for the body, of a mapping or its JSON text; a `UsageError` names what cannot be sent."""
    fields = _fields(params)
    own: frozenset[str] | None = getattr(provider, "sets", None)
    if own is None:
        raise UsageError(f"the provider {provider.name} takes no params", hint="leave params out (--param)")
    for name in sorted(own):
        outer, _, inner = name.partition(".")
        value = fields.get(outer)
        if outer in fields and (not inner or (isinstance(value, Mapping) and inner in value)):
            hint = "max_tokens and temperature are settings of the judge; the rest follows from its kind and prompt"
            raise UsageError(f"params names {name!r}, which bonwise sets itself", hint=hint)
    for name, value in fields.items():
        if not _KEYS.isdisjoint(_names(name, value)) or is_secret("", json.dumps(value, ensure_ascii=False)):
            hint = "set keys in the environment: what params names is kept in the ledger"
            raise UsageError(f"params names {name!r}, which looks like a key", hint=hint)
    return fields


def _names(name: str, value: Any) -> Iterator[str]:
    """Yield the names of a field and of those within it, each written in one way."""
    yield name.lower().replace("-", "_")
    if isinstance(value, list):
        yield from chain.from_iterable(_names("", held) for held in value)
    elif isinstance(value, dict):
        yield from chain.from_iterable(_names(inner, held) for inner, held in value.items())


def _fields(params: object) -> dict[str, Any]:
    try:
        given = json.loads(params) if isinstance(params, str) else params
        written = json.loads(encoded(given))  # plain values, as they are sent
    except (TypeError, ValueError, RecursionError):
        given = written = None
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
        # It may hold a key, so it is not shown.
        raise UsageError(
            f"params is no mapping that JSON can hold ({type(params).__name__})",
            hint='give fields of the body that JSON can hold: {"reasoning_effort": "low"}',
        )
    fields: dict[str, Any] = written
    extra = fields.pop(_EXTRA, {})
    if not isinstance(extra, dict) or not extra.keys().isdisjoint(fields):
        raise UsageError(
            f"params names {_EXTRA!r}, which is no mapping or repeats a field", hint="give a mapping, each field once"
        )
    return fields | extra


def ignored(ask: Ask, request: Request, choice: Choice) -> Iterator[str]:
    """Yield a line for each thing accepted but not done; empty, refused and filtered answers show none of it."""
    if choice.finish not in {"stop", "length"} or not choice.text.strip():
        return
    if request.parameters.get("top_logprobs") and not choice.logprobs:
        yield f"{ask.model} sends no logprobs although it was asked to"
    if request.parameters.get("schema") and ask.schema is not None and not _may_follow(ask.schema, choice):
        yield f"{ask.model} ignores the JSON schema that it was sent"


def _may_follow(schema: Mapping[str, Any], choice: Choice) -> bool:
    """Tell whether an answer may have been bound to the schema of an object; one that was cut is seen in part."""
    answer = choice.text.rpartition("</think>")[2].strip()
    if not answer or answer.startswith("<think>"):
        return True
    if choice.finish == "length":
        return answer.startswith("{")
    try:
        written = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    # What is null as a rule is often left out by who only follows the words of the prompt.
    needed = {name for name in schema.get("required", ()) if not _null_as_a_rule(schema, name)}
    return isinstance(written, dict) and written.keys() >= needed


def _null_as_a_rule(schema: Mapping[str, Any], name: str) -> bool:
    return list(schema.get("properties", {}).get(name, {}).get("type", ()))[:1] == ["null"]


def left_out(ask: Ask, refused: Collection[str], capabilities: Capabilities) -> list[str]:
    """Return a line for each wanted parameter known not to be taken; a UsageError where the ask needs it."""
    refuse_impossible(ask, capabilities)
    return list(_left_out(ask, refused, capabilities))


def _left_out(ask: Ask, refused: Collection[str], capabilities: Capabilities) -> Iterator[str]:
    if ask.temperature is not None and (ask.question is not None or not capabilities.temperature):
        yield f"{ask.model} takes no temperature: none is sent"
    wanted = {
        "n": ask.samples > 1,
        "temperature": ask.temperature is not None,
        "logprobs": ask.top_logprobs > 0,
        "top_logprobs": ask.top_logprobs > 0,
        "response_format": ask.schema is not None,
        "output_config": ask.schema is not None,
    }
    for parameter in sorted(refused):
        if parameter == "n" and wanted["n"]:
            yield f"{ask.model} sends one answer per call, whatever n asks for: each draw is a call of its own"
        elif logprobs_taken(ask.top_logprobs, [parameter]) < ask.top_logprobs:
            yield f"{ask.model} takes {parameter}: fewer are asked for"
        elif wanted.get(parameter, parameter.startswith("max_") or parameter in ask.params):
            yield f"{ask.model} does not take {parameter}: left out"


def refuse_impossible(ask: Ask, capabilities: Capabilities) -> None:
    """Refuse, before it is paid for, an ask that needs log probabilities which the provider never sends."""
    if ask.top_logprobs and not capabilities.logprobs:
        raise UsageError(
            f"{ask.model.provider} sends no log probabilities, which this judge needs",
            hint="choose another judge, such as probability or interval, or another provider",
        )
    if ask.images and not capabilities.images:
        raise UsageError(f"{ask.model.provider} takes no images", hint="name a model of openai or anthropic")
    if ask.question is not None and not capabilities.decisions:
        raise UsageError(
            f"{ask.model.provider} has no endpoint for decisions, which this judge needs",
            hint="name a model of OpenAI that has it, such as openai/gpt-6-luna, or choose another judge",
        )
