from __future__ import annotations

import html
import re

from bonwise.report.blocks import Card, CardMark, Cards, Column, Part, Row, Said, Table
from bonwise.report.page.rendered import fragment, whole_page

BAD = "<script>alert(1)</script>|\x1b[31m"


def described(*inside, title="Search pools", name="p0"):
    """Return a description with a finder of one row."""
    columns = (Column("prompt", "name"), Column("calls"))
    finder = Table(columns, [Row((name, "1,200"), values=(None, 1200), inside=inside)], title, "finder")
    return Part("All", [Said("finding", "found"), Part("Pools", [finder])])


def body(markup):
    """Return the markup without styles and scripts, and blanks made one."""
    return " ".join(re.sub(r"<(style|script)[^>]*>.*?</\1>", "", markup, flags=re.DOTALL).split())


def seen(markup):
    """Return the text of some markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body(markup.replace("<wbr>", "")))).split())


def test_a_row_opens_to_its_cards():
    """A card shows its marks, its figures, what is said beside them and its text; its class is that of its marks."""
    card = Card(
        "c1",
        (CardMark("picked", "picked, one of 2 tied"), CardMark("best", "best")),
        (("score", "0.5"), ("draws", "3")),
        "not scored: late",
        (Said("quoted", "the text"), Said("note", "7 more characters are not shown here.")),
    )
    markup = whole_page(described(Said("finding", "why"), Cards((card, Card("c2")), "Candidates")))
    shown = (
        "Candidates c1 picked, one of 2 tied best score 0.5 , draws 3 ; not scored: late the text 7 more characters"
    )
    assert shown in seen(markup)
    assert '<li class="picked best">' in markup
    assert '<p class="held"></p>' not in body(markup)
    assert "Search pools" in seen(markup)
    assert 'data-v="1200"' in markup


def test_a_long_name_stands_whole_in_the_opened_row():
    """A name that is cut in the table is whole below it; a short one is not said again."""
    markup = whole_page(described(name="n" * 100))
    assert f'<p class="who"><bdi>{"n" * 100}</bdi></p>' in markup
    assert '<p class="who">' not in whole_page(described())


def test_a_finder_is_for_pages_alone():
    """A notebook runs no script, so it shows the other parts."""
    assert "Pools" not in fragment(described())
    assert "found" in fragment(described())


def test_whatever_a_card_holds_stays_text():
    """Names, marks, figures, notes and texts are escaped, and what cannot be seen is written out."""
    card = Card(
        BAD, (CardMark("picked", BAD),), ((BAD, BAD),), BAD, (Said("quoted", BAD), Part(BAD, [Said("note", BAD)]))
    )
    markup = body(whole_page(described(Cards((card,), BAD), title=BAD, name=BAD)))
    assert "alert(1)" in markup
    assert "<script>alert" not in markup
    assert "\x1b" not in markup
