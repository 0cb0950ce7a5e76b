"""What an answer must pass before it is judged: a pattern, a schema, the right answer, a command or a function."""

from __future__ import annotations

import atexit
import json
import os
import re
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from bonwise.calls.providers.secrets import is_secret
from bonwise.errors import UsageError
from bonwise.extras import SCHEMA
from bonwise.printable import printable, quoted

__all__ = [
    "MOST_OUTPUT",
    "Check",
    "Checked",
    "answer_check",
    "command_check",
    "final_answer",
    "function_check",
    "pattern_check",
    "schema_check",
]

Checked = tuple[bool | None, str]
"""Whether an answer passes, None where the check could not run; and why not, in one line."""
Check = Callable[[str, str], Checked]
"""From a prompt and an answer to what came of the check."""

MOST_OUTPUT = 2**20
"""Bytes that a command may print about one answer."""
_LONGEST = 200
"""Characters of what a check says that are kept."""


def pattern_check(pattern: str) -> Check:
    """Return the check that finds a regular expression anywhere in an answer."""
    finds = _pattern("regex", pattern).search
    return lambda _, text: (finds(text) is not None, "")


def function_check(function: Callable[[str, str], Any] | None) -> Check:
    """Return a user's function as a check; one that fails, or says neither true nor false, could not run."""
    if not callable(function):
        raise UsageError(f"check is {type(function).__name__}", hint="give a function (prompt, text) -> bool")

    def check(prompt: str, text: str) -> Checked:
        try:
            passes = function(prompt, text)
        except Exception as error:  # noqa: BLE001 - a check may be anybody's
            return None, printable(f"{type(error).__name__}: {error}", longest=_LONGEST)
        passes = passes.item() if type(passes).__module__ == "numpy" and hasattr(passes, "item") else passes
        if isinstance(passes, bool):
            return passes, ""
        if hasattr(passes, "close"):
            passes.close()  # of an asynchronous function, which nobody awaits here
        return None, f"it returned {type(passes).__name__}, not true or false"

    return check


def schema_check(schema: Mapping[str, Any] | str | Path) -> Check:
    """Return the check that an answer is JSON of a schema: a mapping, JSON text, or a file; nothing is fetched."""
    SCHEMA.require("a check by JSON Schema")
    from jsonschema import exceptions, validators  # noqa: PLC0415 - an extra brings it
    from referencing import Registry  # noqa: PLC0415 - as above

    stated = _schema(schema)
    kind: Any = validators.validator_for(stated, default=validators.Draft202012Validator)
    try:
        kind.check_schema(stated)
    except exceptions.SchemaError as error:
        raise UsageError(f"schema is no JSON Schema: {printable(error.message, longest=_LONGEST)}") from None
    validator = kind(stated, registry=Registry())

    def check(_: str, text: str) -> Checked:
        try:
            fault = next(validator.iter_errors(json.loads(text)), None)
        except (ValueError, RecursionError):
            return False, "it is no JSON"
        except Exception as error:  # noqa: BLE001 - a reference that leads nowhere shows only here
            return None, printable(f"{type(error).__name__}: {error}", longest=_LONGEST)
        return fault is None, "" if fault is None else printable(fault.message, longest=_LONGEST)

    return check


