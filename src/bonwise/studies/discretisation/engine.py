"""What coarse scores cost: a simulated judge on the labels at hand, its scores cut into bins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bonwise.arrays import Floats
from bonwise.auditing.settings import Settings
from bonwise.errors import ColumnError, InputError, UsageError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.progress import counting
from bonwise.report import numbers
from bonwise.stats import catalog, estimand, estimation
from bonwise.stats.sums import Sums, compared, prompt_sums
from bonwise.studies.discretisation import result
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.requirements.engine import no_curve
from bonwise.studies.requirements.noisy_oracle import NoisyOracle, affordable, noise_for_recovery
from bonwise.studies.requirements.result import RequirementCounts
from bonwise.table import checks, opening
from bonwise.table.panel import Panel
from bonwise.table.reading_options import AS_IT_STANDS, ReadingOptions

if TYPE_CHECKING:
    from bonwise.table.score_table import ScoreTable

METRICS = ("recovery", "effective_agreement", "effective_agreement_decided", "tie_rate", "top1_tie_rate")
_ESTIMANDS = tuple(e for e in catalog.ESTIMANDS if e.name in METRICS)
_RECOVERY = tuple(e for e in _ESTIMANDS if e.name == "recovery")

_MOST = 1000  # bins, and simulated judges

_Ways = Sequence[tuple[str, int]]
_Quality = tuple[float | None, float | None]
"""Recovery of the uncut scores, or rho."""


def cut(scores: Floats, scale: str, values: int, labels: Floats, own: Floats) -> Floats:
    """Return the bin of each score, from 0; the last one holds its upper end. `own` is the judge's, NaN for none."""
    if scale == "own":
        counts = np.unique(compared(own[~np.isnan(own)]), return_counts=True)[1]
        ranks = np.argsort(np.argsort(scores, kind="stable"), kind="stable") + 0.5
        return np.searchsorted(np.cumsum(counts)[:-1] / counts.sum() * len(scores), ranks).astype(float)
    if scale == "quantile":
        return np.searchsorted(np.quantile(scores, np.arange(1, values) / values), scores, "right").astype(float)
    ends = scores if scale == "range" else labels
    place: Floats = (np.clip(scores, ends.min(), ends.max()) - ends.min()) / (ends.max() - ends.min())
    return np.minimum(np.floor(place * values), values - 1)


def noise_and_rho(labels: NoisyOracle, cells: int, recovery: float | None, rho: float | None) -> tuple[float, float]:
    """Return the sd of the errors, and rho: for a recovery of the uncut scores, or for the rho that was given."""
    spread = math.sqrt(float(labels.squares.sum()) / cells)
    noise = spread * math.sqrt(1 / rho**2 - 1) if rho else noise_for_recovery(labels, recovery or 0.5)
    return noise, 1 / math.hypot(1.0, noise / spread)


def discretisation_study(
    source: opening.ScoreSource,
    options: ReadingOptions,
    *,
    bins: Sequence[int],
    quality: _Quality,
    draws: int,
    confidence: float,
    seed: int,
) -> result.DiscretisationStudy:
    """Cut the scores of a simulated judge into bins, and find what that costs; `quality` is its recovery, or rho."""
    recovery, rho = quality
    if recovery is not None and rho is not None:
        raise UsageError("recovery and rho both say how good the judge is", hint="give one of them")
    for name, value in {"recovery": recovery, "rho": rho}.items():
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{name} is {value:g}", hint="give a number between 0 and 1, such as 0.5")
    for name, count in (("draws", draws), *(("bins", count) for count in bins)):
        checks.check_whole(name, count, least=2, most=_MOST)
    recovery = 0.5 if recovery is None and rho is None else recovery
    table, scored = _opened(source, options)
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    judged = open_judged(table, settings, replace(AS_IT_STANDS, unpicked=table.unpicked))
    ways = [(scale, count) for scale in ("range", "clipped", "quantile") for count in dict.fromkeys(bins)]
    judges, refused = {}, dict(judged.not_studied)
    with counting("judge", len(judged.panels)) as step:
        for name in judged.panels:
            try:
                simulated = _of_judge(judged, name, ways, (recovery, rho), draws, scored)
                judges[name if scored else "labels alone"] = simulated
            except InputError as error:
                refused[name] = error.message
            step()
    if not judges:
        raise InputError(f"{table.source}: {next(iter(refused.values()))}", hint="see bonwise doctor")
    asked = {"bins": list(dict.fromkeys(bins)), "recovery": recovery, "simulated": draws}
    made = judged.settings_as(result.DiscretisationSettings, **asked)
    return result.DiscretisationStudy(settings=made, judges=judges, not_studied=refused)


