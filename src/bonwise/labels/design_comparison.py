"""Label designs compared with each other on a table whose labels are all known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt

from bonwise.documented import DocumentedResult
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.labels.design_variances import (
    COMPARED,
    UNKNOWABLE,
    DesignVariance,
    LabelledPools,
    ShareOfLabels,
    labelled_pools,
)
from bonwise.labels.population import label_population
from bonwise.labels.result import (
    ComparedCounts,
    ComparedDesign,
    ComparisonSettings,
    LabelDesignsDocument,
    ProxyLinkRecord,
)
from bonwise.labels.sentences import comparison_sentences
from bonwise.printable import printable, quoted
from bonwise.release import release
from bonwise.stats.correlation import correlation
from bonwise.stats.estimate import Estimate
from bonwise.stats.partial.label_allocation import size_measure
from bonwise.table.checks import CONFIDENCE, SEED, check_confidence, check_share, checked_number, checked_whole
from bonwise.table.opening import refuse_clusters
from bonwise.table.reading_options import PoolKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource

__all__ = ["DesignComparison", "DesignVariance", "ProxyLink", "compare_designs"]

_Ints = npt.NDArray[np.int64]

SHARES = (0.1, 0.25, 0.5)


@dataclass(frozen=True, slots=True)
class ProxyLink:
    """How far one figure of a prompt tells another."""

    source: str
    target: str
    correlation: Estimate
    """Over prompts."""

    def record(self) -> ProxyLinkRecord:
        """Return this link's part of the document."""
        r = self.correlation
        ends = (None, None) if r.low is None or r.high is None else _squared(float(r.low), float(r.high))
        return ProxyLinkRecord.model_validate(
            {
                "from": self.source,
                "to": self.target,
                "correlation": EstimateRecord.of(r),
                "explained": None if r.estimate is None else float(r.estimate) ** 2,
                "explained_low": ends[0],
                "explained_high": ends[1],
            }
        )


def _squared(low: float, high: float) -> tuple[float, float]:
    squares = sorted((low**2, high**2))
    return (0.0 if low <= 0 <= high else squares[0]), squares[1]


@dataclass(frozen=True, eq=False)
class DesignComparison(DocumentedResult):
    """What each label design would have cost or saved on a table whose labels are known."""

    designs: Mapping[str, tuple[DesignVariance, ...]] = field(repr=False)
    """One entry a share."""
    chain: tuple[ProxyLink, ...] = field(repr=False)
    """What the judge's spread tells of the labels' spread and of the residuals."""
    settings: ComparisonSettings
    counts: ComparedCounts
    """Repeated in the document."""
    sentences: tuple[str, ...] = field(repr=False)

    def __repr__(self) -> str:
        return f"<DesignComparison of {', '.join(self.designs)} on {printable(self.settings.source)}>"

    def document(self) -> LabelDesignsDocument:
        """Return the document of schema ``bonwise.label_designs/1``."""
        return LabelDesignsDocument(
            settings=self.settings,
            data=self.counts,
            designs={
                name: ComparedDesign(
                    meaning=meaning,
                    feasible=name not in UNKNOWABLE,
                    shares=[one.record() for one in self.designs[name]],
                )
                for name, meaning in COMPARED.items()
                if name in self.designs
            },
            proxy_chain=[link.record() for link in self.chain],
            sentences=list(self.sentences),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per design and share: variances over that of as many labels drawn at random.

        Columns: ``design``, ``feasible`` (whether it looks only at what is known before labelling), ``share``,
        ``labels`` (prompts), ``labels_only``, ``with_scores``, ``model``, ``drawn`` and ``drawn_se``.
        """
        return super().to_frame()


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
    >>> found.designs["uniform"][0].labels_only
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
    designs: dict[str, tuple[DesignVariance, ...]] = {
        name: tuple(found[name] for found in by_share) for name in COMPARED if name in by_share[0]
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
        MappingProxyType(designs),
        _chain(pools, confidence),
        settings,
        pools.counts(),
        (*comparison_sentences(designs), *pools.unused),
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


def _chain(pools: LabelledPools, confidence: float) -> tuple[ProxyLink, ...]:
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
    return tuple(
        ProxyLink(source, target, correlation(figures[source], figures[target], confidence=confidence))
        for source, target in links
    )
