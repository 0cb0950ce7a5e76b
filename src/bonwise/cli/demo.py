"""``bonwise demo``: judge, select and audit bundled tasks, without a key and without a network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli.arguments import Force, Seed

__all__ = ["demo"]


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where the files go.")] = Path("bonwise-demo"),
    seed: Seed = 0,
    force: Force = False,
) -> int:
    """Judge, select and audit bundled tasks: no key, no network."""
    from bonwise.demo.run import run_demo
    from bonwise.demo.text import demo_parts
    from bonwise.report.console import show

    show(demo_parts(run_demo(folder, seed=seed, force=force)), sys.stdout)
    return 0
