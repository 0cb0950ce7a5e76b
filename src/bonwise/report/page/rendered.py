"""A described document as one HTML page, or as part of a notebook."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import count, islice

from bonwise.release import release
from bonwise.report.blocks import (
    Bar,
    Block,
    Cards,
    Drawing,
    FigureData,
    Part,
    Row,
    Said,
    Stepped,
    Table,
    decisive_first,
    drawings_of,
)
from bonwise.report.figures import forest
from bonwise.report.page import defined, view
from bonwise.report.page.environment import environment

_DRAWINGS = 2
"""Drawings side by side."""

_ROOM = 560
"""Pixels for what is open, below the title; a cell with a few lines more than estimated stays below 700."""

_LINE, _ROW, _CAPTION, _BAR, _TILES, _TITLE = 27, 28, 80, 96, 96, 50
"""Pixels of a line of words, a row of a table, a drawing's caption, a bar, tiles, and a title."""

_WIDE = 84
"""Pixels of an inch of a drawing: two are side by side, and their letters are readable."""

_LETTERS = 95
"""Of a line."""

_FOLDED = "Tables and notes"


def few(described: Part) -> Part:
    """Return the verdict, its tiles, gates and two drawings, the rest folded; what needs the script is left out."""
    blocks = list(_without_scripted(decisive_first(described, above_all=True).blocks))
    decisive = [block for block in blocks if isinstance(block, Part) and block.role in {"verdict", "outcomes"}]
    drawings = list(islice(drawings_of(blocks), _DRAWINGS))
    shown: list[Block] = [*map(_in_brief, decisive), *drawings]
    room = (
        _ROOM
        - sum(_height(block) for block in shown if isinstance(block, Part))
        - max(map(_height, drawings), default=0)
    )
    rest = [block for block in blocks if block not in decisive and not _is_facts(block)]
    lines = list(_without_drawings(rest))
    fitting = 0
    for block in lines:
        room -= _height(block)
        if room < 0:
            break
        fitting += 1
    folded = list(map(_unfolded, [*(more for part in decisive for more in _beyond(part)), *lines[fitting:]]))
    before = [line for line in lines[:fitting] if not isinstance(line, Part)]
    after = [line for line in lines[:fitting] if isinstance(line, Part)]
    first_blocks: list[Block] = [*shown[: len(decisive)], *before, *drawings, *after]
    if folded:
        first_blocks.append(Part("", folded, folded=_FOLDED, anchor="more"))
    return replace(described, blocks=first_blocks)


def _in_brief(part: Part) -> Part:
    if part.role != "verdict":
        return part
    return replace(part, blocks=[block for block in part.blocks if _is_first(block)])


def _beyond(part: Part) -> Iterator[Block]:
    if part.role == "verdict":
        yield from (block for block in part.blocks if not _is_first(block))


def _unfolded(block: Block) -> Block:
    """Return a block without a fold of its own: one is enough."""
    if not isinstance(block, Part):
        return block
    return replace(block, blocks=[_unfolded(inner) for inner in block.blocks], folded="")


def _is_first(block: Block) -> bool:
    """Tell whether a block of a verdict is read first: a sentence, the bar, the tiles."""
    return isinstance(block, Said | Bar) or (isinstance(block, Table) and block.role == "headlines")


