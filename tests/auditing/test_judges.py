"""Several judges in one audit: each by itself, compared on the same prompts, and names left out."""

from __future__ import annotations

import functools
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort, parts, two_judges
from bonwise.auditing import comparison, paired_columns
from bonwise.auditing.front import audit
from bonwise.auditing.judge_record import panel_level_bias
from bonwise.auditing.settings import Settings
from bonwise.auditing.weighted_metrics import weighted_difference
from bonwise.errors import UsageError
from bonwise.estimates import estimate_records
from bonwise.stats import jackknife, laws, support
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimand import under_method
from bonwise.stats.estimation import difference
from bonwise.stats.level_bias import level_bias_difference
from bonwise.stats.sums import prompt_sums
from bonwise.table import panel


def only(frame, judge, prompts=None):
    """Audit one judge of a table, on some of the prompts."""
    mine = frame[frame["judge"] == judge]
    return audit(mine if prompts is None else mine[mine["prompt_id"].isin(prompts)])


def test_each_judge_of_several_is_audited_as_if_alone():
    """Metrics and verdict of a judge do not depend on the others in the table."""
    frame = two_judges(150)
    both = audit(frame)
    for name in ("first", "second"):
        alone = only(frame, name)
        assert both.judges[name].metrics == alone.metrics
        assert both.judges[name].verdict == alone.verdict


def test_differences_are_those_of_the_separate_estimates():
    """Each paired difference is the first judge's metric minus the second's, on as many prompts."""
    (found,) = audit(two_judges(150)).comparisons
    alone = {name: only(two_judges(150), name) for name in ("first", "second")}
    assert (found.first, found.second, found.prompts) == ("first", "second", 150)
    for metric, e in found.differences.items():
        expected = alone["first"][metric].estimate - alone["second"][metric].estimate
        assert e.estimate == pytest.approx(expected, abs=1e-12), metric
        # The labels are the same for both judges, so what rests on them alone cannot differ.
        assert e.reason if e.low is None else e.low <= e.estimate <= e.high, metric


def test_level_biases_differ_within_both_their_errors():
    """The interval of a level-bias difference runs from end to end of the two intervals at half the error each."""
    found = audit(two_judges(150))
    first, second = (parts(found).judges[name].metrics["level_bias"].bounds(0.975) for name in ("first", "second"))
    e = found.comparisons[0].differences["level_bias"]
    assert (e.low, e.high) == pytest.approx((first[0] - second[1], first[1] - second[0]), abs=1e-12)


def test_pairing_is_worth_something():
    """The standard error of a paired difference is below that of two independent tables."""
    found = audit(two_judges(400))
    (comparison,) = found.comparisons
    for metric in ("value_judge", "global_r"):
        apart = np.hypot(*(found.judges[name].metrics[metric].se for name in ("first", "second")))
        assert comparison.differences[metric].se < 0.9 * apart


def test_a_judge_with_gaps_has_its_own_count():
    """Prompts that a judge was not asked are dropped for it alone; a comparison takes the common prompts."""
    frame = two_judges(150)
    for judge, prompt in (("second", "p0000003"), ("second", "p0000007"), ("first", "p0000011")):
        frame = frame[(frame["judge"] != judge) | (frame["prompt_id"] != prompt)]
    found = audit(frame)
    assert [found.judges[name].data["prompts"] for name in ("first", "second")] == [149, 148]
    reasons = {drop["prompt_id"]: drop["reason"] for drop in found.judges["second"].data["dropped"]}
    assert reasons == dict.fromkeys(["p0000003", "p0000007"], "not judged")
    (comparison,) = found.comparisons
    assert comparison.prompts == 147
    common = set(frame["prompt_id"]) - {"p0000003", "p0000007", "p0000011"}
    alone = [only(frame, name, common)["recovery"].estimate for name in ("first", "second")]
    assert comparison.differences["recovery"].estimate == pytest.approx(alone[0] - alone[1], abs=1e-12)


def test_one_missing_score_keeps_the_prompt():
    """A candidate without a score cannot be picked, as if it had the lowest one; its label stays."""
    frame, lowest = cohort(50), cohort(50)
    frame.loc[5, "judge_score"], lowest.loc[5, "judge_score"] = np.nan, -1.0
    found, expected = audit(frame), audit(lowest)
    assert found.data.dropped == []
    assert found.data.unscored.candidates == 1
    for name in ("recovery", "gain", "value_judge", "top1_accuracy", "hit_rate", "effective_agreement"):
        assert found[name].to_dict() == expected[name].to_dict()
    for name in ("value_random", "value_oracle", "oracle_tie_rate", "oracle_between_share"):
        assert found[name].to_dict() == audit(cohort(50))[name].to_dict()
    assert found["unscored_rate"].estimate == pytest.approx(1 / 200)


