"""Human votes of a second file, joined to a judge's verdicts by pair, whichever side stands first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.identifiers import as_categories
from bonwise.data.joined_names import joined_names
from bonwise.data.numbers import distinct
from bonwise.data.vote_rows import VoteRows, one_verdict
from bonwise.data.wording import quoted
from bonwise.errors import InputError, UsageError

__all__ = ["LABEL_REASONS", "JoinedVotes", "PairKeys", "VotedPairs", "join_votes"]

_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]
_Ints = npt.NDArray[np.int64]

LABEL_REASONS = ("no verdict", "a model against itself", "prompt not judged", "pair not judged")
"""Why a label is left out."""


@dataclass(frozen=True, eq=False)
class VotedPairs:
    """Rows of votes by pair, the alphabetically first side as the first."""

    rows: VoteRows
    names: pd.DataFrame = field(repr=False)
    """``prompt``, ``apart``, ``low`` and ``high`` of each row, as text; the last two are empty where no column names
    the sides.
    """
    turned: _Bools = field(repr=False)
    """Where the second column holds the first side."""
    worth: _Floats = field(repr=False)

    @classmethod
    def of(cls, rows: VoteRows) -> VotedPairs:
        """Name the pair of each row."""
        raw, columns, source = rows.frame, rows.columns, rows.source
        blank = np.full(len(raw), "", dtype=object)
        prompt = np.asarray(joined_names(raw, columns.prompt, "prompt_id", source), dtype=object)
        more = blank
        if columns.apart:
            more = np.asarray(joined_names(raw, columns.apart, "pair", source), dtype=object)
        one, other = (
            [np.asarray(as_categories(raw[name], role="model", source=source), dtype=object) for name in columns.pair]
            if columns.pair
            else [blank, blank]
        )
        turned: _Bools = np.asarray(one > other, dtype=bool)
        names = {"prompt": prompt, "apart": more, "low": np.where(turned, other, one)}
        names["high"] = np.where(turned, one, other)
        values: _Floats = np.where(turned[:, None], 1 - rows.worth, rows.worth)
        return cls(rows, pd.DataFrame(names, index=raw.index), turned, values)

    @property
    def alone(self) -> _Bools:
        """Which rows compare a side with itself."""
        if not self.rows.columns.pair:
            return np.zeros(len(self.names), dtype=bool)
        return np.asarray(self.names["low"] == self.names["high"], dtype=bool)


@dataclass(frozen=True, eq=False, slots=True)
class PairKeys:
    """The number of the pair, and of the prompt, of the rows of two files."""

    verdicts: _Ints
    labels: _Ints
    verdict_prompts: _Ints
    label_prompts: _Ints

    @classmethod
    def of(cls, verdicts: VotedPairs, labels: VotedPairs) -> PairKeys:
        """Number pairs alike in both.

        Raises
        ------
        bonwise.errors.UsageError
            One file names the sides, or tells pairs apart, and the other does not.
        """
        _refuse_unlike(verdicts, labels)
        both = pd.concat([verdicts.names, labels.names], ignore_index=True)
        codes = pd.DataFrame({name: distinct(both[name])[0] for name in both.columns})
        pairs = codes.groupby(list(codes.columns), sort=False).ngroup().to_numpy().astype(np.int64)
        prompts, cut = codes["prompt"].to_numpy().astype(np.int64), len(verdicts.names)
        return cls(pairs[:cut], pairs[cut:], prompts[:cut], prompts[cut:])


@dataclass(frozen=True, eq=False, slots=True)
class JoinedVotes:
    """The labels of the judged pairs, and what became of every vote."""

    source: str
    label: _Floats = field(repr=False)
    """Of the pair of each verdict: 1 where more votes prefer the alphabetically first side, 0 where fewer, 1/2 where
    as many; NaN where there is no vote.
    """
    reason: npt.NDArray[np.object_] = field(repr=False)
    """Why there is no label; empty where there is one."""
    rows: int
    """Rows of the file; votes on judged pairs; judged pairs with a vote."""
    votes: int
    """Rows of the file; votes on judged pairs; judged pairs with a vote."""
    pairs: int
    """Rows of the file; votes on judged pairs; judged pairs with a vote."""
    turned: int
    """Of these votes, those with the sides in the other order than in the verdicts."""
    several: int
    """Pairs with two votes or more; those of them whose votes are all alike; pairs with as many votes for either
    side, which count as ties.
    """
    unanimous: int
    """Pairs with two votes or more; those of them whose votes are all alike; pairs with as many votes for either
    side, which count as ties.
    """
    no_majority: int
    """Pairs with two votes or more; those of them whose votes are all alike; pairs with as many votes for either
    side, which count as ties.
    """
    left_out: Mapping[str, int]
    """Rows left out, by reason."""


def join_votes(verdicts: VotedPairs, labels: VotedPairs, keys: PairKeys) -> JoinedVotes:
    """Return the majority of the votes on the pair of each verdict.

    Parameters
    ----------
    verdicts, labels : VotedPairs
    keys : PairKeys
        Of both.

    Raises
    ------
    bonwise.errors.InputError
        One file names the sides and the other does not, or no vote is on a judged pair.
    """
    worth, size = one_verdict(labels.worth), int(max(keys.verdicts.max(), keys.labels.max())) + 1
    judged = np.bincount(keys.verdicts, minlength=size) > 0
    reasons = {
        "no verdict": np.isnan(labels.worth).any(axis=1),
        "a model against itself": labels.alone,
        "prompt not judged": ~np.isin(keys.label_prompts, keys.verdict_prompts),
        "pair not judged": ~judged[keys.labels],
    }
    counts, counted = {}, np.ones(len(worth), dtype=bool)
    for reason in LABEL_REASONS:
        counts[reason] = int((reasons[reason] & counted).sum())
        counted &= ~reasons[reason]
    if not counted.any():
        raise _no_match(verdicts, labels)
    pair, leans = keys.labels[counted], np.sign(worth[counted] - 0.5)
    votes, lead = (np.bincount(pair, weight, minlength=size) for weight in (None, leans))
    decided = np.bincount(pair, np.abs(leans), minlength=size)
    label = np.where(votes > 0, (np.sign(lead) + 1) / 2, np.nan)
    found = label[keys.verdicts]
    known = np.isin(keys.verdict_prompts, keys.label_prompts)
    first = np.full(size, -1)
    first[keys.verdicts[::-1]] = np.arange(len(keys.verdicts))[::-1]
    turned = labels.turned[counted] != verdicts.turned[first[pair]]
    alike = (np.abs(lead) == votes) | (decided == 0)
    return JoinedVotes(
        labels.rows.source,
        found,
        np.where(~np.isnan(found), "", np.where(known, "no label of the pair", "no label of the prompt")),
        len(worth),
        int(counted.sum()),
        int((votes > 0).sum()),
        int(turned.sum()) if labels.rows.columns.pair else 0,
        int((votes > 1).sum()),
        int(((votes > 1) & alike).sum()),
        int(((votes > 0) & (lead == 0) & (decided > 0)).sum()),
        {reason: count for reason, count in counts.items() if count},
    )


def _refuse_unlike(verdicts: VotedPairs, labels: VotedPairs) -> None:
    """Refuse two files of which one alone names the sides, or tells the pairs of a prompt apart."""
    for role, what in (("pair", "names the sides of a pair"), ("apart", "tells the pairs of a prompt apart")):
        files = [(one.rows.source, getattr(one.rows.columns, role)) for one in (verdicts, labels)]
        named = [file for file in files if file[1]]
        if len(named) == 1:
            other = next(source for source, columns in files if not columns)
            raise UsageError(
                f"{named[0][0]} {what} by {' and '.join(map(quoted, named[0][1]))}, and {other} does not",
                hint="give both files such columns, and name them with --pair-col COLUMN,COLUMN",
            )


def _no_match(verdicts: VotedPairs, labels: VotedPairs) -> InputError:
    shown = [
        f"prompt {quoted(one.names['prompt'].iloc[0])}"
        + (
            f" with {quoted(one.names['low'].iloc[0])} and {quoted(one.names['high'].iloc[0])}"
            if columns.pair
            else ""
        )
        + f" (columns {', '.join((*columns.prompt, *columns.apart, *columns.pair))})"
        for one, columns in ((verdicts, verdicts.rows.columns), (labels, labels.rows.columns))
    ]
    return InputError(
        f"{labels.rows.source}: no vote is on a pair of {verdicts.rows.source}, which has {shown[0]}, and not "
        f"{shown[1]}",
        hint="name the columns that both files share with --prompt-col and --pair-col MODEL,MODEL",
    )
