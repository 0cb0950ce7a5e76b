"""Each way of asking, on the same prompts: what its picks are worth and what they took."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.comparison import differing_by_nothing, pick_alike
from bonwise.auditing.settings import Settings
from bonwise.estimates import estimate_records
from bonwise.stats import catalog, efficiency, estimand, estimation
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.studies.label_strategy.matched_pairs import MatchedVerdicts
from bonwise.studies.label_strategy.pairs import between_top, borda, connected_edges, quantised, tie_broken
from bonwise.studies.label_strategy.result import PromptGroup, PromptsWithVerdicts, Way, WayMetrics
from bonwise.table import cells, numbers, score_table
from bonwise.table.panel import Panel

OF_STRATEGIES = (
    *("within_r", "tie_rate", "top1_tie_rate", "top1_accuracy", "effective_agreement", "gain", "recovery"),
)
_WANTED = tuple(e for e in catalog.ESTIMANDS if e.name in OF_STRATEGIES)

_TOGETHER = "the verdicts hold the tokens of both orders together"
_UNTOLD = "the verdicts do not say the tokens of every pair; bonwise judge --tokens writes them"


@dataclass(frozen=True)
class Asking:
    """How the ways are made."""

    bins: int
    """Of the quantised scores."""
    edges: int | None
    """Pairs a prompt of the sparse comparison; as many as candidates where None."""
    gap_groups: int
    """Groups of gaps in which accuracy is told apart."""
    low: float
    high: float
    """Both: range that is cut into bins."""


@dataclass(frozen=True, eq=False)
class _AskingColumn:
    name: Way
    scores: Floats = field(repr=False)
    spent: ScoringUsage = field(repr=False)


def compared(
    table: score_table.ScoreTable, matched: MatchedVerdicts, asking: Asking, settings: Settings, *, method: str
) -> tuple[dict[PromptsWithVerdicts, PromptGroup], dict[PromptsWithVerdicts, str]]:
    """Compare the ways of asking on prompts whose pairs all have verdicts, and on all; and say why not."""
    pairs = matched.judged_pairs
    every, some = pairs == matched.panel.sizes * (matched.panel.sizes - 1) // 2, pairs > 0
    found: dict[PromptsWithVerdicts, PromptGroup] = {}
    absent: dict[PromptsWithVerdicts, str] = {}
    if matched.weights is not None:
        why = "the pairs were drawn one by one, not prompt by prompt"
        return found, {"every_pair": why, "some_pairs": why}
    if every.any():
        found["every_pair"] = _group(table, matched.keep(every), asking, settings, method, _full)
    else:
        absent["every_pair"] = "no prompt has a verdict on every pair of its candidates"
    if (some != every).any():
        found["some_pairs"] = _group(table, matched.keep(some), asking, settings, method, _partial)
    else:
        absent["some_pairs"] = "every prompt with verdicts has one on every pair" if every.any() else "no verdicts"
    return found, absent


def _group(
    table: score_table.ScoreTable,
    matched: MatchedVerdicts,
    asking: Asking,
    settings: Settings,
    method: str,
    asking_columns: Callable[[score_table.ScoreTable, MatchedVerdicts, Asking, int], Iterator[_AskingColumn]],
) -> PromptGroup:
    panel = matched.panel
    rule = settings.rule(panel.labels)
    rows: dict[Way, WayMetrics] = {}
    base: tuple[_AskingColumn, Floats, efficiency.Spent] | None = None
    for way in asking_columns(table, matched, asking, settings.seed):
        sums = prompt_sums(way.scores, panel.labels, panel.sizes)
        t = Sums(*sums)
        tokens = way.spent.tokens
        spent = efficiency.Spent(t.J - t.R, t.M - t.R, way.spent.answers, tokens, no_tokens=way.spent.no_tokens)
        found = {**estimation.estimate(_WANTED, sums, rule), **efficiency.efficiency(spent, settings.confidence)}
        metrics = estimate_records(estimand.under_method(found, method))
        if base is None:
            base = way, sums, spent
            rows[way.name] = WayMetrics(metrics=metrics)
            continue
        less = estimation.difference(_WANTED, sums, base[1], rule)
        if pick_alike(way.scores, base[0].scores, panel.sizes):
            less = differing_by_nothing(less)
        less |= efficiency.efficiency_difference(spent, base[2], settings.confidence)
        rows[way.name] = WayMetrics(
            metrics=metrics, minus_pointwise=estimate_records(estimand.under_method(less, method))
        )
    in_no_pair = np.ones(len(panel.scores), dtype=bool)
    in_no_pair[np.concatenate([matched.pairs.i, matched.pairs.j])] = False
    return PromptGroup(
        prompts=len(panel.sizes),
        pairs=len(matched.pairs.prompt),
        candidates_in_no_pair=int(in_no_pair.sum()),
        strategies=rows,
    )


def _scored(table: score_table.ScoreTable, matched: MatchedVerdicts, asking: Asking) -> Iterator[_AskingColumn]:
    panel, spent = matched.panel, scoring_usage(table, matched.panel)
    yield _AskingColumn("pointwise", panel.scores, spent)
    yield _AskingColumn("quantised", quantised(panel.scores, asking.bins, asking.low, asking.high), spent)


def _partial(
    table: score_table.ScoreTable, matched: MatchedVerdicts, asking: Asking, seed: int
) -> Iterator[_AskingColumn]:
    del seed  # nothing is drawn here
    yield from _scored(table, matched, asking)
    everything = np.ones(len(matched.pairs.prompt), dtype=bool)
    yield _borda(matched, "partial", everything, matched.orders)


def _full(
    table: score_table.ScoreTable, matched: MatchedVerdicts, asking: Asking, seed: int
) -> Iterator[_AskingColumn]:
    yield from _scored(table, matched, asking)
    panel = matched.panel
    everything = np.ones(len(matched.pairs.prompt), dtype=bool)
    edges = panel.sizes if asking.edges is None else np.full(len(panel.sizes), asking.edges)
    # A draw of all pairs would be the row above once more.
    chosen = connected_edges(matched.pairs, edges, seed)
    named: list[tuple[Way, Way, np.ndarray]] = [("pairwise", "pairwise_one_order", everything)]
    if not chosen.all():
        named.append(("sparse", "sparse_one_order", chosen))
    for name, in_one_order, kept in named:
        yield _borda(matched, name, kept, matched.orders)
        if matched.orders == 2:
            yield _borda(matched, in_one_order, kept, 1)
    yield _tie_break(table, matched)


def _borda(matched: MatchedVerdicts, name: Way, kept: np.ndarray, orders: int) -> _AskingColumn:
    values = matched.both if orders == matched.orders else matched.one
    pairs = matched.pairs.some(kept)
    return _AskingColumn(name, borda(pairs, values[kept], len(matched.panel.scores)), _spent(matched, kept, orders))


def _tie_break(table: score_table.ScoreTable, matched: MatchedVerdicts) -> _AskingColumn:
    panel, pairs = matched.panel, matched.pairs
    scores = tie_broken(panel.scores, panel.sizes, pairs, matched.both)
    first = scoring_usage(table, panel)
    more = _spent(matched, between_top(panel.scores, panel.sizes, pairs), matched.orders)
    tokens = None if first.tokens is None or more.tokens is None else first.tokens + more.tokens
    why = first.no_tokens or more.no_tokens
    return _AskingColumn("tie_break", scores, ScoringUsage(first.answers + more.answers, tokens, why))


def _spent(matched: MatchedVerdicts, kept: np.ndarray, orders: int) -> ScoringUsage:
    n, pairs = len(matched.panel.sizes), matched.pairs.some(kept)
    answers = np.bincount(pairs.prompt, minlength=n).astype(np.float64) * orders
    tokens = matched.tokens[kept]
    if np.isnan(matched.tokens).any():
        return ScoringUsage(answers, None, _UNTOLD)
    if orders < matched.orders:
        return ScoringUsage(answers, None, _TOGETHER)
    return ScoringUsage(answers, added_up(pairs.prompt, tokens, n))


@dataclass(frozen=True, eq=False)
class ScoringUsage:
    """Answers and tokens behind the scores of a panel."""

    answers: Floats = field(repr=False)
    """One a score; where scores are means of draws, as many as were averaged."""
    tokens: Floats | None = field(repr=False)
    no_tokens: str = ""
    """Why they are unknown."""


def scoring_usage(table: score_table.ScoreTable, panel: Panel) -> ScoringUsage:
    """Count what the scores of a panel took."""
    frame = table.frame
    position = panel.prompt_ids.get_indexer(table.prompts)[frame["prompt_id"].cat.codes.to_numpy()]
    used = np.zeros(len(table.candidates), dtype=bool)
    used[table.candidates.get_indexer(panel.candidates[np.unique(panel.names)])] = True
    mine = (
        (position >= 0) & (frame["judge"] == panel.judge).to_numpy() & used[frame["candidate"].cat.codes.to_numpy()]
    )
    n, owner = len(panel.sizes), position[mine]
    answers = added_up(owner, _answers(table)[mine], n)
    columns = _columns(table)
    if not columns:
        return ScoringUsage(answers, None, f"{table.source} has no column tokens; bonwise judge --tokens writes one")
    rows = frame[mine]
    tokens = np.sum([numbers.parse_numbers(rows[name], role=name, source=table.source) for name in columns], axis=0)
    if np.isnan(tokens).any():
        return ScoringUsage(answers, None, f"{table.source} does not say the tokens of every score")
    return ScoringUsage(answers, added_up(owner, tokens, n))


def added_up(owner: Ints, values: Floats, prompts: int) -> Floats:
    """Add values up by prompt."""
    return np.bincount(owner, weights=values, minlength=prompts).astype(np.float64)


def _answers(table: score_table.ScoreTable) -> Floats:
    scored = table.frame["judge_score"].notna().to_numpy().astype(np.float64)
    if table.draws == 1 or "draw" in table.frame.columns:
        return scored
    drawn: Floats = (
        table.frame[list(cells.draw_columns(table.frame.columns))].notna().sum(axis=1).to_numpy(np.float64)
    )
    return drawn


def _columns(table: score_table.ScoreTable) -> tuple[str, ...]:
    if "tokens" in table.frame.columns:
        return ("tokens",)
    both = ("input_tokens", "output_tokens")
    return both if set(both) <= set(table.frame.columns) else ()
