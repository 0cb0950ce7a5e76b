"""Draws of the factors: from their joint posterior, block by block, and around the fitted stages 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse, special, stats

from bonwise.arrays import Floats, Ints
from bonwise.factors import answer_effects, rating_arrays, stage_one, stage_two
from bonwise.progress import counting
from bonwise.stats.ordinal_ratings import mirrored, score_and_information, slope_and_curvature

_BURN_IN = 150
_SWEEPS = 300
"""Sweeps before any is kept, and after that; every second one is kept."""

_KEEP_EVERY = 2
_HUMAN_VARIANCE = 4.0
"""Of the human's row relative to the judges': people may heed a skill that judges hardly heed."""

_PROMPT_SQUARES = 5.0
"""Added to the squares of prompts' factors about their mean, of which a prompt has about 1. With less, a skill that
judges hardly show ends as one that all prompts ask for alike, and intervals take that as known.
"""

_CUTOFF_PRECISION = 0.01
_FIRST_SD, _FIRST_WEIGHT = 0.1, 0.5
"""Standard deviation of the effects that judges share, before it is drawn, and the human's weight of them."""

_WEIGHT_PRECISION = 4.0
"""Of the human's weight of the effects, about 0."""

_EFFECT_SCALE = 0.1
"""Scale of the half-Cauchy prior of the effects' standard deviation."""

_TRIES = 20
_LONGEST_STEP = 4.0


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Draws of what makes the human's capabilities, ``t[m, p] = sum_k by_model[m, k] by_prompt[p, k]``."""

    by_model: Floats = field(repr=False)
    """The human's row times the models' rows."""
    by_prompt: Floats = field(repr=False)
    """Columns of mean square 1."""
    cutoffs: Floats = field(repr=False)
    """Of the human."""
    heeded: Floats | None = field(default=None, repr=False)
    """What the human heeds of what judges share of the answers, (draws, prompts, models), where that was drawn."""
    effects: answer_effects.AnswerEffects | None = field(default=None, repr=False)
    """What judges share; not in a file."""

    def __len__(self) -> int:
        return len(self.by_model)

    def capabilities(self, prompts: npt.ArrayLike | None = None) -> Floats:
        """Return the human's capabilities, shape (draws, models, prompts)."""
        chosen = self.by_prompt if prompts is None else self.by_prompt[:, np.asarray(prompts)]
        by_skills = np.asarray(np.einsum("dmk,dpk->dmp", self.by_model, chosen))
        if self.heeded is None:
            return by_skills
        heeded = self.heeded if prompts is None else self.heeded[:, np.asarray(prompts)]
        return by_skills + heeded.transpose(0, 2, 1)

    def means(self) -> Floats:
        """Return the human's capabilities on average over prompts, shape (draws, models)."""
        by_skills = (self.by_model @ self.by_prompt.mean(axis=1)[:, :, None])[:, :, 0]
        return np.asarray(by_skills if self.heeded is None else by_skills + self.heeded.mean(axis=1))

    def differences(self, model: int, other: int) -> Floats:
        """Return by how much a model is better than another on each prompt, shape (draws, prompts)."""
        gap = self.by_model[:, model] - self.by_model[:, other]
        by_skills = np.asarray(np.einsum("dk,dpk->dp", gap, self.by_prompt))
        return by_skills if self.heeded is None else by_skills + self.heeded[:, :, model] - self.heeded[:, :, other]

    def widened(self, models: Ints, sd: float, rng: np.random.Generator) -> PosteriorDraws:
        """Add to some models an error that is the same on all prompts, as a last skill: normal scores, shuffled."""
        scores, last = special.ndtri((np.arange(len(self)) + 0.5) / len(self)), ((0, 0), (0, 0), (0, 1))
        by_model = np.pad(self.by_model, last)
        for model in models:
            by_model[:, model, -1] = sd * rng.permutation(scores / scores.std(ddof=1))
        by_prompt = np.pad(self.by_prompt, last, constant_values=1.0)
        return replace(self, by_model=by_model, by_prompt=by_prompt)


