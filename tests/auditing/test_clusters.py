from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort, two_judges
from bonwise.errors import InputError, UsageError
from bonwise.testing import simulate


def grouped(frame, size=3):
    """Put prompts into clusters, `size` to each."""
    return frame.assign(cluster=frame["prompt_id"].astype("category").cat.codes // size)


def test_clusters_are_the_units_of_every_interval():
    """Copies of a prompt in one cluster leave every interval as wide as without them; apart they narrow it."""
    frame = cohort(120)
    copies = frame.assign(prompt_id=frame["prompt_id"] + " again")
    both = pd.concat([frame, copies], ignore_index=True)
    together = bw.audit(both.assign(group=both["prompt_id"].str.removesuffix(" again")), columns={"cluster": "group"})
    alone, apart = bw.audit(frame), bw.audit(both)
    for name in ("gain", "recovery", "within_r", "value_judge", "hit_rate", "global_r"):
        one, other = together[name], alone[name]
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9), name
        assert apart[name].high - apart[name].low < 0.8 * (one.high - one.low), name
    assert together.check({"gain": 0}).gates[0].state == alone.check({"gain": 0}).gates[0].state
    assert together.judges["judge"].data.clusters.clusters == 120


def test_differences_of_judges_take_clusters():
    """The difference of two judges is as uncertain as without the copies of a cluster."""
    frame = two_judges(100)
    both = pd.concat([frame, frame.assign(prompt_id=frame["prompt_id"] + " again")], ignore_index=True)
    group = both["prompt_id"].str.removesuffix(" again")
    found, alone = bw.audit(both.assign(cluster=group)), bw.audit(frame)
    mine, theirs = (one.comparisons[0].differences["gain"] for one in (found, alone))
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize("design", ["uniform", "cells"])
def test_partial_labels_take_clusters(design):
    """Estimates from a sample of labels are wider by cluster than by prompt where clusters resemble each other."""
    frame = cohort(80)
    both = pd.concat([frame.assign(prompt_id=frame["prompt_id"] + f" {k}") for k in "_ab"], ignore_index=True)
    keys = both["prompt_id"] if design == "uniform" else both["prompt_id"] + both["candidate"]
    chosen = np.random.default_rng(3).permutation(keys.unique())[: int(0.7 * keys.nunique())]
    both["oracle_label"] = both["oracle_label"].where(keys.isin(chosen))
    group = both["prompt_id"].str.replace(" [_ab]$", "", regex=True)
    found, apart = bw.audit(both.assign(cluster=group), design=design), bw.audit(both, design=design)
    for name in ("gain", "value_judge", "within_r"):
        assert found[name].high - found[name].low > 1.2 * (apart[name].high - apart[name].low), name


def test_few_clusters_are_told_and_too_few_settle_nothing():
    """Below 20, 10 and 5 clusters the data say so; below 5 there is no interval and every gate is open."""
    frame = cohort(60)
    notes = {}
    for size in (3, 4, 8, 16):
        found = bw.audit(grouped(frame, size))
        notes[size] = found.judges["judge"].data.clusters.notes
    assert notes[3] == []
    assert notes[4][0].startswith("Few clusters (15): intervals rest")
    assert notes[8][0].startswith("Few clusters (8): intervals of within_r")
    assert notes[16][0].startswith("Too few clusters")
    assert found["gain"].low is None
    assert found.check({"gain": 0}).gates[0].state == "inconclusive"
    assert "Too few clusters" in str(found)


def test_a_large_cluster_is_told():
    """A cluster with more than a third of the prompts is named with its size."""
    frame = cohort(60)
    code = frame["prompt_id"].astype("category").cat.codes
    found = bw.audit(frame.assign(cluster=np.where(code < 25, 0, code)))
    assert "One cluster holds 25 of 60 prompts" in str(found)


def test_a_prompt_in_two_clusters_is_refused():
    """The row, the prompt and both clusters are named."""
    frame = cohort(10)
    frame = frame.assign(cluster=np.where(np.arange(len(frame)) == 1, "b", "a"))
    with pytest.raises(InputError, match=r"row 1: .* is in cluster 'b' and in 'a'"):
        bw.audit(frame)


def test_a_blank_cluster_is_refused():
    """Every prompt has a cluster where there is a column of them."""
    frame = grouped(cohort(10)).astype({"cluster": object})
    frame.loc[4, "cluster"] = None
    with pytest.raises(InputError, match="row 4: no cluster"):
        bw.audit(frame)


