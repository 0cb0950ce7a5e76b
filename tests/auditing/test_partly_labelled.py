"""A few prompts that lack some of their labels: left out of the estimates, and no gate rests on them."""

from __future__ import annotations

from itertools import product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bonwise as bw
from auditing.tables import table
from bonwise.auditing.gates import passes
from bonwise.auditing.partly_labelled import MissingLabels
from bonwise.auditing.settings import Settings
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import estimate
from bonwise.table.panel import lay_out
from bonwise.table.score_table import ScoreTable
from cli.commands import strict, typed

RIGHT = ([0.9, 0.1], [1.0, 0.0])
PARTLY = ([0.9, 0.1], [0.5, None])
GOLDEN = {
    "value_judge": (0.975, 0.975),
    "value_random": ((9.5 + 0.25) / 20, (9.5 + 0.75) / 20),
    "value_oracle": (19.5 / 20, 1.0),
    "gain": ((9.5 - 0.25) / 20, (9.5 + 0.25) / 20),
    "recovery": (9.25 / 9.75, 1.0),
    "hit_rate": (0.95, 1.0),
    "top1_accuracy": (0.95, 1.0),
}


def panel_of(prompts):
    """Return the panel of prompts of scores and labels."""
    (panel,) = lay_out(ScoreTable.from_frame(table(prompts)), shape="ragged")
    return panel


def noisy(n, seed, noise=0.3):
    """Return prompts of four candidates under a judge who sees the labels through noise."""
    rng = np.random.default_rng(seed)
    labels = rng.uniform(size=(n, 4))
    return [(list(s), list(o)) for s, o in zip(labels + noise * rng.standard_normal((n, 4)), labels, strict=True)]


def without(prompts, picked):
    """Return the prompts of which some lack the label of one candidate, by prompt."""
    return [
        (s, [None if at == picked.get(x) else one for at, one in enumerate(o)]) for x, (s, o) in enumerate(prompts)
    ]


def picks_lost(prompts, count):
    """Return the picks of the prompts that lost most, by prompt."""
    picked = [int(np.argmax(s)) for s, _ in prompts]
    lost = np.argsort([o[pick] - max(o) for (_, o), pick in zip(prompts, picked, strict=True)], kind="stable")
    return {int(x): picked[x] for x in lost[:count]}


@pytest.mark.parametrize("metric", GOLDEN)
def test_golden_bounds(metric):
    """One label of 20 prompts of two is missing, beside a pick worth .5: the ends that were computed by hand."""
    found = bw.audit(table([RIGHT] * 19 + [PARTLY]))
    assert found.bounds[metric] == pytest.approx(GOLDEN[metric], abs=1e-12)
    assert found[metric].n == 19
    assert [drop["reason"] for drop in found.data["dropped"]] == ["partly labelled"]


def plainly(prompts):
    """Compute the metrics of picks with loops over candidates."""
    found = {name: [] for name in ("J", "R", "M", "hit", "top")}
    for scores, labels in prompts:
        top = [at for at, score in enumerate(scores) if score == max(scores)]
        best = [at for at, label in enumerate(labels) if label == max(labels)]
        shared = len(set(top) & set(best))
        found["J"].append(fmean(labels[at] for at in top))
        found["R"].append(fmean(labels))
        found["M"].append(max(labels))
        found["hit"].append(shared / len(top))
        found["top"].append(shared / len(top) / len(best))
    J, R, M, hit, top = (fmean(values) for values in found.values())
    return {
        "value_judge": J,
        "value_random": R,
        "value_oracle": M,
        "gain": J - R,
        "recovery": (J - R) / (M - R),
        "hit_rate": hit,
        "top1_accuracy": top,
    }


LABEL = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@st.composite
def partly_labelled(draw):
    """Draw a prompt of two to four candidates of which one or two lack a label, and one has one."""
    size = draw(st.integers(2, 4))
    scores = draw(st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=size, max_size=size))
    labels = draw(st.lists(LABEL, min_size=size, max_size=size))
    lacking = draw(st.permutations(range(size)))[: draw(st.integers(1, min(2, size - 1)))]
    return scores, [None if at in lacking else one for at, one in enumerate(labels)]


