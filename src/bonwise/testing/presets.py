"""The constants of the simulated populations, read from the data files beside this module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.errors import UsageError
from bonwise.testing.redrawn import Redraws

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["PRESETS", "Preset", "load"]

PRESETS = ("arena", "pilot", "one_model")


@dataclass(frozen=True, eq=False)
class Preset:
    """One simulated population."""

    parameters: Mapping[str, float]
    """The latent model's, under the names that `bonwise.testing.latent` uses."""
    score_thresholds: NDArray[np.float64]
    """Where the latent scale is cut into the 21 scores and the 101 labels; increasing."""
    label_thresholds: NDArray[np.float64]
    """Where the latent scale is cut into the 21 scores and the 101 labels; increasing."""
    population: Mapping[str, float]
    """Values of the metrics for pools of `population_candidates` candidates."""
    population_candidates: int
    """The pool size for which `population` holds."""
    redraws: Redraws | None = None
    """None where every candidate is judged once."""


@cache
def load(name: str) -> Preset:
    """Read one preset.

    Parameters
    ----------
    name : str
        One of `PRESETS`.

    Returns
    -------
    Preset

    Raises
    ------
    UsageError
        There is no preset of that name.

    Examples
    --------
    >>> load("arena").population_candidates
    4
    """
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
