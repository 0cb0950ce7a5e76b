from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import InputError, UsageError
from bonwise.planning.studies.preference_study import study_preferences

ASKED = {"verdict": "winner", "pair": ["model_a", "model_b"], "prompt": ["question_id"]}
TABLE = {  # p10, p25, p50; votes at .05; votes at .01; near ties, their share, median and votes
    "pessimistic": (
        (0.04727, 0.18735, 0.28495),
        (1175.4, 74.8, 32.3),
        (1664.5, 106.0, 45.8),
        (3, 0.200, 0.03740, 1878.4),
    ),
    "drop": ((0.15024, 0.19675, 0.34328), (116.4, 67.9, 22.3), (164.8, 96.1, 31.6), (1, 0.067, 0.0183, 7850.2)),
    "half": ((0.10640, 0.13390, 0.28221), (232.1, 146.5, 33.0), (328.6, 207.5, 46.7), (2, 0.133, 0.0523, 960.4)),
}


def frame(first, second, ties=0, *, prompts=10, pair=("x", "y")):
    """Make votes on one pair, spread over prompts one after the other."""
    won = ["model_a"] * first + ["model_b"] * second + ["tie"] * ties
    rows = [(*pair, word, at % prompts) for at, word in enumerate(won)]
    return pd.DataFrame(rows, columns=["model_a", "model_b", "winner", "question_id"])


@pytest.fixture(scope="module")
def documents(shared):
    """Study the MT-Bench votes under each way to count ties."""
    source = shared / "data" / "mt_bench_human.csv"
    return {ties: study_preferences(source, ties=ties, **ASKED).to_dict() for ties in TABLE}


@pytest.mark.shared
@pytest.mark.parametrize("ties", TABLE)
def test_the_margins_of_mt_bench(documents, ties):
    """Quantiles of margins, the votes they take and the near ties are those of the table, to its last digit."""
    quantiles, at_5, at_1, near = TABLE[ties]
    found = documents[ties]["margins"]
    assert [one["estimate"] for one in found] == pytest.approx(quantiles, abs=0.51e-5)
    assert [one["votes_needed"]["0.05"]["estimate"] for one in found] == pytest.approx(at_5, abs=0.06)
    assert [one["votes_needed"]["0.01"]["estimate"] for one in found] == pytest.approx(at_1, abs=0.051)
    ties_found = documents[ties]["near_ties"]
    assert ties_found["count"] == near[0]
    assert ties_found["share"]["estimate"] == pytest.approx(near[1], abs=0.0005)
    assert ties_found["median"]["estimate"] == pytest.approx(near[2], abs=0.51e-4)
    assert ties_found["votes_needed"]["0.05"]["estimate"] == pytest.approx(near[3], abs=0.051)


@pytest.mark.shared
def test_the_published_row_is_the_pessimistic_one(documents):
    """Rounded as the paper rounds, all published figures follow when ties count for the second model."""
    found = documents["pessimistic"]
    votes = {
        level: [round(one["votes_needed"][level]["estimate"]) for one in found["margins"]]
        for level in ("0.05", "0.01")
    }
    assert votes == {"0.05": [1175, 75, 32], "0.01": [1664, 106, 46]}
    assert round(found["near_ties"]["votes_needed"]["0.05"]["estimate"]) == 1878
    ends = [(one["low"], one["high"]) for one in found["margins"]]
    for (low, high), (least, most) in zip(ends, [(0.007, 0.225), (0.037, 0.285), (0.181, 0.403)], strict=True):
        assert (low, high) == (pytest.approx(least, abs=0.006), pytest.approx(most, abs=0.006))


@pytest.mark.shared
def test_z_of_mt_bench(documents):
    """Of 100 votes without replacement, ties dropped, z has p10 2.47 and median 9.27; of 50 votes 1.44 and 6.56."""
    found = {(one["votes"], one["drawn"]): one for one in documents["drop"]["z"]}
    for votes, low, middle in ((100, 2.47, 9.27), (50, 1.44, 6.56)):
        one = found[votes, "without_replacement"]
        assert one["p10"]["estimate"] == pytest.approx(low, abs=0.005)
        assert one["median"]["estimate"] == pytest.approx(middle, abs=0.005)
        assert one["pairs"] == 15
    assert found[50, "with_replacement"]["p10"]["estimate"] == pytest.approx(1.44, abs=0.005)
    assert 0 < found[50, "without_replacement"]["infinite_share"] < 0.02


