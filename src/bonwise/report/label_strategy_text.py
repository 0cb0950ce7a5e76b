"""A study of ways of asking a judge as text: what was found, and a table of the ways."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.left_out import labels_left_out
from bonwise.report.metric_table import interval, named
from bonwise.report.ways import (
    ORDERS,
    PAIR_COLUMNS,
    STRATEGY_COLUMNS,
    figure,
    gap_words,
    group_title,
    known_columns,
    partly_labelled,
    starred,
    verdicts_of,
    way_name,
)

__all__ = [
    "decided_words",
    "label_strategy_parts",
    "label_strategy_text",
    "metric_cells",
    "why_no_figure",
    "why_no_interval",
]

_Document = Mapping[str, Any]

_MOST = 3
"""Judges up to which each one's findings are said in sentences, not in the table alone."""


_GAINS = ("gain_per_call", "gain_per_1000_tokens")

_MOST_DECIMALS = 9


def label_strategy_text(document: _Document) -> str:
    """Render a document of schema ``bonwise.study/1``, study ``label-strategy``, as plain text."""
    return plain(label_strategy_parts(document))


def label_strategy_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    kinds = {"strategies": _strategies, "verdicts": _verdicts, "draw": _draw}
    yield from kinds[document["kind"]](document)
    yield from labels_left_out(document["settings"])
    for name, reason in document["not_studied"].items():
        yield Text(f"{printable(name, longest=60)} not studied: {printable(reason, longest=200)}", style="yellow")


def _strategies(document: _Document) -> Iterator[RenderableType]:
    settings = document["settings"]
    yield Text(
        f"Ways of asking a judge: {printable(settings['source'])}, {verdicts_of(settings)}",
        style="bold",
    )
    yield Text(f"[intervals] at {100 * settings['confidence']:g}%, clustered by prompt")
    for name, judge in document["judges"].items():
        yield from _judge(name, judge, settings)


