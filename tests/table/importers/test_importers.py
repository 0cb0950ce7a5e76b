"""Files that other tools wrote: each becomes the rows that are written here by hand; hostile ones are refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import BonwiseError, FileError
from bonwise.table import archives
from bonwise.table import text_files as bytes_check
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.score_table import ScoreTable
from bonwise.table.sources import importers, open_source, with_columns
from cli.commands import typed

# Files that other tools wrote: each becomes the rows that are written here by hand.


FILES = Path(__file__).parent / "files"
SKY, SUM, FORMULA = "Why is the sky blue?", "What is 2+2?", "=1+1"


def opened(source, **columns):
    """Return what is read of a file, scored or not."""
    options = ReadingOptions(columns=columns)
    return with_columns(open_source(source, options.named_columns), options, complete=False)[0]


def rows(name, **columns):
    """Return prompt, candidate, judge, score and label of a file as it is read, and what was read."""
    found = opened(FILES / name, **columns)
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


def test_the_csv_of_promptfoo_is_its_json():
    """Columns that repeat for each output are told apart by their number; numbers have two digits there."""
    found, whole = rows("promptfoo.csv")[0], rows("promptfoo.json.gz")[0]
    assert sorted(row[1:3] for row in found) == sorted(row[1:3] for row in whole)
    assert {row[0] for row in found} == {row[0] for row in whole}
    for at in (3, 4):
        values = [sorted(row[at] for row in read) for read in (found, whole)]
        assert values[0] == pytest.approx(values[1], abs=0.006)


def test_samples_without_a_judge_are_said(capsys, tmp_path):
    """A doctor says why there is no audit, and ends well; an audit says it in one line; a folder of models is one."""
    done = typed(capsys, "doctor", FILES / "lm_eval.jsonl")
    assert done.code == 0
    assert "no judge's score: score the responses with bonwise judge" in " ".join(done.out.split())
    audited = typed(capsys, "audit", FILES / "lm_eval.jsonl")
    assert audited.code == 2
    assert "no judge's score: score the responses with bonwise judge" in audited.err
    for model in ("m1", "m2"):
        (tmp_path / model).mkdir()
        (tmp_path / model / "results_2026.json").write_text("{}")
        (tmp_path / model / "samples_task_2026-01-01T00.jsonl").write_bytes((FILES / "lm_eval.jsonl").read_bytes())
    alone, both = rows("lm_eval.jsonl")[0], opened(tmp_path).frame
    assert len(both) == 2 * len(alone)
    assert [name for name in both["candidate"] if name.endswith(" 1")][:1] == ["m1 response 1"]


def test_a_scorer_that_compares_with_the_target_is_the_label(tmp_path):
    """Of an Inspect log the match is the label and the other scorer the judge; alone it is a judge as before."""
    log = json.loads(gzip.decompress((FILES / "inspect.json.gz").read_bytes()))
    for sample in log["samples"]:
        sample["scores"]["match"] = sample["scores"].pop("human_label")
    (tmp_path / "both.json").write_text(json.dumps(log))
    for sample in log["samples"]:
        del sample["scores"]["judge_quality"]
    (tmp_path / "alone.json").write_text(json.dumps(log))
    both, alone = opened(tmp_path / "both.json"), opened(tmp_path / "alone.json")
    assert both.frame["oracle_label"].tolist() == [row[4] for row in rows("inspect.json.gz")[0]]
    assert set(both.frame["judge"]) == {"judge_quality"}
    assert "'match' compares with the target and is the label" in both.said
    assert set(alone.frame["judge"]) == {"match"}


def test_choices_of_label_studio_are_labels(tmp_path):
    """In JSON-MIN and CSV a choice is a word, and the one field of few words holds the labels."""
    tasks = json.loads((FILES / "label_studio_min.json").read_text())
    words = ["pass", "fail"]
    for at, task in enumerate(tasks):
        del task["quality"]
        task["verdict"] = words[at % 2]
    (tmp_path / "s.json").write_text(json.dumps(tasks))
    pd.DataFrame(tasks).to_csv(tmp_path / "s.csv", index=False)
    for name in ("s.json", "s.csv"):
        found = opened(tmp_path / name)
        assert found.imported.format == "Label Studio export"
        assert set(found.frame["oracle_label"].dropna()) == set(words)
        assert "oracle_label is 'verdict'" in found.said


def test_subsets_of_preferences_are_strata(tmp_path):
    """What few values say of the prompts of a preference file stays a column; ids do not."""
    lines = [
        {"id": n, "prompt": f"p{n}", "chosen": "a", "rejected": "b", "subset": f"s{n % 3}", "scores_chosen": n % 5}
        for n in range(12)
    ]
    (tmp_path / "rb.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = ScoreTable.read(tmp_path / "rb.jsonl")
    assert table.strata == ("subset",)
    assert table.rows.columns["subset"].cell(2) == "s1"


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
        found = opened(source).frame
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
    """Ids with zeros, formulas and quotes are the same after doctor --fix and reading; text cells are defused."""
    names = ["001", "=1+1", "-x", "'a", "@b", "p,1", 'q"2', "ü\n"]
    records = [{"id": n, "model": m, "score": "85%", "response": "=cmd"} for n in names for m in ("+a", "b")]
    (tmp_path / "s.json").write_text(json.dumps(records))
    assert typed(capsys, "doctor", tmp_path / "s.json", "--fix", tmp_path / "s.csv").code == 0
    table, original = ScoreTable.read(tmp_path / "s.csv"), ScoreTable.read(tmp_path / "s.json")
    assert list(table.prompts) == list(original.prompts)
    assert list(table.candidates) == list(original.candidates)
    assert table.frame["judge_score"].tolist() == [0.85] * 16
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    for line in lines:
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in line)


def test_several_labels_are_not_chosen_between(tmp_path):
    """Two metrics of people are named, and a flag settles which is the label."""
    run = json.loads((FILES / "deepeval.json").read_text())
    for case in run["testCases"]:
        case["metricsData"].append({"name": "Expert score", "score": 0.5})
    (tmp_path / "run.json").write_text(json.dumps(run))
    lacks = opened(tmp_path / "run.json").imported.lacks
    assert any("several labels: Human Label, Expert score: choose one with --label-col" in lack for lack in lacks)
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


# Bombs, climbing paths, huge claims and hostile strings: one sentence each, and nothing is written or run.


HOSTILE = "\x1b]0;x\x07<script>alert(1)</script>\u202e=HYPERLINK(1)"


def refused(capsys, path):
    """Return the line with which an audit and the doctor refuse a file."""
    lines = set()
    for words in (("audit", path), ("doctor", path), ("doctor", path, "--fix", path.parent / "out.csv")):
        done = typed(capsys, *words)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
        assert done.err.rstrip("\n").isprintable()
        lines.add(done.err)
    assert not (path.parent / "out.csv").exists()
    return " ".join(lines)


@pytest.fixture
def small(monkeypatch):
    """Lower the limits, so that a bomb of a megabyte does."""
    monkeypatch.setattr(archives, "MOST_BYTES", 2**20)
    monkeypatch.setattr(bytes_check, "_SMALL", 2**20)


def zipped(path, parts, method=zipfile.ZIP_DEFLATED):
    """Write an archive."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["s.csv.gz", "s.jsonl.gz", "s.json.gz", "s.parquet.gz"])
