"""How a pick came about, as plain values that a host stores beside its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bonwise.calls.bill import Bill
from bonwise.hosts.totals import is_unjudged
from bonwise.selection.ranked_candidates import RankedCandidate
from bonwise.selection.selection import Selection

__all__ = ["added_usage", "judge_usage", "place_of", "trail_of"]


def trail_of(selection: Selection, failed_draws: Iterable[str] = ()) -> dict[str, Any]:
    """Return how a pick came about, in plain values for JSON.

    Parameters
    ----------
    selection : Selection
    failed_draws : iterable of str
        Why candidates are missing.

    Returns
    -------
    dict
        ``index`` (None where nothing was picked, which is never candidate 0), ``decided_by``, ``unjudged``,
        ``scores`` in candidate order, ``judge``, ``strategy`` and ``judge_usage``; where there is something to say
        also ``p_best``, ``tied``, ``unscored``, ``failure``, ``failed_draws``, ``strong``.

    Examples
    --------
    >>> import bonwise as bw
    >>> pick = bw.select("Name a colour", ["a kind of blue", "red"], judge=lambda prompt, text: -len(text))
    >>> trail = trail_of(pick)
    >>> trail["index"], trail["scores"], trail["unjudged"], trail["judge_usage"]["cost"]
    (1, [-14.0, -3.0], False, 0.0)
    """
    found: dict[str, Any] = {
        "index": selection.index,
        "decided_by": selection.decided_by,
        "unjudged": is_unjudged(selection),
        "scores": list(selection.scores),
        "judge": selection.settings["judge"],
        "strategy": selection.settings["strategy"],
        "judge_usage": judge_usage(selection.bill),
    }
    said = {
        "p_best": list(selection.p_best),
        "tied": list(selection.tied),
        "unscored": dict(selection.unscored),
        "failure": selection.failure,
        "failed_draws": list(failed_draws),
        "strong": None if selection.routed is None else selection.routed.strong,
    }
    return found | {name: value for name, value in said.items() if value}


def judge_usage(bill: Bill) -> dict[str, Any]:
    """Return what judging took: ``calls``, ``input_tokens``, ``output_tokens`` and ``cost`` in US dollars or None.

    ``unknown`` counts calls that were sent and never answered, which the service may bill.
    """
    found = {
        "calls": bill.calls,
        "input_tokens": bill.input_tokens,
        "output_tokens": bill.output_tokens,
        "cost": bill.cost,
    }
    return found | {name: value for name in ("from_ledger", "unknown") if (value := getattr(bill, name))}


def place_of(one: RankedCandidate, selection: Selection) -> dict[str, Any]:
    """Return what a reranker says of one document: rank and score, or why it has none, in plain values for JSON.

    Examples
    --------
    >>> import bonwise as bw
    >>> with bw.Selector(lambda prompt, text: len(text)) as selector:
    ...     ranked = selector.rank("Name a colour", ["red", "blue"])
    >>> place_of(ranked[0], ranked.selection)
    {'judge': '<lambda>', 'rank': 1, 'score': 4.0}
    """
    verdict = selection.verdicts[one.index] if selection.verdicts else None
    said = {
        "rank": one.rank,
        "score": one.score,
        "unscored": None if one.score is not None else one.reason,
        "low": getattr(verdict, "low", None),
        "high": getattr(verdict, "high", None),
        "standard_error": selection.standard_errors[one.index] if selection.standard_errors else None,
        "p_best": selection.p_best[one.index] if selection.p_best else None,
    }
    return {"judge": selection.settings["judge"]} | {name: value for name, value in said.items() if value is not None}


def added_usage(usages: Iterable[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Return the sum of what several answers took, level by level; what is no number is taken from the first.

    Examples
    --------
    >>> added_usage([{"input": 3, "details": {"cached": 1}}, None, {"input": 4, "details": {"cached": 2}}])
    {'input': 7, 'details': {'cached': 3}}
    """
    total: dict[str, Any] = {}
    for usage in usages:
        for name, value in (usage or {}).items():
            if isinstance(value, Mapping):
                before = total.get(name)
                total[name] = added_usage([before if isinstance(before, Mapping) else None, value])
            elif isinstance(value, int | float) and not isinstance(value, bool):
                before = total.get(name)
                total[name] = value + (before if isinstance(before, int | float) else 0)
            elif total.get(name) is None:
                total[name] = value
    return total
