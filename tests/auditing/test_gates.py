"""Gates on metrics: met, not met or open, and as a report for a build server."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditing.rare_laws import drawn, laws
from auditing.tables import cohort, parts, table, two_judges
from bonwise.auditing.comparison import compare_judges
from bonwise.auditing.front import audit
from bonwise.auditing.junit import junit
from bonwise.errors import UsageError
from bonwise.printable import printable
from bonwise.stats import support
from bonwise.stats.laws import BoundedMeans
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.stats.support import _FurthestApart
from report.audits import audited, changed


@pytest.fixture(scope="module")
def found():
    """Audit 400 simulated prompts."""
    return audit(cohort(400))


def one_sided(found, metric):
    """Return the one-sided 95 % bounds of a metric: the ends of its two-sided 90 % interval."""
    return parts(found).judges["judge"].metrics[metric].bounds(0.9)


def gate(found, metric, value):
    """Check one gate."""
    (only,) = found.check({metric: value}).gates
    return only


@pytest.mark.parametrize("metric", ["recovery", "within_r", "tie_rate", "kendall_tau"])
def test_gates_are_decided_by_one_sided_bounds(found, metric):
    """A gate is met just below the one-sided lower bound, not met just above the upper, else inconclusive."""
    low, high = one_sided(found, metric)
    states = [gate(found, metric, value).state for value in (low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6)]
    assert states == ["met", "inconclusive", "inconclusive", "not met"]


def test_a_one_sided_bound_lies_inside_the_printed_interval(found):
    """A gate between the ends of the 90 and the 95 % interval is met, though the printed interval covers it."""
    printed, low = found["recovery"].low, one_sided(found, "recovery")[0]
    assert printed < low
    assert gate(found, "recovery", (printed + low) / 2).state == "met"


def test_gates_ask_the_same_at_any_confidence():
    """The confidence of the printed intervals does not move a gate."""
    narrow, wide = (audit(cohort(400), confidence=confidence) for confidence in (0.8, 0.99))
    assert gate(narrow, "recovery", 0.05) == gate(wide, "recovery", 0.05)


def test_more_labels_shrink_the_bound_to_the_gate(found):
    """Half the distance to the bound takes four times the prompts, so three times the labels on top."""
    low = one_sided(found, "value_judge")[0]
    estimate = found["value_judge"].estimate
    halfway = gate(found, "value_judge", (estimate + low) / 2)
    assert halfway.more_labels == pytest.approx(3 * 400 * 4, abs=1)
    assert halfway.more_prompts == pytest.approx(3 * 400, abs=1)
    words = f"about {halfway.more_prompts:,} more prompts ({halfway.more_labels:,} candidate labels) would decide"
    assert words in halfway.sentence


def test_more_labels_grow_towards_the_estimate(found):
    """The nearer the gate lies to the estimate the more labels are named, at the estimate none can be."""
    high, estimate = one_sided(found, "recovery")[1], found["recovery"].estimate
    needed = [gate(found, "recovery", estimate + share * (high - estimate)).more_labels for share in (0.9, 0.5, 0.2)]
    assert 1 <= needed[0] < needed[1] < needed[2]
    assert gate(found, "recovery", estimate).more_labels is None


def test_the_labels_named_would_decide(found):
    """A table with as many more labels as were named, alike in all else, settles the gate."""
    estimate = found["value_judge"].estimate
    value = estimate - 0.8 * (estimate - one_sided(found, "value_judge")[0])
    more = gate(found, "value_judge", value).more_labels
    larger = audit(cohort(400 + more // 4))
    shift = larger["value_judge"].estimate - estimate
    half = larger["value_judge"].estimate - one_sided(larger, "value_judge")[0]
    assert half == pytest.approx(estimate - value, rel=0.1)
    assert gate(larger, "value_judge", value + shift - 0.1 * half).state == "met"


def test_a_metric_without_labels_asks_for_none(found):
    """What needs no labels is decided by more prompts alone."""
    low, estimate = one_sided(found, "tie_rate")[0], found["tie_rate"].estimate
    halfway = gate(found, "tie_rate", (estimate + low) / 2)
    assert (halfway.more_labels, halfway.more_prompts) == (0, pytest.approx(3 * 400, abs=1))
    assert "more prompts (no labels)" in halfway.sentence


def test_more_prompts_than_the_table_holds_are_said():
    """Under a sample an open gate says where the unlabelled prompts of the table would not be enough."""
    frame = cohort(200)
    drawn = np.random.default_rng(3).permutation(frame["prompt_id"].unique())[:80]
    found = audit(
        frame.assign(oracle_label=frame["oracle_label"].where(frame["prompt_id"].isin(drawn))), design="uniform"
    )
    low, estimate = one_sided(found, "value_judge")[0], found["value_judge"].estimate
    sentence = gate(found, "value_judge", (low + 3 * estimate) / 4).sentence
    assert "more than the 120 unlabelled prompts of this table" in sentence
    assert "unlabelled" not in gate(found, "value_judge", (9 * low + estimate) / 10).sentence


def test_an_undefined_metric_settles_no_gate():
    """A metric without an estimate or an interval is inconclusive, with its reason in the sentence."""
    constant = audit(table([([0.5, 0.5], [1.0, 0.0]), ([0.5, 0.5], [0.4, 0.8])] * 5))
    undecided = gate(constant, "within_r", 0.1)
    assert (undecided.state, undecided.low, undecided.more_labels) == ("inconclusive", None, None)
    assert constant["within_r"].reason in undecided.sentence


def test_an_unknown_metric_is_refused(found):
    """A gate on a name that is not a metric names those there are."""
    with pytest.raises(UsageError, match=r"no metric named 'recall'.*recovery"):
        found.check({"recall": 0.5})


def test_every_judge_is_held_against_every_gate():
    """With two judges and two gates there are four outcomes, each with the judge's name."""
    found = audit(two_judges(200)).check({"recovery": -2, "tie_rate": 0.9}).gates
    assert {(gate.judge, gate.metric, gate.state) for gate in found} == {
        ("first", "recovery", "met"),
        ("first", "tie_rate", "not met"),
        ("second", "recovery", "met"),
        ("second", "tie_rate", "not met"),
    }