@pytest.mark.shared
def test_the_prompts_of_mt_bench(documents):
    """Clustering by question, the split of variance, tie rates: those of the recomputed tables."""
    ratio = documents["drop"]["cluster_ratio"]
    assert (ratio["median"]["estimate"], ratio["least"], ratio["most"]) == pytest.approx(
        (1.249, 0.970, 1.507), abs=5e-4
    )
    assert ratio["design_effect"] == pytest.approx(1.56, abs=0.005)
    for ties, parts in (("drop", (0.077, 0.023, 0.054)), ("pessimistic", (0.090, 0.025, 0.062))):
        published = documents[ties]["variance"]["published"]
        assert [one["estimate"] for one in published.values()] == pytest.approx(parts, abs=5.1e-4)
        unbiased = documents[ties]["variance"]
        assert unbiased["within"]["estimate"] > 1.7 * published["within"]["estimate"]
    rates = documents["drop"]["ties"]
    assert rates["median"]["estimate"] == pytest.approx(0.217, abs=5e-4)
    assert rates["p90"]["estimate"] == pytest.approx(0.329, abs=5e-4)
    assert rates["correlation_with_margin"]["estimate"] == pytest.approx(-0.870, abs=5e-4)


@pytest.mark.shared
def test_concentration_in_mt_bench_is_chance(documents):
    """The rule of 1.5 fires for a third of the pairs, and none exceeds what permuted votes give."""
    found = documents["drop"]["concentration"]
    assert found["above_threshold"] == 5
    assert found["above_chance"] == 0
    assert found["recommend_two_stage"] == []


def test_a_pair_by_hand():
    """30 of 40 votes for the second model: margin .25, 10.5 x 4 votes by equation 8, z of 3.65, .1308 nats a vote."""
    found = study_preferences(frame(10, 30), **ASKED).to_dict()["pairs"][0]
    assert (found["first"], found["second"], found["votes"], found["prompts"]) == ("x", "y", 40, 10)
    assert found["margin"] == pytest.approx(0.25)
    assert found["votes_needed"]["0.05"]["estimate"] == pytest.approx(2.62685576536 / 0.0625)
    assert found["votes_needed"]["0.05"]["whole"] == 43
    assert found["z"] == pytest.approx(0.25 / math.sqrt(0.75 * 0.25 / 40))
    info = found["information"]
    assert info["per_vote"]["estimate"] == pytest.approx(0.130812036)
    assert info["stream"] == pytest.approx(40 * 0.130812036)
    assert info["least_votes"]["estimate"] == pytest.approx(1.2040 / 0.130812036, abs=0.001)
    assert "lower bound" in info["least_votes"]["meaning"]


def test_no_figure_is_nan_or_infinite():
    """Votes that are all alike, a margin of 0 and half votes give strict JSON: null, with the count or the reason."""
    rows = [frame(20, 0), frame(10, 10, pair=("x", "z")), frame(12, 11, 5, pair=("y", "z"))]
    for ties in ("drop", "half", "pessimistic"):
        document = study_preferences(pd.concat(rows), ties=ties, **ASKED).to_dict()
        json.dumps(document, allow_nan=False)
        alike, level, _ = document["pairs"]
        assert (alike["z"], alike["z_infinite"]) == (None, True)
        assert alike["cluster_ratio"]["reason"] == "all votes are alike"
        assert level["votes_needed"]["0.05"]["estimate"] is None
        assert level["information"]["least_votes"]["estimate"] is None


def test_clusters_of_one_are_refused_in_words():
    """Where every prompt has one vote the variance is not split and the ratio of 1 is called empty."""
    document = study_preferences(frame(15, 25, prompts=40), **ASKED).to_dict()
    assert "look the same" in document["variance"]["reason"]
    assert document["cluster_ratio"]["single_vote_prompts_only"]
    assert document["pairs"][0]["cluster_ratio"]["estimate"] == pytest.approx(1)
    assert "whatever raters do" in document["pairs"][0]["cluster_ratio"]["reason"]


