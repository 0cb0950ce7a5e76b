"""Ways of asking a judge on the same prompts: worked by hand, on simulated judges of known quality, on odd tables."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bonwise.auditing.front import audit
from bonwise.errors import ColumnError, InputError, UsageError
from bonwise.loading import load
from bonwise.studies.label_strategy.front import study_label_strategy
from bonwise.studies.label_strategy.judged_pairs import PairRecord, PairVerdicts
from bonwise.studies.label_strategy.pair_draw import draw_pairs
from bonwise.studies.label_strategy.result import record_path
from bonwise.table.pools import read_pools
from bonwise.testing import simulate
from studies.pairwise_judges import verdicts

# Ways of asking a judge on the same prompts: worked by hand, on simulated judges of known quality, on odd tables.


SIMULATION = simulate("arena", n=300, seed=5)
SCORES = SIMULATION.frame()
PAIRS = verdicts(SIMULATION, lead=0.05)


def only(study):
    """Return the part of a study's only judge, after its document proved to be strict JSON."""
    document = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert (document["schema"], document["study"]) == ("bonwise.study/1", "label-strategy")
    (judge,) = document["judges"].values()
    return judge


def estimates(group, metric):
    """Return a metric of each way of a group."""
    return {name: way["metrics"][metric]["estimate"] for name, way in group["strategies"].items()}


def table(*prompts):
    """Make scores of prompts given as (scores, labels)."""
    rows = [
        {"prompt_id": f"p{x}", "candidate": "abcd"[i], "judge_score": score, "oracle_label": label}
        for x, (scores, labels) in enumerate(prompts)
        for i, (score, label) in enumerate(zip(scores, labels, strict=True))
    ]
    return pd.DataFrame(rows)


def said(prompt, **pairs):
    """Make verdicts of a prompt given as ``ab=(first, second)``."""
    return [
        {"prompt_id": prompt, "a": name[0], "b": name[1], "shown_first": first, "shown_second": second}
        for name, (first, second) in pairs.items()
    ]


HAND = table(
    ([0.9, 0.9, 0.1], [1.0, 0.0, 0.5]), ([0.5, 0.2, 0.8], [0.2, 1.0, 0.0]), ([0.3, 0.3, 0.3], [0.0, 1.0, 0.0])
)
HAND_PAIRS = pd.DataFrame(
    [
        # a beats b in both orders; c beats a and b: Borda 0.5, 0, 1, and a wins the tie of a and b.
        *said("p0", ab=(1, 1), ac=(0, 0), bc=(0, 0)),
        # Orders contradict on a and b, b and c tie in effect: a .25, b .5, c .75.
        *said("p1", ab=(1, 0), ac=(0, 0), bc=(1, 0)),
        # b beats both, a and c tie: b wins among the three that share the top.
        *said("p2", ab=(0, 0), ac=(1, 0), bc=(1, 1)),
    ]
)


def test_three_prompts_by_hand():
    """Values and calls of each way, worked by hand: see the verdicts above.

    Mean labels .5, .4, 1/3; best labels 1 each. Scores pick (1 + 0) / 2, 0 and 1/3. Borda picks c (.5), c (0), b (1).
    Ties at the top: a (1), none (0), b (1), for 1 and 3 more pairs.
    """
    group = only(study_label_strategy(HAND, verdicts=HAND_PAIRS))["strategies"]["every_pair"]
    room, base = 3 - 0.5 - 0.4 - 1 / 3, 0.5 + 0.4 + 1 / 3
    found = estimates(group, "recovery")
    assert found["pointwise"] == pytest.approx((0.5 + 0 + 1 / 3 - base) / room)
    assert found["pairwise"] == pytest.approx((0.5 + 0 + 1 - base) / room)
    assert found["tie_break"] == pytest.approx((1 + 0 + 1 - base) / room)
    calls = estimates(group, "calls_per_prompt")
    assert (calls["pointwise"], calls["pairwise"], calls["pairwise_one_order"]) == (3, 6, 3)
    assert calls["tie_break"] == pytest.approx(3 + 2 * (1 + 0 + 3) / 3)
    # Borda ties a and c of the last prompt alone; scores tie one pair and all three.
    assert estimates(group, "tie_rate")["pairwise"] == pytest.approx(1 / 9)
    assert estimates(group, "tie_rate")["pointwise"] == pytest.approx(4 / 9)
    assert "sparse" not in group["strategies"]  # three edges are all there are


