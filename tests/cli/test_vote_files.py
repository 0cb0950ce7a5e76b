"""Files of votes: the doctor knows them, and the command that it prints works as it stands."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from cli.commands import CONTROL, strict, typed, written
from data.importers.real_files import REAL_FILES

VOTES = [one for one in REAL_FILES if one.votes is not None]


def suggested(capsys, source):
    """Return the command that the doctor prints for a file that is not a table of scores."""
    done = typed(capsys, "doctor", source)
    assert done.code == 2
    assert "votes on pairs, not a table of scores" in done.err
    return shlex.split(done.err[done.err.rindex("bonwise preferences") :].rstrip().removesuffix(")"))[1:]


@pytest.mark.parametrize("file", VOTES, ids=lambda file: file.name)
def test_the_command_of_a_real_file_works(capsys, file):
    """It ends with 0, and every vote is counted."""
    words = suggested(capsys, file.path)
    done = typed(capsys, *words, "--json", "-")
    assert done.code == 0, done.err
    data = strict(done.out)["data"]
    rows, ties, pairs = file.votes
    assert data["rows"] == rows
    assert data["dropped"].get("tie", 0) == ties
    assert data["pairs"] + data["pairs_left_out"] == pairs


def made(spelling, rows=40, seed=1, **names):
    """Return votes on three models in a spelling of the first, the second and a tie."""
    draw = np.random.default_rng(seed)
    found = []
    for at in range(rows):
        one, other = draw.choice(["gpt-4", "claude", "llama"], 2, replace=False)
        found.append(
            {
                names.get("prompt", "Question ID"): at // 4,
                names.get("one", "Model A"): str(one),
                names.get("other", "Model B"): str(other),
                names.get("verdict", "Winner"): spelling[int(draw.integers(3))],
            }
        )
    return found


SPELLINGS = [
    *(("left", "right", "tie"), ("A>>B", "B>A", "A=B"), ("[[A]]", "[[B]]", "[[C]]"), ("1", "2", "tie")),
    *(("1", "-1", "0"), ("model_a", "model_b", "both bad"), ("1", "0", ""), ("1", "2", "0"), ("A", "B", "")),
]


@pytest.mark.parametrize("spelling", SPELLINGS, ids="/".join)
def test_the_command_of_every_spelling_works(capsys, tmp_path, spelling):
    """Also where numbers may mean either side: the command then says what they mean."""
    words = suggested(capsys, written(tmp_path / "my votes.csv", made(spelling)))
    done = typed(capsys, *words)
    assert done.code == 0, done.err
    assert "Winner read as" in done.out or "verdicts in Winner" in done.out
    assert ("--verdict-map" in words) == (spelling[1] == "0" or (spelling[2] == "0" and spelling[1] == "2"))


def test_the_command_for_a_judge_beside_people(capsys, tmp_path):
    """A file with votes of a judge and of people is compared in itself."""
    draw = np.random.default_rng(2)
    rows = [
        {
            "prompt_id": at,
            "model_a": "x",
            "model_b": "y",
            "gpt4_winner": draw.choice(["A", "B"]),
            "human_winner": "AB"[at % 2],
        }
        for at in range(20)
    ]
    words = suggested(capsys, written(tmp_path / "v.csv", rows))
    assert words[2:6] == ["--verdict-col", "gpt4_winner", "--label-col", "human_winner"]
    assert typed(capsys, *words).code == 0


def test_numbers_that_may_mean_either_side_are_one_sentence(capsys, tmp_path):
    """0 and 1 are not guessed: the message names the flag, and both ways give opposite win rates."""
    source = written(tmp_path / "v.csv", made(("1", "0", "")))
    done = typed(capsys, "preferences", source)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--verdict-map 1=first,0=second or --verdict-map 0=first,1=second" in done.err
    found = [
        strict(typed(capsys, "preferences", source, "--fewest-votes", "2", "--verdict-map", text, "--json", "-").out)
        for text in ("1=first,0=second", "0=first,1=second")
    ]
    one, other = ([pair["win_rate"]["estimate"] for pair in document["pairs"]] for document in found)
    assert one == pytest.approx([1 - rate for rate in other])
    assert found[0]["settings"]["verdict_map"] == {"1": "first", "0": "second"}


def test_two_files_on_the_command_line(capsys, tmp_path):
    """The document of the call in Python; flags of votes without labels are refused."""
    judge = written(tmp_path / "judge.csv", made(("A", "B", "tie"), prompt="prompt_id"))
    crowd = written(tmp_path / "crowd.csv", made(("left", "right", "tie"), seed=1))
    frame = pd.read_csv(judge).drop_duplicates(["prompt_id", "Model A", "Model B"])
    frame["key"] = [str(sorted(pair)) for pair in zip(frame["Model A"], frame["Model B"], strict=True)]
    frame.drop_duplicates(["prompt_id", "key"]).drop(columns="key").to_csv(judge, index=False)
    done = typed(capsys, "preferences", judge, "--labels", crowd, "--json", "-")
    assert done.code == 0, done.err
    document = strict(done.out)
    assert document["labels"]["source"] == str(crowd)
    assert document["labels"]["votes"] == 40
    refused = typed(capsys, "preferences", judge, "--labels", crowd, "--ties", "drop")
    assert refused.code == 2
    assert "--ties" in refused.err


HOSTILE = "\x1b]0;x\x07<script>alert(1)</script>\u202e=HYPERLINK(1)"


def test_hostile_names_run_nothing(capsys, tmp_path):
    """Escapes, markup and formulas in names of columns, models and verdicts reach no terminal as such."""
    for row in (
        {"model_a": HOSTILE, "model_b": "y", "winner": "A"},
        {"model_a": "x", "model_b": "y", "winner": HOSTILE},
    ):
        (tmp_path / "v.jsonl").write_text("\n".join([json.dumps(row)] * 12), encoding="utf-8")
        done = typed(capsys, "preferences", tmp_path / "v.jsonl")
        assert not CONTROL.search(done.out + done.err)
    rows = made(("A", "B", "tie"), one=f"Model A ({HOSTILE})", verdict=f"Winner {HOSTILE}")
    source = written(tmp_path / "v.csv", rows)
    for words in (("doctor", source), ("preferences", source, "--ties", "drop")):
        done = typed(capsys, *words)
        assert not CONTROL.search(done.out + done.err)
        assert "Traceback" not in done.err
