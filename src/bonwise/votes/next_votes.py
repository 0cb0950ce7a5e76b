"""Which pairs of models need votes next, until tests that allow any stop have settled the first places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.sparse.csgraph import connected_components

from bonwise.arrays import Floats
from bonwise.errors import UsageError
from bonwise.printable import quoted
from bonwise.table.votes import VoteTable
from bonwise.votes import ranking, result

Pair = tuple[int, int]
"""Positions of two models, the smaller first."""

_BETS = np.geomspace(0.02, 0.98, 40)
"""Parts of the largest fair bet, each with the same stake: small ones grow on small margins."""

_PRIOR = 20
"""Units that the margin of the strengths counts as, where a pair's own are few."""

_SHOWN: tuple[result.NextState, ...] = ("second", "first", "level")


def log_evidence(values: Floats, than: float) -> float:
    """Return the log of an e-value against "the mean of values in [0, 1] is at most `than`".

    The mean over bets b of ``prod_t (1 + b (x_t - than) / than)``: wealth from fair bets, whose expectation never
    exceeds 1 while that holds, however the next value is chosen and whenever one stops.
    """
    wealth = np.log1p(np.outer(_BETS / than, values - than)).sum(axis=1)
    return float(special.logsumexp(wealth) - math.log(len(_BETS)))


class SettledPlaces(NamedTuple):
    """What is shown of pairs of models."""

    order: list[int]
    """Models by the strength that all votes give them."""
    states: Mapping[Pair, result.NextState]
    expected: Mapping[Pair, float]
    """Further units that each open pair of the places asked for may take."""
    settled: int
    """Places that are settled, of those asked for."""


def standing(units: Mapping[Pair, Floats], won: Floats, depth: int, error: float, near_tie: float) -> SettledPlaces:
    """Say what is shown with a false discovery rate of at most `error` (e-BH), and what is open.

    `units` has the values of every pair (a, b), each a share for b; `won` the votes of row over column. There are
    three statements about a pair, that b or a is preferred or that they are level, and all of them count as tests.
    """
    # Half a vote for each side, so that a model that won all of its votes has a finite strength.
    strengths, _ = ranking.fit_strengths(won + 0.5 * (won + won.T > 0))
    order, keys = np.argsort(-strengths, kind="stable").tolist(), list(units)
    apart, near = (
        np.array([[log_evidence(x, than), log_evidence(1 - x, than)] for x in units.values()])
        for than in (0.5, 0.5 - near_tie)
    )
    logs = np.column_stack([apart, near.min(axis=1)])
    ranked = np.sort(logs.ravel())[::-1]
    limits = math.log(logs.size / error) - np.log(np.arange(1, logs.size + 1))
    count = int(np.flatnonzero(ranked >= limits).max(initial=-1)) + 1
    shown = logs >= (ranked[count - 1] if count else math.inf)
    states: dict[Pair, result.NextState] = {
        key: next((state for state, is_shown in zip(_SHOWN, row, strict=True) if is_shown), "open")
        for key, row in zip(keys, shown, strict=True)
    }
    bar, expected, settled = float(limits[min(count, logs.size - 1)]), {}, depth
    for place, model in enumerate(order[:depth]):
        for other in order[place + 1 :]:
            key = min(model, other), max(model, other)
            if states[key] == "open":
                towards = float(special.expit(strengths[key[1]] - strengths[key[0]]) - 0.5)
                expected[key] = _expected(units[key], logs[keys.index(key)], towards, bar, near_tie)
            if states[key] not in ("level", "first" if key[0] == model else "second"):
                settled = min(settled, place)
    return SettledPlaces(order, states, expected, settled)


def _expected(values: Floats, logs: Floats, towards: float, bar: float, near_tie: float) -> float:
    """Return the units until one of the three statements is shown, at the growth of a bet that knows the margin."""
    off, weight = values - 0.5, len(values) + _PRIOR
    margin, spread = (off.sum() + _PRIOR * towards) / weight, ((off**2).sum() + _PRIOR / 4) / weight
    gaps = zip((margin, -margin, near_tie - abs(margin)), logs, strict=True)
    return max(1.0, min((2 * spread * (bar - log) / gap**2 for gap, log in gaps if gap > 0), default=math.inf))


