from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from auditing.tables import cohort, two_judges
from bonwise.auditing.audit import audit
from bonwise.printable import printable
from bonwise.report.audit_markdown import markdown
from bonwise.report.metric_table import interval, number

TOKENS = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "text_special"),
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


def named(frame, judge):
    """Return an audit's document of one judge of some name, with gates."""
    found = audit(frame.assign(judge=judge))
    return {**found.to_dict(), "gates": [gate.to_dict() for gate in found.check({"recovery": 0.1, "within_r": 0.9})]}


def test_the_summary_of_a_judge_holds_its_figures():
    """Title, verdict, estimates with intervals and prompts, gates and drops are those of the document."""
    frame = cohort(60).iloc[1:]
    found = audit(frame, shape="rectangular")
    document = {**found.to_dict(), "gates": [gate.to_dict() for gate in found.check({"recovery": 0.1})]}
    text = markdown(document)
    assert text.startswith("## Audit of table, against oracle labels\n")
    assert document["verdict"]["sentences"][0] in seen(text)
    rows = {row[0]: row[1:] for row in cells(text)}
    for key in ("recovery", "within_r", "global_r", "top1_accuracy", "tie_rate"):
        metric = document["metrics"][key]
        assert rows[key] == [number(metric["estimate"]), interval(metric), f"{metric['n']:,}"]
    (gate,) = document["gates"]
    assert rows["recovery > 0.1"] == ["judge", gate["state"], gate["sentence"]]
    assert "Dropped 1 prompt: lacks c0 (1)" in seen(text)


def test_several_judges_share_one_table():
    """Each judge has a row with its prompts, its figures and its verdict."""
    document = audit(two_judges(60)).to_dict()
    head, *rows = cells(markdown(document))
    assert head == [
        *("judge", "labelled prompts", "recovery", "95% interval", "within_r", "global_r", "tie_rate", "verdict")
    ]
    for row, (name, judge) in zip(rows, document["judges"].items(), strict=True):
        assert row[:4] == [
            name,
            "60",
            number(judge["metrics"]["recovery"]["estimate"]),
            interval(judge["metrics"]["recovery"]),
        ]
        assert row[-1] == judge["verdict"]["level"]


def test_a_reference_is_not_called_an_oracle():
    """Where a judge stands in for the oracle, it is named, and nothing is called an oracle."""
    text = markdown(audit(two_judges(60).drop(columns="oracle_label"), oracle="judge:second").to_dict())
    assert text.startswith("## Audit of table, agreement with second\n")
    assert "oracle" not in text


def test_partial_labels_are_said():
    """Figures from the labelled prompts alone carry a star that is explained."""
    text = markdown(audit(cohort(80, unlabelled=40)).to_dict())
    assert "recovery *" in {row[0] for row in cells(text)}
    assert "* from the completely labelled prompts alone" in seen(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name):
    """A name of whatever kind makes no link, image, markup or further cell, and is read as it is."""
    document = named(cohort(20), "judge")
    document["settings"]["source"] = document["judge"] = name
    document["gates"] = [{**gate, "judge": name, "sentence": name} for gate in document["gates"]]
    document["verdict"]["sentences"] = [name]
    document["data"]["dropped"] = [{"prompt_id": name, "reason": name}]
    text = markdown(document)
    assert {token.type for token in tokens(text)} <= TOKENS
    assert seen(text).count(once(name)) >= 8
    assert {len(row) for row in cells(text)} == {4}
    linked = re.compile(r"@\w|https?://|www\.|GH-\d|#\d|mailto:|xmpp:|:tada:", re.IGNORECASE)
    assert not linked.search("".join(token.content for token in tokens(text) if token.type == "text"))


@given(st.text(st.characters(), min_size=1, max_size=60))
def test_any_name_is_text(name):
    """No text makes anything but text, and what is seen is the text."""
    gate = {"judge": name, "metric": "recovery", "value": 0.1, "state": "met", "sentence": name}
    figures = {"estimate": 0.5, "low": 0.4, "high": 0.6, "n": 9, "method": "complete"}
    document = {
        "settings": {"source": name, "confidence": 0.95, "exclude": [name], "control": []},
        "judge": name,
        "data": {"prompts": 9, "labelled_prompts": 9, "rows": 18, "dropped": [{"prompt_id": name, "reason": name}]},
        "metrics": {"recovery": figures},
        "verdict": {"sentences": [name]},
        "gates": [gate],
    }
    text = markdown(document)
    assert {token.type for token in tokens(text)} <= TOKENS
    assert {len(row) for row in cells(text)} == {4}
    assert seen(text).count(once(name)) >= 5 + bool(once(name))


@pytest.mark.parametrize(("reasons", "more"), [(5, False), (6, True)])
def test_five_reasons_are_told_whole(reasons, more):
    """Of five reasons each is named and nothing is said to be missing; of six the last gives way to dots."""
    document = audit(cohort(20)).to_dict()
    document["data"]["dropped"] = [
        {"prompt_id": f"p{at}{again}", "reason": f"reason {at}"} for at in range(reasons) for again in range(9 - at)
    ]
    told = ", ".join(f"reason {at} ({9 - at})" for at in range(5))
    (line,) = (one for one in seen(markdown(document)).splitlines() if one.startswith("Dropped"))
    assert line.endswith(f": {told}, ..." if more else f": {told}")


def test_the_summary_stays_small():
    """Of a thousand judges 200 have a row, and the others are counted."""
    document = audit(two_judges(20)).to_dict()
    judge = document["judges"]["first"]
    document["judges"] = {f"j{at}" * 100: judge for at in range(1000)}
    text = markdown(document)
    assert len(text) < 200_000
    assert cells(text)[-1][0] == "... 800 more"
