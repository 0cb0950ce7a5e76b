"""What an answer must pass before it is judged: a pattern, a schema, the right answer, a command or a function."""

from __future__ import annotations

import atexit
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from bonwise.calls.providers.secrets import is_secret, masked
from bonwise.errors import UsageError
from bonwise.extras import SCHEMA
from bonwise.printable import printable, quoted
from bonwise.table.text_files import file_errors, open_plain

Check = Callable[[str, str], tuple[float | None, str]]
"""From a prompt and an answer to 1 where it passes, 0 where it fails, None where the check could not run; and why."""

MOST_OUTPUT = 2**20
"""Bytes that a command may print about one answer."""


def pattern_check(pattern: str) -> Check:
    """Return the check that finds a regular expression anywhere in an answer."""
    finds = _pattern("regex", pattern).search
    return function_check(lambda _, text: finds(text) is not None)


def function_check(function: Any) -> Check:
    """Return a function as a check; one that fails, or says neither true nor false, could not run."""
    if not callable(function):
        raise UsageError(f"check is {type(function).__name__}", hint="give a function (prompt, text) -> bool")

    def check(prompt: str, text: str) -> tuple[float | None, str]:
        try:
            passes = function(prompt, text)
        except Exception as error:  # noqa: BLE001 - a check may be anybody's
            return None, printable(f"{type(error).__name__}: {error}", longest=200)
        if hasattr(passes, "close"):
            passes.close()  # of an asynchronous function, which nobody awaits here
        if type(passes).__name__ not in {"bool", "bool_"}:  # the latter is numpy's
            return None, f"it returned {type(passes).__name__}, not true or false"
        return float(passes), ""

    return check


def schema_check(schema: Mapping[str, Any] | str | Path) -> Check:
    """Return the check that an answer is JSON of a schema, a mapping or a file of one; nothing is fetched."""
    SCHEMA.require("a check by JSON Schema")
    from jsonschema import exceptions, validators  # noqa: PLC0415 - an extra brings it
    from referencing import Registry  # noqa: PLC0415 - as above

    try:
        stated = schema if isinstance(schema, Mapping) else _json_of(Path(schema))
        kind: Any = validators.validator_for(stated, default=validators.Draft202012Validator)
        kind.check_schema(stated)
    except (ValueError, RecursionError, exceptions.SchemaError) as error:
        why = getattr(error, "message", None) or "no JSON"
        raise UsageError(f"schema is no JSON Schema: {why}", hint="name a file that holds one") from None
    validator = kind(stated, registry=Registry())

    def fits(_: str, text: str) -> bool:
        try:
            return bool(validator.is_valid(json.loads(text)))
        except (ValueError, RecursionError):
            return False

    return function_check(fits)


def _json_of(path: Path) -> Any:
    with file_errors(path), open_plain(path) as stream:
        return json.load(stream)


def answer_check(answer: object, extract: str) -> Check:
    """Return the check that the final answer is the one given, or the one a mapping holds for the prompt."""
    final = final_answer(extract)

    def right(prompt: str, text: str) -> bool:
        if isinstance(answer, Mapping) and prompt not in answer:
            raise LookupError("no answer is given for this prompt")
        return final(text) == _plain(str(answer[prompt] if isinstance(answer, Mapping) else answer))

    return function_check(right)


# Separators of thousands nine times at most: a text of nothing else is read in linear time.
_NUMBER = re.compile(
    r"(?<![\w.])[-+\u2212]?(?:\d{1,3}(?:,\d{3}){1,9}(?![\d,])|\d+)(?:\.\d+|/\d+)?(?:[eE][-+]?\d{1,3}(?!\d))?"
)


def final_answer(extract: str) -> Callable[[str], str | None]:
    r"""Return what reads the final answer of a text, None where there is none.

    ``whole`` takes the whole text, ``number`` the last number, ``boxed`` that of the last ``\boxed{...}``; any other
    word is a regular expression whose last match, or its first group, it is. Numbers of one value are one answer.
    """
    if extract in {"whole", "boxed"}:
        return _plain if extract == "whole" else _boxed
    pattern = _NUMBER if extract == "number" else _pattern("extract", extract)

    def last(text: str) -> str | None:
        stated = None
        for match in pattern.finditer(text):
            stated = match[1 if pattern.groups else 0]
        return None if stated is None else _plain(stated)

    return last


def _boxed(text: str) -> str | None:
    before, _, rest = text.rpartition(r"\boxed{")
    depth = 1
    for end, character in enumerate(rest if len(before) + len(rest) < len(text) else ""):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return _plain(rest[:end])
    return None


def _plain(stated: str) -> str:
    """Return the form in which answers are compared."""
    words = " ".join(stated.split()).casefold()
    if _NUMBER.fullmatch(words):
        # A fraction of decimals, or by nothing, and thousands of digits stay as they are.
        with suppress(ValueError, ZeroDivisionError):
            return str(Fraction(words.replace(",", "").replace("\u2212", "-")))
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
    if not arguments or os.name != "posix":
        raise UsageError(f"the check {quoted(command)} cannot be run", hint="name a program; on Windows use check=")
    if shutil.which(arguments[0]) is None:
        raise UsageError(f"the check {quoted(arguments[0])} is no program", hint="name one that can be started")

    def check(_: str, text: str) -> tuple[float | None, str]:
        with TemporaryFile() as given, TemporaryFile() as printed:
            given.write(text.encode("utf-8", "surrogatepass"))
            given.seek(0)
            try:
                code = _ran(arguments, given, printed, timeout)
            except OSError as error:
                return None, f"{quoted(arguments[0])} cannot be started: {error.strerror}"
            size = os.fstat(printed.fileno()).st_size
            printed.seek(max(0, size - 4096))
            last_line = printed.read().decode(errors="replace").strip().rpartition("\n")[2]
        if size > MOST_OUTPUT or code is None:
            return None, "it printed more than 1 MiB" if code is not None else f"it did not end within {timeout:g} s"
        ended = {0: "", 1: ""}.get(
            code, f"it ended with exit code {code}" if code > 0 else f"signal {-code} ended it"
        )
        why = printable(": ".join(filter(None, [ended, masked(last_line)])), longest=200)
        return (None if ended else 1.0 - code), why

    return check


_RUNNING: set[int] = set()
"""Commands that would outlive a program that ends before them."""
atexit.register(lambda: list(map(_kill, _RUNNING)))


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _ran(arguments: list[str], given: IO[bytes], printed: IO[bytes], timeout: float) -> int | None:
    """Return the exit code of a command, None where its time was up, and end all that it has started."""
    # Without the keys, as the command may run what the candidate says.
    environment = {name: value for name, value in os.environ.items() if not is_secret(name, value)}
    until = time.monotonic() + timeout
    process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
        arguments, stdin=given, stdout=printed, stderr=printed, env=environment, start_new_session=True
    )
    _RUNNING.add(process.pid)
    while process.poll() is None and time.monotonic() < until and os.fstat(printed.fileno()).st_size <= MOST_OUTPUT:
        time.sleep(0.01)
    in_time = process.returncode is not None or time.monotonic() < until
    _kill(process.pid)
    _RUNNING.discard(process.pid)
    code = process.wait()
    return code if in_time else None
