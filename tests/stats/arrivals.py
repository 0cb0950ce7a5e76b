"""Prompts of the simulated arena as they arrive: what the judge's pick gains, and what could be gained."""

from __future__ import annotations

import numpy as np

from bonwise.stats.running_ratio import RunningRatio
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.testing import simulate
from stats.pools import rectangle

SEED = 20261121
RECOVERY = simulate("arena", n=1).population["recovery"]


def parts(prompts, replication, *, blind=False):
    """Return numerator and denominator of each prompt; a blind judge's scores are shuffled within the prompt."""
    drawn = simulate("arena", n=prompts, seed=SEED + replication)
    scores = np.random.default_rng([SEED, replication]).permuted(drawn.scores, axis=1) if blind else drawn.scores
    t = Sums(*prompt_sums(*rectangle(scores, drawn.labels)))
    return t.J - t.R, t.M - t.R


def running(prompts, replication, *, blind=False):
    """Sum them up in the order of arrival."""
    return RunningRatio.of(*parts(prompts, replication, blind=blind))
