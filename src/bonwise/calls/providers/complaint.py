"""What a server complains of, whichever way it words that in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["EXTRA_FIELD", "Complaint", "read_complaint"]

EXTRA_FIELD = "extra_forbidden"
"""What validators call a field that they do not know."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """The content of an unsuccessful response."""

    message: str = ""
    """The server's words, not yet fit to be shown."""
    codes: frozenset[str] = frozenset()
    """Its codes and types of error."""
    parameter: str = ""
    """The field of the request that it names."""

    @property
    def is_stated(self) -> bool:
        """Whether it is an error as services write one; a firewall's or a proxy's page is none."""
        return bool(self.message or self.codes)


def read_complaint(content: bytes) -> Complaint:
    """Read the content of an unsuccessful response; a page for people says nothing.

    Examples
    --------
    >>> read_complaint(b'{"error": {"message": "too long", "code": "context_length_exceeded", "param": "messages"}}')
    Complaint(message='too long', codes=frozenset({'context_length_exceeded'}), parameter='messages')
    >>> read_complaint(b"<html>Bad gateway</html>")
    Complaint(message='', codes=frozenset(), parameter='')
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return Complaint()
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return Complaint()
    error = body.get("error", body)
    if not isinstance(error, dict):
        return Complaint(error if isinstance(error, str) else "", _codes(body))
    parameter = error.get("param")
    if parameter is None and (extra := _extra_field(error.get("detail"))):
        return Complaint(_message(error), _codes(error) | {EXTRA_FIELD}, extra)
    return Complaint(_message(error), _codes(error), parameter if isinstance(parameter, str) else "")


def _message(error: Mapping[str, Any]) -> str:
    for name in ("message", "detail"):
        words = error.get(name)
        if isinstance(words, str):
            return words
        if isinstance(words, list):
            return "; ".join(_validation_errors(words))
    return ""


def _validation_errors(items: list[Any]) -> Iterator[str]:
    # These quote the request beside the message, so only place and message are taken.
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("msg"), str):
            place = item.get("loc")
            parts = [str(part) for part in place if part != "body"] if isinstance(place, list) else []
            yield f"'{'.'.join(parts)}': {item['msg']}" if parts else item["msg"]


def _extra_field(items: object) -> str:
    for item in items if isinstance(items, list) else ():
        place = item.get("loc") if isinstance(item, dict) and item.get("type") == EXTRA_FIELD else None
        if isinstance(place, list):
            return ".".join(str(part) for part in place if part != "body")
    return ""


def _codes(error: Mapping[str, Any]) -> frozenset[str]:
    details = error.get("details")
    inner = details if isinstance(details, dict) else {}
    named = (error.get("code"), error.get("type"), error.get("status"), inner.get("error_code"))
    return frozenset(code for code in named if isinstance(code, str))
