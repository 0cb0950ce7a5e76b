"""The votes on one pair of models: what is asked of them, the margin, what detecting it and screening take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.results import given
from bonwise.stats import confidence, estimand, sample_size
from bonwise.table.checks import Limit, check, number, whole
from bonwise.table.votes import Ties, tie_value
from bonwise.votes import concentration, detectability, result

_CHUNK_CELLS = 1 << 20


def first_stage_votes(types: int, factor: float = 10.0) -> int:
    """Return ``b = ceil(c ln m)``, the votes that the first stage spends on each of m types."""
    return int(np.ceil(factor * np.log(types)))


def screening(
    votes: int, types: int, *, share: float = 0.2, factor: float = 10.0, each: int | None = None
) -> result.Screening:
    """Return ``b = ceil(c ln m)`` votes on each of m types, the rest on the share q kept; none left is refused."""
    if types < 2 or not 0 < share < 1:
        raise UsageError("screening needs two types and a kept share between 0 and 1", hint="such as share=0.2")
    b = first_stage_votes(types, factor) if each is None else each
    if votes <= types * b:
        raise UsageError(
            f"screening {types:,} types with {b:,} votes each takes {types * b:,} votes and leaves none of {votes:,}",
            hint="spread the votes in proportion instead, or join prompts to fewer types",
        )
    return result.Screening(
        votes=votes,
        types=types,
        each=b,
        first_stage=types * b,
        second_stage=votes - types * b,
        kept=concentration.kept_types(types, share),
    )


def allocate(wins: Floats, votes: Floats, weights: Floats, *, kept: int, second_stage: int, seed: int = 0) -> Ints:
    """Return second-stage votes by type, 0 for one not kept: largest squared margins, by weight; ties by seed."""
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
    plan: result.Screening,
    *,
    significance: float = 0.05,
    repetitions: int = 1500,
    seed: int = 0,
) -> result.ScreeningPower:
    """Simulate both allocations under supposed margins, each followed by a two-sided binomial test of 1/2.

    ``proportional`` and ``two_stage`` are how often "no type has a preference" is rejected, with all votes spread by
    weight, and with those of the second stage alone; ``mass_kept`` the mean part of ``sum w_i delta_i^2`` that the
    kept types hold; ``overlap`` their mean Jaccard overlap with the truly strongest. `margins` lie in [-1/2, 1/2].
    """
    rng = np.random.default_rng(seed)
    weight = weights / weights.sum()
    signal = weight * margins**2
    oracle = set(np.argsort(-signal, kind="stable")[: plan.kept].tolist())
    tests = (
        detectability.rejections(plan.votes, significance),
        detectability.rejections(plan.second_stage, significance),
    )
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
    return result.ScreeningPower(
        proportional=proportional,
        two_stage=two_stage,
        mass_kept=mass / whole if whole else None,
        overlap=overlap,
        repetitions=repetitions,
    )


def _run(
    rate: Floats, weight: Floats, plan: result.Screening, rows: int, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """Return votes won where all are spread by weight, the types kept, and votes won in the second stage."""
    spread = rng.multinomial(plan.votes, weight, size=rows)
    won = rng.binomial(spread, rate).sum(axis=1)
    seen = rng.binomial(plan.each, rate, size=(rows, plan.types)) / plan.each - 0.5
    kept = _strongest(seen**2, plan.kept, rng)
    chance = weight[kept] / weight[kept].sum(axis=1, keepdims=True)
    second = rng.binomial(rng.multinomial(plan.second_stage, chance), rate[kept]).sum(axis=1)
    return won, kept, second


def _strongest(squares: Floats, kept: int, rng: np.random.Generator) -> Ints:
    """Return the types with the largest squares, shape (rows, kept); equal ones in random order."""
    order = np.lexsort((rng.random(squares.shape), -np.round(squares, 12)), axis=-1)
    return np.asarray(order[:, :kept], dtype=np.int64)


def _counts(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_COUNT.fits, value))


_COUNT = whole(1, "a count of votes")
_COUNTS = Limit("a sequence of counts of votes, such as (50, 100)", _counts)

_LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "near_tie": number(lambda value: 0 < value < 0.5, "a number between 0 and 0.5, such as 0.1"),
        "power": number(lambda value: 0.5 < value < 1, "a number between 0.5 and 1, such as 0.9"),
        "confidence": number(lambda value: 0.5 <= value < 1, "a number in [0.5, 1), such as 0.95"),
        "fewest_votes": whole(2, "a whole number, 2 or more, such as 10"),
        "early_votes": whole(2, "a whole number, 2 or more, such as 50"),
        "next": whole(1, "a whole number, 1 or more, such as 200"),
        "depth": whole(1, "a whole number, 1 or more, such as 3"),
        "kept_share": number(lambda value: 0 < value < 1, "a number between 0 and 1, such as 0.2"),
        "threshold": number(lambda value: value > 1, "a number above 1, such as 1.5"),
        "votes_at": _COUNTS,
        "z_at": _COUNTS,
        "resamples": whole(2, "a whole number, 2 or more, such as 2000"),
        "permutations": whole(19, "a whole number, 19 or more, such as 999"),
        "repetitions": whole(2, "a whole number, 2 or more, such as 1500"),
        "seed": whole(0, "a whole number, 0 or more"),
    }
)


def checked(*, ties: Ties | None, **asked: Any) -> dict[str, Any]:
    """Return what a study of votes was asked to do as JSON holds it."""
    if ties is not None:
        tie_value(ties)
    check("by", asked["by"], Limit("pair or prompt", lambda value: value in ("pair", "prompt")), said="cannot be")
    if asked["depth"] is not None and asked["next"] is None:
        raise UsageError("depth is for votes to allocate", hint="give next (--next) too, such as 200")
    for name, limit in _LIMITS.items():
        if asked[name] is not None or name not in ("next", "depth"):
            check(name, asked[name], limit, said="cannot be")
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in asked.items()}
    return {"ties": ties, **plain} | {name: [int(votes) for votes in plain[name]] for name in ("votes_at", "z_at")}


_TIMES = 2
"""Votes of a plan over those of its first stage: as many are left for the prompts that are kept."""


def plan_screening(values: Floats, prompt: np.ndarray, settings: result.VotesSettings) -> result.PairScreening | None:
    """Plan screening with twice its first stage's votes, and simulate it; None without two prompts of two votes."""
    likely = concentration.likely_rates(values, prompt)
    if likely is None:
        return None
    rates, votes = likely
    types = len(rates)
    plan = screening(_TIMES * types * first_stage_votes(types), types, share=settings.kept_share)
    return result.PairScreening(
        plan=plan,
        simulated=simulate_screening(rates - 0.5, votes, plan, repetitions=settings.repetitions, seed=settings.seed),
        margins="as likely: win rates of the prompts, chance within prompts taken out of their variance",
    )


