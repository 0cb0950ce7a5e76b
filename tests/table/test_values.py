"""Values whose lower ones are better, and values that mean that there is no score."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.doctoring.front import doctor
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.stacks.front import apply_stack, fit_stack
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.scales import Scale, off_scale
from bonwise.table.score_table import ScoreTable
from cli.commands import strict, typed


def drawn(prompts=60, seed=1, sizes=4):
    """Return scores of a rank and a rating of candidates that have labels."""
    rng = np.random.default_rng(seed)
    label = rng.normal(size=(prompts, sizes))
    seen = label + 0.5 * rng.normal(size=label.shape)
    return pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{x:03d}" for x in range(prompts)], sizes),
            "candidate": [f"c{x}" for x in range(sizes)] * prompts,
            "rank": (-seen).argsort(axis=1).argsort(axis=1).ravel() + 1.0,
            "rating": np.clip(np.round(3 + label + 0.7 * rng.normal(size=label.shape)), 1, 5).ravel(),
            "human_label": label.ravel().round(3),
        }
    )


RANKED = {"columns": {"judge_score": "rank"}, "lower_is_better": "rank"}
BOTH = {"columns": {"judge_score": "rank,rating"}}


def figures(audit):
    """Return every estimate with its interval."""
    return {name: (one.estimate, one.low, one.high) for name, one in audit.metrics.items()}


@pytest.fixture
def ranked(tmp_path):
    """Write scores in a column of ranks."""
    drawn().drop(columns="rating").to_csv(tmp_path / "s.csv", index=False)
    return tmp_path / "s.csv"


def with_sentinel(frame, value, share=0.1, seed=2):
    """Put a value in the place of some ratings."""
    lost = np.random.default_rng(seed).random(len(frame)) < share
    ratings = frame["rating"].astype(object)
    ratings[lost] = value
    return frame.drop(columns="rank").assign(rating=ratings), lost


# Directions


@pytest.mark.parametrize("name", ["rank", "judge", "judge_score"])
@pytest.mark.parametrize("seed", range(3))
def test_an_audit_of_reversed_scores_is_that_of_negated_ones(name, seed):
    """The name is that of the judge, of its column or of the role; every figure is that of the negated scores."""
    frame = drawn(seed=seed)
    negated = bw.audit(frame.assign(rank=-frame["rank"]), columns={"judge_score": "rank"})
    reversed_ = bw.audit(frame, columns={"judge_score": "rank"}, lower_is_better=[name])
    assert figures(reversed_) == figures(negated)
    assert reversed_.settings.lower_is_better == [name]
    assert reversed_.settings.readings == {"judge_score": f"lower is better ({name}): reversed"}


def test_only_the_named_judge_is_reversed():
    """Of several judges one is reversed, by its name or that of its column, and the words say which."""
    frame = drawn().rename(columns={"rank": "mqm_score", "rating": "gpt_score"})
    plain = ScoreTable.from_frame(frame)
    for name in ("mqm", "mqm_score"):
        table = ScoreTable.from_frame(frame, lower_is_better=name)
        sign = np.where(table.frame["judge"] == "mqm", -1, 1)
        assert (table.frame["judge_score"] == sign * plain.frame["judge_score"]).all()
        assert table.turned == {"mqm"}
        assert table.readings["judge_score"] == f"lower is better ({name}): reversed"


def test_on_a_declared_scale_values_stay_on_it():
    """Of a scale of 1 to 5 the lowest score becomes 1 and the highest 0; what is 0 does not become -0."""
    frame = drawn()[["prompt_id", "candidate", "rating", "human_label"]]
    table = ScoreTable.from_frame(frame, judge_scale=Scale(1, 5), lower_is_better=["rating"])
    assert np.allclose(table.frame["judge_score"], 1 - (frame["rating"] - 1) / 4, atol=1e-15)
    zero = ScoreTable.from_frame(frame.assign(rating=0.0), lower_is_better=["rating"]).frame["judge_score"]
    assert not np.signbit(zero).any()


def test_draws_and_intervals_are_reversed_with_the_score():
    """The mean of draws is reversed, and the upper end of an interval becomes the lower one."""
    frame = drawn(5)[["prompt_id", "candidate", "human_label"]]
    draws = frame.assign(draw_0=1.0, draw_1=3.0, low=0.5, high=4.0)
    table = ScoreTable.from_frame(draws, lower_is_better=["judge_score"])
    assert table.frame[["judge_score", "draw_0", "draw_1", "low", "high"]].iloc[0].tolist() == [-2, -1, -3, -4, -0.5]
    two = draws.assign(judge="a")
    both = pd.concat([two, two.assign(judge="b")])
    table = ScoreTable.from_frame(both, lower_is_better=["b"])
    ends = table.frame.groupby("judge", observed=True)[["low", "high"]].first()
    assert ends.to_numpy().tolist() == [[0.5, 4.0], [-4.0, -0.5]]


def test_labels_are_reversed_where_they_are():
    """In the table, or in a file of their own under that file's name; a column of ranks beside ranks is good."""
    frame = drawn()
    frame["human_rank"] = frame.groupby("prompt_id")["human_label"].rank(ascending=False)
    own = frame[["prompt_id", "candidate", "rank", "human_rank"]]
    said = {
        "columns": {"judge_score": "rank", "oracle_label": "human_rank"},
        "lower_is_better": ["rank", "human_rank"],
    }
    within = bw.audit(own, **said)
    assert within["recovery"].estimate > 0.5
    assert within.settings.readings["oracle_label"] == "lower is better (human_rank): reversed"
    apart = bw.audit(own.drop(columns="human_rank"), labels=own.drop(columns="rank"), **said)
    assert figures(apart) == figures(within)
    assert apart.settings.lower_is_better == ["rank", "human_rank"]
    table = ScoreTable.from_frame(own.drop(columns="human_rank"), **RANKED)
    named = own.drop(columns="rank").rename(columns={"human_rank": "human_rating"})
    joined = bw.audit(table, labels=named, lower_is_better=["human_rating"])
    assert figures(joined)["recovery"] == figures(within)["recovery"]
    with pytest.raises(UsageError, match="'human_rnk' is neither a judge nor a column of scores or labels"):
        bw.audit(
            own.drop(columns="human_rank"), labels=own.drop(columns="rank"), **said | {"lower_is_better": "human_rnk"}
        )


