"""Questions about a share of votes: is one side preferred, are both as good, whose pick is the better one?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bonwise.errors import UsageError
from bonwise.planning.plans.mean_question import NORMAL
from bonwise.planning.plans.pilot_figures import RivalPilot
from bonwise.planning.plans.request import PlanRequest
from bonwise.planning.plans.sizing import Sizing
from bonwise.planning.plans.vote_pilot import VotePilot
from bonwise.stats.power import sample_size as size
from bonwise.stats.power.power import equal_votes_power, paper_votes_power, votes_power
from bonwise.stats.power.two_picks import two_picks, win_share

__all__ = ["equal_bound", "margin_from_effect", "margin_from_pilot", "picks_from_pilot", "picks_from_r"]

_MARGIN = "preference margin"
_ON_DISCORDANT = "preference margin on prompts where the picks differ"


_TWO_TESTS = (
    "Two one-sided tests, each at the confidence given: the margin is shown to lie within the bound where both "
    "reject. The power is for a margin of exactly 0."
)


def margin_from_effect(request: PlanRequest) -> Sizing:
    """Size a preference margin."""
    effect = float(request.required("effect"))
    return replace(_margin(request, effect), tie_rate=request.tie_rate or 0.0)


def margin_from_pilot(request: PlanRequest, pilot: VotePilot) -> Sizing:
    """Size a preference margin from votes, with the interval that their number leaves."""
    if request.tie_rate is not None and pilot.ties and not pilot.tie_rate:
        raise UsageError(
            "tie_rate has no meaning where ties count", hint="leave it out, or drop the ties of the pilot"
        )
    return replace(
        _margin(request, pilot.margin),
        ends=_ends(request, pilot.ends(request.confidence)),
        tie_rate=pilot.tie_rate if request.tie_rate is None else request.tie_rate,
        pilot=pilot.describe(request.confidence),
    )


def picks_from_r(request: PlanRequest) -> Sizing:
    """Size judge A against judge B by one preference on each prompt where their picks differ."""
    names = ("candidates", "within_r", "rival_r", "error_correlation")
    n, r_a, r_b, errors = (request.required(name) for name in names)
    if r_a == r_b:
        raise UsageError(
            "both judges have the same within_r: there is no difference to find", hint="give another rival_r"
        )
    try:
        share, effect = two_picks(n, r_a, r_b, errors).disagree, win_share(n, r_a, r_b, errors) - 0.5
    except ValueError as error:
        raise UsageError(str(error), hint="give judges or an error_correlation further apart") from error
    return replace(
        _margin(request, effect),
        effect={"margin": effect, "within_r": float(r_a), "rival_r": float(r_b), "disagree": share},
        tie_rate=request.tie_rate or 0.0,
        reach_of=_ON_DISCORDANT,
        design="discordant_preference",
        share=share,
        scores=2.0 * n,
        notes=(NORMAL, f"The errors of the two judges are taken to correlate by {errors:g}."),
    )


def picks_from_pilot(request: PlanRequest, pilot: RivalPilot) -> Sizing:
    """Size judge A against judge B by preferences, from a pilot with both judges."""
    wins, votes = float(pilot.wins.sum()), float((pilot.wins + pilot.losses).sum())
    if votes < 1:
        raise UsageError(
            f"{pilot.source}: the picks of the two judges never differ in worth", hint="label more prompts"
        )
    ties = max(0.0, float(pilot.apart.sum()) - votes)
    found = VotePilot(pilot.source, wins, votes, ties / (ties + votes), ties)
    sizing = replace(
        _margin(request, found.margin),
        effect={"margin": found.margin, "disagree": pilot.disagree},
        ends=_ends(request, found.ends(request.confidence)),
        tie_rate=found.tie_rate if request.tie_rate is None else request.tie_rate,
        reach_of=_ON_DISCORDANT,
        design="discordant_preference",
        share=pilot.disagree,
        scores=2 * pilot.candidates,
        pilot=found.describe(request.confidence, pilot.judges, len(pilot.apart)),
        notes=("Where a judge ties several candidates, its pick is one of them at random.", *pilot.first.unused),
    )
    clusters = pilot.vote_clustering()
    return sizing if clusters is None else clusters.spread(sizing)


def equal_bound(request: PlanRequest) -> Sizing:
    """Size the proof that a preference margin of 0 lies within a bound, by two one-sided tests."""
    bound = float(request.required("effect"))

    def reach(units: float) -> float | None:
        count = int(units + 1e-9)
        if count < 1 or equal_votes_power(0.5 - 1e-9, count, request.confidence) < request.power:
            return None
        low, high = 0.0, 0.5 - 1e-9
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (
                (low, middle)
                if equal_votes_power(middle, count, request.confidence) >= request.power
                else (middle, high)
            )
        return high

    return Sizing(
        design="votes",
        sides=1,
        n=float(size.equal_votes(bound, request.power, request.confidence).settled),
        at=lambda units: float(equal_votes_power(bound, max(1, int(units + 1e-9)), request.confidence)),
        reach=reach,
        reach_of="bound on the preference margin",
        effect={"bound": bound},
        tie_rate=request.tie_rate or 0.0,
        notes=(_TWO_TESTS,),
    )


def _margin(request: PlanRequest, effect: float) -> Sizing:
    """Size a two-sided test of a share of votes against one half."""
    magnitude = abs(effect)
    equal = None
    if magnitude >= size.SMALLEST_MARGIN:
        equal = float(size.equal_votes(min(magnitude, 0.5 - 1e-6), request.power, request.confidence).settled)
    return Sizing(
        design="votes",
        sides=2,
        n=_votes(magnitude, request),
        at=partial(_power, magnitude, request),
        reach=partial(_reach, request),
        reach_of=_MARGIN,
        effect={"margin": effect},
        equal=equal,
        equal_to=f"the margin lies within {magnitude:.3g} on either side of 0",
        sequential="votes",
        margin=magnitude,
    )


def _votes(magnitude: float, request: PlanRequest) -> float | None:
    if magnitude < size.SMALLEST_MARGIN:
        return None
    if request.method == "paper":
        return size.paper_votes(magnitude, request.power, request.confidence)
    return float(size.votes(magnitude, request.power, request.confidence).settled)


def _power(magnitude: float, request: PlanRequest, units: float) -> float:
    if request.method == "paper":
        return paper_votes_power(magnitude, units, request.confidence)
    # A vote counts whole; a hair below a whole number is rounding.
    return float(votes_power(magnitude, max(1, int(units + 1e-9)), request.confidence))


def _reach(request: PlanRequest, units: float) -> float | None:
    if units < 1:
        return None
    if request.method == "paper":
        found = size.paper_margin(units, request.power, request.confidence)
        return found if found < 0.5 else None
    return size.detectable_margin(int(units + 1e-9), request.power, request.confidence)


def _ends(request: PlanRequest, margin: tuple[float, float]) -> tuple[float | None, float | None]:
    """Invert an interval of the margin; one that covers 0 leaves the number without an upper end."""
    low, high = margin
    covers = low <= 0 <= high
    largest, smallest = max(abs(low), abs(high)), min(abs(low), abs(high))
    return _votes(largest, request), None if covers else _votes(smallest, request)
