"""How the calls of a judge scatter, as ``bonwise learn --save`` writes it: ``bonwise.draw_model/1``."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from bonwise.documents.document import Document
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, NotBlank, Number, Positive
from bonwise.stats.draw_model import DrawModel
from bonwise.stats.draw_prior import DrawPrior

__all__ = ["MODEL", "DrawModelDocument", "PriorRecord"]

_MOST_POINTS = 1000
"""Of the curve of prices; a fit makes at most 226."""

_ROUNDING = 1e-6


class PriorRecord(Record):
    """What is believed about a pool before any further call."""

    beta: Number
    """Expected difference between the means of later calls of two candidates whose first scores differ by 1."""
    cuts: Annotated[list[Number], Field(min_length=2, max_length=2)]
    """The two mean first scores between the three classes of prompts, the lower one first."""
    sigma2: Annotated[list[Positive], Field(min_length=3, max_length=3)]
    """Variance of later calls of one candidate, by class, in squared score units."""
    tau2: Annotated[list[Positive], Field(min_length=3, max_length=3)]
    """Variance between candidates that a first score does not foretell, by class."""
    nu0: Annotated[float, Field(gt=2)]
    """Degrees of freedom that `sigma2` is worth as a guess at the call variance of one prompt."""
    first_counts: bool = False
    """Whether the first call counts as one of the calls; false in files that do not say, where it is kept apart."""

    @field_validator("cuts")
    @classmethod
    def _check_cuts(cls, cuts: list[float]) -> list[float]:
        if cuts[0] > cuts[1]:
            raise ValueError("should have the lower one first")
        return cuts


class DrawModelDocument(Document):
    """A saved model of draws: how the calls of one judge scatter, and how many calls each price buys."""

    schema_: Literal["bonwise.draw_model/1"] = Field(default="bonwise.draw_model/1", alias="schema")
    version: NotBlank
    """Version of bonwise that wrote the file."""
    prior: PriorRecord
    """What is believed about a pool before any further call."""
    call_sd: Positive
    """Standard deviation of one later call, in score units."""
    candidate_sd: NonNegative
    """Standard deviation between the candidates of one prompt; 0 where chance alone explains their differences."""
    low: Number
    """Scores outside are refused: nothing is known of them."""
    high: Number
    """Scores outside are refused: nothing is known of them."""
    max_draws: Annotated[int, Field(ge=2, le=1_000_000)]
    """Draws of one candidate, the first among them, for which `prices` hold."""
    mean_calls: Annotated[list[Positive], Field(min_length=2, max_length=_MOST_POINTS)]
    """Calls per pool, the first draws among them, rising."""
    prices: Annotated[list[NonNegative], Field(min_length=2, max_length=_MOST_POINTS)]
    """Price of a call at which pools like those of the pilot take so many calls on average, falling."""
    prompts: Annotated[Count, Field(ge=1)]
    """What the model was learnt from: prompts, candidates of all prompts together, draws of each candidate."""
    candidates: Annotated[Count, Field(ge=2)]
    """What the model was learnt from: prompts, candidates of all prompts together, draws of each candidate."""
    draws: Annotated[Count, Field(ge=3)]
    """What the model was learnt from: prompts, candidates of all prompts together, draws of each candidate."""
    left_out: Count
    """Prompts without two candidates that had all their draws scored."""

    @classmethod
    def of(cls, model: DrawModel, version: str) -> DrawModelDocument:
        """Return the document of a model, as one version of bonwise writes it."""
        plain: dict[str, Any] = model.to_dict()
        prior = {name: _list(value) for name, value in plain["prior"].items()}
        return cls.model_validate(
            {"version": version, **{name: _list(value) for name, value in plain.items()}, "prior": prior}
        )

    def model(self) -> DrawModel:
        """Return the model that the document holds."""
        prior = self.prior
        return DrawModel(
            DrawPrior(
                prior.beta,
                (prior.cuts[0], prior.cuts[1]),
                (prior.sigma2[0], prior.sigma2[1], prior.sigma2[2]),
                (prior.tau2[0], prior.tau2[1], prior.tau2[2]),
                prior.nu0,
                prior.first_counts,
            ),
            self.call_sd,
            self.candidate_sd,
            self.low,
            self.high,
            self.max_draws,
            tuple(self.mean_calls),
            tuple(self.prices),
            self.prompts,
            self.candidates,
            self.draws,
            self.left_out,
        )

    @field_validator("mean_calls")
    @classmethod
    def _check_rising(cls, calls: list[float]) -> list[float]:
        if any(fewer >= more for fewer, more in pairwise(calls)):
            raise ValueError("should rise from one to the next")
        return calls

    @field_validator("prices")
    @classmethod
    def _check_falling(cls, prices: list[float]) -> list[float]:
        if any(before <= after for before, after in pairwise(prices)):
            raise ValueError("should fall from one to the next")
        return prices

    @model_validator(mode="after")
    def _check_scale(self) -> DrawModelDocument:
        if self.low >= self.high:
            raise ValueError("has a low that is not below its high")
        span = (self.high - self.low) * (1 + _ROUNDING)
        for name, held in (("call_sd", self.call_sd), ("candidate_sd", self.candidate_sd)):
            if held > span:
                raise ValueError(f"has a {name} beyond the distance from low to high")
        if max(self.prior.sigma2) > span**2:
            raise ValueError("has a prior with a sigma2 beyond the squared distance from low to high")
        if not self.low <= self.prior.cuts[0] <= self.prior.cuts[1] <= self.high:
            raise ValueError("has a prior with cuts that are not between low and high")
        return self

    @model_validator(mode="after")
    def _check_curve(self) -> DrawModelDocument:
        if len(self.mean_calls) != len(self.prices):
            raise ValueError(f"has {len(self.mean_calls)} mean_calls for {len(self.prices)} prices")
        if self.candidates < 2 * self.prompts:
            raise ValueError("has fewer than two candidates per prompt: see prompts and candidates")
        least, most = self.candidates / self.prompts, self.max_draws * self.mean_calls[0]
        if self.mean_calls[0] < least * (1 - _ROUNDING) or self.mean_calls[-1] > most * (1 + _ROUNDING):
            raise ValueError("has mean_calls that do not fit its candidates, prompts and max_draws")
        return self


def _list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


MODEL = DrawModelDocument
