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

_EXCERPT = 140
"""Letters of a prompt in its row."""

_KEYS = "Arrow keys move from row to row, Enter opens one, and its address ends in #prompt-1, #prompt-2 and so on."


def worst_prompts(
    found: WorstPrompts, *, several: bool, reference: str | None, more: str | None = None
) -> Iterator[Part]:
    """Yield the prompts whose pick lost something, and how many lost nothing; nothing where there are none.

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
    label = named("label", reference)
    whose = "pair of a judge and a prompt" if several else "prompt"
    if not found.rows:
        if said := list(_left_out(found, whose)):
            yield Part("Where the judge lost most", [Said("finding", " ".join(said))], "detail", anchor="prompts")
        return
    shown = "" if len(found.rows) == found.of else f", of which {count(len(found.rows))} are shown"
    found_out = [
        f"In {_plural(found.of, whose)} the pick lost something{shown}, the greatest loss first.",
        *_left_out(found, whose),
        f"The loss is the {label} of the best candidate minus the {label} of the pick, ties in expectation.",
    ]
    told = [
        Said("finding", " ".join(found_out)),
        Said("note", f"Each row opens to the pick beside the best candidate. {_KEYS}"),
    ]
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
    yield Part("Where the judge lost most", [*told, *rest, finder], "detail", anchor="prompts")


def _plural(many: int, noun: str) -> str:
    """Write a count with its noun, of which the first word has the plural."""
    first, *others = noun.split(" ", 1)
    return " ".join([counted(many, first), *others])


def _left_out(found: WorstPrompts, whose: str) -> Iterator[str]:
    """Yield in how many the pick lost nothing, and of how many no loss is known."""
    if found.without_loss:
        who = "it" if found.rows else "the pick"
        rows = "" if not found.rows else " These have no row."
        yield f"In {_plural(found.without_loss, whose)} {who} lost nothing.{rows}"
    if found.unknown_loss:
        yield f"In {_plural(found.unknown_loss, whose)} the loss is not known, because labels are missing."


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
    excerpt = "" if one.prompt is None else printable(" ".join(one.prompt[:_EXCERPT].split()), longest=_EXCERPT)
    return Row(texts, values=values, inside=list(_inside(one, label)), excerpt=excerpt)


def _names(shown: str, more: int) -> str:
    return f"{printable(shown, longest=_LONGEST)} and {count(more)} more" if more else shown


def _inside(one: PromptSeen, label: str) -> Iterator[Block | Cards]:
    if one.prompt is not None:
        yield Part("Prompt", list(_words(one.prompt, one.prompt_left_out)))
    cards = [(each, _card(each, one, label)) for each in one.candidates]
    beside = _beside(one.candidates)
    pair = sorted((one for one in cards if one[0] in beside), key=lambda card: not card[0].picked)
    others = [card for each, card in cards if each not in beside]
    yield Cards([card for _, card in pair])
    if others:
        yield Cards(others, folded=f"{counted(len(others), 'other candidate')}")
    if one.candidates_left_out:
        are = "is" if one.candidates_left_out == 1 else "are"
        yield Said("note", f"{counted(one.candidates_left_out, 'more candidate')} {are} not shown here.")
    if one.words_left_out:
        yield Said("note", "Texts of this prompt are left out to keep the page small.")


def _beside(candidates: Sequence[CandidateSeen]) -> Sequence[CandidateSeen]:
    """Return what stands side by side: the pick, of tied ones the first that is not best, and the best one."""
    picked = [one for one in candidates if one.picked and not one.best][:1]
    return [*picked, *[one for one in candidates if one.best][:1]]


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