def test_labels_of_several_annotators_are_reversed_together():
    """The label of a candidate, and those of each annotator, are reversed."""
    frame = drawn().rename(columns={"human_label": "label_1"}).assign(label_2=lambda x: x["label_1"] + 0.1)
    said = {"columns": {"judge_score": "rating"}}
    plain = ScoreTable.from_frame(frame.drop(columns="rank"), **said)
    table = ScoreTable.from_frame(frame.drop(columns="rank"), lower_is_better=["oracle_label"], **said)
    assert np.allclose(table.frame["oracle_label"], -plain.frame["oracle_label"])
    of_each, before = (one.annotators.values for one in (table, plain))  # noqa: PD011 - those of annotators
    assert np.allclose(of_each, -before)
    assert "lower is better" in table.readings["oracle_label"]


def test_a_sheet_repeats_reversed_labels_as_they_were_given():
    """Labels that are on a sheet already are those of the file, whichever direction is better."""
    frame = drawn(30).drop(columns="rank")
    scores, asked = frame.drop(columns="human_label"), {"columns": {"judge_score": "rating"}, "seed": 3}
    first = bw.draw_labels(scores, labels=10, **asked)
    filled = first.sheet.drop(columns="oracle_label").merge(frame[["prompt_id", "candidate", "human_label"]])
    sheets = [
        bw.draw_labels(scores, labels=15, after=first.design, label_file=filled, **asked, **said).sheet
        for said in ({}, {"lower_is_better": ["human_label"]})
    ]
    assert sheets[0]["oracle_label"].notna().sum() == 40
    known = [sheet.dropna().set_index(["prompt_id", "candidate"])["oracle_label"].sort_index() for sheet in sheets]
    pd.testing.assert_series_equal(*known)


