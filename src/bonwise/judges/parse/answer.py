"""Find the answer in a reply: what of it may hold one, and the last one that is stated in so many words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bonwise.calls.ask import Choice
from bonwise.judges.parse.refusals import is_quoted, refuses
from bonwise.judges.parse.slots import Fault, Pairs, Slot, pieces, whole_object
from bonwise.judges.protocol import has_words
from bonwise.printable import printable
from bonwise.table.verdicts import Unscored, kept

__all__ = ["LOOKED_AT", "VERSION", "Form", "after_thinking", "answer", "stopped_early", "unread"]

VERSION = 2
"""Of all readers together: it rises whenever the same reply may be read in another way."""

_OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE | re.ASCII)
_CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE | re.ASCII)


def unread(reason: str, choice: Choice) -> Unscored:
    """Return the reason why a reply gives no answer, together with the reply.

    Examples
    --------
    >>> unread("empty reply", Choice("")).reason
    'empty reply'
    """
    return Unscored(printable(reason, longest=200), kept(choice.text))


def stopped_early(choice: Choice, *, cut_is_fine: bool = False) -> Unscored | None:
    """Return why a reply cannot be read, None where it can; a cut one can with `cut_is_fine`, by its first token.

    Examples
    --------
    >>> stopped_early(Choice("I cannot", "refusal", "policy")).reason
    'refused: policy'
    >>> stopped_early(Choice("85")) is None
    True
    """
    if choice.finish == "length" and not cut_is_fine:
        return unread("truncated: the reply reached its limit of tokens", choice)
    if choice.finish in ("refusal", "filter"):
        return unread(f"refused: {choice.detail or choice.finish}", choice)
    if not has_words(choice.text):
        return unread("empty reply", choice)
    return None


def after_thinking(text: str) -> str | None:
    """Return what follows the last block of thinking, opened or not; None where nothing does or it is not closed.

    Examples
    --------
    >>> after_thinking("<think>70? No, more.</think> 85")
    ' 85'
    >>> after_thinking("<think>70? No") is None
    True
    """
    end = 0
    for closing in _CLOSING.finditer(text):
        end = closing.end()
    rest = text[end:]
    if _OPENING.search(rest) or (end and not rest.strip()):
        return None
    return rest


LOOKED_AT = 16_000
"""Characters at the end of a reply in which an answer is looked for, where the reply is not one JSON object."""

_LONGEST_LINE = 200
_DECORATION = " \t*_`#\ufeff"
_LINE = re.compile(r"[^\r\n]+")
_PARTS = re.compile(r"[,;|]")
_WORDS = re.compile(r"\w+")
_JOINING = frozenset({"json", "or", "and"})


@dataclass(frozen=True, slots=True)
class Form:
    """What an answer of one kind looks like."""

    slots: Mapping[str, Slot]
    """Field to what it may hold."""
    labels: Mapping[str, str]
    """Field to a regular expression of the words that may announce it in a text."""
    needed: Sequence[str]
    """Fields without which there is no answer; the first one names the answer in messages."""
    bare: str | None = None
    """The field that a line may state without its label."""
    patterns: Mapping[str, re.Pattern[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        compiled = {
            name: re.compile(rf"(?:{words})[ \t]*[*_`]*[ \t]*[:=](.*)", re.IGNORECASE | re.ASCII | re.DOTALL)
            for name, words in self.labels.items()
        }
        object.__setattr__(self, "patterns", compiled)


@dataclass(frozen=True, slots=True)
class _FoundField:
    """A field, where it stands, and what it says."""

    start: int
    end: int
    name: str
    reading: Any


@dataclass(frozen=True, slots=True)
class _TextLine:
    """A line with words in it; no marks where it is prose."""

    marks: tuple[_FoundField, ...]
    bare: bool


def answer(choice: Choice, form: Form) -> Mapping[str, Any] | Unscored:
    r"""Return the fields of a reply's answer.

    Examples
    --------
    >>> from bonwise.judges.parse.slots import NumberSlot
    >>> score = Form({"score": NumberSlot(0, 100, whole=True)}, {"score": "score"}, ["score"], bare="score")
    >>> answer(Choice("At first sight:\n{\"score\": 70}\nHaving checked it:\n{\"score\": 85}"), score)
    {'score': 85}
    >>> answer(Choice("70 or 80"), score).reason
    'two answers: 70 or 80'
    """
    early = stopped_early(choice)
    if early:
        return early
    pairs = whole_object(choice.text)
    if pairs is None and choice.finish == "other":
        # An 8 may be what was said of 85; an object that is closed was said to its end.
        return unread(f"the reply may be cut, it ended with: {choice.detail or 'no reason'}", choice)
    if pairs is None:
        rest = after_thinking(choice.text)
        if rest is None:
            return unread("only thinking, no answer", choice)
        found = _in_words(rest, form)
    else:
        found = _last([list(_marks_of(pairs, 0, len(choice.text), form))], form)
    return unread(found.reason, choice) if isinstance(found, Fault) else found


def _in_words(rest: str, form: Form) -> dict[str, Any] | Fault:
    """Return the answer that stands between other words, in the reply's own words."""
    text, cut = _ending(rest)
    blocks = list(_blocks(text, form, cut=cut))
    own = [block for block in blocks if not is_quoted(text, block[0].start, block[-1].end)]
    found = _last(own, form)
    if isinstance(found, Fault):
        quoted = len(own) < len(blocks) and not any(mark.name in form.needed for block in own for mark in block)
        return Fault(f"the {form.needed[0]} stands in a quotation") if quoted else found
    return Fault("refused in its own words") if refuses(_apart_from(text, blocks)) else found


