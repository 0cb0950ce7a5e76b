"""The verdict on a judge: its levels by the figures, in any unit of the labels."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bonwise as bw
from auditing.tables import cohort, table, two_judges
from bonwise.auditing.front import audit
from bonwise.auditing.result import Thresholds
from bonwise.auditing.verdict import candidate_validity, judge_validity, pick_validity
from bonwise.errors import RowError, UsageError
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.correlation import heavy_tails
from bonwise.stats.estimand import Estimate
from bonwise.table.scales import Scale

NAMES = [*(e.name for e in ESTIMANDS), "level_bias"]


def interval(low, high):
    """Return an estimate in the middle of its interval."""
    return Estimate((low + high) / 2, low, high, (high - low) / 4, 100, "jackknife")


def verdict(target="best-of-n", thresholds=None, **metrics):
    """Judge figures of which only those named matter."""
    middling = dict.fromkeys(NAMES, interval(0.2, 0.6))
    return judge_validity(
        {**middling, **metrics},
        Thresholds.usual().override(thresholds or {}),
        target,
        against="the oracle labels",
        scope="",
    )


@pytest.mark.parametrize(
    ("recovery", "level"),
    [
        ((0.6, 0.9), "useful"),
        ((0.4, 0.6), "inconclusive"),  # covers the gate of .5
        ((0.1, 0.3), "weak"),
        ((-0.1, 0.3), "weak"),
        ((-0.1, 0.6), "inconclusive"),
        ((-0.4, -0.1), "harmful"),
    ],
)
def test_best_of_n_is_judged_by_recovery(recovery, level):
    """For picks within a prompt the level follows from where recovery's interval lies, whatever the correlation."""
    for correlation in ((0.9, 0.95), (0.0, 0.05)):
        assert verdict(recovery=interval(*recovery), global_r=interval(*correlation)).level == level


@pytest.mark.parametrize("end", ["low", "high"])
def test_an_interval_without_one_of_its_ends_decides_nothing(end):
    """Above the gate or not, a figure of which one bound is unknown leaves the verdict open."""
    for low, high in ((0.6, 0.9), (0.1, 0.3)):
        assert verdict(recovery=replace(interval(low, high), **{end: None})).level == "inconclusive"


@pytest.mark.parametrize(
    ("global_r", "bias", "level"),
    [
        ((0.5, 0.7), (0.0, 0.04), "useful"),
        ((0.1, 0.3), (0.0, 0.04), "weak"),
        ((0.5, 0.7), (0.06, 0.1), "weak"),
        ((0.3, 0.5), (0.0, 0.04), "inconclusive"),
        ((0.5, 0.7), (0.02, 0.08), "inconclusive"),
    ],
)
def test_systems_are_judged_by_correlation_and_level(global_r, bias, level):
    """For averages over prompts the level follows from global correlation and level bias, whatever recovery is."""
    for recovery in ((0.6, 0.9), (-0.4, -0.1)):
        metrics = {"global_r": interval(*global_r), "level_bias": interval(*bias), "recovery": interval(*recovery)}
        assert verdict("system", **metrics).level == level


NOT_SETTLED = "It is not settled whether this judge is useful for best-of-n: "
GAIN = "of what perfect picking would gain"
HARMFUL = "This judge is harmful for best-of-n:"
GATED = f"{GAIN}; the gate is 50%."


