"""What a call took whose server told only a part of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bonwise.calls.bill import PartialUsage, Usage
from bonwise.calls.reply import Choice
from bonwise.calls.tokens import expected_input_tokens

__all__ = ["reckoned"]


def reckoned(partial: PartialUsage, sent: int, most_output: int, choices: Iterable[Choice]) -> Usage:
    """Return what a call took: what was told, and in place of the rest the larger of two reckonings.

    One is what the server's total leaves for it, the other a count of the text that was sent or that came. An answer
    may hold reasoning that nobody sees: without a total, its length counts as the most that it can be.

    Parameters
    ----------
    partial : PartialUsage
    sent : int
        About how many tokens the request has.
    most_output : int
        The most tokens that the answers can have.
    choices : iterable of Choice
        What came.

    Examples
    --------
    >>> half = PartialUsage(Usage(output=5), input_told=False, output_told=True, total=1005)
    >>> reckoned(half, sent=800, most_output=64, choices=[])
    Usage(uncached=1000, cache_read=0, cache_write_5m=0, cache_write_1h=0, output=5, reasoning=0)
    """
    usage = partial.told
    if not partial.input_told:
        known = usage.output if partial.output_told else 0
        # Where both sides are missing the total leaves for the input what the answer cannot have taken.
        left = 0 if partial.total is None or not partial.output_told else partial.total - known
        usage = replace(usage, uncached=usage.uncached + max(max(left, sent) - usage.input, 0))
    if not partial.output_told:
        came = sum(expected_input_tokens(choice.text) for choice in choices)
        left = most_output if partial.total is None else partial.total - usage.input
        usage = replace(usage, output=max(usage.output, left, came))
    return usage
