"""A selection as text: how the candidates stand, what decided, and what it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable

__all__ = ["selection_text"]


def selection_text(document: Mapping[str, Any]) -> str:
    """Render the line that ``bonwise select`` writes for a person.

    Examples
    --------
    >>> import bonwise as bw
    >>> print(bw.select("Say hi", ["hello", "hi"], judge=lambda prompt, text: -len(text)))
    c1, decided by score: every candidate was scored once
    candidate   score
    ─────────────────
    c1             -2
    c0             -5
    0 calls, 0 answers from a ledger, 0 tokens
    """
    return plain(_parts(document))


def _parts(document: Mapping[str, Any]) -> Iterator[RenderableType]:
    best = "no pick" if document["best"] is None else printable(document["best"], longest=60)
    yield Text(f"{best}, decided by {document['decided_by']}: {printable(document['stopped'])}")
    if document["failure"]:
        yield Text(f"failure: {printable(document['failure'])}")
    routed = document["routed"]
    if routed is not None:
        strong = routed["strong"]
        who = "not routed" if strong is None else f"routed to {printable(strong)}"
        yield Text(f"{who}: {printable(routed['reason'])}")
    yield _table(document)
    tokens = sum(document[name] for name in ("input_tokens", "output_tokens", "reused_tokens"))
    yield Text(
        f"{document['calls']:,} calls, {document['from_ledger']:,} answers from a ledger, {tokens:,} tokens"
        + (f", ${document['cost']:.4f}" if document["cost"] else "")
    )


def _table(document: Mapping[str, Any]) -> FittedTable:
    ids = document["ids"]
    columns = {
        "score": _figures(document["scores"]),
        "se": _figures(document["standard_errors"]),
        "P(best)": _figures(document["p_best"]),
        "draws": [str(one) for one in document["draws"]],
        "why not": [printable(document["unscored"].get(one, ""), longest=60) for one in ids],
    }
    shown = {name: cells for name, cells in columns.items() if any(cell not in {"", "1"} for cell in cells)}
    place = {name: at for at, name in enumerate(document["ranking"])}
    order = sorted(range(len(ids)), key=lambda at: (place.get(ids[at], len(ids)), at))
    rows = [[printable(ids[at], longest=60), *(cells[at] for cells in shown.values())] for at in order]
    return FittedTable(("candidate", *shown), rows)


def _figures(values: list[float | None]) -> list[str]:
    return ["" if value is None else f"{value:.4g}" for value in values]