def skewed(right, wrong):
    """Make prompts of four of which the judge picks the only bad answer, or one of three good ones."""
    rows = []
    for x in range(right + wrong):
        bad = "a" if x >= right else "d"
        rows += [(f"p{x}", name, 0.9 if name == "a" else 0.1, 0.0 if name == bad else 1.0) for name in "abcd"]
    return pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])


@pytest.mark.parametrize("metric", ["gain", "recovery"])
def test_a_gate_at_0_is_met_or_not_met_where_both_agree(metric):
    """39 of 40 right pass, 30 of 40 wrong fail, and the sentence names z."""
    for frame, state in ((skewed(39, 1), "met"), (skewed(10, 30), "not met")):
        one = gate(audit(frame, keep_easy=["a", "d"]), metric, 0.0)
        assert one.state == state
        assert "labels dealt at random agree (z = " in one.sentence


def test_a_gate_at_0_that_only_t_decides_names_what_would():
    """Four bad answers in 24 prompts, none picked: t finds a gain, the deals need more prompts, which are named."""
    frame = skewed(24, 0)
    frame.loc[frame["prompt_id"].isin([f"p{x}" for x in range(20)]), "oracle_label"] = 1.0
    found = audit(frame, keep_easy=["d"])
    dealt = parts(found).judges["judge"].metrics["gain"].no_gain
    assert dealt.law.at(0.9)[0] > 0
    assert dealt.z < 1.645
    one = gate(found, "gain", 0.0)
    assert one.state == "inconclusive"
    assert one.low < 0 < dealt.law.at(0.9)[0]  # three picks of bad answers would take it below
    assert one.more_prompts >= 1
    assert "do not agree" in one.sentence


def test_a_gate_elsewhere_has_no_second_test():
    """A gate beside 0 is decided by its bound alone."""
    assert "dealt" not in gate(audit(skewed(39, 1), keep_easy=["a", "d"]), "gain", 0.001).sentence


AUDITED = audited()

ANY_TEXT = st.text(st.characters(), min_size=1, max_size=40)
"""Lone surrogates and control characters too."""


def gated(source, gates, **settings):
    """Audit, compare the audit with gates, and return its document."""
    found = audit(source, **settings)
    return found.check(gates)


def cases(document):
    """Render and parse back, and return the suites' root and its test cases."""
    root = ET.fromstring(junit(document).encode())  # noqa: S314 - of our own making
    return root, root.findall("./testsuite/testcase")


def test_each_gate_is_a_test_case_in_its_state():
    """A met gate has passed, one not met has failed, one not settled is an error, each with its sentence."""
    document = gated(cohort(60), {"global_r": 0.1, "within_r": 0.9, "recovery": 0.15})
    root, found = cases(document)
    outcomes = {case.get("name"): [part.tag for part in case if part.tag != "properties"] for case in found}
    assert outcomes == {"global_r > 0.1": ["system-out"], "within_r > 0.9": ["failure"], "recovery > 0.15": ["error"]}
    for case, gate in zip(found, document.gates, strict=True):
        said = case.find(outcomes[case.get("name")][0])
        assert said.text == gate.sentence
        assert said.get("message", gate.sentence) == gate.sentence
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")


