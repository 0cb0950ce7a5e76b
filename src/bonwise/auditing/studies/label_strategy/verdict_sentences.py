"""The findings on verdicts alone in plain words with their figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bonwise.auditing.studies.label_strategy.phrases import moved, share, share_with_ends
from bonwise.documents.label_strategy.pairs import OrderEffects
from bonwise.documents.label_strategy.verdicts import VerdictCounts, VerdictMetrics, VerdictsWay
from bonwise.report.numbers import counted

__all__ = ["order_sentence", "pairs_sentence", "verdict_sentences"]


def verdict_sentences(
    ways: Mapping[VerdictsWay, VerdictMetrics], order: OrderEffects | None, data: VerdictCounts
) -> list[str]:
    """Say what was found of a judge's verdicts alone."""
    said = [] if order is None else [order_sentence(order)]
    if data.pairs == data.oracle_ties:
        return [*said, f"The labels decide none of {counted(data.pairs, 'pair')}: agreement is unknown."]
    decides = f"Of the {counted(data.pairs - data.oracle_ties, 'pair')} that the labels decide,"
    return [*said, f"{decides} {_one_order(ways['first_order'], data) if order is None else _two_orders(ways, data)}"]


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


def order_sentence(found: OrderEffects) -> str:
    """Say what the order of presentation did."""
    return (
        f"The position effect is {moved(found.first_shown_advantage)}; the verdict on "
        f"{share_with_ends(found.flips)} of the pairs changes with the order."
    )


def _one_order(one: VerdictMetrics, data: VerdictCounts) -> str:
    return f"it agrees in {share_with_ends(one.agreement)}, {_ties(one, data)}."


def _two_orders(ways: Mapping[VerdictsWay, VerdictMetrics], data: VerdictCounts) -> str:
    first, second, both = ways["first_order"], ways["second_order"], ways["both_orders"]
    right = both.accuracy_decided
    decided = (
        "both together decide none of them"
        if right.estimate is None
        else f"those that both together decide are right in {share_with_ends(right)}"
    )
    return (
        f"one order agrees in {share(first.agreement)}, the other in {share(second.agreement)} and both "
        f"together in {share_with_ends(both.agreement)}, {_ties(both, data)}; {decided}."
    )


def _ties(way: VerdictMetrics, data: VerdictCounts) -> str:
    return f"ties ({share(way.tie_rate)} of all {counted(data.pairs, 'pair')}) counting one half"
