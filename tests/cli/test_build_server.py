"""In a build: several files, summaries, the GitHub Action's script and the pre-commit hook."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from auditing.tables import cohort
from bonwise.auditing.front import audit
from bonwise.cli.build_server import write_junit, write_markdown
from bonwise.errors import FileError, UsageError
from bonwise.testing import simulate
from cli.commands import typed
from docs.pages import ROOT

# An audit of several files: each by itself, the gravest exit code, one report for a build server.


GATE = ("--fail-under", "value_judge=0.4")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write three tables and return their names: gates are met in the first, not in the second, open in the third."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    good = simulate("arena", n=80, seed=1).frame()
    bad = good.assign(oracle_label=good["oracle_label"] / 4)
    few = good[good["prompt_id"].isin(good["prompt_id"].unique()[:6])]
    for name, frame in {"good.csv": good, "bad.csv": bad, "few.csv": few}.items():
        frame.to_csv(name, index=False)
    return ["good.csv", "bad.csv", "few.csv"]


@pytest.mark.parametrize(
    ("some", "code"),
    [
        (["good.csv"], 0),
        (["bad.csv"], 1),
        (["few.csv"], 3),
        (["good.csv", "few.csv"], 3),
        (["few.csv", "bad.csv", "good.csv"], 1),
        (["bad.csv", "absent.csv", "few.csv"], 2),
    ],
)
def test_the_gravest_exit_code(capsys, files, some, code):
    """Bad input, then a gate that is not met, then one that is open."""
    done = typed(capsys, "audit", *some, *GATE)
    assert done.code == code
    for name in some:
        assert f"Audit of {name}" in done.out or (name == "absent.csv" and "absent.csv: no such file" in done.err)


def test_what_is_printed_is_that_of_each(capsys, files):
    """One after the other, as each alone prints it."""
    alone = [typed(capsys, "audit", name, *GATE).out for name in files]
    assert typed(capsys, "audit", *files, *GATE).out == "".join(alone)


def test_reports_hold_every_file(capsys, files, tmp_path):
    """One JUnit file with a suite for each, and one summary; what could not be read stands there too."""
    reports = ("--junit", "gates.xml", "--markdown", "summary.md")
    assert typed(capsys, "audit", *files, "absent.csv", *GATE, *reports).code == 2
    root = ET.parse(tmp_path / "gates.xml").getroot()  # noqa: S314 - written by this test
    assert [suite.get("name") for suite in root] == [*files, "absent.csv"]
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
    }
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert [summary.count(f"## Audit of {name}") for name in files] == [1, 1, 1]
    assert "absent.csv" in summary
    assert typed(capsys, "audit", *files, *GATE, *reports).code == 1  # its own reports are replaced


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--json", "out.json"), "--json holds what is found in one file, and 3 are given"),
        (("--html", "out.html"), "--html holds what is found in one file"),
        (("--per-prompt", "rows.csv"), "--per-prompt holds what is found in one file"),
        (("--markdown", "-"), "write the report to a file"),
        (("--junit", "good.csv"), "good.csv is read or written already"),
        (("--junit", "absent/gates.xml"), "absent"),
        (("good.csv",), "good.csv is given twice"),
        (("--confidence", "2"), "confidence"),
    ],
)
def test_what_cannot_be_is_refused_before_anything(capsys, files, more, said):
    """One sentence, exit 2, nothing printed or written."""
    done = typed(capsys, "audit", *files, *GATE, *more)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_report_of_somebody_else_is_kept(capsys, files, tmp_path):
    """As with one file."""
    (tmp_path / "gates.xml").write_text("mine", "utf-8")
    assert typed(capsys, "audit", *files, *GATE, "--junit", "gates.xml").code == 2
    assert (tmp_path / "gates.xml").read_text("utf-8") == "mine"


@pytest.fixture(scope="module")
def document():
    """Return an audit's document with a gate."""
    found = audit(cohort(30))
    return found.check({"recovery": 0.1})


