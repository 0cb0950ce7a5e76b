"""What a slider of a page steps through: values whose outcomes were computed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Step", "Stepped"]


@dataclass(frozen=True, slots=True)
class Step:
    """A value and its outcome."""

    value: str
    """As the slider names it."""
    word: str
    """The outcome in one word."""
    state: Literal["good", "bad", "open"]
    """Of that word."""
    figures: Sequence[str]
    """One per figure of the slider."""
    says: str
    """The outcome in sentences."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """A slider over outcomes, for pages alone: a page without its script shows them as a table, and so does paper."""

    key: str
    """Unlike that of any other slider of the description: lower-case letters, digits and hyphens."""
    label: str
    """What the slider changes."""
    value: str
    """Heading of the values in the table."""
    word: str
    """What the words are."""
    figures: Sequence[str]
    """Names of the figures of each step."""
    steps: Sequence[Step]
    """At least two."""
    current: int
    """The step, from 0, that the page begins at."""
    beside: str = ""
    """What is said of the step that the page begins at, such as "this audit"."""

    @property
    def start(self) -> Step:
        """The step that the page begins at."""
        return self.steps[self.current]
