from functools import cache

import pandas as pd

import bonwise as bw
from bonwise.report.page.pages import page
from bonwise.report.page.route_page import route_sections
from bonwise.report.route_text import route_text
from routing.tables import weak_judge


@cache
def study():
    """Study one judge."""
    return bw.route(weak_judge(150), share=0.1)


@cache
def several():
    """Study two judges, one of them under a hostile name; a third cannot be studied."""
    one = weak_judge(100)
    other = one.assign(judge="<script>b", judge_score=one["judge_score"].round(1))
    return bw.route(pd.concat([one, other], ignore_index=True))


def test_nothing_that_the_text_says_is_left_out():
    """Every word below the title is on the page."""
    document = study().to_dict()
    (section,) = route_sections(document)
    lines = [*section.sentences, *section.notes]
    cells = [cell for table in section.tables for row in [*table.rows, table.headers, [table.title]] for cell in row]
    said = " ".join([*lines, *cells])
    for word in route_text(document).replace("─", "").split("\n", 1)[1].split():
        assert word in said, word


def test_the_recommendation_comes_first():
    """The first sentence names signal, share and threshold; the checks are notes."""
    document = study().to_dict()
    (section,) = route_sections(document)
    taken = document["recommendation"]
    assert section.sentences[0].startswith(f"Send 10% of the prompts on by {taken['signal']}: those above")
    assert list(section.sentences[1:]) == taken["sentences"]


def test_captions_carry_the_figures_at_the_share_asked_for():
    """The curve of what is captured names every signal; the values stand between random and perfect."""
    document = study().to_dict()
    captured, *values = route_sections(document)[0].figures
    known = {name: one for name, one in document["signals"].items() if one["shares"]}
    for name, one in known.items():
        at = next(share for share in one["shares"] if share["share"] == 0.1)
        ends = "" if at["low"] is None else f" [{round(100 * at['low']):d}%, {round(100 * at['high']):d}%]"
        assert f"{name} {round(100 * at['captured']):d}%{ends}" in captured.says
    taken = document["recommendation"]["signal"]
    at = next(share for share in known[taken]["shares"] if share["share"] == 0.1)
    assert f"sent on by {taken}: {at['value']:.3f} [{at['value_low']:.3f}, {at['value_high']:.3f}]" in values[0].says
    assert f"{at['value'] - at['lift']:.3f} at random" in values[0].says
    assert len(values) == min(3, len(known))


def test_each_judge_has_a_section():
    """Several judges have their own sections, addresses and drawings, and no name makes markup."""
    document = several().to_dict()
    sections = route_sections(document)
    assert [one.anchor for one in sections] == ["route-1", "route-2"]
    assert len({figure.svg for one in sections for figure in one.figures}) == sum(
        len(one.figures) for one in sections
    )
    text = page(document)
    assert "<script>b" not in text
    assert "&lt;script&gt;b" in text


def test_what_was_not_studied_is_said_once():
    """Labels left out are named with the first judge, judges left out with the last."""
    document = several().to_dict()
    document["settings"]["labels_left_out"] = {"prompts": 3, "rows": 12}
    document["not_studied"] = {"c": "too few labels"}
    notes = [" ".join(one.notes) for one in route_sections(document)]
    assert ["labels of 3 prompts" in one for one in notes] == [True, False]
    assert ["not studied: c: too few labels" in one for one in notes] == [False, True]


def test_the_page_is_written_and_shown_in_notebooks(tmp_path):
    """The file is the page of the document, the same bytes each time; a notebook gets the findings."""
    study().to_html(tmp_path / "route.html")
    assert (tmp_path / "route.html").read_text("utf-8") == page(study().to_dict())
    assert "Send 10% of the prompts on" in study()._repr_html_()
