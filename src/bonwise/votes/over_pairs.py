"""What the pairs of a preference evaluation say together: quantiles, rates and medians over pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bonwise.estimates import EstimateRecord
from bonwise.stats.estimate import Estimate
from bonwise.stats.sums import Floats
from bonwise.votes.detectability import PairResamples, ZLaw, margin_quantiles, near_ties, z_law, z_quantiles
from bonwise.votes.pair_votes import LEVELS, PairVotes, VoteStudySettings, needed
from bonwise.votes.result import (
    ConcentrationOverPairs,
    DetectionOverPairs,
    DrawnHow,
    MarginQuantile,
    NearTiesRecord,
    PublishedVariance,
    RatioOverPairs,
    TieRates,
    VarianceOverPairs,
    VotesNeeded,
    VotesOverPairs,
    ZOverPairs,
)

__all__ = ["OverPairs"]

QUANTILES = (0.1, 0.25, 0.5)
"""Of the absolute margins: the lower tail decides how many votes are enough."""

_WAYS: tuple[DrawnHow, ...] = ("with_replacement", "without_replacement")


@dataclass(frozen=True, slots=True)
class OverPairs:
    """Figures over pairs, each with an interval from the same resampled pairs."""

    pairs: tuple[PairVotes, ...]
    settings: VoteStudySettings

    @property
    def margins(self) -> Floats:
        """Margins of the pairs, P(second preferred) - 1/2."""
        return np.array([one.margin for one in self.pairs])

    def record(self) -> VotesOverPairs:
        """Return the parts of the document that are over pairs."""
        resamples = PairResamples(
            len(self.pairs), self.settings.resamples, self.settings.seed, self.settings.confidence
        )
        return VotesOverPairs(
            margins=list(self._margins(resamples)),
            near_ties=self._near_ties(resamples),
            ties=self._ties(resamples),
            cluster_ratio=self._ratios(resamples),
            variance=self._variance(resamples),
            z=list(self._z(resamples)),
            detection=list(self._detection(resamples)),
            concentration=self._concentration(),
        )

    def _margins(self, resamples: PairResamples) -> Iterator[MarginQuantile]:
        found = margin_quantiles(self.margins, resamples, QUANTILES)
        for share, one in zip(QUANTILES, found, strict=True):
            yield MarginQuantile(quantile=share, **EstimateRecord.of(one).to_dict(), votes_needed=self._needed(one))

    def _near_ties(self, resamples: PairResamples) -> NearTiesRecord:
        found = near_ties(self.margins, self.settings.near_tie, resamples)
        return NearTiesRecord(
            tau=self.settings.near_tie,
            count=found.count,
            share=EstimateRecord.of(found.share),
            median=EstimateRecord.of(found.median),
            votes_needed=self._needed(found.median),
        )

    def _needed(self, found: Estimate) -> VotesNeeded | None:
        if found.estimate is None:
            return None
        return needed((found.estimate, found.low, found.high), self.settings.power)

    def _ties(self, resamples: PairResamples) -> TieRates:
        rates = np.array([one.ties / one.cast for one in self.pairs])
        decisive = np.abs([one.decisive for one in self.pairs])
        both = np.array([rates, decisive])[:, np.isfinite(decisive)]
        # With the margin among votes that are no ties, so that no way of counting them makes the correlation.
        correlated = _narrowed(resamples, both.shape[1]).estimate(_correlation, both)
        return TieRates(
            median=EstimateRecord.of(resamples.estimate(_median, rates)),
            p90=EstimateRecord.of(resamples.estimate(lambda some: np.quantile(some, 0.9, axis=-1), rates)),
            correlation_with_margin=EstimateRecord.of(correlated),
        )

    def _ratios(self, resamples: PairResamples) -> RatioOverPairs:
        ratios = np.array([one.ratio for one in self.pairs])
        known = ratios[np.isfinite(ratios)]
        median = EstimateRecord.of(_narrowed(resamples, len(known)).estimate(_median, known))
        if not len(known):
            return RatioOverPairs(median=median, pairs=0)
        return RatioOverPairs(
            median=median,
            pairs=len(known),
            least=float(known.min()),
            most=float(known.max()),
            design_effect=float(np.median(known) ** 2),
            single_vote_prompts_only=all(one.several == 0 for one in self.pairs),
        )

    def _variance(self, resamples: PairResamples) -> VarianceOverPairs:
        """Give the medians over pairs of the unbiased split, and of the published one."""
        splits = [one.variance for one in self.pairs if one.variance is not None]
        if not splits:
            # Every pair says why; one reason stands for all.
            return VarianceOverPairs(pairs=0, reason=self.pairs[0].variance_record().reason)
        among = _narrowed(resamples, len(splits))

        def median(part: str) -> EstimateRecord:
            return EstimateRecord.of(among.estimate(_median, np.array([getattr(one, part) for one in splits])))

        return VarianceOverPairs(
            pairs=len(splits),
            total=median("total"),
            within=median("within"),
            between=median("between"),
            published=PublishedVariance(
                total=median("published_total"),
                within=median("published_within"),
                between=median("published_between"),
            ),
        )

    def _z(self, resamples: PairResamples) -> Iterator[ZOverPairs]:
        for votes in self.settings.z_at:
            for way in _WAYS:
                replace = way == "with_replacement"
                laws = [law for one in self.pairs if (law := z_law(one.pool, votes, replace=replace)) is not None]
                if laws:
                    yield _z_of(laws, votes, way, _narrowed(resamples, len(laws)))
                else:
                    yield ZOverPairs(votes=votes, drawn=way, pairs=0)

    def _detection(self, resamples: PairResamples) -> Iterator[DetectionOverPairs]:
        for votes in self.settings.votes_at:
            for way in _WAYS:
                rates = np.array([rate for one in self.pairs if (rate := one.detection[way][votes]) is not None])
                among = _narrowed(resamples, len(rates))
                yield DetectionOverPairs(
                    votes=votes,
                    drawn=way,
                    pairs=len(rates),
                    median=EstimateRecord.of(among.estimate(_median, rates)),
                    pairs_with_power=int((rates >= self.settings.power).sum()),
                )

    def _concentration(self) -> ConcentrationOverPairs:
        tested = [one for one in self.pairs if one.concentration is not None]
        found = [one.concentration for one in tested if one.concentration is not None]
        return ConcentrationOverPairs(
            pairs=len(tested),
            above_threshold=sum(one.kappa > self.settings.threshold for one in found),
            above_chance=sum(one.kappa > one.null_quantile for one in found),
            above_chance_expected=LEVELS[0] * len(tested),
            # By permutation: the chi-squared law is rough where prompts have few votes.
            heterogeneous=sum(one.homogeneity.p_permuted <= LEVELS[0] for one in found),
            recommend_two_stage=[
                [one.first, one.second]
                for one, its in zip(tested, found, strict=True)
                if its.concentrated(self.settings.threshold)
            ],
        )


def _z_of(laws: list[ZLaw], votes: int, way: DrawnHow, among: PairResamples) -> ZOverPairs:
    shares = np.array([0.1, 0.5])
    weights = np.array([np.bincount(row, minlength=len(laws)) for row in among.drawn()]) / len(laws)
    values = z_quantiles(laws, shares, np.full(len(laws), 1 / len(laws)))
    drawn = z_quantiles(laws, shares, weights)
    infinite = [float(law.chance[np.isinf(law.z)].sum()) for law in laws]
    return ZOverPairs(
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


def _correlation(both: Floats) -> Floats:
    """Return the correlation of two rows, NaN where one of them does not vary; both of shape (2, ..., pairs)."""
    off = both - both.mean(axis=-1, keepdims=True)
    spread = np.sqrt((off**2).sum(axis=-1).prod(axis=0))
    found: Floats = np.divide(
        (off[0] * off[1]).sum(axis=-1), spread, out=np.full(spread.shape, np.nan), where=spread > 1e-12
    )
    return found