@pytest.fixture
def no_build(monkeypatch):
    """Run as if no build server had started the tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.mark.usefixtures("no_build")
def test_the_summary_is_written_and_added_to_the_build(document, tmp_path, monkeypatch):
    """The file holds the summary; the build's file keeps what earlier steps wrote and gains the summary."""
    steps = tmp_path / "steps.md"
    steps.write_text("An earlier step, without a line end", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(steps))
    write_markdown(document, tmp_path / "audit.md")
    text = document.to_markdown()
    assert (tmp_path / "audit.md").read_text("utf-8") == text
    assert steps.read_text("utf-8") == f"An earlier step, without a line end\n\n{text}"


@pytest.mark.usefixtures("no_build")
def test_one_file_gets_the_summary_once(document, tmp_path, monkeypatch):
    """A target that is the build's own file is written, not also added to."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "audit.md"))
    write_markdown(document, tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text("utf-8") == document.to_markdown()


@pytest.mark.usefixtures("no_build")
def test_a_dash_is_standard_output(document, capsys):
    """Both go to standard output for a dash."""
    write_markdown(document, "-")
    assert capsys.readouterr().out == document.to_markdown()
    write_junit(document, "-")
    assert ET.fromstring(capsys.readouterr().out.encode()).tag == "testsuites"  # noqa: S314 - of our own making


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize("write", [write_markdown, write_junit])
def test_a_file_that_cannot_be_written_is_one_error(document, tmp_path, write):
    """An absent folder is named in one line."""
    with pytest.raises(FileError, match=r"absent: no such folder"):
        write(document, tmp_path / "absent" / "out")


@pytest.mark.usefixtures("no_build")
def test_a_build_file_that_cannot_be_written_is_named(document, tmp_path, monkeypatch, capsys):
    """The summary is written all the same; one line names the file and the variable that names it."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    write_markdown(document, tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text("utf-8") == document.to_markdown()
    said = capsys.readouterr().err
    assert "is a folder, not a file (GITHUB_STEP_SUMMARY names this file)" in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("no_build")
def test_junit_needs_gates(tmp_path):
    """Without a gate nothing is written, and the flag that states one is named."""
    with pytest.raises(UsageError, match="--fail-under"):
        write_junit(audit(cohort(30)), tmp_path / "gates.xml")
    assert not (tmp_path / "gates.xml").exists()


@pytest.mark.usefixtures("no_build")
def test_gates_are_written(document, tmp_path):
    """The file is XML with a test case a gate."""
    write_junit(document, tmp_path / "gates.xml")
    root = ET.parse(tmp_path / "gates.xml").getroot()  # noqa: S314 - of our own making
    assert [case.get("name") for case in root.iter("testcase")] == ["recovery > 0.1"]


# The steps of the GitHub Action as its runner runs them, from a copy of this checkout in a folder with a hard name.


COPIED = ("action", "action.yml", "prompts", "src", "pyproject.toml", "README.md", "LICENSE")
BUILDS = ("hatchling", "packaging", "pathspec", "pluggy", "trove_classifiers", "editables")
HARD = 'it\'s a "checkout" $(touch ran) `touch ran` ünï'
TRAPS = ("venv", "pip", "ensurepip", "bonwise", "numpy", "sitecustomize")


def steps_of(text):
    """Return the steps of an action that run a script: their environment and the script."""
    found = []
    for step in re.split(r"^    - ", text.partition("  steps:\n")[2], flags=re.MULTILINE)[1:]:
        script = re.search(r"^      run: (.*)$", step, re.MULTILINE)
        if script is not None:
            assert "      shell: bash\n" in step
            found.append(
                (dict(re.findall(r"^        (\w+): \$\{\{ inputs\.(\w+) \}\}$", step, re.MULTILINE)), script[1])
            )
    return found


