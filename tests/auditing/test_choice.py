"""The best of several judges: its intervals hold after the choice, and all of them at once."""

from __future__ import annotations

import json
from collections import Counter
from math import sqrt
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import bonwise as bw
from auditing.tables import parts, two_judges
from auditing.test_judges import several_judges, with_gaps
from bonwise.auditing import simultaneous
from bonwise.auditing.comparison import Compared, choices
from bonwise.auditing.front import audit
from bonwise.auditing.simultaneous import UnitInfluences, aligned, joint_confidence, pick_influences
from bonwise.comparing.front import compare
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.sums import Sums
from comparing.test_compare import HAND_LABELS, both, judged, line
from golden_tables import golden
from judge_laws import LAWS, sums_of, truth
from stats.nominal import clopper_pearson


@pytest.fixture(scope="module")
def five():
    """Audit five judges, the last of them the best."""
    return audit(several_judges(150))


def test_the_best_judge_is_named_with_an_interval_that_holds_after_the_choice(five):
    """Its lower end is lower than before the choice, its upper end the same."""
    for metric in ("recovery", "gain"):
        one, found = five.choice[metric], parts(five).judges["j4"].metrics[metric]
        assert one.best == ["j4"]
        assert (one.estimate, *one.before) == (found.estimate, found.low, found.high)
        # An end that further picks set is the same at every confidence.
        assert (one.after[0] < one.before[0]) == (found.moved is None)
        assert one.after[0] <= one.before[0] < one.before[1] == one.after[1]
        assert one.after == [found.bounds(one.confidences.after)[0], found.high]


def test_simultaneous_intervals_hold_the_pointwise_ones(five):
    """Each is its own law's interval at a confidence between that of one and Bonferroni's."""
    for metric, one in five.choice.items():
        assert 0.95 < one.confidences.simultaneous < 1 - 0.05 / 5 + 0.002
        assert one.confidences.simultaneous < one.confidences.differences < 1 - 0.05 / 10 + 0.002
        for name, ends in one.simultaneous.items():
            alone = parts(five).judges[name].metrics[metric]
            assert ends[0] < alone.low or alone.moved
            assert alone.low < alone.high < ends[1]
            assert tuple(ends) == alone.bounds(one.confidences.simultaneous)


def test_differences_are_the_best_less_the_others(five):
    """The paired differences of the audit, turned where the best was second, and wider."""
    one = five.choice["recovery"]
    pairs = {pair.first: pair.differences["recovery"] for pair in five.comparisons if pair.second == "j4"}
    assert [*one.differences] == ["j0", "j1", "j2", "j3"]
    for name, found in one.differences.items():
        assert found.estimate == -pairs[name].estimate
        assert found.interval[0] < -pairs[name].high < -pairs[name].low < found.interval[1]


def test_nothing_is_added_to_the_audit_of_one_judge():
    """There was no choice."""
    frame = several_judges(60)
    alone = audit(frame[frame["judge"] == "j4"])
    assert alone.choice == {}
    assert "choice" not in alone.to_dict()
    assert "after the choice" not in str(alone)


