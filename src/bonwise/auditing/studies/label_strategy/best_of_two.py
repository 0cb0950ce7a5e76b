"""The matched-pair audit: scores and verdicts on the same pairs, and what verdicts decide where scores tie."""

from __future__ import annotations

from typing import Any

import numpy as np

from bonwise.auditing.same_picks import differing_by_nothing, pick_alike
from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.label_strategy.matched_verdicts import MatchedVerdicts
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import difference, estimate
from bonwise.stats.label_strategy.matched import OF_PAIRS, gap_groups, of_pairs, pair_scores, pair_sums
from bonwise.stats.label_strategy.order_effect import order_effects
from bonwise.stats.label_strategy.shares import Share, pair_share
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["best_of_two"]


def best_of_two(matched: MatchedVerdicts, settings: Settings, groups: int, *, method: str) -> dict[str, Any]:
    """Audit the pairs that were judged both ways, as pools of two.

    Parameters
    ----------
    matched : MatchedVerdicts
        At least one pair.
    settings : Settings
    groups : int
        Of oracle gaps.
    method : str
        ``complete`` or ``labelled_only``; ``weighted`` where pairs were drawn.

    Returns
    -------
    dict
        ``prompts``, ``pairs`` and ``oracle_decided_pairs`` (plain counts), ``ways`` (metrics of each, and their
        differences to pointwise), ``order`` (what the order of presentation did) and ``where_pointwise_tied``.
    """
    pairs, panel = matched.pairs, matched.panel
    method = method if matched.weights is None else "weighted"
    labels = _of_both(matched, panel.labels)
    scores = {"pointwise": _of_both(matched, panel.scores), "pairwise": pair_scores(matched.both)}
    if matched.orders == 2:
        scores["pairwise_one_order"] = pair_scores(matched.one)
    wanted, rule = of_pairs(ESTIMANDS), settings.rule(panel.labels)
    sums = {name: pair_sums(one, labels, pairs, matched.weights) for name, one in scores.items()}
    ways: dict[str, Any] = {}
    for name, mine in sums.items():
        ways[name] = {"metrics": _written(estimate(wanted, mine, rule), method)}
        if name != "pointwise":
            less = difference(wanted, mine, sums["pointwise"], rule)
            if pick_alike(scores[name], scores["pointwise"], np.full(len(pairs.prompt), 2)):
                # Of two candidates the pick is the whole order.
                less = differing_by_nothing(less, OF_PAIRS)
            ways[name]["minus_pointwise"] = _written(less, method)
    found: dict[str, Any] = {
        "prompts": len(np.unique(pairs.prompt)),
        "pairs": len(pairs.prompt),
        "oracle_decided_pairs": int(np.count_nonzero(_gaps(matched))),
        "orders": matched.orders,
        "weighted": matched.weights is not None,
        "ways": ways,
    }
    if matched.orders == 2:
        shown = matched.shown_first, matched.shown_second
        effects = order_effects(*shown, pairs.prompt, settings.confidence, matched.weights)
        found["order"] = _written(dict(effects), method)
    return {**found, "where_pointwise_tied": _where_tied(matched, settings.confidence, groups, method)}


def _where_tied(matched: MatchedVerdicts, confidence: float, groups: int, method: str) -> dict[str, Any]:
    """Say what verdicts decide on the pairs that scores tie and the oracle does not, and how well."""
    scores, pairs, gap = matched.panel.scores, matched.pairs, _gaps(matched)
    tied = (np.round(scores[pairs.i] - scores[pairs.j], TIE_DECIMALS) == 0) & (gap != 0)
    verdict = np.sign(np.round(matched.both - 0.5, TIE_DECIMALS))
    decided = tied & (verdict != 0)
    right = (verdict == np.sign(gap)).astype(np.float64)

    def share(hit: Floats, counted: np.ndarray) -> dict[str, Any]:
        one = Share(hit, counted.astype(np.float64))
        return pair_share(one, pairs.prompt, confidence, matched.weights).with_method(method).to_dict()

    out: dict[str, Any] = {
        "pairs": int(tied.sum()),
        "decided_pairs": int(decided.sum()),
        "decided": share((verdict != 0).astype(np.float64), tied),
        "accuracy": share(right, decided),
        "by_gap": [],
    }
    if not tied.any():
        return out
    group, ends = gap_groups(np.abs(gap[tied]), groups)
    where = np.full(len(gap), -1)
    where[tied] = group
    for at in range(len(ends) - 1):
        mine = where == at
        row = {"low": float(ends[at]), "high": float(ends[at + 1]), "pairs": int(mine.sum())}
        row["decided_pairs"] = int((decided & mine).sum())
        out["by_gap"].append({**row, "accuracy": share(right, decided & mine)})
    return out


def _gaps(matched: MatchedVerdicts) -> Floats:
    """Return by how much the oracle puts the first candidate of each pair above the second."""
    labels, pairs = matched.panel.labels, matched.pairs
    gaps: Floats = np.round(labels[pairs.i] - labels[pairs.j], TIE_DECIMALS)
    return gaps


def _of_both(matched: MatchedVerdicts, values: Floats) -> Floats:
    return np.column_stack([values[matched.pairs.i], values[matched.pairs.j]]).ravel()


def _written(found: dict[str, Estimate], method: str) -> dict[str, Any]:
    return {name: one.with_method(method).to_dict() for name, one in found.items()}
