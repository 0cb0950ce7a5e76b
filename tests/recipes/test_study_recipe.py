from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

from bonwise.testing import simulate
from recipes.applied import HERE, copy_of_package, edit, ran, section

STUDY = HERE / "study"

IN_PYTHON = """
import sys
import bonwise as bw
found = bw.study_shortlist("scores.csv", keep=3)
assert isinstance(found, bw.ShortlistStudy)
found.to_html("python.html")
bw.audit("scores.csv").to_html("audit.html", also=[found])
print(found)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the package that has the study of the recipe, in a folder with a file of scores."""
    folder = copy_of_package(tmp_path_factory.mktemp("study"))
    shutil.copytree(STUDY / "src", folder / "src", dirs_exist_ok=True)
    edit(folder, (STUDY / "edits.diff").read_text("utf-8"))
    simulate("arena", n=40, seed=3).frame().to_csv(folder / "scores.csv", index=False)
    return folder


def held_by_hand(keep):
    """Return the share of prompts whose best label is among the highest scores, in plain loops."""
    drawn = simulate("arena", n=40, seed=3)
    held = 0
    for scores, labels in zip(drawn.scores.tolist(), drawn.labels.tolist(), strict=True):
        listed = [o for s, o in zip(scores, labels, strict=True) if sum(other > s for other in scores) < keep]
        held += max(listed) == max(labels)
    return held / len(drawn.scores)


def test_the_guide_names_every_file():
    """The table of CONTRIBUTING.md names each file of the study, and each that is edited, and no other."""
    named = set(re.findall(r"^\| `(\S+)` \|", section("Add a study"), re.MULTILINE))
    whole = {str(path.relative_to(STUDY)) for top in ("src", "docs") for path in (STUDY / top).rglob("*.*")}
    edits = re.findall(r"^\+\+\+ (\S+)$", (STUDY / "edits.diff").read_text("utf-8"), re.MULTILINE)
    whole = {name for name in whole if "__pycache__" not in name}
    assert {name.replace("NAME", "shortlist") for name in named} == {*whole, "src/bonwise/__init__.py"}
    assert set(edits) == {"src/bonwise/__init__.py", "src/bonwise/cli/study/group.py"}
    assert "`cli/study/group.py`" in section("Add a study")


def test_the_command(copy):
    """The command prints the finding, and writes JSON and a page with the same figure."""
    text = ran(
        copy, "study", "shortlist", "scores.csv", "--keep", "2", "--json", "found.json", "--html", "found.html"
    )
    document = json.loads((copy / "found.json").read_text("utf-8"))
    held = document["judges"]["judge"]["held"]
    assert held["estimate"] == pytest.approx(held_by_hand(2))
    assert held["low"] < held["estimate"] < held["high"]
    assert (document["schema"], document["study"], document["settings"]["keep"]) == (
        "bonwise.study/1",
        "shortlist",
        2,
    )
    sentence = f"The 2 highest scores hold a best candidate in {held['estimate']:.0%} of the prompts."
    page = (copy / "found.html").read_text("utf-8")
    for shown in (text, page):
        assert sentence in shown
        assert f"[{held['low']:.3f}, {held['high']:.3f}]" in shown
    assert "Study of shortlist" in page


def test_the_help(copy):
    """The command is in the help of the studies, with its options in its own."""
    assert "shortlist" in ran(copy, "study", "--help")
    shown = ran(copy, "study", "shortlist", "--help")
    assert "Study how often the highest scores of a judge hold a best candidate." in shown
    assert "--keep" in shown


def test_the_page_of_the_docs_says_a_command_that_runs(copy):
    """The page that the recipe has in the docs names the command as it is."""
    shown = (STUDY / "docs" / "study_shortlist.md").read_text("utf-8")
    command = next(line for line in shown.splitlines() if line.startswith("bonwise "))
    assert "hold a best candidate" in ran(copy, *command.split()[1:])


def test_in_python(copy):
    """The public function gives a result that prints itself, has a page, and joins the page of an audit."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IN_PYTHON],
        capture_output=True,
        text=True,
        check=False,
        cwd=copy,
        env={"PYTHONPATH": str(copy / "src"), "MPLCONFIGDIR": str(copy / "mpl"), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    sentence = f"The 3 highest scores hold a best candidate in {held_by_hand(3):.0%} of the prompts."
    for shown in (done.stdout, *((copy / name).read_text("utf-8") for name in ("python.html", "audit.html"))):
        assert sentence in shown
