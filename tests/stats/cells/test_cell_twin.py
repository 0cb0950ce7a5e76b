from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.auditing.cell_gains import gain_contributions, random_contributions
from bonwise.auditing.cell_maxima import maxima
from bonwise.auditing.cell_models import label_rates, modelled, prompt_folds
from bonwise.auditing.cell_pairs import pair_influences, pair_totals
from stats.cell_twin import CellTwin, table_of

LEVELS = [0.0, 0.25, 0.5, 1.0]


@st.composite
def pools(draw):
    """Tables of up to 6 prompts of 2 to 4 candidates, any mask; at one rate or with a propensity for every cell."""
    known = draw(st.booleans())
    rates = st.sampled_from([0.25, 0.5, 0.8]) if known else st.none()
    cell = st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.none() | st.sampled_from(LEVELS), rates)
    found = draw(st.lists(st.lists(cell, min_size=2, max_size=4), min_size=2, max_size=6))
    if all(label is None for pool in found for _, label, _ in pool):
        found[0][0] = (found[0][0][0], 0.5, found[0][0][2])
    return found


def both(drawn):
    """Return what the package works with, and the twin."""
    table = table_of(drawn)
    folds, origin = prompt_folds(table, 3), 0.5
    groups = modelled(table, label_rates(table), folds, origin)
    return SimpleNamespace(table=table, groups=groups, twin=CellTwin(drawn, folds, origin))


@settings(max_examples=150)
@given(pools())
def test_gain_and_values_are_those_of_plain_loops(drawn):
    """What each prompt contributes to the gain and to the random value agrees with loops over pairs and cells."""
    made = both(drawn)
    n = len(drawn)
    assert random_contributions(made.groups, n) == pytest.approx(made.twin.random(), abs=1e-8)
    assert gain_contributions(made.groups, n) == pytest.approx(made.twin.gain(), abs=1e-8)


@settings(max_examples=150)
@given(pools())
def test_sums_over_pairs_are_those_of_plain_loops(drawn):
    """Sums of squares, products and counts over labelled pairs agree with a loop over the pairs."""
    made = both(drawn)
    blocks = [one for group in made.groups for one in group.blocks]
    found = pair_totals(blocks, len(drawn), 0.5)
    rows = (found.eSS, found.eOO, found.eSO, found.pairs, found.apart_O, found.apart_both, found.concordant)
    assert pytest.approx(np.array(made.twin.pair_totals()), abs=1e-9) == np.array(rows).T


@settings(max_examples=150)
@given(pools())
def test_influences_are_derivatives(drawn):
    """What a prompt contributes is the figure plus its derivative when the prompt weighs a little more."""
    made = both(drawn)
    blocks = [one for group in made.groups for one in group.blocks]
    totals, n = pair_totals(blocks, len(drawn), 0.5), len(drawn)
    step = 1e-6
    heavier = [type(totals)(*(row * np.where(np.arange(n) == 0, 1 + step, 1.0) for row in totals))]
    before, after = pair_influences(totals), pair_influences(heavier[0])
    for name, found in before.items():
        if found is None:
            continue
        assert found.contributions.mean() == pytest.approx(found.value, abs=1e-12)
        moved = after[name].value - found.value
        # n times the change per unit of weight, the weight of a prompt being 1 / n of all.
        assert n * moved / step == pytest.approx(found.contributions[0] - found.value, abs=1e-3)


def drawn_table(seed, *, n, size, known):
    """Draw a table of one size with labels in quarters."""
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal((n, 1)) + rng.standard_normal((n, size))
    S = np.round(quality + rng.standard_normal((n, size)), 0)
    labels = np.digitize(quality, [-1, 0, 1]) / 4
    pi = np.clip(0.75 + 0.1 * S, 0.6, 0.9) if known else np.full((n, size), 0.75)
    L = rng.random((n, size)) < pi
    return [
        [(S[x, i], labels[x, i] if L[x, i] else None, pi[x, i] if known else None) for i in range(size)]
        for x in range(n)
    ]


@pytest.mark.parametrize(("n", "size"), [(20, 4), (40, 3), (120, 3)])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_label_is_that_of_plain_loops(n, size, seed):
    """Without a correction, with few covariates and with all, contributions to the maximum agree with loops."""
    made = both(drawn_table(seed, n=n, size=size, known=False))
    assert maxima(made.groups, n, 0) == pytest.approx(np.array(made.twin.maxima()), abs=1e-7)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_label_at_several_rates_is_that_of_plain_loops(seed):
    """With so few complete pools that they are one stratum, chances that differ lead to the twin's figures."""
    made = both(drawn_table(seed, n=28, size=3, known=True))
    complete = sum(len(seen) == 3 for seen in made.twin.seen)
    assert 12 <= complete < 16
    assert maxima(made.groups, 28, 0) == pytest.approx(np.array(made.twin.maxima()), abs=1e-7)