def test_matched_pairs_by_hand():
    """Of the four pairs that scores tie the oracle ties one; verdicts decide the other three as the oracle does."""
    found = only(study_label_strategy(HAND, verdicts=HAND_PAIRS))["matched_pairs"]
    where = found["where_pointwise_tied"]
    assert (found["pairs"], where["pairs"], where["decided_pairs"]) == (9, 3, 3)
    assert where["accuracy"]["estimate"] == 1.0
    ties = {name: way["metrics"]["tie_rate"]["estimate"] for name, way in found["ways"].items()}
    assert ties == pytest.approx({"pointwise": 4 / 9, "pairwise": 3 / 9, "pairwise_one_order": 0.0})
    assert found["order"]["flips"]["estimate"] == pytest.approx(3 / 9)
    assert found["order"]["first_shown_advantage"]["estimate"] == pytest.approx(3 / 9)


def test_scores_alone_are_as_audited():
    """The way that is scores alone has the figures of an audit of the same table."""
    group = only(study_label_strategy(SCORES, verdicts=PAIRS))["strategies"]["every_pair"]
    audited = audit(SCORES)
    for metric in ("within_r", "tie_rate", "top1_accuracy", "effective_agreement", "recovery"):
        mine = group["strategies"]["pointwise"]["metrics"][metric]
        assert (mine["estimate"], mine["low"], mine["n"]) == pytest.approx(
            (audited[metric].estimate, audited[metric].low, audited[metric].n)
        ), metric


def test_an_exact_judge_of_pairs_recovers_everything():
    """Verdicts that follow the labels recover all with every pair, and break every tie at the top right."""
    exact = PAIRS.copy()
    labels = SCORES.set_index(["prompt_id", "candidate"])["oracle_label"]
    gap = np.array([labels[p, a] - labels[p, b] for p, a, b in exact[["prompt_id", "a", "b"]].to_numpy()])
    exact["shown_first"] = exact["shown_second"] = (1 + np.sign(gap)) / 2
    found = only(study_label_strategy(SCORES, verdicts=exact))
    recovery = estimates(found["strategies"]["every_pair"], "recovery")
    assert recovery["pairwise"] == pytest.approx(1.0)
    assert recovery["pointwise"] < recovery["tie_break"] < 1
    assert found["matched_pairs"]["where_pointwise_tied"]["accuracy"]["estimate"] == 1.0
    assert found["matched_pairs"]["order"]["flips"]["estimate"] == 0.0


def test_a_noisy_judge_is_better_at_larger_gaps():
    """Accuracy rises with the oracle gap, the lead of the first shown shows, two orders tie more than one."""
    found = only(study_label_strategy(SCORES, verdicts=PAIRS))["matched_pairs"]
    accuracy = [row["accuracy"]["estimate"] for row in found["where_pointwise_tied"]["by_gap"]]
    assert accuracy == sorted(accuracy)
    assert (
        sum(row["pairs"] for row in found["where_pointwise_tied"]["by_gap"])
        == (found["where_pointwise_tied"]["pairs"])
    )
    for row in found["where_pointwise_tied"]["by_gap"]:
        assert row["accuracy"]["n"] <= row["decided_pairs"] < row["pairs"]
    assert (
        sum(row["decided_pairs"] for row in found["where_pointwise_tied"]["by_gap"])
        == found["where_pointwise_tied"]["decided_pairs"]
    )
    assert found["order"]["first_shown_advantage"]["low"] > 0
    ties = {name: way["metrics"]["tie_rate"]["estimate"] for name, way in found["ways"].items()}
    assert ties["pairwise_one_order"] == 0 < ties["pairwise"]


