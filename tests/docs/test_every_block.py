"""Every block of a page that a reader may type is run by a test, or it says here why not."""

from __future__ import annotations

import re

import pytest

from docs import test_guides, typed_pages
from docs.pages import ROOT, blocks, commands
from hosts.test_doctests import PAGES as HOST_PAGES

ELSEWHERE = {
    "README.md": "tests/docs/test_readme.py",
    "docs/hosts_recipes.md": "tests/hosts/test_recipes.py",
    "docs/testing.md": "tests/testing/test_transport.py",
    "docs/tracing.md": "tests/test_tracing.py",
}
"""Pages whose Python blocks have a test of their own."""
OF_HOSTS = set(HOST_PAGES.values())
"""Their Python blocks run where the framework is installed, in an environment for each: benchmarks/hosts.py."""
IN_ORDER = {f"docs/{page}.md" for page in typed_pages.PAGES}
RUN = {*test_guides.GUIDES, *IN_ORDER, *ELSEWHERE, *OF_HOSTS}
NOT_TYPED = {
    "pip install": "needs a package index; the environments of .ci/run install what the lines name",
    "python3 -m venv": "the same",
    "python -m bonwise.testing.server": "runs until it is stopped; tests/testing starts it",
    "docker": "no engine where the tests run; tests/serving checks what the image is made from",
    "inspect ": "needs the framework; tests/hosts/test_inspect_ai.py types it",
    "bonwise mcp": "runs until it is stopped; tests/hosts starts it",
    "bonwise demo": "on the front page; tests/demo, and docs/howto_audit.md types it",
}
"""Beginnings of lines of a shell that the tests of pages do not type, and why."""
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_every_python_block_is_run(page):
    """A page with Python blocks is in one of the lists."""
    assert page in RUN, f"{page}: add it to GUIDES, or to the PAGES of tests/docs/typed_pages.py"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")])
def test_every_line_of_a_shell_is_typed(page):
    """A page with lines of a shell is in a list, or each of its lines says above why no test types it."""
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    left = [line for line in lines if line.strip() and not line.startswith((*NOT_TYPED, "#"))]
    if page in IN_ORDER:
        return  # its runner refuses a line that it does not know
    assert page in RUN or not left, f"{page}: {left[0]}"
    assert [line for line in left if not line.startswith("bonwise ")] == []
    assert len([words for words in commands(page) if words]) >= len(left)


def test_what_is_elsewhere_is_there():
    """Each test that is named reads the page that it is named for."""
    for page, test in ELSEWHERE.items():
        assert page.rpartition("/")[2] in (ROOT / test).read_text("utf-8")


def test_no_reason_is_given_in_vain():
    """Each beginning of a line stands on a page."""
    text = "\n".join(block for page in PAGES for block in blocks(page, "sh"))
    assert [start for start in NOT_TYPED if not re.search(rf"^{re.escape(start)}", text, re.MULTILINE)] == []
