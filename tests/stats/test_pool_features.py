from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.routing.pool_features import disagreement, pool_features

SCORE = st.one_of(st.none(), st.sampled_from([0.0, 0.1 + 0.2, 0.3, 0.5, 0.7, 1 - 0.3, 0.85, 1.0]))
POOL = st.lists(SCORE, min_size=1, max_size=5)
POOLS = st.lists(POOL, min_size=1, max_size=6)


def cells(pools):
    """Return pools of values, None for none, as one array of cells and the sizes."""
    flat = [np.nan if value is None else value for pool in pools for value in pool]
    return np.array(flat, dtype=float), np.array([len(pool) for pool in pools])


def by_hand(pool):
    """Compute the features of one pool in plain Python."""
    known = sorted((round(value, 9) for value in pool if value is not None), reverse=True)
    if len(known) < 2:
        return dict.fromkeys(("top", "level", "spread", "margin", "tied"), math.nan)
    level = sum(known) / len(known)
    return {
        "top": known[0],
        "level": level,
        "spread": math.sqrt(sum((value - level) ** 2 for value in known) / len(known)),
        "margin": round(known[0] - known[1], 9),
        "tied": float(known.count(known[0])),
    }


@given(POOLS)
def test_the_features_equal_those_of_plain_loops(pools):
    """Each feature of ragged pools with blank cells is what a plain loop finds."""
    found = pool_features(*cells(pools))
    for x, pool in enumerate(pools):
        for name, value in by_hand(pool).items():
            assert found[name][x] == pytest.approx(value, abs=2e-9, nan_ok=True), name


@given(POOLS, st.randoms())
def test_a_pool_alone_has_the_same_features_to_the_bit(pools, random):
    """What one pool's features are does not depend on the other pools at hand."""
    scores, sizes = cells(pools)
    draws = np.array([[s, min(1.0, s + random.choice([0, 0.05])), s] for s in scores])
    together = pool_features(scores, sizes, scores / 2, draws)
    ends = np.cumsum(sizes)
    for x, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        some = slice(end - size, end)
        alone = pool_features(scores[some], sizes[x : x + 1], scores[some] / 2, draws[some])
        assert {k: v[x] for k, v in together.items()} == pytest.approx(
            {k: v[0] for k, v in alone.items()}, nan_ok=True
        )


def test_tied_leaders_have_no_margin_and_share_the_top():
    """0.1 + 0.2 ties 0.3: the margin is 0 and two candidates share the top."""
    found = pool_features(np.array([0.1 + 0.2, 0.3, 0.1]), np.array([3]))
    assert (found["margin"][0], found["tied"][0], found["top"][0]) == (0.0, 2.0, 0.3)


def test_widths_are_averaged_over_the_candidates_that_have_one():
    """A blank width is left out; a prompt without any has none."""
    scores, sizes = np.array([0.5, 0.6, 0.5, 0.6]), np.array([2, 2])
    assert pool_features(scores, sizes, np.array([0.2, np.nan, np.nan, np.nan]))["width"].tolist() == pytest.approx(
        [0.2, np.nan], nan_ok=True
    )


def test_features_of_draws_by_hand():
    """Draws .4 .6 and .7 .7: deviations .141 and 0, means .5 and .7, margin .2, spread .1."""
    found = pool_features(np.array([0.4, 0.7]), np.array([2]), None, np.array([[0.4, 0.6], [0.7, 0.7]]))
    assert found["draw_sd_mean"][0] == pytest.approx(math.sqrt(0.02) / 2, abs=1e-9)
    assert found["draw_sd_max"][0] == pytest.approx(math.sqrt(0.02), abs=1e-9)
    assert (found["resampled_margin"][0], found["resampled_spread"][0]) == (0.2, 0.1)
    # The pooled variance is .01 and each mean rests on two draws: the difference has variance .01.
    assert found["p_best"][0] == pytest.approx(0.5 * math.erfc(-0.2 / math.sqrt(0.01) / math.sqrt(2)), abs=1e-6)


def test_one_draw_says_nothing_of_doubt_and_draws_that_agree_leave_only_the_tie():
    """P(best) is unknown after one draw; with draws that never scatter, leaders that tie share it."""
    one = pool_features(np.array([0.4, 0.7]), np.array([2]), None, np.array([[0.4], [0.7]]))
    assert np.isnan(one["p_best"][0])
    assert np.isnan(one["draw_sd_mean"][0])
    same = pool_features(np.array([0.7, 0.7]), np.array([2]), None, np.full((2, 3), 0.7))
    assert same["p_best"][0] == 0.5


@given(st.lists(st.lists(SCORE, min_size=2, max_size=4), min_size=1, max_size=4), st.randoms())
def test_disagreement_equals_plain_loops(pools, random):
    """1 minus the chance that two judges pick alike, averaged over the judges with a say."""
    others = [[random.choice([None, 0.2, 0.5, 0.9]) for _ in pool] for pool in pools for _ in range(2)]
    first, second = others[::2], others[1::2]
    found = disagreement(*cells(pools), [cells(first)[0], cells(second)[0]])
    for x, pool in enumerate(pools):
        same = [chance(pool, other) for other in (first[x], second[x])]
        known = [value for value in same if value is not None]
        expected = 1 - sum(known) / len(known) if known else math.nan
        assert found[x] == pytest.approx(expected, nan_ok=True)


def chance(mine, other):
    """Return the probability that two judges pick the same candidate, None where one has no say."""
    picks = []
    for pool in (mine, other):
        known = {i: round(value, 9) for i, value in enumerate(pool) if value is not None}
        if len(known) < 2:
            return None
        picks.append({i for i, value in known.items() if value == max(known.values())})
    return len(picks[0] & picks[1]) / (len(picks[0]) * len(picks[1]))
