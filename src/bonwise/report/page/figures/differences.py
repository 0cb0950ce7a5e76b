"""Score differences within prompts, of the judge and of the oracle, ties standing out (Figure 2 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes

from bonwise.report.metric_table import named
from bonwise.report.page.canvas import COLOURS, drawn
from bonwise.report.page.figures.percent import Percent
from bonwise.report.page.section import Figure

__all__ = ["difference_figures"]

_Document = Mapping[str, Any]


def difference_figures(differences: _Document | None, key: str, *, reference: str | None = None) -> list[Figure]:
    """Draw the histograms of differences between two candidates of one prompt.

    Each pair that is not tied counts with both signs, so a drawing is symmetric; the bars and the ties add up to
    all pairs.

    Parameters
    ----------
    differences : mapping or None
        ``judge`` and ``oracle``, each with ``edges``, ``counts``, ``ties``, ``pairs`` and ``largest``, or None.
    key : str
        Of the drawings.
    reference : str, optional
        What stands in for the oracle.

    Returns
    -------
    list of Figure
        The judge's and the oracle's, on one range; what is missing is left out.
    """
    sides = {role: (differences or {}).get(role) for role in ("judge", "oracle")}
    there = {role: found for role, found in sides.items() if found is not None and found["pairs"]}
    reach = max((abs(edge) for found in there.values() for edge in found["edges"]), default=0.0) or 1.0
    return [_figure(role, found, reach, f"{key}-{role}", reference) for role, found in there.items()]


def _figure(role: str, found: _Document, reach: float, key: str, reference: str | None) -> Figure:
    word = named(role, reference)
    edges, pairs, ties = found["edges"], found["pairs"], found["ties"]
    # Both signs of a pair are counted, and a tie has both of them at 0.
    shares = [count / (2 * pairs) for count in found["counts"]]
    tied = ties / pairs
    # The bars hold no ties, so the ties stand on top of the bar around 0, not in front of it.
    base = _share_around_zero(edges, shares)

    def paint(axes: Axes) -> None:
        wide = [after - before for before, after in pairwise(edges)]
        axes.bar(edges[:-1], shares, wide, align="edge", color=COLOURS[role], linewidth=0)
        axes.bar([0], [tied], max(wide), bottom=[base], color=COLOURS["bad"], linewidth=0, label="ties")
        axes.annotate(
            f"{100 * tied:.1f}% ties",
            (0, base + tied),
            (0, 3),
            textcoords="offset points",
            color=COLOURS["bad"],
            fontweight="bold",
            ha="center",
            va="bottom",
        )
        axes.set_xlim(-reach, reach)
        axes.set_ylim(0, max([base + tied, *shares]) * 1.18)
        axes.yaxis.set_major_formatter(Percent())
        axes.grid(visible=True, axis="y")
        axes.locator_params(axis="both", nbins=6)
        axes.set_xlabel(
            named("difference of two scores" if role == "judge" else "difference of two labels", reference)
        )
        axes.set_ylabel("share of pairs")

    says = f"Of {pairs:,} pairs of candidates of one prompt the {word} ties {ties:,}, {100 * tied:.1f}%"
    if ties < pairs:
        says += f"; the others, each counted with both signs, lie within {found['largest']:.4g} of 0"
    if 0 < ties < pairs:
        says += ". The ties stand on top of the bar around 0, not in it" if base else ". The bar at 0 is ties alone"
    return Figure(drawn(paint, key=key), f"Differences within prompts: {word}", f"{says}.")


def _share_around_zero(edges: Sequence[float], shares: Sequence[float]) -> float:
    return sum(share for share, (low, high) in zip(shares, pairwise(edges), strict=True) if low < 0 < high)
