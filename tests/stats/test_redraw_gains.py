from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"

LEAST = {"pilot": 0.010, "one_model": 0.006}
"""What is gained over OCBA-EB at 5 and 6 mean calls, in recovery."""


@pytest.fixture(scope="module")
def bench():
    """Return the benchmark of redraws, whose contenders are written apart from the package."""
    sys.path.insert(0, str(FOLDER))
    try:
        import redraws  # noqa: PLC0415 - no package holds it
    finally:
        sys.path.remove(str(FOLDER))
    return redraws


@pytest.fixture(scope="module", params=["pilot", "one_model"])
def preset(request):
    """Return the name of a simulated population."""
    return request.param


def test_stored_draws(bench, shared, preset):
    """The contenders spend and recover what is known of them, and value of information is not below any of them."""
    found = bench.on_stored(bench.stored(shared / "data" / "simulated", preset), orders=1)
    others = {row["rule"]: row for row in found["others"]}
    once, again = others["the paper's rule"], others["the paper's rule, re-picking"]
    calls, recovery = {"pilot": ((7.68, 7.86), (0.143, 0.154)), "one_model": ((7.24, 7.26), (0.283, 0.292))}[preset]
    assert (once["calls"], again["calls"]) == pytest.approx(calls, abs=0.1)
    assert (once["recovery"]["mean"], again["recovery"]["mean"]) == pytest.approx(recovery, abs=0.015)
    for row in found["others"]:
        if "difference" in row:
            assert row["difference"]["mean"] > -2 * row["difference"]["se"]
    for row in found["rows"]:
        difference = row["difference"]
        assert difference["mean"] > -2 * difference["se"]


def test_gains_over_a_few_pilots(bench, preset):
    """On fresh prompts the gain over OCBA-EB is not refuted: the full run's floor lies within three errors."""
    found = bench.on_pilots(preset, pilots=2, prompts=8_000, seed=400)
    for row in found["rows"]:
        least = LEAST[preset] if row["asked"] <= 6 else 0.0
        assert row["gain"] > least - 3 * row["se"]


@pytest.mark.slow
def test_gains_over_many_pilots(bench, preset):
    """Over 12 pilots of 500 the mean gain reaches its floor at 5 and 6 calls, and above is not below 0."""
    found = bench.on_pilots(preset, pilots=12, prompts=200_000, seed=2026)
    for row in found["rows"]:
        if row["asked"] <= 6:
            assert row["gain"] >= LEAST[preset]
        else:
            assert row["gain"] > -2 * row["se"]


def test_the_contenders_by_hand(bench):
    """Two pools worked out by hand: the paper's pair is chosen once or anew, and uniform draws are averaged."""
    close = [[0.8, 0.4, 0.4], [0.8, 0.9, 0.9], [0.78, 0.9, 0.9]]
    apart = [[0.9, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]
    draws = np.array([close, apart])
    once, again = (bench.paper(draws, repick=repick) for repick in (False, True))
    assert once.calls.tolist() == [5.0, 3.0]
    assert once.top.tolist() == [[False, True, False], [True, False, False]]
    assert again.calls.tolist() == [7.0, 3.0]
    assert again.top.tolist() == [[False, True, False], [True, False, False]]
    assert bench.uniform(draws, 3).top[0].tolist() == [False, True, False]