def test_the_figures_stand_in_properties():
    """Estimate, bounds, prompts and the value of a gate are there as they are in the document."""
    document = gated(cohort(60), {"recovery": 0.15})
    (gate,), metric = document.gates, document["recovery"]
    _, (case,) = cases(document)
    told = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert told == {
        "value": "0.15",
        "estimate": str(metric.estimate),
        "one_sided_low": str(gate.low),
        "one_sided_high": str(gate.high),
        "n": "60",
        "method": "complete",
        "more_labels": str(gate.more_labels),
    }


def test_every_judge_has_its_own_test_cases():
    """With several judges a test case is told from the others by the judge, one that could not be audited too."""
    blank = cohort(60).assign(judge="blank", oracle_label=float("nan"), judge_score=float("nan"))
    document = gated(pd.concat([two_judges(60), blank]), {"recovery": 0.1, "within_r": 0.1})
    assert list(document.not_audited) == ["blank"]
    _, found = cases(document)
    assert [(case.get("classname"), case.get("name")) for case in found] == [
        (judge, f"{metric} > 0.1") for judge in ("first", "second", "blank") for metric in ("recovery", "within_r")
    ]
    assert [part.tag for part in found[-1]] == ["properties", "error"]
    for case in found[:-2]:
        metric = document.judges[case.get("classname")].metrics[case.get("name").split(" ")[0]]
        told = {one.get("name"): one.get("value") for one in case.iter("property")}
        assert (told["estimate"], told["n"], told["method"]) == (
            str(metric.estimate), str(metric.n), metric.method,
        )  # fmt: skip


@given(judge=ANY_TEXT, source=ANY_TEXT, sentence=ANY_TEXT)
def test_whatever_the_names_hold_it_is_xml(judge, source, sentence):
    """Control characters, surrogates, quotes and brackets in names and sentences leave XML 1.0 that says them."""
    gate = {"judge": judge, "metric": "recovery", "value": 0.2, "state": "not met", "low": None, "high": None}
    gate |= {"more_labels": None, "more_prompts": None, "sentence": sentence}
    document = changed(AUDITED, judge=judge, settings={"source": source}, gates=[gate])
    root, (case,) = cases(document)
    assert case.get("classname") == printable(judge)
    assert root.find("testsuite").get("name") == printable(source)
    assert case.find("failure").text == printable(sentence)


def test_a_reference_is_not_called_an_oracle():
    """Where a judge stands in for the oracle, the gate's name and sentence say so."""
    frame = two_judges(60).drop(columns="oracle_label")
    document = gated(frame, {"oracle_tie_rate": 0.99}, oracle="judge:second")
    assert "oracle" not in junit(document)
    assert "reference_tie_rate" in junit(document)


@pytest.mark.parametrize("value", [0.2, 1e-9, -3.0])
def test_names_of_gates_are_as_they_were_typed(value):
    """A gate is named by its metric and its value."""
    _, (case,) = cases(gated(table([([0, 1], [0, 1]), ([1, 0], [1, 0]), ([0, 1], [1, 0])]), {"recovery": value}))
    assert case.get("name") == f"recovery > {value:g}"


# B = M - R of each prompt: 1/2, 1/2, 0, 1 and 10; n_B = 12^2 / 101.5.
GAPS = [([1.0, 0.0], [1.0, 0.0]), ([0.0, 1.0], [3.0, 2.0]), ([0.0, 1.0], [1.0, 1.0]), ([0.0, 1.0], [0.0, 2.0])]
GAPS.append(([1.0, 0.0], [20.0, 0.0]))


def test_what_a_figure_rests_on_by_hand():
    """Gain and values share n_B, correlations rest on spreads of labels, rates count prompts."""
    found = audit(table(GAPS))
    assert found["gain"].effective_n == pytest.approx(144 / 101.5)
    assert found["gain"].effective_n == found["value_judge"].effective_n == found["value_oracle"].effective_n
    assert (
        found["top1_accuracy"].effective_n == 5
    )  # one prompt is half right, so the rate is worth at most its prompts
    # Labels lie 1, 1, 0, 2 and 20 apart.
    assert found["within_r"].effective_n == pytest.approx(24**2 / 406)
    assert found["tie_rate"].effective_n == 5
    assert found["level_bias"].effective_n is None
    assert "effective_n" not in found["level_bias"].to_dict()


