from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bonwise.auditing.front import audit
from bonwise.errors import InputError, UsageError
from bonwise.labels.front import draw_labels
from bonwise.table.label_design import LabelDesign
from bonwise.testing import simulate

LABELLED = simulate("arena", n=500, seed=1, candidates=8).frame()
SCORES = LABELLED.drop(columns="oracle_label")
RECOVERY = audit(LABELLED)["recovery"].estimate
"""With all labels."""

SMALL = simulate("arena", n=300, seed=1).frame().drop(columns="oracle_label")


def filled(sheet, table=LABELLED):
    """Fill a sheet in from known labels."""
    keys = ["prompt_id", "candidate"]
    return sheet.drop(columns="oracle_label").merge(table[[*keys, "oracle_label"]], on=keys)


def by_prompt(design):
    """Return the record, one row per prompt, in the order of names."""
    return design.frame().sort_values("prompt_id").reset_index(drop=True)


def test_six_tenths_of_the_labels_are_of_whole_pools():
    """The sheet lists the drawn cells and no other: eight of a whole pool, the two of a pair."""
    found = draw_labels(SCORES, labels=900, by="cell", seed=3)
    frame, cells = found.to_frame(), found.sheet.groupby("prompt_id").size()
    whole, pairs = (frame.loc[frame["part"] == part, "prompt_id"] for part in ("whole", "pair"))
    assert len(whole) == 68
    assert (cells[whole] == 8).all()
    assert (cells[pairs] == 2).all()
    assert len(found.sheet) == 8 * len(whole) + 2 * len(pairs) == found.data.candidate_labels_now
    assert 890 <= len(found.sheet) <= 900
    drawn = frame[frame["part"] == "pair"]
    keys = set(zip(found.sheet["prompt_id"], found.sheet["candidate"], strict=True))
    for side in ("pick", "other"):
        assert set(zip(drawn["prompt_id"], drawn[side], strict=True)) <= keys
    assert found.settings.to_dict()["drawn_for"] == "recovery"
    assert found.settings.design == found.design.rule == "whole-and-pair"
    assert "68 with all candidates and" in str(found)


def test_the_record_states_the_chance_of_every_cell_and_pair():
    """Over many draws, cells and pairs are labelled as often as the record says of each."""
    scores = SCORES[SCORES["prompt_id"].isin(SCORES["prompt_id"].unique()[:120])]
    draws, seen = 60, {"top": 0.0, "other": 0.0, "pair": 0.0}
    expected, spread = dict(seen), dict(seen)
    score = scores.set_index(["prompt_id", "candidate"])["judge_score"]
    top = score == score.groupby("prompt_id").transform("max")
    for seed in range(draws):
        found = draw_labels(scores, labels=620, by="cell", seed=seed)
        record = found.to_frame().set_index("prompt_id")
        labelled = pd.Series(1, index=pd.MultiIndex.from_frame(found.sheet[["prompt_id", "candidate"]]))
        cells = labelled.reindex(score.index, fill_value=0).to_frame("labelled").assign(top=top)
        some = cells["labelled"].groupby("prompt_id").first()  # the candidate of the first name
        first_top = cells["top"].groupby("prompt_id").first()
        for kind, mask in (("top", first_top), ("other", ~first_top)):
            chance = record.loc[mask.index[mask], f"propensity_{kind}"]
            seen[kind] += some[mask].sum()
            expected[kind] += chance.sum()
            spread[kind] += (chance * (1 - chance)).sum()
        both = cells["labelled"].groupby("prompt_id").agg(["first", "last"]).prod(axis=1)
        differ = first_top != cells["top"].groupby("prompt_id").last()
        chance = record.loc[differ.index[differ], "propensity_pair"]
        seen["pair"] += both[differ].sum()
        expected["pair"] += chance.sum()
        spread["pair"] += (chance * (1 - chance)).sum()
    for kind, count in seen.items():
        assert abs(count - expected[kind]) < 4 * np.sqrt(spread[kind]), kind