def test_documents_hold_the_choice_and_can_be_read_back(five, tmp_path):
    """As JSON, loaded, as text and as a page."""
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(five.to_dict()), encoding="utf-8")
    loaded = bw.load(path)
    assert loaded.choice["recovery"].best == ["j4"]
    assert loaded.choice["recovery"].after == five.choice["recovery"].after
    for text in (str(five), str(loaded)):
        assert "Best of 5 judges by recovery: j4, 76% [61%, 82%] after the choice ([61%, 82%] before it)." in text
        assert "Each of the 4 others is shown to be worse" in text
    five.to_html(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text("utf-8")
    assert "Differences from the best" in page
    assert "after the choice" in page


def test_judges_that_are_not_told_apart_are_named():
    """Six judges, three of them of nearly one quality."""
    rng, frame = np.random.default_rng(2), two_judges(80)
    first = frame[frame["judge"] == "first"]
    mixed = [0.5 * first["oracle_label"] + 0.5 * rng.uniform(size=len(first)) for _ in range(4)]
    table = pd.concat([first.assign(judge=f"j{k}", judge_score=one.round(2)) for k, one in enumerate(mixed)])
    found = audit(table)
    alike = [name for name, one in found.choice["recovery"].differences.items() if one.interval[0] <= 0]
    assert alike
    assert f"of the 3 others {'is' if len(alike) == 1 else 'are'} not shown to be worse: {alike[0]}" in str(found)


def test_equal_estimates_are_all_the_best():
    """No judge is chosen silently among equals; the interval spans theirs."""
    frame = two_judges(80)
    second = frame[frame["judge"] == "second"]
    found = audit(pd.concat([frame, second.assign(judge="copy")]))
    one = found.choice["recovery"]
    assert set(one.best) == {"second", "copy"}
    assert one.after[0] < one.before[0]
    other = next(iter({"second", "copy"} - {one.best[0]}))
    assert one.differences[other].estimate == 0
    assert "(2 have the same estimate)" in str(found)


def in_part(design):
    """Return a table of three judges, and what states how its labels came about."""
    frame = several_judges(300, judges=3)
    prompts = frame["prompt_id"].astype("category").cat.codes.to_numpy()
    rng = np.random.default_rng(8)
    if design == "uniform":
        frame.loc[rng.permutation(300)[prompts] < 150, "oracle_label"] = np.nan
    elif design == "propensity":
        chance = np.where(np.arange(300) % 2, 0.8, 0.4)
        frame["propensity"] = chance[prompts]
        frame.loc[(rng.random(300) > chance)[prompts], "oracle_label"] = np.nan
    elif design == "weighted":
        chance = np.where(np.arange(300) % 2, 0.8, 0.4)
        frame["propensity"] = chance[prompts]
        frame = frame[(rng.random(300) < chance)[prompts]]
    elif design == "cells":
        hidden = rng.random((300, 4)) < 0.2
        candidate = frame["candidate"].astype("category").cat.codes.to_numpy()
        frame.loc[hidden[prompts, candidate], "oracle_label"] = np.nan
    elif design == "clusters":
        frame["cluster"] = [f"g{code // 3}" for code in prompts]
    elif design == "some":
        frame.loc[prompts < 60, "oracle_label"] = np.nan
    return frame.reset_index(drop=True)


METHODS = {
    "uniform": "aipw",
    "propensity": "aipw",
    "weighted": "weighted",
    "cells": "cells",
    "clusters": "complete",
    "some": "labelled_only",
}


@pytest.mark.parametrize("design", METHODS)
def test_influences_are_those_of_the_standard_error(design):
    """Their sum of squares is the variance, whatever part of the labels is there."""
    found = audit(in_part(design), design=design if design in ("uniform", "cells") else None)
    for judge in parts(found).judges.values():
        assert judge.metrics["gain"].method == METHODS[design]
        for metric in ("gain", "recovery"):
            size = float(np.sqrt(np.sum(judge.influences.by_metric[metric] ** 2)))
            assert size == pytest.approx(judge.metrics[metric].se, rel=0.03), (design, metric)
        assert len(judge.influences.units) == len(judge.influences.by_metric["gain"])
    for one in found.choice.values():
        assert one.best == ["j2"]
        assert one.reason is None
        assert one.after[0] < one.before[0]
        assert set(one.simultaneous) == {"j0", "j1", "j2"}
        for apart in one.differences.values():
            assert apart.interval[0] < apart.estimate < apart.interval[1]


def test_copies_of_a_prompt_in_one_cluster_change_nothing():
    """A cluster is the unit, so three copies of every prompt say as much as one."""
    once = several_judges(60, judges=3)
    copies = [once.assign(prompt_id=once["prompt_id"] + f"-{k}", cluster=once["prompt_id"]) for k in range(3)]
    one, three = (audit(frame).choice["recovery"] for frame in (once, pd.concat(copies)))
    assert three.after == pytest.approx(one.after, abs=1e-6)
    assert three.confidences.simultaneous == pytest.approx(one.confidences.simultaneous, abs=1e-6)


def test_judges_that_scored_other_prompts_are_compared_too():
    """Each on its own prompts, the differences on common ones."""
    found = audit(with_gaps(several_judges(100)))
    one = found.choice["recovery"]
    assert len({len(judge.influences.units) for judge in parts(found).judges.values()}) > 1
    assert one.best == ["j4"]
    assert one.after is not None


def test_with_few_clusters_there_is_no_interval_after_the_choice_either():
    """Four clusters give no interval before it."""
    frame = several_judges(40, judges=2)
    frame["cluster"] = frame["prompt_id"].astype("category").cat.codes % 4
    one = audit(frame).choice["gain"]
    assert one.before is None
    assert one.after is None
    assert "an interval needs 5" in one.reason


def test_the_bootstrap_says_how_many_resamples_it_needs():
    """An end of such an interval would otherwise hang on one or two resamples."""
    frame = several_judges(80)
    few = audit(frame, interval="bootstrap", resamples=300)
    one = few.choice["recovery"]
    assert one.after is None
    assert one.before is not None
    assert "resamples of the bootstrap, and there are 300" in one.reason
    assert "no interval holds after it: intervals that hold together need" in " ".join(str(few).split())
    many = audit(frame, interval="bootstrap", resamples=4000).choice
    assert many["recovery"].reason is None
    assert many["gain"].after[0] < many["gain"].before[0]


def test_a_judge_without_an_estimate_is_not_compared():
    """Labels that hardly differ leave recovery undefined, and gain is compared alone."""
    frame = several_judges(40, judges=2)
    frame["oracle_label"] = 0.5
    frame.loc[frame["prompt_id"] == "p0000000", "oracle_label"] = [0.5, 0.4, 0.5, 0.6] * 2
    found = audit(frame)
    assert found.judges["j0"].metrics["recovery"].estimate is None
    assert [*found.choice] == ["gain"]
    assert "Best of 2 judges by gain" in str(found)


def test_two_sets_of_picks_have_a_choice(tmp_path):
    """First and second by name; a single difference is pointwise."""
    paths, _, labels = judged(tmp_path)
    found = compare(*paths, labels=labels)
    one = found.choice["recovery"]
    assert one.best == ["second"]
    assert one.after[0] < one.before[0] < one.after[1] == one.before[1]
    apart = found.differences["recovery"]
    assert one.differences["first"].interval == [-apart.high, -apart.low]
    assert found.to_dict()["choice"]["recovery"]["best"] == ["second"]
    assert "Best of 2 sets of picks by recovery: second" in found.to_text(full=True)


def test_picks_worth_the_same_are_both_the_best(tmp_path):
    """The same picks twice."""
    lines = [line(prompt, "a", 2) for prompt in "pqr"]
    found = compare(*both(tmp_path, lines, lines), labels=HAND_LABELS)
    assert found.choice["gain"].best == ["first", "second"]


def test_names_of_judges_are_escaped(tmp_path):
    """A name is text from a file."""
    frame = several_judges(60, judges=3)
    frame["judge"] = frame["judge"].replace({"j2": "<script>alert(1)</script>\x1b[31m"})
    found = audit(frame)
    assert "\x1b" not in str(found)
    found.to_html(tmp_path / "audit.html")
    assert "<script>alert(1)" not in (tmp_path / "audit.html").read_text("utf-8")


# How often intervals hold after the best of several judges was chosen.
# Judge k scores as the law does on a share of the prompts, and deals the same scores at random to the candidates of
# the others: its recovery and its gain are that share of the law's.


SEED = 20261123
PROMPTS = 200
FULL, THIN = 2000, 40
DRAWS = 4000
"""Behind the joint confidence of a simulated table: fewer than the package takes, for time's sake."""
LEAST = 0.93
CHOSEN = [e for e in ESTIMANDS if e.name in ("gain", "recovery")]
SHARES = {"equal": lambda judges: np.full(judges, 0.8), "unequal": lambda judges: np.linspace(0.3, 0.9, judges)}
CELLS = [
    (law, judges, kind) for law in ("arena", "binary", "likert", "graded") for judges in (2, 5, 20) for kind in SHARES
]


def several(law, shares, n, seed):
    """Draw prompts of a law with the scores of several judges."""
    rng = np.random.default_rng([SEED, len(shares), n, seed, *law.encode()])
    scores, labels = LAWS[law](rng, n)
    dealt = [rng.permuted(scores, axis=1) for _ in shares]
    seen = [rng.random((n, 1)) < share for share in shares]
    return [np.where(mask, scores, other) for mask, other in zip(seen, dealt, strict=True)], labels


def chosen(scores, labels, seed, clusters=None):
    """Choose among judges."""
    sums = {f"j{k}": sums_of(one, labels) for k, one in enumerate(scores)}
    inside = labels.min() >= 0 and labels.max() <= 1
    rule = IntervalRule(label_range=(0.0, 1.0) if inside else (-np.inf, np.inf), clusters=clusters)
    units = np.arange(len(labels)) if clusters is None else np.unique(clusters)
    compared = {}
    for name, matrix in sums.items():
        t = Sums(*matrix)
        influences = UnitInfluences(units, pick_influences(t.J - t.R, t.M - t.R, clusters))
        compared[name] = Compared(estimate(CHOSEN, matrix, rule), influences)
    known = {}

    def apart(first, second, metric):
        if (first, second) not in known:
            known[first, second] = difference(CHOSEN, sums[first], sums[second], rule)
        return known[first, second][metric]

    return choices(compared, apart, 0.95, seed=seed)


def holds(ends, value):
    """Tell whether an interval holds a value; an unbounded set, which has none, excludes no value."""
    return ends is None or ends[0] <= value <= ends[1]


def counted(found, true, hits):
    """Count what holds: the winner before and after the choice, all judges and all differences together."""
    for metric, one in found.items():
        if one.after is None:
            continue
        of, best = true[metric], one.best[0]
        hits[metric, "tables"] += 1
        hits[metric, "before"] += holds(one.before, of[best])
        hits[metric, "after"] += holds(one.after, of[best])
        hits[metric, "together"] += all(holds(ends, of[name]) for name, ends in one.simultaneous.items())
        hits[metric, "differences"] += all(
            holds(apart.interval, of[best] - of[name]) for name, apart in one.differences.items()
        )


def simulated(law, judges, kind, replications, n=PROMPTS):
    """Count what holds over many tables."""
    shares = SHARES[kind](judges)
    true = {m: {f"j{k}": share * truth(law)[m] for k, share in enumerate(shares)} for m in ("gain", "recovery")}
    hits = Counter()
    with mock.patch.object(simultaneous, "_DRAWS", DRAWS):
        for replication in range(replications):
            counted(chosen(*several(law, shares, n, replication), replication), true, hits)
    return hits


def told(hits):
    """Return coverages by metric."""
    return {
        metric: {what: round(float(hits[metric, what] / hits[metric, "tables"]), 3) for what in WHAT}
        for metric in ("recovery", "gain")
    }


WHAT = ("before", "after", "together", "differences")


@pytest.mark.slow
@pytest.mark.parametrize(("law", "judges", "kind"), CELLS)
def test_intervals_hold_after_the_choice(law, judges, kind):
    """The winner's value in 93 % of tables or more, and all judges and all differences together."""
    hits = simulated(law, judges, kind, FULL)
    print(law, judges, kind, told(hits))  # noqa: T201 - the measured table
    for metric in ("recovery", "gain"):
        tables = hits[metric, "tables"]
        assert tables > 0.9 * FULL
        for what in ("after", "together", "differences"):
            assert clopper_pearson(hits[metric, what], tables)[1] >= LEAST, (
                metric,
                what,
                hits[metric, what] / tables,
            )


def test_intervals_hold_after_the_choice_in_a_few_tables():
    """A thinned simulation; without care the best of 20 equal judges would be missed far more often."""
    hits = simulated("binary", 20, "equal", THIN)
    for metric in ("recovery", "gain"):
        for what in ("after", "together", "differences"):
            assert hits[metric, what] >= 0.85 * THIN, (metric, what)
        assert hits[metric, "before"] < hits[metric, "after"]


DESIGNS = {"uniform": 0.5, "cells": 0.8, "clusters": 1.0}


def table(law, shares, n, seed, design):
    """Lay judges out as a table of which some prompts, or some candidates, are labelled."""
    if design == "clusters":
        scores, labels = several(law, shares, n // 3, seed)
        scores, labels = [np.repeat(one, 3, axis=0) for one in scores], np.repeat(labels, 3, axis=0)
    else:
        scores, labels = several(law, shares, n, seed)
    rng, (prompts, size) = np.random.default_rng([SEED, seed]), labels.shape
    if design == "uniform":
        labels = np.where(rng.permutation(prompts)[:, None] < DESIGNS[design] * prompts, labels, np.nan)
    elif design == "cells":
        labels = np.where(rng.random(labels.shape) < DESIGNS[design], labels, np.nan)
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{x}" for x in range(prompts)], size),
            "candidate": np.tile([f"c{i}" for i in range(size)], prompts),
            "oracle_label": labels.ravel(),
        }
    )
    if design == "clusters":
        frame["cluster"] = np.repeat([f"g{x // 3}" for x in range(prompts)], size)
    return pd.concat([frame.assign(judge=f"j{k}", judge_score=one.ravel()) for k, one in enumerate(scores)])


