"""Pairwise verdicts compared with an oracle's: one row per judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from bonwise.printable import file_name, printable
from bonwise.report.answers import StatedVerdict, agreement_answer, of_judges, steps, verdict
from bonwise.report.blocks import Column, Drawing, Part, Said, Table
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.report.limits import LABELS, OTHER_PROMPTS, limits
from bonwise.report.numbers import count, count_range, counted, estimate, interval, listed_counts, percent
from bonwise.table.facts import JoinedLabels
from bonwise.votes import preferences_result, view

_LIMITS = (
    "How well a judge picks the best of several: agreement on pairs is another figure than recovery.",
    OTHER_PROMPTS,
    LABELS,
)

_LONGEST = 32
"""Characters of a judge's name in a table."""

_BETWEEN = (
    "cov between: the share of Cov(J, O) that lies between contexts, which says nothing about the choice within one. "
    "oracle between: the same share of the oracle's variance. Neither counts the chance scatter of contexts with few "
    "pairs, so a share may be negative."
)


def describe(document: preferences_result.PreferenceAudit) -> Part:
    """Describe how far each judge agrees with the oracle."""
    settings = document.settings
    several = len(settings.verdicts) > 1
    orders = "both presentation orders averaged" if several else "one presentation order"
    confidence = percent(settings.confidence)
    return Part(
        f"Pairwise verdicts of {file_name(settings.source)}, against {_reference(document)}",
        [
            Table.facts(
                [
                    ("scores", settings.source),
                    ("judges", count(len(document.judges))),
                    ("intervals", f"{confidence}, clustered by prompt"),
                    ("bonwise", settings.version),
                ]
            ),
            Said("note", f"{counted(document.data.contexts, 'context')}; {orders}; intervals at {confidence}"),
            *_left_out(document.judges.values(), joined=document.labels is not None),
            *_labels(document.labels),
            *view.vote_readings(settings.readings),
            verdict(answer(document)),
            *_drawn(document),
            _table(document, several=several),
            *_in_both_orders(document.judges.values()),
            *([Said("note", "orders: how often both presentation orders agree.")] if several else []),
            Said("note", _BETWEEN),
            *_single(document.judges.values()),
            limits(_LIMITS),
        ],
    )


def answer(document: preferences_result.PreferenceAudit) -> StatedVerdict:
    """Return whether verdicts are shown to agree with the oracle's more than a coin."""
    stated = {
        name: agreement_answer(judge.metrics.agreement, judge.metrics.phi) for name, judge in document.judges.items()
    }
    good = [printable(name, longest=_LONGEST) for name, judged in stated.items() if judged.state == "good"]
    why = "Do not decide by these verdicts yet: label more pairs, or ask another way."
    if good:
        alone = "" if len(good) == len(stated) else f"Of these judges decide by {', '.join(good)} alone. "
        why = (
            f"{alone}Whether a judge picks the best of several, scores and labels of whole pools show: bonwise audit."
        )
    whole = of_judges(stated, "Do the verdicts agree with the oracle's?", steps(why))
    assert whole is not None  # noqa: S101 - a document has a judge
    return whole


def _reference(document: preferences_result.PreferenceAudit) -> str:
    labels, column = document.labels, printable(document.settings.oracle)
    return column if labels is None else f"{column} of {file_name(labels.source)}"


def _table(document: preferences_result.PreferenceAudit, *, several: bool) -> Table:
    columns = (
        Column("judge", "name"),
        Column("prompts"),
        Column("pairs", spare=7),
        Column("agreement"),
        Column("interval"),
        *([Column("orders")] if several else []),
        Column("ties", spare=8),
        Column("phi", spare=6),
        Column("phi within", spare=5),
        Column("cov between", spare=4),
        Column("its interval", spare=2),
        Column("oracle between", spare=3),
        Column("its interval", spare=1),
    )
    return Table.of(columns, [_row(name, judge) for name, judge in document.judges.items()])


def _drawn(document: preferences_result.PreferenceAudit) -> list[Drawing[Forest]]:
    found = {name: judge.metrics.agreement for name, judge in document.judges.items()}
    return forest_figure(
        [(printable(name, longest=_LONGEST), one.estimate, one.low, one.high) for name, one in found.items()],
        "preferences-agreement",
        "Agreement",
        "Share of the oracle's verdicts that the judge shares, a tie counting half; the line is a coin's agreement.",
        0.5,
        across="agreement",
        unit="share",
    )


def _row(name: str, judge: preferences_result.JudgePreferences) -> list[str]:
    data, metrics = judge.data, judge.metrics
    return [
        printable(name, longest=_LONGEST),
        count(data.prompts),
        count(data.pairs),
        estimate(metrics.agreement, "share"),
        interval(metrics.agreement, "share"),
        *([] if metrics.order_agreement is None else [estimate(metrics.order_agreement, "share")]),
        estimate(metrics.judge_tie_rate, "share"),
        estimate(metrics.phi),
        estimate(metrics.phi_within),
        estimate(metrics.covariance_between_share, "share"),
        interval(metrics.covariance_between_share, "share"),
        estimate(metrics.oracle_between_share, "share"),
        interval(metrics.oracle_between_share, "share"),
    ]


def _labels(found: JoinedLabels | None) -> Iterator[Said]:
    """Yield what became of the labels of a second file."""
    if found is None:
        return
    yield Said(
        "caveat" if found.turned else "note",
        f"labels: {counted(found.votes, 'vote')} of {printable(found.source)} on "
        f"{counted(found.pairs, 'judged pair')}; {count(found.turned)} have the sides in the other order and are "
        "turned round. The first side of a pair is the alphabetically first one.",
    )
    if found.several:
        yield Said(
            "note",
            f"{counted(found.several, 'pair')} with two votes or more: {count(found.unanimous)} unanimous; of the "
            "others the majority counts.",
        )
    if found.no_majority:
        yield Said(
            "caveat", f"{counted(found.no_majority, 'pair')} with as many votes for either side: the label is a tie."
        )
    if found.left_out:
        yield Said("caveat", f"votes left out: {listed_counts(found.left_out.items())}")


def _left_out(judges: Iterable[preferences_result.JudgePreferences], *, joined: bool) -> Iterator[Said]:
    dropped: Counter[str] = Counter()
    for judge in judges:
        dropped.update(judge.data.dropped)
    if dropped and joined:
        yield Said("caveat", f"verdicts left out: {listed_counts(dropped.items())}")
    elif dropped:
        whole = sum(dropped.values())
        yield Said("caveat", f"{counted(whole, 'row')} left out: no verdict in every order, or no label")


def _in_both_orders(judges: Iterable[preferences_result.JudgePreferences]) -> Iterator[Said]:
    pairs = sum(judge.data.pairs_in_both_orders or 0 for judge in judges)
    if pairs:
        yield Said(
            "caveat",
            f"{counted(pairs, 'pair')} judged in both orders, a row each: averaged, so verdicts that contradict each "
            "other count as a tie.",
        )


def _single(judges: Iterable[preferences_result.JudgePreferences]) -> Iterator[Said]:
    counts = [judge.data.contexts_of_one_pair or 0 for judge in judges]
    if max(counts):
        yield Said(
            "note",
            f"Contexts with a single pair, per judge: {count_range(counts)}. They count in the totals; the part "
            "within is taken from the other contexts.",
        )
