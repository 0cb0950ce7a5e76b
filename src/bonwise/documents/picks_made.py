"""How logged picks were made, as several documents say it."""

from __future__ import annotations

from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["PicksMade"]


class PicksMade(Record):
    """What made the picks of a log, and what decided them."""

    by: dict[str, str | bool | int]
    """Settings of the run that picked."""
    as_picked: bool
    """Whether they are taken as a seed drew them, not in expectation."""
    decided_by: dict[str, Count]
    """How often each thing decided, the most frequent first."""
    left_out: dict[str, Count] | None = None
    """The same of the picks that no figure rests on."""

    @property
    def router(self) -> str | None:
        """The router, None where none is named."""
        return self._named("router")

    @property
    def strong(self) -> str | None:
        """The stronger judge of a router, None without one."""
        return self._named("strong")

    def _named(self, setting: str) -> str | None:
        found = self.by.get(setting)
        return None if found is None else str(found)
