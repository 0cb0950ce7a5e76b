"""A fitted stack: scores of judges on one scale in, how good each candidate is and which is the best out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from bonwise.arrays import Floats, Ints, Mask
from bonwise.results import Count, NonNegative, Number, Positive, Record
from bonwise.stats.sums import compared

FeatureKind = Literal["score", "spread", "width", "length"]
"""A judge's score, the standard deviation of its draws, the width of its stated interval; the length of the text."""

_LEAST_VARIANCE = 1e-3
"""Added to the variances of features that others are predicted from: of two that agree fully, neither is inverted."""

_Numbers = Annotated[list[Number], Field(min_length=1)]


class StackFeature(NamedTuple):
    """What a column of features is: of which judge, and what of it. A length is of no judge."""

    judge: str
    kind: FeatureKind

    def __str__(self) -> str:
        if self.kind == "score":
            return self.judge
        return f"{self.kind} of {self.judge}" if self.judge else self.kind


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """How features of the candidates of one prompt are put on one scale."""

    features: tuple[StackFeature, ...]
    scales: Floats = field(repr=False)
    """Root mean square difference of two candidates of a prompt that differ, divided by the square root of 2; 0 where
    candidates never differ.
    """
    covariance: Floats = field(repr=False)
    """Of the features on that scale, within prompts."""

    @classmethod
    def of(cls, features: tuple[StackFeature, ...], values: Floats, sizes: Ints) -> FeatureScaling:
        """Measure scales and covariance, labels aside; `values` is (cells, features), by prompt, perhaps NaN."""
        scales = np.array([_scale(column, sizes) for column in values.T])
        scaled = _centred(values, sizes) / np.where(scales > 0, scales, 1.0)
        known = ~np.isnan(scaled)
        zeros = np.where(known, scaled, 0.0)
        both = np.maximum(known.T.astype(float) @ known.astype(float), 1.0)
        return cls(features, scales, _semidefinite(zeros.T @ zeros / both))

    def standardised(self, values: Floats, sizes: Ints | None = None) -> Floats:
        """Return features centred within prompts and scaled; a gap, or one of a lone candidate, is as expected."""
        scaled: Floats
        if sizes is None and len(values) > 1 and not np.isnan(values).any():
            scaled = (values - values.mean(axis=0)) / self._divisors
            return scaled
        scaled = _centred(values, np.array([len(values)]) if sizes is None else sizes) / self._divisors
        return self._filled(scaled)

    @cached_property
    def _divisors(self) -> Floats:
        return np.where(self.scales > 0, self.scales, 1.0)

    def _filled(self, scaled: Floats) -> Floats:
        gaps = np.isnan(scaled)
        if not gaps.any():
            return scaled
        out = np.where(gaps, 0.0, scaled)
        patterns, which = np.unique(gaps, axis=0, return_inverse=True)
        for number, lacking in enumerate(patterns):
            if not lacking.any() or lacking.all():
                continue
            rows, there = np.flatnonzero(which.reshape(-1) == number), ~lacking
            of_those = self.covariance[np.ix_(there, there)] + _LEAST_VARIANCE * np.eye(int(there.sum()))
            weights = np.linalg.solve(of_those, self.covariance[np.ix_(there, lacking)])
            out[np.ix_(rows, lacking)] = out[np.ix_(rows, there)] @ weights
        return out


def _centred(values: Floats, sizes: Ints) -> Floats:
    """Return the values less the mean of their prompt, NaN where a prompt has fewer than two."""
    starts = np.cumsum(sizes) - sizes
    known = ~np.isnan(values)
    counts = np.add.reduceat(known, starts, axis=0, dtype=np.float64)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts, axis=0)
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 1)
    centred: Floats = values - np.repeat(means, sizes, axis=0)
    return centred


