"""One judge calibrated in every way: the maps, its raw scores, its metrics, their changes, the level, the picks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.extras import TREES, limited_threads
from bonwise.progress import counting
from bonwise.report.numbers import Unit, estimate, interval
from bonwise.stats import catalog, correlation, estimand, estimation, level_bias
from bonwise.stats.sums import Sums, compared, distinct, tie_decimals
from bonwise.studies.calibration import refits, result
from bonwise.table.facts import JudgeCounts
from bonwise.table.panel import Panel

_Methods = Mapping[str, result.CalibratedMethod]


def calibration_sentences(
    data: JudgeCounts,
    raw: result.RawFigures,
    methods: _Methods,
    left_out: Mapping[str, str],
    *,
    folds: int,
    prompts: int,
) -> list[str]:
    """Return the findings, the most important first; `prompts` counts those of the judge, labelled or not."""
    return [
        *_recovery(methods),
        *(_picks(name, method, folds) for name, method in methods.items()),
        *(_correlations(name, method) for name, method in methods.items()),
        *_tie_breaks(methods),
        *_levels(raw, methods),
        *_described(data, prompts),
        *(f"{_called(name)} is left out: {why}." for name, why in left_out.items()),
    ]


def _recovery(methods: _Methods) -> Iterator[str]:
    """Say first whether any way of calibrating changes what is recovered."""
    changes = {name: method.changes["recovery"] for name, method in methods.items()}
    undefined = next((change.reason for change in changes.values() if change.estimate is None), None)
    if undefined is not None:
        yield f"Whether calibration changes recovery is not known: {undefined}."
        return
    better = {name: change for name, change in changes.items() if change.low is not None and change.low > 0}
    worse = {name: change for name, change in changes.items() if change.high is not None and change.high < 0}
    unseen = {name: change for name, change in changes.items() if name not in better and name not in worse}
    if better:
        yield f"Calibrating raises recovery with {_listed(better)}."
    if worse:
        yield f"Calibrating lowers recovery with {_listed(worse)}."
    if unseen:
        start = (
            "No change of recovery is detected" if better or worse else "Calibration is not found to change recovery"
        )
        yield f"{start}: {_listed(unseen)}."


def _picks(name: str, method: result.CalibratedMethod, folds: int) -> str:
    whole, untied = method.picks.all, method.picks.without_ties
    never_falls = method.rising_folds == folds and name not in COVARIATE_METHODS
    rises = ", a map that never falls," if never_falls else ""
    changed = f"{_called(name)}{rises} changes {whole.picks_changed:,} of {whole.prompts:,} picks"
    broken = f"ties at the top broken: {whole.ties_broken:,}"
    if not untied.prompts:
        return f"{changed}; the raw scores of every prompt tie at the top; {broken}."
    return (
        f"{changed}, {untied.picks_changed:,} of {untied.prompts:,} where no tie stood at the top; of them unique "
        f"picks newly tied: {whole.picks_newly_tied:,}; {broken}."
    )


def _correlations(name: str, method: result.CalibratedMethod) -> str:
    parts = [f"{metric} {_signed(method.relative[metric], 'share')}" for metric in ("global_r", "within_r")]
    parts.append(f"sign_agreement {_signed(method.changes['sign_agreement'], 'points')}")
    return f"{_called(name)}: {', '.join(parts)}."


def _tie_breaks(methods: _Methods) -> Iterator[str]:
    """Say whether ties are broken in favour of the better candidate; sign_agreement, over other pairs, cannot."""
    for name, method in methods.items():
        share = method.tie_breaks
        if name not in COVARIATE_METHODS or share.estimate is None or share.low is None or share.high is None:
            continue
        verdict = "better than" if share.low > 0.5 else "worse than" if share.high < 0.5 else "not told apart from"
        yield (
            f"{_called(name)} orders {_plain(share, 'share')} of the pairs that the raw scores tie as the labels do: "
            f"{verdict} guessing."
        )


def _levels(raw: result.RawFigures, methods: _Methods) -> Iterator[str]:
    if raw.level.estimate is None:
        yield f"Level: {raw.level.reason}."
        return
    after = ", ".join(
        f"{_plain(method.level.bias)} after {name.replace('_', ' ')}" for name, method in methods.items()
    )
    before = _plain(raw.level)
    yield f"Level: the mean score of the worst candidate is off its mean label by {before} raw, {after}."


def _described(data: JudgeCounts, prompts: int) -> Iterator[str]:
    """Say of how many prompts the figures are where others lack labels."""
    used, unlabelled = data.prompts, data.unlabelled_prompts
    if data.method == "labelled_only":
        known = " and have every covariate" if used + unlabelled < prompts else ""
        yield (
            f"Figures describe {used:,} of {prompts:,} prompts, those that are labelled completely{known}, not all "
            "prompts."
        )


def _called(name: str) -> str:
    return (name[0].upper() + name[1:]).replace("_", " ")


def _listed(changes: dict[str, EstimateRecord]) -> str:
    return "; ".join(f"{name.replace('_', ' ')} {_signed(change, 'points')}" for name, change in changes.items())


def _signed(one: EstimateRecord, unit: Unit) -> str:
    if one.estimate is None:
        return f"unknown ({one.reason})"
    return f"{estimate(one, unit, sign=True)}{_ends(one, unit, sign=True)}"


def _plain(one: EstimateRecord, unit: Unit = "number") -> str:
    return f"{estimate(one, unit)}{_ends(one, unit)}"


def _ends(one: EstimateRecord, unit: Unit, *, sign: bool = False) -> str:
    return "" if one.low is None else f" {interval(one, unit, sign=sign)}"


Map = Callable[[Floats], Floats]
"""Rows of a score, then its covariates, to calibrated scores."""


def isotonic(rows: Floats, labels: Floats, _seed: int) -> Map:
    """Learn the map of the score that never falls."""
    fitted = isotonic_map(rows[:, 0], labels)
    return lambda new: fitted.at(new[:, 0])


def two_stage(rows: Floats, labels: Floats, _seed: int) -> Map:
    """Learn a smooth index of the score alone, then the map of that index that never falls."""
    index = spline_index(rows[:, :1], labels)
    # Judges give few scores: each is looked up once.
    scores, codes = distinct(rows[:, 0])
    levels, level = np.unique(index.at(scores[:, None]), return_inverse=True)
    fitted = isotonic_of_levels(levels, level[codes], labels)

    def predict(new: Floats) -> Floats:
        known, at = distinct(new[:, 0])
        return fitted.at(index.at(known[:, None]))[at]

    return predict


def two_stage_covariates(rows: Floats, labels: Floats, _seed: int) -> Map:
    """Learn a smooth index of the score and its covariates, then the map of that index that never falls."""
    index = spline_index(rows, labels)
    fitted = isotonic_map(index.at(rows), labels)
    return lambda new: fitted.at(index.at(new))


def gradient_boosting(rows: Floats, labels: Floats, seed: int) -> Map:
    """Learn boosted trees of the score and its covariates."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - slow to import

    # Sums of several threads differ from run to run in the last bits.
    with limited_threads(1):
        fitted = HistGradientBoostingRegressor(early_stopping=False, random_state=seed).fit(rows, labels)

    def predict(new: Floats) -> Floats:
        with limited_threads(1):
            return np.asarray(fitted.predict(new), dtype=np.float64)

    return predict


