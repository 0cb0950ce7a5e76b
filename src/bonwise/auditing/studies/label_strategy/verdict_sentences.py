"""The findings on verdicts alone in plain words with their figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bonwise.auditing.studies.label_strategy.phrases import moved, share, share_with_ends
from bonwise.report.amounts import counted

__all__ = ["order_sentence", "pairs_sentence", "verdict_sentences"]

_Document = Mapping[str, Any]


def verdict_sentences(found: _Document) -> list[str]:
    """Say what a judge's part of a document on verdicts alone holds."""
    ways, data = found["ways"], found["data"]
    two = "both_orders" in ways
    order = [order_sentence(found["order"])] if two else []
    if data["pairs"] == data["oracle_ties"]:
        return [*order, f"The labels decide none of {counted(data['pairs'], 'pair')}: agreement is unknown."]
    decides = f"Of the {counted(data['pairs'] - data['oracle_ties'], 'pair')} that the labels decide,"
    return [*order, f"{decides} {_two_orders(ways, data) if two else _one_order(ways['first_order'], data)}"]


def pairs_sentence(asked: Collection[frozenset[int]]) -> list[str]:
    """Warn where judges were not asked about the same pairs.

    Parameters
    ----------
    asked : collection of frozenset of int
        The pairs of each judge.

    Examples
    --------
    >>> pairs_sentence([frozenset({1, 2}), frozenset({1, 2})])
    []
    >>> pairs_sentence([frozenset({1, 2}), frozenset({1, 2, 3})])
    ['Judges were asked about 2 to 3 pairs, not all about the same: compare only those with the same pairs.']
    """
    if len(set(asked)) < 2:
        return []
    fewest, most = min(map(len, asked)), max(map(len, asked))
    reach = f"{counted(most, 'pair')} each" if fewest == most else f"{fewest:,} to {counted(most, 'pair')}"
    return [f"Judges were asked about {reach}, not all about the same: compare only those with the same pairs."]


def order_sentence(found: _Document) -> str:
    """Say what the order of presentation did."""
    return (
        f"Being shown first is worth {moved(found['first_shown_advantage'])}; the verdict on "
        f"{share_with_ends(found['flips'])} of the pairs changes with the order."
    )


def _one_order(one: _Document, data: _Document) -> str:
    return f"it agrees in {share_with_ends(one['agreement'])}, {_ties(one, data)}."


def _two_orders(ways: _Document, data: _Document) -> str:
    first, second, both = (ways[name] for name in ("first_order", "second_order", "both_orders"))
    right = both["accuracy_decided"]
    decided = (
        "both together decide none of them"
        if right["estimate"] is None
        else f"those that both together decide are right in {share_with_ends(right)}"
    )
    return (
        f"one order agrees in {share(first['agreement'])}, the other in {share(second['agreement'])} and both "
        f"together in {share_with_ends(both['agreement'])}, {_ties(both, data)}; {decided}."
    )


def _ties(way: _Document, data: _Document) -> str:
    return f"ties ({share(way['tie_rate'])} of all {counted(data['pairs'], 'pair')}) counting one half"
