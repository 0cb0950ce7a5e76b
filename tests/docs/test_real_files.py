"""The table of files as tools wrote them: each is read as counted by hand, and the page says so."""

from __future__ import annotations

import pytest

from bonwise.auditing.doctor import doctor
from bonwise.errors import BonwiseError
from docs.make_files import PAGE, REAL_FILES, page

ROLES = ("prompt_id", "candidate", "judge_score", "oracle_label")


@pytest.mark.parametrize("file", REAL_FILES, ids=lambda file: file.name)
def test_a_real_file_is_read_as_counted_by_hand(file):
    """Rows, prompts, candidates, judges, labels and columns are those of the file, without a flag."""
    if file.says:
        with pytest.raises(BonwiseError) as refused:
            doctor(file.path)
        assert file.says in refused.value.hint
        return
    found = doctor(file.path)
    counts = found.counts
    assert (counts.rows, counts.prompts, counts.candidates, counts.judges, found.labels.labelled_rows) == file.read
    if file.columns is not None:
        assert tuple(found.columns[role] for role in ROLES) == file.columns


def test_there_are_enough_files():
    """Forty files of eighteen tools, of which all but four are read without a flag."""
    assert len(REAL_FILES) >= 40
    assert len({file.tool for file in REAL_FILES}) >= 18
    assert sum(file.read is not None for file in REAL_FILES) >= 35


def test_the_page_is_current():
    """The table of the page is what the files are read as."""
    text = PAGE.read_text("utf-8")
    assert page(text) == text
