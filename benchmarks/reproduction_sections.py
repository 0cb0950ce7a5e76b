"""A table or figure of a paper as the page of the reproduction shows it, and how its figures are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
Row = tuple[str, str, str]


@dataclass(frozen=True)
class Section:
    """A table or figure of a paper."""

    heading: str
    about: str
    """What it holds."""
    why: str
    """Why theirs and ours differ, or why there is no command."""
    commands: Sequence[str] = ()
    rows: Callable[..., Iterator[Row]] | None = None
    """From the document of each command."""
    slow: bool = False
    """Whether a run of all tests leaves it out."""


@dataclass(frozen=True)
class Paper:
    """A paper and its tables and figures, in their order."""

    title: str
    cited: str
    sections: Sequence[Section]
    not_held: Sequence[tuple[str, str]] = ()
    """What the paper says and data or arithmetic contradict, and the evidence."""


def figure(estimate: Mapping[str, Any] | None, style: str = "number", digits: int = 3) -> str:
    """Write an estimate with its interval; null is said with its reason."""
    if estimate is None or estimate["estimate"] is None:
        return "undefined" if estimate is None else f"none: {estimate.get('reason', 'undefined')}"
    ends = [estimate.get("low"), estimate.get("high")]
    written = [plain(value, style, digits) for value in (estimate["estimate"], *ends) if value is not None]
    return written[0] if len(written) == 1 else f"{written[0]} [{', '.join(written[1:])}]"


def plain(value: float, style: str = "number", digits: int = 3) -> str:
    """Write a number, or a share in per cent."""
    text = f"{100 * value:.1f}%" if style == "share" else f"{value:.{digits}f}"
    return text.replace("-0.0%", "0.0%") if text == "-0.0%" else text


def metrics(audit: Json, judge: str | None = None) -> Mapping[str, Any]:
    """Return the metrics of the only judge of an audit, or of the one that is named."""
    return audit["metrics"] if judge is None else audit["judges"][judge]["metrics"]
