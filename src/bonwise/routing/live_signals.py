"""The signal of one pool as it comes in, by the same formulas as the study of a whole table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bonwise.data.repeats import First
from bonwise.data.verdicts import Score, Verdict
from bonwise.routing.first_pass import FirstPass
from bonwise.routing.signals import DRAW_FEATURES
from bonwise.stats.disagreement import disagreement
from bonwise.stats.pool_features import pool_features
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["live_features", "live_signal"]

_FROM_DRAWS = frozenset({*DRAW_FEATURES, "p_best"})

_ABSENT = {
    "width": "no score came with an interval",
    "disagreement": "no second judge scored two candidates",
    "p_best": "the probability of being the best is unknown",
    **dict.fromkeys(DRAW_FEATURES, "no score came with repeated draws"),
}


def live_features(first_pass: FirstPass, needs: Sequence[str], first: First = "score") -> dict[str, Floats]:
    """Compute the features of one pool, arrays of length 1, NaN where there is none.

    Parameters
    ----------
    first_pass : FirstPass
    needs : sequence of str
        Names as in `bonwise.stats.pool_features`, and ``disagreement``; others may be left out.
    first : {"score", "draw_0"}
        What counts as the score of a candidate that was drawn several times: the mean of its draws, as `Score` has
        it, or the first of them.

    Examples
    --------
    >>> features = live_features(FirstPass([Score(0.5, low=0.4, high=0.8), Score(0.9, low=0.9, high=1.0)]), ["width"])
    >>> round(float(features["width"][0]), 9)
    0.25
    """
    verdicts = first_pass.verdicts
    sizes = np.array([len(verdicts)], dtype=np.int64)
    values = _values(verdicts) if first == "score" else _first_draws(verdicts)
    widths = _widths(verdicts) if "width" in needs else None
    draws = _draws(verdicts) if _FROM_DRAWS.intersection(needs) else None
    found = pool_features(values, sizes, widths, draws)
    stated = [one for one in first_pass.p_best if one is not None]
    if "p_best" in needs and stated:
        # A strategy's posterior knows more than the draws of one pool.
        found["p_best"] = np.array([max(stated)])
    if "disagreement" in needs:
        found["disagreement"] = disagreement(values, sizes, [_values(other) for other in first_pass.others])
    return found


def live_signal(
    first_pass: FirstPass,
    needs: Sequence[str],
    value: Callable[[Mapping[str, Floats]], Floats],
    first: First = "score",
) -> tuple[float | None, str]:
    """Return the signal of one pool, rounded to 9 decimals so that equal widths tie, or None and why.

    Parameters
    ----------
    first_pass : FirstPass
    needs : sequence of str
        Features without which the signal has no value.
    value : callable
        From the features to the signal, as `bonwise.routing.signals.Signal.value`.
    first : {"score", "draw_0"}
        As in `live_features`.

    Examples
    --------
    >>> live_signal(FirstPass([Score(0.5), Score(0.9)]), ["width"], lambda features: features["width"])
    (None, 'no score came with an interval')
    """
    scored = sum(isinstance(one, Score) for one in first_pass.verdicts)
    if scored < 2:
        return None, "only one candidate was scored" if scored else "nothing was scored"
    with np.errstate(over="ignore", invalid="ignore"):  # scores near the largest double: no signal, said below
        features = live_features(first_pass, needs, first)
        for name in needs:
            if not math.isfinite(features[name][0]):
                return None, _ABSENT.get(name, f"the feature {name} is unknown")
        found = float(np.round(value(features)[0], TIE_DECIMALS))
    return (found, "") if math.isfinite(found) else (None, "the signal is not finite")


def _values(verdicts: Sequence[Verdict]) -> Floats:
    return np.array([one.value if isinstance(one, Score) else math.nan for one in verdicts], dtype=float)


def _first_draws(verdicts: Sequence[Verdict]) -> Floats:
    """Return the first draws; the score of a candidate that was drawn once is its first draw."""
    firsts = [one.draws[0] if isinstance(one, Score) and one.draws else None for one in verdicts]
    drawn = np.array([math.nan if one is None else one for one in firsts], dtype=float)
    once = [not (isinstance(one, Score) and one.draws) for one in verdicts]
    return np.where(once, _values(verdicts), drawn)


def _widths(verdicts: Sequence[Verdict]) -> Floats:
    widths = [one.width if isinstance(one, Score) else None for one in verdicts]
    return np.array([math.nan if width is None else width for width in widths], dtype=float)


def _draws(verdicts: Sequence[Verdict]) -> Floats:
    drawn = [one.draws if isinstance(one, Score) else () for one in verdicts]
    found = np.full((len(drawn), max(map(len, drawn), default=0)), math.nan)
    for row, values in zip(found, drawn, strict=True):
        row[: len(values)] = [math.nan if value is None else value for value in values]
    return found
