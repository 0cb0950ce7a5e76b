from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import bonwise as bw
from auditing.tables import losing
from bonwise.auditing.worst_prompts import MOST_ROWS
from bonwise.testing import simulate
from cli.commands import pool_file, rows_of, scored, strict, typed, written


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    """Work in a folder of its own, whatever the environment says of a step summary."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def scores():
    """Return the path of 60 simulated prompts."""
    simulate("arena", n=60, seed=3).frame().to_csv("scores.csv", index=False)
    return Path("scores.csv")


def text_of(path):
    """Return what a file holds."""
    return Path(path).read_text("utf-8").replace("<wbr>", "")


def test_the_page_is_that_of_the_python_result(capsys, scores):
    """``--html`` writes what `Audit.to_html` does, and the words still go to the terminal."""
    done = typed(capsys, "audit", scores, "--html", "a.html")
    bw.audit(scores).to_html("b.html")
    assert (done.code, "recovery" in done.out) == (0, True)
    next_steps = re.compile(r'<section id="next".*?</section>', re.DOTALL)
    by_command, by_python = text_of("a.html"), text_of("b.html")
    assert next_steps.sub("", by_command) == next_steps.sub("", by_python)
    assert "bonwise " in next_steps.search(by_command).group()
    assert re.search(r"bw\.|audit\.", next_steps.search(by_python).group())


def test_the_page_shows_the_words_of_the_pools(capsys, scores):
    """``--pools`` brings prompts and texts to the prompts that are shown."""
    ids = dict.fromkeys(row["prompt_id"] for row in rows_of(scores))
    names = sorted({row["candidate"] for row in rows_of(scores)})
    pools = {one: [{"id": name, "text": f"answer {name} of {one}"} for name in names] for one in ids}
    pool_file("pools.jsonl", pools)
    assert typed(capsys, "audit", scores, "--pools", "pools.jsonl", "--html", "a.html").code == 0
    page = text_of("a.html")
    lost = bw.audit(scores).per_prompt().query("gain_lost > 0")["prompt_id"]
    assert 20 < len(lost) < len(ids)
    assert all(f"The prompt {one}" in page and f"answer {names[0]} of {one}" in page for one in lost)


def test_gates_stand_on_the_page_and_in_the_junit_file(capsys, scores):
    """A gate's outcome is on the page, in the JUnit file and in the exit code alike."""
    done = typed(
        capsys, "audit", scores, "--fail-under", "value_judge=0.1", "--fail-under", "recovery=0.99",
        "--html", "a.html", "--junit", "g.xml",
    )  # fmt: skip
    assert done.code == 1
    assert "value_judge &gt; 0.1" in text_of("a.html")
    suite = ET.parse("g.xml").getroot()  # noqa: S314 - written just now
    cases = list(suite.iter("testcase"))
    assert [one.find("failure") is not None for one in cases] == [False, True]


def test_what_does_not_fit_on_the_page_goes_to_a_file_beside_it(capsys):
    """More prompts than a page holds are written beside it, all of them, and linked; fewer are not."""
    losing(MOST_ROWS + 20).to_csv("many.csv", index=False)
    assert typed(capsys, "audit", "many.csv", "--html", "many.html").code == 0
    assert len(rows_of("many-prompts.csv")) == MOST_ROWS + 20
    assert 'many-prompts.csv"><bdi>many-prompts.csv</bdi></a>' in text_of("many.html")


def test_the_file_beside_the_page_is_named_and_replaces_only_its_own_kind(capsys):
    """The command says which second file it wrote; a stranger's of that name is refused, and nothing is written."""
    losing(MOST_ROWS + 20).to_csv("many.csv", index=False)
    asked = ("audit", "many.csv", "--html", "many.html", "--json", "many.json")
    for text in ("prompt_id,words\np0,mine\n", "judge,prompt_id,pick,mine\n", ""):
        Path("many-prompts.csv").write_text(text, encoding="utf-8")
        done = typed(capsys, *asked)
        assert (done.code, "many-prompts.csv: all prompts would be written here" in done.err) == (2, True)
        assert (Path("many-prompts.csv").read_text("utf-8"), Path("many.html").exists()) == (text, False)
    Path("many-prompts.csv").unlink()
    for _ in range(2):
        done = typed(capsys, *asked)
        assert (done.code, done.err.count("\n")) == (0, 1)
        assert done.err.endswith("all prompts are in many-prompts.csv\n")
    assert len(rows_of("many-prompts.csv")) == MOST_ROWS + 20


