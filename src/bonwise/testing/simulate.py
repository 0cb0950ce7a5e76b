"""Simulated judge scores and oracle labels whose population values are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bonwise.errors import UsageError
from bonwise.testing.latent import draw, seen
from bonwise.testing.presets import load
from bonwise.testing.redrawn import calls, coarse_labels, widths

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from bonwise.testing.presets import Preset

__all__ = ["Simulation", "simulate"]

# Part of what a seed means: every block of prompts has its own stream, so changing this changes the data.
_BLOCK = 4096

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated prompts: what the judge said, what the oracle says, and the truth about both.

    Examples
    --------
    >>> drawn = simulate("arena", n=3, seed=1)
    >>> drawn.scores.shape
    (3, 4)
    >>> round(drawn.population["recovery"], 3)
    0.214
    """

    scores: _Floats = field(repr=False)
    """Judge scores: multiples of 0.05 in [0, 1]. Of a judge that was asked several times, those of the first call."""
    labels: _Floats = field(repr=False)
    """Oracle labels: multiples of 0.01 in [0, 1]."""
    preset: str
    """The population drawn from."""
    seed: int
    """The seed drawn with."""
    population: Mapping[str, float] = field(repr=False)
    """Values of the audit's metrics in the whole population, under the audit's names. Pools of another size have
    other values, so this is empty unless there are 4 candidates.
    """
    draws: _Floats = field(repr=False)
    """All calls of the judge; the first are the scores."""
    widths: _Floats | None = field(default=None, repr=False)
    """Of the intervals that the judge states, the same for all candidates of a prompt: multiples of 0.02. None in a
    population whose judge states none.
    """

    def frame(self) -> pd.DataFrame:
        """Lay the data out as the long table that `bonwise.audit` reads.

        Returns
        -------
        pandas.DataFrame
            ``n * candidates`` rows; columns ``prompt_id`` (p0000000, p0000001, ...), ``candidate``
            (c0, c1, ...), ``judge_score`` and ``oracle_label``; in a population whose judge was asked several
            times also ``draw_0``, ``draw_1``, ... and ``ci_width``.

        Examples
        --------
        >>> simulate("arena", n=3, seed=1).frame().shape
        (12, 4)
        """
        import pandas as pd  # noqa: PLC0415  # slow to import, and the arrays alone do without it

        prompts, candidates = self.scores.shape
        columns = {
            "prompt_id": np.repeat([f"p{i:07d}" for i in range(prompts)], candidates),
            "candidate": np.tile([f"c{i}" for i in range(candidates)], prompts),
            "judge_score": self.scores.ravel(),
            "oracle_label": self.labels.ravel(),
        }
        if self.widths is not None:
            columns |= {f"draw_{k}": self.draws[:, :, k].ravel() for k in range(self.draws.shape[2])}
            columns["ci_width"] = self.widths.ravel()
        return pd.DataFrame(columns)


def simulate(
    preset: str = "arena", n: int = 5000, seed: int = 0, *, candidates: int = 4, draws: int | None = None
) -> Simulation:
    """Draw judge scores and oracle labels from a population whose metrics are known.

    The preset ``arena`` is fitted to the published tables of Landesberg (2026), "When LLM Judge Scores
    Look Good but Best-of-N Decisions Fail", arXiv:2603.12520: coarse, heaped scores with ties in two
    pairs out of three, a good global correlation and a weak one within prompts. Its candidates are
    exchangeable: no candidate name is better than another.

    In ``pilot`` and ``one_model`` the judge is asked several times and states an interval. ``pilot`` follows the
    tables of the paper's pilot: the first call ties at the top in nearly every prompt, and the calls behind it are
    noisy and do not tie so. In ``one_model`` all calls are alike, each one as the single call of ``arena``.

    All are simulations, not data from a judge.

    Parameters
    ----------
    preset : str
        ``"arena"``, ``"pilot"`` or ``"one_model"``.
    n : int
        Prompts, at least 1.
    seed : int
        Not negative. The same seed gives the same data, and a smaller `n` gives the first rows of a
        larger one. A different number of candidates gives different prompts.
    candidates : int
        Candidates per prompt, at least 2.
    draws : int, optional
        Calls per candidate, at least 1: 9 where the judge is asked several times, fewer being the first of more;
        ``arena`` has one.

    Returns
    -------
    Simulation
        Memory: 8 bytes for each label, each score and each draw, and little beside it.

    Raises
    ------
    UsageError
        An unknown preset, or a number out of its range.

    Examples
    --------
    >>> simulate("arena", n=100, seed=7).labels.shape
    (100, 4)
    >>> simulate("pilot", n=100, seed=7).draws.shape
    (100, 4, 9)
    """
    chosen = load(preset)
    count = draws if draws is not None else 9 if chosen.redraws else 1
    for name, value, least in (("n", n, 1), ("candidates", candidates, 2), ("seed", seed, 0), ("draws", count, 1)):
        if value < least:
            raise UsageError(f"{name} is {value}", hint=f"it must be at least {least}")
    if count > 1 and chosen.redraws is None:
        raise UsageError(f"the preset {preset} has one draw, not {count}", hint="choose one of pilot, one_model")
    known = chosen.population if candidates == chosen.population_candidates else {}
    found, labels, width = _blocks(chosen, seed, (count, n, candidates))
    return Simulation(found[:, :, 0], labels, preset, seed, MappingProxyType(dict(known)), found, width)


_Block = tuple[_Floats, _Floats, _Floats | None]


def _blocks(preset: Preset, seed: int, shape: tuple[int, int, int]) -> _Block:
    """Fill the arrays block by block, so that the latent values never are in memory all at once."""
    count, n, candidates = shape
    draws, labels = np.empty((n, candidates, count)), np.empty((n, candidates))
    width = None if preset.redraws is None else np.empty((n, candidates))
    starts = range(0, n, _BLOCK)
    for start, stream in zip(starts, np.random.SeedSequence(seed).spawn(len(starts)), strict=True):
        # The last block is drawn in full and cut, which makes a small simulation the head of a large one.
        block = _block(preset, np.random.default_rng(stream), candidates, count)
        rows = slice(start, min(start + _BLOCK, n))
        kept = rows.stop - rows.start
        draws[rows], labels[rows] = block[0][:kept], block[1][:kept]
        if width is not None and block[2] is not None:
            width[rows] = block[2][:kept]
    return draws, labels, width


def _block(preset: Preset, rng: np.random.Generator, candidates: int, count: int) -> _Block:
    latent = draw(preset.parameters, rng, (_BLOCK, candidates))
    labels = _on_grid(latent.labels, preset.label_thresholds)
    if preset.redraws is None:
        once = seen(latent, float(np.tanh(preset.parameters["quality_seen_atanh"])))
        return _on_grid(once, preset.score_thresholds)[:, :, None], labels, None
    labels, width = coarse_labels(preset.redraws, labels, rng), widths(preset.redraws, latent, rng)
    # Last, so that another number of calls changes nothing else.
    called = _on_grid(calls(preset.redraws, latent, rng, count), preset.score_thresholds)
    return np.moveaxis(called, 0, 2), labels, width


def _on_grid(latent: _Floats, thresholds: _Floats) -> _Floats:
    """Cut a latent scale into equally spaced decimals of [0, 1], one more than there are thresholds."""
    grid: _Floats = np.round(np.arange(len(thresholds) + 1) / len(thresholds), 2)
    return grid[np.searchsorted(thresholds, latent)]
