"""What a selection found, and how it came to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Selection"]


@dataclass(frozen=True)
class Selection:
    """The pick of one pool.

    Parameters
    ----------
    prompt_id : str or None
    best : object or None
        The candidate as it was passed in; None when nothing could be scored.
    best_id : str or None
    index : int or None
        Position of the best among the candidates.
    text : str or None
        Its text.
    ids : tuple of str
        Candidate ids, in candidate order.
    scores : tuple of float or None
        In candidate order, None where unscored.
    ranking : tuple of str
        Ids from best to worst, unscored ones left out; ties stand in the seeded order.
    tied : tuple of str
        Ids that share the top score, empty where one stands alone.
    decided_by : str
        ``score``, ``tie-break`` (seeded), ``only candidate``, ``nothing scored``, or ``owed``: an answer has not
        arrived yet, and a later run asks for it.
    calls : int
        Calls of a model.
    cost : float or None
        In US dollars; None where unknown.
    unscored : mapping of str to str
        Id to reason.
    settings : mapping
        ``judge``, ``judge_version``, ``strategy``, ``seed``, the package's ``version``, and ``parameters``: every set
        of sampling parameters that was really sent, in order of first appearance; empty where no model was asked.
    """

    prompt_id: str | None
    best: Any
    best_id: str | None
    index: int | None
    text: str | None = field(repr=False)
    ids: tuple[str, ...] = field(repr=False)
    scores: tuple[float | None, ...]
    ranking: tuple[str, ...] = field(repr=False)
    tied: tuple[str, ...]
    decided_by: str
    calls: int
    cost: float | None
    unscored: Mapping[str, str]
    settings: Mapping[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the line that ``bonwise select`` writes; ``best`` is the id."""
        return {
            "prompt_id": self.prompt_id,
            "best": self.best_id,
            "index": self.index,
            "text": self.text,
            "ids": list(self.ids),
            "scores": list(self.scores),
            "ranking": list(self.ranking),
            "tied": list(self.tied),
            "decided_by": self.decided_by,
            "calls": self.calls,
            "cost": self.cost,
            "unscored": dict(self.unscored),
            "settings": dict(self.settings),
        }
