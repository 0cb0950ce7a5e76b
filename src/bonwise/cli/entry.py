"""Run a command and turn every outcome into an exit code, one clear line, and strict JSON."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import cast

BAD_INPUT = 2
INTERNAL = 70
INTERRUPTED = 130

_FEWEST_MADE = 100_000
"""Objects from which Python looks for cycles, of 700 by itself."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Exit codes: 0 done and every gate met, 1 a gate not met or nothing scored, 2 bad usage, bad input, or a key that
    is missing or refused, 3 inconclusive, 4 answers of models are owed; 70 a defect of bonwise, which is not a
    verdict on anything, and 130 interrupted.
    """
    # Most of what a command makes before it works is kept: looking for cycles among it takes a tenth of the time.
    gc.set_threshold(_FEWEST_MADE)
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # a second one, while the first was being told
        code = INTERRUPTED
    # From here on only Python ends, which would tell of another Ctrl-C by a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # At its end Python searches all objects for cycles, those of pandas and scipy too: a fifth of the time of a small
    # audit, and the memory goes back to the system anyway.
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; `arguments` come without the program's name."""
    for library in () if "numpy" in sys.modules else ("OPENBLAS", "MKL"):
        # Before these are loaded: each starts as many threads as there are cores, and they spin while they wait.
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _interrupted(arguments)


def _run(arguments: Sequence[str]) -> int:
    import typer

    from bonwise.cli.app import app_for
    from bonwise.errors import BonwiseError

    # Newer versions of typer carry a click of their own: the base of its errors is reached by one it exports.
    click_error = cast("type[Exception]", typer.BadParameter.__mro__[2])
    typed = _with_values(arguments) or ["--help"]
    if _gone(arguments):
        return _refuse(arguments, f"bonwise {' '.join(_gone(arguments))} is gone", _now_typed(arguments))
    try:
        code = _code(app_for(typed)(args=typed, prog_name="bonwise", standalone_mode=False))
        return _interrupted(arguments) if code == INTERRUPTED else code
    except click_error as error:
        return _refuse(arguments, _words(error), f"see {_command(error)} --help")
    except BonwiseError as error:
        return _refuse(arguments, error.message, error.hint)
    except typer.Abort:
        return _interrupted(arguments)
    except Exception as error:  # noqa: BLE001 - the last line before Python's own exit code 1, "a gate not met"
        _write_error(arguments, f"internal error: {type(error).__name__}", "please report it with the traceback")
        traceback.print_exc()
        return INTERNAL


_NOW: Mapping[tuple[str, ...], tuple[str, Mapping[str, str]]] = {
    ("convert",): ("doctor", {"--out": "--fix"}),
    ("learn",): ("study draws", {}),
    ("confidence",): ("study confidence", {}),
    ("stack", "apply"): ("judge", {"--stack": "--judge stack:"}),
}
"""What is typed in place of a command that is gone, and in place of some of its flags."""


def _gone(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command that is gone; empty for any other."""
    return next((words for words in _NOW if tuple(arguments[: len(words)]) == words), ())


def _now_typed(arguments: Sequence[str]) -> str:
    """Return what is typed in place of a command that is gone, with its flags."""
    from bonwise.printable import shell_word

    gone = _gone(arguments)
    command, flags = _NOW[gone]
    written, before = [f"type bonwise {command}"], ""
    for word in arguments[len(gone) :]:
        name, sign, value = word.partition("=")
        flag, _, start = flags.get(name, "").partition(" ")
        written += [flag] if flag else []
        if sign or not flag:
            written.append(shell_word(start + value if flag else before + word))
        before = start if not sign else ""
    return " ".join(written)


_BARE = {"--lower-is-better": "judge_score"}
"""Flags that may stand without a value, and the value that they then have."""


def _with_values(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, a flag that may stand alone with its value where another flag or nothing follows."""
    written: list[str] = []
    for argument, following in zip_longest(arguments, arguments[1:], fillvalue="--"):
        written.append(argument)
        if argument in _BARE and following.startswith("--") and "--" not in written:
            written.append(_BARE[argument])
    return written


def _words(error: BaseException) -> str:
    format_message = getattr(error, "format_message", None)
    return str(format_message()) if format_message is not None else str(error)


def _command(error: BaseException) -> str:
    """Name the command that was misused, as far as it is known."""
    found = getattr(getattr(error, "ctx", None), "command_path", None)
    return str(found) if found else "bonwise"


def _code(result: object) -> int:
    return result if isinstance(result, int) else 0


def _interrupted(arguments: Sequence[str]) -> int:
    from bonwise.cli.arguments import say
    from bonwise.printable import shell_word

    code = _refuse(arguments, "interrupted", "the same command continues where this one stopped", INTERRUPTED)
    # An address with a login or a query may hold a key, which is not to be in a log.
    if not any("://" in argument and ("@" in argument or "?" in argument) for argument in arguments):
        say("Resume with: " + " ".join(map(shell_word, ["bonwise", *arguments])))
    return code


def _refuse(arguments: Sequence[str], message: str, hint: str, code: int = BAD_INPUT) -> int:
    from bonwise.cli.arguments import say
    from bonwise.printable import printable

    line = printable(f"{message} ({hint})" if hint else message, longest=1000)
    say(line)
    _write_error(arguments, message, hint)
    return code


def _write_error(arguments: Sequence[str], message: str, hint: str) -> None:
    """Write the error as JSON where ``--json`` asked for it, however early the command failed."""
    target = _json_target(arguments)
    if target is None:
        return
    from bonwise.cli.accounts import ErrorDocument
    from bonwise.cli.arguments import emit, say
    from bonwise.errors import BonwiseError
    from bonwise.table.writing import write_whole

    # On one line, as what a log keeps.
    text = json.dumps(ErrorDocument(error=message, hint=hint).to_dict(), allow_nan=False) + "\n"
    try:
        if target == "-":
            emit(text)
        elif _named_twice(arguments, target):
            say(f"{target} is named twice, so the error was not written there")
        elif _may_replace(Path(target)):
            write_whole(Path(target), text)
        else:
            say(f"{target} is not a document of bonwise, so the error was not written over it")
    except BonwiseError as error:
        say(f"the error could not be written: {error}")


def _may_replace(path: Path) -> bool:
    """Tell whether an error may be written here: over nothing, or over a document, never over data."""
    if not path.is_file():
        return True
    with path.open("rb") as stream:
        return stream.read(64).lstrip(b"{ \r\n").startswith(b'"schema": "bonwise.')


def _named_twice(arguments: Sequence[str], target: str) -> bool:
    """Tell whether another argument means the same file: an error there would pass for the page, or for data."""
    place = os.path.realpath(target)
    values = [argument.partition("=")[2] if argument.startswith("--") else argument for argument in arguments]
    return sum(bool(value) and "\0" not in value and os.path.realpath(value) == place for value in values) > 1


def _json_target(arguments: Sequence[str]) -> str | None:
    target = None
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument.startswith("--json="):
            target = argument.removeprefix("--json=")
        elif argument == "--json" and position + 1 < len(arguments):
            target = arguments[position + 1]
    return target