@pytest.mark.parametrize(
    ("command", "flags"),
    [("audit", []), ("route", []), ("doctor", []), ("plan", ["--question", "recovery>0", "--pilot"])],
)
def test_a_name_of_nothing_is_refused(capsys, ranked, command, flags):
    """One line says which names there are; exit code 2."""
    done = typed(capsys, command, *flags, ranked, "--score-col", "rank", "--lower-is-better", "rink")
    assert done.code == 2
    assert "'rink' is neither a judge nor a column of scores or labels" in done.err
    assert "judge, rank, human_label" in done.err


def test_a_table_that_was_read_keeps_its_directions():
    """A ScoreTable remembers them, and how its scores are read is fixed."""
    table = ScoreTable.from_frame(drawn().drop(columns="rating"), **RANKED)
    assert bw.audit(table).settings.lower_is_better == ["rank"]
    assert bw.audit(table).verdict.level == "useful"
    for said in ({"lower_is_better": "rank"}, {"missing": -1}):
        with pytest.raises(UsageError, match="how a ScoreTable is read is fixed"):
            bw.audit(table, **said)


def test_the_other_commands_follow(capsys, ranked, tmp_path):
    """Routing, labels, plans, studies and monitors read the reversed scores, repeat the name and say it."""
    frame = pd.read_csv(ranked)
    frame.assign(rank=-frame["rank"]).to_csv(tmp_path / "n.csv", index=False)
    calls = (["route"], ["labels", "compare"], ["study", "requirements"], ["monitor"])
    for words in calls:
        more = ["--half-width", "0.1"] if words == ["monitor"] else []
        documents = []
        for file, flags in ((ranked, ["--lower-is-better", "rank"]), (tmp_path / "n.csv", [])):
            done = typed(capsys, *words, file, *more, "--score-col", "rank", *flags, "--json", "-")
            assert done.code != 2, done.err
            documents.append(strict(done.out))
            assert ("lower is better (rank): reversed" in done.err) is bool(flags), words
        assert documents[0]["settings"].pop("lower_is_better") == ["rank"]
        known, plain = (json.dumps(one).replace("s.csv", "n.csv") for one in documents)
        assert known == plain, words


def test_a_plan_repeats_how_its_pilot_was_read(capsys, ranked):
    """Settings hold the names, and the commands of the study have the flags."""
    plan = bw.plan(question="recovery>0", pilot=ranked, missing=[-1], **RANKED)
    assert (plan.settings.lower_is_better, plan.settings.missing) == (["rank"], ["-1"])
    assert all("--lower-is-better rank --missing -1" in line for line in plan.commands if "SCORES" in line.upper())
    with pytest.raises(UsageError, match="missing has no meaning for a plan without a pilot"):
        bw.plan(question="recovery>0", candidates=4, within_r=0.3, missing=[-1])


def test_a_stack_is_not_put_to_scores_in_the_other_direction(tmp_path):
    """The directions of its judges stand in its file; a table read in others is refused."""
    frame = drawn(120)
    fitted = fit_stack(frame, lower_is_better=["rank"], **BOTH)
    assert fitted.settings.lower_is_better == ["rank"]
    with pytest.raises(UsageError, match=r"'rank' in the other direction \(add --lower-is-better rank\)"):
        apply_stack(frame, fitted, **BOTH)
    applied = apply_stack(frame, fitted, lower_is_better=["rank"], **BOTH)
    assert "stack" in applied.table.judges
    plain = fit_stack(frame.assign(rank=-frame["rank"]), **BOTH)
    with pytest.raises(UsageError, match=r"leave out --lower-is-better rank"):
        apply_stack(frame, plain, lower_is_better=["rank"], **BOTH)


SENTENCE = "With its scores reversed this judge would be useful (recovery "


