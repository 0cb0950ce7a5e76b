"""``bonwise demo``: judge, select and audit bundled tasks, without a key and without a network."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli.arguments import Force, Seed
from bonwise.cli.shared_flags import flags_of
from bonwise.data.checks import SEED

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit
    from bonwise.report.blocks import Said

__all__ = ["demo"]

_FOLDER = Path("bonwise-demo")


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where the files go.")] = _FOLDER,
    seed: Seed = SEED,
    full: Annotated[
        bool, typer.Option("--full", help="Print every step with its figures, and all commands.")
    ] = False,
    force: Force = False,
) -> int:
    """Judge, select and audit bundled tasks: no key, no network."""
    from bonwise.demo.run import run_demo
    from bonwise.demo.text import demo_in_short, demo_parts
    from bonwise.report.console import show

    made = run_demo(folder, seed=seed, force=force, then=lambda found: _next(found, folder))
    given_flags = {"--out": None if folder == _FOLDER else folder, "--seed": None if seed == SEED else seed}
    everything = " ".join(["bonwise demo", *flags_of({**given_flags, "--full": True})])
    show(demo_parts(made) if full else demo_in_short(made, everything), sys.stdout)
    return 0


def _next(found: Audit, folder: Path) -> Sequence[Said]:
    """Return what to type after the audit of the demo's files, as `bonwise audit` prints it."""
    from bonwise.auditing.next_steps import next_steps
    from bonwise.cli.next_of_audit import AuditCommand

    labels = flags_of({"--labels": folder / "labels.csv"})
    own = {"--pools": folder / "pools.jsonl"}
    return next_steps(found.document(), AuditCommand(folder / "scores.csv", labels, own, shown=True))
