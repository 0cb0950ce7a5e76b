"""Figures and what stands in them, names of lines and of rows too."""

from __future__ import annotations

import itertools
import re
import unicodedata
from functools import cache
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from bonwise.auditing.figures import difference_figures, picks_figures, spread_figures, strata_figures
from bonwise.report.figures.axes import STAND_INS
from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.figures.forest import MOST, forest_figure
from bonwise.report.figures.names import ROW, pair, short, spread, told_apart
from bonwise.report.figures.percent import Percent
from report.audits import audited
from report.painted import painted, role_of, svg, typed

HOSTILE = ("<script>alert(1)</script>", "\u202e" * 40, "$x_1$ {{ 7 }} \x00\x1b[31m", "中文" * 30, "x" * 5000, "")


def found(estimate, low=None, high=None):
    """Return an estimate as a document has it."""
    return {"estimate": estimate, "low": low, "high": high}


DIFFERENCES = {
    "judge": {"edges": [-0.5, -0.25, 0.25, 0.5], "counts": [50, 34, 50], "ties": 133, "pairs": 200, "largest": 0.4},
    "oracle": {"edges": [-1.0, -0.5, 0.5, 1.0], "counts": [100, 136, 100], "ties": 32, "pairs": 200, "largest": 1.0},
}

SPREAD = {
    "between": {"judge": [0.1, 0.5, 0.9], "oracle": [0.2, 0.5, 0.8]},
    "within": {"judge": [-0.1, 0.0, 0.1], "oracle": [0.1, 0.0, -0.1]},
    "prompts_shown": 3,
    "prompts": 3,
    "cells_shown": 3,
    "cells": 9,
}


def strata(names):
    """Return one column of strata with these values."""
    rows = [
        {
            "value": name,
            "prompts": 40 + at,
            "metrics": {"recovery": found(at / 10, -0.1, 0.9), "within_r": found(0.2)},
        }
        for at, name in enumerate(names)
    ]
    return typed([{"column": names[0], "rows": rows}])


@cache
def everything():
    """Return a figure of every kind."""
    metrics = audited().metrics
    return [
        *picks_figures(metrics, typed({"top1_accuracy": 0.25, "hit_rate": 0.4}), "picks"),
        *difference_figures(typed(DIFFERENCES), "differences"),
        *spread_figures(typed(SPREAD), "spread"),
        *strata_figures(strata(["maths", "law"]), "strata"),
        *curves_figure(
            [Curve("a", [1, 2], [0.2, None]), Curve("b", [1, 2], [0.1, 0.3], [0.0, 0.2], [0.2, None], points=True)],
            "curve",
            "A curve",
            "It rises.",
            across="labels",
            up="power",
            guides=[Guide("here", x=1.5), Guide("there", y=0.2)],
        ),
    ]


def test_no_colour_of_its_own_is_left():
    """Every stand-in becomes a variable of the page, and every drawing speaks in words too."""
    drawings = everything()
    assert len(drawings) == 9
    for one in drawings:
        assert not [name for name, colour in STAND_INS.items() if colour in svg(one)]
        assert one.title
        assert one.says.endswith(".")


def test_the_same_figures_give_the_same_bytes():
    """Drawn twice, a figure is one and the same."""
    assert [svg(one) for one in everything()] == [svg(one) for one in everything.__wrapped__()]


def test_addresses_on_one_page_are_unique():
    """All drawings of a page may stand beside each other."""
    ids = [name for one in everything() for name in re.findall(r'\bid="([^"]*)"', svg(one))]
    assert len(ids) == len(set(ids))


def test_picks_stand_between_random_and_best():
    """The caption holds the estimate, its interval and what random picks reach."""
    metrics = {name: found(0.75) for name in ("value_random", "value_oracle")}
    metrics |= {"recovery": found(0.213, 0.1, 0.3), "top1_accuracy": found(0.325, 0.3, 0.35), "hit_rate": found(None)}
    shares, values = picks_figures(typed(metrics), typed({"top1_accuracy": 0.25, "hit_rate": None}), "k")
    assert "21% [10%, 30%], 0% at random" in shares.says
    assert "32.5% [30.0%, 35.0%], 25.0% at random" in shares.says
    assert "hit rate" not in shares.says
    assert "random pick 0.750 (no interval)" in values.says
    assert "judge" not in values.says


