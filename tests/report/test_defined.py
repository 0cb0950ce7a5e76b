"""Metrics are defined in words, and their names on a page lead to their definitions."""

from __future__ import annotations

import re
from html import unescape

import pytest

import bonwise as bw
from bonwise.report.blocks import Column, Part, Row, Table
from bonwise.report.page.defined import DEFINITIONS, with_definitions
from bonwise.report.page.rendered import whole_page
from bonwise.stats.catalog import ALL_METRICS
from browser.samples import spoken, two_spoken
from docs.pages import ROOT

# Names of metrics on a page lead to their definitions.


TERM = re.compile(r'<a class="term" href="#([\w-]+)">(.*?)</a>')
ENTRY = re.compile(r'<dt id="([\w-]+)">(.*?)</dt>\s*<dd>(.*?)</dd>', re.DOTALL)
MORE = re.compile(r'<a href="([^"]+)" rel="noreferrer">')


def _page(*tables):
    return whole_page(Part("Page", list(tables)))


def _words(markup):
    return unescape(re.sub(r"<[^>]+>", "", markup))


@pytest.fixture
def nowhere(monkeypatch):
    """Let nobody say where the documentation is."""
    monkeypatch.setenv("BONWISE_DOCS", "")


def _page_of(audit, folder):
    path = folder / "audit.html"
    audit.to_html(path)
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def audit():
    """Audit a table once, in which a score is missing, with the best two."""
    frame = spoken(24)
    return bw.audit(frame.assign(judge_score=frame["judge_score"].where(frame.index != 5)), top=2)


@pytest.mark.usefixtures("nowhere")
def test_every_name_of_an_audit_leads_to_its_definition(audit, tmp_path):
    """Each link ends at the definition of the metric that it names."""
    page = _page_of(audit, tmp_path)
    entries = {anchor: (_words(name), _words(text)) for anchor, name, text in ENTRY.findall(page)}
    led = [(entries[anchor][0], _words(shown)) for anchor, shown in TERM.findall(page)]
    assert len(led) > len(DEFINITIONS)
    assert all(shown.removesuffix(" *") == name for name, shown in led)
    assert dict(entries.values()) == {name: one.text for name, one in DEFINITIONS.items()}
    assert not MORE.findall(page)


@pytest.mark.usefixtures("nowhere")
def test_a_definition_names_its_page_where_the_documentation_is_known(audit, monkeypatch, tmp_path):
    """The address is escaped, and asks for nothing until a reader follows it."""
    monkeypatch.setenv("BONWISE_DOCS", 'https://docs.example/"><b>')
    page = _page_of(audit, tmp_path)
    assert "<b>" not in "".join(re.findall(r'<a href="https://docs.*?rel', page))
    found = {unescape(address) for address in MORE.findall(page)}
    assert found == {f'https://docs.example/"><b>/{one.page}.html#definition' for one in DEFINITIONS.values()}


@pytest.mark.usefixtures("nowhere")
def test_a_reference_is_not_called_an_oracle(tmp_path):
    """Where another judge is the reference, definitions say so too."""
    page = _page_of(bw.audit(two_spoken(24).drop(columns="oracle_label"), oracle="judge:strict"), tmp_path)
    entries = {_words(name): _words(text) for _, name, text in ENTRY.findall(page)}
    assert "value_reference" in entries
    assert "value_oracle" not in entries
    assert not re.search("oracle|label", " ".join([*entries, *entries.values()]))


@pytest.mark.usefixtures("nowhere")
def test_columns_are_names_of_metrics_only_where_they_say_so():
    """A judge that is called like a metric is no metric."""
    rows = [Row(("recovery", "recovery"))]
    columns = (Column("judge", "name"), Column("words", "words"))
    assert 'class="term"' not in _page(Table(columns, rows))
    named = (Column("metric", "metric"), Column("words", "words"))
    assert [_words(shown) for _, shown in TERM.findall(_page(Table(named, rows)))] == ["recovery"]
    titled = (Column("judge", "name"), Column("recovery"))
    assert [_words(shown) for _, shown in TERM.findall(_page(Table(titled, rows)))] == ["recovery"]


@pytest.mark.usefixtures("nowhere")
def test_a_star_is_no_part_of_the_name_and_what_is_unknown_is_left_as_it_is():
    """A starred name leads on; a name of a later version leads nowhere."""
    table = Table((Column("metric", "metric"),), [Row(("gain *",)), Row(("novelty",)), Row(("<i>",))])
    page = _page(table)
    assert [_words(shown) for _, shown in TERM.findall(page)] == ["gain *"]
    assert [name for _, name, _ in ENTRY.findall(page)] == ["gain"]
    assert "<i>" not in page.partition("<main")[2]


@pytest.mark.usefixtures("nowhere")
def test_a_page_without_metrics_gets_no_definitions():
    """Nothing is added to a page that names no metric."""
    described = Part("Page", [Table.of([Column("judge", "name")], [("recovery",)])])
    assert with_definitions(described) is described


@pytest.mark.usefixtures("nowhere")
def test_limits_stay_the_last_words(audit, tmp_path):
    """Definitions stand before what the page does not establish."""
    page = _page_of(audit, tmp_path)
    assert page.index('id="metrics-defined"') < page.index('id="not-established"') < page.index("<footer")


@pytest.mark.usefixtures("nowhere")
def test_a_notebook_has_neither(audit):
    """A cell has no room for definitions, so it has no links."""
    assert 'class="term"' not in audit._repr_html_()


# Every metric is defined in words, and the page of the documentation that is named defines it too.


ROW = re.compile(r"^\| `(\w+)` \|[^|]*\| \[\w+\]\((.+?)\.md\) \|", re.MULTILINE)


def test_every_metric_is_defined_and_nothing_else():
    """No metric lacks a definition, and no definition lacks a metric."""
    assert set(DEFINITIONS) == {metric.name for metric in ALL_METRICS}


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
