"""What an audit says of other candidates: means of pairs that look alike, weighted by their share of the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.metric_groups import unit_of
from bonwise.printable import listed
from bonwise.report import numbers
from bonwise.stats import estimand, jackknife, laws, support
from bonwise.stats.sums import Sums, by_rank, compared
from bonwise.stats.top_of_scores import top_of_scores
from bonwise.studies.calibration.engine import covariates_of
from bonwise.studies.candidates import curve, result
from bonwise.studies.label_strategy.pairs import every_pair, gap_groups
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.table import checks, opening, reading_options
from bonwise.table.facts import JudgeCounts
from bonwise.table.panel import MAY_LACK, Panel, lay_out

__all__ = ["post_stratified", "transfer_study"]

_LIMITS = {"effective_agreement": (0.0, 1.0), "pair_loss": (0.0, np.inf), "gain": (-np.inf, np.inf)}


class _Units(NamedTuple):
    """Pairs or pools of the audit, then those of the target."""

    prompt: Ints
    strata: Ints
    names: list[str]
    outcomes: Floats  # of the audit's, (2, units): agreement and loss of a pair, gain and room of a pool


def post_stratified(totals: Floats, counts: Ints, wanted: Ints) -> tuple[Floats, Floats]:
    """Return ``sum_s w_s mean_s`` of several outcomes, and what each prompt adds, those of the target last.

    ``totals`` are sums by outcome, prompt and stratum, ``counts`` (prompts, strata) of how many, and ``wanted``
    (target prompts, strata) how many of the target make the shares w. Each prompt is left out in turn.
    """
    A, N, W = totals.sum(axis=1, keepdims=True), counts.sum(axis=0), wanted.sum(axis=0)

    def weighted(A: Floats, N: Floats | Ints, W: Ints) -> Floats:
        mean: Floats = (A / N * W).sum(axis=-1) / W.sum(axis=-1)
        return mean

    left = [weighted(A - totals, N - counts, W)]
    if len(wanted) > 1:
        left.append(weighted(A, N, W - wanted))
    adds = [(own.mean(axis=1, keepdims=True) - own) * np.sqrt(1 - 1 / own.shape[1]) for own in left]
    return weighted(A, N, W)[:, 0], np.concatenate(adds, axis=1)


def transfer_study(
    source: opening.ScoreSource,
    to: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    own: Mapping[str, Any],
    *,
    confidence: float,
    seed: int,
) -> result.TransferStudy:
    """Estimate from an audit how well the judges do on the target; `own` are settings of this study alone."""
    checks.check_whole("gap_groups", own["gap_groups"], least=1)
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    judged, similarity = open_judged(source, settings, options), own.get("similarity")
    none = dict.fromkeys(("labels", "oracle", "label_scale", "annotator_rule", "unlabelled_is"))
    scores_alone: dict[str, Any] = {**none, "join_col": (), "by_line": False}
    table = opening.open_scores(to, replace(options.without_label_column(), **scores_alone))
    opening.refuse_clusters(table, "this study")
    exclude = [name for name in options.exclude if name in table.candidates]
    targets = {panel.judge: panel for panel in lay_out(table, exclude=exclude, shape=options.shape)}
    judges, refused = {}, dict(judged.not_studied)
    for name, panel in judged.panels.items():
        if name not in targets:
            refused[name] = f"{table.source} has no scores of it"
            continue
        both, alike = [panel, targets[name]], None
        if similarity is not None:
            pair = zip((judged.table, table), both, strict=True)
            joined = [covariates_of(each, [similarity], None).join(laid) for each, laid in pair]
            both, alike = [laid for laid, _ in joined], np.concatenate([values[:, 0] for _, values in joined])
        judges[name] = _Transfer(judged, *both).judge(own["gap_groups"], alike)
    if not judges:
        hint = f"name judges alike in both; those of the labelled table are {listed(judged.table.judges)}"
        raise InputError(f"{table.source}: it has no scores of a judge of {judged.table.source}", hint=hint)
    made = judged.settings_as(result.TransferSettings, target=table.source, **own)
    return result.TransferStudy(settings=made, judges=judges, not_studied=refused)


class _Transfer:
    """The pairs and pools of one judge in both tables."""

    def __init__(self, judged: LabelledPanels, panel: Panel, target: Panel) -> None:
        self.judged, self.panel, self.target = judged, panel, target
        self.split, self.sizes = len(panel.sizes), np.concatenate([panel.sizes, target.sizes])
        self.scores = compared(np.concatenate([panel.scores, target.scores]))
        self.figures: dict[str, dict[str, EstimateRecord]] = {"audit": {}, "target": {}}
        self.uncovered: dict[str, float] = {}
        self.strata: dict[str, list[result.TransferStratum]] = {}

    def judge(self, groups: int, similarity: Floats | None) -> result.TransferJudge:
        """Return what the audit says of the target."""
        self._stratify("pairs", self._pairs(groups, similarity), ("effective_agreement", "pair_loss"))
        self._stratify("pools", self._pools(groups), ("gain", "recovery"))
        return result.TransferJudge(
            data=self.judged.counts_as(JudgeCounts, self.panel.judge, self.panel),
            figures=self.figures,
            target_prompts=len(self.target.sizes),
            target_dropped=dict(Counter(lost.reason for lost in self.target.dropped)),
            uncovered=self.uncovered,
            strata=self.strata,
            sentences=list(_sentences(self.figures, self.uncovered)),
        )

    def _pairs(self, groups: int, similarity: Floats | None) -> _Units:
        """Group the pairs by score gap, and by whether their similarity is above the audit's median."""
        pairs, ranked = every_pair(self.sizes), by_rank(self.scores)
        own = pairs.some(pairs.prompt < self.split)
        gaps = np.abs(self.scores[pairs.i] - self.scores[pairs.j])
        gaps[np.isnan(self.scores[pairs.i]) & np.isnan(self.scores[pairs.j])] = 0.0  # the pick between them is random
        codes, names = _by_gap(gaps, own.prompt, groups, "gap")
        if similarity is not None:
            mean = (similarity[pairs.i] + similarity[pairs.j]) / 2
            codes = codes * 2 + (mean > np.nanmedian(mean[: len(own.i)]))
            names = [f"{name}, {which} similarity" for name in names for which in ("lower", "higher")]
        labels = compared(self.panel.labels)
        above = np.sign(labels[own.i] - labels[own.j])
        order = (ranked[own.i] > ranked[own.j]).astype(float) - (ranked[own.i] < ranked[own.j])
        agreement = (1 + order * above) / 2
        loss = np.abs(labels[own.i] - labels[own.j]) * (1 - agreement)
        return _Units(pairs.prompt, codes, names, np.stack([agreement, loss]))

    def _pools(self, groups: int) -> _Units:
        """Group the pools by size, by tie at the top, and by margin."""
        sums, sizes = Sums(*self.panel.sums()), np.unique(self.panel.sizes)
        margins = top_of_scores(self.scores, self.sizes, by_rank(self.scores)).margin
        codes, names = _by_gap(margins, np.arange(self.split), groups, "margin")
        size = np.where(np.isin(self.sizes, sizes), np.searchsorted(sizes, self.sizes), len(sizes))
        of_sizes = [f"{K} candidates" for K in sizes.tolist()] + ["other sizes"]
        every = [f"{K}, {name}" for K in of_sizes for name in names]
        outcomes = np.stack([sums.J - sums.R, sums.M - sums.R])
        return _Units(np.arange(len(self.sizes)), size * len(names) + codes, every, outcomes)

    def _stratify(self, of: str, units: _Units, metrics: tuple[str, str]) -> None:
        """Add the figures and the strata of pairs or pools."""
        shape, split = (len(self.sizes), len(units.names)), self.split
        at = units.prompt * shape[1] + units.strata
        counts = np.bincount(at, minlength=shape[0] * shape[1]).reshape(shape)
        own, wanted = counts[:split], counts[split:]
        sums = [np.bincount(at[: len(values)], values, own.size).reshape(own.shape) for values in units.outcomes]
        totals: Floats = np.stack(sums)
        prompts = (own > 0).sum(axis=0)
        covered = support.enough(prompts, np.array([support.effective_count(each) for each in own.T.astype(float)]))
        shares = wanted.sum(axis=0) / wanted.sum()
        self.strata[of] = [
            result.TransferStratum(
                stratum=units.names[s],
                prompts=int(prompts[s]),
                audit=float(own[:, s].sum() / own.sum()),
                target=float(shares[s]),
                covered=bool(covered[s]),
            )
            for s in np.flatnonzero(counts.any(axis=0)).tolist()
        ]
        lost = self.uncovered[of] = float(shares[~covered].sum())
        whole = totals.sum(axis=2, keepdims=True), own.sum(axis=1, keepdims=True), np.ones((1, 1), np.int64)
        self.figures["audit"] |= self._estimates(metrics, *post_stratified(*whole))
        if lost > MAY_LACK:
            why = f"{numbers.number(lost, 'share')} of the {of} are in groups that too few labelled prompts hold"
            refused = EstimateRecord.of(estimand.Estimate.undefined(why, split))
            self.figures["target"] |= dict.fromkeys(metrics, refused)
        else:
            kept = totals[:, :, covered], own[:, covered], wanted[:, covered]
            self.figures["target"] |= self._estimates(metrics, *post_stratified(*kept))

    def _estimates(self, metrics: tuple[str, str], values: Floats, adds: Floats) -> dict[str, EstimateRecord]:
        """Return both figures; recovery is the gain over the room, the others means."""
        confidence, made = self.judged.settings.confidence, {}
        for name, value, own in zip(metrics, values.tolist(), adds, strict=True):
            if name == "recovery":
                made[name] = self._ratio(values, adds)
            else:
                made[name] = curve.of_influences(value, own, self.split, confidence, _LIMITS[name])
        return estimate_records(estimand.under_method(made, self.judged.methods[self.panel.judge]))

    def _ratio(self, values: Floats, adds: Floats) -> estimand.Estimate:
        a, b = values.tolist()
        undefined = estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, self.split)
        if b <= 0:
            return undefined
        own, (caa, cab, _, cbb) = (adds[0] - a / b * adds[1]) / b, (adds @ adds.T).ravel()
        law = laws.Fieller(a, b, caa, cab, cbb, jackknife.kurtosis_df(own), (-np.inf, 1.0))
        confidence = self.judged.settings.confidence
        made = curve.of_influences(a / b, own, self.split, confidence, (-np.inf, 1.0), law)
        return undefined if law.at(confidence) is None else made


