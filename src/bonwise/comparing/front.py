"""Two sets of logged picks, paired by prompt: what each is worth, what it took, and the differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import numpy as np
import pandas as pd

from bonwise.auditing.comparison import BestChoice, Compared, choices, differing_by_nothing, pick_alike, turned
from bonwise.auditing.judge_metrics import panel_influences
from bonwise.auditing.labelling import label_state
from bonwise.auditing.logged_picks import logged_panels, logged_table, picks_made, read_picks
from bonwise.auditing.settings import Settings
from bonwise.comparing.result import CompareDocument, CompareSettings, SideRecord
from bonwise.documented import DocumentedResult
from bonwise.errors import InputError
from bonwise.estimates import estimate_records
from bonwise.release import release
from bonwise.report.numbers import counted
from bonwise.results import given
from bonwise.stats.catalog import OF_PICKS
from bonwise.stats.efficiency import Spent, efficiency, efficiency_difference
from bonwise.stats.estimate import Estimate, under_method
from bonwise.stats.estimation import difference, estimate
from bonwise.stats.sums import Floats, Sums, prompt_sums
from bonwise.table.checks import CONFIDENCE
from bonwise.table.facts import DroppedPrompt, labels_left_out, unused_labels
from bonwise.table.panel import LabelsInPart, Panel, PromptLeftOut
from bonwise.table.picks import Pick, Picks
from bonwise.table.reading import RowSource
from bonwise.table.reading_options import PickKeywords, ReadingOptions, opens_a_table

__all__ = ["SAME_POOLS", "PickComparison", "PicksSide", "compare"]

SAME_POOLS = "the same pools"

_FIRST, _SECOND = "first", "second"

_WHOLE_PROMPTS = (
    "two sets of picks are compared on prompts that are labelled whole. bonwise audit --design cells uses them for "
    "each set, if the labelled candidates are a random sample of all."
)

_OF_POOLS = tuple(e.name for e in OF_PICKS if not e.on_scores)
"""What does not depend on the picks: its difference is 0 whatever the prompts."""


@dataclass(frozen=True, eq=False)
class PicksSide:
    """One of two sets of picks, on the prompts that both share."""

    picks: Picks
    metrics: Mapping[str, Estimate] = field(repr=False)
    """What the picks are worth and what they took."""
    calls: int | None
    """Sums over the compared prompts; None where unknown."""
    tokens: int | None
    """Sums over the compared prompts; None where unknown."""
    only_here: tuple[str, ...] = field(default=(), repr=False)
    """Prompts that the other set does not hold."""
    prompts: tuple[str, ...] = field(default=(), repr=False)
    """Those behind the figures."""

    def record(self) -> SideRecord:
        """Return this side's part of the document."""
        return SideRecord(
            source=self.picks.source,
            picks=picks_made(self.picks, self.prompts),
            calls=self.calls,
            tokens=self.tokens,
            only_here=list(self.only_here),
            metrics=estimate_records(self.metrics),
        )


