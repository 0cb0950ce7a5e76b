"""Blocks as Markdown, of a limited size, and as lines of a terminal."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from bonwise.printable import printable
from bonwise.report.blocks import Bar, BarMark, BarRow, Column, Part, Row, Said, Table
from bonwise.report.markdown import markdown_error, rendered
from bonwise.report.page.rendered import fragment, whole_page
from bonwise.report.show import markdown
from bonwise.report.terminal import WIDTH, FittedTable, plain, renderables
from report.audits import audited, changed, several

TOKENS = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "text_special"),
    *("strong_open", "strong_close"),
    *(f"{part}_{end}" for part in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")),
}
GAP = "\u200b"
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a|b\\|c\\",
    "`code` ``more``",
    "**strong** _soft_ ~~gone~~",
    "[link](javascript:alert(1))",
    "![image](https://example.com/x.png)",
    "https://example.com www.example.com mailto:a@example.com",
    "xmpp:a@example.com xmpp:room?join",
    "@everyone #12 GH-12 a/b#3 :tada:",
    "$x^2$ $$y$$",
    "<!-- gone",
    "&lt;b&gt; &#124; &nbsp;",
    "line\n\n# heading\n---\n| a | b |",
    "1. one",
    "- one",
    "\u202eright to left\u2066",
    "{{7*7}} {% raw %}",
    "\x00\x1b[31m\ud800",
    "[^1]: note",
    "[ ] task  two  gaps ",
    "=1+1",
    "\\",
    "]]> ```",
)
AUDITED = audited({"recovery": 0.1, "within_r": 0.9})


def tokens(text):
    """Parse as GitHub's kind of Markdown and return every token."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    top = parser.parse(text)
    return [*top, *(inner for one in top for inner in one.children or ())]


def cells(text):
    """Return the tables' rows as a reader sees them."""
    rows, row = [], None
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            row = []
        elif token.type == "inline" and row is not None:
            row.append("".join(inner.content for inner in token.children).replace(GAP, ""))
        elif token.type == "tr_close":
            rows.append(row)
            row = None
    return rows


def seen(text):
    """Return all that a reader sees, gaps taken out."""
    return "\n".join(
        "".join(inner.content for inner in one.children) for one in tokens(text) if one.type == "inline"
    ).replace(GAP, "")


def once(text):
    """Return a name as one line of text shows it."""
    return " ".join(printable(text).split())


def about(name):
    """Return a description that says a name wherever there can be one."""
    columns = (Column(name, "name"), Column("figure"), Column(name, "words"))
    rows = [Row((name, "1", name), group=name), Row(("plain", "2", name))]
    return Part(name, [Said("note", name), Part(name, [Said("good", name), Table(columns, rows, name)], "outcomes")])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name):
    """A name of whatever kind makes no link, image, markup or further cell, and is read as it is."""
    text = rendered(about(name))
    assert {token.type for token in tokens(text)} <= TOKENS
    assert seen(text).count(once(name)) >= 11
    assert {len(row) for row in cells(text)} == {3}
    linked = re.compile(r"@\w|https?://|www\.|GH-\d|#\d|mailto:|xmpp:|:tada:", re.IGNORECASE)
    assert not linked.search("".join(token.content for token in tokens(text) if token.type == "text"))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_an_audit_are_text(name):
    """Sources, judges, sentences and reasons of an audit's document are text."""
    gates = [{**gate.to_dict(), "judge": name, "sentence": name} for gate in AUDITED.gates]
    document = changed(
        AUDITED,
        judge=name,
        settings={"source": name, "exclude": [name]},
        gates=gates,
        verdict={**AUDITED.verdict.to_dict(), "sentences": [name, name], "deciding": 1},
        data={"dropped": [{"prompt_id": name, "reason": name}]},
    )
    text = markdown(document)
    assert {token.type for token in tokens(text)} <= TOKENS
    # A title has the last part of a path.
    assert seen(text).count(once(name)) >= 7


@example(" ")
@given(st.text(st.characters(), min_size=1, max_size=60))
def test_any_name_is_text(name):
    """No text makes anything but text, and what is seen is the text."""
    text = rendered(about(name))
    assert {token.type for token in tokens(text)} <= TOKENS
    assert {len(row) for row in cells(text)} == {3}
    assert seen(text).count(once(name)) >= 11


def test_what_decides_comes_first():
    """Below the title and the notes stands the verdict with its word, then the outcomes, then all else."""
    verdict = Part("useful", [Said("finding", "because"), Said("lead", "so it is")], "verdict")
    outcomes = Part("Gates", [Said("good", "met")], "outcomes")
    text = rendered(Part("All", [Said("note", "of old"), Part("Data", [Said("note", "9")]), verdict, outcomes]))
    headings = ["## All", "of old", "### Verdict: useful", "so it is", "because", "### Gates", "met", "### Data", "9"]
    assert text.split("\n\n") == [*headings[:-1], "9\n"]


def test_the_summary_stays_small():
    """Of a thousand judges 200 have a row, and the others are counted."""
    document = several(["first", "second", "third", "fourth", "fifth"])
    judge = document.judges["first"].to_dict()
    many = changed(document, judges={f"j{at}" * 100: judge for at in range(1000)}, comparisons=[], choice={})
    text = markdown(many)
    assert len(text) < 200_000
    assert cells(text)[-1][0] == "... 800 more"


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


@pytest.mark.parametrize(("longest", "narrower"), [(35, 0), (36, 0), (37, 1), (60, 24)])
def test_words_keep_36_columns(longest, narrower):
    """By so much a column of words may be narrowed: what stands beyond 36 columns, of its longest cell."""
    both = FittedTable(("name", "why"), [["a", "w" * longest], ["b", "w"]], words=("why",))
    assert both._foldable(["why"]) == narrower


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
