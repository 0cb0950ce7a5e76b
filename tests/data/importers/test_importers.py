"""Files that other tools wrote: each becomes the rows that are written here by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

import bonwise as bw
from bonwise.errors import ColumnError, FileError
from bonwise.table.score_table import ScoreTable
from bonwise.table.sources import convert, importers
from cli.commands import typed

FILES = Path(__file__).parent / "files"
SKY, SUM, FORMULA = "Why is the sky blue?", "What is 2+2?", "=1+1"


def rows(name, **columns):
    """Return prompt, candidate, judge, score and label of a converted file."""
    found = convert(FILES / name, columns=columns)
    keys = ("prompt_id", "candidate", "judge", "judge_score", "oracle_label")
    frame = found.frame.reindex(columns=keys)
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in frame.itertuples(index=False)], found


def pairs(judge, scores, labels, prompts=(SKY, SUM, FORMULA)):
    """Return the rows of two candidates per prompt with the same scores."""
    return [
        (prompt, name, judge, score, label)
        for prompt, given in zip(prompts, labels, strict=True)
        for name, score, label in zip(("short", "long"), scores, given, strict=True)
    ]


PLAIN = [(0.0, 1.0)] * 3
EXAMPLES = [f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2, 3)]
EXPECTED = {
    "deepeval.json": pairs("Helpfulness", (0.25, 0.88), [(0.0, 1.0)] * 3),
    "mlflow_traces.json.gz": pairs("quality", (0.2, 0.7), [(0.0, 1.0), (0.0, 1.0), (1.0, 0.0)]),
    "langfuse": pairs("helpfulness", (0.2, 0.7), PLAIN),
    "langsmith_feedback.jsonl": pairs("helpfulness", (0.2, 0.7), PLAIN, EXAMPLES),
    "langsmith_stats.jsonl": pairs("helpfulness", (0.2, 0.7), PLAIN, EXAMPLES),
    "label_studio.json.gz": pairs("judge_score", (0.2, 0.7), [(1.5, 2), (3, 4), (5, 1)], ("q0", "q1", "q2")),
    "label_studio_min.json": pairs("judge_score", (0.2, 0.7), [(1.5, 2), (3, 4), (5, 1)], ("q0", "q1", "q2")),
    "label_studio.csv": pairs("judge_score", ("0.2", "0.7"), [(1.5, 2), (3, 4), (5, 1)], ("q0", "q1", "q2")),
    "wide.csv": [
        *(("1", "gpt4", None, "0.1", "1"), ("1", "claude", None, "0.3", "0")),
        *(("2", "gpt4", None, "0.2", "0"), ("2", "claude", None, "0.4", "1")),
    ],
    "lists.jsonl": [(p, *r) for p in ("why", "what") for r in (("c0", "scores", 0.1, 0), ("c1", "scores", 0.9, 1))],
    "uf.jsonl": [
        (p, *r) for p in ("why", "what") for r in (("x", "overall_score", 8.5, 3), ("y", "overall_score", 4.0, 1))
    ],
    "rb.jsonl": [
        (p, name, "judge", score, label)
        for p in ("0", "1")
        for name, score, label in (("chosen", 0.9, 1), ("rejected 1", 0.3, 0), ("rejected 2", 0.2, 0))
    ],
    "dpo.jsonl": [
        (p, *r) for p in ("why", "what") for r in (("chosen", "judge", 9.0, 1), ("rejected", "judge", 2.5, 0))
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_becomes_the_rows_written_by_hand(name):
    """Prompts, candidates, judges, scores and labels are those of the file, and every command reads it directly."""
    found, _ = rows(name)
    assert found == EXPECTED[name]
    table = ScoreTable.read(FILES / name)
    assert len(table.frame) == len(found)
    assert table.has_labels
    assert table.readings["file"]


def test_traces_that_were_searched_are_those_that_were_saved():
    """The rows of search_traces, which come newest first, hold what the traces hold."""
    found, saved = rows("mlflow_search.jsonl.gz")[0], rows("mlflow_traces.json.gz")[0]
    assert sorted(found) == sorted(saved)


@pytest.mark.parametrize("name", ["inspect.eval", "inspect.json.gz"])
def test_an_epoch_of_inspect_is_a_candidate(name):
    """Each scorer is a judge or the label by its name; grades are numbers; archive and JSON hold the same."""
    found, converted = rows(name)
    assert {row[1] for row in found} == {"epoch 1", "epoch 2", "epoch 3"}
    assert len(found) == 9
    assert {row[2] for row in found} == {"judge_quality"}
    assert {row[4] for row in found} <= {0.0, 1.0}
    assert "C = 1, P = 0.5, I = 0, N = 0" in converted.said
    for row, text in zip(found, converted.frame["text"], strict=True):
        assert row[3] == round(min(1.0, len(text) / 40), 2)
        assert row[4] == len(text) % 2


@pytest.mark.parametrize("name", ["promptfoo.json.gz", "promptfoo.jsonl.gz"])
def test_a_repeat_of_promptfoo_is_another_candidate(name):
    """The metric of a person is the label and not a part of the judge's score; the total score is not used."""
    found, converted = rows(name)
    assert len(found) == 24
    assert len({row[1] for row in found}) == 8
    assert {row[2] for row in found} == {"helpfulness"}
    for row, text in zip(found, converted.frame["text"], strict=True):
        assert row[3] == pytest.approx(min(1, len(text) / 90), abs=0.006)
        assert row[4] == len(text) % 5 / 4


