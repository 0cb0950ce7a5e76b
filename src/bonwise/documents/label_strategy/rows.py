"""Rows of the table of a study of ways of asking: an estimate, and where there is one its difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.documents.document import FrameRow
from bonwise.documents.estimate import EstimateRecord

__all__ = ["estimate_cells", "way_rows"]

Estimates = Mapping[str, EstimateRecord]


def way_rows(judge: str, part: str, way: str, metrics: Estimates, less: Estimates) -> Iterator[FrameRow]:
    """Yield a row per metric of a way of asking."""
    for metric, found in metrics.items():
        yield {"judge": judge, "part": part, "way": way, "metric": metric, **estimate_cells(found, less.get(metric))}


def estimate_cells(found: EstimateRecord, less: EstimateRecord | None = None) -> FrameRow:
    """Return the cells of an estimate and of its difference."""
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "difference": None if less is None else less.estimate,
        "difference_low": None if less is None else less.low,
        "difference_high": None if less is None else less.high,
    }
