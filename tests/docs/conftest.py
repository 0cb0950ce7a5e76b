"""What the pages' commands name: pools, scores, verdicts, a run folder, and a service of models."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from cli.served import served
from docs.pages import blocks
from docs.stock import stock
from pictures import png


def _credentials(**_):
    """Stand in for what a machine of Google's would be asked for."""
    found = pytest.importorskip("google.oauth2.credentials").Credentials("none")
    found.refresh = lambda _request: None
    return found, None


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Serve models on this machine, at the addresses that the environment names, those of clouds too."""
    with pytest.MonkeyPatch.context() as patch, served(patch, tmp_path_factory.mktemp("service")) as script:
        url = os.environ["ANTHROPIC_BASE_URL"]
        for name, value in {
            "AZURE_OPENAI_ENDPOINT": url,
            "AZURE_OPENAI_API_KEY": "none",
            "ANTHROPIC_BEDROCK_BASE_URL": url,
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "ANTHROPIC_VERTEX_BASE_URL": f"{url}/v1",
        }.items():
            patch.setenv(name, value)
        patch.setattr("google.auth.default", _credentials)
        yield script


@pytest.fixture(scope="session")
def stocked(tmp_path_factory):
    """Return a folder that holds the files that the pages' commands name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("stocked"))
        write_pools()
        write_pictures()
        write_verdicts()
        stock()
        Path("my.md").write_text(blocks("docs/prompts.md", "markdown")[0], encoding="utf-8")
        Path("pools.csv").write_text(blocks("docs/prompts.md", "csv")[0], encoding="utf-8")
        exec(blocks("docs/preferences.md", "python")[0], {})  # noqa: S102 - the script of the page makes its files
        return Path.cwd()


@pytest.fixture
def folder(stocked, tmp_path, monkeypatch, service):
    """Work in a copy of the files that the pages' commands name."""
    monkeypatch.chdir(shutil.copytree(stocked, tmp_path, dirs_exist_ok=True))
    return tmp_path


def write_pools():
    """Write pools of short answers."""
    pools = [
        {
            "prompt_id": f"p{x}",  # a prompt of the scores too
            "prompt": "Name a colour",
            "candidates": ["red", "the colour green", "blue " * x, "sea green"],
        }
        for x in range(20)
    ]
    Path("pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    solved = [f"{at} and {at} is \\boxed{{{2 * at}}}" for at in (1, 1, 2)]
    solutions = [{"prompt_id": f"s{at}", "prompt": "1 + 1?", "candidates": solved} for at in range(3)]
    Path("solutions.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in solutions), encoding="utf-8")


def write_pictures():
    """Write two small images in a folder of their own."""
    folder = Path("pictures", "drawn")
    folder.mkdir(parents=True)
    for color, name in enumerate(("a.png", "b.png")):
        folder.joinpath(name).write_bytes(png(color=color))


def write_verdicts():
    """Write preferences in both orders, with the true ones."""
    rows = [f"{i},m,{'ab'[i % 2]},{1 + i % 2},{1 + i % 3 % 2},{1 + i % 5 % 2}\n" for i in range(40)]
    Path("verdicts.csv").write_text("item,llm,dataset,order1,order2,gold\n" + "".join(rows), encoding="utf-8")
