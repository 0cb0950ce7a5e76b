from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bonwise.table.cells import distinct_cells, label_by_cell, mean_by_cell, positions

KEYS = st.lists(st.integers(0, 9), max_size=20).map(lambda keys: np.array(keys, dtype=np.int64))


@given(KEYS, KEYS)
def test_positions_are_those_of_a_plain_search(keys, cells):
    """Distinct keys are the sorted set, and each key stands where that set has it, or at -1."""
    cells = distinct_cells(cells)
    assert cells.tolist() == sorted(set(cells.tolist()))
    listed = cells.tolist()
    assert positions(keys, cells).tolist() == [listed.index(k) if k in listed else -1 for k in keys.tolist()]


VALUES = st.lists(st.tuples(st.integers(-1, 3), st.sampled_from([0.1, 0.2, 0.3, 0.7, np.nan])), max_size=12)


@given(VALUES, st.randoms(use_true_random=False))
def test_means_do_not_depend_on_the_order_of_rows(rows, random):
    """The mean of a cell is that of its values, the same bits in any order; a cell of blanks is blank."""
    at, values = np.array([r[0] for r in rows], dtype=np.int64), np.array([r[1] for r in rows], dtype=float)
    found = mean_by_cell(at, values, 4)
    order = list(range(len(rows)))
    random.shuffle(order)
    assert found.tobytes() == mean_by_cell(at[order], values[order], 4).tobytes()
    for cell in range(4):
        mine = values[(at == cell) & ~np.isnan(values)]
        np.testing.assert_allclose(found[cell], mine.mean() if len(mine) else np.nan, rtol=1e-12)
        assert len(mine) != 1 or found[cell] == mine[0]


@given(VALUES)
def test_exactly_the_contradictions_are_found(rows):
    """A row contradicts where its label differs from the first one of its cell; without any, labels are those."""
    at, values = np.array([r[0] for r in rows], dtype=np.int64), np.array([r[1] for r in rows], dtype=float)
    labels, contradictions = label_by_cell(at, values, 4)
    first = {}
    expected = []
    for row, (cell, value) in enumerate(rows):
        if cell >= 0 and not np.isnan(value) and first.setdefault(cell, value) != value:
            expected.append(row)
    assert contradictions.tolist() == expected
    if not expected:
        np.testing.assert_array_equal(labels, [first.get(cell, np.nan) for cell in range(4)])
