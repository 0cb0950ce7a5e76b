from __future__ import annotations

import io

import pytest
from rich.console import Console

from bonwise.report.fitted import FittedTable
from bonwise.report.terminal import WIDTH, plain

THREE = FittedTable(("name", "a", "b", "c"), [["x" * 10, "1" * 10, "2" * 10, "3" * 10]], spare=("b", "a"))
METRICS = FittedTable(
    ("metric", "first", "its interval", "second", "its interval ", "first - second", "interval"),
    [["recovery_per_1000_tokens", "0.12345", "[0.10000, 0.20000]"] + ["-0.12345", "[-0.20000, 0.10000]"] * 2],
    spare=("its interval", "its interval "),
)


def on_terminal(part, width):
    """Return one renderable as a terminal of some width shows it."""
    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=True, color_system=None).print(part)
    return stream.getvalue()


def flat(text):
    """Return a text with its line breaks undone."""
    return " ".join(text.split())


def test_what_may_be_spared_goes_first_and_is_named():
    """Spare columns go one by one, in their order, only while the table is too wide, and each is named."""
    found = {width: on_terminal(THREE, width) for width in (80, 40, 28)}
    assert ["2" * 10 in found[width] for width in (80, 40, 28)] == [True, False, False]
    assert ["1" * 10 in found[width] for width in (80, 40, 28)] == [True, True, False]
    assert all("3" * 10 in text for text in found.values())
    assert "left out" not in found[80]
    assert "columns hidden, the terminal is too narrow: b; --json has all" in flat(found[40])
    assert "columns hidden, the terminal is too narrow: a, b;" in flat(found[28])


@pytest.mark.parametrize("width", [50, 60, 80, 118, 200])
def test_names_and_figures_are_whole_at_any_width(width):
    """Each line of the table keeps its name, no figure is cut, and shown and named columns are all there are."""
    text = on_terminal(METRICS, width)
    (line,) = (line for line in text.splitlines() if "recovery" in line)
    cells = METRICS.rows[0]
    assert set(line.replace(", ", ",").split()) <= {cell.replace(", ", ",") for cell in cells}
    assert line.startswith("recovery_per_1000_tokens")
    _, _, lost = flat(text).partition("columns hidden, the terminal is too narrow: ")
    named = lost.partition(";")[0].split(", ") if lost else []
    assert len(named) == len(METRICS.headers) - len(line.replace(", ", ",").split())


def test_columns_that_are_not_spare_go_from_the_right():
    """Where sparing is not enough others are left out from the right, an interval named by what it is of."""
    text = flat(on_terminal(METRICS, 60))
    assert "columns hidden, the terminal is too narrow: interval of first, interval of second, first - second" in text
    assert "interval of first - second; --json has all" in text


def test_a_long_name_runs_over_several_lines():
    """A name longer than half the terminal is folded, not cut, and the most important figure stays beside it."""
    name = "openai/" + "x" * 60
    text = on_terminal(FittedTable(("judge", "recovery", "n"), [[name, "0.123", "1,000"]], spare=("n",)), 30)
    rows = [line.split() for line in text.splitlines()[2:] if line.strip() and not line.startswith(("left", "widen"))]
    assert "0.123" in rows[0]
    assert "".join(row[0] for row in rows)[: len(name)] == name


def test_words_are_folded_before_they_are_left_out():
    """A column of words runs over several lines as long as half a line of them fits, and is named after that."""
    meaning = "one two three four five six seven eight nine ten eleven"
    table = FittedTable(
        ("metric", "n", "meaning"), [["recovery", "10", meaning]], spare=("meaning",), words=("meaning",)
    )
    assert "left out" not in on_terminal(table, 54)
    assert all(word in on_terminal(table, 54) for word in meaning.split())
    assert "columns hidden, the terminal is too narrow: meaning;" in flat(on_terminal(table, 40))


def test_nothing_is_left_out_of_a_file():
    """In a file or a pipe a row stands on one line with all its columns, though the line runs past the width."""
    cells = [["name", *(str(at) * 30 for at in range(6))]]
    text = plain([FittedTable(("who", *"abcdef"), cells, spare=tuple("abcdef"))])
    (line,) = (line for line in text.splitlines() if line.startswith("name"))
    assert line.split() == cells[0]
    assert len(line) > WIDTH
    assert "left out" not in text