def test_a_reference_is_no_oracle():
    """Where another judge stands in for the oracle no word calls it one."""
    drawings = [
        *picks_figures(audited().metrics, None, "p", reference="strong"),
        *difference_figures(typed(DIFFERENCES), "d", reference="strong"),
        *spread_figures(typed(SPREAD), "s", reference="strong"),
    ]
    words = " ".join(f"{one.says} {one.title} {re.sub('<[^>]*>', ' ', svg(one))}" for one in drawings)
    assert "reference" in words
    assert "oracle" not in words
    assert "label" not in words


def test_ties_stand_out_with_their_share():
    """The share of tied pairs is written at its bar, on one range for judge and oracle."""
    judge, oracle = difference_figures(typed(DIFFERENCES), "k")
    assert ">66.5% ties<" in svg(judge)
    assert "ties 133, 66.5%" in judge.says
    assert "ties 32, 16.0%" in oracle.says
    ticks = [set(re.findall(r">(\N{MINUS SIGN}?\d\.\d)<", svg(one))) for one in (judge, oracle)]
    assert ticks[0] == ticks[1] != set()


def test_the_largest_difference_is_that_of_the_data():
    """The caption says how far apart candidates are, not where the last bin ends; of ties alone it says nothing."""
    judge, oracle = difference_figures(typed(DIFFERENCES), "k")
    assert "lie within 0.4 of 0." in judge.says
    assert "lie within 1 of 0." in oracle.says
    alike = {"edges": [-0.025, 0.025], "counts": [0], "ties": 9, "pairs": 9, "largest": 0.0}
    (one,) = difference_figures(typed({"judge": alike, "oracle": None}), "k")
    assert one.says == "Of 9 pairs of candidates of one prompt the judge ties 9, 100%."


@pytest.mark.parametrize(
    ("places", "written"),
    [
        ([0.0, 0.05, 0.1], ["0%", "5%", "10%"]),
        ([0.0, 0.025, 0.05, 0.075], ["0.0%", "2.5%", "5.0%", "7.5%"]),
        ([-0.2, 0.0, 0.2], ["\N{MINUS SIGN}20%", "0%", "20%"]),
        ([-1e-18, 0.001, 0.002], ["0.0%", "0.1%", "0.2%"]),
        ([0.25], ["25%"]),
        ([0.0, 1e300], ["0%", "1e+302%"]),
    ],
)
def test_per_cent_has_the_decimals_that_keep_ticks_even(places, written):
    """Ticks are whole where their step is, and no two of them are rounded to uneven steps."""
    assert Percent().format_ticks(places) == written


def test_the_spread_says_r_and_how_much_is_shown():
    """The correlation is that of the points, or the metric's where points were left out."""
    between, within = spread_figures(typed(SPREAD), "k", metrics=typed({"within_r": found(0.27)}))
    assert "all 3 prompts: the correlation is 1.00" in between.says
    assert "3 of 9 candidates: the correlation of all of them is 0.270" in within.says
    assert ", is" not in between.says + within.says
    assert ">r = 0.270<" in svg(within)
    flat = SPREAD | {"between": {"judge": [1.0, 1.0], "oracle": [0.0, 1.0]}, "within": {"judge": [], "oracle": []}}
    (alone,) = spread_figures(typed(flat), "k")
    assert "cannot be computed" in alone.says


def test_strata_name_the_lowest_and_the_highest():
    """Each column has a figure of recovery and one of within_r, with the counts."""
    recovery, within = strata_figures(strata(["maths", "law", "art"]), "k")
    assert "from 0% [-10%, 90%] for maths to 20% [-10%, 90%] for art" in recovery.says
    assert ">law (41)<" in svg(recovery)
    assert "An open dot has no interval." in within.says