def looped(scores, labels, side=1):
    """Return n_B, and what further losses, or wins, do to recovery, gain and value_judge, prompt by prompt."""
    parts = []
    for said, true in zip(scores, labels, strict=True):
        top = [label for score, label in zip(said, true, strict=True) if score == max(said)]
        parts.append((sum(top) / len(top), sum(true) / len(true), max(true), min(true)))
    gaps = [best - mean for _, mean, best, _ in parts]
    far = max(parts, key=lambda one: one[2] - one[0] if side > 0 else one[0] - one[3])
    wide = max(parts, key=lambda one: one[2] - one[3])
    seen = (far[2] - far[0] if side > 0 else far[0] - far[3]) >= (0.25 - 1e-9) * (wide[2] - wide[3])
    pick, mean, best = (far[0], far[1], far[2]) if seen else (wide[3 if side > 0 else 2], wide[1], wide[2])
    times, n = (1 if seen else 3), len(parts)
    gain, value = sum(one[0] - one[1] for one in parts), sum(one[0] for one in parts)
    return sum(gaps) ** 2 / sum(gap * gap for gap in gaps), {
        "recovery": (gain + times * (pick - mean)) / (sum(gaps) + times * (best - mean)),
        "gain": (gain + times * (pick - mean)) / (n + times),
        "value_judge": (value + times * pick) / (n + times),
    }


def tail_df(values):
    """Return the degrees of freedom that the kurtosis of values leaves their mean."""
    mean = sum(values) / len(values)
    square, fourth = (sum((value - mean) ** power for value in values) for power in (2, 4))
    return min(max(3.0, 3 * square**2 / fourth - 1 if fourth else math.inf), len(values) - 1)


@given(st.integers(0, 2**31), st.integers(5, 30), st.integers(2, 5))
def test_what_figures_rest_on_is_that_of_plain_loops(seed, n, candidates):
    """The count, every figure after further losses and wins, and intervals that reach there."""
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(0, 4, (n, candidates)), np.round(rng.standard_t(2, (n, candidates)) * 3, 3)
    (count, losses), (_, wins) = (looped(scores.tolist(), labels.tolist(), side) for side in (1, -1))
    metrics = parts(audit(table(list(zip(scores, labels, strict=True))))).judges["judge"].metrics
    for name in losses:
        figure = metrics[name]
        if figure.low is None:
            continue
        assert figure.support.count == pytest.approx(count)
        ends = figure.law.at(0.95)
        for confidence, own in ((0.95, ends), (0.9, figure.law.at(0.9))):
            reached = min(own[0], losses[name]), max(own[1], wins[name])
            assert figure.bounds(confidence) == pytest.approx(reached, rel=1e-9, abs=1e-9)
        assert (figure.low, figure.high) == figure.bounds(0.95)
        moved = (figure.low < ends[0] and "lower", figure.high > ends[1] and "upper")
        assert all((figure.moved or "").count(f"its {side} end") == 1 for side in moved if side)
        assert bool(figure.moved) == any(moved)
        if name != "recovery":
            means = [sum(pool) / candidates for pool in labels.tolist()]
            below = [mean - min(pool) for mean, pool in zip(means, labels.tolist(), strict=True)]
            room = [max(pool) - mean for mean, pool in zip(means, labels.tolist(), strict=True)]
            assert figure.law.df <= min(tail_df(below), tail_df(room)) + 1e-6


def test_an_interval_reaches_to_further_picks_by_hand(tmp_path):
    """Of 30 pools 10 allow a loss of 51, and none is lost: three would take the mean of 29 / 30 to (29 - 150) / 33.

    Turned round, none of ten wins of 51 is won. Where picks lose 20 of 50 here and there, one more such loss counts.
    """
    pools = [([1.0, 0.0], [1.0, -50.0]), ([1.0, 0.0], [1.0, 0.9]), ([1.0, 0.0], [0.9, 1.0])] * 10
    frame = table(pools)
    found = audit(frame, keep_easy=["c1"])
    assert found["value_judge"].low == pytest.approx((29 - 150) / 33)
    assert found["value_judge"].high < 29 / 30 + 0.1
    assert found["recovery"].low == pytest.approx((255 - 3 * 25.5) / (256 + 3 * 25.5))
    assert found["gain"].low < (255 - 3 * 25.5) / 33  # its scatter alone says more
    assert found["gain"].moved is None
    words = "its lower end is where 3 picks that lose as much as their pools allow, as none here did, would take it"
    for name in ("value_judge", "recovery"):
        assert found[name].moved == found.to_dict()["metrics"][name]["moved"] == words
    assert f"Interval of recovery: {words}." in " ".join(str(found).split())
    assert words in " ".join(found.to_text(full=True).split())
    found.to_html(tmp_path / "audit.html")
    assert words in (tmp_path / "audit.html").read_text("utf-8")
    turned = audit(frame.assign(oracle_label=-frame["oracle_label"]), keep_easy=["c1"])
    assert turned["value_judge"].high == pytest.approx(-found["value_judge"].low)
    assert turned["value_judge"].moved == words.replace("lower", "upper").replace("lose", "gain")
    losing = ([0.5, 1.0, 0.0], [20.0, 0.0, -30.0])
    seen = audit(table([losing] * 2 + [([1.0, 0.0, 0.0], [1.0, -50.0, 1.0])] * 28), keep_easy=["c0", "c1", "c2"])
    assert seen["value_judge"].moved is None
    assert parts(seen).judges["judge"].metrics["value_judge"].support.loss.shift() == pytest.approx(-28 / 30 / 31)


