from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from auditing.tables import cohort, losing, parts, table, two_judges
from bonwise.auditing.front import audit
from bonwise.auditing.worst_prompts import MOST_BYTES, MOST_ROWS, prompt_rows
from bonwise.report.page.environment import LONGEST_NAME, page_bytes
from bonwise.table.words import Words


def rows_of(frame, *, words=True, **options):
    """Return the prompts that an audit of a frame would show."""
    found = audit(frame, **options)
    return prompt_rows(tuple(parts(found).judges.values()), Words(found.table) if words else None), found


def spoken(frame, length=10):
    """Add words to a table."""
    return frame.assign(
        prompt="ask " + frame["prompt_id"].astype(str),
        text=frame["candidate"].astype(str) + "t" * length,
        raw="said " + frame["candidate"].astype(str),
    )


def test_a_row_holds_the_pool_with_its_words():
    """A row says what was picked and best, what that cost, and of each candidate scores, labels and words."""
    frame = spoken(table([([0.9, 0.9, 0.1], [0.2, 0.4, 1.0]), ([0.5, 0.1], [0, 0.5]), ([0.5, 0.1], [1, 0])]))
    found, _ = rows_of(frame, shape="ragged")
    first, second = found["rows"]
    assert (found["of"], found["without_loss"], found["unknown_loss"]) == (2, 1, 0)
    assert (first["prompt_id"], first["pick"], first["best"], first["tied"]) == ("p000", "c0 | c1", "c2", 2)
    assert (first["value_pick"], first["gain_lost"], first["margin"]) == pytest.approx((0.3, 0.7, 0.0))
    assert first["prompt"] == "ask p000"
    assert [(one["id"], one["score"], one["label"]) for one in first["candidates"]] == [
        ("c0", 0.9, 0.2),
        ("c1", 0.9, 0.4),
        ("c2", 0.1, 1.0),
    ]
    assert [(one["picked"], one["best"]) for one in first["candidates"]] == [(1, 0), (1, 0), (0, 1)]
    assert (first["candidates"][1]["text"], first["candidates"][1]["raw"]) == ("c1" + "t" * 10, "said c1")
    assert (second["prompt_id"], second["gain_lost"], second["words_left_out"]) == ("p001", 0.5, False)


def test_rows_stand_in_the_order_of_the_table_of_prompts():
    """Rows of all judges stand as `per_prompt` puts them; none is without a loss, and 200 are shown."""
    found, audited = rows_of(two_judges(300), words=False)
    expected = audited.per_prompt()
    expected = expected[expected["gain_lost"] > 1e-9]
    assert (len(found["rows"]), found["of"]) == (MOST_ROWS, len(expected)) == (200, 600 - found["without_loss"])
    assert [row["prompt_id"] for row in found["rows"]] == expected["prompt_id"].tolist()[:MOST_ROWS]
    assert [row["judge"] for row in found["rows"]] == expected["judge"].tolist()[:MOST_ROWS]
    assert found["rows"][0]["prompt"] is None


def test_long_texts_are_cut_and_counted():
    """A text of pick and best is cut at 4,000 characters, of others at 1,000; each says how many are missing."""
    frame = spoken(losing(3), length=5000).assign(raw="r" * 4001, prompt="q" * 4100)
    row = rows_of(frame)[0]["rows"][0]
    one, other, _, picked = row["candidates"]
    assert (one["best"], picked["picked"]) == (True, True)
    assert (len(other["text"]), other["text_left_out"], other["raw_left_out"]) == (1000, 4002, 3001)
    assert (len(picked["text"]), picked["text_left_out"]) == (4000, 1002)
    assert (len(row["prompt"]), row["prompt_left_out"]) == (4000, 100)
    assert (len(one["text"]), one["text_left_out"]) == (4000, 1002)
    assert (len(one["raw"]), one["raw_left_out"]) == (4000, 1)


def test_words_end_where_there_is_no_room_for_more():
    """All rows together take 1,200,000 bytes at most; the later ones come without words and say so."""
    found, _ = rows_of(spoken(losing(220), length=4000))
    said = [row["words_left_out"] for row in found["rows"]]
    assert said == sorted(said)
    assert 0 < sum(said) < MOST_ROWS == len(said)
    total = sum(
        len(row["prompt"] or "") + sum(len(one["text"] or "") + len(one["raw"] or "") for one in row["candidates"])
        for row in found["rows"]
    )
    assert 1_000_000 < total <= MOST_BYTES == 1_200_000
    assert found["rows"][-1]["prompt"] is None
    assert found["rows"][-1]["candidates"][0]["score"] is not None


def test_a_row_that_never_had_words_lacks_none():
    """Where there is no room rows with words say that these are missing, and rows without any say nothing."""
    frame = spoken(losing(180)).assign(text="<" * 4000)
    silent = set(frame["prompt_id"].unique()[::2])
    frame.loc[frame["prompt_id"].isin(silent), ["prompt", "text", "raw"]] = None
    rows = rows_of(frame)[0]["rows"]
    lacking = [at for at, row in enumerate(rows) if row["words_left_out"]]
    assert lacking
    assert not any(rows[at]["prompt_id"] in silent for at in lacking)
    assert any(row["prompt_id"] in silent for row in rows[lacking[0] :])


