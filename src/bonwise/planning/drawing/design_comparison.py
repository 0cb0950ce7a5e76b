"""Label designs held against each other on a table whose labels are all known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bonwise.data.panel import Shape
from bonwise.data.scales import Scale
from bonwise.errors import InputError, UsageError
from bonwise.planning.drawing.label_population import label_population
from bonwise.planning.drawing.labelled_pools import LabelledPools, labelled_pools
from bonwise.release import release
from bonwise.stats.correlation import correlation
from bonwise.stats.estimate import Estimate
from bonwise.stats.partial.design_variance import (
    VarianceRatio,
    by_strata,
    design_variance,
    drawn_recoveries,
    falling_with_rank,
    pilot_size,
    two_phase,
    variance_ratio,
)
from bonwise.stats.partial.label_allocation import (
    LEAST,
    allocate,
    level_by_spread,
    pick_factor,
    size_measure,
    strata,
    tie_strata,
)
from bonwise.stats.sums import TIE_DECIMALS, Floats

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.data.table import ScoreTable

__all__ = ["DesignComparison", "DesignVariance", "ProxyLink", "compare_designs"]

_Ints = npt.NDArray[np.int64]

SHARES = (0.1, 0.25, 0.5)

_MEANING: Mapping[str, str] = {
    "uniform": "all prompts alike",
    "margin": "low margins first: the chance falls with the rank of the margin",
    "neyman": "level and spread of the judge's scores, after a pilot (by formula: a perfect one)",
    "stratified": "the size of the top set",
    "rule": "the size of the top set times the spread of the judge's scores",
    "rule_further": "the size of the top set times the spread of the further judges' scores",
    "label_spread": "by the root of the spread of the labels themselves",
    "optimum": "by the size of each prompt's own deviation",
}

_UNKNOWABLE = ("label_spread", "optimum")


@dataclass(frozen=True, slots=True)
class DesignVariance:
    """The variance of recovery under one design at one share, over that of as many labels drawn at random.

    Parameters
    ----------
    share : float
        Of the prompts.
    labels : int
        Prompts labelled.
    labels_only : float
        By the first-order formula, labels alone.
    with_scores : float or None
        The same where a cross-fitted model of the scores takes its part off; also over labels alone at random. None
        where there are too few prompts to fit one.
    drawn : VarianceRatio or None
        Labels alone, by repeated draws; None for the random draws themselves, which are what it is held against.
    """

    share: float
    labels: int
    labels_only: float
    with_scores: float | None
    drawn: VarianceRatio | None

    def to_dict(self) -> dict[str, Any]:
        """Return this share's part of the document."""
        return {
            "share": self.share,
            "labels": self.labels,
            "labels_only": self.labels_only,
            "with_scores": self.with_scores,
            "drawn": None if self.drawn is None else self.drawn.ratio,
            "drawn_se": None if self.drawn is None else self.drawn.se,
        }


@dataclass(frozen=True, slots=True)
class ProxyLink:
    """How far one figure of a prompt tells another.

    Parameters
    ----------
    source, target : str
    correlation : Estimate
        Over prompts.
    """

    source: str
    target: str
    correlation: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return this link's part of the document; `explained` is the squared correlation."""
        r = self.correlation
        ends = (None, None) if r.low is None or r.high is None else _squared(r.low, r.high)
        return {
            "from": self.source,
            "to": self.target,
            "correlation": r.to_dict(),
            "explained": None if r.estimate is None else r.estimate**2,
            "explained_low": ends[0],
            "explained_high": ends[1],
        }


def _squared(low: float, high: float) -> tuple[float, float]:
    squares = sorted((low**2, high**2))
    return (0.0 if low <= 0 <= high else squares[0]), squares[1]


