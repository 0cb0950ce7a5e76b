"""Results without a layout of their own still have a page, and show themselves in a notebook."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.report.page.printed_page import PRINTED
from bonwise.testing import simulate


def votes():
    """Return votes on pairs of two models over forty questions."""
    won = np.random.default_rng(5).choice(["model_a", "model_b", "tie"], 160, p=[0.6, 0.3, 0.1])
    return pd.DataFrame({"question_id": np.arange(160) // 4, "model_a": "x", "model_b": "y", "winner": won})


def arena():
    """Return a small table of scores and labels."""
    return simulate("arena", n=60, seed=4).frame()


def stated():
    """Return stated probabilities with outcomes."""
    chance = np.random.default_rng(7)
    said = chance.random(80).round(2)
    outcome = (chance.random(80) < said).astype(int)
    return pd.DataFrame({"prompt_id": [f"p{at}" for at in range(80)], "probability": said, "outcome": outcome})


RESULTS = {
    "bonwise.label_designs/1": lambda: bw.compare_designs(arena(), shares=[0.25]),
    "bonwise.labels/1": lambda: bw.draw_labels(arena(), labels=40, seed=1),
    "bonwise.monitor/1": lambda: bw.monitor(
        simulate("arena", n=260, seed=4).frame(), question="precision", half_width=0.2
    ),
    "bonwise.votes/1": lambda: bw.study_preferences(
        votes(), verdict_col="winner", pair_col=("model_a", "model_b"), prompt_col="question_id", ties="half"
    ),
}


def test_every_printed_document_is_tried():
    """The results below are all those whose page is what their command prints."""
    assert set(RESULTS) == set(PRINTED)


@pytest.mark.parametrize("made", RESULTS.values(), ids=RESULTS)
def test_the_page_says_what_the_text_says(made, tmp_path):
    """Each word of the text is on the page, and nothing of it is lost in a notebook's first part."""
    found = made()
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8").replace("<wbr>", "")
    words = html.unescape(re.sub(r"<[^>]+>", " ", page)).split()
    lost = set(str(found).replace("─", " ").split()) - set(words)
    assert not lost
    assert "<script" not in found._repr_html_()


def test_every_public_result_shows_itself():
    """Whatever has a document has a page and a form for notebooks."""
    plain = {"DrawModel", "LabelDesign"}  # settings that are saved and loaded, no findings
    results = [getattr(bw, name) for name in bw.__all__ if isinstance(getattr(bw, name), type)]
    with_document = {one.__name__ for one in results if hasattr(one, "to_dict")} - plain
    assert {one.__name__ for one in results if hasattr(one, "_repr_html_")} == with_document
