from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bonwise.auditing.aipw import partial_estimates
from bonwise.labels.front import draw_labels
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.partial.label_features import label_features
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import prompt_sums
from bonwise.table.score_table import ScoreTable
from bonwise.testing import simulate
from stats.nominal import assert_covered
from stats.second_judge import replications

PROMPTS, LABELS, FIRST = 1000, 250, 100
SEED = 20261130
RECOVERY = simulate("arena", n=1).population["recovery"]
NAMES = {
    "prompt_id": np.repeat([f"p{x:04d}" for x in range(PROMPTS)], 4),
    "candidate": np.tile(list("abcd"), PROMPTS),
}


def table_of(drawn, seen):
    """Return the scores of both judges with the labels of some prompts."""
    labels = np.where(seen[:, None], drawn.labels, np.nan).ravel()
    judged = {"first": drawn.scores, "second": drawn.second}
    rows = [
        pd.DataFrame(NAMES | {"judge": judge, "judge_score": scores.ravel(), "oracle_label": labels})
        for judge, scores in judged.items()
    ]
    return ScoreTable.from_frame(pd.concat(rows, ignore_index=True))


def two_phases(drawn, seed):
    """Draw 40 % of the labels by the scores, the others by what they showed."""
    first = draw_labels(table_of(drawn, np.zeros(PROMPTS, bool)), labels=FIRST, judge="first", seed=seed).design
    return draw_labels(table_of(drawn, first.drawn), labels=LABELS, judge="first", after=first, seed=seed).design


def recovery_interval(drawn, design, seed):
    """Estimate recovery from the labels of a design as an audit does."""
    sample = LabelSample.realised(design.drawn, design.stratum)
    features = label_features(drawn.scores.ravel(), drawn.sizes, (drawn.second.ravel(),))
    seen = design.drawn
    sums = prompt_sums(drawn.scores[seen].ravel(), drawn.labels[seen].ravel(), drawn.sizes[seen])
    return partial_estimates(sums, features, sample, IntervalRule(), seed=seed).metrics["recovery"]


def covered(count):
    """Count the intervals that hold the population's recovery."""
    hits = 0
    for at, drawn in enumerate(replications(PROMPTS, count, seed=SEED, kind="T1")):
        found = recovery_interval(drawn, two_phases(drawn, at), at)
        hits += found.low <= RECOVERY <= found.high
    return hits


def test_recovery_is_covered_after_a_second_phase():
    """Over 100 replications of 100 then 250 labels by the rule, with a second judge, coverage agrees with 95 %."""
    assert_covered({"recovery": covered(100)}, 100)


@pytest.mark.slow
def test_coverage_after_a_second_phase_is_nominal():
    """The same over 1,000 replications."""
    assert_covered({"recovery": covered(1000)}, 1000)
