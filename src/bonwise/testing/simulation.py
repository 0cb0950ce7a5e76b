"""Simulated judge scores and oracle labels of known population values: the measurement model and its constants."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bonwise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = [
    "PRESETS",
    "Latent",
    "Preset",
    "Redraws",
    "Simulation",
    "calls",
    "coarse_labels",
    "draw",
    "load",
    "seen",
    "simulate",
    "widths",
]


class Latent(NamedTuple):
    """The latent values of some prompts: unbounded, no unit."""

    judge_level: NDArray[np.float64]
    score_spread: NDArray[np.float64]
    """Both: where the judge sees a prompt's candidates, and how far apart."""
    difficulty: NDArray[np.float64]
    """How far the labels lie apart: mean 0, variance 1."""
    quality: NDArray[np.float64]
    judge_error: NDArray[np.float64]
    """Both: what the judge sees of a candidate in part, and what it sees in it that is not there."""
    labels: NDArray[np.float64]


def draw(parameters: Mapping[str, float], rng: np.random.Generator, shape: tuple[int, int]) -> Latent:
    """Draw the latent values that thresholds turn into scores and labels; `shape` is (prompts, candidates)."""
    p = parameters
    level, judge_noise, difficulty, label_noise = rng.standard_normal((4, shape[0], 1))
    judge_level = _blend(level, judge_noise, np.tanh(p["level_correlation_atanh"]))
    label_difficulty = _blend(difficulty, label_noise, np.tanh(p["difficulty_overlap_atanh"]))
    label_spread = _spread(p, "label", label_difficulty, level)
    score_spread = _spread(p, "score", difficulty, judge_level)
    quality = _slipping(rng, shape, p["label_slip"], p["label_slip_logit"])
    judge_error = _slipping(rng, shape, p["score_slip"], p["score_slip_logit"])
    slope, shrink = p["label_spread_difficulty"], p["label_spread_level"]
    hardness = (slope * label_difficulty - shrink * level) / np.hypot(slope, shrink)
    return Latent(judge_level, score_spread, hardness, quality, judge_error, level + label_spread * quality)


def seen(latent: Latent, weight: float, persistent: float = 1.0) -> NDArray[np.float64]:
    """Return how the judge sees the candidates, shape (n, candidates).

    `weight` is the correlation of what it sees with the quality that the labels see; `persistent` is the part of the
    variance of its error that is the same in every call.
    """
    error = np.sqrt(persistent) * latent.judge_error
    return latent.judge_level + latent.score_spread * _blend(latent.quality, error, weight)


