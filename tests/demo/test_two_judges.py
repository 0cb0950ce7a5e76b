from __future__ import annotations

import math

import numpy as np
import pytest

from bonwise.demo.two_judges import BETWEEN_SHARE, GLOBAL_R, two_judges
from bonwise.errors import UsageError


def global_r(scores, oracle):
    """Correlate over all rows."""
    return np.corrcoef(scores.ravel(), oracle.ravel())[0, 1]


def within_r(scores, oracle):
    """Correlate what is left when each prompt's mean is taken off."""
    return global_r(scores - scores.mean(1, keepdims=True), oracle - oracle.mean(1, keepdims=True))


def recovery(scores, oracle):
    """Return the share of the attainable gain over a random pick that the judge's pick brings."""
    picked = oracle[np.arange(len(oracle)), scores.argmax(1)].mean()
    return (picked - oracle.mean()) / (oracle.max(1).mean() - oracle.mean())


@pytest.fixture(scope="module")
def large():
    """Return a draw large enough to see the population in."""
    return two_judges(prompts=100_000, seed=5)


def test_the_algebra_gives_both_judges_the_same_r():
    """The two pairs of prompt and deviation correlations lie on one line of equal global r."""
    flat = BETWEEN_SHARE * 0.9 + (1 - BETWEEN_SHARE) * 0
    sharp = BETWEEN_SHARE * 0.642857142857 + (1 - BETWEEN_SHARE) * 0.6
    assert (flat, sharp) == pytest.approx((GLOBAL_R, GLOBAL_R))


def test_from_afar_the_judges_look_the_same(large):
    """Both judges have global correlation 0.63 with the oracle."""
    assert global_r(large.flat, large.oracle) == pytest.approx(GLOBAL_R, abs=0.01)
    assert global_r(large.sharp, large.oracle) == pytest.approx(GLOBAL_R, abs=0.01)


def test_only_one_of_them_can_choose(large):
    """Recovery is the within-prompt correlation: none for the flat judge, 0.6 for the sharp one."""
    for scores, expected in ((large.flat, 0.0), (large.sharp, 0.6)):
        assert within_r(scores, large.oracle) == pytest.approx(expected, abs=0.01)
        assert recovery(scores, large.oracle) == pytest.approx(expected, abs=0.015)


def test_the_default_draw_shows_the_point():
    """At the size the demo uses, the contrast is plain."""
    drawn = two_judges()
    assert abs(global_r(drawn.flat, drawn.oracle) - global_r(drawn.sharp, drawn.oracle)) < 0.03
    assert abs(recovery(drawn.flat, drawn.oracle)) < 0.06
    assert abs(recovery(drawn.sharp, drawn.oracle) - 0.6) < 0.06


def test_scores_are_standard_with_the_stated_share_between_prompts(large):
    """Scores have variance 1, of which 0.7 is shared by the candidates of a prompt."""
    for scores in (large.flat, large.sharp, large.oracle):
        assert scores.var() == pytest.approx(1, abs=0.02)
        # Two candidates of one prompt share the prompt effect alone.
        assert np.cov(scores[:, 0], scores[:, 1])[0, 1] == pytest.approx(BETWEEN_SHARE, abs=0.02)


def test_scores_are_continuous():
    """No two scores are equal, so that nothing depends on how ties are broken."""
    drawn = two_judges(prompts=50)
    assert np.unique([drawn.flat, drawn.sharp, drawn.oracle]).size == 3 * 50 * 4


def test_a_seed_fixes_the_draw():
    """The same seed gives the same arrays, another seed others, and the result says which it was."""
    first, again, other = (two_judges(prompts=9, candidates=3, seed=seed) for seed in (4, 4, 5))
    for name in ("flat", "sharp", "oracle"):
        assert getattr(first, name).shape == (9, 3)
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert (first.seed, repr(other)) == (4, "TwoJudges(seed=5)")


def test_the_arrays_cannot_be_changed():
    """A result is frozen, down to its arrays."""
    with pytest.raises(ValueError, match="read-only"):
        two_judges(prompts=1).oracle[0, 0] = math.pi


@pytest.mark.parametrize(("prompts", "candidates"), [(0, 4), (5, 1)])
def test_nothing_to_choose_from_is_refused(prompts, candidates):
    """A draw needs a prompt and two candidates."""
    with pytest.raises(UsageError, match=f"cannot draw {prompts} prompts of {candidates} candidates"):
        two_judges(prompts=prompts, candidates=candidates)
