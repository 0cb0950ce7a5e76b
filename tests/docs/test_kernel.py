"""The tutorial in a notebook: its blocks are cells of a real kernel, and results show as a notebook shows them."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT
from docs.typed_pages import screen

if absent := [name for name in ("ipykernel", "nbclient") if importlib.util.find_spec(name) is None]:
    needs = f"a kernel needs: pip install 'bonwise[docs]' ({' and '.join(absent)} absent)"
    if os.environ.get("BONWISE_REQUIRE_SITE") == "1":
        raise RuntimeError(needs)
    pytest.skip(needs, allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("default")  # those of Jupyter are its own affair

BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RESULTS = {
    "made": "import logging\nimport bonwise as bw\naudit = bw.audit('ratings.csv', exclude=['refusal'])",
    "print": "print(audit)",
    "str": "print(str(audit) == f'{audit}' == audit.to_text())",
    "log": "logging.warning('%s', audit)",
    "shown": "audit",
    "repr": "print(repr(audit))",
    "pick": "pick = bw.select('Name one.', ['red', 'a long one'], judge=lambda p, t: -len(t))\nprint(pick)",
    "pick shown": "pick",
}
"""Cells that a reader may type after the tutorial, in the same folder."""


def cells_of(text):
    """Yield each block that is typed as a cell, with the text that it prints; what installs is not."""
    typed = [found.groups() for found in BLOCK.finditer(text) if not found[2].startswith("pip install")]
    for (language, block), (following, said) in zip(typed, [*typed[1:], ("", "")], strict=True):
        if language != "text":
            source = f"%%bash --no-raise-error\nexec 2>&1\n{block}" if language == "sh" else block
            yield source, said if following == "text" else None


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run the tutorial and `RESULTS` in a kernel; return the tutorial's cells with their texts, and the others."""
    import nbclient  # noqa: PLC0415 - skipped where absent
    import nbformat  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("kernel")
    tutorial = list(cells_of((ROOT / "docs" / "tutorial.md").read_text("utf-8")))
    sources = [*(source for source, _ in tutorial), *RESULTS.values()]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with pytest.MonkeyPatch.context() as patch, screen():
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(folder / "jupyter"))
        client = nbclient.NotebookClient(
            book, timeout=300, allow_errors=True, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    texts = [said for _, said in tutorial]
    shown = [cell.outputs for cell in book.cells]
    return list(zip(sources, shown, texts, strict=False)), dict(zip(RESULTS, shown[len(tutorial) :], strict=True))


def streamed(outputs, name="stdout"):
    """Return what was written to a stream."""
    return "".join(one.text for one in outputs if one.output_type == "stream" and one.name == name)


def test_the_tutorial_prints_what_it_says(run):
    """Every cell ends without an error, and what it shows is the text of the page, on standard output alone."""
    tutorial, _ = run
    assert sum(said is not None for *_, said in tutorial) >= 8
    for source, outputs, said in tutorial:
        assert {one.output_type for one in outputs} <= {"stream"}, (source, outputs)
        assert streamed(outputs, "stderr") == "", source
        lines = [line.rstrip() for line in streamed(outputs).splitlines()]
        assert lines == ([] if said is None else said.splitlines()) or (said is None and source.startswith("%%")), (
            source
        )


@pytest.mark.parametrize("what", ["made", "print", "str", "log", "repr", "pick"])
def test_what_is_printed_is_text(what, run):
    """`print`, `str`, f-strings and logging give text, no display, and never an error."""
    outputs = run[1][what]
    assert {one.output_type for one in outputs} <= {"stream"}, outputs
    assert streamed(outputs, "stderr").startswith("WARNING:root:Verdict: weak" if what == "log" else "")
    begins = {"print": "Verdict: weak\n", "str": "True\n", "repr": "<Audit", "pick": "red\n"}
    assert streamed(outputs).startswith(begins.get(what, ""))
    assert bool(streamed(outputs)) == (what in begins)
    assert "<div" not in streamed(outputs)


@pytest.mark.parametrize(
    ("what", "holds", "begins"), [("shown", "<svg", "<Audit"), ("pick shown", "red", "Selection(")]
)
def test_a_result_at_the_end_of_a_cell_is_shown_as_a_page(what, holds, begins, run):
    """Its HTML is in the data of the display, beside its repr as text; nothing else is shown."""
    (shown,) = run[1][what]
    assert shown.output_type == "execute_result"
    assert set(shown.data) == {"text/html", "text/plain"}
    assert holds in shown.data["text/html"]
    assert shown.data["text/plain"].startswith(begins)
    assert shown.data["text/plain"].count("\n") == 0