METHODS: Mapping[str, Callable[[Floats, Floats, int], Map]] = MappingProxyType(
    {
        "isotonic": isotonic,
        "two_stage": two_stage,
        "two_stage_covariates": two_stage_covariates,
        "gradient_boosting": gradient_boosting,
    }
)

COVARIATE_METHODS = ("two_stage_covariates", "gradient_boosting")

TOO_DEAR_TO_REFIT = ("gradient_boosting",)
"""A hundred fits of trees a judge would take minutes: their intervals take the maps as fixed."""


def folds_of_prompts(prompts: int, folds: int, seed: int) -> Ints:
    """Deal prompts to folds of equal size, give or take one."""
    return np.random.default_rng(seed).permutation(prompts) % folds


def cross_fitted(method: str, rows: Floats, labels: Floats, owner: Ints, seed: int) -> Floats:
    """Calibrate each fold of prompts by a map of the others; `rows` is (cells, 1 + covariates), score first."""
    out, scored = np.full(len(rows), np.nan), ~np.isnan(rows[:, 0])
    for fold in np.unique(owner[scored]):
        mine, others = scored & (owner == fold), scored & (owner != fold)
        out[mine] = METHODS[method](rows[others], labels[others], seed)(rows[mine])
    return out


_CHANGING = tuple(e for e in catalog.ESTIMANDS if e.on_scores)
"""Metrics that calibrating the scores can change."""