def every_filling(prompt):
    """Yield a prompt with every combination of labels that matter: the ends, a half and those that are there."""
    scores, labels = prompt
    values = sorted({0.0, 0.5, 1.0} | {one for one in labels if one is not None})
    for filled in product(*([one] if one is not None else values for one in labels)):
        yield scores, list(filled)


GOOD, HARMFUL = ([0.9, 0.1, 0.5], [1.0, 0.0, 0.25]), ([0.1, 0.1, 0.1, 0.9], [1.0, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("others", [GOOD, HARMFUL], ids=["good", "harmful"])
@given(st.lists(partly_labelled(), min_size=1, max_size=2))
@example([([0.9, 0.1, 0.1], [0.5, None, None])])
@settings(max_examples=25)
def test_bounds_are_those_of_all_labels_that_could_be(others, prompts):
    """The ends of each metric are the least and the greatest over every labelling, found by trying them all."""
    whole = [others] * 9
    bounds = MissingLabels(panel_of(whole + prompts), Settings()).bounds
    tried = [plainly([*whole, *filled]) for filled in product(*map(every_filling, prompts))]
    assert set(bounds) == set(tried[0])
    for metric, ends in bounds.items():
        values = [one[metric] for one in tried]
        assert ends == pytest.approx((min(values), max(values)), abs=1e-9), metric


def test_labels_on_a_scale_of_their_own_are_bounded_by_those_that_are_there():
    """Labels from 1 to 5 whose scale is not declared: the missing one is taken anywhere between."""
    prompts = [([0.9, 0.1], [5.0, 1.0])] * 19 + [([0.9, 0.1], [None, 2.0])]
    found = bw.audit(table(prompts))
    assert found.bounds["value_judge"] == pytest.approx(((95 + 1) / 20, 5.0))
    assert "from 1 to 5" in found.verdict["sentences"][1]


@pytest.mark.parametrize(
    ("whole", "partly", "none", "method"),
    [
        (60, 3, 0, "complete"),
        (59, 4, 0, "labelled_only"),
        (19, 1, 1, "complete"),
        (57, 3, 3, "complete"),
        (57, 3, 4, "labelled_only"),
    ],
)
def test_up_to_five_percent_may_lack_some_labels(whole, partly, none, method):
    """3 of 63 are dropped and bounded, 4 of 63 are not; prompts without any label count by themselves."""
    blank = ([0.9, 0.1], [None, None])
    found = bw.audit(table([RIGHT] * whole + [PARTLY] * partly + [blank] * none))
    assert found["recovery"].method == method
    reasons = [drop["reason"] for drop in found.data["dropped"]]
    if method == "complete":
        assert sorted(reasons) == ["partly labelled"] * partly + ["unlabelled"] * none
    else:
        assert not reasons


def test_estimates_are_those_of_the_others():
    """The figures are those of an audit of the prompts labelled whole alone, intervals too."""
    prompts = noisy(60, 1)
    lacking = picks_lost(prompts, 3)
    found = bw.audit(table(without(prompts, lacking)))
    others = table(prompts)
    others = others[~others["prompt_id"].isin([f"p{x:03d}" for x in lacking])]
    assert found.metrics == bw.audit(others).metrics


def state_of(found, metric, value):
    """Return the state of one gate, and the gate."""
    (gate,) = found.check({metric: value}).gates
    return gate["state"], gate


def test_a_gate_is_met_where_the_labels_that_are_missing_cannot_change_it():
    """It is met by the bound with the missing labels at their worst, which lies below that of the labels there."""
    prompts = noisy(60, 2)
    found = bw.audit(table(without(prompts, picks_lost(prompts, 3))))
    state, gate = state_of(found, "recovery", 0.3)
    assert state == "met"
    assert gate["low"] < found["recovery"].low
    assert gate["sentence"].endswith("whatever the missing labels are.")
    assert state_of(found, "value_judge", 0.99)[0] == "not met"
    assert state_of(found, "gain", 0.0)[0] == "met"


def test_a_gate_that_missing_labels_could_change_is_open():
    """Between the bound of the labels that are there and that at the worst end a gate is inconclusive."""
    prompts = noisy(60, 2)
    found = bw.audit(table(without(prompts, picks_lost(prompts, 3))))
    low, high = (state_of(found, "recovery", value)[1] for value in (0.0, 0.999))
    plain = bw.audit(table([prompt for x, prompt in enumerate(prompts) if x not in picks_lost(prompts, 3)]))
    bounds = [state_of(plain, "recovery", value)[1] for value in (0.0, 0.999)]
    assert low["low"] < bounds[0]["low"]
    assert high["high"] >= bounds[1]["high"]
    between = (low["low"] + bounds[0]["low"]) / 2
    assert state_of(plain, "recovery", between)[0] == "met"
    state, gate = state_of(found, "recovery", between)
    assert (state, gate["more_prompts"]) == ("inconclusive", None)
    assert "whatever the missing labels are: these labels would decide" in gate["sentence"]
    assert bw.audit(table(without(prompts, {})), thresholds={"recovery_useful": 0.3}).verdict["level"] == "useful"


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_a_verdict_that_missing_labels_could_change_is_open(noise):
    """Useful or weak on the labels that are there, not settled with the others: the answer has the wider interval."""
    prompts = noisy(60, 4, noise)
    lacking = picks_lost(prompts, 3)
    plain = bw.audit(table([prompt for x, prompt in enumerate(prompts) if x not in lacking]))["recovery"]
    missing = MissingLabels(panel_of(without(prompts, lacking)), Settings())["recovery"]
    ends = (missing[0].low, plain.low) if noise < 1 else (plain.high, missing[1].high)
    assert ends[0] < ends[1]
    gate = fmean(ends)
    thresholds = {"recovery_useful": gate}
    others = table([prompt for x, prompt in enumerate(prompts) if x not in lacking])
    assert bw.audit(others, thresholds=thresholds).verdict["level"] == ("useful" if noise < 1 else "weak")
    found = bw.audit(table(without(prompts, lacking)), thresholds=thresholds)
    assert found.verdict["level"] == "inconclusive"
    assert found.verdict["checks"]["decision"] == "inconclusive"


def test_no_gate_is_passed_by_labels_that_are_lost_where_the_judge_fails():
    """Of 150 tables that lack the labels of their three worst picks, few pass a gate at the truth.

    The truth lies within the bounds of every full table; by the labels that are there alone, far more would pass.
    """
    every = plainly(noisy(20_000, 0))["recovery"]
    recovery = [e for e in ESTIMANDS if e.name == "recovery"]
    there = worst = 0
    for seed in range(1, 151):
        prompts = noisy(60, seed)
        lacking = picks_lost(prompts, 3)
        panel = panel_of(without(prompts, lacking))
        whole = panel.keep(panel.labelled_cells == panel.sizes)
        plain = estimate(recovery, whole.sums(), Settings().rule(whole.labels))["recovery"]
        low, high = MissingLabels(panel, Settings())["recovery"]
        assert low.estimate <= plainly(prompts)["recovery"] <= high.estimate
        there += passes(plain, every)
        worst += passes(low, every)
    assert worst / 150 <= 0.05
    assert there / 150 >= 0.2


def test_a_metric_without_bounds_is_decided_by_the_labels_that_are_there():
    """The correlation within prompts has no bounds: its gate is that of the prompts labelled whole."""
    prompts = noisy(60, 2)
    found = bw.audit(table(without(prompts, picks_lost(prompts, 3))))
    assert "within_r" not in found.bounds
    state, gate = state_of(found, "within_r", 0.2)
    assert state == "met"
    assert "missing" not in gate["sentence"]


def test_terminal_page_and_document_say_how_many(capsys, tmp_path):
    """How many were left out, and what they could change, stand in the text, on the page and in the JSON."""
    prompts = noisy(60, 2)
    scores, page = tmp_path / "s.csv", tmp_path / "a.html"
    table(without(prompts, picks_lost(prompts, 3))).to_csv(scores, index=False)
    done = typed(capsys, "audit", scores, "--json", "-", "--html", page, "--fail-under", "recovery=0.3")
    document = strict(done.out)
    assert done.code == 0
    assert set(document["bounds"]) == set(GOLDEN)
    assert document["gates"][0]["low"] < document["metrics"]["recovery"]["low"]
    says = document["verdict"]["sentences"][1]
    assert says.startswith("3 prompts lack some labels and are left out of the estimates: whatever these labels are")
    for text in (done.err, page.read_text("utf-8").replace("<wbr>", "")):
        assert says[:60] in " ".join(text.split())
    assert "Worst case over the missing labels" in page.read_text("utf-8")
