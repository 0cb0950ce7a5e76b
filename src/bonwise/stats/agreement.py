"""Does the judge order two candidates of a prompt as the oracle does?"""

from __future__ import annotations

from bonwise.stats.estimand import Estimand, ratio
from bonwise.stats.sums import Floats, Sums

__all__ = ["ESTIMANDS"]


def sign_agreement(t: Sums) -> Floats:
    """Share of concordant pairs among those that neither side ties (the paper's p_nt)."""
    return ratio(t.concordant, t.apart_both)


def effective_agreement(t: Sums) -> Floats:
    """Agreement over all pairs, a pair that either side ties counting one half.

    ``1/2 + P(neither tied) (p_nt - 1/2)``: the reading of p_eff that fits the paper's Table 2.
    """
    return 0.5 + ratio(t.concordant - t.apart_both / 2, t.pairs)


def effective_agreement_decided(t: Sums) -> Floats:
    """Agreement over the pairs that the oracle decides, a judge's tie counting one half.

    The reading of p_eff that fits the paper's Table 4.
    """
    return 0.5 + ratio(t.concordant - t.apart_both / 2, t.apart_O)


def kendall_tau(t: Sums) -> Floats:
    """Mean of Kendall's tau-b over the prompts where it is defined (the paper's equation 2)."""
    return ratio(t.tau, t.tau_defined)


ESTIMANDS = (
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
        average_over=lambda t: t.pairs,
        group="Within prompts",
        meaning="same order, all pairs, ties count 1/2",
        unit="share",
    ),
    Estimand(
        "effective_agreement_decided",
        effective_agreement_decided,
        "a pair with different labels",
        counted=lambda t: t.apart_O,
        average_over=lambda t: t.apart_O,
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
