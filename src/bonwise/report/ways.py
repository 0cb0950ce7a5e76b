"""How ways of asking a judge are called in tables, in text and on pages alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bonwise.printable import printable
from bonwise.report.amounts import counted, significant
from bonwise.report.metric_table import named, number

__all__ = [
    "ORDERS",
    "PAIR_COLUMNS",
    "STRATEGY_COLUMNS",
    "figure",
    "gap_words",
    "group_title",
    "known_columns",
    "partly_labelled",
    "starred",
    "verdicts_of",
    "way_name",
]

_Document = Mapping[str, Any]

_NAMES: Mapping[str, str] = {
    "pointwise": "scores",
    "quantised": "scores in {bins} bins",
    "pairwise": "every pair",
    "pairwise_one_order": "every pair, one order",
    "sparse": "some pairs",
    "sparse_one_order": "some pairs, one order",
    "tie_break": "scores, top ties compared",
    "partial": "the pairs there are",
}

_EACH = {"every_pair": "every", "some_pairs": "some"}

STRATEGY_COLUMNS: Mapping[str, str] = {
    "calls_per_prompt": "calls",
    "tokens_per_prompt": "tokens",
    "within_r": "within_r",
    "tie_rate": "ties",
    "effective_agreement": "agreement",
    "top1_accuracy": "top-1",
    "gain_per_call": "gain / call",
    "gain_per_1000_tokens": "gain / 1,000 tokens",
    "recovery": "recovery",
}

PAIR_COLUMNS: Mapping[str, str] = {
    "tie_rate": "ties",
    "sign_agreement": "agreement, decided",
    "effective_agreement_decided": "agreement, ties 1/2",
    "recovery": "recovery",
}

ORDERS = (
    ("first_order", "agreement", "first order"),
    ("second_order", "agreement", "second order"),
    ("both_orders", "agreement", "both"),
    ("both_orders", "tie_rate", "ties"),
    ("both_orders", "accuracy_decided", "decided"),
    ("order", "first_shown_advantage", "first"),
    ("order", "flips", "flips"),
)
"""Of verdicts alone: way, metric and heading."""


_FINE = frozenset({"gain_per_call", "gain_per_1000_tokens"})


def way_name(name: str, settings: _Document) -> str:
    """Return what a way is called.

    Examples
    --------
    >>> way_name("quantised", {"bins": 20})
    'scores in 20 bins'
    """
    return _NAMES[name].format(bins=settings.get("bins"))


def group_title(part: str, group: _Document) -> str:
    """Return the title of a group of prompts.

    Examples
    --------
    >>> group_title("every_pair", {"prompts": 1})
    'Best of n on 1 prompt with a verdict on every pair'
    """
    return f"Best of n on {counted(group['prompts'], 'prompt')} with a verdict on {_EACH[part]} pair"


def starred(name: str, judge: _Document, settings: _Document) -> str:
    """Return what a way is called, with the mark of `partly_labelled` where that holds."""
    return way_name(name, settings) + (" *" if judge["data"]["method"] == "labelled_only" else "")


def partly_labelled(judge: _Document, settings: _Document) -> Iterator[str]:
    """Yield what the mark says: that figures rest on the labelled prompts alone, and on how many."""
    data = judge["data"]
    if data["method"] == "labelled_only":
        whole = data["prompts"] + data["unlabelled_prompts"]
        words = f"* from {data['prompts']:,} of {counted(whole, 'prompt')} scored completely: the others lack labels"
        yield named(words, settings.get("reference"))


def known_columns(ways: _Document, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns in which any way has a figure."""
    return {
        key: title
        for key, title in columns.items()
        if any(way["metrics"][key]["estimate"] is not None for way in ways.values())
    }


def verdicts_of(settings: _Document) -> str:
    """Say whose verdicts were held against scores, and which pairs they are on.

    Examples
    --------
    >>> verdicts_of({"verdicts": "won.csv", "pairwise": "gpt", "drawn": "todo.drawn.csv"})
    'verdicts of gpt in won.csv, on the pairs drawn in todo.drawn.csv'
    """
    whose, file = (printable(settings[key], longest=60) for key in ("pairwise", "verdicts"))
    drawn = "" if settings["drawn"] is None else f", on the pairs drawn in {printable(settings['drawn'], longest=60)}"
    return f"verdicts of {whose} in {file}{drawn}"


def gap_words(at: int, row: _Document) -> str:
    """Write the ends of a group of gaps, the first of which holds its lower end.

    Examples
    --------
    >>> gap_words(0, {"low": 0.05, "high": 0.05}), gap_words(1, {"low": 0.05, "high": 0.1})
    ('0.05', 'above 0.05 to 0.1')
    """
    if at == 0 and row["low"] == row["high"]:
        return f"{row['low']:g}"
    return f"{'above ' if at else ''}{row['low']:g} to {row['high']:g}"


def figure(found: _Document, key: str = "") -> str:
    """Write an estimate to three decimals; what a call or a token brings is small, and gets three digits.

    Examples
    --------
    >>> figure({"estimate": 0.00514}), figure({"estimate": 0.00514}, "gain_per_call"), figure({"estimate": None})
    ('0.005', '0.00514', '-')
    """
    value = found["estimate"]
    if value is not None and key in _FINE:
        return significant(value)
    return number(value) if key != "tokens_per_prompt" or value is None else f"{value:,.0f}"
