"""What judge a wanted recovery takes on the labels at hand, and what the judges of a table make of theirs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from bonwise.arrays import Floats
from bonwise.auditing.settings import Settings
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.flags import TIE_DECIMALS
from bonwise.progress import counting
from bonwise.report.numbers import Ends, counted, estimate, percent, setting, with_any_interval, with_interval
from bonwise.stats import catalog, correlation, estimand, estimation, jackknife, laws
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.sums import Sums, tie_decimals
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.requirements import noisy_oracle, result
from bonwise.studies.requirements.noisy_oracle import MOST_CELLS, MOST_PAIRS, NoisyOracle, affordable, points
from bonwise.table.panel import Panel
from bonwise.table.reading_options import ReadingOptions

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource


@dataclass(frozen=True, slots=True)
class BeyondChance:
    """A law whose lower end is moved to Student's of a least standard error where it lies above that."""

    law: laws.Law
    estimate: float
    least: float
    """Standard error."""
    df: float

    @property
    def kind(self) -> str:
        """Name of the rule: that of the law."""
        return self.law.kind

    def at(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval, None where the law has none."""
        ends = self.law.at(confidence)
        if ends is None:
            return None
        return min(ends[0], self.estimate - laws.student_quantile(confidence, self.df) * self.least), ends[1]


MANY = 30
"""Picks, counted by their weight, from which on a sum is not skewed to speak of."""


@dataclass(frozen=True, slots=True)
class Few:
    """A recovery few losses hold below its most: ``sum x^2 / y`` times a Poisson count, no closer than t."""

    estimate: float
    se: float
    """Both: of the recovery; se the jackknife's."""
    amount: float
    """y and u, in shares of the possible gain of all prompts; where nothing was seen u is the largest one."""
    unit: float
    """y and u, in shares of the possible gain of all prompts; where nothing was seen u is the largest one."""
    losses: bool
    """Whether the amounts are losses; wins otherwise."""
    df: float
    kind: str = "jackknife"

    @property
    def count(self) -> float:
        """Picks that were seen, counted by their weight."""
        return self.amount / self.unit

    def at(self, confidence: float) -> tuple[float, float]:
        """Return the interval."""
        tail, count = (1 - confidence) / 2, self.count
        fewest = self.unit * float(special.gammaincinv(count, tail)) if count else 0.0
        most = self.unit * float(special.gammaincinv(count + 1, 1 - tail))
        below, above = self.amount - fewest, most - self.amount
        if self.losses:
            below, above = above, below
        half = laws.student_quantile(confidence, self.df) * self.se
        return self.estimate - max(below, half), min(self.estimate + max(above, half), 1.0)


@dataclass(frozen=True, slots=True)
class MoverDifference:
    """Interval of a difference from those of its two parts and their correlation (Zou and Donner 2008)."""

    first: laws.Law
    second: laws.Law
    estimates: tuple[float, float]
    """Of the two."""
    correlation: float
    kind: str = "jackknife"

    def at(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval, None where a part has none."""
        one, other = self.first.at(confidence), self.second.at(confidence)
        if one is None or other is None:
            return None
        return laws.difference_ends(self.estimates, one, other, self.correlation)


def few_picks(sums: Sums, widest: Floats, se: float) -> Few | laws.Exact | None:
    """Return the law of a recovery that few picks decide, else None; `widest`, best less worst label, by prompt."""
    possible = float((sums.M - sums.R).sum())
    own = float((sums.J - sums.R).sum()) / possible
    decimals = tie_decimals(np.append(widest, 0.0))
    loss = np.round(sums.M - sums.J, decimals)
    losses = bool(2 * loss.sum() <= widest.sum())
    amounts = loss if losses else np.round(widest - loss, decimals)
    total, squares = float(amounts.sum()), float(amounts @ amounts)
    largest, n = float(widest.max()) / possible, len(loss)
    if se <= 10.0**-TIE_DECIMALS:
        return laws.Exact(own, n, (own - n * largest, min(own + n * largest, 1.0)), kind="jackknife")
    if total > 0 and total**2 >= MANY * squares:
        return None
    return Few(own, se, total / possible, squares / total / possible if total > 0 else largest, losses, n - 1)


_ALL = 1 - 1e-12  # what is closer to 1 is 1 but for rounding

_SHARE = (0.0, 1.0)


class Requirement(NamedTuple):
    """What a judge must have to recover a wanted share of the possible gain."""

    within_r: Estimate
    agreement: Estimate


class Held(NamedTuple):
    """A judge compared with one of plain noise with the same within_r."""

    expected: Estimate  # recovery of the judge of plain noise
    difference: Estimate  # recovery of the judge less that, paired by prompt


def no_curve(labels: noisy_oracle.NoisyOracle, confidence: float) -> str | None:
    """Say why labels have no curve, None where they do: by Fieller, the mean possible gain must differ from 0."""
    n, gain = len(labels.gain), labels.gain
    if not gain.any():
        return "undefined: needs a prompt where labels differ"
    if n > 1 and gain.mean() <= laws.student_quantile(confidence, n - 1) * gain.std(ddof=1) / math.sqrt(n):
        return NOT_DISTINGUISHABLE
    return None


def required(labels: noisy_oracle.NoisyOracle, target: float, confidence: float) -> Requirement:
    """Return within_r and effective agreement at which a judge of plain noise recovers the target, in (0, 1)."""
    n = len(labels.gain)
    reason = no_curve(labels, confidence) or _unreachable(target)
    if reason is not None:
        return Requirement(Estimate.undefined(reason, n), Estimate.undefined(reason, n))
    at = noisy_oracle.AtNoise(labels, noisy_oracle.noise_for_recovery(labels, target))
    return Requirement(
        _estimate(labels.within_r(at.noise), at.needed_within_r(), _SHARE, confidence),
        _estimate(labels.agreement(at.noise), at.needed_agreement(), (0.5, 1.0), confidence),
    )


def _unreachable(target: float) -> str | None:
    if target >= 1:
        return "not reachable: any noise at all costs some of the possible gain"
    return None if target > 0 else "not on the curve: even a judge of nothing but noise recovers 0"


def recovered(labels: noisy_oracle.NoisyOracle, within_r: float, confidence: float) -> Estimate:
    """Return what plain noise with a given within_r recovers; undefined, with the reason, outside of (0, 1)."""
    reason = no_curve(labels, confidence) or _off_curve(within_r)
    if reason is not None:
        return Estimate.undefined(reason, len(labels.gain))
    at = noisy_oracle.AtNoise(labels, noisy_oracle.noise_for_within_r(labels, within_r))
    return _estimate(at.recovery, at.recovered(), _SHARE, confidence)


def _off_curve(within_r: float) -> str | None:
    if within_r > 0:
        return None if within_r < _ALL else "not on the curve: any noise at all leaves within_r below 1"
    return "not on the curve: a score that is the label and plain noise has a within_r above 0"


def held_against(labels: noisy_oracle.NoisyOracle, sums: Floats, confidence: float) -> Held:
    """Compare a judge with one of plain noise with the same within_r.

    `sums` is the judge's, (len(Sums._fields), prompts), on the same prompts in the same order. Intervals are
    two-sided, clustered by prompt; that of the difference is paired. Where few picks are wrong, or few right, it is
    combined from those of the two recoveries, whose errors are then skewed. Its lower end is no closer than Student's
    on the standard error that plain noise has on these labels.
    """
    n, mine, totals = len(labels.gain), Sums(*sums), Sums(*sums.sum(axis=1))
    within_r = float(catalog.within_r(totals))
    reason = no_curve(labels, confidence)
    reason = reason or (
        "undefined: needs a prompt where scores differ" if np.isnan(within_r) else _off_curve(within_r)
    )
    if reason is not None:
        return Held(Estimate.undefined(reason, n), Estimate.undefined(reason, n))
    at = noisy_oracle.AtNoise(labels, noisy_oracle.noise_for_within_r(labels, within_r))
    expected = at.recovered(noisy_oracle.within_r_influence(mine))
    own = float((totals.J - totals.R) / (totals.M - totals.R))
    wanted = _estimate(at.recovery, expected, _SHARE, confidence)
    apart = _difference(own, wanted, (noisy_oracle.recovery_influence(mine), expected), (mine, labels), confidence)
    return Held(wanted, _beyond_chance(apart, at.difference_error, confidence))


def gaussian_gap(sums: Floats, rule: estimation.IntervalRule) -> Estimate:
    """Return recovery less within_r, paired by prompt; the two are equal for normal scores and labels."""
    of = estimand.Estimand(
        "gaussian_gap",
        lambda t: catalog.recovery(t) - catalog.within_r(t),
        "a prompt where scores differ and one where labels differ",
        (-math.inf, 2.0),
        of_products=True,
        group="Picks",
        meaning="recovery less within_r",
        unit="number",
    )
    return estimation.estimate([of], sums, replace(rule, kind="default"))["gaussian_gap"]


def _beyond_chance(difference: Estimate, least: float, confidence: float) -> Estimate:
    """Move the lower end of a difference to where that of a judge of plain noise would lie, if it is closer."""
    value, law = difference.estimate, difference.law
    if value is None or law is None:
        return difference
    wide = BeyondChance(law, value, least, difference.n - 1)
    return estimation.under(wide, confidence, estimate=value, se=difference.se or math.nan, n=difference.n)


def _difference(
    own: float,
    expected: Estimate,
    influences: tuple[Floats, Floats],
    picks: tuple[Sums, noisy_oracle.NoisyOracle],
    confidence: float,
) -> Estimate:
    """Return a judge's recovery less the expected one: paired, or combined where few picks decide its own."""
    on_own, on_expected = influences
    value = own - (expected.estimate or 0.0)
    paired = _estimate(value, on_own - on_expected, (-np.inf, 1.0), confidence)
    if paired.law is None or expected.law is None:
        return paired
    se = _standard_error(on_own)
    few = few_picks(picks[0], picks[1].widest, se)
    if few is None:
        return paired
    reach = math.sqrt(float(on_own @ on_own) * float(on_expected @ on_expected))
    # A single pick, which moves both, shows no correlation; where no pick does there are rounding errors alone.
    known = max(0.0, 1 - 1 / few.count) if isinstance(few, Few) and few.count else 0.0
    correlation = known * float(on_own @ on_expected) / reach if known else 0.0
    law = MoverDifference(few, expected.law, (own, own - value), correlation)
    return estimation.under(law, confidence, estimate=value, se=paired.se or math.nan, n=paired.n)


def _estimate(value: float, influence: Floats, limits: tuple[float, float], confidence: float) -> Estimate:
    n = len(influence)
    scatter = jackknife.Scatter(_standard_error(influence), n - 1.0)
    return estimation.from_jackknife(value, scatter, n, limits, confidence, exact=None)


def _standard_error(influence: Floats) -> float:
    n = len(influence)
    return math.sqrt(n / (n - 1) * float(influence @ influence)) if n > 1 else math.nan


def requirement_sentences(
    data: result.RequirementCounts,
    own: result.OwnFigures,
    targets: Sequence[result.Target],
    inverse: Sequence[result.Inverse],
    seed: int,
) -> list[str]:
    """Return the findings of one judge, the most important first; `seed` drew the prompts where not all were used."""
    return [*_own(own, unscored=bool(data.unscored)), *_targets(targets), *_inverse(inverse), *_described(data, seed)]


def _described(data: result.RequirementCounts, seed: int) -> Iterator[str]:
    """Say which prompts the figures describe, where not all."""
    prompts, used, too_large = data.prompts, data.studied_prompts, data.too_large_prompts
    if data.method == "labelled_only":
        scored = counted(prompts + data.unlabelled_prompts, "prompt")
        yield f"The figures describe {prompts:,} of {scored}: those whose candidates all have labels."
    if too_large:
        yield (
            f"{counted(too_large, 'prompt')} with more candidates than can be computed with "
            f"{'is' if too_large == 1 else 'are'} set aside and in no figure."
        )
    if used < prompts - too_large:
        yield f"All this is computed from {used:,} of the {prompts - too_large:,} prompts, drawn with seed {seed}."


def _own(own: result.OwnFigures, *, unscored: bool) -> Iterator[str]:
    expected, difference = own.expected_recovery, own.difference
    if expected.estimate is None:
        yield f"No figure for a judge of plain noise with this within_r: {expected.reason}."
        return
    yield (
        f"At within_r {estimate(own.within_r)} a judge whose errors are plain noise recovers "
        f"{_with_ends(expected)} of the possible gain here; this judge recovers {_with_ends(own.recovery)}."
    )
    yield _verdict(difference, "candidates without a score, ties" if unscored else "ties")
    if own.gaussian_gap is not None and own.gaussian_gap.estimate is not None:
        gap = with_any_interval(own.gaussian_gap, sign=True)
        yield f"With normal scores and labels recovery would equal within_r; it differs from it by {gap}."


def _verdict(difference: EstimateRecord, ties: str) -> str:
    low, high = difference.low, difference.high
    if high is not None and high < 0:
        turned = Ends(*(None if end is None else -end for end in (difference.estimate, high, low)))
        less = with_interval(turned, "points")
        return (
            f"It recovers {less} less than a judge of plain noise with its within_r would: {ties}, "
            "coarse scores, skewed errors or errors that are uneven between prompts can do that; this study does not "
            "tell which."
        )
    if low is not None and low > 0:
        return (
            f"It recovers {with_interval(difference, 'points')} more than a judge of plain noise with its within_r "
            "would: scales that differ between prompts, or errors where they do the picks little harm, can do that; "
            "this study does not tell which."
        )
    return (
        "Whether it recovers more or less than a judge of plain noise with its within_r would cannot be told: the "
        f"difference is {with_interval(difference, 'points', sign=True)}."
    )


def _targets(targets: Sequence[result.Target]) -> Iterator[str]:
    known = [target for target in targets if target.within_r.estimate is not None]
    if known:
        first, *others = ((percent(one.target), *_needed(one)) for one in known)
        gain, within_r, agreement = first
        opening = (
            f"To recover {gain} of the possible gain here a judge needs a within_r of {within_r} and an effective "
            f"agreement of {agreement}."
        )
        further = (f"For {gain} it needs {within_r} and {agreement}." for gain, within_r, agreement in others)
        yield " ".join((opening, *further))
    for target in targets:
        if target not in known:
            yield f"No figure for {percent(target.target)} of the possible gain: {target.within_r.reason}."


def _needed(one: result.Target) -> tuple[str, str]:
    return estimate(one.within_r), estimate(one.effective_agreement, "share")


def _inverse(inverse: Sequence[result.Inverse]) -> Iterator[str]:
    for one in inverse:
        found = one.recovery
        if found.estimate is None:
            yield f"No figure for a judge at within_r {setting(one.within_r)}: {found.reason}."
        else:
            yield f"A judge at within_r {setting(one.within_r)} recovers about {_with_ends(found)} here."


def _with_ends(found: EstimateRecord) -> str:
    return with_interval(found, "share")


_OWN = ("within_r", "effective_agreement", "recovery")


def requirements_study(
    source: ScoreSource,
    options: ReadingOptions,
    *,
    targets: Sequence[float],
    within_r: Sequence[float],
    confidence: float,
    seed: int,
) -> result.RequirementsStudy:
    """Find the judge that a wanted recovery takes on these labels, and what one with a given within_r recovers."""
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    judged = open_judged(source, settings, options)
    return requirements_of(judged, targets=targets, within_r=within_r)


def requirements_of(
    judged: LabelledPanels, *, targets: Sequence[float] = result.TARGETS, within_r: Sequence[float] = ()
) -> result.RequirementsStudy:
    """Study the judges of a table that is open already; the parameters are those of `study_requirements`."""
    asked = (
        _within(targets, "a target", (0, 1), "a share, such as 0.5"),
        _within(within_r, "a within_r", (-1, 1), "such as 0.3"),
    )
    # Judges of the same prompts have the same labels, hence one curve.
    shared: dict[tuple[bytes, bytes], _OfLabels] = {}
    judges = {}
    with counting("judge", len(judged.panels)) as step:
        for name, panel in judged.panels.items():
            afforded = affordable(panel.sizes, judged.settings.seed)
            used = panel.keep(afforded.kept)
            key = used.sizes.tobytes(), used.labels.tobytes()
            if key not in shared:
                shared[key] = _of_labels(NoisyOracle.of(used.labels, used.sizes), *asked, judged.settings.confidence)
            data = judged.counts_as(
                result.RequirementCounts, name, studied_prompts=len(used.sizes), too_large_prompts=afforded.too_large
            )
            judges[name] = _one_judge(used, data, shared[key], judged.settings)
            step()
    settings = judged.settings_as(
        result.RequirementsSettings, targets=asked[0], within_r=asked[1], most_cells=MOST_CELLS, most_pairs=MOST_PAIRS
    )
    return result.RequirementsStudy(settings=settings, judges=judges, not_studied=dict(judged.not_studied))


def _within(values: Sequence[float], what: str, ends: tuple[float, float], hint: str) -> list[float]:
    for value in values:
        if not ends[0] <= value <= ends[1]:
            raise UsageError(f"{what} must lie in [{ends[0]}, {ends[1]}], not {value:g}", hint=hint)
    return [float(value) for value in dict.fromkeys(values)]


class _OfLabels(NamedTuple):
    """What depends on the labels alone."""

    labels: NoisyOracle
    curve: list[result.CurvePoint]
    needs: list[tuple[float, Requirement]]
    recovered: list[tuple[float, estimand.Estimate]]


def _of_labels(
    labels: NoisyOracle, targets: Sequence[float], within_r: Sequence[float], confidence: float
) -> _OfLabels:
    curve = [] if no_curve(labels, confidence) else points(labels)
    needs = [(target, required(labels, target, confidence)) for target in targets]
    return _OfLabels(labels, curve, needs, [(value, recovered(labels, value, confidence)) for value in within_r])


def _one_judge(
    panel: Panel, data: result.RequirementCounts, found: _OfLabels, settings: Settings
) -> result.RequirementsJudge:
    def record(one: estimand.Estimate) -> EstimateRecord:
        return EstimateRecord.of(one.with_method(data.method))

    sums = panel.sums()
    own = estimation.estimate([e for e in catalog.ESTIMANDS if e.name in _OWN], sums, settings.rule(panel.labels))
    heavy = correlation.heavy_tails(panel.scores, panel.labels)
    own = correlation.without_correlations(own, heavy)
    held = held_against(found.labels, sums, settings.confidence)
    gap = gaussian_gap(sums, settings.rule(panel.labels))
    figures = result.OwnFigures(
        **{name: record(own[name]) for name in _OWN},
        expected_recovery=record(held.expected),
        difference=record(held.difference),
        gaussian_gap=record(correlation.without_interval(gap, heavy)),
    )
    targets = [
        result.Target(target=target, within_r=record(need.within_r), effective_agreement=record(need.agreement))
        for target, need in found.needs
    ]
    inverse = [result.Inverse(within_r=value, recovery=record(one)) for value, one in found.recovered]
    return result.RequirementsJudge(
        data=data,
        curve=found.curve,
        targets=targets,
        inverse=inverse,
        judge=figures,
        sentences=requirement_sentences(data, figures, targets, inverse, settings.seed),
    )