@given(st.integers(0, 2**31), st.integers(1, 40))
def test_weights_are_worth_equal_ones(seed, n):
    """Counts lie between 1 and n, do not depend on the unit, and equal weights count as many as they are."""
    weights = np.random.default_rng(seed).exponential(size=n)
    assert 1 - 1e-9 <= support.effective_count(weights) <= n + 1e-9
    assert support.effective_count(1e-12 * weights) == pytest.approx(support.effective_count(weights))
    assert support.effective_count(np.full(n, 0.1)) == n
    # Two prompts of one cluster that are alike count once.
    assert support.effective_count(np.tile([1.0, 3.0], 2), np.array([0, 1, 0, 1])) == pytest.approx(64 / 20 / 2)


def test_few_prompts_that_carry_a_figure_settle_nothing():
    """The first sentence of gate and verdict says so, on either side; enough more prompts are named."""
    frame = drawn("catastrophes", np.random.default_rng(2), 100)
    found = audit(frame)
    count = int(found["recovery"].effective_n)
    assert count < 20
    said = f"it rests on about {count} of 100 prompts, and a "
    assert found.verdict.level == "inconclusive"
    assert f"{said}verdict needs 20" in found.verdict.sentences[0]
    low, high = one_sided(found, "value_judge")
    for value in (low - 1, high + 1):
        one = gate(found, "value_judge", value)
        assert one.state == "inconclusive"
        assert f"{said}gate needs 30" in one.sentence
        assert 100 + one.more_prompts >= 100 * 30 / found["value_judge"].effective_n
    assert f"recovery rests on about {count} of 100 labelled prompts" in str(found)


def test_a_loss_that_no_pick_shows_keeps_a_gate_open():
    """Of 40 pools all allow a loss of 51 and no pick has lost it: three such losses would take the gain below.

    A gate that lies in the interval alone is not told of losses: the printed interval spans it either way.
    """
    frame = table([([1.0, 0.0], [1.0, -50.0]), ([1.0, 0.0], [1.5, -50.0])] * 20)
    found = audit(frame, keep_easy=["c1"])
    figure = parts(found).judges["judge"].metrics["gain"]
    assert found["gain"].effective_n > 20
    (two_sided, _), (low, _) = figure.support.own, figure.law.at(0.9)
    assert found["gain"].low < two_sided - 0.01 < two_sided < low < found["gain"].estimate
    for value, told in ((two_sided - 0.01, True), ((two_sided + low) / 2, False), (low + 0.01, False)):
        one = gate(found, "gain", value)
        assert one.state == "inconclusive"
        assert one.low == found["gain"].low
        words = "3 picks that lose as much as their pools allow, as none here did, would take it below"
        assert (words in one.sentence) == told
        assert one.more_prompts > 0
    assert gate(found, "gain", 5.0).state == "met"


def test_more_prompts_named_respect_every_floor():
    """At 8 prompts 12 more are needed at least, however far the interval is from the gate."""
    found = audit(table([([1.0, 0.0, 0.5], [1.0, x / 9, 0.5]) for x in range(8)]))
    for value in (0.3, 0.6, 0.9):
        one = gate(found, "within_r", value)
        if one.more_prompts is not None:
            assert one.more_prompts >= 12


THIN = {"catastrophes": 60, "zeros": 60, "grades": 60, "clustered": 40}
"""Tables of a law in the ordinary run."""


@pytest.mark.parametrize(
    ("law", "n", "tables"),
    [
        *((law, 100, tables) for law, tables in THIN.items()),
        *(pytest.param(law, n, 600, marks=pytest.mark.slow) for law in laws.LAWS for n in laws.SIZES),
    ],
)
def test_gates_at_the_truth_are_met_falsely_in_few_tables(law, n, tables):
    """At most 6 % (and three standard errors), and intervals hold; the power far below the truth is printed."""
    found = laws.measured(law, n, tables, draws=1)
    # Of 120 labels 2 % are rare in all but .98^120 of tables; nothing in the others tells of them.
    least = 1 - 0.98**120 if n == 30 and law in ("catastrophes", "wins") else 0.93
    for name in ("recovery", "gain", "value_judge", "top1_accuracy"):
        held = found.covered[name] + (tables - found.given[name] if name == "recovery" else 0)
        print(law, n, name, "held", held / tables)  # noqa: T201 - a coverage is to be seen
        assert held / tables >= least - 3 * (0.06 * 0.94 / tables) ** 0.5
    for name in laws.GATED:
        passed, power = (found.share(of, name) for of in (found.passed_at_truth, found.passed_half_way))
        print(law, n, name, "at the truth", passed, "power", power)  # noqa: T201 - a gate that never passes is to be seen
        assert passed <= 0.06 + 3 * (0.06 * 0.94 / tables) ** 0.5
    if law == "grades" and n == 100:
        assert found.share(found.passed_half_way, "recovery") >= 0.8
    if law == "catastrophes" and n == 100:
        assert not found.passed_at_truth["recovery"]


