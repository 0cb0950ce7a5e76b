"""Laws by which scores may scatter, for rules that ask for further draws.

Eight draws of each candidate. In most laws a candidate is worth what its draws would average to: noise of labels is
the same for every rule. In some laws draws and candidates are exchangeable, in others the scatter differs by prompt,
by candidate or by level, and in others scores are coarse or the first draw is of another kind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bonwise.testing import simulate

__all__ = ["DRAWS", "LAWS", "drawn"]

Floats = npt.NDArray[np.float64]
Law = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
"""Of prompts: their means, (n, K), and draws, (n, K, DRAWS)."""

DRAWS = 8
K = 4


def _qualities(rng: np.random.Generator, n: int, candidates: int = K, sd: float = 0.1) -> Floats:
    return 0.6 + 0.1 * rng.normal(size=(n, 1)) + sd * rng.normal(size=(n, candidates))


def _noise(rng: np.random.Generator, means: Floats, sd: float | Floats = 0.1) -> Floats:
    return means[:, :, None] + sd * rng.normal(size=(*means.shape, DRAWS))


def gaussian(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let all be normal and exchangeable."""
    means = _qualities(rng, n)
    return means, _noise(rng, means)


def noisy(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let a draw tell little: three quarters of its variance are chance."""
    means = _qualities(rng, n, sd=0.06)
    return means, _noise(rng, means)


def heavy_draws(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let draws scatter by Student's law with 3 degrees of freedom."""
    means = _qualities(rng, n)
    return means, means[:, :, None] + 0.06 * rng.standard_t(3, size=(n, K, DRAWS))


def heavy_candidates(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let candidates differ by Student's law with 3 degrees of freedom."""
    means = 0.6 + 0.1 * rng.normal(size=(n, 1)) + 0.06 * rng.standard_t(3, size=(n, K))
    return means, _noise(rng, means)


def by_prompt(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let each prompt have a scatter of its own."""
    means = _qualities(rng, n)
    return means, _noise(rng, means, 0.1 * np.exp(0.7 * rng.normal(size=(n, 1, 1)) - 0.49))


def by_candidate(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let each candidate have a scatter of its own."""
    means = _qualities(rng, n)
    return means, _noise(rng, means, 0.1 * np.exp(0.7 * rng.normal(size=(n, K, 1)) - 0.49))


def by_level(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let draws scatter more, and candidates differ more, where the level is low."""
    level = rng.random((n, 1))
    means = level + (0.15 - 0.12 * level) * rng.normal(size=(n, K))
    return means, _noise(rng, means, (0.2 - 0.17 * level)[:, :, None])


def flat(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let the candidates of three prompts in five be equally good."""
    spread = np.where(rng.random((n, 1)) < 0.6, 0.0, 0.15)
    means = 0.6 + 0.1 * rng.normal(size=(n, 1)) + spread * rng.normal(size=(n, K))
    return means, _noise(rng, means)


def coarse(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let scores be grades from 0 to 1 in steps of .1, most of them high."""
    means = 0.8 + 0.1 * rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, K))
    return means, np.clip(np.round(_noise(rng, means), 1), 0.0, 1.0)


def verdicts(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let each draw be 0 or 1."""
    means = rng.beta(2.0, 1.0, size=(n, K))
    return means, (rng.random((n, K, DRAWS)) < means[:, :, None]).astype(np.float64)


def first_apart(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let the first draw be surer than later ones, and higher."""
    means = _qualities(rng, n)
    draws = _noise(rng, means, 0.12)
    draws[:, :, 0] = means + 0.05 + 0.06 * rng.normal(size=means.shape)
    return means, draws


def eight(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Let pools have eight candidates, normal and exchangeable."""
    means = _qualities(rng, n, candidates=8)
    return means, _noise(rng, means, 0.15)


def _preset(name: str) -> Law:
    def law(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        fresh = simulate(name, n=n, seed=int(rng.integers(2**31)), draws=DRAWS)
        return fresh.labels, fresh.draws

    return law


LAWS: dict[str, Law] = {
    "gaussian": gaussian,
    "noisy": noisy,
    "heavy draws": heavy_draws,
    "heavy candidates": heavy_candidates,
    "scatter by prompt": by_prompt,
    "scatter by candidate": by_candidate,
    "scatter by level": by_level,
    "three in five flat": flat,
    "coarse": coarse,
    "0 or 1": verdicts,
    "first draw apart": first_apart,
    "eight candidates": eight,
    "simulated pilot": _preset("pilot"),
    "simulated, one model": _preset("one_model"),
}


def drawn(law: str, prompts: int, seed: int) -> tuple[Floats, Floats]:
    """Return draws of fresh prompts, and what each candidate is worth: its mean score, or a simulated label."""
    means, draws = LAWS[law](np.random.default_rng([seed, list(LAWS).index(law)]), prompts)
    return draws, means
