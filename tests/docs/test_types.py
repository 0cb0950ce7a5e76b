"""What the README and the how-to pages type passes mypy and pyright, strict, and what is mistyped does not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import bonwise as bw
from docs.pages import ROOT, blocks

STRICT = (
    "README.md",
    *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("howto_*.md")),
    "docs/tutorial.md",
)
"""Pages of which every line is checked: what is typed from top to bottom as one file, else each block alone."""

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NAMES = sorted({name for page in PAGES for name in re.findall(r"\bbw\.([A-Za-z_]\w*)", page.read_text("utf-8"))})
"""What the pages say stands in ``bw``, in code and in sentences."""

RIGHT = """
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bonwise as bw
from bonwise.selection import RankedCandidates
from bonwise.watching import Watch


@dataclass
class Doc:
    text: str


def judge(prompt: str, text: str) -> float:
    return float(len(text))


class Own:
    name = "own"
    version = "1"

    async def judge(self, prompt: str, candidates: Sequence[str]) -> list[bw.Score | bw.Unscored]:
        return [bw.Score(len(text)) for text in candidates]


docs = [Doc("a"), Doc("b")]
best: Doc = bw.select("q", docs, judge=judge).best
text: str = bw.select("q", ["a", "b"], judge=Own(), deadline=2).best
mapped: dict[str, str] = bw.select("q", [{"id": "a", "text": "b"}], judge=judge).best


async def wait() -> Doc:
    return (await bw.aselect("q", docs, judge=judge)).best


asyncio.run(wait())
strategies: Sequence[bw.Strategy] = [
    *(bw.Greedy(), bw.Adaptive(margin=0.1), bw.Resample(), bw.ValueOfInformation()),
    *(bw.Knockout(), bw.RoundRobin(), bw.TieBreak(judge)),
]
router = bw.Router(strong=judge)
with bw.Selector(bw.Pointwise("openai/m"), strategy=strategies[0], router=router, deadline=2.0) as selector:
    second: Doc = selector.select("q", docs).best
    ranked: RankedCandidates[Doc] = selector.rank("q", docs)
    third: Doc = ranked[0].candidate
judges: Sequence[bw.Judge] = [
    *(bw.Pointwise("openai/m"), bw.Pairwise("openai/m"), bw.Probability("openai/m"), bw.Interval("openai/m")),
    *(bw.Logprob("openai/m"), bw.Listwise("openai/m"), bw.FunctionJudge(judge), bw.Jury([judge, "local:length"])),
    *(bw.Quantized(judge), bw.Resampled(judge), bw.Stack("s.json")),
]
watched: Watch = bw.watch("picks")
bw.audit("scores.csv", label_col=["Anna", "Ben"], score_col="rating")


def kept(pick: bw.Selection, any_pick: bw.Selection[Any]) -> str | None:
    return pick.text or any_pick.text
"""

WRONG = """
import bonwise as bw


def judge(prompt: str, text: str) -> float:
    return float(len(text))


bw.select("q", ["a"], judge=judge, deadline="x")
bw.select("q", ["a"], judge=judge, dedline=2.0)
bw.select("q", ["a"], judge=judge, on_failure="ignore")
bw.Selector(judge, strategy="greedy")
bw.Selector(judge, max_concurrency="x")
bw.Pointwise("openai/m", temprature=1.0)
bw.Adaptive(margin="x")
bw.Router(strong=judge, share="x")
bw.judge([], judge=judge, max_calls="x")
bw.audit("scores.csv", confidence="x")
bw.audit("scores.csv", excludes=["a"])
bw.audit("scores.csv", label_col=1)
bw.plan(question="recovery>0", candidates="x")
bw.selekt("q", ["a"], judge=judge)
bw.Watch
number: int = bw.select("q", ["a"], judge=judge).best
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a folder of users' files: the pages, the names that pages use, and lines that are right and wrong."""
    folder = tmp_path_factory.mktemp("typed")
    for page in STRICT:
        whole = blocks(page, "python") if page == "README.md" else ["\n".join(blocks(page, "python"))]
        for at, text in enumerate(whole):
            (folder / f"page_{Path(page).stem}_{at}.py").write_text(text, encoding="utf-8")
    lines = "".join(f"print(bw.{name})\n" for name in NAMES)
    (folder / "names.py").write_text(f"import bonwise as bw\n\n{lines}", encoding="utf-8")
    (folder / "right.py").write_text(RIGHT, encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    # A line of its own that shows a value is what a page types, and no error of types.
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "reportUnusedExpression": false}')
    return folder


def by_mypy(folder):
    """Yield file, line and message of each error. The cache is that of the check of this package."""
    files = sorted(str(path) for path in folder.glob("*.py"))
    settings = ("--config-file", "pyproject.toml", "--output", "json")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    for line in done.stdout.splitlines():
        found = json.loads(line)
        if found["severity"] == "error":
            yield Path(found["file"]).name, found["line"], found["message"]


def by_pyright(folder):
    """Yield the same."""
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    for found in json.loads(done.stdout)["generalDiagnostics"]:
        if found["severity"] == "error":
            yield Path(found["file"]).name, found["range"]["start"]["line"] + 1, found["message"]


@pytest.mark.parametrize("checker", [by_mypy, by_pyright], ids=["mypy", "pyright"])
def test_users_code_is_typed(checker, project):
    """No line of a page, no name of any page and no right line is an error; each wrong line is."""
    module = checker.__name__.removeprefix("by_")
    if find_spec(module) is None:
        assert os.environ.get("BONWISE_REQUIRE_TYPES") != "1", f"{module} is not installed"
        pytest.skip(f"{module} is not installed")
    errors = list(checker(project))
    assert [error for error in errors if error[0] != "wrong.py"] == []
    lines = WRONG.splitlines()
    wanted = {number for number, line in enumerate(lines, start=1) if line.startswith(("bw.", "number"))}
    assert {line for _, line, _ in errors} == wanted


def test_the_pages_are_read():
    """The pages hold blocks to check and names to see, all of which are public."""
    assert all(blocks(page, "python") for page in STRICT)
    assert len(NAMES) > 40
    assert set(NAMES) <= set(bw.__all__)
