"""The bundled tasks: pools whose oracle labels a program can compute, and the constraints that it checks."""

from __future__ import annotations

import csv
import inspect
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from bonwise.errors import InputError, UsageError
from bonwise.table.pools import Candidate, Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MARKER = re.compile(r"^[ \t]*(?:[-*\u2022]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*(?:\s|\Z)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")


@dataclass(frozen=True)
class Check:
    """One constraint of a task: a kind from `CHECKERS` and the values of its parameters."""

    kind: str
    """The checker's name."""
    parameters: Mapping[str, object]
    """Its arguments beside the text."""

    def __post_init__(self) -> None:
        if self.kind not in CHECKERS:
            raise UsageError(f"no check of kind {self.kind!r}", hint=f"choose one of {', '.join(CHECKERS)}")
        wanted = list(inspect.signature(CHECKERS[self.kind]).parameters)[1:]
        if sorted(self.parameters) != sorted(wanted):
            raise UsageError(f"{self.kind} takes {wanted}, not {sorted(self.parameters)}")
        for name, value in self.parameters.items():
            if not _VALID[name](value):
                raise UsageError(f"{self.kind}: {name} cannot be {value!r}")

    def passes(self, text: str) -> bool:
        """Tell whether ``text`` keeps the constraint."""
        return CHECKERS[self.kind](text, **self.parameters)


def max_words(text: str, n: int) -> bool:
    """Have at most ``n`` words."""
    return len(_words(text)) <= n


def min_words(text: str, n: int) -> bool:
    """Have at least ``n`` words."""
    return len(_words(text)) >= n


def exact_words(text: str, n: int) -> bool:
    """Have exactly ``n`` words."""
    return len(_words(text)) == n


def max_line_words(text: str, n: int) -> bool:
    """Have no line of more than ``n`` words."""
    return all(len(_words(line)) <= n for line in _lines(text))


def max_sentences(text: str, n: int) -> bool:
    """Have at most ``n`` sentences."""
    return len(_sentences(text)) <= n


def exact_sentences(text: str, n: int) -> bool:
    """Have exactly ``n`` sentences."""
    return len(_sentences(text)) == n


def exact_lines(text: str, n: int) -> bool:
    """Have exactly ``n`` lines, blank ones not counted."""
    return len(_lines(text)) == n


def exact_paragraphs(text: str, n: int) -> bool:
    """Have exactly ``n`` paragraphs, with blank lines between them."""
    blocks = "\n".join(line.strip() for line in text.strip().splitlines())
    return sum(bool(block.strip()) for block in blocks.split("\n\n")) == n


def bullets(text: str, n: int) -> bool:
    """Have exactly ``n`` lines that begin with a hyphen and a space."""
    return sum(line.startswith("- ") for line in _lines(text)) == n


def numbered(text: str, n: int) -> bool:
    """Have a list numbered ``1.`` to ``n.``, in order, and no other numbered line."""
    markers = [re.match(r"(\d{1,3})\. ", line) for line in _lines(text)]
    return [marker[1] for marker in markers if marker] == [str(place) for place in range(1, n + 1)]


def alphabetical(text: str) -> bool:
    """Have list items in alphabetical order, two at least."""
    items = [_MARKER.sub("", line).casefold() for line in _lines(text) if _MARKER.match(line)]
    return len(items) > 1 and items == sorted(items)


def includes(text: str, words: Sequence[str]) -> bool:
    """Hold every one of ``words`` as a whole word, in either case."""
    return all(_occurrences(text, word) for word in words)


def excludes(text: str, words: Sequence[str]) -> bool:
    """Hold none of ``words`` as a whole word, in either case."""
    return not any(_occurrences(text, word) for word in words)


def mentions(text: str, word: str, n: int) -> bool:
    """Hold ``word`` exactly ``n`` times."""
    return _occurrences(text, word) == n


def without(text: str, marks: str) -> bool:
    """Hold none of the characters in ``marks``."""
    return not set(text) & set(marks)


def no_digits(text: str) -> bool:
    """Hold no digit."""
    return not any(character.isdigit() for character in text)


def number(text: str, value: float) -> bool:
    """State the number ``value``, with or without separators of thousands."""
    return any(float(number.replace(",", "")) == value for number in _NUMBER.findall(text))


def iso_date(text: str, date: str) -> bool:
    """State the day ``date`` in the form YYYY-MM-DD."""
    return _occurrences(text, date) > 0


