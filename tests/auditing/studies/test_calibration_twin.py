"""The study of a tiny table once more in plain loops: cross-fit, shift, every group left out and all refitted."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from bonwise.auditing.settings import Settings
from bonwise.studies.calibration.calibrators import folds_of_prompts
from bonwise.studies.calibration.judge_calibration import RawScores
from bonwise.table.panel import Panel
from stats.pools import GRID
from stats.twins import metrics

METRICS = ("global_r", "within_r", "sign_agreement", "tie_rate", "value_judge", "top1_accuracy", "recovery")


def calibrated(prompts, folds):
    """Calibrate each fold by another library's map of the other folds, then give it the mean of all for theirs."""
    new = {}
    for fold in set(folds.values()):
        learned = [pair for x, prompt in prompts.items() if folds[x] != fold for pair in zip(*prompt, strict=True)]
        known = IsotonicRegression(out_of_bounds="clip").fit(*(list(side) for side in zip(*learned, strict=True)))
        new |= {x: known.predict(prompt[0]).tolist() for x, prompt in prompts.items() if folds[x] == fold}
    grand = fmean(label for _, labels in prompts.values() for label in labels)
    for fold in set(folds.values()):
        off = grand - fmean(label for x, (_, labels) in prompts.items() if folds[x] != fold for label in labels)
        new |= {x: [value + off for value in values] for x, values in new.items() if folds[x] == fold}
    return [(new[x], prompts[x][1]) for x in prompts]


def figures(prompts, folds):
    """Return the metrics after, and less those before; None where one is undefined."""
    after, before = metrics(calibrated(prompts, folds)), metrics(list(prompts.values()))
    pairs = {name: (after[name], before[name]) for name in METRICS}
    changes = {name: None if None in pair else pair[0] - pair[1] for name, pair in pairs.items()}
    return {**{("metrics", name): after[name] for name in METRICS}, **{("changes", n): v for n, v in changes.items()}}


def error(values):
    """Return the delete-a-group error, None where a value is undefined."""
    if None in values:
        return None
    count, mean = len(values), fmean(values)
    return ((count - 1) / count * sum((value - mean) ** 2 for value in values)) ** 0.5


@given(st.integers(8, 14), st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_the_refitted_intervals_are_those_of_plain_loops(count, seed):
    """Estimates and errors of metrics and changes are those of loops over groups, folds and prompts."""
    rng = np.random.default_rng(seed)
    scores, labels = np.round(rng.choice(GRID, (count, 3)), 9), rng.random((count, 3)).round(6)
    panel = Panel(
        *("judge", pd.Index(range(count)), np.full(count, 3), scores.ravel(), labels.ravel()),
        *(np.tile(np.arange(3), count), pd.Index(range(3)), "rectangular", ()),
    )
    raw = RawScores(panel, {}, Settings(seed=seed % 1000), 2)
    found = raw.calibrated("isotonic")
    folds = dict(enumerate(folds_of_prompts(count, 2, seed % 1000).tolist()))
    prompts = dict(enumerate(zip(scores.tolist(), labels.tolist(), strict=True)))
    whole = figures(prompts, folds)
    rests = [
        figures({x: prompt for x, prompt in prompts.items() if raw.groups[x] != group}, folds)
        for group in range(int(raw.groups.max()) + 1)
    ]
    for (kind, name), value in whole.items():
        one = getattr(found, kind)[name]
        if one.estimate is None:
            continue
        assert one.estimate == pytest.approx(value, abs=1e-7), (kind, name)
        if one.se:
            assert one.se == pytest.approx(error([rest[kind, name] for rest in rests]), abs=1e-6), (kind, name)
