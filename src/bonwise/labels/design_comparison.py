"""Label designs compared with each other on a table whose labels are all known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.labels import recovery_variance, result, rules
from bonwise.labels.population import LabelPopulation, label_population
from bonwise.printable import quoted
from bonwise.release import release
from bonwise.report.numbers import number, percent
from bonwise.stats import estimand, sums, top_of_scores
from bonwise.stats.correlation import correlation
from bonwise.stats.partial import label_allocation, label_features, outcome_model
from bonwise.table import checks, facts, opening, panel, reading_options

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource


_ALL_KNOWN = "designs are compared on prompts whose labels are all known"


@dataclass(frozen=True, eq=False)
class LabelledPools:
    """Figures of completely labelled prompts, each of shape (prompts,)."""

    scores: Floats = field(repr=False)
    """Of the audited judge."""
    sizes: Ints = field(repr=False)
    second: Floats | None = field(repr=False)
    """Mean score of the further judges."""
    features: label_features.LabelFeatures = field(repr=False)
    """What scores say of the prompts, as an audit uses it."""
    tops: top_of_scores.TopOfScores = field(repr=False)
    Y: Floats = field(repr=False)
    """The outcomes; Y1 and Y2, of which recovery is made, are label of the pick, and best label, less the mean."""
    recovery: float
    phi: Floats = field(repr=False)
    """Y1 - rho Y2."""
    left: Floats = field(repr=False)
    """What a model of the scores, cross-fitted to all labels, leaves of phi."""
    label_spread: Floats = field(repr=False)
    further_spread: Floats = field(repr=False)
    """Both: standard deviation over the candidates of the labels, and of the further judges' scores."""
    unlabelled: int
    """Prompts left out for lack of labels."""
    dropped: list[facts.DroppedPrompt] = field(repr=False)
    """Prompts left out for any other cause."""
    in_part: panel.LabelsInPart = field(default=panel.LabelsInPart(0, 0, 0), repr=False)
    """Labels of prompts that are labelled in part."""

    @property
    def unused(self) -> tuple[str, ...]:
        """A sentence on the labels that no figure uses; empty where all are used."""
        return (f"{self.in_part.unused}: {_ALL_KNOWN}.",) if self.in_part.prompts else ()

    @property
    def gain(self) -> Floats:
        """Y1: what the pick is worth beyond a random pick."""
        return self.Y[:, 1]

    @property
    def best(self) -> Floats:
        """Y2: what the best candidate is worth beyond a random pick."""
        return self.Y[:, 2]

    def counts(self) -> result.ComparedCounts:
        """Return the counts of the document."""
        return result.ComparedCounts(
            prompts=len(self.sizes),
            cells=len(self.scores),
            unlabelled=self.unlabelled,
            dropped=self.dropped,
            recovery=float(self.recovery),
            all_tied=int((self.tops.tied == self.sizes).sum()),
        )


def labelled_pools(population: LabelPopulation, seed: int) -> LabelledPools:
    """Compute a labelled population's figures; refuses 5 % unlabelled, labels all alike, or picks all random."""
    kept, lacking = _complete(population)
    cells = np.repeat(kept, population.panel.sizes)
    sizes, scores = population.panel.sizes[kept], population.panel.scores[cells]
    labels = population.panel.labels[cells]
    ranked = population.panel.ranked[cells]
    features = label_features.label_features(
        scores, sizes, [scores_of_judge[cells] for scores_of_judge in population.further.values()], ranked
    )
    Y = label_features.outcomes(sums.prompt_sums(scores, labels, sizes, ranked))
    rho, phi = _told_apart(Y, population.table.source)
    second = population.second
    further = None if second is None else second[cells]
    everything = np.ones(len(sizes), dtype=bool)
    return LabelledPools(
        scores,
        sizes,
        further,
        features,
        top_of_scores.top_of_scores(scores, sizes, ranked),
        Y,
        rho,
        phi,
        recovery_variance.score_residuals(Y, features, everything, seed=seed).left,
        top_of_scores.top_of_scores(labels, sizes).spread,
        top_of_scores.top_of_scores(scores if further is None else further, sizes).spread,
        lacking,
        population.dropped,
        panel.LabelsInPart.of_panel(population.panel),
    )


