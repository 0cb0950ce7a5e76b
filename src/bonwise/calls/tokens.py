"""How many tokens a text may have, and what a call took whose server told only a part of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bonwise.calls.ask import Ask, Choice, Request
from bonwise.calls.bill import PartialUsage, Usage

MOST_OF_AN_IMAGE = 50_000
"""Input tokens; gpt-4o-mini counts 48,169 for the largest."""
_OF_ADDRESS = 1_000
"""Assumed of an image that was not seen."""
_PER_MESSAGE = 16
_PER_REQUEST = 512
_PLAIN_TEXT = 150
_STRING = 50
_SCALAR = 3
_QUARTER = 1 << 32
"""A quarter of a token in what `text_size` returns; below it bytes are counted."""
ASCII_SIZE = 1 + _QUARTER
"""Of each character of a text that is ASCII."""
_THREE, _FOUR = bytes(range(0xE0, 0xF0)), bytes(range(0xF0, 0xF5))
"""The first bytes of characters of three and of four bytes."""


def most_input_tokens(text_bytes: int, messages: int) -> int:
    """Return a bound on input tokens: one a byte of UTF-8, 16 a message and 512 a request for what servers add."""
    return text_bytes + _PER_MESSAGE * messages + _PER_REQUEST


def input_tokens(ask: Ask, request: Request) -> tuple[int, int]:
    """Return about how many input tokens a request has, and the most that it can have."""
    expected = expected_input_tokens(ask.system) + expected_input_tokens(ask.user)
    pictures, pictures_most = image_tokens(ask)
    return expected + pictures, most_input_tokens(len(request.content), 2) + pictures_most


def image_tokens(ask: Ask) -> tuple[int, int]:
    """Return about how many input tokens the images of an ask are, and the most that they can be."""
    # Anthropic counts a token for 750 pixels, others 1.2 for a square of 32 pixels: the larger images are shrunk.
    expected, is_anthropic = 0.0, ask.model.provider == "anthropic"
    for width, height in (image.pixels or (0, 0) for _, image in ask.images):
        squares = math.ceil(width / 32) * math.ceil(height / 32)
        expected += min(width * height / 750, 1_600) if is_anthropic else min(squares, 1_536) * 1.2
        expected += 0 if width else _OF_ADDRESS
    return math.ceil(expected), len(ask.images) * (5_000 if is_anthropic else MOST_OF_AN_IMAGE)


def expected_input_tokens(text: str) -> int:
    """Return about how many tokens a text has: bytes of UTF-8 over four, or one to two a wide character."""
    return tokens_of_size(text_size(text))[0]


def text_size(text: str) -> int:
    """Return the size of a text: the size of two texts, one behind the other, is the sum of theirs."""
    if text.isascii():
        return len(text) * ASCII_SIZE
    content = text.encode("utf-8", "surrogatepass")
    three, four = (len(content) - len(content.translate(None, leads)) for leads in (_THREE, _FOUR))
    return len(content) + (len(content) + three + 4 * four) * _QUARTER


def tokens_of_size(size: int) -> tuple[int, int]:
    """Return about how many tokens a text of a size has, as `expected_input_tokens` does, and its bytes."""
    return -(-(size // _QUARTER) // 4), size % _QUARTER


def ask_text(ask: Ask) -> str:
    """Return all words that an ask sends: instructions, what is judged, and the schema or choice of the answer."""
    schema = "".join(json.dumps(part, ensure_ascii=False) for part in (ask.schema, ask.question) if part is not None)
    return f"{ask.system}{ask.user}{schema}"


def expected_output_tokens(ask: Ask) -> int:
    """Return an assumed length of an answer, by its schema's properties; plain text is 150 tokens."""
    assumed = _PLAIN_TEXT if ask.question is None else 0
    if ask.schema is not None:
        properties: dict[str, Any] = dict(ask.schema.get("properties", {}))
        assumed = 4 + sum(3 + expected_input_tokens(name) + _value(kind) for name, kind in properties.items())
    return min(assumed, ask.max_tokens)


def _value(kind: Any) -> int:
    stated = kind.get("type") if isinstance(kind, dict) else None
    # Of several types the first one is the usual one.
    usual = stated[0] if isinstance(stated, list) and stated else stated
    short = isinstance(kind, dict) and ("enum" in kind or usual in ("integer", "number", "boolean", "null"))
    return _SCALAR if short else _STRING


def reckoned(partial: PartialUsage, sent: int, most_output: int, choices: Iterable[Choice]) -> Usage:
    """Return what a call took: what was told, else the larger of what the total leaves and a count of the text."""
    usage = partial.told
    if not partial.input_told:
        known = usage.output if partial.output_told else 0
        # Where both sides are missing the total leaves for the input what the answer cannot have taken.
        left = 0 if partial.total is None or not partial.output_told else partial.total - known
        usage = replace(usage, uncached=usage.uncached + max(max(left, sent) - usage.input, 0))
    if not partial.output_told:
        came = sum(expected_input_tokens(choice.text) for choice in choices)
        left = most_output if partial.total is None else partial.total - usage.input
        usage = replace(usage, output=max(usage.output, left, came))
    return usage
