"""Least squares of gaps between models on properties of prompts, from posterior draws of the prompts' factors.

A gap is ``g_p = P_p c``: factors of the prompt, and a contrast of models that all prompts share. The posterior pulls
the factors of every prompt towards the mean of all prompts, because its prior knows of no tags:
``E[P_p] - mu = (I - B_p)(P_p - mu)`` with ``B_p = V_p Omega^-1``, the variance that is left over that of all prompts.
Least squares on posterior means therefore finds gaps between tags that are too small. Here the prior mean of a prompt
is that of its tags, ``G' z_p``, which moves its factors by ``B_p (G' z_p - mu)``; ``G`` solves

    sum_p z_p (P_p + B_p (G' z_p - mu) - G' z_p)' = 0

and the coefficients of the gaps are ``G c``. Their variance is the sandwich of these equations, plus that of what all
prompts share. The sandwich counts both that prompts differ and that their factors are estimated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.arrays import Floats, Ints, Mask

_MOST_SHRUNK = 0.98
"""Of the variance in a direction, the largest share that may be left open; more is taken as this much."""

_ALIGNMENTS = 2


@dataclass(frozen=True, eq=False)
class TagCoefficients:
    """Coefficients with what their covariance is made of."""

    estimate: Floats
    influences: Floats = field(repr=False)
    """How much each prompt adds; their products add up to the variance between prompts."""
    draws: Floats = field(repr=False)
    """Of the posterior."""
    noise: Floats = field(repr=False)
    """Weight of each prompt's factors in each coefficient."""
    spread: Floats = field(repr=False)
    """Variance of the factors of each prompt, all else given."""
    explained: Floats = field(repr=False)
    """Share of the variance of the gaps between prompts, less what as many columns of chance would explain."""

    @property
    def covariance(self) -> Floats:
        """Covariance of the estimates: between prompts, and of what all prompts share."""
        return np.asarray(self.influences.T @ self.influences + self.shared)

    @property
    def shared(self) -> Floats:
        """Covariance of the draws beyond that of single prompts' factors, at least 0."""
        whole = np.atleast_2d(np.cov(self.draws.T))
        single = np.einsum("tpk,pkl,spl->ts", self.noise, self.spread, self.noise)
        values, vectors = np.linalg.eigh(whole - single)
        return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def joined_coefficients(parts: list[TagCoefficients]) -> TagCoefficients:
    """Return the coefficients of several regressions on the same prompts as those of one; nothing is explained."""
    return TagCoefficients(
        np.concatenate([part.estimate for part in parts]),
        np.concatenate([part.influences for part in parts], axis=1),
        np.concatenate([part.draws for part in parts], axis=1),
        np.concatenate([part.noise for part in parts]),
        parts[0].spread,
        np.zeros(len(parts[0].draws)),
    )


