from __future__ import annotations

import copy
import json

import pandas as pd
import pytest

from bonwise.comparing.front import compare
from bonwise.comparing.result import PickComparison
from cli.commands import scored, written
from documents.round_trips import read_back, refusal

SCORES = scored([[0.9, 0.1], [0.2, 0.2], [0.3, 0.8]] * 12, [[1, 0], [0.4, 0.6], [0.9, 0.1]] * 12)


def picks(path, at, prompts=36, **spent):
    """Write picks of one candidate of every pool, with what they took where that is given."""
    line = {"ids": ["c0", "c1"], "best": f"c{at}", "level": [], **spent}
    path.write_text("".join(json.dumps({"prompt_id": f"p{x:03d}", **line}) + "\n" for x in range(prompts)), "utf-8")
    return path


def result(folder, prompts=36, names=("a.jsonl", "b.jsonl")):
    """Compare the first candidates with the second ones, one prompt less; labels may end before the picks."""
    keys = ("prompt_id", "candidate", "oracle_label")
    labels = written(folder / "labels.csv", [{key: row[key] for key in keys} for row in SCORES[: 2 * prompts]])
    spent = {"answers": 2, "from_ledger": 0, "output_tokens": 20}
    first = picks(folder / names[0], 0, **spent, input_tokens=80)
    return compare(first, picks(folder / names[1], 1, 35, **spent, input_tokens=81), labels=labels)


@pytest.fixture
def document(tmp_path):
    """Return the document of a comparison."""
    return result(tmp_path)


def changed(document, change):
    """Return a document after its plain form was changed."""
    plain = copy.deepcopy(document.to_dict())
    change(plain)
    return PickComparison.model_validate(plain)


def test_what_is_written_is_read_back(tmp_path):
    """A document is read back with the frame of the result: a row per metric, both sides and the difference."""
    found = result(tmp_path)
    loaded = read_back(found, tmp_path)
    frame = loaded.to_frame()
    pd.testing.assert_frame_equal(frame, found.to_frame())
    gain = frame.set_index("metric").loc["gain"]
    assert gain["first"] - gain["second"] == pytest.approx(gain["difference"])
    assert (gain["difference_low"], gain["n"]) == (found.differences["gain"].low, 35)


def test_keys_that_say_nothing_are_absent(document):
    """Labels that were left out are a key where there are some; reasons are where figures are missing."""
    plain = document.to_dict()
    assert "labels_left_out" not in plain["settings"]
    assert "reason" not in plain["differences"]["gain"]
    assert plain["differences"]["value_random"]["reason"] == "the same pools"
    assert plain["first"]["only_here"] == ["p035"]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("prompts", -1),
        ("first.calls", 1.5),
        ("first.picks", ...),
        ("second.metrics.gain.estimate", "0.5"),
        ("second.only_here", "p1"),
        ("differences.gain.n", None),
        ("dropped", {}),
        ("settings.confidence", 95.0),
        ("settings.shape", "round"),
        ("settings.more", 1),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, document, keys, value):
    """A value of another kind, a missing key and an unknown one are refused by their name."""
    assert keys in refusal(document, tmp_path, keys, value)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("differences.hit_rate", "differences lacks hit_rate"),
        ("first.metrics.gain", "gain is in one of first.metrics and differences"),
        ("second.metrics.calls_per_prompt", "calls_per_prompt is in one of second.metrics"),
    ],
)
def test_a_metric_stands_on_both_sides_and_as_a_difference(tmp_path, document, keys, said):
    """A metric that one of the three lacks is named."""
    assert said in refusal(document, tmp_path, keys, ...)
