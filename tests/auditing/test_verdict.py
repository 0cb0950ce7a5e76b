from __future__ import annotations

import pytest

from auditing.tables import cohort, table, two_judges
from bonwise.auditing.audit import audit
from bonwise.auditing.thresholds import Thresholds
from bonwise.auditing.verdict import candidate_validity, judge_validity
from bonwise.errors import UsageError
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate

NAMES = [*(e.name for e in ESTIMANDS), "level_bias"]


def interval(low, high):
    """Return an estimate in the middle of its interval."""
    return Estimate((low + high) / 2, low, high, (high - low) / 4, 100, "jackknife")


def verdict(target="best-of-n", thresholds=None, **metrics):
    """Judge figures of which only those named matter."""
    middling = dict.fromkeys(NAMES, interval(0.2, 0.6))
    return judge_validity(
        {**middling, **metrics},
        Thresholds().override(thresholds or {}),
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


@pytest.mark.parametrize(("target", "words"), [("best-of-n", "best candidate of one prompt"), ("system", "systems")])
def test_the_target_is_named_first(target, words):
    """The first sentence names the decision the verdict is about."""
    found = audit(cohort(200), target=target).verdict
    assert found.target == target
    assert found.sentences[0].startswith("Decision target: ")
    assert words in found.sentences[0]


def test_four_kinds_of_validity_follow_in_order():
    """Correlation, level, directional and decision validity each have a sentence and a check."""
    found = audit(cohort(200)).verdict
    kinds = [sentence.split(" validity")[0].lower() for sentence in found.sentences[1:]]
    assert kinds == ["correlation", "level", "directional", "decision"]
    assert list(found.checks) == kinds


@pytest.mark.parametrize(
    ("check", "metric", "gate"),
    [("correlation", "global_r", 0.4), ("directional", "within_r", 0.0), ("decision", "recovery", 0.5)],
)
def test_a_check_is_open_where_the_interval_covers_its_gate(check, metric, gate):
    """Above its gate a check passes, below it fails, and across it it is inconclusive; the sentence says which."""
    cases = [("pass", "passes", 0.1, 0.3), ("fail", "fails", -0.3, -0.1), ("inconclusive", "inconclusive", -0.1, 0.1)]
    for state, word, low, high in cases:
        found = verdict(**{metric: interval(gate + low, gate + high)})
        assert found.checks[check] == state
        assert any(s.startswith(f"{check.capitalize()} validity: {word}") for s in found.sentences)


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
    """Held against another judge, no sentence speaks of an oracle, and one says with whom there is agreement."""
    found = audit(two_judges(200), oracle="judge:second", target=target)
    assert found.reference == "second"
    text = " ".join(found.verdict.sentences).lower()
    assert "oracle" not in text
    assert "agreement with second" in text
    assert "agreement with the oracle labels" in " ".join(audit(cohort(50)).verdict.sentences).lower()


def test_a_reference_must_be_one_of_the_judges():
    """An unknown reference is refused, and so is one that is not written judge:NAME."""
    for reference in ("judge:third", "second", "judge:"):
        with pytest.raises(UsageError):
            audit(two_judges(20), oracle=reference)


def test_variance_is_the_oracles_unless_a_judge_is_the_reference():
    """The share of variance between prompts is that of the oracle labels, or of the judge that stands in for them."""
    own = " ".join(audit(cohort(50)).verdict.sentences)
    assert "of the judge's variance and" in own
    assert "of that of the oracle labels" in own
    assert "reference" not in own
    assert "of that of second" in " ".join(audit(two_judges(50), oracle="judge:second").verdict.sentences)


@pytest.mark.parametrize("scope", ["", "Only some."])
@pytest.mark.parametrize(
    ("target", "metrics", "begins"),
    [
        ("best-of-n", {}, "Decision validity"),
        ("system", {"global_r": (0.5, 0.7), "level_bias": (0.0, 0.01)}, "Correlation validity: passes"),
        ("system", {"global_r": (0.1, 0.3), "level_bias": (0.1, 0.2)}, "Correlation validity: fails"),
        ("system", {"global_r": (0.5, 0.7), "level_bias": (0.1, 0.2)}, "Level validity: fails"),
        ("system", {"global_r": (0.3, 0.5), "level_bias": (0.1, 0.2)}, "Level validity: fails"),
        ("system", {"global_r": (0.5, 0.7), "level_bias": (0.0, 0.2)}, "Level validity: inconclusive"),
    ],
)
def test_the_deciding_sentence_is_marked(target, metrics, begins, scope):
    """The sentence that the level rests on is marked by its place, wherever the scope moves it."""
    middling = dict.fromkeys(NAMES, interval(0.2, 0.6))
    given = {**middling, **{name: interval(*ends) for name, ends in metrics.items()}}
    found = judge_validity(given, Thresholds(), target, against="the oracle labels", scope=scope)
    assert found.sentences[found.to_dict()["deciding"]].startswith(begins)


def test_of_labels_of_single_candidates_what_decides_is_marked():
    """Best of n rests on recovery; of whole systems such labels say nothing, and the sentence says so."""
    metrics = dict.fromkeys(NAMES, interval(0.2, 0.6))
    for target, begins in (("best-of-n", "Decision validity"), ("system", "Correlation, level and directional")):
        found = candidate_validity(metrics, Thresholds(), target, scope="Some.", bounds={"recovery": (-1, 1)})
        assert found.sentences[found.deciding].startswith(begins)
