"""The verdict of an audit: the sentences that decide, the figures to read first, the gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.metric_table import interval, named, number
from bonwise.report.page.layout import Verdict
from bonwise.report.page.metrics_section import headlines
from bonwise.report.page.section import Section, Table

__all__ = ["gates_section", "verdict_of", "verdict_of_several"]

_Document = Mapping[str, Any]
_State = Literal["good", "bad", "open"]

_STATES: Mapping[str, _State] = {"useful": "good", "weak": "bad", "harmful": "bad", "random": "bad"}


def verdict_of(judge: _Document, settings: _Document) -> Verdict:
    """Return the verdict on one judge."""
    found = judge["verdict"]
    target, *rest = found["sentences"]
    figures = rest.pop(found["deciding"] - 1)
    lead = [*_against(settings), f"{target} {figures}"]
    return Verdict(found["level"], _STATES.get(found["level"], "open"), lead, rest, headlines(judge, settings))


def verdict_of_several(judges: Mapping[str, _Document], settings: _Document) -> Verdict:
    """Return how many of the judges are useful, and which are what."""
    levels: dict[str, list[str]] = {}
    for name, judge in judges.items():
        levels.setdefault(judge["verdict"]["level"], []).append(f"{name} ({_recovery(judge)})")
    useful = len(levels.get("useful", ()))
    state: _State = "open"
    if useful == len(judges):
        state = "good"
    elif all(level in _STATES and level != "useful" for level in levels):
        state = "bad"
    system = settings.get("target") == "system"
    what = (
        "comparing whole systems on averages over prompts" if system else "picking the best candidate of one prompt"
    )
    lead = f"{useful:,} of {len(judges):,} judges {'is' if useful == 1 else 'are'} useful for {what}."
    order = (*_STATES, *(level for level in levels if level not in _STATES))
    sentences = [f"{level}: {'; '.join(levels[level])}" for level in order if level in levels]
    return Verdict(f"{useful:,} of {len(judges):,} useful", state, [*_against(settings), lead], sentences)


def gates_section(document: _Document) -> Iterator[Section]:
    """Yield the gates that were asked for, each with its state and why."""
    gates = document.get("gates", ())
    if not gates:
        return
    reference, several = document["settings"].get("reference"), "judges" in document
    rows = [
        (gate["state"], *((gate["judge"],) if several else ()), named(gate["sentence"], reference)) for gate in gates
    ]
    headers = ("state", *(("judge",) if several else ()), "what was found")
    met = sum(gate["state"] == "met" for gate in gates)
    yield Section(
        "Gates",
        "gates",
        sentences=[f"{met} of {counted(len(gates), 'gate')} met."],
        tables=[
            Table(
                headers,
                rows,
                words=range(len(headers)),
                strong=[at for at, gate in enumerate(gates) if gate["state"] != "met"],
            )
        ],
    )


def _against(settings: _Document) -> Iterator[str]:
    reference = settings.get("reference")
    if reference is not None:
        yield (
            f"Against the scores of {printable(reference, longest=60)}, which is no oracle: the figures say how far "
            "picks agree with it, not how good they are."
        )


def _recovery(judge: _Document) -> str:
    found = judge["metrics"]["recovery"]
    if found["estimate"] is None:
        return "recovery undefined"
    ends = f" {interval(found)}" if found["low"] is not None else ""
    return f"recovery {number(found['estimate'])}{ends}"
