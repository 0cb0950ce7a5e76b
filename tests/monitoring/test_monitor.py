"""When to stop labelling: every rule, and the command."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import typer

from auditing import rare_laws
from bonwise.cli.monitor import monitor as monitor_of_command
from bonwise.errors import InputError, RowError, UsageError
from bonwise.labels.front import draw_labels
from bonwise.monitoring.front import monitor
from bonwise.monitoring.order import labelled_in_order, votes_in_order
from bonwise.monitoring.request import MonitorRequest
from bonwise.table.label_design import LabelDesign
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.scales import Scale
from bonwise.table.score_table import ScoreTable
from bonwise.testing import simulate
from cli.commands import strict

CELL = ["prompt_id", "candidate"]


@pytest.fixture(scope="module")
def arena():
    """Return scores of 400 prompts and their labels, prompts in shuffled order."""
    table = simulate("arena", n=400, seed=8).frame()
    order = np.random.default_rng(4).permutation(400)
    labels = table.assign(at=order.repeat(4)).sort_values("at", kind="stable")
    return table.drop(columns="oracle_label"), labels[[*CELL, "oracle_label"]].reset_index(drop=True)


def strict_of_monitoring(found):
    """Return the document as a reader of strict JSON sees it."""
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_too_few_labels_are_no_error(arena):
    """Before the first look the answer is to go on, with an estimate and no interval."""
    scores, labels = arena
    found = monitor(scores, label_file=labels.iloc[:80], question="precision", half_width=0.1)
    assert found.verdict == "continue"
    assert (found.now.n, found.now.low, found.next_look) == (20, None, 30)
    assert "before the first look" in str(found)
    assert strict_of_monitoring(found)["looks"] == []


def test_the_rule_stops_once_and_stays_stopped(arena):
    """The verdict on all labels names the same stop as the verdict at that moment."""
    scores, labels = arena
    later = monitor(scores, label_file=labels, question="precision", half_width=0.1, planned=170)
    assert later.verdict == "stop: precise enough"
    n = later.stopped.n
    assert n % 10 == 0
    at_once = monitor(scores, label_file=labels.iloc[: 4 * n], question="precision", half_width=0.1, planned=170)
    before = monitor(scores, label_file=labels.iloc[: 4 * n - 1], question="precision", half_width=0.1, planned=170)
    assert (at_once.stopped.n, at_once.stopped.half_width) == (n, pytest.approx(later.stopped.half_width))
    assert at_once.stopped.half_width <= 0.1
    assert before.verdict == "continue"
    assert before.data["partly_labelled_prompts"] == 1
    assert 0 < before.expected_more < 60
    document = strict_of_monitoring(later)
    assert document["schema"] == "bonwise.monitor/1"
    assert n in [look["n"] for look in document["looks"]]


def test_prompts_count_in_the_order_of_their_last_label():
    """A prompt begun first and completed last counts last, and one half done not at all."""
    scores = pd.DataFrame({"prompt_id": list("aabbccdd"), "candidate": ["x", "y"] * 4, "judge_score": [1, 0] * 4})
    labels = pd.DataFrame(
        {"prompt_id": list("acbbcad"), "candidate": list("xxxyyyx"), "oracle_label": [1, 0, 0, 1, 1, 0, 1]}
    )
    found = labelled_in_order(scores, MonitorRequest(question="significance", reading=ReadingOptions(labels=labels)))
    assert found.prompt_ids.tolist() == ["b", "c", "a"]
    np.testing.assert_allclose(found.gained, [-0.5, -0.5, 0.5])
    assert (found.described.prompts, found.partly, found.sorted_by_id) == (4, 1, False)


def test_one_file_holds_scores_and_labels_in_its_own_order():
    """Without a second file the rows of the table are the order, whatever the ids; a blank label is none."""
    rows = pd.DataFrame(
        {
            "prompt_id": list("zzaamm"),
            "candidate": ["x", "y"] * 3,
            "judge_score": [1, 0] * 3,
            "oracle_label": [1, 0, 0, 1, 1, None],
        }
    )
    found = labelled_in_order(rows, MonitorRequest(question="significance"))
    assert found.prompt_ids.tolist() == ["z", "a"]
    assert found.partly == 1
    blank = rows.assign(oracle_label=[None, None, 0, 1, 1, None])
    apart = MonitorRequest(question="significance", reading=ReadingOptions(labels=blank[[*CELL, "oracle_label"]]))
    split = labelled_in_order(rows.drop(columns="oracle_label"), apart)
    assert split.prompt_ids.tolist() == ["a"]


def test_files_frames_and_tables_give_the_same(arena, tmp_path):
    """Whatever holds the scores and the labels, the answer is one."""
    scores, labels = arena
    scores.to_csv(tmp_path / "scores.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    asked = {"question": "significance", "planned": 300}
    first = monitor(scores, label_file=labels, **asked)
    second = monitor(tmp_path / "scores.csv", label_file=tmp_path / "labels.csv", **asked)
    third = monitor(ScoreTable.from_frame(scores), label_file=labels, **asked)
    assert first.to_dict()["looks"] == second.to_dict()["looks"] == third.to_dict()["looks"]


def test_a_judge_that_helps_is_found_better(arena):
    """The sequence excludes 0 from above, and a recovery that is out of reach from below."""
    scores, labels = arena
    better = monitor(scores, label_file=labels, question="significance")
    worse = monitor(scores, label_file=labels, question="significance", than=0.6)
    assert better.verdict == "stop: better"
    assert better.stopped.low > 0
    assert worse.verdict == "stop: not better"
    assert worse.stopped.high < 0.6
    assert better.settings["target"] == 400
    assert better.looks[0].n == 200


def test_a_judge_that_says_nothing_goes_on(arena):
    """A judge that ties everything is never claimed to be good or bad, and no number of labels is named."""
    scores, labels = arena
    found = monitor(scores.assign(judge_score=0.5), label_file=labels, question="significance")
    assert found.verdict == "continue"
    assert found.expected_more is None
    assert any("does not show equivalence" in sentence for sentence in found.sentences)
    assert any("No number of further labelled prompts" in sentence for sentence in found.sentences)
    assert strict_of_monitoring(found)["now"]["estimate"] == 0


def test_equal_labels_are_said_to_be_equal(arena):
    """With nothing to recover there is no estimate, but a reason."""
    scores, labels = arena
    for question in ({"question": "precision", "half_width": 0.1}, {"question": "significance"}):
        found = monitor(scores, label_file=labels.assign(oracle_label=0.5), **question)
        assert found.verdict == "continue"
        assert found.now.estimate is None
        assert "all labels are equal" in str(found)
        strict_of_monitoring(found)


def test_a_judge_that_is_always_right_is_not_called_precise(arena):
    """Prompts that all recover alike show no spread: the rule goes on and says why."""
    scores, labels = arena
    right = scores.drop(columns="judge_score").merge(labels, on=CELL).rename(columns={"oracle_label": "judge_score"})
    found = monitor(right, label_file=labels, question="precision", half_width=0.1)
    assert found.verdict == "continue"
    assert "recovered alike" in str(found)


def test_one_labelled_prompt_is_counted(arena):
    """A single prompt has an estimate or a reason, and no interval."""
    scores, labels = arena
    found = monitor(scores, label_file=labels.iloc[:4], question="precision", half_width=0.1)
    assert (found.now.n, found.verdict) == (1, "continue")
    assert (
        strict_of_monitoring(monitor(scores, label_file=labels.iloc[:2], question="significance"))["now"]["estimate"]
        is None
    )


def test_a_candidate_labelled_twice_is_refused(arena, tmp_path):
    """The row is named."""
    scores, labels = arena
    pd.concat([labels, labels.iloc[[3]]]).to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(RowError, match=r"row 1602: .* labelled again"):
        monitor(scores, label_file=tmp_path / "labels.csv", question="precision", half_width=0.1)


def test_heavy_tails_are_said(arena):
    """Where a few prompts carry the variance a later first look is recommended, and taken when asked for."""
    scores, labels = arena
    heavy = labels.assign(oracle_label=labels["oracle_label"] * np.where(np.arange(1600) < 12, 4.0, 1.0))
    asked = {"label_file": heavy, "question": "precision", "half_width": 0.001}
    assert any("--first-look 100" in one for one in monitor(scores, **asked).sentences)
    later = monitor(scores, **asked, first_look=100)
    assert later.looks[0].n == 100
    assert not any("--first-look" in one for one in later.sentences)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-150, 1e-100, 1e78, 1e99])
@pytest.mark.parametrize("asked", [{"question": "precision", "half_width": 0.1}, {"question": "significance"}])
def test_labels_of_any_size_are_watched_alike(arena, asked, size):
    """Powers of labels may leave the range of doubles: looks, words and verdicts stay."""
    scores, labels = arena
    sized = labels.assign(oracle_label=labels["oracle_label"] * size)
    found, usual = (monitor(scores, label_file=one, **asked) for one in (sized, labels))
    assert (found.verdict, found.sentences, str(found)) == (usual.verdict, usual.sentences, str(usual))
    for look, other in zip(found.looks, usual.looks, strict=True):
        assert (look.low, look.high) == pytest.approx((other.low, other.high), rel=1e-9)


def test_ids_in_order_are_pointed_at(arena):
    """Labels that come in the order of the ids may come in the order of something else."""
    scores, labels = arena
    asked = {"question": "precision", "half_width": 0.1}
    ordered = labels.sort_values(CELL)
    assert any("order of their ids" in one for one in monitor(scores, label_file=ordered, **asked).sentences)
    assert not any("order of their ids" in one for one in monitor(scores, label_file=labels, **asked).sentences)


def drawn(scores, rule, taken):
    """Return a design that drew the first prompts."""
    ids = pd.Index(sorted(set(scores["prompt_id"])), dtype=object)
    zeros = np.zeros(len(ids), dtype=np.int64)
    phase = (np.arange(len(ids)) < taken).astype(np.int64)
    return LabelDesign(ids, phase, np.full(len(ids), taken / len(ids)), zeros, rule, 1, "judge")


def test_only_a_uniform_design_will_do(arena, tmp_path):
    """A uniform draw is taken; unequal chances are refused, and so are labels that it did not draw."""
    scores, labels = arena
    asked = {"label_file": labels, "question": "precision", "half_width": 0.1}
    assert monitor(scores, **asked, design=drawn(scores, "uniform", 400)).verdict == "stop: precise enough"
    drawn(scores, "rule", 400).write(tmp_path / "todo.csv")
    with pytest.raises(InputError, match="drawn by the rule 'rule'"):
        monitor(scores, **asked, design=tmp_path / "todo.csv")
    with pytest.raises(InputError, match="100 labelled prompts were not drawn"):
        monitor(scores, **asked, design=drawn(scores, "uniform", 300))


def test_of_several_judges_one_is_named(arena):
    """One sequence of looks is for one judge."""
    scores, labels = arena
    both = pd.concat([scores.assign(judge="a"), scores.assign(judge="b")])
    with pytest.raises(UsageError, match="2 judges"):
        monitor(both, label_file=labels, question="significance")
    assert monitor(both, label_file=labels, question="significance", judge="b").settings["judge"] == "b"
    with pytest.raises(UsageError, match="no judge named 'c'"):
        monitor(both, label_file=labels, question="significance", judge="c")
    own = both.merge(labels, on=CELL)
    assert monitor(own, question="significance", judge="a").now.n == 400


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"question": "precision"}, r"needs half_width \(--half-width\)"),
        ({"question": "precision", "half_width": 0.0}, "half_width .* is"),
        ({"question": "precision", "half_width": float("nan")}, "half_width must be a finite"),
        ({"question": "precision", "half_width": 0.1, "first_look": 10}, "too early"),
        ({"question": "precision", "half_width": 0.1, "planned": 0}, "planned .* is 0"),
        ({"question": "significance", "first_look": 30}, "too early"),
        ({"question": "significance", "half_width": 0.1}, "half_width .* means nothing"),
        ({"question": "significance", "than": 1.0}, "than .* is 1"),
        ({"question": "significance", "confidence": 95}, "confidence"),
        ({"question": "preference"}, r"needs verdict_col \(--verdict-col\)"),
        ({"question": "preference", "verdict_col": "w", "margin": 0.6}, "margin"),
        ({"question": "preference", "verdict_col": "w", "exclude": ["c0"]}, "exclude .* means nothing"),
        (
            {"question": "preference", "verdict_col": "w", "label_file": pd.DataFrame({"a": [1]})},
            r"label_file \(--scores\) means nothing",
        ),
        ({"question": "peek"}, "no question 'peek'"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arena, arguments, words):
    """One line that says what is wrong."""
    with pytest.raises(UsageError, match=words):
        monitor(arena[0], **arguments)


def votes(*words):
    """Return a frame of votes."""
    return pd.DataFrame({"winner": list(words)})


def asked(frame, **arguments):
    """Ask about votes."""
    return monitor(frame, question="preference", verdict_col="winner", **arguments)


def test_votes_decide_either_way_or_not_yet():
    """Thirty of one kind decide, an even split does not and names no number."""
    assert asked(votes(*["a"] * 30)).verdict == "stop: better"
    assert asked(votes(*["b"] * 30)).verdict == "stop: not better"
    even = asked(votes(*["a", "b"] * 15))
    assert (even.verdict, even.expected_more) == ("continue", None)
    leaning = asked(votes(*["a", "a", "b"] * 5))
    assert 20 < leaning.expected_more < 200
    assert strict_of_monitoring(leaning)["data"]["votes"] == 15


def test_a_single_vote_and_none_go_on():
    """Nothing is known yet, and nothing breaks."""
    assert asked(votes("a")).verdict == "continue"
    assert strict_of_monitoring(asked(votes("", "")))["now"]["n"] == 0
    assert strict_of_monitoring(asked(votes("tie", "tie"), ties="drop"))["data"]["ties"] == 2


def test_ties_count_as_was_said():
    """Left out, half, or against the first answer; without a word they are refused."""
    frame = votes("a", "tie", "b", "", "tie")
    for ties, worth in {"drop": [1, 0], "half": [1, 0.5, 0, 0.5], "pessimistic": [1, 0, 0, 0]}.items():
        found = votes_in_order(frame, verdict_col="winner", ties=ties)
        assert found.worth.tolist() == worth
        assert (found.tied, found.blank) == (2, 1)
    with pytest.raises(UsageError, match="2 of 4 votes are ties"):
        votes_in_order(frame, verdict_col="winner")
    with pytest.raises(UsageError, match="cannot count as 'win'"):
        votes_in_order(frame, verdict_col="winner", ties="win")


def test_models_that_change_places_are_told_apart_by_name():
    """The alphabetically first model is the first answer, whichever column it stood in; three are one too many."""
    frame = pd.DataFrame({"l": ["x", "y", "x"], "r": ["y", "x", "y"], "winner": ["a", "a", "tie"]})
    found = votes_in_order(frame, verdict_col="winner", pair=["l", "r"], ties="pessimistic")
    assert (found.sides, found.worth.tolist()) == (("x", "y"), [1, 0, 0])
    with pytest.raises(InputError, match="3 models"):
        votes_in_order(frame.assign(r=["y", "x", "z"]), verdict_col="winner", pair=["l", "r"], ties="drop")


def test_votes_on_one_prompt_are_not_independent():
    """Where the prompt is named it has one vote; without it the assumption is said."""
    frame = votes("a", "a", "b").assign(prompt_id=["p", "q", "p"])
    with pytest.raises(InputError, match="3 votes on 2 prompts"):
        asked(frame, prompt_col="prompt_id")
    assert asked(frame.iloc[:2], prompt_col="prompt_id").verdict == "continue"
    assert "one vote per prompt" in asked(frame).sentences[-1]


def test_a_table_of_scores_holds_no_votes(arena):
    """It is refused in one line."""
    with pytest.raises(UsageError, match="holds no votes"):
        monitor(ScoreTable.from_frame(arena[0]), question="preference", verdict_col="winner")


@pytest.fixture(scope="module")
def half_drawn():
    """Return scores of 300 prompts, and labels of 150 that a rule with unequal chances drew."""
    table = simulate("arena", n=300, seed=8).frame()
    scores = table.drop(columns="oracle_label")
    draw = draw_labels(scores, labels=150, seed=1)
    wanted = [name for name, phase in zip(draw.design.prompt_ids, draw.design.phase, strict=True) if phase]
    order = np.random.default_rng(3).permutation(len(wanted))
    labels = pd.concat([table[table["prompt_id"] == wanted[at]] for at in order])
    return scores, labels[[*CELL, "oracle_label"]].reset_index(drop=True), draw.design


def test_without_a_statement_labels_of_some_prompts_speak_for_those_alone(half_drawn):
    """Sentence, document and the verdict's line name the labelled prompts; a statement takes that back."""
    scores, labels, _ = half_drawn
    asked = {"label_file": labels, "question": "precision", "half_width": 0.2}
    found = monitor(scores, **asked)
    assert (found.verdict, found.describes) == ("stop: precise enough", "labelled prompts")
    assert any("describe the 150 labelled of 300 prompts" in one for one in found.sentences)
    assert "Verdict: stop: precise enough, for the 150 labelled prompts" in str(found).splitlines()
    assert strict_of_monitoring(found)["describes"] == "labelled prompts"
    stated = monitor(scores, **asked, design="uniform")
    assert (stated.describes, stated.settings["design"]) == ("all prompts", "uniform")
    assert not any("describe" in one for one in stated.sentences)
    assert stated.sentences[-1].startswith("Valid if prompts were drawn uniformly and labelled in random order")
    assert stated.stopped == found.stopped