def test_how_pairs_are_written_does_not_matter():
    """Rows in another order, and pairs named the other way round, give the same figures."""
    turned = PAIRS.sample(frac=1, random_state=0).copy()
    half = np.arange(len(turned)) % 2 == 0
    turned.loc[half, ["a", "b"]] = turned.loc[half, ["b", "a"]].to_numpy()
    turned.loc[half, ["shown_first", "shown_second"]] = (
        1 - turned.loc[half, ["shown_second", "shown_first"]]
    ).to_numpy()
    one, other = (only(study_label_strategy(SCORES, verdicts=some)) for some in (PAIRS, turned))
    assert one == other


def test_one_order_alone_has_no_second():
    """Verdicts of one order count one call per pair, and nothing is said of the effect of the order."""
    found = only(study_label_strategy(SCORES, verdicts=verdicts(SIMULATION, orders=1)))
    group = found["strategies"]["every_pair"]
    assert set(group["strategies"]) == {"pointwise", "quantised", "pairwise", "sparse", "tie_break"}
    assert estimates(group, "calls_per_prompt")["pairwise"] == 6
    assert "order" not in found["matched_pairs"]


def test_some_pairs_are_compared_with_scores_on_their_prompts():
    """Prompts with whatever verdicts there are form a table of their own; candidates in no pair are counted."""
    some = PAIRS.sample(500, random_state=1)
    found = only(study_label_strategy(SCORES, verdicts=some))
    assert found["no_strategies"] == {"every_pair": "no prompt has a verdict on every pair of its candidates"}
    group = found["strategies"]["some_pairs"]
    assert group["prompts"] == some["prompt_id"].nunique() == 300 - found["data"]["prompts_without_verdicts"]
    assert estimates(group, "calls_per_prompt")["partial"] == pytest.approx(2 * 500 / group["prompts"])
    ends = pd.concat(
        [some[["prompt_id", "a"]].set_axis([0, 1], axis=1), some[["prompt_id", "b"]].set_axis([0, 1], axis=1)]
    )
    assert group["candidates_in_no_pair"] == 4 * group["prompts"] - len(ends.drop_duplicates())


def test_tokens_are_counted_where_both_files_hold_them():
    """Tokens of scores and verdicts add up; those of one order of two are not guessed at."""
    scores = SCORES.assign(input_tokens=100, output_tokens=10)
    found = only(study_label_strategy(scores, verdicts=PAIRS.assign(input_tokens=400, output_tokens=20)))
    group = found["strategies"]["every_pair"]
    tokens = estimates(group, "tokens_per_prompt")
    assert (tokens["pointwise"], tokens["pairwise"], tokens["sparse"]) == (440, 6 * 420, 4 * 420)
    pairs = (estimates(group, "calls_per_prompt")["tie_break"] - 4) / 2
    assert tokens["tie_break"] == pytest.approx(440 + 420 * pairs)
    assert tokens["pairwise_one_order"] is None
    gain = group["strategies"]["pairwise"]["metrics"]
    assert gain["gain_per_1000_tokens"]["estimate"] == pytest.approx(gain["gain"]["estimate"] / 2.52)
    alone = only(study_label_strategy(SCORES, verdicts=PAIRS))["strategies"]["every_pair"]
    assert set(estimates(alone, "tokens_per_prompt").values()) == {None}


def test_averaged_draws_count_a_call_each():
    """A score that is the mean of draws took as many calls as were averaged."""
    drawn = simulate("pilot", n=40, seed=1)
    scores = drawn.frame().drop(columns=["judge_score"])
    group = only(study_label_strategy(scores, verdicts=verdicts(drawn)))["strategies"]["every_pair"]
    assert estimates(group, "calls_per_prompt")["pointwise"] == 4 * 9