@dataclass(frozen=True, eq=False)
class DesignComparison:
    """What each label design would have cost or saved on a table whose labels are known.

    Parameters
    ----------
    designs : mapping of str to tuple of DesignVariance
        One entry a share.
    chain : tuple of ProxyLink
        What the judge's spread tells of the labels' spread and of the residuals.
    settings, counts : mapping
        Repeated in the document.
    sentences : tuple of str
    """

    designs: Mapping[str, tuple[DesignVariance, ...]] = field(repr=False)
    chain: tuple[ProxyLink, ...] = field(repr=False)
    settings: Mapping[str, Any]
    counts: Mapping[str, Any]
    sentences: tuple[str, ...] = field(repr=False)

    def __repr__(self) -> str:
        return f"<DesignComparison of {', '.join(self.designs)} on {self.settings['source']}>"

    def __str__(self) -> str:
        from bonwise.report.labels_text import comparison_text  # noqa: PLC0415 - rendering loads rich

        return comparison_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.label_designs/1``; it holds no NaN."""
        return {
            "schema": "bonwise.label_designs/1",
            "settings": dict(self.settings),
            "data": dict(self.counts),
            "designs": {
                name: {
                    "meaning": _MEANING[name],
                    "feasible": name not in _UNKNOWABLE,
                    "shares": [one.to_dict() for one in found],
                }
                for name, found in self.designs.items()
            },
            "proxy_chain": [link.to_dict() for link in self.chain],
            "sentences": list(self.sentences),
        }


def compare_designs(  # noqa: PLR0913 - the one front door of the comparison; all but the source are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    shares: Sequence[float] = SHARES,
    judge: str | None = None,
    draws: int = 200,
    seed: int = 0,
    labels: str | Path | pd.DataFrame | None = None,
    exclude: str | Sequence[str] = (),
    shape: Shape | None = None,
    columns: Mapping[str, str] | None = None,
    judge_scale: Mapping[str, Scale] | Scale | None = None,
    label_scale: Scale | None = None,
    confidence: float = 0.95,
) -> DesignComparison:
    """Compare label designs on a completely labelled table.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
        Long table ``prompt_id, candidate, judge_score, oracle_label``.
    shares : sequence of float
        Parts of the prompts to label, each in (0, 1).
    judge : str, optional
        The audited one, where the table holds several.
    draws : int
        Repeated draws behind the simulated column, 2 or more.
    seed : int
    labels : str, pathlib.Path or pandas.DataFrame, optional
        Labels from elsewhere, joined on prompt and candidate.
    exclude, shape, columns, judge_scale, label_scale
        As in `bonwise.audit`.
    confidence : float
        Of the intervals of the correlations.

    Returns
    -------
    DesignComparison

    Raises
    ------
    bonwise.errors.InputError
        Labels are missing or leave recovery undefined; a share labels fewer than two prompts; several judges.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = compare_designs(simulate("arena", n=400, seed=1).frame(), shares=[0.25], draws=20)
    >>> found.designs["uniform"][0].labels_only
    1.0
    """
    _refuse(shares, draws, seed, confidence)
    population = label_population(
        source,
        judge=judge,
        exclude=exclude,
        shape=shape,
        columns=columns,
        judge_scale=judge_scale,
        label_scale=label_scale,
        labels=labels,
        with_labels=True,
    )
    pools = labelled_pools(population, seed)
    counts = [_labels_at(share, len(pools.phi), population.table.source) for share in shares]
    sizes = _sizes(pools)
    by_share = [
        _at_share(sizes, pools, share, m, draws=draws, seed=seed) for share, m in zip(shares, counts, strict=True)
    ]
    designs = {name: tuple(found[name] for found in by_share) for name in _MEANING if name in by_share[0]}
    settings = {
        **population.settings(),
        "shares": list(shares),
        "draws": draws,
        "seed": seed,
        "confidence": confidence,
        "exclude": [exclude] if isinstance(exclude, str) else list(exclude),
        "version": release(),
    }
    return DesignComparison(designs, _chain(pools, confidence), settings, pools.counts(), _sentences(designs, pools))


def _refuse(shares: Sequence[float], draws: int, seed: int, confidence: float) -> None:
    for share in shares:
        if not 0 < share < 1:
            raise UsageError(f"a share must lie between 0 and 1, not {share:g}", hint="such as 0.25 for a quarter")
    if not shares or len(set(shares)) < len(shares):
        raise UsageError("shares must be given, and each once", hint="such as --share 0.1 --share 0.25")
    if draws < 2:
        raise UsageError(f"draws must be at least 2, not {draws}", hint="such as 200")
    if seed < 0:
        raise UsageError(f"a seed must not be negative, as {seed} is", hint="such as 0")
    if not 0.5 <= confidence < 1:
        raise UsageError(f"confidence must lie in [0.5, 1), not {confidence:g}", hint="such as 0.95")


def _labels_at(share: float, prompts: int, source: str) -> int:
    labels = round(share * prompts)
    if not 2 <= labels < prompts:
        raise InputError(
            f"{source}: {100 * share:g}% of {prompts:,} prompts are {labels} to label",
            hint="give a share that labels at least two prompts and leaves one unlabelled",
        )
    return labels


def _sizes(pools: LabelledPools) -> dict[str, Floats]:
    """Return what each design takes the spread of a prompt's outcome to be in proportion to."""
    found = {
        "margin": falling_with_rank(np.round(pools.tops.margin, TIE_DECIMALS)),
        "rule": size_measure(pools.scores, pools.sizes),
        "stratified": pick_factor(pools.tops.tied, pools.sizes),
        "label_spread": _own(np.sqrt(pools.label_spread)),
        "optimum": _own(pools.phi),
    }
    if pools.second is not None:
        found["rule_further"] = size_measure(pools.scores, pools.sizes, pools.second)
    return found


