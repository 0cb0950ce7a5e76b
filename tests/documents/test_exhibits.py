from __future__ import annotations

import pytest

import bonwise as bw
from auditing.tables import cohort
from bonwise.auditing.exhibits import exhibits
from bonwise.auditing.result_exhibits import Note
from bonwise.auditing.what_if import what_if
from bonwise.table.words import Words
from documents.round_trips import read_back, refusal


def shown():
    """Return the exhibits of an audit with strata and words."""
    frame = cohort(30).assign(text="the text", raw="the judge's words")
    frame["topic"] = frame["prompt_id"].str[-1]
    found = bw.audit(frame)
    rests_on = found.source_of("this")
    steps = what_if(rests_on.judges, rests_on.settings, source=found.settings.source)
    return exhibits(tuple(rests_on.judges.values()), found.table, Words(found.table), seed=1, what_if=steps)


def test_what_is_written_is_read_back(tmp_path):
    """Exhibits and notes are read back with the same bytes."""
    loaded = read_back(shown(), tmp_path)
    assert loaded.prompts.rows[0].candidates[0].text == "the text"
    read_back(Note.on("A study", "no data"), tmp_path)


@pytest.mark.parametrize(
    ("keys", "value", "why"),
    [
        ("judges.judge.differences.judge.ties", 10**6, "more pairs tie than there are"),
        ("judges.judge.differences.oracle.counts", [], "one edge more than counts"),
        ("judges.judge.spread.within.judge", [], "of different lengths"),
        ("judges.judge.strata.0.rows.0.kind", "odd", "judges.judge.strata[0].rows[0].kind"),
        ("prompts.of", 3, "more rows than there are prompts"),
        ("what_if.gate.current", 3, "gate.current is not the step of gate_value"),
        ("what_if.gate.steps.3.gate", 0.9, "rising order of the gate"),
        ("what_if.labels.steps.3.prompts", 1, "rising order of the prompts"),
        ("what_if.labels.current", 99, "current is beyond the last step"),
        ("what_if.labels.steps.3.lower", None, "one end of the bounds is missing"),
        ("what_if.labels.steps.3.low", 5.0, "the ends of the interval are in the wrong order"),
        ("what_if.labels.steps.3.chance", 1.5, "what_if.labels.steps[3].chance"),
        ("what_if.gate.steps.3.sentence", " ", "what_if.gate.steps[3].sentence"),
        ("prompts.rows.0.candidates.0.picked", "yes", "prompts.rows[0].candidates[0].picked"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, why):
    """Histograms, points and rows that cannot be are refused."""
    assert why in refusal(shown(), tmp_path, keys, value)