def _blend(signal: NDArray[np.float64], noise: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """Mix two independent columns; for unit variances the result has unit variance and that correlation."""
    mixed: NDArray[np.float64] = weight * signal + np.sqrt(1 - weight**2) * noise
    return mixed


def _spread(
    parameters: Mapping[str, float], side: str, difficulty: NDArray[np.float64], level: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far a prompt's candidates lie apart: more when it is difficult, less when they are all good."""
    log, slope, shrink = (parameters[f"{side}_spread_{part}"] for part in ("log", "difficulty", "level"))
    return np.exp(log + slope * difficulty - shrink * level)


def _slipping(
    rng: np.random.Generator, shape: tuple[int, int], slip: float, slip_logit: float
) -> NDArray[np.float64]:
    """Draw standard normal values, a share of which is moved down by `slip`."""
    slipped = rng.random(shape) < 1 / (1 + np.exp(-slip_logit))
    values: NDArray[np.float64] = rng.standard_normal(shape) - slip * slipped
    return values


@dataclass(frozen=True, slots=True)
class Redraws:
    """How the calls of one candidate differ, in units of the judge's own error where nothing else is said."""

    quality_seen: float
    """Correlation of what the judge sees with the quality that the labels see."""
    persistent_variance: float
    """Of the error that all calls share."""
    noise_variance: float
    """Of the error of a single call, for a prompt of mean noise."""
    noise_difficulty: float
    noise_log_sd: float
    """Both: how much the logarithm of a prompt's noise grows with its difficulty, and its scatter beside that."""
    first_call_capped: float | None
    """Share of prompts in which the first call lacks the noise and no candidate exceeds the second best; in the
    others it lacks the noise. None where the first call is like the others.
    """
    labels_in_tenths: float | None
    """Share of prompts whose labels are multiples of 0.1; the others' are of 0.05. None leaves multiples of 0.01."""
    width_difficulty: float
    width_level: float
    width_log_sd: float
    """All three: what moves the logarithm of the stated width."""


def calls(redraws: Redraws, latent: Latent, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Draw what each call of each candidate sees, shape (count, n, candidates); fewer calls are the first of more."""
    persistent = seen(latent, redraws.quality_seen, redraws.persistent_variance)
    capped = rng.random((len(persistent), 1))
    scatter = redraws.noise_log_sd * rng.standard_normal(capped.shape) - redraws.noise_log_sd**2 / 2
    noise = np.sqrt(redraws.noise_variance) * np.exp(redraws.noise_difficulty * latent.difficulty + scatter)
    error = latent.score_spread * np.sqrt(1 - redraws.quality_seen**2) * noise
    found: NDArray[np.float64] = persistent + error * rng.standard_normal((count, *persistent.shape))
    if redraws.first_call_capped is not None:
        second = np.sort(persistent, axis=1)[:, -2:-1]
        found[0] = np.where(capped < redraws.first_call_capped, np.minimum(persistent, second), persistent)
    return found


def coarse_labels(redraws: Redraws, labels: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Round labels as the graders of this population do."""
    if redraws.labels_in_tenths is None:
        return labels
    tenths = rng.random((len(labels), 1)) < redraws.labels_in_tenths
    coarse: NDArray[np.float64] = np.where(tenths, np.round(labels * 10) / 10, np.round(labels * 20) / 20)
    return coarse.round(2)


def widths(redraws: Redraws, latent: Latent, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the width of the interval that the judge states for a prompt: multiples of 0.02, shape (n, 1)."""
    scatter = redraws.width_log_sd * rng.standard_normal(latent.difficulty.shape)
    log = redraws.width_difficulty * latent.difficulty + redraws.width_level * latent.judge_level + scatter
    steps = np.round((0.04 + 0.08 * np.exp(log)) / 0.02)
    return np.clip(steps, 1, 30) / 50


PRESETS = ("arena", "pilot", "one_model")


@dataclass(frozen=True, eq=False)
class Preset:
    """One simulated population."""

    parameters: Mapping[str, float]
    """The latent model's, under the names that `bonwise.testing.simulate` uses."""
    score_thresholds: NDArray[np.float64]
    label_thresholds: NDArray[np.float64]
    """Both: where the latent scale is cut into the 21 scores and the 101 labels; increasing."""
    population: Mapping[str, float]
    """Values of the metrics for pools of `population_candidates` candidates."""
    population_candidates: int
    """The pool size for which `population` holds."""
    redraws: Redraws | None = None
    """None where every candidate is judged once."""


@cache
def load(name: str) -> Preset:
    """Read one of `PRESETS`; a UsageError for any other name."""
    if name not in PRESETS:
        raise UsageError(f"no such preset: {name!r}", hint=f"choose one of {', '.join(PRESETS)}")
    stored = _stored(name)
    latent = _stored(stored["latent"]) if "latent" in stored else stored
    return Preset(
        parameters=latent["parameters"],
        score_thresholds=np.array(latent["score_thresholds"]),
        label_thresholds=np.array(latent["label_thresholds"]),
        population=stored["population"]["values"],
        population_candidates=stored["population"]["candidates"],
        redraws=Redraws(**stored["redraws"]) if "redraws" in stored else None,
    )


def _stored(name: str) -> dict[str, Any]:
    text = resources.files("bonwise.testing").joinpath(f"{name}.json").read_text(encoding="utf-8")
    stored: dict[str, Any] = json.loads(text)
    return stored


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
