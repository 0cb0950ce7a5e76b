"""The questions a plan answers, what each of them takes, the rule that sizes it, and the plan."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scipy import special

from bonwise.errors import UsageError
from bonwise.planning import mean_question, normal_picks, result, sentences, types_question, votes_question
from bonwise.planning import sizing as outcome
from bonwise.planning.pilot import GainPilot, gain_pilot, rival_pilot
from bonwise.planning.request import OF_PILOT, OF_SCORES, OF_VOTES, SMALLEST_EFFECT, PilotSource, PlanRequest
from bonwise.planning.sizing import Layout, Sizing
from bonwise.results import given
from bonwise.stats import sample_size
from bonwise.table import checks, reading_options
from bonwise.table.reading import RowSource

_HALF_WIDTH = "half-width of recovery's interval"


def recovery_from_r(request: PlanRequest) -> Sizing:
    """Size recovery to a half-width from a within-prompt correlation, which is the recovery under normality."""
    n, r = int(request.required("candidates")), float(request.required("within_r"))
    if r > normal_picks.CLOSEST:
        raise UsageError(
            f"within_r is {r:g}: such a judge errs too little to leave a width to plan for",
            hint=f"give a within_r up to {normal_picks.CLOSEST:g}",
        )
    return _recovery(
        request,
        normal_picks.recovery_residual(n, r),
        n,
        effect={"within_r": r},
        admits=normal_picks.chance_of_enough(n),
        notes=(mean_question.NORMAL,),
    )


def recovery_from_pilot(request: PlanRequest, pilot: GainPilot) -> Sizing:
    """Size recovery to a half-width from the influence of a pilot's prompts."""
    shift = pilot.residual()
    if not math.isfinite(shift.estimate):
        raise UsageError(
            f"{pilot.source}: the labels do not differ within prompts, or the judge is never wrong",
            hint="a pilot must hold prompts on which something can be gained and lost",
        )
    low, high = shift.at(request.confidence)
    z2 = (sample_size.critical_value(request.confidence, 2) / float(request.required("half_width"))) ** 2
    ends = tuple(z2 * math.exp(end) if math.isfinite(end) else None for end in (low, high))
    clusters = pilot.recovery_clustering()
    recovery = float((pilot.sums.J - pilot.sums.R).sum() / (pilot.sums.M - pilot.sums.R).sum())
    sizing = _recovery(
        request,
        math.exp(shift.estimate),
        pilot.candidates,
        effect={"recovery": recovery},
        ends=(ends[0], ends[1]),
        admits=pilot.chance_of_enough("room", clusters),
        notes=pilot.unused,
    )
    described = pilot.describe(
        shift, request.confidence, "standard deviation of one prompt's influence", lambda x: math.exp(x / 2)
    )
    sizing = replace(sizing, pilot=described)
    return sizing if clusters is None else clusters.spread(sizing)


def _recovery(
    request: PlanRequest,
    residual: float,
    candidates: float,
    *,
    effect: dict[result.EffectName, float],
    ends: tuple[float | None, float | None] | None = None,
    admits: Callable[[int], float],
    notes: tuple[str, ...],
) -> Sizing:
    half_width = float(request.required("half_width"))
    z = sample_size.critical_value(request.confidence, 2)

    def width(units: float) -> float:
        return z * math.sqrt(residual / units) if units > 0 else math.inf

    return Sizing(
        design="complete",
        sides=2,
        n=residual * (z / half_width) ** 2,
        at=width,
        reach=lambda units, _: width(units),
        reach_of=_HALF_WIDTH,
        effect={**effect, "half_width": half_width},
        shows="half_width",
        each=round(candidates),
        scores=candidates,
        ends=ends,
        sequential="precision",
        admits=admits,
        notes=notes,
    )


def threshold_from_r(request: PlanRequest) -> Sizing:
    """Size ``within_r>=r0`` from the correlation that is expected, by Fisher's z."""
    n, r, r0 = int(request.required("candidates")), float(request.required("within_r")), float(request.required("r0"))
    if r <= r0:
        raise UsageError(
            f"within_r {r:g} is not above r0 {r0:g}: no number of labels shows that it is",
            hint="give a within_r above r0",
        )
    apart, degrees = math.atanh(r) - math.atanh(r0), n - 1

    def reach(units: float, power: float) -> float:
        return math.tanh(
            math.atanh(r0) + sample_size.detectable_mean(units * degrees - 2, power, request.confidence, 1)
        )

    return Sizing(
        design="complete",
        sides=1,
        n=sample_size.correlation_pairs(apart, request.power, request.confidence) / degrees,
        at=lambda units: sample_size.correlation_power(r, r0, units * degrees, request.confidence),
        reach=reach,
        reach_of="within_r",
        effect={"within_r": r, "r0": r0},
        each=n,
        scores=n,
        equal=(2 + sample_size.equal_mean_units(apart, request.power, request.confidence)) / degrees,
        equal_to=f"within_r lies no further from {r0:g} than planned for, on either side",
        admits=normal_picks.chance_of_enough(n, "spread"),
        notes=(mean_question.NORMAL,),
    )