def test_an_unequal_draw_is_refused_however_it_is_stated(half_drawn):
    """By its record or by a column of propensities; equal propensities state a uniform draw."""
    scores, labels, design = half_drawn
    asked = {"question": "precision", "half_width": 0.2}
    with pytest.raises(InputError, match="with unequal chances"):
        monitor(scores, label_file=labels, design=design, **asked)
    chances = dict(zip(design.prompt_ids, design.propensity, strict=True))
    weighted = labels.assign(propensity=labels["prompt_id"].map(chances))
    with pytest.raises(InputError, match="unequal chances, 0"):
        monitor(scores, label_file=weighted, **asked)
    equal = monitor(scores, label_file=labels.assign(propensity=0.5), **asked)
    assert (equal.describes, equal.settings["design"]) == ("all prompts", "propensity")
    with pytest.raises(UsageError, match="a design beside it"):
        monitor(scores, label_file=weighted, design="uniform", **asked)
    with pytest.raises(UsageError, match="no design 'unifrom'"):
        monitor(scores, label_file=labels, design="unifrom", **asked)


def test_a_few_prompts_may_lack_labels(arena):
    """With 5 % unlabelled the figures describe all prompts, with more the labelled ones."""
    scores, labels = arena
    asked = {"question": "significance"}
    assert monitor(scores, label_file=labels.iloc[: 4 * 380], **asked).describes == "all prompts"
    narrow = monitor(scores, label_file=labels.iloc[: 4 * 379], **asked)
    assert narrow.describes == "labelled prompts"
    assert any(one.startswith("Recovery on the labelled prompts is above 0") for one in narrow.sentences)


