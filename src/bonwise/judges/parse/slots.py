"""JSON objects in a reply, and what one field of an answer may hold: a number on a scale, or one of a few words."""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bonwise.judges.protocol import has_words
from bonwise.printable import printable

Pairs = tuple[tuple[str, Any], ...]

_START = re.compile(r'\{\s*"')
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*)```", re.DOTALL)
_PATIENCE = 16
"""How many times the length of the text may be scanned in vain; beyond it the text is called unreadable."""


_FORMS = {
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff")),
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    **{ord(sign) + 0xFEE0: sign for sign in f"{string.ascii_letters}{string.digits}%-./:<=>[]"},
}
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')


def plain(text: str) -> str:
    r"""Return a reply without what changes its looks only: wide letters and signs, odd spaces, lone backslashes.

    A backslash that begins no escape of JSON is doubled. Quotes and braces stay, so that no string ends elsewhere.
    """
    return _ESCAPE.sub(lambda match: match[0] if len(match[0]) > 1 else "\\\\", text.translate(_FORMS))


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
    """Return the object that the text consists of, perhaps in a code fence; None where it is something else."""
    whole = whole_json(text)
    return whole if isinstance(whole, tuple) else None


def whole_json(text: str) -> Pairs | list[Any] | None:
    """Return the object or list that a text consists of, perhaps in a code fence; None where it is neither."""
    body = plain(text).strip()
    if body.startswith("```") and (fenced := _FENCED.fullmatch(body)):
        body = fenced[1].strip()
    if body[:1] + body[-1:] not in ("{}", "[]"):
        return None
    try:
        whole: Pairs | list[Any] = _decoder().decode(body)
    except (ValueError, RecursionError):
        return None
    return whole


def pieces(text: str, keys: Collection[str]) -> Iterator[JsonSpan]:
    """Yield the outermost objects in a text, and the broken ones in which one of the keys stands."""
    decoder, wanted = _decoder(), tuple(f'"{key}"'.lower() for key in keys)
    position, wasted = 0, 0
    while match := _START.search(text, position):
        start = match.start()
        try:
            pairs, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            wasted += error.pos - start
            if wasted > _PATIENCE * len(text):
                yield JsonSpan(start, len(text), None)
                return
            broken = text[start : error.pos].lower()
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


def _decoder() -> json.JSONDecoder:
    # Line breaks inside strings are a frequent slip and leave no doubt where the object ends.
    # Objects become tuples, so that doubled keys stay visible and no list is taken for an object.
    return json.JSONDecoder(
        strict=False, object_pairs_hook=tuple, parse_int=Lexeme, parse_float=Lexeme, parse_constant=Lexeme
    )


# Only ASCII digits count, in JSON's own grammar.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_FRACTION = re.compile(r"\.[0-9]+")
_LIKE_NUMBER = re.compile(r"[-+\u2212]?(?:[0-9]+|\.[0-9]+)(?:\.[0-9]+)*(?:[eE][-+]?[0-9]+)?")
_BETWEEN_NUMBERS = re.compile(r"[-+\s,;/%\u2013\u2014]|\b(?:or|and|to|out of)\b", re.ASCII)
_OVER = re.compile(r"[ \t]?(?:/|\bout of\b)[ \t]?")
_BETWEEN_WORDS = re.compile(r"(?:[\s,;/]|\bor\b|\band\b)+", re.ASCII)
_ORDER = re.compile(r"[ \t]*(>{1,2}|=)[ \t]*")
_ORDERS = {"A>B": "A", "A>>B": "A", "B>A": "B", "B>>A": "B", "A=B": "TIE", "B=A": "TIE"}
_LONGEST_VALUE = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a field cannot be used."""

    reason: str
    kind: Literal["wrong", "absent", "withheld"] = "wrong"
    """``absent`` where the field says nothing of its kind, ``withheld`` where the reply says it has none."""


class Slot(Protocol):
    """What a field may hold."""

    @property
    def scale(self) -> str:
        """A regular expression of what a label may say of it in brackets, as in ``Score (0-100): 85``."""
        ...

    def of_json(self, value: Any) -> Any:
        """Read a decoded value; `Fault` where it is none of this slot's."""
        ...

    def of_text(self, text: str) -> Any:
        """Read the words after a label, or a line on its own."""
        ...

    def alone(self, line: str) -> bool:
        """Tell whether a line without a label speaks of nothing else."""
        ...