def _apart_from(text: str, blocks: Sequence[Sequence[_FoundField]]) -> str:
    parts, position = [], 0
    for block in blocks:
        parts.append(text[position : block[0].start])
        position = block[-1].end
    return "\n".join([*parts, text[position:]])


def _last(blocks: Sequence[Sequence[_FoundField]], form: Form) -> dict[str, Any] | Fault:
    """Return the last answer; a field that is not needed may also follow it, apart from it."""
    later: list[_FoundField] = []
    for block in reversed(blocks):
        if any(mark.name in form.needed for mark in block):
            names = {mark.name for mark in block}
            return _merged([*block, *(mark for mark in later if mark.name not in names)], form)
        later = later or list(block)
    return Fault(f"no {form.needed[0]} in the reply")


def _merged(marks: Sequence[_FoundField], form: Form) -> dict[str, Any] | Fault:
    found: dict[str, Any] = {}
    for mark in marks:
        if found.setdefault(mark.name, mark.reading) != mark.reading:
            return Fault(f"two answers: {_said(found[mark.name])} and {_said(mark.reading)}")
    for name, reading in found.items():
        if isinstance(reading, Fault):
            # What a single field lacks needs no name where there is no other field.
            return reading if len(form.slots) == 1 else Fault(f"{name}: {reading.reason}")
    missing = [name for name in form.needed if name not in found]
    return Fault(f"no {missing[0]} in the reply") if missing else found


def _said(reading: Any) -> str:
    return reading.reason if isinstance(reading, Fault) else str(reading)


def _blocks(text: str, form: Form, *, cut: bool) -> Iterator[list[_FoundField]]:
    """Yield the fields of a text, those together that no other words and no other line part."""
    marks = sorted(_marks(text, form, cut=cut), key=lambda mark: mark.start)
    block: list[_FoundField] = []
    for mark in marks:
        if block and not _together(text[block[-1].end : mark.start]):
            yield block
            block = []
        block.append(mark)
    if block:
        yield block


def _together(gap: str) -> bool:
    # On one line two answers contradict each other, whatever stands between them.
    return "\n" not in gap or all(word.lower() in _JOINING for word in _WORDS.findall(gap))


def _ending(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (text[-LOOKED_AT:], True) if len(text) > LOOKED_AT else (text, False)


def _marks(text: str, form: Form, *, cut: bool) -> Iterator[_FoundField]:
    rest: list[str] = []
    position = 0
    for piece in pieces(text, form.needed):
        if piece.pairs is None:
            yield _FoundField(piece.start, piece.end, form.needed[0], Fault("a broken JSON object"))
        else:
            yield from _marks_of(piece.pairs, piece.start, piece.end, form)
        rest += text[position : piece.start], " " * (piece.end - piece.start)
        position = piece.end
    # What is read already is blanked out, so that its words are no lines of their own.
    yield from _stated("".join([*rest, text[position:]]), form, cut=cut)


def _marks_of(pairs: Pairs, start: int, end: int, form: Form) -> Iterator[_FoundField]:
    keys = [key for key, _ in pairs]
    for key in dict.fromkeys(key for key in keys if key in form.slots):
        value = next(value for name, value in pairs if name == key)
        reading = form.slots[key].of_json(value) if keys.count(key) == 1 else Fault(f'two answers: "{key}" twice')
        yield _FoundField(start, end, key, reading)


def _stated(text: str, form: Form, *, cut: bool) -> Iterator[_FoundField]:
    """Yield the fields that lines state; a line without a label counts only where the reply begins or ends."""
    found = (_line(match, form) for match in _LINE.finditer(text) if not (cut and match.start() == 0))
    lines = [line for line in found if line is not None]
    spoken = [number for number, line in enumerate(lines) if not line.marks]
    first = spoken[0] if spoken and not cut else 0
    last = spoken[-1] if spoken else -1
    for number, line in enumerate(lines):
        if not line.bare or number < first or number > last:
            yield from line.marks


def _line(match: re.Match[str], form: Form) -> _TextLine | None:
    """Read one line; None where it has no words, as a code fence has none."""
    content = match[0].strip(_DECORATION)
    if all(word.lower() in _JOINING for word in _WORDS.findall(content)):
        return None
    if len(content) > _LONGEST_LINE:
        # A long line is prose, unless it announces an answer: then the answer is not a plain one.
        content = content[:_LONGEST_LINE] + "..."
    parts = [part.strip(_DECORATION) for part in _PARTS.split(content)]
    values: list[tuple[str | None, str]] = []
    for part in parts:
        label, value = _labelled(part, form)
        if label is None and values:
            values[-1] = (values[-1][0], f"{values[-1][1]}, {part}")
        else:
            values.append((label, value))
    return _line_of(values, match, form)


def _labelled(part: str, form: Form) -> tuple[str | None, str]:
    for name, pattern in form.patterns.items():
        if stated := pattern.fullmatch(part):
            return name, stated[1].strip(_DECORATION + "\"'")
    return None, part


def _line_of(values: Sequence[tuple[str | None, str]], match: re.Match[str], form: Form) -> _TextLine | None:
    marks: list[_FoundField] = []
    bare = values[0][0] is None
    if bare and (form.bare is None or not form.slots[form.bare].alone(values[0][1])):
        return _TextLine((), bare=False)
    for label, value in values:
        name = label or form.bare
        # A label with nothing behind it is a heading: what it announces stands on the next line.
        if name is not None and value:
            marks.append(_FoundField(match.start(), match.end(), name, form.slots[name].of_text(value)))
    return _TextLine(tuple(marks), bare=bare) if marks else None
