from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bonwise.printable import printable
from bonwise.report.blocks import Column, Part, Row, Said, Table
from bonwise.report.markdown import rendered
from bonwise.report.show import markdown
from report.described.audits import audited, changed, several

TOKENS = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "text_special"),
    *("strong_open", "strong_close"),
    *(f"{part}_{end}" for part in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")),
}
GAP = "\u200b"
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a|b\\|c\\",
    "`code` ``more``",
    "**strong** _soft_ ~~gone~~",
    "[link](javascript:alert(1))",
    "![image](https://example.com/x.png)",
    "https://example.com www.example.com mailto:a@example.com",
    "xmpp:a@example.com xmpp:room?join",
    "@everyone #12 GH-12 a/b#3 :tada:",
    "$x^2$ $$y$$",
    "<!-- gone",
    "&lt;b&gt; &#124; &nbsp;",
    "line\n\n# heading\n---\n| a | b |",
    "1. one",
    "- one",
    "\u202eright to left\u2066",
    "{{7*7}} {% raw %}",
    "\x00\x1b[31m\ud800",
    "[^1]: note",
    "[ ] task  two  gaps ",
    "=1+1",
    "\\",
    "]]> ```",
)
AUDITED = audited({"recovery": 0.1, "within_r": 0.9})


def tokens(text):
    """Parse as GitHub's kind of Markdown and return every token."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    top = parser.parse(text)
    return [*top, *(inner for one in top for inner in one.children or ())]


def cells(text):
    """Return the tables' rows as a reader sees them."""
    rows, row = [], None
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            row = []
        elif token.type == "inline" and row is not None:
            row.append("".join(inner.content for inner in token.children).replace(GAP, ""))
        elif token.type == "tr_close":
            rows.append(row)
            row = None
    return rows


def seen(text):
    """Return all that a reader sees, gaps taken out."""
    return "\n".join(
        "".join(inner.content for inner in one.children) for one in tokens(text) if one.type == "inline"
    ).replace(GAP, "")


def once(text):
    """Return a name as one line of text shows it."""
    return " ".join(printable(text).split())


def about(name):
    """Return a description that says a name wherever there can be one."""
    columns = (Column(name, "name"), Column("figure"), Column(name, "words"))
    rows = [Row((name, "1", name), group=name), Row(("plain", "2", name))]
    return Part(name, [Said("note", name), Part(name, [Said("good", name), Table(columns, rows, name)], "outcomes")])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name):
    """A name of whatever kind makes no link, image, markup or further cell, and is read as it is."""
    text = rendered(about(name))
    assert {token.type for token in tokens(text)} <= TOKENS
    assert seen(text).count(once(name)) >= 11
    assert {len(row) for row in cells(text)} == {3}
    linked = re.compile(r"@\w|https?://|www\.|GH-\d|#\d|mailto:|xmpp:|:tada:", re.IGNORECASE)
    assert not linked.search("".join(token.content for token in tokens(text) if token.type == "text"))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_an_audit_are_text(name):
    """Sources, judges, sentences and reasons of an audit's document are text."""
    gates = [{**gate.to_dict(), "judge": name, "sentence": name} for gate in AUDITED.gates]
    document = changed(
        AUDITED,
        judge=name,
        settings={"source": name, "exclude": [name]},
        gates=gates,
        verdict={**AUDITED.verdict.to_dict(), "sentences": [name, name], "deciding": 1},
        data={"dropped": [{"prompt_id": name, "reason": name}]},
    )
    text = markdown(document)
    assert {token.type for token in tokens(text)} <= TOKENS
    assert seen(text).count(once(name)) >= 8


@example(" ")
@given(st.text(st.characters(), min_size=1, max_size=60))
def test_any_name_is_text(name):
    """No text makes anything but text, and what is seen is the text."""
    text = rendered(about(name))
    assert {token.type for token in tokens(text)} <= TOKENS
    assert {len(row) for row in cells(text)} == {3}
    assert seen(text).count(once(name)) >= 11


def test_what_decides_comes_first():
    """Below the title and the notes stands the verdict with its word, then the outcomes, then all else."""
    verdict = Part("useful", [Said("finding", "because"), Said("lead", "so it is")], "verdict")
    outcomes = Part("Gates", [Said("good", "met")], "outcomes")
    text = rendered(Part("All", [Said("note", "of old"), Part("Data", [Said("note", "9")]), verdict, outcomes]))
    headings = ["## All", "of old", "### Verdict: useful", "so it is", "because", "### Gates", "met", "### Data", "9"]
    assert text.split("\n\n") == [*headings[:-1], "9\n"]


def test_the_summary_stays_small():
    """Of a thousand judges 200 have a row, and the others are counted."""
    document = several(["first", "second", "third", "fourth", "fifth"])
    judge = document.judges["first"].to_dict()
    many = changed(document, judges={f"j{at}" * 100: judge for at in range(1000)}, comparisons=[], choice={})
    text = markdown(many)
    assert len(text) < 200_000
    assert cells(text)[-1][0] == "... 800 more"
