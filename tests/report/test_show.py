"""Every result shows itself, by typed descriptions, and gives its figures by name."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console

import bonwise
import bonwise as bw
from auditing.tables import cohort, two_judges
from bonwise.errors import MissingExtraError, UsageError
from bonwise.report.blocks import Column, Part, Row, Said, Table
from bonwise.report.show import LINES, cut_to_a_screen, describe, figure
from bonwise.report.show import printed as printed_parts
from bonwise.report.terminal import plain, renderables

# Figures by name: the same drawings as the page's, their numbers, and errors that list the names.


@pytest.fixture(scope="module")
def audit():
    """Return an audit of one judge."""
    return bw.audit(cohort(60))


def points(axes):
    """Return the numbers that stand on axes: of lines, of scatters, and of bars."""
    lines = [line.get_xydata() for line in axes.get_lines()]
    dots = [one.get_offsets() for one in axes.collections if len(one.get_offsets())]
    return {round(float(value), 9) for some in (*lines, *dots) for value in some.ravel()}


def test_the_names_are_those_of_the_page(audit, tmp_path):
    """Every figure of the page has a name, in its order: each key is an address in the page's drawings."""
    audit.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert len(audit.figure_names) == len(set(audit.figure_names)) == len(audit.drawings)
    assert {"picks-shares", "differences-judge", "spread-within", "requirements"} <= set(audit.figure_names)
    places = [page.index(f"url(#{one.key}-") for one in audit.drawings if f"url(#{one.key}-" in page]
    assert places == sorted(places)
    assert page.count("<figure") == len(audit.drawings)


def test_data_and_axes_show_the_same_numbers(audit):
    """The frame of the picks holds the metrics of the audit, and the axes draw each of its figures."""
    frame = audit.figure_data("picks").set_index("row")
    found = audit["recovery"]
    assert frame.loc["recovery", ["estimate", "low", "high"]].tolist() == [found.estimate, found.low, found.high]
    shown = points(audit.plot("picks"))
    for value in frame["estimate"]:
        assert round(value, 9) in shown


def test_axes_of_the_reader_are_drawn_on_and_returned(audit):
    """``ax=`` is what comes back; without it the axes are new ones on a figure of their own."""
    ax = Figure().add_subplot()
    assert audit.plot("requirements", ax=ax) is ax
    assert ax.has_data()
    assert audit.plot("requirements") is not ax


def test_a_short_name_is_the_first_that_fits(audit):
    """A word of the name is enough; the frame is that of the drawing with the whole name."""
    pd.testing.assert_frame_equal(audit.figure_data("picks"), audit.figure_data("picks-shares"))
    by_key = {one.key: one for one in audit.drawings}
    pd.testing.assert_frame_equal(audit.figure_data("values"), by_key["a-picks-values"].to_frame())


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: bw.route(cohort(60)), "captured"),
        (lambda: bw.study_requirements(cohort(60)), "requirements"),
        (lambda: bw.study_calibration(cohort(60)), "recovery"),
        (lambda: bw.plan(question="recovery>0", candidates=4, within_r=0.3), "power"),
    ],
)
def test_every_result_with_a_figure_has_it(make, name):
    """The same two calls work on routes, studies and plans, and give the drawing of the page."""
    result = make()
    frame = result.figure_data(name)
    assert not frame.empty
    assert any(frame.equals(one.to_frame()) for one in result.drawings)
    assert result.plot(name).has_data()


def test_an_unknown_name_lists_the_names(audit):
    """One sentence; where several judges have the figure it lists theirs."""
    with pytest.raises(UsageError, match=r"no figure is named 'nothing' \(choose of picks-shares, picks-values, "):
        audit.plot("nothing")
    both = bw.audit(two_judges(40))
    with pytest.raises(
        UsageError, match=r"several judges have a figure 'picks' \(choose of judge-[12]-picks-shares, "
    ):
        both.figure_data("picks")
    assert not both.figure_data("judge-2-picks-shares").empty
    with pytest.raises(UsageError, match="this result has no figures"):
        figure([], "picks")


def test_without_matplotlib_the_line_to_type_is_said(audit, monkeypatch):
    """The error names the extra; the numbers need none."""
    monkeypatch.setattr("bonwise.extras._is_installed", lambda name: name != "matplotlib")
    with pytest.raises(MissingExtraError, match=r"matplotlib is not installed \(pip install 'bonwise\[audit\]'\)"):
        audit.plot("picks")
    assert not audit.figure_data("picks").empty


