"""Run a case in a folder of its own, in this process, and collect what it left behind."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from bonwise.cli.entry import run
from frozen.case import Case
from frozen.masks import settled_output
from frozen.services import PRICES, served, settled

__all__ = ["INPUTS", "Said", "here", "outcome", "typed"]

INPUTS = Path(__file__).parent / "inputs"
PRICE_FILE = "prices.toml"


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str


def outcome(case: Case, folder: Path, data: Path | None = None) -> dict[str, str]:
    """Run a case and return what it left behind, by file name.

    Parameters
    ----------
    case : Case
    folder : pathlib.Path
        Empty.
    data : pathlib.Path, optional
        The shared data folder.

    Returns
    -------
    dict of str to str
        ``codes.json``, the exit code of each command; ``said.txt``, what the commands printed; and the files that
        they wrote.
    """
    for name in case.inputs:
        shutil.copy(INPUTS / name, folder / name)
    for name, path in case.shared.items():
        shutil.copy(data / path, folder / name)
    given = {*case.inputs, *case.shared, *case.unkept, PRICE_FILE}
    codes, said = [], []
    with here(folder), ExitStack() as stack:
        if case.service is not None:
            stack.enter_context(served(case.service))
        for line in case.lines:
            done = typed(line)
            codes.append({"command": line, "code": done.code})
            said.append(f"$ bonwise {line}\n{done.out}{_part('stderr', done.err)}[exit {done.code}]\n")
    found = {"codes.json": json.dumps(codes, indent=1) + "\n", "said.txt": "\n".join(said)}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in given and ".sqlite" not in path.name and path.suffix != ".lock":
            found[name] = path.read_bytes().decode("utf-8")
    return {name: settled_output(name, text) for name, text in found.items()}


def typed(line: str) -> Said:
    """Run one command line, with its redirections, in the current folder."""
    words = shlex.split(line)
    target = words[words.index(">") + 1] if ">" in words else None
    source = words[words.index("<") + 1] if "<" in words else None
    arguments = words[: min([words.index(sign) for sign in "<>" if sign in words], default=len(words))]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with ExitStack() as stack:
        stdin = stack.enter_context(Path(source or os.devnull).open(encoding="utf-8"))
        for context in (mock.patch.object(sys, "stdin", stdin), redirect_stdout(out), redirect_stderr(err)):
            stack.enter_context(context)
        code = run(arguments)
    printed, warned = (_held(stream) for stream in (out, err))
    if target is not None:
        Path(target).write_bytes(printed.encode())
        printed = ""
    return Said(code, printed, warned)


@contextmanager
def here(folder: Path) -> Iterator[None]:
    """Work in a folder with a settled environment."""
    before = Path.cwd()
    (folder / PRICE_FILE).write_text(PRICES, encoding="utf-8")
    os.chdir(folder)
    try:
        with settled(PRICE_FILE):
            yield
    finally:
        os.chdir(before)


def _held(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8")


def _part(title: str, text: str) -> str:
    return f"[{title}]\n{text}" if text else ""
