from __future__ import annotations

import numpy as np
import pytest

from bonwise.routing.gain_decomposition import decompose, gain_grid, mean_in
from bonwise.routing.gain_model import bins_of

# Ten prompts, two a fifth: signal, P(wrong), gain. Worked by hand below.
SIGNAL = np.array([1, 1, 2, 2, 3, 3, 4, 4, 5, 5], dtype=float)
WRONG = np.array([0, 1, 0, 1, 1, 1, 0.5, 1, 1, 1])
GAIN = np.array([0, 0.1, 0, 0.2, 0.1, 0.3, 0.1, 0.2, 0.4, 0.6])


def test_the_decomposition_by_hand():
    """P(wrong) .5 .5 1 .75 1, gap .1 .2 .2 .2 .5, gain .05 .1 .2 .15 .5: each gain is the product."""
    found = decompose(SIGNAL, WRONG, GAIN)
    assert [one.prompts for one in found.bins] == [2] * 5
    assert [one.wrong.estimate for one in found.bins] == pytest.approx([0.5, 0.5, 1, 0.75, 1])
    assert [one.gap.estimate for one in found.bins] == pytest.approx([0.1, 0.2, 0.2, 0.2, 0.5])
    assert [one.gain.estimate for one in found.bins] == pytest.approx([0.05, 0.1, 0.2, 0.15, 0.5])
    fifths = np.arange(1, 6)
    assert found.across_bins.wrong == pytest.approx(np.corrcoef(fifths, [0.5, 0.5, 1, 0.75, 1])[0, 1])
    assert found.across_bins.gap == pytest.approx(np.corrcoef(fifths, [0.1, 0.2, 0.2, 0.2, 0.5])[0, 1])
    assert found.across_bins.gain == pytest.approx(np.corrcoef(fifths, [0.05, 0.1, 0.2, 0.15, 0.5])[0, 1])


def test_correlations_over_prompts_by_hand():
    """With wrong and gain over all prompts; with the gap over wrong ones, weighted by how wrong they are."""
    found = decompose(SIGNAL, WRONG, GAIN)
    assert found.corr_wrong.estimate == pytest.approx(np.corrcoef(SIGNAL, WRONG)[0, 1])
    assert found.corr_gain.estimate == pytest.approx(np.corrcoef(SIGNAL, GAIN)[0, 1])
    at = WRONG > 0
    u, gap, w = SIGNAL[at], GAIN[at] / WRONG[at], WRONG[at]
    c = np.cov(u, gap, aweights=w, ddof=0)
    assert found.corr_gap.estimate == pytest.approx(c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]))
    assert found.corr_gap.n == 8


def test_a_signal_that_hardly_varies_has_no_correlation_across_bins():
    """A margin that is 0 for nearly all prompts leaves too few bins, as in Table 22."""
    found = decompose(np.r_[np.zeros(99), 0.1], np.ones(100), np.linspace(0, 1, 100))
    assert found.across_bins.gain is None
    assert sum(one.prompts for one in found.bins) == 100


def test_equal_signals_share_a_bin_and_bins_are_even_without_ties():
    """No value is split between bins; a hundred distinct values make five times twenty."""
    assert np.bincount(bins_of(np.arange(100.0), np.ones(100))).tolist() == [20] * 5
    assert len(set(bins_of(np.array([0.1 + 0.2, 0.3]), np.ones(2)))) == 1


def test_the_grid_has_the_bins_of_table_18():
    """An end of a bin of margins belongs to it, a start of a bin of levels too."""
    margin = np.array([0, 0.05, 0.10, 0.15, 0.1 + 0.05])
    level = np.array([0.69, 0.7, 0.8, 0.9, 0.95])
    gain = np.array([0.1, 0.2, 0.3, 0.4, 0.6])
    grid = gain_grid(margin, level, gain, np.ones(5))
    assert [[cell.n for cell in row] for row in grid] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]]
    assert grid[3][3].estimate == pytest.approx(0.5)
    assert grid[0][1].estimate is None


def test_a_mean_of_ones_denominators_has_the_plain_interval():
    """With denominators of 1 the interval is the mean plus or minus t times s / sqrt(n)."""
    values = np.array([0.1, 0.4, 0.2, 0.5])
    found = mean_in(values, np.ones(4), np.ones(4, dtype=bool))
    assert found.estimate == pytest.approx(0.3)
    assert found.se == pytest.approx(values.std(ddof=1) / 2)