def test_what_a_forest_cannot_show_is_said():
    """Rows beyond the last, missing figures and intervals that go on are in the caption; no rows, no drawing."""
    rows = [(f"r{at}", 0.1, 0.0, 0.2) for at in range(MOST - 2)] + [
        ("wide", 0.1, -9.0, 9.0),
        ("none", None, None, None),
    ]
    (one,) = forest_figure([*rows, ("more", 0.1, 0.0, 0.2)], "k", "t", "Said.")
    for words in ("The first 30 of 31 rows", "without a dot has no figure", "arrow"):
        assert words in one.says
    assert "0 [-9, 9]" in svg(one)
    assert forest_figure([("none", None, None, None)], "k", "t", "Said.") == []


@pytest.mark.parametrize("rows", [[("a", 0.5, None, None)], [("a", 0.0, 0.0, 0.0)], [("a", 1e9, -1e9, 1e12)]])
def test_a_forest_of_one_row_is_drawn(rows):
    """One figure, with or without width, of any size, is a forest."""
    assert len(forest_figure(rows, "k", "t", "Said.", None)) == 1


def test_long_labels_have_a_line_to_themselves():
    """Two names of judges are whole in the drawing, and its rows are then higher; short ones stay as they were."""
    first, second = "openai/gpt-5-mini", "openai/gpt-5-nano"
    (one,) = forest_figure([(pair(first, second), 0.1, 0.0, 0.2)] * 9, "k", "t", "Said.")
    assert f"{first} - {second}<" in svg(one)
    (low,) = forest_figure([("law", 0.1, 0.0, 0.2)] * 9, "k", "t", "Said.")
    heights = [float(re.search(r'viewBox="0 0 \S+ ([\d.]+)"', svg(figure)).group(1)) for figure in (one, low)]
    assert heights[0] > 1.2 * heights[1]


def test_names_are_cut_in_the_middle():
    """Of two long names each has its half; what a short one leaves free the other takes."""
    long = "openrouter/meta-llama/llama-3.3-70b-instruct-turbo"
    assert pair(long, long).startswith("openroute...")
    assert pair(long, long).endswith("uct-turbo")
    assert pair(long, long.replace("70b", "8b")) == "...3.3-70...uct-turbo - ...3.3-8b...uct-turbo"
    assert pair("gpt", long[11:]) == f"gpt - {long[11:]}"
    assert max(len(pair(*names)) for names in ((long, long), (long * 9, "b"), ("b" * 35, long))) <= ROW
    assert short("x" * 40 + "-mini", 20).endswith("xxx-mini")


def test_labels_alike_once_cut_are_numbered():
    """No two rows of a forest and no two lines have one label."""
    names = [f"{'a' * 60}{middle}{'b' * 60}" for middle in "12"]
    (forest,) = forest_figure([(name, 0.1, 0.0, 0.2) for name in [*names, "c"]], "k", "t", "Said.")
    (lines,) = curves_figure([Curve(name, [1, 2], [1, 2]) for name in names], "c", "t", "s", across="x", up="y")
    for one in (forest, lines):
        assert len(set(re.findall(r">(\(\d\) a+\.\.\.b+)<", svg(one)))) == 2
    assert ">c<" in svg(forest)
    assert told_apart(["a", "b", "a", "a"]) == ["(1) a", "b", "(2) a", "(3) a"]


def test_drawings_of_one_figure_share_their_range():
    """Rows in two drawings have one axis where each is told of all rows."""
    rows = [("a", 0.9, 0.8, 1.0), ("b", 0.2, 0.1, 0.3)]
    panels = [forest_figure([row], row[0], "t", "Said.", 0.5, beside=rows)[0] for row in rows]
    ticks = [re.findall(r">(\d\.\d+)<", svg(one)) for one in panels]
    assert ticks[0] == ticks[1] != []
    alone = [re.findall(r">(\d\.\d+)<", svg(forest_figure([row], "k", "t", "s", 0.5)[0])) for row in rows]
    assert alone[0] != alone[1]


def placed(svg):
    """Return the baselines of the words of a drawing, in points from its top."""
    return {word: float(y) for y, word in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)<', svg)}


def uprights(svg):
    """Return where the lines that stand upright begin and end; those at the very edge are patterns of ticks."""
    lines = re.findall(r"M ([\d.]+) ([\d.]+) \nL \1 ([\d.]+)", svg)
    return [sorted(map(float, ends)) for x, *ends in lines if float(x)]