def blanked(frame, rng, share=0.15):
    """Return a table with a part of its labels blanked."""
    return frame.assign(oracle_label=frame["oracle_label"].where(rng.random(len(frame)) >= share))


def rare_ones(rng, prompts=300, ones=14):
    """Make prompts of four with a 1 in some, which the judge sees."""
    labels = np.zeros((prompts, 4))
    labels[np.arange(ones), rng.integers(0, 4, ones)] = 1.0
    scores = 2 * labels + rng.standard_normal(labels.shape)
    return table(list(zip(scores.tolist(), labels.tolist(), strict=True)))


@pytest.mark.parametrize("seed", range(3))
def test_blanked_labels_settle_nothing_that_all_labels_leave_open(seed):
    """One 1 in each of 14 of 300 prompts is worth 14; with 15 % of the labels blanked it is worth fewer."""
    rng = np.random.default_rng(seed)
    frame = rare_ones(rng)
    names = [f"c{i}" for i in range(4)]
    whole, some = audit(frame, keep_easy=names), audit(blanked(frame, rng), design="cells", keep_easy=names)
    assert whole["recovery"].effective_n == whole["gain"].effective_n == 14
    assert whole.verdict.level == some.verdict.level == "inconclusive"
    assert 4 < some["gain"].effective_n < 14
    for name in ("gain", "within_r"):
        assert gate(some, name, 0.0).state == "inconclusive"
    if some["recovery"].estimate is not None:
        said = f"it rests on about {int(some['recovery'].effective_n)} of"
        assert said in some.verdict.sentences[0]


@given(st.integers(0, 2**31), st.integers(20, 40))
def test_all_cells_labelled_are_worth_what_whole_prompts_are(seed, n):
    """The count from what prompts add to the mean is that of the prompts themselves, and so are further losses."""
    rng = np.random.default_rng(seed)
    scores, labels = rng.standard_normal((n, 3)), np.round(rng.standard_t(3, (n, 3)), 7)
    sums = Sums(*prompt_sums(scores.ravel(), labels.ravel(), np.full(n, 3)))
    room = sums.M - sums.R
    assert support.worth_of_mean(room, n) == pytest.approx(support.effective_count(room))
    top = scores == scores.max(axis=1, keepdims=True)
    seen = support.SeenPools.of(labels.ravel(), top.ravel(), np.full(n, 3))
    whole = support.FurtherPick.beyond(sums.J - sums.R, room, sums.R, labels.min(axis=1))
    assert [list(one) for one in seen.further] == [pytest.approx(list(one)) for one in whole]


def test_what_is_seen_of_pools_labelled_in_part_by_hand():
    """Pools with fewer than two labels are left out; a pick without a label shows neither a loss nor a win."""
    labels = np.array([1.0, np.nan, 3.0, np.nan, np.nan, 2.0, np.nan, 4.0, 0.0])
    top = np.array([True, False, False, True, False, False, True, False, False])
    seen = support.SeenPools.of(labels, top, np.array([3, 3, 3]))
    assert [values.tolist() for values in seen[1:]] == [[2.0, 2.0], [3.0, 4.0], [1.0, 0.0]]
    np.testing.assert_array_equal(seen.J, [1.0, np.nan])
    loss, win = seen.further
    assert (loss.gain, loss.times, win.gain, win.times) == (-1.0, 1, 2.0, 3)


def looped_capital(gains, least):
    """Return the mean over stakes of the capital that bets on each gain make."""
    total = 0.0
    for stake in range(1, 50):
        capital = 1.0
        for gain in gains:
            capital *= 1 + stake / 50 * gain / least
        total += capital / 49
    return total


