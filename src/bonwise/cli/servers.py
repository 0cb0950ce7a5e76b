"""``bonwise serve`` and ``bonwise mcp``: an OpenAI-compatible endpoint, and tools for an assistant."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli.arguments import say

if TYPE_CHECKING:
    from bonwise.selection.selector import Selector


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
    max_cost: Annotated[str | None, typer.Option(help="Most US dollars this command may spend, or 5/day.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Most calls this command may send.")] = None,
    call_timeout: Annotated[float, typer.Option(help="Seconds for a call of a tool; then it is ended.")] = 300.0,
    max_answer: Annotated[int, typer.Option(help="Characters of an answer; more is cut off, and counted.")] = 40_000,
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
    mcp_server(root, selector, call_timeout=call_timeout, max_answer=max_answer).run("stdio")
    return 0


def _selector(
    judge: str,
    base_url: str | None,
    strategy: str | None,
    run: Path | None,
    max_cost: str | None,
    max_calls: int | None,
) -> Selector:
    from bonwise.judges.registry import judge_from_spec
    from bonwise.selection import registry, selector

    return selector.Selector(
        judge_from_spec(judge, base_url=base_url),
        strategy=None if strategy is None else registry.strategy_from_spec(strategy, base_url=base_url),
        ledger=run,
        max_cost=max_cost,
        max_calls=max_calls,
    )


def serve(
    *,
    config: Annotated[Path, typer.Option("--config", help="Models and keys, in TOML.", show_default=False)],
    host: Annotated[
        str, typer.Option("--host", help="Address; other than this machine only with keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 lets the system choose.", min=0, max=65535)] = 8000,
    run: Annotated[
        Path | None, typer.Option("--run", help="Run folder: judges' answers, and what each key has spent.")
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", help="Processes that serve the same address.", min=1, max=256)
    ] = 1,
    check: Annotated[bool, typer.Option("--check", help="Check settings and keys, then end; serve nothing.")] = False,
) -> int:
    """Serve best-of-n as a model.

    Clients of OpenAI use it by the base URL that it prints, with the model bon/NAME. SIGTERM and Ctrl-C end it when
    all requests under way are answered. Exit codes: 0 it ended so; 1 requests were cut off; 2 bad usage or settings.
    """
    from bonwise.serving import EXTRA

    EXTRA.require("bonwise serve")
    from bonwise.serving import app, server
    from bonwise.serving.config import read_config

    settings = read_config(config)
    server.check_host(host, settings)
    models = ", ".join(f"bon/{name}" for name in settings.models)
    if check:
        app.ChatEndpoint(settings)
        say(f"{config} can be served: {models}")
        return 0
    with server.bound_socket(host, port) as door:
        shown = f"[{host}]" if ":" in host else host
        server.log_to_standard_error()
        folder = None if run is None else str(run)
        ready = partial(say, f"serving {models} at http://{shown}:{door.getsockname()[1]}/v1")
        if workers == 1:
            return server.serve_alone(settings, door, folder, ready=ready)
        from bonwise.serving.workers import serve_by_workers

        return serve_by_workers(str(config), door, folder, workers, ready=ready)
