"""The examples in the docstrings of the adapters whose host is installed."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from bonwise.hosts import HOSTS
from docs.pages import ROOT, blocks

INSTALLED = [name for name, feature in HOSTS.items() if not feature.missing()]
PAGES = {"cross_encoder": "docs/hosts.md"} | {name: f"docs/hosts_{name}.md" for name in HOSTS}
"""An adapter without a page of its own is on the page of another."""
WRITTEN = [
    (name, block)
    for name in ["cross_encoder", *INSTALLED]
    if (ROOT / PAGES[name]).exists()
    for block in blocks(PAGES[name], "python")
]


@pytest.mark.parametrize("name", ["cross_encoder", "trl", *INSTALLED])
def test_the_examples_of_an_adapter_hold(name):
    """Every example gives what it says."""
    assert doctest.testmod(import_module(f"bonwise.hosts.{name}")).failed == 0


@pytest.mark.parametrize(("name", "block"), WRITTEN)
def test_every_block_of_its_page_runs(name, block, tmp_path, monkeypatch):
    """Each Python block of a host's page runs as it stands."""
    monkeypatch.chdir(tmp_path)
    exec(compile(block, PAGES[name], "exec"), {})  # noqa: S102 - its purpose


@pytest.mark.parametrize("page", sorted({page for page in PAGES.values() if (ROOT / page).exists()}))
def test_a_page_begins_with_a_few_lines_that_run(page):
    """The first block of Python is short, and only the line that installs and two sentences come before it."""
    text = (ROOT / page).read_text("utf-8")
    first, before = blocks(page, "python")[0], text[: text.index("```python")]
    assert sum(bool(line.strip()) for line in first.splitlines()) <= 15
    assert "assert" in first
    assert page == "docs/hosts.md" or len(before.splitlines()) <= 12
