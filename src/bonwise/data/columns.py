"""Which column of a file plays which role in the long table.

One rule for every reader: a named flag first, then the canonical name, then an alias whose
content fits. Two columns that fit one role are refused rather than guessed between.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from bonwise.data.numbers import first_text_row
from bonwise.errors import ColumnError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FLAGS", "NUMERIC", "ROLES", "WORDS", "resolve_columns"]

ROLES = (
    "prompt_id",
    "candidate",
    "judge",
    "judge_score",
    "oracle_label",
    "draw",
    "low",
    "high",
    "propensity",
)

NUMERIC = frozenset({"judge_score", "oracle_label", "low", "high", "propensity"})

WORDS = frozenset({"prompt", "text", "raw", "response", "unscored"})
"""Columns of words: shown where they help, never strata."""

FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "prompt_id": "--prompt-col",
        "candidate": "--candidate-col",
        "judge": "--judge-col",
        "judge_score": "--score-col",
        "oracle_label": "--label-col",
        "propensity": "--propensity-col",
    }
)

# `judge` is always the judge's name, so it is no alias of the score although some tools write it so.
_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "prompt_id": ("item_id", "id", "case_id", "question_id", "original_id"),
        "candidate": (
            "policy",
            "target_policy",
            "model",
            "provider_id",
            "policy_id",
            "policy_name",
            "variant",
        ),
        "judge_score": ("score", "verdict", "judge_label"),
        "oracle_label": ("gold", "human", "label", "human_label", "human_rating"),
        "draw": ("run", "sample_index"),
        "propensity": ("label_propensity",),
    }
)


def resolve_columns(
    frame: pd.DataFrame,
    overrides: Mapping[str, str],
    *,
    source: str,
    required: tuple[str, ...],
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

    Returns
    -------
    dict of str to str
        Role to column; a role nobody plays is absent.

    Raises
    ------
    bonwise.errors.ColumnError
        A named or required column is absent, or two columns fit one role.
    """
    taken: dict[str, str] = {}
    passed_over: dict[str, list[str]] = {}
    for role in ROLES:
        column = _named(frame, role, overrides, source) or _canonical(frame, role)
        if column is None:
            free = [c for c in _ALIASES.get(role, ()) if c in frame.columns and c not in overrides.values()]
            fitting = [c for c in free if _fits(frame, role, c)]
            passed_over[role] = [c for c in free if c not in fitting]
            column = _only(fitting, role, source)
        if column is not None:
            taken[role] = column
    for role in required:
        if role not in taken:
            raise _missing(frame, role, passed_over.get(role, []), source)
    return taken


def _named(frame: pd.DataFrame, role: str, overrides: Mapping[str, str], source: str) -> str | None:
    column = overrides.get(role)
    if column is not None and column not in frame.columns:
        raise ColumnError(f"{source}: no column named {column!r} for {role}", hint=f"the columns are {_list(frame)}")
    return column


def _canonical(frame: pd.DataFrame, role: str) -> str | None:
    return role if role in frame.columns else None


def _fits(frame: pd.DataFrame, role: str, column: str) -> bool:
    return role not in NUMERIC or first_text_row(frame[column]) is None


def _only(fitting: list[str], role: str, source: str) -> str | None:
    if len(fitting) > 1:
        raise ColumnError(
            f"{source}: {' and '.join(map(repr, fitting))} both fit {role}",
            hint=f"choose one with {FLAGS.get(role, 'a rename')} {fitting[0]}",
        )
    return fitting[0] if fitting else None


def _missing(frame: pd.DataFrame, role: str, passed_over: list[str], source: str) -> ColumnError:
    message = f"{source}: no column for {role}; the columns are {_list(frame)}"
    if passed_over:
        row = first_text_row(frame[passed_over[0]])
        message += f"; {passed_over[0]!r} would fit, but row {row} holds text"
    return ColumnError(message, hint=f"name it with {FLAGS.get(role, role)} COLUMN")


def _list(frame: pd.DataFrame) -> str:
    names = [str(c)[:60] for c in frame.columns]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
