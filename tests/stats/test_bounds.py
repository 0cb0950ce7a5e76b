from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.auditing.bounds import Unlabelled, recovery_bounds, value_bounds
from hanging import ended_if_hanging


def contribution(candidates, tied, labels):
    """Return what a prompt adds to the gain and to what was possible; the first `tied` are at the top."""
    mean = sum(labels) / candidates
    return sum(labels[:tied]) / tied - mean, max(labels) - mean


def recoveries(gain, possible, missing):
    """List recovery under every way of giving the missing prompts labels of 0 and 1."""
    options = [[contribution(K, a, labels) for labels in product((0, 1), repeat=K)] for K, a in missing]
    for chosen in product(*options):
        bottom = possible + sum(y for _, y in chosen)
        if bottom > 1e-12:
            yield (gain + sum(y for y, _ in chosen)) / bottom


pool = st.integers(2, 4).flatmap(lambda K: st.tuples(st.just(K), st.integers(1, K)))
known = st.lists(
    pool.flatmap(lambda p: st.tuples(st.just(p), st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * p[0]))), max_size=3
)


@given(known, st.lists(pool, min_size=1, max_size=3))
def test_recovery_bounds_are_the_worst_and_best_labels(labelled, missing):
    """The bounds are the smallest and largest recovery over all labels of 0 and 1, which attain the extremes."""
    parts = [contribution(*p, labels) for p, labels in labelled]
    gain, possible = sum(y for y, _ in parts), sum(y for _, y in parts)
    every = list(recoveries(gain, possible, missing))
    sizes, tied = np.array(missing, dtype=float).T
    found = recovery_bounds(gain, possible, Unlabelled(sizes, tied), (0.0, 1.0))
    if not every:
        assert found is None
    else:
        assert found == pytest.approx((min(every), max(every)), abs=1e-9)


@pytest.mark.parametrize(
    ("gain", "possible", "missing", "bounds"),
    [
        # Nothing known but a prompt of two: its recovery is 1 where the pick is right, -1 where it is wrong.
        (0.0, 0.0, (2, 1), (-1.0, 1.0)),
        # Known: one wrong pick of two. Missing: a prompt of two that the judge ties; with one label of 1 it adds
        # 0 to the gain and .5 to what was possible: -.5 / 1 at best, and nothing with equal labels: -.5 / .5.
        (-0.5, 0.5, (2, 2), (-1.0, -0.5)),
        # Known: ten wrong picks of ten. Missing: ten candidates, two at the top. One of them best adds .5 - .1 and
        # .9: -8.6 / 1.9; both best would add .8 and .8: -8.2 / 1.8, which is less. At worst -.8 and .2 would give
        # -9.8 / 1.2 but equal labels leave -9 / 1, which is less.
        (-9.0, 1.0, (10, 2), (-9.0, -8.6 / 1.9)),
    ],
)
def test_bounds_worked_by_hand(gain, possible, missing, bounds):
    """The bounds are right where recovery is negative, the judge ties a whole prompt, or nothing is known."""
    sizes, tied = np.array([missing], dtype=float).T
    found = recovery_bounds(gain, possible, Unlabelled(sizes, tied), (0.0, 1.0))
    assert found == pytest.approx(bounds, abs=1e-9)


@given(
    st.lists(st.floats(0, 1), max_size=5),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_value_bounds_hold_every_completion(seen, unseen):
    """A mean over all prompts lies within its bounds whatever the missing values are, and may reach them."""
    low, high = value_bounds(np.array(seen), len(unseen), (0.0, 1.0))
    n = len(seen) + len(unseen)
    assert low - 1e-12 <= (sum(seen) + sum(unseen)) / n <= high + 1e-12
    assert (low, high) == pytest.approx((sum(seen) / n, (sum(seen) + len(unseen)) / n))


def test_bounds_scale_with_the_labels():
    """On a scale of 1 to 5 a missing value may be 1 or 5, and recovery, a ratio, has the bounds of 0 to 1."""
    assert value_bounds(np.array([2.0, 4.0]), 2, (1.0, 5.0)) == (2.0, 4.0)
    missing = Unlabelled(np.array([4.0, 2.0]), np.array([2.0, 1.0]))
    small, large = (recovery_bounds(0.2 * w, 0.5 * w, missing, (0.0, w)) for w in (1.0, 4.0))
    assert large == pytest.approx(small)


@pytest.mark.parametrize(("gain", "possible"), [(-0.1, 0.3), (0.2, 0.3)])
@pytest.mark.parametrize("seed", range(4))
def test_a_table_many_times_over_has_the_same_bounds(gain, possible, seed):
    """Two thousand copies of 50 missing prompts are bounded as the 50 are, and in moderate time."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 50).astype(float)
    tied = np.floor(rng.random(50) * sizes) + 1
    once = recovery_bounds(gain, possible, Unlabelled(sizes, tied), (0.0, 1.0))
    copies = Unlabelled(np.tile(sizes, 2000), np.tile(tied, 2000))
    with ended_if_hanging():
        found = recovery_bounds(2000 * gain, 2000 * possible, copies, (0.0, 1.0))
    assert found == pytest.approx(once, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_many_prompts_end(seed):
    """With 100,000 missing prompts beside a few labelled ones the search ends, and within what is possible."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 100_000).astype(float)
    tied = np.floor(rng.random(100_000) * sizes) + 1
    with ended_if_hanging():
        low, high = recovery_bounds(0.2, 0.3, Unlabelled(sizes, tied), (0.0, 1.0))
    assert -7 <= low < -6.9  # a pool of 8 with one top score may have recovery -7
    assert 0.999 < high <= 1
