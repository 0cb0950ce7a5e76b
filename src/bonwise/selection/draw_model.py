"""How the calls of a judge scatter: learnt from a pilot, kept as ``bonwise.draw_model/1``, or assumed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, field_validator, model_validator

from bonwise.arrays import Floats
from bonwise.errors import ColumnError, UsageError
from bonwise.loading import read_document
from bonwise.release import release
from bonwise.results import Count, Document, NonNegative, NotBlank, Number, Positive, Record
from bonwise.selection.learnt import FirstCallRecord, LearnDocument, LearnSettings, PriceOfCalls
from bonwise.selection.learnt_draws import DrawModel
from bonwise.stats import draw_prior
from bonwise.table.writing import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.table.score_table import ScoreTable

_LEAST_SPAN, _MOST_SPAN = 1e-9, 1e50
"""Of scores: less is no price that can be written, and of more the variances of beliefs are no doubles."""

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
    high: Number
    """Both: scores outside are refused: nothing is known of them."""
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
    judge: str = ""
    """Whose draws they were; empty in files that do not say."""

    @classmethod
    def of(cls, model: DrawModel, version: str) -> DrawModelDocument:
        """Return the document of a model, as one version of bonwise writes it."""
        stated = model.to_dict()
        prior = {name: _list(value) for name, value in stated.pop("prior").items()}
        plain = {name: _list(value) for name, value in stated.items()}
        return cls.model_validate({"version": version, "prior": prior, **plain})

    def model(self) -> DrawModel:
        """Return the model that the document holds."""
        return DrawModel.from_dict(self.to_dict())

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
        if math.sqrt(max(self.prior.sigma2)) > span:  # the square of a distance may be beyond what a double holds
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


_KEYS = ("prompt_id", "candidate")
_HINT = "learn it again: bonwise study draws SCORES.csv --save FILE"


class Pilot(NamedTuple):
    """Draws of one judge."""

    draws: Floats
    """The first call of each candidate, then later ones; NaN for none, also where a pool is smaller."""
    judge: str
    """Whose they are."""
    first: str
    """Where the first calls stand: ``draw_0``, or the name of a judge."""


def save_model(model: DrawModel, path: str | Path) -> None:
    """Write a model as a small JSON file, whole or not at all."""
    document = DrawModelDocument.of(model, release()).to_dict()
    write_whole(Path(path), json.dumps(document, indent=1, allow_nan=False) + "\n")


def load_model(path: str | Path) -> DrawModel:
    """Read what `save_model` wrote; where a file holds something else, a `FileError` names the key that is wrong."""
    return read_document(path, DrawModelDocument, hint=_HINT).model()


@cache
def assumed_model() -> DrawModel:
    """Return what is assumed of an unknown judge: scores that scatter as the presets ``pilot`` and ``one_model``."""
    text = resources.files("bonwise.selection").joinpath("assumed_draws.json").read_text(encoding="utf-8")
    return DrawModel.from_dict(json.loads(text))


def learnt_from(
    table: ScoreTable, *, judge: str | None = None, max_draws: int = 8, seed: int = 0
) -> tuple[Pilot, DrawModel]:
    """Learn from one judge's draws in a table, not its labels; settings as of `read_pilot` and `DrawModel.fit`."""
    pilot = read_pilot(table, judge)
    span = float(np.nanmax(pilot.draws) - np.nanmin(pilot.draws))
    if not (span == 0 or _LEAST_SPAN <= span <= _MOST_SPAN):
        most = "little" if span < 1 else "much"
        raise UsageError(
            f"{table.source}: the draws span {span:.3g}, too {most} for prices of calls in their unit",
            hint=f"give scores in a unit in which they span {_LEAST_SPAN:g} to {_MOST_SPAN:g}",
        )
    try:
        model = DrawModel.fit(pilot.draws, max_draws=max_draws, seed=seed)
        return pilot, replace(model, judge=pilot.judge.partition(",of=")[2] or pilot.judge)
    except ValueError as error:
        hint = "redraw at a temperature above 0, each candidate 3 times or more"
        raise UsageError(f"{table.source}: nothing can be learnt: {error}", hint=hint) from error


_PASSES = (1.25, 1.5, 2.0, 3.0, 4.0)
"""Mean calls in first passes, of which prices are shown."""


