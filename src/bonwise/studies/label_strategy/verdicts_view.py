"""Pairwise verdicts alone: one order against both, judges side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from bonwise.estimates import EstimateRecord
from bonwise.printable import printable
from bonwise.report.answers import StatedVerdict, agreement_answer, agreement_words, outcome_of
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.figures.forest import MOST, Forest, Row, forest_figure
from bonwise.report.limits import LABELS, OTHER_CANDIDATES, OTHER_PROMPTS
from bonwise.report.numbers import Unit, count, counted, estimate, interval, number, percent, with_any_interval
from bonwise.studies.description import DescribedStudy
from bonwise.studies.label_strategy.result import VerdictsJudge, VerdictsStudy

LIMITS = (
    "How another prompt for the judge does: each way of asking was tried with the words that were used.",
    OTHER_PROMPTS,
    OTHER_CANDIDATES,
    LABELS,
)

_FIRST_ORDER: Literal["first_order"] = "first_order"
_SECOND_ORDER: Literal["second_order"] = "second_order"

_MOST = 3
"""Judges up to which each one's findings are said in sentences, not in the table alone."""

_LONGEST = 60

_READING = (
    "agreement: ties count one half. decided: accuracy where both orders together decide, which a verdict "
    "beside a tie does. first: position effect. flips: verdicts that change with the order."
)
_ORDERS_HOW = (
    "Agreement counts ties one half, so that of both orders is the mean of the two where no order ties. What two "
    "orders buy is to know which verdicts to trust: those that both together decide, as a verdict beside a tie does."
)


_OTHER_ORDER = "Ask in the other order too: one order alone does not show what the order does."


def verdicts(document: VerdictsStudy) -> DescribedStudy:
    """Describe verdicts alone: what holds of the judges together, and a table of them."""
    settings = document.settings
    judges = counted(len(document.judges), "judge")
    how = f"{judges}; in brackets {percent(settings.confidence)} intervals, clustered by prompt"
    against = f"Pairwise verdicts of {printable(settings.source)} against {printable(settings.oracle)}"
    return DescribedStudy(
        title=against,
        heading="Pairwise verdicts: one order against both",
        anchor="label-strategy-verdicts",
        limits=LIMITS,
        notes=[Said("note", how)],
        together=list(_together(document)),
        facts=[
            ("verdicts", settings.source),
            ("judges", count(len(document.judges))),
            ("columns", ", ".join(settings.verdict_columns)),
            ("against", settings.oracle),
            ("intervals", f"{percent(settings.confidence)}, clustered by prompt"),
            ("bonwise", settings.version),
        ],
        answers={name: _answer(judge) for name, judge in document.judges.items()},
        question="Can the verdicts be trusted, and what does the order do?",
        then=list(_then(document)),
    )


def _then(document: VerdictsStudy) -> Iterator[Said]:
    """Yield which verdicts to trust: those that both orders decide, where these are shown to be right."""
    if len(document.settings.verdict_columns) == 1:
        yield Said("finding", _OTHER_ORDER)
        return
    decided = {name: judge.best_known.accuracy_decided for name, judge in document.judges.items()}
    for outcome, says in _DECIDED.items():
        own = [(name, right) for name, right in decided.items() if outcome_of(right, 0.5) == outcome][:_MOST]
        each = [f"{printable(name, longest=_LONGEST)} {with_any_interval(right, 'share')}" for name, right in own]
        if own:
            yield Said("finding", f"{says} Right: {', '.join(each)}.")


_DECIDED = {
    "above": "Ask in both orders, and trust the verdicts that both orders together decide.",
    "below": "Do not trust the verdicts, also not those that both orders together decide: most of these are wrong.",
    "open": "Do not trust the verdicts yet: not even those that both orders together decide are shown to be right.",
}
"""What to do, by whether the verdicts that both orders decide are right more often than a coin."""


def _answer(judge: VerdictsJudge) -> StatedVerdict:
    """Return whether verdicts agree with the oracle's, and of those that do whether the order moves them."""
    order, agreement = judge.order, judge.best_known.agreement
    agreed = agreement_answer(agreement)
    if order is None:
        return agreed
    worth, flips = order.first_shown_advantage, order.flips
    flipped = f"{with_any_interval(flips, 'share')} of the verdicts change with the order"
    effect = f"being shown first is worth {_number(worth)}, and {flipped}"
    if agreed.state != "good":
        return replace(agreed, says=f"{agreed.says.rstrip('.')}; {effect}.")
    figure = f"{effect}; {agreement_words(agreement)}"
    if outcome_of(worth) == "open":
        return StatedVerdict(
            "no position effect shown", "open", f"No side is shown to gain by its place: {figure}.", worth
        )
    return StatedVerdict("the order matters", "bad", f"Verdicts depend on the order: {figure}.", worth)


def _number(worth: EstimateRecord) -> str:
    if worth.estimate is None:
        return "undefined"
    return with_any_interval(worth, sign=True)


