"""Starts the command line from a process that has loaded it: a start takes milliseconds, and a kill is a real one.

Run as ``python -m crash.forked``: a line of JSON ``[arguments, folder]`` starts the command, with its output in the
files ``out`` and ``err`` of the folder, and prints its process id; a line with a number waits for that process, and
prints its exit code, negative for a signal.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib import import_module

from bonwise.cli import entry
from crash.runs import environment

FAST = {"SETTLING": 0.3, "FIRST_PAUSE": 0.02, "LONGEST_PAUSE": 0.05}
"""What of `bonwise.calls.batches` takes minutes elsewhere."""

PATIENCE = 40.0
LOADED = (
    *("anthropic", "openai", "bonwise.cli.judge", "bonwise.judges.pointwise", "bonwise.selection.many_pools"),
    *("bonwise.judges.batch_rounds", "bonwise.calls.estimate"),
)


class Starter:
    """The process that starts commands."""

    def __init__(self, process):
        self._process = process

    def _asked(self, what):
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(self, arguments, folder):
        """Start a command and return its process id."""
        return self._asked([arguments, str(folder)])

    def ended(self, number):
        """Wait for a command and return its exit code; one that hangs is killed."""
        watch = threading.Timer(PATIENCE, os.kill, (number, signal.SIGKILL))
        watch.start()
        try:
            return self._asked(number)
        finally:
            watch.cancel()


@contextmanager
def starter(**variables):
    """Have such a process while the block runs."""
    command = [sys.executable, "-m", "crash.forked"]
    variables = environment(PYTHONPATH=os.pathsep.join(sys.path), **variables)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables)
    try:
        process.stdout.readline()
        yield Starter(process)
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def _command(arguments, folder):
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # noqa: PTH118 - a descriptor
        os.dup2(file, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["bonwise", *arguments]
    entry.main()


def _loaded():
    for name in LOADED:  # so that commands need not load it
        import_module(name)
    for name, seconds in FAST.items():
        setattr(import_module("bonwise.calls.batches"), name, seconds)


def _say(number):
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main():
    """Start and wait as the lines say."""
    _loaded()
    _say(0)
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, int):
            _say(os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1]))
            continue
        child = os.fork()
        if not child:
            code = 70
            try:
                _command(*asked)
                code = 0
            except SystemExit as error:
                code = error.code or 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _say(child)


if __name__ == "__main__":
    main()