def test_a_design_knows_all_scored_prompts(arena):
    """Prompts that could not have been drawn are none that the labelled ones stand for."""
    scores, labels = arena
    design = drawn(scores[scores["prompt_id"] < sorted(set(scores["prompt_id"]))[300]], "uniform", 300)
    with pytest.raises(InputError, match="100 scored prompts could not have been drawn"):
        monitor(scores, label_file=labels, design=design, question="significance")


def test_settings_repeat_what_was_asked(arena, tmp_path):
    """Files, columns, scales, exclusions and the draw, read-only; of votes their columns and how ties count."""
    scores, labels = arena
    labels.rename(columns={"oracle_label": "points"}).assign(points=labels["oracle_label"] * 7).to_csv(
        tmp_path / "points.csv", index=False
    )
    found = monitor(
        scores,
        label_file=tmp_path / "points.csv",
        columns={"oracle_label": "points"},
        label_scale=Scale(0, 7),
        exclude="c3",
        design="uniform",
        question="significance",
    )
    settings = strict_of_monitoring(found)["settings"]
    assert settings["label_file"] == str(tmp_path / "points.csv")
    assert settings["columns"]["oracle_label"] == "points"
    assert settings["columns"]["judge_score"] == "judge_score"
    assert (settings["label_scale"], settings["exclude"], settings["design"]) == ("0:7", ["c3"], "uniform")
    with pytest.raises(TypeError):
        found.settings["exclude"] = ()
    frame = pd.DataFrame({"l": ["x", "y"], "r": ["y", "x"], "winner": ["a", "tie"], "q": [1, 2]})
    settings = strict_of_monitoring(asked(frame, pair_col=["l", "r"], prompt_col="q", ties="half"))["settings"]
    assert {key: settings[key] for key in ("verdict_col", "ties", "pair", "prompt", "sides")} == {
        "verdict_col": "winner",
        "ties": "half",
        "pair": ["l", "r"],
        "prompt": "q",
        "sides": ["x", "y"],
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("half_width", "x"),
        ("half_width", float("inf")),
        ("half_width", True),
        ("planned", "a"),
        ("planned", 3.7),
        ("first_look", 50.5),
        ("confidence", "x"),
        ("label_file", 3),
        ("judge", 3),
        ("design", 3),
        ("columns", "score"),
        ("label_scale", "0:7"),
        ("exclude", 3),
        ("exclude", [3]),
        ("shape", "round"),
    ],
)
def test_wrong_types_are_refused_in_one_line(arena, name, value):
    """Text for a number, a fraction for a count: an error that names the argument, and a hint."""
    with pytest.raises(UsageError, match=name.split("_")[0]) as refused:
        monitor(arena[0], **{"question": "precision", "half_width": 0.1, name: value})
    assert refused.value.hint


