from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

from bonwise.report.numbers import Ends, interval
from bonwise.testing import simulate
from docs.studies import check_study_page
from recipes.applied import HERE, ROOT, copy_of_package, ran, section

STUDY = HERE / "study"

IN_PYTHON = """
import json
import sys
import bonwise as bw
from bonwise.loading import json_schema
found = bw.study_shortlist("scores.csv", keep=3)
found.to_html("python.html")
open("notebook.html", "w").write(found._repr_html_())
open("python.md", "w").write(found.to_markdown())
bw.audit("scores.csv").to_html("audit.html")
bw.audit("scores.csv").to_html("given.html", also=[found])
loaded = bw.load("found.json")
assert type(loaded) is type(found)
assert loaded.to_json() == open("found.json").read()
assert loaded.to_frame()["judge"].tolist() == ["judge"]
open("schema.json", "w").write(json.dumps(json_schema("study")))
print(found)
"""

LOADED = """
import sys
from bonwise.cli.app import app_for
import bonwise
{what}
print(sorted(name for name in sys.modules if name.startswith("bonwise.studies") or name in ("pandas", "scipy")))
"""


def files():
    """Return the files of the study by their place in a checkout."""
    found = (path for top in ("src", "docs") for path in (STUDY / top).rglob("*.*"))
    return {str(path.relative_to(STUDY)) for path in found if "__pycache__" not in str(path)}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the package that has the study of the recipe, in a folder with a file of scores."""
    folder = copy_of_package(tmp_path_factory.mktemp("study"))
    for name in files():
        assert not (folder / name).exists()
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(STUDY / name, folder / name)
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


def python(copy, text):
    """Run Python in the copy and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        capture_output=True,
        text=True,
        check=False,
        cwd=copy,
        env={"PYTHONPATH": str(copy / "src"), "MPLCONFIGDIR": str(copy / "mpl"), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_study_is_the_six_files_that_the_guide_names():
    """The table of CONTRIBUTING.md names each file of the study, and no other."""
    named = set(re.findall(r"^\| `(\S+)` \|", section("Add a study"), re.MULTILINE))
    assert {name.replace("NAME", "shortlist") for name in named} == files()
    assert len(files()) == 6


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
        assert interval(Ends(held["estimate"], held["low"], held["high"]), "share") in shown
    assert "Shortlists of 2 on scores.csv" in page


def test_the_help(copy):
    """The command is in the help of the studies, behind those with a place, with its options in its own."""
    listed = ran(copy, "study", "--help")
    assert listed.index("mix ") < listed.index("shortlist ")
    shown = ran(copy, "study", "shortlist", "--help-all")
    assert "Study how often the highest scores of a judge hold a best candidate." in shown
    for flag in ("--keep", "--labels", "--score-col", "--confidence", "--json", "--html"):
        assert flag in shown
    assert "--seed" not in shown  # its function takes none


def test_the_page_of_the_docs_says_a_command_that_runs(copy):
    """The docs are checked for the study as for the others, and its page names the command as it is."""
    command = check_study_page(copy / "docs", "shortlist")
    assert "hold a best candidate" in ran(copy, *command.split()[1:])
    with pytest.raises(AssertionError, match="has no page"):
        check_study_page(ROOT / "docs", "shortlist")


def test_in_python(copy):
    """The function gives a result that prints itself, with page, notebook, Markdown, and a place beside an audit."""
    ran(copy, "study", "shortlist", "scores.csv", "--json", "found.json")
    said = python(copy, IN_PYTHON)
    sentences = {
        keep: f"The {keep} highest scores hold a best candidate in {held_by_hand(keep):.0%} of the prompts."
        for keep in (2, 3)
    }
    shown = {name: (copy / name).read_text("utf-8") for name in ("python.html", "notebook.html", "given.html")}
    for text in (said, (copy / "python.md").read_text("utf-8"), *shown.values()):
        assert sentences[3] in text
    audit = (copy / "audit.html").read_text("utf-8")
    assert sentences[2] in audit
    assert "<bdi>Shortlists</bdi>" in audit
    assert sentences[2] not in shown["given.html"]  # the one that is given is in the place of the page's own


def test_the_schema(copy):
    """The JSON Schema of studies holds the new one, and admits what the command wrote."""
    ran(copy, "study", "shortlist", "scores.csv", "--json", "found.json")
    python(copy, IN_PYTHON)
    schema = json.loads((copy / "schema.json").read_text("utf-8"))
    assert "shortlist" in schema["properties"]["study"]["enum"]
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema)
    document = json.loads((copy / "found.json").read_text("utf-8"))
    assert list(validator.iter_errors(document)) == []
    document["settings"]["keep"] = 0
    assert list(validator.iter_errors(document))


@pytest.mark.parametrize(
    ("what", "loaded"),
    [
        ("app_for(['--help'])", False),
        ("app_for(['study', '--help'])", False),
        ("app_for(['study', 'shortlist', '--help'])", True),
    ],
)
def test_a_study_is_imported_when_it_is_asked_for(copy, what, loaded):
    """The help of bonwise, and that of the studies, import no study; that of one imports it alone, and no engine."""
    found = python(copy, LOADED.format(what=what))
    assert ("bonwise.studies.shortlist.front" in found) is loaded
    assert "bonwise.studies.shortlist.engine" not in found
    assert "pandas" not in found
    assert "bonwise.studies.mix.front" not in found
    assert "bonwise.studies.requirements.front" not in found
