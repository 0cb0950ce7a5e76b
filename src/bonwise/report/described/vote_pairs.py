"""The pairs of a study of votes, closest first: their margins, and what a vote on them tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from bonwise.documents.pair_votes import PairVotesRecord
from bonwise.documents.votes import VotesDocument, VotesSettings
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Drawing, Said, Table
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.report.numbers import (
    NOTHING,
    Bounded,
    Ends,
    against,
    count,
    counted,
    estimate,
    interval,
    number,
    setting,
)

__all__ = ["MOST_PAIRS", "drawn_pairs", "share_of_votes", "vote_pairs", "votes_or_none"]

MOST_PAIRS = 40
"""Pairs that are shown."""

_LONGEST = 32
"""Characters of a model's name."""

_HALF = 0.5


def vote_pairs(document: VotesDocument) -> Iterator[Block]:
    """Yield two tables of the pairs, and what their columns mean."""
    pairs = _closest_first(document)
    shown = pairs[:MOST_PAIRS]
    names = (Column("first", "name"), Column("second", "name"))
    yield Table.of(
        (
            *names,
            Column("votes", spare=3),
            Column("prompts", spare=2),
            Column("margin"),
            Column("interval", spare=4),
            Column("votes (5% level)"),
            Column("se ratio", spare=1),
        ),
        [(*_names(one), *_margin(one)) for one in shown],
        "Pairs, closest first",
    )
    if len(pairs) > MOST_PAIRS:
        more = counted(len(pairs) - MOST_PAIRS, "pair")
        yield Said(
            "caveat", f"{more} with larger margins {'is' if len(pairs) == MOST_PAIRS + 1 else 'are'} in --json alone"
        )
    yield Table.of(
        (
            *names,
            Column("nats a vote"),
            Column("bound"),
            Column("kappa", spare=2),
            Column("by chance", spare=1),
            Column("spread", spare=3),
            Column("screened", spare=4),
        ),
        [(*_names(one), *_told(one)) for one in shown],
        "What a vote tells, and the prompts behind it",
    )
    least = pairs[0].information.least_votes
    yield Said(
        "note",
        f"nats a vote: KL(1/2 + margin, 1/2). bound: no test with errors of {setting(least.level)} and "
        f"{setting(least.miss)} does with fewer votes, even one that knows all margins; a lower bound, and no test "
        "is known to do with so few.",
    )
    yield Said(
        "note", "kappa, by chance: concentration of the preference, and what it exceeds in 5% of permutations."
    )
    yield from _simulated(pairs, document.settings)


def drawn_pairs(document: VotesDocument) -> list[Drawing[Forest]]:
    """Return the share of votes of each pair as a drawing."""
    pairs = _closest_first(document)
    rates = [one.win_rate for one in pairs]
    return forest_figure(
        [
            (f"{second} against {first}", rate.estimate, rate.low, rate.high)
            for (first, second), rate in zip(map(_names, pairs), rates, strict=True)
        ],
        "votes-pairs",
        "Votes by pair",
        "Share of the votes for the model that is named first, closest pair first; the line is one half.",
        _HALF,
        across="share of votes",
        said=list(map(share_of_votes, rates)),
        unit="share",
    )


def share_of_votes(rate: Bounded) -> str:
    """Write a share of votes with its interval, whose ends are not rounded to one half.

    Examples
    --------
    >>> share_of_votes(Ends(0.569, 0.502, 0.634))
    '57% [50.2%, 63%]'
    """
    if rate.low is None or rate.high is None:
        return estimate(rate, "share")
    low, high = (against(end, _HALF, "share", like=rate) for end in (rate.low, rate.high))
    return f"{estimate(rate, 'share')} [{low}, {high}]"


def _closest_first(document: VotesDocument) -> list[PairVotesRecord]:
    return sorted(document.pairs, key=lambda one: abs(one.margin))


def votes_or_none(votes: int | None) -> str:
    """Write a number of votes; what no number of votes sees has none."""
    return "no number" if votes is None else count(votes)


def _simulated(pairs: Sequence[PairVotesRecord], settings: VotesSettings) -> Iterator[Said]:
    """Say what the two simulated powers are, where there are any."""
    votes = sorted({one.screening.plan.votes for one in pairs if one.screening.plan is not None})
    if votes:
        spent = count(votes[0]) if len(votes) == 1 else f"{count(votes[0])} to {count(votes[-1])}"
        yield Said(
            "note",
            f"spread, screened: how often 'no prompt has a preference' is rejected at the 5% level with {spent} new "
            f"votes in proportion, and with half of them spent on screening; simulated "
            f"{counted(settings.repetitions, 'time')} at margins as likely, for planning only.",
        )


def _names(one: PairVotesRecord) -> tuple[str, str]:
    return printable(one.first, longest=_LONGEST), printable(one.second, longest=_LONGEST)


def _margin(one: PairVotesRecord) -> tuple[str, ...]:
    return (
        count(one.votes),
        count(one.prompts),
        estimate(_margin_of(one), sign=True),
        interval(_margin_of(one), sign=True),
        votes_or_none(one.votes_needed.at_05.whole),
        number(one.cluster_ratio.estimate),
    )


def _margin_of(one: PairVotesRecord) -> Ends:
    rate = one.win_rate
    return Ends(one.margin, *(None if end is None else end - 0.5 for end in (rate.low, rate.high)))


def _told(one: PairVotesRecord) -> tuple[str, ...]:
    bound, power, kappa = one.information.least_votes.estimate, one.screening.simulated, one.concentration
    return (
        number(one.information.per_vote.estimate),
        NOTHING if bound is None else f">= {count(ceil(bound))}",
        number(kappa.kappa),
        number(kappa.null_quantile),
        number(None if power is None else power.proportional, "share"),
        number(None if power is None else power.two_stage, "share"),
    )
