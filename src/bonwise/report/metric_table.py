"""The metrics of one judge as a table that fits the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.fitted import FittedTable
from bonwise.report.wording import named

__all__ = ["GROUPS", "MetricTable", "interval", "interval_header", "named", "number"]

_Document = Mapping[str, Any]

_MEANING = "what it says"
_ALONE = "labels alone"

GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Picks",
        (
            ("recovery", "share of the possible gain"),
            ("gain", "worth of the picks beyond random ones"),
            ("value_random", "mean label of a random pick"),
            ("value_judge", "mean label of the judge's pick"),
            ("value_oracle", "mean label of the best candidate"),
            ("top1_accuracy", "the pick is the best (chance 1/n)"),
            ("hit_rate", "the pick is among the best candidates"),
        ),
    ),
    (
        "Within prompts",
        (
            ("within_r", "correlation within prompts"),
            ("attenuation", "slope of score on label deviations"),
            ("tie_rate", "pairs with equal scores"),
            ("oracle_tie_rate", "pairs with equal labels"),
            ("top1_tie_rate", "prompts with more than one top score"),
            ("sign_agreement", "same order, pairs neither side ties"),
            ("effective_agreement", "same order, all pairs, ties count 1/2"),
            ("effective_agreement_decided", "the same, pairs with different labels"),
            ("kendall_tau", "mean tau-b where defined"),
        ),
    ),
    (
        "Over all cells",
        (
            ("global_r", "correlation over all cells"),
            ("inflation", "share of it gone within prompts"),
            ("judge_between_share", "variance of scores between prompts"),
            ("oracle_between_share", "variance of labels between prompts"),
            ("level_bias", "largest bias of a calibrated mean"),
        ),
    ),
)

_HEADLINES = ("recovery", "within_r", "global_r")


@dataclass(frozen=True)
class MetricTable:
    """One judge's metrics by group, and below them why some have no figure, each reason once.

    On a narrow terminal the meanings of the metrics give way. Where single candidates were labelled the metrics that
    need whole pools have no row.

    Parameters
    ----------
    judge : mapping
        The judge's part of a document of schema ``bonwise.audit/1``.
    settings : mapping
        The document's settings.
    """

    judge: _Document
    settings: _Document

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield self._table()
        for note, names in self._notes().items():
            yield Text(f"{', '.join(names)}: {printable(note, longest=1000)}")

    def _notes(self) -> dict[str, list[str]]:
        """Return what is to be said below the table, and the metrics it is said of."""
        found: dict[str, list[str]] = {}
        for name, _ in (row for _, rows in self._groups() for row in rows):
            for note in _notes(self.judge["metrics"][name]):
                found.setdefault(note, []).append(named(name, self.settings.get("reference")))
        return found

    def _row_of(self, metric: str) -> bool:
        """Tell whether a metric has a row of its own."""
        whole_pools = "labels_a_prompt" not in self.judge.get("sampling", {})
        return whole_pools or self.judge["metrics"][metric]["estimate"] is not None

    def _table(self) -> FittedTable:
        control = ("with control",) if "with_control" in self.judge else ()
        alone = (_ALONE,) if self._sampled() else ()
        width = interval_header(self.settings["confidence"])
        headers = ("metric", "estimate", width, *alone, *control, "n", _MEANING)
        rows: list[Sequence[str]] = []
        styles = []
        for title, metrics in self._groups():
            shown = [row for row in metrics if self._row_of(row[0])]
            if shown:
                rows.append((title, *("" for _ in headers[1:])))
                styles.append("bold")
            for key, meaning in shown:
                rows.append(self._cells(key, meaning))
                styles.append("bold" if key in _HEADLINES else "")
        return FittedTable(headers, rows, spare=(_MEANING, *alone, *control, "n"), words=(_MEANING,), styles=styles)

    def _sampled(self) -> bool:
        return any("labelled_only" in found for found in self.judge["metrics"].values())

    def _groups(self) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
        # Logged picks hold no scores, so what is made of scores would be a page of dashes.
        return GROUPS[:1] if "picks" in self.settings else GROUPS

    def _cells(self, key: str, meaning: str) -> list[str]:
        found, control = self.judge["metrics"][key], self.judge.get("with_control", {})
        reference = self.settings.get("reference")
        star = " *" if found["method"] == "labelled_only" else ""
        cells = [f"  {named(key, reference)}{star}", number(found["estimate"]), interval(found)]
        cells += [_alone(found)] if self._sampled() else []
        cells += [number(control[key]["estimate"])] if control else []
        return [*cells, f"{found['n']:,}", named(meaning, reference)]


def number(value: float | None) -> str:
    """Write a figure to three decimals, a dash where there is none."""
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def interval(found: _Document) -> str:
    """Write the interval of an estimate, a dash where there is none."""
    return "-" if found["low"] is None else f"[{number(found['low'])}, {number(found['high'])}]"


def interval_header(confidence: float) -> str:
    """Name a column of intervals.

    Examples
    --------
    >>> interval_header(0.95)
    '95% interval'
    """
    return f"{100 * confidence:g}% interval"


def _alone(found: _Document) -> str:
    """Write what the labelled prompts alone would say, blank where that is the same thing."""
    alone = found.get("labelled_only")
    return "" if alone is None else number(alone["estimate"])


def _notes(found: _Document) -> list[str]:
    notes = [found["reason"]] if found.get("reason") else []
    return [*notes, "all prompts alike: bound"] if found["interval"] == "exact" else notes
