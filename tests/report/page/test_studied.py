from __future__ import annotations

import re

import pandas as pd

import bonwise as bw
from bonwise.report.page.layout import Findings
from bonwise.report.page.pages import fragment, page
from bonwise.report.page.section import Section
from bonwise.report.page.studied import beside_data, by_judge, findings, not_studied, study_data
from report.page.page_documents import audited, table

JUDGE = {
    "data": {
        "prompts": 90,
        "rows": 360,
        "unlabelled_prompts": 7,
        "dropped": {"lacks <base>": 3, "nothing": 0},
        "method": "labelled_only",
        "pairs": 1234,
        "score_range": {"low": 0.1, "high": 1.0, "from": "scores"},
        "left_out": {"length": "no column"},
    },
    "sentences": [f"Finding {at}." for at in range(6)],
}


def study(judges, **more):
    """Return the document of a study of some judges."""
    return {
        "schema": "bonwise.study/1",
        "study": "requirements",
        "settings": {"source": "table", "confidence": 0.95},
        "judges": judges,
        "not_studied": {},
        **more,
    }


def rows(sections):
    """Return all rows of tables of sections."""
    return [tuple(row) for section in sections for one in section.tables for row in one.rows]


def text(shown):
    """Return the words of a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", shown.replace("<wbr>", "")).split())


def test_a_study_says_what_was_left_out_and_why():
    """All counts, reasons with their counts, reasons without, and whom the figures describe are told."""
    (section,) = study_data(study({"a": JUDGE}))
    assert section.sentences == ["The figures describe the labelled prompts alone."]
    assert rows([section]) == [
        ("prompts", "90"),
        ("rows", "360"),
        ("unlabelled prompts", "7"),
        ("pairs", "1,234"),
        ("dropped", "lacks <base>", "3"),
        ("left out: length", "no column", ""),
    ]


def test_data_of_several_judges_stand_in_one_table():
    """A row a judge; a count that one of them lacks is no 0; losses name their judge."""
    (section,) = study_data(study({"a": JUDGE, "b": {"data": {"prompts": 5, "dropped": {"why": 2}}}}))
    assert section.tables[0].rows == [("a", "90", "360", "7", "1,234"), ("b", "5", "-", "-", "-")]
    assert ("b", "dropped", "why", "2") in section.tables[1].rows
    assert section.sentences == ["The figures of a describe the labelled prompts alone."]


def test_a_study_without_judges_has_no_data():
    """The draw of pairs has none to count."""
    assert list(study_data(study({}))) == []


def test_who_was_not_studied_is_told_once():
    """Each judge with its reason stands in one table on the page of any study."""
    frame = table(judge="one")
    other = table(judge="two").assign(oracle_label=float("nan"))
    other["prompt_id"] = "x" + other["prompt_id"]
    document = bw.study_requirements(pd.concat([frame, other], ignore_index=True)).to_dict()
    ((name, why),) = document["not_studied"].items()
    shown = text(page(document))
    assert rows(not_studied(document)) == [(name, why)]
    assert shown.count(why) == 1


def test_what_was_dropped_is_on_the_page_as_it_is_in_the_text():
    """The reason and the count that the text of a study names are on its page."""
    found = bw.study_requirements(table().drop(index=[0, 4]))
    (reason, *_) = found.to_dict()["judges"]["judge"]["data"]["dropped"]
    assert f"dropped 1 prompt: {reason}" in str(found)
    assert f"dropped {reason} 1" in text(page(found.to_dict()))


def test_beside_an_audit_stands_what_the_audit_does_not_say():
    """Counts and drops that the audit has too are not repeated; others are, with the study's name."""
    audit = audited()
    data = {"prompts": 30, "rows": 90, "unlabelled_prompts": 0, "dropped": {}, "method": "complete"}
    assert list(beside_data(study({"judge": {"data": data}}), audit)) == []
    more = {"judge": {"data": {**data, "prompts": 28, "left_out": 2, "dropped": {"lacks a": 2}}}}
    (section,) = beside_data(study(more), audit)
    assert rows([section]) == [("prompts", "28"), ("left out", "2"), ("dropped", "lacks a", "2")]
    assert "requirements" in section.title


def test_a_count_is_told_by_what_it_counts():
    """Pairs as many as the audit's rows, and rows as many as its prompts, stand beside it all the same."""
    audit = audited()
    data = {"prompts": 30, "rows": 30, "pairs": 90, "oracle_ties": 3, "dropped": {}}
    (section,) = beside_data(study({"judge": {"data": data}}), audit)
    assert rows([section]) == [("rows", "30"), ("pairs", "90"), ("oracle ties", "3")]


def test_labelled_prompts_are_told_by_the_audit():
    """What an audit of partial labels says of labelled prompts, and of those without, is not repeated."""
    frame = table()
    frame.loc[:29, "oracle_label"] = float("nan")
    audit, found = bw.audit(frame).to_dict(), bw.study_requirements(frame).to_dict()
    data = found["judges"]["judge"]["data"]
    assert (data["prompts"], data["unlabelled_prompts"], data["studied_prompts"]) == (20, 10, 20)
    (section,) = beside_data(found, audit)
    assert rows([section]) == [("rows", "60")]


def test_the_study_of_a_judge_stands_with_that_judge():
    """Sections of one judge are in its part; a study of another table, or one that compares judges, stands apart."""
    audit = {"judges": {"a": {}, "b": {}}, "settings": {"source": "table"}}
    both = study({"a": JUDGE, "b": JUDGE}, not_studied={"c": "why"})
    assert [(name, list(one["judges"])) for name, one in by_judge(audit, both)] == [
        ("a", ["a"]),
        ("b", ["b"]),
        (None, []),
    ]
    assert [name for name, _ in by_judge(audit, {**both, "settings": {"source": "other"}})] == [None]
    assert [name for name, _ in by_judge(audit, {**both, "kind": "verdicts"})] == [None]
    assert [name for name, _ in by_judge({"judge": "a", "settings": {}}, both)] == [None]


def test_each_judge_of_an_audit_has_its_requirements(tmp_path):
    """On the page of two judges each part holds the section of that judge, without its name in the title."""
    frame = pd.concat([table(judge="x"), table(judge="y", shift=1)], ignore_index=True)
    path = tmp_path / "audit.html"
    bw.audit(frame).to_html(path)
    shown = path.read_text("utf-8")
    x, y = (shown.index(f"<h2><bdi>{name}</bdi></h2>") for name in "xy")
    places = [one.start() for one in re.finditer("<h3>What a wanted recovery takes</h3>", shown)]
    assert len(places) == 2
    assert x < places[0] < y < places[1]


def test_findings_beyond_the_first_are_folded():
    """Two findings lead, a third follows, and the others open; four of them are not worth folding."""
    document = bw.study_requirements(table()).to_dict()
    document["judges"]["judge"]["sentences"] = JUDGE["sentences"]
    for shown in (page(document), fragment(document)):
        said = re.findall(r"<p(?: class=\"(\w+)\")?>(Finding \d\.)</p>", shown)
        assert [kind for kind, _ in said] == ["lead", "lead", "", "", "", ""]
        opened = shown.index("<summary>3 more findings</summary>")
        assert shown.index("Finding 2.") < opened < shown.index("Finding 3.")
    document["judges"]["judge"]["sentences"] = JUDGE["sentences"][:4]
    assert "<details" not in page(document)


def test_a_section_without_findings_stays_as_it_is():
    """There is nothing to lead with."""
    assert not isinstance(findings(Section("Data", "data"), lead=2), Findings)
