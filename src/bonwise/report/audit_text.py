"""An audit's document as a page of text: what was audited, what was found, what it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.console import plain

__all__ = ["audit_parts", "audit_text"]

_Document = Mapping[str, Any]

GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Picks",
        (
            ("recovery", "share of the possible gain that the picks bring"),
            ("value_random", "mean label of a random pick"),
            ("value_judge", "mean label of the judge's pick"),
            ("value_oracle", "mean label of the best candidate"),
            ("top1_accuracy", "the pick is the best candidate (chance 1/n)"),
            ("hit_rate", "the pick is among the best candidates"),
        ),
    ),
    (
        "Within prompts",
        (
            ("within_r", "correlation of deviations from prompt means"),
            ("attenuation", "slope of score on label deviations"),
            ("tie_rate", "pairs to which the judge gives equal scores"),
            ("oracle_tie_rate", "pairs with equal labels"),
            ("top1_tie_rate", "prompts with more than one top score"),
            ("sign_agreement", "same order, among pairs neither side ties"),
            ("effective_agreement", "same order, all pairs, a tie counts 1/2"),
            ("effective_agreement_decided", "the same, pairs with different labels"),
            ("kendall_tau", "mean tau-b where defined"),
        ),
    ),
    (
        "Over all cells",
        (
            ("global_r", "correlation over all cells"),
            ("inflation", "share of it that is gone within prompts"),
            ("judge_between_share", "variance of scores between prompts"),
            ("oracle_between_share", "variance of labels between prompts"),
            ("level_bias", "largest bias of a calibrated candidate mean"),
        ),
    ),
)

_SUMMARY = ("global_r", "within_r", "inflation", "tie_rate", "recovery")
_FULL_TABLES = 4  # more judges than this are shown in the summary alone
_PAIRS_SHOWN = 15


def audit_text(document: _Document) -> str:
    """Render a document of schema ``bonwise.audit/1`` as plain text."""
    return plain(audit_parts(document))


def audit_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print, from the title to the verdict and the gates."""
    settings = document["settings"]
    yield from _title(settings)
    if "judges" in document:
        yield from _several(document)
    else:
        yield from _one(document["judge"], document, settings)
    for gate in document.get("gates", ()):
        style = {"met": "green", "not met": "red"}.get(gate["state"], "yellow")
        name = f"{printable(gate['judge'])}: " if "judges" in document else ""
        yield Text(f"gate  {name}{gate['sentence']}", style=style)


def _title(settings: _Document) -> Iterator[RenderableType]:
    reference = settings.get("reference")
    against = f"agreement with {printable(reference)}" if reference is not None else "against oracle labels"
    yield Text(f"Audit of {printable(settings['source'])}, {against}", style="bold")
    notes = [f"{settings['shape']} table"]
    if settings["draws"] > 1:
        notes.append(f"scores are means of up to {settings['draws']} draws")
    if settings["exclude"]:
        notes.append("without " + ", ".join(map(printable, settings["exclude"])))
    if settings["control"]:
        notes.append("control: " + ", ".join(map(printable, settings["control"])))
    if settings["interval"] == "bootstrap":
        notes.append(f"{settings['resamples']:,} bootstrap resamples, seed {settings['seed']}")
    yield Text("; ".join(notes))


