"""What the findings say: only what the intervals bear out, each share with the pairs that it is a share of."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from auditing.studies.pairwise_judges import verdicts
from bonwise.report.show import page
from bonwise.stats.estimate import Estimate
from bonwise.studies.label_strategy.front import study_label_strategy, study_verdicts
from bonwise.studies.label_strategy.pair_draw import draw_pairs
from bonwise.studies.label_strategy.sentences import moved, points
from bonwise.testing import simulate
from report.described.readers import words as seen

SIMULATION = simulate("arena", n=60, seed=2)


def pools_of_two(scores, labels, shown):
    """Return scores of pools of two and verdicts on them; what is shown is a pair a prompt."""
    ids = [f"p{x:03d}" for x in range(len(scores))]
    table = pd.DataFrame(
        {
            "prompt_id": np.repeat(ids, 2),
            "candidate": ["a", "b"] * len(ids),
            "judge_score": np.ravel(scores),
            "oracle_label": np.ravel(labels),
        }
    )
    first, second = np.array(shown, dtype=float).T
    return table, pd.DataFrame({"prompt_id": ids, "a": "a", "b": "b", "shown_first": first, "shown_second": second})


def sentences(table, pairs, **settings):
    """Return the sentences of the only judge."""
    (judge,) = study_label_strategy(table, verdicts=pairs, **settings).to_dict()["judges"].values()
    return judge["sentences"]


def alone(one, two, gold):
    """Return the sentences on verdicts alone, a prompt a pair."""
    frame = pd.DataFrame({"item": range(len(gold)), "one": one, "two": two, "gold": gold})
    return study_verdicts(frame, verdicts=["one", "two"], oracle="gold", prompt=["item"]).judges["judge"]["sentences"]


def the(said, start):
    """Return the only sentence that starts so."""
    (found,) = (one for one in said if one.startswith(start))
    return found


def test_a_verdict_beside_a_tie_stands_and_is_not_said_to_be_alike():
    """Order one decides ten pairs, nine of them right, order two none: both together decide all ten."""
    order, agreement = alone([1] * 10, ["tie"] * 10, [1] * 9 + [2])
    assert "those that both together decide are right in 90% [" in agreement
    assert "alike" not in agreement
    assert "on 100% [" in order


def test_agreement_and_ties_each_name_their_pairs():
    """Agreement is over the three pairs that the labels decide, ties over all four."""
    _, agreement = alone([1, 1, 2, 1], [1, 2, 2, 2], [1, 1, 2, "tie"])
    assert agreement.startswith("Of the 3 pairs that the labels decide, ")
    assert "ties (50% of all 4 pairs) counting one half" in agreement


@pytest.mark.parametrize(
    ("one", "gold", "words"),
    [
        ([1, 2], ["tie", "tie"], "The labels decide none of 2 pairs: agreement is unknown."),
        (["tie", "tie"], [1, 2], "both together decide none of them."),
    ],
)
def test_where_nothing_is_decided_no_share_is_unknown(one, gold, words):
    """Labels or verdicts that decide nothing are said to, not to have an unknown share."""
    said = " ".join(alone(one, one, gold))
    assert words in said
    assert "unknown share" not in said


def test_an_oracle_that_ties_everything_and_verdicts_that_tie_everything():
    """With equal labels the oracle decides none; with tied verdicts comparisons decide none."""
    flat = sentences(*pools_of_two([[1, 1]] * 5, [[1, 1]] * 5, [[1, 1]] * 5))
    assert the(flat, "On 5 pairs").endswith("; the oracle decides none of them.")
    tied = sentences(*pools_of_two([[1, 1]] * 5, [[1, 0]] * 5, [[0.5, 0.5]] * 5))
    assert the(tied, "Of 5 pairs").endswith(" comparisons decided none.")
    assert "unknown share" not in " ".join([*flat, *tied])


def test_the_lead_of_the_first_shown_has_its_interval():
    """A lead whose interval holds 0 may be none; one that does not is stated with its ends alone."""
    rng = np.random.default_rng(0)
    even = alone(rng.choice([1, 2], 60), rng.choice([1, 2], 60), [1] * 60)[0]
    assert re.match(r"The position effect is [+-]0\.\d{2} \[-0\.\d{2}, \+0\.\d{2}\], which may be 0;", even)
    led = alone([1] * 60, [2] * 50 + [1] * 10, [1] * 60)[0]
    assert re.match(r"The position effect is \+0\.83 \[\+0\.\d{2}, \+0\.\d{2}\]; the verdict on 83% \[", led)


def gaps(right, groups):
    """Return the sentence on tied pairs of prompts whose gap and verdict are given by group."""
    labels = [[gap, 0] for gap, hits in right.items() for _ in hits]
    shown = [[hit, hit] for hits in right.values() for hit in hits]
    return the(sentences(*pools_of_two([[1, 1]] * len(labels), labels, shown), gap_groups=groups), "Of ")


def test_groups_of_gaps_that_are_not_told_apart_are_not_contrasted():
    """A third of three right at the smallest gaps, half of eight at the largest: nothing is said of a rise."""
    assert "smallest" not in gaps({0.1: [1, 0, 0], 0.9: [1, 0] * 4}, 4)
    clear = gaps({0.1: [1, 0] * 20, 0.9: [1] * 39 + [0]}, 2)
    assert re.search(r"from 50% \[.*\] at the smallest gaps to 98% \[.*\] at the largest\.$", clear)


def test_a_first_group_without_a_figure_is_not_skipped():
    """Where nothing is decided at the smallest gaps, the second group does not stand for it."""
    said = gaps({0.1: [0.5] * 40, 0.5: [1, 0] * 20, 0.9: [1] * 39 + [0]}, 3)
    assert "smallest" not in said


def test_what_a_call_brings_is_compared_with_an_interval():
    """The difference of the gains of a call stands there with the ends of the document."""
    study = study_label_strategy(SIMULATION.frame(), verdicts=verdicts(SIMULATION))
    (judge,) = study.to_dict()["judges"].values()
    less = judge["strategies"]["every_pair"]["strategies"]["pairwise"]["minus_pointwise"]["gain_per_call"]
    said = the(judge["sentences"], "A call")
    width = less["high"] - less["low"]
    written = [float(one) for one in re.findall(r"[-+]?\d+\.\d+(?:e-\d+)?", said)][2:]
    assert written == pytest.approx([less["estimate"], less["low"], less["high"]], abs=width / 20)
    assert said.endswith("which may be 0.") == (less["low"] <= 0 <= less["high"])


def test_ties_are_of_all_pairs_and_agreement_of_those_that_the_oracle_decides():
    """Ten pairs, of which the oracle decides eight: both counts are said, and the difference has an interval."""
    rng = np.random.default_rng(1)
    labels = [[1, 1]] * 2 + [[1, 0]] * 8
    said = sentences(*pools_of_two(rng.integers(0, 3, (10, 2)), labels, rng.integers(0, 2, (10, 2))))
    pairs = the(said, "On 10 pairs judged both ways scores tie ")
    assert re.search(r" of all and comparisons .*; in the 8 that the oracle decides scores agree ", pairs)
    assert " points [" in pairs


def test_weighted_shares_stand_apart_from_plain_counts():
    """Of drawn pairs both sentences say that shares are weighted and counts are not."""
    pairs = verdicts(SIMULATION).iloc[::3].reset_index(drop=True)
    record = pairs.assign(pair_id=[f"pair{at}" for at in range(len(pairs))], weight=3.0)
    said = sentences(SIMULATION.frame(), pairs.assign(prompt_id=record["pair_id"]), drawn=record)
    assert ", which were drawn (shares are weighted, counts are plain), scores tie" in the(said, "On 120 pairs")
    tied = next(one for one in said if one.startswith("Of ") and "comparisons decided" in one)
    assert "does not (the count is plain, shares are weighted), comparisons decided" in tied


def test_no_figure_is_minus_nothing():
    """A difference that rounds to 0 has no sign, nor have its ends, whatever side they come from."""
    tiny = Estimate(-1e-9, -1e-9, 1e-9, None, 9, "jackknife")
    assert points(tiny) == "0 points [0, 0], which may be 0"
    assert moved(Estimate(-1e-4, -0.02, 0.02, None, 9, "jackknife")) == ("0.000 [-0.020, +0.020], which may be 0")


def test_one_pair_that_was_drawn(tmp_path):
    """A draw of a single pair says so in the singular."""
    rows = [{"prompt_id": "p", "candidate": name, "judge_score": 0.5, "oracle_label": 1} for name in "ab"]
    pools = tmp_path / "pools.jsonl"
    pool = {"prompt_id": "p", "prompt": "?", "candidates": [{"id": name, "text": name} for name in "ab"]}
    pools.write_text(json.dumps(pool) + "\n", encoding="utf-8")
    drawn = draw_pairs(pd.DataFrame(rows), pairs=1, pools=pools)
    assert drawn.to_dict()["sentences"] == ["1 of 1 pair was drawn, of 1 prompt."]
    assert repr(drawn) == "<PairDraw of 1 pair in 1 stratum from table>"


def test_ways_that_pick_alike_are_said_to():
    """Where no score ties, breaking ties changes nothing, and no interval around 0 is made of that."""
    table, pairs = pools_of_two([[1, 0]] * 6, [[1, 0]] * 6, [[1, 1]] * 6)
    said = sentences(table, pairs)
    for start in ("On 6 prompts breaking", "On 6 prompts comparing every", "Cutting the scores into bins"):
        assert the(said, start).endswith("picks the same on all 6 prompts.")
    assert the(said, "On 6 pairs").endswith(": they pick the same on all 6 pairs.")
    assert "points" not in " ".join(said)
    study = study_label_strategy(table, verdicts=pairs)
    judge = study.judges["judge"]
    ways = judge["strategies"]["every_pair"]["strategies"], judge["matched_pairs"]["ways"]
    for less in (ways[0]["tie_break"]["minus_pointwise"], ways[1]["pairwise"]["minus_pointwise"]):
        found = less["recovery"]
        assert (found["estimate"], found["low"], found["reason"]) == (0.0, None, "both make the same picks")
    line = (
        "recovery: no interval of the difference for scores in 20 bins; every pair; every pair, one order; "
        "scores, top ties compared: both make the same picks"
    )
    text = " ".join(str(study).split())
    assert line in text
    assert text.count("compared: both make the same picks") == 1
    of_two = "recovery: no interval of the difference for every pair; every pair, one order: both make the same picks"
    assert of_two in text


def test_picks_worth_the_same_are_not_picks_alike():
    """Two right candidates of three: another pick is worth as much here, and might not be elsewhere."""
    rows = [(p, c, s, y) for p in "pqrstu" for c, s, y in (("a", 1, 1), ("b", 1, 1), ("c", 0, 0))]
    table = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])
    both = [(p, a, b, 1, 1) for p in "pqrstu" for a, b in (("a", "b"), ("a", "c"), ("b", "c"))]
    pairs = pd.DataFrame(both, columns=["prompt_id", "a", "b", "shown_first", "shown_second"])
    assert the(sentences(table, pairs), "On 6 prompts breaking").endswith(": no pick changes its worth.")


def test_notes_on_missing_figures_name_the_figure():
    """Labels that hardly differ leave recovery alone without a figure, and uncounted tokens theirs: told apart."""
    scores = SIMULATION.frame().assign(oracle_label=0.5)
    scores.loc[0, "oracle_label"] = 1
    study = study_label_strategy(scores, verdicts=verdicts(SIMULATION))
    lacking = "denominator not distinguishable from 0"
    whose = (
        "scores; scores in 20 bins; every pair; every pair, one order; some pairs; some pairs, one order; "
        "scores, top ties compared"
    )
    tokens = (
        "tokens; gain / 1,000 tokens: no figure for scores; scores in 20 bins; scores, top ties compared: table has "
        "no column tokens"
    )
    of_two = f"recovery: no figure for scores; every pair; every pair, one order: {lacking}"
    for words in (" ".join(str(study).split()), seen(page(study))):
        for line in (f"recovery: no figure for {whose}: {lacking}", of_two, tokens):
            assert words.count(line) == 1, line