def test_a_metric_may_be_named_for_judge_or_label():
    """A flag says which metric is the judge and which the label, whatever their names say."""
    found, _ = rows("deepeval.json", judge_score="Human Label", oracle_label="Helpfulness")
    assert found[0] == (SKY, "short", "Human Label", 0.0, 0.25)


def test_the_csv_of_promptfoo_names_the_remedy():
    """Its columns repeat their names, so that JSON is asked for."""
    with pytest.raises(ColumnError, match="looks like a CSV of promptfoo") as refused:
        ScoreTable.read(FILES / "promptfoo.csv")
    assert "promptfoo eval -o results.json" in refused.value.hint


def test_samples_without_a_judge_are_converted_and_said(capsys, tmp_path):
    """A file that cannot be audited is converted with exit code 0; an audit says in one line what is missing."""
    done = typed(capsys, "convert", FILES / "lm_eval.jsonl", "--out", tmp_path / "s.csv")
    assert done.code == 0
    assert "an audit still lacks: no judge's score" in done.out
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    assert [(row["prompt_id"], row["candidate"]) for row in found[:3]] == [("0", f"response {n}") for n in (1, 2, 3)]
    assert [row["oracle_label"] for row in found[:3]] == ["0.0", "", ""]
    audited = typed(capsys, "audit", FILES / "lm_eval.jsonl")
    assert audited.code == 2
    assert "no judge's score: score the responses with bonwise judge" in audited.err


def test_columns_of_scores_beside_candidates_are_judges():
    """Beside a column of candidates several NAME_score columns are judges; named with --score-col they are too."""
    table = ScoreTable.read(FILES / "judges.csv")
    assert table.judges == ("claude", "gpt4")
    assert table.frame["judge_score"].tolist() == [0.1, 0.3, 0.2, 0.4, 0.3, 0.1, 0.4, 0.2]
    frame = pd.read_csv(FILES / "judges.csv").rename(columns={"gpt4_score": "x", "claude_score": "y"})
    named = ScoreTable.from_frame(frame, columns={"judge_score": "x,y"})
    assert named.judges == ("x", "y")


def test_score_col_may_be_given_twice(capsys):
    """Two --score-col name two judges, and the audit has both."""
    flags = ("--score-col", "claude_score", "--score-col", "gpt4_score")
    done = typed(capsys, "audit", FILES / "judges.csv", *flags, "--json", "-")
    assert set(json.loads(done.out)["judges"]) == {"gpt4", "claude"}


def test_lists_in_parquet_are_lists_in_json(tmp_path):
    """List columns of Parquet, and cells of a DataFrame, are read like those of JSON Lines."""
    records = [json.loads(line) for line in (FILES / "lists.jsonl").read_text().splitlines()]
    frame = pd.DataFrame(records)
    frame.to_parquet(tmp_path / "lists.parquet")
    expected = EXPECTED["lists.jsonl"]
    for source in (tmp_path / "lists.parquet", frame, records):
        found = convert(source).frame
        assert [
            (r.prompt_id, r.candidate, r.judge, r.judge_score, r.oracle_label) for r in found.itertuples()
        ] == expected


