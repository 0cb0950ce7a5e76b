from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.cli.entry import run
from bonwise.errors import UsageError


def prefers(n=200, planted=0.5, seed=20261123):
    """Return a table of a judge that prefers longer answers, its own family and the first place, by `planted`."""
    rng = np.random.default_rng(seed)
    length = np.exp2(rng.uniform(5, 11, (n, 4))).round()
    own = rng.random((n, 4)) < 0.5
    place = rng.random((n, 4)).argsort(axis=1) + 1
    labels = (rng.random((n, 4)) + 0.05 * np.log2(length)).round(1)
    pull = 0.1 * np.log2(length) + 0.3 * own + 0.3 * (place == 1)
    scores = labels + planted * pull + 0.3 * rng.standard_normal((n, 4))
    return pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{x:04d}" for x in range(n)], 4),
            "candidate": np.tile(list("abcd"), n),
            "judge_score": scores.ravel(),
            "oracle_label": labels.ravel(),
            "length": length.ravel(),
            "family": np.where(own, "Acme", "Other").ravel(),
            "position": place.ravel(),
        }
    )


def effects_of(frame, **options):
    """Audit a table and return its effects by attribute."""
    found = bw.audit(frame, **options)["candidate_effects"]
    return {one.attribute: one for one in found.effects}


def test_planted_preferences_are_told():
    """Each preference is told in the unit of its contrast, near what was planted, with what it costs."""
    found = effects_of(prefers(600), judge_family="acme")
    assert list(found) == ["length", "family", "position"]
    assert found["length"].score.low > 0.05
    assert found["family"].score.low > 0.15
    assert found["position"].score.low > 0.15
    # With all three in one equation the noise is the planted one alone.
    sd = found["length"].score_jointly
    assert found["family"].score_jointly.estimate / sd.estimate == pytest.approx(3, rel=0.25)
    assert found["length"].recovery_cost.n == 600
    assert found["length"].sentences[0].startswith("This judge prefers longer answers: +0.")
    assert "sd per doubling of length at equal label [+0." in found["length"].sentences[0]
    assert found["family"].sentences[0].startswith("This judge prefers answers of its own family: +0.")
    assert found["position"].sentences[0].startswith("This judge prefers the first place: +0.")
    assert found["family"].sentences[1].startswith("It costs ")
    assert " points of recovery [" in found["family"].sentences[1]
    assert found["family"].sentences[2].startswith("With the other attributes equal too the effect is +0.")


def test_no_preference_is_told_as_none():
    """Where nothing is planted none is detected, also where labels grow with length."""
    found = effects_of(prefers(400, planted=0), judge_family="Acme")
    for one in found.values():
        assert one.score.low < 0 < one.score.high
        assert one.sentences[0].startswith("No preference for ")
    assert found["length"].score_unadjusted.low > 0


def test_lengths_of_texts_are_those_of_a_column(tmp_path):
    """Lengths are characters of the text, from a column or from pools, and are the same as given in a column."""
    frame = prefers(60).drop(columns=["family", "position"])
    column = effects_of(frame)["length"]
    texts = frame["length"].astype(int).map(lambda characters: "x" * characters)
    frame = frame.drop(columns="length")
    by_text = effects_of(frame.assign(text=texts))["length"]
    assert (by_text.source, column.source) == ("text", "length")
    assert by_text.score == column.score
    pools = tmp_path / "pools.jsonl"
    lines = [
        {
            "prompt_id": name,
            "prompt": "?",
            "candidates": [{"id": i, "text": t} for i, t in zip("abcd", some, strict=True)],
        }
        for name, some in texts.groupby(frame["prompt_id"])
    ]
    pools.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert effects_of(frame, pools=pools)["length"].score == column.score


def test_without_such_columns_nothing_is_said():
    """A table that tells nothing of candidates has no such part, in no form."""
    found = bw.audit(prefers(30).drop(columns=["length", "family", "position"]))
    assert "candidate_effects" not in found
    assert "at equal label" not in str(found)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"length": 7}, "all candidates of a prompt have the same length"),
        ({"length": np.nan}, "every prompt has a candidate without a length"),
        ({"judge_score": 1.0}, "it needs 10 prompts whose candidates differ in it and in score, and there are 0"),
        ({"cluster": 1}, "the prompts are in 1 cluster, and an interval needs 5"),
    ],
)
def test_reasons_where_nothing_can_be_told(change, reason):
    """What cannot be told has a reason, and no figure."""
    found = effects_of(prefers(40).assign(**change))["length"]
    assert (found.score, found.reason) == (None, reason)
    assert found.sentences == [f"A preference for longer or shorter answers cannot be told: {reason}."]


def test_a_cost_needs_prompts():
    """Below 50 prompts an effect may be told; what it costs is not."""
    found = effects_of(prefers(40))["length"]
    assert found.score.estimate is not None
    assert found.recovery_cost.reason.startswith("it needs 50 prompts")
    assert "cannot be told" in found.sentences[1]


def test_prompts_of_which_something_is_unknown_are_left_out():
    """A blank length leaves its prompt out, and the count is told."""
    frame = prefers(80)
    frame.loc[[0, 1, 8], "length"] = [np.nan, 0, np.nan]
    found = effects_of(frame)["length"]
    assert (found.prompts, found.prompts_left_out) == (78, 2)
    assert found.sentences[-1] == "2 prompts left out: the length is not known of every candidate."


