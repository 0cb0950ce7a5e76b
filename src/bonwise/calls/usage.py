"""Tokens of one call, counted the same way whoever counted them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. The input kinds do not overlap; `reasoning` is a part of `output`.

    Providers differ: OpenAI counts cached tokens among the input, Anthropic beside it. Their adapters
    translate into this form, so that nothing is counted twice.

    Examples
    --------
    >>> Usage(uncached=100, cache_read=900, output=20).total
    1020
    """

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def input(self) -> int:
        """All input tokens, cached or not."""
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        """All tokens."""
        return self.input + self.output