@pytest.mark.parametrize("letter", ["\u4e2d", "<", '"', "\u202e"])
def test_room_is_counted_in_bytes_as_they_are_written(letter):
    """Letters of several bytes, marks that are escaped and what is written out leave room for fewer rows."""
    found, _ = rows_of(spoken(losing(220)).assign(text=letter * 3000))
    shown = [one["text"] for row in found["rows"] for one in row["candidates"] if one["text"]]
    assert 950_000 < sum(map(page_bytes, shown)) <= MOST_BYTES
    assert found["rows"][-1]["words_left_out"]


def test_long_names_are_cut_and_find_their_words():
    """A name is cut at 300 characters wherever it stands; words are those of the whole name."""
    frame = spoken(losing(12))
    frame["prompt_id"] = frame["prompt_id"].astype(str) + "p" * 4000
    frame["candidate"] = "c" * 4000 + frame["candidate"].astype(str)
    row = rows_of(frame)[0]["rows"][0]
    assert {len(row["prompt_id"]), *(len(one["id"]) for one in row["candidates"])} == {LONGEST_NAME}
    assert max(len(row["pick"]), len(row["best"])) <= LONGEST_NAME + 6
    assert len({one["text"] for one in row["candidates"]}) == 4
    assert row["prompt"].startswith("ask p0")


def test_names_that_do_not_fit_leave_their_candidates_out():
    """Names that alone would fill the page are counted in place of shown, and every row keeps its figures."""
    frame = table([(np.linspace(0, 1, 40), np.linspace(1, 0, 40))] * 300)
    frame["candidate"] = '"' * 400 + frame["candidate"].astype(str) + '"' * 400
    frame["candidate"] = frame["candidate"].str.slice(300)
    found, _ = rows_of(frame, words=False)
    kept = sum(page_bytes(one["id"]) for row in found["rows"] for one in row["candidates"])
    assert 800_000 < kept <= MOST_BYTES
    last = found["rows"][-1]
    assert (last["candidates"], last["candidates_left_out"], last["gain_lost"]) == ([], 40, 1.0)


def test_of_large_pools_the_telling_candidates_are_shown():
    """Of 60 candidates 40 are shown: the picked first, then the best, then the others by score."""
    scores = np.linspace(0, 1, 60)
    labels = np.where(np.arange(60) == 3, 1.0, 0.5)
    row = rows_of(table([(scores, labels)] * 2), words=False)[0]["rows"][0]
    shown = [one["id"] for one in row["candidates"]]
    assert [int(name[1:]) for name in shown] == [59, 3, *range(58, 20, -1)]
    assert row["candidates_left_out"] == 20


def test_many_ties_are_counted_in_their_row():
    """Of twelve tied picks a row names three and counts the others; all twelve come first inside."""
    scores = np.where(np.arange(30) % 2 == 1, 0.9, 0.1)
    scores[25:] = 0.2
    row = rows_of(table([(scores, np.linspace(0, 1, 30))] * 2), words=False)[0]["rows"][0]
    assert (row["pick"], row["pick_more"], row["tied"]) == ("c1 | c11 | c13", 9, 12)
    assert (row["best"], row["best_more"]) == ("c29", 0)
    assert [one["picked"] for one in row["candidates"]] == [True] * 12 + [False] * 18
    assert row["candidates"][12]["best"]


def test_many_ties_leave_room_for_the_best():
    """Of fifty tied picks twenty come first, then the best, which is none of them, then more of the picks."""
    scores, labels = np.where(np.arange(60) < 50, 0.9, 0.1), np.where(np.arange(60) == 55, 1.0, 0.5)
    row = rows_of(table([(scores, labels)] * 2), words=False)[0]["rows"][0]
    assert [one["picked"] for one in row["candidates"]] == [True] * 20 + [False] + [True] * 19
    assert row["candidates"][20]["best"]


def test_prompts_without_labels_are_counted():
    """Partly labelled pools have no row, because nothing is known of their loss, and are counted apart."""
    frame = cohort(40, unlabelled=10)
    frame.loc[frame.index[-1], "oracle_label"] = 0.7
    found, _ = rows_of(frame, words=False)
    assert found["unknown_loss"] == 10
    assert found["of"] + found["without_loss"] == 30
    assert all(row["gain_lost"] > 0 for row in found["rows"])
    json.dumps(found.to_dict(), allow_nan=False)


def test_logged_picks_have_no_scores(tmp_path):
    """What was kept is picked; a pick says nothing of scores and margins."""
    lines = [{"prompt_id": f"p{x}", "ids": ["a", "b"], "best": "b"} for x in range(12)]
    path = tmp_path / "picks.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    labels = pd.DataFrame(
        [(f"p{x}", name, float(name == "a")) for x in range(12) for name in "ab"],
        columns=["prompt_id", "candidate", "oracle_label"],
    )
    found = audit(path, labels=labels)
    row = prompt_rows(tuple(parts(found).judges.values()), None)["rows"][0]
    assert row["margin"] is None
    assert [(one["score"], one["picked"], one["best"]) for one in row["candidates"]] == [
        (None, False, True),
        (None, True, False),
    ]
