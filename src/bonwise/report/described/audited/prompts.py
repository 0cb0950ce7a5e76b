"""The prompts where judges lost most: a table whose rows open to the candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.worst_prompts import CandidateSeen, PromptSeen, WorstPrompts
from bonwise.printable import printable
from bonwise.report.blocks import Block, Card, CardMark, Cards, Column, Part, Row, Said, Table
from bonwise.report.numbers import count, counted, number
from bonwise.report.wording import named

__all__ = ["worst_prompts"]

_LONGEST = 60
"""Letters of names in a row."""


def worst_prompts(
    found: WorstPrompts, *, several: bool, reference: str | None, more: str | None = None
) -> Iterator[Part]:
    """Yield the prompts; nothing where there are none.

    Parameters
    ----------
    found : WorstPrompts
    several : bool
        Whether rows of several judges stand together.
    reference : str or None
        What stands in for the oracle.
    more : str, optional
        Name of the file beside the page that holds a row for each prompt.
    """
    if not found.rows:
        return
    label = named("label", reference)
    whose = "pairs of a judge and a prompt" if several else "prompts"
    told = Said(
        "finding",
        f"{count(len(found.rows))} of {count(found.of)} {whose}, the greatest loss first: the {label} of the best "
        f"candidate minus the {label} of the pick, ties in expectation. Each opens to its candidates, with scores "
        f"and {label}s.",
    )
    rest = [] if more is None else [Said("note", "All prompts, one a row:", file=more)]
    columns = (
        Column("prompt", "name"),
        *((Column("judge", "words"),) if several else ()),
        Column("lost", sorted=True),
        Column("picked", "words"),
        Column("best", "words"),
        *(Column(title) for title in ("value of pick", "value of best", "tied at top", "margin")),
    )
    rows = [_row(one, label, several=several) for one in found.rows]
    finder = Table(columns, rows, "Search prompts, candidates and the judge's words", role="finder")
    yield Part("Where the judge lost most", [told, *rest, finder], "detail", anchor="prompts")


def _row(one: PromptSeen, label: str, *, several: bool) -> Row:
    judge = ((printable(one.judge, longest=_LONGEST), None),) if several else ()
    cells: Sequence[tuple[str, float | None]] = (
        (one.prompt_id, None),
        *judge,
        (number(one.gain_lost), one.gain_lost),
        (_names(one.pick, one.pick_more), None),
        (_names(one.best, one.best_more), None),
        (number(one.value_pick), one.value_pick),
        (number(one.value_best), one.value_best),
        (count(one.tied), one.tied),
        (number(one.margin), one.margin),
    )
    texts, values = zip(*cells, strict=True)
    return Row(texts, values=values, inside=list(_inside(one, label)))


def _names(shown: str, more: int) -> str:
    return f"{printable(shown, longest=_LONGEST)} and {count(more)} more" if more else shown


def _inside(one: PromptSeen, label: str) -> Iterator[Block | Cards]:
    if one.prompt is not None:
        yield Part("Prompt", list(_words(one.prompt, one.prompt_left_out)))
    yield Cards([_card(each, one, label) for each in one.candidates])
    if one.candidates_left_out:
        are = "is" if one.candidates_left_out == 1 else "are"
        yield Said("note", f"{counted(one.candidates_left_out, 'more candidate')} {are} not shown here.")
    if one.words_left_out:
        yield Said("note", "Texts of this prompt are left out to keep the page small.")


def _card(one: CandidateSeen, prompt: PromptSeen, label: str) -> Card:
    tied = f", one of {count(prompt.tied)} tied" if prompt.tied > 1 else ""
    marks = [
        *([CardMark("picked", f"picked{tied}")] if one.picked else []),
        *([CardMark("best", "best")] if one.best else []),
    ]
    blocks: list[Said | Part] = [] if one.text is None else list(_words(one.text, one.text_left_out))
    if one.raw is not None:
        blocks.append(Part("The judge's words", list(_words(one.raw, one.raw_left_out))))
    return Card(one.id, marks, (("score", number(one.score)), (label, number(one.label))), blocks=blocks)


def _words(text: str, left_out: int) -> Iterator[Said]:
    yield Said("quoted", text)
    if left_out:
        are = "is" if left_out == 1 else "are"
        yield Said("note", f"{counted(left_out, 'more character')} {are} not shown here.")
