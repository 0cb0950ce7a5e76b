"""The questions a plan answers, what each of them takes, and the rule that sizes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bonwise.errors import UsageError
from bonwise.planning import mean_question, precision_question, votes_question
from bonwise.planning import mean_question as redrawn_gain
from bonwise.planning.pilot import gain_pilot, rival_pilot
from bonwise.planning.request import OF_SCORES, OF_VOTES, PilotSource, PlanRequest
from bonwise.planning.result import PlanDesign, PlanQuestion
from bonwise.planning.sizing import Sizing
from bonwise.planning.votes_question import vote_pilot
from bonwise.table.checks import SEED

__all__ = ["QUESTIONS", "Question", "read_question"]

_ALWAYS = frozenset({"question", "design", "labels", "prompts", "power", "confidence", "label_cost", "method"})
_RATERS = frozenset({"raters", "icc", "one_cluster"})
_ONE_JUDGE = frozenset({"candidates", "within_r", "judge_cost"})
_TWO_JUDGES = _ONE_JUDGE | {"rival_r", "error_correlation"}
_FROM_PILOT = frozenset({"candidates", "within_r", "rival_r", "error_correlation", "effect"})
"""Arguments that a pilot stands in for."""

ERROR_CORRELATION = 0.5
"""Of two judges, where none is given; printed with the plan."""

_THRESHOLD = re.compile(r"within_r\s*>=\s*(-?\d*\.?\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """One question."""

    name: PlanQuestion
    """As it is typed."""
    designs: tuple[PlanDesign, ...]
    """What may be labelled, the default first."""
    takes: frozenset[str]
    """Arguments that mean something to it."""
    from_effect: Callable[[PlanRequest, PlanDesign], Sizing]
    """Arguments and design to a sizing."""
    from_pilot: Callable[[PlanRequest, PlanDesign, PilotSource], Sizing] | None = None
    """The same with a pilot; None where a pilot cannot answer."""
    reads: tuple[str, ...] = OF_SCORES
    """What says how its pilot is read."""

    def size(self, request: PlanRequest, pilot: PilotSource | None) -> Sizing:
        """Size the question.

        Raises
        ------
        bonwise.errors.UsageError
            An argument that means nothing to it, or one that is missing.
        """
        wanted = request.design or self.designs[0]
        design = next((one for one in self.designs if one == wanted), None)
        if design is None:
            raise UsageError(
                f"unknown design {wanted!r} for {self.name}", hint=f"the designs are {', '.join(self.designs)}"
            )
        self._refuse(request, design)
        if pilot is None:
            if request.seed != SEED:
                raise UsageError("seed means nothing without a pilot to draw again", hint="give a pilot, or no seed")
            return self.from_effect(request, design)
        if self.from_pilot is None:
            raise UsageError(
                f"{self.name} is planned from a bound, not from a pilot", hint="give effect, the bound to stay within"
            )
        given = sorted(name for name in _FROM_PILOT if getattr(request, name) is not None)
        if given:
            raise UsageError(
                f"both a pilot and {given[0]}", hint=f"a pilot stands in for {given[0]}: give one of them"
            )
        for name in pilot.given():
            if name not in self.reads:
                raise UsageError(
                    f"{name} has no meaning for the pilot of the question {self.name}",
                    hint=f"such a pilot takes {', '.join(self.reads)}",
                )
        return self.from_pilot(request, design, pilot)

    def _refuse(self, request: PlanRequest, design: PlanDesign) -> None:
        votes = design in {"votes", "discordant_preference"}
        takes = self.takes | ({"tie_rate"} if votes else frozenset())
        defaults = PlanRequest(question=request.question)
        for name, value in request.given().items():
            if name not in takes and value != getattr(defaults, name):
                raise UsageError(
                    f"{name} has no meaning for the question {self.name} with the design {design}",
                    hint=f"it takes {', '.join(sorted(takes - {'question'}))}",
                )
        if request.method == "paper" and (not votes or self.name == "equivalence"):
            raise UsageError(
                f"method paper is equation 8, which is about votes, not about {self.name} with the design {design}",
                hint="leave the method out",
            )


def _with_errors(request: PlanRequest) -> PlanRequest:
    return request if request.error_correlation is not None else replace(request, error_correlation=ERROR_CORRELATION)


def _rivals(request: PlanRequest, design: PlanDesign) -> Sizing:
    stated = _with_errors(request)
    if design == "discordant":
        return mean_question.rivals_from_r(stated)
    return votes_question.picks_from_r(stated)


def _rival_pilot(request: PlanRequest, design: PlanDesign, source: PilotSource) -> Sizing:
    if design == "discordant":
        return mean_question.rival_from_pilot(request, rival_pilot(source))
    return votes_question.picks_from_pilot(request, rival_pilot(source))


QUESTIONS: Mapping[PlanQuestion, Question] = {
    one.name: one
    for one in (
        Question(
            "recovery>0",
            ("two_label", "complete"),
            _ALWAYS | _ONE_JUDGE | _RATERS | {"seed"},
            mean_question.gain_from_r,
            lambda request, design, source: redrawn_gain.gain_from_pilot(request, design, gain_pilot(source)),
        ),
        Question(
            "recovery",
            ("complete",),
            (_ALWAYS - {"power"}) | _ONE_JUDGE | {"half_width"},
            lambda request, _: precision_question.recovery_from_r(request),
            lambda request, _, source: precision_question.recovery_from_pilot(request, gain_pilot(source)),
        ),
        Question(
            "within_r>=r0",
            ("complete",),
            _ALWAYS | _ONE_JUDGE | {"r0"},
            lambda request, _: precision_question.threshold_from_r(request),
            lambda request, _, source: precision_question.threshold_from_pilot(request, gain_pilot(source)),
        ),
        Question(
            "a-vs-b",
            ("discordant", "discordant_preference"),
            _ALWAYS | _TWO_JUDGES | _RATERS,
            _rivals,
            _rival_pilot,
        ),
        Question(
            "margin",
            ("votes",),
            _ALWAYS | _RATERS | {"effect"},
            lambda request, _: votes_question.margin_from_effect(request),
            lambda request, _, source: votes_question.margin_from_pilot(request, vote_pilot(source)),
            OF_VOTES,
        ),
        Question(
            "equivalence",
            ("votes",),
            _ALWAYS | _RATERS | {"effect"},
            lambda request, _: votes_question.equal_bound(request),
        ),
    )
}
"""By name."""


def read_question(text: str) -> tuple[PlanQuestion, float | None]:
    """Read a question as it is typed: its name, and the threshold where it states one.

    Raises
    ------
    bonwise.errors.UsageError
        An unknown question; the known ones are listed.

    Examples
    --------
    >>> read_question("recovery > 0"), read_question("within_r>=0.4")
    (('recovery>0', None), ('within_r>=r0', 0.4))
    """
    plain = str(text).replace(" ", "").lower()
    for name in QUESTIONS:
        if name == plain:
            return name, None
    if stated := _THRESHOLD.fullmatch(plain):
        return "within_r>=r0", float(stated[1])
    raise UsageError(f"unknown question {text!r}", hint=f"the questions are {', '.join(QUESTIONS)}")