def test_a_verdict_says_that_the_reverse_would_be_useful(capsys, ranked, tmp_path):
    """In the terminal, the document and the page; not where scores are reversed already, and not in the noise."""
    done = typed(capsys, "audit", ranked, "--score-col", "rank", "--json", "-", "--html", tmp_path / "p.html")
    verdict = strict(done.out)["verdict"]
    assert verdict["level"] == "harmful"
    assert verdict["sentences"][1].startswith(SENTENCE)
    assert verdict["sentences"][1].endswith("if its lower scores are better, add --lower-is-better rank.")
    assert SENTENCE in " ".join(done.err.split())
    assert SENTENCE in (tmp_path / "p.html").read_text()
    frame = drawn()
    # The wrong way round after it was declared, without a signal, and a weak judge upside down.
    upside_down = bw.audit(frame.assign(rank=-frame["rank"]), **RANKED)
    assert upside_down.verdict.level == "harmful"
    noise = np.random.default_rng(5).normal(size=len(frame))
    weak = -frame["human_label"] + 3 * noise
    others = [bw.audit(frame.assign(rank=one), columns={"judge_score": "rank"}) for one in (noise, weak)]
    assert others[1]["within_r"].high < 0
    assert not any(SENTENCE in " ".join(one.verdict.sentences) for one in (upside_down, *others))


def test_the_verdict_names_the_judge_where_there_are_several():
    """Each judge has its own sentence, with its name for the flag."""
    judges = bw.audit(drawn(), **BOTH).judges
    assert "--lower-is-better rank." in judges["rank"].verdict.sentences[1]
    assert SENTENCE not in " ".join(judges["rating"].verdict.sentences)


def test_doctor_proposes_names_whose_lower_values_are_better(capsys, ranked):
    """Its next command reverses them; labels that say otherwise, negated values and what was said keep it silent."""
    done = typed(capsys, "doctor", ranked, "--score-col", "rank", "--json", "-")
    found = strict(done.out)
    assert found["suspicious"][0].startswith("Lower values of 'rank' may be better, by its name")
    assert typed(capsys, *shlex.split(found["next_command"])[1:]).code == 0
    assert "--lower-is-better rank" in found["next_command"]

    frame = drawn()
    silent = [
        (frame, {**RANKED}),
        (frame.assign(rank=-frame["rank"]), {"columns": {"judge_score": "rank"}}),
        (frame.assign(rank=5 - frame["rank"]), {"columns": {"judge_score": "rank"}}),
        (frame.rename(columns={"rank": "crank"}), {"columns": {"judge_score": "crank"}}),
    ]
    for rows, said in silent:
        assert not any("Lower values" in one for one in doctor(rows.drop(columns="rating"), **said).suspicious)
    for name in ("Edit Distance", "valLoss", "MQM (errors)", "token_ppl"):
        rows = frame.drop(columns=["rating", "human_label"]).rename(columns={"rank": name})
        document = doctor(rows, columns={"judge_score": name})
        assert f"--lower-is-better {shlex.quote(name)}" in document.next_command
    frame["human_rank"] = frame.groupby("prompt_id")["human_label"].rank(ascending=False)
    columns = {"judge_score": "rank", "oracle_label": "human_rank"}
    document = doctor(frame.drop(columns=["rating", "human_label"]), columns=columns)
    assert "--lower-is-better rank --lower-is-better human_rank" in document.next_command


# Values that mean no score


@pytest.mark.parametrize("value", [-1, 999, "N/A?", "error"])
def test_declared_values_are_no_scores(value):
    """The candidate has no score, with the reason; figures are those of blank cells, and labels are left alone."""
    frame, lost = with_sentinel(drawn(), value)
    declared = bw.audit(frame, missing=[value], columns={"judge_score": "rating"})
    blank = bw.audit(frame.assign(rating=frame["rating"].where(~lost)), columns={"judge_score": "rating"})
    assert figures(declared) == figures(blank)
    counts = next(iter(declared.judges.values())).data if declared.judges else declared.data
    assert counts.unscored.candidates == lost.sum()
    assert counts.unscored.reasons == {f"declared missing ({value})": lost.sum()}
    assert declared.settings.missing == [str(value)]


