"""Two-stage screening of prompt types (algorithm 1 of Lee 2026): what it costs, where votes go, what it detects.

Its test asks whether *any* type has a preference, "all delta_i = 0" being the null. It is no test of the mean
preference: types with +.15 and -.15 that cancel are rejected most of the time. So nothing here tests data; there is
the arithmetic, the allocation of the second stage, and a simulation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.errors import UsageError
from bonwise.stats.sums import Floats
from bonwise.votes.concentration import kept_types
from bonwise.votes.detectability import rejections
from bonwise.votes.result import Screening, ScreeningPower

__all__ = ["allocate", "first_stage_votes", "screening", "simulate_screening"]

_Ints = npt.NDArray[np.int64]

_CHUNK_CELLS = 1 << 20


def first_stage_votes(types: int, factor: float = 10.0) -> int:
    """Return ``b = ceil(c ln m)``, the votes that the first stage spends on each of m types.

    Examples
    --------
    >>> first_stage_votes(20)
    30
    """
    return int(np.ceil(factor * np.log(types)))


def screening(
    votes: int, types: int, *, share: float = 0.2, factor: float = 10.0, each: int | None = None
) -> Screening:
    """Return what the two stages would spend: ``b = ceil(c ln m)`` votes on each of m types, the rest on the kept.

    Parameters
    ----------
    votes : int
    types : int
        Two or more.
    share : float
        q, the part of types that is kept, in (0, 1).
    factor : float
        c, of the screening; the paper asks for 10 or more.
    each : int, optional
        b itself.

    Raises
    ------
    bonwise.errors.UsageError
        Fewer than two types, or so few votes that none are left after screening.

    Examples
    --------
    >>> screening(1000, 20)
    Screening(votes=1000, types=20, each=30, first_stage=600, second_stage=400, kept=4)
    """
    if types < 2 or not 0 < share < 1:
        raise UsageError("screening needs two types and a kept share between 0 and 1", hint="such as share=0.2")
    b = first_stage_votes(types, factor) if each is None else each
    if votes <= types * b:
        raise UsageError(
            f"screening {types:,} types with {b:,} votes each takes {types * b:,} votes and leaves none of {votes:,}",
            hint="spread the votes in proportion instead, or join prompts to fewer types",
        )
    return Screening(
        votes=votes,
        types=types,
        each=b,
        first_stage=types * b,
        second_stage=votes - types * b,
        kept=kept_types(types, share),
    )


def allocate(wins: Floats, votes: Floats, weights: Floats, *, kept: int, second_stage: int, seed: int = 0) -> _Ints:
    """Return the votes of the second stage for each type, 0 for one that is not kept.

    The types with the largest squared margins are kept, and get votes in proportion to their weights, by largest
    remainder. Types that are equal are told apart by the seed, not by their order.

    Parameters
    ----------
    wins, votes : ndarray of float64, shape (types,)
        Of the first stage: votes for the second model, and all votes.
    weights : ndarray of float64, shape (types,)
        How often each type occurs; need not sum to 1.
    kept : int
    second_stage : int
    seed : int

    Examples
    --------
    >>> wins, votes = np.array([29.0, 15, 14, 3]), np.full(4, 30.0)
    >>> allocate(wins, votes, np.array([2.0, 1, 1, 1]), kept=2, second_stage=90).tolist()
    [60, 0, 0, 30]
    """
    rng = np.random.default_rng(seed)
    top = _strongest(((wins / votes - 0.5) ** 2)[None, :], kept, rng)[0]
    fair = second_stage * weights[top] / weights[top].sum()
    counts = np.floor(fair + 1e-9).astype(np.int64)
    order = np.lexsort((rng.random(len(top)), -np.round(fair - counts, 9)))
    counts[order[: second_stage - int(counts.sum())]] += 1
    found = np.zeros(len(weights), dtype=np.int64)
    found[top] = counts
    return found


def simulate_screening(
    margins: Floats,
    weights: Floats,
    plan: Screening,
    *,
    significance: float = 0.05,
    repetitions: int = 1500,
    seed: int = 0,
) -> ScreeningPower:
    """Simulate both allocations under supposed margins, each followed by a two-sided binomial test of 1/2.

    ``proportional`` and ``two_stage`` are how often "no type has a preference" is rejected, with all votes spread by
    weight, and with those of the second stage alone; ``mass_kept`` the mean part of ``sum w_i delta_i^2`` that the
    kept types hold; ``overlap`` their mean Jaccard overlap with the truly strongest. Types as strong as the last of
    these count as such in the order of their numbers.

    Parameters
    ----------
    margins : ndarray of float64, shape (types,)
        delta_i, in [-1/2, 1/2].
    weights : ndarray of float64, shape (types,)
    plan : Screening
    significance : float
    repetitions : int
    seed : int
    """
    rng = np.random.default_rng(seed)
    weight = weights / weights.sum()
    signal = weight * margins**2
    oracle = set(np.argsort(-signal, kind="stable")[: plan.kept].tolist())
    tests = rejections(plan.votes, significance), rejections(plan.second_stage, significance)
    step = max(1, _CHUNK_CELLS // plan.types)
    found = np.empty((4, repetitions))
    for at in range(0, repetitions, step):
        rows = min(step, repetitions - at)
        won, kept, second = _run(0.5 + margins, weight, plan, rows, rng)
        shared = np.array([len(oracle.intersection(some)) for some in kept.tolist()])
        held = signal[kept].sum(axis=1)
        found[:, at : at + rows] = tests[0][won], tests[1][second], held, shared / (2 * plan.kept - shared)
    proportional, two_stage, mass, overlap = found.mean(axis=1).tolist()
    whole = float(signal.sum())
    return ScreeningPower(
        proportional=proportional,
        two_stage=two_stage,
        mass_kept=mass / whole if whole else None,
        overlap=overlap,
        repetitions=repetitions,
    )


def _run(
    rate: Floats, weight: Floats, plan: Screening, rows: int, rng: np.random.Generator
) -> tuple[_Ints, _Ints, _Ints]:
    """Return votes won where all are spread by weight, the types kept, and votes won in the second stage."""
    spread = rng.multinomial(plan.votes, weight, size=rows)
    won = rng.binomial(spread, rate).sum(axis=1)
    seen = rng.binomial(plan.each, rate, size=(rows, plan.types)) / plan.each - 0.5
    kept = _strongest(seen**2, plan.kept, rng)
    chance = weight[kept] / weight[kept].sum(axis=1, keepdims=True)
    second = rng.binomial(rng.multinomial(plan.second_stage, chance), rate[kept]).sum(axis=1)
    return won, kept, second


def _strongest(squares: Floats, kept: int, rng: np.random.Generator) -> _Ints:
    """Return the types with the largest squares, shape (rows, kept); equal ones in random order."""
    order = np.lexsort((rng.random(squares.shape), -np.round(squares, 12)), axis=-1)
    return np.asarray(order[:, :kept], dtype=np.int64)
