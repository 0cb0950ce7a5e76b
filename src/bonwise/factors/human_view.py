"""What a human would say of models, from draws of the posterior: leaderboards, comparisons, predicted averages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bonwise.errors import UsageError
from bonwise.factors.latent_regression import PromptFactors
from bonwise.factors.posterior_draws import PosteriorDraws
from bonwise.factors.result_draws import DrawnArray, FactorDrawsDocument
from bonwise.loading import read_document
from bonwise.printable import listed, quoted
from bonwise.stats.sums import Floats
from bonwise.table.writing import write_whole

__all__ = ["HumanView", "load_factors"]

_FEWEST_DRAWS = 3
_HINT = "write it with bonwise factor fit RATINGS --human NAME --save FILE"


@dataclass(frozen=True, eq=False)
class HumanView:
    """Draws of a human's capabilities, with the names of what they are about.

    `bonwise.fit_factors` makes one, `save` writes it and `load_factors` reads it.

    Parameters
    ----------
    human : str
    side_by_side : bool
        Whether the human compares two models.
    labels : tuple of str
        The human's categories, lowest first.
    points : tuple of float
        What each counts in an average.
    prompts, models : tuple of str
    prompt_categories : tuple of str
        One per prompt, blank for none.
    human_ratings : tuple of int
        How many each model has.
    draws : PosteriorDraws
    confidence : float
    seed : int
    source, version : str
    """

    human: str
    side_by_side: bool
    labels: tuple[str, ...]
    points: tuple[float, ...]
    prompts: tuple[str, ...] = field(repr=False)
    models: tuple[str, ...]
    prompt_categories: tuple[str, ...] = field(repr=False)
    human_ratings: tuple[int, ...] = field(repr=False)
    draws: PosteriorDraws = field(repr=False)
    confidence: float
    seed: int
    source: str
    version: str

    def save(self, path: str | Path) -> None:
        """Write a JSON file that `load_factors` and ``bonwise factor`` read.

        Raises
        ------
        bonwise.errors.FileError
            It cannot be written.
        """
        write_whole(Path(path), self.document().to_json())

    def document(self) -> FactorDrawsDocument:
        """Return the document of schema ``bonwise.factor_draws/1``."""
        return FactorDrawsDocument(
            human=self.human,
            side_by_side=self.side_by_side,
            categories=list(self.labels),
            points=list(self.points),
            prompts=list(self.prompts),
            models=list(self.models),
            prompt_categories=list(self.prompt_categories),
            human_ratings=list(self.human_ratings),
            of_models=DrawnArray.of(self.draws.models),
            of_prompts=DrawnArray.of(self.draws.prompts),
            cutoffs=DrawnArray.of(self.draws.cutoffs),
            confidence=self.confidence,
            seed=self.seed,
            source=self.source,
            version=self.version,
        )

    @classmethod
    def of(cls, document: FactorDrawsDocument) -> HumanView:
        """Return what a document holds."""
        arrays = (document.of_models.values(), document.of_prompts.values(), document.cutoffs.values())
        return cls(
            document.human,
            document.side_by_side,
            tuple(document.categories),
            tuple(map(float, document.points)),
            tuple(document.prompts),
            tuple(document.models),
            tuple(document.prompt_categories),
            tuple(document.human_ratings),
            PosteriorDraws(*arrays),
            document.confidence,
            document.seed,
            document.source,
            document.version,
        )

    def model_at(self, name: str) -> int:
        """Return the position of a model.

        Raises
        ------
        bonwise.errors.UsageError
            No such model.
        """
        if name not in self.models:
            raise UsageError(f"no model named {quoted(name)}", hint=f"the models are {listed(self.models)}")
        return self.models.index(name)

    def prompts_of(self, category: str) -> npt.NDArray[np.int64]:
        """Return the positions of a category's prompts.

        Raises
        ------
        bonwise.errors.UsageError
            No such category.
        """
        names = [one for one in dict.fromkeys(self.prompt_categories) if one]
        if category not in names:
            hint = f"the categories are {listed(names)}" if names else "give the ratings a column named category"
            raise UsageError(f"no category named {quoted(category)}", hint=hint)
        return np.flatnonzero([one == category for one in self.prompt_categories]).astype(np.int64)

    def prompt_factors(self, contrast: Floats) -> PromptFactors:
        """Return the prompts' factors with a contrast of models, for regressions on properties of prompts.

        Parameters
        ----------
        contrast : ndarray of float64, shape (draws, rank)

        Raises
        ------
        bonwise.errors.UsageError
            A fit with a single draw.
        """
        if len(self.draws) < _FEWEST_DRAWS:
            raise UsageError(f"too few draws for an interval: {len(self.draws)}", hint=_HINT)
        return PromptFactors.of(contrast, self.draws.prompts)

    def across_prompts(self, model: str) -> Iterator[tuple[str, float, float]]:
        """Yield each prompt with a model's capability on it and its standard deviation.

        Raises
        ------
        bonwise.errors.UsageError
            No such model, or a human who compares: capabilities on different prompts then have no common origin.
        """
        at = self.model_at(model)
        if self.side_by_side:
            raise UsageError(
                f"{self.human} compares two models, so capabilities on different prompts have no common origin",
                hint="compare two models on every prompt instead",
            )
        found = self.draws.capabilities()[:, at]
        yield from zip(self.prompts, found.mean(axis=0).tolist(), found.std(axis=0, ddof=1).tolist(), strict=True)


def load_factors(path: str | Path) -> HumanView:
    """Read what `HumanView.save` or ``bonwise factor fit --save`` wrote.

    Parameters
    ----------
    path : str or pathlib.Path

    Raises
    ------
    bonwise.errors.InputError
        No such file, or one that holds something else; the message names the key that is wrong.
    """
    return HumanView.of(read_document(path, FactorDrawsDocument, hint=_HINT))
