"""Label designs compared with each other on a table whose labels are all known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

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
    ComparisonSettings,
    DesignComparison,
    ProxyLink,
)
from bonwise.labels.sentences import comparison_sentences
from bonwise.printable import quoted
from bonwise.release import release
from bonwise.stats.correlation import correlation
from bonwise.stats.estimate import Estimate
from bonwise.stats.partial.label_allocation import size_measure
from bonwise.table.checks import CONFIDENCE, SEED, check_confidence, check_share, checked_number, checked_whole
from bonwise.table.opening import refuse_clusters
from bonwise.table.reading_options import PoolKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource

__all__ = ["compare_designs"]

_Ints = npt.NDArray[np.int64]

SHARES = (0.1, 0.25, 0.5)


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


@opens_a_table
def compare_designs(
    source: ScoreSource,
    *,
    shares: Sequence[float] = SHARES,
    judge: str | None = None,
    draws: int = 200,
    seed: int = SEED,
    label_file: RowSource | None = None,
    confidence: float = CONFIDENCE,
    **reading: Unpack[PoolKeywords],
) -> DesignComparison:
    """Compare label designs on a completely labelled table.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table ``prompt_id, candidate, judge_score, oracle_label``.
    shares : sequence of float
        Parts of the prompts to label, each in (0, 1).
    judge : str, optional
        The audited judge; needed where the table holds several.
    draws : int
        Repeated draws behind the simulated column, 2 or more.
    seed : int
    label_file : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Labels from elsewhere, joined on prompt and candidate.
    confidence : float
        Of the two-sided intervals, in [0.5, 1). They are those of the correlations.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    DesignComparison

    Raises
    ------
    bonwise.errors.InputError
        Labels are missing or leave recovery undefined; a share labels fewer than two prompts; several judges; an
        argument of the wrong kind.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = compare_designs(simulate("arena", n=400, seed=1).frame(), shares=[0.25], draws=20)
    >>> found.designs["uniform"].shares[0].labels_only
    1.0
    """
    shares = _checked_shares(shares)
    draws, seed = checked_whole("draws", draws, 2, "200"), checked_whole("seed", seed, 0, "1")
    check_confidence(confidence)
    population = label_population(
        source,
        ReadingOptions.of(compare_designs, reading, labels=label_file),
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
