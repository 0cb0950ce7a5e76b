from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bonwise.doctoring.front import doctor
from cli.commands import scored, written
from documents.round_trips import read_back, refusal


def looked_over(folder, *, labelled=True, judges=("j",), lacking=(), pairs=6):
    """Return the document of a file of twice as many prompts as there are pairs; some lack a candidate."""
    rows = [
        {**row, "judge": judge}
        for judge in judges
        for row in scored([[0.9, 0.5, 0.5], [0.4, 0.6, 0.2]] * pairs, [[1, 0.7, 0]] * 2 * pairs)
    ]
    kept = [row for row in rows if (row["prompt_id"], row["candidate"]) not in lacking]
    if not labelled:
        kept = [{key: value for key, value in row.items() if key != "oracle_label"} for row in kept]
    return doctor(written(folder / "scores.csv", kept))


@pytest.mark.parametrize("labelled", [True, False])
def test_what_is_written_is_read_back(tmp_path, labelled):
    """A file with labels and one without are read back; a frame has one row per judge."""
    document = looked_over(tmp_path, labelled=labelled, judges=("j", "k"))
    loaded = read_back(document, tmp_path)
    assert list(loaded.to_frame()["judge"]) == ["j", "k"]
    assert loaded.to_frame()["tie_rate"].tolist() == [judge.tie_rate for judge in document.judges]


def test_keys_that_say_nothing_are_absent(tmp_path):
    """Without labels nothing is said of their ends."""
    labels = looked_over(tmp_path, labelled=False).to_dict()["labels"]
    assert list(labels)[-1] == "unlabelled_prompts"
    assert "lowest" in looked_over(tmp_path).to_dict()["labels"]


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ("shape", "square", "shape"),
        ("counts.rows", -1, "counts.rows"),
        ("judges.0.tie_rate", 1.5, "judges[0].tie_rate"),
        ("judges.0", {"judge": "j", "prompts": 3}, "judges[0]"),
        ("judges.0.prompts", 0, "judges[0]"),
        ("labels.distinct", ..., "labels"),
        ("labels.labelled_rows", 0, "labels"),
        ("dropped", {"lacks c1": 0.5}, "dropped.lacks c1"),
        ("next_command", ..., "next_command"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, named):
    """A value that no file has is refused, and its place is named."""
    assert f"tampered.json: {named}" in refusal(looked_over(tmp_path), tmp_path, keys, value)


def test_reasons_stand_in_one_order(tmp_path):
    """What an audit drops is counted in the order of the file, whatever the seed of hashes is."""
    names = [f"c{at % 3}" for at in range(6)]
    lacking = {(f"p{at:03d}", name) for at, name in enumerate(names)}
    found = looked_over(tmp_path, lacking=lacking, pairs=40).dropped
    assert found == {"lacks c0": 2, "lacks c1": 2, "lacks c2": 2}
    code = "import sys; from bonwise.doctoring.front import doctor; print(list(doctor(sys.argv[1]).dropped))"
    orders = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "scores.csv")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert orders == {f"{list(found)}\n"}
