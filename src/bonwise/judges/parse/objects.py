"""JSON objects in a reply: the whole of it, or pieces between other words."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["JsonSpan", "Lexeme", "pieces", "whole_object"]

Pairs = tuple[tuple[str, Any], ...]

_START = re.compile(r'\{\s*"')
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*)```", re.DOTALL)
_PATIENCE = 16
"""How many times the length of the text may be scanned in vain; beyond it the text is called unreadable."""


class Lexeme(str):
    """A JSON number as it is written: digits become a number where the scale is known."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class JsonSpan:
    """A stretch of text that is, or was meant to be, a JSON object."""

    start: int
    end: int
    pairs: Pairs | None
    """Keys and values in their order, doubles included; None where the object is broken."""


def whole_object(text: str) -> Pairs | None:
    """Return the object that the text consists of, perhaps in a code fence; None where it is something else.

    Examples
    --------
    >>> whole_object('{"score": 85}')
    (('score', '85'),)
    >>> whole_object('Score: {"score": 85}') is None
    True
    """
    body = text.strip().lstrip("\ufeff")
    if body.startswith("```") and (fenced := _FENCED.fullmatch(body)):
        body = fenced[1].strip()
    if not (body.startswith("{") and body.endswith("}")):
        return None
    try:
        # Line breaks inside strings are a frequent slip and leave no doubt where the object ends.
        return tuple(_decoder(strict=False).decode(body))
    except (ValueError, RecursionError):
        return None


def pieces(text: str, keys: Collection[str]) -> Iterator[JsonSpan]:
    """Yield the outermost objects in a text, and the broken ones in which one of the keys stands.

    Examples
    --------
    >>> [piece.pairs for piece in pieces('First {"score": 70}, then {"score": oops}', ["score"])]
    [(('score', '70'),), None]
    """
    decoder, wanted = _decoder(strict=True), tuple(f'"{key}"' for key in keys)
    position, wasted = 0, 0
    while found := _START.search(text, position):
        start = found.start()
        try:
            pairs, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            wasted += error.pos - start
            if wasted > _PATIENCE * len(text):
                yield JsonSpan(start, len(text), None)
                return
            broken = text[start : error.pos]
            # Inside what was meant as an answer nothing is taken for another answer.
            position = start + 1
            if any(key in broken for key in wanted):
                position = max(error.pos, start + 1)
                yield JsonSpan(start, position, None)
        except RecursionError:
            yield JsonSpan(start, len(text), None)
            return
        else:
            yield JsonSpan(start, position, pairs)


def _decoder(*, strict: bool) -> json.JSONDecoder:
    # Objects become tuples, so that doubled keys stay visible and no list is taken for an object.
    return json.JSONDecoder(
        strict=strict, object_pairs_hook=tuple, parse_int=Lexeme, parse_float=Lexeme, parse_constant=Lexeme
    )
