"""``--settings FILE``: flags that are rarely typed may stand in a file, under their keywords in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from bonwise.errors import UsageError
from bonwise.printable import quoted
from bonwise.table.roles import COLUMN_FLAGS

_SHAPES = ("rectangular", "ragged")


def settings_flag(flags: Mapping[str, tuple[Any, Any]], keywords: Mapping[str, str]) -> tuple[Any, Any]:
    """Return annotation and default of ``--settings``, whose keys name a flag's value or the function's keyword."""
    options = {name for name, (kind, _) in flags.items() if isinstance(get_args(kind)[-1], typer.models.OptionInfo)}
    names = {name: name for name in options - {*keywords.values(), *_SHAPES}}
    names |= {key: name for key, name in keywords.items() if name in options}
    names |= {key: key for key, name in {"shape": "ragged", "columns": "prompt_col"}.items() if name in options}

    def take(ctx: typer.Context, path: Path | None) -> None:
        if path is not None:
            ctx.default_map = _defaults(path, names, ctx)

    words = "Flags in a file (TOML), by their keywords in Python; what is typed wins."
    return Annotated[Path | None, typer.Option("--settings", help=words, is_eager=True, callback=take)], None


def _defaults(path: Path, names: Mapping[str, str], ctx: typer.Context) -> dict[str, Any]:
    """Return what a file says as defaults of the flags, which are checked as if they were typed."""
    several = {param.name: getattr(param, "multiple", False) for param in ctx.command.params}
    values = {}
    for key, value in _read(path).items():
        if key not in names:
            nearest = get_close_matches(key, names, n=1, cutoff=0)[0]
            raise UsageError(f"{path}: {ctx.command_path} has no setting {key!r}", hint=f"the nearest is {nearest}")
        for name, held in _by_flag(path, key, names[key], value):
            values[name] = _typed(key, held, several=several[name])
    return values


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    from bonwise.table.text_files import file_errors, open_plain

    with file_errors(path), open_plain(path) as stream:
        try:
            return tomllib.load(stream)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path} is not TOML: {error}", hint='such as exclude = ["unhelpful"]') from None


def _by_flag(path: Path, key: str, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the value of a key by flag: of some keys each value has a flag of its own."""
    if key not in ("shape", "columns"):
        yield name, value
        return
    choices = _SHAPES if key == "shape" else COLUMN_FLAGS
    for part, held in value.items() if isinstance(value, dict) else [(value, True)]:
        if part not in choices:
            raise UsageError(f"{path}: {key} has no {quoted(part)}", hint=f"choose from {', '.join(choices)}")
        yield (part if key == "shape" else COLUMN_FLAGS[part].name.strip("-").replace("-", "_")), held


def _typed(key: str, value: Any, *, several: bool) -> Any:
    """Return a value as it is typed: a table as NAME=VALUE, a scale as LOW:HIGH, several values one by one."""
    if isinstance(value, bool) and not several:
        return value
    words = [str(part) for part in value] if isinstance(value, list) else [str(value)]
    if isinstance(value, dict):
        words = [f"{part}={_typed(key, held, several=False)}" for part, held in value.items()]
    elif key.endswith("_scale"):
        words = [":".join(words)]
    elif key == "lower_is_better" and value is True:
        words = ["judge_score"]
    return words if several else ",".join(words)
