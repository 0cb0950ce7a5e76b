"""An estimate with its interval, as documents hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bonwise.results import Count, NonNegative, Number, Record

if TYPE_CHECKING:
    from bonwise.stats.estimand import Estimate


class EstimateRecord(Record):
    """One figure, its two-sided interval, and the number of prompts behind it."""

    estimate: Number | None
    """None where the figure is undefined on the data; `reason` says why."""
    low: Number | None
    high: Number | None
    """Both: ends of the interval, clustered by prompt."""
    se: NonNegative | None
    """Standard error, in the unit of the estimate."""
    n: Count
    """Prompts that contribute."""
    interval: str | None
    """How the interval was made."""
    method: str
    """``complete``, ``labelled_only``, ``aipw``, ``weighted`` or ``cells``."""
    reason: str | None = None
    """Why there is no estimate, or no interval."""
    ess: NonNegative | None = None
    """Effective sample size of a weighted estimate."""
    effective_n: NonNegative | None = None
    """Effective prompts that it rests on: fewer than 20 settle no gate and no verdict."""
    moved: str | None = None
    """Which end of the interval is where further picks would take the figure, and which picks these are."""
    labelled_only: EstimateRecord | None = None
    """The estimate from the labelled prompts alone, beside a weighted one."""

    @classmethod
    def of(cls, estimate: Estimate) -> EstimateRecord:
        """Return the record of an estimate; optional keys only where they say something."""
        worth = None if estimate.support is None else estimate.support.count
        values: dict[str, Any] = {
            key: worth if key == "effective_n" else getattr(estimate, key) for key in cls.model_fields
        }
        if estimate.labelled_only is not None:
            values["labelled_only"] = cls.of(estimate.labelled_only)
        always = {key for key, field in cls.model_fields.items() if field.is_required()}
        return cls(**{key: value for key, value in values.items() if value is not None or key in always})


def estimate_records(estimates: Mapping[str, Estimate]) -> dict[str, EstimateRecord]:
    """Return the records of estimates by name."""
    return {name: EstimateRecord.of(estimate) for name, estimate in estimates.items()}
