"""Fields of a request's body that the user names, such as ``reasoning_effort``, read and checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from bonwise.calls.ask import encoded
from bonwise.calls.providers.secrets import is_secret
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.calls.providers.protocol import Provider

__all__ = ["checked_params"]

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
    """Return fields for the body, of a mapping or of its JSON text; a `UsageError` names the one that cannot be sent.

    Examples
    --------
    >>> from bonwise.calls.providers.openai import OpenAI
    >>> checked_params({"seed": 7, "extra_body": {"top_k": 1}}, OpenAI())
    {'seed': 7, 'top_k': 1}
    """
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
