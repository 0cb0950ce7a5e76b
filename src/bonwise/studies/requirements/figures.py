"""The quality that a wanted recovery takes, and where a judge stands beside the curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bonwise.report.blocks import Drawing, Value
from bonwise.report.figures.axes import COLOURS, tell
from bonwise.report.figures.names import short
from bonwise.report.numbers import Ends, number, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Needed", "NeededQuality", "Own", "Quality", "needed_quality_figure"]

_Ends = tuple[float | None, float | None, float | None]
"""Estimate, low end and high end; None where there is none."""

_LINES = (("within_r", "ink"), ("effective agreement", "other"))
"""Name and colour of each line."""


@dataclass(frozen=True, slots=True)
class Quality:
    """A point of the curve: what a judge of plain noise has that recovers so much."""

    recovery: float
    within_r: float
    agreement: float


@dataclass(frozen=True, slots=True)
class Needed:
    """What a wanted recovery takes."""

    target: float
    within_r: _Ends
    agreement: _Ends


@dataclass(frozen=True, slots=True)
class Own:
    """Where the judge stands."""

    name: str
    recovery: float
    within_r: float
    expected: float | None
    """Recovery of a judge of plain noise with the same within_r."""


@dataclass(frozen=True, slots=True)
class NeededQuality:
    """The curve, what wanted recoveries take, and the judge."""

    curve: Sequence[Quality]
    needs: Sequence[Needed]
    own: Own | None

    def rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield a row per point of the curve, per wanted recovery, and for the judge."""
        for point in self.curve:
            yield {
                "what": "curve",
                "recovery": point.recovery,
                "within_r": point.within_r,
                "effective_agreement": point.agreement,
            }
        for need in self.needs:
            yield {
                "what": "target",
                "recovery": need.target,
                "within_r": need.within_r[0],
                "effective_agreement": need.agreement[0],
            }
        if self.own is not None:
            yield {"what": self.own.name, "recovery": self.own.recovery, "within_r": self.own.within_r}


def needed_quality_figure(data: NeededQuality, key: str, title: str, says: str) -> list[Drawing[NeededQuality]]:
    """Draw the curve with intervals at the wanted recoveries, and a diamond where the judge stands.

    Parameters
    ----------
    data : NeededQuality
    key : str
        Of the drawing.
    title, says : str
        Of the figure.

    Returns
    -------
    list of Drawing
        Empty without a curve.
    """
    return [Drawing(_paint, data, key, title, says)] if data.curve else []


def _paint(axes: Axes, data: NeededQuality) -> None:
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 - drawing loads matplotlib

    recoveries = [one.recovery for one in data.curve]
    (within, first), (agreement, second) = _LINES
    axes.plot(recoveries, [one.within_r for one in data.curve], color=COLOURS[first], label=within)
    axes.plot(
        recoveries,
        [one.agreement for one in data.curve],
        color=COLOURS[second],
        linestyle=(0, (6, 2)),
        label=agreement,
    )
    for need in data.needs:
        _paint_need(axes, need.target, need.within_r, within, COLOURS[first])
        _paint_need(axes, need.target, need.agreement, agreement, COLOURS[second])
    left = lowest = 0.0
    if data.own is not None:
        _paint_own(axes, data.own)
        lowest, left = min(data.own.within_r - 0.05, 0.0), min(data.own.recovery - 0.05, 0.0)
    axes.set_xlim(left, 1.0)
    axes.set_ylim(lowest, 1.0)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("recovery")
    axes.set_ylabel("quality needed")
    axes.grid(visible=True)
    axes.legend(loc="lower right")


def _paint_need(axes: Axes, target: float, found: _Ends, name: str, colour: str) -> None:
    value, low, high = found
    if value is None:
        return
    axes.plot([target], [value], "o", color=colour, markersize=4)
    tell(target, value, f"{name} for recovery {number(target, 'share')}: {with_interval(Ends(*found))}")
    if low is not None and high is not None:
        axes.plot([target] * 2, [low, high], color=colour, linewidth=3, alpha=0.45)


def _paint_own(axes: Axes, own: Own) -> None:
    if own.expected is not None:
        axes.plot(
            [own.recovery, own.expected], [own.within_r] * 2, color=COLOURS["judge"], linestyle=":", linewidth=1.6
        )
    name = short(own.name)
    # A legend leaves out what starts with an underscore.
    label = f" {name}" if name.startswith("_") else name
    axes.plot([own.recovery], [own.within_r], "D", color=COLOURS["judge"], markersize=6, label=label)
    where = f"recovery {number(own.recovery, 'share')}, within_r {number(own.within_r)}"
    tell(own.recovery, own.within_r, f"{own.name}: {where}")
