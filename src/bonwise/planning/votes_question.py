"""Questions about a share of votes: which side is preferred, are both as good, what does a pilot say?"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.errors import InputError, UsageError
from bonwise.planning import mean_question, normal_picks, result
from bonwise.planning.pilot import RivalPilot
from bonwise.planning.request import OF_VOTES, PilotSource, PlanRequest
from bonwise.planning.sizing import Sizing
from bonwise.stats import pilot_effect, sample_size
from bonwise.stats import sample_size as size
from bonwise.table import opening, reading, score_table, vote_columns, vote_rows, votes

_COUNT = re.compile(r"\s*(\d+)\s*/\s*(\d+)\s*")

_WORTH: Mapping[votes.Ties, float] = {"drop": np.nan, "half": 0.5, "pessimistic": 0.0}
"""Of a tie, for the first side."""


Names = tuple[str, str]


class VotePilot(NamedTuple):
    """Votes for the first and for the second side."""

    votes: result.PilotOfVotes
    tie_rate: float = 0.0
    """Share of all votes that do not count: ties that decide nothing."""
    counted: Floats = np.empty(0)
    """Votes for the first side, NaN where a tie does not count."""
    by_pair: Mapping[Names, tuple[Floats, Ints]] = MappingProxyType({})
    """The same of every pair, with their prompts."""
    pairs: tuple[result.PairOfPilot, ...] = ()
    """The one that is planned for, then all of them."""

    @classmethod
    def of(
        cls, source: str, wins: float, votes: float, confidence: float, *, ties: float = 0.0, tie_rate: float = 0.0
    ) -> VotePilot:
        """Estimate the margin from the votes that count, those for the first side and all, by Wilson's interval."""
        if not 0 <= wins <= votes or votes < 1:
            raise UsageError(
                f"{wins:g} of {votes:g} votes is not a pilot", hint="write wins/decisive votes, such as 28/50"
            )
        low, high = pilot_effect.wilson(wins, votes, confidence)
        record = result.PilotOfVotes(
            source=source,
            votes=votes,
            wins=wins,
            ties=ties,
            of="preference margin",
            estimate=wins / votes - 0.5,
            low=float(low - 0.5),
            high=float(high - 0.5),
        )
        return cls(record, tie_rate)

    @property
    def margin(self) -> float:
        """Share of wins less one half."""
        return float(self.votes.estimate or 0.0)


def vote_pilot(source: PilotSource, request: PlanRequest) -> VotePilot:
    """Read a pilot of votes, on one pair of models; ties need a rule."""
    found = source.source
    if isinstance(found, str) and (counted := _COUNT.fullmatch(found)):
        for name in OF_VOTES:
            if getattr(request, name) is not None:
                raise UsageError(
                    f"{name} has no meaning for votes that are counted already", hint=f"leave {name} out"
                )
        return VotePilot.of(found.strip(), float(counted[1]), float(counted[2]), request.confidence)
    if isinstance(found, opening.HoldsScores | score_table.ScoreTable):
        raise UsageError("a table of scores holds no votes", hint="give a file of votes, or wins/votes such as 28/50")
    return _closest(_values(found, source.name, request), source.name, request)


def _closest(by_pair: Mapping[Names, tuple[Floats, Ints]], source: str, request: PlanRequest) -> VotePilot:
    """Count the votes of every pair, and plan for the closest of those that some number of votes settles."""
    pilots = {
        names: _counted(values, source, request)
        for names, (values, _) in by_pair.items()
        if len(by_pair) == 1 or (values != 0.5).any()
    }
    rows = [
        result.PairOfPilot(
            first=names[0],
            second=names[1],
            votes=pilot.votes.votes,
            margin=pilot.margin,
            low=pilot.votes.low,
            high=pilot.votes.high,
            labels=None
            if (needed := _votes(abs(pilot.margin), request)) is None
            else math.ceil(needed / (1 - pilot.tie_rate)),
        )
        for names, pilot in pilots.items()
    ]
    if not rows:
        raise InputError(f"{source}: every vote is a tie", hint="a margin needs votes that decide")
    planned = max(rows, key=lambda row: (row.labels or 0, -abs(row.margin)))
    counted = {names: (pilot.counted, by_pair[names][1]) for names, pilot in pilots.items()}
    return pilots[planned.first, planned.second]._replace(by_pair=counted, pairs=(planned, *rows))


def _counted(values: Floats, source: str, request: PlanRequest) -> VotePilot:
    tied = values == 0.5
    if tied.any() and request.ties is None:
        raise UsageError(
            f"{source}: {int(tied.sum()):,} of {len(values):,} votes are ties, and how they count was not said",
            hint="give ties (--ties): drop, half, or pessimistic (against the first side)",
        )
    worth = np.where(tied, _WORTH[request.ties or "drop"], values)
    kept = worth[~np.isnan(worth)]
    if not len(values):
        raise InputError(f"{source}: no row holds a vote", hint="check the columns that were named")
    if not len(kept):
        raise InputError(
            f"{source}: every vote is a tie", hint="a margin needs votes that decide, or another way with ties"
        )
    left_out = float(len(values) - len(kept))
    pilot = VotePilot.of(
        source,
        float(kept.sum()),
        float(len(kept)),
        request.confidence,
        ties=float(np.sum(tied)),
        tie_rate=left_out / len(values),
    )
    return pilot._replace(counted=worth)


