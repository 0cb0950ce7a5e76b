from __future__ import annotations

from bonwise.report.show import markdown, text
from documents.test_doctor import looked_over
from report.described.readers import HOSTILE, harmless, lost


def test_the_text_says_what_was_found(tmp_path):
    """Counts, columns, scores and labels are told, and the last line is the command to type."""
    said = text(looked_over(tmp_path)).splitlines()
    assert said[1] == "36 rows, 12 prompts, 3 candidate names, 1 judge; taken as rectangular"
    assert "j            12            0.2             0.9          5        16.7%                0%" in said
    assert any(
        line.startswith("labels 0 to 1, 3 distinct; prompts labelled 12, in part 0, not at all 0") for line in said
    )
    assert any(line.startswith("suspicious: Candidate 'c2'") for line in said)
    assert said[-2] == "Next:"
    assert said[-1].startswith("bonwise audit ")


def test_what_is_not_there_is_said(tmp_path):
    """A file without labels says so."""
    assert "no oracle labels" in text(looked_over(tmp_path, labelled=False))


def test_the_commonest_reasons_are_told(tmp_path):
    """Of seven reasons five are told apart, the commonest first, and the others are counted."""
    document = looked_over(tmp_path)
    reasons = {f"reason {at}": 1 + at for at in range(7)}
    told = [line for line in text(document.model_copy(update={"dropped": reasons})).splitlines() if "drops" in line]
    assert told[0] == "an audit drops 7 prompts: reason 6"
    assert told[-1] == "an audit drops 3 prompts: 2 other reasons"
    assert len(told) == 6


def test_many_strata_are_counted(tmp_path):
    """Of ten columns eight are named."""
    document = looked_over(tmp_path).model_copy(update={"strata": [f"s{at}" for at in range(10)]})
    document = document.model_copy(update={"column_facts": None})
    (row,) = (line for line in text(document).splitlines() if line.startswith("strata"))
    assert row.split(maxsplit=1)[1] == "s0, s1, s2, s3, s4, s5, s6, s7, 2 more"


def test_a_judge_without_prompts_has_a_row_of_dashes(tmp_path):
    """A judge that scored no prompt completely is in the table, without figures."""
    document = looked_over(tmp_path)
    empty = document.judges[0].model_validate({"judge": "none", "prompts": 0})
    said = text(document.model_copy(update={"judges": [*document.judges, empty]}))
    (row,) = (line for line in said.splitlines() if line.startswith("none"))
    assert row.split() == ["none", "0", "-", "-", "-", "-", "-"]


def test_every_reader_sees_the_same(tmp_path):
    """Every word of the text is on the page; Markdown has the command in a block of its own."""
    document = looked_over(tmp_path)
    assert not lost(document)
    assert f"```sh\n{document.next_command}\n```" in markdown(document)


def test_names_stay_text(tmp_path):
    """Judges, reasons and columns are text wherever they are shown."""
    document = looked_over(tmp_path, judges=(HOSTILE,))
    harmless(document.model_copy(update={"dropped": {HOSTILE: 1}, "strata": [HOSTILE], "suspicious": [HOSTILE]}))