@dataclass(frozen=True, slots=True)
class NumberSlot:
    """Numbers from `low` to `high`."""

    low: int
    high: int
    whole: bool = False
    """Whether only whole numbers are meant."""

    @property
    def scale(self) -> str:
        """Its ends, or the upper one."""
        return rf"(?:from )?{self.low} ?(?:-|\u2013|to) ?{self.high}(?: scale)?|(?:out of|/) ?{self.high}"

    def of_json(self, value: Any) -> float | Fault:
        """Read a number, or a string that states one as a line may."""
        if isinstance(value, Lexeme):
            return self._value(value)
        absent = Fault(f"no number: {_json_words(value)}", "absent")
        if not isinstance(value, str) or len(value) > _LONGEST_VALUE:
            return absent
        reading = self.of_text(plain(value).strip())
        return absent if isinstance(reading, Fault) and reading.kind == "absent" else reading

    def of_text(self, text: str) -> float | Fault:
        """Read ``85``, with ``/100`` or ``out of 100`` on a scale to 100; on one to 1 ``.73`` and ``73%`` too."""
        text = _unbracketed(text.removesuffix(".").rstrip())
        if self.high == 1 and _FRACTION.fullmatch(text):
            return self._value(f"0{text}", text)
        if _NUMBER.fullmatch(text):
            return self._value(text)
        share = text.removesuffix("%").rstrip()
        if self.high == 1 and share != text and _PLAIN.fullmatch(share):
            return self._value(f"{share}e-2", text)
        number, *over = _OVER.split(text, maxsplit=2)
        if self.high > 1 and over == [str(self.high)] and _NUMBER.fullmatch(number):
            return self._value(number)
        several = list(dict.fromkeys(_LIKE_NUMBER.findall(text)))
        if len(several) > 1 and not over:
            return Fault(f"two answers: {printable(text, longest=60)}")
        return Fault(f"no plain number: {printable(text, longest=60)}", "absent")

    def alone(self, line: str) -> bool:
        """Tell whether the line holds nothing but numbers."""
        rest, numbers = _LIKE_NUMBER.subn(" ", line.removesuffix("."))
        return numbers > 0 and not _BETWEEN_NUMBERS.sub("", rest)

    def _value(self, written: str, shown: str = "") -> float | Fault:
        # What JSON calls NaN or Infinity is not a number of its grammar.
        value = float(written) if _NUMBER.fullmatch(written) and not written.startswith("-") else math.nan
        if not self.low <= value <= self.high:
            return Fault(f"off the scale {self.low} to {self.high}: {printable(shown or written, longest=40)}")
        if value.is_integer() and self.high > 1:
            return int(value)
        if not self.whole:
            return value
        return Fault(f"no whole number: {printable(shown or written, longest=40)}", "absent")


@dataclass(frozen=True, slots=True)
class WordSlot:
    """One of a few words in capitals, or an order as ``A>B``; in a field in any case, alone only long words."""

    words: Sequence[str]
    tie: str = ""
    """What else a prompt calls a tie."""

    @property
    def scale(self) -> str:
        """Its words."""
        return rf"(?:{'|'.join(self.words)}|or|[ ,/])+"

    def of_json(self, value: Any) -> str | Fault:
        """Read a string that is one of the words; true and false are yes and no."""
        if isinstance(value, bool) and set(self.words) == {"YES", "NO"}:
            return "YES" if value else "NO"
        if isinstance(value, str) and not isinstance(value, Lexeme) and len(value) <= _LONGEST_VALUE:
            named = self._said(plain(value).strip(), any_case=True)
            if len(named) == 1:
                return named[0]
        return Fault(f"none of {', '.join(self.words)}: {_json_words(value)}")

    def of_text(self, text: str) -> str | Fault:
        """Read one of the words, perhaps in square brackets."""
        named = self._said(text, any_case=True)
        if len(named) > 1:
            return Fault(f"two answers: {printable(text, longest=60)}")
        return named[0] if named else Fault(f"none of {', '.join(self.words)}: {printable(text, longest=60)}")

    def alone(self, line: str) -> bool:
        """Tell whether the line holds nothing but words of this slot."""
        return bool(self._said(line))

    def _said(self, text: str, *, any_case: bool = False) -> list[str]:
        """Return the different words that a text consists of; none where it says anything else."""
        text = _ORDER.sub(r"\1", text.removesuffix("."))
        parts = [part for part in _BETWEEN_WORDS.split(text) if part]
        words = [self._word(_unbracketed(part), any_case=any_case) for part in parts]
        return [] if None in words else [word for word in dict.fromkeys(words) if word]

    def _word(self, text: str, *, any_case: bool) -> str | None:
        if text.isascii() and (any_case or len(text) > 1):
            text = text.upper()
        text = "TIE" if self.tie and text == self.tie.upper() else _ORDERS.get(text, text)
        return text if text in self.words else None


