from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from bonwise.errors import FileError
from bonwise.judges import prompt_loading as folder
from bonwise.judges.prompt_loading import builtin_names, prompts_folder

ROOT = Path(__file__).parents[2]
SOURCES = {path.name: path.read_bytes() for path in (ROOT / "prompts").iterdir()}
PACKAGED = "bonwise/judges/prompts/"

# Without the environment's own packages: what is found is what was installed, and prompts need nothing else.
LOOK = """
import json, site, sys
{enter}
from bonwise.judges.prompt_loading import builtin_names, prompts_folder
from bonwise.judges.prompt_loading import load
print(json.dumps([str(prompts_folder()), [load(name).identity for name in builtin_names()]]))
"""

needs_builder = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed beside the tests"
)


def looked(enter):
    """Return the prompts folder and the identities that a fresh, bare interpreter finds."""
    code = LOOK.format(enter=enter)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    place, identities = json.loads(done.stdout)
    return Path(place), identities


def built(target, out, source=ROOT):
    """Build a distribution without a network and return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(out.iterdir())


def installed(wheel, out):
    """Install a wheel, and nothing else, into a folder."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--target",
        str(out),
    ]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, env=environment)
    return out


def packaged_files(wheel):
    """Return the prompt files of a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(PACKAGED)]
        return {name.removeprefix(PACKAGED): archive.read(name) for name in names}


@pytest.fixture(scope="module")
def identities():
    """Return the identities of the prompts in this checkout."""
    return looked(f"sys.path.insert(0, {str(ROOT / 'src')!r})")[1]


def test_a_checkout_finds_its_prompts(identities):
    """A run from the checkout finds the prompts folder of the checkout."""
    place, found = looked(f"sys.path.insert(0, {str(ROOT / 'src')!r})")
    assert place == ROOT / "prompts"
    assert found == identities
    assert len(found) == len(SOURCES)


def test_only_prompt_files_lie_in_the_folder():
    """The folder that is shipped holds prompt files and nothing else."""
    assert {name.removesuffix(".md") for name in SOURCES} == set(builtin_names())
    assert all(name.endswith(".md") for name in SOURCES)


@needs_builder
def test_a_wheel_holds_every_prompt(tmp_path):
    """A wheel holds each prompt file byte by byte, once."""
    assert packaged_files(built("wheel", tmp_path)) == SOURCES


@needs_builder
def test_a_wheel_made_from_the_source_archive_holds_them_too(tmp_path):
    """The source archive holds the prompts where a wheel made from it looks for them."""
    with tarfile.open(built("sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "open", filter="data")
    (source,) = (tmp_path / "open").iterdir()
    assert packaged_files(built("wheel", tmp_path / "wheel", source)) == SOURCES


@needs_builder
def test_an_ordinary_install_finds_its_prompts(tmp_path, identities):
    """An installed wheel finds its own copy of the prompts, the same as in the checkout."""
    site = installed(built("wheel", tmp_path / "wheel"), tmp_path / "site")
    place, found = looked(f"site.addsitedir({str(site)!r})")
    assert place == site / "bonwise" / "judges" / "prompts"
    assert found == identities


@needs_builder
@pytest.mark.skipif(importlib.util.find_spec("editables") is None, reason="editables is not installed")
def test_an_editable_install_finds_its_prompts(tmp_path, identities):
    """An editable install, into which no prompt is copied, finds those of the checkout."""
    site = installed(built("wheel:editable", tmp_path / "wheel"), tmp_path / "site")
    place, found = looked(f"site.addsitedir({str(site)!r})")
    assert place == ROOT / "prompts"
    assert found == identities


def pretended(tmp_path, monkeypatch, *parts):
    """Let the resolver believe that it is in another place."""
    module = tmp_path.joinpath(*parts, "bonwise", "judges", "prompt_loading.py")
    module.parent.mkdir(parents=True)
    shutil.copy(folder.__file__, module)
    monkeypatch.setattr(folder, "__file__", str(module))
    return module.parent


def test_the_packaged_folder_comes_first(tmp_path, monkeypatch):
    """Where both exist the packaged folder is taken: an installation never reads what lies around it."""
    place = pretended(tmp_path, monkeypatch, "src")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    assert prompts_folder() == tmp_path / "prompts"
    (place / "prompts").mkdir()
    assert prompts_folder() == place / "prompts"


def test_a_folder_that_is_only_called_prompts_is_not_read(tmp_path, monkeypatch):
    """An installation without its prompts says so, whatever lies three folders up."""
    pretended(tmp_path, monkeypatch, "site-packages")
    (tmp_path / "prompts").mkdir()
    with pytest.raises(FileError, match="lacks its prompt files") as refused:
        prompts_folder()
    assert refused.value.hint == "install bonwise again"
