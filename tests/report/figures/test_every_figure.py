"""All figures of all kinds of results: names of axes, letters, shared axes, and colours that anyone tells apart."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import bonwise as bw
from bonwise.report.figures.axes import COLOURS, LIGHT, SIZE, TEXT
from bonwise.report.figures.forest import Forest
from browser.samples import spoken
from docs.stock import stock
from report.figures.painted import painted

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
            "mix": bw.study_mix("scores.csv", control="c3"),
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
