"""Several judges by recovery, with the gate, and how far the best one is above each other."""

from __future__ import annotations

from collections.abc import Mapping

from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.choice import ChoiceRecord
from bonwise.documents.metrics import unit_of
from bonwise.report.blocks import Drawing
from bonwise.report.figures.forest import MOST, Forest, Row, forest_figure
from bonwise.report.numbers import count, setting, unit_of_difference, with_interval
from bonwise.report.wording import named

__all__ = ["differences_figure", "judges_figures"]

_METRIC = "recovery"

_DRAWINGS = 2
"""Drawings that show judges by recovery: more judges than these hold stand in the table alone."""

_ROLES = {"useful": "good", "weak": "bad", "harmful": "bad", "random": "bad"}
"""Colours of verdicts; one that is not settled has the judge's."""


def judges_figures(
    judges: Mapping[str, JudgeFound], gate: float, reference: str | None = None
) -> list[Drawing[Forest]]:
    """Draw the recovery of judges in their order, with random picks and the gate.

    Parameters
    ----------
    judges : mapping of str to JudgeFound
        In the order to be read.
    gate : float
        Of recovery.
    reference : str, optional
        What stands in for the oracle.

    Returns
    -------
    list of Drawing
        One of 30 judges each, with one axis for all; empty where no judge has a figure.
    """
    unit, word = unit_of(_METRIC), named(_METRIC, reference)
    known: list[tuple[Row, str, str]] = []
    for name, judge in judges.items():
        found = judge.metrics.get(_METRIC)
        if found is not None and found.estimate is not None:
            level = judge.verdict.level
            said = f"{level}, {with_interval(found, unit)}"
            known.append(((name, found.estimate, found.low, found.high), _ROLES.get(level, "judge"), said))
    shown = known[: _DRAWINGS * MOST]
    says = (
        f"{word[0].upper()}{word[1:]} with its interval. The upright line is 0, what random picks recover; the "
        f"dashed one is the gate of {setting(gate, unit)}."
    )
    if len(shown) < len(judges):
        says += f" {count(len(shown))} of {count(len(judges))} judges are drawn."
    every = [row for row, _, _ in shown]
    drawings: list[Drawing[Forest]] = []
    for at, start in enumerate(range(0, len(shown), MOST), start=1):
        rows, roles, words = zip(*shown[start : start + MOST], strict=True)
        drawings += forest_figure(
            rows,
            "recovery-of-judges" if at == 1 else "recovery-of-further-judges",
            f"Judges by {word}" if at == 1 else f"Judges by {word}, continued",
            says,
            across=word,
            roles=roles,
            said=words,
            beside=every,
            unit=unit,
            gate=gate,
        )
    return drawings


def differences_figure(metric: str, choice: ChoiceRecord, best: str) -> list[Drawing[Forest]]:
    """Draw the best less each other, the nearest first, with intervals that hold together.

    Parameters
    ----------
    metric : str
    choice : ChoiceRecord
    best : str
        The best one, as it is written.

    Returns
    -------
    list of Drawing
        At most one; empty where no difference has a figure.
    """
    unit = unit_of_difference(unit_of(metric))
    rows: list[Row] = []
    for name, found in choice.differences.items():
        low, high = found.interval or (None, None)
        rows.append((name, found.estimate, low, high))
    rows.sort(key=lambda row: (row[1] is None, row[1] or 0.0))
    return forest_figure(
        rows,
        f"from-best-{metric.replace('_', '-')}",
        f"{metric} below the best",
        f"{best} minus each other judge, the nearest first. An interval right of 0 shows a worse judge.",
        across=f"{metric} below the best",
        unit=unit,
        sign=True,
    )
