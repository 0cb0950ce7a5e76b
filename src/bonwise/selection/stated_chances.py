"""What a judge itself says of who is the best of a pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bonwise.data.ties import rounded
from bonwise.data.verdicts import Score, Unscored, Verdict
from bonwise.selection.protocol import Standing

__all__ = ["with_stated_chances"]


def with_stated_chances(standing: Standing, heard: Mapping[int, Verdict]) -> Standing:
    """Return a standing with the chances and the expected regret that the judge stated, as a stack of judges does.

    A strategy's own go before. Nothing is stated while an answer is pending, or where some score has no chance.

    Parameters
    ----------
    standing : Standing
    heard : mapping of int to Score or Unscored
        The only verdict on each entrant.

    Examples
    --------
    >>> scores = Score(1.5, p_best=0.8, expected_regret=0.1), Score(0.5, p_best=0.2, expected_regret=0.6)
    >>> found = with_stated_chances(Standing(scores), dict(enumerate(scores)))
    >>> found.p_best, found.expected_regret
    ((0.8, 0.2), 0.1)
    """
    if standing.p_best or standing.expected_regret is not None:
        return standing
    verdicts = [heard.get(at) for at in range(len(standing.verdicts))]
    scored = [one for one in verdicts if isinstance(one, Score)]
    if not scored or any(one is None or (isinstance(one, Unscored) and one.owed) for one in verdicts):
        return standing
    if any(one.p_best is None for one in scored):
        return standing
    top = max(rounded(one.value) for one in scored)
    # Chance decides among those that share the top score.
    regrets = [one.expected_regret for one in scored if rounded(one.value) == top]
    stated = [one for one in regrets if one is not None]
    return replace(
        standing,
        p_best=tuple(one.p_best if isinstance(one, Score) else None for one in verdicts),
        expected_regret=sum(stated) / len(stated) if stated else None,
        p_best_reason="",
    )
