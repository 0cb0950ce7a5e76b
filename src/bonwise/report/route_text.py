"""The document of a study of routing as a page of text: what each signal captures, why, and which to take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.left_out import labels_left_out
from bonwise.report.metric_table import interval, number

__all__ = ["route_parts", "route_text"]

_Document = Mapping[str, Any]

_MARGINS = ("0 (tie)", "to 0.05", "to 0.10", "above")
_LEVELS = ("below 0.7", "to 0.8", "to 0.9", "from 0.9")


def route_text(document: _Document) -> str:
    """Render a document of schema ``bonwise.route/1`` as plain text."""
    return plain(route_parts(document))


def route_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print, from the title to the recommendation."""
    settings = document["settings"]
    reference = settings["reference"]
    against = "a perfect judge" if reference is None else printable(reference)
    yield Text(f"Routing of {printable(settings['source'])} to {against}", style="bold")
    yield from labels_left_out(settings)
    judges = document["judges"] if "judges" in document else {document["judge"]: document}
    for name, judge in judges.items():
        yield from _one(name, judge, settings)
    for name, reason in document.get("not_studied", {}).items():
        yield Text(f"not studied: {printable(name)}: {printable(reason)}", style="yellow")


def _one(name: str, judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    yield from _counts(name, judge["data"])
    yield _signals(judge, settings)
    for signal, found in judge["signals"].items():
        if "reason" in found or "note" in found:
            yield Text(f"{signal}: {found.get('reason') or found['note']}")
    yield from _without_interval(judge, settings)
    yield _curve(judge, settings)
    yield _factors(judge)
    if judge["gain_by_margin_and_level"] is not None:
        yield _grid(judge["gain_by_margin_and_level"])
    yield from _bound(judge, settings)
    yield from _checks(judge)
    yield from _recommendation(judge["recommendation"])
    if "budget" in judge:
        yield from _budget(judge["budget"])


def _counts(name: str, data: _Document) -> Iterator[RenderableType]:
    labelled = f"{data['labelled_prompts']:,} of {data['prompts']:,} prompts labelled"
    weighted = ", weighted by 1 / propensity" if data["method"] == "weighted" else ""
    yield Text(f"{printable(name)}: {labelled}{weighted}")
    if data["method"] == "labelled_only":
        yield Text("Figures describe the labelled prompts; why the others lack labels is unknown.", style="yellow")
    if data["dropped"]:
        reasons = sorted({printable(one["reason"]) for one in data["dropped"]})
        more = ", ..." if len(reasons) > 3 else ""
        count = f"{len(data['dropped']):,} prompt{'s' if len(data['dropped']) > 1 else ''}"
        yield Text(f"dropped {count}: {', '.join(reasons[:3])}{more}", style="yellow")


def _signals(judge: _Document, settings: _Document) -> FittedTable:
    share = settings["share"]
    rows = []
    for name, found in judge["signals"].items():
        if not found["shares"]:
            continue
        at = _at(found["shares"], share)
        rows.append(
            (
                name,
                number(at["value"]),
                _four(at["lift"], "+"),
                _percent(at["captured"]),
                _percents(at),
                number(found["corr_gain"]["estimate"]),
                interval(found["corr_gain"]),
                f"{at['n']:,}",
            )
        )
    best = _at(judge["perfect"], share)
    rows.append(
        ("perfect order", number(best["value"]), _four(best["lift"], "+"), "100%", "", "", "", f"{best['n']:,}")
    )
    return FittedTable(
        ("signal", "value", "lift", "captured", "interval", "corr(signal, gain)", "its interval", "n"),
        rows,
        spare=("n", "its interval", "value"),
        title=f"Sending {100 * share:g}% of the prompts on, over sending as many at random",
    )


def _without_interval(judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    """Say why figures at the share asked for have no interval, each reason once."""
    said: dict[str, list[str]] = {}
    for name, found in judge["signals"].items():
        if not found["shares"]:
            continue
        at = _at(found["shares"], settings["share"])
        for figure, reason in (("captured", at.get("reason")), ("corr", found["corr_gain"].get("reason"))):
            if reason and reason.startswith("no interval: "):
                said.setdefault(f"{figure} has {reason}", []).append(name)
    for reason, names in said.items():
        yield Text(f"{', '.join(names)}: {reason}")


def _curve(judge: _Document, settings: _Document) -> FittedTable:
    shares = [one["share"] for one in judge["perfect"] if one["share"] < 1]
    rows = [
        (name, *(_percent(_at(found["shares"], share)["captured"]) for share in shares))
        for name, found in judge["signals"].items()
        if found["shares"]
    ]
    headers = ("signal", *(f"{100 * share:g}%" for share in shares))
    asked = f"{100 * settings['share']:g}%"
    spare = tuple(one for one in headers[1:] if one not in (asked, "10%", "25%", "50%"))
    return FittedTable(headers, rows, spare=spare, title="Part of the possible lift captured, by share sent on")


def _factors(judge: _Document) -> FittedTable:
    rows = []
    for name, found in judge["signals"].items():
        if "decomposition" not in found:
            continue
        parts = found["decomposition"]
        across = parts["across_bins"]
        row = [cell for key in ("wrong", "gap", "gain") for cell in _pair(parts[f"corr_{key}"])]
        rows.append((name, *row, *(number(across[key]) for key in ("wrong", "gap", "gain"))))
    return FittedTable(
        (
            "signal",
            "with wrong",
            "interval",
            "with gap if wrong",
            "interval ",
            "with gain",
            "interval  ",
            "wrong, in fifths",
            "gap, in fifths",
            "gain, in fifths",
        ),
        rows,
        spare=(
            "interval  ",
            "with gain",
            "wrong, in fifths",
            "gap, in fifths",
            "gain, in fifths",
            "interval ",
            "interval",
        ),
        title="Mean gain = P(wrong) x mean gap if wrong: correlations of the signal with each",
    )


def _pair(found: _Document) -> tuple[str, str]:
    return number(found["estimate"]), interval(found)


def _grid(grid: list[list[_Document]]) -> FittedTable:
    rows = [
        (margin, *("-" if cell["estimate"] is None else f"{cell['estimate']:.3f} ({cell['n']:,})" for cell in row))
        for margin, row in zip(_MARGINS, grid, strict=True)
    ]
    return FittedTable(("margin", *_LEVELS), rows, title="Mean gain (and prompts) by margin and mean score")


def _bound(judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    found = next((one for one in judge["bound"] if one["share"] == settings["share"]), None)
    if found is None or found["bound"]["estimate"] is None or found["achieved"]["estimate"] is None:
        return
    bound, achieved = found["bound"], found["achieved"]
    yield Text(
        _spaced(
            "What these features were found to predict would lift the value by at most",
            _four(bound["estimate"]),
            interval(bound),
            "(estimate of the bound of corollary 3; a router that reads more out of them may lift it further);",
            f"expected_gain has {_percent(achieved['estimate'])}",
            _percents(achieved),
            f"of that (a normal spread of expected gains allows {_percent(found['gaussian'])}).",
        )
    )


def _checks(judge: _Document) -> Iterator[RenderableType]:
    for key, question in (
        ("confidence_calibrated", "Is a pick with a larger margin right more often?"),
        ("voi_calibrated", "Does a larger margin mean less to gain?"),
    ):
        found = judge[key]
        evidence = found["correlation"]
        known = evidence["estimate"] is not None
        width = f" {interval(evidence)}" if evidence["low"] is not None else ""
        figures = f": {number(evidence['estimate'])}{width}" if known else ""
        yield Text(f"{question} {found['answer']}: {found['reason']}{figures}")


def _recommendation(found: _Document) -> Iterator[RenderableType]:
    captured = found["captured"]
    known = captured["estimate"] is not None
    caught = _spaced("capturing", _percent(captured["estimate"]), _percents(captured), "of the possible lift")
    part = f", {caught}" if known else ""
    yield Text(
        f"Send {100 * found['share']:g}% of the prompts on by {found['signal']}: those above "
        f"{found['threshold'] + 0.0:.4g}{part}.",
        style="bold",
    )
    for sentence in found["sentences"]:
        yield Text(sentence)


def _budget(found: _Document) -> Iterator[RenderableType]:
    gain = found["gain"]
    yield Text(
        f"Of {found['mean_calls']:g} calls a prompt, a routed prompt costing {found['strong_cost']:g}: "
        f"{found['sentence']}",
        style="bold",
    )
    yield Text(
        _spaced(f"Expected gain in the mean label {_four(gain['estimate'])}", interval(gain))
        + f"; routing alone {_four(found['route_only'])}, further draws alone {_four(found['redraw_only'])}."
    )


def _at(shares: list[_Document], share: float) -> _Document:
    return next(one for one in shares if one["share"] == share)


def _spaced(*parts: str) -> str:
    """Join the parts that are not empty."""
    return " ".join(part for part in parts if part)


def _four(value: float, sign: str = "-") -> str:
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return f"{round(value, 4) + 0.0:{sign}.4f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{round(100 * value) + 0:d}%"


def _percents(found: _Document) -> str:
    return "" if found["low"] is None else f"[{_percent(found['low'])}, {_percent(found['high'])}]"
