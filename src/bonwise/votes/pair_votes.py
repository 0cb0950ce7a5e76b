"""The votes on one pair of models.

What is asked of them, the margin, what detecting it takes, and what screening prompts would.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from bonwise.estimates import EstimateRecord
from bonwise.results import given
from bonwise.stats.confidence import clustered_mean
from bonwise.stats.estimate import Estimate
from bonwise.stats.sample_size import paper_votes
from bonwise.stats.sums import Floats
from bonwise.table.checks import CONFIDENCE, SEED, Limit, check, number, whole
from bonwise.table.votes import Ties, tie_value
from bonwise.votes.concentration import (
    Concentration,
    VarianceSplit,
    cluster_ratio,
    concentration,
    likely_rates,
    signal,
    variance_split,
)
from bonwise.votes.detectability import (
    PooledVotes,
    detection_rate,
    kl_bounds,
    kl_content,
    least_error,
    least_votes,
    z_score,
)
from bonwise.votes.result import (
    Bounds,
    ClusterRatio,
    DetectionRates,
    HomogeneityRecord,
    Information,
    LeastVotes,
    NeededVotes,
    PairConcentration,
    PairScreening,
    PairVariance,
    PairVotesRecord,
    ScreeningPowerRecord,
    ScreeningRecord,
    TotalSignal,
    VotesNeeded,
)
from bonwise.votes.two_stage import Screening, ScreeningPower, first_stage_votes, screening, simulate_screening

__all__ = ["LEVELS", "PairVotes", "ScreeningPlan", "VoteStudySettings", "needed", "plan_screening", "study_pair"]


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


@dataclass(frozen=True, kw_only=True, slots=True)
class VoteStudySettings:
    """What a study of votes was asked to do; its result repeats it.

    Raises
    ------
    bonwise.errors.UsageError
        A setting of another type, or out of its range.
    """

    ties: Ties | None = None
    near_tie: float = 0.10
    """tau: the largest margin of a near tie, in (0, 1/2)."""
    power: float = 0.90
    """Probability to see a preference that is there, in (.5, 1)."""
    confidence: float = CONFIDENCE
    """Of the two-sided intervals, in [.5, 1)."""
    fewest_votes: int = 10
    """Pairs with fewer are left out and counted."""
    kept_share: float = 0.2
    """q: the part of prompts that screening keeps, in (0, 1)."""
    threshold: float = 1.5
    """What kappa has to exceed besides chance."""
    votes_at: Sequence[int] = (25, 50, 100, 200, 500, 1000)
    """Sizes of subsamples for the rates of detection."""
    z_at: Sequence[int] = (50, 100)
    """Sizes of subsamples for z."""
    resamples: int = 2000
    """Of the bootstrap over pairs, of the null of kappa, and of simulated screening."""
    permutations: int = 999
    """Of the bootstrap over pairs, of the null of kappa, and of simulated screening."""
    repetitions: int = 1500
    """Of the bootstrap over pairs, of the null of kappa, and of simulated screening."""
    seed: int = SEED
    """Of all three."""

    def __post_init__(self) -> None:
        if self.ties is not None:
            tie_value(self.ties)
        for name, limit in _LIMITS.items():
            check(name, getattr(self, name), limit, said="cannot be")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name, sequences as lists."""
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        found = {key: one.item() if isinstance(one, np.generic) else one for key, one in given.items()}
        return found | {name: [int(one) for one in found[name]] for name in ("votes_at", "z_at")}


_TIMES = 2
"""Votes of a plan over those of its first stage: as many are left for the prompts that are kept."""


@dataclass(frozen=True, slots=True)
class ScreeningPlan:
    """Screening of a pair's prompts, simulated under margins that its votes suggest."""

    plan: Screening
    """Of the prompts with two votes or more."""
    simulated: ScreeningPower
    """Of "no prompt has a preference", by Algorithm 1 and with the same votes spread in proportion."""

    def record(self) -> PairScreening:
        """Return both by name; None where no prompt has a preference to keep."""
        power = self.simulated
        return PairScreening(
            plan=ScreeningRecord(**asdict(self.plan)),
            simulated=ScreeningPowerRecord(
                proportional=_known(power.proportional),
                two_stage=_known(power.two_stage),
                mass_kept=_known(power.mass_kept),
                overlap=_known(power.overlap),
                repetitions=power.repetitions,
            ),
            margins="as likely: win rates of the prompts, chance within prompts taken out of their variance",
        )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def plan_screening(values: Floats, prompt: np.ndarray, settings: VoteStudySettings) -> ScreeningPlan | None:
    """Plan screening with twice the votes of its first stage; None where fewer than two prompts have two votes.

    Parameters
    ----------
    values : ndarray of float64, shape (votes,)
        1 for the second model, 0 for the first, 1/2 for half a vote each.
    prompt : ndarray of int64, shape (votes,)
    settings : VoteStudySettings
    """
    found = likely_rates(values, prompt)
    if found is None:
        return None
    rates, votes = found
    types = len(rates)
    plan = screening(_TIMES * types * first_stage_votes(types), types, share=settings.kept_share)
    power = simulate_screening(rates - 0.5, votes, plan, repetitions=settings.repetitions, seed=settings.seed)
    return ScreeningPlan(plan, power)


