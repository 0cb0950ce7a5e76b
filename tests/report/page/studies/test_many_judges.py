from __future__ import annotations

import pandas as pd
import pytest

import bonwise as bw
from bonwise.report.page.pages import page
from bonwise.report.page.section import MOST_DRAWN
from bonwise.report.page.studies.calibration import calibration_sections
from bonwise.report.page.studies.label_strategy import label_strategy_sections
from bonwise.report.page.studies.mix import mix_sections
from report.page.page_documents import table

NAMES = [f"j{at}" for at in range(MOST_DRAWN + 1)]


def judged(names):
    """Return a table of some judges of the same prompts, each with an easy candidate."""
    return pd.concat([table(judge=name, shift=at) for at, name in enumerate(names)], ignore_index=True)


def verdicts(frame):
    """Return verdicts of one judge on the first two candidates of each prompt."""
    first, second = sorted(frame["candidate"].unique())[:2]
    rows = [(prompt, first, second, at % 2, 1) for at, prompt in enumerate(sorted(frame["prompt_id"].unique()))]
    return pd.DataFrame(rows, columns=["prompt_id", "a", "b", "shown_first", "shown_second"])


STUDIES = {
    "mix": (lambda frame: bw.study_mix(frame, control=min(frame["candidate"])), mix_sections),
    "calibration": (bw.study_calibration, calibration_sections),
    "label-strategy": (
        lambda frame: bw.study_label_strategy(frame, verdicts=verdicts(frame)),
        label_strategy_sections,
    ),
}


@pytest.mark.parametrize(("study", "sections"), STUDIES.values(), ids=STUDIES)
def test_without_figures_the_rest_stays(study, sections):
    """What is not drawn is still told: the same sections with the same sentences and tables."""
    document = study(judged(NAMES[:2])).to_dict()
    drawn, bare = sections(document), sections(document, drawn=False)
    assert [(one.title, one.sentences, one.tables, one.notes) for one in bare] == [
        (one.title, one.sentences, one.tables, one.notes) for one in drawn
    ]
    assert any(one.figures for one in drawn)
    assert not any(one.figures for one in bare)


@pytest.mark.parametrize("name", ["mix", "calibration"])
def test_the_page_of_many_judges_says_that_nothing_is_drawn(name):
    """Six judges are drawn without a word on it; of seven there are the tables, and a note."""
    six, seven = (page(STUDIES[name][0](judged(NAMES[:count])).to_dict()) for count in (MOST_DRAWN, MOST_DRAWN + 1))
    assert ("<figure" in six, "Nothing is drawn: up to 6 judges are." in six) == (True, False)
    assert ("<figure" in seven, "Nothing is drawn: up to 6 judges are." in seven) == (False, True)


def test_a_study_beside_an_audit_of_many_judges_is_not_drawn():
    """The page of an audit of seven judges holds a mix study of each, in tables."""
    frame = judged(NAMES)
    control = min(frame["candidate"])
    shown = page(bw.audit(frame, control=control).to_dict(), studies=[bw.study_mix(frame, control=control).to_dict()])
    assert shown.count("Easy candidates mixed in") >= len(NAMES)
    assert "Agreement by the share of easy pairs" not in shown
