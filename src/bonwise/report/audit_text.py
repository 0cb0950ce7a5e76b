"""An audit's document as a page of text: what was audited, what was found, what it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.left_out import labels_left_out
from bonwise.report.metric_table import MetricTable, interval, named, number
from bonwise.report.sampling_text import sampling_parts

__all__ = ["audit_parts", "audit_text"]

_Document = Mapping[str, Any]

_SUMMARY = ("global_r", "within_r", "inflation", "tie_rate", "recovery")
_FULL_TABLES = 4  # more judges than this are shown in the summary alone
_PAIRS_SHOWN = 15

_NO_VALUES = "of values unknown: they need the scale of the labels (--label-scale), and two labelled prompts"


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
    for name, role in document.get("covariates", {}).items():
        yield Text(f"{printable(name)} {printable(role, longest=1000)}")
    for gate in document.get("gates", ()):
        style = {"met": "green", "not met": "red"}.get(gate["state"], "yellow")
        name = f"{printable(gate['judge'])}: " if "judges" in document else ""
        yield Text(f"gate  {name}{named(gate['sentence'], settings.get('reference'))}", style=style)


def _title(settings: _Document) -> Iterator[RenderableType]:
    reference = settings.get("reference")
    against = f"agreement with {printable(reference)}" if reference is not None else "against oracle labels"
    picks = settings.get("picks")
    what = "Audit of" if picks is None else "Audit of the picks of"
    yield Text(f"{what} {printable(settings['source'])}, {against}", style="bold")
    notes = [f"{settings['shape']} table"]
    if picks is not None:
        notes.append("as the seed drew them" if picks["as_picked"] else "in expectation where a seed decided")
        notes.append(f"decided by {_tally(picks['decided_by'])}")
        if picks["left_out"]:
            notes.append(f"left out: {_tally(picks['left_out'])}")
    if settings["draws"] > 1:
        notes.append(f"scores are means of up to {settings['draws']} draws")
    if settings["exclude"]:
        notes.append("without " + ", ".join(map(printable, settings["exclude"])))
    if settings["control"]:
        notes.append("control: " + ", ".join(map(printable, settings["control"])))
    if settings["interval"] == "bootstrap":
        notes.append(f"{settings['resamples']:,} bootstrap resamples, seed {settings['seed']}")
    yield Text("; ".join(notes))
    yield from labels_left_out(settings)


def _tally(counts: _Document) -> str:
    return ", ".join(f"{printable(what)} ({count:,})" for what, count in counts.items())


def _one(name: str, judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    yield Text(f"{printable(name)}: {_counts(judge['data'])}")
    yield from _dropped(judge["data"]["dropped"])
    yield from sampling_parts(judge.get("sampling", {}))
    yield MetricTable(judge, settings)
    if "balance" in judge:
        yield Text("* from the completely labelled prompts alone")
    yield from _partial(judge, settings.get("reference"))
    for sentence in judge["verdict"]["sentences"]:
        yield Padding(Text(printable(sentence, longest=1000)), (0, 0, 0, 2))
    yield Text("")


def _counts(data: _Document) -> str:
    size = data["candidates"]
    if size is None:
        width = f"{data['candidates_min']} to {data['candidates_max']} candidates"
    else:
        width = counted(size, "candidate")
    counts = f"{counted(data['prompts'], 'prompt')} x {width}, {counted(data['rows'], 'row')}"
    if data["labelled_prompts"] < data["prompts"]:
        whole = counted(data["labelled_prompts"], "prompt")
        counts += f"; {whole} labelled, {data['partly_labelled_prompts']:,} in part"
    return counts


def _dropped(dropped: list[_Document]) -> Iterator[RenderableType]:
    if not dropped:
        return
    reasons = Counter(drop["reason"] for drop in dropped)
    shown = ", ".join(f"{printable(reason)} ({count:,})" for reason, count in reasons.most_common(5))
    examples = ", ".join(printable(drop["prompt_id"], longest=40) for drop in dropped[:5])
    more = ", ..." if len(dropped) > 5 else ""
    yield Text(f"dropped {counted(len(dropped), 'prompt')}: {shown}: {examples}{more}", style="yellow")


def _partial(judge: _Document, reference: str | None) -> Iterator[RenderableType]:
    if "balance" in judge:
        rows = [
            (row["feature"], *(number(row[key]) for key in ("labelled", "unlabelled", "difference")), interval(row))
            for row in judge["balance"]
        ]
        yield FittedTable(
            ("feature of the scores", "labelled", "unlabelled", "difference", "interval"),
            rows,
            spare=("labelled", "unlabelled"),
            title="Labelled against unlabelled prompts",
        )
    if "bounds" not in judge:
        return
    ends = ", ".join(
        f"{named(name, reference)} [{low:.3f}, {high:.3f}]" for name, (low, high) in judge["bounds"].items()
    )
    lacking = "" if "value_random" in judge["bounds"] else _NO_VALUES
    told = "; ".join(filter(None, (ends, lacking)))
    yield Text(f"Worst case over the missing labels, all prompts: {told}", style="yellow")


def _several(document: _Document) -> Iterator[RenderableType]:
    judges, settings = document["judges"], document["settings"]
    yield _summary(judges)
    for name, reason in document["not_audited"].items():
        yield Text(f"not audited: {printable(name)}: {printable(reason)}", style="yellow")
    yield from _differences(document["comparisons"])
    if len(judges) <= _FULL_TABLES:
        for name, judge in judges.items():
            yield from _one(name, judge, settings)
    else:
        yield Text(f"Every metric of all {len(judges)} judges is in the JSON document (--json FILE).")


def _summary(judges: Mapping[str, _Document]) -> FittedTable:
    rows = []
    for name, judge in judges.items():
        metrics = judge["metrics"]
        cells = [number(metrics[key]["estimate"]) for key in _SUMMARY]
        row = (f"{judge['data']['labelled_prompts']:,}", *cells, interval(metrics["recovery"]))
        rows.append([printable(name), *row, judge["verdict"]["level"]])
    return FittedTable(
        ("judge", "prompts", *_SUMMARY, "interval", "verdict"),
        rows,
        spare=("inflation", "tie_rate", "prompts", "global_r", "interval"),
        title="Judges, each on its complete prompts",
    )


def _differences(comparisons: list[_Document]) -> Iterator[RenderableType]:
    if not comparisons:
        return
    rows = []
    for pair in comparisons[:_PAIRS_SHOWN]:
        row = [printable(pair["first"]), printable(pair["second"]), f"{pair['prompts']:,}"]
        for key in ("recovery", "within_r"):
            e = pair["differences"].get(key)
            row += ["-", "-"] if e is None else [number(e["estimate"]), interval(e)]
        rows.append(row)
    yield FittedTable(
        ("first", "second", "prompts", "recovery", "interval", "within_r", "its interval"),
        rows,
        spare=("its interval", "within_r", "prompts"),
        left=2,
        title="Paired differences, first minus second",
    )
    if len(comparisons) > _PAIRS_SHOWN:
        more = len(comparisons) - _PAIRS_SHOWN
        told = f"{counted(more, 'more pair')} {'is' if more == 1 else 'are'} in the JSON document (--json FILE)."
        yield Text(told)
