"""The table of files as tools wrote them: each is read as counted by hand, and the page says so."""

from __future__ import annotations

import pytest

from bonwise.doctoring.front import doctor
from bonwise.errors import BonwiseError
from docs.make_files import PAGE, REAL_FILES, REFUSALS, counted, page, refusal

ROLES = ("prompt_id", "candidate", "judge_score", "oracle_label")


@pytest.mark.parametrize("file", REAL_FILES, ids=lambda file: file.name)
def test_a_real_file_is_read_as_counted_by_hand(file):
    """Rows, prompts, candidates, judges, labels and columns are those of the file, with at most one flag."""
    if file.says:
        with pytest.raises(BonwiseError) as refused:
            doctor(file.path)
        assert file.says in refused.value.hint
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