_LIGHT = 1000
_TAILS = "A few scores or labels lie far from the others: on fewer prompts an audit gives within_r no interval."


def threshold_from_pilot(request: PlanRequest, pilot: GainPilot) -> Sizing:
    """Size ``within_r>=r0`` from a pilot: its correlation, and the scatter of its Fisher z over prompts."""
    r0, found = float(request.required("r0")), pilot.within_z()
    if not math.isfinite(found.estimate) or not math.isfinite(found.se) or found.se == 0:
        raise UsageError(
            f"{pilot.source}: the pilot has no within-prompt correlation with a standard error",
            hint="scores and labels must both differ within prompts",
        )
    if not pilot.light(_LIGHT):
        raise UsageError(
            f"{pilot.source}: a few scores or labels lie far from the others (a kurtosis of {pilot.kurtosis:.3g}), "
            "so an audit gives within_r no interval and its gate stays open",
            hint="plan recovery>0, which rests on picks",
        )
    independent, start, clusters = replace(pilot, clusters=None).within_z(), math.atanh(r0), pilot.within_clustering()
    one = independent.units * independent.se**2

    def units(z: float) -> float | None:
        if z - start < SMALLEST_EFFECT:
            return None
        return one * sample_size.mean_units(z - start, request.power, request.confidence, 1)

    def reach(units: float, power: float) -> float:
        return math.tanh(start + sample_size.detectable_mean(units / one, power, request.confidence, 1))

    low, high = found.at(request.confidence)
    ends = units(high), units(low)
    apart = found.estimate - start
    z_alpha = sample_size.critical_value(request.confidence, 1)
    sizing = Sizing(
        design="complete",
        sides=1,
        n=units(found.estimate),
        at=lambda some: float(special.ndtr(apart * math.sqrt(max(some, 0.0) / one) - z_alpha)),
        reach=reach,
        reach_of="within_r",
        effect={"within_r": math.tanh(found.estimate), "r0": r0},
        each=round(pilot.candidates),
        scores=pilot.candidates,
        ends=None if ends == (None, None) else ends,
        equal=(
            one * sample_size.equal_mean_units(abs(apart), request.power, request.confidence)
            if abs(apart) >= SMALLEST_EFFECT
            else None
        ),
        equal_to=f"within_r lies no further from {r0:g} than the pilot's, on either side",
        admits=pilot.chance_of_enough("spread", clusters),
        pilot=pilot.describe(found, request.confidence, "within_r", math.tanh),
        notes=pilot.unused if pilot.light(0) else (*pilot.unused, _TAILS),
    )
    return sizing if clusters is None else clusters.spread(sizing)


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

    name: result.PlanQuestion
    """As it is typed."""
    designs: tuple[result.PlanDesign, ...]
    """What may be labelled, the default first."""
    takes: frozenset[str]
    """Arguments that mean something to it."""
    from_effect: Callable[[PlanRequest], Sizing]
    from_pilot: Callable[[PlanRequest, PilotSource], Sizing] | None = None
    """The same with a pilot; None where a pilot cannot answer."""
    reads: tuple[str, ...] = OF_SCORES
    """What says how its pilot is read."""

    def size(self, request: PlanRequest, pilot: PilotSource | None) -> Sizing:
        """Size the question, refusing an argument that means nothing to it and missing ones."""
        self.refuse(request)
        if pilot is None:
            if request.seed != checks.SEED:
                raise UsageError("seed means nothing without a pilot to draw again", hint="give a pilot, or no seed")
            return self.from_effect(request)
        if self.from_pilot is None:
            raise UsageError(
                f"{self.name} is planned from a bound, not from a pilot", hint="give effect, the bound to stay within"
            )
        for name in sorted(_FROM_PILOT):
            if getattr(request, name) is not None:
                raise UsageError(f"both a pilot and {name}", hint=f"a pilot stands in for {name}: give one of them")
        for name in (*OF_SCORES, *OF_VOTES):
            if getattr(request, name) is not None and name not in self.reads:
                raise UsageError(
                    f"{name} has no meaning for the pilot of the question {self.name}",
                    hint=f"such a pilot takes {', '.join(self.reads)}",
                )
        return self.from_pilot(request, pilot)

    def refuse(self, request: PlanRequest) -> None:
        """Refuse an argument that means nothing to the question."""
        design, votes = request.design, request.design in {"votes", "discordant_preference"}
        takes = self.takes | ({"tie_rate"} if votes else frozenset())
        for name, field in PlanRequest.model_fields.items():
            if name not in {*takes, *OF_PILOT, "question", "version"} and getattr(request, name) != field.default:
                raise UsageError(
                    f"{name} has no meaning for the question {self.name} with the design {design}",
                    hint=f"it takes {', '.join(sorted(takes - {'question'}))}",
                )
        if request.method == "paper" and (not votes or self.name == "equivalence"):
            raise UsageError(
                f"method paper is equation 8, which is about votes, not about {self.name} with the design {design}",
                hint="leave the method out",
            )


