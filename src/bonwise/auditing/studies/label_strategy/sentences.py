"""The findings in plain words with their figures, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["NAMES", "strategy_sentences", "verdict_sentences"]

_Document = Mapping[str, Any]

NAMES: Mapping[str, str] = {
    "pointwise": "scoring",
    "pairwise": "comparing every pair",
    "sparse": "comparing some pairs",
    "tie_break": "breaking ties at the top by comparisons",
    "partial": "counting whatever comparisons there are",
}
"""What a way of asking is called in a sentence."""


def strategy_sentences(found: _Document, reference: str | None = None) -> list[str]:
    """Say what a judge's part of the document holds; a judge that stands in for the oracle is the reference."""
    out = [line for group in found["strategies"].values() for line in _of_group(group)]
    return [*out, *_of_pairs(found["matched_pairs"], "oracle" if reference is None else "reference")]


def _of_group(group: _Document) -> Iterator[str]:
    ways = group["strategies"]
    for name in ("pairwise", "partial", "tie_break", "sparse"):
        if name in ways:
            yield from _recovery(group, name)
    if "pairwise" in ways:
        yield from _per_call(ways["pairwise"]["metrics"], ways["pointwise"]["metrics"])
    yield from _unchanged(ways["quantised"]["minus_pointwise"]["recovery"])


def _recovery(group: _Document, name: str) -> Iterator[str]:
    way, base = group["strategies"][name], group["strategies"]["pointwise"]["metrics"]
    found, less = way["metrics"], way["minus_pointwise"]["recovery"]
    if found["recovery"]["estimate"] is None or base["recovery"]["estimate"] is None:
        return
    yield (
        f"On {group['prompts']:,} prompts {NAMES[name]} recovers {_share(found['recovery'])} of the possible gain at "
        f"{found['calls_per_prompt']['estimate']:.3g} calls a prompt, scoring {_share(base['recovery'])} at "
        f"{base['calls_per_prompt']['estimate']:.3g}: {_compared(less)}."
    )


def _compared(less: _Document) -> str:
    if less["low"] is None:
        return (
            "a difference without an interval"
            if less["estimate"] is None
            else f"{100 * less['estimate']:+.1f} points"
        )
    what = f"{100 * less['estimate']:+.1f} points [{100 * less['low']:.1f}, {100 * less['high']:.1f}]"
    return what if less["low"] > 0 or less["high"] < 0 else f"{what}, which may be no difference"


def _per_call(found: _Document, base: _Document) -> Iterator[str]:
    mine, theirs = found["gain_per_call"]["estimate"], base["gain_per_call"]["estimate"]
    if mine is not None and theirs is not None:
        yield f"A call of the comparison of every pair brings {mine:.4f} of label, a call for a score {theirs:.4f}."


def _unchanged(less: _Document) -> Iterator[str]:
    if less["estimate"] == 0 and less["interval"] == "exact":
        yield "Cutting the scores into bins changes the worth of no prompt's pick."
    elif less["estimate"] is not None:
        yield f"Cutting the scores into bins changes recovery by {_compared(less)}."


def _of_pairs(found: _Document, oracle: str) -> Iterator[str]:
    ways, where = found["ways"], found["where_pointwise_tied"]
    one, other = ways["pointwise"]["metrics"], ways["pairwise"]["metrics"]
    drawn = ", weighted by how they were drawn" if found["weighted"] else ""
    yield (
        f"On {found['pairs']:,} pairs judged both ways{drawn} scores tie {_share(one['tie_rate'])} and comparisons "
        f"{_share(other['tie_rate'])}; with ties counting one half scores agree with the {oracle} in "
        f"{_share(one['effective_agreement_decided'])} of the pairs that it decides, comparisons in "
        f"{_share(other['effective_agreement_decided'])}."
    )
    if where["decided"]["estimate"] is not None:
        yield (
            f"Of {where['pairs']:,} pairs that scores tie and the {oracle} does not, comparisons decided "
            f"{_share(where['decided'])} and were right in {_share(where['accuracy'])} of those"
            f"{_by_gap(where['by_gap'])}."
        )
    if "order" in found:
        yield _order(found["order"])


def _by_gap(rows: list[_Document]) -> str:
    known = [row["accuracy"]["estimate"] for row in rows if row["accuracy"]["estimate"] is not None]
    return (
        f", from {100 * known[0]:.1f} % at the smallest gaps to {100 * known[-1]:.1f} % at the largest"
        if len(known) > 1
        else ""
    )


def _order(found: _Document) -> str:
    return (
        f"Being shown first is worth {found['first_shown_advantage']['estimate']:+.3f}, and "
        f"{_share(found['flips'])} of the verdicts change with the order."
    )


def verdict_sentences(found: _Document) -> list[str]:
    """Say what a judge's part of a document on verdicts alone holds."""
    ways = found["ways"]
    if "both_orders" not in ways:
        one = ways["first_order"]
        agreed, tied = _share(one["agreement"]), _share(one["tie_rate"])
        return [f"On {found['data']['pairs']:,} pairs it agrees in {agreed}, {tied} ties counting one half."]
    first, second, both = (ways[name] for name in ("first_order", "second_order", "both_orders"))
    agreement = (
        f"One order agrees in {_share(first['agreement'])} and {_share(second['agreement'])}, both together in "
        f"{_share(both['agreement'])} with {_share(both['tie_rate'])} ties counting one half; the pairs that both "
        f"orders decide alike are right in {_share(both['accuracy_decided'])}."
    )
    return [_order(found["order"]), agreement]


def _share(found: _Document) -> str:
    return "an unknown share" if found["estimate"] is None else f"{100 * found['estimate']:.1f} %"