def _without_scripted(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if not isinstance(block, Part):
            if not isinstance(block, Stepped):
                yield block
        elif not any(isinstance(inner, Table) and inner.role == "finder" for inner in block.blocks):
            yield replace(block, blocks=list(_without_scripted(block.blocks)))


def _without_drawings(blocks: Sequence[Block], only: Drawing[FigureData] | None = None) -> Iterator[Block]:
    """Yield blocks without their drawings, or without one of them."""
    for block in blocks:
        if isinstance(block, Part):
            # What was there for its drawings alone has no place without them.
            if left := list(_without_drawings(block.blocks, only)):
                yield replace(block, blocks=left)
        elif not isinstance(block, Drawing) or (only is not None and block is not only):
            yield block


def _is_facts(block: Block) -> bool:
    return isinstance(block, Table) and block.role == "facts"


def _height(block: Block) -> int:
    """Return about how many pixels a block takes in a cell that is 800 wide."""
    if isinstance(block, Said):
        return _LINE * (1 + len(block.text) // _LETTERS) + 7
    if isinstance(block, Bar):
        return _BAR
    if isinstance(block, Drawing):
        return _CAPTION + round(_WIDE * block.size[1])
    if isinstance(block, Table):
        return _TILES if block.role == "headlines" else _TITLE + _ROW * sum(_lines(row.cells) for row in block.rows)
    if isinstance(block, Stepped) or not block.blocks:
        return 0
    return _LINE if block.folded else _TITLE + sum(map(_height, block.blocks))


def _lines(cells: Sequence[str]) -> int:
    return 1 + sum(map(len, cells)) // _LETTERS


def made_on(seconds: str | None = None, today: date | None = None) -> str:
    """Return the date in ISO form: by `seconds` since 1970, else SOURCE_DATE_EPOCH, else `today` or the clock."""
    stamp = os.getenv("SOURCE_DATE_EPOCH", "") if seconds is None else seconds
    try:
        return datetime.fromtimestamp(int(stamp), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return (today or datetime.now().astimezone().date()).isoformat()


_SHOWN = count(1)
"""Outputs of this process: a notebook may show one result in two places."""


_TALLEST = 4.6
"""Inches of the picture of a verdict."""


def with_picture(described: Part) -> Part:
    """Return a description whose verdict shows a sample, and the first drawing if it has none of its own."""
    blocks = described.blocks
    drawing, more = next(drawings_of(blocks), None), list[Block](islice(_samples(blocks), 1))
    for at, verdict in enumerate(blocks):
        if isinstance(verdict, Part) and verdict.role == "verdict":
            before, after = blocks[:at], blocks[at + 1 :]
            if drawing is not None and not any(isinstance(block, Drawing) for block in verdict.blocks):
                picture = forest.shortened(drawing, _TALLEST)
                more.insert(0, picture)
                if picture is drawing:
                    before, after = (list(_without_drawings(side, drawing)) for side in (before, after))
            shown = replace(verdict, blocks=[*verdict.blocks, *more])
            return replace(described, blocks=[*before, shown, *after])
    return described


def _samples(blocks: Sequence[Block]) -> Iterator[Table]:
    """Yield of each finder the texts of its first row: what was asked, what was picked, and one other answer."""
    for block in blocks:
        if isinstance(block, Part):
            yield from _samples(block.blocks)
        elif isinstance(block, Table) and block.role == "finder" and block.rows:
            row = block.rows[0]
            cards = next((each.cards[:2] for each in row.inside if isinstance(each, Cards)), ())
            words = [[said for said in card.blocks if isinstance(said, Said)] for card in cards]
            asked = [text for part in row.inside if isinstance(part, Part) for text in part.blocks][:1]
            if any(words):
                pair = Cards([replace(card, blocks=texts) for card, texts in zip(cards, words, strict=True)])
                yield Table((), [Row((), inside=[Part(f"For example, {row.cells[0]}", asked), pair])], role="sample")


def whole_page(described: Part) -> str:
    """Return a description as one HTML page that loads nothing from elsewhere."""
    templates = environment()
    script = templates.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return templates.get_template("page.html").render(
        page=view.page_view(with_picture(defined.with_definitions(described))),
        script_hash=digest,
        version=release(),
        made_on=made_on(),
        whole=True,
    )


def fragment(described: Part) -> str:
    """Return the findings of a description for a notebook: no script, no headings, styles of its own alone."""
    prefix = f"b{next(_SHOWN)}-{hashlib.sha256(described.title.encode()).hexdigest()[:10]}-"
    return (
        environment()
        .get_template("fragment.html")
        .render(page=view.page_view(few(described), prefix), id=f"{prefix}output", whole=False)
    )