def _one_judge(request: PlanRequest, source: PilotSource) -> GainPilot:
    return gain_pilot(source, request.judge or ())


def _rivals(request: PlanRequest) -> Sizing:
    stated = request
    if request.error_correlation is None:
        stated = request.model_copy(update={"error_correlation": ERROR_CORRELATION})
    if request.design == "discordant":
        return mean_question.rivals_from_r(stated)
    return votes_question.picks_from_r(stated)


def _rival_pilot(request: PlanRequest, source: PilotSource) -> Sizing:
    pilot = rival_pilot(source, request.judge or ())
    if request.design == "discordant":
        return mean_question.rival_from_pilot(request, pilot)
    return votes_question.picks_from_pilot(request, pilot)


QUESTIONS: Mapping[result.PlanQuestion, Question] = {
    one.name: one
    for one in (
        Question(
            "recovery>0",
            ("two_label", "complete"),
            _ALWAYS | _ONE_JUDGE | _RATERS | {"seed"},
            mean_question.gain_from_r,
            lambda request, source: mean_question.gain_from_pilot(request, _one_judge(request, source)),
        ),
        Question(
            "recovery",
            ("complete",),
            (_ALWAYS - {"power"}) | _ONE_JUDGE | {"half_width"},
            recovery_from_r,
            lambda request, source: recovery_from_pilot(request, _one_judge(request, source)),
        ),
        Question(
            "within_r>=r0",
            ("complete",),
            _ALWAYS | _ONE_JUDGE | {"r0"},
            threshold_from_r,
            lambda request, source: threshold_from_pilot(request, _one_judge(request, source)),
        ),
        Question(
            "a-vs-b", ("discordant", "discordant_preference"), _ALWAYS | _TWO_JUDGES | _RATERS, _rivals, _rival_pilot
        ),
        Question(
            "margin",
            ("votes",),
            _ALWAYS | _RATERS | {"effect"},
            votes_question.margin_from_effect,
            lambda request, source: votes_question.margin_from_pilot(
                request, votes_question.vote_pilot(source, request)
            ),
            OF_VOTES,
        ),
        Question(
            "screening",
            ("votes",),
            _ALWAYS | {"effect", "first_stage", "kept_share", "allocation", "seed"},
            lambda request: request.required("allocation"),
            types_question.screening,
            OF_VOTES,
        ),
        Question(
            "allocation", ("votes",), frozenset({"question", "design", "allocation"}), votes_question.equal_bound
        ),
        Question("equivalence", ("votes",), _ALWAYS | _RATERS | {"effect"}, votes_question.equal_bound),
    )
}
"""By name."""

OF_TYPES = ("screening", "allocation")
"""Questions about types of prompts."""


def read_question(text: str | None) -> tuple[result.PlanQuestion, float | None]:
    """Read a question as it is typed: its name, and the threshold where it states one."""
    plain = str(text).replace(" ", "").lower()
    for name in QUESTIONS:
        if name == plain:
            return name, None
    if stated := _THRESHOLD.fullmatch(plain):
        return "within_r>=r0", float(stated[1])
    trouble = "a plan needs a question" if text is None else f"unknown question {text!r}"
    raise UsageError(trouble, hint=f"the questions are {', '.join(QUESTIONS)}")


