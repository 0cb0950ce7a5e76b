"""``bonwise judges``: what can stand behind ``--judge``, and what it costs in calls."""

from __future__ import annotations

from typing import Annotated

import typer

from bonwise.cli.arguments import emit

__all__ = ["judges"]

EXAMPLE_MODEL = "openai/MODEL"


def judges(
    candidates: Annotated[int, typer.Option("--candidates", help="Candidates of a prompt.", min=1)] = 4,
) -> int:
    """List the judges, with the calls that each makes per prompt."""
    from bonwise.judges.registry import kinds
    from bonwise.printable import printable

    lines = [("KIND", f"CALLS FOR {candidates}", "OPTIONS", "FROM")]
    for kind in kinds():
        origin = kind.package if not kind.problem else f"{kind.package}: cannot be used: {kind.problem}"
        lines.append((kind.name, _calls(kind.name, candidates), " ".join(kind.options) or "-", origin))
    widths = [max(len(line[at]) for line in lines) for at in range(3)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        emit(printable("  ".join([*cells, line[3]])) + "\n")
    return 0


def _calls(kind: str, candidates: int) -> str:
    """Return the calls of a judge with its default options; 0 for one that asks no model."""
    from bonwise.errors import BonwiseError
    from bonwise.judges.protocol import is_asking
    from bonwise.judges.registry import judge_from_spec

    if kind == "local":
        return "0"
    try:
        judge = judge_from_spec(kind, model=EXAMPLE_MODEL)
        return f"{judge.calls(candidates):,}" if is_asking(judge) else "?"
    except BonwiseError:
        return "?"
    except Exception:  # noqa: BLE001 - what a plug-in's own count raises harms no other line
        return "?"