def test_nothing_imports_matplotlib_before_use():
    """Names and numbers are there without it."""
    program = (
        "import sys, bonwise as bw; from bonwise.testing import simulate\n"
        "audit = bw.audit(simulate('arena', n=30, seed=1).frame())\n"
        "audit.figure_names, audit.figure_data('picks'), str(audit)\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# What is described is typed: nothing that makes words or figures of a document reads it by guess.


HOME = Path(bonwise.__file__).parent
MODULES = sorted(
    {*HOME.glob("report/**/*.py"), *HOME.rglob("view*.py"), *HOME.rglob("*_view.py"), *HOME.rglob("figures.py")}
)


def test_text_is_text_in_a_notebook(monkeypatch):
    """Where rich takes the process for a notebook, `str` and f-strings hold everything all the same."""
    plan = bw.plan(question="recovery>0", candidates=4, within_r=0.3)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert f"{plan}" == str(plan) == plan.to_text()
    assert str(plan).startswith("Verdict: 96 prompts are needed")


# The short form of any result: the verdict, the first table, caveats, and what was left out is counted.


LONG = Part(
    "Numbers of letters",
    [
        Said("note", "Two files."),
        Part("no difference shown", [Said("lead", "Neither is longer."), *[Said("finding", "So.")] * 9], "verdict"),
        Part("Outcomes", [Said("bad", "A gate is not met."), Said("finding", "It may be met later.")], "outcomes"),
        Part("First", [Table.of((Column("word", "name"), Column("length")), [(f"w{at}", "1") for at in range(40)])]),
        Part("Second", [Table.of((Column("other", "name"),), [("a",)]), *[Said("caveat", "Few.")] * 9]),
        Part("For a page", [Table.of((Column("more", "name"),), [("hidden",)])], "detail"),
    ],
)


def shown(described, *, full=False):
    """Return what a terminal shows."""
    return plain(renderables(described if full else cut_to_a_screen(described)))


def test_a_long_result_is_shown_in_short():
    """At most 24 lines hold the verdict, the first table and caveats; the last line counts all that is left out."""
    printed = shown(LONG).splitlines()
    assert len(printed) <= 24
    assert printed[:2] == ["Verdict: no difference shown", "Neither is longer."]
    rows = sum(bool(re.fullmatch(r"w\d+ +1", line)) for line in printed)
    caveats = printed.count("Few.")
    assert rows >= 3
    assert "A gate is not met." in printed
    assert "other" not in " ".join(printed)
    assert "hidden" not in " ".join(printed)
    left_out = re.fullmatch(
        r"More: (\d+) sentences, (\d+) rows, 1 table and (\d+) caveats: add --full, or .* in Python\.", printed[-1]
    )
    assert int(left_out[2]) == 40 - rows
    assert int(left_out[3]) == 9 - caveats
    assert int(left_out[1]) == 11 - sum(line in {"So.", "It may be met later.", "Two files."} for line in printed)
    full = shown(LONG, full=True)
    assert full.count("Few.") == full.count("So.") == 9
    assert "More:" not in full


def test_a_short_result_is_shown_whole():
    """Nothing is left out of what fits a screen, and strong rows of a long table are kept."""
    small = replace(LONG, blocks=LONG.blocks[:3])
    assert shown(small) == shown(small, full=True)
    rows = [Row((f"w{at}", "1"), strong=at == 39) for at in range(40)]
    table = Table((Column("word", "name"), Column("length")), rows)
    assert "w39" in shown(replace(LONG, blocks=[*LONG.blocks[:3], table]))


def test_without_a_verdict_the_first_sentences_are_the_answer():
    """What a result says before its table stays, and another judge's table of the same columns too."""
    table = Table.of((Column("word", "name"), Column("length")), [(f"w{at}", "1") for at in range(40)])
    printed = shown(Part("Words", [Said("lead", "They are short."), Part("a", [table]), Part("b", [table])]))
    assert printed.splitlines()[1] == "They are short."
    assert printed.count("w0 ") == 2
    assert len(printed.splitlines()) <= 2 * LINES


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_word_breaks_on_a_narrow_terminal(width):
    """Every word of a narrow terminal is one of a wide terminal: cells and sentences break between words."""
    study = bw.study_calibration(cohort(60))

    def at(columns):
        stream = io.StringIO()
        console = Console(file=stream, width=columns, color_system=None, force_terminal=True, force_jupyter=False)
        for part in printed_parts(study, full=True):
            console.print(part, markup=False, highlight=False, emoji=False)
        return [line for line in stream.getvalue().splitlines() if "hidden" not in line and "--json" not in line]

    wide = {word for line in at(2000) for word in line.split()}
    assert [word for line in at(width) for word in line.split() if word not in wide and set(word) != {"─"}] == []


def test_titles_are_names(tmp_path):
    """The title of a result names its file without the folders around it; the facts of a page keep the path."""
    path = tmp_path / "a folder" / "scores.csv"
    path.parent.mkdir()
    cohort(60).to_csv(path, index=False)
    for result in (bw.audit(path), bw.study_requirements(path), bw.study_calibration(path), bw.doctor(path)):
        title = describe(result).title
        assert "scores.csv" in title
        assert "a folder" not in title
        assert str(tmp_path) not in title