@dataclass
class Runner:
    """Runs steps as GitHub's runner does: bash reads a file, and an input is a variable of the environment."""

    action: Path
    temporary: Path
    workspace: Path

    def run(self, step, inputs, **more):
        """Run one step."""
        variables, script = step
        (self.temporary / "step.sh").write_text(script, "utf-8")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GITHUB_"))},
            **{name: inputs[given] for name, given in variables.items()},
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(self.action),
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_OUTPUT": str(self.temporary / "output"),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "step.md"),
            **more,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(self.temporary / "step.sh")]
        return subprocess.run(
            command, cwd=self.workspace, env=environment, capture_output=True, text=True, check=False
        )

    def audit(self, files, gates="value_judge=0.4", arguments="", reports="reports"):
        """Run the second step; return what came of it, the output, the summary and the folder of the reports."""
        output, summary = self.temporary / "output", self.temporary / "step.md"
        for path in (output, summary):
            path.unlink(missing_ok=True)
        given = {"files": files, "gates": gates, "arguments": arguments, "reports": reports}
        done = self.run(self.steps[1], given)
        assert not list(self.workspace.rglob("ran"))
        lines = done.stdout.splitlines()
        if lines:  # no line between the first and the last is a command
            token = lines[0].removeprefix("::stop-commands::")
            assert re.fullmatch("[0-9a-f]{32}", token)
            assert lines[-1] == f"::{token}::"
            assert done.stdout.count(token) == 2
        said = summary.read_text("utf-8") if summary.exists() else ""
        return done, output.read_text("utf-8"), said, self.workspace / reports

    @property
    def steps(self):
        """The steps of the action that is there."""
        return steps_of((self.action / "action.yml").read_text("utf-8"))