def _scale(column: Floats, sizes: Ints) -> float:
    """Return the root mean square difference of pairs that differ, divided by the square root of 2."""
    known = ~np.isnan(column)
    owner = np.repeat(np.arange(len(sizes)), sizes)[known]
    values = compared(column[known])
    counts = np.bincount(owner, minlength=len(sizes)).astype(np.float64)
    middle = np.divide(
        np.bincount(owner, weights=values, minlength=len(sizes)), counts, out=np.zeros(len(sizes)), where=counts > 0
    )
    squares = float((np.bincount(owner, weights=(values - middle[owner]) ** 2, minlength=len(sizes)) * counts).sum())
    order = np.lexsort((values, owner))
    same = (np.diff(owner[order], prepend=-1) == 0) & (np.diff(values[order], prepend=np.inf) == 0)
    runs = np.diff(np.flatnonzero(np.append(~same, True))).astype(np.float64)
    apart = float((counts * (counts - 1) / 2).sum() - (runs * (runs - 1) / 2).sum())
    return float(np.sqrt(squares / apart / 2)) if apart > 0 else 0.0


def _semidefinite(matrix: Floats) -> Floats:
    # Moments over different cells need not make a covariance; the nearest one has no negative eigenvalue.
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    nearest: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return nearest


DRAWS = 200
"""Draws of the coefficients behind chances."""


class FeatureRecord(Record):
    """A column of features."""

    judge: str
    """Empty for a length, which is of no judge."""
    kind: FeatureKind
    """The score, the standard deviation of the draws, the width of the stated interval, or the logarithm of the
    length of the text.
    """
    scale: NonNegative
    """What differences within a prompt are divided by, in the unit of the feature."""
    coefficient: Number
    """Weight of the feature on that scale."""


