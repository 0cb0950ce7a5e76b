"""A document of schema ``bonwise.preferences/1`` as text: one row a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable

__all__ = ["preference_parts", "preference_text"]

_COLUMNS = (
    ("agreement", "agreement"),
    ("order_agreement", "orders"),
    ("judge_tie_rate", "ties"),
    ("phi", "phi"),
    ("phi_within", "phi within"),
    ("covariance_between_share", "cov between"),
)


def preference_text(document: Mapping[str, Any]) -> str:
    """Render as plain text."""
    return plain(preference_parts(document))


def preference_parts(document: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield what to print."""
    settings, judges = document["settings"], document["judges"]
    orders = "both presentation orders averaged" if len(settings["verdicts"]) > 1 else "one presentation order"
    yield Text(
        f"Pairwise verdicts of {printable(settings['source'])}, against {printable(settings['oracle'])}",
        "bold",
    )
    yield Text(f"{document['data']['contexts']} contexts; {orders}; intervals at {100 * settings['confidence']:g}%")
    shown = [(key, title) for key, title in _COLUMNS if all(key in judge["metrics"] for judge in judges.values())]
    rows = []
    for name, judge in judges.items():
        metrics, data = judge["metrics"], judge["data"]
        counts = (f"{data['prompts']:,}", f"{data['pairs']:,}")
        cells = [_number(metrics[key]["estimate"]) for key, _ in shown]
        rows.append([printable(name, longest=32), *counts, *cells[:1], _ends(metrics["agreement"]), *cells[1:]])
    titles = [title for _, title in shown]
    yield FittedTable(
        ("judge", "prompts", "pairs", *titles[:1], "interval", *titles[1:]),
        rows,
        spare=[
            title for title in ("cov between", "phi within", "phi", "pairs", "ties") if title in (*titles, "pairs")
        ],
    )
    dropped = sum(sum(judge["data"]["dropped"].values()) for judge in judges.values())
    if dropped:
        yield Text(f"{dropped:,} rows left out: no verdict in every order, or no label", style="yellow")
    if len(settings["verdicts"]) > 1:
        yield Text("orders: how often both presentation orders agree.")
    yield Text(
        "cov between: the share of Cov(J, O) that lies between contexts, which says nothing about the choice within "
        "one."
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ends(found: Mapping[str, Any]) -> str:
    return "-" if found["low"] is None else f"[{found['low']:.3f}, {found['high']:.3f}]"