LEVELS = (0.05, 0.01)
"""Levels of the two-sided tests that equation 8 counts votes for."""

NO_PROMPTS = "no prompt column was named"
ALONE = "no two prompts have two votes each: chance within prompts and differences between them look the same"


@dataclass(frozen=True, slots=True)
class StudiedPair:
    """One pair of models, and what figures over pairs take beside its part of the document."""

    votes: result.PairVotes
    pool: detectability.PooledVotes
    """Votes that count, by what they say."""
    decisive: float
    """Margin among the votes that are no ties; NaN where all are."""
    several: int
    """Prompts with two votes or more."""


def study_pair(
    names: tuple[str, str],
    values: Floats,
    prompt: np.ndarray,
    cast: Floats,
    settings: result.VotesSettings,
    *,
    named: bool,
) -> StudiedPair:
    """Study one pair; `values` that count are 1 for the second model, 0 the first; `cast` are all, ties 1/2."""
    # The tests of subsamples are of votes that are whole: each counts for the side that it leans to.
    pool = detectability.PooledVotes.of((np.sign(values - 0.5) + 1) / 2)
    clear = cast[cast != 0.5]
    count = np.unique(prompt, return_counts=True)[1]
    several = int((count > 1).sum()) if named else 0
    win_rate = confidence.clustered_mean(values, prompt, settings.confidence, share=True)
    total = (
        concentration.signal(values, prompt, settings.confidence)
        if named
        else estimand.Estimate.undefined(NO_PROMPTS, 0)
    )
    margin, z = (
        float(win_rate.estimate or 0.0) - 0.5,
        float(detectability.z_score(win_rate.estimate or 0.0, pool.votes)),
    )
    size, ties = _size(margin, win_rate), int((cast == 0.5).sum())
    ratio = _ratio(concentration.cluster_ratio(values, prompt), several) if named else _without_ratio(NO_PROMPTS)
    votes = result.PairVotes(
        first=names[0],
        second=names[1],
        votes=pool.votes,
        cast=len(cast),
        ties=ties,
        tie_rate=ties / len(cast),
        prompts=len(count) if named else None,
        win_rate=EstimateRecord.of(win_rate),
        margin=margin,
        near_tie=bool(abs(margin) <= settings.near_tie + 1e-12),
        votes_needed=needed(size, settings.power),
        z=_finite(z),
        z_infinite=not math.isfinite(z),
        cluster_ratio=ratio,
        variance=(concentration.variance_split(values, prompt) if named else None)
        or result.PairVariance(total=None, within=None, between=None, reason=(ALONE if named else NO_PROMPTS)),
        information=_information(size, pool.votes, total, settings.power),
        signal=EstimateRecord.of(total),
        concentration=_concentration(values, prompt, settings, named=named),
        screening=(plan_screening(values, prompt, settings) if named else None)
        or result.PairScreening(plan=None, simulated=None, reason=ALONE if named else NO_PROMPTS),
        detection=_detection(pool, settings),
        detectable=sample_size.paper_margin(
            # Prompts that happen to agree less than chance make no votes worth more than independent ones.
            pool.votes / max(ratio.design_effect or 1.0, 1.0),
            settings.power,
            1 - LEVELS[0],
        ),
        verdict=_verdict(win_rate, settings),
    )
    return StudiedPair(votes, pool, float(clear.mean() - 0.5) if len(clear) else float("nan"), several)


