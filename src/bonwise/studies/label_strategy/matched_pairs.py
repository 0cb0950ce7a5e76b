"""Scores and verdicts on the same pairs: shares by prompt, what the order shown did, and what verdicts decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.comparison import differing_by_nothing, pick_alike
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.flags import TIE_DECIMALS
from bonwise.results import given
from bonwise.stats import catalog, estimand, estimation, jackknife, laws
from bonwise.stats.confidence import Logit
from bonwise.stats.sums import tie_decimals
from bonwise.studies.label_strategy import judged_pairs, result
from bonwise.studies.label_strategy.pairs import OF_PAIRS, Pairs, gap_groups, of_pairs, pair_scores, pair_sums
from bonwise.table.panel import Panel


class Share(NamedTuple):
    """A share of some pairs, each of shape (pairs,)."""

    hit: Floats  # 1, 0, or 1/2 for a tie; anything where it does not count
    counted: Floats  # 1 where the pair counts, 0 where not


def pair_share(share: Share, prompt: Ints, confidence: float, weights: Floats | None = None) -> estimand.Estimate:
    """Estimate a share, clustered by the prompt of each pair; weights are 1 / probability of its being drawn."""
    top, base = _sums(share, prompt, weights)
    n = int(np.count_nonzero(base))
    if not n:
        return estimand.Estimate.undefined("undefined: no such pair", 0)
    top, base = top[base > 0], base[base > 0]
    value = min(max(float(top.sum() / base.sum()), 0.0), 1.0)
    scatter = jackknife.Scatter.without(_ratio(top.sum() - top, base.sum() - base))
    stretch = float(base.max() / base.mean())
    law = Logit(value, scatter.se, n - 1) if 0 < value < 1 else None
    exact = partial(laws.Exact, value, n, (0.0, 1.0), stretch)
    return estimation.from_jackknife(value, scatter, n, (0.0, 1.0), confidence, exact=exact, law=law)


def share_difference(
    first: Share, second: Share, prompt: Ints, confidence: float, weights: Floats | None = None
) -> estimand.Estimate:
    """Estimate the first share minus the second, paired by prompt; the other parameters as in `pair_share`."""
    sides = [_sums(one, prompt, weights) for one in (first, second)]
    n = int(np.count_nonzero(np.minimum(sides[0][1], sides[1][1])))
    if any(not base.any() for _, base in sides):
        return estimand.Estimate.undefined("undefined: no such pair", 0)
    value = float(sides[0][0].sum() / sides[0][1].sum() - sides[1][0].sum() / sides[1][1].sum())
    return _differing(value, [_ratio(top.sum() - top, base.sum() - base) for top, base in sides], n, confidence)


def mean_difference(
    first: Floats, second: Floats, prompt: Ints, confidence: float, weights: Floats | None = None
) -> estimand.Estimate:
    """Estimate the mean of the first values minus that of the second, both in [0, 1], paired by pair."""
    ones = np.ones(len(first))
    return share_difference(Share(first, ones), Share(second, ones), prompt, confidence, weights)


def _differing(value: float, left: Sequence[Floats], n: int, confidence: float) -> estimand.Estimate:
    limits = (-1.0, 1.0)
    exact = partial(laws.Exact, value, n, limits)
    return estimation.from_jackknife(
        value, jackknife.Scatter.without(left[0] - left[1]), n, limits, confidence, exact=exact
    )


def _sums(share: Share, prompt: Ints, weights: Floats | None) -> tuple[Floats, Floats]:
    units, owner = np.unique(prompt, return_inverse=True)
    counted = share.counted if weights is None else share.counted * weights
    hit = np.where(share.counted > 0, share.hit, 0.0)
    top, base = (np.bincount(owner, weights=part, minlength=len(units)) for part in (hit * counted, counted))
    return top.astype(np.float64), base.astype(np.float64)


def _ratio(top: Floats, base: Floats) -> Floats:
    scale = float(base.max(initial=0.0))
    out: Floats = np.divide(top, base, out=np.full(len(top), np.nan), where=base > 1e-9 * max(scale, 1e-300))
    return out


OF_VERDICTS = ("tie_rate", "agreement", "accuracy_decided")


def verdict_metrics(values: Floats, oracle: Floats, prompt: Ints, confidence: float) -> dict[str, estimand.Estimate]:
    """Estimate how verdicts fare against an oracle's by prompt: ``tie_rate``, ``agreement``, decided accuracy."""
    return {name: pair_share(share, prompt, confidence) for name, share in _shares(values, oracle).items()}


def order_differences(
    first: Floats, second: Floats, oracle: Floats, prompt: Ints, confidence: float
) -> dict[str, estimand.Estimate]:
    """Estimate the differences of the metrics of two ways to a verdict on the same pairs, first minus second."""
    left, right = _shares(first, oracle), _shares(second, oracle)
    return {name: share_difference(left[name], right[name], prompt, confidence) for name in OF_VERDICTS}


