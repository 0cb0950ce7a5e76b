"""What was learnt from a pilot: the prior of `bonwise.stats.draw_prior`, and how many calls each price buys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from bonwise.arrays import Floats
from bonwise.flags import takes_numbers
from bonwise.stats.draw_prior import DrawPrior, learn_prior, spread_of
from bonwise.stats.redraws import CallCurve, CallPrice, replay

_POINTS = 113
"""Of the curve of prices, each with its neighbour: every quarter of a call for four candidates of eight draws."""


@takes_numbers
@dataclass(frozen=True)
class DrawModel:
    """How the calls of one judge scatter on one kind of pool, learnt without labels.

    Parameters
    ----------
    prior : DrawPrior
    call_sd : float
        Of one later call about what its candidate's calls average to, in score units.
    candidate_sd : float
        Of these averages between the candidates of one prompt; 0 where chance alone explains their differences.
    low, high : float
        Scores outside are refused: nothing is known of them.
    max_draws : int
        Draws of one candidate, the first among them, for which `prices` hold.
    mean_calls, prices : tuple of float
        Calls of a pool, its first draws among them, increasing; and the price of a call, in score units, at which the
        pools of the pilot take just so many on average. Where one price more or less moves many pools at once, two
        points lie far apart in calls.
    prompts, candidates, draws : int
        What it was learnt from: prompts, candidates of all prompts together, draws of each.
    left_out : int
        Prompts without two candidates that had all their draws scored.
    judge : str
        Whose draws they were, empty where that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.normal(0.6, 0.1, size=(200, 4, 1))
    >>> model = DrawModel.fit(quality + rng.normal(0, 0.1, size=(200, 4, 5)))
    >>> round(model.call_sd, 2), round(model.candidate_sd, 2), round(model.reliability, 1)
    (0.1, 0.1, 0.5)
    >>> model.prices_for(6).lower > model.prices_for(12).higher > 0
    True
    """

    prior: DrawPrior
    call_sd: float
    candidate_sd: float
    low: float
    high: float
    max_draws: int
    mean_calls: tuple[float, ...] = field(repr=False)
    prices: tuple[float, ...] = field(repr=False)
    prompts: int
    candidates: int
    draws: int
    left_out: int = 0
    judge: str = field(default="", compare=False)

    @classmethod
    def fit(cls, draws: Floats, *, max_draws: int = 8, seed: int = 0) -> DrawModel:
        """Learn from draws of shape (n, K, k), k at least 3, NaN where absent, for a rule of at most `max_draws`."""
        if max_draws < 2:
            raise ValueError(f"max_draws is {max_draws}: it must allow a second draw")
        prior = learn_prior(draws)
        whole = np.asarray(~np.isnan(draws).any(axis=2))
        used = whole.sum(axis=1) > 1
        played = replay(draws[used], prior, most=max_draws, seed=seed)
        curve = played.curve().thinned(_POINTS)
        call, between = spread_of(draws)
        low, high = float(np.nanmin(draws)), float(np.nanmax(draws))
        return cls(
            prior,
            math.sqrt(call),
            math.sqrt(between),
            # A pilot of some hundred prompts need not have met the ends of the scale.
            2 * low - high,
            2 * high - low,
            max_draws,
            tuple(curve.calls.tolist()),
            tuple(curve.prices.tolist()),
            int(used.sum()),
            int(whole[used].sum()),
            draws.shape[2],
            int((~used).sum()),
        )

    @property
    def reliability(self) -> float:
        """Share of the variance of one later call that lies between candidates, from 0 to 1."""
        between = self.candidate_sd**2
        return between / (between + self.call_sd**2)

    def prices_for(self, mean_calls: float) -> CallPrice:
        """Return the prices at which pools like those of the pilot take so many calls on average.

        Raises
        ------
        ValueError
            Fewer calls than the first draws take, or more than `max_draws` of each candidate.
        """
        return CallCurve(np.array(self.mean_calls), np.array(self.prices)).prices_for(mean_calls)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON's types."""
        return asdict(self) | {"prior": self.prior._asdict()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> DrawModel:
        """Make one from what `to_dict` returned; `bonwise.selection.draw_model.load_model` reads and checks a file.

        Raises
        ------
        ValueError
            Something is absent.
        """
        try:
            # What says nothing of the first call keeps it apart.
            kept = {"first_counts": False, **stored["prior"]}
            prior = DrawPrior(**{name: _tuple(kept[name]) for name in DrawPrior._fields})
            whole = {"judge": "", **stored}
            plain = {setting.name: _tuple(whole[setting.name]) for setting in fields(cls) if setting.name != "prior"}
        except KeyError as error:
            raise ValueError(f"{error.args[0]} is missing") from error
        return cls(prior, **plain)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
