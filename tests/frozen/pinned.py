"""The one environment in which bytes are compared: ``constraints.txt`` beside this module."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["CONSTRAINTS", "otherwise", "wanted"]

CONSTRAINTS = Path(__file__).parent / "constraints.txt"

_MADE_ON = re.compile(r"# made on: Python (?P<python>[\d.]+), (?P<machine>\S+)")
_TESTS = "# for the tests alone"


def wanted() -> dict[str, str]:
    """Return the versions of the packages that are needed at run time."""
    text = CONSTRAINTS.read_text(encoding="utf-8").partition(_TESTS)[0]
    lines = [line.split("==") for line in text.splitlines() if line and not line.startswith("#")]
    return dict(lines)


def otherwise() -> list[str]:
    """Say what of this environment is not as it was where the golden files were made; nothing where all is."""
    return list(_otherwise())


def _otherwise() -> Iterator[str]:
    made_on = _MADE_ON.search(CONSTRAINTS.read_text(encoding="utf-8"))
    python = ".".join(platform.python_version_tuple()[:2])
    machine = f"{platform.system()}-{platform.machine()}"
    if made_on["python"] != python:
        yield f"Python {python} in place of {made_on['python']}"
    if made_on["machine"] != machine:
        yield f"{machine} in place of {made_on['machine']}"
    for name, pinned in wanted().items():
        installed = _installed(name)
        if installed != pinned:
            yield f"{name} {installed or 'not installed'} in place of {pinned}"


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