def test_a_declared_number_is_found_however_it_is_written():
    """-1, -1.0 and the text of either are one number; a word counts in capitals or not; others stay."""
    rows = {"prompt_id": list("ppppp"), "candidate": list("abcde")}
    frame = pd.DataFrame({**rows, "score": ["-1", "-1.0", " Error ", "3", "11"]})
    table = ScoreTable.from_frame(frame, missing=(-1.0, "error"))
    assert table.frame["judge_score"].isna().tolist() == [True, True, True, False, False]
    assert table.words.columns["unscored"].to_numpy().tolist()[:3] == ["declared missing (-1)"] * 2 + [
        "declared missing (error)"
    ]
    assert table.missing == ("-1", "error")
    numbers = ScoreTable.from_frame(frame.assign(score=[-1, 1, -1, 2, 3]), missing=-1)
    assert numbers.frame["judge_score"].isna().tolist() == [True, False, True, False, False]


def test_labels_and_stated_reasons_stay():
    """A label of -1 is a label, and a reason that stands in the file is kept."""
    frame = pd.DataFrame(
        {
            "prompt_id": list("pppp"),
            "candidate": list("abcd"),
            "judge_score": [-1, None, 2, 3],
            "unscored": [None, "refused", None, None],
            "oracle_label": [-1, 0, 1, -1],
        }
    )
    table = ScoreTable.from_frame(frame, missing=-1)
    assert table.frame["oracle_label"].tolist() == [-1, 0, 1, -1]
    assert table.words.columns["unscored"].to_numpy().tolist()[:2] == ["declared missing (-1)", "refused"]


def test_draws_are_looked_at_too():
    """A draw that is no score is left out of the mean; without any draw there is no score."""
    frame = pd.DataFrame({"prompt_id": list("pp"), "candidate": list("ab"), "draw_0": [-1, -1], "draw_1": [4, -1]})
    table = ScoreTable.from_frame(frame, missing=-1)
    assert table.frame["judge_score"].tolist()[0] == 4
    assert np.isnan(table.frame["judge_score"].iloc[1])


def test_values_of_a_column_per_judge_are_counted_by_judge(capsys, tmp_path):
    """Reasons, words and pages work where a row of the file is a row for each judge; errors name row and column."""
    frame = drawn().rename(columns={"rank": "a_score", "rating": "b_score"}).assign(prompt="Say it.")
    frame.loc[:9, "b_score"] = -1
    frame.to_csv(tmp_path / "s.csv", index=False)
    asked = ("audit", tmp_path / "s.csv", "--missing", "-1", "--html", tmp_path / "p.html", "--json", "-")
    judges = strict(typed(capsys, *asked).out)["judges"]
    assert judges["b"]["data"]["unscored"]["reasons"] == {"declared missing (-1)": 10}
    assert "unscored" not in judges["a"]["data"]
    assert typed(capsys, "doctor", tmp_path / "s.csv").code == 0
    table = ScoreTable.read(tmp_path / "s.csv")
    assert table.frame.index.tolist()[:3] == ["2 (a_score)", "2 (b_score)", "3 (a_score)"]
    frame.astype({"b_score": object}).assign(b_score="x").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(RowError, match=r"row 2 \(b_score\)"):
        ScoreTable.read(tmp_path / "t.csv", columns={"judge_score": "a_score,b_score"})


def test_without_the_flag_the_error_names_it(capsys, tmp_path):
    """Text among scores is refused as before, also of a column that its content speaks against."""
    frame, _ = with_sentinel(drawn(), "error")
    with pytest.raises(RowError, match=r"which is not a number.*--missing VALUE"):
        bw.audit(frame, columns={"judge_score": "rating"})
    with pytest.raises(ColumnError, match=r"row \d+ holds text.*--missing VALUE"):
        bw.audit(frame)
    frame.to_csv(tmp_path / "s.csv", index=False)
    done = typed(capsys, "audit", tmp_path / "s.csv", "--missing", "error")
    assert done.code == 0
    assert "declared missing (error)" in done.out + done.err
    numbers, _ = with_sentinel(drawn(), -1)
    with pytest.raises(RowError, match=r"lies off the declared scale 1:5 .*; --missing -1 if it means no score"):
        bw.audit(numbers, judge_scale=Scale(1, 5))
    assert bw.audit(numbers, judge_scale=Scale(1, 5), missing=-1)["recovery"].estimate is not None
    with pytest.raises(UsageError, match=r"missing takes numbers or words, not \[None\]"):
        bw.audit(numbers, missing=[None])


