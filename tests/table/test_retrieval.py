"""Runs and labels of retrieval: TREC's and BEIR's files, what they may hold, and what is made of it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import InputError
from bonwise.table.opening import open_table
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.retrieval import is_ranking, read_ranking, rows_of_run, to_depth
from bonwise.table.sources import open_source
from bonwise.table.words import Words
from cli.commands import strict, typed

RUN = "7 Q0 d1 1 3.5 bm25\n7 Q0 d2 2 2.5 bm25\n7 Q0 d3 3 1.5 bm25\n8 Q0 d1 1 9 bm25\n8 Q0 d4 2 8 bm25\n"
QRELS = "7 0 d2 2\n7 0 d9 1\n8 0 d1 0\n9 0 d5 1\n8 0 d7 0\n"


def files(folder, run=RUN, qrels=QRELS, ending=".txt"):
    """Write a run and its labels, and return their paths."""
    paths = folder / f"run{ending}", folder / f"qrels{ending}"
    for path, text in zip(paths, (run, qrels), strict=True):
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    return paths


@pytest.mark.parametrize("ending", [".txt", ".trec", ".run", "", ".txt.gz"])
def test_golden_a_run_and_its_labels(tmp_path, ending):
    """What was not labelled counts as 0 where it is stated; labels of documents that no run holds are kept apart."""
    run, qrels = files(tmp_path, ending=ending)
    table = open_table(run, ReadingOptions(labels=qrels, unlabelled_is=0))
    assert table.judges == ("bm25",)
    assert table.rows.columns["judge_score"].tolist() == [3.5, 2.5, 1.5, 9.0, 8.0]
    assert table.rows.columns["oracle_label"].tolist() == [0, 2, 0, 0, 0]
    assert sorted(zip(table.unretrieved.prompts, table.unretrieved.names, table.unretrieved.labels, strict=True)) == [
        ("7", "d9", 1.0),
        ("8", "d7", 0.0),
        ("9", "d5", 1.0),
    ]
    assert table.labels_left_out == {"prompts": 1, "rows": 1}
    assert table.readings["file"] == "TREC run: scores decide, its column of ranks does not"


def test_golden_ndcg_and_recall_count_every_topic_of_the_labels(tmp_path):
    """Topic 7: 2 / log2 3 of an ideal 2 + 1 / log2 3, one of two relevant; 8 has none, and 9 is not in the run."""
    run, qrels = files(tmp_path)
    audit = bw.audit(run, labels=qrels, unlabelled_is=0, top=2, shape="ragged")
    ideal = 2 + 1 / 1.584962500721156
    assert audit["ndcg"].estimate == pytest.approx(2 / 1.584962500721156 / ideal / 3)
    assert audit["recall"].estimate == pytest.approx(1 / 2 / 3)
    kept = audit.data.kept
    assert (kept.topics, kept.not_retrieved, kept.without_relevant, kept.documents_not_retrieved) == (3, 1, 1, 3)


def test_ranks_decide_where_they_are_named(tmp_path):
    """A run whose scores say nothing is read by its ranks."""
    run, qrels = files(tmp_path, run=RUN.replace(" 3.5 ", " 0 ").replace(" 2.5 ", " 0 ").replace(" 1.5 ", " 0 "))
    table = open_table(run, ReadingOptions(columns={"judge_score": "rank"}, lower_is_better=True, labels=qrels))
    assert table.rows.columns["judge_score"].tolist() == [-1, -2, -3, -1, -2]


def test_labels_of_beir_are_qrels_too(tmp_path):
    """A header of three names, in any order."""
    run, _ = files(tmp_path)
    labels = tmp_path / "test.tsv"
    labels.write_text("query-id\tcorpus-id\tscore\n7\td2\t2\n7\td9\t1\n8\td1\t0\n9\td5\t1\n", "utf-8")
    table = open_table(run, ReadingOptions(labels=labels, unlabelled_is=0))
    assert table.rows.columns["oracle_label"].tolist() == [0, 2, 0, 0, 0]
    assert sorted(table.unretrieved.prompts) == ["7", "9"]


def test_a_label_file_of_rows_still_may_not_label_strangers(tmp_path):
    """Only qrels label what a run does not hold: elsewhere it is a mistake."""
    run, _ = files(tmp_path)
    labels = tmp_path / "labels.csv"
    labels.write_text("prompt_id,candidate,oracle_label\n7,d2,1\n7,d9,1\n", "utf-8")
    with pytest.raises(InputError, match="1 label rows match no scored candidate"):
        open_table(run, ReadingOptions(labels=labels))


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        (RUN + "7 Q0 d9 4\n", QRELS, r"row 6: 4 fields, and the lines before have 6"),
        (RUN, QRELS + "7 0 d2 1\n", r"row 6: '7' / 'd2' is labelled again \(first in row 1\)"),
        (RUN, QRELS + "7 0 d9 0\n", r"row 6: '7' / 'd9' is labelled again \(first in row 2\)"),
        (RUN + "7 Q0 d1 4 1 bm25\n", QRELS, r"row 6: '7' / 'd1' is scored again by 'bm25' \(first in row 1\)"),
        (RUN + "7 Q0 d9 4 high bm25\n", QRELS, r"row 6"),
        (RUN.replace("3.5", "inf"), QRELS, r"row 1: judge_score holds 'inf'"),
        (RUN, "", "qrels.txt: the file is empty"),
        (RUN, " \n", "qrels.txt: no rows"),
        (RUN, QRELS.replace("d2 2", "d2 inf"), r"row 1: oracle_label holds 'inf'"),
        ("a text\n", QRELS, "unknown kind of file"),
        ("\0\1\2", QRELS, "unknown kind of file"),
        (RUN.replace("bm25", "x" * 100) + "\0", QRELS, "NUL byte"),
    ],
)
def test_what_is_no_run_is_one_clear_error(tmp_path, run, qrels, message):
    """A line says which, and how to mend it."""
    paths = files(tmp_path, run=run, qrels=qrels)
    with pytest.raises(InputError, match=message):
        open_table(paths[0], ReadingOptions(labels=paths[1], unlabelled_is=0))


@pytest.mark.parametrize("cell", ["nan", "NaN", "-nan"])
def test_a_score_that_is_not_a_number_leaves_its_document_unscored(tmp_path, cell):
    """Also where it is the first of the run: the document stays, and its reason repeats the score."""
    run, qrels = files(tmp_path, run=RUN.replace("3.5", cell))
    unscored = bw.audit(run, labels=qrels, unlabelled_is=0).data.unscored
    assert (unscored.candidates, unscored.prompts) == (1, 1)
    assert unscored.reasons == {f"the run's score is {cell}": 1}


def test_golden_depth_keeps_the_first_documents_by_rank(tmp_path, capsys):
    """Of 3 and 2 documents the first two by rank are kept, whatever their scores; the label of the third counts."""
    run, qrels = files(tmp_path, run=RUN.replace(" 1.5 ", " 99 "), qrels=QRELS + "7 0 d3 1\n")
    table = open_table(run, ReadingOptions(labels=qrels, unlabelled_is=0, depth=2))
    assert table.rows.columns["candidate"].to_numpy().tolist() == ["d1", "d2", "d1", "d4"]
    assert sorted(table.unretrieved.names) == ["d3", "d5", "d7", "d9"]
    output = typed(capsys, "audit", run, "--labels", qrels, "--unlabelled-is", "0", "--depth", "2").out
    assert "a pool is the first 2 by rank, which cuts 1 of 5 rows" in " ".join(output.split())


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("pqr"), st.sampled_from("abcdef")), st.integers(0, 4), min_size=1, max_size=12
    ),
    st.integers(1, 4),
)
def test_depth_keeps_what_loops_keep(ranks, depth):
    """Equal ranks stay together: a document stays where fewer than K others have a lower rank."""
    frame = pd.DataFrame(
        [{"prompt_id": p, "candidate": d, "judge_score": 1, "rank": rank} for (p, d), rank in ranks.items()]
    )
    opened = open_source(frame, {})
    kept, note = to_depth(opened.rows, {"prompt_id": "prompt_id"}, depth, "table")
    expected = [
        key
        for key, rank in ranks.items()
        if sum(other[0] == key[0] and lower < rank for other, lower in ranks.items()) < depth
    ]
    names = (kept.columns[name].to_numpy().tolist() for name in ("prompt_id", "candidate"))
    assert [*zip(*names, strict=True)] == expected
    assert f"{len(ranks) - len(expected)} of {len(ranks)} rows" in note
    assert ("share the last rank" in note) == any(
        sum(key[0] == prompt for key in expected) > depth for prompt, _ in ranks
    )


def test_a_depth_of_nothing_and_a_topic_twice_are_refused(tmp_path, capsys):
    """A 0 is no absent flag, and of two topics of one name none may win."""
    run, twice = tmp_path / "run.json", tmp_path / "twice.json"
    run.write_text('{"q1": {"d1": 2, "d2": 1}}')
    twice.write_text('{"q1": {"d1": 2, "d2": 1}, "q1": {"d3": 2, "d2": 1}}')
    done = typed(capsys, "audit", run, "--depth", "0")
    assert (done.code, "depth is 0" in done.err) == (2, True)
    done = typed(capsys, "audit", twice)
    assert (done.code, "twice.json: the key 'q1' occurs twice in one object" in done.err) == (2, True)


def test_depth_without_ranks_is_refused(tmp_path):
    """A table of scores says nothing of a first stage; 0 keeps nothing."""
    path = tmp_path / "scores.csv"
    path.write_text("prompt_id,candidate,judge_score,oracle_label\n7,a,1,1\n7,b,2,0\n", "utf-8")
    with pytest.raises(InputError, match="no column rank, by which --depth keeps"):
        bw.audit(path, depth=1)
    with pytest.raises(InputError, match="depth is 0"):
        bw.audit(path, depth=0)


def test_a_run_and_labels_in_json(tmp_path):
    """As BEIR and ranx write them: the same rows as TREC's, unscored where there is no number, cut by score."""
    run, qrels = tmp_path / "run.json", tmp_path / "qrels.json"
    run.write_text('{"7": {"d1": 3.5, "d2": 2.5, "d3": NaN, "d6": null}, "8": {"d1": 9, "d4": 8}}', "utf-8")
    qrels.write_text('{"7": {"d2": 2, "d9": 1}, "8": {"d1": 0, "d7": 0}, "9": {"d5": 1}}', "utf-8")
    options = ReadingOptions(labels=qrels, unlabelled_is=0)
    table = open_table(run, options)
    assert table.rows.columns["judge_score"].tolist() == pytest.approx(
        [3.5, 2.5, *2 * [float("nan")], 9, 8], nan_ok=True
    )
    assert table.rows.columns["oracle_label"].tolist() == [0, 2, 0, 0, 0, 0]
    assert sorted(table.unretrieved.names) == ["d5", "d7", "d9"]
    assert bw.audit(run, labels=qrels, unlabelled_is=0).data.unscored.reasons == {
        "the run's score is nan": 1,
        "the run's score is null": 1,
    }
    cut = open_table(run, replace(options, depth=1))
    assert cut.rows.columns["candidate"].to_numpy().tolist() == ["d1", "d1"]
    assert "a pool is the first 1 by score, which cuts 4 of 6 rows" in cut.readings["file"]


