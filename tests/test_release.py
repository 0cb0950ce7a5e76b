"""A release: what it refuses before anything is built, and that what is built installs by the names of the docs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
GOOD = 'version = "1.2.0"\nRepository = "https://github.com/somebody/bonwise"\n'


def released(folder, *words, project=GOOD, changes="## [1.2.0] - 2027-01-01\n", tag=None, dirty=False):
    """Run the release in a repository of two files, where uv is something that fails; return how it went."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "release", folder / ".ci" / "release")
    (folder / "pyproject.toml").write_text(project, "utf-8")
    (folder / "CHANGELOG.md").write_text(changes, "utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"], *([["tag", tag]] if tag else [])):
        subprocess.run([*git, *command], check=True, capture_output=True)
    if dirty:
        (folder / "more.txt").write_text("more", "utf-8")
    command = ["bash", str(folder / ".ci" / "release"), *words]
    env = {"PATH": "/usr/bin:/bin", "UV": "false", "HOME": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


REFUSED = {
    "changes": ({"dirty": True}, "something is not committed"),
    "changelog": ({"changes": "## [Unreleased]\n"}, r"no heading ## \[1.2.0\]"),
    "tag": ({"tag": "v1.2.0"}, "the tag v1.2.0 is there already"),
    "owner": ({"project": GOOD.replace("somebody", "OWNER")}, "name OWNER"),
    "uv": ({}, "uv is missing: pip install uv"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_ready_is_refused_in_one_line(case, tmp_path):
    """Nothing is built, tagged or sent; exit code 2."""
    given, said = REFUSED[case]
    done = released(tmp_path, **given)
    assert done.returncode == 2
    assert re.fullmatch(rf"no release: .*{said}.*\n", done.stderr)


def test_another_word_is_bad_usage(tmp_path):
    """The flags are named."""
    done = released(tmp_path, "--force")
    assert (done.returncode, done.stderr) == (2, "usage: .ci/release [--index URL] [--dry-run]\n")


def test_the_version_is_stated_in_one_place():
    """No module states it; what is printed is read from the metadata."""
    stating = re.compile(rf"^\s*(__)?version(__)?\s*=\s*[\"']{re.escape(PROJECT['version'])}", re.MULTILINE)
    assert [path for path in (ROOT / "src").rglob("*.py") if stating.search(path.read_text("utf-8"))] == []


def test_the_package_says_where_it_comes_from():
    """An index shows the addresses, all of one repository."""
    assert {"Repository", "Changelog", "Issues"} <= PROJECT["urls"].keys()
    assert len({url.split("/bonwise")[0] for url in PROJECT["urls"].values()}) == 1


def test_no_picture_of_the_readme_is_fetched():
    """A badge says nothing without a network."""
    assert not re.search(r"!\[[^]]*\]\(https?:|<img[^>]+src=.https?:", (ROOT / "README.md").read_text("utf-8"))


FIRST_LINES = ("docs/index.md", "docs/tutorial.md", "docs/howto_audit.md", "docs/howto_rerank.md", "docs/install.md")


@pytest.mark.parametrize("page", FIRST_LINES)
def test_the_first_line_to_type_is_that_of_a_checkout(page):
    """Until the package is on an index, a name alone would install nothing, or something else."""
    text = (ROOT / page).read_text("utf-8")
    first = next(line for line in text.splitlines() if line.startswith("pip install"))
    assert re.match(r"pip install ('\.\[audit\]'|\.)(\s|$)", first)
    assert "Until bonwise is on a package index" in text


@pytest.mark.slow
def test_what_is_built_installs_by_the_names_of_the_docs(tmp_path):
    """Wheel and source distribution, by name from a folder, and the audit extra; needs uv and a package index."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))

    def do(*words):
        return subprocess.run(words, check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    do(uv, "build", "-q", "--out-dir", "dist", str(ROOT))
    python = str(tmp_path / "env" / "bin" / "python")
    for name, form in (("bonwise", ["--no-binary", "bonwise"]), ("bonwise[audit]", [])):
        do(uv, "venv", "-q", "--clear", "--python", sys.executable, "env")
        do(
            uv,
            "pip",
            "install",
            "-q",
            "--python",
            python,
            "--find-links",
            "dist",
            "--reinstall-package",
            "bonwise",
            *form,
            name,
        )
        assert do("env/bin/bonwise", "--version") == f"bonwise {PROJECT['version']}\n"
        assert "bonwise" in do(uv, "pip", "freeze", "--python", python)
    assert "sharp" in do("env/bin/bonwise", "demo")
    assert "scikit" not in do(uv, "pip", "freeze", "--python", python)