def lower_case(text: str) -> bool:
    """Hold letters, none of them a capital."""
    return text.islower()


def starts_with(text: str, phrase: str) -> bool:
    """Begin with ``phrase``, to the letter."""
    return text.strip().startswith(phrase)


def ends_with(text: str, phrase: str) -> bool:
    """End with ``phrase``, to the letter."""
    return text.strip().endswith(phrase)


def title(text: str, n: int) -> bool:
    """Open with a line of at most ``n`` words and no full stop, then a blank line."""
    first, *rest = text.strip().splitlines() or [""]
    return len(_words(first)) <= n and not first.endswith(".") and bool(rest) and not rest[0].strip()


def acrostic(text: str, word: str) -> bool:
    """Have lines whose first letters spell ``word``."""
    return "".join(line[0] for line in _lines(text)).casefold() == word.casefold()


def json_keys(text: str, words: Sequence[str]) -> bool:
    """Be one JSON object, and nothing else, with exactly the keys ``words``."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and sorted(content) == sorted(words)


def csv_header(text: str, header: str) -> bool:
    """Have ``header`` as the first line."""
    return (text.strip().splitlines() or [""])[0].strip() == header


def csv_rows(text: str, n: int) -> bool:
    """Be a CSV table of ``n`` rows below the first, all as wide as it is."""
    try:
        rows = list(csv.reader(_lines(text)))
    except csv.Error:
        return False
    return len(rows) == n + 1 and len({len(row) for row in rows}) == 1


CHECKERS: dict[str, Callable[..., bool]] = {
    checker.__name__: checker
    for checker in (
        max_words,
        min_words,
        exact_words,
        max_line_words,
        max_sentences,
        exact_sentences,
        exact_lines,
        exact_paragraphs,
        bullets,
        numbered,
        alphabetical,
        includes,
        excludes,
        mentions,
        without,
        no_digits,
        number,
        iso_date,
        lower_case,
        starts_with,
        ends_with,
        title,
        acrostic,
        json_keys,
        csv_header,
        csv_rows,
    )
}
"""Every kind of check: its name in ``tasks.json`` and the function that decides it."""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


_VALID: dict[str, Callable[[object], bool]] = {
    "n": lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    "value": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "word": _is_text,
    "words": lambda value: isinstance(value, list) and value != [] and all(map(_is_text, value)),
    "marks": _is_text,
    "date": _is_text,
    "phrase": _is_text,
    "header": _is_text,
}
"""What a parameter of each name may be, in whichever checker it stands."""


def _words(text: str) -> list[str]:
    return [word for word in _MARKER.sub("", text).split() if any(map(str.isalnum, word))]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _sentences(text: str) -> list[str]:
    parts = _SENTENCE_END.split(_MARKER.sub("", text))
    return [part for part in parts if any(map(str.isalnum, part))]


def _occurrences(text: str, phrase: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(phrase.casefold())}(?!\w)", text.casefold()))


@dataclass(frozen=True, slots=True)
class Task:
    """A pool and the constraints its prompt states."""

    pool: Pool
    """The prompt and its candidate answers."""
    checks: tuple[Check, ...]
    """What a program can verify of an answer."""


def load_tasks() -> tuple[Task, ...]:
    """Read the bundled tasks, in the order of the file; a badly stated check is refused."""
    text = resources.files("bonwise.demo").joinpath("tasks.json").read_text(encoding="utf-8")
    return tuple(_task(entry) for entry in json.loads(text))


def label(task: Task, candidate: Candidate) -> float:
    """Return the oracle label of a candidate: the share of the task's checks that it passes."""
    return sum(check.passes(candidate.text) for check in task.checks) / len(task.checks)


def _task(entry: Mapping[str, Any]) -> Task:
    candidates = tuple(Candidate(f"c{place}", text) for place, text in enumerate(entry["answers"]))
    pool = Pool(entry["prompt_id"], entry["prompt"], candidates)
    return Task(pool, tuple(_check(check, pool.prompt_id) for check in entry["checks"]))


def _check(entry: Mapping[str, Any], prompt_id: str) -> Check:
    parameters = {name: value for name, value in entry.items() if name != "kind"}
    try:
        return Check(entry["kind"], parameters)
    except UsageError as error:
        raise InputError(f"task {prompt_id!r}: {error.message}", hint=error.hint) from error