def test_a_gzip_bomb_is_one_sentence(capsys, tmp_path, small, name):
    """What grows a thousandfold is not decompressed to its end."""
    (tmp_path / name).write_bytes(gzip.compress(b"prompt_id,candidate,judge_score\n" + b"p,a,1\n" * 10_000_000, 9))
    assert "MiB" in refused(capsys, tmp_path / name)


def test_a_zip_bomb_is_one_sentence(capsys, tmp_path, small):
    """A part that grows beyond the limit, or many that do together, are not read to their end."""
    zeros = b'{"a": "' + b"0" * 8_000_000 + b'"}'
    zipped(tmp_path / "one.eval", {"header.json": zeros})
    zipped(tmp_path / "many.eval", {f"samples/{n}.json": zeros[:400_000] + b'"}' for n in range(9)})
    assert "holds more than 1 MiB" in refused(capsys, tmp_path / "one.eval")
    assert "MiB" in refused(capsys, tmp_path / "many.eval")


def test_a_zstd_bomb_is_one_sentence(capsys, tmp_path, small):
    """A part in zstd is bounded too, whatever size it claims."""
    packed = pa.Codec("zstd").compress(b"[" + b" " * 20_000_000 + b"]", asbytes=True)
    whole = zipped(tmp_path / "s.eval", {"header.json": packed}, zipfile.ZIP_STORED)
    content = bytearray(whole.read_bytes())
    content[8:10] = (93).to_bytes(2, "little")
    at = content.index(b"PK\x01\x02")
    content[at + 10 : at + 12] = (93).to_bytes(2, "little")
    whole.write_bytes(content)
    assert "holds more than 1 MiB" in refused(capsys, whole)