def audited(law, judges, design, replications, n):
    """Count what holds over audits of tables with clusters, or with labels in part."""
    shares = SHARES["equal"](judges)
    true = {m: {f"j{k}": share * truth(law)[m] for k, share in enumerate(shares)} for m in ("gain", "recovery")}
    hits = Counter()
    for replication in range(replications):
        frame = table(law, shares, n, replication, design)
        found = audit(frame, design=None if design == "clusters" else design, seed=replication)
        counted(found.choice, true, hits)
    return hits


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_hold_after_the_choice_with_clusters_and_labels_in_part(design):
    """Five equal judges: three wordings of each prompt, half of the prompts labelled, four of five candidates."""
    hits = audited("binary", 5, design, 200, 300)
    print(design, told(hits))  # noqa: T201 - the measured table
    for metric in ("recovery", "gain"):
        for what in ("after", "together", "differences"):
            assert clopper_pearson(hits[metric, what], hits[metric, "tables"])[1] >= LEAST, (metric, what)


DRAWS_OF_SIMULTANEOUS = 200


def critical(confidence):
    """Return the critical value of the normal law."""
    return norm.ppf(0.5 + confidence / 2)


def correlated(estimates, correlation, units=400):
    """Return influences that have one correlation between every two, exactly."""
    rng = np.random.default_rng(7)
    basis, _ = np.linalg.qr(rng.standard_normal((units, estimates + 1)))
    return (sqrt(1 - correlation) * basis[:, 1:] + sqrt(correlation) * basis[:, :1]).T


