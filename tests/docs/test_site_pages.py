"""The menu of the site holds every page, and every link between pages and files of the repository leads somewhere."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from fnmatch import fnmatch

import pytest

from docs.pages import ROOT

DOCS = ROOT / "docs"
CONFIG = (ROOT / "mkdocs.yml").read_text("utf-8")
IN_MENU = re.findall(r"^ +- [^:]+: (\S+\.md)$", CONFIG, re.MULTILINE)
PATTERNS = re.findall(r"^ +- (\S+\*\.md)$", CONFIG, re.MULTILINE)
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
LINKED = [
    *sorted(DOCS.rglob("*.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_in_the_menu(page):
    """A page that is not in ``nav`` of mkdocs.yml is found by nobody: it has one line there, or a pattern has it."""
    assert IN_MENU.count(page) == 1 or any(fnmatch(page, pattern) for pattern in PATTERNS)


def test_the_menu_names_nothing_twice():
    """Each entry is there once, and is a page of docs/ or of the repository."""
    assert [name for name, times in Counter(IN_MENU).items() if times > 1] == []
    assert set(IN_MENU) - set(PAGES) == {"contributing.md", "changelog.md", "benchmarks.md"}


def anchors(text):
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.+)$", outside, re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", head.strip().lower())) for head in heads}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    """Every relative link of a page leads to a file and, where it names one, to a heading that is there."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)(?:#([^)\s]+))?\)", text):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text("utf-8")), f"{target}#{anchor}"


def test_the_readme_is_short():
    """It fits a few screens: at most 150 lines of at most 118 characters."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 118


def test_the_site_asks_nothing_of_others():
    """No font is fetched; the search needs no script from elsewhere."""
    assert "font: false" in CONFIG
    assert not re.search(r"https?://", CONFIG)


def test_the_extra_brings_the_site():
    """`bonwise[docs]` names each plug-in of the site."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {re.split(r"[>\[]", one)[0] for one in extras["docs"]} >= {"mkdocs", "mkdocs-material", "mkdocstrings"}
