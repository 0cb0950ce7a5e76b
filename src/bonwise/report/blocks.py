"""What a report is made of: said things, tables, drawings, bars, sliders, parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from bonwise.report.numbers import FigureText, column

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_FURTHEST = 1.0
"""An interval is drawn out to so many widths of the line beyond its usual ends; an arrow says that it goes on."""


@dataclass(frozen=True, slots=True)
class BarMark:
    """A place on the line to compare figures with."""

    at: float
    kind: Literal["random", "gate", "oracle"]
    text: str
    """Its name with its figure."""


@dataclass(frozen=True, slots=True)
class BarRow:
    """A figure with its interval."""

    title: str
    figure: str
    ends: str
    """All three: its name, the estimate and the interval, as they are written."""
    estimate: float
    low: float | None
    high: float | None
    """Both: none where there is no interval."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Figures on lines of one length, from the first mark to the last one, or to a figure beyond them."""

    rows: Sequence[BarRow]
    """At least one."""
    marks: Sequence[BarMark]
    """At least two, in rising order of what they mean: random picks, the gate, the best picks."""
    says: str
    """All of it in words, for who cannot see it."""

    @property
    def start(self) -> float:
        """Where the line begins: the far end of a hopeless interval is beyond it, no estimate is."""
        first, width = self._usual
        ends = [min(first, row.estimate) for row in self.rows]
        reach = (max(row.low, end - width) for row, end in zip(self.rows, ends, strict=True) if row.low is not None)
        return min([first, *ends, *reach])

    @property
    def end(self) -> float:
        """Where the line ends."""
        first, width = self._usual
        last = first + width
        ends = [max(last, row.estimate) for row in self.rows]
        reach = (min(row.high, end + width) for row, end in zip(self.rows, ends, strict=True) if row.high is not None)
        return max([last, *ends, *reach])

    def place(self, value: float) -> float:
        """Return where on the line a value stands, in percent of its length, to two decimals."""
        share = (value - self.start) / (self.end - self.start)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def reach(self, row: BarRow) -> tuple[float, float]:
        """Return where the interval of a row begins on the line, and how long it is, in percent; 0 without one."""
        if row.low is None or row.high is None:
            return self.place(row.estimate), 0.0
        begins = self.place(row.low)
        return begins, round(self.place(row.high) - begins, 2)

    def goes_on(self, row: BarRow) -> tuple[str, ...]:
        """Return at which ends the interval goes on beyond the line: ``low``, ``high``, both or none."""
        beyond = {
            "low": row.low is not None and row.low < self.start,
            "high": row.high is not None and row.high > self.end,
        }
        return tuple(end for end, there in beyond.items() if there)

    @property
    def _usual(self) -> tuple[float, float]:
        places = [mark.at for mark in self.marks]
        return min(places), _FURTHEST * (max(places) - min(places))


@dataclass(frozen=True, slots=True)
class Step:
    """A value and its outcome."""

    value: str
    """As the slider names it."""
    word: str
    """The outcome in one word."""
    state: Literal["good", "bad", "open"]
    """Of that word."""
    figures: Sequence[str]
    """One per figure of the slider."""
    says: str
    """The outcome in sentences."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """A slider over outcomes, for pages alone: a page without its script shows them as a table, and so does paper."""

    key: str
    """Unlike that of any other slider of the description: lower-case letters, digits and hyphens."""
    label: str
    """What the slider changes."""
    value: str
    """Heading of the values in the table."""
    word: str
    """What the words are."""
    figures: Sequence[str]
    """Names of the figures of each step."""
    steps: Sequence[Step]
    """At least two."""
    current: int
    """The step, from 0, that the page begins at."""
    beside: str = ""
    """What is said of the step that the page begins at, such as "this audit"."""

    @property
    def start(self) -> Step:
        """The step that the page begins at."""
        return self.steps[self.current]


Value = str | float | int | bool | None
"""What a point of a drawing holds."""

Role = Literal["lead", "finding", "note", "caveat", "good", "bad", "open", "command", "quoted"]
"""What a sentence does.

``lead`` decides; ``finding`` says what was found; ``note`` says how to read it; ``caveat`` limits it; ``good``,
``bad`` and ``open`` are outcomes of gates; ``command`` is one line to type, never broken; ``quoted`` is text of a
user's file, of several lines.
"""

Kind = Literal["name", "metric", "figure", "words", "sentences", "meaning", "command"]
"""What a column holds.