KINDS = {"each": "simultaneous", "lower": "after", "differences": "differences"}
"""What holds, by the word of the table."""


@pytest.mark.parametrize("row", golden("simultaneous"), ids=lambda row: "-".join([*row.values()][:3]))
def test_critical_values_are_those_of_published_tables(row):
    """Dunnett's and Tukey's critical values, and those of independent estimates."""
    found = joint_confidence(correlated(int(row["estimates"]), float(row["correlation"])), 0.95)
    assert critical(found[KINDS[row["kind"]]]) == pytest.approx(float(row["critical"]), abs=0.04)


def test_estimates_that_vary_alike_are_one():
    """Copies of one judge need no wider interval; the draws leave a little of their own error."""
    alike = np.tile(np.random.default_rng(1).standard_normal(50), (20, 1))
    found = joint_confidence(alike, 0.95)
    assert found.simultaneous == pytest.approx(0.95, abs=0.005)
    assert found.after == pytest.approx(0.95, abs=0.005)
    assert found.differences == 0.95


def test_a_single_pair_has_its_pointwise_interval():
    """One difference is compared with nothing else."""
    assert joint_confidence(correlated(2, 0.3), 0.9).differences == 0.9


def test_an_estimate_that_nothing_moves_counts_as_independent():
    """Its bound for prompts that are all alike can fail on its own."""
    still = correlated(2, 0)
    still[1] = 0
    assert joint_confidence(still, 0.95).simultaneous == pytest.approx(0.95**0.5, abs=0.004)


