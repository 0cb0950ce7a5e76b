"""Which column of a file plays which role in the long table.

One rule for every reader: a named flag first, then the canonical name, then an alias whose
content fits. Two columns that fit one role are refused rather than guessed between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonwise.data.label_words import fits_labels
from bonwise.data.numbers import first_text_row
from bonwise.data.roles import ALIASES, CANDIDATE_ROLES, COLUMN_FLAGS, NUMERIC, ROLES
from bonwise.data.wording import listed, quoted
from bonwise.errors import ColumnError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = ["resolve_columns"]


def resolve_columns(
    frame: pd.DataFrame,
    overrides: Mapping[str, str],
    *,
    source: str,
    required: tuple[str, ...],
    roles: tuple[str, ...] = ROLES,
) -> dict[str, str]:
    """Map each role to the column that plays it.

    Parameters
    ----------
    frame : pandas.DataFrame
        The file as it was read.
    overrides : mapping of str to str
        Role to column, as the user named them.
    source : str
        How to name the file in an error.
    required : tuple of str
        Roles without which the file is of no use.
    roles : tuple of str
        Roles to look for; what plays another one is not looked at.

    Returns
    -------
    dict of str to str
        Role to column; a role nobody plays is absent.

    Raises
    ------
    bonwise.errors.ColumnError
        A named or required column is absent, two columns fit one role, or one is named for two.
    bonwise.errors.UsageError
        A column is named for a role that does not exist.
    """
    _refuse_bad_overrides(overrides, source)
    taken: dict[str, str] = {}
    passed_over: dict[str, list[str]] = {}
    unclaimed = [c for c in frame.columns if c not in overrides.values()]
    for role in roles:
        own = role in unclaimed and (role not in CANDIDATE_ROLES or _fits(frame, role, role))
        column = _named(frame, role, overrides, source) or (role if own else None)
        if column is None:
            free = [c for c in ALIASES.get(role, ()) if c in unclaimed]
            fitting = [c for c in free if _fits(frame, role, c)]
            passed_over[role] = [c for c in free if c not in fitting]
            column = _only(fitting, role, source)
        if column is not None:
            taken[role] = column
    for role in required:
        if role not in taken:
            raise _missing(frame, role, passed_over.get(role, []), source)
    return taken


def _refuse_bad_overrides(overrides: Mapping[str, str], source: str) -> None:
    roles: dict[str, str] = {}
    for role, column in overrides.items():
        if role not in ROLES:
            raise UsageError(
                f"{source}: a column is named for {quoted(role)}, which is not a role",
                hint=f"the roles are {', '.join(ROLES)}",
            )
        if column in roles:
            raise ColumnError(
                f"{source}: {quoted(column)} is named for both {roles[column]} and {role}",
                hint="name one column for each",
            )
        roles[column] = role


def _named(frame: pd.DataFrame, role: str, overrides: Mapping[str, str], source: str) -> str | None:
    column = overrides.get(role)
    if column is not None and column not in frame.columns:
        raise ColumnError(
            f"{source}: no column named {quoted(column)} for {role}", hint=f"the columns are {listed(frame.columns)}"
        )
    return column


def _fits(frame: pd.DataFrame, role: str, column: str) -> bool:
    if role == "oracle_label":
        return fits_labels(frame[column])
    return role not in NUMERIC or first_text_row(frame[column]) is None


def _only(fitting: list[str], role: str, source: str) -> str | None:
    if len(fitting) > 1:
        raise ColumnError(
            f"{source}: {' and '.join(map(repr, fitting))} {'all' if len(fitting) > 2 else 'both'} fit {role}",
            hint=f"choose one with {COLUMN_FLAGS[role]} {fitting[0]}"
            if role in COLUMN_FLAGS
            else "rename all but one",
        )
    return fitting[0] if fitting else None


def _missing(frame: pd.DataFrame, role: str, passed_over: list[str], source: str) -> ColumnError:
    if {"prompt", "candidates"} <= set(frame.columns):
        return ColumnError(
            f"{source}: pools of candidates, not a table of scores",
            hint="score them first: bonwise judge POOLS --judge local:lexical --out scores.csv",
        )
    if {"best", "ids"} <= set(frame.columns):
        return ColumnError(
            f"{source}: picks of bonwise select, not a table of scores",
            hint="picks are audited from their file: bonwise audit PICKS.jsonl --labels LABELS.csv",
        )
    message = f"{source}: no column for {role}; the columns are {listed(frame.columns)}"
    if passed_over:
        row = first_text_row(frame[passed_over[0]])
        message += f"; {passed_over[0]!r} would fit, but row {row} holds text"
    # Required roles all have a flag.
    return ColumnError(message, hint=f"name it with {COLUMN_FLAGS[role]} COLUMN")
