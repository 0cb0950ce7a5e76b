"""Which names announce a secret, which values look like one, which a client holds; what servers say without them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator
from typing import Any, AnyStr
from urllib.parse import unquote, urlsplit

from bonwise.printable import printable

SHORTEST_SECRET = 4
"""Characters below which nothing is looked for: such a word is found in every message."""
_SHORTEST_ANYWHERE = 6

# Servers echo keys masked in the middle, so stars and dots belong to them.
KEY_LIKE = re.compile(r"(?<![\w-])(?:(?:sk|pk|rk|gsk|xai|nvapi|hf|key)[-_][\w*.…-]{6,}|AIza[\w*-]{10,})")
SCHEME_AND_KEY = re.compile(r"\b(bearer|basic)\s+[^\s\"',;]{6,}", re.IGNORECASE)

_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|passphrase|pwd|credentials?|cookie|signature|sig|code)$"
    r"|(?<![a-z])(?:key|token|secret|password|pass|pwd|pin|otp|hmac|auth|authorization|cookie|session|jwt|signature|sig)"
    r"(?![a-z])",
    re.IGNORECASE,
)
# One letter that services use for a key, and others for a count.
_SHORT_NAME = re.compile(r"(?:k|ak|sk|pw)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9.]*")

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TOKEN_PART = re.compile(r"[A-Za-z0-9+/=_]{16,}")
_LETTERS_ONLY = 28
"""Letters in one run beyond which they are no word and no name."""


def is_secret(name: str, value: str = "") -> bool:
    """Whether a header or a part of a query is to be treated as a secret, by its name or by its looks."""
    return bool(_NAME.search(name) or KEY_LIKE.search(value) or SCHEME_AND_KEY.search(value))


def is_secret_in_query(name: str, value: str) -> bool:
    """Whether a part of a query is to be treated as a secret."""
    short = _SHORT_NAME.fullmatch(name) and len(value) >= SHORTEST_SECRET and not _COUNT.fullmatch(value)
    return bool(short) or is_secret(name, value) or _looks_random(value)


def shown_in_query(name: str, value: str) -> str | None:
    """Return what to show of a query: None for a secret, a digest for a lookalike, as it may name a deployment."""
    if is_secret(name, value):
        return None
    if _looks_random(value):
        return f"sha256-{hashlib.sha256(value.encode()).hexdigest()[:12]}"
    return None if is_secret_in_query(name, value) else value


def _looks_random(value: str) -> bool:
    """Whether a value looks as if a machine had drawn it: too long and too mixed for a word, a date or a name."""
    return bool(_UUID.search(value)) or any(_is_mixed(part) for part in _TOKEN_PART.findall(value))


def as_a_word(secret: AnyStr) -> re.Pattern[AnyStr]:
    """Return what finds a secret; one of fewer than 6 characters only as a word, not in others as ``max_tokens``."""
    word = re.escape(secret)
    if len(secret) >= _SHORTEST_ANYWHERE:
        return re.compile(word)
    if isinstance(word, bytes):
        return re.compile(rb"(?<![A-Za-z0-9_])" + word + rb"(?![A-Za-z0-9_])")
    return re.compile(r"(?<![A-Za-z0-9_])" + word + r"(?![A-Za-z0-9_])")


def _is_mixed(part: str) -> bool:
    digits = sum(character.isdigit() for character in part)
    return (bool(digits) and digits < len(part)) or len(part) >= _LETTERS_ONLY


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
    """Return a word for an account, revealing no secret; a key that a function returns anew does not change it."""
    renewed = getattr(client, "_api_key_provider", None) is not None
    named = tuple(name for name in (*_ATTRIBUTES, "aws_profile", "project_id") if not (renewed and name == "api_key"))
    held = json.dumps(_held(client, named))
    return hashlib.sha256(held.encode()).hexdigest()[:12]


def sent_secrets(response: Any) -> frozenset[str]:
    """Return the secrets that a request carried in headers and address, those of redirects before it as well."""
    requests = [response.request, *(earlier.request for earlier in response.history)]
    return frozenset(secret for request in requests for secret in _carried(request) if secret)


def _held(client: Any, names: Iterable[str]) -> list[str]:
    values = (getattr(client, name, None) for name in names)
    # A placeholder such as "<missing API key>" is not a key.
    return [value for value in values if isinstance(value, str) and value and " " not in value]


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


_LONGEST = 300
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PWD|_PASS|CREDENTIALS?)$", re.IGNORECASE)
_HEADERS_NAME = "_CUSTOM_HEADERS"
# A validation error may quote the request that it complains of.
_QUOTED_REQUEST = re.compile(r"[,;]?\s*['\"]input['\"]\s*:.*", re.DOTALL)


def one_line(text: str) -> str:
    """Return text as one line of at most 300 characters without secrets."""
    text = masked(_QUOTED_REQUEST.sub("", text))
    return printable(" ".join(text.split()), longest=_LONGEST)


def masked(text: str) -> str:
    """Return text in which secrets of the environment and what looks like one are ``[key]``."""
    for secret in sorted(_secrets(), key=len, reverse=True):
        text = as_a_word(secret).sub("[key]", text)
    return SCHEME_AND_KEY.sub(r"\1 [key]", KEY_LIKE.sub("[key]", text))


def _secrets() -> Iterator[str]:
    for name, value in os.environ.items():
        if name.endswith(_HEADERS_NAME):
            values = [line.partition(":")[2].strip() for line in value.splitlines()]
        elif _SECRET_NAME.search(name):
            values = [value.strip()]
        else:
            continue
        yield from (value for value in values if len(value) >= SHORTEST_SECRET)