def test_keys_that_name_columns_are_no_run(tmp_path):
    """An object by prompt whose keys are names of scores has a column for each."""
    path = tmp_path / "wide.json"
    path.write_text(
        json.dumps({str(x): {"gpt_score": x, "claude_score": 1, "human": x % 2} for x in range(3)}), "utf-8"
    )
    assert rows_of_run(json.loads(path.read_text("utf-8"))) is None


def beir(folder, splits=("test", "dev")):
    """Write a folder as BEIR has it, and return it."""
    (folder / "qrels").mkdir(parents=True)
    for split in splits:
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n7\td2\t2\n8\td1\t0\n", "utf-8")
    corpus = [{"_id": f"d{x}", "title": "" if x % 2 else "A title", "text": "word " * x} for x in range(9)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in corpus), "utf-8")
    queries = [{"_id": "7", "text": "seven?"}, {"_id": "99", "text": "unused"}, {"_id": "8", "text": "eight?"}]
    (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in queries), "utf-8")
    return folder


def test_a_folder_of_beir_holds_labels_and_texts(tmp_path):
    """Labels are those of the test split, which is said; texts are those of the run's documents, the title first."""
    run, _ = files(tmp_path)
    folder = beir(tmp_path / "beir")
    table = open_table(run, ReadingOptions(labels=folder, unlabelled_is=0))
    assert table.rows.columns["oracle_label"].tolist() == [0, 2, 0, 0, 0]
    assert table.readings["oracle_label"] == f"labels of {folder / 'qrels' / 'test.tsv'}"
    words = Words(table, folder).of(["7"])
    assert words["7"].prompt == "seven?"
    assert words["7"].texts == {"d1": "word ", "d2": "A title word word ", "d3": "word " * 3}


