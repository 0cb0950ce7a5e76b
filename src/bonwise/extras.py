"""What only an extra of the package brings, and the line to type where that extra is missing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from bonwise.errors import MissingExtraError

__all__ = ["BOOTSTRAP", "FAST", "FIGURES", "PAGES", "TABLES", "TORCH", "TREES", "Feature"]


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that bonwise does with the modules of an extra.

    Examples
    --------
    >>> Feature(("json",)).missing()
    ()
    >>> Feature(("json", "no_such_module")).require("this example")
    Traceback (most recent call last):
    bonwise.errors.MissingExtraError: this example needs bonwise[audit]: no_such_module is not installed \
(pip install 'bonwise[audit]')
    """

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
FAST = Feature(("aiohttp",), "fast")
TORCH = Feature(("torch",), "torch")
TREES = Feature(("sklearn", "threadpoolctl"), "trees")


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # something in this process forbids the module
        return False