def allocated(expected: Mapping[Pair, float], free: Mapping[Pair, float], votes: int) -> dict[Pair, int]:
    """Spend votes where a pair is settled soonest, then what is left where it may take longest, on free prompts."""
    soonest, spent = sorted(expected, key=lambda key: (expected[key], key)), dict.fromkeys(expected, 0)
    for key in soonest:
        spent[key] = math.ceil(min(expected[key], free[key], votes - sum(spent.values())))
    for key in reversed(soonest):
        spent[key] += int(min(free[key] - spent[key], votes - sum(spent.values())))
    return spent


def next_votes(cast: VoteTable, table: VoteTable, settings: result.VotesSettings) -> result.NextVotes:
    """Allocate the next votes over the pairs; `cast` has all votes, and `table` those that count."""
    if settings.ties == "pessimistic":
        raise UsageError(
            "--ties pessimistic ranks models by their names", hint="allocate votes with --ties half or drop"
        )
    names, error = table.models, round(1 - settings.confidence, 12)
    won = np.zeros((len(names),) * 2)
    np.add.at(won, (table.second, table.first), table.preferred)
    np.add.at(won, (table.first, table.second), 1 - table.preferred)
    parts, part = connected_components(won + won.T > 0, directed=False)
    if parts > 1:
        apart = [quoted(names[int(np.argmax(part == each))]) for each in range(parts)]
        raise UsageError(
            f"{table.source}: no votes connect {' and '.join(apart)}, so they cannot be ranked together",
            hint="collect some votes between them first, or study the groups in files of their own",
        )
    depth = min(settings.depth or 1, len(names) - 1)
    units = {(a, b): _units(table, a, b) for a in range(len(names)) for b in range(a + 1, len(names))}
    now = standing(units, won, depth, error, settings.near_tie)
    free = {key: _free(cast, key, settings.seed) for key in now.expected}
    room = {key: float(len(free[key])) if cast.prompts_named else math.inf for key in free}
    if room and not any(room.values()):
        raise UsageError(
            f"{table.source}: no prompts are left: every open pair has votes on all {len(cast.prompt_names):,}",
            hint="collect votes on new prompts: a further vote on an old prompt is no unit of the test",
        )
    asks, top = allocated(now.expected, room, settings.next or 0), set(now.order[:depth])
    rows = [
        result.NextPair(
            first=names[key[0]],
            second=names[key[1]],
            prompts=len(values),
            margin=float(values.mean()) - 0.5 if len(values) else 0.0,
            state=now.states[key],
            expected=math.ceil(now.expected[key]) if now.expected.get(key, math.inf) < 2**53 else None,
            ask=asks.get(key, 0),
            prompts_to_ask=free.get(key, [])[: asks.get(key, 0)],
        )
        for key, values in units.items()
        if top & {*key}
    ]
    return result.NextVotes(
        depth=depth,
        settled=now.settled,
        error=error,
        tests=3 * len(units),
        models=[names[at] for at in now.order],
        pairs=sorted(rows, key=lambda row: -row.ask),
    )


def _units(table: VoteTable, first: int, second: int) -> Floats:
    """Return the share of the second model on each prompt of a pair; of each vote where no column names prompts."""
    rows = (table.first == first) & (table.second == second)
    owner = np.unique(table.prompt[rows], return_inverse=True)[1]
    return np.asarray(np.bincount(owner, weights=table.preferred[rows]) / np.bincount(owner))


def _free(cast: VoteTable, key: Pair, seed: int) -> list[str]:
    """Return the names of prompts on which a pair has no vote yet, in an order by chance."""
    used = cast.prompt[(cast.first == key[0]) & (cast.second == key[1])]
    unused = np.setdiff1d(np.arange(len(cast.prompt_names)), used)
    return [str(cast.prompt_names[at]) for at in np.random.default_rng((seed, *key)).permutation(unused)]