def runner_in(folder):
    """Return a runner with a copy of the checkout, whose workspace holds modules that nobody may import."""
    action, temporary, workspace = folder / HARD, folder / "run ner", folder / "work space"
    for each in (action, temporary, workspace):
        each.mkdir()
    for name in COPIED:
        path = ROOT / name
        skipped = shutil.ignore_patterns("__pycache__")
        (shutil.copytree if path.is_dir() else shutil.copy2)(
            path, action / name, **({"ignore": skipped} if path.is_dir() else {})
        )
    for name in TRAPS:
        (workspace / f"{name}.py").write_text("open('ran', 'w').close()\n", "utf-8")
    return Runner(action, temporary, workspace)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Run the first step without any index; what the package needs is taken from the interpreter of the tests."""
    runner = runner_in(tmp_path_factory.mktemp("a runner"))
    builds, packages = runner.temporary / "builds", Path(pytest.__file__).parent.parent
    builds.mkdir()
    for name in BUILDS:
        (builds / name).symlink_to(packages / name)
    without = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": str(builds)}
    python = Path(sys.executable).parent
    done = runner.run(runner.steps[0], {}, PATH=f"{python}{os.pathsep}{os.environ['PATH']}", **without)
    assert done.returncode == 0, done.stderr
    (folder,) = (runner.temporary / "bonwise" / "lib").glob("python*/site-packages")
    (folder / "tests.pth").write_text(f"{packages}\n", "utf-8")
    return runner


@pytest.fixture
def audited(installed):
    """Return a function that runs the second step on tables whose names hold what a shell might trip over."""
    for path in installed.workspace.iterdir():
        if path.stem not in TRAPS:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    folder = installed.workspace
    (folder / "evals" / "deep").mkdir(parents=True)
    good = simulate("arena", n=60, seed=1).frame()
    good.to_csv(folder / "evals_deep_bad; $(touch ran).csv", index=False)
    good.assign(oracle_label=good["oracle_label"] / 4).to_csv(
        folder / "evals" / "deep" / "bad; $(touch ran).csv", index=False
    )
    good.to_csv(folder / "-n.csv", index=False)
    return installed.audit


def test_the_action_installs_itself(installed):
    """From its own folder, whatever its name, and nothing of the audited checkout is imported."""
    (record,) = (installed.temporary / "bonwise" / "lib").glob("python*/site-packages/bonwise-*/direct_url.json")
    assert json.loads(record.read_text("utf-8"))["url"] == installed.action.as_uri()
    assert "$GITHUB_ACTION_PATH[audit]" in installed.steps[0][1]
    assert not list(installed.workspace.rglob("ran"))


@pytest.mark.slow
def test_the_action_installs_what_an_audit_needs(tmp_path):
    """Without help, by the index that pip knows here."""
    runner = runner_in(tmp_path)
    done = runner.run(runner.steps[0], {}, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    simulate("arena", n=60, seed=1).frame().to_csv(runner.workspace / "a.csv", index=False)
    done, output, summary, reports = runner.audit("a.csv")
    assert (done.returncode, output) == (0, "outcome=met\n"), done.stderr
    assert "## Audit of" in summary
    assert (reports / "a.csv.html").exists()


def test_files_gates_and_reports(audited):
    """Patterns, blanks and signs of a shell in names; a page for each, one summary, one JUnit file."""
    done, output, summary, reports = audited(
        "  evals/**/*.csv\n\nevals_*.csv\n-n.csv\n", "value_judge=0.4\nrecovery=-9", "--confidence=0.9"
    )
    assert done.returncode == 1, done.stderr
    assert output == "outcome=not met\n"
    names = {path.name for path in reports.iterdir()}
    assert names == {
        "summary.md",
        "gates.xml",
        "evals_deep_bad; $(touch ran).csv.html",
        "evals_deep_bad; $(touch ran).csv.2.html",
        "-n.csv.html",
    }
    assert ET.parse(reports / "gates.xml").getroot().get("tests") == "6"  # noqa: S314 - written by this run
    assert summary.count("## Audit of") == 3
    page = (reports / "-n.csv.html").read_text("utf-8")
    assert "value_judge" in page


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("given", "code", "outcome"),
    [
        pytest.param(
            {"files": "-n.csv\n./-n.csv\n-*.csv", "reports": "-r 'e' \"p\" $(touch ran)\nline"}, 0, "met", marks=SLOW
        ),
        ({"files": "$(touch ran)\n`touch ran`\n'; touch ran; '\n\"; touch ran; \"\n--help"}, 2, "bad input"),
        ({"files": "-n.csv", "gates": "value_judge=0.4\n`touch ran`=1"}, 2, "bad input"),
        pytest.param({"files": "-n.csv"}, 0, "met", marks=SLOW),
        pytest.param({"files": "{workspace}/-n.csv"}, 0, "met", marks=SLOW),
        pytest.param({"files": "-n.csv", "arguments": "--exclude\nit's $(touch ran)"}, 2, "bad input", marks=SLOW),
        pytest.param({"files": "-n.csv", "gates": "--help"}, 2, "bad input", marks=SLOW),
        pytest.param({"files": "absent.csv"}, 2, "bad input", marks=SLOW),
        pytest.param({"files": "-n.csv\n&& touch ran\n| touch ran\n> ran"}, 2, "bad input", marks=SLOW),
        pytest.param({"files": "evals/*.csv\nabsent/*.csv"}, 2, "bad input", marks=SLOW),
        pytest.param({"files": ""}, 2, "bad input", marks=SLOW),
        pytest.param({"files": "-n.csv", "reports": "-n.csv"}, 2, "bad input", marks=SLOW),
    ],
)
def test_an_input_is_text(audited, installed, given, code, outcome):
    """The exit code is that of the command, an output says it in words, and nothing in an input is run."""
    given = {name: text.replace("{workspace}", str(installed.workspace)) for name, text in given.items()}
    done, output, _, reports = audited(**given)
    assert done.returncode == code, done.stderr
    assert output == f"outcome={outcome}\n"
    if code == 0:
        assert len(list(reports.glob("*.html"))) == 1


PAGES = ["a/b.csv", "a_b.csv", 'A_"b.csv', "A_\nb.csv", "c:d.csv", "a_b.csv.2.csv", f"{'é' * 100}.csv", "x/a_b.csv"]


@pytest.mark.slow
def test_every_file_has_a_page(audited, installed):
    """One that no other file overwrites, with a name that an artifact takes."""
    table = (installed.workspace / "-n.csv").read_text("utf-8")
    shutil.rmtree(installed.workspace / "evals")
    for at, name in enumerate(PAGES):
        path = installed.workspace / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(re.sub(r"(?m)^(?!prompt_id|\Z)", f"file{at}-", table), "utf-8")
    done, output, summary, reports = audited("t/**/*.csv")
    assert (done.returncode, output) == (0, "outcome=met\n"), done.stderr
    pages = {path.name: path.read_text("utf-8") for path in reports.glob("*.html")}
    assert summary.count("## Audit of") == len(PAGES)
    assert len({name.casefold() for name in pages}) == len(PAGES)
    assert not [name for name in pages if re.search(r'["<>|*?:\\\r\n]', name) or len(name.encode()) > 255]
    for at in range(len(PAGES)):
        assert len([text for text in pages.values() if f"file{at}-" in text]) == 1


def test_an_input_is_never_part_of_a_script():
    """Inputs reach the shell by its environment: one that is pasted into a script could be run."""
    text = (ROOT / "action.yml").read_text("utf-8")
    scripts = [script for _, script in steps_of(text)]
    assert len(scripts) == text.count("run: ") == 2
    assert not [one for one in scripts if "${{" in one]
    inputs = set(re.findall(r"^  (\w+):$", text.partition("outputs:")[0], re.MULTILINE))
    assert inputs == set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text))


def test_every_action_is_pinned_by_its_commit():
    """In the action and in the workflow that the page shows; the reader fills in the commit of this action alone."""
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    used = re.findall(r"uses: (\S+)@(\S+)(.*)", page + (ROOT / "action.yml").read_text("utf-8"))
    assert {name for name, _, _ in used} == {f"actions/{one}" for one in ("checkout", "cache", "upload-artifact")} | {
        "OWNER/bonwise"
    }
    for name, commit, version in used:
        own = name == "OWNER/bonwise"
        assert re.fullmatch("COMMIT" if own else "[0-9a-f]{40}", commit), name
        assert own or re.fullmatch(r"  # v\d+\.\d+\.\d+", version), name


# The pre-commit hook.


def hooked(*names, args=None):
    """Return the command that pre-commit makes of the hook: its entry, its arguments, the changed files."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    entry = re.search(r"^  entry: (.*)$", hook, re.MULTILINE)[1]
    usual = json.loads(re.search(r"^  args: (.*)$", hook, re.MULTILINE)[1])
    return [*shlex.split(entry)[1:], *(usual if args is None else args), *names]


def test_the_hook_brings_what_an_audit_needs():
    """pre-commit installs the package without extras, so the hook names what the extra would bring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    assert re.findall(r'"([^"]+>=[^"]+)"', hook) == project["optional-dependencies"]["audit"]
    assert "entry: bonwise audit\n" in hook


@pytest.mark.parametrize(
    "args", [None, re.search(r"args: \[(.*)\]", (ROOT / "docs" / "ci.md").read_text("utf-8"))[1].split(", ")]
)
@pytest.mark.parametrize(
    "name", ["--html=x.csv", "--json=good.csv", "-n.csv", "--fail-under=gain=9.csv", "--help.csv"]
)
def test_the_name_of_a_changed_file_is_no_option(capsys, files, tmp_path, name, args):
    """By the hook's own arguments and by those that the page on builds shows."""
    (tmp_path / "good.csv").rename(tmp_path / name)
    done = typed(capsys, *hooked(name, args=args))
    assert done.code == (3 if args else 0), done.err  # the gate is open
    assert f"Audit of {name}" in done.out
    assert {path.name for path in tmp_path.iterdir()} == {name, "bad.csv", "few.csv"}
