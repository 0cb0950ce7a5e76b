"""What a plan is asked for.

The arguments, with their ranges checked once, and where a pilot is and how it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from bonwise.errors import UsageError
from bonwise.planning.result import PlanQuestion
from bonwise.printable import listed, quoted
from bonwise.stats.sample_size import SMALLEST_MARGIN
from bonwise.table.checks import CONFIDENCE, SEED, Limit, check, names_of, number, whole
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.votes import TIES, Ties

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource

__all__ = ["OF_SCORES", "OF_VOTES", "SMALLEST_EFFECT", "Method", "PilotSource", "PlanRequest", "read_method"]

Method = Literal["exact", "paper"]

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
        "tie_rate": number(lambda value: 0 <= value < 1, "a share from 0 to below 1", _PYTHON),
    }
)

SMALLEST_EFFECT = 1e-3
"""Correlation, difference of correlations or half-width below which no study is planned: millions of prompts."""


def read_method(text: str) -> Method:
    """Read the name of a method.

    Raises
    ------
    bonwise.errors.UsageError
        An unknown one.

    Examples
    --------
    >>> read_method("paper")
    'paper'
    """
    if text not in {"exact", "paper"}:
        raise UsageError(f"unknown method {text!r}", hint="the methods are exact and paper")
    return cast("Method", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """The arguments of a plan; None where one was not given. `bonwise.planning.front.plan` describes them."""

    question: PlanQuestion
    candidates: int | None = None
    within_r: float | None = None
    rival_r: float | None = None
    error_correlation: float | None = None
    r0: float | None = None
    effect: float | None = None
    half_width: float | None = None
    design: str | None = None
    labels: int | None = None
    prompts: int | None = None
    power: float = 0.9
    confidence: float = CONFIDENCE
    method: Method = "exact"
    label_cost: float | None = None
    judge_cost: float | None = None
    raters: int = 1
    icc: float | None = None
    one_cluster: bool = False
    tie_rate: float | None = None
    seed: int = SEED

    def __post_init__(self) -> None:
        for name, limit in _LIMITS.items():
            if getattr(self, name) is not None:
                check(name, getattr(self, name), limit)
        read_method(self.method)
        self._check_size()
        self._check_dependence()

    def _check_size(self) -> None:
        """Refuse an effect that nobody can mean: the number it takes is beyond any study."""
        apart = {"within_r": self.within_r, "half_width": self.half_width}
        if self.within_r is not None:
            for name, other in (("rival_r", self.rival_r), ("r0", self.r0)):
                # The same value twice, or the wrong order, has words of its own.
                if other is not None and other != self.within_r:
                    apart[f"the distance of within_r from {name}"] = abs(self.within_r - other)
        for name, value in apart.items():
            if value is not None and value < SMALLEST_EFFECT:
                raise UsageError(
                    f"{name} is {value:.3g}, too small an effect to plan for: it would take millions of prompts",
                    hint=f"plan for the smallest effect that would matter, {SMALLEST_EFFECT:g} or more",
                )

    def _check_dependence(self) -> None:
        if self.icc is None and (self.raters > 1 or self.one_cluster):
            raise UsageError(
                "how much labels of one prompt resemble each other is not said",
                hint="give icc, the correlation of two raters' labels of the same prompt, from 0 to 1",
            )
        if self.icc is not None and self.raters == 1 and not self.one_cluster:
            raise UsageError(
                "icc means nothing with one rater per prompt", hint="give raters, 2 or more, or one_cluster"
            )
        if self.one_cluster and self.raters > 1:
            raise UsageError(
                "raters and one_cluster contradict each other",
                hint="give raters for many prompts, or one_cluster for labels that all resemble each other",
            )

    def given(self) -> dict[str, Any]:
        """Return the arguments that were given or have a value by default."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) is not None}

    def required(self, name: str) -> Any:
        """Return an argument that the question cannot do without."""
        value = getattr(self, name)
        if value is None:
            raise UsageError(
                f"the question {self.question} needs {name}", hint=f"give {name}, or a pilot to take it from"
            )
        return value


OF_SCORES = ("judge", "exclude", "columns")
OF_VOTES = ("verdict_col", "pair_col", "ties")
"""Arguments that say how a pilot of scores, and one of votes, is read."""


@dataclass(frozen=True, slots=True)
class PilotSource:
    """Where a pilot is, and how it is to be read."""

    source: ScoreSource
    judge: tuple[str, ...] = ()
    """Which judges of the table; all of them where empty."""
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    verdict_col: str | None = None
    """Column of votes."""
    pair_col: tuple[str, ...] = ()
    """The two columns that name the models of a vote."""
    ties: Ties | None = None
    """How ties count."""

    @classmethod
    def of(
        cls,
        source: ScoreSource | None,
        *,
        judge: str | Sequence[str] | None = None,
        reading: ReadingOptions,
        verdict_col: str | None = None,
        pair_col: str | Sequence[str] = (),
        ties: Ties | None = None,
    ) -> PilotSource | None:
        """Take what a caller gave, None where there is no pilot.

        Raises
        ------
        bonwise.errors.UsageError
            Something said about a pilot that there is not, or a way to count ties that does not exist.
        """
        if ties is not None and ties not in TIES:
            raise UsageError(f"ties cannot count as {quoted(ties)}", hint=f"choose of {listed(TIES)}")
        judges, pair = names_of("judge", judge), names_of("pair_col", pair_col)
        found = cls("" if source is None else source, judges, reading, verdict_col, pair, ties)
        if source is not None:
            return found
        for name in found.given():
            raise UsageError(
                f"{name} has no meaning for a plan without a pilot",
                hint=f"give the pilot too, or leave {name} out",
            )
        return None

    @property
    def exclude(self) -> tuple[str, ...]:
        """Candidate names to leave out."""
        return self.reading.exclude

    @property
    def columns(self) -> Mapping[str, str]:
        """Role to column."""
        return self.reading.named_columns

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return str(self.source) if isinstance(self.source, str | Path) else "table"

    def given(self) -> dict[str, Any]:
        """Return what was said about reading it."""
        return {name: value for name in (*OF_SCORES, *OF_VOTES) if (value := getattr(self, name))}

    def settings(self) -> dict[str, Any]:
        """Return its part of the settings that a plan repeats."""
        said = {name: list(value) if isinstance(value, tuple) else value for name, value in self.given().items()}
        columns = {"columns": dict(self.columns)} if self.columns else {}
        return {"pilot": self.name, **said, **columns}