@given(st.integers(0, 2**31), st.integers(2, 30))
def test_bounds_of_bets_are_where_the_capital_of_plain_loops_is_20(seed, n):
    """Of a recovery and of a mean: at each end 20 is reached, and a little inside it is not."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n, 3)).round(2)
    gain, room = labels[:, 0] - labels.mean(axis=1), labels.max(axis=1) - labels.mean(axis=1)
    low, high = BoundedMeans(gain, room, (-1.0, 1.0), (-np.inf, 1.0), ratio=True).at(0.9)
    for v, side in ((low, 1), (high, -1)):
        inside = v + side * 1e-6 * max(abs(v), 1)
        reached, not_reached = (
            looped_capital((side * (gain - one * room)).tolist(), max(one if side > 0 else 1 - one, 1.0))
            for one in (v, inside)
        )
        assert not_reached < 20
        assert reached >= 20 * (1 - 1e-9) or v == 1.0
    low, high = BoundedMeans(labels[:, 0], np.ones(n), (0.0, 1.0), (0.0, 1.0)).at(0.9)
    assert low == 0.0 or looped_capital((labels[:, 0] - low).tolist(), low) >= 20 * (1 - 1e-9)
    assert looped_capital((labels[:, 0] - low - 1e-6).tolist(), low + 1e-6) < 20
    assert high == 1.0 or looped_capital((high - labels[:, 0]).tolist(), 1 - high) >= 20 * (1 - 1e-9)


@pytest.mark.parametrize(
    ("law", "n", "tables"),
    [
        ("ones", 30, 40),
        *(
            pytest.param(law, n, 400, marks=pytest.mark.slow)
            for law in ("ones", "zeros", "binary", "arena")
            for n in (30, 100)
        ),
    ],
)
def test_bounded_gates_pass_in_no_more_tables_than_they_may(law, n, tables):
    """At the truth in at most 5 % and three standard errors, whatever the law."""
    found = laws.measured(
        law, n, tables, gate="bounded", draws=1, metrics=("recovery", "gain", "value_judge", "top1_accuracy")
    )
    print(law, n, found.passed_at_truth, found.passed_half_way)  # noqa: T201 - the measured figures
    assert max(found.passed_at_truth.values()) / tables <= 0.05 + 3 * (0.05 * 0.95 / tables) ** 0.5


def test_a_bounded_gate_says_what_decided_it():
    """The bound lies below that of the interval, the sentence names the test, and the document the setting."""
    usual, bounded = audit(cohort(400)), audit(cohort(400), gate="bounded")
    assert (usual.settings.gate, bounded.settings.gate) == (None, "bounded")
    one, other = (gate(found, "top1_accuracy", 0.2) for found in (usual, bounded))
    assert other.low != one.low
    assert "the one-sided 95% lower bound of the bounded test is" in other.sentence
    assert "bounded" not in one.sentence
    assert gate(bounded, "value_judge", 0.2).state == "met"


def test_bets_count_clusters_as_one():
    """Prompts of a cluster are one bet: four times the same prompts prove no more than they do once."""
    frame = cohort(60)
    frames = [frame.assign(prompt_id=frame["prompt_id"] + f"-{k}", cluster=frame["prompt_id"]) for k in range(4)]
    once, often = audit(frame, gate="bounded"), audit(pd.concat(frames), gate="bounded")
    ends = [gate(found, "value_judge", 0.2) for found in (once, often)]
    assert (ends[0].low, ends[0].high) == pytest.approx((ends[1].low, ends[1].high))


@pytest.mark.parametrize(
    ("frame", "asked", "words"),
    [
        (cohort(40).assign(oracle_label=lambda one: 5 * one["oracle_label"]), {}, "needs the range of the labels"),
        (cohort(40, unlabelled=10), {}, "labelled whole, all of them"),
        (cohort(40), {"gate": "strict"}, "no gate 'strict' .choose of default, bounded"),
    ],
)
def test_bounded_gates_are_refused_without_a_range(frame, asked, words):
    """One sentence that says what is missing and how to mend it."""
    with pytest.raises(UsageError, match=words):
        audit(frame, **{"gate": "bounded", **asked})


def test_a_correlation_has_no_bounded_gate():
    """It is no mean of picks."""
    with pytest.raises(UsageError, match=r"within_r has no bounded gate.*leave --gate bounded out"):
        audit(cohort(40), gate="bounded").check({"within_r": 0.1})


@pytest.mark.parametrize("size", [1e-150, 1e-90, 1e78, 1e99])
def test_labels_of_any_size_have_the_same_figures(size):
    """Powers of labels may leave the range of doubles, figures may not."""
    frame = drawn("grades", np.random.default_rng(1), 40)
    frame["oracle_label"] -= 3
    usual, sized = audit(frame), audit(frame.assign(oracle_label=frame["oracle_label"] * size))
    for name in ("recovery", "within_r", "global_r", "top1_accuracy"):
        for part in ("estimate", "low", "high", "effective_n"):
            assert getattr(sized[name], part) == pytest.approx(getattr(usual[name], part), rel=1e-6)
    assert gate(sized, "gain", 0.0).state == gate(usual, "gain", 0.0).state


def test_no_number_beyond_a_hundred_times_the_prompts_is_named(found):
    """A gate that near to the estimate lies at it."""
    estimate, high = found["recovery"].estimate, one_sided(found, "recovery")[1]
    near, farther = (gate(found, "recovery", estimate + share * (high - estimate)) for share in (0.09, 0.2))
    assert near.more_prompts is None
    assert "the estimate lies at the gate, so no number of labels can be named" in near.sentence
    assert farther.more_prompts <= 100 * 400


def apart_by(gains):
    """Return two judges of whose picks one is better by so much, prompt by prompt, on pools that allow 2."""
    rows = [([1.0, 0.0, 0.5], [max(gain, 0.0), max(-gain, 0.0), 2.0]) for gain in gains]
    frame = table(rows)
    return pd.concat([frame.assign(judge="a"), frame.assign(judge="b", judge_score=1 - frame["judge_score"])])


@pytest.mark.parametrize(
    ("gains", "ground"), [([0.5] * 30, ""), ([0.1, -0.2] * 15 + [2.0], "loss"), ([0.5] * 10, "count")]
)
def test_a_difference_rests_on_what_both_judges_do_and_on_further_losses(gains, ground):
    """Thirty alike settle it; where one prompt is most of it another one turned round undoes it; ten are few."""
    found = parts(audit(apart_by(gains), keep_easy=["c0", "c1", "c2"]))
    for order in (("a", "b"), ("b", "a")):
        judges = tuple(found.judges[name] for name in order)
        (pair,) = compare_judges(judges, found.settings).values()
        one = pair.differences["gain"]
        assert support.open_ground(one, 0.0) == ground
        if ground != "count":
            # One more prompt on which the two differ as much as they ever do, to either side.
            total, most = sum(gains) * (1 if order == ("a", "b") else -1), max(map(abs, gains))
            for side, further in ((-1, one.support.loss), (1, one.support.win)):
                moved = (total + side * most) / (len(gains) + 1)
                assert one.estimate + further.shift() == pytest.approx(moved, abs=1e-12)


@pytest.mark.parametrize(
    ("times", "told"),
    [(1, "one more prompt on which the two differ as much as they ever do here"), (3, "3 prompts on")],
)
def test_further_prompts_are_worth_what_they_would_add_by_hand(times, told):
    """Differing by .5 where the two are .1 apart, a prompt pulls the mean by .4 one way and .6 the other."""
    further = _FurthestApart(0.5, times, 0.2, 10.0, 30.0).on("gain", 0.1)
    assert (further["loss"].pull, further["win"].pull) == pytest.approx((0.4 * times, -0.6 * times))
    assert all(side.total == 30.0 and side.own == times and side.what.startswith(told) for side in further.values())


def test_a_difference_reaches_to_prompts_on_which_the_two_differ_as_never_here_by_hand():
    """Two judges differ by .5 or .4 on each of 30 pools that allow 50: three would take the difference across 0."""
    rows = [([1.0, 0.5, 0.0], [1.5, 1.0, -48.5]), ([1.0, 0.5, 0.0], [1.4, 1.0, -48.5])] * 15
    frame = table(rows)
    other = frame["judge_score"].replace({1.0: 0.5, 0.5: 1.0})
    both = pd.concat([frame.assign(judge="a"), frame.assign(judge="b", judge_score=other)])
    (compared,) = audit(both, keep_easy=["c0", "c1", "c2"]).comparisons
    apart = compared.differences["value_judge"]
    assert (apart.low, apart.high) == pytest.approx(((13.5 - 150) / 33, (13.5 + 150) / 33))
    assert apart.moved.count("3 prompts on which the two differ as much as a pool allows, as on none here,") == 2


def rows_of(text):
    """Return the heads of tables, and law and prompts of each row with the number of its cells."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(*row[:2], len(row)) if row[1].isdigit() else tuple(row) for row in cells]


