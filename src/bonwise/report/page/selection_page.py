"""The page of selections: what all picks come to, then each pool with its candidates and why one was kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.page.environment import LONGEST_NAME
from bonwise.report.page.head import selection_facts
from bonwise.report.page.layout import Page, Part, Picks
from bonwise.report.page.section import Section, Table

__all__ = ["MOST_COMPARISONS", "selection_page", "selection_sections"]

_Document = Mapping[str, Any]

_MEANINGS = {
    "score": "one candidate had the highest score",
    "comparison": "equal scores were compared, or all candidates were",
    "tie-break": "the seed decided between equals",
    "only candidate": "there was no other",
    "same text": "all candidates are one and the same text",
    "nothing scored": "no judge gave any candidate a score",
    "owed": "an answer has not arrived; the same command asks for it",
    "deadline": "the best that was known when the time was up",
    "partial": "the best of those that could be judged",
    "first": "no judgment: the first candidate was kept",
    "random": "no judgment: a random candidate was kept",
}

_MAKESHIFT = ("deadline", "partial", "first", "random")

_FIGURES = (("score", "scores"), ("se", "standard_errors"), ("P(best)", "p_best"), ("draws", "draws"))
"""What is known of each candidate, and where it stands in the line of a pick."""

MOST_COMPARISONS = 100
"""Comparisons of one pool that are shown."""


def selection_page(document: _Document) -> Page:
    """Lay out a document of schema ``bonwise.selections/1``: the totals, then the pools that it holds."""
    settings = document["settings"]
    title = f"Picks from {settings['source']}" if "source" in settings else f"Pick of {settings['judge']}"
    picks = Picks([_row(one) for one in document["picks"]], document["of"])
    return Page(title, selection_facts(document), [Part(selection_sections(document))], picks=picks)


def selection_sections(document: _Document) -> list[Section]:
    """Return what all picks come to, from what decided them to what they took."""
    totals = document["totals"]
    ended = document["settings"].get("ended", "")
    alone = document["of"] == 1 and len(document["picks"]) == 1 and not ended
    found = [_one(document["picks"][0]) if alone else _decided(totals, ended)]
    if totals["unscored"] or totals["failures"]:
        found.append(_not_scored(totals))
    if totals["routed"]["seen"]:
        found.append(_routed(totals["routed"], totals["pools"]))
    if totals["order"]["pairs"]:
        found.append(_order(totals["order"]))
    return [*found, _cost(totals)]


def _one(found: _Document) -> Section:
    """Return the candidates of the only pool, the best first."""
    row = _row(found)
    headers = [label for label, _ in _FIGURES if any(label in dict(one["facts"]) for one in row["candidates"])]
    rows, strong = [], []
    for at, one in enumerate(row["candidates"]):
        said = "picked" if one["picked"] else f"not scored: {one['reason']}" if one["reason"] else ""
        rows.append([one["id"], *(dict(one["facts"]).get(label, "-") for label in headers), said])
        strong += [at] if one["picked"] else []
    words = (0, len(headers) + 1)
    table = Table(("candidate", *headers, ""), rows, "Candidates, the best first", words=words, strong=strong)
    kept = "Nothing was picked." if found["pick"]["best"] is None else f"Kept: {row['best']}."
    return Section("What was picked", "picked", [kept, *row["why"]], tables=[table])


def _decided(totals: _Document, ended: str) -> Section:
    pools, picked = totals["pools"], totals["picked"]
    sentences = [f"Not all pools are here: {ended}."] if ended else []
    sentences += [f"A candidate was picked in {picked:,} of {counted(pools, 'pool')}{_share(picked, pools)}."]
    if totals["tied"]:
        sentences.append(f"In {totals['tied']:,} of them several candidates share the top score.")
    makeshift = sum(totals["decided_by"].get(how, 0) for how in _MAKESHIFT)
    if makeshift:
        rests = "rests" if makeshift == 1 else "rest"
        sentences.append(f"{counted(makeshift, 'pick')} {rests} on less than was asked for: see what decided.")
    rows = [
        [how, f"{count:,}", f"{count / pools:.1%}", _MEANINGS.get(how, "")]
        for how, count in totals["decided_by"].items()
    ]
    tables = [Table(("decided by", "pools", "share", "what that is"), rows, "What decided", words=(0, 3))]
    if len(totals["stopped"]) > 1:
        tables.append(_tally(totals["stopped"], "Why asking stopped", "reason", "pools"))
    return Section("What was picked", "picked", sentences, tables=tables)


def _not_scored(totals: _Document) -> Section:
    candidates = sum(totals["unscored"].values())
    have = "has" if candidates == 1 else "have"
    sentence = (
        f"{candidates:,} of {counted(totals['candidates'], 'candidate')} {have} no score"
        f"{_share(candidates, totals['candidates'])}; such a candidate cannot win."
    )
    tables = []
    if totals["unscored"]:
        tables.append(_tally(totals["unscored"], "Candidates without a score", "reason", "candidates"))
    if totals["failures"]:
        tables.append(_tally(totals["failures"], "Pools where something went wrong", "what", "pools"))
    return Section("What was not scored", "unscored", [sentence], tables=tables)


def _routed(routed: _Document, pools: int) -> Section:
    sent = f"{routed['sent']:,} of {counted(routed['seen'], 'pool')}{_share(routed['sent'], routed['seen'])}"
    sentences = [
        f"A stronger judge decided {sent}, {routed['changed']:,} of them otherwise than the first pass.",
    ]
    if routed["seen"] < pools:
        sentences.append(f"{counted(pools - routed['seen'], 'pool')} never came before the router.")
    return Section("Routing", "routing", sentences, tables=[_tally(routed["reasons"], "", "reason", "pools")])


def _order(order: _Document) -> Section:
    moved = f"{order['differing']:,} of {counted(order['pairs'], 'pair')} judged in both orders"
    sentences = [
        f"Being shown first was worth {order['advantage']:+.3f} on average: 0 is nothing, 1 is every comparison.",
        f"The verdict on {moved} depends on the order{_share(order['differing'], order['pairs'])}.",
    ]
    if order["without_verdict"]:
        sentences.append(f"{counted(order['without_verdict'], 'comparison')} have no verdict.")
    return Section("Order of presentation", "order", sentences)


def _cost(totals: _Document) -> Section:
    pools = max(totals["pools"], 1)
    tokens = totals["input_tokens"] + totals["output_tokens"]
    rows = [
        _spent("calls sent", totals["calls"], pools),
        _spent("answers from the ledger", totals["from_ledger"], pools),
        _spent("input tokens", totals["input_tokens"], pools),
        _spent("output tokens", totals["output_tokens"], pools),
        _spent("tokens of answers from the ledger", totals["reused_tokens"], pools),
        ["US dollars", *(_known(amount, totals) for amount in (totals["cost"], totals["cost"] / pools))],
    ]
    several = totals["pools"] > 1
    headers = ("what", "all pools", "a pool") if several else ("what", "the pool")
    tables = [Table(headers, [row[: len(headers)] for row in rows])]
    asked = f"{counted(totals['calls'], 'call')} sent, {counted(totals['answers'], 'answer')} used"
    sentences = [f"{asked}, {tokens:,} tokens, {_known(totals['cost'], totals, 'cost ')}."]
    notes = []
    if totals["unpriced"]:
        notes.append(f"The cost of {counted(totals['unpriced'], 'pool')} is unknown.")
    seconds = totals["latency"]
    if seconds is not None and several:
        sentences.append(
            f"A pool took {_seconds(seconds['mean'])} on average: half up to {_seconds(seconds['half'])}, "
            f"95% up to {_seconds(seconds['most'])}, the longest {_seconds(seconds['longest'])}."
        )
    return Section("What it took", "cost", sentences, tables=tables, notes=notes)


def _spent(what: str, count: int, pools: int) -> list[str]:
    return [what, f"{count:,}", _mean(count / pools)]


def _mean(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.001 or not value else "under 0.001"


def _tally(counts: Mapping[str, int], title: str, what: str, of: str) -> Table:
    return Table((what, of), [[reason, f"{count:,}"] for reason, count in counts.items()], title)


def _row(one: _Document) -> dict[str, Any]:
    pick = one["pick"]
    at = None if pick["best"] is None else pick["ids"].index(pick["best"])
    place = {name: rank for rank, name in enumerate(pick["ranking"])}
    words = sorted(enumerate(one["candidates"]), key=lambda each: place.get(each[1]["id"], len(place)))
    candidates = [_candidate(pick, each, position) for position, each in words]
    score = None if at is None else pick["scores"][at]
    return {
        "prompt_id": _cut(pick["prompt_id"] or "the pool"),
        "best": "no pick" if at is None else _cut(pick["best"]),
        "decided_by": pick["decided_by"],
        "figures": [
            (score, _figure(score)),
            (len(pick["tied"]), str(len(pick["tied"]) or "-")),
            (len(pick["unscored"]), str(len(pick["unscored"]))),
            (pick["calls"], f"{pick['calls']:,}"),
            (pick["input_tokens"] + pick["output_tokens"], f"{pick['input_tokens'] + pick['output_tokens']:,}"),
            (pick["cost"], "unknown" if pick["cost"] is None else _dollars(pick["cost"])),
        ],
        "why": list(_why(pick)),
        "prompt": one["prompt"],
        "prompt_left_out": one.get("prompt_left_out", 0),
        "candidates": candidates,
        "comparisons": [_compared(pair) for pair in pick["comparisons"][:MOST_COMPARISONS]],
        "comparisons_left_out": max(0, len(pick["comparisons"]) - MOST_COMPARISONS),
    }


def _candidate(pick: _Document, words: _Document, at: int) -> dict[str, Any]:
    name = words["id"]
    facts = []
    for label, values in _FIGURES:
        value = pick[values][at] if pick[values] else None
        if value is not None:
            facts.append((label, _figure(value)))
    return {
        "id": _cut(name),
        "picked": name == pick["best"],
        "tied": len(pick["tied"]) if name in pick["tied"] else 0,
        "facts": facts,
        "reason": _cut(pick["unscored"].get(name, "")),
        "text": words["text"],
        "text_left_out": words.get("text_left_out", 0),
    }


def _why(pick: _Document) -> Iterator[str]:
    yield f"Decided by {pick['decided_by']}: {_MEANINGS.get(pick['decided_by'], 'as the strategy says')}."
    if pick["stopped"]:
        yield f"Asking stopped: {pick['stopped']}."
    if pick["level"]:
        yield f"The seed decided among {len(pick['level'])} candidates."
    if pick["failure"]:
        yield f"What went wrong: {_cut(pick['failure'])}."
    routed = pick["routed"]
    if routed is not None:
        signal = "" if routed["signal"] is None else f", signal {_figure(routed['signal'])}"
        who = "Not sent to a stronger judge" if routed["strong"] is None else f"Decided by {_cut(routed['strong'])}"
        first = f"; the first pass alone would have kept {_cut(routed['first_pick'])}" if routed["first_pick"] else ""
        yield f"{who} ({routed['reason']}{signal}){first}."
    if pick["expected_regret"] is not None:
        yield f"Expected loss against the best candidate: {_figure(pick['expected_regret'])}."
    yield (
        f"{counted(pick['calls'], 'call')} sent, {counted(pick['answers'], 'answer')} used, "
        f"{pick['from_ledger']:,} of them from the ledger; {pick['latency']:g} s."
    )


def _compared(pair: _Document) -> tuple[str, str, str, str]:
    value, effect = pair["value"], pair["order_effect"]
    return (
        _cut(pair["a"]),
        _cut(pair["b"]),
        "no verdict" if value is None else _figure(value),
        "-" if effect is None else f"{effect:+.4g}",
    )


def _cut(name: str) -> str:
    return printable(name, longest=LONGEST_NAME)


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    # Four digits do not tell the scores of long texts apart, and would be followed by a power of ten.
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"


def _known(amount: float, totals: _Document, what: str = "") -> str:
    """Write an amount in dollars, as far as the cost of pools is known."""
    if not totals["unpriced"]:
        return _dollars(amount)
    return f"{what}unknown" if totals["unpriced"] >= totals["pools"] else f"at least {_dollars(amount)}"


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 100 or amount == 0 else f"${amount:.4f}"


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.1%})" if whole else ""
