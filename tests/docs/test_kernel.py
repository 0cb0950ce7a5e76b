"""The tutorial in a kernel of Jupyter: its cells print what the page says, and results are text where text is asked for."""

from __future__ import annotations

import re

import pytest

from docs.typed_pages import ROOT

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed: pip install -e '.[dev]'")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install -e '.[dev]'")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install -e '.[dev]'")

PAGE = "docs/tutorial.md"
_FENCE = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

SETUP = f"""
import logging, sys
sys.path[:0] = [{str(ROOT / "src")!r}, {str(ROOT / "tests")!r}]
import bonwise as bw
from docs.typed_pages import typed
"""
SHELL = "for line in typed({!r}):\n    print(line, end='')"
AUDIT = 'audit = bw.audit("ratings.csv", control=["refusal"])'

AS_TEXT = {
    "print": "print(audit)",
    "str": "print(str(audit))",
    "f-string": "print(f'{audit}')",
    "to_text": "print(audit.to_text())",
    "logging": "logging.warning('%s', audit)",
    "plan": "print(bw.plan(question='recovery>0', candidates=4, within_r=0.3))",
    "pick": "print(str(bw.select('Name a colour', ['red', 'green'], judge=lambda _, text: -len(text))))",
}
"""What people write to see a result as text."""


def pages_cells():
    """Yield the cells of the page, each with what the page says that it prints; None where it says nothing."""
    found = [(fence[1], fence[2]) for fence in _FENCE.finditer((ROOT / PAGE).read_text("utf-8"))]
    for (language, block), (kind, printed) in zip(found, [*found[1:], ("", "")], strict=True):
        if language != "text":
            yield block if language == "python" else SHELL.format(block), printed if kind == "text" else None


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Run all cells in one kernel, and return what each of them put out, by its source."""
    sources = [SETUP, *(source for source, _ in pages_cells()), AUDIT, *AS_TEXT.values(), "audit"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    where = {"metadata": {"path": str(tmp_path_factory.mktemp("kernel"))}}
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3", resources=where).execute()
    return {cell.source: cell.outputs for cell in book.cells}


def printed(cell_outputs):
    """Return what a cell printed; anything else that it shows is a fault."""
    assert {one.output_type for one in cell_outputs} <= {"stream"}
    text = "".join(one.text for one in cell_outputs)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


@pytest.mark.parametrize(("source", "said"), [cell for cell in pages_cells() if cell[1]], ids=lambda part: part[:40])
def test_a_cell_of_the_tutorial_prints_what_the_page_says(source, said, outputs):
    """No block of a display stands beside it."""
    assert printed(outputs[source]) == said


@pytest.mark.parametrize("source", AS_TEXT.values(), ids=AS_TEXT)
def test_a_result_is_text_where_text_is_asked_for(source, outputs):
    """All of it is in the stream of the cell, and nothing is displayed."""
    text = printed(outputs[source])
    assert len(text.splitlines()) >= 3
    if "audit" in source:
        assert "Verdict: weak" in text
        assert text.split("Verdict", 1)[1] == printed(outputs[AS_TEXT["print"]]).split("Verdict", 1)[1]


def test_a_result_at_the_end_of_a_cell_is_shown_once(outputs):
    """It is shown as HTML with its verdict; who cannot show that has its short form."""
    [shown] = outputs["audit"]
    assert shown.output_type == "execute_result"
    assert "Verdict: <span" in shown.data["text/html"]
    assert shown.data["text/plain"].startswith("Audit(")
