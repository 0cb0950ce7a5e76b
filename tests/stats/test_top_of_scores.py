from __future__ import annotations

from statistics import fmean, pstdev

import pytest
from hypothesis import given

from bonwise.stats.top_of_scores import top_of_scores
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
