"""What scores say of every prompt before anything is labelled: the covariates of models of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.estimand import OutcomeWeights
from bonwise.stats.sums import Sums, by_rank, prompt_sums
from bonwise.stats.top_of_scores import top_of_scores

OUTCOMES = OutcomeWeights._fields
"""R, Y1 = J - R, Y2 = M - R, same_top and hit of a prompt: every estimate is made from their means."""


_FURTHER = ("further_pick", "further_best", "further_spread", "further_mean")
_OWN = {"random": "further_mean", "top1": "further_top1", "hit": "further_hit"}
_JUDGE = (
    "score_top",
    "score_mean",
    "score_spread",
    "all_tied",
    "top_tied",
    "score_mean_squared",
    "score_spread_by_mean",
    "score_range",
)


@dataclass(frozen=True, eq=False)
class LabelFeatures:
    """Features of all prompts, labelled or not.

    S is the audited judge's score, T the mean score of the further judges, Tbar its mean over a prompt, w a
    candidate's chance to be picked by S (1 / |A| in the set A of the highest scores, ties after rounding).
    """

    judge: Floats = field(repr=False)
    """Of the audited judge: highest score, mean, standard deviation (ddof 0), whether all candidates tie, whether the
    top is tied, squared mean, spread times mean, range.
    """
    all_tied: Mask = field(repr=False)
    """Whether the audited judge ties all candidates, so that its pick is the random pick."""
    sizes: Ints = field(repr=False)
    """Candidates K of a prompt."""
    stand_ins: Floats | None = field(repr=False)
    """What the `OUTCOMES` would be if T were the label: Tbar, p1 = sum w T - Tbar, p2 = max T - Tbar, top-1 and hit.
    None where no further judge scored anything.
    """
    spread: Floats | None = field(repr=False)
    """Standard deviation of T over the candidates (ddof 0)."""
    missing: Mask = field(repr=False)
    """Where no further judge scored all candidates: its features of T are the means over the other prompts."""

    @property
    def further(self) -> bool:
        """Whether further judges scored at least one prompt."""
        return self.stand_ins is not None

    @property
    def imputed(self) -> int:
        """Number of prompts whose features of the further judges are means over the other prompts."""
        return int(self.missing.sum()) if self.further else 0

    def alone(self) -> LabelFeatures:
        """Return the features of the audited judge alone."""
        return LabelFeatures(self.judge, self.all_tied, self.sizes, None, None, np.ones_like(self.missing))

    def known(self) -> Floats:
        """Return known `OUTCOMES`, (prompts, 5), else NaN: where all tie gain is 0, top-1 accuracy 1 / K."""
        found = np.full((len(self.sizes), len(OUTCOMES)), np.nan)
        found[self.all_tied, 1] = 0.0
        found[self.all_tied, 3] = 1 / self.sizes[self.all_tied]
        return found

    def names(self, outcome: str, *, brief: bool) -> tuple[str, ...]:
        """Return the names of the covariates for the model of an outcome; see `covariates`."""
        if not self.further:
            return _JUDGE
        own = (_OWN[outcome],) if outcome in _OWN else ()
        imputed = ("further_missing",) if self.imputed else ()
        if brief:
            return (*_FURTHER[:3], *own, *imputed)
        return (*_FURTHER, *(name for name in own if name not in _FURTHER), *imputed, *_JUDGE)

    def columns(self, outcome: str, *, brief: bool) -> list[Floats]:
        """Return the covariates for the model of an outcome, each of shape (prompts,); see `covariates`."""
        known = dict(zip(_JUDGE, self.judge.T, strict=True))
        if self.stand_ins is not None and self.spread is not None:
            level, pick, best, top1, hit = self.stand_ins.T
            known |= {"further_pick": pick, "further_best": best, "further_spread": self.spread}
            known |= {"further_mean": level, "further_top1": top1, "further_hit": hit}
            known["further_missing"] = self.missing.astype(float)
        return [known[name] for name in self.names(outcome, brief=brief)]

    def covariates(self, outcome: str, *, brief: bool) -> tuple[tuple[str, ...], Floats]:
        """Return names and columns, shape (prompts, covariates), for the model of an outcome, one of `OUTCOMES`.

        If `brief`, p1, p2, sd T and the outcome's stand-in only, else Tbar and the audited judge's features too;
        without further judges the latter alone. Where prompts lack T, a column says which.
        """
        return self.names(outcome, brief=brief), np.column_stack(self.columns(outcome, brief=brief))

    def identity(self) -> list[Floats]:
        """Return the numbers that distinguish a prompt from others, each of shape (prompts,)."""
        found = [*self.judge.T, self.sizes.astype(float)]
        if self.stand_ins is not None and self.spread is not None:
            found += [*self.stand_ins.T, self.spread, self.missing.astype(float)]
        return found


def outcomes(sums: Floats) -> Floats:
    """Return the `OUTCOMES` of prompts from their sums, shape (prompts, 5)."""
    s = Sums(*sums)
    return np.column_stack((s.R, s.J - s.R, s.M - s.R, s.same_top, s.hit))


def label_features(
    scores: Floats, sizes: Ints, others: Sequence[Floats] = (), ranked: Floats | None = None
) -> LabelFeatures:
    """Compute the features of every prompt, T over judges that scored all its candidates: alike for all."""
    scores, sizes = np.asarray(scores, dtype=float), np.asarray(sizes, dtype=np.int64)
    ranked = by_rank(scores) if ranked is None else ranked
    judge, all_tied = _judge_features(scores, sizes, ranked)
    T, scored = mean_of_judges(others, sizes)
    if not scored.any():
        return LabelFeatures(judge, all_tied, sizes, None, None, ~scored)
    cells = np.repeat(scored, sizes)
    sums = prompt_sums(scores[cells], T[cells], sizes[scored], ranked[cells])
    found = Sums(*sums)
    stand_ins, spread = outcomes(sums), np.sqrt(found.all_eOO / found.all_cells)
    return LabelFeatures(
        judge, all_tied, sizes, _mean_elsewhere(stand_ins, scored), _mean_elsewhere(spread, scored), ~scored
    )


def _judge_features(scores: Floats, sizes: Ints, ranked: Floats) -> tuple[Floats, Mask]:
    found = top_of_scores(scores, sizes, ranked)
    lowest = np.fmin.reduceat(scores, np.cumsum(sizes) - sizes)
    lowest = np.where(np.isnan(lowest), found.top, lowest)
    all_tied = found.tied == sizes
    columns = (
        found.top,
        found.mean,
        found.spread,
        all_tied,
        found.tied > 1,
        found.mean**2,
        found.spread * found.mean,
        found.top - lowest,
    )
    return np.column_stack(columns).astype(float), all_tied


def mean_of_judges(others: Sequence[Floats], sizes: Ints) -> tuple[Floats, Mask]:
    """Return the mean T of every cell over judges that scored its whole prompt, else 0, and which prompts have it."""
    total, judges = np.zeros(int(sizes.sum())), np.zeros(len(sizes))
    starts = np.cumsum(sizes) - sizes
    for scores in others:
        whole = np.logical_and.reduceat(np.isfinite(scores), starts)
        total += np.where(np.repeat(whole, sizes), scores, 0.0)
        judges += whole
    return total / np.repeat(np.maximum(judges, 1), sizes), judges > 0


def _mean_elsewhere(values: Floats, scored: Mask) -> Floats:
    """Spread values of the scored prompts over all prompts, their mean where there is none."""
    out = np.empty((len(scored), *values.shape[1:]))
    out[scored] = values
    out[~scored] = values.mean(axis=0)
    return out