def _at_share(
    sizes: Mapping[str, Floats], pools: LabelledPools, share: float, labels: int, *, draws: int, seed: int
) -> dict[str, DesignVariance]:
    """Return the variance of every design at one share."""
    alike = np.zeros(len(pools.phi), dtype=np.int64), np.array([labels])
    outcomes, base = (pools.gain, pools.best), design_variance(pools.phi, *alike)
    at_random = drawn_recoveries(outcomes, by_strata(*alike), draws, (seed, labels, 0))
    fitted = pools.model is not None
    left = design_variance(pools.left, *alike) / base
    designs = {"uniform": DesignVariance(share, labels, 1.0, left if fitted else None, None)}
    for stream, name in enumerate(_MEANING):
        if name != "neyman" and name not in sizes:
            continue
        found, counts = _drawn_by(name, sizes.get(name), pools, labels)
        draw = two_phase(outcomes, found, labels) if name == "neyman" else by_strata(found, counts)
        simulated = drawn_recoveries(outcomes, draw, draws, (seed, labels, stream))
        # What is best to draw by differs where a model takes its part off.
        other = _drawn_by(name, _own(pools.left), pools, labels) if name == "optimum" else (found, counts)
        designs[name] = DesignVariance(
            share,
            labels,
            design_variance(pools.phi, found, counts) / base,
            design_variance(pools.left, *other) / base if fitted else None,
            variance_ratio(simulated, at_random, pools.recovery),
        )
    return designs


def _own(deviations: Floats) -> Floats:
    """Return sizes by each prompt's own deviation; one whose own is 0 is drawn all the same."""
    found: Floats = np.abs(deviations) + 0.02 * float(np.abs(deviations).mean())
    return found


def _drawn_by(name: str, size: Floats | None, pools: LabelledPools, labels: int) -> tuple[_Ints, _Ints]:
    """Return strata and how many labels each takes; of ``neyman`` those that a perfect pilot would give."""
    if size is None:
        # A stratum that the pilot misses takes at least one label of those left.
        most = min(labels, LEAST * (labels - pilot_size(labels)))
        found = level_by_spread(pools.tops.mean, pools.tops.spread, most)
        held = np.bincount(found)
        means = np.bincount(found, weights=pools.phi) / held
        sd: Floats = np.sqrt(np.bincount(found, weights=(pools.phi - means[found]) ** 2) / held)
    else:
        cut: Callable[[Floats, int], _Ints] = tie_strata if name == "stratified" else strata
        found = cut(size, labels)
        held = np.bincount(found)
        sd = np.bincount(found, weights=size) / held
    return found, allocate(held.astype(np.int64), held * sd, labels)


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


def _attained(name: str, found: DesignVariance) -> float:
    """Return the ratio that a user would see: of ``neyman`` after real pilots, not the perfect one of the formula."""
    return found.drawn.ratio if name == "neyman" and found.drawn is not None else found.labels_only


def _sentences(designs: Mapping[str, tuple[DesignVariance, ...]], pools: LabelledPools) -> tuple[str, ...]:
    said = []
    feasible = {name: found for name, found in designs.items() if name not in _UNKNOWABLE}
    for at, one in enumerate(designs["uniform"]):
        ratios = {name: _attained(name, found[at]) for name, found in feasible.items()}
        best = min(ratios, key=ratios.__getitem__)
        ratio = ratios[best]
        saved = (
            "no design has a smaller variance than labels at random"
            if best == "uniform"
            else f"{best} has {ratio:.2f} of the variance of labels at random ({np.sqrt(ratio):.2f} of the width)"
        )
        said.append(f"Labelling {100 * one.share:g}% of the prompts ({one.labels:,}), {saved}.")
    if pools.model is None:
        said.append("These are too few prompts to fit a model of the scores, so labels stand alone.")
    else:
        said.append(
            f"With the scores as covariates ({pools.model}) the variance of labels at random is "
            f"{designs['uniform'][0].with_scores:.2f} of what it is without."
        )
    said.append(
        "The figures describe these prompts; the designs that look at labels are marked, and nobody can draw by them."
    )
    return tuple(said)
