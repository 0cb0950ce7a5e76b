"""Estimates as a document holds them, under the name of the method that they were made with."""

from __future__ import annotations

from collections.abc import Mapping

from bonwise.documents.estimate import EstimateRecord
from bonwise.stats.estimate import Estimate

__all__ = ["records_under"]


def records_under(method: str, found: Mapping[str, Estimate]) -> dict[str, EstimateRecord]:
    """Return the records of estimates by name, under another method name."""
    return {name: EstimateRecord.of(one.with_method(method)) for name, one in found.items()}
