"""Test runs of DeepEval: ``test_run_*.json`` and the results of ``evaluate``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bonwise.data.importers.gathered import GatheredScores
from bonwise.data.importers.material import Imported, Material, Record, mappings

__all__ = ["read_deepeval"]

_METRICS = ("metricsData", "metrics_data")
_GIVEN = re.compile(r"test_case_\d+")
"""Names that DeepEval gives to cases without one."""

_ANSWERS = ("actualOutput", "actual_output")


def read_deepeval(material: Material) -> Imported | None:
    """Read a test run of DeepEval: test cases with one input are the candidates of one prompt, each metric a judge.

    A test case is named by its ``name`` where names tell the cases of an input apart, otherwise by its place.
    """
    cases = _cases(material)
    if cases is None:
        return None
    gathered = GatheredScores(material)
    names = [(one.get("input"), one.get("name")) for one in cases]
    named = all(isinstance(name, str) and not _GIVEN.fullmatch(name) for _, name in names) and len(
        {map_key(pair) for pair in names}
    ) == len(names)
    for case in cases:
        asked, text = case.get("input"), next((case[key] for key in _ANSWERS if key in case), None)
        if asked is None:
            gathered.skipped += 1
            continue
        candidate = case["name"] if named else gathered.numbered(asked, "case")
        cell = gathered.cell(asked, candidate, prompt=asked, text=text)
        for metric in mappings(next((case[key] for key in _METRICS if key in case), None)):
            gathered.rate(cell, str(metric.get("name")), metric.get("score"))
    if not named:
        gathered.say("test cases of one input are numbered in the order of the file")
    return gathered.imported("DeepEval test run")


def map_key(pair: tuple[object, object]) -> str:
    """Return what tells pairs apart, whatever their parts are."""
    return repr(pair)


def _cases(material: Material) -> Sequence[Record] | None:
    document = material.document
    inner = document.get("testRunData", document) if isinstance(document, Mapping) else None
    if isinstance(inner, Mapping):
        found = mappings(inner.get("testCases") or inner.get("test_cases") or inner.get("test_results"))
    else:
        found = list(material.records) if material.columns & {*_METRICS} else []
    return found if any(key in one for one in found for key in _METRICS) else None
