import pytest

import bonwise as bw
from bonwise.report.page.pages import page
from bonwise.report.page.plan_page import plan_sections
from bonwise.report.plan_text import plan_text

PLANS = {
    "power": {"question": "recovery>0", "candidates": 4, "within_r": 0.3},
    "half-width": {"question": "recovery", "candidates": 4, "within_r": 0.3, "half_width": 0.1, "labels": 300},
    "pilot": {"question": "margin", "pilot": "28/50", "tie_rate": 0.1, "label_cost": 0.4},
    "infeasible": {"question": "margin", "effect": 0.05, "one_cluster": True, "icc": 0.01},
}


@pytest.mark.parametrize("given", PLANS.values(), ids=PLANS)
def test_nothing_that_the_text_says_is_left_out(given):
    """Sentences, figures, power and commands are all on the page, in the words of the text."""
    document = bw.plan(**given).to_dict()
    sections = plan_sections(document)
    words = " ".join(line for one in sections for line in (*one.sentences, *one.notes))
    cells = " ".join(cell for one in sections for table in one.tables for row in table.rows for cell in row)
    title, _, below = plan_text(document).partition("\n")
    assert f">{title.replace('>', '&gt;')}<" in page(document)
    for word in below.replace("─", "").split():
        assert word in f"{words} {cells}" or word in {"Next:", "labels", "prompts", "power", "half-width"}, word
    assert set(document["sentences"]) <= set(sections[0].sentences)
    typed = [row[0] for one in sections[1:] for table in one.tables for row in table.rows]
    assert typed == document["commands"]


@pytest.mark.parametrize(
    ("given", "lead"),
    [
        ("power", "192 labels on 96 prompts answer recovery>0, with power 0.9, planned for within_r 0.3."),
        (
            "half-width",
            "960 labels on 240 prompts answer recovery, with a half-width of 0.1, planned for within_r 0.3.",
        ),
        ("pilot", "833 labels on 833 prompts answer margin, with power 0.9, planned for margin 0.06."),
        ("infeasible", None),
    ],
)
def test_the_answer_comes_first(given, lead):
    """How many labels are needed is the first sentence, the verdict the next, and the others keep their order."""
    document = bw.plan(**PLANS[given]).to_dict()
    said = list(plan_sections(document)[0].sentences)
    assert said[: len(said) - len(document["sentences"])] == ([] if lead is None else [lead])
    verdict, *others = said[-len(document["sentences"]) :]
    assert verdict.startswith(document["verdict"].capitalize())
    assert others == [one for one in document["sentences"] if one != verdict]


def test_commands_are_code():
    """The column of commands is set as one that is copied."""
    (typed,) = plan_sections(bw.plan(**PLANS["power"]).to_dict())[1].tables
    assert typed.code == (0,)


def test_the_curve_is_the_table():
    """The caption names each point; the plan and the power asked for are marked."""
    document = bw.plan(**PLANS["power"]).to_dict()
    (figure,) = plan_sections(document)[0].figures
    for row in document["power_table"]:
        assert f"{row['power']:.3f} with {row['labels']:,}" in figure.says
    assert "192 needed" in figure.svg
    assert "asked for: 0.9" in figure.svg


def test_what_there_is_and_what_is_needed_are_told_apart():
    """A half-width has both marks; without any number of labels there is no curve."""
    (figure,) = plan_sections(bw.plan(**PLANS["half-width"]).to_dict())[0].figures
    assert "The plan takes 960; there are 300." in figure.says
    assert "300 there" in figure.svg
    assert "half-width of the interval" in figure.svg
    assert plan_sections(bw.plan(**PLANS["infeasible"]).to_dict())[0].figures == []


def test_rows_of_the_study_are_pairs():
    """Each figure of the plan is a name and what it is, also where its own text holds wide gaps."""
    document = bw.plan(**PLANS["pilot"]).to_dict()
    document["pilot"]["source"] = "a    b<script>"
    rows = plan_sections(document)[0].tables[0].rows
    assert {len(row) for row in rows} == {2}
    assert dict(rows)["pilot"].startswith("a    b<script>: 50 votes")
    assert "<script>:" not in page(document)


def test_the_page_is_written_and_shown_in_notebooks(tmp_path):
    """The file is the page of the document; a notebook gets the findings."""
    found = bw.plan(**PLANS["power"])
    found.to_html(tmp_path / "plan.html")
    assert (tmp_path / "plan.html").read_text("utf-8") == page(found.to_dict())
    assert "192" in found._repr_html_()
