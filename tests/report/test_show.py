"""Every result shows itself, by typed descriptions, and gives its figures by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

import bonwise
import bonwise as bw
from auditing.tables import cohort, two_judges
from bonwise.errors import MissingExtraError, UsageError
from bonwise.report.show import figure

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
    assert str(plan).startswith("Verdict: feasible")