def test_the_scale_of_the_influences_changes_nothing():
    """Only correlations count; the same seed gives the same draws."""
    some = correlated(4, 0.2)
    first, second = joint_confidence(some, 0.95, seed=3), joint_confidence(1000 * some, 0.95, seed=3)
    assert (first.simultaneous, first.after, first.differences) == pytest.approx(
        (second.simultaneous, second.after, second.differences), abs=1e-9
    )
    assert joint_confidence(some, 0.95, seed=4) != first


def by_loops(influences, confidence, seed):
    """Return the joint confidences with the covariance, its Cholesky factor and the maxima in plain loops."""
    count, units = len(influences), len(influences[0])
    covariance = [
        [sum(influences[k][u] * influences[j][u] for u in range(units)) for j in range(count)] for k in range(count)
    ]
    factor = [[0.0] * count for _ in range(count)]
    for k in range(count):
        for j in range(k + 1):
            rest = covariance[k][j] - sum(factor[k][i] * factor[j][i] for i in range(j))
            factor[k][j] = sqrt(rest) if j == k else rest / factor[j][j]
    normal = np.random.default_rng(seed).standard_normal((count, DRAWS_OF_SIMULTANEOUS))
    each, lower, apart = [], [], []
    for draw in range(DRAWS_OF_SIMULTANEOUS):
        error = [sum(factor[k][j] * normal[j][draw] for j in range(k + 1)) for k in range(count)]
        z = [error[k] / sqrt(covariance[k][k]) for k in range(count)]
        each.append(max(abs(one) for one in z))
        lower.append(max(z))
        spread = [
            abs(error[k] - error[j]) / sqrt(covariance[k][k] + covariance[j][j] - 2 * covariance[k][j])
            for k in range(count)
            for j in range(k)
        ]
        apart.append(max(spread))
    tail = (1 - confidence) / 2
    quantiles = (np.quantile(each, confidence), np.quantile(lower, 1 - tail), np.quantile(apart, confidence))
    return [max(2 * norm.cdf(c) - 1, confidence) for c in quantiles]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(3, 5), st.integers(8, 20), st.sampled_from([0.8, 0.9, 0.95]), st.integers(0, 2**16), st.floats(0.1, 3)
)
def test_joint_confidence_has_a_twin_in_plain_loops(count, units, confidence, seed, spread):
    """The triangular factor by QR is the Cholesky factor of the covariance."""
    rng = np.random.default_rng(seed)
    influences = rng.standard_normal((count, units)) + spread * rng.standard_normal(units)
    with mock.patch.object(simultaneous, "_DRAWS", DRAWS_OF_SIMULTANEOUS):
        found = joint_confidence(influences, confidence, seed=seed)
    expected = by_loops(influences.tolist(), confidence, seed)
    assert [found.simultaneous, found.after, found.differences] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**16), st.booleans(), st.booleans())