@pytest.mark.parametrize(
    ("metrics", "answer"),
    [
        ({"recovery": (0.6, 0.9)}, f"This judge is useful for best-of-n: it recovers 75% [60%, 90%] {GATED}"),
        ({"recovery": (0.08, 0.34)}, f"This judge is weak for best-of-n: it recovers 21% [8%, 34%] {GATED}"),
        ({"recovery": (0.3, 0.7)}, f"{NOT_SETTLED}it recovers 50% [30%, 70%] {GATED}"),
        ({"recovery": (-0.4, -0.1)}, f"{HARMFUL} it recovers -25% [-40%, -10%] {GAIN}, so random picks are better."),
    ],
)
def test_the_answer_comes_first_with_its_figure_and_gate(metrics, answer):
    """The first sentence says what the judge is for the decision, by which figure and against which gate."""
    found = verdict(**{name: interval(*ends) for name, ends in metrics.items()})
    assert found.sentences[0] == answer


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("denominator not distinguishable from 0", "because what perfect picking would gain may be 0"),
        (
            "unbounded: denominator not distinguishable from 0; the ratio itself is 0.3",
            "because what perfect picking",
        ),
        ("undefined: needs a prompt where labels differ", "because it needs a prompt where labels differ"),
        ("too few labels", "undefined: too few labels."),
    ],
)
def test_an_undefined_recovery_is_explained(reason, told):
    """Where there is no recovery the answer says why it is not settled."""
    found = verdict(recovery=Estimate.undefined(reason, 3))
    assert found.sentences[0].startswith(f"{NOT_SETTLED}recovery is undefined")
    assert told in found.sentences[0]


NOT_WITHIN = "These figures say nothing about picks within a prompt."
SYSTEMS = "for comparing systems:"
R, BIAS = ("its correlation with the oracle labels is", "after calibration the largest bias of a candidate's mean is")


@pytest.mark.parametrize(
    ("global_r", "bias", "answer"),
    [
        ((0.5, 0.7), (0.0, 0.04), f"This judge is useful {SYSTEMS} {R} 0.60 [0.50, 0.70]; the gate is 0.4."),
        ((0.1, 0.3), (0.0, 0.04), f"This judge is weak {SYSTEMS} {R} 0.20 [0.10, 0.30]; the gate is 0.4."),
        (
            (0.5, 0.7),
            (0.06, 0.1),
            f"This judge is weak {SYSTEMS} {BIAS} 0.080 [0.060, 0.100] label points; the gate is 0.05 label points.",
        ),
        (
            (0.3, 0.5),
            (0.0, 0.04),
            f"It is not settled whether this judge is useful {SYSTEMS} {R} 0.40 [0.30, 0.50]; the gate is 0.4.",
        ),
    ],
)
def test_the_answer_on_systems_has_the_figure_it_rests_on(global_r, bias, answer):
    """For averages over prompts the answer carries the correlation, or the bias where that decides."""
    found = verdict("system", global_r=interval(*global_r), level_bias=interval(*bias))
    assert found.sentences[0] == f"{answer} {NOT_WITHIN}"


def test_picks_and_labels_of_single_candidates_have_an_answer():
    """Logged picks are named as what picked; of single labels a question on systems has no answer."""
    metrics = dict.fromkeys(NAMES, interval(0.1, 0.3))
    picks = pick_validity(metrics, Thresholds.usual(), scope="Some.")
    assert picks.sentences[:2] == [f"What picked is weak for best-of-n: it recovers 20% [10%, 30%] {GATED}", "Some."]
    assert list(picks.of_checks()) == list(picks.checks)
    single = candidate_validity(metrics, Thresholds.usual(), "system", scope="Some.", bounds={"recovery": (-1, 1)})
    assert single.sentences[0].startswith(
        "It is not settled whether this judge is useful for comparing systems: labels"
    )


@pytest.mark.parametrize("scope", ["", "Only some."])
def test_four_kinds_of_validity_follow_in_order(scope):
    """Correlation, level, directional and decision validity each have a sentence and a check."""
    given = dict.fromkeys(NAMES, interval(0.2, 0.6))
    found = judge_validity(given, Thresholds.usual(), "best-of-n", against="the oracle labels", scope=scope)
    said = found.of_checks()
    assert list(found.checks) == list(said) == ["correlation", "level", "directional", "decision"]
    assert [*found.opening, *said.values()] == found.sentences
    assert found.opening[1:] == ([scope] if scope else [])
    starts = (
        "The correlation with the oracle labels over all cells",
        "After calibration",
        "The correlation",
        "The picks",
    )
    assert all(says.startswith(start) for says, start in zip(said.values(), starts, strict=True))
    assert "within prompts is" in said["directional"]


