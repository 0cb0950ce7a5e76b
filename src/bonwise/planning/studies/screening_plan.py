"""What screening the prompts of a pair would take, and what it would be likely to see."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from bonwise.documents.pair_votes import PairScreening, ScreeningPowerRecord, ScreeningRecord
from bonwise.planning.studies.vote_settings import VoteStudySettings
from bonwise.stats.sums import Floats
from bonwise.stats.votes.cluster_variance import likely_rates
from bonwise.stats.votes.two_stage import (
    Screening,
    ScreeningPower,
    first_stage_votes,
    screening,
    simulate_screening,
)

__all__ = ["ScreeningPlan", "plan_screening"]

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
