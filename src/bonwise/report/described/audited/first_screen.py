"""What the page of an audit shows first: the figure that decides on a line, and what would change the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.audited.settings import AuditSettings
from bonwise.documents.audited.verdict import DECIDES
from bonwise.documents.exhibits import ExhibitsDocument, JudgeExhibits
from bonwise.documents.metrics import unit_of
from bonwise.printable import printable
from bonwise.report.blocks import Bar, BarMark, BarRow, Part, Said
from bonwise.report.described.audited.judges import by_recovery
from bonwise.report.numbers import (
    Bounded,
    Ends,
    Unit,
    against,
    count,
    counted,
    estimate,
    interval,
    number,
    setting,
    unit_of_difference,
)
from bonwise.report.wording import named

__all__ = ["bar_of_best", "next_part", "recovery_bar", "what_would_change", "what_would_change_several"]

_LONGEST = 60
"""Letters of a name beside the bar."""


def recovery_bar(judge: JudgeFound, settings: AuditSettings) -> list[Bar]:
    """Return the figure that decides with its interval, between nothing, the gate and the best; nothing without it.

    An easy candidate that is suspected, or a control, shows the figure with it and without it.

    Parameters
    ----------
    judge : JudgeFound
    settings : AuditSettings
    """
    name = DECIDES[settings.target]
    rows = [_bar_row(title, found, unit_of(name)) for title, found in _figures(judge, name, settings)]
    return [_bar(rows, settings)] if rows else []


def bar_of_best(document: AuditDocument) -> Iterator[Bar]:
    """Yield the recovery of the best of several judges, with the interval that holds after it was chosen.

    Parameters
    ----------
    document : AuditDocument
    """
    settings, metric = document.settings, DECIDES[document.settings.target]
    choice = (document.choice or {}).get(metric)
    if choice is not None:
        name, after = choice.best[0], choice.after
        found: Bounded = Ends(choice.estimate, *(after or (None, None)))
        after_choice = "" if after is None else ", after the choice"
    else:
        name, judge = next(iter(by_recovery(document.judges).items()))
        if metric not in judge.metrics or judge.metrics[metric].estimate is None:
            return
        found, after_choice = judge.metrics[metric], ""
    title = f"Best {named(metric, settings.reference)}: {printable(name, longest=_LONGEST)}"
    yield _bar([_bar_row(title, found, unit_of(metric), after_choice)], settings)


def what_would_change(judge: JudgeFound, settings: AuditSettings, shown: JudgeExhibits | None) -> Iterator[Said]:
    """Yield how far the verdict is from another one; nothing where no figure says it.

    Parameters
    ----------
    judge : JudgeFound
    settings : AuditSettings
    shown : JudgeExhibits or None
        Says how many more labels would decide.
    """
    name, gate = settings.deciding
    unit, found = unit_of(name), judge.metrics.get(name)
    if judge.verdict.level == "random":
        yield Said("finding", "Only scores that differ within prompts would change this.")
    elif judge.suspicions:
        yield from _once_settled(judge, name, gate, unit)
    elif found is not None and found.low is not None and found.high is not None:
        yield Said("finding", " ".join(_from_the_gate(found, gate, unit, shown)))


def what_would_change_several(document: AuditDocument, exhibits: ExhibitsDocument | None) -> Iterator[Said]:
    """Yield how many verdicts on several judges are not settled, and what would settle the nearest one.

    Parameters
    ----------
    document : AuditDocument
    exhibits : ExhibitsDocument or None
        Says how many more labels would decide.
    """
    name, gate = document.settings.deciding
    unsettled = [who for who, one in document.judges.items() if _spans(one.metrics.get(name), gate)]
    if not unsettled:
        return
    written = setting(gate, unit_of(name))
    many = f"{count(len(unsettled))} of {count(len(document.judges))} intervals"
    told = f"{many} {'spans' if len(unsettled) == 1 else 'span'} the gate of {written}."
    nearest = min(_to_be_useful(document, exhibits, unsettled), default=None)
    if nearest is not None:
        prompts, who = nearest
        told += (
            f" About {counted(prompts, 'more labelled prompt')} would show that "
            f"{printable(who, longest=_LONGEST)} is useful, if its estimate holds."
        )
    yield Said("finding", told)


def _to_be_useful(
    document: AuditDocument, exhibits: ExhibitsDocument | None, unsettled: Sequence[str]
) -> Iterator[tuple[int, str]]:
    """Yield how many more labelled prompts would decide for judges whose estimate is above the gate."""
    if exhibits is None:
        return
    metric, gate = document.settings.deciding
    for who in unsettled:
        found = document.judges[who].metrics.get(metric)
        shown = exhibits.judges.get(who)
        if shown is None or shown.to_decide is None or shown.to_decide.prompts is None:
            continue
        if found is not None and found.estimate is not None and found.estimate > gate:
            yield shown.to_decide.prompts, who


def next_part(then: Sequence[Said]) -> Iterator[Part]:
    """Yield what to type next, for the box of a verdict; nothing where there is nothing to type.

    Parameters
    ----------
    then : sequence of Said
        Sentences and commands, as a terminal prints them last; those that lead are left out.
    """
    steps = [one for one in then if one.role != "lead"]
    if steps:
        yield Part("Next", steps, "next", anchor="next")


def _figures(judge: JudgeFound, name: str, settings: AuditSettings) -> Iterator[tuple[str, Bounded]]:
    """Yield the figure that decides, and where an easy candidate is known the same without it or with it."""
    found, word = judge.metrics.get(name), named(name, settings.reference)
    for one in judge.suspicions or ():
        if one.kind == "easy candidate" and one.metric == name and one.candidate is not None:
            candidate = printable(one.candidate, longest=_LONGEST)
            both = (("with", one.with_candidate), ("without", one.without_candidate))
            yield from (
                (f"{word} {how} {candidate}", ends) for how, ends in both if ends is not None and _known(ends)
            )
            return
    if found is None or not _known(found):
        return
    alone = " of the labelled prompts" if found.method == "labelled_only" else ""
    yield f"{word}{alone}", found
    controlled = (judge.with_control or {}).get(name)
    if controlled is not None and _known(controlled):
        yield f"{word} with the control", controlled


def _known(found: Bounded) -> bool:
    return found.estimate is not None


def _bar_row(title: str, found: Bounded, unit: Unit, after: str = "") -> BarRow:
    assert found.estimate is not None  # noqa: S101 - the callers leave the others out
    ends = "no interval" if found.low is None else interval(found, unit)
    return BarRow(_upper(title), estimate(found, unit), f"{ends}{after}", found.estimate, found.low, found.high)


def _bar(rows: Sequence[BarRow], settings: AuditSettings) -> Bar:
    _, gate = settings.deciding
    if settings.target == "system":
        marks = (
            BarMark(0.0, "random", "none 0"),
            BarMark(gate, "gate", f"gate {setting(gate)}"),
            BarMark(1.0, "oracle", "perfect 1"),
        )
    else:
        marks = (
            BarMark(0.0, "random", "random 0%"),
            BarMark(gate, "gate", f"gate {setting(gate, 'share')}"),
            BarMark(1.0, "oracle", named("oracle 100%", settings.reference)),
        )
    figures = "; ".join(f"{one.title} {one.figure} {one.ends}" for one in rows)
    return Bar(rows, marks, f"{figures}. On one line with: {', '.join(mark.text for mark in marks)}.")


def _spans(found: Bounded | None, gate: float) -> bool:
    return found is not None and found.low is not None and found.high is not None and found.low <= gate <= found.high


def _once_settled(judge: JudgeFound, name: str, gate: float, unit: Unit) -> Iterator[Said]:
    """Yield on which side of the gate the figures are that a suspicion leaves open."""
    for one in judge.suspicions or ():
        if one.kind == "easy candidate" and one.with_candidate is not None and one.without_candidate is not None:
            sides = [_side(ends, gate) for ends in (one.with_candidate, one.without_candidate)]
            if all(sides):
                candidate = printable(one.candidate or "", longest=_LONGEST)
                yield Said(
                    "finding",
                    f"What changes this is your choice: with {candidate} the interval lies {sides[0]} the gate of "
                    f"{setting(gate, unit)}, without it {sides[1]}.",
                )
    if any(one.kind == "missing labels" for one in judge.suspicions or ()):
        found = judge.metrics.get(name)
        if found is not None and (side := _side(found, gate)):
            yield Said(
                "finding",
                f"The interval of the labelled prompts lies {side} the gate of {setting(gate, unit)}: it speaks for "
                "all prompts once you state how they were chosen.",
            )


def _side(found: Bounded, gate: float) -> str:
    if found.low is None or found.high is None:
        return ""
    return "above" if found.low > gate else "below" if found.high < gate else "on both sides of"


def _from_the_gate(found: Bounded, gate: float, unit: Unit, shown: JudgeExhibits | None) -> Iterator[str]:
    assert found.low is not None  # noqa: S101 - the caller asks
    assert found.high is not None  # noqa: S101
    written = setting(gate, unit)
    if found.low > gate:
        above = _apart(found.low - gate, unit, found)
        yield (
            f"The interval begins {above} above the gate of {written}: only a gate of "
            f"{against(found.low, gate, unit, like=found)} or more would change this."
        )
    elif found.high < gate:
        below = _apart(gate - found.high, unit, found)
        yield (
            f"The interval ends {below} below the gate of {written}: more labels like "
            "these are unlikely to change this."
        )
        if found.low > 0:
            yield f"This judge would pass a gate below {number(found.low, unit, like=found)}."
    else:
        yield f"The interval spans the gate of {written}."
        yield from _more_labels(shown)


def _more_labels(shown: JudgeExhibits | None) -> Iterator[str]:
    if shown is None or shown.to_decide is None:
        yield "More labels would make it narrower."
    elif shown.to_decide.prompts is None:
        yield "The estimate is too close to the gate to say how many more labels would decide."
    else:
        prompts, labels = shown.to_decide.prompts, shown.to_decide.labels
        of = "" if labels is None else f" ({counted(labels, 'candidate label')})"
        yield f"About {counted(prompts, 'more labelled prompt')}{of} would decide, if the estimate holds."


def _apart(distance: float, unit: Unit, like: Bounded) -> str:
    """Write how far an end is from the gate, with its decimals, or with more where it would be written as 0."""
    return against(distance, 0.0, unit_of_difference(unit), like=like)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
