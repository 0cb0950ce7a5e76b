"""What pages show of commands, and what they say of files that people have, is what comes out today."""

from __future__ import annotations

import re

import pytest

from bonwise.cli.entry import run
from bonwise.doctoring.front import doctor
from docs import make_judges
from docs.make_files import PAGE, REAL_FILES, REFUSALS, counted, page, refusal
from docs.pages import blocks, commands
from docs.typed_pages import ASKS_A_MODEL, PAGES, ROOT, retyped, screen

# Pages that are typed from top to bottom print what they say they print.


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


# The table of files as tools wrote them: each is read as counted by hand, and the page says so.


ROLES = ("prompt_id", "candidate", "judge_score", "oracle_label")


@pytest.mark.parametrize("file", REAL_FILES, ids=lambda file: file.name)
def test_a_real_file_is_read_as_counted_by_hand(file):
    """Rows, prompts, candidates, judges, labels and columns are those of the file, with at most one flag."""
    if file.says:
        document = doctor(file.path)
        assert file.says in (document.next_command or document.not_audited)
        return
    assert counted(file) == file.read
    if file.columns is not None:
        found = doctor(file.path)
        assert tuple(found.columns[role] for role in ROLES) == file.columns


def test_there_are_enough_files():
    """Forty files of eighteen tools, at most eight of them plain CSV; all but four are read with at most one flag."""
    assert len(REAL_FILES) >= 40
    assert len({file.tool for file in REAL_FILES}) >= 18
    shaped = ("promptfoo", "Label Studio")
    assert sum(file.name.endswith(".csv") and not file.tool.startswith(shaped) for file in REAL_FILES) <= 8
    read = sum(file.read is not None or file.votes is not None for file in REAL_FILES)
    assert read >= 36
    assert len(REAL_FILES) - read <= 4


@pytest.mark.parametrize("one", REFUSALS, ids=lambda one: one.what)
def test_a_file_is_refused_with_a_sentence(one):
    """What is wrong with a file is said in one line of words that were written by hand."""
    said = refusal(one)
    assert one.says in said
    assert said.isprintable()


def test_the_page_is_current():
    """The tables of the page are what the files are read as, and what others are refused with."""
    text = PAGE.read_text("utf-8")
    assert page(text) == text


def test_the_table_of_judges_is_current():
    """Each kind that is registered has its rows, with the calls and tokens that its judges say today."""
    text = make_judges.PAGE.read_text("utf-8")
    assert make_judges.page(text) == text, "if it is right: python tests/docs/make_judges.py"


def test_a_kind_without_a_row_fails(monkeypatch):
    """Whoever registers a kind says in one place what it needs and returns."""
    monkeypatch.delitem(make_judges.ROWS, "interval")
    with pytest.raises(KeyError, match=r"ROWS lacks {'interval'}"):
        make_judges.table()