@dataclass(frozen=True, eq=False)
class PickComparison(DocumentedResult):
    """Two sets of picks on the same prompts."""

    first: PicksSide
    second: PicksSide
    differences: Mapping[str, Estimate] = field(repr=False)
    """First minus second, paired by prompt. What depends on the pools alone differs by 0, without an interval; so
    does what depends on the picks where these are alike on every prompt.
    """
    prompts: int
    """Prompts behind all figures."""
    settings: CompareSettings = field(repr=False)
    dropped: tuple[PromptLeftOut, ...] = field(default=(), repr=False)
    """Prompts of both sets that could not be compared, and why."""
    in_part: LabelsInPart = field(default=LabelsInPart(0, 0, 0), repr=False)
    """Labels of prompts that are labelled in part: in no figure."""
    choice: Mapping[str, BestChoice] = field(default_factory=dict, repr=False)
    """The best by ``recovery`` and by ``gain``, with intervals that hold after the choice and intervals that hold
    together; empty where fewer than two are compared.
    """

    def __repr__(self) -> str:
        files = f"{self.first.picks.source} and {self.second.picks.source}"
        return f"<PickComparison of {files} on {counted(self.prompts, 'prompt')}>"

    def document(self) -> CompareDocument:
        """Return the document of schema ``bonwise.compare/1``."""
        return CompareDocument(
            prompts=self.prompts,
            first=self.first.record(),
            second=self.second.record(),
            differences=estimate_records(self.differences),
            dropped=[DroppedPrompt(prompt_id=one.prompt_id, reason=one.reason) for one in self.dropped],
            settings=self.settings,
            **given(
                unused_labels=unused_labels(self.in_part.told(_WHOLE_PROMPTS)),
                choice={metric: one.record() for metric, one in self.choice.items()} or None,
            ),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric: both sides and first minus second, paired by prompt.

        Columns: ``metric``; ``first``, ``second`` and ``difference``, each with ``_low`` and ``_high``;
        ``difference_se``, ``n`` prompts, and ``reason``: why the difference, or its interval, is missing.
        """
        return super().to_frame()


@opens_a_table
def compare(
    first: str | Path,
    second: str | Path,
    *,
    labels: RowSource,
    confidence: float = CONFIDENCE,
    as_picked: bool = False,
    **reading: Unpack[PickKeywords],
) -> PickComparison:
    """Compare two sets of logged picks against the same oracle labels.

    Parameters
    ----------
    first, second : str or pathlib.Path
        Files of picks, as ``bonwise select`` writes them.
    labels : str, pathlib.Path, pandas.DataFrame or rows as mappings
        Labels, joined on prompt and candidate.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    as_picked : bool
        Of logged picks: take what the seed drew among equals, not its expectation.
    **reading
        How the file of labels is read, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    PickComparison

    Raises
    ------
    bonwise.errors.InputError
        A line that is not a pick, labels that fit nothing, or no prompt that both sets share.
    """
    options = ReadingOptions.of(compare, reading, labels=labels)
    settings = Settings(confidence=confidence, shape=options.shape)
    sides = read_picks(first, as_picked=as_picked), read_picks(second, as_picked=as_picked)
    table = logged_table([(_FIRST, sides[0]), (_SECOND, sides[1])], options)
    alone = _alone(sides[0], sides[1]), _alone(sides[1], sides[0])
    reasons = _reasons(*sides)
    panels = logged_panels(table, [(_FIRST, reasons), (_SECOND, reasons)], options.shape)
    common, method, in_part = _common(panels, sides)
    dropped = {one.prompt_id: one for panel in common for one in panel.dropped}
    strangers = {*alone[0], *alone[1]}
    described = CompareSettings(
        confidence=confidence,
        shape=common[0].shape,
        version=release(),
        **given(labels_left_out=labels_left_out(table.labels_left_out)),
    )
    first_side, second_side, differences = _compared(sides, common, alone, settings, method)
    choice = _choice((first_side, second_side), common, differences, settings)
    return PickComparison(
        first_side,
        second_side,
        differences,
        len(common[0].sizes),
        described,
        tuple(one for prompt, one in sorted(dropped.items()) if prompt not in strangers),
        in_part,
        choice,
    )


def _choice(
    sides: tuple[PicksSide, PicksSide],
    panels: tuple[Panel, Panel],
    differences: Mapping[str, Estimate],
    settings: Settings,
) -> dict[str, BestChoice]:
    """Choose the better of both by recovery and by gain, with intervals that hold after the choice."""

    def difference(first: str, second: str, metric: str) -> Estimate | None:
        return differences[metric] if (first, second) == (_FIRST, _SECOND) else turned(differences[metric])

    compared = {
        name: Compared(side.metrics, panel_influences(panel, prompt_sums(panel.scores, panel.labels, panel.sizes)))
        for name, side, panel in zip((_FIRST, _SECOND), sides, panels, strict=True)
    }
    return choices(compared, difference, settings.confidence, seed=settings.seed)


def _alone(mine: Picks, other: Picks) -> tuple[str, ...]:
    theirs = {pick.prompt_id for pick in other.picks}
    return tuple(pick.prompt_id for pick in mine.picks if pick.prompt_id not in theirs)


def _reasons(first: Picks, second: Picks) -> dict[str, str]:
    """Say of each prompt that cannot be compared why."""
    pools = {pick.prompt_id: set(pick.ids) for pick in first.picks}
    found = {
        pick.prompt_id: "the two files name different candidates"
        for pick in second.picks
        if pick.prompt_id in pools and pools[pick.prompt_id] != set(pick.ids)
    }
    for picks in (first, second):
        found |= {prompt: f"{reason} ({picks.source})" for prompt, reason in picks.reasons.items()}
    return found


def _common(panels: tuple[Panel, ...], sides: tuple[Picks, Picks]) -> tuple[tuple[Panel, Panel], str, LabelsInPart]:
    """Return both panels on the labelled prompts that they share, and the labels of those that are no such prompt."""
    first, second = panels
    shared = first.keep(first.prompt_ids.isin(second.prompt_ids))
    if not len(shared.sizes):
        raise InputError(
            f"{sides[0].source} and {sides[1].source}: no prompt with a pick in both files",
            hint="both files must name prompts and candidates alike",
        )
    labelling = label_state(shared)
    if not labelling.labelled.any():
        raise InputError(
            f"{sides[0].source} and {sides[1].source}: no prompt of both has labels for all its candidates",
            hint="label all candidates of a prompt",
        )
    left = labelling.panel.keep(labelling.labelled)
    both = left, second.keep(second.prompt_ids.isin(left.prompt_ids))
    return both, labelling.method, LabelsInPart.of_panel(shared)


def _compared(
    sides: tuple[Picks, Picks],
    panels: tuple[Panel, Panel],
    alone: tuple[tuple[str, ...], tuple[str, ...]],
    settings: Settings,
    method: str,
) -> tuple[PicksSide, PicksSide, dict[str, Estimate]]:
    rule = settings.rule(panels[0].labels, panels[0].clusters)
    sums = [prompt_sums(panel.scores, panel.labels, panel.sizes) for panel in panels]
    spent = [_spent(picks, panel, mine) for picks, panel, mine in zip(sides, panels, sums, strict=True)]
    worth = [estimate(OF_PICKS, mine, rule) for mine in sums]
    less = difference([e for e in OF_PICKS if e.on_scores], sums[0], sums[1], rule)
    if pick_alike(panels[0].scores, panels[1].scores, panels[0].sizes):
        less = differing_by_nothing(less)
    differences = {
        **{name: Estimate(0.0, None, None, None, worth[0][name].n, None, reason=SAME_POOLS) for name in _OF_POOLS},
        **less,
        **efficiency_difference(spent[0], spent[1], settings.confidence),
    }
    first, second = (
        PicksSide(
            picks,
            under_method({**mine, **efficiency(cost, settings.confidence)}, method),
            _total(cost.answers),
            _total(cost.tokens),
            only,
            tuple(panels[0].prompt_ids),
        )
        for picks, mine, cost, only in zip(sides, worth, spent, alone, strict=True)
    )
    return first, second, under_method(differences, method)


def _spent(picks: Picks, panel: Panel, sums: Floats) -> Spent:
    t = Sums(*sums)
    by_prompt = {pick.prompt_id: pick for pick in picks.picks}
    mine = [by_prompt[prompt] for prompt in panel.prompt_ids]
    said = any(pick.tokens is not None for pick in mine)
    return Spent(
        t.J - t.R,
        t.M - t.R,
        _counts(mine, "answers"),
        _counts(mine, "tokens"),
        f"{picks.source} does not say how many answers were used",
        f"{picks.source} does not say the tokens of every answer"
        + (", such as of those that came from a ledger" if said else ""),
    )


def _counts(picks: list[Pick], what: str) -> Floats | None:
    found = [getattr(pick, what) for pick in picks]
    return None if None in found else np.array(found, dtype=np.float64)


def _total(counts: Floats | None) -> int | None:
    return None if counts is None else int(counts.sum())
