"""Where a figure starts to mean something: data, so that a user can hold another view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite

from bonwise.errors import UsageError

__all__ = ["Thresholds"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of the verdict.

    Examples
    --------
    >>> Thresholds().override({"within_r_useful": 0.5}).within_r_useful
    0.5
    """

    global_r: float = 0.40
    """From here the usual sanity check looks acceptable."""
    level_bias: float = 0.05
    """Up to here calibrated means may be off, in units of the label scale: of its declared width, or else of the
    range of the labels.
    """
    within_r_weak: float = 0.25
    """Below, within-prompt signal is weak (Landesberg 2026, section 5.6)."""
    within_r_useful: float = 0.40
    """From here best of 4 becomes useful (Table 6)."""
    recovery_useful: float = 0.50
    """Recovery that goes with `within_r_useful` (Table 6)."""

    def override(self, values: Mapping[str, float]) -> Thresholds:
        """Return thresholds with some replaced.

        Raises
        ------
        bonwise.errors.UsageError
            A name that is no threshold.
        """
        known = [f.name for f in fields(self)]
        for name in values:
            if name not in known:
                raise UsageError(f"no threshold named {name!r}", hint=f"choose of {', '.join(known)}")
            if not isfinite(values[name]):
                raise UsageError(f"threshold {name} must be finite, not {values[name]}", hint="such as 0.4")
        return replace(self, **values)
