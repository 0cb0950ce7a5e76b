"""``bonwise strategies``: what can stand behind ``--strategy``."""

from __future__ import annotations

from bonwise.cli.arguments import emit

__all__ = ["strategies"]


def strategies() -> int:
    """List the strategies with their options."""
    from bonwise.printable import printable
    from bonwise.selection.registry import strategies as kinds

    lines = [("KIND", "OPTIONS", "FROM")]
    for kind in kinds():
        origin = kind.package if not kind.problem else f"{kind.package}: cannot be used: {kind.problem}"
        lines.append((kind.name, " ".join(kind.options) or "-", origin))
    widths = [max(len(line[at]) for line in lines) for at in range(2)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        emit(printable("  ".join([*cells, line[2]])) + "\n")
    return 0
