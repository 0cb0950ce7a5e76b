"""An estimate with its interval, the count behind it, and the rule that made it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bonwise.stats.laws import Law

if TYPE_CHECKING:
    from bonwise.stats.no_gain import DealtLabels

__all__ = ["NOT_DISTINGUISHABLE", "Estimate", "under_method"]

NOT_DISTINGUISHABLE = "denominator not distinguishable from 0"


@dataclass(frozen=True)
class Estimate:
    """One metric of an audit."""

    estimate: float | None
    """None where the metric is undefined on the data; `reason` says why."""
    low: float | None
    """Two-sided interval at the audit's confidence, clustered by prompt."""
    high: float | None
    """Two-sided interval at the audit's confidence, clustered by prompt."""
    se: float | None
    """Standard error, same units as the estimate."""
    n: int
    """Prompts that contribute."""
    interval: str | None
    """``jackknife``, ``fieller``, ``clopper-pearson``, ``bootstrap``, ``exact``, ``logit`` or ``bins``."""
    method: str = "complete"
    """``complete``, ``labelled_only``, ``aipw``, ``weighted`` or ``cells``."""
    reason: str | None = None
    """Why there is no estimate, or no interval."""
    ess: float | None = None
    """Effective sample size of a weighted estimate."""
    labelled_only: Estimate | None = None
    """The estimate from labelled prompts alone, beside a weighted one."""
    law: Law | None = field(default=None, repr=False, compare=False)
    """What is known of the estimate, for an interval at any confidence; see `bounds`."""
    no_gain: DealtLabels | None = field(default=None, repr=False, compare=False)
    """Of gain and recovery: the tests that there is none."""

    def bounds(self, confidence: float) -> tuple[float, float] | None:
        """Return the two-sided interval at another confidence, None where there is none."""
        return self.law.at(confidence) if self.law is not None else None

    def with_method(self, method: str) -> Estimate:
        """Return the same estimate under another method name."""
        return replace(self, method=method)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the JSON schema; optional ones only where they say something."""
        keys = ("estimate", "low", "high", "se", "n", "interval", "method")
        out: dict[str, Any] = {key: getattr(self, key) for key in keys}
        for key in ("reason", "ess"):
            if getattr(self, key) is not None:
                out[key] = getattr(self, key)
        if self.labelled_only is not None:
            out["labelled_only"] = self.labelled_only.to_dict()
        return out

    @classmethod
    def undefined(cls, reason: str, n: int) -> Estimate:
        """Return a metric that does not exist on these data."""
        return cls(None, None, None, None, n, None, reason=reason)

    @classmethod
    def under(cls, law: Law, confidence: float, *, estimate: float, se: float, n: int) -> Estimate:
        """Return an estimate with the interval its law gives, or the reason why it gives none."""
        se_or_none = se if math.isfinite(se) else None
        ends = law.at(confidence)
        if ends is None:
            return cls(estimate, None, None, se_or_none, n, None, reason=_NO_INTERVAL[law.kind])
        return cls(estimate, *ends, se_or_none, n, law.kind, law=law)


def under_method(found: Mapping[str, Estimate], method: str) -> dict[str, Estimate]:
    """Return the same estimates under another method name."""
    return {name: one.with_method(method) for name, one in found.items()}


_NO_INTERVAL = {
    "bootstrap": "no interval: undefined in some of the resamples",
    "exact": "no interval: all prompts are alike and the metric has no finite range",
}
