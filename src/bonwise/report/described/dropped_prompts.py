"""One sentence that several descriptions say: prompts that cannot be drawn, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.printable import printable
from bonwise.report.blocks import Said
from bonwise.report.numbers import counted

__all__ = ["cannot_be_drawn"]

_MOST = 3
"""Reasons that are named."""


def cannot_be_drawn(dropped: Sequence[DroppedPrompt]) -> Iterator[Said]:
    """Yield how many prompts no draw can take, and some of the reasons; nothing where there are none."""
    if not dropped:
        return
    reasons = sorted({printable(one.reason) for one in dropped})
    more = ", ..." if len(reasons) > _MOST else ""
    yield Said("caveat", f"cannot be drawn: {counted(len(dropped), 'prompt')} ({', '.join(reasons[:_MOST])}{more})")
