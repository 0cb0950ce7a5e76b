"""A limit on money as a user states it: US dollars, and perhaps the window in which they may be spent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

from bonwise.errors import UsageError
from bonwise.table.checks import check_dollars

MaxCost = float | tuple[float, Literal["hour", "day", "month"]] | str
"""As a number, as in ``(5.0, "day")``, or as text, as in ``"5/day"``."""

LIMIT_REACHED = re.compile(
    r"(?:^|was not answered: )max_(?:calls|tokens|cost)=[^ :]+ (?:is reached$|leaves no room for )"
)
"""Found in a reason, in words of bonwise's own, that says that a limit on spending is reached."""

SECONDS = {"hour": 3600.0, "day": 86_400.0, "month": 30 * 86_400.0}
_TEXT = re.compile(r"(?P<dollars>\d*\.?\d*(?:e[+-]?\d+)?)(?:/(?P<window>\w+))?", re.ASCII)
_WINDOWS = 'hour, day or month, which is 30 days: (5.0, "day"), as text 5/day'


@dataclass(frozen=True, slots=True)
class CostLimit:
    """US dollars, and the window in which they may be spent; None for those of one run or selector."""

    dollars: float
    window: str | None = None

    @classmethod
    def of(cls, name: str, value: Any) -> Self:
        """Read a `MaxCost`; a `UsageError` names the argument."""
        dollars, window = value, None
        if isinstance(value, str) and (stated := _TEXT.fullmatch(value.strip())):
            with suppress(ValueError):
                dollars, window = float(stated["dollars"]), stated["window"]
        elif isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
            dollars, window = value[0], str(value[1])
        try:
            check_dollars(name, dollars)
        except UsageError as error:
            raise UsageError(f"{name} is {value!r}", hint=f"{error.hint}, or with a window of {_WINDOWS}") from None
        if window is not None and window not in SECONDS:
            raise UsageError(f"{name} is {value!r}: there is no window {window!r}", hint=f"windows are {_WINDOWS}")
        return cls(float(dollars), window)

    def __str__(self) -> str:
        return f"{self.dollars:.15g}" + ("" if self.window is None else f"/{self.window}")

    def refuse_without(self, ledger: object) -> None:
        """Refuse a window without a ledger (None): nothing else knows what other processes spend."""
        if ledger is None and self.window is not None:
            raise UsageError(
                f"max_cost={self} needs a ledger: what was spent within the window stands there",
                hint="name a run folder (ledger=, run= or --run), or give dollars alone for a limit on one run",
            )


def check_max_cost(name: str, value: Any) -> None:
    """Refuse what is no limit on money; None is no limit."""
    if value is not None:
        CostLimit.of(name, value)
