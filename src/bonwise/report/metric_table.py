"""The metrics of one judge as a table that fits the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from bonwise.report.fitted import FittedTable

__all__ = ["MetricTable", "interval", "named", "number"]

_Document = Mapping[str, Any]

_MEANING = "what it says"
_ALONE = "labelled prompts alone"

GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Picks",
        (
            ("recovery", "share of the possible gain that the picks bring"),
            ("gain", "what the picks are worth beyond random picks"),
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

_HEADLINES = ("recovery", "within_r", "global_r")


@dataclass(frozen=True)
class MetricTable:
    """One judge's metrics by group; on a narrow terminal their meanings give way.

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
        table = self._table()
        yield table
        if _MEANING not in table.fit(console, options):
            for name, _ in (row for _, rows in self._groups() for row in rows):
                if note := _note(self.judge["metrics"][name]):
                    yield Text(f"{named(name, self.settings.get('reference'))}: {note}")

    def _table(self) -> FittedTable:
        control = ("with control",) if "with_control" in self.judge else ()
        alone = (_ALONE,) if self._sampled() else ()
        width = f"{100 * self.settings['confidence']:g}% interval"
        headers = ("metric", "estimate", width, *alone, *control, "n", _MEANING)
        rows: list[Sequence[str]] = []
        styles = []
        for title, metrics in self._groups():
            rows.append((title, *("" for _ in headers[1:])))
            styles.append("bold")
            for key, meaning in metrics:
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
        note = _note(found)
        return [*cells, f"{found['n']:,}", named(meaning, reference) + (f" ({note})" if note else "")]


def named(text: str, reference: str | None) -> str:
    """Name what stands in for the oracle: another judge's scores are no oracle, and are not called one."""
    if reference is None:
        return text
    for word, instead in (("oracle", "reference"), ("labels", "reference scores"), ("label", "reference score")):
        text = text.replace(word, instead)
    return text


def number(value: float | None) -> str:
    """Write a figure to three decimals, a dash where there is none."""
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def interval(found: _Document) -> str:
    """Write the interval of an estimate, a dash where there is none."""
    return "-" if found["low"] is None else f"[{found['low']:.3f}, {found['high']:.3f}]"


def _alone(found: _Document) -> str:
    """Write what the labelled prompts alone would say, blank where that is the same thing."""
    alone = found.get("labelled_only")
    return "" if alone is None else f"{number(alone['estimate'])} {interval(alone)}"


def _note(found: _Document) -> str:
    notes = [found["reason"]] if found.get("reason") else []
    notes += ["all prompts alike: bound"] if found["interval"] == "exact" else []
    return "; ".join(notes)
