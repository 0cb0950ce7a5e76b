"""Which prompts pairs are drawn of, however many of them lack labels."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from auditing.studies.pairwise_judges import verdicts
from bonwise.errors import UsageError
from bonwise.loading import load
from bonwise.studies.label_strategy.front import study_label_strategy
from bonwise.studies.label_strategy.pair_draw import draw_pairs
from bonwise.testing import simulate

SIMULATION = simulate("arena", n=30, seed=4)
SCORES, PAIRS = SIMULATION.frame(), verdicts(SIMULATION)
PROMPTS = list(dict.fromkeys(SCORES["prompt_id"]))

NO_LABELS, SOME_LACK = "no labels", "some of its candidates lack labels"


@pytest.fixture
def pools(tmp_path):
    """Write the words of all candidates."""
    texts = [{"id": f"c{i}", "text": "t"} for i in range(4)]
    lines = [json.dumps({"prompt_id": prompt, "prompt": "say", "candidates": texts}) for prompt in PROMPTS]
    path = tmp_path / "pools.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def lacking(without, partly):
    """Return the scores with no labels of some prompts and one blank label in others."""
    first = SCORES["candidate"] == "c0"
    blank = SCORES["prompt_id"].isin(without) | (SCORES["prompt_id"].isin(partly) & first)
    return SCORES.assign(oracle_label=SCORES["oracle_label"].mask(blank))


@pytest.mark.parametrize(
    ("without", "partly"),
    [
        ([], []),
        ([], PROMPTS[:1]),
        (PROMPTS[-1:], []),
        ([], PROMPTS[7:9]),
        (PROMPTS[:1], PROMPTS[2:3]),
        (PROMPTS[15:], []),
        (PROMPTS[::2], PROMPTS[1:2]),
    ],
)
def test_prompts_that_lack_labels_are_counted_and_not_drawn_of(pools, without, partly):
    """However many lack labels: all other pairs can be drawn, a left-out prompt has one reason, all are studied."""
    scores, whole = lacking(without, partly), [one for one in PROMPTS if one not in {*without, *partly}]
    drawn = draw_pairs(scores, pairs=20, pools=pools, seed=1)
    counts = {NO_LABELS: len(without), SOME_LACK: len(partly)}
    assert drawn.prompts_left_out == {reason: count for reason, count in counts.items() if count}
    assert sum(one["pairs"] for one in drawn.strata) == 6 * len(whole)
    assert set(drawn.record["prompt_id"]) <= set(whole)
    label = SCORES.set_index(["prompt_id", "candidate"])["oracle_label"]
    for one in drawn.record.itertuples():
        assert one.gap == pytest.approx(abs(label[one.prompt_id, one.a] - label[one.prompt_id, one.b]))
    judged = drawn.record.merge(PAIRS, on=["prompt_id", "a", "b"])
    judged = judged.assign(prompt_id=judged["pair_id"])[["prompt_id", "a", "b", "shown_first", "shown_second"]]
    (found,) = study_label_strategy(scores, verdicts=judged, drawn=drawn.record).judges.values()
    assert (found["data"]["pairs"], found["data"]["pairs_left_out"]) == (20, {})


def test_a_prompt_without_a_score_is_counted_beside_one_without_labels(pools):
    """A prompt left out for want of a score is not counted again for lack of labels."""
    scores = lacking(PROMPTS[:1], [])
    unscored = (scores["prompt_id"] == PROMPTS[3]) & (scores["candidate"] == "c2")
    scores["judge_score"] = scores["judge_score"].mask(unscored, np.nan)
    drawn = draw_pairs(scores, pairs=20, pools=pools)
    assert sorted(drawn.prompts_left_out.values()) == [1, 1]
    assert drawn.prompts_left_out[NO_LABELS] == 1
    assert sum(one["pairs"] for one in drawn.strata) == 6 * 28


def test_a_draw_keeps_its_pairs_but_in_json(pools, tmp_path):
    """Pickled or copied it has its record and pools; loaded it is equal, shows its strata, and cannot be written."""
    draw = draw_pairs(SCORES, pairs=20, pools=pools, seed=1)
    for again in (pickle.loads(pickle.dumps(draw)), copy.copy(draw), copy.deepcopy(draw)):  # noqa: S301 - made here
        assert (again, hash(again), repr(again), str(again)) == (draw, hash(draw), repr(draw), str(draw))
        assert again.pools == draw.pools
        pd.testing.assert_frame_equal(again.to_frame(), draw.record)
    path = tmp_path / "draw.json"
    path.write_text(draw.to_json(), encoding="utf-8")
    loaded = load(path)
    assert type(loaded) is type(draw)
    assert (loaded, hash(loaded), repr(loaded), str(loaded)) == (draw, hash(draw), repr(draw), str(draw))
    assert loaded.to_frame()["drawn"].sum() == len(draw.record) == 20
    with pytest.raises(UsageError, match="which its JSON does not hold"):
        loaded.write(tmp_path / "pairs.jsonl")
