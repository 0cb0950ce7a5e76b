from __future__ import annotations

import json

import pytest

from auditing.studies.pairwise_judges import verdicts
from bonwise.studies.label_strategy.front import study_label_strategy
from bonwise.testing import simulate
from cli.commands import CONTROL, rows_of, strict, typed

COMMAND = ("study", "label-strategy")
SIMULATION = simulate("arena", n=60, seed=2)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work where scores, labels, verdicts and pools lie."""
    monkeypatch.chdir(tmp_path)
    scores = SIMULATION.frame()
    scores.to_csv("scores.csv", index=False)
    verdicts(SIMULATION).to_csv("pairs.csv", index=False)
    texts = [{"id": f"c{i}", "text": f"answer {i}"} for i in range(4)]
    with (tmp_path / "pools.jsonl").open("w", encoding="utf-8") as stream:
        for prompt in dict.fromkeys(scores["prompt_id"]):
            stream.write(json.dumps({"prompt_id": prompt, "prompt": "say", "candidates": texts}) + "\n")
    return tmp_path


def test_the_command_gives_the_document_of_the_call(capsys, folder):
    """The command and the call in Python give one document; the words step aside, the page is written."""
    done = typed(capsys, *COMMAND, "scores.csv", "--verdicts", "pairs.csv", "--json", "-", "--html", "page.html")
    assert done.code == 0, done.err
    called = study_label_strategy("scores.csv", verdicts="pairs.csv").to_dict()
    assert strict(done.out) == json.loads(json.dumps(called))
    assert "Best of n on 60 prompts" in done.err
    assert "Recovery by the way of asking" in (folder / "page.html").read_text(encoding="utf-8")
    assert not CONTROL.search(done.err)


def test_verdicts_alone(capsys, folder):
    """Columns joined by commas name prompt and judge; without the columns that are needed it is said which."""
    (folder / "v.csv").write_text("q,set,who,one,two,gold\n1,a,j,1,1,1\n2,a,j,1,2,2\n", encoding="utf-8")
    flags = ("--verdict-col", "one", "--verdict-col", "two", "--prompt-col", "set,q", "--judge-col", "who")
    done = typed(capsys, *COMMAND, "v.csv", *flags, "--label-col", "gold", "--json", "-")
    assert strict(done.out)["judges"]["j"]["order"]["flips"]["estimate"] == 0.5
    lacking = typed(capsys, *COMMAND, "v.csv", *flags)
    assert (lacking.code, "--label-col" in lacking.err) == (2, True)


def test_pairs_are_drawn_judged_and_weighted(capsys, folder):
    """The drawn pools are taken by bonwise judge; their verdicts and the record give a weighted study."""
    drawn = typed(capsys, *COMMAND, "scores.csv", "--pairs", "40", "--pools", "pools.jsonl", "--out", "todo.jsonl")
    assert drawn.code == 0, drawn.err
    assert "todo.drawn.csv" in drawn.err
    dry = typed(
        capsys, "judge", "todo.jsonl", "--judge", "pairwise:openai/m", "--pairs", "won.csv", "--run", "r", "--dry-run"
    )
    assert dry.code == 0, dry.err
    assert "80" in dry.out + dry.err  # two orders of 40 pairs
    by_pair = {(row["prompt_id"], row["a"], row["b"]): row for row in rows_of("pairs.csv")}
    lines = ["prompt_id,judge,a,b,shown_first,shown_second"]
    for row in rows_of("todo.drawn.csv"):
        found = by_pair[row["prompt_id"], row["a"], row["b"]]
        lines.append(f"{row['pair_id']},j,{row['a']},{row['b']},{found['shown_first']},{found['shown_second']}")
    (folder / "won.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    flags = ("--verdicts", "won.csv", "--drawn", "todo.drawn.csv", "--json", "-")
    done = typed(capsys, *COMMAND, "scores.csv", *flags)
    assert strict(done.out)["judges"]["judge"]["matched_pairs"]["weighted"]
    again = typed(capsys, *COMMAND, "scores.csv", "--pairs", "40", "--pools", "pools.jsonl", "--out", "todo.jsonl")
    assert (again.code, "there already" in again.err) == (2, True)


def test_pairs_are_drawn_where_a_few_prompts_lack_labels(capsys, folder):
    """A draw of scores that lack one label in sixty prompts counts that prompt in words, and leaves it out."""
    scores = SIMULATION.frame()
    scores.loc[2, "oracle_label"] = float("nan")
    scores.to_csv("few.csv", index=False)
    flags = ("--pairs", "20", "--pools", "pools.jsonl", "--out", "todo.jsonl")
    done = typed(capsys, *COMMAND, "few.csv", *flags)
    assert done.code == 0, done.err
    assert "left out 1 prompt: some of its candidates lack labels" in done.out
    assert scores["prompt_id"][2] not in {row["prompt_id"] for row in rows_of("todo.drawn.csv")}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "no verdicts on pairs"),
        (("--verdicts", "pairs.csv", "--out", "x.jsonl"), "--out is only for a draw"),
        (("--pairs", "9", "--out", "x.jsonl"), "--pools"),
        (("--pairs", "9", "--pools", "pools.jsonl", "--out", "x.csv"), "does not end in .jsonl"),
        (("--pairs", "9", "--verdicts", "pairs.csv"), "--verdicts has no say over a draw"),
        (("--verdict-col", "one", "--bins", "9"), "--bins has no say over verdicts alone"),
        (("--verdict-col", "one", "--ragged"), "--ragged has no say"),
        ((*("--verdict-col", "one") * 2, "--label-col", "l", "--prompt-col", "p"), "column 'one' is named twice"),
        (("--verdict-col", "p", "--label-col", "l", "--prompt-col", "q,p"), "column 'p' is a prompt column too"),
        (("--verdicts", "pairs.csv", "--pair-col", "x"), "--pair-col is only for verdicts alone"),
        (("--verdicts", "pairs.csv", "--bins", "1"), "bins must be 2 or more, not 1"),
        (("--verdicts", "pairs.csv", "--html", "pairs.csv"), "read or written already"),
    ],
)
def test_flags_that_do_not_go_together(capsys, flags, message):
    """Each contradiction is one line on standard error, with exit code 2."""
    done = typed(capsys, *COMMAND, "scores.csv", *flags)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