def draw_posterior(
    data: rating_arrays.RatingArrays,
    start: stage_one.CapabilityFactors,
    human: tuple[Floats, Floats],
    *,
    seed: int = 0,
) -> PosteriorDraws:
    """Draw from the posterior.

    `data` has the human's ratings too, `start` is of the others, from stage 1; `human` is the weights of the skills,
    (rank,), and the cutoffs, from stage 2. Of `_SWEEPS` after `_BURN_IN` every second is kept.
    """
    shared = answer_effects.shares_effects(data.without_human())
    state = _State.starting(data, start, human, models=data.models if shared else 0)
    sampler = _Sampler(data.counted(), np.random.default_rng(seed), state)
    models, prompts, cutoffs, heeded, effects = [], [], [], [], []
    with counting("interval: sweep", _BURN_IN + _SWEEPS) as step:
        for sweep in range(_BURN_IN + _SWEEPS):
            sampler.sweep()
            step()
            if sweep >= _BURN_IN and (sweep - _BURN_IN) % _KEEP_EVERY == _KEEP_EVERY - 1:
                models.append(state.raters[0] * state.models)
                prompts.append(state.prompts.copy())
                cutoffs.append(state.cutoffs[data.layout.spans[0][0]].copy())
                heeded.append(state.weight * state.effects)
                effects.append((state.sd, state.weight))
    drawn = PosteriorDraws(np.array(models), np.array(prompts), np.array(cutoffs))
    if not shared:
        return drawn
    return replace(drawn, heeded=np.array(heeded), effects=answer_effects.AnswerEffects(*np.array(effects).T))


@dataclass(eq=False, slots=True)
class _State:
    """Where the sampler stands."""

    raters: Floats
    prompts: Floats
    models: Floats
    cutoffs: Floats
    centre: Floats
    spread: Floats
    effects: Floats
    """What judges share of the answers, (prompts, models); without columns where that is not drawn."""
    sd: float = _FIRST_SD
    """Of the effects: `stretch`, with any sign, times another factor. So chains move freely near 0."""
    stretch: float = 1.0
    weight: float = _FIRST_WEIGHT
    """The human's, of the effects."""

    @classmethod
    def starting(
        cls,
        data: rating_arrays.RatingArrays,
        start: stage_one.CapabilityFactors,
        human: tuple[Floats, Floats],
        *,
        models: int,
    ) -> _State:
        weights, cutoffs = human
        prompts = start.prompts.copy()
        rated = np.unique(data.prompt)
        centre = prompts[rated].mean(axis=0)
        spread = np.atleast_2d(np.cov(prompts[rated].T)) + 0.05 * np.eye(prompts.shape[1])
        raters = np.concatenate([weights[None], start.raters])
        joined = np.concatenate([cutoffs, start.cutoffs])
        return cls(raters, prompts, start.models.copy(), joined, centre, spread, np.zeros((len(prompts), models)))


