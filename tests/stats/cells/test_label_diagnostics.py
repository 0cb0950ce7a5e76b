from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.auditing.cell_table import CellTable, label_diagnostics


def t_of(groups, labelled, owners):
    """Return difference, standard error and t in plain loops; groups hold True, False, or None for cells left out."""
    inside = [x for g, x in zip(groups, labelled, strict=True) if g is True]
    outside = [x for g, x in zip(groups, labelled, strict=True) if g is False]
    if not inside or not outside:
        return None
    p, q = sum(inside) / len(inside), sum(outside) / len(outside)
    pulls = dict.fromkeys(owners, 0.0)
    for g, x, owner in zip(groups, labelled, owners, strict=True):
        if g is True:
            pulls[owner] += (x - p) / len(inside)
        elif g is False:
            pulls[owner] -= (x - q) / len(outside)
    units = len(pulls)
    se = sqrt(units / (units - 1) * sum(v * v for v in pulls.values())) if units > 1 else 0.0
    return p - q, se


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=2, max_size=4),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
)
def test_shares_are_those_of_plain_loops(pools, clustered):
    """Differences and standard errors by name and of top cells agree with a twin that loops over cells."""
    sizes = np.array([len(p) for p in pools])
    scores = np.array([s for p in pools for s, _ in p])
    labelled = [x for p in pools for _, x in p]
    names = np.array([i for p in pools for i in range(len(p))])
    clusters = np.arange(len(pools)) // 2 if clustered else None
    table = CellTable(sizes, scores, np.where(labelled, 1.0, np.nan), names=names, clusters=clusters)
    found = label_diagnostics(table)
    unit = [x // 2 if clustered else x for x, p in enumerate(pools) for _ in p]
    tops = [None if len({v for v, _ in p}) == 1 else s == max(v for v, _ in p) for p in pools for s, _ in p]
    expected = t_of(tops, labelled, unit)
    assert (found.tops is None) == (expected is None)
    if expected is not None:
        assert (found.tops.difference, found.tops.se) == pytest.approx(expected, abs=1e-12)
    for one in found.by_name:
        code = int(one.group.split()[-1])
        assert (one.difference, one.se) == pytest.approx(t_of((names == code).tolist(), labelled, unit), abs=1e-12)


def test_worked_by_hand():
    """Four prompts of two: three tops and one other labelled.

    Shares 3/4 and 1/4, difference .5. Pulls of the prompts, (L - share) / 4 of the top less the same of the other:
    labelled both (1/4 - 3/4) / 4 = -1/8; top alone (1/4 + 1/4) / 4 = 1/8, twice; none (-3/4 + 1/4) / 4 = -1/8.
    The standard error is sqrt(4/3 * 4/64) = .2887.
    """
    nan = np.nan
    table = CellTable(np.full(4, 2), np.tile([0.9, 0.1], 4), np.array([1, 0, 1, nan, 0, nan, nan, nan]))
    found = label_diagnostics(table)
    assert (found.tops.share, found.tops.difference) == (0.75, 0.5)
    assert found.tops.se == pytest.approx(sqrt(1 / 12))
    assert found.tops.t == pytest.approx(0.5 / sqrt(1 / 12))
    assert found.contradicts == ()
    assert found.counts[0].pools == (1, 2, 1)
    assert found.counts[0].expected == pytest.approx((1.0, 2.0, 1.0))


def test_labels_at_random_contradict_nothing_and_labels_by_score_do():
    """At one rate nothing is beyond chance, labels in bunches included; labels by score are found out."""
    rng = np.random.default_rng(5)
    scores, names = np.round(rng.random((800, 4)), 1), np.tile(np.arange(4), 800)
    sizes, labels = np.full(800, 4), rng.random(3200)

    def under(rates):
        hidden = np.where((rng.random((800, 4)) < rates).ravel(), labels, np.nan)
        return label_diagnostics(CellTable(sizes, scores.ravel(), hidden, names=names), list("abcd"))

    assert under(0.6).contradicts == ()
    bunched = under(np.where(rng.random((800, 1)) < 0.5, 0.85, 0.25))
    assert bunched.contradicts == ()
    assert bunched.counts[0].pools[4] > 2 * bunched.counts[0].expected[4]
    by_score = under(0.3 + 0.5 * scores).contradicts
    assert {"top-scored candidates", "the lowest third of scores", "the highest third of scores"} <= set(by_score)
    assert under(np.array([0.9, 0.5, 0.5, 0.5])).contradicts == tuple(f"candidate {c}" for c in "abcd")


def test_expected_pools_follow_the_binomial_law():
    """Pools of one size are expected to hold l labels as often as the binomial law says."""
    table = CellTable(np.array([3, 3]), np.arange(6.0), np.array([1.0, np.nan, np.nan, 1.0, 1.0, np.nan]))
    expected = [2 * comb(3, k) * 0.5**3 for k in range(4)]
    assert label_diagnostics(table).counts[0].expected == pytest.approx(expected)
