"""Pools whose labels are all known: what the estimate of recovery varies by, prompt by prompt."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.data.labels_in_part import LabelsInPart
from bonwise.data.panel import MAY_LACK
from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.documents.label_designs import ComparedCounts
from bonwise.errors import InputError
from bonwise.planning.sampling.label_population import LabelPopulation
from bonwise.stats.partial.label_features import LabelFeatures, label_features, outcomes
from bonwise.stats.partial.score_residuals import recovery_deviations, score_residuals
from bonwise.stats.sums import Floats, prompt_sums
from bonwise.stats.top_of_scores import TopOfScores, top_of_scores

__all__ = ["LabelledPools", "labelled_pools"]

_ALL_KNOWN = "designs are compared on prompts whose labels are all known"

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledPools:
    """Figures of completely labelled prompts, each of shape (prompts,)."""

    scores: Floats = field(repr=False)
    """Of the audited judge."""
    sizes: _Ints = field(repr=False)
    second: Floats | None = field(repr=False)
    """Mean score of the further judges."""
    features: LabelFeatures = field(repr=False)
    """What scores say of the prompts, as an audit uses it."""
    tops: TopOfScores = field(repr=False)
    Y: Floats = field(repr=False)
    """The outcomes; Y1 and Y2, of which recovery is made, are label of the pick, and best label, less the mean."""
    recovery: float
    phi: Floats = field(repr=False)
    """Y1 - rho Y2."""
    left: Floats = field(repr=False)
    """What a model of the scores, cross-fitted to all labels, leaves of phi."""
    label_spread: Floats = field(repr=False)
    """Standard deviation over the candidates of the labels, and of the further judges' scores."""
    further_spread: Floats = field(repr=False)
    """Standard deviation over the candidates of the labels, and of the further judges' scores."""
    unlabelled: int
    """Prompts left out for lack of labels."""
    dropped: list[DroppedPrompt] = field(repr=False)
    """Prompts left out for any other cause."""
    in_part: LabelsInPart = field(default=LabelsInPart(0, 0, 0), repr=False)
    """Labels of prompts that are labelled in part."""

    @property
    def unused(self) -> tuple[str, ...]:
        """A sentence on the labels that no figure uses; empty where all are used."""
        return (f"{self.in_part.unused}: {_ALL_KNOWN}.",) if self.in_part.prompts else ()

    @property
    def gain(self) -> Floats:
        """Y1: what the pick is worth beyond a random pick."""
        found: Floats = self.Y[:, 1]
        return found

    @property
    def best(self) -> Floats:
        """Y2: what the best candidate is worth beyond a random pick."""
        found: Floats = self.Y[:, 2]
        return found

    def counts(self) -> ComparedCounts:
        """Return the counts of the document."""
        return ComparedCounts(
            prompts=len(self.sizes),
            cells=len(self.scores),
            unlabelled=self.unlabelled,
            dropped=self.dropped,
            recovery=float(self.recovery),
            all_tied=int((self.tops.tied == self.sizes).sum()),
        )


def labelled_pools(population: LabelPopulation, seed: int) -> LabelledPools:
    """Compute the figures.

    Parameters
    ----------
    population : LabelPopulation
        With labels.
    seed : int
        Of the folds of the model.

    Raises
    ------
    bonwise.errors.InputError
        More than 5 % of the prompts lack labels, labels of a prompt never differ, or the judge's picks are all
        random picks.
    """
    kept, lacking = _complete(population)
    cells = np.repeat(kept, population.panel.sizes)
    sizes, scores = population.panel.sizes[kept], population.panel.scores[cells]
    labels = population.panel.labels[cells]
    features = label_features(scores, sizes, [one[cells] for one in population.further.values()])
    Y = outcomes(prompt_sums(scores, labels, sizes))
    rho, phi = _told_apart(Y, population.table.source)
    second = population.second
    further = None if second is None else second[cells]
    everything = np.ones(len(sizes), dtype=bool)
    return LabelledPools(
        scores,
        sizes,
        further,
        features,
        top_of_scores(scores, sizes),
        Y,
        rho,
        phi,
        score_residuals(Y, features, everything, seed=seed).left,
        top_of_scores(labels, sizes).spread,
        top_of_scores(scores if further is None else further, sizes).spread,
        lacking,
        population.dropped,
        LabelsInPart.of_panel(population.panel),
    )


def _complete(population: LabelPopulation) -> tuple[npt.NDArray[np.bool_], int]:
    kept = population.complete
    lacking = int((~kept).sum())
    if not kept.any() or lacking > MAY_LACK * len(kept):
        in_part = LabelsInPart.of_panel(population.panel)
        told = f"; {in_part.unused}" if in_part.prompts else ""
        raise InputError(
            f"{population.table.source}: {lacking:,} of {len(kept):,} prompts lack labels, and {_ALL_KNOWN}{told}",
            hint="give a completely labelled table, such as that of an earlier audit, or a label_file (--label-file)",
        )
    return kept, lacking


def _told_apart(Y: Floats, source: str) -> tuple[float, Floats]:
    """Return recovery and phi, refusing labels and picks that leave nothing to estimate."""
    if float(Y[:, 2].sum()) <= 0:
        raise InputError(
            f"{source}: the labels of a prompt never differ, so there is no recovery to estimate",
            hint="labels must tell candidates of a prompt apart",
        )
    rho, phi = recovery_deviations(Y)
    if float(np.abs(phi).max()) < 1e-12:
        raise InputError(
            f"{source}: recovery is {rho:g} in every prompt, so no design has anything to save",
            hint="compare designs on a judge that tells candidates apart",
        )
    return rho, phi
