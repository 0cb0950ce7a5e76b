"""What a human would say of models, from draws of the posterior: leaderboards, comparisons, predicted averages."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from bonwise.arrays import Floats, Ints
from bonwise.asked import remembers
from bonwise.errors import UsageError
from bonwise.factors.latent_regression import PromptFactors
from bonwise.factors.posterior_draws import PosteriorDraws
from bonwise.factors.result_models import LeftOutPart, UnseenTrait
from bonwise.flags import takes_numbers
from bonwise.loading import read_document
from bonwise.printable import listed, quoted
from bonwise.results import Confidence, Count, Document, FrameRow, Number, Record, given
from bonwise.table.writing import write_whole

_FEWEST_DRAWS = 3
_HINT = "write it with bonwise factor fit RATINGS --human NAME --save FILE"


class DrawnArray(Record):
    """Numbers of several dimensions."""

    shape: Annotated[list[Annotated[int, Field(ge=1, le=10_000_000)]], Field(min_length=1, max_length=3)]
    float32: str
    """The numbers in order, little-endian, in base64."""

    @model_validator(mode="after")
    def _numbers_fill_the_shape(self) -> DrawnArray:
        try:
            numbers = base64.b64decode(self.float32, validate=True)
        except (ValueError, binascii.Error):
            raise ValueError("should hold base64 in float32") from None
        size = math.prod(self.shape)
        if len(numbers) != 4 * size:
            raise ValueError(f"should hold {size} numbers in float32, as its shape says")
        if not np.isfinite(np.frombuffer(numbers, dtype="<f4")).all():
            raise ValueError("should hold finite numbers")
        return self

    @classmethod
    def of(cls, values: Floats) -> DrawnArray:
        """Return the record of an array."""
        return cls(shape=list(values.shape), float32=base64.b64encode(values.astype("<f4").tobytes()).decode("ascii"))

    def values(self) -> Floats:
        """Return the array."""
        numbers = np.frombuffer(base64.b64decode(self.float32), dtype="<f4")
        return numbers.reshape(self.shape).astype(np.float64)


class HumanView(Document):
    """Draws from the posterior of a human's capabilities, with the names of what they are about.

    Notes
    -----
    `bonwise.fit_factors` makes one, `save` writes it and `load_factors` reads it.
    """

    schema_: Literal["bonwise.factor_draws/1"] = Field(default="bonwise.factor_draws/1", alias="schema")
    human: str
    side_by_side: bool
    """Whether the human compares two models."""
    categories: Annotated[list[str], Field(min_length=2)]
    """The human's categories, lowest first."""
    points: list[Number]
    """What each counts in an average."""
    prompts: Annotated[list[str], Field(min_length=1)]
    models: Annotated[list[str], Field(min_length=2)]
    prompt_categories: list[str]
    """One per prompt, blank for none."""
    human_ratings: list[Count]
    """How many each model has."""
    of_models: DrawnArray
    """Draws, models, skills: the human's weights times the models' skills."""
    of_prompts: DrawnArray
    """Draws, prompts, skills."""
    cutoffs: DrawnArray
    """Draws, cutoffs of the human."""
    of_answers: DrawnArray | None = None
    """Draws, prompts, models: what the human heeds of what judges share of an answer, beyond the skills."""
    left_out: dict[Literal["model", "category"], LeftOutPart] | None = None
    """What was predicted without human ratings of each model, and of each category of prompts."""
    interval: Literal["laplace_gibbs", "propagated", "fixed"] | None = None
    """How the draws treat the error of stage 1."""
    confidence: Confidence
    seed: Count
    source: str
    version: str

    @model_validator(mode="after")
    def _sizes_agree(self) -> HumanView:
        draws, skills, answers = self.of_models.shape[0], self.of_models.shape[-1], self.of_answers
        whole = [draws, len(self.prompts), len(self.models)]
        expected = {
            "of_models": (self.of_models.shape, [draws, len(self.models), skills]),
            "of_prompts": (self.of_prompts.shape, [draws, len(self.prompts), skills]),
            "cutoffs": (self.cutoffs.shape, [draws, len(self.categories) - 1]),
            "of_answers": (answers.shape if answers else whole, whole),
            "points": ([len(self.points)], [len(self.categories)]),
            "prompt_categories": ([len(self.prompt_categories)], [len(self.prompts)]),
            "human_ratings": ([len(self.human_ratings)], [len(self.models)]),
        }
        for name, (found, wanted) in expected.items():
            if found != wanted:
                raise ValueError(f"should have {name} of shape {wanted}, not {found}")
        return self

    def __repr__(self) -> str:
        return f"<HumanView of {len(self.models)} models on {len(self.prompts)} prompts by {quoted(self.human)}>"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield a row per model."""
        for model, ratings in zip(self.models, self.human_ratings, strict=True):
            yield {"model": model, "human_ratings": ratings}

    @classmethod
    def of(cls, draws: PosteriorDraws, **names: Any) -> HumanView:
        """Return the view of some draws, which stay as precise as they are; what is written has single precision."""
        arrays = (draws.by_model, draws.by_prompt, draws.cutoffs)
        of_models, of_prompts, cutoffs = map(DrawnArray.of, arrays)
        answers = given(of_answers=None if draws.heeded is None else DrawnArray.of(draws.heeded))
        made = cls(of_models=of_models, of_prompts=of_prompts, cutoffs=cutoffs, **answers, **names)
        return made.computed_from(draws)

    @cached_property
    def draws(self) -> PosteriorDraws:
        """The draws: those that it was made of, or those that were read."""
        if isinstance(self._source, PosteriorDraws):
            return self._source
        of_models, of_prompts, cutoffs = (array.values() for array in (self.of_models, self.of_prompts, self.cutoffs))
        return PosteriorDraws(of_models, of_prompts, cutoffs, self.of_answers.values() if self.of_answers else None)

    @property
    def trait(self) -> UnseenTrait | None:
        """What judges miss of models, where that was added to models that no human has rated."""
        part = (self.left_out or {}).get("model")
        return part.trait if part and 0 in self.human_ratings else None

    @property
    def origin(self) -> dict[str, Any]:
        """What documents that are made of the view say of where they come from."""
        return {name: getattr(self, name) for name in ("confidence", "human", "source", "version")}

    @property
    def skills(self) -> Floats:
        """What prompts ask of each skill, (draws, prompts, skills); what was added to models is not a skill."""
        return self.draws.by_prompt[:, :, :-1] if self.trait else self.draws.by_prompt

    def save(self, path: str | Path) -> None:
        """Write a JSON file that `load_factors` and ``bonwise factor`` read.

        Raises
        ------
        bonwise.errors.FileError
            It cannot be written.
        """
        write_whole(Path(path), self.to_json())

    def model_at(self, name: str) -> int:
        """Return the position of a model; a `UsageError` where there is none of that name."""
        if name not in self.models:
            raise UsageError(f"no model named {quoted(name)}", hint=f"the models are {listed(self.models)}")
        return self.models.index(name)

    def prompts_of(self, category: str) -> Ints:
        """Return the positions of a category's prompts; a `UsageError` where there is no such category."""
        names = [name for name in dict.fromkeys(self.prompt_categories) if name]
        if category not in names:
            hint = f"the categories are {listed(names)}" if names else "give the ratings a column named category"
            raise UsageError(f"no category named {quoted(category)}", hint=hint)
        return np.flatnonzero([name == category for name in self.prompt_categories]).astype(np.int64)

    def prompt_factors(self, weights: Floats) -> PromptFactors:
        """Return the prompts' factors with a contrast of models; a `UsageError` for a fit with a single draw."""
        if len(self.draws) < _FEWEST_DRAWS:
            raise UsageError(f"too few draws for an interval: {len(self.draws)}", hint=_HINT)
        heeded = self.draws.heeded
        beyond = None if heeded is None else heeded @ weights
        return PromptFactors.of(weights @ self.draws.by_model, self.draws.by_prompt, beyond)


@takes_numbers
@remembers
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
    return read_document(path, HumanView, hint=_HINT)
