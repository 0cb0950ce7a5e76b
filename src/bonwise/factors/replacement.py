"""Whether one model can replace another: on which prompts it loses less than a margin, and a rule for new prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator
from scipy import stats

from bonwise.arrays import Floats, Mask
from bonwise.errors import InputError, UsageError
from bonwise.factors import difference_bands, human_view, prompt_columns, prompt_properties
from bonwise.factors.result_models import FactorComparison, ReplacementRecord
from bonwise.printable import listed, quoted
from bonwise.results import Confidence, Count, Document, NonNegative, Number, Positive, Record
from bonwise.table import checks, identifiers, reading

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource

FEWEST_HUMAN = 20
"""Human ratings of each of the two models without which nothing is said."""

_DRAWS, _NEAR = 4000, 1e-9


class RouterColumn(Record):
    """A column by which prompts are routed."""

    column: str
    kind: Literal["tag", "category", "number", "length"]
    level: str
    """Of a category; blank otherwise."""
    base: str
    """The category that has no column of its own; blank otherwise."""
    centre: Number
    scale: Positive
    """Both: a number, or the doublings of a length, counts less the centre and over the scale."""
    low: Number
    high: Number
    """Both: the smallest and the largest that was fitted, in these units."""


class ModelRouter(Document):
    """A rule by which new prompts go to the model that replaces another, or stay.

    A prompt with the columns ``x`` goes to the replacement if ``x'b - q sqrt(x'Vx) > -margin``: prompts like it lose
    less than the margin on average. ``q`` makes this hold for all fitted kinds of prompts together.
    """

    schema_: Literal["bonwise.factor_router/1"] = Field(default="bonwise.factor_router/1", alias="schema")
    model: str
    """The replacement."""
    other: str
    margin: Positive
    """In logits."""
    confidence: Confidence
    columns: Annotated[list[RouterColumn], Field(min_length=1)]
    coefficients: list[Number]
    """b: the constant first."""
    covariance: list[list[Number]]
    """V."""
    multiple: Positive
    """q."""
    prompts: Count
    """Behind the rule."""
    prices: dict[str, NonNegative]
    """Of one answer of each model; empty where they are not known."""
    human: str
    source: str
    version: str

    frame_columns = ("column", "level", "kind", "base")
    frame_of = "columns"

    @model_validator(mode="after")
    def _sizes_agree(self) -> ModelRouter:
        width = len(self.columns) + 1
        if len(self.coefficients) != width or [len(row) for row in self.covariance] != [width] * width:
            raise ValueError(f"should have {width} coefficients and a covariance of as many rows and columns")
        return self

    def lower(self, design: Floats) -> Floats:
        """Return the least difference of prompts with these columns, (prompts,), the constant first."""
        spread = np.sqrt(np.maximum(np.einsum("pk,kl,pl->p", design, np.array(self.covariance), design), 0))
        return np.asarray(design @ np.array(self.coefficients) - self.multiple * spread)

    def choose(self, prompts: RowSource) -> pd.DataFrame:
        """Return ``prompt_id``, ``model``, ``lower`` and ``reason`` of a table of prompts with the rule's columns.

        ``lower`` is by how much the replacement is better at least, on average over such prompts. A prompt without a
        value, with a category that was not fitted, or a number beyond those that were, stays, and ``reason`` says it.
        """
        raw, source = reading.open_frame(prompts, "prompts")
        identifiers.require_columns(raw, ("prompt_id",), source)
        ids = [str(name) for name in identifiers.as_categories(raw["prompt_id"], role="prompt_id", source=source)]
        names = list(dict.fromkeys(column.column for column in self.columns))
        known = {prompt.name: prompt for prompt in prompt_properties.read_prompt_properties(raw, ids, names)}
        design, reason = np.ones((len(ids), len(self.columns) + 1)), np.full(len(ids), "", dtype=object)
        for at, column in enumerate(self.columns, 1):
            levels = {level for of in self.columns if of.column == column.column for level in (of.level, of.base)}
            values, unknown = _values(column, known.get(column.column), levels, len(ids), source)
            design[:, at] = np.nan_to_num(values)
            reason[unknown & (reason == "")] = f"{column.column} is unknown or beyond what was fitted"
        lower = np.where(reason == "", self.lower(design), np.nan)
        model = np.where(lower > -self.margin, self.model, self.other)
        return pd.DataFrame({"prompt_id": ids, "model": model, "lower": lower, "reason": reason})


def _values(
    column: RouterColumn, of: prompt_properties.PromptProperty | None, levels: set[str], count: int, source: str
) -> tuple[Floats, Mask]:
    """Return a column of new prompts, and of which the rule knows nothing."""
    if of is None:
        return np.zeros(count), np.ones(count, dtype=bool)
    if of.kind != column.kind and {of.kind, column.kind} != {"tag", "number"}:
        raise InputError(
            f"{source}: column {quoted(column.column)} is a {of.kind}, and the router was made of a {column.kind}",
            hint="give the values that the column had in the table of the fit",
        )
    raw = of.values  # noqa: PD011 - an array
    if column.kind == "category":
        names = [None if np.isnan(place) else of.levels[int(place)] for place in raw]
        return np.array([float(name == column.level) for name in names]), np.array([n not in levels for n in names])
    values = ((np.log2(np.maximum(raw, 1)) if column.kind == "length" else raw) - column.centre) / column.scale
    return values, ~((values >= column.low - _NEAR) & (values <= column.high + _NEAR))


def with_replacement(
    view: human_view.HumanView,
    comparison: FactorComparison,
    draws: Floats,
    margin: float,
    *,
    prompts: RowSource | None = None,
    tags: Sequence[str] | None = None,
    prices: Mapping[str, float] | None = None,
) -> FactorComparison:
    """Add to a comparison on which prompts its model loses less than the margin; with tags also a router.

    `draws` are of the differences, (draws, prompts). Prompts whose simultaneous interval lies above minus the margin
    are shown to be such, all together.
    """
    checks.check_number("equivalence", margin, low=1e-6, high=100)
    _refuse(view, (comparison.model, comparison.other), prices)
    rows = comparison.prompts
    shown = [row.band_low > -margin for row in rows]
    share, low, high = share_within(draws, margin, view.confidence, view.seed)
    ties = [safe for row, safe in zip(rows, shown, strict=True) if row.band_low <= 0 <= row.band_high]
    router, notes, parts = None, list[str](), dict[str, Any]()
    asked = prompts is not None or tags is not None
    if asked or any(view.prompt_categories):
        try:
            properties, notes = prompt_columns.properties_of_prompts(view, prompts, tags)
            columns = prompt_columns.PromptColumns.of(properties, len(view.prompts))
            router = _router(view, comparison, columns, margin, dict(prices or {}))
            parts, notes = _routed(router, columns, draws, view.seed), [*notes, *columns.notes]
        except InputError as error:
            if asked:
                raise
            notes = [f"No router: {error}."]
    record = ReplacementRecord(
        margin=margin,
        share=share,
        low=low,
        high=high,
        shown=sum(shown),
        shown_share=sum(shown) / len(shown),
        worse=sum(row.band_high < -margin for row in rows),
        ties=len(ties),
        ties_not_shown=ties.count(False),
        **parts,
    )
    added = comparison.model_copy(update={"replacement": record, "notes": [*comparison.notes, *notes]})
    return added if router is None else added.computed_from(router)


def _refuse(view: human_view.HumanView, names: tuple[str, str], prices: Mapping[str, float] | None) -> None:
    for name in names:
        if (count := view.human_ratings[view.model_at(name)]) < FEWEST_HUMAN:
            raise UsageError(
                f"{quoted(name)} has {count} human ratings, too few to say whether a model can replace another",
                hint=f"have people rate at least {FEWEST_HUMAN} answers of each of the two",
            )
    if view.interval is not None and view.interval != "laplace_gibbs":
        held = difference_bands.COVERS[view.interval]
        raise UsageError(
            f"the interval {view.interval} holds {held:.0%} of the true differences: too many prompts would pass",
            hint="fit with --interval laplace_gibbs",
        )
    if prices and (set(prices) != set(names) or min(prices.values()) < 0):
        hint = f"give the price of an answer of {names[0]} and of {names[1]}, at least 0"
        raise UsageError(f"prices are of {listed(prices)}", hint=hint)


def _router(
    view: human_view.HumanView,
    comparison: FactorComparison,
    columns: prompt_columns.PromptColumns,
    margin: float,
    prices: dict[str, float],
) -> ModelRouter:
    """Return the rule: least squares of the differences on the columns, freed of the pull towards the mean."""
    weights = np.eye(len(view.models))
    contrast = weights[view.model_at(comparison.model)] - weights[view.model_at(comparison.other)]
    fitted = view.prompt_factors(contrast).only(columns.rows).regression(columns.design)
    degrees = len(columns.rows) - columns.design.shape[1]
    kinds = np.unique(columns.design, axis=0)
    return ModelRouter(
        model=comparison.model,
        other=comparison.other,
        margin=margin,
        columns=[
            RouterColumn(
                column=column.name,
                **{key: getattr(column, key) for key in ("kind", "level", "base", "centre", "scale")},
                low=float(np.min(column.values)),
                high=float(np.max(column.values)),
            )
            for column in columns.columns
        ],
        coefficients=fitted.estimate.tolist(),
        covariance=fitted.covariance.tolist(),
        multiple=one_sided_multiple(kinds, fitted.covariance, view.confidence, degrees, view.seed),
        prompts=len(columns.rows),
        prices=prices,
        **view.origin,
    )


def one_sided_multiple(kinds: Floats, covariance: Floats, confidence: float, degrees: int, seed: int) -> float:
    """Return how many standard errors below their estimates all ``kinds @ b`` lie together, by Student's law."""
    values, vectors = np.linalg.eigh(covariance)
    reach = kinds @ (vectors * np.sqrt(np.maximum(values, 0)))
    size = np.linalg.norm(reach, axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((_DRAWS, kinds.shape[1])) / np.sqrt(rng.chisquare(degrees, (_DRAWS, 1)) / degrees)
    largest = (drawn @ (reach / np.where(size > 0, size, 1.0)).T).max(axis=1)
    return max(float(np.quantile(largest, confidence)), float(stats.t.ppf(confidence, degrees)))


def share_within(draws: Floats, margin: float, confidence: float, seed: int) -> tuple[float, float, float]:
    """Return the share of prompts above minus the margin, and its interval by draws and by prompts as a sample."""
    shares, count = (draws > -margin).mean(axis=1), draws.shape[1]
    again = np.random.default_rng(seed).binomial(count, np.resize(shares, _DRAWS)) / count
    low, high = np.quantile(again, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(np.clip(shares.mean(), low, high)), float(low), float(high)


def _routed(router: ModelRouter, columns: prompt_columns.PromptColumns, draws: Floats, seed: int) -> dict[str, Any]:
    """Return how many of the fitted prompts a rule sends on, on how many of these it holds, and the price."""
    sent = router.lower(columns.design) > -router.margin
    parts: dict[str, Any] = {"routed": int(sent.sum()), "routed_of": len(sent)}
    if sent.any():
        share, low, _ = share_within(draws[:, columns.rows[sent]], router.margin, router.confidence, seed)
        parts |= {"routed_share": share, "routed_low": low}
    if router.prices:
        ours, others = (router.prices[name] for name in (router.model, router.other))
        parts |= {"cost": float(others + sent.mean() * (ours - others)), "cost_of_other": float(others)}
    return parts
