from __future__ import annotations

import matplotlib as mpl

from bonwise.report.page.canvas import drawn


def test_the_readers_own_settings_change_no_drawing():
    """Fonts, colours, grids and TeX that matplotlib is set to are for other pictures: the bytes are the same."""
    plain = drawn(lambda axes: axes.plot([0, 1], [0, 1], label="a"), key="line")
    hostile = {
        "text.usetex": True, "axes.grid": True, "font.size": 30, "lines.linewidth": 9, "axes.facecolor": "red",
        "svg.fonttype": "path", "savefig.dpi": 10, "axes.prop_cycle": mpl.cycler(color=["pink"]),
    }  # fmt: skip
    with mpl.rc_context(hostile):
        assert drawn(lambda axes: axes.plot([0, 1], [0, 1], label="a"), key="line") == plain
        assert mpl.rcParams["font.size"] == 30
