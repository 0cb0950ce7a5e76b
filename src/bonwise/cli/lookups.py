"""``bonwise judges``, ``strategies``, ``schema`` and ``prompts``: what there is, and if one's own is in order."""

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
    from bonwise.judges.prompt_file import PromptFile
    from bonwise.table.pools import Pool

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
    from bonwise.judges import protocol, registry

    if kind == "local":
        return "0"
    try:
        judge = registry.judge_from_spec(kind, model=EXAMPLE_MODEL)
        return f"{judge.calls(candidates):,}" if protocol.is_asking(judge) else "?"
    except BonwiseError:
        return "?"
    except Exception:  # noqa: BLE001 - what a plug-in's own count raises harms no other line
        return "?"


BAD_INPUT = 2

app = typer.Typer(name="prompts", help="List, show and check judge prompts.", rich_markup_mode=None)


@app.command("list")
def list_prompts() -> int:
    """List the built-in prompts."""
    from bonwise.judges.prompt_loading import builtin_names, load

    files = [load(name) for name in builtin_names()]
    rows = [("name", "version", "mode", "digest", "description")]
    rows += [(file.name, str(file.version), file.mode, file.digest, file.description) for file in files]
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        emit("  ".join([*cells, row[-1]]) + "\n")
    return 0


@app.command("show")
def show(
    prompt: Annotated[
        str, typer.Argument(metavar="NAME_OR_PATH", help="A built-in name or the path of a file.", show_default=False)
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
    from bonwise.judges.prompt_loading import load

    if (pools is None) != (prompt_id is None):
        raise UsageError("--pools and --prompt-id belong together", hint="give both or neither")
    if candidate and pools is None:
        raise UsageError("--candidate names a candidate of a pool", hint="give --pools and --prompt-id too")
    found = load(prompt if "\0" not in prompt else Path(prompt))
    if pools is None or prompt_id is None:
        text = Path(found.source).read_text(encoding="utf-8-sig")
        emit("\n".join(_lines(text.removesuffix("\n"))) + "\n")
    else:
        _show_call(found, _pool(pools, prompt_id, found.further), candidate or [])
    return 0


@app.command("check")
def check(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Prompt files.", show_default=False)],
    pools: Annotated[
        Path | None, typer.Option("--pools", help="Check too that these pools state the variables; show a call.")
    ] = None,
) -> int:
    """Check prompt files.

    Prints one line per problem. Exit codes: 0 no problem, 2 a problem.
    """
    from bonwise.judges.prompt_loading import load, problems
    from bonwise.table.pools import read_pools

    found = [(path, problems(path)) for path in paths]
    for path, errors in found:
        if pools is not None and not errors:
            first, *_ = read_pools(pools, load(path).further)
            _show_call(load(path), first, [])
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


def _pool(path: Path, prompt_id: str, wanted: Sequence[str]) -> Pool:
    from bonwise.table.pools import read_pools

    for pool in read_pools(path, wanted):
        if pool.prompt_id == prompt_id:
            return pool
    raise UsageError(f"{path} has no pool {prompt_id!r}", hint="check --prompt-id")


def _show_call(file: PromptFile, pool: Pool, wanted: Sequence[str]) -> None:
    from bonwise.judges.prompt_sections import MODES
    from bonwise.judges.protocol import values_for

    named = {candidate.id: candidate.text for candidate in pool.candidates}
    ids = list(wanted) or list(named)[: MODES[file.mode].candidates or None]
    if not MODES[file.mode].variables[1:]:
        ids = []
    for name in ids:
        if name not in named:
            hint = f"choose among {', '.join(list(named)[:12])}"
            raise UsageError(f"pool {pool.prompt_id!r} has no candidate {name!r}", hint=hint)
    values = values_for(pool.variables or {}, named[ids[0]]) if ids else {}
    rendered = file.render(pool.prompt, [named[name] for name in ids], values=values)
    emit("\n".join(_lines(f"[system]\n{rendered.system}\n\n[user]\n{rendered.user}")) + "\n")
    cut = f", {rendered.shortened} texts shortened" if rendered.shortened else ""
    say(f"{file.identity} on pool {printable(pool.prompt_id)}, candidates {printable(', '.join(ids))}{cut}")


def schema(
    word: Annotated[
        str | None,
        typer.Argument(help="Such as audit or bonwise.audit/1; without it the words are listed.", show_default=False),
    ] = None,
) -> int:
    """Print the JSON Schema (2020-12) of a document, or list them."""
    import json

    from bonwise.declared import words
    from bonwise.loading import document_class, json_schema, word_of
    from bonwise.results import prose

    if word is not None:
        emit(json.dumps(json_schema(word_of(word) or word), indent=2) + "\n")
        return 0
    width = max(map(len, words()))
    for one in words():
        model = document_class(one)
        meaning, _, _ = prose(model.__doc__ or "").partition("\n")
        emit(f"{one.ljust(width)}  {meaning}\n")
    return 0


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
