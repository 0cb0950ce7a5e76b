"""Krippendorff's alpha: published examples, plain loops, and coverage where the truth is known."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.auditing.krippendorff import krippendorff_alpha

LEVELS = ("nominal", "ordinal", "interval")
_ = np.nan


def alpha_of(table, level, **named):
    """Return alpha of a table of annotators by units, each unit a prompt."""
    annotator, unit = np.nonzero(~np.isnan(np.asarray(table, dtype=float)))
    return krippendorff_alpha(np.asarray(table, dtype=float)[annotator, unit], unit, unit, level, **named)


class TestPublished:
    """Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", examples A to C."""

    def test_two_observers_yes_and_no(self):
        """Two observers yes and no."""
        found = alpha_of([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], "nominal")
        assert found.estimate == pytest.approx(0.095, abs=5e-4)
        # Six values are 1 and fourteen 0, four units disagree: 1 - 19 * 8 / (2 * 6 * 14).
        assert found.estimate == pytest.approx(1 - 19 * 8 / 168)

    def test_two_observers_five_classes(self):
        """Two observers five classes."""
        first, second = "aabbdcccedda", "babbbccceddd"
        table = [[ord(one) for one in row] for row in (first, second)]
        assert alpha_of(table, "nominal").estimate == pytest.approx(0.692, abs=5e-4)

    @pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
    def test_four_observers_and_missing_labels(self, level, published):
        """Four observers and missing labels."""
        table = [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
            [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
        ]
        found = alpha_of(table, level)
        assert found.estimate == pytest.approx(published, abs=5e-4)
        assert found.n == 11  # the last unit has one label


def loop_alpha(labels, units, level):
    """Compute alpha pair by pair, from the definition."""
    members = {}
    for label, unit in zip(labels, units, strict=True):
        members.setdefault(unit, []).append(label)
    pairable = [found for found in members.values() if len(found) > 1]
    values = [label for found in pairable for label in found]
    n = len(values)
    count = {label: values.count(label) for label in values}

    def delta(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(times for label, times in count.items() if low <= label <= high)
        return (between - (count[a] + count[b]) / 2) ** 2

    observed = sum(
        delta(a, b) / (len(found) - 1) for found in pairable for a, b in itertools.permutations(found, 2)
    ) / max(n, 1)
    expected = sum(delta(a, b) for a, b in itertools.permutations(values, 2)) / max(n * (n - 1), 1)
    return 1 - observed / expected if expected > 0 else np.nan


CELLS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=24)


@pytest.mark.parametrize("level", LEVELS)
@given(cells=CELLS)
@settings(max_examples=60, deadline=None)
def test_plain_loops(level, cells):
    """Alpha and its standard error are those of loops over pairs, and over prompts left out."""
    prompts, units, labels = (np.array(column) for column in zip(*cells, strict=True))
    units = prompts * 3 + units
    found = krippendorff_alpha(labels.astype(float), units, prompts, level)
    truth = loop_alpha(labels.tolist(), units.tolist(), level)
    if np.isnan(truth):
        assert found.estimate is None
        return
    assert found.estimate == pytest.approx(truth, abs=1e-9)
    several = np.bincount(units)[units] > 1
    known = np.unique(prompts[several])
    assert found.n == len(known)
    left = [loop_alpha(labels[prompts != one].tolist(), units[prompts != one].tolist(), level) for one in known]
    if found.se is not None and found.se > 0:
        spread = np.sqrt((len(known) - 1) / len(known) * np.sum((np.array(left) - np.mean(left)) ** 2))
        assert found.se == pytest.approx(spread, abs=1e-9)
    elif len(known) > 1:
        assert np.isnan(left).any() or np.ptp(left) < 1e-9


def test_a_cluster_is_the_unit_of_the_interval():
    """Prompts of one cluster are left out together."""
    rng = np.random.default_rng(5)
    units = np.repeat(np.arange(40), 3)
    labels = rng.integers(1, 6, size=40)[units] + rng.integers(0, 2, size=120)
    alone = krippendorff_alpha(labels.astype(float), units, units, "interval")
    doubled = krippendorff_alpha(
        np.tile(labels, 2).astype(float),
        np.concatenate([units, units + 40]),
        np.concatenate([units, units + 40]),
        "interval",
        clusters=np.tile(units, 2),
    )
    assert doubled.n == 80
    assert doubled.se == pytest.approx(alone.se, rel=0.02)


def test_blocks_of_clusters_do_not_matter(monkeypatch):
    """Few clusters are worked on at a time; the figures are the same."""
    rng = np.random.default_rng(6)
    prompts = np.repeat(np.arange(50), 6)
    units = np.repeat(np.arange(150), 2)
    labels = rng.integers(1, 8, size=300).astype(float)
    whole = krippendorff_alpha(labels, units, prompts, "ordinal")
    monkeypatch.setattr("bonwise.auditing.krippendorff._MOST_NUMBERS", 20)
    assert krippendorff_alpha(labels, units, prompts, "ordinal").se == pytest.approx(whole.se, rel=1e-12)


def test_what_cannot_be_told_has_a_reason():
    """No interval and no estimate without the reason."""
    units = np.array([0, 1, 2])
    assert krippendorff_alpha(np.array([1.0, 2, 3]), units, units, "nominal").reason == "no candidate has two labels"
    same = krippendorff_alpha(np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), "interval")
    assert same.estimate is None
    assert "all labels are the same" in same.reason
    alone = krippendorff_alpha(np.array([1.0, 2, 2, 2]), np.array([0, 0, 1, 1]), np.zeros(4, dtype=int), "nominal")
    assert alone.low is None
    assert "a single prompt" in alone.reason


def drawn(rng, prompts, law):
    """Draw labels of three annotators for three candidates of each prompt, and the alpha of their population."""
    units = np.repeat(np.arange(prompts * 3), 3)
    of = units // 3
    if law == "interval":
        # The variance of labels is 0.5 between prompts, 1 between candidates and 0.8 of annotators.
        labels = rng.normal(0, 0.5**0.5, prompts)[of] + rng.normal(0, 1, prompts * 3)[units]
        return labels + rng.normal(0, 0.8**0.5, len(units)), units, of, 1 - 0.8 / 2.3
    # A prompt is of one of two kinds, each with its own chances of the categories.
    chances = np.array([[0.2, 0.8], [0.7, 0.3]]) if law == "nominal" else np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    kind = rng.integers(0, 2, prompts)[of]
    labels = (rng.random(len(units))[:, None] > chances.cumsum(axis=1)[kind]).sum(axis=1).astype(float)
    margin = chances.mean(axis=0)
    place = margin.cumsum() - margin / 2
    differ = (place[:, None] - place) ** 2 if law == "ordinal" else 1 - np.eye(len(margin))
    met = np.mean([np.outer(one, one) for one in chances], axis=0)
    return labels, units, of, 1 - (met * differ).sum() / (np.outer(margin, margin) * differ).sum()


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [40, 150])
@pytest.mark.parametrize("level", LEVELS)
def test_coverage(level, prompts):
    """Intervals hold the alpha of the population about as often as they say."""
    rng = np.random.default_rng(20261124)
    held, found = [], []
    for _draw in range(1000):
        labels, units, of, truth = drawn(rng, prompts, level)
        one = krippendorff_alpha(labels, units, of, level)
        held.append(one.low <= truth <= one.high)
        found.append(one.estimate)
    assert np.mean(found) == pytest.approx(truth, abs=0.012)
    assert 0.925 <= np.mean(held) <= 0.98