def test_what_is_left_out_is_counted():
    """Blank verdicts, one order alone, strange prompts and excluded candidates each have their count."""
    odd = PAIRS.copy()
    odd.loc[0, ["shown_first", "shown_second"]] = np.nan
    odd.loc[1, "shown_second"] = np.nan
    odd.loc[2, "prompt_id"] = "elsewhere"
    found = only(study_label_strategy(SCORES, verdicts=odd, exclude=["c3"]))
    assert found["data"]["pairs_left_out"] == {
        "no verdict": 1,
        "a verdict in one order only": 1,
        "the prompt is not among those that are scored and labelled completely": 1,
        "a candidate that the prompt lacks or that is left out": int((odd["b"] == "c3").sum()) - 1,
    }
    assert found["strategies"]["every_pair"]["prompts"] == 299


def test_an_order_that_was_lost_is_not_one_that_was_not_asked():
    """A file in one order is studied in one order; where it says why the other is blank, the pair is left out."""
    once = PAIRS.assign(shown_second=np.nan, unscored="")
    assert only(study_label_strategy(SCORES, verdicts=once))["data"]["pairs_left_out"] == {}
    lost = once.copy()
    lost.loc[[0, 1, 2], "unscored"] = "refused"
    found = only(study_label_strategy(SCORES, verdicts=lost))
    assert found["data"]["pairs_left_out"] == {"a verdict in one order only": 3}
    assert (found["data"]["pairs"], found["matched_pairs"]["orders"]) == (len(PAIRS) - 3, 1)


def test_ragged_pools_and_partial_labels():
    """Pools of several sizes work; beyond 5 % of prompts without labels every figure says so."""
    scores = SCORES.drop(SCORES.index[[3, 7, 11]])
    scores.loc[scores["prompt_id"] > "p0000199", "oracle_label"] = np.nan
    found = only(study_label_strategy(scores, verdicts=PAIRS, shape="ragged"))
    group = found["strategies"]["every_pair"]
    assert (group["prompts"], found["data"]["unlabelled_prompts"]) == (200, 100)
    assert group["strategies"]["pairwise"]["metrics"]["recovery"]["method"] == "labelled_only"
    assert estimates(group, "calls_per_prompt")["pairwise"] == pytest.approx((197 * 12 + 3 * 6) / 200)


def test_several_judges_and_the_pairwise_one_itself():
    """Each judge of scores is compared with the verdicts; what the verdicts earned is not compared with itself."""
    other = SCORES.assign(judge="other", judge_score=SCORES["judge_score"].round(1))
    own = SCORES.assign(judge="pairwise:m")
    both = pd.concat([SCORES.assign(judge="one"), other, own])
    study = study_label_strategy(both, verdicts=PAIRS)
    assert set(study.judges) == {"one", "other"}
    assert study.not_studied == {"pairwise:m": "its scores are what its own verdicts earned"}
    assert {"judge", "part", "way", "metric", "estimate", "difference"} <= set(study.to_frame().columns)
    assert repr(study) == "<LabelStrategyStudy of 2 judges on table: strategies>"
    assert "Not studied" in str(study)


def test_a_judge_as_the_reference_is_no_oracle():
    """Against another judge the sentences speak of the reference."""
    both = pd.concat([SCORES.assign(judge="one"), SCORES.assign(judge="ref", judge_score=SCORES["oracle_label"])])
    study = study_label_strategy(both.drop(columns="oracle_label"), verdicts=PAIRS, oracle="judge:ref")
    text = study.to_text(full=True)
    assert "reference" in text
    assert "oracle" not in text


