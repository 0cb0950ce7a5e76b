from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from auditing.tables import cohort, parts, two_judges
from bonwise.auditing.front import audit
from bonwise.errors import UsageError


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
    """A judge's prompts with missing scores are dropped for it alone; a comparison takes the common prompts."""
    frame = two_judges(150)
    for judge, prompt in (("second", "p0000003"), ("second", "p0000007"), ("first", "p0000011")):
        frame.loc[(frame["judge"] == judge) & (frame["prompt_id"] == prompt), "judge_score"] = np.nan
    found = audit(frame)
    assert [found.judges[name].data["prompts"] for name in ("first", "second")] == [149, 148]
    reasons = {drop["prompt_id"]: drop["reason"] for drop in found.judges["second"].data["dropped"]}
    assert reasons == dict.fromkeys(["p0000003", "p0000007"], "no score for c0, c1, c2, c3")
    (comparison,) = found.comparisons
    assert comparison.prompts == 147
    common = set(frame["prompt_id"]) - {"p0000003", "p0000007", "p0000011"}
    alone = [only(frame, name, common)["recovery"].estimate for name in ("first", "second")]
    assert comparison.differences["recovery"].estimate == pytest.approx(alone[0] - alone[1], abs=1e-12)


def test_one_missing_score_drops_the_prompt():
    """A prompt with a single blank score is no smaller pool: it is dropped and the candidate named."""
    frame = cohort(50)
    frame.loc[5, "judge_score"] = np.nan
    found = audit(frame)
    assert found.data.to_dict()["dropped"] == [{"prompt_id": "p0000001", "reason": "no score for c1"}]
    assert found.metrics == audit(cohort(50).drop(index=range(4, 8))).metrics


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
    """A judge that scored no prompt completely is listed with the reason, and the other one is audited."""
    frame = two_judges(40)
    blank = (frame["judge"] == "second") & (frame["candidate"] == "c0")
    found = audit(frame.assign(judge_score=frame["judge_score"].mask(blank)))
    assert list(found.judges) == ["first"]
    assert "no score for c0" in found.not_audited["second"]
    assert found.to_dict()["not_audited"] == found.not_audited
    assert re.search(r"^Not audited$", str(found), re.MULTILINE)
    assert re.search(r"^second +no prompt .*no score for c0", str(found), re.MULTILINE)


def test_partly_labelled_comparisons_say_so():
    """Differences on a partly labelled table carry the method of the labelled prompts, and their count."""
    frame = two_judges(100)
    frame.loc[frame["prompt_id"] >= "p0000060", "oracle_label"] = np.nan
    (found,) = audit(frame).comparisons
    assert found.prompts == 60
    assert found.differences["recovery"].method == "labelled_only"
