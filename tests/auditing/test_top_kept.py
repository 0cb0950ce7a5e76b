"""The best k of each prompt: what is kept, nDCG and recall; by hand, by loops, and how often intervals hold."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.auditing.labelling import label_state
from bonwise.auditing.settings import Settings
from bonwise.auditing.top_kept import best_kept, place_worth
from bonwise.errors import UsageError
from bonwise.table.panel import lay_out
from bonwise.table.score_table import ScoreTable
from cli.commands import strict, typed
from stats.nominal import assert_covered

KEPT = ("top_value", "top_recovery", "ndcg", "recall")


def rows(pools):
    """Return a table of pools, each a list of (score, label)."""
    return pd.DataFrame(
        [
            {"prompt_id": f"q{x}", "candidate": f"d{at}", "judge_score": score, "oracle_label": label}
            for x, pool in enumerate(pools)
            for at, (score, label) in enumerate(pool)
        ]
    )


def figures(pools, k, **asked):
    """Return the figures of the best k, and what was counted."""
    audit = bw.audit(rows(pools), top=k, shape="ragged", **asked)
    return {name: audit[name] for name in KEPT}, audit.data.kept


def test_golden_a_tie_at_the_edge_shares_the_places():
    """Two places: 3 is kept, and the two at 2 have half a place each.

    By hand: kept (2 + (0 + 2) / 2) / 2 = 1.5, random 1, best 2. The second pool is kept whole: 1.5, as are its best
    and a random pick of it. DCG 2 + (0 + 2) / 2 / log2 3, ideal 2 + 2 / log2 3. Of 2 relevant 1 + 1/2 are kept, then
    both.
    """
    found, kept = figures([[(3, 2), (2, 0), (2, 2), (1, 0)], [(1, 1), (2, 2)]] * 12, 2)
    assert found["top_value"].estimate == pytest.approx(1.5)
    assert found["top_recovery"].estimate == pytest.approx(0.5)
    assert found["ndcg"].estimate == pytest.approx(((2 + 1 / math.log2(3)) / (2 + 2 / math.log2(3)) + 1) / 2)
    assert found["recall"].estimate == pytest.approx((1.5 / 2 + 1) / 2)
    assert (kept.k, kept.prompts_kept_whole, kept.topics) == (2, 12, 24)
    assert [kept.not_retrieved, kept.without_relevant, kept.documents_not_retrieved] == [None] * 3


def test_the_short_form_shows_what_was_asked_for():
    """With a number of places the best k stand in the first table, after what decides; without it they do not."""
    pools = [[(3, 2), (2, 0), (2, 2), (1, 0)], [(1, 1), (2, 2)]] * 12
    assert all(name in str(bw.audit(rows(pools), top=2, shape="ragged")) for name in KEPT[1:])
    assert not any(name in str(bw.audit(rows(pools), shape="ragged")) for name in KEPT)


def test_the_exponential_gain_is_a_power_of_two():
    """Labels 2 and 1 in the wrong order: (1 + 3 / log2 3) / (3 + 1 / log2 3)."""
    pools = [[(2, 1), (1, 2)]] * 2
    exp = figures(pools, 2, gain="exp")[0]["ndcg"].estimate
    assert exp == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert figures(pools, 2)[0]["ndcg"].estimate == pytest.approx((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)))


def test_what_has_no_score_is_never_kept():
    """Of three places one is taken; where nothing has a score each candidate is as likely as any other."""
    found, _ = figures([[(1, 0), (None, 1), (None, 1), (None, 1)], [(None, 0), (None, 1), (None, 1), (None, 0)]], 3)
    assert found["top_value"].estimate == pytest.approx((0 + 0.5) / 2)
    assert found["recall"].estimate == pytest.approx((0 + 3 / 4) / 2)


def test_a_prompt_without_a_relevant_candidate_counts_zero():
    """It is in the mean, and counted."""
    found, kept = figures([[(1, 1), (0, 0)], [(1, 0), (0, 0)]], 1)
    assert (found["ndcg"].estimate, found["recall"].estimate) == (0.5, 0.5)
    assert kept.without_relevant == 1


def test_one_of_n_is_recovery():
    """The best 1 are the pick: the same value and the same interval."""
    frame = bw.testing.simulate("arena", n=80, seed=4).frame()
    audit = bw.audit(frame, top=1)
    assert audit["top_recovery"].estimate == pytest.approx(audit["recovery"].estimate, abs=1e-12)
    assert audit["top_value"].estimate == pytest.approx(audit["value_judge"].estimate, abs=1e-12)
    assert audit["top_recovery"].n == audit["recovery"].n


VALUES = st.sampled_from([0.0, 1.0, 2.0, 3.0])
POOLS = st.lists(
    st.lists(st.tuples(st.one_of(st.none(), VALUES), VALUES), min_size=2, max_size=5), min_size=2, max_size=4
)


def looped(pool, k, gain):
    """Average over every order that the scores allow, one after the other."""
    scored = [at for at, (score, _) in enumerate(pool) if score is not None] or range(len(pool))
    kept, dcg, hits, orders = 0.0, 0.0, 0.0, 0
    for order in permutations(scored):
        if any((pool[a][0] or 0) < (pool[b][0] or 0) for a, b in pairwise(order)):
            continue
        first = order[:k]
        orders += 1
        kept += sum(pool[at][1] for at in first) / len(first)
        hits += sum(pool[at][1] > 0 for at in first)
        dcg += sum(gain(pool[at][1]) / math.log2(place + 2) for place, at in enumerate(first))
    labels = sorted((label for _, label in pool), reverse=True)
    ideal = sum(gain(label) / math.log2(place + 2) for place, label in enumerate(labels[:k]))
    relevant = sum(label > 0 for label in labels)
    return (
        kept / orders,
        sum(labels[:k]) / len(labels[:k]),
        sum(labels) / len(labels),
        dcg / orders / ideal if ideal else 0.0,
        hits / orders / relevant if relevant else 0.0,
    )


@given(POOLS, st.integers(1, 6), st.sampled_from(["linear", "exp"]))
def test_figures_are_those_of_loops(pools, k, gain):
    """Every order of ties is as likely as any other."""
    table = ScoreTable.from_frame(rows([*pools, [(1.0, 1.0), (0.0, 0.0)]]))
    (panel,) = lay_out(table, shape="ragged")
    found = best_kept(label_state(panel, None), table, Settings(top=k, gain=gain)).metrics
    worth = {"linear": lambda label: label, "exp": lambda label: 2**label - 1}[gain]
    by_hand = np.array([looped(pool, k, worth) for pool in [*pools, [(1.0, 1.0), (0.0, 0.0)]]])
    value, best, random, ndcg, recall = by_hand.mean(axis=0)
    assert found["top_value"].estimate == pytest.approx(value)
    assert found["ndcg"].estimate == pytest.approx(ndcg)
    assert found["recall"].estimate == pytest.approx(recall)
    if best - random > 1e-9 and found["top_recovery"].estimate is not None:
        assert found["top_recovery"].estimate == pytest.approx((value - random) / (best - random))


def drawn(rng, prompts):
    """Draw graded labels with a level of their own prompt, and scores that follow them with noise and ties."""
    level = rng.normal(size=(prompts, 1))
    labels = np.clip(np.round(1 + level + rng.normal(size=(prompts, 8))), 0, 3)
    scores = np.round(labels + rng.normal(scale=1.5, size=labels.shape))
    return scores, labels


def table_of(scores, labels):
    """Return a table of arrays of prompts and candidates."""
    n, K = scores.shape
    frame = {
        "prompt_id": np.repeat([f"q{x}" for x in range(n)], K),
        "candidate": np.tile([f"d{at}" for at in range(K)], n),
        "judge_score": scores.ravel(),
        "oracle_label": labels.ravel(),
    }
    return ScoreTable.from_frame(pd.DataFrame(frame))


def estimated(scores, labels, k=3):
    """Return the figures of arrays of prompts."""
    table = table_of(scores, labels)
    (panel,) = lay_out(table)
    return best_kept(label_state(panel, None), table, Settings(top=k)).metrics


def test_intervals_hold_the_truth():
    """Of tables of 60 prompts about 95 % of intervals hold what 40,000 prompts say."""
    rng = np.random.default_rng(20261130)
    truth = {name: found.estimate for name, found in estimated(*drawn(rng, 40_000)).items()}
    tables = 300
    held = dict.fromkeys(KEPT, 0)
    for _ in range(tables):
        for name, found in estimated(*drawn(rng, 60)).items():
            held[name] += found.low <= truth[name] <= found.high
    assert_covered(held, tables)


def test_clusters_are_the_units_of_intervals():
    """Prompts that are written twice under one cluster have the interval of those written once."""
    rng = np.random.default_rng(5)
    once = table_of(*drawn(rng, 40)).frame[["prompt_id", "candidate", "judge_score", "oracle_label"]].astype(str)
    once = once.astype({"judge_score": float, "oracle_label": float})
    again = once.assign(prompt_id=once["prompt_id"] + "b")
    both = pd.concat([once.assign(cluster=once["prompt_id"]), again.assign(cluster=once["prompt_id"])])
    single, double = (bw.audit(frame, top=3) for frame in (once, both))
    for name in ("top_recovery", "top_value"):
        assert double[name].low == pytest.approx(single[name].low, abs=0.02)
        assert double[name].high == pytest.approx(single[name].high, abs=0.02)
    for name in ("ndcg", "recall"):
        assert double[name].se == pytest.approx(single[name].se, rel=1e-6)


def test_negative_labels_have_no_gain():
    """A label below 0 is no relevance: nDCG says so, and the mean label of the kept is what it is."""
    found, _ = figures([[(1, -1), (0, 1)], [(1, 1), (0, -1)]], 1)
    assert found["ndcg"].reason == "undefined: needs labels of 0 or more"
    assert found["top_value"].estimate == 0.0


def test_a_candidate_without_a_label_leaves_ndcg_open():
    """What no label means is never assumed."""
    pools = [[(1, 1), (0, 0)]] * 30 + [[(1, 1), (0, None)]]
    found, _ = figures(pools, 1)
    assert found["ndcg"].reason == (
        "undefined: 1 ranked candidate without a label; state --unlabelled-is 0 if no label means not relevant"
    )
    assert figures(pools, 1, unlabelled_is=0)[0]["ndcg"].estimate == 1.0


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"top": 0}, "top is 0"),
        ({"top": True}, "not True"),
        ({"top": 1, "gain": "log"}, "no gain 'log'"),
        ({"gain": "exp"}, "--gain is of nDCG"),
    ],
)
def test_what_cannot_be_kept_is_refused(asked, message):
    """Before anything is read."""
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        bw.audit(rows([[(1, 1), (0, 0)]]), **asked)


def test_the_command_says_what_each_ideal_is(tmp_path, capsys):
    """The table names both, and the document holds the counts."""
    rows([[(1, 1), (0, 0)], [(0, 1), (1, 0)]] * 15).to_csv(tmp_path / "scores.csv", index=False)
    done = typed(capsys, "audit", tmp_path / "scores.csv", "--top", "1", "--full", "--json", tmp_path / "a.json")
    assert "Their ideal is the best 1 candidates of the table" in " ".join(done.out.split())
    document = strict((tmp_path / "a.json").read_text("utf-8"))
    assert document["data"]["kept"] == {"k": 1, "gain": "linear", "prompts_kept_whole": 0, "topics": 30}
    assert document["metrics"]["ndcg"]["estimate"] == 0.5


def test_no_pool_has_no_places():
    """Nothing is ranked where there is nothing."""
    assert place_worth(np.zeros(0), np.zeros(0, dtype=np.int64), np.ones(1)).size == 0
