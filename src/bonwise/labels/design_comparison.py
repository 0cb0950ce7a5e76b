"""Label designs compared with each other on a table whose labels are all known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.labels.design_variances import (
    COMPARED,
    UNKNOWABLE,
    LabelledPools,
    ShareOfLabels,
    labelled_pools,
)
from bonwise.labels.population import label_population
from bonwise.labels.result import (
    ComparedDesign,
    ComparedShare,
    ComparisonSettings,
    DesignComparison,
    DesignName,
    ProxyLink,
)
from bonwise.printable import quoted
from bonwise.release import release
from bonwise.report.numbers import number, percent
from bonwise.stats.correlation import correlation
from bonwise.stats.estimand import Estimate
from bonwise.stats.partial.label_allocation import size_measure
from bonwise.table.checks import check_confidence, check_share, checked_number, checked_whole
from bonwise.table.opening import refuse_clusters
from bonwise.table.reading_options import ReadingOptions

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource

__all__ = ["compared_designs", "comparison_sentences"]

_Ints = npt.NDArray[np.int64]


def _link(source: str, target: str, r: Estimate) -> ProxyLink:
    ends = (None, None) if r.low is None or r.high is None else _squared(float(r.low), float(r.high))
    return ProxyLink.model_validate(
        {
            "from": source,
            "to": target,
            "correlation": EstimateRecord.of(r),
            "explained": None if r.estimate is None else float(r.estimate) ** 2,
            "explained_low": ends[0],
            "explained_high": ends[1],
        }
    )


def _squared(low: float, high: float) -> tuple[float, float]:
    squares = sorted((low**2, high**2))
    return (0.0 if low <= 0 <= high else squares[0]), squares[1]


def compared_designs(
    source: ScoreSource,
    options: ReadingOptions,
    *,
    shares: Sequence[float],
    judge: str | None,
    draws: int,
    seed: int,
    confidence: float,
) -> DesignComparison:
    """Compare label designs on a completely labelled table."""
    shares = _checked_shares(shares)
    draws, seed = checked_whole("draws", draws, 2, "200"), checked_whole("seed", seed, 0, "1")
    check_confidence(confidence)
    population = label_population(
        source,
        options,
        judge=judge,
        with_labels=True,
    )
    refuse_clusters(population.table, "a comparison of designs")
    pools = labelled_pools(population, seed)
    counts = [_labels_at(share, len(pools.phi), population.table.source) for share in shares]
    by_share = [
        ShareOfLabels.of(pools, share, m, draws=draws, seed=seed).variances()
        for share, m in zip(shares, counts, strict=True)
    ]
    designs = {
        name: ComparedDesign(
            meaning=meaning, feasible=name not in UNKNOWABLE, shares=[variances[name] for variances in by_share]
        )
        for name, meaning in COMPARED.items()
        if name in by_share[0]
    }
    settings = ComparisonSettings(
        **population.settings.to_dict(),
        shares=list(shares),
        draws=draws,
        seed=seed,
        confidence=float(confidence),
        version=release(),
    )
    return DesignComparison(
        settings=settings,
        data=pools.counts(),
        designs=designs,
        proxy_chain=_chain(pools, confidence),
        sentences=[*comparison_sentences(designs), *pools.unused],
    )


def _checked_shares(shares: object) -> tuple[float, ...]:
    if isinstance(shares, str) or not isinstance(shares, Sequence | np.ndarray):
        raise UsageError(f"shares are several numbers, not {quoted(shares)}", hint="such as shares=[0.25]")
    found = tuple(checked_number("a share", share, "0.25 for a quarter") for share in shares)
    for share in found:
        check_share(share)
    if not found or len(set(found)) < len(found):
        raise UsageError("shares must be given, and each once", hint="such as 0.1 and 0.25")
    return found


def _labels_at(share: float, prompts: int, source: str) -> int:
    labels = round(share * prompts)
    if not 2 <= labels < prompts:
        raise InputError(
            f"{source}: {100 * share:g}% of {prompts:,} prompts are {labels} to label",
            hint="give a share that labels at least two prompts and leaves one unlabelled",
        )
    return labels


def _chain(pools: LabelledPools, confidence: float) -> list[ProxyLink]:
    squared = pools.left**2
    figures = {
        "judge_spread": pools.tops.spread,
        "oracle_spread": pools.label_spread,
        "residual^2": squared,
        "rule": size_measure(pools.scores, pools.sizes),
    }
    links = [
        ("judge_spread", "oracle_spread"),
        ("oracle_spread", "residual^2"),
        ("judge_spread", "residual^2"),
        ("rule", "residual^2"),
    ]
    if pools.second is not None:
        figures["further_spread"] = pools.further_spread
        figures["rule_further"] = size_measure(pools.scores, pools.sizes, pools.second)
        links += [
            ("further_spread", "oracle_spread"),
            ("further_spread", "residual^2"),
            ("rule_further", "residual^2"),
        ]
    return [
        _link(source, target, correlation(figures[source], figures[target], confidence=confidence))
        for source, target in links
    ]


_APART = 2
"""Standard errors by which a design must be ahead of every other to be named."""


def comparison_sentences(designs: Mapping[DesignName, ComparedDesign]) -> tuple[str, ...]:
    """Return which design varies least at each share, where that is beyond doubt, and what scores add."""
    said = [_best(designs, at) for at in range(len(designs["uniform"].shares))]
    said += [_with_scores(one) for one in designs["uniform"].shares]
    said.append(
        "The figures describe these prompts; the designs that look at labels are marked, and nobody can draw by them."
    )
    return tuple(said)


def _attained(name: str, found: ComparedShare) -> tuple[float, float]:
    """Return the ratio that a user would see, and its standard error.

    Of ``neyman`` it is that of the draws, after real pilots, not the perfect one of the formula.
    """
    if name == "neyman" and found.drawn is not None:
        return found.drawn, found.drawn_se or 0.0
    return found.labels_only, 0.0


def _best(designs: Mapping[DesignName, ComparedDesign], at: int) -> str:
    one = designs["uniform"].shares[at]
    lead = f"Labelling {percent(one.share)} of the prompts ({one.labels:,}), "
    ratios = {name: _attained(name, found.shares[at]) for name, found in designs.items() if found.feasible}
    best, *others = sorted(ratios, key=lambda name: ratios[name][0])
    ratio, se = ratios[best]
    close = [name for name in others if ratios[name][0] - ratio <= _APART * float(np.hypot(ratios[name][1], se))]
    if close:
        named = ", ".join(f"{name} {_figure(*ratios[name])}" for name in (best, *close))
        return f"{lead}no design has clearly the smallest variance: {named}."
    if best == "uniform":
        return f"{lead}no design has a smaller variance than labels at random."
    return (
        f"{lead}{best} has {_figure(ratio, se)} of the variance of labels at random ({number(float(np.sqrt(ratio)))} "
        "of the width)."
    )


def _figure(ratio: float, se: float) -> str:
    return f"{number(ratio)} (standard error {number(se)})" if se else number(ratio)


def _with_scores(one: ComparedShare) -> str:
    if one.with_scores is None:
        return f"With {one.labels:,} labelled prompts an audit fits no model of the scores: labels are used alone."
    return (
        f"With {one.labels:,} labelled prompts an audit takes the scores as covariates ({one.model}); the variance "
        f"of labels at random is then {number(one.with_scores)} of what it is without."
    )
