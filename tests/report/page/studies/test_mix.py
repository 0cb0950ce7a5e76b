from __future__ import annotations

import re

import pandas as pd

from auditing.tables import cohort, two_judges
from bonwise.auditing.studies.mix import study_mix
from bonwise.report.mix_change import change_notes, change_rows
from bonwise.report.mix_text import mix_text
from bonwise.report.page.studies.mix import mix_sections

HOSTILE = '<script>alert("x")</script>\u202e{{7*7}}'


def controlled(frame, name="bad"):
    """Score a copy of a candidate as the worst of its pool."""
    rows = frame[frame["candidate"] == "c0"].assign(candidate=name, judge_score=0.0, oracle_label=0.0)
    return pd.concat([frame, rows], ignore_index=True)


def sections_of(frame, **options):
    """Lay out the study of a frame."""
    return mix_sections(study_mix(frame, control=options.pop("control", "bad"), **options).to_dict())


def test_one_judge_is_one_section_with_its_curves_and_changes():
    """The section holds the findings, two drawings with their figures in words, and the table of changes."""
    study = study_mix(controlled(cohort(60)), control="bad")
    (section,) = mix_sections(study.to_dict())
    assert section.anchor == "mix"
    assert list(section.sentences) == list(study.judges["judge"].sentences)
    assert len(section.figures) == 2
    first, last = (f"{study.judges['judge'].points[at].metrics['global_r'].estimate:.3f}" for at in (0, -1))
    assert f"global_r {first} to {last}" in section.figures[0].says
    assert [row[0] for at, row in enumerate(section.tables[0].rows) if at in section.tables[0].strong] == [
        "recovery",
        "global_r",
    ]


def test_several_judges_have_a_section_each_with_addresses_of_their_own():
    """No two drawings of a page share an address, and each section names its judge."""
    sections = sections_of(controlled(two_judges(40)))
    assert [section.title for section in sections] == [f"Easy candidates mixed in: {n}" for n in ("first", "second")]
    ids = [
        one for section in sections for figure in section.figures for one in re.findall(r'\bid="([^"]*)"', figure.svg)
    ]
    assert len({section.anchor for section in sections}) == 2
    assert len(ids) == len(set(ids))


def test_hostile_names_stay_names():
    """A control or judge named like markup stands nowhere as markup, in no drawing and in no line of text."""
    frame = controlled(cohort(40), HOSTILE).assign(judge=HOSTILE)
    sections = sections_of(frame, control=HOSTILE)
    assert not any("<script" in figure.svg for section in sections for figure in section.figures)
    assert "\u202e" not in "".join(sections[0].sentences)
    assert "\u202e" not in mix_text(study_mix(frame, control=HOSTILE).to_dict())


def test_a_reference_is_not_called_an_oracle():
    """Where a judge stands in for labels no finding and no metric speaks of an oracle or of labels."""
    frame = controlled(two_judges(40)).drop(columns="oracle_label")
    document = study_mix(frame, control="bad", oracle="judge:second").to_dict()
    words = mix_text(document) + "".join(str((s.sentences, s.tables)) for s in mix_sections(document))
    assert "value_reference" in words
    assert "oracle" not in words


def test_a_metric_without_figures_has_no_curve():
    """Of a judge that ties everything what has figures is drawn, the rest has dashes in words."""
    (section,) = sections_of(controlled(cohort(30)).assign(judge_score=0.5))
    assert "global_r - to -" in section.figures[0].says
    assert "var(--other)" in section.figures[0].svg
    assert "var(--oracle)" not in section.figures[0].svg


def test_an_interval_of_prompts_all_alike_is_explained():
    """Where no prompt changed, text and page name the metrics and the prompts behind the exact bound."""
    frame = controlled(cohort(60))
    document = study_mix(frame, control="bad").to_dict()
    change = document["judges"]["judge"]["change"]
    rows = change_rows(document["judges"]["judge"], document["settings"])[1]
    names = [row[0] for row in rows if change[row[0]]["interval"] == "exact"]
    assert "value_oracle" in names
    assert {change[name]["estimate"] for name in names} == {0}
    note = f"{', '.join(names)}: no prompt changed: exact bound of {change['value_oracle']['n']} prompts"
    (section,) = mix_sections(document)
    assert note in section.notes
    assert note in " ".join(mix_text(document).split())


def test_each_note_below_the_changes_is_said_once():
    """Metrics share a note where it is the same; a common change is no unchanged one, a plain interval needs none."""
    plain = {"estimate": 0.2, "interval": "jackknife", "n": 9, "method": "complete"}
    change = {
        "gain": {**plain, "interval": "exact", "estimate": 0.25},
        "value_oracle": {**plain, "interval": "exact", "estimate": -1e-17, "n": 1200},
        "within_r": plain,
        "inflation": {**plain, "interval": None, "estimate": None, "reason": "too small", "method": "labelled_only"},
        "recovery": {**plain, "interval": None, "estimate": None, "reason": "too small"},
    }
    assert change_notes(change, "judge:b") == [
        "recovery, inflation: too small",
        "gain: all prompts changed alike: exact bound of 9 prompts",
        "value_reference: no prompt changed: exact bound of 1,200 prompts",
        "* from the completely labelled prompts alone",
    ]
