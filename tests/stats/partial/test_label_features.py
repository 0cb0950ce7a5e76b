from __future__ import annotations

from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.partial.label_features import OUTCOMES, label_features, outcomes
from bonwise.stats.sums import prompt_sums
from stats.aipw_twin import five
from stats.pools import arrays, pools


def spread_of(values):
    """Return the standard deviation of values rounded as ties are."""
    return pstdev([round(v, 9) for v in values])


@given(prompts=pools())
def test_stand_ins_are_what_the_outcomes_would_be(prompts):
    """With T in the place of the labels, the features are Tbar, p1, p2, top-1 and hit of every prompt."""
    scores, further, sizes = arrays(prompts)
    found = label_features(scores, sizes, [further])
    assert found.stand_ins == pytest.approx(np.array([five(*prompt) for prompt in prompts]), abs=1e-9)
    assert found.spread == pytest.approx([spread_of(T) for _, T in prompts], abs=1e-7)
    assert found.imputed == 0


@given(prompts=pools())
def test_features_of_the_audited_judge(prompts):
    """Top, mean, spread, ties, square, product and range agree with plain loops."""
    scores, _, sizes = arrays(prompts)
    found = label_features(scores, sizes)
    for row, tied, (S, _) in zip(found.judge, found.all_tied, prompts, strict=True):
        top, mean, spread, count = max(S), fmean(S), spread_of(S), sum(round(s, 9) == round(max(S), 9) for s in S)
        wanted = [top, mean, spread, float(count == len(S)), float(count > 1), mean**2, spread * mean, top - min(S)]
        assert row == pytest.approx(wanted, abs=1e-7)
        assert tied == (count == len(S))
    assert not found.further
    assert found.covariates("random", brief=True)[1].shape == (len(prompts), 8)


@given(prompts=pools())
def test_what_ties_give_away(prompts):
    """Where the judge ties all candidates, its gain is 0 and its top-1 accuracy 1 / K, whatever the labels say."""
    scores, labels, sizes = arrays(prompts)
    known, Y = label_features(scores, sizes).known(), outcomes(prompt_sums(scores, labels, sizes))
    stated = ~np.isnan(known)
    assert known[stated] == pytest.approx(Y[stated], abs=1e-12)
    assert stated[:, OUTCOMES.index("judge_gain")].tolist() == [
        len({round(s, 9) for s in S}) == 1 for S, _ in prompts
    ]


def test_two_further_judges_are_averaged():
    """T is the mean over the further judges."""
    scores, sizes = np.array([0.9, 0.1, 0.5, 0.5]), np.array([2, 2])
    one, two = np.array([0.2, 0.4, 0.1, 0.9]), np.array([0.6, 0.2, 0.3, 0.1])
    both = label_features(scores, sizes, [one, two])
    assert both.stand_ins.tolist() == label_features(scores, sizes, [(one + two) / 2]).stand_ins.tolist()


def test_a_judge_that_skips_a_candidate_says_nothing_of_its_prompt():
    """Candidates are compared by the same judges: one that skipped a candidate drops out for that prompt alone."""
    scores, sizes = np.array([0.9, 0.1, 0.5, 0.4]), np.array([2, 2])
    one, two = np.array([0.2, 0.4, 0.1, 0.9]), np.array([0.6, np.nan, 0.3, 0.1])
    found = label_features(scores, sizes, [one, two])
    assert found.stand_ins[0] == pytest.approx(five([0.9, 0.1], [0.2, 0.4]))
    assert found.stand_ins[1] == pytest.approx(five([0.5, 0.4], [0.2, 0.5]))
    assert found.imputed == 0


def test_missing_scores_are_means_with_an_indicator():
    """A prompt that no further judge scored in full gets the means of the others, and is counted."""
    scores, sizes = np.array([0.9, 0.1, 0.5, 0.4, 0.3, 0.2]), np.array([2, 2, 2])
    found = label_features(scores, sizes, [np.array([0.2, 0.4, 0.1, 0.9, np.nan, 0.5])])
    assert found.imputed == 1
    assert found.stand_ins[2] == pytest.approx(found.stand_ins[:2].mean(axis=0))
    names, columns = found.covariates("judge_gain", brief=True)
    assert names == ("further_pick", "further_best", "further_spread", "further_missing")
    assert columns[:, 3].tolist() == [0.0, 0.0, 1.0]


def test_a_further_judge_without_scores_is_none():
    """Scores that are all missing leave the audited judge alone."""
    found = label_features(np.array([0.9, 0.1]), np.array([2]), [np.array([np.nan, 0.3])])
    assert not found.further
    assert found.imputed == 0


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("brief", [True, False])
def test_covariates_are_named(outcome, brief):
    """Every column has a name of its own, and every outcome sees its own stand-in."""
    rng = np.random.default_rng(1)
    found = label_features(rng.random(12), np.full(3, 4), [rng.random(12)])
    names, columns = found.covariates(outcome, brief=brief)
    assert len(set(names)) == len(names) == columns.shape[1]
    own = found.stand_ins[:, OUTCOMES.index(outcome)]
    assert any(np.array_equal(own, column) for column in columns.T)
    assert len(names) <= 4 or not brief


@given(prompts=pools(least=2), seed=st.integers(0, 9))
def test_without_further_judges_their_features_are_gone(prompts, seed):
    """Features of the audited judge alone do not depend on whether others scored."""
    scores, _, sizes = arrays(prompts)
    T = np.random.default_rng(seed).random(len(scores))
    assert np.array_equal(label_features(scores, sizes, [T]).alone().judge, label_features(scores, sizes).judge)