def _complete(population: LabelPopulation) -> tuple[Mask, int]:
    kept = population.complete
    lacking = int((~kept).sum())
    if not kept.any() or lacking > panel.MAY_LACK * len(kept):
        in_part = panel.LabelsInPart.of_panel(population.panel)
        unused = f"; {in_part.unused}" if in_part.prompts else ""
        raise InputError(
            f"{population.table.source}: {lacking:,} of {len(kept):,} prompts lack labels, and {_ALL_KNOWN}{unused}",
            hint="give a completely labelled table, such as that of an earlier audit, or a label_file (--label-file)",
        )
    return kept, lacking


def _told_apart(Y: Floats, source: str) -> tuple[float, Floats]:
    """Return recovery and phi, refusing labels and picks that leave nothing to estimate."""
    if float(Y[:, 2].sum()) <= 0:
        raise InputError(
            f"{source}: the labels of a prompt never differ, so there is no recovery to estimate",
            hint="labels must tell candidates of a prompt apart",
        )
    rho, phi = recovery_variance.recovery_deviations(Y)
    if float(np.abs(phi).max()) < 1e-12:
        raise InputError(
            f"{source}: recovery is {rho:g} in every prompt, so no design has anything to save",
            hint="compare designs on a judge that tells candidates apart",
        )
    return rho, phi


_Design = tuple[Ints, Ints]
"""Stratum of each prompt, and how many labels each stratum takes."""

COMPARED: Mapping[result.DesignName, str] = MappingProxyType(
    {
        "uniform": rules.MEANING["uniform"],
        "margin": "low margins first: the chance falls with the rank of the margin",
        "neyman": f"{rules.MEANING['neyman']} (by formula: a perfect one)",
        "stratified": rules.MEANING["stratified"],
        "rule": f"{rules.MEANING['rule']}; scores of the audited judge",
        "rule_further": "as rule, with the spread of the further judges' scores",
        "label_spread": "by the root of the spread of the labels themselves",
        "optimum": "by the size of each prompt's own deviation",
    }
)
"""What each compared design goes by; the order is also that of their streams of random numbers."""

_FITS = 5
"""Samples of labels to which the model of the scores is fitted; its figures are means over them."""

UNKNOWABLE = ("label_spread", "optimum")
"""Designs that look at labels which nobody has before labelling."""