def order_effects(
    one: Floats, other: Floats, prompt: Ints, confidence: float, weights: Floats | None = None
) -> Mapping[str, estimand.Estimate]:
    """Estimate what order did to what the first earned: ``first_shown_advantage`` and ``flips``."""
    flips = (_sign(one) != _sign(other)).astype(float)
    return {
        "first_shown_advantage": mean_difference(one, other, prompt, confidence, weights),
        "flips": pair_share(Share(flips, np.ones(len(flips))), prompt, confidence, weights),
    }


def _shares(values: Floats, oracle: Floats) -> dict[str, Share]:
    judge, gold = _sign(values), _sign(oracle)
    ones, right = np.ones(len(values)), (1 + judge * gold) / 2
    return {
        "tie_rate": Share((judge == 0).astype(float), ones),
        "agreement": Share(right, (gold != 0).astype(float)),
        "accuracy_decided": Share(right, ((gold != 0) & (judge != 0)).astype(float)),
    }


def _sign(values: Floats) -> Floats:
    return np.sign(np.round(values - 0.5, TIE_DECIMALS))


@dataclass(frozen=True, eq=False)
class MatchedVerdicts:
    """A panel, and the verdicts on pairs of its candidates."""

    panel: Panel
    """Of the judge that scored; labels are complete."""
    pairs: Pairs = field(repr=False)
    """Sorted by prompt, `i` before `j`."""
    both: Floats = field(repr=False)
    """What `i` earned on average over the orders."""
    one: Floats = field(repr=False)
    """What it earned in one order, drawn for each pair."""
    shown_first: Floats = field(repr=False)
    shown_second: Floats = field(repr=False)
    """Both: what it earned in each order, NaN where it was not asked."""
    tokens: Floats = field(repr=False)
    """Of all answers on the pair, NaN where unknown."""
    orders: int
    """2 where pairs were judged in both orders, 1 where in one."""
    weights: Floats | None = field(repr=False)
    """1 over the probability of being drawn; None where pairs were not drawn."""
    left_out: Mapping[str, int]
    """Rows of the verdicts that are not among the pairs, by reason."""

    @property
    def judged_pairs(self) -> Ints:
        """Number of judged pairs of each prompt, shape (prompts,)."""
        return np.bincount(self.pairs.prompt, minlength=len(self.panel.sizes))

    def keep(self, prompts: Mask) -> MatchedVerdicts:
        """Return some of the prompts."""
        kept = prompts[self.pairs.prompt]
        cells = np.cumsum(np.repeat(prompts, self.panel.sizes)) - 1
        some = self.pairs.some(kept)
        return MatchedVerdicts(
            self.panel.keep(prompts),
            Pairs((np.cumsum(prompts) - 1)[some.prompt], cells[some.i], cells[some.j]),
            self.both[kept],
            self.one[kept],
            self.shown_first[kept],
            self.shown_second[kept],
            self.tokens[kept],
            self.orders,
            None if self.weights is None else self.weights[kept],
            self.left_out,
        )


def match(panel: Panel, verdicts: judged_pairs.PairVerdicts, seed: int) -> MatchedVerdicts:
    """Lay verdicts on the cells of a panel, counting what does not fit; where some have both orders, those alone."""
    frame = verdicts.frame
    prompt, cells = _positions(panel, frame)
    known = ~np.isnan(frame[["first", "second"]].to_numpy())
    orders = 2 if known.all(axis=1).any() else 1
    enough = (known.sum(axis=1) >= orders) & ~frame["lost"].to_numpy(dtype=bool)
    reason = np.select(
        [prompt < 0, (cells < 0).any(axis=0), ~known.any(axis=1), ~enough],
        [
            "the prompt is not among those that are scored and labelled completely",
            "a candidate that the prompt lacks or that is left out",
            "no verdict",
            "a verdict in one order only",
        ],
        "",
    )
    kept = reason == ""
    counts = dict(Counter(reason[~kept].tolist()))
    return _laid(panel, frame[kept], (prompt[kept], cells[:, kept]), orders, seed, counts)


def _positions(panel: Panel, frame: pd.DataFrame) -> tuple[Ints, Ints]:
    """Return where prompt and both candidates of each row are in the panel, -1 for nowhere."""
    prompt = panel.prompt_ids.get_indexer(pd.Index(frame["prompt_id"]))
    width = len(panel.candidates)
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    keys = pd.Index(owner * width + panel.names)
    found = []
    for role in ("a", "b"):
        name = panel.candidates.get_indexer(pd.Index(frame[role]))
        found.append(np.where((prompt < 0) | (name < 0), -1, keys.get_indexer(prompt * width + name)))
    return prompt, np.array(found)


def _laid(
    panel: Panel, frame: pd.DataFrame, at: tuple[Ints, Ints], orders: int, seed: int, counts: Mapping[str, int]
) -> MatchedVerdicts:
    prompt, (a, b) = at
    first, second = frame["first"].to_numpy(), frame["second"].to_numpy()
    swapped = a > b
    # What b earned when it was shown first is what a did not when it was shown second.
    first, second = np.where(swapped, 1 - second, first), np.where(swapped, 1 - first, second)
    i, j = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((j, i, prompt))
    first, second = first[order], second[order]
    coin = np.random.default_rng(seed).random(len(order)) < 0.5
    one = np.where(np.isnan(first) | (~coin & ~np.isnan(second)), second, first)
    both = (first + second) / 2 if orders == 2 else one
    return MatchedVerdicts(
        panel,
        Pairs(prompt[order], i[order], j[order]),
        both,
        one,
        first,
        second,
        frame["tokens"].to_numpy()[order],
        orders,
        frame["weight"].to_numpy()[order] if "weight" in frame.columns else None,
        counts,
    )


