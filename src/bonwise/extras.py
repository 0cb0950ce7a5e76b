"""What only an extra of the package brings, and the line to type where that extra is missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, wraps
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from bonwise.errors import MissingExtraError


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that bonwise does with the modules of an extra."""

    modules: tuple[str, ...]
    """Names as Python imports them."""
    extra: str = "audit"
    """The extra that brings them."""

    def missing(self) -> tuple[str, ...]:
        """Return the modules that are not installed; nothing is imported to find out."""
        return tuple(name for name in self.modules if not _is_installed(name))

    def require(self, asked: str) -> None:
        """Refuse what cannot be done here, before anything is read, sent or written; `asked` begins the message."""
        missing = self.missing()
        if missing:
            *others, last = missing
            names = f"{', '.join(others)} and {last} are" if others else f"{last} is"
            raise MissingExtraError(
                f"{asked} needs bonwise[{self.extra}]: {names} not installed",
                hint=f"pip install 'bonwise[{self.extra}]'",
            )


TABLES = Feature(("pyarrow",))
"""Tables of scores, labels, votes or picks: read from files, and their text columns held in memory."""

PAGES = Feature(("jinja2", "matplotlib"))
FIGURES = Feature(("matplotlib",))
BOOTSTRAP = Feature(("threadpoolctl",))
EXCEL = Feature(("python_calamine",), "excel")
FAST = Feature(("aiohttp",), "fast")
POSTGRES = Feature(("asyncpg",), "postgres")
RAY = Feature(("ray",), "ray")
REMOTE = Feature(("fsspec",), "scale")
REWARD = Feature(("torch", "transformers"), "torch")
SCHEMA = Feature(("jsonschema",), "schema")
SORTING = Feature(("duckdb",), "scale")
TORCH = Feature(("torch",), "torch")
TREES = Feature(("sklearn", "threadpoolctl"), "trees")


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # something in this process forbids the module
        return False


_THREADS: ContextVar[int] = ContextVar("threads", default=0)
_OPENMP = frozenset({"sklearn", "torch"})
_BLAS = _OPENMP | {"numpy", "scipy.linalg"}
"""Modules that bring a library with threads of its own."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@contextmanager
def limited_threads(count: int | None = None) -> Iterator[None]:
    """Let linear algebra take so many threads, one unless said: sums in one order have the same bits anywhere."""
    # What the environment says holds from the start: then nothing is to be looked for, but for threads of OpenMP.
    within = _THREADS.get() or int(os.environ.get("OPENBLAS_NUM_THREADS") or 0)
    wanted = count or _THREADS.get() or 1
    before = _THREADS.set(wanted)
    try:
        if (wanted == within and _OPENMP.isdisjoint(sys.modules)) or BOOTSTRAP.missing():
            yield
        else:
            with _libraries(_BLAS.intersection(sys.modules)).limit(limits=wanted):
                yield
    finally:
        _THREADS.reset(before)


@lru_cache(maxsize=4)
def _libraries(_loaded: frozenset[str]) -> Any:
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - an extra brings it

    # Looking for the libraries takes longer than a small bootstrap: look once, and again where one was loaded since.
    return ThreadpoolController()


def linear_algebra(function: _Function) -> _Function:
    """Run a public function within `limited_threads`; its command has ``--threads``."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        import numpy  # noqa: F401, ICN001, PLC0415 - so that its library is there to be limited

        with limited_threads():
            return function(*given, **named)

    call.__threads__ = True  # type: ignore[attr-defined]
    return cast("_Function", call)
