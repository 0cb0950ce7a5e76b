"""Draws for labelling, and comparisons of label designs, as pages of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.commands import command
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.metric_table import interval, interval_header, number

__all__ = ["comparison_parts", "comparison_text", "draw_parts", "draw_text"]

_Document = Mapping[str, Any]


def draw_text(document: _Document) -> str:
    """Render a document of schema ``bonwise.labels/1`` as plain text."""
    return plain(draw_parts(document))


def draw_parts(document: _Document, when: str = "", next_command: str = "") -> Iterator[RenderableType]:
    """Yield what to print, from the title to the next command and when it is to be typed."""
    settings = document["settings"]
    yield Text(
        f"Labels for the audit of {printable(settings['judge'])} on {printable(settings['source'])}, phase "
        f"{settings['phase']}, seed {settings['seed']}",
        style="bold",
    )
    yield from _left_out(document["data"])
    yield _strata(document["strata"])
    for sentence in document["sentences"]:
        yield Text(printable(sentence, longest=1000))
    yield Text(_weights(document))
    yield Text(_width(document["width_ratio"]))
    if next_command:
        yield Text(f"Next, when {printable(when, longest=1000)}:")
        yield command(f"  {next_command}", style="bold")


def _left_out(data: _Document) -> Iterator[RenderableType]:
    dropped = data["dropped"]
    if not dropped:
        return
    reasons = sorted({printable(one["reason"]) for one in dropped})
    more = ", ..." if len(reasons) > 3 else ""
    count = f"{len(dropped):,} prompt{'s' if len(dropped) > 1 else ''}"
    yield Text(f"cannot be drawn: {count} ({', '.join(reasons[:3])}{more})", style="yellow")


def _strata(strata: list[_Document]) -> FittedTable:
    sized = any(one["mean_size"] is not None for one in strata)
    second = any(one["drawn_before"] for one in strata)
    headers = ["stratum", "prompts", *(["before"] if second else []), "drawn", "propensity"]
    rows = [
        (
            str(one["stratum"]),
            f"{one['prompts']:,}",
            *([f"{one['drawn_before']:,}"] if second else []),
            f"{one['drawn_now']:,}",
            number(one["propensity"]),
            *([f"{one['mean_size']:.4f}"] if sized else []),
        )
        for one in strata
    ]
    return FittedTable((*headers, *(["mean size"] if sized else [])), rows, spare=("mean size",))


def _weights(document: _Document) -> str:
    drawn = document["data"]["drawn"]
    return (
        f"Effective sample size of the weights: {document['ess']:,.0f} of {drawn:,}. It counts how unevenly labels "
        "weigh, not what they are worth."
    )


def _width(found: _Document) -> str:
    if found["estimate"] is None:
        return f"Width to expect: not told beforehand ({found['reason']})."
    explained = found["explained"]
    share = f", scores explaining {100 * explained:.0f}% of it" if explained else ""
    return (
        f"Width to expect, to first order: {found['estimate']:.2f} of that of as many labels at random, if "
        f"{found['assumption']}{share}."
    )


def comparison_text(document: _Document) -> str:
    """Render a document of schema ``bonwise.label_designs/1`` as plain text."""
    return plain(comparison_parts(document))


def comparison_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print, from the title to what it means."""
    settings, data = document["settings"], document["data"]
    yield Text(
        f"Label designs for the audit of {printable(settings['judge'])} on {printable(settings['source'])}",
        style="bold",
    )
    lacking = f"; {data['unlabelled']:,} without labels left out" if data["unlabelled"] else ""
    prompts = f"{data['prompts']:,} labelled prompt{'' if data['prompts'] == 1 else 's'}"
    yield Text(
        f"{prompts}, {data['all_tied']:,} of them all tied by the judge{lacking}; recovery {number(data['recovery'])}"
    )
    yield from _left_out(data)
    yield Text("Variance of recovery over that of as many labels alone drawn at random")
    yield Text("Labels alone, to first order:")
    yield _ratios(document, "labels_only")
    models = {one["model"] for one in document["designs"]["uniform"]["shares"] if one["with_scores"] is not None}
    if models:
        yield Text(f"With the scores as covariates, as an audit uses them ({', '.join(sorted(models))}):")
        yield _ratios(document, "with_scores")
    yield Text(f"Labels alone, by {settings['draws']:,} draws of each design (and Monte-Carlo standard error):")
    yield _drawn(document)
    yield _meanings(document)
    yield _chain(document["proxy_chain"], settings["confidence"])
    for sentence in document["sentences"]:
        yield Text(printable(sentence, longest=1000))


def _shares(document: _Document) -> list[str]:
    return [f"{100 * share:g}%" for share in document["settings"]["shares"]]


def _name(name: str, found: _Document) -> str:
    return name if found["feasible"] else f"{name} *"


def _ratios(document: _Document, key: str) -> FittedTable:
    rows = [
        (_name(name, found), *(number(one[key]) for one in found["shares"]))
        for name, found in document["designs"].items()
    ]
    return FittedTable(("design", *_shares(document)), rows)


def _drawn(document: _Document) -> FittedTable:
    rows = [
        (_name(name, found), *(_with_se(one) for one in found["shares"]))
        for name, found in document["designs"].items()
        if name != "uniform"
    ]
    return FittedTable(("design", *_shares(document)), rows)


def _with_se(found: _Document) -> str:
    return "-" if found["drawn"] is None else f"{found['drawn']:.2f} ({found['drawn_se']:.2f})"


def _meanings(document: _Document) -> FittedTable:
    rows = [
        (_name(name, found), found["meaning"] + ("" if found["feasible"] else "; looks at labels that are not there"))
        for name, found in document["designs"].items()
    ]
    return FittedTable(("design", "labels go to"), rows, words=("labels go to",))


def _chain(links: list[_Document], confidence: float) -> FittedTable:
    rows = []
    for link in links:
        r = link["correlation"]
        low, high = link["explained_low"], link["explained_high"]
        rows.append(
            (
                f"{link['from']} -> {link['to']}",
                number(r["estimate"]),
                interval(r),
                number(link["explained"]),
                "-" if low is None else f"[{low:.3f}, {high:.3f}]",
                f"{r['n']:,}",
            )
        )
    headers = ("proxy", "r", interval_header(confidence), "explained", "its interval", "n")
    return FittedTable(headers, rows, spare=("n", "its interval"), title="What tells of what, prompt by prompt")
