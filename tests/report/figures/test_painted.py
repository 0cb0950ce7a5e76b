from __future__ import annotations

import pytest

from bonwise.auditing.figures import difference_figures, picks_figures, spread_figures
from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.figures.forest import ReferenceMark, forest_figure
from report.figures.painted import painted, points, role_of, svg, typed

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
