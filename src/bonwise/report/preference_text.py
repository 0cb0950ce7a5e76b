"""A document of schema ``bonwise.preferences/1`` as text: one row a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.console import plain

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
    yield Text(f"{document['data']['contexts']} contexts; {orders}; intervals at {settings['confidence']:.0%}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("judge", no_wrap=True)
    shown = [(key, title) for key, title in _COLUMNS if all(key in judge["metrics"] for judge in judges.values())]
    for title in ("prompts", *(title for _, title in shown)):
        table.add_column(title, justify="right", no_wrap=True)
    for name, judge in judges.items():
        cells = [_number(judge["metrics"][key], interval=key == "agreement") for key, _ in shown]
        table.add_row(Text(printable(name, longest=32)), f"{judge['data']['prompts']:,}", *cells)
    yield table
    dropped = sum(sum(judge["data"]["dropped"].values()) for judge in judges.values())
    if dropped:
        yield Text(f"{dropped:,} rows left out: no verdict in every order, or no label", style="yellow")
    yield Text(
        "orders: how often both presentation orders agree; cov between: the share of Cov(J, O) that lies between "
        "contexts, which says nothing about the choice within one."
    )


def _number(found: Mapping[str, Any], *, interval: bool) -> str:
    if found["estimate"] is None:
        return "-"
    ends = f" [{found['low']:.3f}, {found['high']:.3f}]" if interval and found["low"] is not None else ""
    return f"{found['estimate']:.3f}{ends}"