def _schema(schema: Mapping[str, Any] | str | Path) -> Any:
    if isinstance(schema, Mapping):
        return dict(schema)
    written = str(schema)
    try:
        stated = json.loads(written if written.lstrip().startswith("{") else Path(written).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "no JSON"
        raise UsageError(f"schema {quoted(written)}: {why}", hint="name a file that holds a JSON Schema") from None
    if not isinstance(stated, dict):
        raise UsageError(f"schema {quoted(written)} holds no object", hint="name a file that holds a JSON Schema")
    return stated


def answer_check(answer: object, extract: str = "whole") -> Check:
    """Return the check that the final answer is the one given, or the one a mapping holds for the prompt."""
    final = final_answer(extract)

    def check(prompt: str, text: str) -> Checked:
        right = answer.get(prompt) if isinstance(answer, Mapping) else answer
        if right is None:
            return None, "no answer is given for this prompt"
        stated = final(text)
        if stated is None:
            return False, "no final answer"
        return stated == _plain(str(right)), ""

    return check


_NUMBER = re.compile(
    r"(?<![\w.])[-+\u2212]?(?:\d{1,3}(?:,\d{3}){1,9}(?![\d,])|\d+)(?:\.\d+|/\d+)?(?:[eE][-+]?\d{1,3}(?!\d))?"
)
_BOXED = r"\boxed{"


def final_answer(extract: str) -> Callable[[str], str | None]:
    r"""Return what reads the final answer of a text, None where there is none.

    ``whole`` takes all of the text, ``number`` the last number, ``boxed`` what is in the last ``\boxed{...}``. Any
    other word is a regular expression whose last match, or its first group, is the answer. Numbers of one value are
    the same answer; other words are compared without capitals and surplus white space.
    """
    if extract == "whole":
        return _plain
    if extract == "boxed":
        return _boxed
    pattern = _NUMBER if extract == "number" else _pattern("extract", extract)

    def last(text: str) -> str | None:
        match = None
        for match in pattern.finditer(text):  # noqa: B007 - the last one is wanted
            pass
        stated = None if match is None else match[1 if pattern.groups else 0]
        return None if stated is None else _plain(stated)

    return last


def _boxed(text: str) -> str | None:
    at = text.rfind(_BOXED)
    depth = 0
    for end in range(at + len(_BOXED) - 1, len(text) if at >= 0 else 0):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            return _plain(text[at + len(_BOXED) : end])
    return None


def _plain(stated: str) -> str:
    """Return the form in which answers are compared."""
    words = " ".join(stated.split()).casefold()
    if not _NUMBER.fullmatch(words):
        return words
    try:
        return str(Fraction(words.replace(",", "").replace("\u2212", "-")))
    except (ValueError, ZeroDivisionError):  # a fraction of decimals, thousands of digits, or by nothing
        return words


def _pattern(name: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, RecursionError) as error:
        raise UsageError(f"{name} {quoted(pattern)} is no regular expression: {error}") from None


def command_check(command: str, timeout: float) -> Check:
    """Return the check by a command that gets the answer on stdin: 0 passes, 1 fails, else it did not run."""
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the check {quoted(command)} is no command: {error}") from None
    if not arguments:
        raise UsageError("the check is an empty command", hint="name a program and its arguments")
    if os.name != "posix":
        raise UsageError("a command as a check needs Linux or macOS", hint="give a function: check=")
    return lambda _, text: _ran(arguments, text, timeout)


_RUNNING: set[subprocess.Popen[bytes]] = set()


def _ran(arguments: list[str], text: str, timeout: float) -> Checked:
    with TemporaryFile() as given:
        given.write(text.encode("utf-8", "surrogatepass"))
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                arguments,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={name: value for name, value in os.environ.items() if not is_secret(name, value)},
                start_new_session=True,
            )
        except OSError as error:
            return None, f"{quoted(arguments[0])} cannot be started: {error.strerror}"
    _RUNNING.add(process)
    try:
        output, fault = _heard(process, timeout)
    finally:
        _kill(process)
        _RUNNING.discard(process)
        with process:  # which closes the pipe
            pass
    last_line = printable(output.decode(errors="replace").strip().rpartition("\n")[2], longest=_LONGEST)
    if not fault and process.returncode in (0, 1):
        return process.returncode == 0, last_line
    code = process.returncode
    ended = f"it ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
    return None, fault or (f"{ended}: {last_line}" if last_line else ended)


def _heard(process: subprocess.Popen[bytes], timeout: float) -> tuple[bytes, str]:
    """Return what a command printed until its end, and what kept it from one."""
    output, until = b"", time.monotonic() + timeout
    pipe: Any = process.stdout
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            # What the command leaves running may hold the pipe open: then its own end counts.
            if not waiting.select(min(left, 0.05)):
                if process.poll() is None:
                    continue
                return output, ""
            piece = os.read(pipe.fileno(), 2**16)
            output += piece
            if len(output) > MOST_OUTPUT:
                return b"", f"it printed more than {MOST_OUTPUT >> 20} MiB"
            if not piece:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(until - time.monotonic(), 0))
                    return output, ""
                break
    return output, f"it did not end within {timeout:g} s"


@atexit.register
def _kill_all() -> None:
    for process in tuple(_RUNNING):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a command with all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
