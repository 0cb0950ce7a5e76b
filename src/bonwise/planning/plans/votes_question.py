"""Questions about a share of votes: is one side preferred, are both as good, whose pick is the better one?"""

from __future__ import annotations

from functools import partial
from typing import Any

from bonwise.errors import UsageError
from bonwise.planning.plans.asked import Asked
from bonwise.planning.plans.mean_question import NORMAL
from bonwise.planning.plans.pilot_figures import RivalPilot
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


def margin_from_effect(asked: Asked) -> Sizing:
    """Size a preference margin."""
    effect = float(asked.required("effect"))
    return _margin(asked, effect, tie_rate=asked.tie_rate or 0.0)


def margin_from_pilot(asked: Asked, pilot: VotePilot) -> Sizing:
    """Size a preference margin from votes, with the interval that their number leaves."""
    tie_rate = pilot.tie_rate if asked.tie_rate is None else asked.tie_rate
    return _margin(
        asked,
        pilot.margin,
        ends=_ends(asked, pilot.ends(asked.confidence)),
        tie_rate=tie_rate,
        pilot=pilot.describe(asked.confidence),
    )


def picks_from_r(asked: Asked) -> Sizing:
    """Size judge A against judge B by one preference on each prompt where their picks differ."""
    names = ("candidates", "within_r", "rival_r", "error_correlation")
    n, r_a, r_b, errors = (asked.required(name) for name in names)
    if r_a == r_b:
        raise UsageError(
            "both judges have the same within_r: there is no difference to find", hint="give another rival_r"
        )
    try:
        share, effect = two_picks(n, r_a, r_b, errors).disagree, win_share(n, r_a, r_b, errors) - 0.5
    except ValueError as error:
        raise UsageError(str(error), hint="give judges or an error_correlation further apart") from error
    more = {"within_r": float(r_a), "rival_r": float(r_b), "disagree": share}
    return _margin(
        asked,
        effect,
        tie_rate=asked.tie_rate or 0.0,
        of=_ON_DISCORDANT,
        design="discordant_preference",
        share=share,
        scores=2.0 * n,
        more=more,
        notes=(NORMAL, f"The errors of the two judges are taken to correlate by {errors:g}."),
    )


def picks_from_pilot(asked: Asked, pilot: RivalPilot) -> Sizing:
    """Size judge A against judge B by preferences, from a pilot with both judges."""
    wins, votes = float(pilot.wins.sum()), float((pilot.wins + pilot.losses).sum())
    if votes < 1:
        raise UsageError(
            f"{pilot.source}: the picks of the two judges never differ in worth", hint="label more prompts"
        )
    found = VotePilot(pilot.source, wins, votes, max(0.0, float(pilot.apart.sum()) - votes))
    return _margin(
        asked,
        found.margin,
        ends=_ends(asked, found.ends(asked.confidence)),
        tie_rate=found.tie_rate if asked.tie_rate is None else asked.tie_rate,
        of=_ON_DISCORDANT,
        design="discordant_preference",
        share=pilot.disagree,
        scores=2 * pilot.candidates,
        more={"disagree": pilot.disagree},
        pilot=found.describe(asked.confidence, judges=list(pilot.judges), prompts=len(pilot.apart)),
        notes=("Where a judge ties several candidates, its pick is one of them at random.",),
    )


def equal_bound(asked: Asked) -> Sizing:
    """Size the proof that a preference margin of 0 lies within a bound, by two one-sided tests."""
    bound = float(asked.required("effect"))

    def reach(units: float) -> float | None:
        count = int(units + 1e-9)
        if count < 1 or equal_votes_power(0.5 - 1e-9, count, asked.confidence) < asked.power:
            return None
        low, high = 0.0, 0.5 - 1e-9
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (
                (low, middle) if equal_votes_power(middle, count, asked.confidence) >= asked.power else (middle, high)
            )
        return high

    return Sizing(
        design="votes",
        sides=1,
        n=float(size.equal_votes(bound, asked.power, asked.confidence).settled),
        at=lambda units: float(equal_votes_power(bound, max(1, int(units + 1e-9)), asked.confidence)),
        reach=reach,
        reach_of="bound on the preference margin",
        effect={"bound": bound},
        tie_rate=asked.tie_rate or 0.0,
        notes=(_TWO_TESTS,),
    )


def _margin(asked: Asked, effect: float, **more: Any) -> Sizing:
    """Size a two-sided test of a share of votes against one half; `more` goes on to the sizing."""
    magnitude = abs(effect)
    of, also = more.pop("of", _MARGIN), more.pop("more", {})
    equal = None
    if magnitude >= size.SMALLEST_MARGIN:
        equal = float(size.equal_votes(min(magnitude, 0.5 - 1e-6), asked.power, asked.confidence).settled)
    return Sizing(
        design=more.pop("design", "votes"),
        sides=2,
        n=_votes(magnitude, asked),
        at=partial(_power, magnitude, asked),
        reach=partial(_reach, asked),
        reach_of=of,
        effect={"margin": effect, **also},
        equal=equal,
        equal_to=f"the margin lies within {magnitude:.3g} on either side of 0",
        sequential="votes",
        margin=magnitude,
        **more,
    )


def _votes(magnitude: float, asked: Asked) -> float | None:
    if magnitude < size.SMALLEST_MARGIN:
        return None
    if asked.method == "paper":
        return size.paper_votes(magnitude, asked.power, asked.confidence)
    return float(size.votes(magnitude, asked.power, asked.confidence).settled)


def _power(magnitude: float, asked: Asked, units: float) -> float:
    if asked.method == "paper":
        return paper_votes_power(magnitude, units, asked.confidence)
    # A vote counts whole; a hair below a whole number is rounding.
    return float(votes_power(magnitude, max(1, int(units + 1e-9)), asked.confidence))


def _reach(asked: Asked, units: float) -> float | None:
    if units < 1:
        return None
    if asked.method == "paper":
        found = size.paper_margin(units, asked.power, asked.confidence)
        return found if found < 0.5 else None
    return size.detectable_margin(int(units + 1e-9), asked.power, asked.confidence)


def _ends(asked: Asked, margin: tuple[float, float]) -> tuple[float | None, float | None]:
    """Invert an interval of the margin; one that covers 0 leaves the number without an upper end."""
    low, high = margin
    covers = low <= 0 <= high
    largest, smallest = max(abs(low), abs(high)), min(abs(low), abs(high))
    return _votes(largest, asked), None if covers else _votes(smallest, asked)
