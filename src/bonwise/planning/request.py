"""What a plan is asked for: its settings, with the ranges of the arguments checked, and where a pilot is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from bonwise.errors import UsageError
from bonwise.planning.result import Method, PlanDesign, PlanQuestion, PlanSettings
from bonwise.printable import listed, quoted
from bonwise.release import release
from bonwise.stats.sample_size import SMALLEST_MARGIN
from bonwise.table import reading_options, votes
from bonwise.table.checks import CONFIDENCE, SEED, Limit, check, names_of, number, whole

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource

_PYTHON = (int, float)


def _between(low: float, high: float) -> Limit:
    """Both ends excluded."""
    return number(lambda value: low < value < high, f"a number between {low:g} and {high:g}", _PYTHON)


def _whole(least: int) -> Limit:
    return whole(least, f"a whole number, {least} or more", int)


_LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "within_r": _between(0, 1),
        "rival_r": _between(-1, 1),
        "error_correlation": _between(-1, 1),
        "r0": _between(-1, 1),
        "effect": _between(SMALLEST_MARGIN, 0.5),
        "power": _between(0.5, 1),
        "confidence": _between(0.5, 1),
        "candidates": _whole(2),
        "labels": _whole(1),
        "prompts": _whole(1),
        "raters": _whole(1),
        "seed": _whole(0),
        "label_cost": number(lambda value: value >= 0, "a number, 0 or more", _PYTHON),
        "judge_cost": number(lambda value: value >= 0, "a number, 0 or more", _PYTHON),
        "half_width": _between(0, 1),
        "icc": number(lambda value: 0 <= value <= 1, "a number from 0 to 1", _PYTHON),
        "first_stage": _whole(1),
        "kept_share": _between(0, 1),
        "tie_rate": number(lambda value: 0 <= value < 1, "a share from 0 to below 1", _PYTHON),
    }
)

SMALLEST_EFFECT = 1e-3
"""Correlation, difference of correlations or half-width below which no study is planned: millions of prompts."""


OF_SCORES = ("judge", "exclude", "columns", "lower_is_better", "missing")
OF_VOTES = ("verdict_col", "pair_col", "ties")
"""Arguments that say how a pilot of scores, and one of votes, is read."""

OF_PILOT = ("pilot", *OF_SCORES, *OF_VOTES)


@dataclass(frozen=True, slots=True)
class PilotSource:
    """Where a pilot is, and how it is to be read."""

    source: ScoreSource
    reading: reading_options.ReadingOptions = reading_options.AS_IT_STANDS

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return str(self.source) if isinstance(self.source, str | Path) else "table"


class PlanRequest(PlanSettings):
    """The settings that a plan is asked for with: what was not said has its default, or is None."""

    power: float = 0.9
    confidence: float = CONFIDENCE
    method: Method = "exact"
    raters: int = 1
    one_cluster: bool = False
    seed: int = SEED
    question: PlanQuestion

    @classmethod
    def of(
        cls,
        question: PlanQuestion,
        designs: Sequence[PlanDesign],
        arguments: Mapping[str, Any],
        reading: reading_options.ReadingOptions,
    ) -> PlanRequest:
        """Take the arguments of `bonwise.planning.front.plan`, by name."""
        asked = {name: value for name, value in arguments.items() if name in cls.model_fields and value is not None}
        _check(asked)
        pilot = _of_pilot(arguments, reading)
        wanted = asked.get("design", designs[0])
        if wanted not in designs:
            raise UsageError(
                f"unknown design {wanted!r} for {question}", hint=f"the designs are {', '.join(designs)}"
            )
        asked = {name: value for name, value in asked.items() if name not in OF_PILOT}
        return cls(**{**asked, "question": question, "design": wanted}, **pilot, version=release())

    def required(self, name: str) -> Any:
        """Return an argument that the question cannot do without."""
        value = getattr(self, name)
        if value is None:
            raise UsageError(
                f"the question {self.question} needs {name}", hint=f"give {name}, or a pilot to take it from"
            )
        return value


def _check(asked: Mapping[str, Any]) -> None:
    for name, limit in _LIMITS.items():
        if name in asked:
            check(name, asked[name], limit)
    if asked["method"] not in get_args(Method):
        raise UsageError(f"unknown method {asked['method']!r}", hint="the methods are exact and paper")
    _check_size(asked)
    _check_dependence(asked.get("icc"), asked["raters"], one_cluster=asked["one_cluster"])


def _check_size(asked: Mapping[str, Any]) -> None:
    """Refuse an effect that nobody can mean: the number it takes is beyond any study."""
    apart = {name: asked[name] for name in ("within_r", "half_width") if name in asked}
    for name in ("rival_r", "r0"):
        # The same value twice, or the wrong order, has words of its own.
        if "within_r" in asked and name in asked and asked[name] != asked["within_r"]:
            apart[f"the distance of within_r from {name}"] = abs(asked["within_r"] - asked[name])
    for name, value in apart.items():
        if value < SMALLEST_EFFECT:
            raise UsageError(
                f"{name} is {value:.3g}, too small an effect to plan for: it would take millions of prompts",
                hint=f"plan for the smallest effect that would matter, {SMALLEST_EFFECT:g} or more",
            )


def _check_dependence(icc: float | None, raters: int, *, one_cluster: bool) -> None:
    if icc is None and (raters > 1 or one_cluster):
        raise UsageError(
            "how much labels of one prompt resemble each other is not said",
            hint="give icc, the correlation of two raters' labels of the same prompt, from 0 to 1",
        )
    if icc is not None and raters == 1 and not one_cluster:
        raise UsageError("icc means nothing with one rater per prompt", hint="give raters, 2 or more, or one_cluster")
    if one_cluster and raters > 1:
        raise UsageError(
            "raters and one_cluster contradict each other",
            hint="give raters for many prompts, or one_cluster for labels that all resemble each other",
        )


def _of_pilot(arguments: Mapping[str, Any], reading: reading_options.ReadingOptions) -> Mapping[str, Any]:
    """Return the name of the pilot and what was said about reading it; nothing where there is no pilot."""
    ties, source = arguments["ties"], arguments["pilot"]
    if ties is not None and ties not in votes.TIES:
        raise UsageError(f"ties cannot count as {quoted(ties)}", hint=f"choose of {listed(votes.TIES)}")
    values: Mapping[str, Any] = {
        "judge": list(names_of("judge", arguments["judge"])),
        "pair_col": list(names_of("pair_col", arguments["pair_col"])),
        "exclude": list(reading.exclude),
        "columns": dict(reading.named_columns),
        "lower_is_better": list(reading.lower_is_better),
        "missing": list(reading.missing),
        "verdict_col": arguments["verdict_col"],
        "ties": ties,
    }
    given = {name: values[name] for name in (*OF_SCORES, *OF_VOTES) if values[name]}
    if source is not None:
        return {"pilot": PilotSource(source).name, **given}
    for name in given:
        raise UsageError(
            f"{name} has no meaning for a plan without a pilot", hint=f"give the pilot too, or leave {name} out"
        )
    return {}
