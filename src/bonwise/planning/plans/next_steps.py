"""What to type once a plan is made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bonwise.printable import shell_word

if TYPE_CHECKING:
    from bonwise.planning.plans.plan import Plan

__all__ = ["commands"]

_USUAL = 0.95
"""Confidence of a monitor where none is given."""

_GATES = {"recovery>0": " --fail-under recovery=0", "recovery": ""}


def commands(found: Plan) -> Iterator[str]:
    """Yield the commands that draw, read and watch the labels of a plan; file names are to be put in.

    None where no number is enough, and where labels are chosen by what two judges disagree on.
    """
    if found.labels is None:
        return
    design, raters = found.design, found.settings.raters or 1
    if design == "two_label":
        # A draw of pairs counts candidates, each once, however many rate it.
        yield from _drawn(f"--design pair --labels {math.ceil(found.labels / raters):d}", " --fail-under gain=0")
    elif design == "complete":
        gate = _GATES.get(found.question)
        if gate is None:
            gate = f" --fail-under within_r={found.effect['r0']:g}"
        yield from _drawn(f"--design uniform --labels {found.prompts:d}", gate)
    yield from _watched(found)


def _drawn(what: str, gate: str) -> Iterator[str]:
    yield f"bonwise labels draw scores.csv {what} --out todo.csv --sheet labels.csv"
    yield f"bonwise audit scores.csv --labels labels.csv --design todo.csv{gate}"


def _watched(found: Plan) -> Iterator[str]:
    settings, early, effect = found.settings, found.sequential, found.effect
    start = "bonwise monitor"
    at = "" if settings.confidence == _USUAL else f" --confidence {settings.confidence:g}"
    if found.question == "recovery":
        width = effect["half_width"]
        yield f"{start} labels.csv --scores scores.csv --half-width {width:g} --planned {found.prompts:d}{at}"
    elif early is None or not early.saves:
        return
    elif "margin" in effect:
        verdict = shell_word(settings.verdict_col or "winner")
        pair = f" --pair-col {shell_word(','.join(settings.pair_col))}" if settings.pair_col else ""
        ties = settings.ties or ("drop" if settings.tie_rate else None)
        tied = f" --ties {ties}" if ties else ""
        margin = abs(effect["margin"])
        yield (
            f"{start} votes.csv --question preference --verdict-col {verdict}{pair}{tied} --margin {margin:.3g}{at}"
        )
    else:
        yield f"{start} labels.csv --scores scores.csv --significance --planned {found.prompts:d}{at}"
