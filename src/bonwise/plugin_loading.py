"""The import of a plug-in, which is somebody else's code: it may end the program, print or never come back."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from bonwise.printable import printable

__all__ = ["is_built_in", "load_plugin", "what_failed"]

LOADING_SECONDS = 30.0
"""How long the import of a plug-in may take."""

_REFUSED: dict[str, str] = {}
"""What a second import of the same module would not show: it is in `sys.modules` by then, or still hangs."""


def is_built_in(entry: EntryPoint) -> bool:
    """Tell whether bonwise itself brings what is behind an entry point."""
    return entry.dist is not None and entry.dist.name == "bonwise"


def load_plugin(entry: EntryPoint) -> Any:
    """Return what is behind an entry point.

    A plug-in is imported in a thread of its own, so that one that hangs holds nobody up for ever.

    Raises
    ------
    Exception
        Whatever the plug-in raises. `RuntimeError` where it ends the program or prints, `TimeoutError` where it takes
        longer than `LOADING_SECONDS`.
    """
    if is_built_in(entry):
        return entry.load()
    if entry.value in _REFUSED:
        raise RuntimeError(_REFUSED[entry.value])
    loading = _Loading(entry.load)
    thread = threading.Thread(target=loading.run, name=f"bonwise-plugin-{entry.name}", daemon=True)
    heard, sys.stdout = sys.stdout, loading.overheard(sys.stdout)
    try:
        thread.start()
        thread.join(LOADING_SECONDS)
    finally:
        sys.stdout = heard
    if thread.is_alive():
        _REFUSED[entry.value] = f"its import did not end within {LOADING_SECONDS:g} s"
        raise TimeoutError(_REFUSED[entry.value])
    if loading.error is not None:
        raise loading.error
    if loading.printed:
        words = printable(" ".join("".join(loading.printed).split()), longest=80)
        _REFUSED[entry.value] = f"its import printed to standard output: {words}"
        raise RuntimeError(_REFUSED[entry.value])
    return loading.found


def what_failed(error: BaseException) -> str:
    """Return the kind of an error and its words, the kind alone where its words fail.

    Examples
    --------
    >>> what_failed(SystemExit(3)), what_failed(ValueError("no"))
    ('SystemExit: it ended the program: 3', 'ValueError: no')
    """
    kind = type(error).__name__
    try:
        return f"{kind}: {'it ended the program: ' if isinstance(error, SystemExit) else ''}{error}"
    except Exception:  # noqa: BLE001 - the words of an error are somebody else's code too
        return kind


class _Loading:
    """One import: what it found or raised, and what it printed meanwhile."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self.load = load
        self.found: Any = None
        self.error: BaseException | None = None
        self.printed: list[str] = []
        self.thread = 0

    def run(self) -> None:
        """Import, and keep whatever comes of it."""
        self.thread = threading.get_ident()
        try:
            self.found = self.load()
        except BaseException as error:  # noqa: BLE001 - raised again where the plug-in is asked for
            self.error = error

    def overheard(self, stream: Any) -> Any:
        """Return standard output as it is for every other thread."""
        return _OverheardOutput(stream, self)


class _OverheardOutput:
    """Standard output, but for what one thread writes to it."""

    def __init__(self, stream: Any, loading: _Loading) -> None:
        self._stream = stream
        self._loading = loading

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Keep the text of the import; pass any other on."""
        if threading.get_ident() == self._loading.thread:
            self._loading.printed.append(text)
            return len(text)
        written: int = self._stream.write(text)
        return written
