"""What to type once a plan is made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from bonwise.printable import shell_word

__all__ = ["commands"]

_USUAL = 0.95
"""Confidence of a monitor where none is given."""

_GATES = {"recovery>0": " --fail-under recovery=0", "recovery": ""}


def commands(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the commands that draw, read and watch the labels of a plan; file names are to be put in.

    None where no number is enough, and where labels are chosen by what two judges disagree on.
    """
    if document["labels"] is None:
        return
    design, raters = document["design"], document["settings"].get("raters", 1)
    if design == "two_label":
        # A draw of pairs counts candidates, each once, however many rate it.
        yield from _drawn(
            f"--design pair --labels {math.ceil(document['labels'] / raters):d}", " --fail-under gain=0"
        )
    elif design == "complete":
        gate = _GATES.get(document["question"])
        if gate is None:
            gate = f" --fail-under within_r={document['effect']['r0']:g}"
        yield from _drawn(f"--design uniform --labels {document['prompts']:d}", gate)
    yield from _watched(document)


def _drawn(what: str, gate: str) -> Iterator[str]:
    yield f"bonwise labels draw scores.csv {what} --out todo.csv --sheet labels.csv"
    yield f"bonwise audit scores.csv --labels labels.csv --design todo.csv{gate}"


def _watched(document: Mapping[str, Any]) -> Iterator[str]:
    settings, found = document["settings"], document["sequential"]
    start = "bonwise monitor"
    at = "" if settings["confidence"] == _USUAL else f" --confidence {settings['confidence']:g}"
    if document["question"] == "recovery":
        width = document["effect"]["half_width"]
        yield f"{start} labels.csv --scores scores.csv --half-width {width:g} --planned {document['prompts']:d}{at}"
    elif found is None or not found["saves"]:
        return
    elif "margin" in document["effect"]:
        verdict = shell_word(settings.get("verdict_col", "winner"))
        pair = f" --pair-col {shell_word(','.join(settings['pair_col']))}" if "pair_col" in settings else ""
        ties = settings.get("ties") or ("drop" if settings["tie_rate"] else None)
        tied = f" --ties {ties}" if ties else ""
        margin = abs(document["effect"]["margin"])
        yield (
            f"{start} votes.csv --question preference --verdict-col {verdict}{pair}{tied} --margin {margin:.3g}{at}"
        )
    else:
        yield f"{start} labels.csv --scores scores.csv --significance --planned {document['prompts']:d}{at}"