def test_identical_judges_do_not_differ():
    """A judge compared with its copy differs by exactly 0 in every metric."""
    first = cohort(100).assign(judge="a")
    (found,) = audit(pd.concat([first, first.assign(judge="b")])).comparisons
    for metric, e in found.differences.items():
        assert e.estimate == 0, metric
        assert e.low is None or e.low <= 0 <= e.high, metric


def test_a_better_judge_is_told_from_a_worse():
    """The judge that sees part of the label recovers more, and the paired interval excludes 0."""
    (found,) = audit(two_judges(1000)).comparisons
    assert found.differences["recovery"].high < 0


def test_every_pair_of_judges_is_compared():
    """Three judges make three comparisons, and their metrics must be asked of one judge by name."""
    frame = pd.concat([two_judges(60), cohort(60).assign(judge="third")])
    found = audit(frame)
    pairs = [(comparison.first, comparison.second) for comparison in found.comparisons]
    assert pairs == [("first", "second"), ("first", "third"), ("second", "third")]
    with pytest.raises(UsageError, match="3 judges"):
        found["recovery"]
    assert set(found.to_dict()["judges"]) == {"first", "second", "third"}


def test_judges_without_common_prompts_are_not_compared():
    """Judges that scored different prompts are audited side by side, and their comparison says it is empty."""
    frame = two_judges(40)
    early = frame["prompt_id"] < "p0000020"
    found = audit(frame[early == (frame["judge"] == "first")])
    assert [judge.data["prompts"] for judge in found.judges.values()] == [20, 20]
    (comparison,) = found.comparisons
    assert comparison.prompts == 0
    assert comparison.differences == {}
    assert "first" in str(found)


def test_a_judge_that_cannot_be_audited_does_not_end_the_audit_of_the_others():
    """A judge that scored nothing is listed with the reason, and the other one is audited."""
    frame = two_judges(40)
    blank = frame["judge"] == "second"
    found = audit(frame.assign(judge_score=frame["judge_score"].mask(blank)))
    assert list(found.judges) == ["first"]
    assert "scored no candidate" in found.not_audited["second"]
    assert found.to_dict()["not_audited"] == found.not_audited
    assert re.search(r"^Not audited$", str(found), re.MULTILINE)
    assert re.search(r"^second +'second' scored no candidate", str(found), re.MULTILINE)


def test_partly_labelled_comparisons_say_so():
    """Differences on a partly labelled table carry the method of the labelled prompts, and their count."""
    frame = two_judges(100)
    frame.loc[frame["prompt_id"] >= "p0000060", "oracle_label"] = np.nan
    (found,) = audit(frame).comparisons
    assert found.prompts == 60
    assert found.differences["recovery"].method == "labelled_only"


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
    """Take a prompt from each of the first two judges, so that three judges have all prompts."""
    for at in (0, 1):
        frame = frame[(frame["judge"] != f"j{at}") | (frame["prompt_id"] != f"p{at:07d}")]
    return frame


def nearly(found, wanted):
    """Tell whether the figures of a pair are the same but for rounding."""
    assert list(found) == list(wanted)
    for name, record in wanted.items():
        own, alone = found[name].to_dict(), record.to_dict()
        assert own.keys() == alone.keys(), name
        for key, value in alone.items():
            exact = value is None or isinstance(value, str)
            assert own[key] == (value if exact else pytest.approx(value, rel=1e-9, abs=1e-12)), (name, key)
    return True


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
    if sample is None and settings.interval == "default":
        biases = [panel_level_bias(panel, settings) for panel in panels]  # of all prompts of each judge
    found["level_bias"] = level_bias_difference(*biases, settings.confidence)
    found = support.of_difference(found, (first.metrics, second.metrics))
    return estimate_records(under_method(found, "complete" if sample is None else "weighted"))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("options", [{}, {"interval": "bootstrap", "resamples": 50}, {"confidence": 0.8, "seed": 4}])
def test_what_is_computed_once_per_judge_gives_the_same_differences(options, gaps):
    """Every figure of every pair is that of the pair alone, whether or not prompts are missing."""
    frame = several_judges(120)
    found = audit(with_gaps(frame) if gaps else frame, **options)
    settings = Settings(**options)
    pairs = list(combinations(parts(found).judges.values(), 2))
    assert len(found.comparisons) == len(pairs) == JUDGES * (JUDGES - 1) // 2
    for (first, second), pair in zip(pairs, found.comparisons, strict=True):
        assert nearly(pair.differences, one_pair(first, second, settings)), (first.judge, second.judge)


