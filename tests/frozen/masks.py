"""What is not frozen: the version, what a clock says, and in JSON the sentences that people read.

Everything else is: keys, their order, numbers, names, exit codes and ledger keys. Reasons that begin with ``owed:``
are data, wherever they stand.
"""

from __future__ import annotations

import re
from typing import Any

from bonwise.release import release

__all__ = ["CLOCK", "PROSE", "REASONS_BY_NAME", "VERSION", "masked", "settled_output"]

PROSE = frozenset(
    {
        *("assumption", "counting", "error", "expected_more_reason", "failure", "hint", "how", "margins", "meaning"),
        *("note", "notes", "reason", "sentence", "sentences", "shows", "stopped", "suspicious"),
    }
)
"""Keys whose words may change. Masked are their text, but for none at all, and lists of text, but for empty ones."""

REASONS_BY_NAME = frozenset({"left_out", "no_strategies", "not_audited", "not_studied"})
"""Keys of mappings from a name to the reason why it is not there: the names stay, the reasons are masked."""

VERSION = "<version>"
"""Stands for the version of bonwise in all golden files."""

CLOCK = frozenset({"latency", "sent_at", "answered_at", "request_id", "ended_at"})
"""Keys of JSON that hold what a clock says, or what depends on the order in which answers came."""

_WORDS = "<words>"
_TIME = r'\1"<time>"'

_RELEASE = re.compile(rf"(?<![\w.]){re.escape(release())}(?![\w]|\.\d)")
_CLOCK = re.compile(rf'("(?:{"|".join(sorted(CLOCK))})": )(?:-?\d[\d.e+-]*|"[^"]*")')
_DIGEST = re.compile("[0-9a-f]{16}")
"""Of the model of a stack: it is another one where a last digit is."""

_CLOCKS = re.compile(r'"latency": \{[^}]*\}')
_NUMBER = re.compile(r"\d+\.\d+")
_ANSWER = re.compile(r'(\\"id\\":\\"(?:msg_|chatcmpl-))\w+')
"""What the scripted service calls an answer: it counts how often a body came, and the same ones come side by side."""

_CALL = re.compile(r'("call": )\d+')
_PROGRESS = re.compile(r"^bonwise: .*, (?:time left unknown|[^,\n]* left)\n", re.MULTILINE)
"""How far a command is: a quick machine is done before there is anything to say."""

_SECONDS = re.compile(r"\b\d[\d.,]* m?s\b")
"""In a page of picks: how long the pools took."""


def settled_output(name: str, text: str) -> str:
    """Take the version and the clock out of what a command wrote, before it is kept or compared.

    Rows of a ledger (``ledger.jsonl``) are sorted by key, without the numbers of their calls: it is chance which call
    was sent first.
    """
    text = _ANSWER.sub(r"\1", _CLOCK.sub(_TIME, _RELEASE.sub(VERSION, text)))
    text = _PROGRESS.sub("", text)
    text = _CLOCKS.sub(lambda clock: _NUMBER.sub("0", clock[0]), text)
    if name.endswith("ledger.jsonl"):
        text = "".join(sorted(_CALL.sub(r"\g<1>0", text).splitlines(keepends=True)))
    return _SECONDS.sub("<time>", text) if name == "picks.html" else text


def masked(value: Any) -> Any:
    """Return a JSON value with the words that people read masked."""
    if isinstance(value, dict):
        return {key: _masked_leaf(key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [masked(one) for one in value]
    return value


def _masked_leaf(key: str, value: Any) -> Any:
    if key in PROSE or (key == "digest" and isinstance(value, str) and _DIGEST.fullmatch(value)):
        return _words(value)
    if key in REASONS_BY_NAME and isinstance(value, dict):
        return {name: _words(one) for name, one in value.items()}
    return masked(value)


def _words(value: Any) -> Any:
    """Mask text and lists of text, unless they are empty or data."""
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(one, str) and one and not one.startswith("owed:") for one in texts):
        return masked(value)
    return [_WORDS] if isinstance(value, list) else _WORDS
