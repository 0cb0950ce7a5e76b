"""The best of several: what it is worth after it was chosen, and who is not shown to be worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.auditing.figures import differences_figure
from bonwise.auditing.result import CHOSEN_BY, ChoiceRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.numbers import Ends, count, counted, estimate, interval, named, unit_of_difference, with_interval

__all__ = ["best_of", "differences_from_best", "has_intervals", "held_together"]

_MOST_NAMES = 5
_AT_A_GLANCE = 15


def best_of(choices: Mapping[str, ChoiceRecord] | None, those: str, reference: str | None = None) -> Iterator[Said]:
    """Yield who is the best by recovery, or by gain without it, and by gain where that is someone else.

    Parameters
    ----------
    choices : mapping of str to ChoiceRecord or None
        By metric.
    those : str
        What was compared, as a noun: "judges".
    reference : str, optional
        What stands in for the oracle.
    """
    found = [(metric, choices[metric]) for metric in CHOSEN_BY if choices is not None and metric in choices]
    for at, (metric, one) in enumerate(found):
        if at == 0 or not {*one.best} & {*found[0][1].best}:
            yield Said("finding", named(_chosen(one, metric, those), reference))
            if len(one.simultaneous) > 2 and any(apart.interval for apart in one.differences.values()):
                yield Said("finding", _not_worse(one))


def _chosen(one: ChoiceRecord, metric: str, those: str) -> str:
    unit = unit_of(metric)
    names = " and ".join(printable(name, longest=60) for name in one.best[:_MOST_NAMES])
    many = count(len(one.simultaneous))
    who = f"Best of {many} {those} by {metric}: {names}"
    if len(one.best) > 1:
        who += f" ({count(len(one.best))} have the same estimate)"
    if one.after is None:
        why = f": {printable(one.reason, longest=200)}" if one.reason else ""
        figure = with_interval(Ends(one.estimate, *one.before), unit) if one.before else estimate(_alone(one), unit)
        return f"{who}, {figure} before the choice; no interval holds after it{why}."
    after = Ends(one.estimate, *one.after)
    before = "" if one.before is None else f" ({interval(Ends(one.estimate, *one.before), unit)} before it)"
    return f"{who}, {with_interval(after, unit)} after the choice{before}."


def _alone(one: ChoiceRecord) -> Ends:
    return Ends(one.estimate, None, None)


def _not_worse(one: ChoiceRecord) -> str:
    """Say which of the others are not shown to be worse than the best."""
    others = one.differences
    alike = [name for name, found in others.items() if found.interval is None or found.interval[0] <= 0]
    if not alike:
        return f"Each of the {count(len(others))} others is shown to be worse, all differences taken together."
    names = ", ".join(printable(name, longest=40) for name in alike[:_MOST_NAMES])
    more = ", ..." if len(alike) > _MOST_NAMES else ""
    verb = "is" if len(alike) == 1 else "are"
    return f"{count(len(alike))} of the {count(len(others))} others {verb} not shown to be worse: {names}{more}."


def has_intervals(choices: Mapping[str, ChoiceRecord] | None, metric: str) -> bool:
    """Tell whether there are intervals of a metric that hold together."""
    return choices is not None and metric in choices and any(choices[metric].simultaneous.values())


def held_together(choices: Mapping[str, ChoiceRecord] | None, metric: str, name: str) -> str:
    """Write the interval of one that holds together with those of all others; a dash where there is none."""
    one = None if choices is None else choices.get(metric)
    ends = None if one is None else one.simultaneous.get(name)
    return interval(None if ends is None else Ends(sum(ends) / 2, *ends), unit_of(metric))


def differences_from_best(choices: Mapping[str, ChoiceRecord] | None) -> Iterator[Part]:
    """Yield the differences between the best and each of several others, with intervals that hold together."""
    for metric, one in (choices or {}).items():
        if len(one.differences) < 2 or not has_intervals(choices, metric) or metric != CHOSEN_BY[0]:
            continue
        unit = unit_of_difference(unit_of(metric))
        rows = []
        for name, found in one.differences.items():
            ends = Ends(found.estimate, *(found.interval or (None, None)))
            rows.append(Row((printable(name), estimate(ends, unit, sign=True), interval(ends, unit, sign=True))))
        best = printable(one.best[0], longest=60)
        columns = (Column("judge", "name"), Column(f"{metric} below the best"), Column("simultaneous interval"))
        told = Said(
            "finding",
            f"{best} minus each other judge, on the prompts that both scored completely. The intervals hold "
            "together, although the best was chosen for its estimate.",
        )
        table = Table(columns, rows, at_a_glance=_AT_A_GLANCE)
        folded = Part("", [table], "detail", folded=f"A table of the {counted(len(rows), 'difference')}")
        blocks: list[Block] = [told, *differences_figure(metric, one, best), folded]
        yield Part("Differences from the best", blocks, "detail", anchor="differences-from-best")
