"""The best k of each prompt: what is kept is worth, and nDCG and recall over all documents that are labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.result_labels import GainOfLabel, KeptCandidates
from bonwise.auditing.settings import Settings
from bonwise.report.numbers import counted
from bonwise.results import given
from bonwise.stats import catalog, estimand, estimation
from bonwise.stats.sums import Sums, by_rank, compared
from bonwise.table import cells, scales, score_table

_J, _M, _HIT = (Sums._fields.index(name) for name in ("J", "M", "hit"))
_SAMPLED = "undefined: needs labels of all candidates of the prompts it counts, and here they are a sample"
_NEGATIVE = "undefined: needs labels of 0 or more"


@dataclass(frozen=True, eq=False)
class BestKept:
    """What is known of the best k of each prompt."""

    record: KeptCandidates | None = None
    metrics: Mapping[str, estimand.Estimate] = field(default_factory=dict)


NOTHING_KEPT = BestKept()


def best_kept(labelling: Labelling, table: score_table.ScoreTable, settings: Settings) -> BestKept:
    """Return the figures of the best k of each prompt; none where no k was given."""
    k, panel = settings.top, labelling.panel
    if k is None:
        return NOTHING_KEPT
    whole = int((panel.sizes <= k).sum())
    if labelling.sample is not None or labelling.method == "cells":
        undefined = {e.name: estimand.Estimate.undefined(_SAMPLED, len(panel.sizes)) for e in catalog.OF_KEPT}
        record = KeptCandidates(k=k, gain=settings.gain, prompts_kept_whole=whole)
        return BestKept(record, estimand.under_method(undefined, labelling.method))
    labelled = panel.keep(labelling.labelled)
    labels = compared(labelled.labels)
    sums = labelled.sums()
    sums[_J] = labelled.weighted(mean_of_kept(compared(labelled.ranked), labels, labelled.sizes, k))
    sums[_M] = labelled.weighted(mean_of_kept(labels, labels, labelled.sizes, k))
    rule = settings.rule(labelled.labels, labelled.clusters)
    kept = estimand.under_method(estimation.estimate(catalog.OF_KEPT[:2], sums, rule), labelling.method)
    topics = _Topics.of(table, panel.judge, (*settings.exclude, *settings.control))
    record = KeptCandidates(
        k=k,
        gain=settings.gain,
        prompts_kept_whole=whole,
        topics=len(topics.codes),
        **given(
            not_retrieved=topics.not_retrieved or None,
            without_relevant=int((topics.relevant == 0).sum()) or None,
            documents_not_retrieved=topics.elsewhere or None,
        ),
    )
    return BestKept(record, {**kept, **topics.metrics(k, table, settings)})


@dataclass(frozen=True, eq=False)
class _Topics:
    """The prompts with a label, whether the judge ranked candidates of them or not."""

    codes: Ints
    """Of each topic, among the prompts of the table; from their number on those that the table lacks."""
    sizes: Ints
    """Candidates that the judge ranked of each, grouped by topic."""
    scores: Floats
    labels: Floats
    """Of these candidates; NaN for none."""
    others: Floats
    """Labels of documents that it did not rank, grouped by topic too."""
    of_others: Ints

    @classmethod
    def of(cls, table: score_table.ScoreTable, judge: str, left_out: tuple[str, ...]) -> _Topics:
        """Gather what is labelled: by the table, and by qrels that label more than it holds."""
        rows = table.rows.take(~table.candidates.isin(list(left_out))[table.rows.columns["candidate"].codes])
        keys = replace(table, rows=rows).cell_keys()
        every = cells.distinct_cells(keys)
        at = cells.positions(keys, every)
        labels, _ = cells.label_by_cell(at, rows.columns["oracle_label"], len(every))
        own = rows.columns["judge"].are(judge)
        scores = cells.mean_by_cell(at[own], rows.columns["judge_score"][own], len(every))
        asked = np.zeros(len(every), dtype=bool)
        asked[at[own]] = True
        codes = every // len(table.candidates)
        names, further = np.zeros(0, dtype=object), np.zeros(0)
        if table.unretrieved is not None:
            is_counted = ~np.isin(table.unretrieved.names, list(left_out))
            names, further = table.unretrieved.prompts[is_counted], table.unretrieved.labels[is_counted]
        known, places = np.unique(names.astype(str), return_inverse=True)
        new = table.prompts.get_indexer(known.tolist())
        new = np.where(new < 0, len(table.prompts) + np.arange(len(known)), new)
        others = np.concatenate([codes[~asked], new[places.reshape(-1)]])
        topics = np.unique(np.concatenate([codes[~np.isnan(labels)], others]))
        ranked = asked & np.isin(codes, topics)
        order = np.argsort(others, kind="stable")
        return cls(
            topics,
            np.bincount(np.searchsorted(topics, codes[ranked]), minlength=len(topics)),
            scores[ranked],
            labels[ranked],
            np.concatenate([labels[~asked], further])[order],
            np.bincount(np.searchsorted(topics, others), minlength=len(topics)),
        )

    @property
    def not_retrieved(self) -> int:
        """Topics of which the judge ranked nothing."""
        return int((self.sizes == 0).sum())

    @property
    def elsewhere(self) -> int:
        """Labelled documents that it did not rank."""
        return int((~np.isnan(self.others)).sum())

    @property
    def relevant(self) -> Floats:
        """Documents with a label above 0 of each topic, ranked or not."""
        ranked: Floats = sum_by_pool(self.labels > 0, self.sizes)
        return ranked + sum_by_pool(self.others > 0, self.of_others)

    def metrics(self, k: int, table: score_table.ScoreTable, settings: Settings) -> dict[str, estimand.Estimate]:
        """Estimate nDCG and recall over the topics, of which one without a ranking or a relevant document has 0."""
        estimands, n = catalog.OF_KEPT[2:], len(self.codes)
        if reason := self._undefined(table):
            return {e.name: estimand.Estimate.undefined(reason, n) for e in estimands}
        clusters, last = table.clusters, len(table.prompts) - 1
        if clusters is not None:
            # A topic that the table lacks is a cluster of its own.
            alone = int(clusters.max()) + 1 + np.arange(n)
            clusters = np.where(self.codes > last, alone, clusters[np.minimum(self.codes, last)])
        rule, estimates = settings.rule(np.zeros(0), clusters), dict[str, estimand.Estimate]()
        for e, values in zip(
            estimands, (self._ndcg(k, table.label_scale, settings.gain), self._recall(k)), strict=True
        ):
            sums = np.zeros((len(Sums._fields), n))
            sums[0], sums[_HIT] = 1.0, values
            estimates |= estimation.estimate([e], sums, rule)
        return estimates

    def _undefined(self, table: score_table.ScoreTable) -> str:
        """Say why there is neither figure; empty where there are both."""
        if table.weights is not None:
            return "undefined: needs prompts that weigh alike"
        if unlabelled := int(np.isnan(self.labels).sum()):
            ranked = f"{counted(unlabelled, 'ranked candidate')} without a label"
            return f"undefined: {ranked}; state --unlabelled-is 0 if no label means not relevant"
        is_negative = bool((self.labels < 0).any() or (self.others < 0).any())
        return _NEGATIVE if is_negative and table.unretrieved is None else ""

    def _places(self, worth: Floats) -> Floats:
        sizes = self.sizes[self.sizes > 0]
        return place_worth(compared(by_rank(self.scores)), sizes, worth)

    @property
    def _longest(self) -> int:
        return int((self.sizes + self.of_others).max())

    def _ndcg(self, k: int, scale: scales.Scale | None, kind: GainOfLabel) -> Floats:
        labels = np.concatenate([self.labels, np.nan_to_num(self.others)])
        if scale is not None:
            labels = labels * (scale.high - scale.low) + scale.low
        gains, worth = gain_of(labels, kind), discounts(k, self._longest)
        reached = sum_by_pool(self._places(worth) * gains[: len(self.labels)], self.sizes)
        topics = np.arange(len(self.codes))
        owner = np.concatenate([np.repeat(topics, self.sizes), np.repeat(topics, self.of_others)])
        gains, every = gains[np.argsort(owner, kind="stable")], self.sizes + self.of_others
        ideal = sum_by_pool(place_worth(gains, every, worth) * gains, every)
        return _share(reached, ideal)

    def _recall(self, k: int) -> Floats:
        kept = self._places(kept_places(k, self._longest)) * (self.labels > 0)
        return _share(sum_by_pool(kept, self.sizes), self.relevant)


def _share(part: Floats, whole: Floats) -> Floats:
    """Divide, 0 where there is nothing to divide by."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def kept_places(k: int, longest: int) -> Floats:
    """Return 1 for each of the first k places of a pool and 0 for those after them."""
    return (np.arange(longest) < k).astype(float)


