from __future__ import annotations

import html

import pytest

from bonwise.loading import load
from bonwise.report.blocks import next_of
from bonwise.report.numbers import number
from bonwise.report.show import describe, drawings, markdown, page, text
from documents.planned import PLANS, made
from report.described.readers import words


@pytest.mark.parametrize("kind", PLANS)
def test_figures_and_commands_are_all_on_the_page(kind):
    """Each number of the table, and each command as one line of code."""
    found = made(kind)
    shown = page(found)
    for row in found.power_table:
        assert f"{row.labels:,}" in words(shown)
    for line in found.commands:
        assert line in words(shown)
    assert shown.count('<p class="command">') == len(found.commands)


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
    verdict = next(one for one in found.sentences if one.startswith(found.verdict.capitalize()))
    assert said.index(" ".join(verdict.split())) < said.index(lead) < said.index("The study")
    assert text(found).splitlines()[1].startswith(found.verdict.capitalize())


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
    assert f"Planned with {given}" in " ".join(text(made(kind)).split())


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
    assert [(one.role, one.text) for one in last.blocks] == [("command", one) for one in found.commands]
    shown = page(found)
    for command in found.commands:
        assert shown.index(html.escape(command)) < shown.index("The study")
        for said in (shown.replace(html.escape(command), command), text(found), markdown(found)):
            assert said.count(command) == 1
    assert text(found).splitlines()[-len(found.commands) - 1 :] == ["Next:", *found.commands]
    assert markdown(found).splitlines()[-2] == found.commands[-1]
