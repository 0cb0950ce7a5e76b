"""The flags with which a table is read again as it was read before, for commands that are printed to be typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonwise.data.roles import COLUMN_FLAGS
from bonwise.printable import shell_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bonwise.data.panel import Shape
    from bonwise.data.scales import Scale

__all__ = ["table_flags"]


def table_flags(
    columns: Mapping[str, str],
    judge_scales: Mapping[str, Scale],
    label_scale: Scale | None,
    *,
    exclude: Sequence[str] = (),
    shape: Shape | None = None,
) -> list[str]:
    """Return flags, each with its value and quoted for a shell.

    Parameters
    ----------
    columns : mapping of str to str
        Role to column; a role without a flag is left out.
    judge_scales : mapping of str to Scale
        Of each judge; an empty name stands for all.
    label_scale : Scale, optional
    exclude : sequence of str
    shape : {"rectangular", "ragged"}, optional
        Where it was forced.

    Examples
    --------
    >>> from bonwise.data.scales import Scale
    >>> table_flags({"judge_score": "rating"}, {"": Scale(1, 5)}, None, exclude=["the base"], shape="ragged")
    ['--score-col rating', '--judge-scale 1:5', "--exclude 'the base'", '--ragged']
    """
    flags = [f"{COLUMN_FLAGS[role]} {shell_word(column)}" for role, column in columns.items() if role in COLUMN_FLAGS]
    for judge, scale in judge_scales.items():
        flags.append("--judge-scale " + shell_word(f"{judge}={scale}" if judge else str(scale)))
    if label_scale is not None:
        flags.append(f"--label-scale {label_scale}")
    flags += [f"--exclude {shell_word(name)}" for name in exclude]
    return [*flags, *([f"--{shape}"] if shape else [])]