@pytest.mark.parametrize("names", [("law", "art"), ("openai/gpt-5-mini - openai/gpt-5-nano", "x" * 44)])
def test_no_line_runs_through_the_words(names):
    """The reference is drawn at each row for itself, below the row's words and above those of the next row."""
    rows = [(name, 0.5 + at / 10, 0.2, 0.8) for at, name in enumerate(names)]
    (one,) = forest_figure(rows, "k", "t", "Said.", 0.5)
    words, lines = placed(svg(one)), sorted(uprights(svg(one)))
    numbers = [words[f"0.{5 + at}0 [0.20, 0.80]"] for at in (0, 1)]
    letters = 3
    assert len(lines) == 2
    for at, (top, bottom) in enumerate(lines):
        assert max(words[names[at]], numbers[at]) + letters < top
        assert at or bottom < min(words[names[1]], numbers[1]) - 3 * letters


def test_words_of_guides_stand_where_no_line_runs():
    """The word of a lying line is in the legend, those of upright ones are above the axes, one above the other."""
    guides = [Guide("random", y=0.0), Guide("here", x=0.2), Guide("there", x=0.21)]
    (one,) = curves_figure([Curve("a", [0, 1], [0, 1])], "c", "t", "s", across="labels", up="y", guides=guides)
    words = placed(svg(one))
    top = min(start for start, _ in uprights(svg(one)))
    assert words["here"] < top
    assert words["there"] < words["here"] - 9
    assert words["random"] > words["labels"]


def test_what_is_missing_is_not_drawn():
    """Parts that a document lacks give no figure and no error."""
    assert picks_figures(None, None, "k") == []
    assert picks_figures(typed({"recovery": found(None)}), None, "k") == []
    assert difference_figures(None, "k") == []
    assert len(difference_figures(typed({"judge": DIFFERENCES["judge"], "oracle": None}), "k")) == 1
    assert spread_figures(None, "k") == []
    assert strata_figures(None, "k") == []
    assert curves_figure([Curve("a", [1], [None])], "k", "t", "s", across="x", up="y") == []


@pytest.mark.parametrize("name", HOSTILE)
def test_names_from_files_stay_text(name):
    """No name makes markup, breaks a drawing or takes all its room."""
    drawings = [
        *strata_figures(strata([name, "law"]), "k"),
        *curves_figure([Curve(name, [1, 2], [1, 2]), Curve("b", [1, 2], [2, 3])], "c", "t", "s", across="x", up="y"),
    ]
    for one in drawings:
        assert "<script" not in svg(one)
        assert not re.search("[\x00-\x08\x1b\u202e]", svg(one) + one.says + one.title)
    assert len(short(name)) <= 28


def test_strata_that_are_alike_are_no_lowest_and_highest():
    """Where all have one figure the caption says each with its own interval, and of many the first."""
    column = strata(["maths", "law"])
    for row, low in zip(column[0].rows, (-0.4, -0.2), strict=True):
        row.metrics["recovery"] = typed(found(0.0, low, 0.1))
    recovery, _ = strata_figures(column, "k")
    assert "prompts: 0% [-40%, 10%] for maths, 0% [-20%, 10%] for law." in recovery.says
    many = strata([f"v{at}" for at in range(6)])
    for row in many[0].rows:
        row.metrics["recovery"] = typed(found(0.0, -0.4, 0.1))
    recovery, _ = strata_figures(many, "k")
    assert recovery.says.endswith("for v3 and 2 more.")


def test_figures_of_labelled_prompts_say_so():
    """Captions of strata and of the spread name the prompts that they rest on, where others lack labels."""
    for labelled in (True, False):
        captions = [
            *strata_figures(strata(["maths", "law"]), "k", labelled=labelled),
            *spread_figures(typed(SPREAD), "k", labelled=labelled),
        ]
        assert all(("labelled" in one.says) == labelled for one in captions)


