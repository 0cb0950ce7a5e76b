"""``bonwise serve``: an OpenAI-compatible endpoint whose answers are the best of n."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli.arguments import say

__all__ = ["serve"]


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
    workers: Annotated[int, typer.Option("--workers", help="Processes that serve the same address.", min=1)] = 1,
    check: Annotated[bool, typer.Option("--check", help="Check settings and keys, then end; serve nothing.")] = False,
) -> int:
    """Serve best-of-n as a model.

    Clients of OpenAI use it by the base URL that it prints, with the model bon/NAME. SIGTERM and Ctrl-C end it when
    all requests under way are answered. Exit codes: 0 it ended so; 1 requests were cut off; 2 bad usage or settings.
    """
    from bonwise.serving import EXTRA

    EXTRA.require("bonwise serve")
    from bonwise.serving.app import ChatEndpoint
    from bonwise.serving.config import read_config
    from bonwise.serving.process import log_to_standard_error, serve_alone
    from bonwise.serving.server import bound_socket, check_host

    settings = read_config(config)
    check_host(host, settings)
    models = ", ".join(f"bon/{name}" for name in settings.models)
    if check:
        ChatEndpoint(settings)
        say(f"{config} can be served: {models}")
        return 0
    with bound_socket(host, port) as door:
        shown = f"[{host}]" if ":" in host else host
        log_to_standard_error()
        folder = None if run is None else str(run)
        ready = partial(say, f"serving {models} at http://{shown}:{door.getsockname()[1]}/v1")
        if workers == 1:
            return serve_alone(settings, door, folder, ready=ready)
        from bonwise.serving.workers import serve_by_workers

        return serve_by_workers(str(config), door, folder, workers, ready=ready)