@pytest.mark.parametrize("name", ["../out.json", "/etc/x.json", "a/../../x.json", "..\\x.json", "C:\\x.json"])
def test_a_path_that_climbs_out_is_one_sentence(capsys, tmp_path, name):
    """A part whose name leads out of its archive is refused, though nothing would be written."""
    zipped(tmp_path / "s.eval", {name: b"{}", "header.json": b'{"eval": {"task": "t"}}'})
    assert "leads out of the archive" in refused(capsys, tmp_path / "s.eval")


def test_a_link_out_of_a_folder_is_one_sentence(capsys, tmp_path):
    """A folder whose file is a link to elsewhere is refused."""
    (tmp_path / "secret.json").write_text('[{"traceId": "t"}]')
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "scores.json").symlink_to(tmp_path / "secret.json")
    assert "leads out of its folder" in refused(capsys, tmp_path / "export")


def test_a_huge_claim_of_parquet_is_one_sentence(capsys, tmp_path, monkeypatch):
    """A small file that claims more cells than memory holds is refused before they are made."""
    monkeypatch.setattr("bonwise.table.reading._MOST_CELLS", 1_000_000)
    table = pa.table({"prompt_id": pa.array(["p"] * 2_000_000).dictionary_encode()})
    pq.write_table(table, tmp_path / "s.parquet")
    assert (tmp_path / "s.parquet").stat().st_size < 10_000
    assert "2,000,000 cells, and at most 1,000,000 are read" in refused(capsys, tmp_path / "s.parquet")


def test_a_claim_of_ten_gigabytes_in_an_archive_is_one_sentence(capsys, tmp_path):
    """An archive that says that a part has 10 GB is read no further than the part goes."""
    content = bytearray(zipped(tmp_path / "s.eval", {"header.json": b"{}"}, zipfile.ZIP_STORED).read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 20 : at + 28] = (2**32 - 2).to_bytes(4, "little") * 2
    (tmp_path / "s.eval").write_bytes(content)
    assert "holds more than" in refused(capsys, tmp_path / "s.eval")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"PK", b"PK\x03\x04" + b"\0" * 40, b"{}", b"[" * 100_000),
        *(
            json.dumps({"eval": {"task": "t"}, "samples": None}).encode(),
            b'{"eval": {"task": 1}, "samples": [1, {}]}',
        ),
    ],
)
@pytest.mark.parametrize("name", ["s.eval", "s.json"])
def test_damaged_documents_are_one_sentence(capsys, tmp_path, name, content):
    """What is no document of any format is refused in one line."""
    (tmp_path / name).write_bytes(content)
    refused(capsys, tmp_path / name)


def hostile(value):
    """Return a document with every text replaced by a hostile one of the same place."""
    if isinstance(value, dict):
        return {key: hostile(one) for key, one in value.items()}
    if isinstance(value, list):
        return [hostile(one) for one in value]
    return value + HOSTILE if isinstance(value, str) and " " in value else value