LEVELS = (0.05, 0.01)
"""Levels of the two-sided tests that equation 8 counts votes for."""

NO_PROMPTS = "no prompt column was named"
ALONE = "no two prompts have two votes each: chance within prompts and differences between them look the same"


@dataclass(frozen=True, slots=True)
class PairVotes:
    """One pair of models."""

    first: str
    """In alphabetical order."""
    second: str
    """In alphabetical order."""
    pool: PooledVotes
    """Votes that count, by what they say."""
    ties: int
    """Ties among the votes as they were cast."""
    cast: int
    """Votes as they were cast, ties among them."""
    decisive: float
    """Margin among the votes that are no ties; NaN where all are."""
    prompts: int
    """Prompts behind the votes that count; 0 where no prompt column was named."""
    win_rate: Estimate
    """Share of votes for the second model, clustered by prompt."""
    ratio: float
    """Cluster-robust over plain standard error; NaN where there is none."""
    several: int
    """Prompts with two votes or more."""
    variance: VarianceSplit | None
    signal: Estimate
    """Mean squared margin of the prompts, debiased."""
    concentration: Concentration | None
    screening: ScreeningPlan | None
    detection: Mapping[str, Mapping[int, float | None]] = field(repr=False)
    """Rates of detection by size of the subsample, with and without replacement."""
    settings: VoteStudySettings = field(repr=False)

    @property
    def votes(self) -> int:
        """Votes that count."""
        return self.pool.votes

    @property
    def margin(self) -> float:
        """P(second preferred) - 1/2 as estimated."""
        return float(self.win_rate.estimate or 0.0) - 0.5

    @property
    def size(self) -> tuple[float, float, float]:
        """The absolute margin, and the ends of its interval; all that can be where there is none."""
        low, high = self.win_rate.low, self.win_rate.high
        if low is None or high is None:
            return abs(self.margin), 0.0, 0.5
        ends = sorted((abs(low - 0.5), abs(high - 0.5)))
        return abs(self.margin), 0.0 if low <= 0.5 <= high else ends[0], ends[1]

    def record(self) -> PairVotesRecord:
        """Return the pair's part of the document."""
        z = float(z_score(self.win_rate.estimate or 0.0, self.votes))
        return PairVotesRecord(
            first=self.first,
            second=self.second,
            votes=self.votes,
            cast=self.cast,
            ties=self.ties,
            tie_rate=self.ties / self.cast,
            prompts=self.prompts or None,
            win_rate=EstimateRecord.of(self.win_rate),
            margin=self.margin,
            near_tie=bool(abs(self.margin) <= self.settings.near_tie + 1e-12),
            votes_needed=needed(self.size, self.settings.power),
            z=_finite(z),
            z_infinite=not math.isfinite(z),
            cluster_ratio=self._ratio(),
            variance=self.variance_record(),
            information=self._information(),
            signal=EstimateRecord.of(self.signal),
            concentration=self._concentration(),
            screening=self._screening(),
            detection=DetectionRates(**{way: _by_votes(found) for way, found in self.detection.items()}),
        )

    def _ratio(self) -> ClusterRatio:
        if not self.prompts:
            return ClusterRatio(estimate=None, design_effect=None, reason=NO_PROMPTS)
        if math.isnan(self.ratio):
            return ClusterRatio(estimate=None, design_effect=None, reason="all votes are alike")
        alone = None if self.several else "no prompt has two votes: the ratio is 1 whatever raters do"
        return ClusterRatio(estimate=self.ratio, design_effect=self.ratio**2, **given(reason=alone))

    def variance_record(self) -> PairVariance:
        """Return the variance of the prompts' win rates, or why it is not split."""
        if self.variance is None:
            reason = ALONE if self.prompts else NO_PROMPTS
            return PairVariance(total=None, within=None, between=None, reason=reason)
        return PairVariance(**asdict(self.variance))

    def _information(self) -> Information:
        size, low, high = self.size
        significance, miss = LEVELS[0], 1 - self.settings.power
        nats, ends = float(kl_content(size)), kl_bounds(size)
        bound = [_finite(least_votes(one, significance, miss)) for one in (size, high, low)]
        return Information(
            per_vote=Bounds(estimate=nats, low=float(kl_content(low)), high=float(kl_content(high))),
            quadratic_bounds=[None if one is None else float(one) for one in ends],
            stream=self.votes * nats,
            least_error_sum=float(least_error(self.votes * nats)),
            total=_scaled(self.signal, self.votes),
            least_votes=LeastVotes(
                level=significance,
                miss=miss,
                estimate=bound[0],
                low=bound[1],
                high=bound[2],
                meaning="lower bound: no test does with fewer; no test is known to do with so few",
            ),
        )

    def _concentration(self) -> PairConcentration:
        if self.concentration is None:
            reason = "fewer than two prompts, or all votes alike" if self.prompts else NO_PROMPTS
            return PairConcentration(kappa=None, recommend_two_stage=False, reason=reason)
        found = self.concentration
        return PairConcentration(
            kappa=_finite(found.kappa),
            null_quantile=_finite(found.null_quantile),
            p=_finite(found.p),
            mass=_finite(found.mass),
            mass_null_quantile=_finite(found.mass_null_quantile),
            kept=found.kept,
            homogeneity=HomogeneityRecord(**asdict(found.homogeneity)),
            permutations=found.permutations,
            exceeds_threshold=bool(found.kappa > self.settings.threshold),
            exceeds_chance=bool(found.kappa > found.null_quantile),
            recommend_two_stage=bool(found.concentrated(self.settings.threshold)),
        )

    def _screening(self) -> PairScreening:
        if self.screening is None:
            return PairScreening(plan=None, simulated=None, reason=ALONE if self.prompts else NO_PROMPTS)
        return self.screening.record()


