"""What a judge found about the candidates of one prompt, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Preference, Verdict

__all__ = ["Judgment"]


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdicts of one judge on one pool."""

    verdicts: tuple[Verdict, ...]
    """One a candidate, in candidate order."""
    preferences: tuple[Preference, ...] = ()
    """Of a judge that compares pairs; both presentation orders are kept."""
    bill: Bill = field(default_factory=Bill)
    """Calls, tokens and cost; all zero for a judge that asks no model."""
    effective: tuple[Mapping[str, Any], ...] = ()
    """The sampling parameters as they were really sent, each set of them once, in order of first appearance: there
    are several where a server refused a parameter, which is then absent, or where questions differ.
    """
