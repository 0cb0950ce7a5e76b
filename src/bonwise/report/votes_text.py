"""A document of schema ``bonwise.votes/1`` as text: margins, near ties, detectability, prompts, pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.metric_table import interval, number

__all__ = ["votes_parts", "votes_text"]

_Document = Mapping[str, Any]

_MOST_PAIRS = 40


def votes_text(document: _Document) -> str:
    """Render as plain text."""
    return plain(votes_parts(document))


def votes_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    yield from _opening(document)
    yield _margins(document)
    yield from _near_ties(document)
    yield Text()
    yield from _detection(document)
    yield Text()
    yield from _prompts(document)
    yield from _screening(document)
    yield Text()
    yield from _pairs(document)


def _opening(document: _Document) -> Iterator[RenderableType]:
    data, settings = document["data"], document["settings"]
    prompts = f" for {data['prompts']:,} prompts" if data["prompts"] else ""
    clustered = "clustered by prompt" if data["prompts"] else "every vote on its own, for no prompt column was named"
    yield Text(f"Votes of {printable(settings['source'])}", "bold")
    yield Text(
        f"{data['votes']:,} votes on {data['pairs']:,} pairs of {data['models']:,} models{prompts}; intervals at "
        f"{100 * settings['confidence']:g}%: of a pair {clustered}, over pairs by resampling the pairs"
    )
    yield Text(
        "margin: P(second preferred) - 1/2, where first and second model of a pair are in alphabetical order", "bold"
    )
    if settings["ties"]:
        yield Text(f"ties: {settings['ties']}. {data['ties']:,} votes are ties; {settings['counting']}", "bold")
    rates = document["ties"]
    if data["ties"]:
        yield Text(
            f"tie rate of a pair: median {number(rates['median']['estimate'])} {interval(rates['median'])}, 90th "
            f"percentile {number(rates['p90']['estimate'])}; correlation with the margin of the other votes "
            f"{number(rates['correlation_with_margin']['estimate'])} {interval(rates['correlation_with_margin'])}"
        )
    if data["dropped"]:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in data["dropped"].items())
        few = f"; {data['pairs_left_out']:,} of the pairs" if data["pairs_left_out"] else ""
        yield Text(f"left out: {reasons}{few}", style="yellow")


def _margins(document: _Document) -> FittedTable:
    rows = [
        (
            f"p{100 * one['quantile']:g}",
            number(one["estimate"]),
            interval(one),
            *(cell for level in ("0.05", "0.01") for cell in _needed(one["votes_needed"][level])),
        )
        for one in document["margins"]
    ]
    headers = ("quantile", "|margin|", "interval", "votes at .05", "interval ", "votes at .01", "interval  ")
    title = f"Votes to see the margin of a pair with power {document['settings']['power']:g} (equation 8)"
    return FittedTable(headers, rows, spare=("interval  ", "votes at .01"), title=title)


def _near_ties(document: _Document) -> Iterator[Text]:
    near, pairs = document["near_ties"], document["data"]["pairs"]
    said = f"near ties (|margin| <= {near['tau']:g}): {near['count']:,} of {pairs:,} pairs, share "
    said += f"{number(near['share']['estimate'])} {interval(near['share'])}"
    if near["votes_needed"]:
        votes = _count(near["votes_needed"]["0.05"]["whole"])
        said += f"; their median {number(near['median']['estimate'])} takes {votes} votes at .05"
    yield Text(said)
    which = ", ties not among them" if document["settings"]["ties"] == "drop" else ""
    yield Text(
        f"These are counts of independent votes{which}, at margins as estimated. A preference that is not seen with "
        "fewer votes is not shown to be absent."
    )


def _detection(document: _Document) -> Iterator[RenderableType]:
    ways = {"with_replacement": "with", "without_replacement": "without"}
    power = document["settings"]["power"]
    rows = [
        (
            f"{one['votes']:,}",
            ways[one["drawn"]],
            number(one["median"]["estimate"]),
            interval(one["median"]),
            f"{one['pairs_with_power']:,} of {one['pairs']:,}",
        )
        for one in document["detection"]
        if one["median"]["estimate"] is not None
    ]
    if rows:
        yield FittedTable(
            ("votes", "replacement", "median rate", "interval", f"pairs at {power:g}"),
            rows,
            title="How often subsamples of a pair's votes show its preference (binomial test at .05)",
        )
        yield Text(
            "Without replacement the pool is all there is: near its size the rate is the pool's own verdict, not "
            "power."
        )
    else:
        yield Text("no rates of detection: the binomial test is not defined for half votes", style="yellow")
    known = [one for one in document["z"] if one["pairs"]]
    if known:
        yield FittedTable(
            ("votes", "replacement", "p10 of z", "interval", "median z", "interval ", "infinite", "pairs"),
            [_z(one, ways[one["drawn"]]) for one in known],
            spare=("infinite", "pairs"),
            title="z = |rate - 1/2| / sqrt(rate (1 - rate) / votes) of all subsamples, pairs weighing alike",
        )


def _z(one: _Document, way: str) -> tuple[str, ...]:
    low, middle = one["p10"], one["median"]
    figures = [cell for found in (low, middle) for cell in (_hundredths(found["estimate"]), _ends(found))]
    return (f"{one['votes']:,}", way, *figures, f"{one['infinite_share']:.2%}", f"{one['pairs']:,}")


def _prompts(document: _Document) -> Iterator[Text]:
    ratio, variance = document["cluster_ratio"], document["variance"]
    if not ratio["pairs"]:
        yield Text("prompts: no prompt column was named, so what votes on one prompt share is unknown", "yellow")
        return
    yield Text(
        f"prompts: clustering multiplies a pair's standard error by {number(ratio['median']['estimate'])} "
        f"{interval(ratio['median'])} at the median ({ratio['least']:.3f} to {ratio['most']:.3f}): "
        f"{ratio['design_effect']:.2f} votes do the work of one independent vote"
    )
    if ratio["single_vote_prompts_only"]:
        yield Text("no prompt has two votes of a pair: the ratio is 1 whatever raters do", "yellow")
    if not variance["pairs"]:
        yield Text(f"variance of win rates: not split, {variance['reason']}", "yellow")
        return
    parts = ", ".join(
        f"{name} {number(variance[name]['estimate'])} {interval(variance[name])}"
        for name in ("total", "within", "between")
    )
    published = " / ".join(number(one["estimate"]) for one in variance["published"].values())
    yield Text(
        f"variance of a prompt's win rate, medians of {variance['pairs']:,} pairs, prompts with two votes or more: "
        f"{parts}"
    )
    yield Text(f"the same as Lee (2026) prints it, biased for prompts with few votes: {published}")


def _screening(document: _Document) -> Iterator[Text]:
    found, settings = document["concentration"], document["settings"]
    if not found["pairs"]:
        return
    yield Text()
    yield Text(
        f"concentration: kappa is above {settings['threshold']:g} in {found['above_threshold']:,} of "
        f"{found['pairs']:,} pairs. That rule alone says nothing: with few votes a prompt it fires on prompts that "
        "are all alike."
    )
    yield Text(
        f"Above what permuting the votes over prompts gives in 95% of cases: {found['above_chance']:,} of "
        f"{found['pairs']:,} pairs ({found['above_chance_expected']:.2g} expected by chance)."
    )
    yield Text(
        "Win rates differ between prompts (chi-squared, p of permuted votes at most .05) in "
        f"{found['heterogeneous']:,} of {found['pairs']:,} pairs."
    )
    named = ", ".join(
        f"{printable(a, longest=32)} and {printable(b, longest=32)}"
        for a, b in found["recommend_two_stage"][:_MOST_PAIRS]
    )
    yield Text(f"two-stage screening may pay for: {named}" if named else "two-stage screening: for no pair")
    yield Text(
        "Screening chooses prompts to look at next. Its test is one of 'no prompt has a preference', never of the "
        "mean preference: preferences that cancel over prompts are rejected most of the time."
    )


def _pairs(document: _Document) -> Iterator[RenderableType]:
    pairs = sorted(document["pairs"], key=lambda one: abs(one["margin"]))
    shown = pairs[:_MOST_PAIRS]
    yield FittedTable(
        ("first", "second", "votes", "prompts", "margin", "interval", "votes at .05", "se ratio"),
        [(*_names(one), *_pair(one)) for one in shown],
        left=2,
        spare=("se ratio", "prompts", "votes", "interval"),
        title="Pairs, closest first",
    )
    if len(pairs) > _MOST_PAIRS:
        yield Text(f"{len(pairs) - _MOST_PAIRS:,} pairs with larger margins are in --json alone", style="yellow")
    yield Text()
    yield FittedTable(
        ("first", "second", "nats a vote", "bound", "kappa", "by chance", "spread", "screened"),
        [(*_names(one), *_told(one)) for one in shown],
        left=2,
        spare=("by chance", "kappa", "spread", "screened"),
        title="What a vote tells, and the prompts behind it",
    )
    level, miss = (pairs[0]["information"]["least_votes"][name] for name in ("level", "miss"))
    yield Text(
        f"nats a vote: KL(1/2 + margin, 1/2). bound: no test with errors of {level:g} and {miss:g} does with fewer "
        "votes, even one that knows all margins; a lower bound, and no test is known to do with so few."
    )
    yield Text("kappa, by chance: concentration of the preference, and what it exceeds in 5% of permutations.")
    yield from _simulated(pairs, document["settings"])


def _simulated(pairs: Sequence[_Document], settings: _Document) -> Iterator[Text]:
    """Say what the two simulated powers are, where there are any."""
    known = [one["screening"]["plan"] for one in pairs if one["screening"]["plan"] is not None]
    if known:
        votes = sorted({plan["votes"] for plan in known})
        spent = f"{votes[0]:,}" if len(votes) == 1 else f"{votes[0]:,} to {votes[-1]:,}"
        yield Text(
            f"spread, screened: how often 'no prompt has a preference' is rejected at .05 with {spent} new votes in "
            "proportion, and with half of them spent on screening; simulated "
            f"{settings['repetitions']:,} times at margins as likely, for planning only."
        )


def _names(one: _Document) -> tuple[str, str]:
    return printable(one["first"], longest=32), printable(one["second"], longest=32)


def _pair(one: _Document) -> tuple[str, ...]:
    rate = one["win_rate"]
    ends = "-" if rate["low"] is None else f"[{rate['low'] - 0.5:+.3f}, {rate['high'] - 0.5:+.3f}]"
    return (
        f"{one['votes']:,}",
        "-" if one["prompts"] is None else f"{one['prompts']:,}",
        f"{one['margin']:+.3f}",
        ends,
        _count(one["votes_needed"]["0.05"]["whole"]),
        number(one["cluster_ratio"]["estimate"]),
    )


def _told(one: _Document) -> tuple[str, ...]:
    told, kappa = one["information"], one["concentration"]
    bound, power = told["least_votes"]["estimate"], one["screening"]["simulated"] or {}
    return (
        f"{told['per_vote']['estimate']:.4f}",
        "-" if bound is None else f">= {math.ceil(bound):,}",
        number(kappa["kappa"]),
        number(kappa.get("null_quantile")),
        number(power.get("proportional")),
        number(power.get("two_stage")),
    )


def _needed(found: _Document) -> tuple[str, str]:
    low, high = (None if found[key] is None else math.ceil(found[key]) for key in ("low", "high"))
    # A margin that may be 0 takes any number of votes.
    ends = "-" if low is None else f"[{low:,}, {'no end' if high is None else format(high, ',')}]"
    return _count(found["whole"]), ends


def _count(value: int | None) -> str:
    return "no number" if value is None else f"{value:,}"


def _hundredths(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.2f}"


def _ends(found: _Document) -> str:
    return "-" if found["low"] is None else f"[{found['low']:.2f}, {found['high']:.2f}]"