@dataclass(eq=False)
class _Sampler:
    """Moves a state by sweeps."""

    data: rating_arrays.RatingArrays
    rng: np.random.Generator
    state: _State

    def sweep(self) -> None:
        self._draw_prompts()
        self._draw_models()
        self._rescale()
        self._draw_raters()
        self._draw_prior_of_prompts()

    @cached_property
    def _rows_of_rater(self) -> list[slice]:
        # Counted rows are sorted by rater.
        ends = np.searchsorted(self.data.rater, np.arange(self.data.raters + 1))
        return [slice(int(first), int(last)) for first, last in pairwise(ends)]

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints, Ints]:
        """Distinct pairs of model and opponent, and which each row is of."""
        code = self.data.model * (self.data.models + 1) + self.data.opponent + 1
        found, at = np.unique(code, return_inverse=True)
        model, opponent = np.divmod(found, self.data.models + 1)
        return model, opponent - 1, at

    @cached_property
    def _by_pair(self) -> sparse.csr_array:
        model, _, at = self._pairs
        return sparse.csr_array((np.ones(len(at)), (at, np.arange(len(at)))), shape=(len(model), len(at)))

    def _derivatives(self, eta: Floats) -> tuple[Floats, Floats]:
        data = self.data
        upper, lower = data.layout.ends(self.state.cutoffs)
        slope, bend = slope_and_curvature(eta, upper[data.category], lower[data.category])
        return data.weight * slope, data.weight * bend

    @cached_property
    def _sums(self) -> answer_effects.EffectSums:
        return answer_effects.EffectSums(self.data)

    @property
    def _heeded(self) -> Floats:
        """How far each row's rater heeds the effects."""
        return np.where(self.data.human, self.state.weight, 1.0)

    def _offset(self, effects: Floats) -> Floats:
        """Return what the effects add to each row."""
        return self._heeded * self._sums.gaps(effects) if effects.size else np.zeros(len(self.data))

    def _draw_prompts(self) -> None:
        """Draw the factors of each prompt and the effects of its answers together."""
        data, state = self.data, self.state
        z = state.raters[data.rater] * data.differences(state.models)
        k, free = z.shape[1], state.effects.shape[1]
        precision = np.diag(np.full(k + free, state.sd**-2))
        precision[:k, :k] = np.linalg.inv(state.spread)
        centre = np.append(state.centre, np.zeros(free))
        at = np.concatenate([state.prompts, state.effects], axis=1)
        for _ in range(2):
            eta = (z * at[data.prompt, :k]).sum(axis=1) + self._offset(at[:, k:])
            gradient, information = self._of_prompts(z, *self._derivatives(eta), free)
            gradient = gradient - (at - centre) @ precision
            information = information + precision
            step = np.linalg.solve(information, gradient[..., None])[..., 0]
            at = at + _shortened(step, ((step @ precision) * step).sum(axis=1)[:, None])
        at = at + self._scatter(information)
        state.prompts, state.effects = at[:, :k], at[:, k:]
        if free:
            self._draw_sd((z * state.prompts[data.prompt]).sum(axis=1))

    def _draw_sd(self, eta: Floats) -> None:
        """Draw the effects' standard deviation as a product: the stretch by ratings, the rest by effects."""
        state, shape = self.state, self.state.effects / self.state.stretch
        offset = self._offset(shape)
        slope, bend = self._derivatives(eta + state.stretch * offset)
        information = float(bend @ offset**2) + 1
        mean = state.stretch + (float(slope @ offset) - state.stretch) / information
        state.stretch = mean + float(self.rng.standard_normal()) / information**0.5
        state.effects = state.stretch * shape
        squares = float((shape**2).sum()) + _EFFECT_SCALE**2
        state.sd = abs(state.stretch) * (squares / float(self.rng.chisquare(shape.size + 1))) ** 0.5

    def _of_prompts(self, z: Floats, slope: Floats, bend: Floats, free: int) -> tuple[Floats, Floats]:
        """Return gradient and information by each prompt's factors, then by the effects of its answers."""
        data, k = self.data, z.shape[1]
        gradient, by_factors = data.by_prompt @ (slope[:, None] * z), _squares(data.by_prompt, bend, z)
        if not free:
            return gradient, by_factors
        heeded = self._heeded
        information = np.empty((data.prompts, k + free, k + free))
        information[:, :k, :k] = by_factors
        information[:, k:, :k] = self._sums.crossed((heeded * bend)[:, None] * z)
        information[:, :k, k:] = information[:, k:, :k].transpose(0, 2, 1)
        information[:, k:, k:] = self._sums.information(heeded**2 * bend)
        return np.concatenate([gradient, self._sums.gradient(heeded * slope)], axis=1), information

    def _draw_models(self) -> None:
        data, state = self.data, self.state
        z = state.raters[data.rater] * state.prompts[data.prompt]
        model, opponent, _ = self._pairs
        k, count, offset = z.shape[1], data.models, self._offset(state.effects)
        for _ in range(2):
            slope, bend = self._derivatives((z * data.differences(state.models)).sum(axis=1) + offset)
            gradient = data.by_model @ (slope[:, None] * z) - state.models
            information = np.zeros((count, k, count, k))
            blocks = _squares(self._by_pair, bend, z)
            for block, one, other in zip(blocks, model, opponent, strict=True):
                information[one, :, one] += block
                if other >= 0:
                    information[other, :, other] += block
                    information[one, :, other] -= block
                    information[other, :, one] -= block
            whole = information.reshape(count * k, count * k) + np.eye(count * k)
            step: Floats = np.linalg.solve(whole, gradient.ravel()).reshape(count, k).astype(np.float64)
            state.models = state.models + _shortened(step, (step**2).sum(axis=1, keepdims=True))
        state.models = state.models + self._scatter(whole[None])[0].reshape(count, k)

    def _rescale(self) -> None:
        """Give the columns of models and prompts mean square 1; the raters take their scales, and t stays."""
        state = self.state
        of_models, of_prompts = (np.sqrt((part**2).mean(axis=0)) for part in (state.models, state.prompts))
        state.models, state.prompts = state.models / of_models, state.prompts / of_prompts
        state.raters = state.raters * of_models * of_prompts
        state.centre = state.centre / of_prompts
        state.spread = state.spread / np.outer(of_prompts, of_prompts)

    def _draw_raters(self) -> None:
        data, state = self.data, self.state
        judges = state.raters[1:]
        variance = ((judges**2).sum(axis=0) + 0.5) / self.rng.chisquare(len(judges) + 2, size=judges.shape[1])
        x = state.prompts[data.prompt] * data.differences(state.models)
        if state.effects.size:
            x = np.column_stack([x, self._sums.gaps(state.effects)])
        for rater, rows in enumerate(self._rows_of_rater):
            precision = 1 / (variance * (_HUMAN_VARIANCE if rater == 0 else 1.0))
            self._draw_rater(rater, x[rows], rows, precision)

    def _draw_rater(self, rater: int, x: Floats, rows: slice, precision: Floats) -> None:
        """Draw a rater's weights of the skills and its cutoffs, and the human's weight of the effects."""
        data, state = self.data, self.state
        place = data.layout.spans[rater][0]
        k, size = x.shape[1], data.layout.sizes[rater]
        turn = mirrored(size) if data.layout.symmetric[rater] else np.eye(size - 1)
        free = np.linalg.lstsq(turn, state.cutoffs[place], rcond=None)[0]
        weights = state.raters[rater]
        fixed = np.zeros(k + size - 1)
        if k > len(weights) and rater == 0:
            weights, precision = np.append(weights, state.weight), np.append(precision, _WEIGHT_PRECISION)
        elif k > len(weights):
            fixed[k - 1] = 1.0
        drawn_weights = len(weights)
        at = np.concatenate([weights, free])
        prior = np.concatenate([precision, np.full(turn.shape[1], _CUTOFF_PRECISION)])
        map_ = np.zeros((k + size - 1, len(at)))
        map_[:drawn_weights, :drawn_weights], map_[k:, drawn_weights:] = np.eye(drawn_weights), turn
        information = np.eye(len(at))
        for _ in range(2):
            whole = map_ @ at + fixed
            _, gradient, found = score_and_information(x, data.rating[rows], whole[:k], whole[k:], data.weight[rows])
            information = map_.T @ found @ map_ + np.diag(prior)
            step = np.linalg.solve(information, map_.T @ gradient - prior * at)
            step = _shortened(step, np.asarray(prior @ step**2))
            while not _increasing(turn @ (at + step)[drawn_weights:]):
                step = step / 2
            at = at + step
        for _ in range(_TRIES):
            drawn = at + self._scatter(information[None])[0]
            if _increasing(turn @ drawn[drawn_weights:]):
                at = drawn
                break
        skills = state.raters.shape[1]
        state.raters[rater] = at[:skills]
        if drawn_weights > skills:
            state.weight = float(at[skills])
        state.cutoffs[place] = turn @ at[drawn_weights:]

    def _draw_prior_of_prompts(self) -> None:
        state = self.state
        count, k = state.prompts.shape
        mean = state.prompts.mean(axis=0)
        off = state.prompts - mean
        scale = _PROMPT_SQUARES * np.eye(k) + off.T @ off
        drawn = stats.invwishart.rvs(df=k + 2 + count - 1, scale=scale, random_state=self.rng)
        state.spread = np.asarray(drawn, dtype=np.float64).reshape(k, k)
        state.centre = mean + np.linalg.cholesky(state.spread / count) @ self.rng.standard_normal(k)

    def _scatter(self, information: Floats) -> Floats:
        """Draw from a Gaussian around 0 per matrix, of which it is the inverse covariance, shape (matrices, size)."""
        upper = np.linalg.cholesky(information).transpose(0, 2, 1)
        noise = self.rng.standard_normal((*upper.shape[:2], 1))
        return np.asarray(np.linalg.solve(upper, noise)[..., 0])