def test_influences_have_a_twin_in_plain_loops(prompts, seed, clustered, weighted):
    """Gain and recovery move by what a prompt adds to their linear approximation."""
    rng = np.random.default_rng(seed)
    gains, possible = rng.normal(size=prompts), rng.uniform(0.1, 1, prompts)
    weights = rng.uniform(0.5, 2, prompts) if weighted else np.ones(prompts)
    clusters = rng.integers(0, 3, prompts) if clustered else np.arange(prompts)
    found = pick_influences(gains, possible, clusters if clustered else None, weights if weighted else None)
    total = sum(weights)
    gain = sum(w * g for w, g in zip(weights, gains, strict=True)) / total
    room = sum(w * p for w, p in zip(weights, possible, strict=True)) / total
    expected = {"gain": {}, "recovery": {}}
    for g, p, w, cluster in zip(gains, possible, weights, clusters, strict=True):
        parts = {"gain": w * (g - gain) / total, "recovery": w * (g - gain / room * p) / room / total}
        for name, part in parts.items():
            expected[name][cluster] = expected[name].get(cluster, 0.0) + part
    for name, by_cluster in expected.items():
        assert found[name].tolist() == pytest.approx([by_cluster[c] for c in sorted(by_cluster)], abs=1e-12)


def test_judges_on_other_prompts_are_aligned_by_prompt():
    """Names of prompts, in whatever order, and judges that share none of them."""
    values = ({"gain": np.array([1.0, 2.0])}, {"gain": np.array([3.0, 4.0])}, {"gain": np.array([5.0])})
    units = (["a", "b"], ["b", "c"], ["d"])
    judges = [
        UnitInfluences(np.array(names, dtype=object), found) for names, found in zip(units, values, strict=True)
    ]
    assert aligned(judges, "gain").tolist() == [[1, 2, 0, 0], [0, 3, 4, 0], [0, 0, 0, 5]]


def test_without_anything_to_gain_recovery_has_no_influence():
    """Labels that are equal in each prompt leave nothing to recover."""
    assert [*pick_influences(np.zeros(3), np.zeros(3))] == ["gain"]