def levelled(seed):
    """Return six prompts of different levels, which two judges see more than what is better within them."""
    rng, first = np.random.default_rng([6, seed]), cohort(6, seed)
    level = np.repeat(rng.normal(size=6), len(first) // 6)
    scores = [
        weight * level + own * first["oracle_label"] + 0.5 * rng.normal(size=len(first))
        for weight, own in ((1.0, 0.6), (0.5, 1.5))
    ]
    labels, *scores = (
        (values - values.min()) / (values.max() - values.min())
        for values in (first["oracle_label"] + 0.3 * level, *scores)
    )
    first = first.assign(oracle_label=labels)
    return pd.concat([first.assign(judge=f"j{at}", judge_score=score) for at, score in enumerate(scores)])


def test_a_correlation_is_told_from_0_by_one_rule():
    """Inflation is withheld where Fisher's z does not tell global_r from 0, also where Student's t would."""
    by_rule = set()
    for seed in range(8):
        audited = audit(levelled(seed))
        first, second = parts(audited).judges.values()
        (pair,) = audited.comparisons
        figure, alone = pair.differences["inflation"], one_pair(first, second, Settings())["inflation"]
        assert (figure.estimate is None, figure.reason) == (alone.estimate is None, alone.reason), seed
        for law in (judge.metrics["global_r"].law for judge in (first, second)):
            student = laws.Student(law.estimate, law.se, law.df, (-1.0, 1.0))
            by_rule.add((law.at(0.95)[0] <= 0, student.at(0.95)[0] <= 0))
    assert (True, False) in by_rule


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
    monkeypatch.setattr(paired_columns, "_UNITS", 37)
    found = audit(with_gaps(several_judges(120)))
    for (first, second), pair in zip(combinations(parts(found).judges.values(), 2), found.comparisons, strict=True):
        assert nearly(pair.differences, one_pair(first, second, Settings()))


@pytest.mark.parametrize("judges", [2, 6])
def test_sums_and_biases_are_computed_once_per_judge(monkeypatch, judges):
    """A judge's sums do not depend on whom it is compared with; its level bias the audit has fitted before."""
    computed = {"of_scored": 0, "prompt_sums": 0, "panel_level_bias": 0}

    def counted(name, function):
        @functools.wraps(function)
        def wrapped(*args):
            computed[name] += 1
            return function(*args)

        return wrapped

    for module, name in ((panel.SumRows, "of_scored"), (panel, "prompt_sums"), (comparison, "panel_level_bias")):
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    audit(several_judges(40, judges))
    # Once by the audit, and once for all comparisons.
    assert computed == {"of_scored": judges, "prompt_sums": judges, "panel_level_bias": 0}


@pytest.fixture(scope="module")
def table():
    """Return pools with a candidate whose name is made of the names of others."""
    rows = [
        (f"p{p}", name, (p * 7 + at * 3) % 10 / 10, at % 3 / 2)
        for p in range(30)
        for at, name in enumerate(["a", "b", "ab", "x", "y"])
    ]
    return pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])


def pairs(table):
    """Return verdicts on the pair x and y of every prompt."""
    prompts = sorted(set(table["prompt_id"]))
    won = {"shown_first": [1, 0] * (len(prompts) // 2), "shown_second": [1, 1] * (len(prompts) // 2)}
    return pd.DataFrame({"prompt_id": prompts, "a": "x", "b": "y", **won})


@pytest.mark.parametrize(
    "of",
    [
        bw.audit,
        bw.route,
        bw.study_requirements,
        bw.study_calibration,
        lambda table, exclude: bw.study_label_strategy(table, verdicts=pairs(table), exclude=exclude),
        lambda table, exclude: bw.study_mix(table, control="x", exclude=exclude),
        lambda table, exclude: bw.draw_labels(table, labels=10, exclude=exclude),
    ],
)
def test_one_name_is_a_list_of_one(table, of):
    """A candidate to leave out is named alone or in a list; its letters are no names."""
    alone, listed = (of(table, exclude=given).to_dict()["settings"]["exclude"] for given in ("ab", ["ab"]))
    assert list(alone) == list(listed) == ["ab"]


def test_what_is_no_name_is_refused(table):
    """A number is no name of a candidate."""
    with pytest.raises(bw.errors.UsageError, match="exclude takes a name or several, not 3"):
        bw.audit(table, exclude=3)