SEEN = "off the scale of its other values: if that means no score, add --missing -1."


def test_a_number_off_the_scale_is_never_silent(capsys, tmp_path):
    """The audit says so in the terminal, the document and the page, and doctor proposes the flag."""
    frame, lost = with_sentinel(drawn(), -1)
    frame.to_csv(tmp_path / "s.csv", index=False)
    done = typed(capsys, "audit", tmp_path / "s.csv", "--json", "-", "--html", tmp_path / "p.html")
    said = f"'rating' is -1 for {lost.sum()} candidates, {SEEN}"
    assert said in strict(done.out)["verdict"]["sentences"][1]
    assert said in " ".join(done.err.split())
    assert SEEN in (tmp_path / "p.html").read_text()
    document = doctor(tmp_path / "s.csv")
    assert said in document.suspicious
    assert document.next_command.endswith("--missing -1")
    assert SEEN not in " ".join(doctor(tmp_path / "s.csv", missing=-1).suspicious)
    # Reversed scores are looked at as they were typed.
    assert SEEN in " ".join(bw.audit(tmp_path / "s.csv", lower_is_better="rating").verdict.sentences)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([-1, 1, 2, 3, 4, 5], [-1]),
        ([-1, *range(11)], [-1]),
        ([-1, 1, 2, 3], [-1]),
        ([999, *range(0, 101, 5)], [999]),
        ([-99, 1, 2, 3, 4, 5, 999], [-99, 999]),
        ([-1, *np.linspace(0, 1, 30)], [-1]),
        ([-1, 0, 1], []),
        ([-1, 0, 0.5, 1], []),
        ([-1, 0, 0.6, 0.7, 1], []),
        ([-1, -0.5, 0, 0.5, 1], []),
        ([-2, -1, 0, 1, 2], []),
        ([-1, 0, 1, 2, 3], []),
        ([-1, 1], []),
        ([*range(101)], []),
        ([-12.5, -1, -0.1, -3], []),
        ([-7, 1, 2, 3, 4, 5], []),
    ],
)
def test_what_lies_off_a_scale(values, found):
    """A usual number for "no score" counts where it is no value of the scale of the others."""
    assert off_scale(np.array(values * 20, dtype=np.float64)) == found
    assert off_scale(np.array(values, dtype=np.float64)[:19]) == []


def many(values, *used):
    """Return scores of a judge, some values of the scale among them."""
    return st.lists(values, min_size=20, max_size=80).map(lambda found: np.array([*found, *used], dtype=np.float64))


@given(
    st.one_of(
        many(st.floats(-8, 8), -0.25),
        many(st.floats(-50, 0)),
        many(st.floats(0, 1)),
        many(st.integers(0, 100), 50),
        many(st.sampled_from([-1, -0.5, 0, 0.5, 1]), -0.5),
        # Whole numbers around 0, whatever part of their scale a judge uses, 0 among it.
        st.integers(1, 3).flatmap(lambda end: many(st.integers(-end, end), 0)),
    )
)
@settings(max_examples=400)
def test_ordinary_scores_raise_no_alarm(scores):
    """On continuous scales, shares, percent, logarithms of probabilities and scales that hold -1 nothing is said."""
    assert off_scale(scores) == []


def test_options_come_back_as_flags():
    """What was said is repeated in commands, quoted for a shell."""
    flags = ReadingOptions(lower_is_better="the rank", missing=(-1, "N/A")).as_flags()
    assert flags == ["--lower-is-better 'the rank'", "--missing -1", "--missing N/A"]
    with pytest.raises(InputError, match="lower_is_better takes a name or several, not 3"):
        ReadingOptions(lower_is_better=3)