@pytest.mark.usefixtures("small")
def test_a_folder_of_gzipped_files_is_bounded_after_decompression(tmp_path):
    """Each may be within its limit, and all of them together beyond that of a folder."""
    for at in range(4):
        rows = b'{"prompt_id": "p", "response": "a"}\n' * 10_000
        (tmp_path / f"part{at}.jsonl.gz").write_bytes(gzip.compress(rows))
    with pytest.raises(BonwiseError, match="holds more than 1 MiB"):
        archives.parts_of_folder(tmp_path)
    (tmp_path / "part3.jsonl.gz").unlink()
    (tmp_path / "part2.jsonl.gz").unlink()
    assert {len(rows) for rows in archives.parts_of_folder(tmp_path).values()} == {10_000}


@pytest.mark.parametrize("name", ["promptfoo.json.gz", "inspect.json.gz", "deepeval.json", "mlflow_traces.json.gz"])
def test_hostile_strings_stay_text(capsys, tmp_path, name):
    """Escapes, markup and formulas in a file reach neither the terminal nor a cell that a spreadsheet runs."""
    content = (FILES / name).read_bytes()
    document = json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
    (tmp_path / "s.json").write_text(json.dumps(hostile(document)))
    for words in (("doctor", tmp_path / "s.json"), ("doctor", tmp_path / "s.json", "--fix", tmp_path / "o.csv")):
        done = typed(capsys, *words)
        assert done.code == 0
        assert "\x1b" not in done.out + done.err
        assert "\u202e" not in done.out + done.err
    assert typed(capsys, "audit", tmp_path / "o.csv", "--html", tmp_path / "o.html").code in (0, 3)
    assert "<script>alert" not in (tmp_path / "o.html").read_text()


NAMES = [*sorted(path.name for path in FILES.glob("*.json")), "lists.jsonl", "rb.jsonl", "lm_eval.jsonl"]


@given(st.sampled_from(NAMES), st.data())
def test_a_changed_document_is_a_table_or_one_line(tmp_path_factory, name, data):
    """Whatever value stands in the place of another, a file is read or refused in one printable line."""
    text = (FILES / name).read_text()
    lines = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)
    target, key = lines, data.draw(st.sampled_from(range(len(lines)) if isinstance(lines, list) else list(lines)))
    while target[key] and isinstance(target[key], dict | list) and data.draw(st.integers(0, 4)):
        target = target[key]
        key = data.draw(st.sampled_from(range(len(target)) if isinstance(target, list) else list(target)))
    target[key] = data.draw(st.sampled_from([None, 0, -1, "", "x", [], {}, [None], {"a": []}, 1e300, True]))
    path = tmp_path_factory.mktemp("changed") / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) if name.endswith("l") else json.dumps(lines))
    said, cause = read_or_refused(path)
    assert said.isprintable()
    # What fails inside an importer would be one line too, but no sentence about the file.
    assert not isinstance(cause, AttributeError | TypeError | KeyError | ValueError), said


def test_votes_without_the_name_of_a_model(tmp_path):
    """A side that nobody named is no reason to fail."""
    content = json.loads((FILES / "alpaca_annotations.json").read_text("utf-8"))
    content[0]["generator_1"] = None
    (tmp_path / "votes.json").write_text(json.dumps(content), "utf-8")
    read_or_refused(tmp_path / "votes.json")


def read_or_refused(path):
    """Read a file, or return in one line why not, and what was behind it."""
    try:
        opened(path)
    except BonwiseError as error:
        return str(error), error.__cause__
    return "", None


def test_a_stream_is_bounded_piece_by_piece(tmp_path, small):
    """Whether it is read whole, in pieces or by lines, a gzipped file ends at its limit."""
    path = tmp_path / "s.gz"
    path.write_bytes(gzip.compress(b"x\n" * 4_000_000))
    for read in (
        lambda s: s.read(),
        lambda s: [s.read(1000) for _ in range(9000)],
        lambda s: list(io.BufferedReader(s)),
    ):
        with pytest.raises(BonwiseError, match="grows to more than"), bytes_check.open_bytes(path) as stream:
            read(stream)