REFUSED = [
    ({"a": ["x"], "b": ["x"]}, "compared with itself"),
    ({"shown_first": [1.5]}, "shown_first is 1.5"),
    ({"shown_first": ["yes"]}, "'yes'"),
    ({"prompt_id": ["elsewhere"]}, "no verdict is on two candidates with scores and labels"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_bad_verdicts_are_refused_in_one_line(change, message):
    """What cannot be used is named with what is wrong."""
    row = PAIRS.iloc[:1].assign(**change)
    with pytest.raises(InputError) as found:
        study_label_strategy(SCORES, verdicts=row)
    assert message in str(found.value)
    assert "\n" not in str(found.value)


def test_pairs_judged_twice_and_several_judges_are_refused():
    """A pair named both ways is one pair; verdicts of two judges need a name."""
    turned = PAIRS.iloc[:1].rename(columns={"a": "b", "b": "a"})
    with pytest.raises(InputError, match="again"):
        study_label_strategy(SCORES, verdicts=pd.concat([PAIRS.iloc[:1], turned]))
    two = pd.concat([PAIRS, PAIRS.assign(judge="second")])
    with pytest.raises(InputError, match="name the one to study"):
        study_label_strategy(SCORES, verdicts=two)
    assert study_label_strategy(SCORES, verdicts=two, pairwise="second").settings["pairwise"] == "second"


@pytest.mark.parametrize("flag", [{"bins": 1}, {"edges": 0}, {"gap_groups": 0}, {"confidence": 0.2}])
def test_numbers_that_mean_nothing_are_refused(flag):
    """Bins, edges and groups must be there, and a confidence be one."""
    with pytest.raises(InputError):
        study_label_strategy(SCORES, verdicts=PAIRS, **flag)


@pytest.fixture
def pools(tmp_path):
    """Write the words of all candidates."""
    lines = [
        json.dumps(
            {"prompt_id": p, "prompt": f"=say {p}", "candidates": [{"id": f"c{i}", "text": "t"} for i in range(4)]}
        )
        for p in dict.fromkeys(SCORES["prompt_id"])
    ]
    path = tmp_path / "pools.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def judged(record, whole):
    """Return verdicts on drawn pairs, under the ids of the draw."""
    found = record.merge(whole, on=["prompt_id", "a", "b"])
    return found.assign(prompt_id=found["pair_id"])[["prompt_id", "judge", "a", "b", "shown_first", "shown_second"]]


def test_drawn_pairs_are_pools_of_their_own(pools, tmp_path):
    """What is written can be read as pools with distinct ids, holds the words, and is never written over."""
    drawn = draw_pairs(SCORES, pairs=100, pools=pools, seed=3)
    record = drawn.write(tmp_path / "todo.jsonl")
    assert record == record_path(tmp_path / "todo.jsonl")
    read = list(read_pools(tmp_path / "todo.jsonl"))
    assert [len(pool.candidates) for pool in read] == [2] * 100
    assert [pool.prompt for pool in read] == [f"=say {prompt}" for prompt in drawn.record["prompt_id"]]
    assert sum(PairRecord.read(record).frame["weight"]) == pytest.approx(6 * 300)
    assert {one["drawn"] for one in drawn.strata} == {20}
    with pytest.raises(InputError, match="there already"):
        drawn.write(tmp_path / "todo.jsonl")
    again = draw_pairs(SCORES, pairs=100, pools=pools, seed=3)
    assert again.record.equals(drawn.record)
    assert json.loads(json.dumps(drawn.to_dict(), allow_nan=False))["study"] == "label-strategy"
    assert "tie" in str(drawn)


def test_pairs_are_drawn_of_the_prompts_that_the_study_keeps(pools):
    """Where there are labels prompts that lack some are left out and counted: every drawn pair is studied."""
    half = SCORES.copy()
    half.loc[half["prompt_id"] > "p0000149", "oracle_label"] = np.nan
    half.loc[(half["prompt_id"] == "p0000007") & (half["candidate"] == "c2"), "oracle_label"] = np.nan
    half.loc[(half["prompt_id"] == "p0000008") & (half["candidate"] == "c2"), "judge_score"] = np.nan
    drawn = draw_pairs(half, pairs=60, pools=pools)
    assert {one["gap_of"] for one in drawn.strata} == {"oracle"}
    assert sum(one["pairs"] for one in drawn.strata) == 148 * 6
    document = drawn.to_dict()
    reasons = document["prompts_left_out"]
    assert (reasons["no labels"], reasons["some of its candidates lack labels"]) == (150, 1)
    assert sum(reasons.values()) == 152
    assert document["labels_needed"] == 0
    assert document["sentences"][-1] == "No pair is of the other 152 prompts, none of which the study can use."
    assert "left out 150 prompts: no labels" in str(drawn)
    found = only(study_label_strategy(half, verdicts=judged(drawn.record, PAIRS), drawn=drawn.record))
    assert (found["data"]["pairs"], found["data"]["pairs_left_out"]) == (60, {})


def test_without_labels_all_pairs_are_drawn_and_the_labels_they_need_are_counted(pools):
    """Strata are those of the scores then, and the study needs labels of whole prompts, not of pairs."""
    drawn = draw_pairs(SCORES.drop(columns="oracle_label"), pairs=60, pools=pools)
    assert {one["gap_of"] for one in drawn.strata} == {"score"}
    assert sum(one["pairs"] for one in drawn.strata) == 1800
    document, prompts = drawn.to_dict(), drawn.record["prompt_id"].nunique()
    assert (document["labels_needed"], document["prompts_left_out"]) == (4 * prompts, {})
    sentence = (
        f"There are no labels yet: the study will need {4 * prompts}, of all candidates of these {prompts} prompts."
    )
    assert sentence in document["sentences"]
    assert sentence in " ".join(str(drawn).split())


def test_labels_that_complete_no_prompt_are_no_use(pools):
    """A draw that the study could not use at all is refused, with both ways out."""
    part = SCORES.assign(oracle_label=SCORES["oracle_label"].where(SCORES["candidate"] == "c0"))
    with pytest.raises(InputError, match="no prompt that 'judge' scored has labels for all") as refused:
        draw_pairs(part, pairs=60, pools=pools)
    assert "or draw without the labels" in refused.value.hint


def test_weights_undo_the_strata(pools):
    """Over many draws the weighted figures average to those of all pairs; unweighted they would not."""
    whole = only(study_label_strategy(SCORES, verdicts=PAIRS))["matched_pairs"]
    found = []
    for seed in range(8):
        drawn = draw_pairs(SCORES, pairs=300, pools=pools, seed=seed)
        part = only(study_label_strategy(SCORES, verdicts=judged(drawn.record, PAIRS), drawn=drawn.record))
        assert part["matched_pairs"]["weighted"]
        assert set(part["no_strategies"]) == {"every_pair", "some_pairs"}
        found.append([part["matched_pairs"]["ways"][way]["metrics"]["tie_rate"]["estimate"] for way in whole["ways"]])
    expected = [way["metrics"]["tie_rate"]["estimate"] for way in whole["ways"].values()]
    assert np.mean(found, axis=0) == pytest.approx(expected, abs=0.02)


def test_a_record_that_does_not_fit_is_refused(pools):
    """Verdicts on other pairs, or of other candidates, are not weighted; those not judged are counted."""
    drawn = draw_pairs(SCORES, pairs=50, pools=pools)
    mine = judged(drawn.record, PAIRS)
    with pytest.raises(InputError, match="no verdict on a pair"):
        study_label_strategy(SCORES, verdicts=PAIRS, drawn=drawn.record)
    with pytest.raises(InputError, match="is a pair of"):
        study_label_strategy(SCORES, verdicts=mine.assign(a="c9"), drawn=drawn.record)
    found = only(study_label_strategy(SCORES, verdicts=mine.iloc[5:], drawn=drawn.record))
    assert found["data"]["pairs_left_out"] == {"drawn but not judged": 5}


@pytest.mark.parametrize("count", [2, 10_000])
def test_draws_that_cannot_be_are_refused(pools, count):
    """Fewer pairs than strata, or more than there are, are refused with what there is."""
    with pytest.raises(InputError, match="from 1,800 in 5 strata"):
        draw_pairs(SCORES, pairs=count, pools=pools)


def test_pools_without_the_candidates_are_refused(pools):
    """A candidate whose words are nowhere is named."""
    with pytest.raises(InputError, match="no pool"):
        draw_pairs(SCORES.assign(candidate="x" + SCORES["candidate"]), pairs=50, pools=pools)
    with pytest.raises(InputError, match=r"\.jsonl"):
        record_path(Path("todo.csv"))


def test_weighted_figures_are_those_of_plain_loops(pools):
    """Recovery, agreement, ties and what the order does, each pair by its weight: strata weigh unlike."""
    drawn = draw_pairs(SCORES, pairs=300, pools=pools, seed=5)
    mine = judged(drawn.record, PAIRS)
    found = only(study_label_strategy(SCORES, verdicts=mine, drawn=drawn.record))["matched_pairs"]
    label, score = (SCORES.set_index(["prompt_id", "candidate"])[name] for name in ("oracle_label", "judge_score"))
    pairs = drawn.record.merge(mine, left_on="pair_id", right_on="prompt_id", suffixes=("", "_judged"))
    gained, possible, tied, flipped, whole = {"pointwise": 0.0, "pairwise": 0.0}, 0.0, 0.0, 0.0, 0.0
    for one in pairs.itertuples():
        values = label[one.prompt_id, one.a], label[one.prompt_id, one.b]
        lead = {
            "pointwise": score[one.prompt_id, one.a] - score[one.prompt_id, one.b],
            "pairwise": (one.shown_first + one.shown_second) / 2 - 0.5,
        }
        for name, by in lead.items():
            kept = values[0] if by > 1e-9 else values[1] if by < -1e-9 else sum(values) / 2
            gained[name] += one.weight * (kept - sum(values) / 2)
        possible += one.weight * (max(values) - sum(values) / 2)
        tied += one.weight * (abs(lead["pointwise"]) < 1e-9)
        flipped += one.weight * (one.shown_first != one.shown_second)
        whole += one.weight
    ways = {name: way["metrics"] for name, way in found["ways"].items()}
    assert pairs["weight"].max() > 1.5 * pairs["weight"].min()
    for name, gain in gained.items():
        assert ways[name]["recovery"]["estimate"] == pytest.approx(gain / possible)
    assert ways["pointwise"]["tie_rate"]["estimate"] == pytest.approx(tied / whole)
    assert found["order"]["flips"]["estimate"] == pytest.approx(flipped / whole)


# Which prompts pairs are drawn of, however many of them lack labels.


SIMULATION_OF_DRAW = simulate("arena", n=30, seed=4)
SCORES_OF_DRAW, PAIRS_OF_DRAW = SIMULATION_OF_DRAW.frame(), verdicts(SIMULATION_OF_DRAW)
PROMPTS = list(dict.fromkeys(SCORES_OF_DRAW["prompt_id"]))

NO_LABELS, SOME_LACK = "no labels", "some of its candidates lack labels"


@pytest.fixture
def pools_of_draw(tmp_path):
    """Write the words of all candidates."""
    texts = [{"id": f"c{i}", "text": "t"} for i in range(4)]
    lines = [json.dumps({"prompt_id": prompt, "prompt": "say", "candidates": texts}) for prompt in PROMPTS]
    path = tmp_path / "pools.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def lacking(without, partly):
    """Return the scores with no labels of some prompts and one blank label in others."""
    first = SCORES_OF_DRAW["candidate"] == "c0"
    blank = SCORES_OF_DRAW["prompt_id"].isin(without) | (SCORES_OF_DRAW["prompt_id"].isin(partly) & first)
    return SCORES_OF_DRAW.assign(oracle_label=SCORES_OF_DRAW["oracle_label"].mask(blank))


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
def test_prompts_that_lack_labels_are_counted_and_not_drawn_of(pools_of_draw, without, partly):
    """However many lack labels: all other pairs can be drawn, a left-out prompt has one reason, all are studied."""
    scores, whole = lacking(without, partly), [one for one in PROMPTS if one not in {*without, *partly}]
    drawn = draw_pairs(scores, pairs=20, pools=pools_of_draw, seed=1)
    counts = {NO_LABELS: len(without), SOME_LACK: len(partly)}
    assert drawn.prompts_left_out == {reason: count for reason, count in counts.items() if count}
    assert sum(one["pairs"] for one in drawn.strata) == 6 * len(whole)
    assert set(drawn.record["prompt_id"]) <= set(whole)
    label = SCORES_OF_DRAW.set_index(["prompt_id", "candidate"])["oracle_label"]
    for one in drawn.record.itertuples():
        assert one.gap == pytest.approx(abs(label[one.prompt_id, one.a] - label[one.prompt_id, one.b]))
    judged = drawn.record.merge(PAIRS_OF_DRAW, on=["prompt_id", "a", "b"])
    judged = judged.assign(prompt_id=judged["pair_id"])[["prompt_id", "a", "b", "shown_first", "shown_second"]]
    (found,) = study_label_strategy(scores, verdicts=judged, drawn=drawn.record).judges.values()
    assert (found["data"]["pairs"], found["data"]["pairs_left_out"]) == (20, {})


def test_a_prompt_without_a_score_is_counted_beside_one_without_labels(pools_of_draw):
    """A prompt left out for want of a score is not counted again for lack of labels."""
    scores = lacking(PROMPTS[:1], [])
    unscored = (scores["prompt_id"] == PROMPTS[3]) & (scores["candidate"] == "c2")
    scores["judge_score"] = scores["judge_score"].mask(unscored, np.nan)
    drawn = draw_pairs(scores, pairs=20, pools=pools_of_draw)
    assert sorted(drawn.prompts_left_out.values()) == [1, 1]
    assert drawn.prompts_left_out[NO_LABELS] == 1
    assert sum(one["pairs"] for one in drawn.strata) == 6 * 28


def test_a_draw_keeps_its_pairs_but_in_json(pools_of_draw, tmp_path):
    """Pickled or copied it has its record and pools; loaded it is equal, shows its strata, and cannot be written."""
    draw = draw_pairs(SCORES_OF_DRAW, pairs=20, pools=pools_of_draw, seed=1)
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


def test_a_prompt_that_lacks_a_score_is_in_no_way_of_asking():
    """Scores and verdicts are compared on the same pairs: it is dropped, named by its candidate, and counted."""
    simulation = simulate("arena", n=30, seed=2)
    frame = simulation.frame()
    names = [str(name) for name in frame["candidate"][:2]]
    frame.loc[frame.index[:2], "judge_score"] = np.nan
    found = study_label_strategy(frame, verdicts=verdicts(simulation)).judges["judge"].data
    assert (found.prompts, found.unlabelled_prompts) == (29, 0)
    assert found.dropped == {f"no score for {', '.join(names)}": 1}
    assert found.unscored is None


def test_of_columns_that_verdicts_lack_the_first_is_named():
    """In the order in which they are needed: whoever adds it is told the next one."""
    frame = pd.DataFrame({"prompt_id": ["p"], "a": ["x"]})
    for column in ("b", "shown_first", "shown_second"):
        with pytest.raises(ColumnError, match=rf"no column {column} \("):
            PairVerdicts.read(frame)
        frame[column] = "y"