def test_a_table_with_signals_has_routing_curves_on_its_page(capsys):
    """Stated intervals and repeated draws bring the study of routing to the page; plain scores do not."""
    simulate("pilot", n=120, seed=3).frame().to_csv("drawn.csv", index=False)
    simulate("arena", n=120, seed=3).frame().to_csv("plain.csv", index=False)
    for name in ("drawn", "plain"):
        assert typed(capsys, "audit", f"{name}.csv", "--html", f"{name}.html").code == 0
    assert "interval_width" in text_of("drawn.html")
    assert "interval_width" not in text_of("plain.html")


def test_studies_that_are_asked_for_are_sections_of_the_page(capsys, scores):
    """``--calibration`` and ``--verdicts`` bring their studies to the page of the audit."""
    cells = ["prompt_id", "judge", "a", "b", "shown_first", "shown_second", "value", "order_effect", "unscored"]
    ids = dict.fromkeys(row["prompt_id"] for row in rows_of(scores))
    pairs = [(one, "pairwise", f"c{a}", f"c{b}", 1, 0, 0.5, 1, "") for one in ids for a in range(4) for b in range(a)]
    written("pairs.csv", [dict(zip(cells, row, strict=True)) for row in pairs])
    done = typed(capsys, "audit", scores, "--html", "a.html", "--calibration", "--verdicts", "pairs.csv")
    assert done.code == 0, done.err
    assert all(f">{title}</bdi></h2>" in text_of("a.html") for title in ("Calibration", "Ways of asking the judge"))


def test_a_control_has_its_curve_on_the_page(capsys, scores):
    """With an easy candidate named, the page shows what it does to the figures."""
    assert typed(capsys, "audit", scores, "--control", "c3", "--html", "a.html").code == 0
    assert "share of easy pairs" in text_of("a.html").lower()


def test_markdown_goes_to_its_file_and_to_the_step_summary(capsys, scores, monkeypatch):
    """``--markdown`` writes its file, and appends to the step summary where one is named."""
    Path("steps.md").write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "steps.md")
    assert typed(capsys, "audit", scores, "--markdown", "s.md").code == 0
    assert "recovery" in text_of("s.md")
    before, _, added = text_of("steps.md").partition("\n")
    assert (before, added.strip()) == ("before", text_of("s.md").strip())


def test_markdown_on_standard_output_stands_there_alone(capsys, scores):
    """``--markdown -`` leaves standard output to the summary; the words step aside."""
    done = typed(capsys, "audit", scores, "--markdown", "-")
    assert done.out.startswith("#")
    assert "within_r" in done.err


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--pools", "absent.jsonl"), "absent.jsonl"),
        (("--calibration",), "--calibration without --html"),
        (("--verdicts", "pairs.csv"), "--verdicts without --html"),
        (("--junit", "g.xml"), "--junit without --fail-under"),
        (("--markdown", "-", "--json", "-"), "--json - and --markdown -"),
        (("--html", "scores.csv"), "scores.csv is read or written already"),
        (("--html", "a.html", "--per-prompt", "a-prompts.csv"), "a-prompts.csv is read or written already"),
        (("--html", "nowhere/a.html"), "nowhere: no such folder"),
        (("--html", ""), "--html takes the name of a file, not '.'"),
        (("--html", "-"), "--html takes the name of a file, not '-'"),
        (("--html", "."), "--html takes the name of a file, not '.'"),
        (("--html", "folder"), "folder: is a folder"),
        (("--markdown", "nowhere/a.md"), "nowhere: no such folder"),
    ],
)
def test_flags_that_would_do_nothing_or_harm_are_refused(capsys, scores, flags, named):
    """One line says what is wrong, the exit code is 2, and the scores are as they were."""
    before = scores.read_bytes()
    Path("folder").mkdir()
    done = typed(capsys, "audit", scores, *flags)
    assert (done.code, named in done.err, done.err.count("\n")) == (2, True, 1)
    assert scores.read_bytes() == before


