"""What a selection keeps of the verdicts that it heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bonwise.data.ties import rounded
from bonwise.data.verdicts import Score, Unscored, Verdict, kept
from bonwise.selection.draws import mean_of

__all__ = ["kept_verdict"]


def kept_verdict(final: Verdict, heard: Sequence[Verdict]) -> Verdict:
    """Return the verdict by which a candidate is ranked, with the interval, the draws and the words of the judge.

    The ends are the mean of the ends that the judge gave, one pair per draw: how sure the judge says it is of one
    score, and no standard error of their mean. There are none where some draw has none, or where the candidate is not
    ranked by the mean of its draws.

    Parameters
    ----------
    final : Score or Unscored
        By which the candidate is ranked.
    heard : sequence of Score or Unscored
        What the judge said of it, in the order of the draws; empty where it was compared only.

    Examples
    --------
    >>> found = kept_verdict(Score(0.5), [Score(0.4, low=0.2, high=0.6), Score(0.6, low=0.4, high=1.0)])
    >>> found.low, found.high, found.draws
    (0.3, 0.8, (0.4, 0.6))
    """
    if len(heard) == 1 and _is_alike(final, heard[0]):
        return heard[0]
    if not heard:
        return final
    raw = final.raw or kept("\n\n".join(filter(None, (one.raw for one in heard))))
    if isinstance(final, Unscored):
        return final if final.owed or raw == final.raw else replace(final, raw=raw)
    scored = [one for one in heard if isinstance(one, Score)]
    low, high = (final.low, final.high) if final.width is not None else _stated_ends(final.value, scored)
    draws = final.draws or tuple(one.value if isinstance(one, Score) else None for one in heard)
    filled = tuple(dict.fromkeys(name for one in scored for name in one.filled))
    return Score(final.value, low=low, high=high, draws=draws, raw=raw, filled=filled)


def _is_alike(final: Verdict, heard: Verdict) -> bool:
    """Tell whether a strategy ranks by the only score that it heard."""
    if not isinstance(final, Score) or not isinstance(heard, Score):
        return final is heard
    return final.value == heard.value and final.low is None and final.high is None


def _stated_ends(value: float, scored: Sequence[Score]) -> tuple[float | None, float | None]:
    ends = [(one.low, one.high) for one in scored if one.low is not None and one.high is not None]
    if not ends or len(ends) < len(scored):
        return None, None
    if rounded(mean_of([one.value for one in scored]) or 0.0) != rounded(value):
        return None, None
    low, high = (mean_of(side) or 0.0 for side in zip(*ends, strict=True))
    return min(low, value), max(high, value)
