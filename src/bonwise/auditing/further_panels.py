"""Panels of an audited table with other candidates than the figures have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bonwise.auditing.settings import Settings
from bonwise.data.panel import Panel, lay_out
from bonwise.data.table import ScoreTable
from bonwise.errors import InputError

__all__ = ["FurtherPanels"]


@dataclass(frozen=True, eq=False)
class FurtherPanels:
    """Panels that are laid out when a judge needs one, once for all judges.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> table = ScoreTable.from_frame(simulate("arena", n=5, seed=1).frame())
    >>> panels = FurtherPanels(table, Settings())
    >>> panels.with_control("judge"), panels.without("judge", "c0").sizes.tolist()
    (None, [3, 3, 3, 3, 3])
    """

    table: ScoreTable
    settings: Settings
    _laid_out: dict[tuple[str, ...], Mapping[str, Panel]] = field(default_factory=dict, repr=False)

    def with_control(self, judge: str) -> Panel | None:
        """Return a judge's panel with the named easy candidates put back; None where none are named."""
        return self._panel(judge, self.settings.exclude) if self.settings.control else None

    def without(self, judge: str, candidate: str) -> Panel | None:
        """Return a judge's panel as it is without a candidate; None where nothing is left to choose."""
        try:
            return self._panel(judge, (*self.settings.exclude, *self.settings.control, candidate))
        except InputError:
            return None

    def _panel(self, judge: str, left_out: Sequence[str]) -> Panel:
        key = tuple(left_out)
        if key not in self._laid_out:
            panels = lay_out(self.table, exclude=key, shape=self.settings.shape)
            self._laid_out[key] = {panel.judge: panel for panel in panels}
        return self._laid_out[key][judge]
