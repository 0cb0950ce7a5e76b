"""An interpreter of its own in which some modules cannot be imported: what runs there, and what it loads.

Run as ``python child.py``, with a JSON document on standard input:

- ``absent``: modules that must not be importable here; the rest is not begun where one is.
- ``forbidden``: whether an import hook makes them so, where they are installed.
- ``calls``: functions of `library`, called without arguments, one after the other in the present folder.
- ``commands``: command lines of bonwise, each a list of words, run after them in the same way.

One line of JSON on standard output tells how each went, and which packages were loaded by then.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import io
import json
import sys
import traceback
from pathlib import Path


class Forbidding(importlib.abc.MetaPathFinder):
    """Answers imports of some packages as Python does where they are not installed."""

    def __init__(self, names):
        self._names = frozenset(names)

    def find_spec(self, fullname, *_):
        """Refuse what is forbidden, and leave everything else to the finders behind."""
        if fullname.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def is_importable(name):
    """Tell whether a module can be imported, by importing it."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def loaded():
    """Return the packages that this interpreter has loaded so far."""
    return sorted({name.partition(".")[0] for name in sys.modules})


def files():
    """Return what every file of the present folder holds."""
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


def called(name):
    """Call a function of `library`; return its traceback where it failed, and what is loaded now."""
    try:
        getattr(importlib.import_module("tiers.library"), name)()
    except Exception:  # noqa: BLE001 - the test that called reads it
        return {"failure": traceback.format_exc(), "loaded": loaded()}
    return {"failure": "", "loaded": loaded()}


def done(command):
    """Run one command line; return its exit code, both streams, the files that it wrote, and what is loaded now."""
    from bonwise.cli.entry import run  # noqa: PLC0415 - after some modules were forbidden

    before = files()
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(command)
    written = {
        name: content.decode("utf-8", "replace") for name, content in files().items() if before.get(name) != content
    }
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "written": written, "loaded": loaded()}


def main():
    """Do what standard input says."""
    asked = json.load(sys.stdin)
    sys.path.append(str(Path(__file__).parents[1]))
    if asked["forbidden"]:
        sys.meta_path.insert(0, Forbidding(asked["absent"]))
    importable = [name for name in asked["absent"] if is_importable(name)]
    if importable:
        sys.exit(f"can be imported: {', '.join(importable)}")
    calls = [called(name) for name in asked["calls"]]
    commands = [done(command) for command in asked["commands"]]
    sys.stdout.write(json.dumps({"calls": calls, "commands": commands}) + "\n")


if __name__ == "__main__":
    main()