def _shortened(step: Floats, squared: Floats) -> Floats:
    """Shorten steps longer than some prior standard deviations: far from the mode Newton's method overshoots."""
    length = np.sqrt(squared)
    return np.asarray(step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, _LONGEST_STEP / 2)))


def _increasing(cutoffs: Floats) -> bool:
    return bool((np.diff(cutoffs) > 0).all())


def _squares(sums: sparse.csr_array, weight: Floats, z: Floats) -> Floats:
    """Return ``sum w z z'`` over the rows that each row of `sums` adds up, shape (sums, columns, columns)."""
    k = z.shape[1]
    left, right = np.triu_indices(k)
    found = np.empty((sums.shape[0], k, k))
    parts = sums @ (weight[:, None] * z[:, left] * z[:, right])
    found[:, left, right] = found[:, right, left] = parts
    return found


DRAWS = 400


@dataclass(frozen=True, eq=False)
class PluggedIn:
    """Intervals around the fitted stages 1 and 2, without further draws of the factors."""

    capabilities: stage_one.CapabilityFactors = field(repr=False)
    """Stage 1."""
    human: stage_two.HumanModel = field(repr=False)
    """Stage 2 on the block ``skills`` alone."""
    information: Floats | None = field(repr=False)
    """Of the prompts' factors in stage 1; None takes them as known."""

    @classmethod
    def of(
        cls,
        judges: rating_arrays.RatingArrays,
        capabilities: stage_one.CapabilityFactors,
        human: stage_two.HumanModel,
        *,
        prior: float,
        propagated: bool,
    ) -> PluggedIn:
        """Return the intervals, with `propagated` counting errors of prompts' factors; `human` has ``skills``."""
        if not propagated:
            return cls(capabilities, human, None)
        counted = judges.counted()
        z = capabilities.raters[counted.rater] * counted.differences(capabilities.models)
        upper, lower = counted.layout.ends(capabilities.cutoffs)
        eta = (z * capabilities.prompts[counted.prompt]).sum(axis=1)
        bend = counted.weight * slope_and_curvature(eta, upper[counted.category], lower[counted.category])[1]
        rank = capabilities.rank
        products = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        information = (counted.by_prompt @ (bend[:, None] * products)).reshape(-1, rank, rank)
        return cls(capabilities, human, information + prior * np.eye(rank))

    def draws(self, rng: np.random.Generator, count: int = DRAWS) -> PosteriorDraws:
        """Draw the weights of the skills, and the prompts' factors where their error counts."""
        regression = self.human.regression
        root = np.linalg.cholesky(regression.covariance + 1e-12 * np.eye(len(regression.coefficients)))
        weights = regression.coefficients + rng.standard_normal((count, len(root))) @ root.T
        scales = np.ones(self.capabilities.rank) if self.human.design.scales is None else self.human.design.scales
        models = (weights / scales)[:, None, :] * self.capabilities.models
        prompts = np.broadcast_to(self.capabilities.prompts, (count, *self.capabilities.prompts.shape))
        if self.information is not None:
            upper = np.linalg.cholesky(self.information).transpose(0, 2, 1)
            noise = rng.standard_normal((len(upper), upper.shape[1], count))
            prompts = prompts + np.linalg.solve(upper, noise).transpose(2, 0, 1)
        size = np.sqrt((prompts**2).mean(axis=1, keepdims=True))
        cutoffs = np.broadcast_to(regression.cutoffs, (count, len(regression.cutoffs)))
        return PosteriorDraws(models * size, prompts / size, np.array(cutoffs))