def test_sentences_are_short():
    """No sentence of a verdict has more than 25 words."""
    for target in ("best-of-n", "system"):
        for sentence in " ".join(audit(cohort(200), target=target).verdict.sentences).split(". "):
            assert len(re.sub(r"\[.*?\]", "x", sentence).split()) <= 25, sentence


@pytest.mark.parametrize(
    ("check", "metric", "gate"),
    [("correlation", "global_r", 0.4), ("directional", "within_r", 0.0), ("decision", "recovery", 0.5)],
)
def test_a_check_is_open_where_the_interval_covers_its_gate(check, metric, gate):
    """Above its gate a check passes, below it fails, and across it it is inconclusive; the sentence says which."""
    cases = [("pass", ", above", 0.1, 0.3), ("fail", ", below", -0.3, -0.1), ("inconclusive", "spans", -0.1, 0.1)]
    for state, word, low, high in cases:
        found = verdict(**{metric: interval(gate + low, gate + high)})
        assert found.checks[check] == state
        assert word in found.of_checks()[check].split(". ")[0]


def test_the_level_check_passes_below_its_gate():
    """Level validity is the one check that wants a small figure."""
    states = [verdict(level_bias=interval(*ends)).checks["level"] for ends in ((0, 0.04), (0.06, 0.1), (0.04, 0.06))]
    assert states == ["pass", "fail", "inconclusive"]


def test_thresholds_can_be_replaced():
    """A gate the user sets replaces the default and decides, and the settings repeat it."""
    strict = audit(cohort(400), thresholds={"global_r": 0.9, "recovery_useful": 0.9})
    lax = audit(cohort(400), thresholds={"global_r": 0.1, "recovery_useful": 0.01})
    assert (strict.verdict.checks["correlation"], strict.verdict.level) == ("fail", "weak")
    assert (lax.verdict.checks["correlation"], lax.verdict.level) == ("pass", "useful")
    assert lax.to_dict()["settings"]["thresholds"]["recovery_useful"] == 0.01


@pytest.mark.parametrize(
    "asked", [{"thresholds": {"recall": 0.5}}, {"target": "both"}, {"confidence": 95}, {"interval": "bca"}]
)
def test_unknown_settings_are_refused(asked):
    """A threshold, target, confidence or interval that does not exist is a usage error."""
    with pytest.raises(UsageError):
        audit(cohort(10), **asked)


@pytest.mark.parametrize("target", ["best-of-n", "system"])
@pytest.mark.parametrize("name", [*NAMES, None])
def test_undefined_metrics_do_not_stop_a_verdict(target, name):
    """Whichever metric is missing, or all of them, there is a verdict, and no sentence says None or nan."""
    gone = Estimate.undefined("undefined: needs more", 3)
    found = verdict(target, **({name: gone} if name else dict.fromkeys(NAMES, gone)))
    assert found.level in {"useful", "weak", "harmful", "random", "inconclusive"}
    assert not any(word in sentence for sentence in found.sentences for word in ("None", "nan"))
    assert name or set(found.checks.values()) == {"undefined"}


def test_a_judge_that_ties_everything_picks_at_random():
    """A constant judge is called random, in words."""
    found = audit(table([([0.5, 0.5], [1.0, 0.0]), ([0.5, 0.5], [0.4, 0.8])] * 5)).verdict
    assert found.level == "random"
    assert "random picks" in found.sentences[0]


@pytest.mark.parametrize("target", ["best-of-n", "system"])
def test_a_judge_as_reference_is_no_oracle(target):
    """Compared with another judge, no sentence speaks of an oracle, and one says with whom there is agreement."""
    found = audit(two_judges(200), oracle="judge:second", target=target)
    assert found.settings.reference == "second"
    text = " ".join(found.verdict.sentences).lower()
    assert "oracle" not in text
    assert "correlation with second" in text
    assert "picking by second" in text
    assert "perfect picking" not in text
    assert "label points" not in text
    assert "correlation with the oracle labels" in " ".join(audit(cohort(50)).verdict.sentences).lower()


