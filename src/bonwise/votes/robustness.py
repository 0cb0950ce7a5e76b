"""Do margins hold: on each prompt, over the votes, with one vote per prompt, and in another file?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import stats

from bonwise.arrays import Floats, Ints
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.stats import confidence
from bonwise.stats.estimand import Estimate
from bonwise.table.votes import VoteTable
from bonwise.votes import concentration, result
from bonwise.votes.detectability import PairResamples

PairsOfVotes = Mapping[tuple[str, str], tuple[Floats, Ints]]
"""Votes and prompts of each pair, in the order of the file."""

_SIZES, _DRAWS, _FEWEST_PAIRS = (3, 5, 10), 500, 5
"""Votes from which on near ties of prompts are counted; draws; pairs below which a correlation says nothing."""


def correlation(both: Floats) -> Floats:
    """Return the correlation of two rows, NaN where one of them does not vary; both of shape (2, ..., pairs)."""
    off = both - both.mean(axis=-1, keepdims=True)
    spread = np.sqrt((off**2).sum(axis=-1).prod(axis=0))
    product, none = (off[0] * off[1]).sum(axis=-1), np.full(spread.shape, np.nan)
    return np.asarray(np.divide(product, spread, out=none, where=spread > 1e-12))


def spearman(both: Floats) -> Floats:
    """Return the correlation of the ranks of two rows; figures that differ by rounding alone share a rank."""
    return correlation(np.asarray(stats.rankdata(np.round(both, 12), axis=-1)))


def margins_by_prompt(
    table: VoteTable, settings: result.VotesSettings
) -> tuple[list[result.NearTiesByVotes], list[result.PromptMargin]]:
    """Return near ties among the prompts of each pair beside those of chance, and the margins of these prompts."""
    if not table.prompts_named:
        raise UsageError("margins by prompt need a column of prompts", hint="name it with --prompt-col")
    pair = np.unique(table.first * len(table.models) + table.second, return_inverse=True)[1]
    key = pair * (int(table.prompt.max()) + 1) + table.prompt
    _, at, cell = np.unique(key, return_index=True, return_inverse=True)
    decides, prompt = (table.preferred != 0.5).astype(np.float64), table.prompt[at]
    votes, decided = np.bincount(cell), np.bincount(cell, weights=decides).astype(np.float64)
    margin = np.bincount(cell, weights=table.preferred) / votes - 0.5
    lean = np.bincount(pair, weights=table.preferred > 0.5) / np.maximum(np.bincount(pair, weights=decides), 1)
    near = (np.abs(margin) <= settings.near_tie + 1e-12).astype(np.float64)
    level, alike = (
        near_by_chance(votes, decided, rate, settings.near_tie) for rate in (np.full(len(at), 0.5), lean[pair[at]])
    )
    rows = []
    for fewest in sorted({*_SIZES, settings.fewest_votes}):
        kept = votes >= fewest
        share = Estimate.undefined("no prompt of a pair has so many votes", 0)
        if kept.any():
            share = confidence.clustered_mean(near[kept], prompt[kept], settings.confidence, share=True)
        rows.append(
            result.NearTiesByVotes(
                fewest=fewest,
                cells=int(kept.sum()),
                near_ties=int(near[kept].sum()),
                share=EstimateRecord.of(share),
                if_level=float(level[kept].sum()),
                if_as_pair=float(alike[kept].sum()),
            )
        )
    names, prompts = table.models, table.prompt_names
    return rows, [
        result.PromptMargin(
            first=names[table.first[row]],
            second=names[table.second[row]],
            prompt=str(prompts[table.prompt[row]]),
            votes=int(votes[each]),
            margin=float(margin[each]),
        )
        for each, row in enumerate(at.tolist())
        if votes[each] >= rows[0].fewest
    ]


def near_by_chance(votes: Ints, decided: Floats, rate: Floats, tau: float) -> Floats:
    """Return how likely each cell is a near tie if votes that are no ties fall to the second model at a rate."""
    middle, reach = decided / 2, tau * votes + 1e-9
    most, least = np.floor(middle + reach), np.ceil(middle - reach)
    return np.asarray(stats.binom.cdf(most, decided, rate) - stats.binom.cdf(least - 1, decided, rate))


def stability(
    pairs: PairsOfVotes, settings: result.VotesSettings
) -> tuple[result.Stability, dict[tuple[str, str], list[float]]]:
    """Compare margins of the first and the last votes with each other and with chance; return them by pair too."""
    k = settings.early_votes
    kept = {names: values for names, (values, _) in pairs.items() if len(values) >= 2 * k}
    parts = ([values[:k], values[-k:], values] for values in kept.values())
    sizes = np.array([[abs(part.mean() - 0.5) for part in of_pair] for of_pair in parts]).reshape(-1, 3).T
    agreed = _over_pairs(settings, sizes[:2], spearman)
    expected = agreed
    if agreed.estimate is not None:
        rng = np.random.default_rng(settings.seed)
        drawn = [rng.choice(values, (_DRAWS, 2, k)).mean(axis=-1).T for values in kept.values()]
        # Of few pairs some draws have margins that are all alike, and no correlation.
        known = spearman(np.abs(np.stack(drawn, axis=-1) - 0.5))
        known = known[np.isfinite(known)] if np.isfinite(known).any() else np.zeros(1)
        around = PairResamples(len(kept), _DRAWS, settings.seed, settings.confidence)
        expected = EstimateRecord.of(around.around(float(known.mean()), known))
    low = None if agreed.estimate is None else expected.low
    study = result.Stability(
        pairs=len(kept),
        early_late=agreed,
        early_all=_over_pairs(settings, sizes[::2], spearman),
        drift=_over_pairs(settings, sizes[:2], lambda some: (some[1] - some[0]).mean(axis=-1)),
        expected=expected,
        stable=None if low is None or agreed.estimate is None else agreed.estimate >= low,
    )
    return study, dict(zip(kept, sizes[:2].T.tolist(), strict=True))


def _over_pairs(
    settings: result.VotesSettings, columns: Floats, statistic: Callable[[Floats], Floats]
) -> EstimateRecord:
    if (count := columns.shape[-1]) < _FEWEST_PAIRS:
        few = f"fewer than {_FEWEST_PAIRS} pairs have {2 * settings.early_votes:,} votes"
        return EstimateRecord.of(Estimate.undefined(few, count))
    over = PairResamples(count, settings.resamples, settings.seed, settings.confidence)
    return EstimateRecord.of(over.estimate(statistic, columns))


def _median(some: Floats) -> Floats:
    return np.asarray(np.median(some, axis=-1))


def prompt_reuse(pairs: PairsOfVotes, settings: result.VotesSettings) -> result.Reuse:
    """Count prompts with one vote of a pair, and compare margins with those of the first vote of each prompt."""
    rows = []
    for values, prompt in pairs.values():
        _, first, votes = np.unique(prompt, return_index=True, return_counts=True)
        change = abs(abs(values[first].mean() - 0.5) - abs(values.mean() - 0.5))
        rows.append((len(votes), (votes == 1).sum(), change))
    prompts, single, changes = np.array(rows, dtype=np.float64).T
    over = PairResamples(len(rows), settings.resamples, settings.seed, settings.confidence)
    return result.Reuse(
        prompts=int(prompts.sum()),
        single=int(single.sum()),
        share=EstimateRecord.of(over.estimate(lambda some: some.mean(axis=-1), single / prompts)),
        change=EstimateRecord.of(over.estimate(_median, changes)),
        most=float(changes.max()),
    )


def against_file(
    here: PairsOfVotes, there: PairsOfVotes, source: str, settings: result.VotesSettings
) -> tuple[result.AgainstFile, dict[tuple[str, str], list[float]]]:
    """Compare how far win rates differ between prompts in two files; return the variance between them by pair too."""
    both = [names for names in here if names in there]
    splits = {names: [concentration.variance_split(*votes[names]) for votes in (here, there)] for names in both}
    known = {
        names: [(part.total, part.within, part.between) for part in two if part] for names, two in splits.items()
    }
    known = {names: parts for names, parts in known.items() if len(parts) == 2}
    if not known:
        raise InputError(
            f"{source}: no pair is in both files with two prompts that have two votes in each. With one vote per "
            "prompt the variance between prompts holds all that chance does, so it is not compared",
            hint="collect a second vote on some prompts; models are compared by their names",
        )
    values = np.array(list(known.values()), dtype=np.float64).T
    over = PairResamples(len(known), settings.resamples, settings.seed, settings.confidence)
    here_parts, there_parts = (
        result.VarianceParts(
            **{
                part: EstimateRecord.of(over.estimate(_median, row))
                for part, row in zip(("total", "within", "between"), values[:, side], strict=True)
            }
        )
        for side in (0, 1)
    )
    ratio = over.estimate(_ratio, values[2])
    if ratio.estimate is None:
        ratio = Estimate.undefined("the other file shows no variance between prompts", len(known))
    study = result.AgainstFile(
        pairs=len(known),
        refused=len(both) - len(known),
        here=here_parts,
        there=there_parts,
        ratio=EstimateRecord.of(ratio),
        margins=[abs(float(votes.mean()) - 0.5) for votes, _ in there.values()],
    )
    return study, dict(zip(known, values[2].T.tolist(), strict=True))


def _ratio(both: Floats) -> Floats:
    here, there = both.mean(axis=-1)
    return np.asarray(np.divide(here, there, out=np.full(np.shape(there), np.nan), where=there > 0))
