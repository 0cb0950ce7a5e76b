"""With some modules of the audit extra and not with others: what needs none of the missing ones works."""

from __future__ import annotations

import pytest

from tiers.commands_by_tier import fill
from tiers.running import LINE, in_child, installed

AUDIT = ("audit", "scores.csv", "--labels", "labels.csv")
STUDY = ("study", "calibration", "scores.csv", "--labels", "labels.csv", "--folds", "2")
TEXTS = ("--pools", "pools.jsonl")

CASES = {
    "jinja2": (AUDIT, (*AUDIT, "--html", "page.html"), "--html page.html"),
    "matplotlib": (AUDIT, (*AUDIT, "--html", "page.html"), "--html page.html"),
    "threadpoolctl": (AUDIT, (*AUDIT, "--interval", "bootstrap"), "the bootstrap"),
    "sklearn": (STUDY, (*STUDY, *TEXTS), "calibrating with covariates"),
}


@pytest.mark.parametrize("module", CASES)
def test_only_what_needs_the_missing_module_is_refused(module, tmp_path):
    """The message names the one module that is missing; the same command without that part works."""
    if not installed():
        pytest.skip("needs the audit extra, of which one module is then forbidden")
    fill(tmp_path)
    works, refused, asked = CASES[module]
    first, second = in_child(tmp_path, works, refused, absent=[module], forbidden=True)
    assert first.code == 0, first.err
    assert second.code == 2
    assert second.err == f"bonwise: {asked} needs bonwise[audit]: {module} is not installed ({LINE})\n"
    assert second.written == {}
