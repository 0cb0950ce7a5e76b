"""What judge a wanted recovery takes on the labels at hand, and what the judges of a table make of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.judged import Judged, open_judged, study_document
from bonwise.auditing.studies.requirement_words import requirement_sentences
from bonwise.data.names import names_of
from bonwise.data.panel import Panel, Shape
from bonwise.data.scales import Scale
from bonwise.errors import UsageError
from bonwise.report.amounts import counted
from bonwise.shown import Shown
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import estimate
from bonwise.stats.requirements.affordable import MOST_CELLS, MOST_PAIRS, affordable
from bonwise.stats.requirements.curve import NoisyOracle
from bonwise.stats.requirements.inversion import points
from bonwise.stats.requirements.requirement import held_against, no_curve, recovered, required
from bonwise.stats.sums import prompt_sums

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.data.table import ScoreTable

__all__ = ["TARGETS", "RequirementsStudy", "requirements_of", "study_requirements"]

TARGETS = (0.25, 0.5, 0.75, 0.9)
"""Recoveries of Landesberg (2026), Table 25."""

_OWN = ("within_r", "effective_agreement", "recovery")


@dataclass(frozen=True, eq=False)
class RequirementsStudy(Shown):
    """What judge quality a wanted recovery takes.

    Parameters
    ----------
    judges : mapping of str to mapping
        For each judge ``data``, ``curve``, ``targets``, ``inverse``, ``judge`` and ``sentences``.
    settings : mapping
    not_studied : mapping of str to str
        Judges left out, and why.
    """

    judges: Mapping[str, Mapping[str, Any]] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)
    not_studied: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        judges, targets = counted(len(self.judges), "judge"), counted(len(self.settings["targets"]), "target")
        return f"<RequirementsStudy of {judges}, {targets}>"

    def __str__(self) -> str:
        from bonwise.report.requirements_text import requirements_text  # noqa: PLC0415 - rendering loads rich

        return requirements_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.study/1``; it holds no NaN."""
        return study_document("requirements", self.judges, self.settings, self.not_studied)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an estimate: ``judge``, ``part``, ``at``, ``metric`` and the estimate's fields.

        ``part`` is ``targets``, ``inverse`` or ``judge``; ``at`` the target or the within_r asked for.
        """
        import pandas as pd  # noqa: PLC0415 - a result can be made and read without it

        rows = []
        for name, judge in self.judges.items():
            parts = [("targets", one["target"], one) for one in judge["targets"]]
            parts += [("inverse", one["within_r"], one) for one in judge["inverse"]]
            parts.append(("judge", None, judge["judge"]))
            rows += [
                {"judge": name, "part": part, "at": at, "metric": metric, **found}
                for part, at, one in parts
                for metric, found in one.items()
                if isinstance(found, dict)
            ]
        return pd.DataFrame(rows)


def study_requirements(  # noqa: PLR0913 - all but the source are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    labels: str | Path | pd.DataFrame | None = None,
    oracle: str | None = None,
    exclude: str | Sequence[str] = (),
    targets: Sequence[float] = TARGETS,
    within_r: Sequence[float] = (),
    confidence: float = 0.95,
    seed: int = 0,
    shape: Shape | None = None,
    columns: Mapping[str, str] | None = None,
    judge_scale: Mapping[str, Scale] | Scale | None = None,
    label_scale: Scale | None = None,
) -> RequirementsStudy:
    """Find the judge that a wanted recovery takes on these labels, and what one with a given within_r recovers.

    Parameters
    ----------
    source, labels, oracle, exclude, shape, columns, judge_scale, label_scale
        As `bonwise.audit` takes them.
    targets : sequence of float
        Recoveries, in [0, 1].
    within_r : sequence of float
        Correlations within prompts whose recovery is asked for, in [-1, 1].
    confidence : float
        Of the two-sided intervals, clustered by prompt, in [0.5, 1).
    seed : int
        Of the draw of prompts from a table too large to compute from whole; nothing else is drawn.

    Returns
    -------
    RequirementsStudy

    Raises
    ------
    bonwise.errors.InputError
        No judge has a prompt that it scored completely and that is labelled.
    bonwise.errors.UsageError
        A target or a within_r outside its range.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = study_requirements(simulate("arena", n=2000, seed=1).frame(), targets=[0.5])
    >>> round(found.judges["judge"]["targets"][0]["within_r"]["estimate"], 1)
    0.5
    """
    settings = Settings(confidence=confidence, seed=seed, exclude=names_of("exclude", exclude), shape=shape)
    judged = open_judged(
        source,
        settings,
        labels=labels,
        oracle=oracle,
        columns=columns,
        judge_scale=judge_scale,
        label_scale=label_scale,
    )
    return requirements_of(judged, targets=targets, within_r=within_r)


def requirements_of(
    judged: Judged, *, targets: Sequence[float] = TARGETS, within_r: Sequence[float] = ()
) -> RequirementsStudy:
    """Study the judges of a table that is open already; the parameters are those of `study_requirements`."""
    asked = (
        _within(targets, "a target", (0, 1), "a share, such as 0.5"),
        _within(within_r, "a within_r", (-1, 1), "such as 0.3"),
    )
    # Judges of the same prompts have the same labels, hence one curve.
    shared: dict[tuple[bytes, bytes], tuple[NoisyOracle, dict[str, Any]]] = {}
    judges = {}
    for name, panel in judged.panels.items():
        afforded = affordable(panel.sizes, judged.settings.seed)
        used = panel.keep(afforded.kept)
        key = used.sizes.tobytes(), used.labels.tobytes()
        if key not in shared:
            pools = NoisyOracle.of(used.labels, used.sizes)
            shared[key] = pools, _of_labels(pools, *asked, judged.settings.confidence)
        data = {
            **judged.counts(name),
            "studied_prompts": len(used.sizes),
            "too_large_prompts": afforded.too_large,
        }
        judges[name] = _one_judge(used, data, *shared[key], judged.settings)
    described = {
        **judged.described,
        "targets": asked[0],
        "within_r": asked[1],
        "most_cells": MOST_CELLS,
        "most_pairs": MOST_PAIRS,
    }
    return RequirementsStudy(judges, described, judged.not_studied)


def _within(values: Sequence[float], what: str, ends: tuple[float, float], hint: str) -> list[float]:
    for value in values:
        if not ends[0] <= value <= ends[1]:
            raise UsageError(f"{what} must lie in [{ends[0]}, {ends[1]}], not {value:g}", hint=hint)
    return [float(value) for value in dict.fromkeys(values)]


def _of_labels(
    labels: NoisyOracle, targets: Sequence[float], within_r: Sequence[float], confidence: float
) -> dict[str, Any]:
    """Return what depends on the labels alone."""
    drawn = () if no_curve(labels, confidence) else points(labels)
    needs = [(target, required(labels, target, confidence)) for target in targets]
    return {
        "curve": [
            {
                "noise": one.noise,
                "recovery": one.recovery,
                "within_r": one.within_r,
                "effective_agreement": one.agreement,
            }
            for one in drawn
        ],
        "targets": [
            {"target": target, "within_r": need.within_r, "effective_agreement": need.agreement}
            for target, need in needs
        ],
        "inverse": [{"within_r": value, "recovery": recovered(labels, value, confidence)} for value in within_r],
    }


def _one_judge(
    panel: Panel, data: Mapping[str, Any], labels: NoisyOracle, found: Mapping[str, Any], settings: Settings
) -> dict[str, Any]:
    sums = prompt_sums(panel.scores, panel.labels, panel.sizes)
    own = estimate([e for e in ESTIMANDS if e.name in _OWN], sums, settings.rule(panel.labels))
    held = held_against(labels, sums, settings.confidence)
    judge = {
        **{name: own[name] for name in _OWN},
        "expected_recovery": held.expected,
        "difference": held.difference,
    }
    whole = _written({"data": data, **found, "judge": judge}, data["method"])
    return {**whole, "sentences": requirement_sentences(whole, settings.seed)}


def _written(part: Any, method: str) -> Any:
    """Return a part of the document with its estimates written out under their method."""
    if isinstance(part, Estimate):
        return part.with_method(method).to_dict()
    if isinstance(part, Mapping):
        return {key: _written(value, method) for key, value in part.items()}
    return [_written(value, method) for value in part] if isinstance(part, list) else part
