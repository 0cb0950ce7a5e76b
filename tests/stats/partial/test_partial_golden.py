from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bonwise.auditing.aipw import partial_estimates
from bonwise.auditing.weighted_metrics import weighted_estimates
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.partial.label_features import label_features
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import prompt_sums

GOLDEN = Path(__file__).parents[2] / "golden"


def rows():
    """Read the golden figures."""
    with (GOLDEN / "partial_labels.csv").open() as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


@pytest.fixture(scope="module")
def found():
    """Estimate from the golden table, by method."""
    table = pd.read_csv(GOLDEN / "partial_table.csv", comment="#")
    prompts = table.groupby("prompt")
    labelled, strata = prompts["label"].count().to_numpy() == 3, prompts["stratum"].first().to_numpy()
    sizes = np.full(len(labelled), 3)
    seen = table["label"].notna().to_numpy()
    scores, further = table["score"].to_numpy(), table["further"].to_numpy()
    sums = prompt_sums(scores[seen], table["label"].to_numpy()[seen], sizes[labelled])
    sample, rule = LabelSample.realised(labelled, strata), IntervalRule()
    alone, judged = (
        partial_estimates(sums, label_features(scores, sizes, others), sample, rule) for others in ((), (further,))
    )
    chosen = [e for e in ESTIMANDS if e.name in ("within_r", "kendall_tau")]
    assert (alone.fit.choice.name, judged.fit.choice.name) == ("labels only", "stand-in")
    return {
        "alone": alone.metrics,
        "further": judged.metrics,
        "weighted": weighted_estimates(chosen, sums, sample, rule),
    }


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['method']}-{row['metric']}")
def test_estimates_are_those_of_the_golden_table(found, row):
    """Estimate, standard error, degrees of freedom and both ends are those of a script that shares no code."""
    one = found[row["method"]][row["metric"]]
    figures = {name: getattr(one, name) for name in ("estimate", "se", "low", "high")}
    assert figures == {name: pytest.approx(float(row[name]), rel=1e-9, abs=1e-9) for name in figures}
    assert one.law.df == pytest.approx(float(row["df"]), rel=1e-9)


def test_the_golden_design_is_unequal():
    """Labelled prompts of the two strata stand for 3.6 and 1.33 prompts, so that forgotten weights show."""
    table = pd.read_csv(GOLDEN / "partial_table.csv", comment="#").drop_duplicates("prompt")
    shares = table.groupby("stratum")["label"].agg(lambda labels: labels.notna().mean())
    assert shares.tolist() == [10 / 36, 18 / 24]