def _judge(name: str, judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    data, reference = judge["data"], settings.get("reference")
    lone = data["prompts_without_verdicts"]
    without = f", {lone:,} of them without verdicts" if lone else ""
    prompts, pairs = counted(data["prompts"], "prompt"), counted(data["pairs"], "pair")
    yield Text(f"{printable(name, longest=60)}: {prompts}{without}; {pairs}")
    for noun, reasons in {"prompt": data["dropped"], "pair": data["pairs_left_out"]}.items():
        for reason, count in reasons.items():
            yield Text(f"left out {counted(count, noun)}: {printable(reason, longest=120)}", style="yellow")
    yield from _sentences(judge)
    for part, group in judge["strategies"].items():
        yield Text("")
        yield _ways(group_title(part, group), group["strategies"], judge, settings, STRATEGY_COLUMNS)
        if part == "some_pairs" and group["candidates_in_no_pair"]:
            alone = counted(group["candidates_in_no_pair"], "candidate")
            yield Text(f"In no pair, and counted as 1/2: {alone}.")
    for part, reason in judge["no_strategies"].items():
        yield Text(f"no table of {part.replace('_', ' ')}: {reason}")
    found = judge["matched_pairs"]
    yield Text("")
    title = f"Best of two on {counted(found['pairs'], 'pair')} judged both ways"
    yield _ways(title, found["ways"], judge, settings, PAIR_COLUMNS)
    yield from _by_gap(found, reference)
    yield from _reasons(judge, settings)


def _sentences(found: _Document) -> Iterator[RenderableType]:
    for sentence in found["sentences"]:
        yield Padding(Text(printable(sentence, longest=1000)), (0, 0, 0, 2))


def _ways(
    title: str, ways: _Document, judge: _Document, settings: _Document, columns: Mapping[str, str]
) -> FittedTable:
    rows, columns = [], known_columns(ways, columns)
    cells = metric_cells(ways, columns)
    for name, way in ways.items():
        metrics, less = way["metrics"], way.get("minus_pointwise", {}).get("recovery")
        difference = ("", "") if less is None else (figure(less), interval(less))
        rows.append([starred(name, judge, settings), *cells[name], interval(metrics["recovery"]), *difference])
    headers = ("way", *columns.values(), "interval", "minus scores", "interval ")
    spare = ("gain / 1,000 tokens", "top-1 ties", "tokens", "top-1", "within_r", "interval")
    return FittedTable(headers, rows, title=title, spare=[one for one in spare if one in headers])


def metric_cells(ways: _Document, columns: Mapping[str, str]) -> dict[str, list[str]]:
    """Write the metrics of each way; what calls and tokens bring has the same decimals all down its column.

    Five decimals, more only where five would leave no three digits of the largest gain.

    Examples
    --------
    >>> ways = {name: {"metrics": {"gain_per_call": {"estimate": value}}} for name, value in
    ...         {"pointwise": 9.55e-05, "pairwise": 0.00184}.items()}
    >>> metric_cells(ways, {"gain_per_call": "gain / call"})
    {'pointwise': ['0.00010'], 'pairwise': ['0.00184']}
    """
    gains = [key for key in _GAINS if key in columns]
    decimals = {key: _decimals([way["metrics"][key]["estimate"] for way in ways.values()]) for key in gains}
    return {
        name: [_metric(way["metrics"][key], key, decimals.get(key)) for key in columns] for name, way in ways.items()
    }


def _metric(found: _Document, key: str, decimals: int | None) -> str:
    value = found["estimate"]
    return figure(found, key) if value is None or decimals is None else f"{value:,.{decimals}f}"


def _decimals(values: Sequence[float | None]) -> int | None:
    """Return how many decimals show a column, or None where they would be too many."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    needed = 5 if largest == 0 else max(5, 2 - math.floor(math.log10(largest)))
    return needed if needed <= _MOST_DECIMALS else None


def decided_words(matched: _Document) -> str:
    """Say how many of the pairs that scores tie the verdicts decide; the count is plain, the share may be weighted.

    Examples
    --------
    >>> where = {"pairs": 345, "decided_pairs": 192, "decided": {"estimate": 192 / 345}}
    >>> decided_words({"where_pointwise_tied": where, "weighted": False})
    'decide 192 of 345 (55.7%)'
    """
    where = matched["where_pointwise_tied"]
    share, weighted = where["decided"]["estimate"], " weighted" if matched["weighted"] else ""
    part = "" if share is None else f" ({100 * share:.1f}%{weighted})"
    return f"decide {where['decided_pairs']:,} of {where['pairs']:,}{part}"


def _by_gap(matched: _Document, reference: str | None) -> Iterator[RenderableType]:
    where = matched["where_pointwise_tied"]
    if len(where["by_gap"]) < 2:
        return
    rows = [
        [
            gap_words(at, row),
            f"{row['pairs']:,}",
            f"{row['decided_pairs']:,}",
            figure(row["accuracy"]),
            interval(row["accuracy"]),
        ]
        for at, row in enumerate(where["by_gap"])
    ]
    yield Text("")
    title = named("Where scores tie, by oracle gap", reference)
    yield FittedTable((named("oracle gap", reference), "pairs", "decided", "accuracy", "interval"), rows, title=title)
    yield Text(f"Verdicts {decided_words(matched)}; accuracy is over those.")


def _reasons(judge: _Document, settings: _Document) -> Iterator[Text]:
    """Yield why a figure is missing, each line once, and what partial labels leave out."""
    compared = [group["strategies"] for group in judge["strategies"].values()]
    pairs = judge["matched_pairs"]["ways"]
    lines = [line for ways in compared for line in why_no_figure(ways, settings, STRATEGY_COLUMNS)]
    lines += [f"best of two: {line}" for line in why_no_figure(pairs, settings, PAIR_COLUMNS)]
    lines += [line for ways in compared for line in why_no_interval(ways, settings)]
    lines += [f"best of two: {line}" for line in why_no_interval(pairs, settings)]
    yield from (Text(printable(line, longest=400)) for line in dict.fromkeys(lines))
    yield from (Text(line) for line in partly_labelled(judge, settings))


def why_no_figure(ways: _Document, settings: _Document, columns: Mapping[str, str]) -> Iterator[str]:
    """Yield why figures are missing: those that one reason explains for the same ways share a line.

    Parameters
    ----------
    ways : mapping
        Of each way ``metrics``, as of a document.
    settings : mapping
    columns : mapping of str to str
        Titles of the metrics to account for.

    Examples
    --------
    >>> metrics = {"tokens_per_prompt": {"estimate": None, "reason": "nobody counted"}, "recovery": {"estimate": 0.5}}
    >>> ways = {"pairwise": {"metrics": metrics}, "pairwise_one_order": {"metrics": metrics}}
    >>> list(why_no_figure(ways, {}, {"tokens_per_prompt": "tokens", "recovery": "recovery"}))
    ['tokens: no figure for every pair; every pair, one order: nobody counted']
    """
    shared: dict[tuple[str, str], list[str]] = {}
    for key, title in columns.items():
        named_by: dict[str, list[str]] = {}
        for name, way in ways.items():
            if way["metrics"][key]["estimate"] is None:
                named_by.setdefault(way["metrics"][key]["reason"], []).append(way_name(name, settings))
        for reason, names in named_by.items():
            shared.setdefault((reason, "; ".join(names)), []).append(title)
    for (reason, whose), titles in shared.items():
        yield f"{'; '.join(titles)}: no figure for {whose}: {reason}"


def why_no_interval(ways: _Document, settings: _Document) -> Iterator[str]:
    """Yield why differences of recovery lack an interval, each reason once with the ways it holds for."""
    reasons: dict[str, list[str]] = {}
    for name, way in ways.items():
        less = way.get("minus_pointwise", {}).get("recovery")
        if less is not None and less["estimate"] is not None and less["low"] is None:
            reason = less["reason"].removeprefix("no interval: ")
            reasons.setdefault(reason, []).append(way_name(name, settings))
    for reason, names in reasons.items():
        yield f"recovery: no interval of the difference for {'; '.join(names)}: {reason}"


def _verdicts(document: _Document) -> Iterator[RenderableType]:
    settings, judges = document["settings"], document["judges"]
    yield Text(
        f"Pairwise verdicts of {printable(settings['source'])} against {printable(settings['oracle'])}", style="bold"
    )
    yield Text(f"judges: {len(judges):,}; [intervals] at {100 * settings['confidence']:g}%, clustered by prompt")
    dropped = sum(sum(judge["data"]["dropped"].values()) for judge in judges.values())
    if dropped:
        yield Text(f"{counted(dropped, 'row')} left out: no verdict in every order, or no label", style="yellow")
    yield from _sentences(document)
    for name, judge in judges.items() if len(judges) <= _MOST else ():
        yield Text(printable(name, longest=60))
        yield from _sentences(judge)
    yield _orders(judges)
    if len(settings["verdict_columns"]) > 1:
        yield Text(
            "agreement: ties count one half. decided: accuracy where both orders together decide, which a verdict "
            "beside a tie does. first: what being shown first is worth. flips: verdicts that change with the order."
        )


def _orders(judges: _Document) -> FittedTable:
    two = any(judge["order"] for judge in judges.values())
    columns = ORDERS if two else ORDERS[:1]
    last = "both_orders" if two else "first_order"
    rows = []
    for name, judge in judges.items():
        cells = [printable(name, longest=40), f"{judge['data']['pairs']:,}"]
        for way, metric, _ in columns:
            found = judge["order"][metric] if way == "order" else judge["ways"][way][metric]
            cells += [figure(found)]
        rows.append([*cells, interval(judge["ways"][last]["agreement"])])
    headers = ("judge", "pairs", *(title for _, _, title in columns), "[agreement]")
    return FittedTable(headers, rows, spare=("pairs", "first order", "second order"))


def _draw(document: _Document) -> Iterator[RenderableType]:
    settings = document["settings"]
    yield Text(f"Pairs drawn from {printable(settings['source'])}, seed {settings['seed']}", style="bold")
    for sentence in document["sentences"]:
        yield Text(sentence)
    for reason, count in document["prompts_left_out"].items():
        yield Text(f"left out {counted(count, 'prompt')}: {printable(reason, longest=120)}", style="yellow")
    rows = [
        [f"{one['gap_of']} gap", one["stratum"], f"{one['pairs']:,}", f"{one['drawn']:,}", _weight(one)]
        for one in document["strata"]
    ]
    yield FittedTable(("gap of", "stratum", "pairs", "drawn", "weight"), rows, left=2)


def _weight(one: _Document) -> str:
    return f"{one['pairs'] / one['drawn']:.3g}"
