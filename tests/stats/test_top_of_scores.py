from __future__ import annotations

from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given

from bonwise.stats.top_of_scores import at_top, top_of_scores
from stats.pools import arrays, pools


def features(scores):
    """Compute mean, spread, top, margin and number tied at the top from the definitions."""
    scores = [round(s, 9) for s in scores]
    first, second = sorted(scores, reverse=True)[:2]
    return fmean(scores), pstdev(scores), first, first - second, scores.count(first)


@given(pools(most=8))
def test_features_equal_their_definitions(prompts):
    """Level, spread, top, margin and ties are those of each prompt's own scores."""
    scores, _, sizes = arrays(prompts)
    found = list(zip(*top_of_scores(scores, sizes), strict=True))
    for x, (own, _) in enumerate(prompts):
        assert found[x] == pytest.approx(features(own), abs=1e-12)


@given(pools(most=8))
def test_the_top_holds_every_score_that_rounds_to_the_highest(prompts):
    """A cell is at the top exactly where no score of its prompt is higher after rounding."""
    scores, _, sizes = arrays(prompts)
    wanted = [round(s, 9) == max(round(t, 9) for t in own) for own, _ in prompts for s in own]
    assert at_top(scores, sizes).tolist() == wanted


def test_scores_apart_by_less_than_rounding_share_the_top():
    """Two scores that differ by a rounding error are both picked; nothing is at the top where a score is missing."""
    found = at_top(np.array([0.3, 0.1 + 0.2, 0.2, 0.9, np.nan]), np.array([3, 2]))
    assert found.tolist() == [True, True, False, False, False]
