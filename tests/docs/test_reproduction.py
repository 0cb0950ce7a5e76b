"""The page that sets the papers' figures beside ours, reproduction.md, is what its commands print today."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES = {"best-of-n-judges": 29, "how-many-human-judgments": 6, "tensor-factorization": 3}
"""How many numbered tables each paper has."""
FIGURES = {"best-of-n-judges": 4, "how-many-human-judgments": 9, "tensor-factorization": 17}


@pytest.fixture
def reproduction(monkeypatch):
    """Return the module that writes the page."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("reproduction")


def sections(text):
    """Return the sections of the page by heading."""
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def drifted(reproduction, data, wanted):
    """Return the headings of the sections whose page is not what is printed."""
    on_page, cache = sections(reproduction.PAGE.read_text("utf-8")), {}
    with reproduction.workplace(data):
        made = {
            section.heading: sections(reproduction.markdown(section, reproduction.rows_of(section, cache)))
            for paper in reproduction.PAPERS
            for section in paper.sections
            if wanted(section)
        }
    return [name for name, part in made.items() if part[name].strip() != on_page[name].split("\n## ")[0].strip()]


def test_the_page_is_what_its_commands_print(reproduction, shared):
    """All sections but those of the factor model, which take a minute."""
    assert not drifted(reproduction, shared / "data", lambda section: not section.slow)


@pytest.mark.slow
def test_the_slow_sections_are_what_their_commands_print(reproduction, shared):
    """Those of the factor model."""
    assert not drifted(reproduction, shared / "data", lambda section: section.slow)


@pytest.mark.parametrize("paper", TABLES)
def test_every_table_and_figure_has_a_section(reproduction, paper):
    """Each number of the papers is named in a heading, and says why where there is no figure of ours."""
    headings = [section.heading for each in reproduction.PAPERS for section in each.sections]
    of_paper = " ".join(heading for heading in headings if f"({paper})" in heading)
    named = {(kind[0], int(number)) for kind, number in re.findall(r"(Table|Figure)s? (\d+)", of_paper)}
    for several in re.findall(r"Figures ([\d, and]+) \(", of_paper):
        named |= {("F", int(number)) for number in re.findall(r"\d+", several)}
    wanted = {("T", number + 1) for number in range(TABLES[paper])}
    wanted |= {("F", number + 1) for number in range(FIGURES[paper])}
    assert wanted <= named


def test_a_section_has_a_command_or_says_why(reproduction):
    """Nothing is left out in silence, and every paper says what does not hold."""
    for paper in reproduction.PAPERS:
        assert len(paper.not_held) >= 3
        for section in paper.sections:
            assert section.why
            assert section.commands or "not among the data at hand" in section.why, section.heading
            assert section.rows is None or section.commands


def test_a_drift_is_noticed(reproduction, shared, tmp_path, monkeypatch):
    """A figure that is another one than the page has fails."""
    page = tmp_path / "page.md"
    page.write_text(reproduction.PAGE.read_text("utf-8").replace("0.477 [", "0.478 ["), encoding="utf-8")
    monkeypatch.setattr(reproduction, "PAGE", page)
    wanted = {"Table 2 (best-of-n-judges)"}
    assert drifted(reproduction, shared / "data", lambda section: section.heading in wanted) == list(wanted)
