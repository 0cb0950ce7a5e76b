"""Figures as they are drawn: on pages, on axes of the reader's own, for all kinds of results."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import bonwise as bw
import bonwise.report.figures
from bonwise.auditing.figures import difference_figures, picks_figures, spread_figures
from bonwise.report.figures.axes import COLOURS, LIGHT, SIZE, STAND_INS, TEXT
from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.figures.forest import MOST, Forest, ReferenceMark, forest_figure
from bonwise.report.page import environment
from browser.samples import spoken
from docs.stock import stock
from report.painted import painted, points, role_of, svg, typed

ENDS = ("estimate", "low", "high")

DIFFERENCES = {
    "judge": {"edges": [-0.5, -0.25, 0.25, 0.5], "counts": [50, 34, 50], "ties": 133, "pairs": 200, "largest": 0.4},
    "oracle": {"edges": [-1.0, -0.5, 0.5, 1.0], "counts": [100, 136, 100], "ties": 32, "pairs": 200, "largest": 1.0},
}

SPREAD = {
    "between": {"judge": [0.1, 0.5, 0.9], "oracle": [0.2, 0.4, 0.8]},
    "within": {"judge": [-0.1, 0.0, 0.2], "oracle": [0.3, 0.1, -0.1]},
    "prompts_shown": 3,
    "prompts": 3,
    "cells_shown": 3,
    "cells": 3,
}

VALUES = {"random": (0.5, 0.4, 0.6), "judge": (0.7, 0.6, 0.8), "oracle": (0.9, 0.85, 0.95)}


def found(*figures):
    """Return an estimate with its interval as a document has it."""
    return dict(zip(ENDS, figures, strict=True))


def lines(curves, **more):
    """Return the axes of curves."""
    (axes,) = painted(lambda: curves_figure(curves, "k", "t", "s", across="labels", up="power", **more))
    return axes


def test_the_judge_lies_across_and_the_oracle_upright():
    """Every point of a spread stands at the judge's figure across and the oracle's upright, as the axes say."""
    for axes, name in zip(painted(lambda: spread_figures(typed(SPREAD), "k")), ("between", "within"), strict=True):
        placed = axes.collections[0].get_offsets().tolist()
        assert placed == [list(pair) for pair in zip(SPREAD[name]["judge"], SPREAD[name]["oracle"], strict=True)]
        assert axes.get_xlabel().startswith("judge: ")
        assert axes.get_ylabel().startswith("oracle: ")


def test_bars_and_ties_are_shares_of_all_pairs():
    """Each bar is as high as its share, in its bin and in the colour of its role; with the ties they add up to 1."""
    sides = painted(lambda: difference_figures(typed(DIFFERENCES), "k"))
    for axes, (role, given) in zip(sides, DIFFERENCES.items(), strict=True):
        *bars, ties = axes.patches
        assert [bar.get_height() for bar in bars] == [count / 400 for count in given["counts"]]
        assert [bar.get_x() for bar in bars] == given["edges"][:-1]
        assert [bar.get_x() + bar.get_width() for bar in bars] == given["edges"][1:]
        assert {role_of(bar.get_facecolor()) for bar in bars} == {role}
        assert (ties.get_x() + ties.get_width() / 2, ties.get_height()) == pytest.approx((0, given["ties"] / 200))
        assert role_of(ties.get_facecolor()) == "bad"
        assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(1)


@pytest.mark.parametrize(
    ("counts", "ties"), [([50, 34, 50], 133), ([80, 160, 80], 40), ([192, 0, 192], 8), ([0, 400, 0], 0)]
)
def test_the_ties_stand_on_the_bar_around_zero(counts, ties):
    """The ties begin where the bar around 0 ends, their figure stands right above them, and the axis holds both."""
    judge = {"edges": [-0.3, -0.1, 0.1, 0.3], "counts": counts, "ties": ties, "pairs": 200, "largest": 0.3}
    (figure,) = difference_figures(typed({"judge": judge, "oracle": None}), "k")
    (axes,) = painted(lambda: [figure])
    below, around, _, tied = axes.patches
    (label,) = axes.texts
    top = around.get_height() + tied.get_height()
    assert tied.get_y() == around.get_height()
    assert (tied.get_x(), tied.get_width()) == pytest.approx((around.get_x(), around.get_width()))
    assert label.xy == pytest.approx((0, top))
    assert axes.get_ylim()[1] >= 1.1 * max(below.get_height(), top)
    assert ("on top of the bar around 0, not in it" in figure.says) == bool(counts[1] and ties)
    assert ("The bar at 0 is ties alone" in figure.says) == (not counts[1])


def test_each_pick_has_the_colour_of_who_picked():
    """Of the values the first row is random, the second the judge's and the third the oracle's, also with gaps."""
    metrics = {f"value_{role}": found(*ends) for role, ends in VALUES.items()}
    (axes,) = painted(lambda: picks_figures(typed(metrics), None, "k"))
    assert [one for one in points(axes) if one[0] == "o"] == [
        ("o", ends[0], -at, role) for at, (role, ends) in enumerate(VALUES.items())
    ]
    (axes,) = painted(lambda: picks_figures(typed({**metrics, "value_random": found(None, None, None)}), None, "k"))
    assert [one[-1] for one in points(axes) if one[0] == "o"] == ["judge", "oracle"]


def test_random_picks_and_the_oracle_have_marks_of_their_own():
    """Beside the judge's shares the narrow diamond is what random picks reach, and the wide one is the oracle's 1."""
    metrics = {"recovery": found(0.2, 0.1, 0.3), "top1_accuracy": found(0.4, 0.3, 0.5)}
    (axes,) = painted(lambda: picks_figures(typed(metrics), typed({"top1_accuracy": 0.25, "hit_rate": None}), "k"))
    assert [one for one in points(axes) if one[0] in "dD"] == [
        *(("d", 0.0, 0, "random"), ("D", 1.0, 0, "oracle")),
        *(("d", 0.25, -1, "random"), ("D", 1.0, -1, "oracle")),
    ]
    legend = {line.get_label(): line.get_marker() for line in axes.lines if not line.get_label().startswith("_")}
    assert legend == {"random pick": "d", "oracle": "D"}


def test_an_arrow_points_to_where_the_interval_goes_on():
    """An interval beyond the drawing ends in an arrow at that edge, to the left below it and to the right above."""
    rows = [("usual", 0.1, 0.0, 0.2), ("same", 0.2, 0.1, 0.3), ("low", 0.1, -9.0, 0.2), ("high", 0.2, 0.1, 9.0)]
    marks = [ReferenceMark(0, 0.5, "other", "here")]
    (axes,) = painted(lambda: forest_figure(rows, "k", "t", "s", marks=marks))
    ends = {at: [one[:2] for one in points(axes) if one[2] == -at and one[0] in "|<>"] for at in range(4)}
    left, right = ends[2][0][1], ends[3][1][1]
    assert ends == {
        0: [("|", 0.0), ("|", 0.2)],
        1: [("|", 0.1), ("|", 0.3)],
        2: [("<", left), ("|", 0.2)],
        3: [("|", 0.1), (">", right)],
    }
    assert -9 < left < 0
    assert 0.5 <= right < 9


def test_a_forest_of_points_says_points_everywhere():
    """A difference of shares is in points at its row and along the axis, and a mark is told in percent of a share."""
    rows = [("up", 0.1, 0.05, 0.152), ("down", -0.1, -0.3, 0.1)]
    (axes,) = painted(lambda: forest_figure(rows, "k", "t", "s", across="change", unit="points"))
    assert {text.get_text() for text in axes.texts} >= {"+10 points [+5, +15]", "-10 points [-30, +10]"}
    assert axes.get_xlabel() == "change, in points"
    assert {"0", "10"} <= {label.get_text() for label in axes.get_xticklabels()}
    (axes,) = painted(lambda: forest_figure(rows, "k", "t", "s", across="change", sign=True))
    assert "+0.10 [+0.05, +0.15]" in {text.get_text() for text in axes.texts}
    assert axes.get_xlabel() == "change"
    shares = forest_figure([("a", 0.2, 0.1, 0.3)], "k", "t", "s", marks=[ReferenceMark(0, 0.5, "other", "here")])
    assert "here: 0.500" in svg(shares[0])
    shares = forest_figure(
        [("a", 0.2, 0.1, 0.3)], "k", "t", "s", unit="share", marks=[ReferenceMark(0, 0.5, "other", "here")]
    )
    assert "here: 50.0%" in svg(shares[0])


@pytest.mark.parametrize("names", [("law", "art", "maths"), ("openai/gpt-5-mini - openai/gpt-5-nano",) * 3])
def test_the_gate_is_a_dashed_line_down_the_figure(names):
    """The gate is dashed and 0 is not; both fill what the words of each row leave free, a third of it or more."""
    rows = [(name, 0.2, 0.1, 0.3) for name in names]
    (axes,) = painted(lambda: forest_figure(rows, "k", "t", "s", gate=0.5))
    uprights = {
        line: line.get_ydata() for line in axes.lines if len(set(line.get_xdata())) == 1 < len(line.get_xdata())
    }
    gates = [line for line in uprights if line.get_xdata()[0] == 0.5]
    zeros = [line for line in uprights if line.get_xdata()[0] == 0.0]
    assert len(gates) == len(zeros) == len(rows)
    assert all(line.is_dashed() and role_of(line.get_color()) == "gate" for line in gates)
    assert not any(line.is_dashed() for line in zeros)
    assert min(line.get_linewidth() for line in gates) > max(line.get_linewidth() for line in zeros)
    for at, line in enumerate(gates):
        bottom, top = uprights[line]
        assert -at - 1 < bottom < -at < top < -at + 0.2
        assert top - bottom > 1 / 3


def test_values_of_lines_are_told_in_the_units_of_the_axes():
    """What a reader points at is in percent where the axis is, with an interval only where the line has a band."""
    drawn = curves_figure(
        [Curve("a", [0.25, 0.5], [0.2, 0.3], [0.1, 0.2], [0.3, 0.4]), Curve("b", [0.25, 0.5], [0.6, 0.7])],
        "k",
        "t",
        "s",
        across="share",
        up="part",
        units=("share", "share"),
    )
    shown = svg(drawn[0])
    assert "a: 20% [10%, 30%] at 25%" in shown
    assert "b: 60.0% at 25%" in shown
    (axes,) = painted(
        lambda: curves_figure(
            [Curve("w", [10, 20], [0.1, 0.2])],
            "k",
            "t",
            "s",
            across="labels",
            up="half-width",
            units=("number", "points"),
        )
    )
    assert axes.get_ylabel() == "half-width, in points"


def test_a_band_reaches_from_the_low_ends_to_the_high_ones():
    """The band of a curve has its corners at both ends of every interval, and a point without one has no part."""
    curve = Curve("a", [1, 2, 3], [0.2, 0.4, 0.5], [0.1, 0.3, None], [0.3, 0.6, None], role="oracle")
    axes = lines([curve])
    (band,) = axes.collections
    assert {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()} == {
        *((1, 0.1), (2, 0.3)),
        *((1, 0.3), (2, 0.6)),
    }
    assert role_of(band.get_facecolor()[0]) == "oracle"
    (line,) = axes.lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([1, 2, 3], [0.2, 0.4, 0.5])


def test_dashes_points_and_colours_are_those_of_the_curve():
    """A line is dashed and has its points marked where that is asked for, in the colour of its role."""
    first, second = lines(
        [Curve("a", [1, 2], [1, 2], dashed=True), Curve("b", [1, 2], [2, 3], role="bad", points=True)]
    ).lines
    assert (first.is_dashed(), first.get_marker(), role_of(first.get_color())) == (True, "None", "judge")
    assert (second.is_dashed(), second.get_marker(), role_of(second.get_color())) == (False, "s", "bad")


def test_guides_stand_and_lie_where_they_are_told():
    """A guide of x stands upright at it, one of y lies at it."""
    *_, upright, lying = lines([Curve("a", [0, 1], [0, 1])], guides=[Guide("x", x=0.3), Guide("y", y=0.7)]).lines
    assert list(upright.get_xdata()) == [0.3, 0.3]
    assert list(lying.get_ydata()) == [0.7, 0.7]


# All figures of all kinds of results: names of axes, letters, shared axes, and colours that anyone tells apart.


TEMPLATES = Path(bw.__file__).parent / "report" / "page" / "templates"
ROLES = ("judge", "oracle", "random", "other", "strong", "gate")
LEAST = 18.0
"""Distance in CIELAB below which two colours of lines are easily taken for one; 2 can just be seen."""

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
VISIONS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour):
    """Return a colour as linear RGB."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return linear RGB as CIELAB."""
    x = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def colours_of(sheet):
    """Return the colours that a style sheet declares."""
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", (TEMPLATES / sheet).read_text("utf-8")))


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("sheet", ["light.css", "dark.css"])
def test_colours_are_told_apart(sheet, vision):
    """No two roles look alike to readers with any of three kinds of cones, on light and on dark paper."""
    seen = {role: lab(VISIONS[vision] @ linear(colours_of(sheet)[role])) for role in ROLES}
    apart = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in itertools.combinations(ROLES, 2)}
    assert min(apart.values()) >= LEAST, min(apart.items(), key=lambda one: one[1])