``name`` and ``words`` are set to the left, ``metric`` is the name of a metric, which a page explains, ``sentences``
run over several lines wherever they are long, ``meaning`` explains the row.
"""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence, or a few that belong together."""

    role: Role
    text: str
    """Text, never markup. The renderers write out what cannot be printed; the description shortens long names."""
    file: str = ""
    """Name of a file beside the page, which stands after the text; a page links it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    kind: Kind = "figure"
    spare: int = 0
    """Order in which columns are left out on a narrow terminal, 1 first; 0 for one that stays as long as it can."""
    sorted: bool = False
    """Whether the rows are in the order of this column, the largest first."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table that is more than its cells."""

    cells: Sequence[str]
    """One per column."""
    strong: bool = False
    """Whether it stands out."""
    group: str = ""
    """Heading above this row, where a group of rows begins."""
    values: Sequence[float | None] = ()
    """By which a page sorts, one per column, None where the cell's text is sorted; empty where nothing is."""
    inside: Sequence[Block | Cards] = ()
    """What a page shows when the row is opened: sentences, tables, cards, and parts of these."""
    excerpt: str = ""
    """What a page shows below the first cell: how a longer text begins."""
    kinds: Sequence[int] = ()
    """Of a finder: which of its kinds the row is."""


@dataclass(frozen=True, slots=True)
class CardMark:
    """A word that tells a card from the others."""

    kind: Literal["picked", "best"]
    """Who chose it: the judge, or the oracle."""
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """A candidate, or another thing that has a name, figures and a text."""

    title: str
    marks: Sequence[CardMark] = ()
    facts: Sequence[tuple[str, str]] = ()
    """Names and figures."""
    note: str = ""
    """What is said beside the figures."""
    blocks: Sequence[Said | Part] = ()
    """Below them."""


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards side by side, in a row of a table that is opened."""

    cards: Sequence[Card]
    title: str = ""
    folded: str = ""
    """What a page says in place of the cards until a reader opens them; empty where they are open."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    role: Literal["table", "facts", "headlines", "finder", "definitions", "sample"] = "table"
    """``facts`` are names and values for the head of a page. ``headlines`` are figures to read first: name, figure,
    interval, meaning, and what stands beside. Terminal and Markdown leave both out, because their figures stand
    elsewhere too. ``finder`` has rows that open, a search field and sorting on a page; a page has one at most, a
    notebook none. Its title says what the field searches. ``definitions`` are a term, what it is, and an address that
    says more, and of a ``sample`` what its only row opens to: a page alone has them, and adds them itself.
    """
    at_a_glance: int = 0
    """Rows that a terminal shows, which counts the others; 0 for all."""
    lines: Sequence[Row] = ()
    """Of a finder: further rows, which do not open and which a page without a script leaves out."""
    kinds: Sequence[tuple[str, str]] = ()
    """Of a finder: what to filter its rows by, name and value, those of a name together."""

    def __post_init__(self) -> None:
        """Write the figures of each column with the same number of decimals."""
        if self.role == "table" and any(isinstance(cell, FigureText) for row in self.rows for cell in row.cells):
            several = any(each.kind == "metric" for each in self.columns)
            columns = zip(*(row.cells for row in self.rows), strict=True)
            cells = zip(*(column(each, several=several) for each in columns), strict=True)
            rows = [replace(row, cells=written) for row, written in zip(self.rows, cells, strict=True)]
            object.__setattr__(self, "rows", rows)

    @classmethod
    def of(cls, columns: Sequence[Column], rows: Iterable[Sequence[str]], title: str = "") -> Table:
        """Return a table of plain rows."""
        return cls(columns, [Row(cells) for cells in rows], title)

    @classmethod
    def listing(
        cls, columns: Iterable[tuple[Column, Callable[..., str]]], rows: Iterable[Sequence[Any]], title: str = ""
    ) -> Table:
        """Return a table of plain rows, each column with what writes its cell of a row."""
        titles, cells = zip(*columns, strict=True)
        return cls(titles, [Row([cell(*row) for cell in cells]) for row in rows], title)

    @classmethod
    def facts(cls, facts: Iterable[tuple[str, str]]) -> Table:
        """Return names and values for the head of a page."""
        return cls((Column("name", "name"), Column("value", "words")), [Row(fact) for fact in facts], role="facts")


