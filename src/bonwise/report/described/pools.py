"""Pools with what was picked from them: a table whose rows open to words, candidates and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.pick import DecidedBy, PickRecord, RoutedRecord
from bonwise.documents.selections import CandidateWords, ShownPick
from bonwise.printable import printable
from bonwise.report.amounts import money, score
from bonwise.report.blocks import Block, Card, CardMark, Cards, Column, Part, Row, Said, Table
from bonwise.report.numbers import NOTHING, count, counted, setting

__all__ = ["FIGURES", "LONGEST_NAME", "MEANINGS", "MOST_COMPARISONS", "by_rank", "figures", "pools", "story"]

LONGEST_NAME = 300
"""Characters of a prompt's or candidate's name that a page shows."""

MOST_COMPARISONS = 100
"""Comparisons of one pool that are shown."""

FIGURES = ("score", "se", "P(best)", "draws", "low", "high")
"""What is known of a candidate."""

MEANINGS: dict[DecidedBy, str] = {
    "score": "one candidate had the highest score",
    "comparison": "equal scores were compared, or all candidates were",
    "tie-break": "the seed decided between equals",
    "only candidate": "there was no other",
    "same text": "all candidates are one and the same text",
    "nothing scored": "no judge gave any candidate a score",
    "owed": "an answer has not arrived; the same command asks for it",
    "deadline": "the best that was known when the time was up",
    "partial": "the best of those that could be judged",
    "first": "no judgment: the first candidate was kept",
    "random": "no judgment: a random candidate was kept",
}

_COLUMNS = (
    Column("prompt", "name"),
    Column("picked", "words"),
    Column("decided by", "words"),
    *map(Column, ("score", "tied at top", "not scored", "calls", "tokens", "cost")),
)


def pools(shown: Sequence[ShownPick], of: int) -> Part:
    """Return the pools that a document holds, each to be opened."""
    which = f"{counted(of, 'pool')}."
    if len(shown) < of:
        part = f"The first {count(len(shown))} of {count(of)} pools are shown"
        which = f"{part}; the others are in the output of the command."
    how = "Each opens to its prompt, its candidates and why one of them was kept."
    title = "Search prompts, candidates and reasons"
    finder = Table(_COLUMNS, [_row(one) for one in shown], title, "finder")
    return Part("Pools", [Said("finding", f"{which} {how}"), finder], "detail", anchor="prompts")


def by_rank(pick: PickRecord) -> list[int]:
    """Return the positions of the candidates, the best first, and those without a rank last."""
    place = {name: rank for rank, name in enumerate(pick.ranking)}
    return sorted(range(len(pick.ids)), key=lambda at: (place.get(pick.ids[at], len(place)), at))


def figures(pick: PickRecord, at: int) -> Iterator[tuple[str, str]]:
    """Yield what is known of a candidate: name and figure."""
    known: tuple[Sequence[float | None], ...] = (
        *(pick.scores, pick.standard_errors, pick.p_best, pick.draws),
        *(pick.low, pick.high),
    )
    for name, values in zip(FIGURES, known, strict=True):
        value = values[at] if values else None
        if value is not None:
            yield name, score(value)


def story(pick: PickRecord) -> Iterator[Said]:
    """Yield what else is to be said of a pick than who it is and what decided."""
    if pick.level:
        yield Said("finding", f"The seed decided among {count(len(pick.level))} candidates.")
    if pick.failure:
        yield Said("caveat", f"What went wrong: {_cut(pick.failure)}.")
    if pick.routed is not None:
        yield Said("finding", _routed(pick.routed))
    if pick.expected_regret is not None:
        yield Said("finding", f"Expected loss against the best candidate: {score(pick.expected_regret)}.")
    if pick.p_best_reason:
        yield Said("caveat", f"P(best) and the expected loss are not stated: {printable(pick.p_best_reason)}.")


def _spent(pick: PickRecord) -> Said:
    """Return what a pick took."""
    asked = f"{counted(pick.calls, 'call')} sent, {counted(pick.answers, 'answer')} used"
    return Said("finding", f"{asked}, {count(pick.from_ledger)} of them from the ledger; {setting(pick.latency)} s.")


def _routed(routed: RoutedRecord) -> str:
    signal = "" if routed.signal is None else f", signal {score(routed.signal)}"
    who = "Not sent to a stronger judge" if routed.strong is None else f"Decided by {_cut(routed.strong)}"
    first = f"; the first pass alone would have kept {_cut(routed.first_pick)}" if routed.first_pick else ""
    return f"{who} ({routed.reason}{signal}){first}."


def _row(one: ShownPick) -> Row:
    pick = one.pick
    best = None if pick.index is None else pick.scores[pick.index]
    tokens = pick.input_tokens + pick.output_tokens
    return Row(
        (
            _cut(pick.prompt_id or "the pool"),
            "no pick" if pick.best is None else _cut(pick.best),
            pick.decided_by,
            score(best),
            count(len(pick.tied)) if pick.tied else NOTHING,
            count(len(pick.unscored)),
            count(pick.calls),
            count(tokens),
            "unknown" if pick.cost is None else money(pick.cost),
        ),
        values=(None, None, None, best, len(pick.tied), len(pick.unscored), pick.calls, tokens, pick.cost),
        inside=list(_inside(one)),
    )


def _inside(one: ShownPick) -> Iterator[Block | Cards]:
    pick = one.pick
    yield Said("finding", f"Decided by {pick.decided_by}: {MEANINGS[pick.decided_by]}.")
    if pick.stopped:
        yield Said("finding", f"Asking stopped: {pick.stopped}.")
    yield from story(pick)
    yield _spent(pick)
    if one.prompt is not None:
        yield Part("Prompt", list(_words(one.prompt, one.prompt_left_out)))
    yield Cards([_candidate(pick, one.candidates[at], at) for at in by_rank(pick)], "Candidates")
    if pick.comparisons:
        yield from _comparisons(pick)


def _candidate(pick: PickRecord, words: CandidateWords, at: int) -> Card:
    picked = words.id == pick.best
    tied = f", one of {count(len(pick.tied))} tied" if len(pick.tied) > 1 and words.id in pick.tied else ""
    reason = pick.unscored.get(words.id)
    said = pick.raw[at] if pick.raw else None
    return Card(
        _cut(words.id),
        marks=[CardMark("picked", f"picked{tied}")] if picked else [],
        facts=list(figures(pick, at)),
        note="" if reason is None else f"not scored: {_cut(reason)}",
        blocks=[
            *([] if words.text is None else _words(words.text, words.text_left_out)),
            *([Part("The judge said", [Said("quoted", said)])] if said else []),
        ],
    )


def _words(text: str, left_out: int | None) -> Iterator[Said]:
    if text or not left_out:
        yield Said("quoted", text)
    if left_out:
        yield Said("note", f"{count(left_out)} more characters are not shown here.")


def _comparisons(pick: PickRecord) -> Iterator[Block]:
    columns = (
        Column("first", "words"),
        Column("second", "words"),
        Column("the first earned"),
        Column("order effect"),
    )
    rows = [
        (
            _cut(pair.a),
            _cut(pair.b),
            "no verdict" if pair.value is None else score(pair.value),
            score(pair.order_effect, sign=True),
        )
        for pair in pick.comparisons[:MOST_COMPARISONS]
    ]
    yield Table.of(columns, rows, "Comparisons")
    more = len(pick.comparisons) - MOST_COMPARISONS
    if more > 0:
        yield Said("note", f"{count(more)} more comparisons are in the output of the command.")


def _cut(name: str) -> str:
    return printable(name, longest=LONGEST_NAME)
