"""Raw votes on pairs: which of two models a vote prefers, for which prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import ColumnError, InputError, UsageError
from bonwise.table import identifiers, reading, vote_columns, vote_rows

Ties = Literal["drop", "half", "pessimistic"]
"""How a tie counts: not at all, half for each side, or for the alphabetically second model."""

TIES: tuple[Ties, ...] = get_args(Ties)

_WORTH: Mapping[str, float] = MappingProxyType({"drop": float("nan"), "half": 0.5, "pessimistic": 0.0})


def tie_value(ties: Ties) -> float:
    """Return what a tie counts for the first of a pair: nothing (NaN), half a vote, or a vote against it (0)."""
    if ties not in TIES:
        raise UsageError(f"ties cannot count as {ties!r}", hint=f"choose of {', '.join(TIES)}")
    return _WORTH[ties]


@dataclass(frozen=True, eq=False, slots=True)
class VoteTable:
    """Votes, each on one pair of models and one prompt; the *first* model is the alphabetically first one."""

    source: str
    models: tuple[str, ...] = field(repr=False)
    """Sorted."""
    first: Ints = field(repr=False)
    second: Ints = field(repr=False)
    """Both: positions in `models`; ``first < second``."""
    prompt: Ints = field(repr=False)
    """Number of the prompt, the cluster of the vote; each vote its own where no column was named."""
    prompts_named: bool
    preferred: Floats = field(repr=False)
    """1 where the second model is preferred, 0 where the first, 1/2 for a tie."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows left out, by reason."""
    columns: vote_columns.VoteColumns = field(default_factory=lambda: vote_columns.VoteColumns(()))
    """Where they stand in the file."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """How the file was read, by column."""
    graded: Floats | None = field(default=None, repr=False)
    """Votes for the first and the second model, (votes, 2), in both orders, where some verdicts are strong."""
    prompt_names: Sequence[str] = field(default=(), repr=False)
    """Name of each number in `prompt`; none where no column was named."""

    @classmethod
    def read(
        cls,
        source: reading.RowSource,
        *,
        verdict: str | None = None,
        pair: Sequence[str] | None = None,
        prompt: Sequence[str] | None = None,
        verdict_map: Mapping[str, str] | None = None,
        graded: bool = False,
        in_part: bool = True,
    ) -> VoteTable:
        """Read a file or frame, columns not named found by name and content; `graded` shares votes by degree."""
        raw, name = reading.open_frame(source, in_part=in_part)
        named = vote_columns.NamedVoteColumns(
            verdicts=None if verdict is None else (verdict,),
            pair=None if pair is None else tuple(pair),
            prompt=None if prompt is None else tuple(prompt),
            judge=(),
        )
        if pair is not None and len(pair) != 2:
            raise UsageError(
                f"{name}: a vote is on two models, so two columns name them, not {', '.join(pair) or 'none'}",
                hint="such as --pair-col model_a,model_b",
            )
        rows = vote_rows.VoteRows.of(raw, name, named, verdict_map=vote_rows.check_verdict_map(verdict_map))
        if graded and rows.weights is not None:
            how = "1: first, 2: second, between them a share of a vote for each"
            shares = dict.fromkeys(rows.columns.verdicts, how)
            rows = replace(rows, worth=rows.weights, readings={**rows.readings, **shares})
        return cls.of(rows)

    @classmethod
    def of(cls, rows: vote_rows.VoteRows) -> VoteTable:
        """Return the votes of a file that was read; no vote at all, or one model alone, is refused."""
        raw, name, columns = rows.frame, rows.source, rows.columns
        won = vote_rows.one_verdict(rows.worth)
        models, at = _models(raw, columns.pair, name)
        named = identifiers.joined_names(raw, columns.prompt, "prompt_id", name) if columns.prompt else None
        prompts = np.arange(len(raw)) if named is None else named.codes.astype(np.int64)
        reasons = {"no verdict": np.isnan(won), "a model against itself": ~np.isnan(won) & (at[0] == at[1])}
        kept = ~np.logical_or.reduce(list(reasons.values()))
        if not kept.any():
            raise InputError(f"{name}: no row holds a vote on two models", hint="check the columns that were named")
        left, right, won = at[0][kept], at[1][kept], won[kept]
        graded = None
        if rows.times is not None:
            sides = np.stack([rows.times * rows.worth, rows.times * (1 - rows.worth)]).sum(axis=2)[:, kept]
            graded = np.where(left > right, sides[::-1], sides).T
        return cls(
            name,
            models,
            np.minimum(left, right),
            np.maximum(left, right),
            prompts[kept],
            bool(columns.prompt),
            np.where(left > right, won, 1 - won),
            {reason: int(rows.sum()) for reason, rows in reasons.items() if rows.any()},
            columns,
            rows.readings,
            graded,
            () if named is None else tuple(named.categories),
        )

    @property
    def in_votes(self) -> Floats:
        """Votes for the first and for the second model, (votes, 2); a strong verdict may be several."""
        return np.column_stack([1 - self.preferred, self.preferred]) if self.graded is None else self.graded

    @property
    def ties(self) -> Mask:
        """Which votes are ties."""
        return np.asarray(self.preferred == 0.5)

    def under(self, ties: Ties | None) -> VoteTable:
        """Count ties in one way (None: there are none, else a UsageError); no vote left is an InputError."""
        worth = None if ties is None else tie_value(ties)
        tied = self.ties
        if not tied.any():
            return self
        if worth is None:
            raise UsageError(
                f"{self.source}: {tied.sum():,} of {len(tied):,} votes are ties, and how they count was not said",
                hint="give --ties drop, --ties half, or --ties pessimistic (for the alphabetically second model)",
            )
        if not np.isnan(worth):
            # Votes count for the second model here.
            return replace(self, preferred=np.where(tied, 1 - worth, self.preferred))
        if tied.all():
            raise InputError(f"{self.source}: every vote is a tie", hint="count ties: --ties half or pessimistic")
        return self._only(~tied, {"tie": int(tied.sum())})

    def _only(self, kept: Mask, dropped: Mapping[str, int]) -> VoteTable:
        rows = {name: getattr(self, name)[kept] for name in ("first", "second", "prompt", "preferred")}
        rows["graded"] = None if self.graded is None else self.graded[kept]
        return replace(self, **rows, dropped={**self.dropped, **dropped})


def _models(raw: pd.DataFrame, pair: Sequence[str], source: str) -> tuple[tuple[str, ...], tuple[Ints, Ints]]:
    """Return the sorted names of both columns, and where each column's names stand among them."""
    left, right = (identifiers.as_categories(raw[column], role="model", source=source) for column in pair)
    names = sorted({str(name) for part in (left, right) for name in part.categories})
    if len(names) < 2:
        raise ColumnError(f"{source}: both columns name one model alone", hint="check --pair-col")
    index = pd.Index(names, dtype=object)
    at = tuple(index.get_indexer(pd.Index(part.categories, dtype=object))[part.codes] for part in (left, right))
    return tuple(names), (at[0].astype(np.int64), at[1].astype(np.int64))
