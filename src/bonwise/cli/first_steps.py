"""``bonwise demo`` and ``doctor``: see it work, look a file over and bring it into shape."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments, shared_flags
from bonwise.doctoring import front
from bonwise.printable import printable
from bonwise.table.checks import SEED

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit
    from bonwise.report.blocks import Said


_FOLDER = Path("bonwise-demo")


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where the files go.")] = _FOLDER,
    seed: arguments.Seed = SEED,
    full: Annotated[
        bool, typer.Option("--full", help="Print every step with its figures, and all commands.")
    ] = False,
    force: arguments.Force = False,
) -> int:
    """Judge, select and audit bundled tasks: no key, no network."""
    from bonwise.demo import run, text
    from bonwise.report.terminal import show

    made = run.run_demo(
        folder,
        seed=seed,
        force=force,
        full=full,
        begun=lambda: arguments.say("the demo takes about 15 seconds; most of them draw its page"),
        then=lambda audit: _next(audit, folder),
    )
    given_flags = {"--out": None if folder == _FOLDER else folder, "--seed": None if seed == SEED else seed}
    everything = " ".join(["bonwise demo", *shared_flags.flags_of({**given_flags, "--full": True})])
    show(text.demo_parts(made) if full else text.demo_in_short(made, everything), sys.stdout)
    return 0


def _next(audit: Audit, folder: Path) -> Sequence[Said]:
    """Return what to type after the audit of the demo's files, as `bonwise audit` prints it."""
    from bonwise.auditing.next_steps import next_steps
    from bonwise.cli.audit import AuditCommand

    labels = shared_flags.flags_of({"--labels": folder / "labels.csv"})
    own = {"--pools": folder / "pools.jsonl"}
    return next_steps(audit, AuditCommand(folder / "scores.csv", labels, own, shown=True))


@shared_flags.shared_flags(of=front.doctor)
def doctor(*, call: shared_flags.TypedCall, output: shared_flags.TableOutput) -> int:
    """Check a file before an audit, and say what to type next."""
    fix = call.values["fix"]
    output.refuse_overwriting(*(path for path in call.paths() if path != fix), also=(fix,))
    from bonwise.errors import InputError

    try:
        document = call.run()
    except InputError:
        # Standard output belongs to the error where it goes there as JSON.
        if output.json != "-":
            _show_columns(call.values["source"], call.keywords().get("columns") or {})
        raise
    output.deliver(document)
    return 0


def _show_columns(file: Path, columns: Mapping[str, str | Sequence[str]]) -> None:
    """Print what the columns hold of a file that cannot be read as a table of scores."""
    from bonwise.doctoring import engine, view
    from bonwise.errors import BonwiseError
    from bonwise.report import blocks, terminal

    with suppress(BonwiseError):
        part = blocks.Part(printable(str(file)), list(view.described_columns(engine.columns_of(file, **columns))))
        terminal.show(terminal.renderables(part), sys.stdout)
