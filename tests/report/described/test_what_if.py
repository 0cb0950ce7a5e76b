from __future__ import annotations

import pytest

import bonwise as bw
from auditing.tables import cohort
from bonwise.auditing.exhibits import exhibits
from bonwise.auditing.view import describe_with
from bonwise.auditing.what_if import what_if
from bonwise.report.blocks import Part, Said, Stepped
from bonwise.report.markdown import rendered
from bonwise.report.page.rendered import fragment, whole_page
from routing.tables import weak_judge


def described(frame, routed=None, **settings):
    """Return the description of a page of an audit."""
    audit = bw.audit(frame, **settings)
    also = [] if routed is None else [routed]
    settings, rests_on = audit.settings, audit.source_of("this")
    found = what_if(
        rests_on.judges, rests_on.settings, source=settings.source, reference=settings.reference, also=also
    )
    shown = exhibits(tuple(rests_on.judges.values()), audit.table, None, seed=0, what_if=found)
    return describe_with(audit, shown)


def section(whole):
    """Return the section of the sliders; None without one."""
    return next((one for one in whole.blocks if isinstance(one, Part) and one.anchor == "what-if"), None)


def sliders(whole):
    """Return the sliders by key."""
    parts = [one for one in section(whole).blocks if isinstance(one, Part)]
    return {block.key: block for part in parts for block in part.blocks if isinstance(block, Stepped)}


def test_each_step_has_a_word_its_figures_and_a_sentence():
    """Figures are as many as their names; the state follows from the word."""
    frame = weak_judge(60, seed=4)
    found = sliders(described(frame, bw.route(frame)))
    assert list(found) == ["gate-slider", "share-slider", "labels-slider"]
    states = {"useful": "good", "weak": "bad", "harmful": "bad", "inconclusive": "open"}
    for slider in found.values():
        assert len(slider.steps) >= 21
        for step in slider.steps:
            assert len(step.figures) == len(slider.figures)
            assert step.state == states[step.word]
            assert step.says.endswith(".")
    gate = found["gate-slider"]
    assert gate.start.value == "50%"
    assert gate.steps[0].figures[0] in {"met", "not met", "inconclusive"}


def test_a_reason_is_said_once():
    """Where the verdict says already why the gate is open, the outcome of the gate does not repeat it."""
    frame = cohort(40)
    frame.loc[frame["candidate"] == "c3", ["oracle_label", "judge_score"]] = 0.0
    says = sliders(described(frame, thresholds={"recovery_useful": 0.05}))["gate-slider"].start.says
    assert says.count("has the lowest label") == 1
    assert says.endswith("Gate recovery > 5%: inconclusive, for the same reason.")


def test_a_gigantic_name_is_said_in_short():
    """A sentence with the name of a candidate stands at every step, and does not make the page large."""
    frame = cohort(40)
    frame.loc[frame["candidate"] == "c3", ["oracle_label", "judge_score"]] = 0.0
    frame["candidate"] = frame["candidate"].replace("c3", "x y" * 10_000)
    for slider in sliders(described(frame, thresholds={"recovery_useful": 0.05})).values():
        assert all(len(step.says) < 1_500 for step in slider.steps)


def test_notes_say_what_is_assumed():
    """The labels are called a projection, with the number that it takes and its interval."""
    told = [
        one.text
        for part in section(described(cohort(60))).blocks
        if isinstance(part, Part)
        for one in part.blocks
        if isinstance(one, Said)
    ]
    assert any(one.startswith("A projection: it assumes") for one in told)
    assert any("with a chance of 90%" in one and "95% interval" in one for one in told)


@pytest.mark.parametrize("of_words", [cohort(60)])
def test_only_a_page_has_sliders(of_words):
    """Markdown, the terminal and a notebook leave them out."""
    whole = described(of_words)
    assert 'type="range"' in whole_page(whole)
    assert "What would change the verdict" not in rendered(whole)
    alone = Part("Title", [Part("What", [Said("finding", "yes"), *sliders(whole).values()])])
    assert 'type="range"' not in fragment(alone)
    assert "yes" in fragment(alone)


def test_of_several_judges_one_section():
    """Sixty judges add one section, of the judge that leads, which is named."""
    import pandas as pd  # noqa: PLC0415 - this test alone

    frame = cohort(25)
    many = pd.concat([frame.assign(judge=f"<b>j{at}") for at in range(12)], ignore_index=True)
    whole = described(many)
    assert sum(isinstance(one, Part) and one.anchor == "what-if" for one in whole.blocks) == 1
    first = section(whole).blocks[0]
    assert first.text == "This is about <b>j0, the judge with the largest recovery."
    assert "<b>j0" not in whole_page(whole)


def test_the_section_is_small():
    """All three sliders take less than 60 kB of a page."""
    frame = weak_judge(60, seed=4)
    whole = described(frame, bw.route(frame))
    without = [one for one in whole.blocks if not (isinstance(one, Part) and one.anchor == "what-if")]
    alone = Part(whole.title, without)
    assert len(whole_page(whole).encode()) - len(whole_page(alone).encode()) < 60_000


def test_without_a_recovery_no_section():
    """A judge that ties everything has none."""
    assert section(described(cohort(30).assign(judge_score=0.5))) is None