@pytest.mark.parametrize(("name", "value"), [("than", "x"), ("margin", "x"), ("pair_col", "a,b"), ("ties", 3)])
def test_wrong_types_are_refused_for_votes_too(name, value):
    """They name the argument."""
    with pytest.raises(UsageError, match=name):
        asked(votes("a"), **{name: value})


def test_numbers_of_numpy_are_numbers(arena):
    """A count or a width that numpy worked out is taken as it is."""
    found = monitor(
        arena[0], label_file=arena[1], question="precision", half_width=np.float64(0.1), planned=np.int64(170)
    )
    assert found.verdict == "stop: precise enough"
    strict_of_monitoring(found)


def test_the_sequence_is_said_to_start_where_it_does(arena):
    """A later first look is the one that the sentence names."""
    found = monitor(arena[0], label_file=arena[1], question="significance", first_look=300)
    assert any("starts at 300 labelled prompts" in one for one in found.sentences)


def test_no_number_is_named_near_the_reference(arena):
    """Within one standard error of the reference no number means anything, and the document says so."""
    even = asked(votes(*["a", "b"] * 19, "a"))
    assert even.expected_more is None
    assert "one standard error" in strict_of_monitoring(even)["expected_more_reason"]
    assert any(one.startswith("No number of further votes can be named") for one in even.sentences)
    scores, labels = arena
    level = monitor(scores, label_file=labels, question="significance").now.estimate
    near = monitor(scores, label_file=labels, question="significance", than=level - 0.01)
    assert (near.verdict, near.expected_more) == ("continue", None)
    assert "one standard error" in strict_of_monitoring(near)["expected_more_reason"]


