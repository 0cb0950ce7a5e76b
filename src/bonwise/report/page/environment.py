"""The templates of pages: what a file said is text on them, and what cannot be printed is written out."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from bonwise.printable import printable
from bonwise.report.blocks import Block, Cards, Part, Said, Table
from bonwise.report.figures.axes import LIGHT

MARKUP = 200
"""Bytes of a candidate on a page beside its words and its name, about."""

MOST_BYTES = 6_000_000
"""Of names and texts that the prompts of a page hold: browsers open what is twice as large with delay."""

_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')

_TALL = 1.3
"""Heights of a drawing, in widths, from which paper gives it more room."""

_REM_A_POINT = 0.097
"""At its widest a drawing's letters are about as large as those of the text."""

_LONGEST = 24
"""Letters of a word that any column can hold."""

_LONG_WORD = re.compile(rf"\S{{{_LONGEST + 1},}}")
_JOINT = re.compile(r"(?<=[a-z]{3}_)(?=[a-z]{3})")
_JOINT_OF_LONG = re.compile(r"(?<=\w[-/_])(?=\w)")
_NOWHERE = re.compile(rf"\S{{{_LONGEST}}}(?=[^\s\u0300-\u036f\ufe00-\ufe0f])")
"""Within a word without joints; never before a mark that belongs to the letter."""

_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z-])")
"""Where a sentence may begin; a title before a name begins one too many, which moves the name to the next line."""

_REM = re.compile(r"(?<![\w.])(\d*\.?\d+)rem\b")

_KEPT = ",;:/?!@$&'()*+=-_.~|[]"
"""Letters that an address may hold as they are."""

_BREAK = "\n"
"""Nothing printable holds one."""

_FIGURE = re.compile(r"[-+$]?\d[\d.,]*%?(?: points?)? \[[-+$\d.,%e ]+\]")
"""An estimate with its interval."""

_DECIMAL = re.compile(r"-?\d+(?:\.\d+)?")
"""A number that a script can read."""

_LONGEST_CELL = 80
"""Letters of a cell of a finder's row."""

_PLAIN = frozenset("\n\t\u200c\u200d")
"""Line ends, tabs, and the joiners without which Persian and composed emoji cannot be written."""


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates; every value is escaped, and an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("bonwise.report.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "line": printable,
        "count": _count,
        "address": _address,
        "room": _room,
        "cell": _cell,
        "cut": _cut,
        "data_address": _data_address,
        "alone": _alone,
        "first_sentence": _first_sentence,
        "figured": _figured,
        "lines_data": _lines_data,
    }
    made.globals["light_colours"] = dict(LIGHT)
    # Asking a block for what it does not have would cost as much as showing it.
    made.tests |= {"said": _is_said, "part": _is_part, "cards": _is_cards, "tall": _is_tall}
    return made


def _is_said(block: Block) -> bool:
    return isinstance(block, Said)


def _is_part(block: Block) -> bool:
    return isinstance(block, Part)


def _is_cards(block: Block | Cards) -> bool:
    return isinstance(block, Cards)


def _is_tall(svg: str) -> bool:
    box = _BOX.search(svg)
    return box is not None and float(box.group(2)) > _TALL * float(box.group(1))


def visible(text: str) -> str:
    r"""Return text with what cannot be seen written out, but lines, tabs, spaces and the joiners of letters."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    # By letter, not by place: a page of Chinese holds millions of letters and few that differ.
    hidden = {ord(char): char.encode("unicode_escape").decode("ascii") for char in set(text) if not _plain(char)}
    return text.translate(hidden) if hidden else text


def page_bytes(text: str) -> int:
    r"""Return the bytes that a text takes on a page, escaped and with what cannot be seen written out."""
    return len(str(escape(visible(text))).encode())


def _plain(letter: str) -> bool:
    return letter.isprintable() or letter in _PLAIN or unicodedata.category(letter) == "Zs"


def _finalize(value: object) -> object:
    # Markup is what a template has already made of its values.
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _cell(value: str) -> Markup:
    """Return the text of a cell with the places at which it may break: a column is as wide as its longest word."""
    text = _JOINT.sub(_BREAK, printable(value))
    parts = _LONG_WORD.sub(_joints, text).split(_BREAK)
    return Markup("<wbr>").join(escape(part) for part in parts if part)


def _joints(word: re.Match[str]) -> str:
    parts = _JOINT_OF_LONG.sub(_BREAK, word.group())
    return _NOWHERE.sub(rf"\g<0>{_BREAK}", parts)


def _cut(value: str, longest: int) -> str:
    return printable(value, longest=longest)


def _first_sentence(value: str) -> tuple[str, str]:
    first, *others = _SENTENCE.split(value, maxsplit=1)
    return first, "".join(others)


def _figured(value: str) -> Markup:
    """Return a sentence whose figures with an interval stand out, each on one line."""
    # No letter of such a figure is one that is escaped.
    return Markup(_FIGURE.sub(r"<b>\g<0></b>", str(escape(printable(value)))))  # noqa: S704 - escaped


def _count(value: int) -> str:
    return f"{value:,}"


def _address(name: str) -> str:
    """Return a file's name as a relative address; one with a colon is not taken for a scheme."""
    try:
        return "./" + quote(name.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # half a surrogate pair, which stands for no byte of a file's name
        return "./" + quote(visible(name))


def _data_address(text: str) -> str:
    """Return an address that holds CSV itself: a link to it works from a file and without a script."""
    return f"data:text/csv;charset=utf-8,{quote(text, safe=_KEPT)}"


def _lines_data(table: Table) -> Markup:
    """Return the lines of a finder for the page's script, as JSON that no markup can end.

    A word of a column of words is a place in `words`, a figure what its cell says, with its value where that is no
    number; last in a line stand its kinds.
    """
    places: dict[str, int] = {}
    lines = [
        [
            *(
                places.setdefault(printable(cell, longest=_LONGEST_CELL), len(places))
                if column.kind == "words"
                else _written_figure(cell, value)
                if column.kind == "figure"
                else printable(cell, longest=_LONGEST_CELL)
                for column, cell, value in zip(table.columns, row.cells, row.values, strict=True)
            ),
            list(row.kinds),
        ]
        for row in table.lines
    ]
    text = json.dumps({"words": list(places), "lines": lines}, ensure_ascii=False, separators=(",", ":"))
    # Trusted: within a script's data, only these letters could begin markup.
    return Markup(text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}))  # noqa: S704


def _written_figure(cell: str, value: float | None) -> str | float | list[str | float | None]:
    """Return a cell as a number where a script would write it so, and with its value where it is none."""
    if not _DECIMAL.fullmatch(cell):
        return cell if value is None else [cell, float(f"{value:.6g}")]
    figure = float(cell) if "." in cell else int(cell)
    return figure if json.dumps(figure) == cell else cell


def _alone(css: str, address: str) -> Markup:
    """Return rules of outputs as those of one output, whose address outweighs a notebook's classes and rem."""
    pixels = _REM.sub(lambda length: f"{16 * float(length[1]):g}px", css)
    # Trusted: a style sheet of this package.
    return Markup(pixels.replace(".bonwise", f"#{address}"))  # noqa: S704


def _room(svg: str) -> str:
    """Return the width that a drawing may take, in letters of the page: a small one is not blown up."""
    box = _BOX.search(svg)
    return f"{_REM_A_POINT * float(box.group(1)):.1f}" if box else "36"