def answer(arguments: Mapping[str, Any], reading: reading_options.ReadingOptions) -> result.Plan:
    """Answer the question of a plan, from the arguments of `bonwise.planning.front.plan` by name."""
    types, pilot = arguments["allocation"], arguments["pilot"]
    if types is not None:
        named = arguments["question"] or "allocation"
        arguments = {**arguments, "allocation": PilotSource(types).name, "question": named}
    name, stated = read_question(arguments["question"])
    if stated is not None:
        arguments = {**arguments, "r0": stated}
    question, source = QUESTIONS[name], types if pilot is None and name in OF_TYPES else pilot
    request = PlanRequest.of(name, question.designs, arguments, reading)
    if name == "allocation":
        return _allocation(question, request, types)
    return _plan(request, question.size(request, None if source is None else PilotSource(source, reading)))


def _allocation(question: Question, request: PlanRequest, types: RowSource) -> result.Plan:
    """Plan the votes that bring every type of prompts to its share."""
    question.refuse(request)
    request.required("allocation")
    found = types_question.allocation(types)
    more = sum(found.more.values())
    settings = {"confidence": request.confidence, "design": "votes", "allocation": request.allocation}
    nothing: dict[str, Any] = dict.fromkeys(
        ("cost", "mde", "interval", "raw", "sequential", "equivalence", "design_effect", "pilot")
    )
    return result.Plan(
        question="allocation",
        settings=result.PlanSettings.model_validate({**settings, "version": request.version}),
        design="votes",
        sides=2,
        prompts=more,
        labels=more,
        **nothing,
        mde_of="preference margin",
        verdict="underpowered" if more else "feasible",
        effect={},
        power_table=[],
        allocation=found,
        sentences=list(sentences.of_allocation(found)),
        commands=[],
    )


def _plan(request: PlanRequest, sizing: Sizing) -> result.Plan:
    layout = Layout.of(sizing, request)
    sizing = outcome.with_floors(sizing, layout, request.power)
    needed = layout.counts(sizing.n)
    groups = None if sizing.n is None else layout.groups(sizing.n)
    raw: result.Amounts | None = None
    if groups is not None:
        raw = {"prompts": groups / sizing.share, "labels": groups * sizing.each * request.raters}
    elif sizing.n is not None:
        raw = {"independent": sizing.n}
    ends = outcome.interval(sizing, layout)
    inflated = None if sizing.n is None else layout.dependence.inflated(sizing.n)
    equal = layout.counts(sizing.equal)
    plan = result.Plan(
        question=request.question,
        settings=_settings(request, sizing),
        design=sizing.design,
        sides=sizing.sides,
        prompts=None if needed is None else needed.prompts,
        labels=None if needed is None else needed.labels,
        raw=raw,
        cost=outcome.cost(request, sizing, needed),
        effect=dict(sizing.effect),
        mde=outcome.detectable(sizing, layout, request, needed),
        mde_of=sizing.reach_of,
        interval=ends,
        power_table=outcome.power_table(sizing, layout, request, needed),
        sequential=outcome.sequential(request, sizing, layout, needed),
        equivalence=None
        if equal is None
        else result.EquivalenceRecord(prompts=equal.prompts, labels=equal.labels, shows=sizing.equal_to),
        design_effect=None
        if inflated is None or not sizing.n
        else inflated / sizing.n * (1.0 if sizing.clusters is None else sizing.clusters.design_effect),
        pilot=sizing.pilot,
        **given(
            clusters=sizing.clusters,
            redrawn=outcome.redrawn(sizing, layout),
            pairs=None if sizing.pairs is None else list(sizing.pairs),
            screening=sizing.screening,
        ),
        verdict=outcome.verdict(request, needed),
        sentences=[],
        commands=[],
    )
    notes = (*sizing.notes, *outcome.small_study(sizing, needed))
    return plan.model_copy(
        update={"sentences": list(sentences.sentences(plan, notes)), "commands": list(sentences.commands(plan))}
    )


def _settings(request: PlanRequest, sizing: Sizing) -> result.PlanSettings:
    """Return what the plan rests on: what was said, without what had no part in it, and what follows."""
    asked = request.in_order()
    of_pilot = {name: asked.pop(name) for name in (*OF_PILOT, "version") if name in asked}
    del asked["question"]
    if sizing.design in {"votes", "discordant_preference"}:
        asked["tie_rate"] = sizing.tie_rate
    else:
        del asked["method"]
    if sizing.redrawn is None or sizing.redrawn.found is None:
        del asked["seed"]
    if sizing.shows == "half_width":
        del asked["power"]
    if request.question == "a-vs-b" and sizing.pilot is None:
        asked.setdefault("error_correlation", ERROR_CORRELATION)
    return result.PlanSettings(**asked, **of_pilot)