def discounts(k: int, longest: int) -> Floats:
    """Return 1 / log2(1 + place), places from 1, and 0 beyond place k."""
    worth: Floats = kept_places(k, longest) / np.log2(np.arange(longest) + 2.0)
    return worth


def gain_of(labels: Floats, kind: GainOfLabel) -> Floats:
    """Return what each label is worth in nDCG; a label below 0 is worth nothing, as in trec_eval."""
    relevant = np.maximum(labels, 0.0)
    return relevant if kind == "linear" else np.exp2(relevant) - 1


def place_worth(ranked: Floats, sizes: Ints, worth: Floats) -> Floats:
    """Return what the place of each cell is worth, ties in expectation (doi:10.1007/978-3-540-78646-7_38)."""
    if not len(ranked):
        return np.zeros(0)
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-ranked, owner))
    values = ranked[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (owner[1:] != owner[:-1]) | (values[1:] != values[:-1])
    begins = np.flatnonzero(first)
    lengths = np.diff(begins, append=len(order))
    places = np.arange(len(order)) - np.repeat(starts, sizes)
    shared = np.add.reduceat(worth[places], begins) / lengths
    expected = np.empty(len(order))
    expected[order] = np.repeat(shared, lengths)
    has_none = np.repeat(np.isneginf(np.maximum.reduceat(ranked, starts)), sizes)
    return np.where(np.isneginf(ranked) & ~has_none, 0.0, expected)


def sum_by_pool(values: Floats | Mask, sizes: Ints) -> Floats:
    """Return the sum over each pool, 0 of one without cells."""
    filled, sums = sizes > 0, np.zeros(len(sizes))
    if filled.any():
        sums[filled] = np.add.reduceat(values, (np.cumsum(sizes) - sizes)[filled])
    return sums


def mean_of_kept(ranked: Floats, labels: Floats, sizes: Ints, k: int) -> Floats:
    """Return the expected mean label of the k highest of each pool, of all where it has no more."""
    share = place_worth(ranked, sizes, kept_places(k, int(sizes.max())))
    return sum_by_pool(share * labels, sizes) / sum_by_pool(share, sizes)