def test_names_stand_at_the_ends_of_their_lines():
    """Each name has a leader to where its line ends, in the line's colour; no two names meet; there is no legend."""
    curves = [Curve(f"s{at}", [0.1, 0.5, 1.0], [0.2, 0.5 + at / 1000, None], role="other") for at in range(5)]
    chosen = Curve("chosen", [0.1, 0.5], [0.1, 0.6])
    drawn = curves_figure(
        [*curves, chosen],
        "k",
        "t",
        "s",
        across="share",
        up="part",
        guides=[Guide("random", y=0.5)],
        units=("share", "share"),
        at_ends=True,
    )
    (axes,) = painted(lambda: drawn)
    names = {text.get_text(): text for text in axes.texts}
    assert set(names) == {*(f"s{at}" for at in range(5)), "chosen", "random"}
    assert axes.get_legend() is None
    assert axes.figure.legends == []
    for curve in (*curves, chosen):
        assert names[curve.label].xy == (0.5, curve.y[1])
        assert role_of(names[curve.label].get_color()) == curve.role
    assert names["chosen"].get_fontweight() == "bold"
    boxes = sorted((Text.get_window_extent(text) for text in names.values()), key=lambda box: box.y0)
    assert all(low.y0 + 0.9 * low.height <= high.y0 for low, high in itertools.pairwise(boxes))
    heights = [names[name].xyann[1] for name in ("s0", "s1", "s2", "s3", "s4", "chosen")]
    assert heights == sorted(heights)


@given(st.lists(st.floats(-1, 2, allow_nan=False).map(lambda one: round(one, 3)), max_size=12), st.floats(0.01, 0.3))
def test_names_are_spread_no_further_than_they_must(places, gap):
    """They are a gap apart and in their order; none that has room moves, and those that touch keep their mean."""
    found = spread(places, gap)
    order = sorted(range(len(places)), key=places.__getitem__)
    put = [found[at] for at in order]
    assert all(after - before >= gap - 1e-9 for before, after in itertools.pairwise(put))
    wanted = sorted(places)
    if all(after - before >= gap for before, after in itertools.pairwise(wanted)):
        assert put == pytest.approx(wanted)
    # Each run of names that touch stands where the mean of what its names want is what they have.
    runs = [[at] for at in range(1) if put]
    for at in range(1, len(put)):
        if put[at] - put[at - 1] <= gap + 1e-9:
            runs[-1].append(at)
        else:
            runs.append([at])
    for run in runs:
        assert sum(put[at] for at in run) == pytest.approx(sum(wanted[at] for at in run), abs=1e-6)


# Names with stacked marks as labels of a drawing.


ZALGO = ["e" + "\u0301" * 5000, "a" + "\u0300" * 3000 + "1", "\u0336" * 5000, "z\u0301\u0302" * 900, "\u1160" * 900]


def most_marks(text):
    """Return how many marks stand on one letter at most."""
    return max((len(list(run)) for mark, run in groupby(text, unicodedata.combining) if mark), default=0)


@pytest.mark.parametrize("name", ZALGO, ids=range(len(ZALGO)))
def test_a_letter_keeps_four_marks(name):
    """However many marks a name stacks, its label is short in every direction, and is drawn without a warning."""
    for label in (short(name), short(name, 60), pair(name, "b"), *told_apart([name, name])):
        assert most_marks(label) <= 4
        assert len(label) < 400
    (figure,) = forest_figure([(label, 0.5, 0.2, 0.8) for label in told_apart([name, f"{name}2"])], "k", "t", "Said.")
    assert "<svg" in svg(figure)


WRITTEN = ["Vie\u0302\u0323t ngu\u031b\u0303", "\u0e17\u0e35\u0e48\u0e19\u0e31\u0e48\u0e19", "caf\u00e9"]


@pytest.mark.parametrize("name", WRITTEN, ids=range(len(WRITTEN)))
def test_the_marks_of_a_language_stay(name):
    """Names as they are written are labels as they are."""
    assert short(name) == name


def test_a_long_name_without_letters_of_its_own_is_told_apart():
    """Names that differ in their last letter alone, after thousands of marks, have two labels."""
    names = ["a" + "\u0300" * 3000 + end for end in "12"]
    assert len(set(told_apart(names))) == 2
    assert [label[-1] for label in told_apart(names)] == ["1", "2"]
