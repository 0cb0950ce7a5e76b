"""Files that are refused: each by one sentence, which the page of tables repeats."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["REFUSALS", "Refusal"]


@dataclass(frozen=True)
class Refusal:
    """One file.

    Parameters
    ----------
    what : str
        What is wrong with it.
    name : str
    content : callable
        Returns its bytes.
    says : str
        Words of the sentence, written by hand.
    """

    what: str
    name: str
    content: Callable[[], bytes]
    says: str


HEAD = "prompt_id,candidate,judge_score\n"


def _text(words):
    return words.encode


def _document(value):
    return lambda: json.dumps(value).encode()


def _zip(parts):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _bomb():
    """Return a gzip file of many parts, which grows to 640 MiB."""
    return gzip.compress(HEAD.encode()) + gzip.compress(b"p,a,1\n\n" * 2**20, 9) * 80


def _claim():
    """Return an archive whose only part claims 4 GiB."""
    content = bytearray(_zip({"header.json": b"{}"}))
    at = content.index(b"PK\x01\x02")
    content[at + 20 : at + 28] = (2**32 - 2).to_bytes(4, "little") * 2
    return bytes(content)


RUN = {"eval": {"task": "t"}, "samples": [{"id": "q", "epoch": 1, "scores": {}}]}
CASE = {"name": "c", "input": "q", "actualOutput": "a", "success": True, "metricsData": []}
TRACE = [{"info": {"trace_id": "t", "request_preview": "q", "assessments": []}, "data": {"spans": []}}]

REFUSALS = (
    Refusal("an empty file", "scores.csv", _text(""), "the file is empty"),
    Refusal("a header alone", "scores.csv", _text(HEAD), "no rows"),
    Refusal("another encoding", "scores.csv", lambda: HEAD.encode() + b"p,\x81,1\n", "not UTF-8"),
    Refusal("a binary file", "scores.csv", lambda: HEAD.encode() + b"p\0,a,1\n", "binary"),
    Refusal("a row with too many cells", "scores.csv", _text(HEAD + "p,a,1,2\n"), "row 2"),
    Refusal(
        "two columns of one name", "scores.csv", _text("prompt_id,candidate,score,score\np,a,1,2\n"), "two columns"
    ),
    Refusal("too many columns", "scores.csv", _text(",".join(map(str, range(2001))) + "\n"), "more than 2,000"),
    Refusal("words for a score", "scores.csv", _text(HEAD + "p,a,good\np,b,1\n"), "row 2"),
    Refusal("a row without a prompt", "scores.csv", _text(HEAD + "p,a,1\n,b,1\n"), "row 3"),
    Refusal("a candidate scored twice", "scores.csv", _text(HEAD + "p,a,1\np,a,2\np,b,1\n"), "row 3"),
    Refusal("a changed key of a label sheet", "sheet.csv", _text("sheet_key,oracle_label\nk123,4\n"), "sheet_key"),
    Refusal("a line that is not JSON", "scores.jsonl", _text('{"prompt_id": "p"\n'), "row 1"),
    Refusal("a key twice in an object", "scores.jsonl", _text('{"prompt_id": "p", "prompt_id": "q"}\n'), "row 1"),
    Refusal("JSON that breaks off", "scores.json", _text('[{"prompt_id": "p"'), "not JSON"),
    Refusal("JSON of another kind", "scores.json", _text("3"), "neither a list of objects"),
    Refusal("JSON nested without end", "scores.json", _text("[" * 100_000), "nested too deeply"),
    Refusal("half a surrogate pair", "scores.json", _text('[{"prompt_id": "\\ud800"}]'), "surrogate"),
    Refusal("no Parquet inside", "scores.parquet", _text("PAR1"), "scores.parquet"),
    Refusal("an unknown ending", "scores.docx", _text("x"), "unknown kind of file"),
    Refusal("a gzip bomb", "scores.csv.gz", _bomb, "MiB"),
    Refusal("no gzip inside", "scores.csv.gz", _text("x"), "scores.csv.gz"),
    Refusal("a zip bomb", "log.eval", lambda: _zip({"header.json": b" " * 513 * 2**20}), "holds more than 512 MiB"),
    Refusal("a part that claims 4 GiB", "log.eval", _claim, "holds more than 512 MiB"),
    Refusal("a part that leads out", "log.eval", lambda: _zip({"../x.json": b"{}"}), "leads out of the archive"),
    Refusal("no archive inside", "log.eval", _text("x"), "not a complete zip archive"),
    Refusal("an Inspect log without scores", "log.json", _document(RUN), "Inspect log"),
    Refusal("a DeepEval run without metrics", "run.json", _document({"testCases": [CASE]}), "DeepEval"),
    Refusal("MLflow traces without assessments", "traces.json", _document(TRACE), "MLflow"),
)
