"""The definitions of the metrics that a page names: each name on the page leads to its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from bonwise.documents.metric_definitions import DEFINITIONS
from bonwise.report.blocks import Block, Column, Part, Row, Table
from bonwise.report.described.limits import NOT_ESTABLISHED
from bonwise.report.numbers import counted
from bonwise.report.page.docs_site import docs_site
from bonwise.report.wording import named

__all__ = ["with_definitions"]

_ALONE = " *"
"""What may stand behind the name of a metric in a table."""

_ANY_REFERENCE = "a reference"
_PAGE = "{site}{page}.html#definition"


def with_definitions(described: Part) -> Part:
    """Return a description with the definitions of the metrics that its tables name, folded before its last words.

    Each definition has an address in the documentation where it is known where that is (see
    `bonwise.report.page.docs_site`).
    """
    said, site = set(_names(described.blocks)), docs_site()
    # A page that says "reference" in place of "oracle" says so in the names of some metrics too.
    known = max(
        (_known(reference, site) for reference in (None, _ANY_REFERENCE)), key=lambda one: len(said & one.keys())
    )
    names = [name for name in known if name in said]
    if not names:
        return described
    columns = (Column("metric", "metric"), Column("definition", "sentences"), Column("documentation", "words"))
    table = Table(columns, [Row((name, *known[name])) for name in names], role="definitions")
    told = f"Definitions of {counted(len(names), 'metric')}"
    part = Part("What the metrics are", [table], anchor="metrics-defined", folded=told)
    last = [one for one in described.blocks if isinstance(one, Part) and one.anchor == NOT_ESTABLISHED]
    return replace(described, blocks=[*(one for one in described.blocks if one not in last), part, *last])


def _known(reference: str | None, site: str | None) -> Mapping[str, tuple[str, str]]:
    """Return definition and address by the name that a page shows."""
    return {
        named(name, reference): (
            named(one.text, reference),
            "" if site is None else _PAGE.format(site=site, page=one.page),
        )
        for name, one in DEFINITIONS.items()
    }


def _names(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield what may be the name of a metric in tables, in the order of the page."""
    for block in blocks:
        if isinstance(block, Part):
            yield from _names(block.blocks)
        elif isinstance(block, Table):
            yield from _in_table(block)


def _in_table(table: Table) -> Iterator[str]:
    if table.role == "headlines":
        yield from (row.cells[0] for row in table.rows)
    elif table.role == "table":
        yield from (column.title for column in table.columns if column.kind == "figure")
        cells = (zip(table.columns, row.cells, strict=True) for row in table.rows)
        yield from (
            cell.removesuffix(_ALONE) for column, cell in chain.from_iterable(cells) if column.kind == "metric"
        )
