"""What is known of every prompt in one respect: a tag, a category, a number, or the length of its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["PromptProperty", "PropertyKind"]

PropertyKind = Literal["tag", "category", "number", "length"]
"""A ``tag`` is on or off, a ``category`` has a few names, a ``length`` is that of a text in characters."""


@dataclass(frozen=True, eq=False)
class PromptProperty:
    """One column of a table of prompts."""

    name: str
    kind: PropertyKind
    values: npt.NDArray[np.float64] = field(repr=False)
    """1 or 0 of a tag, the place in `levels` of a category, characters of a length; NaN where there is none."""
    levels: tuple[str, ...] = ()
    """Names of a category, sorted; empty otherwise."""

    @classmethod
    def of_names(cls, name: str, names: Sequence[str]) -> PromptProperty:
        """Return a category from one name per prompt, blank for none.

        Examples
        --------
        >>> PromptProperty.of_names("topic", ["law", "", "art"]).values.tolist()
        [1.0, nan, 0.0]
        """
        levels = tuple(sorted({one for one in names if one}))
        place = {level: float(at) for at, level in enumerate(levels)}
        return cls(name, "category", np.array([place.get(one, np.nan) for one in names]), levels)
