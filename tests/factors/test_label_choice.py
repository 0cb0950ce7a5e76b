"""The rules of benchmarks/label_choice.py do what they say; what they are worth is never asserted."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "label_choice.py"


@pytest.fixture(scope="module")
def script():
    """Return the benchmark as a module."""
    spec = importlib.util.spec_from_file_location("label_choice", SCRIPT)
    found = importlib.util.module_from_spec(spec)
    sys.modules["label_choice"] = found
    spec.loader.exec_module(found)
    yield found
    del sys.modules["label_choice"]


@pytest.fixture(scope="module", params=[False, True])
def drawn(request, script):
    """Return a small population, whose human rates one model or compares two."""
    return script.population(3, pairs=request.param, prompts=120, judges=4)


def test_every_rule_orders_cells_once_and_by_its_seed(script, drawn):
    """No cell twice; the same seed gives the same order, another one another."""
    for rule in (script.at_random, *script.RULES.values()):
        first, again, other = (rule(drawn, 60, np.random.default_rng(seed)).tolist() for seed in (0, 0, 1))
        assert len(set(first)) == len(first) == 60
        assert first == again
        assert first != other


def test_rules_do_what_their_names_say(script, drawn):
    """Models and prompts take turns; the determinant is large, the mean variance small, verdicts are spread."""
    rng = np.random.default_rng(0)
    balanced = script.balanced(drawn, 36, rng)
    kinds = drawn.cells.model[balanced] * 10 + drawn.cells.opponent[balanced]
    counts = np.unique(kinds, return_counts=True)[1]
    assert counts.max() - counts.min() <= 0 if 36 % len(counts) == 0 else 1
    assert len(set(drawn.cells.prompt[balanced].tolist())) == 36

    def information(rule):
        x = drawn.features[rule(drawn, 30, np.random.default_rng(1))]
        return np.eye(3) + x.T @ x

    random = information(script.at_random)
    assert np.linalg.slogdet(information(script.d_optimal))[1] > np.linalg.slogdet(random)[1]
    over_all = drawn.features.T @ drawn.features
    variance = [np.trace(np.linalg.solve(one, over_all)) for one in (information(script.a_optimal), random)]
    assert variance[0] < variance[1]
    verdict = drawn.verdicts.mean(axis=1)
    ranks = np.argsort(np.argsort(verdict, kind="stable"))[script.spread_of_verdicts(drawn, 40, rng)]
    assert np.histogram(ranks, 4, (0, len(verdict)))[0].tolist() == pytest.approx([10] * 4, abs=3)
    spread = drawn.verdicts.std(axis=1)
    assert spread[script.disagreement(drawn, 20, rng)].mean() > spread.mean()


def test_the_excess_is_a_distance_from_the_truth(script, drawn):
    """It is positive, and more ratings make it smaller."""
    rng = np.random.default_rng(2)
    few, many = (
        np.mean([drawn.excess(script.at_random(drawn, count, rng), rng) for _ in range(6)]) for count in (20, 120)
    )
    assert 0 < many < few


def test_the_verdict_of_the_comparison(script):
    """A rule is worth shipping only with every interval below 1, and no set above 1.05."""
    good = [script.Measured("h", 40, name, [0.7, 0.8, 0.75], 0.1) for name in script.RULES]
    assert script.shipped(good) == list(script.RULES)
    bad = [one._replace(ratios=[0.7, 0.8, 1.06]) if one.rule == "entropy" else one for one in good]
    assert "entropy" not in script.shipped(bad)
    ratio, low, high = good[0].interval
    assert ratio == pytest.approx((0.7 * 0.8 * 0.75) ** (1 / 3))
    assert low * high == pytest.approx(ratio**2)


def test_the_smoke_run(tmp_path):
    """It prints the table and writes every figure."""
    file = tmp_path / "choice.json"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--json", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| rule | 20 ratings | 40 ratings | worst set |" in done.stdout
    assert "A human who compares two:" in done.stdout
    assert len(json.loads(file.read_text("utf-8"))) == 2 * 2 * 7
