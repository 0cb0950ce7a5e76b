from __future__ import annotations

import functools
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from auditing.tables import cohort, parts
from bonwise.auditing import comparison
from bonwise.auditing.front import audit
from bonwise.auditing.judge_metrics import panel_level_bias
from bonwise.auditing.settings import Settings
from bonwise.auditing.weighted_metrics import weighted_difference
from bonwise.estimates import estimate_records
from bonwise.stats import jackknife
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import under_method
from bonwise.stats.estimation import difference
from bonwise.stats.level_bias import level_bias_difference
from bonwise.stats.sums import prompt_sums

JUDGES = 5


def several_judges(n, judges=JUDGES, seed=3):
    """Return a table scored by several judges, each with noise of its own, in steps of 0.05."""
    first, rng = cohort(n, seed), np.random.default_rng(seed)
    tables = []
    for at in range(judges):
        weight = at / judges
        mixed = weight * first["oracle_label"] + (1 - weight) * rng.uniform(size=len(first))
        tables.append(first.assign(judge=f"j{at}", judge_score=(20 * mixed).round() / 20))
    return pd.concat(tables, ignore_index=True)


def with_gaps(frame):
    """Take a score from each of the first two judges, so that three judges have all prompts."""
    for at in (0, 1):
        frame.loc[(frame["judge"] == f"j{at}") & (frame["prompt_id"] == f"p{at:07d}"), "judge_score"] = np.nan
    return frame


def one_pair(first, second, settings):
    """Compare two judges with nothing shared: the sums and biases of their common prompts, for this pair alone."""
    left, right = first.labelling, second.labelling
    panels = [one.panel.keep(one.labelled) for one in (left, right)]
    left, right = (mine.keep(mine.prompt_ids.isin(theirs.prompt_ids)) for mine, theirs in (panels, reversed(panels)))
    sums = [prompt_sums(panel.scores, panel.labels, panel.sizes) for panel in (left, right)]
    rule, sample = settings.rule(left.labels), first.labelling.sample
    if sample is None:
        found, weights = difference(ESTIMANDS, *sums, rule), None
    else:
        sample = sample.keep(first.labelling.panel.prompt_ids.isin(second.labelling.panel.prompt_ids))
        found, weights = weighted_difference(ESTIMANDS, *sums, sample, rule), sample.weights[sample.labelled]
    biases = [panel_level_bias(panel, settings, weights) for panel in (left, right)]
    found["level_bias"] = level_bias_difference(*biases, settings.confidence)
    return estimate_records(under_method(found, "complete" if sample is None else "weighted"))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("options", [{}, {"interval": "bootstrap", "resamples": 50}, {"confidence": 0.8, "seed": 4}])
def test_what_is_computed_once_per_judge_gives_the_same_differences(options, gaps):
    """Every figure of every pair is that of the pair alone, to the last bit, whether or not prompts are missing."""
    frame = several_judges(120)
    found = audit(with_gaps(frame) if gaps else frame, **options)
    settings = Settings(**options)
    pairs = list(combinations(parts(found).judges.values(), 2))
    assert len(found.comparisons) == len(pairs) == JUDGES * (JUDGES - 1) // 2
    for (first, second), pair in zip(pairs, found.comparisons, strict=True):
        assert pair.differences == one_pair(first, second, settings), (first.judge, second.judge)


def test_a_sample_of_labels_gives_the_same_differences():
    """So it is where the labels are a sample of the prompts, each weighted by 1 / propensity."""
    frame = several_judges(160)
    drawn = {prompt: 0.25 if at % 2 else 0.5 for at, prompt in enumerate(sorted(set(frame["prompt_id"])))}
    frame["propensity"] = frame["prompt_id"].map(drawn)
    labelled = frame["prompt_id"].map({prompt: at % 4 == 0 or at % 8 == 1 for at, prompt in enumerate(drawn)})
    frame.loc[~labelled, "oracle_label"] = np.nan
    found = audit(frame)
    pairs = combinations(parts(found).judges.values(), 2)
    for (first, second), pair in zip(pairs, found.comparisons, strict=True):
        assert pair.differences["recovery"].method == "weighted"
        assert pair.differences == one_pair(first, second, Settings())


def test_many_prompts_are_worked_on_in_parts(monkeypatch):
    """Leaving prompts out in parts, the last of them short, gives the figures of the pair alone too."""
    monkeypatch.setattr(jackknife, "_CHUNK", 37)
    found = audit(several_judges(120))
    for (first, second), pair in zip(combinations(parts(found).judges.values(), 2), found.comparisons, strict=True):
        assert pair.differences == one_pair(first, second, Settings())


@pytest.mark.parametrize("judges", [2, 6])
def test_sums_and_biases_are_computed_once_per_judge(monkeypatch, judges):
    """A judge's sums do not depend on whom it is compared with; its level bias the audit has fitted before."""
    computed = {"prompt_sums": 0, "panel_level_bias": 0}

    def counted(name, function):
        @functools.wraps(function)
        def wrapped(*args):
            computed[name] += 1
            return function(*args)

        return wrapped

    for name in computed:
        monkeypatch.setattr(comparison, name, counted(name, getattr(comparison, name)))
    audit(several_judges(40, judges))
    assert computed == {"prompt_sums": judges, "panel_level_bias": 0}