def test_votes_on_many_pairs_are_not_pooled():
    """Columns of models with several names are pointed at; one pair in fixed places is enough."""
    frame = votes(*["a", "b"] * 3).assign(model_a=list("xxyyxx"), model_b="z")
    with pytest.raises(InputError, match="hold several models") as refused:
        asked(frame)
    assert "--pair-col model_a,model_b" in refused.value.hint
    assert asked(frame.assign(model_a="x")).data["votes"] == 6


@pytest.fixture
def files(tmp_path):
    """Write scores, labels and votes; return the folder."""
    table = simulate("arena", n=300, seed=8).frame()
    table.drop(columns="oracle_label").to_csv(tmp_path / "scores.csv", index=False)
    table[["prompt_id", "candidate", "oracle_label"]].to_csv(tmp_path / "labels.csv", index=False)
    table.rename(columns={"judge_score": "points"}).to_csv(tmp_path / "both.csv", index=False)
    winners = np.where(np.random.default_rng(1).random(200) < 0.7, "model_a", "model_b")
    pd.DataFrame({"winner": winners, "prompt_id": range(200)}).to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path


def run(*arguments):
    """Run the command by itself, as the command line's own application would."""
    app = typer.Typer(add_completion=False)
    app.command()(monitor_of_command)
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