def test_a_reference_must_be_one_of_the_judges():
    """An unknown reference is refused, and so is one that is not written judge:NAME."""
    for reference in ("judge:third", "second", "judge:"):
        with pytest.raises(UsageError):
            audit(two_judges(20), oracle=reference)


def test_variance_is_the_oracles_unless_a_judge_is_the_reference():
    """The share of variance between prompts is that of the oracle labels, or of the judge that stands in for them."""
    own = " ".join(audit(cohort(50)).verdict.sentences)
    assert "of the judge's and" in own
    assert "of that of the oracle labels" in own
    assert "reference" not in own
    assert "of that of second" in " ".join(audit(two_judges(50), oracle="judge:second").verdict.sentences)


@pytest.mark.parametrize("scope", ["", "Only some."])
@pytest.mark.parametrize(
    ("target", "metrics", "begins"),
    [
        ("best-of-n", {}, "The picks recover"),
        (
            "system",
            {"global_r": (0.5, 0.7), "level_bias": (0.0, 0.01)},
            "The correlation with the oracle labels over all cells is 0.60",
        ),
        (
            "system",
            {"global_r": (0.1, 0.3), "level_bias": (0.1, 0.2)},
            "The correlation with the oracle labels over all cells is 0.20",
        ),
        ("system", {"global_r": (0.5, 0.7), "level_bias": (0.1, 0.2)}, "After calibration"),
        ("system", {"global_r": (0.3, 0.5), "level_bias": (0.1, 0.2)}, "After calibration"),
        ("system", {"global_r": (0.5, 0.7), "level_bias": (0.0, 0.2)}, "After calibration"),
    ],
)
def test_the_deciding_sentence_is_marked(target, metrics, begins, scope):
    """The sentence that the level rests on is marked by its place, wherever the scope moves it."""
    middling = dict.fromkeys(NAMES, interval(0.2, 0.6))
    given = {**middling, **{name: interval(*ends) for name, ends in metrics.items()}}
    found = judge_validity(given, Thresholds.usual(), target, against="the oracle labels", scope=scope)
    assert found.sentences[found.to_dict()["deciding"]].startswith(begins)


def test_of_labels_of_single_candidates_what_decides_is_marked():
    """Best of n rests on recovery; of whole systems such labels say nothing, and the sentence says so."""
    metrics = dict.fromkeys(NAMES, interval(0.2, 0.6))
    for target, begins in (("best-of-n", "The picks recover"), ("system", "Correlation, level and directional")):
        found = candidate_validity(metrics, Thresholds.usual(), target, scope="Some.", bounds={"recovery": (-1, 1)})
        assert found.sentences[found.deciding].startswith(begins)


# The verdict does not depend on the unit of the labels; figures in label units say so.


def biased(bias, *, n=60, seed=4):
    """Return a table whose judge scores one candidate too high, by so much of the label scale."""
    frame = cohort(n, seed)
    noise = np.random.default_rng(seed).standard_normal(len(frame))
    score = frame["oracle_label"] + bias * (frame["candidate"] == frame["candidate"].iloc[0]) + 0.05 * noise
    return frame.assign(judge_score=-score.rank() + len(frame) if bias < 0 else score.rank() - 0.5 * len(frame))


def verdicts(frame, **asked):
    """Return level and checks for both targets."""
    found = [bw.audit(frame, target=target, **asked).verdict for target in ("best-of-n", "system")]
    return [(one.level, dict(one.checks)) for one in found]


@pytest.mark.parametrize("bias", [0.0, 0.08, 0.5])
def test_labels_times_100_give_the_same_verdict(bias):
    """Whether the level passes depends on the bias in units of the label scale, not on its unit."""
    frame = biased(bias)
    assert verdicts(frame.assign(oracle_label=100 * frame["oracle_label"])) == verdicts(frame)
    assert verdicts(frame)[0][1]["level"] == {0.0: "pass", 0.08: "inconclusive", 0.5: "fail"}[bias]