def _opened(source: opening.ScoreSource, options: ReadingOptions) -> tuple[ScoreTable, bool]:
    """Return the table, and whether it has scores: where it has none labels are read in their place too."""
    try:
        return opening.open_table(source, options), True
    except ColumnError as error:
        columns = dict(options.named_columns)
        label = columns.pop("oracle_label", "oracle_label")
        if "judge_score" not in error.message or options.labels is not None:
            raise
        try:
            alone = opening.open_scores(source, replace(options, columns={**columns, "judge_score": label}))
            return opening.join_labels(alone, source, options), False  # type: ignore[arg-type] # rows, as just read
        except InputError:
            raise error from None


def _of_judge(
    judged: LabelledPanels, name: str, ways: _Ways, quality: _Quality, draws: int, scored: bool
) -> result.DiscretisationJudge:
    afforded, method = affordable(judged.panels[name].sizes, judged.settings.seed), judged.methods[name]
    panel = judged.panels[name].keep(afforded.kept)
    labels = NoisyOracle.of(panel.labels, panel.sizes)
    rule = replace(judged.settings.rule(panel.labels), kind="default")
    if reason := no_curve(labels, rule.confidence):
        raise InputError(f"labels leave nothing to lose: {reason}")
    noise, rho = noise_and_rho(labels, len(panel.labels), *quality)
    counts = np.unique(compared(panel.scores[~np.isnan(panel.scores)]), return_counts=True)[1]
    own, of_values = [("own", len(counts))] if scored else [], {}
    rows = list(_rows(panel, noise, [*ways, *own], draws, rule, method))
    if scored:
        figures = estimate_records(estimand.under_method(estimation.estimate(_ESTIMANDS, panel.sums(), rule), method))
        rows.append(result.BinnedScores(scale="judge", bins=len(counts), metrics=figures, sd={}))
        shares = np.sort(counts / counts.sum())[::-1]
        of_values["effective_values"] = math.exp(-float(shares @ np.log(shares)))
        of_values["two_most_frequent"] = float(shares[:2].sum())
    kept, too_large = len(panel.sizes), afforded.too_large
    data = judged.counts_as(RequirementCounts, name, studied_prompts=kept, too_large_prompts=too_large)
    made = result.DiscretisationJudge(data=data, rho=rho, noise=noise, rows=rows, sentences=[], **of_values)
    return made.model_copy(update={"sentences": list(_sentences(made))})


def _rows(
    panel: Panel, noise: float, ways: _Ways, draws: int, rule: estimation.IntervalRule, method: str
) -> Iterator[result.BinnedScores]:
    """Yield what the uncut scores and each way of cutting keep."""
    total, figures = np.zeros((1 + len(ways), len(Sums._fields), len(panel.sizes))), []
    functional = catalog.functional_of(_ESTIMANDS)
    for generator in np.random.default_rng(rule.seed).spawn(draws):
        scores = panel.labels + noise * generator.standard_normal(len(panel.labels))
        kinds = [scores, *(cut(scores, *way, panel.labels, panel.scores) for way in ways)]
        matrices = [prompt_sums(kind, panel.labels, panel.sizes) for kind in kinds]
        total += np.array(matrices)
        figures.append([functional(Sums(*matrix.sum(axis=1))) for matrix in matrices])
    # What a metric is divided by is the same for every judge, so the metric of mean sums is the mean over the judges.
    total /= draws
    spreads = np.std(figures, axis=0, ddof=1)
    for at, (scale, values) in enumerate([("continuous", None), *ways]):
        estimates = estimate_records(estimand.under_method(estimation.estimate(_ESTIMANDS, total[at], rule), method))
        sd = dict(zip((e.name for e in _ESTIMANDS), spreads[at].tolist(), strict=True))
        less = estimation.difference(_RECOVERY, total[at], total[0], rule)["recovery"].with_method(method)
        fields = {"scale": scale, "bins": values, "metrics": estimates, "sd": sd}
        yield result.BinnedScores(**fields, **({"loss": EstimateRecord.of(less)} if at else {}))  # type: ignore[arg-type]


def _sentences(judge: result.DiscretisationJudge) -> Iterator[str]:
    equal = [f"{row.bins:,} bins {_change(row)}" for row in judge.rows if row.scale == "range"]
    uncut = numbers.with_any_interval(judge.rows[0].metrics["recovery"], "share")
    yield f"The simulated judge recovers {uncut}. Equal bins of its range change that: {'; '.join(equal)}."
    own, last = judge.rows[-2], judge.rows[-1]
    if judge.effective_values is not None and judge.two_most_frequent is not None:
        ties = [numbers.with_any_interval(row.metrics["tie_rate"], "share") for row in (own, last)]
        values, most = numbers.counted(own.bins or 0, "value"), numbers.percent(round(judge.two_most_frequent, 3))
        coarse = f"as coarse as {judge.effective_values:.1f} equally frequent ones"
        yield f"{most} of this judge's scores have one of two values; its {values} are {coarse}."
        yield f"Cut into these values, as often as the judge gives each, recovery changes by {_change(own)}."
        yield f"In these values they tie {ties[0]} of the pairs; the judge ties {ties[1]}."


def _change(row: result.BinnedScores) -> str:
    return "" if row.loss is None else numbers.with_any_interval(row.loss, "points", sign=True)
