"""Find the answer in a reply: what of it may hold one, and the last one that is stated in so many words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bonwise.calls.ask import Choice
from bonwise.judges.parse.refusals import is_copied, is_quoted, refuses
from bonwise.judges.parse.slots import Fault, Pairs, Slot, pieces, plain, whole_object
from bonwise.judges.protocol import has_words
from bonwise.printable import printable
from bonwise.table.verdicts import Unscored, kept

VERSION = 5
"""Of all readers together: it rises whenever the same reply may be read in another way."""

_OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE | re.ASCII)
_CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE | re.ASCII)


def unread(reason: str, choice: Choice) -> Unscored:
    """Return the reason why a reply gives no answer, together with the reply."""
    return Unscored(printable(reason, longest=200), kept(choice.text))


def stopped_early(choice: Choice, *, cut_is_fine: bool = False) -> Unscored | None:
    """Return why a reply cannot be read, None where it can; a cut one can with `cut_is_fine`, by its first token."""
    if choice.finish == "length" and not cut_is_fine:
        return unread("truncated: the reply reached its limit of tokens", choice)
    if choice.finish in ("refusal", "filter"):
        return unread(f"refused: {choice.detail or choice.finish}", choice)
    if not has_words(choice.text):
        return unread("empty reply", choice)
    return None


def after_thinking(text: str, asked: str = "") -> str | None:
    """Return what follows the last block of thinking, opened or not; None where nothing does or it is not closed.

    A tag that is copied from the words `asked` closes nothing.
    """
    closings = (tag.span() for tag in reversed([*_CLOSING.finditer(text)]))
    end = next((end for start, end in closings if not is_copied(text, start, end, asked)), 0)
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
_BULLET = re.compile(r"\A[-•+][ \t]*")
_NO_BLANKS = {ord(sign): None for sign in " \t`*_#"}
_OTHER_FIELD = re.compile(r"#|(?:[-•+][ \t]+)?[*_`]*[^\W\d_]+(?: [^\W\d_]+)?[*_`]*:[*_`]*[ \t]*\S")
_NOT_A_BREAK = re.compile(r"[^\n]")
_TITLE = re.compile(r"[#*_` \t]*\w+(?: \w+)? ?:[*_` \t]*")
_ENDS = re.compile(
    r"(?:(?P<score>[0-9.]+)[ ,]*)?(?P<label>95 ?% ?CI[*_`]*[:=][*_` ]*)?\[(?P<low>[0-9.]+), ?(?P<high>[0-9.]+)\]",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\[\[([^\[\]\n]{1,40})\]\]|\[RESULT\]:?([^\n]*)")
REASONS = frozenset(
    {"why", "reason", "reasoning", "explanation", "rationale", "feedback", "comment"}
    | {"refusal", "error", "note", "notes", "analysis", "justification", "critique"}
)
"""Keys of JSON, in small letters, in which a judge says why."""
_EMPTY = frozenset({"", "none", "null", "n/a"})


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
    keys: Mapping[str, str] = field(default_factory=dict)
    """Further keys of JSON, in small letters, and the field that each names."""
    last: bool = False
    """Whether the prompt asks for a last line without a label, so that one counts beside other words."""
    why: bool = True
    """Whether the key ``why`` is there to say that nothing can be judged."""
    patterns: Mapping[str, re.Pattern[str]] = field(init=False, repr=False, compare=False)
    tags: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        flags = re.IGNORECASE | re.ASCII | re.DOTALL
        labels = {
            name: rf"[\"']?(?:{words})[\"']?(?:[ \t]*\((?:{self.slots[name].scale})\))?[ \t]*[*_`]*[ \t]*"
            for name, words in self.labels.items()
        }
        compiled = {name: re.compile(rf"{words}(?:[:=](.*))?", flags) for name, words in labels.items()}
        object.__setattr__(self, "patterns", compiled)
        object.__setattr__(self, "keys", {**{name: name for name in self.slots}, **self.keys})
        tags = "|".join(
            rf"<(?P<tag_{name}>{words})>(?P<{name}>[^<]{{1,60}})</(?P=tag_{name})>"
            for name, words in self.labels.items()
        )
        object.__setattr__(self, "tags", re.compile(tags, flags))


@dataclass(frozen=True, slots=True)
class _FoundField:
    """A field, where it stands, and what it says."""

    start: int
    end: int
    name: str
    reading: Any


@dataclass(frozen=True, slots=True)
class _TextLine:
    """A line with words in it."""

    start: int
    end: int
    marks: tuple[_FoundField, ...] = ()
    """None where the line is prose, or announces what stands on the next one."""
    bare: bool = False
    """Whether it states the answer without its label."""
    heading: str = ""
    """The field that it announces."""

    @property
    def prose(self) -> bool:
        """Whether it states nothing and announces nothing."""
        return not (self.marks or self.heading)


def answer(choice: Choice, form: Form) -> Mapping[str, Any] | Unscored:
    r"""Return the fields of a reply's answer."""
    early = stopped_early(choice)
    if early:
        return early
    pairs = whole_object(choice.text)
    if pairs is None and choice.finish == "other":
        # An 8 may be what was said of 85; an object that is closed was said to its end.
        return unread(f"the reply may be cut, it ended with: {choice.detail or 'no reason'}", choice)
    if pairs is None:
        rest = after_thinking(plain(choice.text), choice.asked)
        if rest is None:
            return unread("only thinking, no answer", choice)
        fields = _in_words(rest, form, choice.asked)
    else:
        fields = _last([list(_marks_of(pairs, 0, len(choice.text), form))], form)
    return unread(fields.reason, choice) if isinstance(fields, Fault) else fields