def _values(given: reading.RowSource, source: str, request: PlanRequest) -> dict[Names, tuple[Floats, Ints]]:
    """Return by pair the votes, 1 for the first side, 0 for the second, 1/2 for a tie, and their prompts."""
    raw, _ = reading.open_frame(given)
    named = vote_columns.NamedVoteColumns(
        verdicts=None if request.verdict_col is None else (request.verdict_col,),
        pair=tuple(request.pair_col or ()) or vote_columns.pair_of(raw, texts=False),
        prompt=None if request.question == "screening" else (),
        judge=(),
    )
    rows = vote_rows.VoteRows.of(raw, source, named, needed=("verdicts",))
    if not rows.columns.pair:
        values = vote_rows.one_verdict(rows.worth)
        values = values[~np.isnan(values)]
        return {("first side", "second side"): (values, np.arange(len(values)))}
    table = votes.VoteTable.of(rows)
    key, names = table.first * len(table.models) + table.second, table.models
    return {
        (names[each // len(names)], names[each % len(names)]): (1 - table.preferred[of_pair], table.prompt[of_pair])
        for each in np.unique(key).tolist()
        for of_pair in [key == each]
    }


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
    if request.tie_rate is not None and pilot.votes.ties and not pilot.tie_rate:
        raise UsageError(
            "tie_rate has no meaning where ties count", hint="leave it out, or drop the ties of the pilot"
        )
    sizing = replace(
        _margin(request, pilot.margin),
        ends=_ends(request, pilot.votes),
        tie_rate=pilot.tie_rate if request.tie_rate is None else request.tie_rate,
        pilot=pilot.votes,
    )
    closest, rows = pilot.pairs[:1], pilot.pairs[1:]
    if len(rows) <= 1:
        return sizing
    known = [pair.labels for pair in rows if pair.labels is not None]
    none = f"; for {len(rows) - len(known):,} of them no number is enough" * (len(known) < len(rows))
    summed = (
        f"The pilot has {len(rows):,} pairs, and the plan is for the closest, {closest[0].first} and "
        f"{closest[0].second}. With its own number for each, the pairs take {sum(known):,} votes in all{none}."
    )
    return replace(sizing, pairs=rows, notes=(summed,))


def picks_from_r(request: PlanRequest) -> Sizing:
    """Size judge A against judge B by one preference on each prompt where their picks differ."""
    n, r_a, r_b, errors = judges = mean_question.two_judges(request)
    share, effect = normal_picks.two_picks(*judges).disagree, normal_picks.win_share(*judges) - 0.5
    return replace(
        _margin(request, effect),
        effect={"margin": effect, "within_r": r_a, "rival_r": r_b, "disagree": share},
        tie_rate=request.tie_rate or 0.0,
        reach_of=_ON_DISCORDANT,
        design="discordant_preference",
        share=share,
        scores=2.0 * n,
        notes=(mean_question.NORMAL, f"The errors of the two judges are taken to correlate by {errors:g}."),
    )


def picks_from_pilot(request: PlanRequest, pilot: RivalPilot) -> Sizing:
    """Size judge A against judge B by preferences, from a pilot with both judges."""
    wins, votes = float(pilot.wins.sum()), float((pilot.wins + pilot.losses).sum())
    if votes < 1:
        raise UsageError(
            f"{pilot.source}: the picks of the two judges never differ in worth", hint="label more prompts"
        )
    ties = max(0.0, float(pilot.apart.sum()) - votes)
    counted = VotePilot.of(pilot.source, wins, votes, request.confidence, ties=ties, tie_rate=ties / (ties + votes))
    sizing = replace(
        _margin(request, counted.margin),
        effect={"margin": counted.margin, "disagree": pilot.disagree},
        ends=_ends(request, counted.votes),
        tie_rate=counted.tie_rate if request.tie_rate is None else request.tie_rate,
        reach_of=_ON_DISCORDANT,
        design="discordant_preference",
        share=pilot.disagree,
        scores=2 * pilot.candidates,
        pilot=result.PilotOfVotes(**dict(counted.votes), judges=list(pilot.judges), prompts=len(pilot.apart)),
        notes=("Where a judge ties several candidates, its pick is one of them at random.", *pilot.first.unused),
    )
    clusters = pilot.vote_clustering()
    return sizing if clusters is None else clusters.spread(sizing)


def equal_bound(request: PlanRequest) -> Sizing:
    """Size the proof that a preference margin of 0 lies within a bound, by two one-sided tests."""
    bound = float(request.required("effect"))

    def power_of(margin: float, units: float) -> float:
        return float(sample_size.equal_votes_power(margin, max(1, int(units + 1e-9)), request.confidence))

    return Sizing(
        design="votes",
        sides=1,
        n=float(size.equal_votes(bound, request.power, request.confidence).settled),
        at=partial(power_of, bound),
        reach=lambda units, power: size.smallest(lambda margin: power_of(margin, units), 0.5 - 1e-9, power),
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
        return sample_size.paper_votes_power(magnitude, units, request.confidence)
    # A vote counts whole; a hair below a whole number is rounding.
    return float(sample_size.votes_power(magnitude, max(1, int(units + 1e-9)), request.confidence))


def _reach(request: PlanRequest, units: float, power: float) -> float | None:
    if units < 1:
        return None
    if request.method == "paper":
        found = size.paper_margin(units, power, request.confidence)
        return found if found < 0.5 else None
    return size.detectable_margin(int(units + 1e-9), power, request.confidence)


def _ends(request: PlanRequest, pilot: result.PilotOfVotes) -> tuple[float | None, float | None]:
    """Invert an interval of the margin; one that covers 0 leaves the number without an upper end."""
    low, high = float(pilot.low or 0.0), float(pilot.high or 0.0)
    covers = low <= 0 <= high
    largest, smallest = max(abs(low), abs(high)), min(abs(low), abs(high))
    return _votes(largest, request), None if covers else _votes(smallest, request)