class FigureData(Protocol):
    """Numbers that a drawing shows."""

    def rows(self) -> Iterable[Mapping[str, Value]]:
        """Return a row per point, interval or bar."""


D = TypeVar("D", bound=FigureData)


@dataclass(frozen=True, slots=True)
class Drawing(Generic[D]):
    """A figure: its numbers, and who paints them."""

    painter: Callable[[Axes, D], None]
    """Paints the data on axes, in the colours of `bonwise.report.figures.axes`."""
    data: D
    key: str
    """Unlike that of any other drawing of the description: lower-case letters, digits and hyphens."""
    title: str
    says: str
    """What is to be seen, with its figures: the caption, and what a screen reader reads."""
    size: tuple[float, float] = (3.9, 2.75)
    """Inches."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Paint on matplotlib axes of your own, or on new ones, and return them."""
        from bonwise.report.page.canvas import painted  # noqa: PLC0415 - drawing loads matplotlib

        return painted(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers as a table."""
        import pandas as pd  # noqa: PLC0415 - loaded only for a table

        return pd.DataFrame(list(self.data.rows()))


@dataclass(frozen=True, slots=True)
class Part:
    """Blocks that belong together."""

    title: str
    """Empty for what stands directly under the heading above."""
    blocks: Sequence[Block]
    role: Literal["part", "detail", "long", "verdict", "outcomes", "next"] = "part"
    """``detail`` is for pages alone, ``long`` for pages and a terminal that shows everything. The title of a
    ``verdict`` is its word; ``outcomes`` are those of gates, or what to do. Both come first everywhere. ``next`` is
    what to type next: a page says it in the verdict, a terminal and Markdown say it last.
    """
    state: Literal["good", "bad", "open", "neutral"] = "open"
    """Of a verdict."""
    question: str = ""
    """What a verdict answers; a page shows it above the word."""
    anchor: str = ""
    """Address on a page: lower-case letters, digits and hyphens; made from the title where empty."""
    folded: str = ""
    """What a page says in place of the blocks until a reader opens them; empty where they are open."""


# A drawing's own kind of data matters only to its painter.
Block = Said | Table | Part | Drawing | Bar | Stepped  # type: ignore[type-arg]


def finding(sentence: str) -> Said:
    """Return a sentence of a document: labels without a use, and designs with a star, are shown in short too."""
    limiting = any(words in sentence for words in ("not used, because", "nobody can draw by them"))
    return Said("caveat" if limiting else "finding", sentence)


def decisive_first(part: Part, *, above_all: bool = False) -> Part:
    """Return a part, verdict and then gates first, so also inside it; with `above_all` before all else too."""
    inside = [
        decisive_first(block, above_all=above_all) if isinstance(block, Part) else block for block in part.blocks
    ]
    if part.role == "verdict":
        return replace(part, blocks=sorted(inside, key=_rank_in_a_verdict))
    if above_all:
        return replace(part, blocks=sorted(inside, key=_rank))
    above = next((at for at, block in enumerate(inside) if isinstance(block, Part)), len(inside))
    return replace(part, blocks=[*inside[:above], *sorted(inside[above:], key=_rank)])


def _rank(block: Block) -> int:
    order = {"verdict": 0, "outcomes": 1}
    return order.get(block.role, 2) if isinstance(block, Part) else 2


def _rank_in_a_verdict(block: Block) -> int:
    if isinstance(block, Said):
        return 0 if block.role == "lead" else 2
    if isinstance(block, Bar):
        return 1
    if isinstance(block, Part) and not block.folded:
        return 4 if block.role == "next" else 3
    if isinstance(block, Drawing):
        return 5
    return 6 if isinstance(block, Table) and block.role == "headlines" else 7


def next_of(blocks: Iterable[Block]) -> Iterator[Part]:
    """Yield what to type next, of the verdicts among blocks."""
    for block in blocks:
        if isinstance(block, Part) and block.role == "verdict":
            yield from (part for part in block.blocks if isinstance(part, Part) and part.role == "next")


def drawings_of(blocks: Iterable[Block]) -> Iterator[Drawing[FigureData]]:
    """Yield the drawings among blocks and the parts inside them."""
    for block in blocks:
        if isinstance(block, Drawing):
            yield block
        elif isinstance(block, Part):
            yield from drawings_of(block.blocks)