def test_a_record_is_read_back_as_it_was_written(tmp_path):
    """Column for column, and the audit takes it from the file."""
    found = draw_labels(SCORES, labels=900, by="cell", seed=3)
    found.write(tmp_path / "drawn.csv", sheet=tmp_path / "sheet.csv")
    again = LabelDesign.read(tmp_path / "drawn.csv")
    pd.testing.assert_frame_equal(by_prompt(again), by_prompt(found.design))
    result = audit(SCORES, labels=filled(found.sheet), design=tmp_path / "drawn.csv")
    told = result.to_dict()
    assert told["metrics"]["recovery"]["method"] == told["metrics"]["gain"]["method"] == "cells"
    assert told["metrics"]["recovery"]["low"] < RECOVERY < told["metrics"]["recovery"]["high"]
    assert (told["sampling"]["whole_pools"], told["sampling"]["pairs"]) == (68, found.data.drawn - 68)
    refused = told["metrics"]["value_oracle"]
    assert refused["estimate"] is None
    assert "drawn for gain and recovery" in refused["reason"]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("part", "some", "part is 'some'"),
        ("part", "", "part is ''"),
        ("propensity_top", "1.5", "propensity_top is .1.5."),
        ("pick", "", "pick is blank"),
    ],
)
def test_a_damaged_record_is_refused(tmp_path, column, value, words):
    """One line, with the row."""
    path = tmp_path / "drawn.csv"
    draw_labels(SCORES, labels=900, by="cell").design.write(path)
    raw = pd.read_csv(path, dtype=str, keep_default_na=False)
    raw.loc[raw.index[raw["part"] == "pair"][0], column] = value
    raw.to_csv(path, index=False)
    with pytest.raises(InputError, match=words):
        LabelDesign.read(path)


def test_for_gain_all_labels_go_to_pairs_at_any_number_of_candidates():
    """Of four candidates as well; the audit estimates gain alone."""
    found = draw_labels(SMALL, labels=160, by="cell", for_="gain")
    frame = found.to_frame()
    assert found.design.rule == "pair"
    assert set(frame["part"]) == {"", "pair"}
    assert frame["propensity_pair"].notna().sum() == (frame["propensity"] > 0).sum()
    assert found.data.candidate_labels_now == len(found.sheet) == 160
    labels = filled(found.sheet, simulate("arena", n=300, seed=1).frame())
    metrics = audit(SMALL, labels=labels, design=found.design).to_dict()["metrics"]
    assert metrics["gain"]["low"] < metrics["gain"]["estimate"] < metrics["gain"]["high"]
    assert metrics["recovery"]["estimate"] is None


def test_labels_in_the_table_are_used_and_not_asked_for_again():
    """The draw is the one without labels; candidates that have one need no row."""
    some = LABELLED.assign(oracle_label=LABELLED["oracle_label"].where(np.arange(len(LABELLED)) % 3 == 0))
    plain = draw_labels(SCORES, labels=900, by="cell", seed=3)
    found = draw_labels(some, labels=900, by="cell", seed=3)
    pd.testing.assert_frame_equal(found.to_frame(), plain.to_frame())
    keys = ["prompt_id", "candidate"]
    known = some.loc[some["oracle_label"].notna(), keys]
    left = plain.sheet.merge(known, on=keys, how="left", indicator=True)
    assert set(map(tuple, found.sheet[keys].to_numpy())) == set(
        map(tuple, left.loc[left["_merge"] == "left_only", keys].to_numpy())
    )
    assert found.data.labelled_already == len(plain.sheet) - len(found.sheet) > 200
    assert f"{found.data.labelled_already} candidates drawn now have labels already" in str(found)
    both = pd.concat([some.dropna()[[*keys, "oracle_label"]], filled(found.sheet)])
    told = audit(SCORES, labels=both, design=found.design).to_dict()
    alone = audit(SCORES, labels=filled(plain.sheet), design=plain.design).to_dict()
    assert told["metrics"]["recovery"] == alone["metrics"]["recovery"]
    assert told["sampling"]["labelled_not_drawn"] > 0


def test_labels_of_a_file_stand_in_the_sheet():
    """One file then holds all labels."""
    labels = LABELLED.loc[::3, ["prompt_id", "candidate", "oracle_label"]]
    found = draw_labels(SCORES, labels=900, by="cell", seed=3, label_file=labels)
    assert found.sheet["oracle_label"].notna().sum() == found.data.labelled_already > 200
    assert len(found.sheet) == found.data.candidate_labels_now + found.data.labelled_already


@pytest.mark.parametrize("first_rule", ["cell", "rule", "uniform"])
def test_a_draw_goes_on_from_an_earlier_one(first_rule):
    """What was drawn stays drawn, as it was; strata and seeds of the first phase stay."""
    how = {"by": "cell", "labels": 700} if first_rule == "cell" else {"design": first_rule, "labels": 70}
    first = draw_labels(SCORES, seed=1, **how)
    second = draw_labels(SCORES, labels=1100, seed=2, after=first.design, label_file=filled(first.sheet), by="cell")
    before, after = by_prompt(first.design), by_prompt(second.design)
    old = before["phase"] > 0
    assert (after.loc[old, "phase"] == 1).all()
    assert (after.loc[old, "seed"] == 1).all()
    assert second.settings.phase == 2
    if first_rule == "cell":
        assert after.loc[old, ["part", "pick", "other"]].equals(before.loc[old, ["part", "pick", "other"]])
    else:
        assert (after.loc[old, "part"] == "whole").all()
    assert second.sheet["oracle_label"].notna().sum() == len(first.sheet)
    result = audit(SCORES, labels=filled(second.sheet), design=second.design)
    assert result["recovery"].low < RECOVERY < result["recovery"].high


