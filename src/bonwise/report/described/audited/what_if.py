"""What would change the verdict: a slider each for the gate, the share sent on and the number of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from bonwise.documents.audited.verdict import Level
from bonwise.documents.exhibits import ExhibitsDocument
from bonwise.documents.what_if import GateStep, GateSteps, LabelsNeeded, LabelStep, LabelSteps, ShareSteps, WhatIf
from bonwise.printable import printable
from bonwise.report.blocks import Block, Part, Said, Step, Stepped
from bonwise.report.numbers import (
    NOTHING,
    Ends,
    count,
    counted,
    estimate,
    interval,
    interval_title,
    number,
    percent,
    setting,
)
from bonwise.report.wording import named

__all__ = ["what_would_change"]

_STATES: Mapping[Level, Literal["good", "bad", "open"]] = {
    "useful": "good",
    "weak": "bad",
    "harmful": "bad",
    "random": "bad",
    "inconclusive": "open",
}

_BOUNDS = "one-sided 95% bounds"

_LONGEST = 700
"""Characters of a sentence."""

_COMPUTED = "Every outcome was computed with the audit, by the rules of its verdict and its gates."


def what_would_change(exhibits: ExhibitsDocument | None, reference: str | None) -> Iterator[Part]:
    """Yield the section with the sliders; nothing where the exhibits hold none.

    Parameters
    ----------
    exhibits : ExhibitsDocument or None
    reference : str or None
        What stands in for the oracle.
    """
    found = None if exhibits is None else exhibits.what_if
    if exhibits is None or found is None:
        return
    blocks: list[Block] = []
    if len(exhibits.judges) > 1:
        whose = printable(found.judge, longest=60)
        blocks.append(Said("finding", f"This is about {whose}, the judge with the largest recovery."))
    blocks.append(Said("note", _COMPUTED))
    inside = [_gate(found, found.gate, reference)]
    if found.share is not None:
        inside.append(_share(found, found.share, reference))
    if found.labels is not None:
        inside.append(_labels(found, found.labels))
    yield Part("What would change the verdict", [*blocks, *inside], "detail", anchor="what-if")


def _gate(found: WhatIf, gate: GateSteps, reference: str | None) -> Part:
    steps = [
        Step(
            setting(one.gate, "share"),
            one.level,
            _STATES[one.level],
            [one.state, *_figures(one.recovery, one.low, one.high, one.lower, one.upper)],
            f"{_short(one.sentence)} Gate {_short(named(_outcome(one), reference))}",
        )
        for one in gate.steps
    ]
    slider = Stepped(
        "gate-slider",
        "Gate on recovery",
        "gate",
        "verdict",
        ("--fail-under", *_titles(found)),
        steps,
        gate.current,
        "this audit",
    )
    return Part("The gate", [Said("note", _at_the_gate(gate)), slider], anchor="what-if-gate")


def _short(sentence: str) -> str:
    """Shorten what holds a name of any length, as it is said at every step."""
    return printable(sentence, longest=_LONGEST)


def _outcome(one: GateStep) -> str:
    """Say the outcome of a gate, without the reason that the verdict has said already."""
    what, of, reason = one.gate_sentence.partition(": inconclusive: ")
    return (
        f"{what}: inconclusive, for the same reason." if of and _begins(reason) in one.sentence else one.gate_sentence
    )


def _begins(reason: str) -> str:
    return reason.split(". ", maxsplit=1)[0].removesuffix(".")


def _at_the_gate(gate: GateSteps) -> str:
    """Say where the verdict turns, and which figure decides what."""
    one = gate.steps[gate.current]
    ends, bounds = Ends(one.recovery, one.low, one.high), Ends(one.recovery, one.lower, one.upper)
    return (
        f"Recovery is {estimate(ends, 'share')} whatever the gate is. The verdict compares the gate with the "
        f"two-sided interval {interval(ends, 'share')}, and --fail-under with the one-sided 95% bounds "
        f"{interval(bounds, 'share')}."
    )


def _share(found: WhatIf, share: ShareSteps, reference: str | None) -> Part:
    steps = [
        Step(
            percent(one.share),
            one.level,
            _STATES[one.level],
            _figures(one.recovery, one.low, one.high, one.lower, one.upper),
            _short(one.sentence),
        )
        for one in share.steps
    ]
    slider = Stepped(
        "share-slider",
        "Share of the prompts sent to a stronger judge",
        "share sent",
        "verdict",
        _titles(found),
        steps,
        share.current,
        "without routing",
    )
    stronger = "is taken never to err" if reference is None else "always picks as the reference does"
    told = (
        f"The stronger judge {stronger}. The prompts are chosen by the signal {share.signal}, as in the part on "
        "routing."
    )
    own, first = found.gate.steps[0].recovery, share.steps[0].recovery
    if own is not None and first is not None and abs(own - first) > 1e-9:
        told = f"{told} Routing rests on the first score of each candidate, so recovery begins at another figure."
    return Part("The share sent to a stronger judge", [Said("note", told), slider], anchor="what-if-share")


def _labels(found: WhatIf, labels: LabelSteps) -> Part:
    with_chance = any(one.chance is not None for one in labels.steps)
    steps = [
        Step(
            count(one.prompts),
            one.level,
            _STATES[one.level],
            [
                count(one.labels),
                *_figures(one.recovery, one.low, one.high, one.lower, one.upper),
                _half_width(one),
                *([_chance(one.chance)] if with_chance else []),
            ],
            _short(one.sentence),
        )
        for one in labels.steps
    ]
    titles = ("labels", *_titles(found), "half-width", *(["chance to settle"] if with_chance else []))
    slider = Stepped(
        "labels-slider",
        "Labelled prompts",
        "prompts",
        "verdict",
        titles,
        steps,
        labels.current,
        "this audit",
    )
    notes = [Said("note", f"{_PROJECTION} {_GROW}" if labels.sampled else _PROJECTION), *_needed(labels.needed)]
    return Part("The number of labels", [*notes, slider], anchor="what-if-labels")


_PROJECTION = (
    "A projection: it assumes that recovery stays as it is and that the prompts to come are like the labelled ones."
)

_GROW = "Prompts without labels are taken to grow in number as the labelled do."


def _needed(needed: LabelsNeeded | None) -> Iterator[Said]:
    if needed is None:
        return
    least, most = _prompts(needed.low), _prompts(needed.high)
    between = {
        (True, True): f" (95% interval {least} to {most})",
        (True, False): f" (95% interval from {least}, with no upper end)",
    }.get((needed.low is not None, needed.high is not None), "")
    yield Said(
        "finding",
        f"If this recovery is the true one, {counted(_up(needed.prompts), 'labelled prompt')}{between} settle the "
        f"verdict with a chance of {percent(needed.power)}.",
    )


def _up(value: float) -> int:
    return -int(-value // 1)


def _prompts(value: float | None) -> str:
    return NOTHING if value is None else count(_up(value))


def _titles(found: WhatIf) -> Sequence[str]:
    return "recovery", interval_title(found.confidence), _BOUNDS


def _figures(
    recovery: float | None, low: float | None, high: float | None, lower: float | None, upper: float | None
) -> Sequence[str]:
    two_sided = Ends(recovery, low, high)
    return (
        estimate(two_sided, "share"),
        interval(two_sided, "share"),
        interval(Ends(recovery, lower, upper), "share"),
    )


def _half_width(one: LabelStep) -> str:
    if one.low is None or one.high is None:
        return NOTHING
    return number((one.high - one.low) / 2, "points", like=Ends(None, one.low, one.high))


def _chance(value: float | None) -> str:
    """Write a chance in whole percent, never as certain."""
    if value is None:
        return NOTHING
    return "over 99%" if value > 0.99 else "under 1%" if value < 0.01 else percent(round(value, 2))