_CORRELATIONS = tuple(e for e in catalog.ESTIMANDS if e.name in ("global_r", "within_r"))
"""Metrics whose change is also told as a share of the raw one."""

_SUMS, _TIES = slice(0, len(Sums._fields)), slice(len(Sums._fields), None)


_Estimates = tuple[
    Mapping[str, estimand.Estimate],
    Mapping[str, estimand.Estimate],
    Mapping[str, estimand.Estimate],
    estimand.Estimate,
]
"""Metrics, changes, relative changes and tie breaks."""


class RawScores:
    """The raw scores of a judge on a completely labelled panel; `method` says of which prompts estimates are."""

    def __init__(
        self,
        panel: Panel,
        covariates: Mapping[str, Floats],
        settings: Settings,
        folds: int,
        method: Literal["complete", "labelled_only"] = "complete",
    ) -> None:
        self.panel, self.settings, self.method = panel, settings, method
        self.rule: estimation.IntervalRule = settings.rule(panel.labels)
        self.scores = compared(panel.scores)
        self.rows = np.column_stack([self.scores, *covariates.values()])
        fold_of = folds_of_prompts(len(panel.sizes), folds, settings.seed)
        self.owner = np.repeat(fold_of, panel.sizes)
        self.groups = refits.deal_groups(fold_of, settings.seed)
        sums = panel.sums(self.scores)
        self.refits: refits.Refits = refits.refits(lambda kept: sums[:, kept], self.groups)
        self.after: dict[str, refits.Refits] = {}  # by method; without refits where maps are taken as fixed
        self.heavy = correlation.heavy_tails(self.scores, panel.labels)
        self.metrics = estimation.estimate(catalog.ESTIMANDS, sums, self.rule)
        self.level = self._level(self.scores)

    def calibrated(self, method: str) -> result.CalibratedMethod:
        """Calibrate in one way, of `METHODS`."""
        calibrated = self._cross_fitted(method, np.ones(len(self.scores), dtype=bool))
        fixed = method in TOO_DEAR_TO_REFIT
        metrics, changes, relative, tie_breaks = (
            self._with_fixed_maps(method, calibrated) if fixed else self._refitted(method)
        )
        whole, untied = refits.pick_changes(self.scores, calibrated, self.panel.sizes)
        level = self._level(calibrated)
        change = level_bias.level_bias_difference(level, self.level, self.settings.confidence)
        return result.CalibratedMethod(
            intervals=result.FIXED if fixed else result.REFITTED,
            metrics=self.records(metrics),
            changes=self.records(changes),
            relative=self.records(relative),
            level=result.LevelChange(intervals=result.FIXED, bias=self._record(level), change=self._record(change)),
            tie_breaks=self._record(tie_breaks),
            picks=result.PickOutcomes(all=whole, without_ties=untied),
            rising_folds=refits.rising_groups(self.scores, calibrated, self.owner),
        )

    def raw(self) -> result.RawFigures:
        """Return what is known of the raw scores."""
        return result.RawFigures(metrics=self.records(self.metrics), level=self._record(self.level))

    def records(self, estimates: Mapping[str, estimand.Estimate]) -> dict[str, EstimateRecord]:
        """Return records that say of which prompts the estimates are; correlations as in an audit of the judge."""
        estimates = correlation.without_correlations(estimates, self.heavy)
        return estimate_records(estimand.under_method(estimates, self.method))

    def _record(self, estimate: estimand.Estimate) -> EstimateRecord:
        return EstimateRecord.of(estimate.with_method(self.method))

    def _refitted(self, method: str) -> _Estimates:
        """Estimate with intervals that learn the maps again without each group of prompts."""

        def sums_of(kept: np.ndarray) -> Floats:
            cells, panel = np.repeat(kept, self.panel.sizes), self.panel.keep(kept)
            calibrated = self._cross_fitted(method, cells)
            level = exchange_training_means(calibrated, panel.labels, self.owner[cells])
            ties = refits.tie_break_sums(self.scores[cells], calibrated, panel.labels, panel.sizes)
            return np.concatenate([panel.sums(level), ties])

        sums = refits.refits(sums_of, self.groups)
        after, before, rule = sums.rows(_SUMS), self.refits, self.rule
        self.after[method] = after
        estimates = refits.refitted_estimate(_CHANGING, after, rule)
        return (
            {name: estimates.get(name, raw) for name, raw in self.metrics.items()},
            refits.refitted_difference(_CHANGING, after, before, (estimates, self.metrics), rule),
            refits.refitted_relative(_CORRELATIONS, after, before, self.metrics, rule),
            refits.refitted_tie_breaks(sums.rows(_TIES), rule.confidence),
        )

    def _with_fixed_maps(self, method: str, calibrated: Floats) -> _Estimates:
        panel, before, rule = self.panel, self.refits.whole, self.rule
        level = exchange_training_means(calibrated, panel.labels, self.owner)
        after = panel.sums(level)
        self.after[method] = refits.Refits(after, np.empty((len(after), 0)))
        return (
            estimation.estimate(catalog.ESTIMANDS, after, rule),
            estimation.difference(_CHANGING, after, before, rule),
            refits.relative_change(_CORRELATIONS, after, before, rule),
            refits.tie_break_agreement(
                self.scores, calibrated, panel.labels, panel.sizes, confidence=rule.confidence
            ),
        )

    def _cross_fitted(self, method: str, cells: np.ndarray) -> Floats:
        labels, owner = self.panel.labels[cells], self.owner[cells]
        return cross_fitted(method, self.rows[cells], labels, owner, self.settings.seed)

    def _level(self, scores: Floats) -> estimand.Estimate:
        """Return the largest bias of a candidate's mean; cross-fitted maps keep the level that they give it."""
        panel, scored = self.panel, ~np.isnan(scores)
        labels, names = panel.labels[scored], panel.names[scored]
        return level_bias.largest_bias(
            scores[scored] - labels, labels, panel.scored_cells, names, confidence=self.settings.confidence
        )