def test_the_page_has_the_tables_of_the_script(capsys):
    """Three laws are measured on a few tables; every law and size has its row, as in docs/intervals.md."""
    assert laws.main(["--law", "zeros", "--law", "lost", "--n", "30", "--metric", "recovery", "--tables", "3"]) == 0
    assert "| zeros | 30 |" in capsys.readouterr().out
    runs = {(law, n): laws.Measured(3) for law in laws.LAWS for n in laws.SIZES}
    runs["clustered", 30] = laws.measured("clustered", 30, 3, draws=1)
    made = laws.law_table(runs)
    kept = laws.PAGE.read_text("utf-8").partition("<!-- laws -->")[2].partition("<!-- end -->")[0]
    assert len(laws.LAWS) == 16
    assert rows_of(kept) == rows_of(made)
    assert [line for line in kept.splitlines() if line.startswith("- ")] == [
        line for line in made.splitlines() if line.startswith("- ")
    ]
    assert laws.page("a\n<!-- laws -->\nold\n<!-- end -->\nb", made).count(made) == 1


def test_the_page_is_written_with_all_laws_alone(capsys):
    """A part of the laws would leave the page with a part of its rows."""
    with pytest.raises(SystemExit):
        laws.main(["--write", "--law", "zeros"])
    assert "leave --law, --n, --metric and --gate out" in capsys.readouterr().err
