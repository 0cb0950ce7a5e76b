"""The benchmarks run and their contenders agree; what they measure is never asserted."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

AUDIT = Path(__file__).parents[1] / "benchmarks" / "audit.py"
CONTENDERS = [
    "bonwise, default",
    "bonwise, bootstrap, 200 resamples",
    "pandas bootstrap, 200 resamples",
    "scipy bootstrap, 200 resamples",
    "scipy bootstrap in batches, 200 resamples",
    "scipy bootstrap of all metrics, 200 resamples",
]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Run the smoke run once: what it printed, and the document it wrote."""
    file = tmp_path_factory.mktemp("benchmarks") / "audit.json"
    done = subprocess.run(
        [sys.executable, str(AUDIT), "--quick", "--json", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture
def audit(monkeypatch):
    """Return the benchmark as a module; no package holds it."""
    spec = importlib.util.spec_from_file_location("benchmark_of_audit", AUDIT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_one_row_a_contender(quick):
    """The table of the smoke run holds every contender once, in order."""
    printed, _ = quick
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in printed.splitlines() if "|" in line]
    header, _, *body = rows
    assert header[:2] == ["size", "what"]
    assert [row[:2] for row in body] == [["4,000 x 4", contender] for contender in CONTENDERS]
    assert all(len(row) == len(header) for row in body)


def test_the_intervals_of_all_bootstraps_agree(quick):
    """Independent draws of the same bootstrap give the same interval, whoever wrote it."""
    printed, document = quick
    agreement = document["agreement"]
    assert list(agreement["intervals"]) == CONTENDERS[1:]
    assert all(set(found) == {"within_r", "recovery"} for found in agreement["intervals"].values())
    assert agreement["agree"], agreement
    assert "They agree" in printed


def test_every_row_has_seconds_and_a_peak_above_its_base(quick):
    """What is measured exists; how large it is is no test's business."""
    _, document = quick
    for row in document["rows"]:
        assert row["seconds"] > 0
        assert row["peak_mb"] >= row["base_mb"] > 0


def test_a_contender_too_slow_at_a_size_is_scaled_or_left_out(audit):
    """A scaled time says so, and from how many resamples."""
    large = {job.contender: job for job in audit.plan((1_000_000,), 1_000, seed=0)}
    assert list(large) == ["bonwise, default", "bonwise, bootstrap", "pandas bootstrap"]
    assert large["bonwise, bootstrap"].scale == 1
    assert large["pandas bootstrap"].scale == 200
    assert audit.label(large["pandas bootstrap"]) == "pandas bootstrap, 1,000 resamples, scaled from 5"


def test_at_5000_prompts_nothing_is_scaled_or_left_out(audit):
    """The size at which intervals are compared runs everything in full."""
    jobs = list(audit.plan((5_000,), 1_000, seed=0))
    assert [job.contender for job in jobs] == list(audit.CONTENDERS)
    assert {job.resamples for job in jobs} == {1_000}


def test_ratios_are_to_the_run_of_the_same_interval(audit):
    """A bootstrap is held against a bootstrap first, then against the default."""
    seconds = {"bonwise, default": 1.0, "bonwise, bootstrap": 2.0, "pandas bootstrap": 6.0}
    jobs = [job for job in audit.plan((5_000,), 1_000, seed=0) if job.contender in seconds]
    rows = [audit.Row(job, seconds[job.contender], 100.0, 200.0, {}) for job in jobs]
    body = audit.table(rows).splitlines()[2:]
    ratios = [[cell.strip() for cell in line.split("|")[4:6]] for line in body]
    assert ratios == [["1.0", "1.0"], ["1.0", "2.0"], ["3.0", "6.0"]]


def test_intervals_further_apart_than_the_tolerance_are_called_out(audit):
    """A disagreement is printed as one."""
    jobs = [job for job in audit.plan((5_000,), 1_000, seed=0) if job.contender != audit.DEFAULT][:2]
    rows = [audit.Row(job, 1.0, 1.0, 1.0, {"recovery": (0.1, 0.2 + 0.02 * k)}) for k, job in enumerate(jobs)]
    found = audit.agreement(rows)
    assert not found["agree"]
    assert found["furthest"] == pytest.approx(0.02)
    assert "DISAGREE" in audit.agreement_text(found)
