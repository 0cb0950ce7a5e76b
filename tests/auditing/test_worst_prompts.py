"""The prompts where a judge loses most, and what else the page of an audit holds of single prompts."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort, losing, parts, table, two_judges
from bonwise.auditing.exhibits import spread
from bonwise.auditing.front import audit
from bonwise.auditing.page import audit_page
from bonwise.auditing.worst_prompts import MOST_BYTES, MOST_ROWS, prompt_rows
from bonwise.errors import FileError, UsageError
from bonwise.report.page.environment import page_bytes
from bonwise.report.samples import LONGEST_NAME
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


def test_a_study_given_beside_stands_in_place_of_the_one_of_the_page(tmp_path):
    """A study of one name is on the page once, with the settings that were asked for, and no address is twice."""
    frame = cohort(30)
    path = tmp_path / "audit.html"
    bw.audit(frame).to_html(path, also=[bw.study_requirements(frame, targets=[0.35])])
    shown = path.read_text("utf-8")
    assert len(re.findall("<h2><bdi>What a wanted recovery takes</bdi></h2>", shown)) == 1
    assert "35%" in shown
    ids = re.findall(r'<[^>]*?\bid="([^"]*)"', shown)
    assert len(ids) == len(set(ids))


def test_a_drawing_that_stands_on_a_page_twice_has_addresses_of_its_own(tmp_path):
    """The same study twice repeats no id, and every reference inside a drawing still finds its own."""
    frame = two_judges(30)
    path = tmp_path / "audit.html"
    bw.audit(frame).to_html(path, also=[bw.study_requirements(frame), bw.study_requirements(frame)])
    shown = path.read_text("utf-8")
    ids = re.findall(r'<[^>]*?\bid="([^"]*)"', shown)
    assert len(ids) == len(set(ids))
    for svg in re.findall(r"<svg.*?</svg>", shown, re.DOTALL):
        own = set(re.findall(r'\bid="([^"]*)"', svg))
        assert set(re.findall(r'url\(#([^)]*)\)|xlink:href="#([^"]*)"', svg)) <= {
            pair for name in own for pair in ((name, ""), ("", name))
        }


def test_points_of_a_scatter_are_drawn_with_the_seed_of_the_audit(tmp_path, monkeypatch):
    """Where there are more points than a scatter holds those that are shown are chosen by the audit's own seed."""
    given = []

    def kept(document, exhibits, *more, **named):
        given.append(exhibits.judges["judge"].spread)
        return audit_page(document, exhibits, *more, **named)

    monkeypatch.setattr("bonwise.auditing.page.audit_page", kept)
    frame, by_seed = cohort(600), []
    for seed in (0, 5):
        found = bw.audit(frame, seed=seed)
        found.to_html(tmp_path / "audit.html")
        panel = parts(found).judges["judge"].labelling.panel
        by_seed.append(spread(panel.scores, panel.labels, panel.sizes, seed=seed))
    assert given == by_seed
    assert (given[0]["cells_shown"], given[0]["cells"]) == (2000, 2400)
    assert given[0] != given[1]


@pytest.mark.parametrize("also", [["x"], "x", [{"schema": "bonwise.route/1"}], None, 3])
def test_what_is_no_result_is_refused_in_one_line(tmp_path, also):
    """What has no page of its own is named in a usage error, and no page is written."""
    path = tmp_path / "audit.html"
    with pytest.raises(UsageError, match="also"):
        bw.audit(cohort(12)).to_html(path, also=also)
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "name"),
    [("\u4e2d" * 4000, "c"), ("<a href=\"'&'\">" * 300, "c"), ("x" * 500, "n" * 4000)],
    ids=["chinese", "markup", "names"],
)
def test_a_page_stays_light_whatever_it_shows(tmp_path, text, name):
    """Texts whose letters take several bytes, and long names, leave a page below 2 MB."""
    frame = losing(MOST_ROWS)
    frame["candidate"] = name + frame["candidate"].astype(str)
    path = tmp_path / "audit.html"
    bw.audit(frame.assign(prompt=text, text=text, raw=text)).to_html(path)
    assert 1_000_000 < path.stat().st_size < 2_000_000


def test_a_page_never_takes_the_place_of_what_it_is_made_from(tmp_path, monkeypatch):
    """Scores, labels and pools are refused as targets, of the page and of the rest of its prompts, and stay."""
    monkeypatch.chdir(tmp_path)
    frame = losing(MOST_ROWS + 1)
    frame.drop(columns="oracle_label").to_csv("audit-prompts.csv", index=False)
    frame[["prompt_id", "candidate", "oracle_label"]].to_csv("labels.csv", index=False)
    pool = '{{"prompt_id": "{}", "prompt": "q", "candidates": ["a", "b"]}}\n'
    (tmp_path / "pools.jsonl").write_text("".join(map(pool.format, frame["prompt_id"].unique())), "utf-8")
    (tmp_path / "link.html").symlink_to("labels.csv")
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}
    audited = bw.audit("audit-prompts.csv", labels="labels.csv")
    for target in ("audit.html", "audit-prompts.csv", tmp_path / "labels.csv", "link.html", "./pools.jsonl"):
        with pytest.raises(UsageError, match="is read for the page") as refused:
            audited.to_html(target, pools="pools.jsonl")
        assert "\n" not in str(refused.value)
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_logged_picks_are_not_overwritten(tmp_path, monkeypatch):
    """A page cannot take the place of the picks that were audited."""
    monkeypatch.chdir(tmp_path)
    labels = cohort(12)[["prompt_id", "candidate", "oracle_label"]]
    names = sorted(labels["candidate"].unique())
    ids = ", ".join(f'"{name}"' for name in names)
    lines = (
        f'{{"prompt_id": "{one}", "ids": [{ids}], "best": "{names[0]}"}}\n' for one in labels["prompt_id"].unique()
    )
    (tmp_path / "picks.jsonl").write_text("".join(lines), "utf-8")
    with pytest.raises(UsageError, match="is read for the page"):
        bw.audit("picks.jsonl", labels=labels).to_html("picks.jsonl")


@pytest.mark.parametrize("name", ["absent/audit.html", "folder", "full.html"])
def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path, name):
    """Without its folder, or where a folder has its name or that of the prompts beside it, no file is made."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "full-prompts.csv").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FileError):
        bw.audit(losing(MOST_ROWS + 1)).to_html(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before


def test_prompts_beyond_the_page_have_no_place_beside_a_device():
    """A page that goes to a pipe or a device must hold every prompt; of more the rest would be nowhere."""
    bw.audit(cohort(30)).to_html("/dev/null")
    with pytest.raises(FileError, match="/dev/null: not all prompts fit on the page"):
        bw.audit(losing(MOST_ROWS + 1)).to_html("/dev/null")


def test_of_many_columns_few_are_drawn(tmp_path):
    """Of six columns four are drawn, which is said, and all six have their table."""
    frame = cohort(60)
    codes = frame["prompt_id"].astype("category").cat.codes
    columns = {f"kind{at}": (codes % (at + 2)).astype(str) for at in range(6)}
    path = tmp_path / "audit.html"
    for first, told in ((4, False), (6, True)):
        bw.audit(frame.assign(**dict(list(columns.items())[:first]))).to_html(path)
        shown = path.read_text("utf-8").replace("<wbr>", "")
        assert len(re.findall(r"recovery by kind\d</", shown)) == 4
        assert len(re.findall(r">Metrics by kind\d<", shown)) == first
        assert ("Of 6 columns the first 4 are drawn; the others are tables alone." in shown) is told