def _one(name: str, judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    yield Text(f"{printable(name)}: {_counts(judge['data'])}")
    yield from _dropped(judge["data"]["dropped"])
    yield _table(judge, settings)
    if "balance" in judge:
        yield Text("* from the completely labelled prompts alone")
    yield from _partial(judge)
    for sentence in judge["verdict"]["sentences"]:
        yield Padding(Text(printable(sentence, longest=1000)), (0, 0, 0, 2))
    yield Text("")


def _counts(data: _Document) -> str:
    size = data["candidates"]
    width = str(size) if size is not None else f"{data['candidates_min']} to {data['candidates_max']}"
    counts = f"{data['prompts']:,} prompts x {width} candidates, {data['rows']:,} rows"
    if data["labelled_prompts"] < data["prompts"]:
        counts += f"; {data['labelled_prompts']:,} prompts labelled, {data['partly_labelled_prompts']:,} in part"
    return counts


def _dropped(dropped: list[_Document]) -> Iterator[RenderableType]:
    if not dropped:
        return
    reasons = Counter(drop["reason"] for drop in dropped)
    shown = ", ".join(f"{printable(reason)} ({count})" for reason, count in reasons.most_common(5))
    examples = ", ".join(printable(drop["prompt_id"], longest=40) for drop in dropped[:5])
    more = ", ..." if len(dropped) > 5 else ""
    count = f"{len(dropped):,} prompt{'s' if len(dropped) > 1 else ''}"
    yield Text(f"dropped {count}: {shown}: {examples}{more}", style="yellow")


def _table(judge: _Document, settings: _Document) -> Table:
    reference, control = settings.get("reference"), judge.get("with_control", {})
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("metric", no_wrap=True)
    table.add_column("estimate", justify="right", no_wrap=True)
    table.add_column(f"{settings['confidence']:.0%} interval", justify="center", no_wrap=True)
    if control:
        table.add_column("with control", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("what it says")
    for title, rows in GROUPS:
        table.add_row(Text(title, style="bold"))
        for key, meaning in rows:
            found = judge["metrics"][key]
            cells = [
                f"  {_named(key, reference)}{_star(found)}",
                _number(found["estimate"]),
                _interval(found),
            ]
            cells += [_number(control[key]["estimate"])] if control else []
            cells += [f"{found['n']:,}", _named(meaning, reference) + _note(found)]
            style = "bold" if key in ("recovery", "within_r", "global_r") else ""
            table.add_row(*(Text(cell) for cell in cells), style=style)
    return table


def _named(text: str, reference: str | None) -> str:
    # Another judge's scores are no oracle, and are not called one.
    return text if reference is None else text.replace("oracle", "reference").replace("labels", "reference scores")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(found: _Document) -> str:
    if found["low"] is None:
        return "-"
    return f"[{found['low']:.3f}, {found['high']:.3f}]"


def _star(found: _Document) -> str:
    return " *" if found["method"] == "labelled_only" else ""


def _note(found: _Document) -> str:
    notes = [found["reason"]] if found.get("reason") else []
    notes += ["all prompts alike: bound"] if found["interval"] == "exact" else []
    return f" ({'; '.join(notes)})" if notes else ""


def _partial(judge: _Document) -> Iterator[RenderableType]:
    if "balance" not in judge:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title="Labelled against unlabelled prompts")
    for column in ("feature of the scores", "labelled", "unlabelled", "difference", "interval"):
        table.add_column(column, justify="left" if column.startswith("feature") else "right")
    for row in judge["balance"]:
        table.add_row(
            row["feature"],
            *(_number(row[key]) for key in ("labelled", "unlabelled", "difference")),
            _interval(row),
        )
    yield table
    ends = ", ".join(f"{name} [{low:.3f}, {high:.3f}]" for name, (low, high) in judge["bounds"].items())
    unknown = "unknown, for the labels' scale is; declare it with --label-scale"
    yield Text(f"Worst case over the missing labels, all prompts: {ends or unknown}", style="yellow")


def _several(document: _Document) -> Iterator[RenderableType]:
    judges, settings = document["judges"], document["settings"]
    yield _summary(judges)
    yield from _differences(document["comparisons"])
    if len(judges) <= _FULL_TABLES:
        for name, judge in judges.items():
            yield from _one(name, judge, settings)
    else:
        yield Text(f"Every metric of all {len(judges)} judges is in the JSON document (--json FILE).")


def _summary(judges: Mapping[str, _Document]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title="Judges, each on its complete prompts")
    table.add_column("judge")
    for column in ("prompts", *_SUMMARY, "verdict"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, judge in judges.items():
        metrics = judge["metrics"]
        cells = [_number(metrics[key]["estimate"]) for key in _SUMMARY[:-1]]
        recovery = f"{_number(metrics['recovery']['estimate'])} {_interval(metrics['recovery'])}"
        row = (f"{judge['data']['labelled_prompts']:,}", *cells, recovery, judge["verdict"]["level"])
        table.add_row(*(Text(cell) for cell in (printable(name), *row)))
    return table


def _differences(comparisons: list[_Document]) -> Iterator[RenderableType]:
    if not comparisons:
        return
    keys = ("recovery", "within_r")
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title="Paired differences, first minus second"
    )
    for column in ("first", "second", "prompts", *keys):
        names = column in ("first", "second")
        table.add_column(column, justify="left" if names else "right", no_wrap=not names)
    for pair in comparisons[:_PAIRS_SHOWN]:
        found = [pair["differences"][key] for key in keys]
        cells = [f"{_number(e['estimate'])} {_interval(e)}" for e in found]
        who = (printable(pair["first"]), printable(pair["second"]), f"{pair['prompts']:,}")
        table.add_row(*(Text(cell) for cell in (*who, *cells)))
    yield table
    if len(comparisons) > _PAIRS_SHOWN:
        yield Text(f"{len(comparisons) - _PAIRS_SHOWN} more pairs are in the JSON document (--json FILE).")
