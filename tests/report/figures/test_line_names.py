from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.figures.names import spread
from report.figures.painted import painted, role_of


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
