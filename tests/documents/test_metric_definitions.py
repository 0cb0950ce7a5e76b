"""Every metric is defined in words, and the page of the documentation that is named defines it too."""

from __future__ import annotations

import re

import pytest

from bonwise.report.page.defined import DEFINITIONS
from bonwise.stats.catalog import METRICS
from docs.pages import ROOT

ROW = re.compile(r"^\| `(\w+)` \|[^|]*\| \[\w+\]\((.+?)\.md\) \|", re.MULTILINE)


def test_every_metric_is_defined_and_nothing_else():
    """No metric lacks a definition, and no definition lacks a metric."""
    assert set(DEFINITIONS) == {metric.name for metric in METRICS}


def test_the_page_is_the_one_that_the_overview_of_metrics_names():
    """Pages and the documentation lead to the same place."""
    overview = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    assert dict(ROW.findall(overview)) == {name: one.page for name, one in DEFINITIONS.items()}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_page_holds_a_definition_of_the_metric(name):
    """The link of a page ends at a heading that is there."""
    page = (ROOT / "docs" / f"{DEFINITIONS[name].page}.md").read_text("utf-8")
    definition = page.partition("## Definition\n")[2].partition("\n## ")[0]
    assert name in definition


@pytest.mark.parametrize("name", DEFINITIONS)
def test_sentences_are_short_and_whole(name):
    """A definition can be read at once."""
    for sentence in re.split(r"(?<=\.) ", DEFINITIONS[name].text):
        assert sentence.endswith(".")
        assert len(sentence.split()) <= 40
