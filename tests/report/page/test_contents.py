from __future__ import annotations

import re

from bonwise.report.page.contents import contents
from bonwise.report.page.layout import Page, Part
from bonwise.report.page.pages import page
from bonwise.report.page.section import Section
from report.page.page_documents import several


def laid_out(judges):
    """Return a page of some judges with two sections each."""
    opening = Part([Section("Side by side", "sides"), Section("Differences", "differences")])
    parts = [
        Part([Section("Data", f"j{at}-data"), Section("Metrics", f"j{at}-m")], f"judge {at}", f"j{at}")
        for at in range(judges)
    ]
    return Page("title", [], [opening, *parts])


def test_sections_of_a_judge_are_listed_inside_its_own():
    """Of a few judges the list has two levels."""
    found = contents(laid_out(2))
    assert [one.anchor for one in found] == ["sides", "differences", "j0", "j1"]
    assert [one.anchor for one in found[2].inside] == ["j0-data", "j0-m"]


def test_many_judges_do_not_flood_the_list():
    """Of more judges there are names alone, and of many one folded entry that holds them all."""
    assert [len(one.inside) for one in contents(laid_out(12))] == [0] * 14
    found = contents(laid_out(40))
    assert [one.title for one in found] == ["Side by side", "Differences", "40 judges"]
    assert found[2].folded
    assert [one.anchor for one in found[2].inside] == [f"j{at}" for at in range(40)]


def test_every_entry_leads_to_a_place_on_the_page():
    """Links of a page with many judges find their targets, and the page says why it draws no judge."""
    shown = page(several([f"j{at}" for at in range(13)]))
    links = set(re.findall(r'href="#([^"]*)"', shown))
    assert {"judge-1", "judge-13"} <= links
    assert links <= set(re.findall(r'\bid="([^"]*)"', shown))
    assert "<summary>13 judges</summary>" in shown
    assert "Of 13 judges each has tables below and no drawings" in shown
