from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import parts, two_judges
from auditing.test_compare import HAND_LABELS, both, judged, line
from auditing.test_comparison import several_judges, with_gaps
from bonwise.auditing.front import audit
from bonwise.comparing.front import compare


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
        assert one.after[0] < one.before[0] < one.before[1] == one.after[1]
        assert one.after == [found.bounds(one.confidences.after)[0], found.high]


def test_simultaneous_intervals_hold_the_pointwise_ones(five):
    """Each is its own law's interval at a confidence between that of one and Bonferroni's."""
    for metric, one in five.choice.items():
        assert 0.95 < one.confidences.simultaneous < 1 - 0.05 / 5 + 0.002
        assert one.confidences.simultaneous < one.confidences.differences < 1 - 0.05 / 10 + 0.002
        for name, ends in one.simultaneous.items():
            alone = parts(five).judges[name].metrics[metric]
            assert ends[0] < alone.low < alone.high < ends[1]
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
        assert "Best of 5 judges by recovery: j4, 76% [66%, 82%] after the choice ([68%, 82%] before it)." in text
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
    many = audit(frame, interval="bootstrap", resamples=4000).choice["recovery"]
    assert many.reason is None
    assert many.after[0] < many.before[0]


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
    assert "Best of 2 sets of picks by recovery: second" in str(found)


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
