"""The policy of figures: what holds of every estimate, interval and bound, and that every figure goes through it."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from math import log10
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import bonwise
from bonwise.report.blocks import Column, Table
from bonwise.report.numbers import (
    NOTHING,
    Ends,
    against,
    brief,
    column,
    estimate,
    interval,
    money,
    number,
    per_unit,
    percent,
    score,
    seconds,
    setting,
    unit_of_difference,
    with_interval,
)

# The policy of figures: what holds of every estimate, interval and bound, whatever its size.


UNITS = ("number", "share", "points")
SCALE = {"number": 1, "share": 100, "points": 100}

finite = st.floats(-1e6, 1e6, allow_subnormal=False)
shares = st.floats(0, 1, allow_subnormal=False)
widths = st.floats(-7, 5).map(lambda power: 10**power)
units = st.sampled_from(UNITS)


@st.composite
def found(draw):
    """Draw an estimate inside an interval of any width."""
    middle, width, at = draw(finite), draw(widths), draw(shares)
    low = middle - at * width
    high = low + width
    assume(low < high)
    return Ends(min(max(middle, low), high), low, high)


def figures(text):
    """Return the figures of a text as they are written, thousands together."""
    return re.findall(r"[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?", text.replace(",", "").replace("[", " "))


def ends_of(found, unit):
    """Return both ends of an interval as they are written."""
    return figures(interval(found, unit).replace(", ", " "))


def decimals(figure):
    """Return how many digits stand behind the point."""
    return len(figure.partition(".")[2])


@given(found(), units)
def test_estimate_and_ends_have_as_many_decimals(found, unit):
    """All three can be compared digit by digit, unless they are so small that each has an exponent."""
    written = [*figures(estimate(found, unit)), *ends_of(found, unit)]
    assert len(written) == 3
    assume(not any("e" in one for one in written))
    width = (found.high - found.low) * SCALE[unit]
    assume(width > 1e-2)
    assert len({decimals(one) for one in written}) == 1


@given(found(), units)
@example(Ends(0.2, 0.199, 0.201), "share")
@example(Ends(0.99999, 0.99998, 1.0), "share")
def test_the_written_interval_is_as_wide_as_it_is(found, unit):
    """Both ends together are off by no more than a tenth of the width, so that they never look alike."""
    width = (found.high - found.low) * SCALE[unit]
    low, high = ends_of(found, unit)
    assume("e" not in low + high)
    assume(width > 1e-2)
    slack = 1e-9 * max(abs(found.low), abs(found.high)) * SCALE[unit]
    if width < 1:  # From 1 up the point stands where it stands: whole figures.
        assert abs(float(high) - float(low) - width) <= width / 10 + slack
    assert float(low) <= float(high)
    assert low != high or width <= 1


@given(found(), units)
def test_what_is_written_is_the_figure(found, unit):
    """Reading a figure back gives it to a twentieth of its interval, or to half a percent of itself."""
    width = (found.high - found.low) * SCALE[unit]
    (written,) = figures(estimate(found, unit))
    value = found.estimate * SCALE[unit]
    assert float(written) == pytest.approx(value, rel=5.1e-3, abs=max(width / 19, 1e-4 * (unit != "number"), 1e-12))


@given(finite | widths | widths.map(lambda value: -value), units, st.booleans(), st.none() | found())
@example(-1e-17, "number", True, None)
@example(-1e-6, "points", True, Ends(0.1, 0.05, 0.15))
@example(0.0, "share", True, None)
def test_nothing_has_no_sign(value, unit, sign, like):
    """No 0 is ever written with a sign, however it came about; another figure has the sign that it has."""
    text = number(value, unit, like=like, sign=sign)
    (written,) = figures(text)
    if float(written) == 0:
        assert written[0] not in "+-", text
    else:
        assert (written[0] == "-") == (value < 0), text
        assert (written[0] == "+") == (sign and value > 0), text


@given(shares, st.none() | found())
def test_a_share_in_percent_is_100_times_itself(value, like):
    """A percent sign stands behind a hundred times the figure, with or without an interval."""
    text = number(value, "share")
    assert text.endswith("%")
    assert float(text[:-1]) == pytest.approx(100 * value, rel=5.1e-3, abs=5e-5)
    if like is not None:
        shifted = Ends(value, value - 0.01, value + 0.01)
        assert float(estimate(shifted, "share")[:-1]) == pytest.approx(100 * value, abs=0.05 + 1e-9)


@given(finite, widths, st.booleans(), st.sampled_from(["number", "share"]), st.none() | found())
@example(0.2, 1e-7, True, "share", None)
@example(0.2, 1e-7, False, "number", Ends(None, 0.1, 0.3))
@example(0.5, 1e-6, True, "share", Ends(None, 0.1, 0.3))
def test_a_bound_that_fails_a_gate_is_not_written_as_the_gate(gate, distance, below, unit, like):
    """However close a bound comes to a gate, a reader sees on which side it lies."""
    bound = gate - distance if below else gate + distance
    assume(abs(bound - gate) > 1e-11 * abs(gate))
    text = against(bound, gate, unit, like=like)
    (written,) = figures(text)
    scaled = gate * SCALE[unit]
    assert float(written) != scaled
    assert (float(written) < scaled) == below, (text, scaled)


def test_a_bound_has_the_decimals_of_its_interval():
    """Two bounds of one figure are written alike where both lie far from the gate; at the gate it is the gate."""
    both = Ends(None, 0.1423, 0.4011)
    assert [against(end, 0.2, like=both) for end in (0.1423, 0.4011)] == ["0.14", "0.40"]
    assert against(0.2, 0.2, "share", like=both) == "20%"
    assert (against(8e-14, 0.0), against(0.0079, 0.0)) == ("8e-14", "0.008")


@given(found())
def test_differences_of_shares_are_points(found):
    """The sign of percent stands behind shares alone, points once in front of the interval."""
    text = with_interval(found, unit_of_difference("share"), sign=True)
    assert "%" not in text
    assert text.count(" points ") + text.count(" point ") == 1
    assert with_interval(found, "share").count("%") == 3
    assert unit_of_difference("number") == "number"


@given(st.lists(found(), min_size=1, max_size=6), units)
def test_a_column_has_the_decimals_of_its_narrowest_interval(rows, unit):
    """All figures of a unit have as many decimals as the row that needs most; estimates and intervals agree."""
    assume(all(SCALE[unit] * (row.high - row.low) > 1e-2 for row in rows))
    alone = [interval(row, unit) for row in rows]
    needed = max(decimals(end) for text in alone for end in figures(text.replace(", ", " ")))
    for cells in ([estimate(row, unit) for row in rows], alone):
        written = column([NOTHING, *cells, ""])
        assert {decimals(end) for text in written for end in figures(text.replace(", ", " "))} == {needed}
    assert column([NOTHING, "prompts", ""]) == [NOTHING, "prompts", ""]


def test_a_column_of_several_quantities_is_not_stretched():
    """Shares agree, counts in calls and tokens keep their own digits, and no number gets more than four by others."""
    gain, length = Ends(0.0063, 0.0011, 0.0085), Ends(406.9, 396.0, 417.8)
    cells = [estimate(gain), estimate(length), number(440.0), estimate(Ends(0.31, 0.2, 0.4), "share"), "-"]
    assert column(cells, several=True) == ["0.0063", "406.9", "440", "31%", "-"]
    assert column(cells[:2]) == ["0.0063", "406.9000"]
    assert column([number(0.958, "share"), number(0.0417, "share")]) == ["95.8%", "4.2%"]
    assert column([number(0.5), number(0.00001)]) == ["0.500", "1.00e-05"]


def test_a_table_writes_its_columns_together():
    """Whoever makes a table, its cells agree, and they stay as they are where fewer rows are shown."""
    wide, narrow = Ends(0.56, 0.3, 0.8), Ends(0.4567, 0.4467, 0.4617)
    table = Table.of((Column("way", "name"), Column("value")), [("a", estimate(wide)), ("b", estimate(narrow))])
    assert [row.cells for row in table.rows] == [("a", "0.560"), ("b", "0.457")]
    assert replace(table, rows=table.rows[:1]).rows[0].cells == ("a", "0.560")


@given(st.lists(st.none() | finite, max_size=6))
def test_figures_of_a_column_are_in_their_order(values):
    """With as many decimals each the order of what is written is that of the figures."""
    texts = column([number(value) for value in values])
    known = sorted(
        (value, float(*figures(text))) for value, text in zip(values, texts, strict=True) if text != NOTHING
    )
    assert [text == NOTHING for text in texts] == [value is None for value in values]
    assert [written for _, written in known] == sorted(written for _, written in known)


@pytest.mark.parametrize("scale", [1e-11, 1e-9, 1e-4, 1.0, 1e6, 1e12, 1e300])
def test_sizes_of_any_kind_are_written(scale):
    """Tiny and huge figures keep their digits, and neither a unit nor an interval makes them fail."""
    one = Ends(0.5 * scale, 0.25 * scale, 0.75 * scale)
    for unit in UNITS:
        assert figures(with_interval(one, unit))
        assert figures(number(scale, unit, sign=True))
    assert float(figures(estimate(one))[0]) == pytest.approx(0.5 * scale, rel=0.05)
    assert len(ends_of(one, "number")) == 2
    assert len(set(ends_of(one, "number"))) == 2


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, -0.25, 1e-9, 1e9])
def test_equal_ends_have_the_digits_of_a_figure_alone(value):
    """An interval of no width says nothing of digits."""
    for unit in UNITS:
        point = Ends(value, value, value)
        alone = number(value, unit)
        assert estimate(point, unit) == alone
        assert set(ends_of(point, unit)) == set(figures(alone))


@pytest.mark.parametrize(
    ("figure", "unit", "written"),
    [
        (Ends(1.0, 0.999999999, 1.0), "share", "100% [100%, 100%]"),
        (Ends(-1e-9, -1e-9, 1e-9), "points", "0 points [0, 0]"),
        (Ends(0.0, 0.0, 0.0369), "share", "0.0% [0.0%, 3.7%]"),
        (Ends(0.9935, 0.982, 1.0), "share", "99.4% [98.2%, 100.0%]"),
        (Ends(0.109, 0.004, 0.254), "points", "10.9 points [0.4, 25.4]"),
        (Ends(2e-6, 1e-6, 3e-6), "number", "2.00e-06 [1.00e-06, 3.00e-06]"),
        (Ends(1_234_567.0, 1_134_567.0, 1_334_567.0), "number", "1,234,567 [1,134,567, 1,334,567]"),
        (Ends(0.5, None, None), "points", "50.0 points (no interval)"),
        (Ends(None, None, None), "share", NOTHING),
    ],
)
def test_figures_at_the_edge(figure, unit, written):
    """Certainty, nothing, and what is too small or too large for decimals."""
    assert with_interval(figure, unit) == written


@given(st.floats(1e-9, 1e9))
def test_figures_alone_have_three_digits_and_those_before_the_point(value):
    """Of what has no interval three digits are shown, more only before the point."""
    (written,) = figures(number(value))
    digits = re.sub(r"e.*|[-+.]", "", written).lstrip("0")
    assert len(digits) == max(3, int(log10(float(written))) + 1)


def test_what_was_set_is_as_short_as_it_was_typed():
    """Settings, scores and money keep what a user typed."""
    assert [setting(one) for one in (0.05, 20.0, -0.1, 0.123456)] == ["0.05", "20", "-0.1", "0.123456"]
    assert [percent(one) for one in (0.9, 0.995, 1.0, 0.3)] == ["90%", "99.5%", "100%", "30%"]
    assert setting(0.1, "points") == "10 points"
    assert [brief(one) for one in (0.05, 4.0, 9.918)] == ["0.05", "4", "9.92"]
    assert [score(one) for one in (7.0, 0.123456, 12345.6, -1e-5)] == ["7", "0.1235", "12,346", "-1e-05"]
    assert [money(one) for one in (0.00012, 1.0, 1234.5)] == ["$0.0001", "$1.00", "$1,234.50"]
    assert [per_unit(1, 7), per_unit(5, 1), per_unit(1, 10**6)] == ["0.143", "5", "under 0.001"]
    assert seconds(0.01234) == "0.0123 s"


@pytest.mark.parametrize(
    ("figures", "written"),
    [
        ((0.02772, -0.07458, 0.302), ("0.03", "[-0.07, 0.30]")),
        ((0.02772, 0.02, 0.0399), ("0.028", "[0.020, 0.040]")),
        ((0.0, 0.0, 0.2), ("0.00", "[0.00, 0.20]")),
        ((-0.000001, -0.1, 0.1), ("0.00", "[-0.10, 0.10]")),
        ((1234.5, 1000.0, 2000.0), ("1,234", "[1,000, 2,000]")),
        ((99.0, 90.0, 110.0), ("99", "[90, 110]")),
        ((440.0, None, None), ("440", "-")),
        ((0.5, 0.5, 0.5), ("0.500", "[0.500, 0.500]")),
        ((None, None, None), ("-", "-")),
        ((0.0, None, None), ("0", "-")),
    ],
)
def test_estimate_and_ends_have_one_number_of_decimals(figures, written):
    """The width says how many decimals all three take, and none is a negative zero."""
    found = Ends(*figures)
    shown = (estimate(found), interval(found))
    assert shown == written
    assert len({len(digits) for digits in re.findall(r"\.(\d+)", " ".join(shown))}) <= 1


@pytest.mark.parametrize("value", [0.0, -0.0, -1.1e-16, 3e-17])
def test_a_rounding_error_is_nothing(value):
    """What computing leaves of 0 is a plain 0, in every unit, and with a sign asked for."""
    assert (number(value), number(value, sign=True)) == ("0", "0")
    assert (number(value, "share"), number(value, "points", sign=True)) == ("0%", "0 points")


def test_a_small_figure_does_not_vanish():
    """Labels may be of a ten-thousandth: three digits are shown, with an exponent where they are far behind."""
    assert number(0.0001234) == "0.000123"
    assert number(-1.234e-7) == "-1.23e-07"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (estimate(Ends(0.0098, -0.1, 0.12), "points", sign=True), "+1 point"),
        (with_interval(Ends(-0.0098, -0.12, 0.1), "points", sign=True), "-1 point [-12, +10]"),
        (estimate(Ends(0.0198, -0.1, 0.12), "points", sign=True), "+2 points"),
        (estimate(Ends(0.0104, 0.004, 0.02), "points"), "1.0 points"),
        (number(0.012, "points", like=Ends(0.1, 0.0, 0.3)), "1 point"),
        (setting(0.01, "points"), "1 point"),
        (setting(0.01, "share"), "1%"),
    ],
)
def test_one_point_is_singular(written, said):
    """A whole point, above or below 0, is one point; what has decimals is several."""
    assert written == said


# Every printed figure goes through `bonwise.report.numbers` or `amounts`: no sentence has a format of its own.


ROOT = Path(bonwise.__file__).parent
SENTENCES = (
    "report/figures/*.py",
    "**/view*.py",
    "**/figures.py",
    "**/sentences.py",
    "studies/mix/engine.py",
    "studies/requirements/engine.py",
    "studies/calibration/judge_calibration.py",
    "monitoring/engine.py",
    "auditing/verdict.py",
    "auditing/gates.py",
)

OF_A_FLOAT = re.compile(r"(\.\d+[fgeEG%]?|[fgeEG%])$")
"""Format specifications that round; those of counts and texts, such as ``,``, ``d`` or ``<20``, do not."""

IN_A_COMMAND = {"planning/sentences.py": 4, "studies/requirements/engine.py": 1}
"""Values of flags in a command that is to be typed, or as they were typed."""

ON_AN_AXIS = {"report/figures/curves.py": 1, "report/figures/percent.py": 1}
"""Ticks of an axis have a formatter of their own, which matplotlib calls."""


def files():
    """Return the modules that write figures for people."""
    found = []
    for pattern in SENTENCES:
        some = sorted(ROOT.glob(pattern))
        assert some, pattern
        found += some
    assert len(found) > 40
    return sorted(set(found))


def formats(source):
    """Return the format specifications of floats in f-strings, in `format` and in `round`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = "".join(one.value if isinstance(one, ast.Constant) else "9" for one in node.format_spec.values)
            found += [spec] if OF_A_FLOAT.search(spec) else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += re.findall(r"\{\w*:[^{}]*(?:\.\d+|[fgeEG%])\}|%[-+]?\d*\.\d+[fge]", node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "format":
            found.append("format()")
    return found


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_module_writes_a_float_by_a_format_of_its_own(path):
    """One policy holds only where nothing goes past it."""
    name = path.relative_to(ROOT).as_posix()
    assert len(found := formats(path.read_text(encoding="utf-8"))) == {**ON_AN_AXIS, **IN_A_COMMAND}.get(name, 0), (
        found
    )


@pytest.mark.parametrize(
    "source",
    [
        'f"{x:.3f}"',
        'f"{x:.1%}"',
        'f"{x:g}"',
        'f"{x:+.1f}"',
        'f"{x:,.0f}"',
        '"{:.2f}".format(x)',
        '"%.3f" % x',
        "format(x, '.2f')",
        'f"{x:.{n}f}"',
    ],
)
def test_a_format_of_a_float_is_seen(source):
    """Each way to write one is found."""
    assert formats(source)


@pytest.mark.parametrize("source", ['f"{x:,}"', 'f"{x:d}"', 'f"{x:>20}"', 'f"{x}"', '"100% of {}"', 'f"{x!r:<4}"'])
def test_a_count_is_none(source):
    """Counts and texts may be laid out."""
    assert not formats(source)
