from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest

import bonwise as bw
from bonwise.report.show import drawings, markdown, notebook, page, text
from documents.planned import COMPARED, DRAWS, MONITORS, PLANS, VOTES, arena, made, studied, votes
from report.described.readers import HOSTILE, harmless, lost, words

KINDS = [*PLANS, *DRAWS, *COMPARED, *MONITORS, *VOTES]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_holds_what_the_text_holds(kind):
    """Every word of the text is on the page; Markdown and the notebook are made."""
    shown = made(kind)
    assert not lost(shown)
    assert text(shown).splitlines()[0] in words(page(shown))
    assert markdown(shown).startswith("## ")
    assert "<script" not in notebook(shown)


@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_is_said_once(kind):
    """The sentences of a document are in its text, each once."""
    shown = made(kind)
    said = " ".join(text(shown).split())
    for sentence in getattr(shown, "sentences", ()):
        assert said.count(" ".join(sentence.split())) == 1, sentence


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
            [
                "Effective sample size of the weights: 20 of 20.",
                "1.00 of the width of as many random labels",
            ],
        ),
        ("pair", ["Expected width: not known in advance (pick and pair label single candidates"]),
        ("second", ["phase 2, seed 2", "before"]),
        ("designs", ["80 labelled prompts, ", "optimum *", "; needs labels that are not there yet", "its interval"]),
        ("prompts", ["160 votes on 1 pair of 2 models for 40 prompts", "Pairs, closest first", "spread, screened:"]),
        (
            "alone",
            ["each vote is its own cluster: no prompt column was named", "left out:", "prompts: no prompt column"],
        ),
    ],
)
def test_the_text_says_what_was_found(kind, lines):
    """Titles, counts and columns are in the text."""
    said = " ".join(str(made(kind)).split())
    for line in lines:
        assert line in said


def test_a_look_that_stopped_is_marked():
    """The rule's column stands where it said stop, and only there."""
    stopped, on = str(made("precision")), str(made("on"))
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
            pair=("model_a", "model_b"),
        ),
        "plan": lambda: bw.plan(question="recovery>0", pilot=frame, judge=HOSTILE),
    }[kind]()
    harmless(found)


def test_a_long_list_of_pairs_is_cut_and_counted():
    """Forty pairs are shown, the closest first; the others are counted."""
    names = [f"m{at:02d}" for at in range(42)]
    frame = pd.concat([votes(a, b, 20) for a, b in pairwise(names)])
    said = str(studied(frame))
    assert "1 pair with larger margins is in --json alone" in said
    assert said.count("m00") + said.count("m41") <= 4


def test_plans_looks_and_votes_have_a_drawing():
    """A plan has the curve of its table, and none without a number; looks have their course, votes their pairs."""
    kinds = ("power", "infeasible", "rule", "precision", "votes")
    assert [len(drawings(made(kind))) for kind in kinds] == [1, 0, 0, 1, 1]
