"""Score differences within prompts, of the judge and of the oracle, ties standing out (Figure 2 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from bonwise.report.amounts import brief
from bonwise.report.blocks import Drawing, Value
from bonwise.report.figures.colours import COLOURS
from bonwise.report.figures.hover import tell_bar
from bonwise.report.numbers import count, number
from bonwise.report.wording import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DifferenceBars", "Histogram", "Sides", "difference_figures"]


class Histogram(Protocol):
    """Differences of two values of one prompt, each pair that is not tied counted with both signs."""

    @property
    def edges(self) -> Sequence[float]:
        """Of the bins."""

    @property
    def counts(self) -> Sequence[int]:
        """Of the bins, without ties."""

    @property
    def ties(self) -> int:
        """Pairs, each once."""

    @property
    def pairs(self) -> int:
        """All pairs, each once."""

    @property
    def largest(self) -> float:
        """Of the differences, 0 where all pairs tie."""


class Sides(Protocol):
    """What the judge says of the pairs, and what the oracle says; None without a prompt."""

    @property
    def judge(self) -> Histogram | None:
        """Differences of scores."""

    @property
    def oracle(self) -> Histogram | None:
        """Differences of labels."""


@dataclass(frozen=True, slots=True)
class DifferenceBars:
    """Shares of the pairs by their difference."""

    role: str
    """``judge`` or ``oracle``: who says so, and the colour."""
    edges: Sequence[float]
    """Of the bars, without ties."""
    shares: Sequence[float]
    """Of the bars, without ties."""
    tied: float
    """Share of the pairs that tie."""
    reach: float
    """Ends of the axes, which drawings that stand side by side share."""
    top: float
    """Ends of the axes, which drawings that stand side by side share."""
    across: str
    """What the axes hold."""
    up: str = "share of pairs"
    """What the axes hold."""

    def rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield a row per bar; the last is that of the ties."""
        for share, (low, high) in zip(self.shares, pairwise(self.edges), strict=True):
            yield {"from": low, "to": high, "share": share, "ties": False}
        yield {"from": 0.0, "to": 0.0, "share": self.tied, "ties": True}

    @property
    def base(self) -> float:
        """Where the ties begin: they stand on top of the bar around 0, which holds none, not in front of it."""
        return _around_zero(self.shares, self.edges)


def difference_figures(
    differences: Sides | None, key: str, *, reference: str | None = None
) -> list[Drawing[DifferenceBars]]:
    """Draw the histograms of differences between two candidates of one prompt.

    Each pair that is not tied counts with both signs, so a drawing is symmetric; the bars and the ties add up to
    all pairs.

    Parameters
    ----------
    differences : Sides or None
    key : str
        Of the drawings.
    reference : str, optional
        What stands in for the oracle.

    Returns
    -------
    list of Drawing
        The judge's and the oracle's, on the same axes; what is missing is left out.
    """
    if differences is None:
        return []
    sides = {"judge": differences.judge, "oracle": differences.oracle}
    there = {role: found for role, found in sides.items() if found is not None and found.pairs}
    reach = max((abs(edge) for found in there.values() for edge in found.edges), default=0.0) or 1.0
    ends = reach, max((_highest(found) for found in there.values()), default=0.0)
    return [_figure(role, found, ends, f"{key}-{role}", reference) for role, found in there.items()]


def _shares(found: Histogram) -> list[float]:
    # Both signs of a pair are counted, and a tie has both of them at 0.
    return [times / (2 * found.pairs) for times in found.counts]


def _around_zero(shares: Sequence[float], edges: Sequence[float]) -> float:
    return sum(share for share, (low, high) in zip(shares, pairwise(edges), strict=True) if low < 0 < high)


def _highest(found: Histogram) -> float:
    shares = _shares(found)
    return max([_around_zero(shares, found.edges) + found.ties / found.pairs, *shares])


def _figure(
    role: str, found: Histogram, ends: tuple[float, float], key: str, reference: str | None
) -> Drawing[DifferenceBars]:
    word, what = named(role, reference), "score" if role == "judge" else "label"
    data = DifferenceBars(
        role=role,
        edges=found.edges,
        shares=_shares(found),
        tied=found.ties / found.pairs,
        reach=ends[0],
        top=ends[1],
        across=named(f"difference of two {what}s", reference),
    )
    says = (
        f"Of {count(found.pairs)} pairs of candidates of one prompt the {word} ties {count(found.ties)}, "
        f"{number(data.tied, 'share')}"
    )
    if found.ties < found.pairs:
        says += f"; the others, each counted with both signs, lie within {brief(found.largest)} of 0"
    if 0 < found.ties < found.pairs:
        on_top = data.base > 0
        says += ". The ties stand on top of the bar around 0, not in it" if on_top else ". The bar at 0 is ties alone"
    return Drawing(_paint, data, key, f"Differences within prompts: {word}", f"{says}.")


def _paint(axes: Axes, data: DifferenceBars) -> None:
    from bonwise.report.figures.percent import Percent  # noqa: PLC0415 - drawing loads matplotlib

    wide = [after - before for before, after in pairwise(data.edges)]
    axes.bar(data.edges[:-1], data.shares, wide, align="edge", color=COLOURS[data.role], linewidth=0)
    axes.bar([0], [data.tied], max(wide), bottom=[data.base], color=COLOURS["bad"], linewidth=0, label="ties")
    for share, (low, high) in zip(data.shares, pairwise(data.edges), strict=True):
        tell_bar((low, 0), (high, share), f"from {brief(low)} to {brief(high)}: {number(share, 'share')} of pairs")
    half = max(wide) / 2
    ties = f"ties: {number(data.tied, 'share')} of pairs"
    tell_bar((-half, data.base), (half, data.base + data.tied), ties)
    axes.annotate(
        f"{number(data.tied, 'share')} ties",
        (0, data.base + data.tied),
        (0, 3),
        textcoords="offset points",
        color=COLOURS["bad"],
        fontweight="bold",
        ha="center",
        va="bottom",
    )
    axes.set_xlim(-data.reach, data.reach)
    axes.set_ylim(0, data.top * 1.18)
    axes.yaxis.set_major_formatter(Percent())
    axes.grid(visible=True, axis="y")
    axes.locator_params(axis="both", nbins=6)
    axes.set_xlabel(data.across)
    axes.set_ylabel(data.up)
