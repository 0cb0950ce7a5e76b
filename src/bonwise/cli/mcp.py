"""``bonwise mcp``: tools for an assistant, over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bonwise.selection.selector import Selector

__all__ = ["mcp"]


def mcp(
    *,
    root: Annotated[Path, typer.Option(help="The folder below which files may be read.")] = Path(),
    judge: Annotated[
        str | None,
        typer.Option(help="Judge of the tool select, such as pointwise:openai/gpt-5-mini; without it no such tool."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Server of the judge's model.")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="KIND[:option=value,...], such as adaptive:margin=0.1.")
    ] = None,
    run: Annotated[Path | None, typer.Option(help="Run folder: answers that are kept there are paid once.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="Most US dollars this command may spend.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Most calls this command may send.")] = None,
) -> int:
    """Serve tools to an assistant (MCP).

    The tools are doctor, audit, compare, plan, and with --judge also select (Model Context Protocol).
    """
    from bonwise.errors import UsageError
    from bonwise.extras import TABLES

    TABLES.require("bonwise mcp")
    from bonwise.hosts.mcp_server import mcp_server

    of_the_judge = {"strategy": strategy, "run": run, "max_cost": max_cost, "max_calls": max_calls}
    needless = [name for name, value in {"base_url": base_url, **of_the_judge}.items() if value is not None]
    if judge is None and needless:
        flag = f"--{needless[0].replace('_', '-')}"
        raise UsageError(
            f"{flag} without --judge", hint=f"it is for the tool select: add --judge, or leave {flag} out"
        )
    selector = None if judge is None else _selector(judge, base_url, strategy, run, max_cost, max_calls)
    mcp_server(root, selector).run("stdio")
    return 0


def _selector(
    judge: str,
    base_url: str | None,
    strategy: str | None,
    run: Path | None,
    max_cost: float | None,
    max_calls: int | None,
) -> Selector:
    from bonwise.judges.registry import judge_from_spec
    from bonwise.selection.registry import strategy_from_spec
    from bonwise.selection.selector import Selector

    return Selector(
        judge_from_spec(judge, base_url=base_url),
        strategy=None if strategy is None else strategy_from_spec(strategy, base_url=base_url),
        ledger=run,
        max_cost=max_cost,
        max_calls=max_calls,
    )