@given(
    scale=st.floats(0.01, 1e4),
    shift=st.sampled_from([0.0, -3.0, 20.0]),
    bias=st.sampled_from([0.0, 0.04, 0.08, 0.2]),
    seed=st.integers(0, 50),
)
@settings(max_examples=60)
def test_no_scale_of_the_labels_changes_a_verdict(scale, shift, bias, seed):
    """Labels stretched or shifted give the same levels and checks, for picks and for systems.

    But for those whose tails look heavy once nothing says that they lie in [0, 1].
    """
    frame = biased(bias, n=30, seed=seed)
    assume(not heavy_tails(frame["judge_score"].to_numpy(), 2 * frame["oracle_label"].to_numpy() + 1))
    assert verdicts(frame.assign(oracle_label=scale * frame["oracle_label"] + shift)) == verdicts(frame)


def test_the_sentence_states_the_threshold_in_label_points():
    """Of ratings from 1 to 5 the threshold is a twentieth of 4 points; of a declared scale, of the scale."""
    frame = biased(0.0)
    labels = 4 * (frame["oracle_label"] - frame["oracle_label"].min())
    ratings = frame.assign(oracle_label=1 + labels / (frame["oracle_label"].max() - frame["oracle_label"].min()))
    assert "0.2 label points (5% of their range)" in bw.audit(ratings).verdict.of_checks()["level"]
    declared = bw.audit(ratings, label_scale=Scale(1, 5)).verdict.of_checks()["level"]
    assert "0.05 label points." in declared


def test_labels_that_are_all_alike_have_a_threshold():
    """Without a range the threshold is as if the scale had width 1."""
    found = bw.audit(table([([0.1, 0.5, 0.9], [3, 3, 3])] * 30))
    assert found.verdict.checks["level"] == "pass"


def test_a_reference_judge_sets_the_scale():
    """With another judge as the reference the unit is the range of that judge's scores."""
    frame = biased(0.0)
    both = [frame.assign(judge="mine"), frame.assign(judge="other", judge_score=100 * frame["oracle_label"])]
    found = bw.audit(pd.concat(both, ignore_index=True).drop(columns="oracle_label"), oracle="judge:other")
    assert "score points (5% of their range)" in found.verdict.of_checks()["level"]


def test_scores_from_0_to_1_stand_beside_ratings():
    """Every metric is given, those of labels in label points, and the words say which unit is which."""
    frame = cohort(80)
    ratings = frame.assign(oracle_label=1 + (4 * frame["oracle_label"]).round())
    found, alike = bw.audit(ratings), bw.audit(ratings, label_scale=Scale(1, 5))
    for name in found.metrics:
        in_points = {"value_random": 4, "value_judge": 4, "value_oracle": 4, "gain": 4, "level_bias": 4}
        factor, shift = in_points.get(name, 0.25 if name == "attenuation" else 1), name.startswith("value_")
        assert found[name].estimate == pytest.approx(factor * alike[name].estimate + shift, abs=1e-9), name
    assert found.verdict.level == alike.verdict.level
    assert found.verdict.checks == alike.verdict.checks
    assert found.data.label_range == [ratings["oracle_label"].min(), 5]
    joined = " ".join(str(found).split())
    assert "both stay as they are. Values, gain and the level bias are in label points" in joined
    assert "score_range" not in alike.data
    assert "both stay as they are" not in str(alike)


def test_labels_from_0_to_1_beside_larger_scores_are_refused():
    """Labels or chances: both could be meant, so the message asks for the scales."""
    frame = cohort(30)
    with pytest.raises(RowError, match="another scale"):
        bw.audit(frame.assign(judge_score=100 * frame["judge_score"]))


def test_a_reference_on_another_scale_names_its_unit():
    """Beside a reference judge with ratings the unit is that judge's."""
    frame = cohort(40)
    both = [frame.assign(judge="mine"), frame.assign(judge="other", judge_score=1 + 4 * frame["oracle_label"])]
    found = bw.audit(pd.concat(both, ignore_index=True).drop(columns="oracle_label"), oracle="judge:other")
    joined = " ".join(str(found).split())
    assert "and the scores of other from" in joined
    assert "the level bias are in points of other; attenuation is in score points per point of other." in joined