_NO_COVARIATE = "it needs a covariate: name a column of numbers, or give the texts for their length"
_NO_TREES = "it needs bonwise[trees] (pip install 'bonwise[trees]')"


def mean_changes(raw: Sequence[RawScores], judges: Sequence[result.CalibrationJudge]) -> dict[str, Any]:
    """Return the means over several judges, or why there are none; `judges` are their records."""
    if len(judges) < 2:
        return {}
    if not all(scores.panel.prompt_ids.equals(raw[0].panel.prompt_ids) for scores in raw):
        return {"not_over_judges": "the judges are not calibrated on the same prompts"}
    by_method, strictest = {}, max(raw, key=lambda judge: bool(judge.heavy))
    for method in judges[0].methods:
        own = [judge.methods[method] for judge in judges]
        pairs = zip(raw, own, strict=True)
        changes = [refits.JudgeChange(scores.after[method], scores.refits, its) for scores, its in pairs]
        means = refits.over_judges(_CHANGING, _CORRELATIONS, changes, raw[0].rule)
        records = {name: strictest.records(estimates) for name, estimates in means.items()}
        by_method[method] = result.MethodOverJudges(intervals=own[0].intervals, **records)
    return {"over_judges": by_method}


def _left_out(covariates: Mapping[str, Floats]) -> dict[str, str]:
    """Return the methods that cannot be used here, and why."""
    if not covariates:
        return dict.fromkeys(COVARIATE_METHODS, _NO_COVARIATE)
    return {"gradient_boosting": _NO_TREES} if TREES.missing() else {}


