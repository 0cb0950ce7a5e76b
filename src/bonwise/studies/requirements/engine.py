"""What judge a wanted recovery takes on the labels at hand, and what the judges of a table make of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bonwise.auditing.settings import Settings
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import estimate
from bonwise.stats.sums import prompt_sums
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.requirements.noisy_oracle import MOST_CELLS, MOST_PAIRS, NoisyOracle, affordable, points
from bonwise.studies.requirements.requirement import Requirement, held_against, no_curve, recovered, required
from bonwise.studies.requirements.result import (
    TARGETS,
    CurvePoint,
    Inverse,
    OwnFigures,
    RequirementCounts,
    RequirementsJudge,
    RequirementsSettings,
    RequirementsStudy,
    Target,
)
from bonwise.studies.requirements.sentences import requirement_sentences
from bonwise.table.panel import Panel
from bonwise.table.reading_options import ReadingOptions

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource

__all__ = ["requirements_of", "requirements_study"]

_OWN = ("within_r", "effective_agreement", "recovery")


def requirements_study(
    source: ScoreSource,
    options: ReadingOptions,
    *,
    targets: Sequence[float],
    within_r: Sequence[float],
    confidence: float,
    seed: int,
) -> RequirementsStudy:
    """Find the judge that a wanted recovery takes on these labels, and what one with a given within_r recovers."""
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    judged = open_judged(source, settings, options)
    return requirements_of(judged, targets=targets, within_r=within_r)


def requirements_of(
    judged: LabelledPanels, *, targets: Sequence[float] = TARGETS, within_r: Sequence[float] = ()
) -> RequirementsStudy:
    """Study the judges of a table that is open already; the parameters are those of `study_requirements`."""
    asked = (
        _within(targets, "a target", (0, 1), "a share, such as 0.5"),
        _within(within_r, "a within_r", (-1, 1), "such as 0.3"),
    )
    # Judges of the same prompts have the same labels, hence one curve.
    shared: dict[tuple[bytes, bytes], _OfLabels] = {}
    judges = {}
    for name, panel in judged.panels.items():
        afforded = affordable(panel.sizes, judged.settings.seed)
        used = panel.keep(afforded.kept)
        key = used.sizes.tobytes(), used.labels.tobytes()
        if key not in shared:
            shared[key] = _of_labels(NoisyOracle.of(used.labels, used.sizes), *asked, judged.settings.confidence)
        data = judged.counts_as(
            RequirementCounts, name, studied_prompts=len(used.sizes), too_large_prompts=afforded.too_large
        )
        judges[name] = _one_judge(used, data, shared[key], judged.settings)
    settings = judged.settings_as(
        RequirementsSettings,
        targets=asked[0],
        within_r=asked[1],
        most_cells=MOST_CELLS,
        most_pairs=MOST_PAIRS,
    )
    return RequirementsStudy(settings=settings, judges=judges, not_studied=dict(judged.not_studied))


def _within(values: Sequence[float], what: str, ends: tuple[float, float], hint: str) -> list[float]:
    for value in values:
        if not ends[0] <= value <= ends[1]:
            raise UsageError(f"{what} must lie in [{ends[0]}, {ends[1]}], not {value:g}", hint=hint)
    return [float(value) for value in dict.fromkeys(values)]


class _OfLabels(NamedTuple):
    """What depends on the labels alone."""

    labels: NoisyOracle
    curve: list[CurvePoint]
    needs: list[tuple[float, Requirement]]
    recovered: list[tuple[float, Estimate]]


def _of_labels(
    labels: NoisyOracle, targets: Sequence[float], within_r: Sequence[float], confidence: float
) -> _OfLabels:
    curve = [] if no_curve(labels, confidence) else points(labels)
    needs = [(target, required(labels, target, confidence)) for target in targets]
    return _OfLabels(labels, curve, needs, [(value, recovered(labels, value, confidence)) for value in within_r])


def _one_judge(panel: Panel, data: RequirementCounts, found: _OfLabels, settings: Settings) -> RequirementsJudge:
    def record(one: Estimate) -> EstimateRecord:
        return EstimateRecord.of(one.with_method(data.method))

    sums = prompt_sums(panel.scores, panel.labels, panel.sizes)
    own = estimate([e for e in ESTIMANDS if e.name in _OWN], sums, settings.rule(panel.labels))
    held = held_against(found.labels, sums, settings.confidence)
    figures = OwnFigures(
        **{name: record(own[name]) for name in _OWN},
        expected_recovery=record(held.expected),
        difference=record(held.difference),
    )
    targets = [
        Target(target=target, within_r=record(need.within_r), effective_agreement=record(need.agreement))
        for target, need in found.needs
    ]
    inverse = [Inverse(within_r=value, recovery=record(one)) for value, one in found.recovered]
    return RequirementsJudge(
        data=data,
        curve=found.curve,
        targets=targets,
        inverse=inverse,
        judge=figures,
        sentences=requirement_sentences(data, figures, targets, inverse, settings.seed),
    )