def best_of_two(matched: MatchedVerdicts, settings: Settings, groups: int, *, method: str) -> result.MatchedPairs:
    """Audit the pairs that were judged both ways, at least one, as pools of two; `groups` are those of gaps."""
    pairs, panel = matched.pairs, matched.panel
    method = method if matched.weights is None else "weighted"
    labels = _of_both(matched, panel.labels)
    scores: dict[result.PairWay, Floats] = {
        "pointwise": _of_both(matched, panel.scores),
        "pairwise": pair_scores(matched.both),
    }
    if matched.orders == 2:
        scores["pairwise_one_order"] = pair_scores(matched.one)
    wanted, rule = of_pairs(catalog.ESTIMANDS), settings.rule(panel.labels)
    sums = {name: pair_sums(score, labels, pairs, matched.weights) for name, score in scores.items()}
    ways: dict[result.PairWay, result.WayMetrics] = {}
    for name, mine in sums.items():
        metrics = estimate_records(estimand.under_method(estimation.estimate(wanted, mine, rule), method))
        if name == "pointwise":
            ways[name] = result.WayMetrics(metrics=metrics)
            continue
        less = estimation.difference(wanted, mine, sums["pointwise"], rule)
        if pick_alike(scores[name], scores["pointwise"], np.full(len(pairs.prompt), 2)):
            # Of two candidates the pick is the whole order.
            less = differing_by_nothing(less, OF_PAIRS)
        ways[name] = result.WayMetrics(
            metrics=metrics, minus_pointwise=estimate_records(estimand.under_method(less, method))
        )
    return result.MatchedPairs(
        prompts=len(np.unique(pairs.prompt)),
        pairs=len(pairs.prompt),
        oracle_decided_pairs=int(np.count_nonzero(_gaps(matched))),
        orders=matched.orders,
        weighted=matched.weights is not None,
        ways=ways,
        **given(order=_order(matched, settings.confidence, method) if matched.orders == 2 else None),
        where_pointwise_tied=_where_tied(matched, settings.confidence, groups, method),
    )


def _order(matched: MatchedVerdicts, confidence: float, method: str) -> result.OrderEffects:
    shown = matched.shown_first, matched.shown_second
    effects = order_effects(*shown, matched.pairs.prompt, confidence, matched.weights)
    return result.OrderEffects(**estimate_records(estimand.under_method(effects, method)))


def _where_tied(matched: MatchedVerdicts, confidence: float, groups: int, method: str) -> result.WhereTied:
    """Say what verdicts decide on the pairs that scores tie and the oracle does not, and how well."""
    scores, pairs, gap = matched.panel.scores, matched.pairs, _gaps(matched)
    tied = (np.round(scores[pairs.i] - scores[pairs.j], tie_decimals(scores)) == 0) & (gap != 0)
    verdict = np.sign(np.round(matched.both - 0.5, TIE_DECIMALS))
    decided = tied & (verdict != 0)
    right = (verdict == np.sign(gap)).astype(np.float64)

    def share(hit: Floats, counted: np.ndarray) -> EstimateRecord:
        one = Share(hit, counted.astype(np.float64))
        return EstimateRecord.of(pair_share(one, pairs.prompt, confidence, matched.weights).with_method(method))

    by_gap = []
    for low, high, mine in _gap_groups(gap, tied, groups):
        by_gap.append(
            result.GapGroup(
                low=low,
                high=high,
                pairs=int(mine.sum()),
                decided_pairs=int((decided & mine).sum()),
                accuracy=share(right, decided & mine),
            )
        )
    return result.WhereTied(
        pairs=int(tied.sum()),
        decided_pairs=int(decided.sum()),
        decided=share((verdict != 0).astype(np.float64), tied),
        accuracy=share(right, decided),
        by_gap=by_gap,
    )


def _gap_groups(gap: Floats, tied: np.ndarray, groups: int) -> Iterator[tuple[float, float, np.ndarray]]:
    """Yield the ends of each group of gaps, and its pairs."""
    if not tied.any():
        return
    group, ends = gap_groups(np.abs(gap[tied]), groups)
    where = np.full(len(gap), -1)
    where[tied] = group
    for at in range(len(ends) - 1):
        yield float(ends[at]), float(ends[at + 1]), where == at


def _gaps(matched: MatchedVerdicts) -> Floats:
    """Return by how much the oracle puts the first candidate of each pair above the second."""
    labels, pairs = matched.panel.labels, matched.pairs
    return np.round(labels[pairs.i] - labels[pairs.j], tie_decimals(labels))


def _of_both(matched: MatchedVerdicts, values: Floats) -> Floats:
    return np.column_stack([values[matched.pairs.i], values[matched.pairs.j]]).ravel()
