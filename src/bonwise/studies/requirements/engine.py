"""What judge a wanted recovery takes on the labels at hand, and what the judges of a table make of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bonwise.auditing.settings import Settings
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.progress import counting
from bonwise.report.numbers import Ends, counted, estimate, percent, setting, with_interval
from bonwise.stats import catalog, correlation, estimand, estimation
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.requirements import requirement, result
from bonwise.studies.requirements.noisy_oracle import MOST_CELLS, MOST_PAIRS, NoisyOracle, affordable, points
from bonwise.table.panel import Panel
from bonwise.table.reading_options import ReadingOptions

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource


__all__ = ["requirements_of", "requirements_study"]


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
    needs: list[tuple[float, requirement.Requirement]]
    recovered: list[tuple[float, estimand.Estimate]]


def _of_labels(
    labels: NoisyOracle, targets: Sequence[float], within_r: Sequence[float], confidence: float
) -> _OfLabels:
    curve = [] if requirement.no_curve(labels, confidence) else points(labels)
    needs = [(target, requirement.required(labels, target, confidence)) for target in targets]
    return _OfLabels(
        labels, curve, needs, [(value, requirement.recovered(labels, value, confidence)) for value in within_r]
    )


def _one_judge(
    panel: Panel, data: result.RequirementCounts, found: _OfLabels, settings: Settings
) -> result.RequirementsJudge:
    def record(one: estimand.Estimate) -> EstimateRecord:
        return EstimateRecord.of(one.with_method(data.method))

    sums = panel.sums()
    own = estimation.estimate([e for e in catalog.ESTIMANDS if e.name in _OWN], sums, settings.rule(panel.labels))
    own = correlation.without_correlations(own, correlation.heavy_tails(panel.scores, panel.labels))
    held = requirement.held_against(found.labels, sums, settings.confidence)
    figures = result.OwnFigures(
        **{name: record(own[name]) for name in _OWN},
        expected_recovery=record(held.expected),
        difference=record(held.difference),
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
