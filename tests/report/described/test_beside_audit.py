from __future__ import annotations

import re

import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort
from bonwise.report.blocks import Part, Said, Table, drawings_of
from bonwise.studies.view import beside_audit
from documents.studied import controlled, judged, orders, result

SEVEN = [f"j{at}" for at in range(7)]


def rows(parts):
    """Return the rows of all tables of parts."""
    return [row.cells for part in parts for one in part.blocks if isinstance(one, Table) for row in one.rows]


def data(found):
    """Return the parts that say what a study rests on."""
    parts = [*found.whole, *(one for some in found.by_judge.values() for one in some)]
    return [one for one in parts if one.title.startswith("Data of the study")]


def counted(document, **more):
    """Return the document of one judge with other counts."""
    ((name, judge),) = document.judges.items()
    changed = judge.model_copy(update={"data": judge.data.model_copy(update=more)})
    return document.model_copy(update={"judges": {name: changed}})


@pytest.fixture(scope="module")
def alone():
    """Return an audit of one judge and a study of it."""
    frame = cohort(20)
    return bw.audit(frame), bw.study_requirements(frame)


def test_what_the_audit_says_is_not_said_again(alone):
    """Counts and drops that the audit has too are not repeated; others are, with the name of the study."""
    audit, study = alone
    assert data(beside_audit(study, audit)) == []
    (part,) = data(beside_audit(counted(study, prompts=18, too_large_prompts=2, dropped={"lacks a": 2}), audit))
    assert rows([part]) == [("prompts", "18"), ("too large prompts", "2"), ("dropped", "lacks a", "2")]
    assert part.title == "Data of the study of requirements"


def test_a_count_is_told_by_what_it_counts(alone):
    """Rows as many as the audit's prompts stand beside it all the same."""
    audit, study = alone
    (part,) = data(beside_audit(counted(study, rows=audit.data.prompts), audit))
    assert rows([part]) == [("rows", "20")]


def test_labelled_prompts_are_told_by_the_audit():
    """What an audit of partial labels says of labelled prompts, and of those without, is not repeated."""
    frame = cohort(30, unlabelled=10)
    (part,) = data(beside_audit(bw.study_requirements(frame), bw.audit(frame)))
    assert rows([part]) == [("rows", "80")]


def test_prompts_that_both_dropped_are_told_once():
    """The audit's part counts them by reason already."""
    frame = cohort(20).drop(index=0)
    study = bw.study_requirements(frame)
    assert study.judges["judge"].data.dropped
    assert data(beside_audit(study, bw.audit(frame))) == []


def test_each_judge_has_its_own_part():
    """Of two judges each has the part of its own, under the same heading; who was not studied stands apart."""
    frame = judged("ab")
    study = bw.study_requirements(frame).model_copy(update={"not_studied": {"c": "why"}})
    found = beside_audit(study, bw.audit(frame))
    assert {name: [part.title for part in parts] for name, parts in found.by_judge.items()} == {
        "a": ["What a wanted recovery takes"],
        "b": ["What a wanted recovery takes"],
    }
    (whole,) = found.whole
    assert (whole.title, whole.blocks) == ("Not studied", [Said("caveat", "c: why")])


def test_what_is_nobodys_own_stands_apart(alone):
    """So does a study of another table, one that compares judges, and any beside an audit of one judge."""
    frame = judged("ab")
    both = bw.audit(frame)
    study = bw.study_requirements(frame)
    other = study.model_copy(update={"settings": study.settings.model_copy(update={"source": "other.csv"})})
    for document, audit in ((other, both), (orders(), both), (alone[1], alone[0])):
        found = beside_audit(document, audit)
        assert found.by_judge == {}
        assert found.whole
    titles = [part.title for part in beside_audit(other, both).whole]
    assert titles[:2] == ["What a wanted recovery takes: a", "What a wanted recovery takes: b"]
    assert "other.csv" in data(beside_audit(counted(other.of_one_judge("a"), rows=1), both))[0].blocks[0].text


def test_nothing_is_drawn_beside_many_judges():
    """Of seven judges no study is drawn; that of requirements is one table, which says where the rest is."""
    frame = controlled(judged(SEVEN, prompts=10))
    audit = bw.audit(frame, control="bad")
    mixed = beside_audit(bw.study_mix(frame, control="bad"), audit)
    assert list(mixed.by_judge) == SEVEN
    parts = [part for some in mixed.by_judge.values() for part in some]
    assert list(drawings_of(parts)) == []
    needed = beside_audit(bw.study_requirements(frame, exclude="bad"), audit)
    assert needed.by_judge == {}
    assert needed.whole[0].blocks[-1].text.endswith("bonwise study requirements.")
    folded = [one for one in needed.whole[0].blocks if isinstance(one, Part) and one.folded]
    assert len(rows(folded)) == 7


@pytest.mark.parametrize("name", ["strategies", "calibration", "draw"])
def test_every_study_can_stand_there(name, tmp_path, alone):
    """Each has parts with headings and distinct addresses."""
    found = beside_audit(result(name, tmp_path), alone[0])
    assert all(isinstance(part, Part) and part.title and part.anchor for part in found.whole)


def test_each_part_is_on_the_page_of_the_audit(tmp_path):
    """On the page of two judges each has its requirements in its own part, and no address is twice."""
    frame = pd.concat([cohort(20).assign(judge="x"), cohort(20).assign(judge="y")])
    bw.audit(frame).to_html(tmp_path / "a.html")
    shown = (tmp_path / "a.html").read_text("utf-8")
    x, y = (shown.index(f"<h2><bdi>{name}</bdi></h2>") for name in "xy")
    places = [one.start() for one in re.finditer("<h3><bdi>What a wanted recovery takes</bdi></h3>", shown)]
    assert len(places) == 2
    assert x < places[0] < y < places[1]
    ids = re.findall(r'<[^>]*?\bid="([^"]*)"', shown)
    assert len(ids) == len(set(ids))
