"""One budget for two uses: a stronger judge for some prompts, further draws of the weak one for the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.report.amounts import brief
from bonwise.report.numbers import number
from bonwise.routing.gain_model import cross_fitted
from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.redraw_gain import RedrawPaths, label_slope, redraw_paths
from bonwise.routing.result import BudgetSplit
from bonwise.routing.signals import FIRST_PASS_FEATURES, LEAST_LABELS
from bonwise.stats.correlation import from_influence
from bonwise.stats.draw_prior import first_call_test, learn_prior
from bonwise.stats.estimate import Estimate
from bonwise.stats.routing import routed_part
from bonwise.stats.sums import Floats

__all__ = ["split_budget"]

_LEAST_DRAWS = 3
_NOTHING = 1e-12  # a gain below it is rounding
_SHARES = (0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1)


def split_budget(
    prompts: JudgedPrompts, mean_calls: float, strong_cost: float, *, confidence: float = 0.95, seed: int = 0
) -> BudgetSplit:
    """Split a budget by the plug-in rule.

    Over the routed share rho, maximise the mean of the cross-fitted expected gain over the routed
    prompts plus ``a (max_i m_i after - before)`` over the others, redrawn with
    ``(B - K - rho C) / (1 - rho)`` further calls each; m is the posterior mean score of the
    value-of-information rule and a the slope of label on score.

    Redraws and routing are played on all prompts, labelled or not; labels teach the expected gain and
    a. Where the table holds labelled prompts alone, drawn with stated propensities, each stands for
    1 / propensity of them throughout.

    Parameters
    ----------
    prompts : JudgedPrompts
        With three or more scores of each candidate, the first of which is the first pass, and 75 or more
        labelled prompts.
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
    weights = prompts.population if prompts.population is not None else np.ones(len(panel.sizes))
    weights = weights / weights.mean()
    first = float(np.average(panel.sizes, weights=weights))
    drawn = _padded(_check(prompts, mean_calls, strong_cost, first), panel.sizes)
    labels = _padded(panel.labels[:, None], panel.sizes)[labelled, :, 0]
    try:
        # Prompts that are drawn again and again would make the test of the first call reject too often.
        alike = first_call_test(drawn).averaged_in
        sample = drawn if prompts.population is None else _as_weighted(drawn, weights, seed)
        prior = learn_prior(sample, first_counts=alike)
        slope = label_slope(labels, drawn[labelled], prompts.outcomes.relative)
    except ValueError as error:
        raise InputError(
            f"{panel.judge}: {error}", hint="further draws are not expected to help here: spend on routing"
        ) from error
    features = {name: prompts.features[name] for name in FIRST_PASS_FEATURES if name in prompts.features}
    expected = cross_fitted(features, prompts.gain, prompts.weights, seed=seed)
    plan = _BudgetUse(
        np.maximum(np.nan_to_num(expected, nan=0.0), 0.0),
        redraw_paths(drawn, prior, seed=seed),
        weights,
        slope,
        mean_calls - first,
        strong_cost,
    )
    return _best(plan, mean_calls, confidence)


@dataclass(frozen=True, eq=False)
class _BudgetUse:
    expected: Floats
    paths: RedrawPaths
    weights: Floats
    slope: float
    spare: float
    cost: float

    @property
    def most(self) -> float:
        """The largest share that the budget can route."""
        return min(1.0, self.spare / self.cost)

    def calls(self, share: float) -> float:
        return max(0.0, (self.spare - share * self.cost) / (1 - share)) if share < 1 else 0.0

    def gains(self, share: float, *, redraw: bool = True) -> Floats:
        """Return the expected gain of each prompt."""
        routed = routed_part(self.expected, share, self.weights)
        found: Floats = routed * self.expected
        if redraw and share < 1:
            left = 1 - routed
            found = found + left * self.slope * self.paths.at(self.calls(share), self.weights * left)
        return found

    def total(self, share: float, *, redraw: bool = True) -> float:
        return float(np.mean(self.weights * self.gains(share, redraw=redraw)))


def _best(plan: _BudgetUse, mean_calls: float, confidence: float) -> BudgetSplit:
    share, calls = _taken(plan)
    gains = plan.gains(share, redraw=calls > 0)
    over = gains - plan.gains(plan.most, redraw=False)
    return BudgetSplit(
        mean_calls=mean_calls,
        strong_cost=plan.cost,
        share=share,
        further_calls=calls,
        gain=EstimateRecord.of(_mean(plan.weights, gains, confidence)),
        route_only=plan.total(plan.most, redraw=False),
        redraw_only=plan.total(0.0),
        over_routing=EstimateRecord.of(_mean(plan.weights, over, confidence)),
        sentence=_sentence(share, calls, plan),
    )


def _taken(plan: _BudgetUse) -> tuple[float, float]:
    """Return the best share and the further calls on each of the others; neither where nothing can be gained."""
    shares = sorted({one for one in _SHARES if one < plan.most} | {plan.most})
    totals = [plan.total(one) for one in shares]
    if max(totals) <= _NOTHING:
        return 0.0, 0.0
    # Where the budget routes every prompt to a judge that never errs, nothing is left to gain.
    alone = plan.most == 1 or totals[-1] >= max(totals) - _NOTHING
    share = plan.most if alone else shares[int(np.argmax(totals))]
    return share, plan.calls(share)


def _mean(weights: Floats, values: Floats, confidence: float) -> Estimate:
    mean = float(np.mean(weights * values))
    return from_influence(mean, weights * (values - mean), confidence=confidence)


def _sentence(share: float, calls: float, plan: _BudgetUse) -> str:
    if share == 0 and calls == 0:
        return "Spend nothing beyond the first scores: neither use is expected to gain anything."
    if share == 0:
        return "Spend all of it on further draws: routing at this price is expected to bring less."
    if share == plan.most:
        sent = number(plan.most, "share")
        return f"Routing alone is best: send {sent} of the prompts to the stronger judge and draw nothing further."
    further = f"{brief(calls)} further calls on each of the others"
    return f"Send {number(share, 'share')} of the prompts to the stronger judge and spend {further}."


def _as_weighted(drawn: Floats, weights: Floats, seed: int) -> Floats:
    """Return as many pools, each as often as its weight says: what is learnt without weights is then weighted."""
    places = (np.arange(len(drawn)) + np.random.default_rng(seed).random()) / len(drawn)
    again: Floats = drawn[np.searchsorted(np.cumsum(weights) / weights.sum(), places).clip(max=len(drawn) - 1)]
    return again


def _check(prompts: JudgedPrompts, mean_calls: float, strong_cost: float, first: float) -> Floats:
    if not 0 < strong_cost < np.inf:
        raise UsageError(
            f"the price of a routed prompt must be above 0, not {strong_cost:g}", hint="such as 20 calls"
        )
    if not first < mean_calls < np.inf:
        raise UsageError(
            f"{mean_calls:g} calls per prompt leave nothing beyond the {first:g} first scores", hint="give more calls"
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
