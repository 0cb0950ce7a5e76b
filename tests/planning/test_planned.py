"""Plans, draws of labels, looks at labels and studies of votes: their documents, and what is shown of them."""

from __future__ import annotations

import html
import json
from itertools import pairwise

import pandas as pd
import pytest

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.loading import load
from bonwise.planning.sizing import shown_at
from bonwise.report.blocks import next_of
from bonwise.report.numbers import number
from bonwise.report.show import describe, drawings, markdown, notebook, page, text
from planning.planned import COMPARED, DRAWS, MONITORS, PLANS, VOTES, arena, made, studied, votes
from report.readers import HOSTILE, harmless, lost, words
from results.round_trips import read_back, refusal

KINDS = [*PLANS, *DRAWS, *COMPARED, *MONITORS, *VOTES]


@pytest.fixture(scope="module")
def documents():
    """Return the document of each kind."""
    return {kind: made(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_back(tmp_path, documents, kind):
    """Every document is read back to the same bytes, and its table is that of the result."""
    document = documents[kind]
    loaded = read_back(document, tmp_path)
    assert list(loaded.frame_rows()) == list(document.frame_rows())
    if kind not in DRAWS:
        pd.testing.assert_frame_equal(loaded.to_frame(), document.to_frame())
    assert loaded.to_text(full=True) == document.to_text(full=True)


def test_the_table_of_a_draw_is_its_design(tmp_path, documents):
    """A draw gives a row per prompt; its JSON, which holds none, a row per stratum, and no sheet."""
    draw = documents["uniform"]
    assert len(draw.to_frame()) == len(draw.design.frame()) == draw.data.prompts
    loaded = read_back(draw, tmp_path)
    assert list(loaded.to_frame()["drawn_now"]) == [20]
    with pytest.raises(UsageError, match="sheet is made from the data behind the result"):
        _ = loaded.sheet


def test_keys_that_say_nothing_are_absent(documents):
    """Optional keys stand where they say something; others are null."""
    assert "expected_more_reason" not in documents["votes"].to_dict()
    assert documents["on"].to_dict()["data"]["labels_left_out"] == {}
    assert documents["uniform"].to_dict()["width_ratio"].keys() == {"estimate", "explained", "assumption"}
    assert documents["pilot"].to_dict()["pilot"] is not None
    assert "judges" not in documents["pilot"].to_dict()["pilot"]
    assert documents["alone"].to_dict()["variance"] == {"pairs": 0, "reason": "no prompt column was named"}


def test_settings_of_a_plan_keep_their_order(tmp_path, documents):
    """What the user said stands before what follows from it, also after it was read back."""
    said = list(documents["rivals"].to_dict()["settings"])
    assert said[-3:] == ["design", "error_correlation", "version"]
    given = list(documents["complete"].to_dict()["settings"])
    assert given.index("design") < given.index("power")
    assert list(read_back(documents["rivals"], tmp_path).settings.to_dict()) == said


@pytest.mark.parametrize(
    ("kind", "keys", "value"),
    [
        ("precision", "question", "recall"),
        ("precision", "now.n", -1),
        ("precision", "now.estimate", "high"),
        ("precision", "looks.0.n", 1.5),
        ("precision", "data.kurtosis", ...),
        ("precision", "settings.confidence", 95.0),
        ("precision", "settings.step", 0),
        ("precision", "describes", "everybody"),
        ("precision", "sentences", "one"),
        ("votes", "settings.sides", ["a"]),
        ("votes", "data.votes", True),
        ("votes", "data", None),
        ("votes", "settings", 3),
        ("precision", "data", []),
        ("pilot", "pilot", "28/50"),
        ("rule", "strata.0.propensity", 1.5),
        ("rule", "strata.0.prompts", 0),
        ("rule", "settings.design", "best"),
        ("rule", "settings.labels", 1),
        ("rule", "ess", -1.0),
        ("rule", "data.more", 1),
        ("designs", "designs.uniform.shares.0.labels_only", -1.0),
        ("designs", "designs.worst", {}),
        ("designs", "proxy_chain.0.from", ...),
        ("designs", "settings.draws", 1),
        ("prompts", "pairs.0.margin", 0.7),
        ("prompts", "pairs.0.win_rate.n", -1),
        ("prompts", "detection.0.drawn", "somehow"),
        ("prompts", "settings.power", 0.5),
        ("prompts", "pairs", []),
        ("power", "verdict", "likely"),
        ("power", "sides", 3),
        ("power", "labels", 1.5),
        ("power", "effect.size", 1.0),
        ("power", "power_table.0.power", 1.5),
        ("power", "settings.raters", 0),
        ("power", "settings.power", True),
        ("pilot", "interval", [1]),
        ("pilot", "pilot.votes", -1.0),
        ("preferred", "sequential.mean", [1, 2, 3]),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, documents, kind, keys, value):
    """The message names the key, as one writes it to get at the value."""
    said = refusal(documents[kind], tmp_path, keys, value)
    last = [one for one in keys.split(".") if not one.isdigit()][-1]
    assert last in said


@pytest.mark.parametrize(
    ("kind", "keys", "value", "words"),
    [
        ("precision", "verdict", "continue", "stopped says otherwise"),
        ("precision", "verdict", "stop: better", "not a verdict on precision"),
        ("precision", "question", "preference", "not of the question preference"),
        ("precision", "question", "significance", "not of the question significance"),
        ("precision", "settings.than", 0.5, "half_width, or than with target"),
        ("precision", "data.labelled_prompts", 1000, "more prompts are labelled than there are"),
        ("precision", "now.low", 0.99, "below its start"),
        ("rule", "strata.0.drawn_now", 0, "propensity other than"),
        ("rule", "strata.0.drawn_before", 1000, "prompts were drawn"),
        ("rule", "data.drawn", 21, "data say drawn 21, the strata 20"),
        ("rule", "data.prompts", 81, "data say prompts 81"),
        ("rule", "width_ratio.assumption", ..., "no estimate a reason"),
        ("designs", "settings.shares", [0.25], "holds other shares"),
        ("designs", "designs.uniform", ..., "hold no uniform"),
        ("prompts", "data.votes", 159, "data say votes 159, the pairs 160"),
        ("prompts", "pairs.0.ties", 161, "of 160 cast"),
        ("prompts", "pairs.0.tie_rate", 0.9, "a rate other than 0.9"),
        ("prompts", "pairs.0.margin", 0.25, "no margin of 0.25"),
        ("prompts", "pairs.0.z", None, "z is None where"),
        ("prompts", "variance.total", ..., "stand where there are pairs"),
        ("prompts", "concentration.heterogeneous", 2, "more pairs than were tested"),
        ("power", "labels", None, "make no plan that is feasible"),
        ("infeasible", "labels", 10, "make no plan that is infeasible"),
        ("power", "design", "complete", "the settings say design two_label"),
        ("pilot", "pilot.wins", 51.0, "51.0 of 50.0 votes"),
        ("preferred", "sequential.mean", [9000, 1], "above the most"),
        ("preferred", "sequential.prior", ..., "a test of votes has a prior"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, documents, kind, keys, value, words):
    """Figures that cannot both be true are refused in words."""
    assert words in refusal(documents[kind], tmp_path, keys, value)


def test_the_schema_is_needed(tmp_path, documents):
    """A document without its schema is not a document."""
    path = tmp_path / "none.json"
    path.write_text(json.dumps({k: v for k, v in documents["power"].to_dict().items() if k != "schema"}))
    with pytest.raises(Exception, match="schema"):
        load(path)


@pytest.mark.parametrize("kind", PLANS)
def test_figures_and_commands_are_all_on_the_page(kind):
    """Each number of the table, and each command as one line of code."""
    found = made(kind)
    shown = page(found)
    for row in found.power_table:
        assert f"{row.labels:,}" in words(shown)
    commands = [] if found.verdict == "underpowered" else found.commands  # those there are too few labels for
    assert all((line in words(shown)) == (line in commands) for line in found.commands)
    assert shown.count('<p class="command">') == len(commands)


@pytest.mark.parametrize(
    ("kind", "lead"),
    [
        ("power", "192 labels on 96 prompts answer recovery>0, with power 0.9, planned for within_r 0.3."),
        (
            "half-width",
            "960 labels on 240 prompts answer recovery, with a half-width of 10 points, planned for within_r 0.3.",
        ),
        ("pilot", "833 labels on 833 prompts answer margin, with power 0.9, planned for margin 0.06."),
    ],
)
def test_the_answer_comes_first(kind, lead):
    """The verdict is the first sentence of the page and of the terminal; the page then says what was asked for."""
    found = made(kind)
    said = words(page(found))
    (verdict,) = (one for one in found.sentences if one.startswith(found.verdict.capitalize()))
    verdict = verdict.replace("Feasible as far as known: it", "It")
    assert said.index(" ".join(verdict.split())) < said.index(lead) < said.index("The study")
    assert text(found).splitlines()[1].startswith(verdict[:20])


def test_without_a_number_there_is_only_the_verdict():
    """An infeasible plan begins with its verdict."""
    found = made("infeasible")
    assert text(found).splitlines()[0] == "Verdict: infeasible"
    assert "Plan for margin: infeasible" in text(found).splitlines()
    assert 'class="verdict bad"' in page(found)
    assert "answer margin" not in page(found)


def test_the_curve_is_the_table():
    """The caption names each point; the plan and the power asked for are marked."""
    found = made("power")
    (drawing,) = drawings(found)
    for row in found.power_table:
        assert f"{number(row.power, 'share')} with {row.labels:,}" in drawing.says
    assert list(drawing.to_frame()["x"]) == [row.labels for row in found.power_table]
    assert "192 needed" in page(found)
    assert "asked for: 90%" in page(found)


def test_whether_labels_or_prompts_are_meant_is_named():
    """Both are numbers."""
    with pytest.raises(TypeError):
        shown_at(None, None, 40.0, 10.0)


def test_what_there_is_and_what_is_needed_are_told_apart():
    """A half-width has both marks."""
    found = made("half-width")
    (drawing,) = drawings(found)
    assert "The plan takes 960; there are 300." in drawing.says
    assert "300 there" in page(found)
    assert "half-width of the interval" in page(found)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("power", "candidates 4, within_r 0.3, power 0.9, confidence 0.95."),
        ("rivals", "candidates 8, within_r 0.5, rival_r 0, error_correlation 0.5, power 0.9, confidence 0.95."),
        ("clustered", "effect 0.06, power 0.9, confidence 0.95, method exact, raters 3, icc 0.2, tie_rate 0.1."),
        ("infeasible", "effect 0.05, power 0.9, confidence 0.95, method exact, icc 0.01, one_cluster True."),
        ("table", "power 0.9, confidence 0.95, seed 0, exclude c3."),
    ],
)
def test_what_was_planned_with_is_told(kind, given):
    """Every argument that decides the number, none that only decides the verdict or the price."""
    assert f"Planned with {given}" in " ".join(text(made(kind), full=True).split())


def test_a_loaded_plan_is_shown_like_the_result(tmp_path):
    """The page of a document that was written and loaded is that of the plan."""
    found = made("pilot")
    (tmp_path / "plan.json").write_text(found.to_json(), encoding="utf-8")
    assert page(load(tmp_path / "plan.json")) == page(found)
    found.to_html(tmp_path / "plan.html")
    assert (tmp_path / "plan.html").read_text("utf-8") == page(found)


def test_commands_are_lines_of_their_own():
    """What to type next stands in the box of the verdict on a page, and last in a terminal and in Markdown, once."""
    found = made("power")
    ((last,),) = ([*next_of([one])] for one in describe(found).blocks if getattr(one, "role", "") == "verdict")
    why, *lines = last.blocks
    assert [(one.role, one.text) for one in lines] == [("command", one) for one in found.commands]
    assert (why.role, "scores.csv" in why.text) == ("finding", True)
    shown = page(found)
    for command in found.commands:
        assert shown.index(html.escape(command)) < shown.index("The study")
        for said in (shown.replace(html.escape(command), command), text(found), markdown(found)):
            assert said.count(command) == 1
    assert text(found).splitlines()[-len(found.commands) - 2 :] == ["Next:", why.text, *found.commands]
    assert markdown(found).splitlines()[-2] == found.commands[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_holds_what_the_text_holds(kind):
    """Every word of the text is on the page; Markdown and the notebook are made."""
    shown = made(kind)
    assert not lost(shown)
    assert text(shown).splitlines()[0].removeprefix("Verdict: ") in words(page(shown))
    assert markdown(shown).startswith("## ")
    assert "<script" not in notebook(shown)


@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_is_said_once(kind):
    """The sentences of a document are in its text, each once."""
    shown = made(kind)
    said = " ".join(text(shown, full=True).split())
    for sentence in getattr(shown, "sentences", ()):
        shown_as = sentence.replace("Feasible as far as known: it", "It")
        assert said.count(" ".join(shown_as.split())) == 1, sentence


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (
            "precision",
            ["Recovery of judge, to +-40 points, at 95%", "stop: precise enough", "recovery", "half-width"],
        ),
        ("on", ["80 of 80 prompts completely labelled", "continue"]),
        ("early", ["recovery 10.2% after 20", "no interval before the first look at 30 labelled prompts"]),
        ("significance", ["Recovery of judge, above 0 or not, at 95%"]),
        ("votes", ["Votes for first over second, above 0.5 or not, at 95%", "blank", "share"]),
        ("no votes", ["0 votes of table; 1 tie; 1 blank", "no votes yet"]),
        (
            "rule",
            ["Labels for the audit of judge on table, phase 1, seed 1", "cannot be drawn: 1 prompt (", "mean size"],
        ),
        (
            "uniform",
            ["Effective sample size of the weights: 20 of 20.", "1.00 of the width of as many random labels"],
        ),
        ("pair", ["Expected width: not known in advance (pick and pair label single candidates"]),
        ("second", ["phase 2, seed 2", "before"]),
        ("designs", ["80 labelled prompts, ", "optimum *", "* needs labels that are not there yet", "its interval"]),
        ("prompts", ["160 votes on 1 pair of 2 models for 40 prompts", "Pairs, closest first", "spread, screened:"]),
        (
            "alone",
            ["each vote is its own cluster: no prompt column was named", "left out:", "prompts: no prompt column"],
        ),
    ],
)
def test_the_text_says_what_was_found(kind, lines):
    """Titles, counts and columns are in the text."""
    said = " ".join(text(made(kind), full=kind in {"prompts", "designs"}).split())
    for line in lines:
        assert line in said


def test_a_design_whose_labels_are_not_there_says_so_at_first():
    """The star beside the design and what it means stand in the short form."""
    said = str(made("designs"))
    assert "optimum *" in said
    assert "* needs labels that are not there yet" in said


def test_a_look_that_stopped_is_marked():
    """The rule's column stands where it said stop, and only there."""
    stopped, on = (text(made(kind), full=True) for kind in ("precision", "on"))
    assert sum(line.rstrip().endswith(" stop") for line in stopped.splitlines()) == 1
    assert "rule" not in on.split()


def test_a_stop_for_the_labelled_prompts_alone_is_open():
    """Where most prompts lack labels the verdict says whom it is on."""
    frame = arena(400)
    late = frame["prompt_id"].isin(frame["prompt_id"].unique()[300:])
    frame.loc[late, "oracle_label"] = None
    found = bw.monitor(frame, question="precision", half_width=0.4)
    assert "stop: precise enough, for the 300 labelled prompts" in str(found)


@pytest.mark.parametrize("kind", ["draw", "designs", "monitor", "votes", "first", "plan"])
def test_names_stay_text(kind, tmp_path):
    """Judges, candidates, models and files are text wherever they are shown."""
    frame = arena().assign(judge=HOSTILE)
    found = {
        "draw": lambda: bw.draw_labels(frame, labels=20, seed=1),
        "designs": lambda: bw.compare_designs(frame, shares=[0.25], draws=5),
        "monitor": lambda: bw.monitor(frame, question="precision", half_width=0.4),
        "votes": lambda: studied(votes(first=HOSTILE)),
        "first": lambda: bw.monitor(
            votes(first=HOSTILE),
            question="preference",
            verdict_col="winner",
            ties="half",
            pair_col=("model_a", "model_b"),
        ),
        "plan": lambda: bw.plan(question="recovery>0", pilot=frame, judge=HOSTILE),
    }[kind]()
    harmless(found)


def test_a_long_list_of_pairs_is_cut_and_counted():
    """Forty pairs are shown, the closest first; the others are counted."""
    names = [f"m{at:02d}" for at in range(42)]
    frame = pd.concat([votes(a, b, 20) for a, b in pairwise(names)])
    said = text(studied(frame), full=True)
    assert "1 pair with larger margins is in --json alone" in said
    assert said.count("m00") + said.count("m41") <= 4


def test_plans_looks_and_votes_have_a_drawing():
    """A plan has the curve of its table, and none without a number; looks have their course, votes their pairs."""
    kinds = ("power", "infeasible", "rule", "precision", "votes")
    assert [len(drawings(made(kind))) for kind in kinds] == [1, 0, 0, 1, 1]