def learnt_document(table: ScoreTable, *, mean_calls: float | None, **asked: Any) -> LearnDocument:
    """Say what a table of draws teaches, see `bonwise.selection.learning.learn`."""
    pilot, model = learnt_from(table, **asked)
    least, most = model.mean_calls[0], model.mean_calls[-1]
    usual = [least * passes for passes in _PASSES if least * passes <= most]
    try:
        prices = [_price(calls, model) for calls in (usual if mean_calls is None else [float(mean_calls)])]
    except ValueError as error:
        raise UsageError(f"--mean-calls is {mean_calls:g}", hint=str(error)) from error
    tested = draw_prior.first_call_test(pilot.draws)
    mean_p, variance_p, covariance_p = tested.p_values
    return LearnDocument(
        **{name: getattr(model, name) for name in LearnDocument.model_fields if hasattr(model, name)}
        | {
            "source": table.source,
            "judge": pilot.judge,
            "first_calls": pilot.first,
            "prompts_left_out": model.left_out,
            "beta": model.prior.beta,
            "prices": prices,
            "first_call": FirstCallRecord(
                averaged_in=tested.averaged_in,
                reason=tested.reason,
                p=tested.p,
                mean_p=mean_p,
                variance_p=variance_p,
                covariance_p=covariance_p,
                prompts=tested.prompts,
            ),
            "settings": LearnSettings(max_draws=model.max_draws, version=release()),
        }
    ).computed_from(model)


def _price(calls: float, model: DrawModel) -> PriceOfCalls:
    lower, higher, share = model.prices_for(calls)
    return PriceOfCalls(mean_calls=calls, lower_price=lower, higher_price=higher, share_at_lower=share)


def read_pilot(table: ScoreTable, judge: str | None = None) -> Pilot:
    """Take the draws of one judge out of a table.

    Draws are in columns ``draw_0``, ``draw_1`` ..., or in rows that the column ``draw`` tells apart. Where the table
    also holds the scores of the judge that was resampled, these are the first calls and all draws later ones;
    otherwise ``draw_0`` is the first call. There must be three draws of each candidate, the first call among them
    (`ColumnError`). Where several judges have draws, `judge` names one (`UsageError`).
    """
    every = {str(name): _draws(rows) for name, rows in table.frame.groupby("judge", observed=True)}
    drawn = {name: draws for name, draws in every.items() if draws.shape[1] > 1}
    if not drawn:
        raise ColumnError(
            f"{table.source}: no candidate has more than one draw",
            hint="redraw the pools: bonwise judge POOLS --judge resampled,draws=5,of=JUDGE --out SCORES.csv",
        )
    chosen = _chosen(drawn, judge, table.source)
    wide, first = drawn[chosen], "draw_0"
    single = table.frame[table.frame["judge"] == chosen.partition(",of=")[2]]
    if len(single) and single["judge_score"].notna().any():
        first = str(single["judge"].iloc[0])
        scores = _keyed(single).set_index(list(_KEYS))["judge_score"].reindex(wide.index)
        wide = wide.copy()
        wide.insert(0, "first", scores)
    if wide.shape[1] < 3:
        raise ColumnError(f"{table.source}: {wide.shape[1]} draws of a candidate", hint="learn from 3 or more")
    return Pilot(_stacked(wide), chosen, first)


def _draws(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per candidate and one column per draw."""
    wide = sorted((c for c in rows.columns if c.startswith("draw_") and c[5:].isdigit()), key=lambda c: int(c[5:]))
    keyed = _keyed(rows)
    if wide:
        draws = keyed.set_index(list(_KEYS))[wide]
        return draws.loc[:, draws.notna().any()]
    ordered = keyed.assign(number=keyed.groupby(list(_KEYS)).cumcount())
    return ordered.pivot_table(index=_KEYS, columns="number", values="judge_score", sort=False, dropna=False)


def _keyed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose prompts and candidates are numbers, which the table gives to all its rows."""
    return rows.assign(**{key: rows[key].cat.codes for key in _KEYS})


def _chosen(drawn: Iterable[str], judge: str | None, source: str) -> str:
    names = list(drawn)
    if judge is None and len(names) == 1:
        return names[0]
    if judge is None:
        raise UsageError(f"{source}: draws of {len(names)} judges", hint=f"name one: --judge {names[0]}")
    if judge not in names:
        raise UsageError(f"{source}: no draws of the judge {judge!r}", hint=f"choose from {', '.join(names)}")
    return judge


def _stacked(wide: pd.DataFrame) -> Floats:
    """Return prompts x candidates x draws, smaller pools filled up with NaN."""
    values: Any = wide.to_numpy(dtype=np.float64)
    prompt = wide.index.get_level_values(0)
    codes = {name: at for at, name in enumerate(dict.fromkeys(prompt))}
    row = np.array([codes[name] for name in prompt])
    position = wide.groupby(level=0, sort=False).cumcount().to_numpy()
    stacked = np.full((len(codes), int(position.max()) + 1, values.shape[1]), np.nan)
    stacked[row, position] = values
    return stacked
