from __future__ import annotations

import pandas as pd
import pytest

from bonwise.errors import InputError
from bonwise.table.score_table import ScoreTable
from bonwise.table.words import PromptWords, Words
from cli.commands import pool_file


def table(**columns):
    """Return a table of two prompts with two candidates each, and further columns."""
    frame = pd.DataFrame(
        {"prompt_id": ["p", "p", "q", "q"], "candidate": ["a", "b"] * 2, "judge_score": [0.1, 0.2, 0.3, 0.4]}
    )
    return ScoreTable.from_frame(frame.assign(**columns))


def test_words_come_from_the_columns_of_the_table():
    """Prompt, text and raw are found by prompt, candidate and judge; `response` is another name of the text."""
    held = table(prompt=["P", "P", "Q", "Q"], response=["pa", "pb", "qa", "qb"], raw=["1", "2", "3", "4"])
    assert Words(held).of(["q"]) == {
        "q": PromptWords("Q", {"a": "qa", "b": "qb"}, {("judge", "a"): "3", ("judge", "b"): "4"})
    }


def test_an_empty_answer_is_an_answer_and_a_blank_cell_is_none():
    """A text of no characters is shown as it is; where the cell is missing nothing is known."""
    assert Words(table(text=["", None, "NA", "x"])).of(["p", "q"]) == {
        "p": PromptWords(None, {"a": ""}),
        "q": PromptWords(None, {"a": "NA", "b": "x"}),
    }


def test_words_are_never_strata():
    """Columns of words are kept apart from the columns that the audit reads."""
    held = table(text=["x"] * 4, topic=["s"] * 4)
    assert held.strata == ("topic",)
    assert list(held.words.columns) == ["text"]


def test_pools_go_before_columns(tmp_path):
    """Where a file of pools holds a prompt its words are taken; what only the table holds stays."""
    pools = pool_file(tmp_path / "pools.jsonl", {"p": [{"id": "a", "text": "new"}], "other": ["x"]})
    found = Words(table(text=["old", "kept", "q", "q"], raw=["r"] * 4), pools).of(["p", "q"])
    assert found["p"].prompt == "The prompt p"
    assert found["p"].texts == {"a": "new", "b": "kept"}
    assert found["p"].raw[("judge", "a")] == "r"
    assert found["q"].prompt is None


def test_pools_of_other_prompts_are_refused(tmp_path):
    """A file that shares no prompt with the table is a mistake, and named."""
    pools = pool_file(tmp_path / "pools.jsonl", {"x": ["one"]})
    with pytest.raises(InputError, match=r"pools.jsonl: no prompt of table is in it"):
        Words(table(), pools).of(["p"])


def test_pools_of_prompts_that_are_not_shown_are_no_mistake(tmp_path):
    """A file that holds prompts of the table, though none of those that are asked for, is not refused."""
    pools = pool_file(tmp_path / "pools.jsonl", {"q": ["one"]})
    assert Words(table(), pools).of(["p"]) == {}


def test_the_draws_of_a_judge_stand_one_below_the_other():
    """Several rows of one judge and candidate give one text, in their order."""
    frame = pd.DataFrame(
        {
            "prompt_id": ["p"] * 4,
            "candidate": ["a", "a", "b", "b"],
            "judge_score": [1, 2, 3, 4],
            "draw": [0, 1, 0, 1],
            "raw": ["first", "second", None, "only"],
        }
    )
    raw = Words(ScoreTable.from_frame(frame)).of(["p"])["p"].raw
    assert raw == {("judge", "a"): "first\n\nsecond", ("judge", "b"): "only"}


def test_a_reference_judge_takes_its_words_along():
    """Words are found by row, so a table that lost the rows of its reference still finds those of the others."""
    frame = pd.DataFrame(
        {
            "prompt_id": ["p"] * 4,
            "candidate": ["a", "b"] * 2,
            "judge": ["strong", "strong", "weak", "weak"],
            "judge_score": [1, 0, 0.5, 0.4],
            "raw": ["s1", "s2", "w1", "w2"],
        }
    )
    held = ScoreTable.from_frame(frame).with_reference("strong")
    assert Words(held).of(["p"])["p"].raw == {("weak", "a"): "w1", ("weak", "b"): "w2"}