def test_without_a_word_a_later_phase_is_drawn_as_the_first():
    """The record says that cells were drawn, and for what."""
    first = draw_labels(SCORES, labels=700, by="cell")
    second = draw_labels(SCORES, labels=900, after=first.design)
    assert second.design.rule == "whole-and-pair"
    gain = draw_labels(SMALL, labels=60, by="cell", for_="gain")
    more = draw_labels(SMALL, labels=90, after=gain.design)
    assert more.settings.to_dict()["drawn_for"] == "gain"
    assert more.design.cells is not None


@pytest.mark.parametrize(
    ("source", "arguments", "words"),
    [
        (SMALL, {"labels": 300, "by": "cell"}, "fewer than 8 candidates"),
        (SCORES, {"labels": 400, "by": "cell"}, "do not pay for 60 whole pools"),
        (SCORES, {"labels": 4001, "by": "cell"}, "4,001 labels were asked for"),
        (SCORES, {"labels": 900, "by": "row"}, "unknown unit of a draw 'row'"),
        (SCORES, {"labels": 900, "by": "cell", "for_": "ties"}, "not 'ties'"),
        (SCORES, {"labels": 90, "for_": "gain"}, "prompts are drawn"),
        (SCORES, {"labels": 900, "by": "cell", "design": "rule"}, "rule was asked for"),
        (SCORES.assign(judge_score=0.5), {"labels": 900, "by": "cell"}, "no pair to draw"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(source, arguments, words):
    """One line that says why."""
    with pytest.raises((InputError, UsageError), match=words):
        draw_labels(source, **arguments)


def test_the_reason_names_the_numbers_of_candidates_that_were_not_simulated():
    """Of six candidates nobody knows; of four it is known."""
    six = simulate("arena", n=100, seed=1, candidates=6).frame()
    with pytest.raises(InputError, match=r"5 to 7 candidates were not simulated"):
        draw_labels(six, labels=500, by="cell")
    with pytest.raises(InputError) as four:
        draw_labels(SMALL, labels=500, by="cell")
    assert "not simulated" not in str(four.value)


def test_an_earlier_draw_of_another_kind_is_refused():
    """A pilot is refused, a draw by cell does not go on by prompt, and no fewer labels are drawn than before."""
    pilot = draw_labels(SCORES, labels=100, design="neyman").design
    with pytest.raises(UsageError, match="cannot continue"):
        draw_labels(SCORES, labels=900, by="cell", after=pilot)
    cells = draw_labels(SCORES, labels=900, by="cell").design
    with pytest.raises(UsageError, match="prompts were asked for"):
        draw_labels(SCORES, labels=950, by="prompt", after=cells)
    with pytest.raises(UsageError, match="asked for in all"):
        draw_labels(SCORES, labels=850, by="cell", after=cells)


def test_a_record_for_other_scores_is_refused():
    """The labelled pick must be at the top, and strata of one kind."""
    found = draw_labels(SCORES, labels=900, by="cell", seed=3)
    labels = filled(found.sheet)
    turned = SCORES.assign(judge_score=-SCORES["judge_score"])
    with pytest.raises(InputError, match="drawn for another judge"):
        audit(turned, labels=labels, design=found.design)
    many = filled(found.sheet.iloc[:700])
    with pytest.raises(InputError, match="lack the labels that were drawn"):
        audit(SCORES, labels=many, design=found.design)


def test_clusters_of_prompts_are_the_units_of_the_interval():
    """The estimates stay as they are; five prompts a cluster move the interval."""
    found = draw_labels(SCORES, labels=900, by="cell", seed=3)
    labels = filled(found.sheet)
    clustered = SCORES.assign(cluster=SCORES["prompt_id"].str[-7:].astype(int) // 5)
    alone, together = (audit(one, labels=labels, design=found.design) for one in (SCORES, clustered))
    for name in ("gain", "recovery"):
        assert together[name].estimate == pytest.approx(alone[name].estimate, abs=1e-12)
        assert together[name].se != pytest.approx(alone[name].se, rel=1e-6)