@dataclass(frozen=True, eq=False)
class ShareOfLabels:
    """What is compared at one share of labels."""

    pools: LabelledPools = field(repr=False)
    share: float
    labels: int
    """Prompts labelled."""
    draws: int
    seed: int
    """Both: repeated draws of each design, and where their streams begin."""
    fits: tuple[recovery_variance.ScoreResiduals, ...] = field(repr=False)
    """Of models fitted to as many labels drawn at random."""

    @classmethod
    def of(cls, pools: LabelledPools, share: float, labels: int, *, draws: int, seed: int) -> ShareOfLabels:
        """Fit the models."""
        alike, count = np.zeros(len(pools.phi), dtype=np.int64), np.array([labels])
        fits = []
        for fit in range(_FITS):
            stream = np.random.default_rng([seed, labels, len(COMPARED), fit])
            fits.append(
                recovery_variance.score_residuals(
                    pools.Y, pools.features, label_allocation.draw_within(alike, count, stream), seed=seed
                )
            )
        return cls(pools, share, labels, draws, seed, tuple(fits))

    def variances(self) -> dict[str, result.ComparedShare]:
        """Return the variance of every design."""
        pools, outcomes = self.pools, (self.pools.gain, self.pools.best)
        alike = np.zeros(len(pools.phi), dtype=np.int64), np.array([self.labels])
        base = recovery_variance.design_variance(pools.phi, *alike)
        at_random = self._simulated(recovery_variance.by_strata(*alike), "uniform")
        by_design = {"uniform": self._variance(alike, None, base, None)}
        for name, size in _sizes(pools).items():
            design = self._design(name, size)
            draw = (
                recovery_variance.two_phase(outcomes, design[0], self.labels)
                if name == "neyman"
                else recovery_variance.by_strata(*design)
            )
            ratio = recovery_variance.variance_ratio(self._simulated(draw, name), at_random, pools.recovery)
            # What is best to draw by differs where a model takes its part off.
            best = [self._design(name, _own(fit.left)) for fit in self.fits] if name == "optimum" else None
            by_design[name] = self._variance(design, best, base, ratio)
        return by_design

    def _variance(
        self,
        design: _Design,
        by_fit: list[_Design] | None,
        base: float,
        drawn: recovery_variance.VarianceRatio | None,
    ) -> result.ComparedShare:
        alone, model, with_scores = (
            recovery_variance.design_variance(self.pools.phi, *design) / base,
            self.fits[0].model,
            None,
        )
        if model != outcome_model.LABELS_ONLY:
            pairs = zip(self.fits, by_fit or [design] * len(self.fits), strict=True)
            with_scores = (
                float(np.mean([recovery_variance.design_variance(fit.left, *drawn) for fit, drawn in pairs])) / base
            )
        return result.ComparedShare(
            share=self.share,
            labels=self.labels,
            labels_only=float(alone),
            with_scores=with_scores,
            model=model,
            drawn=None if drawn is None else float(drawn.ratio),
            drawn_se=None if drawn is None else float(drawn.se),
        )

    def _simulated(self, draw: Callable[[np.random.Generator], Any], name: str) -> Floats:
        stream = [str(design) for design in COMPARED].index(name)
        outcomes = self.pools.gain, self.pools.best
        return recovery_variance.drawn_recoveries(outcomes, draw, self.draws, (self.seed, self.labels, stream))

    def _design(self, name: str, size: Floats | None) -> _Design:
        """Return strata and how many labels each takes; of ``neyman`` those that a perfect pilot would give."""
        if size is None:
            # A stratum that the pilot misses takes at least one label of those left.
            most = min(
                self.labels, label_allocation.LEAST * (self.labels - recovery_variance.pilot_size(self.labels))
            )
            levels = label_allocation.level_by_spread(self.pools.tops.mean, self.pools.tops.spread, most)
            held, phi = np.bincount(levels), self.pools.phi
            means = np.bincount(levels, weights=phi) / held
            sd: Floats = np.sqrt(np.bincount(levels, weights=(phi - means[levels]) ** 2) / held)
        else:
            cut: Callable[[Floats, int], Ints] = (
                label_allocation.tie_strata if name == "stratified" else label_allocation.strata
            )
            levels = cut(size, self.labels)
            held = np.bincount(levels)
            sd = np.bincount(levels, weights=size) / held
        return levels, label_allocation.allocate(held.astype(np.int64), held * sd, self.labels)


def _sizes(pools: LabelledPools) -> dict[str, Floats | None]:
    """Return what each design but ``uniform`` takes the spread of a prompt's outcome to be in proportion to."""
    sizes_by_name = {
        "margin": recovery_variance.falling_with_rank(np.round(pools.tops.margin, sums.tie_decimals(pools.scores))),
        "neyman": None,
        "stratified": label_allocation.pick_factor(pools.tops.tied, pools.sizes),
        "rule": label_allocation.size_measure(pools.scores, pools.sizes),
    }
    if pools.second is not None:
        sizes_by_name["rule_further"] = label_allocation.size_measure(pools.scores, pools.sizes, pools.second)
    return sizes_by_name | {"label_spread": _own(np.sqrt(pools.label_spread)), "optimum": _own(pools.phi)}


def _own(deviations: Floats) -> Floats:
    """Return sizes by each prompt's own deviation; one whose own is 0 is drawn all the same."""
    return np.abs(deviations) + 0.02 * float(np.abs(deviations).mean())