def study_pair(
    names: tuple[str, str],
    values: Floats,
    prompt: np.ndarray,
    cast: Floats,
    settings: VoteStudySettings,
    *,
    named: bool,
) -> PairVotes:
    """Study the votes on one pair.

    Parameters
    ----------
    names : tuple of str
        First and second model.
    values : ndarray of float64, shape (votes,)
        Votes that count: 1 for the second model, 0 for the first, 1/2 for half a vote each.
    prompt : ndarray of int64, shape (votes,)
    cast : ndarray of float64
        All votes of the pair, 1/2 for a tie.
    settings : VoteStudySettings
    named : bool
        Whether a prompt column was named; otherwise every vote counts as a prompt of its own.
    """
    pool = PooledVotes.of(values)
    clear = cast[cast != 0.5]
    count = np.unique(prompt, return_counts=True)[1]
    untold = Estimate.undefined(NO_PROMPTS, 0)
    return PairVotes(
        *names,
        pool,
        int((cast == 0.5).sum()),
        len(cast),
        float(clear.mean() - 0.5) if len(clear) else float("nan"),
        len(count) if named else 0,
        clustered_mean(values, prompt, settings.confidence, share=True),
        cluster_ratio(values, prompt) if named else float("nan"),
        int((count > 1).sum()) if named else 0,
        variance_split(values, prompt) if named else None,
        signal(values, prompt, settings.confidence) if named else untold,
        _concentration_of(values, prompt, settings) if named else None,
        plan_screening(values, prompt, settings) if named else None,
        _detection(pool, settings),
        settings,
    )


def needed(size: tuple[float, float | None, float | None], power: float) -> VotesNeeded:
    """Return the votes of equation 8 for a margin and the ends of its interval, at both levels.

    A larger margin takes fewer votes, so the upper end of the margin makes the lower end of the count; null stands
    for no finite number, that of a margin of 0.
    """
    return VotesNeeded.model_validate({f"{each:g}": _needed(size, each, power) for each in LEVELS})


def _needed(size: tuple[float, float | None, float | None], significance: float, power: float) -> NeededVotes:
    margin, low, high = size
    raw = _votes(margin, significance, power)
    return NeededVotes(
        estimate=_finite(raw),
        whole=math.ceil(raw) if math.isfinite(raw) else None,
        low=None if high is None else _finite(_votes(high, significance, power)),
        high=None if low is None else _finite(_votes(low, significance, power)),
    )


def _votes(margin: float, significance: float, power: float) -> float:
    return paper_votes(margin, power, 1 - significance) if margin else math.inf


def _concentration_of(values: Floats, prompt: np.ndarray, settings: VoteStudySettings) -> Concentration | None:
    return concentration(
        values, prompt, share=settings.kept_share, permutations=settings.permutations, seed=settings.seed
    )


def _detection(pool: PooledVotes, settings: VoteStudySettings) -> dict[str, dict[int, float | None]]:
    return {
        way: {n: detection_rate(pool, n, significance=LEVELS[0], replace=replace) for n in settings.votes_at}
        for way, replace in (("with_replacement", True), ("without_replacement", False))
    }


def _by_votes(rates: Mapping[int, float | None]) -> dict[str, float | None]:
    return {str(votes): None if rate is None else float(rate) for votes, rate in rates.items()}


def _scaled(found: Estimate, votes: int) -> TotalSignal:
    """Return an estimate a vote times the votes."""
    if found.estimate is None:
        return TotalSignal(estimate=None, low=None, high=None, **given(reason=found.reason))
    low, high = (None if end is None else votes * end for end in (found.low, found.high))
    return TotalSignal(estimate=votes * found.estimate, low=low, high=high)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