@pytest.mark.parametrize(
    ("flags", "code", "verdict"),
    [
        (("--half-width", "0.1", "--planned", "170"), 0, "stop: precise enough"),
        (("--half-width", "0.01"), 3, "continue"),
        (("--significance",), 0, "stop: better"),
        (("--question", "significance", "--than", "0.7"), 1, "stop: not better"),
    ],
)
def test_the_exit_code_says_what_to_do(files, capsys, flags, code, verdict):
    """0 stop: better or precise enough, 1 stop: not better, 3 continue; the page says it in words."""
    assert run(files / "labels.csv", "--scores", files / "scores.csv", *flags) == code
    assert f"Verdict: {verdict}" in capsys.readouterr().out.splitlines()


def test_labels_beside_the_scores_are_enough(files, capsys):
    """A file that holds both needs no second one; columns are named as everywhere; JSON stands alone."""
    assert run(files / "both.csv", "--score-col", "points", "--half-width", "0.1", "--json", "-") == 0
    said = capsys.readouterr()
    document = strict(said.out)
    assert (document["schema"], document["data"]["labelled_prompts"]) == ("bonwise.monitor/1", 300)
    assert "stop: precise enough" in said.err


def test_votes_are_watched(files, capsys):
    """The column of the votes says what is asked; one vote a prompt is checked."""
    flags = ("--question", "preference", "--verdict-col", "winner", "--margin", "0.2", "--prompt-col", "prompt_id")
    assert run(files / "votes.csv", *flags, "--json", files / "m.json") == 0
    assert strict((files / "m.json").read_text(encoding="utf-8"))["verdict"] == "stop: better"
    assert "votes for first over second" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "was not said"),
        (("--half-width", "0.1", "--significance"), "2 questions at once"),
        (("--half-width", "-1"), "above 0"),
        (("--half-width", "0.1", "--rectangular", "--ragged"), "contradict"),
        (("--verdict-col", "winner", "--label-col", "x"), "--candidate-col .* means nothing"),
        (("--half-width", "0.1", "--first-look", "5"), "too early"),
    ],
)
def test_flags_that_mean_nothing_are_refused(files, flags, words):
    """One line that says what is wrong."""
    with pytest.raises(UsageError, match=words):
        run(files / "both.csv", *flags)


