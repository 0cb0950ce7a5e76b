"""A few prompts lack some of their labels: what the picks are worth whatever these labels are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from bonwise.auditing.bounds import extreme_corners
from bonwise.auditing.judge_record import with_no_gain_tests
from bonwise.auditing.settings import Settings, label_range
from bonwise.report.numbers import Ends, counted, interval, setting
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimand import Estimand, Estimate
from bonwise.stats.estimation import estimate
from bonwise.stats.laws import Spanning
from bonwise.stats.no_gain import DealtEnds
from bonwise.stats.sums import Floats, Sums, prompt_sums
from bonwise.stats.top_of_scores import at_top
from bonwise.table.panel import Panel

__all__ = ["corner_labels", "said_of_missing", "with_missing_labels"]

_NAMES = ("value_random", "value_judge", "value_oracle", "gain", "recovery", "hit_rate", "top1_accuracy")

_OF_PICKS = [e for e in ESTIMANDS if e.name in _NAMES]

_UNBOUNDED = "no interval: some labels that are missing would leave it none"

_Bounds = dict[str, tuple[float, float]]


def with_missing_labels(
    found: Mapping[str, Estimate], panel: Panel, settings: Settings
) -> tuple[dict[str, Estimate], _Bounds]:
    """Return metrics of picks with intervals that hold whatever the missing labels are, and their own ends.

    `found` rests on the prompts of the panel that are labelled whole; the others have some labels. Each metric is
    computed twice more from all of them, with the missing labels that make it smallest and greatest; the interval
    spans all three.
    """
    partly = panel.labelled_cells < panel.sizes
    some, cells = panel.keep(partly), np.repeat(partly, panel.sizes)
    rule, corners = settings.rule(panel.labels, panel.clusters), corner_labels(some, _range(panel))
    of_some = np.stack([prompt_sums(some.scores, one, some.sizes, some.ranked) for one in corners], axis=1)

    def at(choice: np.ndarray) -> tuple[Floats, dict[str, Estimate]]:
        labels = panel.labels.copy()
        labels[cells] = corners[np.repeat(choice, some.sizes), np.arange(corners.shape[1])]
        filled = replace(panel, labels=labels)
        sums = filled.sums()
        made = estimate(_OF_PICKS, sums, rule)
        return labels, made | with_no_gain_tests(made, filled, Sums(*sums), rule)

    known = panel.keep(~partly).sums()
    widened: dict[str, Estimate] = {}
    bounds: _Bounds = {}
    for e in _OF_PICKS:
        (labels, low), (highest, high) = (at(_extreme(e, known, of_some, sign)) for sign in (-1.0, 1.0))
        one = _spanning(found[e.name], low[e.name], high[e.name], settings.confidence)
        if one.law is not None and (dealt := low[e.name].no_gain) and (other := high[e.name].no_gain):
            law = Spanning((one.law, dealt.law, other.law))
            one = replace(one, no_gain=DealtEnds(panel.ranked, labels, panel.sizes, panel.clusters, law, highest))
        widened[e.name] = one
        ends = low[e.name].estimate, high[e.name].estimate
        if ends[0] is not None and ends[1] is not None:
            bounds[e.name] = ends[0], ends[1]
    return widened, bounds


def said_of_missing(panel: Panel, bounds: Mapping[str, tuple[float, float]], recovery: Estimate) -> str:
    """Say how many prompts are left out for some labels, and what these could change; `recovery` allows for it."""
    prompts = int((panel.labelled_cells < panel.sizes).sum())
    lack = "lacks some labels and is" if prompts == 1 else "lack some labels and are"
    low, high = map(setting, _range(panel))
    found = [
        f"recovery of them all lies in {interval(Ends(None, *bounds['recovery']), 'share')}"
        if "recovery" in bounds
        else "",
        f"its interval in {interval(recovery, 'share')}" if recovery.low is not None else "",
    ]
    of_all = " and ".join(filter(None, found)) or "recovery is undefined"
    return (
        f"{counted(prompts, 'prompt')} {lack} left out of the estimates: whatever these labels are between {low} and "
        f"{high}, {of_all}. Gates on picks allow for them."
    )


def corner_labels(panel: Panel, ends: tuple[float, float]) -> Floats:
    """Return labels of all cells, shape (corners, cells), of which some make any metric of picks extreme in a prompt.

    What is missing at the judge's top, and what is missing below, stands at the low end, at the largest label seen or
    at the high end; or all of it at the low end but for one candidate at the top or below.
    """
    low, high = ends
    starts = np.cumsum(panel.sizes) - panel.sizes
    missing, top = np.isnan(panel.labels), at_top(panel.ranked, panel.sizes)
    largest = np.repeat(np.fmax.reduceat(panel.labels, starts), panel.sizes)

    def labels() -> Iterator[Floats]:
        for at_the_top, below in product((low, largest, high), repeat=2):
            yield np.where(top, at_the_top, below)
        owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
        for side in (np.flatnonzero(missing & top), np.flatnonzero(missing & ~top)):
            raised = np.full(len(missing), low)
            raised[side[np.unique(owner[side], return_index=True)[1]]] = high
            yield raised

    return np.stack([np.where(missing, one, panel.labels) for one in labels()])


def _range(panel: Panel) -> tuple[float, float]:
    """Return the range of the labels: that declared, 0 to 1 where all lie in it, or else of those that are there."""
    ends = label_range(panel.labels)
    return ends if np.isfinite(ends).all() else (float(np.nanmin(panel.labels)), float(np.nanmax(panel.labels)))


def _extreme(e: Estimand, known: Floats, corners: Floats, sign: float) -> np.ndarray:
    """Return the corner of each prompt that makes a metric smallest, or greatest."""
    if e.parts is None:
        return (sign * e.of(Sums(*corners))).argmax(axis=0)
    (gain, possible), (gains, possibles) = e.parts(Sums(*known)), e.parts(Sums(*corners))
    return extreme_corners(float(gain.sum()), float(possible.sum()), gains, possibles, sign=sign)[1]


def _spanning(found: Estimate, low: Estimate, high: Estimate, confidence: float) -> Estimate:
    if found.law is None:
        return found
    laws = [one.law for one in (found, low, high) if one.law is not None]
    law = Spanning(tuple(laws))
    ends = law.at(confidence) if len(laws) == 3 else None
    if ends is None:
        return replace(found, low=None, high=None, interval=None, law=None, no_gain=None, reason=_UNBOUNDED)
    return replace(found, low=ends[0], high=ends[1], interval=law.kind, law=law)
