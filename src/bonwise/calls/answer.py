"""What came of an ask: one answer per sample, and the bill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Unscored

__all__ = ["Answer", "Answers"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One sample."""

    reading: Any | Unscored
    """What the ask's reader found; `Unscored` with ``owed`` set where no answer arrived."""
    raw: str = ""
    """The model's words."""
    from_ledger: bool = False
    """Whether it cost nothing: stored already, or shared with another question under way."""


@dataclass(frozen=True, slots=True)
class Answers:
    """All samples of one ask, in the order of their index."""

    answers: tuple[Answer, ...]
    bill: Bill = field(default_factory=Bill)
    effective: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that were really sent; a parameter the server refused is absent."""