def _in_words(rest: str, form: Form, asked: str) -> dict[str, Any] | Fault:
    """Return the answer that stands between other words, in the reply's own words."""
    text, cut = _ending(rest)
    blocks = list(_blocks(text, form, cut=cut))
    spans = [(block[0].start, _full_stop(text, _end(block))) for block in blocks]
    own = [block for block, span in zip(blocks, spans, strict=True) if not is_quoted(text, *span, asked)]
    fields = _last(own, form)
    if not isinstance(fields, Fault) or not any(mark.name in form.needed for block in own for mark in block):
        if refuses(_apart_from(text, own)):
            return Fault("refused in its own words")
        if len(own) < len(blocks) and isinstance(fields, Fault):
            return Fault(f"the {form.needed[0]} stands in a quotation")
        if isinstance(fields, Fault) and _has_bare(text, form):
            return Fault(f"the {form.needed[0]} stands without its label beside other words")
    return fields


def _has_bare(text: str, form: Form) -> bool:
    slot = form.slots[form.bare] if form.bare else None
    return slot is not None and any(slot.alone(line.strip(_DECORATION)) for line in text.split("\n"))


def _full_stop(text: str, end: int) -> int:
    return end + text.startswith(".", end)


def _apart_from(text: str, blocks: Sequence[Sequence[_FoundField]]) -> str:
    parts, position = [], 0
    for block in blocks:
        parts.append(text[position : block[0].start])
        position = _end(block)
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
    readings: dict[str, Any] = {}
    for mark in marks:
        if readings.setdefault(mark.name, mark.reading) != mark.reading:
            return Fault(f"two answers: {_said(readings[mark.name])} and {_said(mark.reading)}")
    for name, reading in tuple(readings.items()):
        if not isinstance(reading, Fault):
            continue
        if reading.kind == "absent" and name not in form.needed:
            del readings[name]
        else:
            # What a single field lacks needs no name where there is no other field.
            bare = len(form.slots) == 1 or reading.kind == "withheld"
            return reading if bare else Fault(f"{name}: {reading.reason}")
    missing = [name for name in form.needed if name not in readings]
    return Fault(f"no {missing[0]} in the reply") if missing else readings


def _said(reading: Any) -> str:
    return reading.reason if isinstance(reading, Fault) else str(reading)


def _blocks(text: str, form: Form, *, cut: bool) -> Iterator[list[_FoundField]]:
    """Yield the fields of a text, those together that no other words and no other line part."""
    marks = sorted(_marks(text, form, cut=cut), key=lambda mark: mark.start)
    block: list[_FoundField] = []
    for mark in marks:
        if block and not _together(text[_end(block) : mark.start]):
            yield block
            block = []
        block.append(mark)
    if block:
        yield block


def _end(block: Sequence[_FoundField]) -> int:
    # A tag may stand inside a line that states something too.
    return max(mark.end for mark in block)


