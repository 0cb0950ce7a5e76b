"""What is measured of a stack: figures out of fold, calibration, what each judge is worth, other rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.result import Audit
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.release import release
from bonwise.results import given
from bonwise.stacks import fitted_stack, out_of_fold, result, stack_table
from bonwise.stacks.procedure import FOLDS, Deal, Paths, StackPools, Trained
from bonwise.stats import estimand, estimation, ordinal_ratings
from bonwise.stats.sums import compared
from bonwise.table import cell_scores, facts, reading_options
from bonwise.table.panel import lay_out

_WIDEST = 6.0


@dataclass(frozen=True, eq=False)
class ChanceCalibration:
    """How P(best) is brought in line with the labels."""

    temperature: float
    """Utilities are divided by it."""
    unit: float
    """Labels per unit of regret."""
    tenths: list[result.CalibrationTenth] = field(repr=False)
    """Out of fold, empty ones left out."""

    @property
    def largest_gap(self) -> float:
        """The largest distance of predicted and observed among tenths with 50 candidates or more; NaN without one."""
        gaps = [abs(tenth.predicted - tenth.observed) for tenth in self.tenths if tenth.candidates >= 50]
        return max(gaps, default=float("nan"))


_AT_ONCE = 1 << 15
"""Utilities that are worked on together."""


def chances_and_regrets(quality: Floats, sizes: Ints, temperature: float) -> tuple[Floats, Floats]:
    """Return P(best) and expected regret, in utility over temperature, (cells,); `quality` is (cells, draws)."""
    chances, regrets = np.empty((2, len(quality)))
    starts = np.cumsum(sizes) - sizes
    # Prompts of one size at a time have no bounds of segments, and some at a time fit the cache.
    for size in np.unique(sizes).tolist():
        alike = starts[sizes == size]
        step = max(1, _AT_ONCE // (size * quality.shape[1]))
        for some in (alike[at : at + step] for at in range(0, len(alike), step)):
            cells = some[:, None] + np.arange(size)
            scaled = quality[cells] / temperature
            top = scaled.max(axis=1, keepdims=True)
            sums = np.exp(scaled - top)
            total = sums.sum(axis=1, keepdims=True)
            regrets[cells] = (top + np.log(total) - scaled).mean(axis=2)
            chances[cells] = np.divide(sums, total, out=sums).mean(axis=2)
    return chances, regrets


def quality_out_of_fold(
    pools: StackPools, paths: Paths, deal: Deal, trained: Trained, *, draws: int, seed: int
) -> Floats:
    """Return utilities under draws, even in number, of each fold's coefficients, (cells, draws)."""
    noise = np.random.default_rng(seed).standard_normal((pools.features.shape[1], draws // 2))
    of_cell = np.repeat(deal.folds[0][deal.parts], pools.sizes)
    out = np.empty((len(of_cell), draws))
    for fold in np.unique(of_cell).tolist():
        drawn = _root(coefficient_covariance(pools, paths, trained, fold)) @ noise
        both = trained.coefficients[fold][:, None] + np.concatenate([drawn, -drawn], axis=1)
        out[of_cell == fold] = pools.features[of_cell == fold] @ both
    return out


def coefficient_covariance(pools: StackPools, paths: Paths, trained: Trained, at: int) -> Floats:
    """Return the covariance of the coefficients of a set; where it falls back, that of the judge's own alone."""
    stack, alone = trained.ridges[at].tolist()
    if not trained.falls_back[at]:
        return paths.stack.sandwich(stack)
    judge = int(trained.best_alone[at])
    covariance = np.zeros((pools.features.shape[1],) * 2)
    covariance[pools.own[judge], pools.own[judge]] = paths.alone[judge].sandwich(alone)[0, 0]
    return covariance


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def calibrated(quality: Floats, labels: Floats, sizes: Ints) -> ChanceCalibration:
    """Choose the temperature under which labels are likeliest; `quality` is (cells, draws), out of fold."""
    best = _shares(labels, sizes)

    def loss(log_temperature: float) -> float:
        chances, _ = chances_and_regrets(quality, sizes, float(np.exp(log_temperature)))
        return -float(best @ np.log(np.maximum(chances, 1e-300)))

    found = minimize_scalar(loss, bounds=(-_WIDEST, _WIDEST), method="bounded", options={"xatol": 1e-3})
    temperature = float(np.exp(found.x))
    chances, regrets = chances_and_regrets(quality, sizes, temperature)
    return ChanceCalibration(temperature, _unit(chances, regrets, labels, sizes), _tenths(chances, best))


def _shares(labels: Floats, sizes: Ints) -> Floats:
    starts = np.cumsum(sizes) - sizes
    rounded = compared(labels)
    best = rounded == np.repeat(np.maximum.reduceat(rounded, starts), sizes)
    shares: Floats = best / np.repeat(np.add.reduceat(best, starts, dtype=np.float64), sizes)
    return shares


def _unit(chances: Floats, regrets: Floats, labels: Floats, sizes: Ints) -> float:
    """Return the labels that picks really lose for each unit of regret that is expected of them."""
    starts = np.cumsum(sizes) - sizes
    lost = float((np.repeat(np.maximum.reduceat(labels, starts), sizes) - labels) @ chances)
    expected = float(regrets @ chances)
    return lost / expected if expected > 0 else 0.0


def _tenths(chances: Floats, best: Floats) -> list[result.CalibrationTenth]:
    """Return the tenths of the range; of k candidates that share the highest label each counts 1 / k."""
    at = np.minimum((chances * 10).astype(np.int64), 9)
    return [
        result.CalibrationTenth(
            low=number / 10,
            high=(number + 1) / 10,
            predicted=float(chances[at == number].mean()),
            observed=float(best[at == number].mean()),
            candidates=int((at == number).sum()),
        )
        for number in np.unique(at).tolist()
    ]


_MOST_CLASSES, _CLASSES = 10, 5


def mean_of_z_scores(pools: StackPools, _: Deal) -> Floats:
    """Return the mean of the judges' scores, centred within prompts and on one scale, gaps filled."""
    mean: Floats = pools.features[:, list(pools.own)].mean(axis=1)
    return mean


def majority_of_picks(pools: StackPools, _: Deal) -> Floats:
    """Return the share of judges that pick each candidate; a judge with several at the top votes for each in part."""
    starts = np.cumsum(pools.sizes) - pools.sizes
    known = np.where(np.isnan(pools.judges), -np.inf, compared(pools.judges))
    top = known == np.repeat(np.maximum.reduceat(known, starts, axis=0), pools.sizes, axis=0)
    votes = top / np.repeat(np.add.reduceat(top, starts, axis=0, dtype=np.float64), pools.sizes, axis=0)
    share: Floats = votes.mean(axis=1)
    return share


def ordinal_logit(pools: StackPools, deal: Deal) -> Floats:
    """Return a proportional odds model of labels on uncentred scores, out of fold; many values make five classes."""
    scores, labels = _over_all_cells(pools.judges), _classes(pools.labels)
    count = int(labels.max()) + 1
    folds = np.repeat(deal.folds[0][deal.parts], pools.sizes)
    out = np.zeros(len(labels))
    for fold in np.unique(folds).tolist():
        held, others = folds == fold, (folds != fold) & pools.scored
        out[held] = (
            scores[held] @ ordinal_ratings.fit_ordinal(scores[others], labels[others], count, ridge=1.0).coefficients
        )
    return out


def _over_all_cells(judges: Floats) -> Floats:
    """Return the scores of each judge less their mean, divided by their standard deviation, 0 where there is none."""
    spread = np.nanstd(judges, axis=0)
    scaled = (judges - np.nanmean(judges, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.nan_to_num(scaled))


def _classes(labels: Floats) -> Ints:
    values, codes = np.unique(compared(labels), return_inverse=True)
    if len(values) <= _MOST_CLASSES:
        return codes.reshape(-1).astype(np.int64)
    ends = np.unique(np.quantile(labels, np.arange(1, _CLASSES) / _CLASSES))
    return np.unique(np.searchsorted(ends, labels, side="left"), return_inverse=True)[1].reshape(-1).astype(np.int64)


BASELINES: Mapping[str, Callable[[StackPools, Deal], Floats]] = {
    "mean of z-scores": mean_of_z_scores,
    "majority of picks": majority_of_picks,
    "ordinal logit": ordinal_logit,
}
"""Rules by name."""


def baselines(
    pools: StackPools, deal: Deal, whole: Floats, rule: estimation.IntervalRule
) -> dict[str, result.StackBaseline]:
    """Compare the stack with every rule; `whole`, its sums out of fold, is (len(Sums._fields), prompts)."""
    compared = [metric for metric in out_of_fold.METRICS if metric.name in out_of_fold.COMPARED]
    baselines_by_name = {}
    for name, scores_of in BASELINES.items():
        sums = pools.sums(np.where(pools.scored, scores_of(pools, deal), np.nan))
        baselines_by_name[name] = result.StackBaseline(
            metrics=estimate_records(estimation.estimate(compared, sums, rule)),
            difference=estimate_records(estimation.difference(compared, whole, sums, rule)),
        )
    return baselines_by_name


_MOST_CALIBRATED = 2_000
"""Prompts that calibrate P(best), at most."""


class StackMeasures:
    """The figures of a stack, trained on all labelled prompts; `prices` of a call may be none."""

    def __init__(
        self,
        laid: stack_table.StackTable,
        pools: StackPools,
        paths: Paths,
        deal: Deal,
        trained: Trained,
        settings: Settings,
        prices: Mapping[str, float],
    ) -> None:
        self._laid, self._pools, self._paths, self._deal = laid, pools, paths, deal
        self._trained, self._settings, self._prices = trained, settings, prices
        self.figures = out_of_fold.stack_figures(pools, paths, deal, self._counted, self._rule)
        if self.too_few:
            self.figures = _without_figures(self.figures, self.too_few)
        self.calibration = self._calibrated()

    @property
    def _counted(self) -> Mask:
        """The prompts behind the figures; all, where too few are labelled whole for any figure."""
        return np.ones_like(self._laid.whole) if self.too_few else self._laid.whole

    @property
    def too_few(self) -> str:
        """Why there are no figures; empty where there are some."""
        count = int(self._laid.whole.sum())
        if count >= stack_table.FEWEST_PROMPTS:
            return ""
        stated = " with --design cells" if self._laid.weights is None else ""
        return (
            f"{count} prompts are labelled whole, and a figure needs {stack_table.FEWEST_PROMPTS}: write the scores "
            f"with --scores, and audit them{stated}"
        )

    @property
    def _rule(self) -> estimation.IntervalRule:
        cells = np.repeat(self._counted, self._pools.sizes)
        clusters = None if self._pools.clusters is None else self._pools.clusters[self._counted]
        return self._settings.rule(self._pools.labels[cells], clusters)

    def _calibrated(self) -> ChanceCalibration:
        kept = np.flatnonzero(self._counted)
        rng = np.random.default_rng(self._settings.seed)
        some = np.zeros(len(self._counted), dtype=bool)
        some[rng.permutation(kept)[:_MOST_CALIBRATED]] = True
        pools, deal = self._pools.keep(some), replace(self._deal, parts=self._deal.parts[some])
        trained = self.figures.whole.trained
        quality = quality_out_of_fold(
            pools, self._paths, deal, trained, draws=fitted_stack.DRAWS, seed=self._settings.seed
        )
        sizes = pools.scored_sizes
        is_compared = pools.scored & np.repeat(sizes > 1, pools.sizes)
        return calibrated(quality[is_compared], pools.labels[is_compared], sizes[sizes > 1])

    def baselines(self) -> dict[str, result.StackBaseline]:
        """Compare the stack with other rules, on the prompts that are labelled whole."""
        if self.too_few:
            return {}
        pools = self._pools.keep(self._counted)
        deal = replace(self._deal, parts=self._deal.parts[self._counted])
        return baselines(pools, deal, self.figures.whole.sums(self._pools)[:, self._counted], self._rule)

    def worth(self) -> tuple[dict[str, result.JudgeWorthRecord], list[result.SmallerStack]]:
        """Leave judges out; nothing where the stack takes one judge alone anyway."""
        if self.too_few or self._trained.falls_back[0]:
            return {}, []
        singles, smaller = out_of_fold.worth_of_judges(
            self._pools,
            self._paths,
            self._deal,
            self.figures.whole.sums(self._pools)[:, self._counted],
            self._counted,
            self._rule,
            self._laid.owners,
        )
        names = self._laid.judges
        worth = {
            judge: result.JudgeWorthRecord(
                loss=EstimateRecord.of(single.loss), recovery=_number(single.recovery), **self._shares([judge])
            )
            for judge, single in zip(names, singles, strict=True)
        }
        return worth, [self._smaller([names[at] for at in stack.judges], stack.recovery) for stack in smaller]

    def _smaller(self, judges: list[str], recovery: float) -> result.SmallerStack:
        return result.SmallerStack(judges=judges, recovery=_number(recovery), **self._shares(judges))

    def _shares(self, judges: Sequence[str]) -> dict[str, float]:
        """Return which part of the calls, and of the cost where prices are known, some judges take."""
        calls, prices = self._calls, self._prices
        shares = {"calls": sum(calls[judge] for judge in judges) / sum(calls.values())}
        costs = {judge: calls[judge] * prices[judge] for judge in calls} if prices else {}
        if sum(costs.values()) > 0:
            shares["cost"] = sum(costs[judge] for judge in judges) / sum(costs.values())
        return {name: min(value, 1.0) for name, value in shares.items()}

    @cached_property
    def _calls(self) -> dict[str, float]:
        """How many scores each judge gave a candidate on average: several where it was asked again."""
        table = self._laid.table
        panels = {panel.judge: panel for panel in lay_out(table, alike=True)}
        repeats = {judge: cell_scores.cell_repeats(table, panels[judge]).draws for judge in self._laid.judges}
        return {
            judge: 1.0 if draws is None else float(np.mean((~np.isnan(draws)).sum(axis=1)))
            for judge, draws in repeats.items()
        }

    def stack(self) -> fitted_stack.JudgeStack:
        """Return what applies the fit to all labelled prompts."""
        scaling, trained = self._laid.scaling, self._trained
        coefficients = trained.coefficients[0]
        covariance = coefficient_covariance(self._pools, self._paths, trained, 0)
        fallback = None
        if trained.falls_back[0]:
            judge = int(trained.best_alone[0])
            fallback, own = self._laid.judges[judge], [self._pools.own[judge]]
            scaling = fitted_stack.FeatureScaling(
                (scaling.features[own[0]],), scaling.scales[own], scaling.covariance[np.ix_(own, own)]
            )
            coefficients, covariance = coefficients[own], covariance[np.ix_(own, own)]
        return fitted_stack.JudgeStack.of(
            scaling,
            coefficients,
            covariance,
            temperature=self.calibration.temperature,
            unit=self.calibration.unit,
            seed=int(self._settings.seed),
            fallback=fallback,
        )

    def fit(self, audit: Audit | None, specs: Mapping[str, str]) -> result.StackFit:
        """Return the fit; `audit` is of each judge on these labels, None where too few prompts are complete."""
        laid, figures, sizes = self._laid, self.figures, self._pools.scored_sizes
        worth, smaller = self.worth()
        judges = {} if audit is None else audit.judges
        not_audited = {} if audit is None else audit.not_audited
        choice = {} if audit is None else dict(audit.choice)
        model = self.stack()
        gap = self.calibration.largest_gap
        return result.StackFit(
            source=laid.table.source,
            prompts=int(laid.whole.sum()),
            fitted_prompts=int((sizes > 1).sum()),
            fitted_labels=int(sizes[sizes > 1].sum()),
            metrics=estimate_records(figures.metrics),
            judges={name: judge.metrics for name, judge in judges.items()},
            best_judge=choice["recovery"].best[0] if "recovery" in choice else None,
            best_out_of_fold=estimate_records(figures.best),
            difference=estimate_records(figures.difference),
            fallback=model.fallback,
            baselines=self.baselines(),
            worth=worth,
            smaller=smaller,
            smallest=_smallest(smaller),
            left_out={**laid.left_out, **not_audited},
            missing=dict(laid.missing),
            **given(
                unscored=int((~laid.scored).sum()) or None,
                dropped=[facts.DroppedPrompt(prompt_id=lost.prompt_id, reason=lost.reason) for lost in laid.dropped]
                or None,
            ),
            calibration=result.StackCalibration(tenths=self.calibration.tenths, largest_gap=_number(gap)),
            fitted_to=sorted(result.prompt_digest(str(prompt)) for prompt in laid.panel.prompt_ids[laid.prompts]),
            model=model,
            settings=self._stated(),
            **given(choice=choice or None, specs=dict(specs) or None),
        ).computed_from(result.ScoredTable(laid.table, laid.panel, self._utilities(model)))

    def _stated(self) -> result.StackSettings:
        laid, deal, settings = self._laid, self._deal, self._settings
        kinds = dict.fromkeys(feature.kind for feature in laid.scaling.features if feature.kind != "score")
        return result.StackSettings(
            confidence=settings.confidence,
            seed=int(settings.seed),
            further_features=list(kinds),
            folds=min(FOLDS, deal.count),
            partitions=len(deal.folds),
            groups=int(deal.groups.max()) + 1,
            ridge=float(self._paths.stack.ridges[self._trained.ridges[0, 0]]),
            exclude=list(settings.exclude),
            shape=laid.panel.shape,
            version=release(),
            **given(unlabelled=laid.table.unlabelled),
            **{**reading_options.values_read(laid.table), **given(lower_is_better=sorted(laid.table.turned) or None)},
        )

    def _utilities(self, stack: fitted_stack.JudgeStack) -> Floats:
        """Return the utility of each cell, out of fold where the stack was fitted to the prompt."""
        laid = self._laid
        own = np.zeros(laid.standardised.shape[1])
        for feature, coefficient in zip(stack.scaling.features, stack.coefficients, strict=True):
            own[laid.scaling.features.index(feature)] = coefficient
        by_prompt = np.tile(own, (len(laid.panel.sizes), 1))
        by_prompt[laid.prompts] = self.figures.whole.trained.coefficients[self._deal.folds[0][self._deal.parts]]
        utilities = np.einsum("cf,cf->c", laid.standardised, np.repeat(by_prompt, laid.panel.sizes, axis=0))
        return np.where(laid.scored, utilities, np.nan)


def _without_figures(figures: out_of_fold.StackFigures, reason: str) -> out_of_fold.StackFigures:
    nothing = estimand.Estimate.undefined(reason, 0)

    def none_of(figures: Mapping[str, estimand.Estimate]) -> dict[str, estimand.Estimate]:
        return dict.fromkeys(figures, nothing)

    return out_of_fold.StackFigures(
        none_of(figures.metrics), none_of(figures.best), none_of(figures.difference), figures.whole
    )


def _smallest(smaller: Sequence[result.SmallerStack]) -> result.SmallerStack | None:
    """Return the stack of the fewest judges that keeps most of the recovery of all of them."""
    if not smaller or smaller[0].recovery is None or smaller[0].recovery <= 0:
        return None
    least = out_of_fold.KEEPS * smaller[0].recovery
    enough = [stack for stack in smaller if stack.recovery is not None and stack.recovery >= least]
    return min(enough, key=lambda stack: len(stack.judges))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