def calibrate_judge(
    panel: Panel, covariates: Mapping[str, Floats], settings: Settings, *, data: JudgeCounts, folds: int, prompts: int
) -> tuple[result.CalibrationJudge, RawScores]:
    """Calibrate a judge on a completely labelled panel in every way that covariates and extras allow."""
    left_out = _left_out(covariates)
    raw = RawScores(panel, covariates, settings, folds, data.method)
    figures, methods = raw.raw(), {}
    with counting("method", len(METHODS) - len(left_out)) as step:
        for name in (one for one in METHODS if one not in left_out):
            methods[name] = raw.calibrated(name)
            step()
    judge = result.CalibrationJudge(
        data=data,
        covariates=list(covariates),
        raw=figures,
        methods=methods,
        groups=int(raw.refits.groups),
        left_out=left_out,
        sentences=calibration_sentences(data, figures, methods, left_out, folds=folds, prompts=prompts),
    )
    return judge, raw


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A map that never falls: fitted heights at the values seen, straight lines between, level beyond."""

    values: Floats
    """Distinct, rising."""
    heights: Floats
    """Never falling."""

    def at(self, values: Floats) -> Floats:
        """Return heights at some values; equal ones get equal heights, higher ones no lower, to the last bit."""
        if len(self.values) == 1:
            return np.full(len(values), self.heights[0])
        left = (np.searchsorted(self.values, values, side="right") - 1).clip(0, len(self.values) - 2)
        start, end = self.values[left], self.values[left + 1]
        part = (values.clip(start, end) - start) / (end - start)
        low, high = self.heights[left], self.heights[left + 1]
        # Each step rounds without changing an order; only the sum could carry past the next height.
        found: Floats = np.minimum(low + part * (high - low), high)
        return found


def isotonic_map(values: Floats, labels: Floats) -> IsotonicMap:
    """Fit the map that never falls and is nearest to the labels in least squares; both are (cells,), without NaN."""
    return isotonic_of_levels(*distinct(values), labels)


def isotonic_of_levels(levels: Floats, codes: Ints, labels: Floats) -> IsotonicMap:
    """Fit the same map where the value of each cell is a code of distinct ones, rising, that all occur."""
    weights = np.bincount(codes).astype(np.float64)
    means = np.bincount(codes, weights=labels) / weights
    return IsotonicMap(levels, level_bias.pool_adjacent_violators(means, weights))


_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)
"""Quantiles at which a column is knotted; on heaped scores some fall together and count once."""


@dataclass(frozen=True, eq=False)
class SplineIndex:
    """A sum of one smooth curve a column, straight beyond the outer knots."""

    knots: tuple[Floats, ...]
    """Of each column, distinct and rising; fewer than three make the curve a line."""
    coefficients: Floats
    """The constant first, then those of each column's terms."""
    decimals: int
    """By which indices are compared, those of the labels."""

    def at(self, columns: Floats) -> Floats:
        """Return the index of each row, in label units, rounded so that equal rows tie to the last bit."""
        return np.round(_terms(columns, self.knots) @ self.coefficients, self.decimals)


def spline_index(columns: Floats, labels: Floats) -> SplineIndex:
    """Regress labels on splines of the columns by least squares; `columns` is (cells, columns) without NaN."""
    knots = tuple(np.unique(np.quantile(column, _KNOTS)) for column in columns.T)
    # A constant column, or one that repeats another, leaves several solutions: the shortest is taken.
    found = np.linalg.lstsq(_terms(columns, knots), labels, rcond=None)[0].astype(np.float64)
    return SplineIndex(knots, found, tie_decimals(labels))


def _terms(columns: Floats, knots: tuple[Floats, ...]) -> Floats:
    curves = [_curve(column, at) for column, at in zip(columns.T, knots, strict=True)]
    return np.column_stack([np.ones(len(columns)), *curves])


def _curve(values: Floats, knots: Floats) -> Floats:
    """Return the terms of one column, with the knots' range as the unit: the line, then a bend a middle knot."""
    unit = knots[-1] - knots[0] or 1.0
    x, t = (values - knots[0]) / unit, (knots - knots[0]) / unit
    if len(knots) < 3:
        line: Floats = x[:, None]
        return line
    over = np.maximum(x[:, None] - t, 0.0)
    cubes = over * over * over  # a power takes ten times as long
    last = t[-1] - t[-2]
    bends = [
        cubes[:, j] - cubes[:, -2] * (t[-1] - t[j]) / last + cubes[:, -1] * (t[-2] - t[j]) / last
        for j in range(len(t) - 2)
    ]
    return np.column_stack([x, *bends])


def exchange_training_means(values: Floats, labels: Floats, folds: Ints) -> Floats:
    """Shift each fold's values to the mean of all labels: a map learnt elsewhere turns correlations down."""
    known = ~np.isnan(values)
    taught, of, many = labels[known], folds[known], int(folds.max()) + 1
    counts, totals = np.bincount(of, minlength=many), np.bincount(of, weights=taught, minlength=many)
    learned = (taught.sum() - totals) / (len(taught) - counts)
    shifted: Floats = values + (taught.mean() - learned)[folds]
    return shifted