def test_plots_have_the_colours_of_the_light_page():
    """What a reader plots and what a page shows have one colour per role."""
    sheet = colours_of("light.css")
    assert {name: sheet[name] for name in LIGHT} == dict(LIGHT)
    assert set(COLOURS) == set(LIGHT)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a result of every kind that has figures."""
    folder = tmp_path_factory.mktemp("every")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        stock()
        return {
            "audit": bw.audit(spoken(24), control=["c3"]),
            "compare": bw.compare("winners.jsonl", "others.jsonl", labels="labels.csv"),
            "plan": bw.plan(question="recovery>0", candidates=4, within_r=0.3, power=0.9),
            "route": bw.route("scores.csv"),
            "requirements": bw.study_requirements("scores.csv"),
            "label-strategy": bw.study_label_strategy("scores.csv", verdicts="pairs.csv"),
            "calibration": bw.study_calibration("scores.csv"),
            "candidates": bw.study_candidates("scores.csv"),
            "mix": bw.study_mix("scores.csv", control="c3"),
            "strategies": bw.study_strategies("scores.csv", seeds=1),
        }


def test_every_axis_has_a_name(results):
    """Each axis that can be seen says what it holds, and no letter is smaller than a phone can show."""
    for kind, result in results.items():
        drawings = result.drawings
        assert drawings, kind
        for drawing, axes in zip(drawings, painted(lambda them=drawings: them), strict=True):
            shown = [axis for axis in (axes.xaxis, axes.yaxis) if axis.get_visible()]
            assert all(axis.get_label_text().strip() for axis in shown), (kind, drawing.key)
            assert drawing.size[0] <= SIZE[0], drawing.key
            assert min(text.get_fontsize() for text in axes.texts or [axes.xaxis.label]) >= TEXT


def test_axes_have_the_unit_of_the_figures_beside_them(results):
    """Where the rows of a forest are in percent or in points, so is its axis; differences above 0 have a plus."""
    units = set()
    for kind, result in results.items():
        drawings = [one for one in result.drawings if isinstance(one.data, Forest)]
        for drawing, axes in zip(drawings, painted(lambda them=drawings: them), strict=True):
            texts = [text.get_text() for text in axes.texts]
            ticks = "".join(label.get_text() for label in axes.get_xticklabels())
            in_percent, in_points = any("%" in one for one in texts), any(" point" in one for one in texts)
            units |= {"%" * in_percent, "points" * in_points}
            assert ("%" in ticks) == in_percent, (kind, drawing.key)
            assert axes.get_xlabel().endswith(", in points") == in_points, (kind, drawing.key)
            if "first - second" in drawing.says or "minus" in drawing.says:
                assert drawing.data.sign, (kind, drawing.key)
    assert units >= {"%", "points"}


def test_histograms_side_by_side_share_their_axes(results):
    """Differences of the judge and of the oracle are drawn to one scale."""
    drawings = [one for one in results["audit"].drawings if "differences" in one.key]
    first, second = painted(lambda: drawings)
    assert (first.get_xlim(), first.get_ylim()) == (second.get_xlim(), second.get_ylim())


# Drawings on axes of the reader's own, and as tables.


ROWS = [("maths", 0.2, 0.1, 0.3), ("law", 0.4, None, None)]
DIFFERENCES_OF_PLOT = {
    "edges": [-0.3, -0.1, 0.1, 0.3],
    "counts": [50, 34, 50],
    "ties": 133,
    "pairs": 200,
    "largest": 0.3,
}
SPREAD_OF_PLOT = {
    "between": {"judge": [0.1, 0.5, 0.9], "oracle": [0.2, 0.5, 0.8]},
    "within": {"judge": [-0.1, 0.0, 0.1], "oracle": [0.1, 0.0, -0.1]},
    **dict.fromkeys(("prompts_shown", "prompts", "cells_shown", "cells"), 3),
}


def forest(**more):
    """Return a drawing with a mark."""
    (one,) = forest_figure(ROWS, "f", "t", "Said.", marks=[ReferenceMark(0, 0.5, "oracle", "best")], **more)
    return one


def lines_of_plot(label="a"):
    """Return a drawing of two lines and a guide."""
    curves = [Curve(label, [1, 2], [0.1, 0.2]), Curve("b", [1, 2], [0.3, None], [0.2, None], [0.4, None])]
    (one,) = curves_figure(curves, "c", "t", "s", across="labels", up="power", guides=[Guide("chance", y=0.2)])
    return one


def every_drawing():
    """Return a drawing of every kind."""
    return [
        forest(),
        lines_of_plot(),
        *difference_figures(typed({"judge": DIFFERENCES_OF_PLOT, "oracle": DIFFERENCES_OF_PLOT}), "d"),
        *spread_figures(typed(SPREAD_OF_PLOT), "s"),
    ]


def colours_of_plot(figure, tmp_path):
    """Return every colour of a figure as it is saved, but for those of the paper."""
    figure.savefig(tmp_path / "one.svg")
    found = set(re.findall(r"#[0-9a-f]{6}\b", (tmp_path / "one.svg").read_text("utf-8")))
    return found - {"#ffffff", "#7f8fa6"}


@pytest.mark.parametrize("at", range(6))
def test_new_axes_have_the_colours_of_light_paper(at, tmp_path):
    """Saved after the call, whatever the reader's own settings are, a drawing has the page's colours alone."""
    with mpl.rc_context({"axes.edgecolor": "red", "xtick.color": "red", "text.color": "red", "font.size": 30}):
        axes = every_drawing()[at].plot()
        assert colours_of_plot(axes.figure, tmp_path) <= set(LIGHT.values())
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
    assert not colours_of_plot(figure, tmp_path) & set(STAND_INS.values())


def test_a_legend_on_own_axes_names_what_is_on_them():
    """Of two drawings in one figure each has its own legend below it; alone in its figure it is that of a page."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    lines_of_plot().plot(left)
    forest().plot(right)
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["a", "b", "chance"]
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["best"]
    assert not figure.legends
    assert left.get_legend()._ncols == 2
    figure.draw_without_rendering()
    assert left.get_legend().get_window_extent().y1 < left.xaxis.label.get_window_extent().y0
    alone = lines_of_plot().plot()
    assert len(alone.figure.legends) == 1
    assert alone.get_legend() is None


