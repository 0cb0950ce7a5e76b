"""The votes of a preference evaluation: pair by pair, and quantiles, rates and medians over pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.release import release
from bonwise.stats.estimand import Estimate
from bonwise.table.vote_rows import check_verdict_map
from bonwise.table.votes import TIES, Ties, VoteTable
from bonwise.votes import pair_votes, result, robustness
from bonwise.votes.detectability import PairResamples, ZLaw, margin_quantiles, z_law, z_quantiles
from bonwise.votes.next_votes import next_votes
from bonwise.votes.ranking import rank_models

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource

QUANTILES = (0.1, 0.25, 0.5)
"""Of the absolute margins: the lower tail decides how many votes are enough."""

_WAYS: tuple[result.DrawnHow, ...] = ("with_replacement", "without_replacement")


@dataclass(frozen=True, slots=True)
class OverPairs:
    """Figures over pairs, each with an interval from the same resampled pairs."""

    pairs: Sequence[pair_votes.StudiedPair]
    settings: result.VotesSettings

    @property
    def _resamples(self) -> PairResamples:
        return PairResamples(len(self.pairs), self.settings.resamples, self.settings.seed, self.settings.confidence)

    @property
    def _margins(self) -> Floats:
        """Margins of the pairs, P(second preferred) - 1/2."""
        return np.array([pair.votes.margin for pair in self.pairs])

    def margins(self) -> Iterator[result.MarginQuantile]:
        """Return quantiles of the absolute margins."""
        return _quantiles(self._margins, self._resamples, self.settings.power)

    def near_ties(self) -> result.NearTies:
        """Count the pairs with a margin of at most tau."""
        return near_ties(self._margins, self.settings.near_tie, self.settings.power, self._resamples)

    def ties(self) -> result.TieRates:
        """Return the tie rates, and how they go with margins."""
        rates = np.array([pair.votes.tie_rate for pair in self.pairs])
        decisive = np.abs([pair.decisive for pair in self.pairs])
        both = np.array([rates, decisive])[:, np.isfinite(decisive)]
        # With the margin among votes that are no ties, so that no way of counting them makes the correlation.
        correlated = _narrowed(self._resamples, both.shape[1]).estimate(robustness.correlation, both)
        return result.TieRates(
            median=EstimateRecord.of(self._resamples.estimate(_median, rates)),
            p90=EstimateRecord.of(self._resamples.estimate(lambda some: np.quantile(some, 0.9, axis=-1), rates)),
            correlation_with_margin=EstimateRecord.of(correlated),
        )

    def cluster_ratio(self) -> result.RatioOverPairs:
        """Return what clustering does to standard errors."""
        ratios = [pair.votes.cluster_ratio.estimate for pair in self.pairs]
        known = np.array([ratio for ratio in ratios if ratio is not None])
        median = EstimateRecord.of(_narrowed(self._resamples, len(known)).estimate(_median, known))
        if not len(known):
            return result.RatioOverPairs(median=median, pairs=0)
        return result.RatioOverPairs(
            median=median,
            pairs=len(known),
            least=float(known.min()),
            most=float(known.max()),
            design_effect=float(np.median(known) ** 2),
            single_vote_prompts_only=all(pair.several == 0 for pair in self.pairs),
        )

    def variance(self) -> result.VarianceOverPairs:
        """Return the medians over pairs of the unbiased split, and of the published one."""
        splits = [pair.votes.variance for pair in self.pairs if pair.votes.variance.reason is None]
        if not splits:
            # Every pair says why; one reason stands for all.
            return result.VarianceOverPairs(pairs=0, reason=self.pairs[0].votes.variance.reason)
        among = _narrowed(self._resamples, len(splits))

        def median(part: str) -> EstimateRecord:
            return EstimateRecord.of(among.estimate(_median, np.array([getattr(split, part) for split in splits])))

        return result.VarianceOverPairs(
            pairs=len(splits),
            total=median("total"),
            within=median("within"),
            between=median("between"),
            published=result.VarianceParts(
                total=median("published_total"),
                within=median("published_within"),
                between=median("published_between"),
            ),
        )

    def z(self) -> Iterator[result.ZOverPairs]:
        """Yield z of all subsamples, by their size and how they are drawn."""
        for votes in self.settings.z_at:
            for way in _WAYS:
                replace = way == "with_replacement"
                laws = [law for pair in self.pairs if (law := z_law(pair.pool, votes, replace=replace)) is not None]
                if laws:
                    yield _z_of(laws, votes, way, _narrowed(self._resamples, len(laws)))
                else:
                    yield result.ZOverPairs(votes=votes, drawn=way, pairs=0)

    def detection(self) -> Iterator[result.DetectionOverPairs]:
        """Yield how often subsamples show the preference of their pair."""
        for votes in self.settings.votes_at:
            for way in _WAYS:
                of_pairs = [pair.votes.detection[way][str(votes)] for pair in self.pairs]
                rates = np.array([rate for rate in of_pairs if rate is not None])
                among = _narrowed(self._resamples, len(rates))
                yield result.DetectionOverPairs(
                    votes=votes,
                    drawn=way,
                    pairs=len(rates),
                    median=EstimateRecord.of(among.estimate(_median, rates)),
                    pairs_with_power=int((rates >= self.settings.power).sum()),
                )

    def concentration(self) -> result.ConcentrationOverPairs:
        """Count the pairs in which few prompts hold most of the preference."""
        tested = [pair.votes for pair in self.pairs if pair.votes.concentration.kappa is not None]
        measured = [votes.concentration for votes in tested]
        # By permutation: the chi-squared law is rough where prompts have few votes.
        heterogeneous = [each.homogeneity for each in measured if each.homogeneity is not None]
        return result.ConcentrationOverPairs(
            pairs=len(tested),
            above_threshold=sum(bool(each.exceeds_threshold) for each in measured),
            above_chance=sum(bool(each.exceeds_chance) for each in measured),
            above_chance_expected=pair_votes.LEVELS[0] * len(tested),
            heterogeneous=sum(test.p_permuted <= pair_votes.LEVELS[0] for test in heterogeneous),
            recommend_two_stage=[
                [votes.first, votes.second] for votes in tested if votes.concentration.recommend_two_stage
            ],
        )


def _quantiles(margins: Floats, resamples: PairResamples, power: float) -> Iterator[result.MarginQuantile]:
    for share, estimate in zip(QUANTILES, margin_quantiles(margins, resamples, QUANTILES), strict=True):
        record = EstimateRecord.of(estimate).to_dict()
        yield result.MarginQuantile(quantile=share, **record, votes_needed=_needed(estimate, power))


def near_ties(margins: Floats, tau: float, power: float, resamples: PairResamples) -> result.NearTies:
    """Count the pairs with ``|delta| <= tau``, and say how large their margins are; `power` is at their median."""
    sizes = np.abs(margins)
    # A margin that is tau but for rounding belongs to the near ties.
    near = sizes <= tau + 1e-12
    median = resamples.estimate(_median_of_known, np.where(near, sizes, np.nan))
    return result.NearTies(
        tau=tau,
        count=int(near.sum()),
        share=EstimateRecord.of(resamples.estimate(lambda some: some.mean(axis=-1), near.astype(np.float64))),
        median=EstimateRecord.of(median),
        votes_needed=_needed(median, power),
    )


def _median_of_known(values: Floats) -> Floats:
    """Return medians along the last axis, NaN left out; NaN where nothing else is there."""
    ordered = np.sort(values, axis=-1)  # NaN comes last
    known = np.isfinite(ordered).sum(axis=-1)
    ends = [np.maximum(at, 0)[..., None] for at in ((known - 1) // 2, known // 2)]
    low, high = (np.take_along_axis(ordered, np.minimum(at, values.shape[-1] - 1), axis=-1)[..., 0] for at in ends)
    return np.where(known > 0, (low + high) / 2, np.nan)


def _needed(margin: Estimate, power: float) -> result.VotesNeeded | None:
    return None if margin.estimate is None else pair_votes.needed((margin.estimate, margin.low, margin.high), power)


def _z_of(laws: list[ZLaw], votes: int, way: result.DrawnHow, among: PairResamples) -> result.ZOverPairs:
    shares = np.array([0.1, 0.5])
    weights = np.array([np.bincount(row, minlength=len(laws)) for row in among.drawn()]) / len(laws)
    values = z_quantiles(laws, shares, np.full(len(laws), 1 / len(laws)))
    drawn = z_quantiles(laws, shares, weights)
    infinite = [float(law.chance[np.isinf(law.z)].sum()) for law in laws]
    return result.ZOverPairs(
        votes=votes,
        drawn=way,
        pairs=len(laws),
        p10=_around(among, float(values[0]), drawn[:, 0]),
        median=_around(among, float(values[1]), drawn[:, 1]),
        infinite_share=float(np.mean(infinite)),
        pairs_with_infinite=sum(chance > 0 for chance in infinite),
    )


def _narrowed(resamples: PairResamples, pairs: int) -> PairResamples:
    """Resample only the pairs that a figure is defined for."""
    return PairResamples(pairs, resamples.resamples, resamples.seed, resamples.confidence)


def _around(among: PairResamples, value: float, drawn: Floats) -> EstimateRecord:
    """Return a quantile of z with its interval; null, and said so, where it is infinite."""
    if not np.isfinite(value):
        return EstimateRecord.of(Estimate.undefined("infinite: so many subsamples agree", among.pairs))
    return EstimateRecord.of(among.around(value, drawn))


def _median(values: Floats) -> Floats:
    return np.asarray(np.median(values, axis=-1))


# The study: votes are read, studied pair by pair, then over the pairs.


_COUNTING: Mapping[Ties | None, str] = {
    None: "no vote is a tie",
    "drop": "ties are left out: the best case, for a tie says nothing for either side",
    "half": "a tie counts half a vote for each side",
    "pessimistic": "a tie counts for the second model, against the first",
}


_STRONG = {"A>>B": "three votes in the ranking, as in Arena-Hard's script"}


def studied_votes(
    source: RowSource,
    *,
    verdict_col: str | None,
    pair_col: Sequence[str] | None,
    prompt_col: str | Sequence[str] | None,
    verdict_map: Mapping[str, str] | None,
    ranking: bool,
    against: RowSource | None,
    **asked: Any,
) -> result.PreferenceStudy:
    """Study raw votes, see `bonwise.votes.front.study_preferences`."""
    every = asked["ties"] == "all"
    stated = pair_votes.checked(**(asked | {"ties": "half"} if every else asked))
    verdict = None if verdict_col is None else _named("verdict_col", verdict_col, most=1)[0]
    pair = None if pair_col is None else _named("pair_col", pair_col)
    prompt = None if prompt_col is None else _named("prompt_col", prompt_col)
    columns: dict[str, Any] = {"verdict": verdict, "pair": pair, "prompt": prompt, "verdict_map": verdict_map}
    cast = VoteTable.read(source, **columns, graded=True)
    other = None if against is None else VoteTable.read(against, **columns, graded=True)
    if stated["ties"] is None and cast.ties.any():
        stated["ties"] = "half"
    settings = result.VotesSettings(
        **stated,
        verdict_col=",".join(cast.columns.verdicts),
        pair_col=list(cast.columns.pair),
        prompt_col=list(cast.columns.prompt),
        counting=_COUNTING[stated["ties"]],
        first="alphabetically first of the two names",
        source=cast.source,
        version=release(),
        readings={**cast.readings, **(_STRONG if ranking and cast.graded is not None else {})},
        verdict_map=None if verdict_map is None else dict(check_verdict_map(verdict_map)),
        ranking=ranking,
        against=None if other is None else other.source,
    )
    table, study = cast.under(settings.ties), _study(cast, settings)
    counted = _named_pairs(table, settings)
    by_pair: dict[str, Mapping[tuple[str, str], list[float]]] = {}
    more: dict[str, Any] = {}
    more["stability"], by_pair["early_late"] = robustness.stability(counted, settings)
    if table.prompts_named:
        more["reuse"] = robustness.prompt_reuse(counted, settings)
    if ranking:
        more["ranking"] = rank_models(table, settings.ties, settings.confidence)
    if settings.by == "prompt":
        more["by_prompt"], more["prompt_margins"] = robustness.margins_by_prompt(table, settings)
    if other is not None:
        there = _named_pairs(other.under(settings.ties or ("half" if other.ties.any() else None)), settings)
        more["against"], by_pair["between"] = robustness.against_file(counted, there, other.source, settings)
    if every:
        more["encodings"] = [_encoding(cast, settings.model_copy(update={"ties": ties})) for ties in TIES]
    if settings.next is not None:
        more["next_votes"] = next_votes(cast, table, settings)
    more["pairs"] = [
        pair.model_copy(update={key: found[names] for key, found in by_pair.items() if names in found})
        for pair in study.pairs
        for names in [(pair.first, pair.second)]
    ]
    return study.model_copy(update=more)


def _named_pairs(table: VoteTable, settings: result.VotesSettings) -> dict[tuple[str, str], tuple[Floats, Ints]]:
    """Return the votes and prompts of every pair with votes enough, in the order of the file."""
    return {
        (table.models[key[0]], table.models[key[1]]): (table.preferred[rows], table.prompt[rows])
        for key, rows in _by_pair(table).items()
        if len(rows) >= settings.fewest_votes
    }


def _encoding(cast: VoteTable, settings: result.VotesSettings) -> result.Encoding:
    """Return the margins over pairs with ties counted in one way."""
    pairs = _named_pairs(cast.under(settings.ties), settings).values()
    margins = np.array([float(values.mean()) - 0.5 for values, _ in pairs])
    resamples = PairResamples(len(margins), settings.resamples, settings.seed, settings.confidence)
    return result.Encoding(
        ties=settings.ties or "half",
        pairs=len(margins),
        margins=list(_quantiles(margins, resamples, settings.power)),
        near_ties=near_ties(margins, settings.near_tie, settings.power, resamples),
    )


def _named(argument: str, given: str | Sequence[str], *, most: int | None = None) -> list[str]:
    """Return the columns that an argument names."""
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else [given]
    if not all(isinstance(name, str) for name in names) or (most is not None and len(names) != most):
        what = "the name of a column" if most == 1 else "names of columns"
        raise UsageError(f"{argument} is {what}, not {given!r}", hint="such as prompt_col=['question_id']")
    return names


def _study(cast: VoteTable, settings: result.VotesSettings) -> result.PreferenceStudy:
    table = cast.under(settings.ties)
    pairs, few = _pairs(cast, table, settings)
    if not pairs:
        raise InputError(
            f"{table.source}: no pair has {settings.fewest_votes:,} votes that count",
            hint="lower --fewest-votes, or name the columns of the models with --pair-col",
        )
    votes, over = [pair.votes for pair in pairs], OverPairs(pairs, settings)
    dropped = dict(table.dropped)
    if few[0]:
        dropped[f"pair with fewer than {settings.fewest_votes:,} votes"] = few[1]
    kept = {(pair.first, pair.second) for pair in votes}
    data = result.VotesData(
        rows=len(cast.preferred) + sum(cast.dropped.values()),
        votes=sum(pair.votes for pair in votes),
        ties=sum(pair.ties for pair in votes),
        pairs=len(votes),
        pairs_left_out=few[0],
        models=len({name for names in kept for name in names}),
        prompts=_distinct_prompts(table, kept) if table.prompts_named else None,
        dropped=dropped,
    )
    return result.PreferenceStudy(
        data=data,
        settings=settings,
        margins=list(over.margins()),
        near_ties=over.near_ties(),
        ties=over.ties(),
        cluster_ratio=over.cluster_ratio(),
        variance=over.variance(),
        z=list(over.z()),
        detection=list(over.detection()),
        concentration=over.concentration(),
        pairs=votes,
    )


def _pairs(
    cast: VoteTable, table: VoteTable, settings: result.VotesSettings
) -> tuple[list[pair_votes.StudiedPair], tuple[int, int]]:
    """Study every pair with votes enough; count the other pairs and their votes."""
    of_cast, of_table = (_by_pair(votes) for votes in (cast, table))
    pairs, few = [], [0, 0]
    for key, every in of_cast.items():
        counted = of_table.get(key, np.empty(0, dtype=np.int64))
        if len(counted) < settings.fewest_votes:
            few = [few[0] + 1, few[1] + len(counted)]
            continue
        names = table.models[key[0]], table.models[key[1]]
        values, prompt = table.preferred[counted], table.prompt[counted]
        pairs.append(
            pair_votes.study_pair(names, values, prompt, cast.preferred[every], settings, named=table.prompts_named)
        )
    return pairs, (few[0], few[1])


def _by_pair(table: VoteTable) -> dict[tuple[int, int], np.ndarray]:
    """Return the votes of each pair, pairs in alphabetical order."""
    key = table.first * len(table.models) + table.second
    order = np.argsort(key, kind="stable")
    keys, starts = np.unique(key[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {divmod(int(pair), len(table.models)): part for pair, part in zip(keys, parts, strict=True)}


def _distinct_prompts(table: VoteTable, kept: set[tuple[str, str]]) -> int:
    names = table.models
    studied = [(names[a], names[b]) in kept for a, b in zip(table.first, table.second, strict=True)]
    return len(np.unique(table.prompt[studied]))
