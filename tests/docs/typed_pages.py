"""Pages that are typed from top to bottom: their blocks in order, in one folder, and what each printed."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from bonwise.cli.entry import run

ROOT = Path(__file__).parents[2]
PAGES = ("tutorial", "howto_rerank", "howto_audit", "howto_route", "howto_labels", "retrieval", "ci")
"""Pages of docs/ whose ``text`` blocks are what the block before them printed."""
ASKS_A_MODEL = re.compile(r"(openai|anthropic)/")
A_TEST = re.compile(r"^def test_", re.MULTILINE)
_LEFT_OUT = re.compile(f"{ASKS_A_MODEL.pattern}|{A_TEST.pattern}", re.MULTILINE)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEAD = re.compile(r"\s*\|\s*head -n (\d+)$")


def retyped(text: str) -> str:
    """Return the page with what its blocks print now; the working folder takes the files that they write.

    Blocks that ask a model are left out, because they print what the model says, and so are tests of pytest.
    """
    names: dict[str, object] = {}
    printed: list[str] = []
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        language, block = fence[1], fence[2]
        if language == "text":
            parts += [text[end : fence.start()], f"```text\n{printed.pop()}```"]
            end = fence.end()
        elif language in {"sh", "python"} and not _LEFT_OUT.search(block):
            printed[:] = [_printed(language, block, names)]
    return "".join([*parts, text[end:]])


def _printed(language: str, block: str, names: dict[str, object]) -> str:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        if language == "python":
            exec(compile(block, "page", "exec"), names)  # noqa: S102 - its purpose
        else:
            for line in _typed(block):
                stream.write(line)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "".join(f"{line}\n" for line in lines)


def _typed(block: str) -> Iterator[str]:
    """Type the lines of a block into a shell that knows ``bonwise``, ``head`` and ``echo $?``."""
    code, said = 0, ""
    for line in block.splitlines():
        command = line.partition("  #")[0].strip()
        head = _HEAD.search(command)
        words = shlex.split(_HEAD.sub("", command))
        if words[:1] == ["bonwise"]:
            code, said = _run(words[1:], int(head[1]) if head else None)
        elif words[:1] == ["head"]:
            said = _first(Path(words[3]).read_text("utf-8"), int(words[2]))
        elif words == ["echo", "$?"]:
            said = f"{code}\n"
        elif words[:2] == ["pip", "install"]:
            said = ""
        else:
            raise AssertionError(f"no test types this: {line}")
        yield said


def _run(words: list[str], head: int | None) -> tuple[int, str]:
    """Run a command; a pipe and a redirection take what it says on standard output alone."""
    target = words.index(">") if ">" in words else None
    both = io.StringIO()
    out = both if head is target is None else io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(both):
        code = run(words[:target])
    assert code in {0, 1, 3}, both.getvalue()
    if target is not None:
        Path(words[target + 1]).write_text(out.getvalue(), encoding="utf-8")
    return code, both.getvalue() + (_first(out.getvalue(), head) if head else "")


def _first(text: str, lines: int) -> str:
    return "".join(text.splitlines(keepends=True)[:lines])


@contextlib.contextmanager
def screen() -> Iterator[None]:
    """Give the pages a screen of the same width everywhere, without colours."""
    wanted = {"COLUMNS": "100", "LINES": "60", "NO_COLOR": "1", "TERM": "dumb"}
    kept = {name: os.environ.get(name) for name in (*wanted, "GITHUB_STEP_SUMMARY", "FORCE_COLOR")}
    for name in kept:
        os.environ.pop(name, None)
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
