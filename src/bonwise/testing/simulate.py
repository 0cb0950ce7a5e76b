"""Simulated judge scores and oracle labels whose population values are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from bonwise.errors import UsageError
from bonwise.testing.latent import draw
from bonwise.testing.presets import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from bonwise.testing.presets import Preset

__all__ = ["Simulation", "simulate"]

# Part of what a seed means: every block of prompts has its own stream, so changing this changes the data.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated prompts: what the judge said, what the oracle says, and the truth about both.

    Parameters
    ----------
    scores : ndarray of float, shape (n, candidates)
        Judge scores: multiples of 0.05 in [0, 1].
    labels : ndarray of float, shape (n, candidates)
        Oracle labels: multiples of 0.01 in [0, 1].
    preset : str
        The population drawn from.
    seed : int
        The seed drawn with.
    population : mapping of str to float
        Values of the audit's metrics in the whole population, under the audit's names. Pools of another
        size have other values, so this is empty unless there are 4 candidates.

    Examples
    --------
    >>> drawn = simulate("arena", n=3, seed=1)
    >>> drawn.scores.shape
    (3, 4)
    >>> round(drawn.population["recovery"], 3)
    0.214
    """

    scores: NDArray[np.float64] = field(repr=False)
    labels: NDArray[np.float64] = field(repr=False)
    preset: str
    seed: int
    population: Mapping[str, float] = field(repr=False)

    def frame(self) -> pd.DataFrame:
        """Lay the data out as the long table that `bonwise.audit` reads.

        Returns
        -------
        pandas.DataFrame
            ``n * candidates`` rows; columns ``prompt_id`` (p0000000, p0000001, ...), ``candidate``
            (c0, c1, ...), ``judge_score`` and ``oracle_label``.

        Examples
        --------
        >>> simulate("arena", n=3, seed=1).frame().shape
        (12, 4)
        """
        import pandas as pd  # noqa: PLC0415  # slow to import, and the arrays alone do without it

        prompts, candidates = self.scores.shape
        return pd.DataFrame(
            {
                "prompt_id": np.repeat([f"p{i:07d}" for i in range(prompts)], candidates),
                "candidate": np.tile([f"c{i}" for i in range(candidates)], prompts),
                "judge_score": self.scores.ravel(),
                "oracle_label": self.labels.ravel(),
            }
        )


def simulate(preset: str = "arena", n: int = 5000, seed: int = 0, *, candidates: int = 4) -> Simulation:
    """Draw judge scores and oracle labels from a population whose metrics are known.

    The preset ``arena`` is fitted to the published tables of Landesberg (2026), "When LLM Judge Scores
    Look Good but Best-of-N Decisions Fail", arXiv:2603.12520: coarse, heaped scores with ties in two
    pairs out of three, a good global correlation and a weak one within prompts. Its candidates are
    exchangeable: no candidate name is better than another. It is a simulation, not data from a judge.

    Parameters
    ----------
    preset : str
        ``"arena"``.
    n : int
        Prompts, at least 1.
    seed : int
        Not negative. The same seed gives the same data, and a smaller `n` gives the first rows of a
        larger one. A different number of candidates gives different prompts.
    candidates : int
        Candidates per prompt, at least 2.

    Returns
    -------
    Simulation
        Memory: 16 bytes for each of the ``n * candidates`` cells, and little beside it.

    Raises
    ------
    UsageError
        An unknown preset, or a number out of its range.

    Examples
    --------
    >>> simulate("arena", n=100, seed=7).labels.shape
    (100, 4)
    """
    chosen = load(preset)
    for name, value, least in (("n", n, 1), ("candidates", candidates, 2), ("seed", seed, 0)):
        if value < least:
            raise UsageError(f"{name} is {value}", hint=f"it must be at least {least}")
    scores, labels = _blocks(chosen, n, seed, candidates)
    known = chosen.population if candidates == chosen.population_candidates else {}
    return Simulation(scores, labels, preset, seed, MappingProxyType(dict(known)))


def _blocks(preset: Preset, n: int, seed: int, candidates: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fill the arrays block by block, so that the latent values never stand in memory all at once."""
    scores, labels = np.empty((n, candidates)), np.empty((n, candidates))
    starts = range(0, n, _BLOCK)
    for start, stream in zip(starts, np.random.SeedSequence(seed).spawn(len(starts)), strict=True):
        # The last block is drawn in full and cut, which makes a small simulation the head of a large one.
        drawn = draw(preset.parameters, np.random.default_rng(stream), (_BLOCK, candidates))
        rows = slice(start, min(start + _BLOCK, n))
        kept = rows.stop - rows.start
        scores[rows] = _on_grid(drawn[0][:kept], preset.score_thresholds)
        labels[rows] = _on_grid(drawn[1][:kept], preset.label_thresholds)
    return scores, labels


def _on_grid(latent: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut a latent scale into equally spaced decimals of [0, 1], one more than there are thresholds."""
    grid: NDArray[np.float64] = np.round(np.arange(len(thresholds) + 1) / len(thresholds), 2)
    return grid[np.searchsorted(thresholds, latent)]