def _together(gap: str) -> bool:
    # On one line two answers contradict each other, whatever stands between them.
    return "\n" not in gap or all(word.lower() in _JOINING for word in _WORDS.findall(gap))


def _ending(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (text[-LOOKED_AT:], True) if len(text) > LOOKED_AT else (text, False)


def _marks(text: str, form: Form, *, cut: bool) -> Iterator[_FoundField]:
    rest: list[str] = []
    position, quoted = 0, "{" in text
    for piece in pieces(text, form.keys):
        if piece.pairs is None:
            yield _FoundField(piece.start, piece.end, form.needed[0], Fault("a broken JSON object"))
        else:
            yield from _marks_of(piece.pairs, piece.start, piece.end, form)
        rest += text[position : piece.start], _NOT_A_BREAK.sub(" ", text[piece.start : piece.end])
        position = piece.end
    # What is read already is blanked out, so that its words are no lines of their own.
    text = "".join([*rest, text[position:]])
    tags = tuple(_tagged(text, form))
    for tag in tags:
        text = f"{text[: tag.start]}{_NOT_A_BREAK.sub(' ', text[tag.start : tag.end])}{text[tag.end :]}"
    yield from tags
    # Beside an object, and in what is left of a broken one, keys in quotes are no labels.
    yield from _stated(text, form, cut=cut, quoted=quoted)


def _tagged(text: str, form: Form) -> Iterator[_FoundField]:
    """Yield what stands in ``<score>`` and the like, in double brackets, and behind ``[RESULT]``."""
    for match in form.tags.finditer(text):
        name = str(match.lastgroup)
        yield _FoundField(*match.span(), name, form.slots[name].of_text(match[name].strip(_DECORATION + "\n")))
    if form.bare is None:
        return
    slot = form.slots[form.bare]
    for match in _BRACKETED.finditer(text):
        value = (match[1] or match[2] or "").strip(_DECORATION)
        # Anything may stand in brackets: only what could be an answer is taken for one.
        if value and (match[1] is None or slot.alone(value)):
            yield _FoundField(*match.span(), form.bare, slot.of_text(value))


def _marks_of(pairs: Pairs, start: int, end: int, form: Form) -> Iterator[_FoundField]:
    fields: dict[str, list[Any]] = {}
    for key, value in pairs:
        name = form.keys.get(key.lower())
        if name is not None:
            fields.setdefault(name, []).append(value)
    if form.needed[0] in fields and (withheld := _withheld(pairs, fields, form)):
        yield _FoundField(start, end, form.needed[0], withheld)
        return
    for name, values in fields.items():
        reading = form.slots[name].of_json(values[0]) if len(values) == 1 else Fault(f'two answers: "{name}" twice')
        yield _FoundField(start, end, name, reading)


def _withheld(pairs: Pairs, fields: Mapping[str, Sequence[Any]], form: Form) -> Fault | None:
    """Return why an object gives no answer: it says that it has none, or its other words refuse one."""
    first = form.needed[0]
    others = [(key.lower(), value) for key, value in pairs if key.lower() not in form.keys]
    words = [
        (key, value if isinstance(value, str) else "it does not say it in words") for key, value in others if value
    ]
    why = next((value for key, value in words if key == "why" and value.strip(" .-").lower() not in _EMPTY), "")
    if all(value is None for value in fields[first]):
        return Fault(f"cannot judge: {why or 'no reason given'}", "withheld")
    if why and form.why:
        return Fault(f"cannot judge, though it gives a {first}: {why}", "withheld")
    reasons = "\n".join(value[-LOOKED_AT:] for key, value in words if key in REASONS)
    refused = reasons and refuses(reasons[-LOOKED_AT:])
    return Fault("refused in its own words", "withheld") if refused else None


def _stated(text: str, form: Form, *, cut: bool, quoted: bool) -> Iterator[_FoundField]:
    """Yield the fields that lines state.

    A line without a label counts where the reply says nothing else, or below a line that announces it. A line with
    one counts where it begins or ends the reply, or stands apart; elsewhere it is part of what is said around it.
    """
    read = (_line(match, form, quoted=quoted) for match in _LINE.finditer(text) if not (cut and match.start() == 0))
    lines = [line for line in read if line is not None]
    spoken = cut or any(line.prose for line in lines)
    for number, line in enumerate(lines):
        if line.bare and not (number and lines[number - 1].heading == form.bare):
            if not spoken or (form.last and number == len(lines) - 1):
                yield from line.marks
        elif line.marks:
            apart = _apart(text, lines, number, cut=cut)
            yield from line.marks if apart else (_amidst(mark) for mark in line.marks)


def _apart(text: str, lines: Sequence[_TextLine], number: int, *, cut: bool) -> bool:
    """Tell whether a line and those that state something beside it begin the reply, end it, or stand apart in it."""
    first, last = number, number
    while first > 0 and not lines[first - 1].prose:
        first -= 1
    while last < len(lines) - 1 and not lines[last + 1].prose:
        last += 1
    titled = first == 1 and _TITLE.fullmatch(text[lines[0].start : lines[0].end]) is not None
    if last == len(lines) - 1 or ((first == 0 or titled) and not cut):
        return True
    below = _is_apart(text, lines[last], lines[last + 1], lines[last + 1])
    return below and (first == 0 or _is_apart(text, lines[first - 1], lines[first], lines[first - 1]))


def _is_apart(text: str, upper: _TextLine, lower: _TextLine, neighbour: _TextLine) -> bool:
    gap = text[upper.end : lower.start].translate(_NO_BLANKS)
    return "\n\n" in gap or _OTHER_FIELD.match(text[neighbour.start : neighbour.end].lstrip()) is not None


def _amidst(mark: _FoundField) -> _FoundField:
    return mark if isinstance(mark.reading, Fault) else replace(mark, reading=Fault("it stands between other words"))


def _line(match: re.Match[str], form: Form, *, quoted: bool) -> _TextLine | None:
    """Read one line; None where it has no words, as a code fence has none."""
    content = match[0].strip(_DECORATION)
    if all(word.lower() in _JOINING for word in _WORDS.findall(content)):
        return None
    if len(content) > _LONGEST_LINE:
        # A long line is prose, unless it announces an answer: then the answer is not a plain one.
        content = content[:_LONGEST_LINE] + "..."
    if quoted and content.startswith(('"', "'")):
        return _TextLine(*match.span())
    name, value = _labelled(content, form)
    if name and not value:
        # A label with nothing behind it is a heading: what it announces stands on the next line.
        return _TextLine(*match.span(), heading=name)
    values: list[tuple[str | None, str]] = []
    for part in (part.strip(_DECORATION) for part in _PARTS.split(content.rstrip(" ,;") if name else content)):
        label, value = _labelled(part, form)
        if (label is None or not value) and values:
            values[-1] = (values[-1][0], f"{values[-1][1]}, {part}")
        else:
            values.append((label, value))
    return _line_of(values, match, form)


def _labelled(part: str, form: Form) -> tuple[str | None, str]:
    stripped = _BULLET.sub("", part).strip(_DECORATION)
    for name, pattern in form.patterns.items():
        if stated := pattern.fullmatch(stripped):
            return name, (stated[1] or "").strip(_DECORATION + "\"'")
    return None, part


def _line_of(values: Sequence[tuple[str | None, str]], match: re.Match[str], form: Form) -> _TextLine:
    start, end = match.span()
    bare = values[0][0] is None
    if ends := _bracketed_ends(values, form):
        stated = {name: ends[name] for name in form.slots if ends[name]}
        marks = tuple(_FoundField(start, end, name, form.slots[name].of_text(stated[name])) for name in stated)
        return _TextLine(start, end, marks, bare=bare and form.needed[0] in stated)
    if bare and (form.bare is None or not form.slots[form.bare].alone(values[0][1])):
        return _TextLine(start, end)
    marks = tuple(
        _FoundField(start, end, name, form.slots[name].of_text(value))
        for label, value in values
        if (name := label or form.bare) is not None and value
    )
    return _TextLine(start, end, marks, bare=bare)


def _bracketed_ends(values: Sequence[tuple[str | None, str]], form: Form) -> re.Match[str] | None:
    """Match ``70 [60, 85]`` and ``95% CI: [60, 85]`` where an interval is asked for; two ends alone are neither."""
    (label, value), *others = values
    if others or "high" not in form.slots or label not in (None, form.needed[0]):
        return None
    ends = _ENDS.fullmatch(_BULLET.sub("", value).strip(_DECORATION))
    return ends if ends and (ends["score"] or (ends["label"] and label is None)) else None
