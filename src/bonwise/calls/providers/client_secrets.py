"""The secrets of a client that the user made: those it holds, and those it really sent."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from bonwise.calls.providers.secret_names import is_secret, is_secret_in_query

__all__ = ["account_of", "held_secrets", "sent_secrets"]

_ATTRIBUTES = (
    "api_key",
    "admin_api_key",
    "auth_token",
    "organization",
    "project",
    "webhook_secret",
    "webhook_key",
    "_azure_ad_token",
    "aws_access_key",
    "aws_secret_key",
    "aws_session_token",
    "access_token",
)
"""Where the clients of both SDKs keep what they log in with, and whose the account is."""

_SIGNED = re.compile(r"(?:Credential|Signature)=([^\s,/]+)")


def held_secrets(client: Any) -> tuple[str, ...]:
    """Return the secrets that are in a client of an SDK; what a function will return is not among them."""
    token = getattr(getattr(client, "credentials", None), "token", None)
    return (*_held(client, _ATTRIBUTES), *([token] if isinstance(token, str) and token else []))


def account_of(client: Any) -> str:
    """Return a word that tells accounts apart and reveals nothing of their secrets.

    A key that a function returns anew for each request does not count: the account stays the same.
    """
    renewed = getattr(client, "_api_key_provider", None) is not None
    named = tuple(name for name in (*_ATTRIBUTES, "aws_profile", "project_id") if not (renewed and name == "api_key"))
    found = json.dumps(_held(client, named))
    return hashlib.sha256(found.encode()).hexdigest()[:12]


def sent_secrets(response: Any) -> frozenset[str]:
    """Return the secrets that a request carried in headers and address, those of redirects before it as well.

    Parameters
    ----------
    response : httpx.Response or httpx2.Response
    """
    requests = [response.request, *(one.request for one in response.history)]
    return frozenset(secret for request in requests for secret in _carried(request) if secret)


def _held(client: Any, names: Iterable[str]) -> list[str]:
    found = (getattr(client, name, None) for name in names)
    # A placeholder such as "<missing API key>" is not a key.
    return [one for one in found if isinstance(one, str) and one and " " not in one]


def _carried(request: Any) -> Iterator[str]:
    for name, value in request.headers.items():
        if is_secret(name, value):
            yield from _parts(value)
    for name, value in request.url.params.multi_items():
        if is_secret_in_query(name, value):
            yield value
    yield unquote(urlsplit(str(request.url)).password or "")


def _parts(value: str) -> Iterator[str]:
    """Yield a header's value, and what of it is the secret alone."""
    yield value
    scheme, _, rest = value.partition(" ")
    if not rest:
        return
    yield rest.strip()
    yield from _SIGNED.findall(rest)
    if scheme.lower() == "basic":
        yield from _login(rest.strip())


def _login(encoded: str) -> Iterator[str]:
    try:
        user, _, password = b64decode(encoded).decode().partition(":")
    except (NotBase64, UnicodeDecodeError):
        return
    # Where there is no password, the user's name is the key.
    yield password or user
