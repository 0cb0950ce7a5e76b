"""What to type once a plan is made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bonwise.data.reading_options import ReadingOptions
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
    design, raters, reading = found.design, found.settings.raters or 1, _reading(found)
    if design == "two_label":
        # A draw of pairs counts candidates, each once, however many rate it.
        what = f"--design pair --labels {math.ceil(found.labels / raters):d}"
        yield from _drawn(what, " --fail-under gain=0", reading)
    elif design == "complete":
        gate = _GATES.get(found.question)
        if gate is None:
            gate = f" --fail-under within_r={found.effect['r0']:g}"
        yield from _drawn(f"--design uniform --labels {found.prompts:d}", gate, reading)
    yield from _watched(found, reading)


def _reading(found: Plan) -> str:
    """Return the flags with which the pilot was read; the table of the study is taken for one of the same kind."""
    if found.settings.verdict_col or found.settings.pair_col:
        return ""
    columns, exclude = found.settings.columns or {}, tuple(found.settings.exclude or ())
    kept = {role: name for role, name in columns.items() if role != "oracle_label"}  # the sheet has its own
    return "".join(f" {flag}" for flag in ReadingOptions(columns=kept, exclude=exclude).as_flags())


def _drawn(what: str, gate: str, reading: str) -> Iterator[str]:
    yield f"bonwise labels draw scores.csv {what} --out todo.csv --sheet labels.csv{reading}"
    yield f"bonwise audit scores.csv --labels labels.csv --design todo.csv{gate}{reading}"


def _watched(found: Plan, reading: str) -> Iterator[str]:
    settings, early, effect = found.settings, found.sequential, found.effect
    labelled = f"labels.csv --scores scores.csv{' --design todo.csv' if found.design == 'complete' else ''}"
    start = "bonwise monitor"
    at = "" if settings.confidence == _USUAL else f" --confidence {settings.confidence:g}"
    if found.question == "recovery":
        width = effect["half_width"]
        yield f"{start} {labelled} --half-width {width:g} --planned {found.prompts:d}{at}{reading}"
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
        yield f"{start} {labelled} --significance --planned {found.prompts:d}{at}{reading}"