def test_families_of_judges():
    """The judge's family is stated, for each judge or for all, or is in a column; without it there is a reason."""
    frame = prefers(60)
    assert effects_of(frame)["family"].reason.startswith("the judge's own family is not stated")
    assert "no candidate is of the judge's family 'Zed'" in effects_of(frame, judge_family="Zed")["family"].reason
    by_column = effects_of(frame.assign(judge_family="ACME "))["family"]
    assert by_column.score == effects_of(frame, judge_family={"judge": "acme"})["family"].score
    numbers = frame.assign(family=frame["family"].map({"Acme": 7.0, "Other": 8.0}))
    assert effects_of(numbers, judge_family="7")["family"].score == by_column.score
    mixed = effects_of(frame.assign(judge_family=["a", "b"] * 120))["family"]
    assert mixed.reason == "'judge_family' gives the judge several families: a, b"
    with pytest.raises(UsageError, match="not a judge of this table"):
        bw.audit(frame, judge_family={"nobody": "Acme"})
    with pytest.raises(UsageError, match="no column holds the families"):
        bw.audit(frame.drop(columns="family"), judge_family="Acme")


def test_groups_count_picks():
    """A judge that always picks the first place is said to, against what the labels hold best."""
    frame = prefers(100)
    found = effects_of(frame.assign(judge_score=(frame["position"] == 1).astype(float)))["position"]
    first, later = found.groups
    assert (first.group, first.picked.estimate, first.chance, first.prompts) == ("first place", 1.0, 0.25, 100)
    assert first.picked.interval == "exact"
    assert first.difference.low > 0.5
    assert later.difference.estimate == pytest.approx(-first.difference.estimate)


def test_a_place_that_goes_with_the_name_is_told():
    """Where a candidate name always has the same place the two cannot be told apart."""
    frame = prefers(60)
    fixed = frame.assign(position=np.tile([1, 2, 3, 4], 60))
    caveat = "Each candidate name always has the same place"
    for table, told in ((fixed, True), (frame, False)):
        notes = bw.audit(table)["candidate_effects"].notes
        assert any(note.startswith(caveat) for note in notes) is told


def test_some_labels_are_told():
    """Effects rest on prompts that are labelled whole, and the output says so."""
    frame = prefers(100)
    frame.loc[frame.index[-80:], "oracle_label"] = np.nan
    found = bw.audit(frame)["candidate_effects"]
    assert found.notes[-1] == "These figures describe the 80 of 100 prompts that are labelled whole."
    sampled = bw.audit(frame, design="uniform")["candidate_effects"]
    assert sampled.notes == found.notes
    assert {one.score.method for one in sampled.effects if one.score} == {"labelled_only"}
    assert {one.score.method for one in found.effects if one.score} == {"labelled_only"}


def test_an_effect_is_the_same_in_any_order_of_rows():
    """The order of rows does not matter."""
    frame = prefers(60)
    shuffled = frame.sample(frac=1, random_state=1)
    one, other = (effects_of(table, judge_family="Acme")["family"] for table in (frame, shuffled))
    assert one.score.estimate == pytest.approx(other.score.estimate)
    assert one.recovery_cost.estimate == pytest.approx(other.recovery_cost.estimate)


def test_command_line(tmp_path, capsys):
    """Columns are named by flags; text, JSON and page tell the same, and hostile names do no harm."""
    frame = prefers(80).rename(columns={"length": "tokens", "family": "maker", "position": "slot"})
    frame["maker"] = frame["maker"].replace("Other", "<b>\x1b[31m")
    path, page, out = tmp_path / "scores.csv", tmp_path / "audit.html", tmp_path / "audit.json"
    frame.to_csv(path, index=False)
    flags = ["--length-col", "tokens", "--family-col", "maker", "--position-col", "slot", "--judge-family", "Acme"]
    assert run(["audit", str(path), *flags, "--full", "--html", str(page), "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "What the judge prefers at equal label" in printed
    assert "\x1b[31m" not in printed
    assert "<b>\x1b" not in page.read_text("utf-8")
    document = bw.load(out)
    assert [one.source for one in document["candidate_effects"].effects] == ["tokens", "maker", "slot"]
    assert document.settings.judge_family == {"": "Acme"}
    assert "mean length of candidates" in page.read_text("utf-8")
    assert run(["audit", str(path), *flags, "--judge-family", "B"]) == 2
    assert "given twice" in capsys.readouterr().err


def test_several_judges_have_families_of_their_own():
    """Each judge is compared with the candidates of its own family."""
    first = prefers(60).assign(judge="a")
    second = prefers(60, planted=0).assign(judge="b")
    both = pd.concat([first, second])
    found = bw.audit(both, judge_family={"a": "Acme", "b": "Other"})
    mine, theirs = (found.judges[name].candidate_effects.effects[1] for name in "ab")
    assert mine.score == effects_of(prefers(60), judge_family="Acme")["family"].score
    assert theirs.score == effects_of(prefers(60, planted=0), judge_family="Other")["family"].score


def test_a_length_that_is_text_stays_a_stratum():
    """A column of that name that holds words is a stratum as before."""
    frame = prefers(40).assign(length=np.repeat(["short", "long"], 80))
    found = bw.audit(frame)
    assert "length" not in found.settings.columns
    assert "length" in found.table.strata
