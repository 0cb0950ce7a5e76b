from __future__ import annotations

import re

import pytest

import bonwise as bw
from auditing.tables import cohort, losing, parts, two_judges
from bonwise.auditing.exhibits import spread
from bonwise.auditing.page import audit_page
from bonwise.auditing.worst_prompts import MOST_ROWS
from bonwise.errors import FileError, UsageError


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
