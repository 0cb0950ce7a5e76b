from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.report.blocks import Bar, BarMark, BarRow, Part, Said
from bonwise.report.markdown import rendered
from bonwise.report.page.rendered import fragment, whole_page
from bonwise.report.terminal import renderables

MARKS = (BarMark(0.0, "random", "random 0%"), BarMark(0.5, "gate", "gate 50%"), BarMark(1.0, "oracle", "oracle 100%"))
FIGURES = st.floats(-5, 5)


def bar(*rows, marks=MARKS):
    """Return a bar of rows, each an estimate with the ends of its interval."""
    return Bar([BarRow("Recovery", "21%", "[8%, 34%]", *row) for row in rows], marks, "Recovery 21% [8%, 34%].")


@pytest.mark.parametrize(
    ("row", "start", "end", "beyond"),
    [
        ((0.21, 0.08, 0.34), 0.0, 1.0, ()),
        ((0.21, None, None), 0.0, 1.0, ()),
        ((-0.3, -0.6, 0.1), -0.6, 1.0, ()),
        ((0.1, -4.0, 3.0), -1.0, 2.0, ("low", "high")),
        ((-2.0, -2.5, -1.5), -2.5, 1.0, ()),
        ((1.1, 0.9, 1.3), 0.0, 1.3, ()),
    ],
)
def test_the_line_holds_every_estimate_and_usual_interval(row, start, end, beyond):
    """The line reaches from random picks to the oracle, and on to what lies outside; a hopeless end has an arrow."""
    found = bar(row)
    assert (found.start, found.end) == (start, end)
    assert found.goes_on(found.rows[0]) == beyond
    assert found.place(start) == 0
    assert found.place(end) == 100


@given(st.lists(st.tuples(FIGURES, FIGURES, FIGURES), min_size=1, max_size=3))
def test_places_are_to_scale(figures):
    """Every place is where a ruler would put it; no estimate lies beyond the line, and no interval is longer."""
    found = bar(*((sorted(some)[1], min(some), max(some)) for some in figures))
    width = found.end - found.start
    for row in found.rows:
        assert found.start <= row.estimate <= found.end
        assert found.place(row.estimate) == pytest.approx(100 * (row.estimate - found.start) / width, abs=0.01)
        begins, long = found.reach(row)
        seen = max(row.low, found.start), min(row.high, found.end)
        assert begins == pytest.approx(100 * (seen[0] - found.start) / width, abs=0.01)
        assert long == pytest.approx(100 * (seen[1] - seen[0]) / width, abs=0.02)


def test_a_page_and_a_notebook_show_it_and_text_leaves_it_out():
    """Where nothing can be drawn the sentences say the same, so terminal and Markdown hold no line of it."""
    described = Part("All", [Part("weak", [Said("lead", "It is weak."), bar((0.21, 0.08, 0.34))], "verdict", "bad")])
    for shown in (whole_page(described), fragment(described)):
        assert 'class="bar-dot" style="left: 21.0%"' in shown
        assert 'style="left: 8.0%; width: 26.0%"' in shown
        assert 'class="bar-mark gate" style="left: 50.0%"' in shown
    assert "21%" not in rendered(described)
    assert not any("21%" in str(one) for one in renderables(described))


def test_what_a_bar_says_stays_text():
    """Names from files are escaped."""
    bad = "<script>alert(1)</script>"
    row = BarRow(bad, bad, bad, 0.2, None, None)
    shown = whole_page(Part("All", [Part("x", [Bar([row], (*MARKS, BarMark(0.7, "gate", bad)), bad)], "verdict")]))
    assert "<script>alert" not in shown
    assert shown.count("&lt;script&gt;alert") >= 5