def test_a_stop_for_the_labelled_prompts_alone_is_undecided(files, capsys):
    """With half the prompts unlabelled a stop exits 3, until the draw is stated to be uniform."""
    labels = pd.read_csv(files / "labels.csv").iloc[:600]
    labels.to_csv(files / "half.csv", index=False)
    flags = (files / "half.csv", "--scores", files / "scores.csv", "--half-width", "0.2")
    assert run(*flags) == 3
    assert "Verdict: stop: precise enough, for the 150 labelled prompts" in capsys.readouterr().out.splitlines()
    assert run(*flags, "--design", "uniform") == 0
    assert "Verdict: stop: precise enough" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", ["labels.csv", "scores.csv", "todo.csv"])
def test_no_input_is_overwritten(files, name):
    """The document does not go where the labels, the scores or the design came from."""
    (files / "todo.csv").write_text("prompt_id\n", encoding="utf-8")
    before = (files / name).read_bytes()
    flags = ("--scores", files / "scores.csv", "--half-width", "0.1", "--design", files / "todo.csv")
    with pytest.raises(UsageError, match="is read or written already"):
        run(files / "labels.csv", *flags, "--json", files / name)
    assert (files / name).read_bytes() == before


def test_what_was_typed_is_what_is_named(files):
    """A flag that means nothing is named as it was typed."""
    with pytest.raises(UsageError, match=r"--scores\) means nothing for preference"):
        run(files / "votes.csv", "--verdict-col", "winner", "--scores", files / "scores.csv")
    with pytest.raises(UsageError, match=r"preference needs verdict_col \(--verdict-col\)"):
        run(files / "votes.csv", "--question", "preference")


@pytest.mark.parametrize("studies", [15, pytest.param(300, marks=pytest.mark.slow)])
def test_rare_catastrophes_stop_no_study_early(studies):
    """Up to 400 labels: none is precise enough, and few are called better than the truth."""
    rng, true = np.random.default_rng(20261129), rare_laws.truth("catastrophes")["recovery"]
    precise = better = 0
    for _ in range(studies):
        frame = rare_laws.drawn("catastrophes", rng, 400)
        precise += monitor(frame, question="precision", half_width=0.15).stopped is not None
        better += monitor(frame, question="significance", than=true).verdict == "stop: better"
    print("stopped as precise", precise, "better than the truth", better, "of", studies)  # noqa: T201
    assert precise <= 0.02 * studies
    assert better / studies <= 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5


def test_what_a_look_waits_for_is_said():
    """Many prompts with a little to gain and a few with nearly all of it: too early, and why."""
    now = monitor(
        rare_laws.drawn("catastrophes", np.random.default_rng(2), 100), question="precision", half_width=0.15
    ).now
    assert now.low is None
    assert "no interval before the labels are worth 20 prompts in what there is to gain" in now.reason