def test_labels_of_several_splits_are_never_chosen(tmp_path):
    """Without a test split the only file counts, and of several none."""
    run, _ = files(tmp_path)
    assert open_table(run, ReadingOptions(labels=beir(tmp_path / "a", ["dev"]), unlabelled_is=0)).has_labels
    with pytest.raises(InputError, match=r"no qrels/test.tsv; its folder qrels holds dev.tsv, train.tsv"):
        open_table(run, ReadingOptions(labels=beir(tmp_path / "b", ["dev", "train"])))
    folder = beir(tmp_path / "c")
    (folder / "queries.jsonl").write_text('{"id": "7"}\n', "utf-8")
    words = Words(open_table(run, ReadingOptions(labels=folder)), folder)
    with pytest.raises(InputError, match=r"queries.jsonl, row 1: no _id and text"):
        words.of(["7"])


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=5)


@given(st.dictionaries(st.tuples(NAMES, NAMES), st.integers(-2, 4), min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory, labels):
    """Names of any letters without blanks come back as they were written."""
    path = tmp_path_factory.mktemp("qrels") / "qrels"
    lines = [f"{topic}\t0 {name}  {label}\n" for (topic, name), label in labels.items()]
    path.write_text("".join(lines), "utf-8")
    assert is_ranking(path)
    rows = read_ranking(path)
    read = zip(
        *(rows.columns[name].to_numpy().tolist() for name in ("prompt_id", "candidate", "oracle_label")), strict=True
    )
    assert [(topic, name, int(label)) for topic, name, label in read] == [
        (*key, label) for key, label in labels.items()
    ]


FIGURES = ("prompts", "recovery", "hit_rate", "within_r", "value_random", "value_judge", "value_oracle")


def test_the_shared_run_gives_its_figures(shared, tmp_path, capsys):
    """Anserini's run and its labels, by the flag of the convention."""
    shapes = shared / "data" / "shapes"
    expected = json.loads((shapes / "expected.json").read_text("utf-8"))
    for name, arguments in {
        "trec.run.txt + trec.qrels.txt": [shapes / "trec.run.txt", "--labels", shapes / "trec.qrels.txt"],
        "unjudged_documents.csv": [shapes / "unjudged_documents.csv"],
    }.items():
        typed(capsys, "audit", *arguments, "--unlabelled-is", "0", "--json", tmp_path / "a.json")
        found = strict((tmp_path / "a.json").read_text("utf-8"))
        given_figures = {figure: expected[name][figure] for figure in FIGURES[1:]}
        assert {figure: found["metrics"][figure]["estimate"] for figure in FIGURES[1:]} == pytest.approx(
            given_figures, abs=1e-6
        )
        assert found["data"]["prompts"] == expected[name]["prompts"]


def test_a_bare_flag_turns_every_score(tmp_path, capsys):
    """Without a name the flag is of all scores, before another flag and at the end."""
    path = tmp_path / "ranks.csv"
    rows = [f"q{x},{name},{rank},{rank == 1:d}" for x in range(30) for rank, name in enumerate("abc", start=1)]
    path.write_text("\n".join(["prompt_id,candidate,judge_score,oracle_label", *rows]), "utf-8")
    for arguments in (["--lower-is-better", "--json", "-"], ["--json", "-", "--lower-is-better"]):
        found = strict(typed(capsys, "audit", path, *arguments).out)
        assert found["metrics"]["recovery"]["estimate"] == 1.0
        assert found["settings"]["lower_is_better"] == ["judge_score"]
    assert bw.audit(path, lower_is_better=True)["recovery"].estimate == 1.0
