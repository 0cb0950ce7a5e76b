"""Which prompts carry labels, with which probability: weights, strata and folds for the estimators."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import UsageError

_HEAVIEST = 5


@dataclass(frozen=True, eq=False)
class LabelSample:
    """A random sample of prompts whose candidates were labelled."""

    labelled: Mask
    """R: whether a prompt is labelled."""
    propensity: Floats
    """pi: probability with which it came to be labelled, in (0, 1]; NaN may stand where R is 0."""
    strata: Ints | None
    """h: within a stratum all prompts were drawn alike, a fixed number of them without replacement. None where
    prompts were drawn independently of each other, each with its own propensity.
    """
    borrowed: int = 0
    """Prompts of strata in which nothing was labelled: those of the next stratum stand for them."""

    @classmethod
    def uniform(cls, labelled: Mask) -> LabelSample:
        """Return the sample in which every prompt was as likely as any other."""
        prompts = len(labelled)
        share = labelled.sum() / prompts
        return cls(labelled, np.full(prompts, share), np.zeros(prompts, dtype=np.int64))

    @classmethod
    def realised(cls, labelled: Mask, strata: Ints) -> LabelSample:
        """Return the sample with ``pi_h = n_h / N_h``; a stratum without labels joins the next with some."""
        named, owner = np.unique(strata, return_inverse=True)
        filled = np.flatnonzero(np.bincount(owner, weights=labelled))
        if len(filled):
            to = filled[np.searchsorted(filled, np.arange(len(named))).clip(max=len(filled) - 1)]
            joined = to[owner]
        else:
            joined = owner
        share = np.bincount(joined, weights=labelled) / np.maximum(np.bincount(joined), 1)
        return cls(labelled, share[joined], named[joined], int(np.count_nonzero(joined != owner)))

    def keep(self, prompts: Mask) -> LabelSample:
        """Return the sample of some of the prompts, with the shares of its strata that are labelled among them."""
        if self.strata is None:
            return LabelSample(self.labelled[prompts], self.propensity[prompts], None)
        return LabelSample.realised(self.labelled[prompts], self.strata[prompts])

    def grouped(self) -> tuple[Ints, Ints]:
        """Return the stratum of each prompt, from 0 in the order of their numbers, and the labelled prompts of each.

        Prompts that were drawn independently of each other are one stratum. Without any labelled prompt it raises
        UsageError, and for a stratum without labels, which `realised` joins to another, ValueError.
        """
        if not self.labelled.any():
            raise UsageError("no prompt is labelled", hint="label all candidates of some prompts")
        if self.strata is None:
            return np.zeros(len(self.labelled), dtype=np.int64), np.array([self.count])
        owner = np.unique(self.strata, return_inverse=True)[1]
        counts = np.bincount(owner, weights=self.labelled).astype(np.int64)
        if not counts.all():
            raise ValueError("a stratum holds no labelled prompt")
        return owner, counts

    @property
    def count(self) -> int:
        """Number of labelled prompts, m."""
        return int(self.labelled.sum())

    @property
    def weights(self) -> Floats:
        """R / pi of each prompt, 0 where it is unlabelled."""
        return np.divide(1.0, self.propensity, out=np.zeros(len(self.labelled)), where=self.labelled)

    @property
    def equal(self) -> bool:
        """Whether all labelled prompts have the same propensity."""
        mine = self.propensity[self.labelled]
        return bool(np.ptp(mine) <= 1e-12)

    @property
    def ess(self) -> float:
        """Effective number of labelled prompts, ``(sum w)^2 / sum w^2`` with w = R / pi."""
        weights = self.weights
        squares = float(weights @ weights)
        return float(weights.sum() ** 2 / squares) if squares else 0.0

    @property
    def few_carry(self) -> str:
        """Why no interval can rest on the labels: the heaviest five stand for too many; empty where one can."""
        weights = np.sort(self.weights[self.labelled])[::-1]
        share, most = weights[:_HEAVIEST].sum() / weights.sum(), max(0.25, 2.5 * _HEAVIEST / len(weights))
        if share <= most:
            return ""
        return (
            f"{_HEAVIEST} of the {len(weights)} labels stand for {share:.0%} of the prompts, and an interval needs "
            f"that they stand for {most:.0%} at most".replace("%", " %")
        )

    @property
    def unseen(self) -> float:
        """How many times as large the variance of weights was to be expected as it came out, at least 1.

        Of prompts that are drawn independently and seldom, often none is labelled, and the weights look alike. It is
        ``ess / (N^2 / sum 1 / pi)``, the sum over all prompts; 1 of strata, and where only labelled ones have a pi.
        """
        if self.strata is not None or np.isnan(self.propensity).any():
            return 1.0
        return max(1.0, self.ess * float(np.sum(1 / self.propensity)) / len(self.propensity) ** 2)


_Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class ScaledSample:
    """Which prompts are labelled, with weights that add up."""

    rows: Ints = field(repr=False)
    """Positions of the labelled prompts."""
    q: Floats = field(repr=False)
    """R / pi, scaled to add up to N_h in every stratum; 0 where unlabelled."""
    stratum: Ints = field(repr=False)
    """0, 1, ...; all 0 where prompts were drawn independently of each other."""
    drawn: Ints
    """n_h, and n_h / N_h."""
    share: Floats
    """n_h, and n_h / N_h."""

    @classmethod
    def of(cls, sample: LabelSample) -> ScaledSample:
        """Prepare a sample, its weights scaled to their own sum; independent draws form one stratum."""
        stratum, drawn = sample.grouped()
        size = np.bincount(stratum)
        q = sample.weights
        q *= (size / np.bincount(stratum, weights=q))[stratum]
        return cls(np.flatnonzero(sample.labelled), q, stratum, drawn, drawn / size)

    @property
    def weight(self) -> Floats:
        """The weights q of the labelled prompts, shape (labelled prompts,)."""
        return self.q[self.rows]

    @property
    def complete(self) -> bool:
        """Whether every prompt is labelled."""
        return len(self.rows) == len(self.q)

    def mean(self, values: Floats) -> Floats:
        """Return weighted means over the labelled prompts of values, shape (labelled prompts, ...)."""
        weight = self.weight
        found: Floats = weight @ values / weight.sum()
        return found


def fold_of(columns: Floats, rows: Ints, folds: int, seed: int) -> Ints:
    """Assign prompts to folds by a hash of `columns`, (k, prompts), whatever their order; labelled ones evenly."""
    # Rounding drops what the order of a sum leaves in the last bits; adding 0.0 turns -0.0 into 0.0.
    bits = (np.round(columns, 9) + 0.0).view(np.uint64)
    # An odd factor of its own for each column, or two columns that are equal would cancel.
    factors = _mix(np.arange(len(columns), dtype=np.uint64)) | np.uint64(1)
    hashed = _mix(np.bitwise_xor.reduce(bits * factors[:, None], axis=0) ^ np.uint64(seed))
    labelled = np.zeros(len(hashed), dtype=bool)
    labelled[rows] = True
    found = np.empty(len(hashed), dtype=np.int64)
    for some in (rows, np.flatnonzero(~labelled)):
        found[some[np.argsort(hashed[some], kind="stable")]] = np.arange(len(some)) % folds
    return found


def _mix(values: _Bits) -> _Bits:
    """Scramble bits so that near numbers land far apart (the finaliser of splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
