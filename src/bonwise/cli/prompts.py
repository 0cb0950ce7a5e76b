"""``bonwise prompts``: which judge prompts there are, what they say, and whether one's own are in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli.arguments import emit, say
from bonwise.errors import UsageError
from bonwise.printable import printable
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.data.pool import Pool
    from bonwise.prompts.prompt_file import PromptFile, Rendered

__all__ = ["app"]

BAD_INPUT = 2

app = typer.Typer(name="prompts", help="List, show and check judge prompts.", rich_markup_mode=None)


@app.command("list")
def list_prompts() -> int:
    """List the built-in prompts."""
    from bonwise.prompts.folder import builtin_names
    from bonwise.prompts.loading import load

    files = [load(name) for name in builtin_names()]
    rows = [("name", "version", "mode", "digest", "description")]
    rows += [(one.name, str(one.version), one.mode, one.digest, one.description) for one in files]
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        emit("  ".join([*cells, row[-1]]) + "\n")
    return 0


@app.command("show")
def show(
    prompt: Annotated[
        str,
        typer.Argument(metavar="NAME_OR_PATH", help="A built-in name or the path of a file.", show_default=False),
    ],
    pools: Annotated[Path | None, typer.Option("--pools", help="Show a call on a pool of this file instead.")] = None,
    prompt_id: Annotated[str | None, typer.Option("--prompt-id", help="Which pool.")] = None,
    candidate: Annotated[
        list[str] | None, typer.Option("--candidate", help="Which candidate (twice for a pair); else the first.")
    ] = None,
) -> int:
    """Show a prompt file, or the text of one call.

    A call needs --pools and --prompt-id.
    """
    from bonwise.prompts.loading import load

    if (pools is None) != (prompt_id is None):
        raise UsageError("--pools and --prompt-id belong together", hint="give both or neither")
    if candidate and pools is None:
        raise UsageError("--candidate names a candidate of a pool", hint="give --pools and --prompt-id too")
    found = load(prompt if "\0" not in prompt else Path(prompt))
    if pools is None or prompt_id is None:
        text = Path(found.source).read_text(encoding="utf-8-sig")
        emit("\n".join(_lines(text.removesuffix("\n"))) + "\n")
    else:
        _show_call(found, _pool(pools, prompt_id), candidate or [])
    return 0


@app.command("check")
def check(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Prompt files.", show_default=False)],
) -> int:
    """Check prompt files.

    Prints one line per problem. Exit codes: 0 no problem, 2 a problem.
    """
    from bonwise.prompts.loading import problems

    found = [(path, problems(path)) for path in paths]
    for _, errors in found:
        for error in errors:
            emit(f"{error}\n")
    bad = sum(1 for _, errors in found if errors)
    say(f"{counted(len(found), 'file')}, {bad:,} of them not in order")
    return BAD_INPUT if bad else 0


def _lines(text: str) -> Iterator[str]:
    """Make every line fit for a terminal; a tab is harmless there."""
    for line in text.split("\n"):
        yield "\t".join(printable(piece) for piece in line.split("\t"))


def _pool(path: Path, prompt_id: str) -> Pool:
    from bonwise.data.pool_file import read_pools

    for pool in read_pools(path):
        if pool.prompt_id == prompt_id:
            return pool
    raise UsageError(f"{path} has no pool {prompt_id!r}", hint="check --prompt-id")


def _show_call(file: PromptFile, pool: Pool, wanted: Sequence[str]) -> None:
    from bonwise.prompts.modes import MODES

    named = {candidate.id: candidate.text for candidate in pool.candidates}
    ids = list(wanted) or list(named)[: MODES[file.mode].candidates]
    for name in ids:
        if name not in named:
            hint = f"choose among {', '.join(list(named)[:12])}"
            raise UsageError(f"pool {pool.prompt_id!r} has no candidate {name!r}", hint=hint)
    rendered = file.render(pool.prompt, [named[name] for name in ids])
    emit(_call_text(rendered))
    cut = f", {rendered.shortened} texts shortened" if rendered.shortened else ""
    say(f"{file.identity} on pool {printable(pool.prompt_id)}, candidates {printable(', '.join(ids))}{cut}")


def _call_text(rendered: Rendered) -> str:
    return "\n".join(_lines(f"[system]\n{rendered.system}\n\n[user]\n{rendered.user}")) + "\n"
