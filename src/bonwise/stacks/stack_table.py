"""From a table of several judges to the arrays that a stack is fitted to; what does not fit is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.errors import InputError, UsageError
from bonwise.printable import listed, quoted
from bonwise.stacks.fitted_stack import FeatureKind, FeatureScaling, StackFeature
from bonwise.stacks.procedure import StackPools
from bonwise.stacks.stack_scores import feature_values
from bonwise.stats.sums import Floats
from bonwise.table.cell_scores import candidate_propensities, differ_within_prompts, propensities
from bonwise.table.panel import Panel, lay_out
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.score_table import ScoreTable

__all__ = ["FEATURES", "FEWEST_PROMPTS", "StackTable", "stack_table"]

FEATURES: tuple[FeatureKind, ...] = ("spread", "width", "length")
"""Features that may be asked for beside the scores."""

FEWEST_PROMPTS = 20
"""Prompts with two candidates that are labelled differently, below which no stack is fitted."""

_ALIKE = 1e-9

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StackTable:
    """What a stack is fitted to."""

    table: ScoreTable = field(repr=False)
    panel: Panel = field(repr=False)
    """The cells of the table, with their labels; its scores are those of one of the judges."""
    judges: tuple[str, ...]
    """Those that tell candidates apart."""
    left_out: Mapping[str, str]
    """The other judges, and why."""
    missing: Mapping[str, int]
    """Cells without a score, by judge."""
    values: Floats = field(repr=False)
    """NaN where there is none."""
    scaling: FeatureScaling = field(repr=False)
    standardised: Floats = field(repr=False)
    labelled: _Mask = field(repr=False)
    """The labelled cells of prompts that have two or more of them, each with a score."""
    prompts: _Mask = field(repr=False)
    """These prompts."""
    whole: _Mask = field(repr=False)
    """Of these prompts, those of which every candidate is labelled and scored."""
    weights: Floats | None = field(default=None, repr=False)
    """What pairs are weighted by, from the propensities of the table."""

    @property
    def owners(self) -> tuple[int, ...]:
        """The judge that each feature is of, as a position in `judges`; -1 for none."""
        return tuple(self.judges.index(one.judge) if one.judge else -1 for one in self.scaling.features)

    @property
    def own(self) -> tuple[int, ...]:
        """The feature that is each judge's score."""
        features = self.scaling.features
        return tuple(features.index(StackFeature(judge, "score")) for judge in self.judges)

    def pools(self) -> StackPools:
        """Return the labelled candidates."""
        panel, cells = self.panel, self.labelled
        owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)[cells]
        return StackPools(
            self.standardised[cells],
            self.values[cells][:, list(self.own)],
            self.own,
            panel.labels[cells],
            np.bincount(owner, minlength=len(panel.sizes))[self.prompts].astype(np.int64),
            None if panel.clusters is None else panel.clusters[self.prompts],
            self.weights,
        )


def stack_table(table: ScoreTable, reading: ReadingOptions, kinds: Sequence[str] = ()) -> StackTable:
    """Lay a table out for a stack.

    Parameters
    ----------
    table : ScoreTable
        With labels.
    reading : ReadingOptions
    kinds : sequence of str
        Features beside the scores, of `FEATURES`.

    Raises
    ------
    bonwise.errors.UsageError
        A feature that does not exist, or that the table has nothing of.
    bonwise.errors.InputError
        Fewer than two judges tell candidates apart, or too few prompts have labels that differ.
    """
    further = _kinds(kinds)
    panels = {one.judge: one for one in lay_out(table, exclude=reading.exclude, shape=reading.shape, complete=False)}
    anyone = next(iter(panels.values()))
    judges, left_out = _telling(table, panels)
    if len(judges) < 2:
        raise InputError(
            f"{table.source}: a stack needs two judges that tell candidates apart, and there {_are(len(judges))}",
            hint=_why(left_out) or "score the same candidates with another judge too",
        )
    features = [StackFeature(judge, "score") for judge in judges]
    for kind in further:
        features += _further(table, panels, judges, kind)
    values = feature_values(table, panels, features)
    scaling = FeatureScaling.of(tuple(features), values, anyone.sizes)
    labelled, prompts, whole = _labelled(anyone, np.asarray((~np.isnan(values[:, : len(judges)])).any(axis=1)))
    _refuse_few(table, anyone, labelled)
    return StackTable(
        table,
        anyone,
        judges,
        left_out,
        {judge: int(np.isnan(panels[judge].scores).sum()) for judge in judges},
        values,
        scaling,
        scaling.standardised(values, anyone.sizes),
        labelled,
        prompts,
        whole,
        _weights(table, anyone, labelled, prompts),
    )