def _by_gap(gaps: Floats, prompts: Ints, groups: int, what: str) -> tuple[Ints, list[str]]:
    """Group gaps by the quantiles of the first ones, those of the audit's `prompts`; NaN is of one without a score.

    There are as many groups as enough prompts fill, up to `groups`, and one beyond the largest gap of the audit.
    """
    gaps = compared(gaps)
    codes, apart = np.isnan(gaps).astype(np.int64), gaps > 0
    own = apart[: len(prompts)]
    known, cuts = gaps[: len(prompts)][own], np.zeros(1)
    for count in range(groups if known.size else 0, 0, -1):
        cuts = gap_groups(known, count)[1][1:]
        at = np.searchsorted(cuts, known)
        if min(len(np.unique(prompts[own][at == group])) for group in range(len(cuts))) >= support.FEWEST:
            break
    codes[apart] = 2 + np.searchsorted(cuts, gaps[apart])
    upper = [f"{what} up to {cut:g}" for cut in cuts.tolist()]
    return codes, ["tie", "one without a score", *upper, f"{what} above {cuts[-1]:g}"]


def _sentences(figures: Mapping[str, Mapping[str, EstimateRecord]], uncovered: Mapping[str, float]) -> Iterator[str]:
    """Yield the findings, the most important first."""
    for name, expected in figures["target"].items():
        if expected.estimate is None:
            yield f"Nothing is said of {name}: {expected.reason}."
            continue
        unit = unit_of(name)
        here = numbers.with_any_interval(figures["audit"][name], unit)
        yield f"{name} is expected to be {numbers.with_any_interval(expected, unit)}; in the audit it is {here}."
    for of, share in uncovered.items():
        if 0 < share <= MAY_LACK:
            rest = numbers.number(share, "share")
            yield f"The figures leave out {rest} of the {of} of the target: too few labelled prompts hold such {of}."
