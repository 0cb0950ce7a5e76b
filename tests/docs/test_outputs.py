"""Pages that are typed from top to bottom print what they say they print."""

from __future__ import annotations

import re

import pytest

from bonwise.cli.entry import run
from docs.pages import blocks, commands
from docs.typed_pages import ASKS_A_MODEL, PAGES, ROOT, retyped, screen

ASKING = [
    (page, block) for page in PAGES for block in blocks(f"docs/{page}.md", "python") if ASKS_A_MODEL.search(block)
]
TYPED = [
    (page, words) for page in PAGES for words in commands(f"docs/{page}.md") if ASKS_A_MODEL.search(" ".join(words))
]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_says(page, tmp_path, monkeypatch):
    """Every block runs in order in one folder, and each block of text is what was printed before it."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    with screen():
        made = retyped(text)
    assert made == text, "if the new output is right: python tests/docs/make_outputs.py"
    assert re.search(r"```text\n[^`]", text)


@pytest.mark.parametrize(("page", "block"), ASKING, ids=lambda part: part if part in PAGES else "")
def test_a_block_that_asks_a_model_runs(page, block, folder, capsys):
    """A block that asks a model runs by itself, with a service on this machine."""
    exec(compile(block, page, "exec"), {})  # noqa: S102 - its purpose
    assert "print" not in block or capsys.readouterr().out


@pytest.mark.parametrize(("page", "words"), TYPED, ids=lambda part: part if isinstance(part, str) else " ".join(part))
def test_a_command_that_asks_a_model_runs(page, words, folder, capsys):
    """So does a command."""
    assert run(words[1:]) == 0, capsys.readouterr().err


def test_a_stale_output_is_noticed(tmp_path, monkeypatch):
    """A page whose text is not what its block prints is not the page that is made."""
    monkeypatch.chdir(tmp_path)
    page = "```python\nprint(1 + 1)\n```\n\nSo:\n\n```text\n{}\n```\n"
    assert retyped(page.format("3")) == page.format("2")


def test_a_page_that_types_something_else_fails(tmp_path, monkeypatch):
    """What the runner of pages does not know is not passed over."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="no test types this: curl"):
        retyped("```sh\ncurl example.org\n```\n")
