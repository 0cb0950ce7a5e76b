"""Drawings on axes of the reader's own, and as tables."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import bonwise.report.figures
from bonwise.auditing.figures import difference_figures, spread_figures
from bonwise.report.figures.axes import COLOURS, LIGHT, STAND_INS, TEXT
from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.figures.forest import MOST, ReferenceMark, forest_figure
from bonwise.report.page import environment
from report.figures.painted import svg, typed

ROWS = [("maths", 0.2, 0.1, 0.3), ("law", 0.4, None, None)]
DIFFERENCES = {"edges": [-0.3, -0.1, 0.1, 0.3], "counts": [50, 34, 50], "ties": 133, "pairs": 200, "largest": 0.3}
SPREAD = {
    "between": {"judge": [0.1, 0.5, 0.9], "oracle": [0.2, 0.5, 0.8]},
    "within": {"judge": [-0.1, 0.0, 0.1], "oracle": [0.1, 0.0, -0.1]},
    **dict.fromkeys(("prompts_shown", "prompts", "cells_shown", "cells"), 3),
}


def forest(**more):
    """Return a drawing with a mark."""
    (one,) = forest_figure(ROWS, "f", "t", "Said.", marks=[ReferenceMark(0, 0.5, "oracle", "best")], **more)
    return one


def lines(label="a"):
    """Return a drawing of two lines and a guide."""
    curves = [Curve(label, [1, 2], [0.1, 0.2]), Curve("b", [1, 2], [0.3, None], [0.2, None], [0.4, None])]
    (one,) = curves_figure(curves, "c", "t", "s", across="labels", up="power", guides=[Guide("chance", y=0.2)])
    return one


def every_drawing():
    """Return a drawing of every kind."""
    return [
        forest(),
        lines(),
        *difference_figures(typed({"judge": DIFFERENCES, "oracle": DIFFERENCES}), "d"),
        *spread_figures(typed(SPREAD), "s"),
    ]


def colours_of(figure, tmp_path):
    """Return every colour of a figure as it is saved, but for those of the paper."""
    figure.savefig(tmp_path / "one.svg")
    found = set(re.findall(r"#[0-9a-f]{6}\b", (tmp_path / "one.svg").read_text("utf-8")))
    return found - {"#ffffff", "#7f8fa6"}


@pytest.mark.parametrize("at", range(6))
def test_new_axes_have_the_colours_of_light_paper(at, tmp_path):
    """Saved after the call, whatever the reader's own settings are, a drawing has the page's colours alone."""
    with mpl.rc_context({"axes.edgecolor": "red", "xtick.color": "red", "text.color": "red", "font.size": 30}):
        axes = every_drawing()[at].plot()
        assert colours_of(axes.figure, tmp_path) <= set(LIGHT.values())
        assert {label.get_fontsize() for label in axes.get_xticklabels()} == {TEXT}


@pytest.mark.parametrize("at", range(6))
def test_own_axes_are_painted_and_given_back(at, tmp_path):
    """Two drawings stand side by side in a figure of the reader's own, in real colours; settings stay."""
    figure = Figure(figsize=(10, 4))
    left, right = figure.subplots(1, 2)
    before = dict(mpl.rcParams)
    assert every_drawing()[at].plot(ax=left) is left
    assert forest().plot(right) is right
    assert dict(mpl.rcParams) == before
    assert left.has_data()
    assert not colours_of(figure, tmp_path) & set(STAND_INS.values())


def test_a_legend_on_own_axes_names_what_is_on_them():
    """Of two drawings in one figure each has its own legend below it; alone in its figure it is that of a page."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    lines().plot(left)
    forest().plot(right)
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["a", "b", "chance"]
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["best"]
    assert not figure.legends
    figure.draw_without_rendering()
    assert left.get_legend().get_window_extent().y1 < left.xaxis.label.get_window_extent().y0
    alone = lines().plot()
    assert len(alone.figure.legends) == 1
    assert alone.get_legend() is None


def test_a_dollar_in_a_name_is_a_dollar_on_own_axes():
    """Names from files are no mathematics, and nothing raises once the figure is drawn."""
    axes = Figure().add_subplot()
    lines("$\\frac{$").plot(axes)
    axes.figure.draw_without_rendering()
    assert "$\\frac{$" in [text.get_text() for text in axes.get_figure().axes[0].get_legend().get_texts()]


def test_the_page_keeps_its_stand_ins():
    """Painted on own axes in between, the markup of a page stays what it was."""
    one = lines()
    before = svg(one)
    one.plot()
    assert svg(one) == before
    assert "var(--judge)" in before


def test_threads_draw_at_once():
    """Pages, new axes and own axes at the same time have each their own colours."""
    whole = svg(lines())

    def work(at):
        if at % 2:
            return svg(lines()) == whole
        axes = lines().plot(Figure().add_subplot() if at % 4 else None)
        return to_hex(axes.lines[0].get_color()) == LIGHT["judge"]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(24)))
    assert COLOURS["judge"] == LIGHT["judge"]


def test_tables_have_the_numbers():
    """A row per figure, point or bar, those that one drawing has no room for too."""
    found = forest().to_frame()
    assert found[["row", "estimate"]].values.tolist() == [["maths", 0.2], ["law", 0.4]]
    assert found["low"].tolist()[0] == 0.1
    assert found["low"].isna().tolist() == [False, True]
    assert found["best"].tolist()[0] == 0.5
    (many,) = forest_figure([(str(at), at, None, None) for at in range(MOST + 5)], "k", "t", "s")
    assert many.to_frame()["estimate"].tolist() == list(range(MOST + 5))
    found = lines().to_frame()
    assert found[["line", "x", "y"]].values.tolist()[:3] == [["a", 1, 0.1], ["a", 2, 0.2], ["b", 1, 0.3]]
    assert found["high"].dropna().tolist() == [0.4]
    judge, _, between, within = every_drawing()[2:]
    assert judge.to_frame()["share"].tolist() == [50 / 400, 34 / 400, 50 / 400, 133 / 200]
    assert between.to_frame().to_dict("list") == SPREAD["between"]
    assert within.to_frame().to_dict("list") == SPREAD["within"]


def test_light_colours_are_those_of_the_style_sheet():
    """What `LIGHT` holds is what ``light.css`` says."""
    sheet = (Path(environment.__file__).parent / "templates" / "light.css").read_text("utf-8")
    said = dict(re.findall(r"--(\w+): (#\w+);", sheet))
    assert {name: said[name] for name in LIGHT} == dict(LIGHT)


def test_drawings_are_made_without_what_paints_them():
    """Every module but the one of ticks can be loaded, and figures made, where neither matplotlib nor jinja2 is."""
    folder = Path(bonwise.report.figures.__file__).parent
    names = sorted(one.stem for one in folder.glob("*.py") if one.stem not in {"__init__", "percent"})
    code = f"""
import sys
from importlib import import_module
sys.modules |= dict.fromkeys(("matplotlib", "jinja2"))
for name in {names}:
    import_module(f"bonwise.report.figures.{{name}}")
forest = import_module("bonwise.report.figures.forest")
print(forest.forest_figure([("maths", 0.2, 0.1, 0.3)], "f", "t", "Said.")[0].says)
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout == "Said.\n"