class JudgeStack(Record):
    """A fitted stack.

    Notes
    -----
    Weights of several judges, as they were fitted to labelled candidates. The utility of candidate i is
    ``u_i = x_i' b`` with features x, see `FeatureScaling`. It is on the scale of a logit, and compares candidates of
    one prompt only. With draws b_s of the coefficients and the temperature t::

        P(i is best) = mean_s exp(x_i' b_s / t) / sum_k exp(x_k' b_s / t)

    The quality of a candidate is its utility and a Gumbel error that no judge sees, so that the regret to be expected
    of picking i is ``unit * mean_s (log sum_k exp(x_k' b_s / t) - x_i' b_s / t)``.
    """

    features: Annotated[list[FeatureRecord], Field(min_length=1)]
    covariance: Annotated[list[_Numbers], Field(min_length=1)]
    """Of the features within prompts, on their scales: what gaps are filled by."""
    coefficient_covariance: Annotated[list[_Numbers], Field(min_length=1)]
    """Clustered by prompt."""
    temperature: Positive
    """Utilities are divided by it before they become chances."""
    unit: NonNegative
    """Labels per unit of expected regret."""
    seed: Count
    """Of the draws of the coefficients."""
    fallback: str | None
    """The judge that is taken alone, because cross-validation showed no gain of a stack."""
    digest: str
    """Of all of the above: a changed file is refused."""

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        count = len(self.features)
        for name in ("covariance", "coefficient_covariance"):
            rows = getattr(self, name)
            if len(rows) != count or any(len(row) != count for row in rows):
                raise ValueError(f"{name} is not {count} by {count}, one row a feature")
        columns = [(feature.judge, feature.kind) for feature in self.features]
        if len(set(columns)) < len(columns):
            raise ValueError("a feature occurs twice")
        if not any(feature.kind == "score" for feature in self.features):
            raise ValueError("no feature is the score of a judge")
        if self.digest != _digest(self.to_dict()):
            raise ValueError("the model does not fit its digest: the file was changed after it was written")
        return self

    @classmethod
    def of(
        cls,
        scaling: FeatureScaling,
        coefficients: Floats,
        covariance: Floats,
        *,
        temperature: float = 1.0,
        unit: float = 1.0,
        seed: int = 0,
        fallback: str | None = None,
    ) -> JudgeStack:
        """Return a stack with these coefficients, and their covariance."""
        columns = zip(scaling.features, scaling.scales.tolist(), coefficients.tolist(), strict=True)
        values: dict[str, Any] = {
            "features": [
                FeatureRecord(judge=feature.judge, kind=feature.kind, scale=scale, coefficient=coefficient)
                for feature, scale, coefficient in columns
            ],
            "covariance": scaling.covariance.tolist(),
            "coefficient_covariance": covariance.tolist(),
            "temperature": temperature,
            "unit": unit,
            "seed": seed,
            "fallback": fallback,
        }
        plain = {**values, "features": [feature.to_dict() for feature in values["features"]]}
        return cls(**values, digest=_digest(plain))

    def __hash__(self) -> int:
        return hash(self.digest)

    def to_stack(self) -> JudgeStack:
        """Return itself, as whatever holds a stack returns it."""
        return self

    @cached_property
    def scaling(self) -> FeatureScaling:
        """How features are put on one scale."""
        features = tuple(StackFeature(feature.judge, feature.kind) for feature in self.features)
        scales = np.array([feature.scale for feature in self.features], dtype=np.float64)
        return FeatureScaling(features, scales, np.array(self.covariance, dtype=np.float64))

    @cached_property
    def coefficients(self) -> Floats:
        """Weights of the features."""
        return np.array([feature.coefficient for feature in self.features], dtype=np.float64)

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The judges whose scores it takes."""
        return tuple(feature.judge for feature in self.features if feature.kind == "score")

    def scored(self, values: Floats) -> Mask:
        """Tell which candidates have the score of one judge at least."""
        scores = [at for at, feature in enumerate(self.features) if feature.kind == "score"]
        return np.asarray((~np.isnan(values[:, scores])).any(axis=1))

    def utilities(self, values: Floats, sizes: Ints | None = None) -> Floats:
        """Return each utility of (cells, features), NaN where no judge scored; without `sizes` of one prompt."""
        utilities: Floats = self.scaling.standardised(values, sizes) @ self.coefficients
        return np.where(self.scored(values), utilities, np.nan)

    def p_best(self, values: Floats) -> Floats:
        """Return the chance of each candidate of one prompt to be the best; NaN for one that no judge scored."""
        return self.judged(values)[1]

    def expected_regret(self, values: Floats) -> Floats:
        """Return by how much the label of the best is expected to exceed that of each candidate of one prompt."""
        return self.judged(values)[2]

    def judged(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return utilities, `p_best` and `expected_regret` for one prompt; NaN for whom no judge scored."""
        scored = self.scored(values)
        standardised = self.scaling.standardised(values)
        if scored.all():
            return standardised @ self.coefficients, *self._drawn(standardised)
        beliefs = np.full((3, len(values)), np.nan)
        if scored.any():
            beliefs[0, scored] = standardised[scored] @ self.coefficients
            beliefs[1:, scored] = self._drawn(standardised[scored])
        return beliefs[0], beliefs[1], beliefs[2]

    def _drawn(self, standardised: Floats) -> tuple[Floats, Floats]:
        quality = standardised @ self._draws
        top = quality.max(axis=0)
        sums = np.exp(quality - top)
        total = sums.sum(axis=0)
        regret = (top + np.log(total) - quality).mean(axis=1)
        return (sums / total).mean(axis=1), self.unit * regret

    @cached_property
    def _draws(self) -> Floats:
        """Coefficients divided by the temperature, shape (features, draws): each draw and its mirror image."""
        rng = np.random.default_rng(self.seed)
        covariance = np.array(self.coefficient_covariance, dtype=np.float64)
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        noise = root @ rng.standard_normal((len(self.coefficients), DRAWS // 2))
        both = np.concatenate([noise, -noise], axis=1)
        drawn: Floats = (self.coefficients[:, None] + both) / self.temperature
        return drawn


def _digest(values: dict[str, Any]) -> str:
    digested = {key: value for key, value in values.items() if key != "digest"}
    # A whole number and the float that equals it are one number, whichever way a reader writes it.
    text = json.dumps(_plain(digested), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_plain(held) for held in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
