"""The contract of a scoring judge, on one screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from bonwise.data.verdicts import Verdict

__all__ = ["Judge"]


@runtime_checkable
class Judge(Protocol):
    """Anything that scores the candidates of one prompt.

    Attributes
    ----------
    name : str
        Short, unique in a table; it fills the ``judge`` column.
    version : str
        Changes whenever the same texts may get other scores.
    """

    @property
    def name(self) -> str:
        """Short and unique in a table."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same texts may get other scores."""
        ...

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict]:
        """Return one verdict a candidate, in candidate order."""
        ...
