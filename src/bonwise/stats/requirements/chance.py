"""Intervals whose lower end is no closer than chance: what a judge of plain noise strays by on the same labels.

Where few prompts hold most of the possible gain, a judge that was right on them by chance looks better than it is
and, its losses not yet seen, seems to vary less than it does. What plain noise strays by follows from the labels and
not from the picks, so no luck makes it small. A judge that was wrong there seems to vary more, not less: the upper
end needs no such care, and a judge that ties, which strays by less, would be taken for a lucky one.
"""

from __future__ import annotations

from dataclasses import dataclass

from bonwise.stats.laws import Law, student_quantile

__all__ = ["BeyondChance"]


@dataclass(frozen=True, slots=True)
class BeyondChance:
    """A law whose lower end is moved to Student's of a least standard error where it lies above that."""

    law: Law
    estimate: float
    least: float
    """Standard error."""
    df: float

    @property
    def kind(self) -> str:
        """Name of the rule: that of the law."""
        return self.law.kind

    def at(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval, None where the law has none.

        Examples
        --------
        >>> from bonwise.stats.laws import Student
        >>> law = Student(0.5, 0.1, 50, (0.0, 1.0))
        >>> [round(end, 2) for end in BeyondChance(law, 0.5, 0.2, 50).at(0.95)]
        [0.1, 0.7]
        """
        ends = self.law.at(confidence)
        if ends is None:
            return None
        return min(ends[0], self.estimate - student_quantile(confidence, self.df) * self.least), ends[1]
