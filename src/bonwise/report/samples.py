"""Prompts on a page with the answers to them: rows that open to what was asked and the candidates side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from bonwise.printable import printable
from bonwise.report.blocks import Card, CardMark, Cards, Column, Part, Row, Said, Table
from bonwise.report.numbers import counted, number

if TYPE_CHECKING:
    from bonwise.table.words import PromptWords

LONGEST_NAME, LONGEST_TEXT = 300, 4_000
"""Characters of a prompt's or candidate's name, and of a text, that a page shows."""

MOST = 8
"""Prompts of a sample."""

_EXCERPT = 140
"""Letters of a prompt in its row."""


def part(title: str, sentence: str, columns: Sequence[str], rows: Sequence[Row]) -> Iterator[Part]:
    """Yield a table of prompts whose rows open; nothing where there are none."""
    if rows:
        heads = (Column("prompt", "name"), *map(Column, columns))
        finder = Table(heads, rows, "Search prompts and candidates", role="finder")
        yield Part(title, [Said("finding", sentence), finder], "detail", anchor="prompts")


def sample(
    prompt_id: str,
    figures: Sequence[float | None],
    words: Mapping[str, PromptWords],
    picks: Mapping[str, Collection[str]],
    labels: Mapping[str, float],
    texts: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Row]:
    """Yield a prompt that opens to a candidate of each pick and the best one, if a text of theirs is in `words`.

    Picks are the candidates that are tied, by the word that marks them; `texts` are of a log, and by candidate.
    """
    spoken = words.get(prompt_id)
    prompt = None if spoken is None else spoken.prompt
    texts = texts if spoken is None else {**texts, **spoken.texts}
    marks: dict[str, list[CardMark]] = {}
    for word, tied in picks.items():
        # Of tied candidates one that the other did not pick shows the difference.
        others = {name for other, names in picks.items() if other != word for name in names}
        for name in sorted(tied, key=others.__contains__)[:1]:
            marks.setdefault(name, []).append(CardMark("picked", word))
    best = [name for name, label in labels.items() if label == max(labels.values())]
    for name in sorted(best, key=lambda name: name not in marks)[:1]:
        marks.setdefault(name, []).append(CardMark("best", "best"))
    if marks.keys() & texts.keys():
        cards = [
            Card(
                printable(name, longest=LONGEST_NAME),
                own,
                [("label", str(number(labels[name])))] if name in labels else [],
                blocks=_cut(texts[name]) if name in texts else [],
            )
            for name, own in marks.items()
        ]
        asked = [] if prompt is None else [Part("Prompt", _cut(prompt))]
        # As plain text a figure survives `pickle`.
        shown = (printable(prompt_id, longest=LONGEST_NAME), *(str(number(figure)) for figure in figures))
        yield Row(shown, values=(None, *figures), inside=[*asked, Cards(cards)], excerpt=excerpt(prompt))


def _cut(text: str) -> list[Said]:
    return quoted(text[:LONGEST_TEXT], max(0, len(text) - LONGEST_TEXT))


def excerpt(prompt: str | None) -> str:
    """Return how a prompt begins, on one line."""
    return "" if prompt is None else printable(" ".join(prompt[:_EXCERPT].split()), longest=_EXCERPT)


def quoted(text: str, left_out: int | None) -> list[Said]:
    """Return a text, and how many characters of it were cut; all of them where it is empty."""
    shown = [Said("quoted", text)] if text or not left_out else []
    if left_out:
        are = "is" if left_out == 1 else "are"
        shown.append(Said("note", f"{counted(left_out, 'more character')} {are} not shown here."))
    return shown
