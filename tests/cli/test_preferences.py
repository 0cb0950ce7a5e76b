from __future__ import annotations

import json

import pytest

from bonwise.votes.front import study_preferences
from cli.commands import CONTROL, strict, typed, written

ROWS = [
    {
        "one": "x",
        "two": "y",
        "won": ("model_a", "model_b", "model_b", "tie")[at % 4],
        "q": at % 7,
        "gold": 1,
        "who": "j",
    }
    for at in range(48)
]
VOTES = ("--verdict-col", "won", "--pair-col", "one,two")


@pytest.fixture
def source(tmp_path):
    """Write votes with ties."""
    return written(tmp_path / "votes.csv", ROWS)


def test_votes_are_studied_without_labels(capsys, source):
    """Without labels the command gives the document of the call in Python, strict JSON, words on standard error."""
    done = typed(capsys, "preferences", source, *VOTES, "--prompt-col", "q", "--ties", "drop", "--json", "-")
    called = study_preferences(
        source, verdict_col="won", pair_col=["one", "two"], prompt_col="q", ties="drop"
    ).to_dict()
    assert done.code == 0
    assert strict(done.out) == json.loads(json.dumps(called))
    assert strict(done.out)["schema"] == "bonwise.votes/1"
    assert "ties: drop. 12 votes are ties" in done.err


def test_the_page_is_readable(capsys, source):
    """The page names the encoding of ties and which model is first, and holds no control character."""
    done = typed(capsys, "preferences", source, *VOTES, "--prompt-col", "q", "--ties", "pessimistic")
    assert done.code == 0
    assert "a tie counts for the second model, against the first" in done.out
    assert "alphabetical order" in done.out
    assert not CONTROL.search(done.out)


def test_ties_need_a_way_to_count(capsys, source):
    """A file with ties and no --ties is refused in one line that names the three ways."""
    done = typed(capsys, "preferences", source, *VOTES)
    assert done.code == 2
    assert all(f"--ties {way}" in done.err for way in ("drop", "half", "pessimistic"))
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (("--verdict-col", "won", "--pair-col", "one"), "--pair-col"),
        ((*VOTES, "--ties", "drop", "--judge-col", "who"), "--judge-col"),
        ((*VOTES, "--ties", "drop", "--context-col", "who"), "--context-col"),
        ((*VOTES, "--ties", "drop", "--verdict-col", "gold"), "several columns"),
        ((*VOTES, "--ties", "other"), "pessimistic"),
        ((*VOTES, "--ties", "drop", "--fewest-votes", "900"), "--fewest-votes"),
        ((*VOTES, "--label-col", "gold", "--prompt-col", "x"), "no column named 'x'"),
        ((*VOTES, "--label-col", "gold", "--prompt-col", "q", "--ties", "drop"), "--ties"),
        ((*VOTES, "--label-col", "gold", "--prompt-col", "q", "--near-tie", "0.1"), "--near-tie"),
    ],
)
def test_no_flag_is_passed_over(capsys, source, flags, word):
    """A flag of the other mode, or one that is missing, is refused by name."""
    done = typed(capsys, "preferences", source, *flags)
    assert done.code == 2
    assert word in done.err


def test_with_labels_verdicts_are_audited_as_before(capsys, tmp_path):
    """With --label-col the command audits verdicts against the oracle."""
    rows = [{"i": x, "v": x % 2 + 1, "gold": 1 + x % 3 % 2} for x in range(12)]
    source = written(tmp_path / "v.csv", rows)
    flags = ("--verdict-col", "v", "--label-col", "gold", "--prompt-col", "i", "--json", "-")
    assert strict(typed(capsys, "preferences", source, *flags).out)["schema"] == "bonwise.preferences/1"


def test_names_of_models_are_printed_literally(capsys, tmp_path):
    """Markup, escapes and line breaks in names of models reach no terminal as such."""
    rows = [{**row, "one": "x[bold]\x1b[31m\n"} for row in ROWS]
    source = written(tmp_path / "votes.csv", rows)
    done = typed(capsys, "preferences", source, *VOTES, "--ties", "drop")
    assert done.code == 0
    assert "x[bold]" in done.out
    assert not CONTROL.search(done.out)


@pytest.mark.shared
def test_the_mt_bench_command(capsys, shared):
    """The votes of MT-Bench are studied as they lie."""
    source = shared / "data" / "mt_bench_human.csv"
    flags = (
        "--verdict-col",
        "winner",
        "--pair-col",
        "model_a,model_b",
        "--prompt-col",
        "question_id",
        "--ties",
        "drop",
    )
    done = typed(capsys, "preferences", source, *flags)
    assert done.code == 0
    assert "2,575 votes on 15 pairs of 6 models for 80 prompts" in done.out
    assert "left out: tie (780)" in done.out