def _verdict(win_rate: estimand.Estimate, settings: result.VotesSettings) -> result.PairVerdict:
    """Say whether the interval excludes 1/2, or the narrower one of two one-sided tests lies within the near ties."""
    if win_rate.low is not None and win_rate.high is not None and not win_rate.low <= 0.5 <= win_rate.high:
        return "shown"
    inner = win_rate.bounds(2 * settings.confidence - 1)
    within = inner is not None and max(0.5 - inner[0], inner[1] - 0.5) <= settings.near_tie
    return "level" if within else "underpowered"


def _size(margin: float, win_rate: estimand.Estimate) -> tuple[float, float, float]:
    """Return the absolute margin, and the ends of its interval; all that can be where there is none."""
    low, high = win_rate.low, win_rate.high
    if low is None or high is None:
        return abs(margin), 0.0, 0.5
    ends = sorted((abs(low - 0.5), abs(high - 0.5)))
    return abs(margin), 0.0 if low <= 0.5 <= high else ends[0], ends[1]


def _ratio(ratio: float, several: int) -> result.ClusterRatio:
    """Return the cluster-robust over the plain standard error, NaN where all votes are alike."""
    if math.isnan(ratio):
        return _without_ratio("all votes are alike")
    alone = None if several else "no prompt has two votes: the ratio is 1 whatever raters do"
    return result.ClusterRatio(estimate=ratio, design_effect=ratio**2, **given(reason=alone))


def _without_ratio(reason: str) -> result.ClusterRatio:
    return result.ClusterRatio(estimate=None, design_effect=None, reason=reason)


def _information(
    size: tuple[float, float, float], votes: int, total: estimand.Estimate, power: float
) -> result.Information:
    margin, low, high = size
    significance, miss = LEVELS[0], 1 - power
    nats, ends = float(detectability.kl_content(margin)), detectability.kl_bounds(margin)
    bound = [_finite(detectability.least_votes(each, significance, miss)) for each in (margin, high, low)]
    return result.Information(
        per_vote=result.Bounds(
            estimate=nats, low=float(detectability.kl_content(low)), high=float(detectability.kl_content(high))
        ),
        quadratic_bounds=[None if end is None else float(end) for end in ends],
        stream=votes * nats,
        least_error_sum=float(detectability.least_error(votes * nats)),
        total=_scaled(total, votes),
        least_votes=result.LeastVotes(
            level=significance,
            miss=miss,
            estimate=bound[0],
            low=bound[1],
            high=bound[2],
            meaning="lower bound: no test does with fewer; no test is known to do with so few",
        ),
    )


def _concentration(
    values: Floats, prompt: np.ndarray, settings: result.VotesSettings, *, named: bool
) -> result.PairConcentration:
    measured = None
    if named:
        measured = concentration.concentration(
            values,
            prompt,
            share=settings.kept_share,
            threshold=settings.threshold,
            permutations=settings.permutations,
            seed=settings.seed,
        )
    reason = "fewer than two prompts, or all votes alike" if named else NO_PROMPTS
    return measured or result.PairConcentration(kappa=None, recommend_two_stage=False, reason=reason)


def needed(size: tuple[float, float | None, float | None], power: float) -> result.VotesNeeded:
    """Return the votes of equation 8 for a margin and the ends of its interval, swapped; null stands for infinite."""
    return result.VotesNeeded.model_validate({f"{each:g}": _needed(size, each, power) for each in LEVELS})


def _needed(size: tuple[float, float | None, float | None], significance: float, power: float) -> result.NeededVotes:
    margin, low, high = size
    raw = _votes(margin, significance, power)
    return result.NeededVotes(
        estimate=_finite(raw),
        whole=None if _finite(raw) is None else math.ceil(raw),
        low=None if high is None else _finite(_votes(high, significance, power)),
        high=None if low is None else _finite(_votes(low, significance, power)),
    )


def _votes(margin: float, significance: float, power: float) -> float:
    return sample_size.paper_votes(margin, power, 1 - significance) if margin else math.inf


def _detection(pool: detectability.PooledVotes, settings: result.VotesSettings) -> result.DetectionRates:
    """Return the rates of detection by size of the subsample, with and without replacement."""
    return result.DetectionRates(
        **{
            way: {
                str(votes): detectability.detection_rate(pool, votes, significance=LEVELS[0], replace=replace)
                for votes in settings.votes_at
            }
            for way, replace in (("with_replacement", True), ("without_replacement", False))
        }
    )


def _scaled(signal: estimand.Estimate, votes: int) -> result.TotalSignal:
    """Return an estimate a vote times the votes."""
    if signal.estimate is None:
        return result.TotalSignal(estimate=None, low=None, high=None, **given(reason=signal.reason))
    low, high = (None if end is None else votes * end for end in (signal.low, signal.high))
    return result.TotalSignal(estimate=votes * signal.estimate, low=low, high=high)


def _finite(value: float) -> float | None:
    # Beyond the whole numbers of a double a margin is what rounding leaves of none.
    return float(value) if abs(value) < 2**53 else None