_MOST_TEXTS, _LONGEST_TEXT = 40, 500


class TextsSlot:
    """A list of short texts, one line each, in JSON alone."""

    scale = "(?!)"

    def of_json(self, value: Any) -> tuple[str, ...] | Fault:
        """Read at most 40 texts of at most 500 characters; white space within them becomes blanks."""
        texts = value if isinstance(value, list) else []
        fit = [isinstance(text, str) and not isinstance(text, Lexeme) and has_words(text) for text in texts]
        if not 0 < len(texts) <= _MOST_TEXTS or not all(fit) or max(map(len, texts)) > _LONGEST_TEXT:
            return Fault("no list of short texts")
        return tuple(" ".join(text.split()) for text in texts)

    def of_text(self, text: str) -> Fault:
        """Read nothing of a line."""
        return Fault(f"no list of short texts: {printable(text, longest=60)}", "absent")

    def alone(self, line: str) -> bool:  # noqa: ARG002 - as slots are asked
        """Tell that no line is a list."""
        return False


_CANDIDATE_KEYS = frozenset({"candidate", "id", "number", "index"})
_RANKED = re.compile(r"(?:\[?[0-9]{1,4}\]?(?:\s*[>,]\s*|$))+")


@dataclass(frozen=True, slots=True)
class ListSlot:
    """Numbers of candidates: each with its score, or in the order from the best to the worst."""

    score: NumberSlot | None = None
    """What a score may be; None where candidates are ranked."""

    @property
    def scale(self) -> str:
        """The words that may stand in brackets behind the label."""
        return "(?:from )?best (?:first|to worst)"

    def of_json(self, value: Any) -> tuple[tuple[int, Any], ...] | Fault:
        """Read numbers of candidates, each with a score, a `Fault`, or its place from 0."""
        if isinstance(value, str) and not isinstance(value, Lexeme):
            return self.of_text(plain(value).strip())
        if isinstance(value, tuple) and self.score is not None:
            entries: list[tuple[Any, Any]] = list(value)
        elif isinstance(value, list):
            entries = [self._entry(entry, place) for place, entry in enumerate(value)]
        else:
            return Fault(f"no list: {_json_words(value)}", "absent")
        numbers = [_whole(number) for number, _ in entries]
        if None in numbers or not entries:
            return Fault("a list without the numbers of candidates", "absent")
        return tuple(
            (int(number or 0), self._scored(stated)) for number, (_, stated) in zip(numbers, entries, strict=True)
        )

    def of_text(self, text: str) -> tuple[tuple[int, Any], ...] | Fault:
        """Read an order, as ``2 > 1 > 3`` or ``2, 1, 3``."""
        if self.score is not None or not _RANKED.fullmatch(text.removesuffix(".")):
            return Fault(f"no list: {printable(text, longest=60)}", "absent")
        return tuple((int(number), place) for place, number in enumerate(re.findall("[0-9]+", text)))

    def alone(self, line: str) -> bool:
        """Tell whether the line is an order of two candidates or more."""
        return self.score is None and ">" in line and _RANKED.fullmatch(line.removesuffix(".")) is not None

    def _entry(self, entry: Any, place: int) -> tuple[Any, Any]:
        if self.score is None or not isinstance(entry, tuple):
            return (entry, place) if self.score is None else (None, None)
        values = {key.lower(): value for key, value in entry}
        number = next((values[key] for key in values if key in _CANDIDATE_KEYS), None)
        return number, values.get("score", values.get("rating"))

    def _scored(self, stated: Any) -> Any:
        if self.score is None:
            return stated
        return Fault("cannot judge") if stated is None else self.score.of_json(stated)


def _whole(number: Any) -> int | None:
    """Return the number of a candidate, also as ``"3"`` or ``"Candidate 3"``."""
    stated = (
        re.fullmatch(r"\s*\[?(?:candidate )?([0-9]{1,4})\]?\s*", number, re.IGNORECASE)
        if isinstance(number, str)
        else None
    )
    return None if stated is None else int(stated[1])


def _unbracketed(text: str) -> str:
    if text.startswith("[[") and text.endswith("]]"):
        return text[2:-2]
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def _json_words(value: Any) -> str:
    words = {True: "true", False: "false", None: "null"}
    if value is None or isinstance(value, bool):
        return words[value]
    if isinstance(value, tuple | list):
        return "an object" if isinstance(value, tuple) else "a list"
    return printable(value if isinstance(value, Lexeme) else f'"{value}"', longest=60)