@pytest.mark.parametrize("asked", [{"question": "precision", "half_width": 0.2}, {"question": "significance"}])
def test_the_stopping_rules_count_clusters(asked):
    """Copies of a prompt in one cluster leave the interval as it is after as many clusters; apart they narrow it."""
    frame = simulate("arena", n=400, seed=3).frame()
    both = pd.concat([frame, frame.assign(prompt_id=frame["prompt_id"] + " again")]).sort_index(kind="stable")
    group = both["prompt_id"].str.removesuffix(" again")
    alone, together = bw.monitor(frame, **asked), bw.monitor(both.assign(cluster=group), **asked)
    assert (together.now.n, alone.now.n, together.data.clusters) == (800, 400, 400)
    # The sequence is narrowest after 400 prompts, here 200 clusters.
    reach = {"abs": 1e-9} if asked["question"] == "precision" else {"rel": 0.1}
    assert (together.now.low, together.now.high) == pytest.approx((alone.now.low, alone.now.high), **reach)
    apart = bw.monitor(both, **asked)
    assert apart.now.high - apart.now.low < 0.85 * (together.now.high - together.now.low)
    assert "the rule rests on 400 clusters" in str(together)


def test_few_clusters_are_too_early_for_a_look():
    """60 prompts of 20 clusters are no first look, and the look says why."""
    found = bw.monitor(grouped(cohort(60)), question="precision", half_width=0.1)
    assert (found.verdict, found.now.low) == ("continue", None)
    assert "before there are 30 clusters: so far there are 20" in found.now.reason


@pytest.mark.parametrize(
    "ask",
    [
        bw.compare_designs,
        bw.route,
    ],
)
def test_what_takes_prompts_one_by_one_refuses_clusters(ask):
    """Commands without a rule for clusters say so and are not silently wrong."""
    with pytest.raises(UsageError, match="puts prompts into clusters"):
        ask(grouped(cohort(60)))


@pytest.fixture
def apart():
    """Scores, and labels that name the cluster of each prompt."""
    frame = grouped(cohort(60)).rename(columns={"cluster": "topic"})
    return frame.drop(columns=["oracle_label", "topic"]), frame[["prompt_id", "candidate", "oracle_label", "topic"]]


def test_clusters_may_stand_in_the_label_file(apart):
    """Named there they are those of a table that holds both."""
    scores, labels = apart
    columns = {"cluster": "topic"}
    found = bw.audit(scores, labels=labels, columns=columns)
    whole = bw.audit(scores.merge(labels), columns=columns)
    assert (found["gain"].low, found["gain"].high) == (whole["gain"].low, whole["gain"].high)
    assert found.judges["judge"].data.clusters.clusters == 20


def test_clusters_in_both_files_are_refused(apart):
    """Nobody is to guess which counts."""
    scores, labels = (frame.assign(cluster="a") for frame in apart)
    with pytest.raises(InputError, match="both name clusters"):
        bw.audit(scores, labels=labels)


def test_a_label_file_without_some_clusters_is_refused(apart):
    """Every prompt has one: the first that lacks it is named."""
    scores, labels = apart
    with pytest.raises(InputError, match="have no cluster, such as"):
        bw.audit(scores, labels=labels.iloc[4:], columns={"cluster": "topic"})


def test_a_cluster_column_in_neither_file_is_named(apart):
    """The label file is the last place to look."""
    scores, labels = apart
    with pytest.raises(InputError, match="no column named 'theme' for cluster"):
        bw.audit(scores, labels=labels, columns={"cluster": "theme"})


def test_picks_take_the_clusters_of_their_labels(tmp_path):
    """Two picks files are compared by the clusters that the label file names: copies in one cluster add nothing."""
    rng = np.random.default_rng(5)
    kept, labels = {"first": [], "second": []}, []
    for at in range(40):
        values = rng.random(3).round(2).tolist()
        picks = {name: "abc"[int(rng.integers(3))] for name in kept}
        for copy in "xy":
            prompt = f"{at}{copy}"
            for name, best in picks.items():
                kept[name].append({"prompt_id": prompt, "ids": list("abc"), "best": best})
            labels += [(prompt, name, value, at) for name, value in zip("abc", values, strict=True)]
    files = [tmp_path / f"{name}.jsonl" for name in kept]
    for path, lines in zip(files, kept.values(), strict=True):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = pd.DataFrame(labels, columns=["prompt_id", "candidate", "oracle_label", "cluster"])
    both = bw.compare(*files, labels=table)
    once = bw.compare(*files, labels=table[table["prompt_id"].str.endswith("x")].drop(columns="cluster"))
    for name in ("gain", "value_judge"):
        mine, alone = (found.differences[name] for found in (both, once))
        assert (mine.low, mine.high) == pytest.approx((alone.low, alone.high), abs=1e-9)
