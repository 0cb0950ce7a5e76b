from __future__ import annotations

from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditing.tables import cohort, table, two_judges
from bonwise.auditing.front import audit
from bonwise.auditing.junit import junit
from bonwise.printable import printable
from report.described.audits import audited, changed

AUDITED = audited()

ANY_TEXT = st.text(st.characters(), min_size=1, max_size=40)
"""Lone surrogates and control characters too."""


def gated(source, gates, **settings):
    """Audit, compare the audit with gates, and return its document."""
    found = audit(source, **settings)
    return found.check(gates)


def cases(document):
    """Render and parse back, and return the suites' root and its test cases."""
    root = ET.fromstring(junit(document).encode())  # noqa: S314 - of our own making
    return root, root.findall("./testsuite/testcase")


def test_each_gate_is_a_test_case_in_its_state():
    """A met gate has passed, one not met has failed, one not settled is an error, each with its sentence."""
    document = gated(cohort(60), {"global_r": 0.1, "within_r": 0.9, "recovery": 0.15})
    root, found = cases(document)
    outcomes = {case.get("name"): [part.tag for part in case if part.tag != "properties"] for case in found}
    assert outcomes == {
        "global_r > 0.1": ["system-out"],
        "within_r > 0.9": ["failure"],
        "recovery > 0.15": ["error"],
    }
    for case, gate in zip(found, document.gates, strict=True):
        said = case.find(outcomes[case.get("name")][0])
        assert said.text == gate.sentence
        assert said.get("message", gate.sentence) == gate.sentence
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")


def test_the_figures_stand_in_properties():
    """Estimate, bounds, prompts and the value of a gate are there as they are in the document."""
    document = gated(cohort(60), {"recovery": 0.15})
    (gate,), metric = document.gates, document["recovery"]
    _, (case,) = cases(document)
    told = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert told == {
        "value": "0.15",
        "estimate": str(metric.estimate),
        "one_sided_low": str(gate.low),
        "one_sided_high": str(gate.high),
        "n": "60",
        "method": "complete",
        "more_labels": str(gate.more_labels),
    }


def test_every_judge_has_its_own_test_cases():
    """With several judges a test case is told from the others by the judge, one that could not be audited too."""
    blank = cohort(60).assign(judge="blank", oracle_label=float("nan"), judge_score=float("nan"))
    document = gated(pd.concat([two_judges(60), blank]), {"recovery": 0.1, "within_r": 0.1})
    assert list(document.not_audited) == ["blank"]
    _, found = cases(document)
    assert [(case.get("classname"), case.get("name")) for case in found] == [
        (judge, f"{metric} > 0.1") for judge in ("first", "second", "blank") for metric in ("recovery", "within_r")
    ]
    assert [part.tag for part in found[-1]] == ["properties", "error"]
    for case in found[:-2]:
        metric = document.judges[case.get("classname")].metrics[case.get("name").split(" ")[0]]
        told = {one.get("name"): one.get("value") for one in case.iter("property")}
        assert (told["estimate"], told["n"], told["method"]) == (
            str(metric.estimate), str(metric.n), metric.method,
        )  # fmt: skip


@given(judge=ANY_TEXT, source=ANY_TEXT, sentence=ANY_TEXT)
def test_whatever_the_names_hold_it_is_xml(judge, source, sentence):
    """Control characters, surrogates, quotes and brackets in names and sentences leave XML 1.0 that says them."""
    gate = {"judge": judge, "metric": "recovery", "value": 0.2, "state": "not met", "low": None, "high": None}
    gate |= {"more_labels": None, "more_prompts": None, "sentence": sentence}
    document = changed(AUDITED, judge=judge, settings={"source": source}, gates=[gate])
    root, (case,) = cases(document)
    assert case.get("classname") == printable(judge)
    assert root.find("testsuite").get("name") == printable(source)
    assert case.find("failure").text == printable(sentence)


def test_a_reference_is_not_called_an_oracle():
    """Where a judge stands in for the oracle, the gate's name and sentence say so."""
    frame = two_judges(60).drop(columns="oracle_label")
    document = gated(frame, {"oracle_tie_rate": 0.99}, oracle="judge:second")
    assert "oracle" not in junit(document)
    assert "reference_tie_rate" in junit(document)


@pytest.mark.parametrize("value", [0.2, 1e-9, -3.0])
def test_names_of_gates_are_as_they_were_typed(value):
    """A gate is named by its metric and its value."""
    _, (case,) = cases(gated(table([([0, 1], [0, 1]), ([1, 0], [1, 0]), ([0, 1], [1, 0])]), {"recovery": value}))
    assert case.get("name") == f"recovery > {value:g}"