@pytest.mark.parametrize(
    "flags",
    [("scores.csv", "--fail-under", "no_metric=1"), ("absent.csv", "--fail-under", "recovery=0"), ("scores.csv",)],
)
def test_bad_input_leaves_an_error_where_machines_read(capsys, scores, monkeypatch, flags):
    """On exit 2 the gates are one error, the summary one paragraph; outcomes of an earlier audit are gone."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "steps.md")
    targets = ("--markdown", "s.md", "--junit", "g.xml")
    for there_before in (False, True):
        if there_before:
            assert typed(capsys, "audit", scores, "--fail-under", "value_judge=0.1", *targets).code == 0
        done = typed(capsys, "audit", *flags, *targets)
        told = done.err.removeprefix("bonwise: ").rstrip("\n")
        assert (done.code, done.err.count("\n")) == (2, 1)
        root = ET.parse("g.xml").getroot()  # noqa: S314 - written just now
        (case,) = root.iter("testcase")
        (error,) = case
        assert (error.tag, error.get("type"), error.get("message"), error.text) == ("error", "bad input", told, told)
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "1")
        assert (text_of("s.md").startswith("## Audit of "), text_of("s.md").count("\n\n")) == (True, 1)
        assert text_of("steps.md").endswith(f"\n\n{text_of('s.md')}")


def test_an_error_replaces_no_data(capsys, scores):
    """What no audit wrote, what is read, and what is named twice stay as they are; standard output has one error."""
    before = scores.read_bytes()
    Path("notes.md").write_text("my notes\n", encoding="utf-8")
    gate = ("--fail-under", "no_metric=1")
    done = typed(capsys, "audit", scores, *gate, "--markdown", "notes.md", "--junit", "notes.md")
    assert (done.code, done.err.count("\n")) == (2, 1)
    done = typed(capsys, "audit", scores, *gate, "--markdown", "notes.md")
    assert "notes.md was not written by an audit, so the error was not written over it" in done.err
    assert text_of("notes.md") == "my notes\n"
    for flag in ("--markdown", "--junit"):
        assert typed(capsys, "audit", scores, *gate, flag, "scores.csv").code == 2
        assert typed(capsys, "audit", "absent.csv", *gate, flag, "absent.csv").code == 2
    assert (scores.read_bytes(), Path("absent.csv").exists()) == (before, False)
    assert strict(typed(capsys, "audit", scores, *gate, "--markdown", "-", "--json", "-").out)["error"]
    assert typed(capsys, "audit", scores, *gate, "--junit", "-").out.startswith("<?xml")


def test_an_error_that_cannot_be_written_is_said(capsys, scores):
    """A folder where the gates were to go is named once, and an error of another kind beside it."""
    done = typed(capsys, "audit", scores, "--fail-under", "recovery=0", "--junit", "nowhere/g.xml")
    assert (done.code, done.err.count("\n")) == (2, 1)
    done = typed(capsys, "audit", "absent.csv", "--fail-under", "recovery=0", "--junit", "nowhere/g.xml")
    assert (done.code, "nowhere: no such folder" in done.err) == (2, True)


def test_pools_that_do_not_fit_leave_no_page(capsys, scores):
    """Pools of other prompts are refused before anything is written."""
    pool_file("pools.jsonl", {"x": ["one"]})
    done = typed(capsys, "audit", scores, "--pools", "pools.jsonl", "--html", "a.html", "--json", "a.json")
    assert done.code == 2
    assert strict(text_of("a.json"))["schema"] == "bonwise.error/1"
    assert not Path("a.html").exists()


def test_logged_picks_have_a_page_too(capsys):
    """The page of logged picks shows what picks hold: values, recovery, prompts; nothing of scores."""
    simulate("arena", n=60, seed=3).frame().to_csv("table.csv", index=False)
    rows = rows_of("table.csv")
    written("labels.csv", [{key: row[key] for key in ("prompt_id", "candidate", "oracle_label")} for row in rows])
    lines = [
        f'{{"prompt_id": "{one}", "ids": ["c0", "c1", "c2", "c3"], "best": "c1", "decided_by": "score"}}\n'
        for one in dict.fromkeys(row["prompt_id"] for row in rows)
    ]
    Path("picks.jsonl").write_text("".join(lines), encoding="utf-8")
    done = typed(capsys, "audit", "picks.jsonl", "--labels", "labels.csv", "--html", "a.html")
    assert done.code == 0, done.err
    assert "recovery" in text_of("a.html")
    refused = typed(capsys, "audit", "picks.jsonl", "--labels", "labels.csv", "--html", "b.html", "--calibration")
    assert (refused.code, "logged picks are no table of scores" in refused.err) == (2, True)


def test_a_table_too_poor_for_a_study_still_has_its_page(capsys):
    """Where the oracle sees no difference at all the page says why a part is missing, and is written."""
    written("flat.csv", scored([[0.1, 0.9], [0.4, 0.2], [0.5, 0.6]], [[1, 1], [0, 0], [1, 1]]))
    done = typed(capsys, "audit", "flat.csv", "--html", "a.html")
    assert done.code == 0, done.err
    assert "</html>" in text_of("a.html")
