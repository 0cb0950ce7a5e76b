"""Read what `bonwise select` wrote."""

from __future__ import annotations

from cli.commands import strict

COSTS = (*("calls", "answers", "from_ledger", "input_tokens", "output_tokens", "reused_tokens", "cost"), "latency")
"""What a pick took, which another run of the same command need not take again."""


def picks(done):
    """Read the lines of a selection."""
    return [strict(line) for line in done.out.splitlines()]


def decisions(done):
    """Read the lines of a selection without what they took."""
    return [{name: value for name, value in line.items() if name not in COSTS} for line in picks(done)]