def test_an_array_of_objects_is_a_table(tmp_path):
    """A .json file with a list of objects, bare or under a key, is the table of JSON Lines."""
    rows_of = [{"prompt_id": f"p{n}", "model": m, "score": n / 9, "label": 1} for n in range(3) for m in "ab"]
    (tmp_path / "s.json").write_text(json.dumps(rows_of))
    (tmp_path / "t.json").write_text(json.dumps({"version": 1, "results": rows_of}))
    for name in ("s.json", "t.json"):
        assert ScoreTable.read(tmp_path / name).frame["judge_score"].tolist() == [row["score"] for row in rows_of]


def test_a_draw_of_cje_is_another_response(tmp_path):
    """In a folder of responses draw_idx tells candidates apart, not scores of one candidate."""
    lines = [{"prompt_id": p, "response": "r", "judge_score": d / 4, "draw_idx": d} for p in "xy" for d in range(3)]
    (tmp_path / "base_responses.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = ScoreTable.read(tmp_path)
    assert list(table.candidates) == ["base #0", "base #1", "base #2"]
    assert table.draws == 1


def test_ids_survive_conversion(capsys, tmp_path):
    """Ids with zeros, formulas and quotes are the same after convert and reading; text cells are defused."""
    names = ["001", "=1+1", "-x", "'a", "@b", "p,1", 'q"2', "ü\n"]
    records = [{"id": n, "model": m, "score": "85%", "response": "=cmd"} for n in names for m in ("+a", "b")]
    (tmp_path / "s.json").write_text(json.dumps(records))
    assert typed(capsys, "convert", tmp_path / "s.json", "--out", tmp_path / "s.csv").code == 0
    table, original = ScoreTable.read(tmp_path / "s.csv"), ScoreTable.read(tmp_path / "s.json")
    assert list(table.prompts) == list(original.prompts)
    assert list(table.candidates) == list(original.candidates)
    assert table.frame["judge_score"].tolist() == [0.85] * 16
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    for line in lines:
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in line)


def test_rows_without_a_name_are_left_out_and_counted(capsys, tmp_path):
    """Every row whose prompt and candidate can be told is written; where none can, it ends with exit code 2."""
    (tmp_path / "s.csv").write_text("prompt_id,model,score\np,a,1\n,b,2\np,,3\n")
    done = typed(capsys, "convert", tmp_path / "s.csv", "--out", tmp_path / "t.csv")
    assert (done.code, "2 rows without prompt or candidate left out" in done.out) == (0, True)
    assert "no prompt has a second candidate" in done.out
    assert (tmp_path / "t.csv").read_text().splitlines() == ["prompt_id,candidate,judge_score", "p,a,1"]
    (tmp_path / "u.csv").write_text("topic,score\np,1\n")
    assert typed(capsys, "convert", tmp_path / "u.csv", "--out", tmp_path / "v.csv").code == 2
    assert not (tmp_path / "v.csv").exists()


def test_several_labels_are_not_chosen_between(tmp_path):
    """Two metrics of people are named, and a flag settles which is the label."""
    run = json.loads((FILES / "deepeval.json").read_text())
    for case in run["testCases"]:
        case["metricsData"].append({"name": "Expert score", "score": 0.5})
    (tmp_path / "run.json").write_text(json.dumps(run))
    found = convert(tmp_path / "run.json")
    assert any("several labels: Human Label, Expert score: choose one with --label-col" in one for one in found.lacks)
    chosen = ScoreTable.read(tmp_path / "run.json", columns={"oracle_label": "Expert score"})
    assert set(chosen.frame["oracle_label"]) == {0.5}


def test_an_audit_says_how_the_file_was_read():
    """The reading stands in the document and in the words of an audit."""
    found = bw.audit(FILES / "judges.csv")
    said = found.settings.readings["file"]
    assert said == "a column per judge; the columns gpt4_score, claude_score are judges"
    assert "file read as a column per judge" in " ".join(str(found).split())


def test_every_importer_comes_through_the_door():
    """The built-in importers are entry points, and none of them is broken."""
    found = {kind.name: kind.problem for kind in importers()}
    assert not any(found.values())
    assert {"promptfoo", "inspect", "deepeval", "lm_eval", "mlflow", "langfuse", "langsmith", "label_studio"} <= set(
        found
    )


@pytest.mark.parametrize("content", ['{"a": 1}', "[1, 2]", "3", "null", '"x"', "{}", "[]", '{"results": []}'])
def test_json_that_is_no_table_is_one_sentence(tmp_path, content):
    """JSON of no known format is refused in one line that says what would do."""
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(FileError) as refused:
        ScoreTable.read(tmp_path / "s.json")
    assert refused.value.hint
