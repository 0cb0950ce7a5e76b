"""The shares between contexts, with known truth: their mean and how often their intervals hold them."""

from __future__ import annotations

import numpy as np
import pytest

from stats.preference_laws import SHARES, published, tried, uneven, with_ties

# Contexts and pairs of each (0: one to ten), then without and with rates that differ between contexts: the truth, and
# how often the interval of the oracle's share held it in 400 published samples.
PUBLISHED = {
    (40, 3): ((0, 1.000), (0.085, 0.985)),
    (40, 8): ((0, 0.993), (0.085, 0.990)),
    (20, 20): ((0, 0.990), (0.092, 0.973)),
    (6, 50): ((0, 0.970), (0.071, 0.940)),
    (40, 0): ((0, 0.993), (0.083, 0.988)),
}
CASES = [(*case, at == 0, *row) for case, rows in PUBLISHED.items() for at, row in enumerate(rows)]
FEWEST = 0.93


def held(found, truth):
    """Return how often the interval of each share holds its truth."""
    return np.array(
        [
            np.mean((found[:, at, 1] <= truth[name]) & (truth[name] <= found[:, at, 2]))
            for at, name in enumerate(SHARES)
        ]
    )


def check(law, samples):
    """Check the means of both shares and the coverage of their intervals; return the samples."""
    found, truth = tried(law, samples, [3, 17]), law.truth()
    noise = found[:, :, 0].std(axis=0) / np.sqrt(samples)
    # Ratios of few pairs lean a little towards 0.
    assert found[:, :, 0].mean(axis=0) == pytest.approx(list(truth.values()), abs=4 * noise.max() + 0.012)
    assert (held(found, truth) > FEWEST - 3 * np.sqrt(FEWEST * (1 - FEWEST) / samples)).all()
    return found


@pytest.mark.parametrize(("contexts", "pairs", "nothing", "truth", "_"), CASES)
def test_the_published_shares_are_unbiased_and_held(contexts, pairs, nothing, truth, _):
    """Where nothing lies between, the share is 0 on average and seldom found above it: 100 samples."""
    law = published(contexts, pairs, nothing_between=nothing)
    assert list(law.truth().values()) == pytest.approx([truth, truth], abs=5e-4)
    found = check(law, 100)
    assert not nothing or np.mean(found[:, :, 1] > 0) <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("contexts", "pairs", "nothing", "_", "cover"), CASES)
def test_the_published_coverage_in_full(contexts, pairs, nothing, _, cover):
    """The same with 2,000 samples: the coverage published, and 0 excluded from below in at most 1 % of them."""
    law = published(contexts, pairs, nothing_between=nothing)
    found = check(law, 2000)
    error = 3 * np.sqrt(cover * (1 - cover) * (1 / 400 + 1 / 2000)) + 0.005
    assert held(found, law.truth())[0] == pytest.approx(cover, abs=error)
    assert not nothing or np.mean(found[:, :, 1] > 0, axis=0).max() <= 0.01


OWN = {"uneven": uneven, "ties": with_ties}


@pytest.mark.parametrize("law", OWN)
def test_the_shares_hold_on_laws_that_nobody_tuned_them_to(law):
    """Contexts of 1 to 60 pairs with a judge that depends on them, and verdicts with ties: 100 samples."""
    check(OWN[law](), 100)


@pytest.mark.slow
@pytest.mark.parametrize("law", OWN)
def test_the_shares_hold_on_laws_that_nobody_tuned_them_to_in_full(law):
    """The same with 2,000 samples."""
    check(OWN[law](), 2000)
