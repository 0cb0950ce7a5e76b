"""The gates of an audit as JUnit XML, which build servers read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from bonwise.auditing import result, result_verdict
from bonwise.estimates import EstimateRecord
from bonwise.printable import printable
from bonwise.report.numbers import named, setting

_OUTCOMES: Mapping[result_verdict.GateState, str] = {"not met": "failure", "inconclusive": "error"}
"""What a gate that is not met is to a build server."""

_LONGEST = 300
"""Characters of a name that are shown."""


def junit(document: result.Audit) -> str:
    """Render the gates of an audit as JUnit XML, a test case a gate and judge; one not settled is an error."""
    gates, settings = document.gates, document.settings
    root = ET.Element("testsuites", {"name": "bonwise audit", **_counts(gates)})
    suite = ET.SubElement(root, "testsuite", {"name": _text(settings.source), **_counts(gates)})
    answer = document.answer
    if answer is not None:
        sentence = printable(f"{answer.word}: {answer.says}", longest=2000)
        ET.SubElement(ET.SubElement(suite, "properties"), "property", {"name": "verdict", "value": _text(sentence)})
    for gate in gates:
        judge = document.judges.get(gate.judge)
        found = None if judge is None else judge.metrics.get(gate.metric)
        _add(suite, gate, _figures(gate, found), settings.reference)
    return _written(root)


def junit_error(source: str, message: str, hint: str) -> str:
    """Render why no gate could be checked: one test case, which is an error."""
    counts = {"tests": "1", "failures": "0", "errors": "1"}
    root = ET.Element("testsuites", {"name": "bonwise audit", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _text(source), **counts})
    case = ET.SubElement(suite, "testcase", {"classname": "bonwise", "name": "audit"})
    told = printable(f"{message} ({hint})" if hint else message, longest=2000)
    ET.SubElement(case, "error", {"message": told, "type": "bad input"}).text = told
    return _written(root)


def merged(reports: Sequence[str]) -> str:
    """Put one or more reports, as `junit` and `junit_error` render them, into one, a suite for each."""
    parsed = [ET.fromstring(report) for report in reports]  # noqa: S314 - rendered here
    counts = {name: str(sum(int(one.get(name, "0")) for one in parsed)) for name in ("tests", "failures", "errors")}
    root = ET.Element("testsuites", {"name": "bonwise audit", **counts})
    root.extend(suite for one in parsed for suite in one)
    return _written(root)


def _written(root: ET.Element) -> str:
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(gates: Sequence[result_verdict.Gate]) -> dict[str, str]:
    states = [gate.state for gate in gates]
    return {
        "tests": str(len(states)),
        "failures": str(states.count("not met")),
        "errors": str(states.count("inconclusive")),
    }


def _figures(gate: result_verdict.Gate, found: EstimateRecord | None) -> dict[str, float | str | None]:
    """Return what is known of a gate, nothing of the metric where its judge could not be audited."""
    return {
        "value": gate.value,
        "estimate": None if found is None else found.estimate,
        "one_sided_low": gate.low,
        "one_sided_high": gate.high,
        "n": None if found is None else found.n,
        "method": None if found is None else found.method,
        "more_labels": gate.more_labels,
    }


def _add(
    suite: ET.Element, gate: result_verdict.Gate, figures: Mapping[str, float | str | None], reference: str | None
) -> None:
    name = f"{named(gate.metric, reference)} > {setting(gate.value)}"
    case = ET.SubElement(suite, "testcase", {"classname": _text(gate.judge), "name": name})
    properties = ET.SubElement(case, "properties")
    for key, value in figures.items():
        if value is not None:
            ET.SubElement(properties, "property", {"name": key, "value": _text(value)})
    sentence = printable(named(gate.sentence, reference), longest=2000)
    outcome = _OUTCOMES.get(gate.state)
    if outcome is None:
        ET.SubElement(case, "system-out").text = sentence
    else:
        ET.SubElement(case, outcome, {"message": sentence, "type": gate.state}).text = sentence


def _text(value: str | float) -> str:
    """Write out what XML cannot hold."""
    return printable(value, longest=_LONGEST)