def test_without_prompts_nothing_is_said_of_them():
    """No prompt column: intervals take every vote on its own, and what needs prompts is null with the reason."""
    document = study_preferences(frame(15, 25), verdict="winner", pair=["model_a", "model_b"]).to_dict()
    pair = document["pairs"][0]
    assert document["data"]["prompts"] is None
    assert pair["win_rate"]["n"] == 40
    assert all("no prompt column" in pair[name]["reason"] for name in ("cluster_ratio", "variance", "concentration"))
    json.dumps(document, allow_nan=False)


def test_every_row_is_counted():
    """Votes, ties, blanks and pairs with too few votes add up to the rows of the file."""
    blank = frame(1, 0).assign(winner="")
    rows = pd.concat([frame(10, 20, 5), frame(2, 2, pair=("x", "z")), blank])
    data = study_preferences(rows, ties="drop", **ASKED).to_dict()["data"]
    assert data["dropped"] == {"no verdict": 1, "tie": 5, "pair with fewer than 10 votes": 4}
    assert data["rows"] == 40 == data["votes"] + sum(data["dropped"].values())
    assert (data["pairs"], data["pairs_left_out"], data["models"]) == (1, 1, 2)
    with pytest.raises(InputError, match="no pair has 50 votes"):
        study_preferences(rows, ties="drop", fewest_votes=50, **ASKED)


def test_intervals_are_clustered_by_prompt():
    """Copying every vote, prompt and all, leaves the interval where it was; as prompts of their own it shrinks."""
    votes = frame(14, 26)
    once, twice, apart = (
        study_preferences(rows, **ASKED).pairs[0].win_rate
        for rows in (
            votes,
            pd.concat([votes, votes]),
            pd.concat([votes, votes.assign(question_id=votes.question_id + 50)]),
        )
    )
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))
    assert apart.high - apart.low < 0.8 * (once.high - once.low)


def test_a_real_concentration_is_recommended():
    """Three of 20 prompts that all prefer one model, 30 votes each: screening is recommended, with its cost."""
    rng = np.random.default_rng(5)
    rate = np.repeat(np.r_[np.full(3, 0.95), np.full(17, 0.5)], 30)
    won = np.where(rng.random(600) < rate, "model_b", "model_a")
    votes = pd.DataFrame({"model_a": "x", "model_b": "y", "winner": won, "question_id": np.arange(600) // 30})
    document = study_preferences(votes, **ASKED).to_dict()
    assert document["concentration"]["recommend_two_stage"] == [["x", "y"]]
    assert document["pairs"][0]["concentration"]["screening"] == {"types": 20, "each": 30, "first_stage": 600}


@pytest.mark.parametrize(
    "wrong",
    [
        {"near_tie": 0.5},
        {"power": 1.0},
        {"confidence": 0.2},
        {"fewest_votes": 1},
        {"kept_share": 0.0},
        {"threshold": 1.0},
        {"votes_at": (0,)},
        {"z_at": (0,)},
        {"resamples": 1},
        {"permutations": 5},
        {"seed": -1},
        {"ties": "both"},
    ],
    ids=lambda one: next(iter(one)),
)
def test_settings_that_mean_nothing_are_refused(wrong):
    """A setting out of its range is refused by name, with one that would do."""
    with pytest.raises(UsageError) as refused:
        study_preferences(frame(10, 30), **ASKED, **wrong)
    assert next(iter(wrong)) in refused.value.message
    assert refused.value.hint


def test_the_text_says_what_it_must():
    """The page names the way ties count, calls the bound a bound, and offers no test of the mean preference."""
    text = str(study_preferences(frame(12, 28, 6), ties="half", **ASKED))
    for words in (
        "ties: half. 6 votes are ties",
        "no test is known to do with so few",
        "never of the mean preference",
        "That rule alone says nothing",
        "the binomial test is not defined for half votes",
    ):
        assert words in " ".join(text.split())