def _kinds(names: Sequence[str]) -> list[FeatureKind]:
    """Return features by the names that were given, each once."""
    unknown = [name for name in names if name not in FEATURES]
    if unknown:
        raise UsageError(f"no feature is called {quoted(unknown[0])}", hint=f"the features are {listed(FEATURES)}")
    return [kind for kind in FEATURES if kind in names]


def _are(count: int) -> str:
    return "is one" if count else "is none"


def _why(left_out: Mapping[str, str]) -> str:
    return "; ".join(f"{quoted(judge)} {reason}" for judge, reason in list(left_out.items())[:3])


def _telling(table: ScoreTable, panels: Mapping[str, Panel]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the judges that tell candidates apart, each once; of the others, why they do not."""
    found: dict[str, Floats] = {}
    left_out: dict[str, str] = {}
    for judge in table.judges:
        panel = panels[judge]
        one = (StackFeature(judge, "score"),)
        scaling = FeatureScaling.of(one, panel.scores[:, None], panel.sizes)
        if not scaling.scales[0] > 0:
            scored = bool((~np.isnan(panel.scores)).any())
            left_out[judge] = "gives all candidates of each prompt the same score" if scored else "has no scores"
            continue
        column = scaling.standardised(panel.scores[:, None], panel.sizes)[:, 0]
        twin = next((other for other, known in found.items() if np.allclose(known, column, atol=_ALIKE)), None)
        if twin is not None:
            left_out[judge] = f"says the same as {quoted(twin)}"
            continue
        found[judge] = column
    return tuple(found), left_out


def _further(
    table: ScoreTable, panels: Mapping[str, Panel], judges: Sequence[str], kind: FeatureKind
) -> list[StackFeature]:
    """Return the features of a kind that vary within prompts."""
    wanted = [StackFeature("", "length")] if kind == "length" else [StackFeature(judge, kind) for judge in judges]
    sizes = next(iter(panels.values())).sizes
    scales = FeatureScaling.of(tuple(wanted), feature_values(table, panels, wanted), sizes).scales
    found = [one for one, scale in zip(wanted, scales, strict=True) if scale > 0]
    if not found:
        needs = {
            "spread": "several draws of each candidate, in columns draw_0, draw_1 ... or a column draw",
            "width": "intervals, in columns low and high or ci_width",
            "length": "a column length, or the texts in a column text or response",
        }
        raise UsageError(f"{table.source}: the feature {kind} says nothing there", hint=f"it needs {needs[kind]}")
    return found


def _labelled(panel: Panel, scored: _Mask) -> tuple[_Mask, _Mask, _Mask]:
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    usable = ~np.isnan(panel.labels) & scored
    counts = np.bincount(owner[usable], minlength=len(panel.sizes))
    prompts = counts >= 2
    return usable & prompts[owner], prompts, (counts == panel.sizes)[prompts]


def _refuse_few(table: ScoreTable, panel: Panel, labelled: _Mask) -> None:
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)[labelled]
    labels = panel.labels[labelled]
    low, high = np.full(len(panel.sizes), np.inf), np.full(len(panel.sizes), -np.inf)
    np.minimum.at(low, owner, labels)
    np.maximum.at(high, owner, labels)
    apart = int((high > low + _ALIKE).sum())
    if apart < FEWEST_PROMPTS:
        what = "no prompt has" if not apart else f"{apart} prompt{'s have' * (apart > 1) or ' has'}"
        raise InputError(
            f"{table.source}: {what} two candidates with different labels, and a stack needs {FEWEST_PROMPTS}",
            hint="label two or more candidates of further prompts; bonwise labels draw says which",
        )


def _weights(table: ScoreTable, panel: Panel, labelled: _Mask, prompts: _Mask) -> Floats | None:
    """Return the weight of each labelled cell: of a pair the product counts, which is 1 / chance of its prompt."""
    if "propensity" not in table.frame.columns:
        return None
    if differ_within_prompts(table):
        return 1 / candidate_propensities(table, panel)[labelled]
    chances = propensities(table, panel.prompt_ids, prompts)
    return 1 / np.sqrt(np.repeat(chances, panel.sizes)[labelled])
