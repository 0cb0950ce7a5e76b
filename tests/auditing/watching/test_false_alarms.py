"""False alarms of recovery and of bounds of an audit within a year: thinned here, in full under ``-m slow``."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.watching.labelled_laws import LAWS, bound_alarm, recovery_alarm, tie_alarm
from auditing.watching.logs import write_log

SHARE = 0.05 / 7
THIN, FULL = 30, 400


def most(replications):
    """Return what the share of one signal exceeds once in a thousand times."""
    return SHARE + 3.1 * math.sqrt(SHARE * (1 - SHARE) / replications)


@pytest.mark.parametrize("law", ["uniform labels", "recovery near 1"])
def test_a_short_year_of_still_recovery_rarely_alarms(law):
    """Five labelled picks a day, by ranks and against an audit of 50 prompts, a year of 60 looks."""
    assert np.mean([recovery_alarm(LAWS[law], 14, 60, (23, one)) for one in range(THIN)]) <= most(THIN)
    assert np.mean([bound_alarm(LAWS[law], 50, 60, (29, one)) for one in range(THIN)]) <= most(THIN)


def test_a_short_year_of_still_ties_rarely_alarms():
    """A rare tie rate against an audit of 50 prompts, many of which see no tie."""
    assert np.mean([tie_alarm(0.02, 50, 60, (31, one)) for one in range(THIN)]) <= most(THIN)


@pytest.mark.slow
@pytest.mark.parametrize("law", list(LAWS))
def test_a_year_of_still_recovery_rarely_alarms(law):
    """365 daily looks, by ranks after one and two weeks."""
    for baseline in (7, 14):
        assert np.mean([recovery_alarm(LAWS[law], baseline, 365, (37, one)) for one in range(FULL)]) <= most(FULL)


@pytest.mark.slow
@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("prompts", [50, 200])
def test_a_year_of_recovery_against_an_audit_rarely_alarms(law, prompts):
    """365 daily looks."""
    assert np.mean([bound_alarm(LAWS[law], prompts, 365, (41, one)) for one in range(FULL)]) <= most(FULL)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.02, 0.2])
@pytest.mark.parametrize("prompts", [50, 200])
def test_a_year_of_ties_against_an_audit_rarely_alarms(level, prompts):
    """365 daily looks."""
    assert np.mean([tie_alarm(level, prompts, 365, (43, one)) for one in range(FULL)]) <= most(FULL)


def perfect_audit(scale=1.0, **reading):
    """Return an audit of 40 prompts whose judge recovers everything."""
    labels = np.random.default_rng(3).random((40, 3)).round(2)
    rows = [
        {"prompt_id": f"a{prompt}", "candidate": str(at), "score": value, "oracle_label": scale * value}
        for prompt, mine in enumerate(labels)
        for at, value in enumerate(mine)
    ]
    return bw.audit(pd.DataFrame(rows), **reading)


def test_an_audit_without_a_loss_bounds_recovery(tmp_path):
    """A judge that lost nothing in 40 prompts may be right 97 times of 100; one right 40 times of 100 has fallen."""
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(perfect_audit().to_dict()), encoding="utf-8")
    for right, status in ((0.97, "not moved"), (0.4, "moved")):
        folder = tmp_path / str(right)
        labels = pd.DataFrame(write_log(folder, 60, picks=8, right=right))
        found = bw.watch(f"{folder}/*.jsonl", baseline=path, labels=labels).signals["recovery"]
        assert (found.method, found.baseline.estimate, found.status) == ("bound", 1.0, status)


def test_an_audit_of_labels_on_another_scale_is_no_baseline_of_recovery(tmp_path):
    """Labels from 0 to 5 bound no loss: recovery has the first periods of the log, with the reason."""
    path = tmp_path / "audit.json"
    labels = pd.DataFrame(write_log(tmp_path / "p", 30, picks=8))
    path.write_text(json.dumps(perfect_audit(5.0).to_dict()), encoding="utf-8")
    found = bw.watch(f"{tmp_path}/p/*.jsonl", baseline=path, labels=labels).signals["recovery"]
    assert found.method == "ranks"
    assert "--label-scale" in found.baseline_source
    declared = perfect_audit(5.0, label_scale=bw.Scale(0, 5))
    path.write_text(json.dumps(declared.to_dict()), encoding="utf-8")
    found = bw.watch(f"{tmp_path}/p/*.jsonl", baseline=path, labels=labels).signals["recovery"]
    assert found.method == "bound"
