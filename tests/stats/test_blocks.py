from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given

from bonwise.stats import estimation as bootstraps
from bonwise.stats import jackknife as jackknives
from bonwise.stats import sums as summing
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import bootstrap
from bonwise.stats.jackknife import jackknife
from bonwise.stats.sums import Sums, prompt_sums
from stats.pools import arrays, pools


def every_metric(*totals):
    """Compute all metrics from totals, as the estimators do."""
    return np.stack([e.of(*totals) for e in ESTIMANDS])


@given(pools(most=12))
def test_sums_do_not_depend_on_the_block_size(prompts):
    """Working on one prompt at a time gives, up to the last bits, the sums of working on all at once."""
    whole = prompt_sums(*arrays(prompts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summing, "_BLOCK_CELLS", 1)
        assert prompt_sums(*arrays(prompts)) == pytest.approx(whole, abs=1e-15)


@given(pools(most=12))
def test_each_prompt_has_its_own_column(prompts):
    """In a ragged table a prompt's sums are in its own column, whatever the sizes of its neighbours."""
    whole, middle = Sums(*prompt_sums(*arrays(prompts))), 6
    for x, prompt in enumerate(prompts):
        alone = Sums(*prompt_sums(*arrays([prompt])))
        for name in Sums._fields[:2] + Sums._fields[middle + 1 :]:  # what is not centred on all cells
            assert getattr(whole, name)[x] == pytest.approx(getattr(alone, name)[0], abs=1e-14), name


def simulated_sums():
    """Return sums of 500 prompts of three candidates."""
    rng = np.random.default_rng(20261121)
    labels = np.round(rng.random(1500), 1)
    return prompt_sums(np.round(0.5 * labels + 0.5 * rng.random(1500), 1), labels, np.full(500, 3))


@pytest.mark.parametrize("chunk", [1, 7, 499, 500])
def test_the_jackknife_does_not_depend_on_its_chunks(monkeypatch, chunk):
    """Standard errors are the same whether prompts are left out one by one or all in one pass."""
    whole = jackknife(every_metric, [simulated_sums()])
    monkeypatch.setattr(jackknives, "_CHUNK", chunk)
    parts = jackknife(every_metric, [simulated_sums()])
    assert parts.se == pytest.approx(whole.se, rel=1e-9)
    assert np.isnan(parts.se).tolist() == np.isnan(whole.se).tolist()


@pytest.mark.parametrize("cells", [1, 501, 500 * 7])
def test_the_bootstrap_does_not_depend_on_its_chunks(monkeypatch, cells):
    """The same seed gives the same replicates however many resamples are held at a time."""
    whole = bootstrap(every_metric, [simulated_sums()], resamples=40, seed=3)
    monkeypatch.setattr(bootstraps, "_CHUNK_CELLS", cells)
    parts = bootstrap(every_metric, [simulated_sums()], resamples=40, seed=3)
    assert parts == pytest.approx(whole, rel=1e-12)


def test_another_seed_gives_other_resamples():
    """Replicates depend on the seed, and do so bit for bit."""
    first, again, other = (bootstrap(every_metric, [simulated_sums()], resamples=5, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("prompts", "candidates"), [(200, 1000), (3, 3000)])
def test_memory_grows_with_rows_not_with_pairs(prompts, candidates):
    """The sums of large pools take some 80 bytes a row: no table of candidate pairs is ever made."""
    rng = np.random.default_rng(20261121)
    rows = prompts * candidates
    scores, labels = rng.random(rows), rng.random(rows)
    tracemalloc.start()
    prompt_sums(scores, labels, np.full(prompts, candidates))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 * rows + 100_000
