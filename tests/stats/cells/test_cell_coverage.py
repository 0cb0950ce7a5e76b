"""Intervals from every labelled cell hold the truth, and are narrower than those of prompts labelled whole."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from bonwise.auditing.cell_figures import cell_figures
from bonwise.auditing.cell_table import CellTable
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from golden_tables import golden
from judge_laws import LAWS, sums_of, truth
from stats.nominal import clopper_pearson

SEED = 20261123
FIGURES = ("recovery", "gain", "value_oracle", "hit_rate", "value_judge", "value_random", "within_r")
GOLDEN = {(row["law"], float(row["rate"]), row["figure"]): row for row in golden("cell_coverage")}
OWN = [("graded", 0.7), ("skewed", 0.7)]
"""Laws that the table of the prototype does not have."""

WHOLE = [e for e in ESTIMANDS if e.name in FIGURES]
BOUNDED = ("recovery", "hit_rate", "value_oracle", "value_judge", "value_random")
FULL = 2000
FROM_CELLS = 1000
"""Tables behind a golden coverage."""


def unequal(law, figure):
    """Tell what holds less often than it says: a correlation whose prompts differ by a lognormal spread."""
    return law == "hetero" and figure == "within_r"


def at_random(rng, scores, rate):
    """Return one chance for all."""
    return np.full(scores.shape, rate)


def in_bunches(rng, scores, _rate):
    """Return a chance of 85 % or of 25 % for all candidates of a prompt."""
    return np.where(rng.random((len(scores), 1)) < 0.5, 0.85, 0.25) * np.ones_like(scores)


def by_score(rng, scores, rate):
    """Return chances of 10 to 97 %: more for the highest score of a prompt, and for high scores."""
    top = scores == scores.max(1, keepdims=True)
    return np.clip(rate - 0.1 + 0.2 * top + 0.15 * (scores - scores.mean()) / scores.std(), 0.1, 0.97)


def measured(law, rate, replications, n=600, chances=at_random, **stated):
    """Return, by figure, how many intervals hold the truth, and the median width over that of whole prompts.

    ``known=True`` states the chances of the candidates, ``fitted=True`` that they follow from scores.
    """
    known = stated.pop("known", False)
    truths, K = truth(law), LAWS[law](np.random.default_rng(0), 2)[0].shape[1]
    rule = IntervalRule(label_range=(-np.inf, np.inf) if law in {"hetero", "lognormal", "skewed"} else (0.0, 1.0))
    held, widths = Counter(), defaultdict(list)
    rng = np.random.default_rng([SEED, list(LAWS).index(law), int(100 * rate)])
    for _ in range(replications):
        scores, labels = LAWS[law](rng, n)
        chance = chances(rng, scores, rate)
        seen = rng.random(labels.shape) < chance
        more = {"propensities": chance.ravel()} if known else stated
        table = CellTable(np.full(n, K), scores.ravel(), np.where(seen, labels, np.nan).ravel(), **more)
        found = cell_figures(table, rule).metrics
        complete = seen.all(1)
        whole = estimate(WHOLE, sums_of(scores[complete], labels[complete]), rule) if complete.sum() > 3 else {}
        for name in FIGURES:
            one, other = found[name], whole.get(name)
            held[name] += one.low is None or one.low <= truths[name] <= one.high
            if one.low is not None and other is not None and other.low is not None:
                widths[name].append((one.high - one.low) / (other.high - other.low))
    return held, {name: float(np.median(ratios)) for name, ratios in widths.items()}


def assert_held(law, rate, replications, n=600):
    """Fail where an interval is shown to hold in fewer than 93 % of tables, or off the golden table."""
    held, widths = measured(law, rate, replications, n)
    print(law, rate, {name: (held[name] / replications, round(widths[name], 2)) for name in FIGURES})  # noqa: T201
    for name in FIGURES:
        if unequal(law, name):
            continue
        assert clopper_pearson(held[name], replications)[1] >= 0.93, (name, held[name])
        known = GOLDEN.get((law, rate, name))
        if known is not None:
            share = float(known["coverage"])
            error = np.sqrt(share * (1 - share) * (1 / FROM_CELLS + 1 / replications))
            over = held[name] / replications - share
            # Means between two ends, and a recovery near 1, have wider intervals than the prototype gave them.
            assert over >= -3.5 * error, name
            assert over <= 3.5 * error or name in BOUNDED, name
            if n == 600:
                assert widths[name] == pytest.approx(float(known["width"]), rel=0.15), name


@pytest.mark.parametrize(("law", "rate"), [("arena", 0.7), ("likert", 0.5), ("skewed", 0.7)])
def test_intervals_from_cells_hold_the_truth(law, rate):
    """Over 100 tables of 200 prompts no interval is shown to hold in fewer than 93 % of tables."""
    assert_held(law, rate, 100, n=200)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "rate"), [*dict.fromkeys((law, rate) for law, rate, _ in GOLDEN), *OWN])
def test_coverage_from_cells(law, rate):
    """Over 2,000 tables of 600 prompts coverage and width are those of the prototype."""
    assert_held(law, rate, FULL)


DRAWN = {
    "bunches": (in_bunches, {}, ("recovery", "gain", "value_oracle")),
    "known chances": (by_score, {"known": True}, ("recovery", "gain", "value_judge", "value_random", "within_r")),
    "fitted chances": (by_score, {"fitted": True}, ("recovery", "gain", "value_judge", "value_random")),
}
"""How labels came about, what is stated of it, and the figures that are then to hold."""


def assert_drawn_held(law, drawn, replications, n=600):
    """Fail where an interval is shown to hold in fewer than 92 % of tables."""
    chances, stated, names = DRAWN[drawn]
    held, _ = measured(law, 0.7, replications, n, chances, **stated)
    print(law, drawn, {name: held[name] / replications for name in names})  # noqa: T201 - the measured figures
    for name in names:
        assert clopper_pearson(held[name], replications)[1] >= 0.92, (name, held[name])


@pytest.mark.parametrize("drawn", DRAWN)
def test_labels_that_come_in_other_ways_hold_the_truth(drawn):
    """Bunches need no statement; chances that follow the scores do, and intervals then hold."""
    assert_drawn_held("likert", drawn, 60, n=200)


def test_prompts_labelled_whole_miss_where_labels_follow_scores():
    """What the statement is for: without it the value of a random pick is off."""
    rng, missed = np.random.default_rng(SEED), 0
    for _ in range(40):
        scores, labels = LAWS["likert"](rng, 300)
        complete = (rng.random(labels.shape) < by_score(rng, scores, 0.7)).all(1)
        found = estimate(WHOLE, sums_of(scores[complete], labels[complete]), IntervalRule(label_range=(0.0, 1.0)))
        one = found["value_random"]
        missed += not one.low <= truth("likert")["value_random"] <= one.high
    assert missed > 30


@pytest.mark.slow
@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize("law", ["arena", "binary", "likert"])
def test_coverage_of_labels_that_come_in_other_ways(law, drawn):
    """The same over 1,000 tables of 600 prompts."""
    assert_drawn_held(law, drawn, 1000)
