"""The Dockerfile is not built here: what it names must be there, and what it runs must be a command of bonwise."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from docs.pages import ROOT

TEXT = (ROOT / "Dockerfile").read_text("utf-8") if (ROOT / "Dockerfile").exists() else ""
COPIED = [name for line in re.findall(r"^COPY (?!--from)(.+)$", TEXT, re.MULTILINE) for name in line.split()[:-1]]


def test_what_is_copied_is_there_and_is_not_ignored():
    """Every source of a COPY exists, and .dockerignore lets it pass."""
    let_pass = {one[1:] for one in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if one.startswith("!")}
    assert COPIED
    for name in COPIED:
        assert (ROOT / name).exists()
        assert name in let_pass


def test_what_is_copied_is_enough_for_the_wheel(tmp_path):
    """The build of the first stage, without its container: the wheel holds the package and its prompts."""
    pytest.importorskip("hatchling", reason="builds the package")
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "wheels"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"bonwise/serving/server.py", "bonwise/judges/prompts/pointwise.md"} <= set(names)


def test_what_it_runs_is_a_command(tmp_path):
    """Entry point and arguments, with a file of settings of its own and --check, are taken by the command line."""
    entry = json.loads(re.search(r"^ENTRYPOINT (.+)$", TEXT, re.MULTILINE)[1])
    given = json.loads(re.search(r"^CMD (\[.+)$", TEXT, re.MULTILINE)[1])
    path = tmp_path / "serve.toml"
    model = '[models.fast]\nupstream = "openai/m"\nbase_url = "http://127.0.0.1:9/v1"\njudge = "local:length"\n'
    path.write_text(model + '[keys]\nalice = "a-key"\n', encoding="utf-8")
    given[given.index("--config") + 1] = str(path)
    given[given.index("--run") + 1] = str(tmp_path / "run")
    code = "from bonwise.cli.entry import main; main()"
    command = [sys.executable, "-c", code, *entry[1:], *given, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert entry[0] == "bonwise"
    assert done.returncode == 0, done.stderr
