"""One budget for two uses: a stronger judge for some prompts, further draws of the weak one for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bonwise.errors import InputError, UsageError
from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.signals import FIRST_PASS_FEATURES, LEAST_LABELS
from bonwise.stats.correlation import from_influence
from bonwise.stats.draw_prior import learn_prior
from bonwise.stats.estimate import Estimate
from bonwise.stats.gain_model import cross_fitted
from bonwise.stats.redraw_gain import RedrawPaths, label_slope, redraw_paths
from bonwise.stats.sums import Floats

__all__ = ["BudgetSplit", "split_budget"]

_LEAST_DRAWS = 3
_SHARES = (0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1)


@dataclass(frozen=True, slots=True)
class BudgetSplit:
    """How to split a mean number of calls a prompt between routing and redraws.

    Parameters
    ----------
    mean_calls, strong_cost : float
        What was asked for: calls a prompt in all, and the price of one routed prompt in calls.
    share : float
        Part of the prompts to route.
    further_calls : float
        Mean calls of redraws for each prompt that is not routed, beyond its first scores.
    gain : Estimate
        Expected gain in the mean label over the first pass, with a perfect stronger judge.
    route_only, redraw_only : float
        The same where all is spent on one use; routing first passes over the rest of the budget
        where every prompt is routed.
    over_routing : Estimate
        Gain minus that of routing alone, paired by prompt.
    sentence : str
    """

    mean_calls: float
    strong_cost: float
    share: float
    further_calls: float
    gain: Estimate
    route_only: float
    redraw_only: float
    over_routing: Estimate
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "mean_calls": self.mean_calls,
            "strong_cost": self.strong_cost,
            "share": self.share,
            "further_calls": self.further_calls,
            "gain": self.gain.to_dict(),
            "route_only": self.route_only,
            "redraw_only": self.redraw_only,
            "over_routing": self.over_routing.to_dict(),
            "sentence": self.sentence,
        }


def split_budget(
    prompts: JudgedPrompts, mean_calls: float, strong_cost: float, *, confidence: float = 0.95, seed: int = 0
) -> BudgetSplit:
    """Split a budget by the plug-in rule.

    Over the routed share rho, maximise the mean of the cross-fitted expected gain over the routed
    prompts plus ``a (max_i m_i after - before)`` over the others, redrawn with
    ``(B - K - rho C) / (1 - rho)`` further calls each; m is the posterior mean score of the
    value-of-information rule and a the slope of label on score.

    Parameters
    ----------
    prompts : JudgedPrompts
        With three or more scores of each candidate, and 75 or more labelled prompts.
    mean_calls : float
        B: calls of the weak judge a prompt in all, the K first ones among them, more than those.
    strong_cost : float
        C: price of routing one prompt, in calls of the weak judge.
    confidence : float
    seed : int
        Of ties, of the cross-fit, and of draws drawn again where fewer than eight are stored.

    Raises
    ------
    bonwise.errors.InputError
        Draws or labels are too few, or the budget does not cover the first scores.
    """
    panel, labelled = prompts.panel, prompts.labelled
    sizes = panel.sizes[labelled]
    first = float(sizes.mean())
    draws = _check(prompts, mean_calls, strong_cost, first)
    cells = np.repeat(labelled, panel.sizes)
    drawn, labels = _padded(draws[cells], sizes), _padded(panel.labels[cells][:, None], sizes)[:, :, 0]
    try:
        paths = redraw_paths(drawn, learn_prior(drawn), seed=seed)
        slope = label_slope(labels, drawn)
    except ValueError as error:
        raise InputError(f"{panel.judge}: {error}", hint="redraws promise nothing here: spend on routing") from error
    features = {name: prompts.features[name] for name in FIRST_PASS_FEATURES if name in prompts.features}
    expected = cross_fitted(features, prompts.gain, prompts.weights, seed=seed)[labelled]
    plan = _Plan(np.maximum(np.nan_to_num(expected, nan=0.0), 0.0), paths, slope, mean_calls - first, strong_cost)
    return _best(plan, prompts.outcomes.relative, mean_calls, confidence)


@dataclass(frozen=True, eq=False)
class _Plan:
    expected: Floats
    paths: RedrawPaths
    slope: float
    spare: float
    cost: float

    @property
    def most(self) -> float:
        """The largest share that the budget can route."""
        return min(1.0, self.spare / self.cost)

    def routed(self, share: float) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(self.expected), dtype=bool)
        found[np.argsort(-self.expected, kind="stable")[: round(share * len(found))]] = True
        return found

    def calls(self, share: float) -> float:
        return max(0.0, (self.spare - share * self.cost) / (1 - share)) if share < 1 else 0.0

    def gains(self, share: float, *, redraw: bool = True) -> Floats:
        """Return the expected gain of each prompt."""
        routed = self.routed(share)
        found = np.where(routed, self.expected, 0.0)
        if redraw and not routed.all():
            found[~routed] = self.slope * self.paths.at(self.calls(share), ~routed)
        return found


def _best(plan: _Plan, weights: Floats, mean_calls: float, confidence: float) -> BudgetSplit:
    shares = sorted({one for one in _SHARES if one < plan.most} | {plan.most})
    totals = [float(np.mean(weights * plan.gains(share))) for share in shares]
    # Where the budget routes every prompt to a judge that never errs, nothing is left to gain.
    share = 1.0 if plan.most == 1 else shares[int(np.argmax(totals))]
    gains, alone = plan.gains(share), plan.gains(plan.most, redraw=False)
    over = gains - alone
    return BudgetSplit(
        mean_calls,
        plan.cost,
        share,
        plan.calls(share),
        _mean(weights, gains, confidence),
        float(np.mean(weights * alone)),
        totals[0],
        _mean(weights, over, confidence),
        _sentence(share, plan, float(np.mean(weights * over))),
    )


def _mean(weights: Floats, values: Floats, confidence: float) -> Estimate:
    mean = float(np.mean(weights * values))
    return from_influence(mean, weights * (values - mean), confidence=confidence)


def _sentence(share: float, plan: _Plan, over: float) -> str:
    if share == 0:
        return "Spend all of it on further draws: routing at this price is expected to bring less."
    if share == plan.most or over <= 0:
        return f"Routing alone is best: send {100 * plan.most:.3g}% of the prompts on and draw nothing further."
    calls = f"{plan.calls(share):.2g} further calls on each of the others"
    return f"Send {100 * share:.3g}% of the prompts on and spend {calls}."


def _check(prompts: JudgedPrompts, mean_calls: float, strong_cost: float, first: float) -> Floats:
    if not 0 < strong_cost < np.inf:
        raise UsageError(
            f"the price of a routed prompt must be above 0, not {strong_cost:g}", hint="such as 20 calls"
        )
    if not first < mean_calls < np.inf:
        raise UsageError(
            f"{mean_calls:g} calls a prompt leave nothing beyond the {first:g} first scores", hint="give more calls"
        )
    if prompts.draws is None or prompts.draws.shape[1] < _LEAST_DRAWS:
        raise InputError(
            f"the budget of {prompts.panel.judge!r} cannot be split without {_LEAST_DRAWS} scores of each candidate",
            hint="give columns draw_0, draw_1, draw_2 ..., as the judge resampled:MODEL does",
        )
    if (labelled := len(prompts.outcomes.gain)) < LEAST_LABELS:
        raise InputError(
            f"{labelled} labelled prompts are fewer than the {LEAST_LABELS} it takes to split a budget",
            hint="label more prompts",
        )
    return prompts.draws


def _padded(cells: Floats, sizes: npt.NDArray[np.int64]) -> Floats:
    """Return cells grouped by prompt as (prompts, most candidates, k), NaN where a pool is smaller."""
    found = np.full((len(sizes), int(sizes.max()), cells.shape[1]), np.nan)
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)
    found[owner, np.arange(len(cells)) - starts[owner]] = cells
    return found