@dataclass(frozen=True, eq=False)
class PromptFactors:
    """Draws of the prompts' factors and a contrast of models in coordinates that all draws share; made by `of`."""

    contrast: Floats = field(repr=False)
    prompts: Floats = field(repr=False)
    spread: Floats = field(repr=False)
    """Variance of the factors of each prompt, all else given."""
    shrunk: Floats = field(repr=False)
    """``B_p``: 0 where the factors are known, near the identity where ratings say nothing of them."""
    centre: Floats = field(repr=False)
    """Mean factors of all prompts."""

    @classmethod
    def of(cls, contrast: Floats, prompts: Floats, beyond: Floats | None = None) -> PromptFactors:
        """Return draws, two or more, in common coordinates with what is open of each prompt; `beyond` is extra."""
        contrast, prompts = _aligned(contrast, prompts)
        rank = prompts.shape[2]
        if beyond is not None:
            contrast = np.pad(contrast, ((0, 0), (0, 1)), constant_values=1.0)
            prompts = np.concatenate([prompts, beyond[:, :, None]], axis=2)
        # What all prompts share moves slowly along the chain, and leaves the difference of two neighbours.
        steps = np.diff(prompts, axis=0)
        spread = np.einsum("dpk,dpl->pkl", steps, steps) / (2 * len(steps))
        shrunk = np.zeros_like(spread)
        shrunk[:, :rank, :rank] = _shrunk(spread[:, :rank, :rank], _covariance(prompts[:, :, :rank]))
        return cls(contrast, prompts, spread, shrunk, prompts.mean(axis=1))

    def only(self, rows: Ints) -> PromptFactors:
        """Return some of the prompts; what is open of each still refers to the mean of all."""
        return PromptFactors(self.contrast, self.prompts[:, rows], self.spread[rows], self.shrunk[rows], self.centre)

    @property
    def gaps(self) -> Floats:
        """The gap on each prompt, shape (draws, prompts)."""
        return np.asarray(np.einsum("dk,dpk->dp", self.contrast, self.prompts))

    def regression(self, z: Floats, weight: Mask | None = None) -> TagCoefficients:
        """Return coefficients of the gaps on `z`, (prompts, coefficients), constant first; `weight` marks prompts."""
        count, width = len(z) if weight is None else int(weight.sum()), z.shape[1]
        z = z if weight is None else z * weight[:, None]
        by_skill, freed, inverse = self._by_skill(z)
        kept = np.eye(self.prompts.shape[2]) - self.shrunk
        rows = np.einsum("tksl,k->tsl", inverse, self.contrast.mean(axis=0))
        noise = np.einsum("tsk,ps->tpk", rows, z)
        # Of a prompt without weight the residual is not used: its row of `noise` is 0.
        residual = freed.mean(axis=0) - np.einsum("pkl,ps,sl->pk", kept, z, by_skill.mean(axis=0))
        influences = np.einsum("tpk,pk->pt", noise, residual) * np.sqrt(count / (count - width))
        draws = np.einsum("dtk,dk->dt", by_skill, self.contrast)
        shares = self._explained(z, by_skill, freed, kept, count)
        return TagCoefficients(draws.mean(axis=0), influences, draws, noise, self.spread, shares)

    def around(self, z: Floats) -> PromptFactors:
        """Return the factors with the mean of its columns `z` as the prior mean of each prompt.

        What is left around these means is scaled to the variance of all prompts less that of the means.
        """
        means = np.einsum("ps,dsl->dpl", z, self._by_skill(z)[0])
        moves = np.einsum("pkl,dpl->dpk", self.shrunk, means - self.centre[:, None])
        rest = self.prompts + moves - means
        whole, of_means, left = (_covariance(part) for part in (self.prompts, means, rest))
        turn = _root(left, -0.5) @ _root(whole - of_means, 0.5)
        return replace(self, prompts=means + rest @ turn)

    def _by_skill(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return ``G`` of each draw, ``P_p - B_p mu``, and the inverse by which the first follows from the second."""
        width, rank = z.shape[1], self.prompts.shape[2]
        kept = np.eye(rank) - self.shrunk
        bread = np.einsum("pt,ps,pkl->tksl", z, z, kept).reshape(width * rank, width * rank)
        freed = self.prompts - np.einsum("pkl,dl->dpk", self.shrunk, self.centre)
        right = np.einsum("pt,dpk->dtk", z, freed).reshape(len(freed), -1)
        inverse = np.linalg.inv(bread)
        by_skill = (right @ inverse.T).reshape(-1, width, rank)
        return by_skill, freed, inverse.reshape(width, rank, width, rank)

    def _explained(self, z: Floats, by_skill: Floats, freed: Floats, kept: Floats, count: int) -> Floats:
        """Return the adjusted share of the variance that the columns explain in each draw."""
        fitted = np.einsum("ps,dsk->dpk", z, by_skill)
        rest = np.einsum("dpk,dk->dp", freed - np.einsum("pkl,dpl->dpk", kept, fitted), self.contrast)
        line = np.einsum("dpk,dk->dp", fitted, self.contrast)
        inside = z[:, 0] != 0
        unexplained = rest[:, inside].var(axis=1) / max(count - z.shape[1], 1)
        whole = (line + rest)[:, inside].var(axis=1) / max(count - 1, 1)
        return np.asarray(np.clip(1 - unexplained / np.where(whole > 0, whole, 1.0), 0, 1))


def _aligned(contrast: Floats, prompts: Floats) -> tuple[Floats, Floats]:
    """Turn every draw to the mean of all: signs and order of the skills may change along a chain, gaps do not."""
    target = prompts[-1]
    for _ in range(_ALIGNMENTS):
        left, _, right = np.linalg.svd(np.einsum("dpk,pl->dkl", prompts, target))
        turn = left @ right
        prompts = prompts @ turn
        contrast = np.einsum("dk,dkl->dl", contrast, turn)
        target = prompts.mean(axis=0)
    return contrast, prompts


def _covariance(factors: Floats) -> Floats:
    off = factors - factors.mean(axis=1, keepdims=True)
    return np.asarray(np.einsum("dpk,dpl->kl", off, off) / off[..., 0].size)


def _root(covariance: Floats, power: float) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, max(values[-1], 1e-300) * 1e-12) ** power) @ vectors.T)


def _shrunk(spread: Floats, between: Floats) -> Floats:
    """Return ``V_p Omega^-1``, its eigenvalues at most `_MOST_SHRUNK`."""
    root, back = _root(between, 0.5), _root(between, -0.5)
    shares, along = np.linalg.eigh(back @ spread @ back)
    clipped = (along * np.clip(shares, 0, _MOST_SHRUNK)[:, None, :]) @ along.transpose(0, 2, 1)
    return np.asarray(root @ clipped @ back)
