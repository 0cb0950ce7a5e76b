from __future__ import annotations

import pytest

from bonwise.report.blocks import Column, Part, Said, Table
from bonwise.report.markdown import markdown_error, rendered
from report.described.audits import audited

MOST = 900_000
LONG = "|" * 290
"""Of each of these letters six bytes are written."""


def long_one(gates, parts):
    """Return a description with gates at its end that is too long before them."""
    columns = (Column("name", "name"), Column("what", "words"))
    tables = [Part(f"part {at}", [Table.of(columns, [(LONG, LONG)] * 200)]) for at in range(parts)]
    outcomes = Part("Gates", [Said("good", f"{at}{LONG}: met") for at in range(gates)], "outcomes")
    return Part("All", [*tables, outcomes])


@pytest.mark.parametrize(("gates", "parts"), [(1, 10), (500, 10), (3000, 1)])
def test_no_summary_is_larger_than_a_build_shows(gates, parts):
    """Whatever the names and however many gates and tables: 900,000 bytes, and its end says what lacks."""
    text = rendered(long_one(gates, parts))
    assert len(text.encode()) <= MOST + 300
    assert text.splitlines()[-1].startswith("Left out, because a build shows no longer summary: ")


def test_gates_have_room_before_the_rest():
    """Gates, which decide the build, are all there where what stands above them is too long."""
    text = rendered(long_one(100, 10))
    assert sum(line.endswith(": met") for line in text.splitlines()) == 100
    assert "part 0" in text
    assert "part 9" not in text


def test_what_fits_is_whole():
    """An ordinary summary has no line of what was left out."""
    text = audited({"recovery": 0.1}).to_markdown()
    assert "Left out" not in text
    assert text.index("### Gates") < text.index("### Metrics")


def test_an_error_is_text():
    """A name in an error makes no markup and no further paragraph."""
    text = markdown_error("<b>a\n\n# b", "a: *no* such file", "")
    assert text == "## Audit of &lt;b&gt;a\\\\n\\\\n\\# b: bad input\n\na: \\*no\\* such file\n"