def _together(document: VerdictsStudy) -> Iterator[Block]:
    judges = document.judges
    two = any(judge.order is not None for judge in judges.values())
    yield from _left_out(judges)
    yield Said("finding", _range(judges))
    yield from (Said("caveat", printable(sentence, longest=1000)) for sentence in document.sentences)
    for name, judge in judges.items() if len(judges) <= _MOST else ():
        said = [Said("finding", printable(sentence, longest=1000)) for sentence in judge.sentences]
        yield Part(printable(name, longest=_LONGEST), said)
    inside: list[Block] = [*_figures(judges), _table(judges, two=two)]
    if two:
        inside += [Said("note", _READING), Part("", [*_ends(judges), Said("note", _ORDERS_HOW)], "detail")]
    # Sentences of single judges stand under headings, what follows is of all again.
    yield Part("Judges side by side" if len(judges) > 1 else "", inside, anchor="label-strategy-judges")


def _left_out(judges: Mapping[str, VerdictsJudge]) -> Iterator[Said]:
    reasons: Counter[str] = Counter()
    for judge in judges.values():
        reasons.update(judge.data.dropped)
    if reasons.total():
        rows = counted(reasons.total(), "row")
        yield Said("caveat", f"{rows} left out: no verdict in every order, or no label")


def _range(judges: Mapping[str, VerdictsJudge]) -> str:
    found = [judge.best_known.agreement.estimate for judge in judges.values()]
    known = [one for one in found if one is not None]
    who = counted(len(judges), "judge")
    if not known:
        return f"{who}, and no pair that the labels decide."
    low, high = number(min(known), "share"), number(max(known), "share")
    verb, reach = "agrees" if len(judges) == 1 else "agree", low if low == high else f"{low} to {high}"
    return f"{who} {verb} with the labels in {reach} of the pairs that these decide, ties counting one half."


def _figures(judges: Mapping[str, VerdictsJudge]) -> Iterator[Drawing[Forest]]:
    """Yield drawings of all judges in the order of their agreement, as many to each as fit."""
    found = [(name, judge.best_known.agreement) for name, judge in judges.items()]
    found.sort(key=lambda one: -(one[1].estimate or 0.0))
    rows: list[Row] = [(name, one.estimate, one.low, one.high) for name, one in found]
    drawings = -(-len(rows) // MOST)
    step = -(-len(rows) // drawings)
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        yield from forest_figure(
            some,
            f"label-strategy-judges-{at}",
            "Agreement by judge",
            f"Agreement of judges {at + 1} to {at + len(some)} of {len(rows)}; the line is a coin's.",
            0.5,
            across="agreement, ties counting one half",
            beside=rows,
            unit="share",
        )


def _table(judges: Mapping[str, VerdictsJudge], *, two: bool) -> Table:
    titles = [title for title, _, _ in _columns(next(iter(judges.values())))] if judges else []
    spare = {"first order": 2, "second order": 3}
    columns = (
        Column("judge", "name"),
        Column("pairs", spare=1),
        *(Column(title, spare=spare.get(title, 0)) for title in titles),
        Column("[agreement]"),
    )
    rows = [
        (
            printable(name, longest=40),
            count(judge.data.pairs),
            *(estimate(found, unit, sign=unit == "number") for _, found, unit in _columns(judge)),
            interval(judge.best_known.agreement, "share"),
        )
        for name, judge in judges.items()
    ]
    title = "Each order, both together, and what the order did" if two else "Agreement with the labels"
    return Table.of(columns, rows, title)


def _ends(judges: Mapping[str, VerdictsJudge]) -> Iterator[Table]:
    """Yield the interval of every figure of the table above, for which a terminal has no room."""
    titles = [title for title, _, _ in _columns(next(iter(judges.values())))] if judges else []
    columns = (Column("judge", "name"), *(Column(title) for title in titles))
    rows = [
        (name, *(interval(found, unit, sign=unit == "number") for _, found, unit in _columns(judge)))
        for name, judge in judges.items()
    ]
    yield Table.of(columns, rows, "The interval of each figure")


def _columns(judge: VerdictsJudge) -> Sequence[tuple[str, EstimateRecord, Unit]]:
    """Return the figures of a judge under their headings; what being shown first is worth is a mean of verdicts."""
    ways = judge.ways
    if judge.order is None:
        return [("first order", ways[_FIRST_ORDER].agreement, "share")]
    both = judge.best_known
    return [
        ("first order", ways[_FIRST_ORDER].agreement, "share"),
        ("second order", ways[_SECOND_ORDER].agreement, "share"),
        ("both", both.agreement, "share"),
        ("ties", both.tie_rate, "share"),
        ("decided", both.accuracy_decided, "share"),
        ("first", judge.order.first_shown_advantage, "number"),
        ("flips", judge.order.flips, "share"),
    ]
