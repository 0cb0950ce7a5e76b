from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.stats import norm

from bonwise.stats.beliefs import best_of_normals

POOLS = st.integers(2, 5).flatmap(
    lambda count: st.tuples(
        st.lists(st.floats(-3, 3), min_size=count, max_size=count),
        st.lists(st.floats(0.05, 4), min_size=count, max_size=count),
    )
)


def of_one(mean, se):
    """Return probabilities and regret of one pool."""
    found = best_of_normals(np.array([mean], dtype=float), np.array([se], dtype=float))
    return found.probability[0], found.regret[0]


def twin(mean, se):
    """Return the same by the trapezoid rule on a fine grid, from the textbook formulas, one candidate at a time."""
    x = np.linspace(min(mean) - 10 * max(se), max(mean) + 10 * max(se), 20_001)
    below = [norm.cdf(x, m, s) for m, s in zip(mean, se, strict=True)]
    chances = []
    for i, (m, s) in enumerate(zip(mean, se, strict=True)):
        others = np.prod([one for j, one in enumerate(below) if j != i], axis=0)
        chances.append(trapezoid(norm.pdf(x, m, s) * others, x))
    return chances, x[0] + trapezoid(1 - np.prod(below, axis=0), x) - max(mean)


def test_two_candidates_by_hand():
    """Of N(1, .6) and N(.5, .8) the first is best with probability Phi(.5), and the regret is f(-.5)."""
    chances, regret = of_one([1.0, 0.5], [0.6, 0.8])
    assert chances == pytest.approx([0.6914624613, 0.3085375387], abs=1e-9)
    assert regret == pytest.approx(0.1977965574, abs=1e-9)  # .3520653268 - .5 * .3085375387 = f(-.5)


def test_three_equal_candidates_by_hand():
    """Three standard normal values are each best one time in three, and their maximum averages 3 / (2 sqrt(pi))."""
    chances, regret = of_one([0, 0, 0], [1, 1, 1])
    assert chances == pytest.approx([1 / 3] * 3, abs=1e-12)
    assert regret == pytest.approx(1.5 / np.sqrt(np.pi), abs=1e-9)


@given(POOLS)
def test_best_agrees_with_its_twin(pool):
    """Probabilities and regret are those of plain integration to 1e-6."""
    chances, regret = of_one(*pool)
    expected, loss = twin(*pool)
    assert chances == pytest.approx(expected, abs=1e-6)
    assert regret == pytest.approx(loss, abs=1e-6)


def test_best_agrees_with_simulation():
    """Probabilities and regret are those of a million draws within five standard errors, one value being certain."""
    mean, se = np.array([0.6, 0.7, 0.65, 0.2]), np.array([0.1, 0.0, 0.3, 0.02])
    drawn = mean + se * np.random.default_rng(4).standard_normal((1_000_000, 4))
    chances, regret = of_one(mean, se)
    shares = np.bincount(drawn.argmax(axis=1), minlength=4) / len(drawn)
    assert np.all(np.abs(shares - chances) <= 5 * np.sqrt(chances * (1 - chances) / len(drawn)) + 1e-9)
    loss = drawn.max(axis=1) - mean.max()
    assert abs(loss.mean() - regret) < 5 * loss.std() / 1000


@pytest.mark.parametrize(
    ("mean", "se", "expected"),
    [
        ([0.5, 0.5, 0.1], [0, 0, 0], [0.5, 0.5, 0.0]),
        ([0.1 + 0.2, 0.3], [0, 0], [0.5, 0.5]),
        ([0.9, 0.5], [0, 0], [1.0, 0.0]),
        ([0.5, np.nan, 0.5], [0.1, 0.1, 0.1], [0.5, 0.0, 0.5]),
        ([0.5, 0.5], [0.1, np.nan], [1.0, 0.0]),
        ([0.4], [0.2], [1.0]),
    ],
)
def test_certain_and_absent_values(mean, se, expected):
    """Certain ties share equally, also those that only rounding parts, and what is unknown is out of the running."""
    assert of_one(mean, se)[0] == pytest.approx(expected, abs=1e-12)


def test_a_certain_value_between_uncertain_ones():
    """A certain value is best when no uncertain one exceeds it; two such share that chance."""
    chances, _ = of_one([0, 0, 0], [1, 0, 0])
    assert chances == pytest.approx([0.5, 0.25, 0.25], abs=1e-12)


def test_scales_far_apart():
    """A very narrow value among wide ones loses nothing: each of the pair is best half the time."""
    chances, regret = of_one([0, 0], [1e-9, 1.0])
    assert chances == pytest.approx([0.5, 0.5], abs=1e-6)
    assert regret == pytest.approx(1 / np.sqrt(2 * np.pi), abs=1e-6)


def test_a_row_of_nothing():
    """Without a candidate in the running there is no chance and no regret."""
    chances, regret = of_one([np.nan, np.nan], [1, 1])
    assert list(chances) == [0, 0]
    assert np.isnan(regret)


@given(POOLS, st.floats(-5, 5), st.floats(0.1, 10))
def test_best_moves_with_its_unit(pool, shift, scale):
    """Another origin changes nothing, and another unit only the unit of the regret."""
    mean, se = map(np.array, pool)
    chances, regret = of_one(mean, se)
    moved, lost = of_one(mean * scale + shift, se * scale)
    assert moved == pytest.approx(chances, abs=1e-7)
    assert lost == pytest.approx(regret * scale, abs=1e-6)


def test_rows_do_not_touch_each_other():
    """Many prompts at once give what each gives alone, across the blocks they are computed in."""
    rng = np.random.default_rng(1)
    mean, se = rng.normal(size=(4000, 4)), rng.gamma(1.0, size=(4000, 4))
    found = best_of_normals(mean, se)
    for row in (0, 1735, 1736, 1737, 3999):
        assert found.probability[row] == pytest.approx(of_one(mean[row], se[row])[0], abs=1e-13)


@pytest.mark.parametrize(("mean", "se"), [([[1.0]], [[-1.0]]), ([[1.0]], [[1.0, 1.0]]), ([1.0], [1.0])])
def test_tables_that_mean_nothing(mean, se):
    """Negative errors and shapes that differ are refused."""
    with pytest.raises(ValueError, match="standard error"):
        best_of_normals(np.array(mean), np.array(se))


def test_many_candidates_are_integrated_as_few_are(monkeypatch):
    """Leaving out cuts that lie close together changes nothing that could be seen, certain values included."""
    chance = np.random.default_rng(5)
    for count in (12, 30):
        mean = chance.normal(0, 0.2, (20, count))
        se = chance.choice([0, 0.001, 0.05, 0.3], (20, count))
        thinned = best_of_normals(mean, se)
        with monkeypatch.context() as patched:
            patched.setattr("bonwise.stats.beliefs._MANY", 10**9)
            whole = best_of_normals(mean, se)
        assert thinned.probability == pytest.approx(whole.probability, abs=1e-9)
        assert thinned.regret == pytest.approx(whole.regret, abs=1e-9)