def test_a_dollar_in_a_name_is_a_dollar_on_own_axes():
    """Names from files are no mathematics, and nothing raises once the figure is drawn."""
    axes = Figure().add_subplot()
    lines_of_plot("$\\frac{$").plot(axes)
    axes.figure.draw_without_rendering()
    assert "$\\frac{$" in [text.get_text() for text in axes.get_figure().axes[0].get_legend().get_texts()]


def test_the_page_keeps_its_stand_ins():
    """Painted on own axes in between, the markup of a page stays what it was."""
    one = lines_of_plot()
    before = svg(one)
    one.plot()
    assert svg(one) == before
    assert "var(--judge)" in before


def test_threads_draw_at_once():
    """Pages, new axes and own axes at the same time have each their own colours."""
    whole = svg(lines_of_plot())

    def work(at):
        if at % 2:
            return svg(lines_of_plot()) == whole
        axes = lines_of_plot().plot(Figure().add_subplot() if at % 4 else None)
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
    found = lines_of_plot().to_frame()
    assert found[["line", "x", "y"]].values.tolist()[:3] == [["a", 1, 0.1], ["a", 2, 0.2], ["b", 1, 0.3]]
    assert found["high"].dropna().tolist() == [0.4]
    judge, _, between, within = every_drawing()[2:]
    assert judge.to_frame()["share"].tolist() == [50 / 400, 34 / 400, 50 / 400, 133 / 200]
    assert between.to_frame().to_dict("list") == SPREAD_OF_PLOT["between"]
    assert within.to_frame().to_dict("list") == SPREAD_OF_PLOT["within"]


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