def _link(source: str, target: str, r: estimand.Estimate) -> result.ProxyLink:
    ends = (None, None) if r.low is None or r.high is None else _squared(float(r.low), float(r.high))
    return result.ProxyLink.model_validate(
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
    options: reading_options.ReadingOptions,
    *,
    shares: Sequence[float],
    judge: str | None,
    draws: int,
    seed: int,
    confidence: float,
) -> result.DesignComparison:
    """Compare label designs on a completely labelled table."""
    shares = _checked_shares(shares)
    draws, seed = checks.checked_whole("draws", draws, 2, "200"), checks.checked_whole("seed", seed, 0, "1")
    checks.check_confidence(confidence)
    population = label_population(source, options, judge=judge, with_labels=True)
    opening.refuse_clusters(population.table, "a comparison of designs")
    pools = labelled_pools(population, seed)
    counts = [_labels_at(share, len(pools.phi), population.table.source) for share in shares]
    by_share = [
        ShareOfLabels.of(pools, share, m, draws=draws, seed=seed).variances()
        for share, m in zip(shares, counts, strict=True)
    ]
    designs = {
        name: result.ComparedDesign(
            meaning=meaning, feasible=name not in UNKNOWABLE, shares=[variances[name] for variances in by_share]
        )
        for name, meaning in COMPARED.items()
        if name in by_share[0]
    }
    settings = result.ComparisonSettings(
        **population.settings.to_dict(),
        shares=list(shares),
        draws=draws,
        seed=seed,
        confidence=float(confidence),
        version=release(),
    )
    return result.DesignComparison(
        settings=settings,
        data=pools.counts(),
        designs=designs,
        proxy_chain=_chain(pools, confidence),
        sentences=[*comparison_sentences(designs), *pools.unused],
    )


def _checked_shares(shares: object) -> tuple[float, ...]:
    if isinstance(shares, str) or not isinstance(shares, Sequence | np.ndarray):
        raise UsageError(f"shares are several numbers, not {quoted(shares)}", hint="such as shares=[0.25]")
    given = tuple(checks.checked_number("a share", share, "0.25 for a quarter") for share in shares)
    for share in given:
        checks.check_share(share)
    if not given or len(set(given)) < len(given):
        raise UsageError("shares must be given, and each once", hint="such as 0.1 and 0.25")
    return given


def _labels_at(share: float, prompts: int, source: str) -> int:
    labels = round(share * prompts)
    if not 2 <= labels < prompts:
        raise InputError(
            f"{source}: {100 * share:g}% of {prompts:,} prompts are {labels} to label",
            hint="give a share that labels at least two prompts and leaves one unlabelled",
        )
    return labels


def _chain(pools: LabelledPools, confidence: float) -> list[result.ProxyLink]:
    squared = pools.left**2
    figures = {
        "judge_spread": pools.tops.spread,
        "oracle_spread": pools.label_spread,
        "residual^2": squared,
        "rule": label_allocation.size_measure(pools.scores, pools.sizes),
    }
    links = [
        ("judge_spread", "oracle_spread"),
        ("oracle_spread", "residual^2"),
        ("judge_spread", "residual^2"),
        ("rule", "residual^2"),
    ]
    if pools.second is not None:
        figures["further_spread"] = pools.further_spread
        figures["rule_further"] = label_allocation.size_measure(pools.scores, pools.sizes, pools.second)
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


def comparison_sentences(designs: Mapping[result.DesignName, result.ComparedDesign]) -> tuple[str, ...]:
    """Return which design varies least at each share, where that is beyond doubt, and what scores add."""
    sentences = [_best(designs, at) for at in range(len(designs["uniform"].shares))]
    sentences += [_with_scores(share) for share in designs["uniform"].shares]
    sentences.append(
        "The figures describe these prompts; the designs that look at labels are marked, and nobody can draw by them."
    )
    return tuple(sentences)


def _attained(name: str, compared: result.ComparedShare) -> tuple[float, float]:
    """Return the ratio that a user would see, of ``neyman`` after real pilots, and its standard error."""
    if name == "neyman" and compared.drawn is not None:
        return compared.drawn, compared.drawn_se or 0.0
    return compared.labels_only, 0.0


def _best(designs: Mapping[result.DesignName, result.ComparedDesign], at: int) -> str:
    compared = designs["uniform"].shares[at]
    lead = f"Labelling {percent(compared.share)} of the prompts ({compared.labels:,}), "
    ratios = {name: _attained(name, design.shares[at]) for name, design in designs.items() if design.feasible}
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


def _with_scores(row: result.ComparedShare) -> str:
    if row.with_scores is None:
        return f"With {row.labels:,} labelled prompts an audit fits no model of the scores: labels are used alone."
    return (
        f"With {row.labels:,} labelled prompts an audit takes the scores as covariates ({row.model}); the variance "
        f"of labels at random is then {number(row.with_scores)} of what it is without."
    )
