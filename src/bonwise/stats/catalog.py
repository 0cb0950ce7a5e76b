"""All metrics, in the order in which documents hold them; a tied pick counts in expectation, on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bonwise.arrays import Floats
from bonwise.stats.estimand import Estimand, Metric, OutcomeWeights
from bonwise.stats.jackknife import Functional
from bonwise.stats.sums import Sums


def ratio(numerator: Floats, denominator: Floats, scale: Floats | float = 1.0) -> Floats:
    """Divide, NaN where the denominator is 0 or below 1e-12 of `scale`, the size of the terms it was summed from."""
    usable = denominator > 1e-12 * scale
    if usable.all():
        return numerator / denominator
    out = np.full(np.broadcast(numerator, usable).shape, np.nan)
    quotient: Floats = np.divide(numerator, denominator, out=out, where=usable)
    return quotient


def global_r(t: Sums) -> Floats:
    """Pearson correlation of scores and labels over all cells (the paper's global r)."""
    return _root_ratio(_total(t.SO, t.S, t.O, t.cells), _total_SS(t), _total_OO(t), t.SS, t.OO)


def within_r(t: Sums) -> Floats:
    """Correlation of deviations from prompt means, ``sum eS eO / sqrt(sum eS^2 sum eO^2)``; tied prompts count."""
    return _root_ratio(t.eSO, t.eSS, t.eOO, t.SS, t.OO)


def inflation(t: Sums) -> Floats:
    """Share of the global correlation that is gone within prompts: 1 - within_r / global_r."""
    return lost_share(within_r(t), global_r(t))


def lost_share(within: Floats, overall: Floats) -> Floats:
    """Return 1 less the ratio of two correlations, NaN where the second is not above 0."""
    return 1 - within / np.where(overall > 1e-12, overall, np.nan)


def attenuation(t: Sums) -> Floats:
    """Slope of the judge's deviations on the oracle's (the paper's alpha)."""
    return ratio(t.eSO, t.eOO, t.OO)


def judge_between_share(t: Sums) -> Floats:
    """Share of the sum of squares of scores that lies between prompt means."""
    return 1 - ratio(t.eSS, _total_SS(t), t.SS)


def oracle_between_share(t: Sums) -> Floats:
    """Share of the sum of squares of labels that lies between prompt means."""
    return 1 - ratio(t.all_eOO, _total(t.all_OO, t.all_O, t.all_O, t.all_cells), t.all_OO)


def squares_of_labels(t: Sums) -> Floats:
    """Return what each prompt adds to the sum of squares of labels about their mean over all prompts."""
    mean = float(t.all_O.sum() / t.all_cells.sum())
    return t.all_OO - 2 * mean * t.all_O + mean * mean * t.all_cells


def _total(products: Floats, left: Floats, right: Floats, cells: Floats) -> Floats:
    # Prompts may all lack scores, or all that are left do: then nothing varies.
    return products - left * right / (cells if np.all(cells) else np.where(cells == 0, 1.0, cells))


def _total_SS(t: Sums) -> Floats:  # noqa: N802 - S squared, as in the paper
    return _total(t.SS, t.S, t.S, t.cells)


def _total_OO(t: Sums) -> Floats:  # noqa: N802
    return _total(t.OO, t.O, t.O, t.cells)


def _root_ratio(product: Floats, left: Floats, right: Floats, scale_left: Floats, scale_right: Floats) -> Floats:
    usable = (left > 1e-12 * scale_left) & (right > 1e-12 * scale_right)
    if usable.all():
        whole: Floats = product / (np.sqrt(left) * np.sqrt(right))
        return whole
    reach = np.sqrt(np.where(usable, left, 1.0)) * np.sqrt(np.where(usable, right, 1.0))
    return np.where(usable, product / reach, np.nan)


def _spread(t: Sums) -> Floats:
    """How far the labels of each prompt lie apart, times what it weighs."""
    return np.sqrt(t.eOO * t.prompts)


def _spread_over_cells(t: Sums) -> Floats:
    """How far they lie from the mean of all cells, of which `t` is by prompt, times what it weighs."""
    mean = t.O.sum() / max(float(t.cells.sum()), 1.0)
    spread: Floats = np.sqrt(np.maximum(t.OO - 2 * mean * t.O + mean * mean * t.cells, 0.0) * t.prompts)
    return spread


def _room(t: Sums) -> Floats:
    """What the best candidate of each prompt gains over a random one."""
    return t.M - t.R


_BOTH_VARY = "scores and labels that vary"
_BOTH_VARY_WITHIN = "a prompt where scores differ and one where labels differ"
_CORRELATION = (-1.0, 1.0)
_ANY = (-np.inf, np.inf)

WITHIN_PROMPTS = (
    Estimand(
        "global_r",
        global_r,
        _BOTH_VARY,
        _CORRELATION,
        counted=lambda t: t.cells,
        of_products=True,
        weight=_spread_over_cells,
        group="Over all cells",
        meaning="correlation over all cells",
        unit="number",
        headline=True,
    ),
    Estimand(
        "within_r",
        within_r,
        _BOTH_VARY_WITHIN,
        _CORRELATION,
        counted=lambda t: t.judged,
        of_products=True,
        weight=_spread,
        group="Within prompts",
        meaning="correlation within prompts",
        unit="number",
        headline=True,
    ),
    Estimand(
        "inflation",
        inflation,
        "a global_r above 0 and a defined within_r",
        _ANY,
        counted=lambda t: t.cells,
        over="global_r",
        of_products=True,
        lost_of=(within_r, global_r),
        weight=_spread,
        group="Over all cells",
        meaning="share of global_r lost within prompts",
        unit="share",
    ),
    Estimand(
        "attenuation",
        attenuation,
        "a prompt where labels differ",
        _ANY,
        counted=lambda t: t.judged,
        of_products=True,
        weight=_spread,
        group="Within prompts",
        meaning="slope of score on label deviations",
        unit="number",
    ),
    Estimand(
        "judge_between_share",
        judge_between_share,
        "scores that vary",
        counted=lambda t: t.cells,
        on_labels=False,
        group="Over all cells",
        meaning="variance of scores between prompts",
        unit="share",
    ),
    Estimand(
        "oracle_between_share",
        oracle_between_share,
        "labels that vary",
        on_scores=False,
        share_of=squares_of_labels,
        group="Over all cells",
        meaning="variance of labels between prompts",
        unit="share",
    ),
)


def tie_rate(t: Sums) -> Floats:
    """Share of within-prompt pairs to which the judge gives equal scores."""
    return 1 - ratio(t.apart_S, t.pairs)


def oracle_tie_rate(t: Sums) -> Floats:
    """Share of within-prompt pairs with equal labels."""
    return 1 - ratio(t.all_apart_O, t.all_pairs)


def top1_tie_rate(t: Sums) -> Floats:
    """Share of prompts where more than one candidate has the highest score."""
    return ratio(t.tied_top, t.judged)


_TIES = (
    Estimand(
        "tie_rate",
        tie_rate,
        "a pair",
        counted=lambda t: t.judged,
        on_labels=False,
        average_over=lambda t: t.pairs,
        group="Within prompts",
        meaning="pairs with equal scores",
        unit="share",
    ),
    Estimand(
        "oracle_tie_rate",
        oracle_tie_rate,
        "a pair",
        on_scores=False,
        average_over=lambda t: t.all_pairs,
        group="Within prompts",
        meaning="pairs with equal labels",
        unit="share",
    ),
    Estimand(
        "top1_tie_rate",
        top1_tie_rate,
        "a prompt",
        counted=lambda t: t.judged,
        on_labels=False,
        average_over=lambda t: t.judged,
        group="Within prompts",
        meaning="prompts with more than one top score",
        unit="share",
    ),
)


def sign_agreement(t: Sums) -> Floats:
    """Share of concordant pairs among those that neither side ties (the paper's p_nt)."""
    return ratio(t.concordant, t.apart_both)


def effective_agreement(t: Sums) -> Floats:
    """Agreement over all pairs, any tie one half: ``1/2 + P(neither tied) (p_nt - 1/2)``, as in Table 2."""
    return 0.5 + ratio(t.decided_right - t.decided / 2, t.all_pairs)


def effective_agreement_decided(t: Sums) -> Floats:
    """Agreement over the pairs that the oracle decides, a judge's tie counting one half (the paper's Table 4)."""
    return 0.5 + ratio(t.decided_right - t.decided / 2, t.all_apart_O)


def kendall_tau(t: Sums) -> Floats:
    """Mean of Kendall's tau-b over the prompts where it is defined (the paper's equation 2)."""
    return ratio(t.tau, t.tau_defined)


_ORDER = (
    Estimand(
        "sign_agreement",
        sign_agreement,
        "a pair that neither side ties",
        counted=lambda t: t.apart_both,
        average_over=lambda t: t.apart_both,
        group="Within prompts",
        meaning="same order, pairs neither side ties",
        unit="share",
    ),
    Estimand(
        "effective_agreement",
        effective_agreement,
        "a pair",
        average_over=lambda t: t.all_pairs,
        group="Within prompts",
        meaning="same order, all pairs, ties count 1/2",
        unit="share",
    ),
    Estimand(
        "effective_agreement_decided",
        effective_agreement_decided,
        "a pair with different labels",
        counted=lambda t: t.all_apart_O,
        average_over=lambda t: t.all_apart_O,
        group="Within prompts",
        meaning="the same, pairs with different labels",
        unit="share",
    ),
    Estimand(
        "kendall_tau",
        kendall_tau,
        "a prompt where both scores and labels differ",
        (-1.0, 1.0),
        counted=lambda t: t.tau_defined,
        average_over=lambda t: t.tau_defined,
        group="Within prompts",
        meaning="mean tau-b where defined",
        unit="number",
    ),
)


def top1_accuracy(t: Sums) -> Floats:
    """Mean of ``|A and B| / (|A| |B|)`` (PCS): how likely a random top pick is a random best one; 1/K by chance."""
    return ratio(t.same_top, t.prompts)


def hit_rate(t: Sums) -> Floats:
    """Mean of ``|A and B| / |A|``: how likely a random top pick is among the best-labelled; E|B| / K by chance."""
    return ratio(t.hit, t.prompts)


_TOP_1 = (
    Estimand(
        "top1_accuracy",
        top1_accuracy,
        "a prompt",
        average_over=lambda t: t.prompts,
        at_most_prompts=True,
        outcomes=OutcomeWeights(top1=1.0),
        group="Picks",
        meaning="the pick is the best (chance 1/n)",
        unit="share",
    ),
    Estimand(
        "hit_rate",
        hit_rate,
        "a prompt",
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(hit=1.0),
        group="Picks",
        meaning="the pick is among the best candidates",
        unit="share",
    ),
)


def value_random(t: Sums) -> Floats:
    """Expected label of a candidate picked at random."""
    return ratio(t.R, t.prompts)


def value_judge(t: Sums) -> Floats:
    """Expected label of the judge's pick, ties broken at random, in expectation."""
    return ratio(t.J, t.prompts)


def value_oracle(t: Sums) -> Floats:
    """Expected label of the best candidate."""
    return ratio(t.M, t.prompts)


def gain(t: Sums) -> Floats:
    """Mean of what the judge's pick is worth beyond a random pick, in the unit of the labels."""
    return ratio(t.J - t.R, t.prompts)


def recovery(t: Sums) -> Floats:
    """Share of the possible gain over a random pick that the picks bring (equation 1), a ratio of means."""
    return ratio(t.J - t.R, t.M - t.R, np.abs(t.M) + np.abs(t.R))


_GAIN, _ROOM = OutcomeWeights(judge_gain=1.0), OutcomeWeights(oracle_gain=1.0)

VALUES = (
    Estimand(
        "value_random",
        value_random,
        "a prompt",
        None,
        on_scores=False,
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(random=1.0),
        weight=_room,
        group="Picks",
        meaning="mean label of a random pick",
        set_by_pools=True,
        unit="number",
        place=3,
    ),
    Estimand(
        "value_judge",
        value_judge,
        "a prompt",
        None,
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(random=1.0, judge_gain=1.0),
        weight=_room,
        group="Picks",
        meaning="mean label of the judge's pick",
        unit="number",
        place=3,
    ),
    Estimand(
        "value_oracle",
        value_oracle,
        "a prompt",
        None,
        on_scores=False,
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(random=1.0, oracle_gain=1.0),
        weight=_room,
        group="Picks",
        meaning="mean label of the best candidate",
        unit="number",
        place=3,
    ),
    Estimand(
        "gain",
        gain,
        "a prompt",
        None,
        average_over=lambda t: t.prompts,
        contrast=True,
        outcomes=_GAIN,
        weight=_room,
        group="Picks",
        meaning="value of the picks minus random picks",
        unit="number",
        place=2,
    ),
    Estimand(
        "recovery",
        recovery,
        "a prompt where labels differ",
        (-np.inf, 1.0),
        parts=lambda t: (t.J - t.R, t.M - t.R),
        outcomes=_GAIN,
        outcomes_below=_ROOM,
        weight=_room,
        group="Picks",
        meaning="share of the possible gain",
        unit="share",
        place=1,
        headline=True,
    ),
)

OF_PICKS = (*_TOP_1, *VALUES)
"""Metrics that follow from what was picked: of scores they need no more than the candidates at the top."""

ESTIMANDS = (*WITHIN_PROMPTS, *_TIES, *_ORDER, *OF_PICKS)
"""Metrics that are functions of totals."""

METRICS: tuple[Metric, ...] = (
    *ESTIMANDS,
    Metric("level_bias", group="Over all cells", meaning="largest bias of a calibrated mean", unit="number"),
)

LOSSES = (
    Estimand(
        "unscored_rate",
        lambda t: 1 - ratio(t.cells, t.all_cells),
        "a candidate",
        on_labels=False,
        average_over=lambda t: t.all_cells,
        group="Over all cells",
        meaning="candidates without a score",
        unit="share",
    ),
    Estimand(
        "unscored_prompt_rate",
        lambda t: 1 - ratio(t.whole, t.prompts),
        "a prompt",
        on_labels=False,
        average_over=lambda t: t.prompts,
        group="Over all cells",
        meaning="prompts with such a candidate",
        unit="share",
    ),
)
"""Of a judge that left candidates without a score; where there is none an audit does not hold them."""

OF_KEPT = (
    replace(VALUES[1], name="top_value", meaning="mean label of the k highest scored", place=5),
    replace(VALUES[-1], name="top_recovery", meaning="share of the gain of the best k", place=4, headline=True),
    replace(_TOP_1[1], name="ndcg", meaning="order of the first k against the ideal", place=6, headline=True),
    replace(_TOP_1[1], name="recall", meaning="relevant ones among the first k", place=6),
)
"""Of the best k of each prompt: functions of sums in which J and M are those of k candidates, and ``hit`` the nDCG or
the recall of each topic. An audit holds them where a k was given.
"""

ALL_METRICS: tuple[Metric, ...] = (
    *METRICS,
    *OF_KEPT,
    *LOSSES,
    Metric("unscored_cost", group="Picks", meaning="recovery lost with candidates that have no score", unit="share"),
)
"""With those of what was not scored."""


def functional_of(metrics: Sequence[Estimand]) -> Functional:
    """Return the function from a judge's totals, or two judges' that are subtracted, to metrics: (metrics, ...)."""

    def functional(first: Sums, second: Sums | None = None) -> Floats:
        return np.stack([e.of(first) if second is None else e.of(first) - e.of(second) for e in metrics])

    return functional
