"""The gates of an audit as JUnit XML, which build servers read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from bonwise.printable import printable
from bonwise.report.metric_table import named

__all__ = ["junit", "junit_error"]

_Document = Mapping[str, Any]

_OUTCOMES = {"not met": "failure", "inconclusive": "error"}
"""What a gate that is not met is to a build server."""

_LONGEST = 300
"""Characters of a name that are shown."""


def junit(document: _Document) -> str:
    """Render the gates of a document of schema ``bonwise.audit/1`` as JUnit XML, one test case a gate and judge.

    A gate that is met has passed, one that is not met has failed, and one that is not settled is an error.

    Examples
    --------
    >>> gate = {"judge": "j", "metric": "recovery", "value": 0.2, "state": "met", "low": 0.3, "high": 0.5}
    >>> gate |= {"sentence": "recovery > 0.2: met.", "more_labels": None, "more_prompts": None}
    >>> found = {"estimate": 0.4, "n": 99, "method": "complete"}
    >>> document = {"judge": "j", "settings": {"source": "a.csv"}, "metrics": {"recovery": found}, "gates": [gate]}
    >>> print(junit(document).splitlines()[1])
    <testsuites name="bonwise audit" tests="1" failures="0" errors="0">
    """
    gates, settings = document.get("gates", ()), document["settings"]
    root = ET.Element("testsuites", {"name": "bonwise audit", **_counts(gates)})
    suite = ET.SubElement(root, "testsuite", {"name": _text(settings["source"]), **_counts(gates)})
    for gate in gates:
        _add(suite, gate, _figures(document, gate), settings.get("reference"))
    return _written(root)


def junit_error(source: str, message: str, hint: str) -> str:
    """Render why no gate could be checked: one test case, which is an error.

    Examples
    --------
    >>> print(junit_error("a.csv", "no such file", "check the path").splitlines()[4].strip())
    <error message="no such file (check the path)" type="bad input">no such file (check the path)</error>
    """
    counts = {"tests": "1", "failures": "0", "errors": "1"}
    root = ET.Element("testsuites", {"name": "bonwise audit", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _text(source), **counts})
    case = ET.SubElement(suite, "testcase", {"classname": "bonwise", "name": "audit"})
    told = printable(f"{message} ({hint})" if hint else message, longest=2000)
    ET.SubElement(case, "error", {"message": told, "type": "bad input"}).text = told
    return _written(root)


def _written(root: ET.Element) -> str:
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(gates: Sequence[_Document]) -> dict[str, str]:
    states = [gate["state"] for gate in gates]
    return {
        "tests": str(len(states)),
        "failures": str(states.count("not met")),
        "errors": str(states.count("inconclusive")),
    }


def _figures(document: _Document, gate: _Document) -> dict[str, Any]:
    """Return what is known of a gate, nothing of the metric where its judge could not be audited."""
    judges = document["judges"] if "judges" in document else {document["judge"]: document}
    found = judges[gate["judge"]]["metrics"][gate["metric"]] if gate["judge"] in judges else {}
    return {
        "value": gate["value"],
        "estimate": found.get("estimate"),
        "one_sided_low": gate["low"],
        "one_sided_high": gate["high"],
        "n": found.get("n"),
        "method": found.get("method"),
        "more_labels": gate["more_labels"],
    }


def _add(suite: ET.Element, gate: _Document, figures: _Document, reference: str | None) -> None:
    name = f"{named(gate['metric'], reference)} > {gate['value']:g}"
    case = ET.SubElement(suite, "testcase", {"classname": _text(gate["judge"]), "name": name})
    properties = ET.SubElement(case, "properties")
    for key, value in figures.items():
        if value is not None:
            ET.SubElement(properties, "property", {"name": key, "value": _text(value)})
    sentence = printable(named(gate["sentence"], reference), longest=2000)
    outcome = _OUTCOMES.get(gate["state"])
    if outcome is None:
        ET.SubElement(case, "system-out").text = sentence
    else:
        ET.SubElement(case, outcome, {"message": sentence, "type": gate["state"]}).text = sentence


def _text(value: object) -> str:
    """Write out what XML cannot hold."""
    return printable(value, longest=_LONGEST)
