"""Drawing a pilot again: the gates agree with those of an audit, and the size found has the power asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bonwise.planning.redrawn_gates import CompleteGate, PairGate, PairLabels
from bonwise.stats.jackknife import kurtosis_df
from bonwise.stats.no_gain import Dealt, dealt, no_gain_laws, z_of_dealt
from bonwise.stats.pilot_effect import Redrawn, redraw, small_sample_units
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.stats.top_of_scores import at_top


def pilot(seed, prompts=30, size=4):
    """Draw coarse scores and labels of pools of one size."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (prompts, size)).astype(float)
    return np.clip(labels + rng.integers(-2, 3, labels.shape), 0, 2).ravel(), labels.ravel(), np.full(prompts, size)


def met(found, room, clusters, confidence):
    """Tell whether an audit's gate of recovery at 0 is met on this very sample."""
    ends = no_gain_laws(found.gain, room, clusters, (-np.inf, np.inf))["recovery"].at(2 * confidence - 1)
    z = z_of_dealt(found, clusters)
    return ends is not None and ends[0] > 0 and z is not None and z > stats.norm.ppf(confidence)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.9, 0.95]))
@settings(max_examples=40, deadline=None)
def test_samples_of_complete_prompts_pass_as_an_audit_says(seed, clustered, confidence):
    """Every sample is met or not as the functions of the audit say of it, one at a time; clusters count anew."""
    scores, labels, sizes = pilot(seed)
    sums, moments = Sums(*prompt_sums(scores, labels, sizes)), dealt(scores, labels, sizes)
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 12, len(sizes)) if clustered else None
    gate = CompleteGate.of(moments, sums.M - sums.R, clusters, confidence)
    drawn = rng.integers(0, gate.units.shape[1], (12, 14))
    members = [[x] for x in range(len(sizes))]
    if clustered:
        members = [np.flatnonzero(clusters == one).tolist() for one in np.unique(clusters)]
    for sample, passed in zip(drawn, gate(drawn, rng), strict=True):
        prompts = np.array([x for unit in sample for x in members[unit]])
        codes = np.repeat(np.arange(len(sample)), [len(members[unit]) for unit in sample])
        here = Dealt(*(one[prompts] for one in moments))
        room = (sums.M - sums.R)[prompts]
        assert passed == met(here, room, codes if clustered else None, confidence)


def test_pools_that_all_hold_as_much_to_gain():
    """Where the best labels do not scatter the ratio is bounded all the same, as in an audit."""
    labels, sizes = np.tile([1.0, 0.0], 40), np.full(40, 2)
    scores = np.where(np.arange(80) < 56, labels, 1 - labels)  # right in 28 of 40
    sums, found = Sums(*prompt_sums(scores, labels, sizes)), dealt(scores, labels, sizes)
    gate, every = CompleteGate.of(found, sums.M - sums.R, None, 0.95), np.arange(40)[None]
    assert gate(every, np.random.default_rng(0))[0]
    assert met(found, sums.M - sums.R, None, 0.95)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=30, deadline=None)
def test_samples_of_pairs_pass_by_students_test(seed, clustered):
    """In plain loops: one pair of each prompt drawn, the t test of the contrasts by unit, df from the kurtosis."""
    scores, labels, sizes = pilot(seed)
    pairs = PairLabels.of(labels, at_top(scores, sizes), sizes)
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 12, len(sizes)) if clustered else None
    gate = PairGate.of(pairs, clusters, 0.95)
    drawn = rng.integers(0, len(gate.sizes), (6, 10))
    members = [[x] for x in range(len(sizes))]
    if clustered:
        members = [np.flatnonzero(clusters == one).tolist() for one in np.unique(clusters)]
    found = gate(drawn, np.random.default_rng(1))
    flat = np.array([x for sample in drawn for unit in sample for x in members[unit]])
    contrasts = iter(pairs.contrasts(flat, np.random.default_rng(1)).tolist())
    for sample, passed in zip(drawn, found, strict=True):
        of_units = [[(next(contrasts), pairs.others[x] > 0) for x in members[unit]] for unit in sample]
        every = [d for unit in of_units for d, _ in unit]
        mean = sum(every) / len(every)
        left = [sum(d - mean for d, _ in unit) for unit in of_units]
        labelled = [d for unit in of_units for d, told in unit if told]
        centre = sum(labelled) / max(len(labelled), 1)
        pulls = [sum(d - centre for d, told in unit if told) for unit in of_units if any(told for _, told in unit)]
        se = np.sqrt(len(left) / (len(left) - 1) * sum(one * one for one in left)) / len(every)
        df = kurtosis_df(np.array(pulls)) if len(pulls) > 1 else 1.0
        assert passed == (se > 0 and mean / se > stats.t.ppf(0.95, df))


def test_pairs_are_drawn_with_equal_chances():
    """Two leaders and one other: each leader is in half of the pairs, weighted by the part that the rest is."""
    pairs = PairLabels.of(np.array([3.0, 1.0, 0.0, 5.0, 5.0]), np.array([1, 1, 0, 1, 1], bool), np.array([3, 2]))
    found = pairs.contrasts(np.repeat([0, 1], 4000), np.random.default_rng(0))
    assert set(np.round(found[:4000], 9)) == {1.0, round(1 / 3, 9)}
    assert found[:4000].mean() == pytest.approx(2 / 3, abs=0.02)
    assert not found[4000:].any()


def test_power_between_and_beyond_the_sizes():
    """Linear between the sizes; from nothing at 0 and towards 1 beyond the last."""
    found = Redrawn(20.0, (10, 30), (0.4, 0.8))
    assert [found.power(units) for units in (5, 10, 20, 60)] == pytest.approx([0.2, 0.4, 0.6, 0.9])


def test_what_never_passes_has_no_size():
    """Sizes are tried further out, and then none is named; the smallest is named where all pass."""
    found = redraw(lambda drawn, _: np.zeros(len(drawn), bool), 10, 20, 0.9, seed=1)
    assert found.units is None
    assert len(found.sizes) == 12
    assert redraw(lambda drawn, _: np.ones(len(drawn), bool), 10, 20, 0.9, seed=1).units == 7.0


def test_normal_gains_need_what_the_formula_says():
    """Drawn from 20,000 normal gains the size is that of the t test, within the error of 400 samples."""
    gain = np.random.default_rng(3).normal(0.4, 1.0, 20_000)
    start = small_sample_units(gain.mean() / gain.std(), 0.9, 0.95)

    def t_test(drawn, _):
        y = gain[drawn]
        t = y.mean(axis=1) / y.std(axis=1, ddof=1) * np.sqrt(drawn.shape[1])
        return t > stats.t.ppf(0.95, drawn.shape[1] - 1)

    assert redraw(t_test, len(gain), start, 0.9, seed=0).units == pytest.approx(start, rel=0.12)
