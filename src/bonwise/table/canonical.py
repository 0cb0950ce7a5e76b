"""A source's columns, brought to the names, types and scales of a table; several problems make one message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats
from bonwise.errors import ColumnError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import cells, columns, identifiers, label_words, numbers, reading_options, roles
from bonwise.table.scales import Scale, to_unit
from bonwise.table.store import Categories, CodedColumn, Rows

_MOST = 5
"""Problems that one message names; more are counted."""


@dataclass
class Problems:
    """Rows that cannot be read, gathered before any of them is refused."""

    found: list[RowError] = field(default_factory=list)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what is wrong with a row and go on."""
        try:
            yield
        except RowError as error:
            self.found.append(error)

    def refuse(self) -> None:
        """Refuse what was noted, all of it in one line."""
        if not self.found:
            return
        if len(self.found) == 1:
            raise self.found[0]
        messages = [error.message for error in self.found[:_MOST]]
        if len(self.found) > _MOST:
            messages.append(f"{len(self.found) - _MOST} more columns have such rows")
        hints = dict.fromkeys(error.hint for error in self.found[:_MOST])
        raise RowError("; ".join(messages), hint="; ".join(hints)) from self.found[0]


_REQUIRED = ("prompt_id", "candidate", "judge_score")

_NUMBERS = ("judge_score", "oracle_label", "low", "high", "ci_width", "propensity", "length", "position")


@dataclass(frozen=True, eq=False)
class Canonical:
    """The columns of a table under their canonical names."""

    rows: Rows
    label_words: Mapping[str, float]
    """What the words of the labels were taken for."""
    readings: Mapping[str, str]
    """By role: how numbers are read that are not written plainly, and what the words of scores were taken for."""
    unread_labels: str
    """Why a column with a name of labels is not taken for them; empty where there is none."""


def resolved(
    frame: Rows, reading: reading_options.ReadingOptions, source: str, *, complete: bool = True
) -> dict[str, str]:
    """Map each role to what plays it, a score if `complete`; draws without a score are scored by their mean."""
    wide = cells.draw_columns(frame.columns)
    taken = columns.resolve_columns(
        frame,
        reading.named_among(frame.columns),
        source=source,
        required=_REQUIRED[:2] if wide or not complete else _REQUIRED,
        worth=reading.word_values,
        missing=reading.missing,
        labels_elsewhere=reading.labels is not None or reading.oracle is not None,
    )
    if not wide:
        return taken
    if "draw" in taken:
        raise ColumnError(
            f"{source}: draws are in the columns {cells.span(wide)} and in rows told apart by "
            f"{quoted(taken['draw'])}",
            hint="keep one of the two",
        )
    taken.setdefault("judge_score", cells.averaged(wide))
    taken["draws"] = cells.span(wide)
    return taken


def canonical(
    frame: Rows, taken: Mapping[str, str], reading: reading_options.ReadingOptions, source: str
) -> Canonical:
    """Return canonical columns, numbers on declared scales, strata last; the error names a row of each bad column."""
    out: dict[str, Any] = {}
    words: Mapping[str, float] = {}
    readings: dict[str, str] = {}
    problems = Problems()
    for role in ("prompt_id", "candidate"):
        with problems.noted():
            out[role] = identifiers.as_categories(frame.columns[taken[role]], role=role, source=source)
    with problems.noted():
        out["judge"] = _judges(frame, taken, source)
    for role in (role for role in _NUMBERS if taken.get(role) in frame.columns):
        with problems.noted():
            out[role], own_words, reading_of = _numbers(frame.columns[taken[role]], role, reading, source)
            words = own_words if role == "oracle_label" else words
            readings |= {role: reading_of} if reading_of else {}
    wide = cells.draw_columns(frame.columns)
    for name in wide:
        with problems.noted():
            out[name] = numbers.parse_numbers(frame.columns[name], role=name, source=source)
    problems.refuse()
    unread = "" if "oracle_label" in taken else columns.unread_labels(frame, taken, reading.word_values, source)
    return Canonical(_completed(out, frame, taken, reading, source), words, readings, unread)


def _numbers(
    column: CodedColumn, role: str, reading: reading_options.ReadingOptions, source: str
) -> tuple[Floats, Mapping[str, float], str]:
    """Return the values of a column, what its words were taken for, and how it was read."""
    if role not in ("judge_score", "oracle_label"):
        values, how = numbers.read_numbers(column, role=role, source=source)
        return values, {}, how
    values, words, how = label_words.read_labels(column, source=source, worth=reading.word_values, role=role)
    if role == "judge_score" and words:
        how = "words, " + ", ".join(f"{word} = {worth:g}" for word, worth in words.items())
    return values, words, how


def _completed(
    out: dict[str, Any], frame: Rows, taken: Mapping[str, str], reading: reading_options.ReadingOptions, source: str
) -> Rows:
    """Bring numbers to their scales, and add what is made of the columns that were read, and the strata."""
    wide = cells.draw_columns(frame.columns)
    out.setdefault("oracle_label", np.full(len(frame), np.nan))
    out["oracle_label"] = to_unit(
        out["oracle_label"], reading.label_scale, rows=frame.index, role="oracle_label", source=source
    )
    _scale_judges(out, reading.judge_scales, frame.index, source)
    if "judge_score" not in out:
        out["judge_score"] = cells.mean_of_draws(np.column_stack([out[name] for name in wide]))
    if "cluster" in taken:
        out["cluster"] = identifiers.as_categories(frame.columns[taken["cluster"]], role="cluster", source=source)
        refuse_two_clusters(out["prompt_id"], out["cluster"], frame.index, source)
    if "draw" in taken:
        out["draw"] = identifiers.as_categories(frame.columns[taken["draw"]], role="draw", source=source)
    _refuse_bad_ranges(out, frame.index, source)
    used = {*taken.values(), *out, *(("sd",) if wide else ())}  # the spread of the draws is not a stratum
    strata = {role: frame.columns[taken[role]] for role in ("family", "judge_family") if role in taken}
    strata |= {str(c): frame.columns[c] for c in frame.columns if c not in used and c not in roles.WORDS}
    for name, column in strata.items():
        _refuse_no_text(name, column, source)
    return Rows({**out, **strata}, frame.index)


def spoken_columns(frame: Rows, taken: Mapping[str, str]) -> Rows | None:
    """Return what was asked, answered and said, and why there is no score; None without such a column."""
    spoken = [name for name in (*roles.SPOKEN, "unscored") if name in frame.columns and name not in taken.values()]
    return frame.only(spoken) if spoken else None


def _refuse_no_text(name: str, column: CodedColumn, source: str) -> None:
    """Refuse half a surrogate pair, which is a Python string but no text that can be stored."""
    if not identifiers.is_text(name):
        raise ColumnError(f"{source}: the name of column {quoted(name)} is not text", hint="write valid Unicode")
    if column.kind != "O" or all(isinstance(cell, str) and cell.isascii() for cell in column.cells):
        return
    broken = column.marked([isinstance(cell, str) and not identifiers.is_text(cell) for cell in column.cells])
    if broken.any():
        row = column.index[int(broken.argmax())]
        raise RowError(f"{source}, row {row}: {quoted(name)} holds what is not text", hint="write valid Unicode")


def _judges(frame: Rows, taken: Mapping[str, str], source: str) -> Categories:
    if "judge" in taken:
        return identifiers.as_categories(frame.columns[taken["judge"]], role="judge", source=source)
    return Categories.alike(len(frame), "judge")


def _scale_judges(out: dict[str, Any], scales: Mapping[str, Scale], rows: npt.NDArray[Any], source: str) -> None:
    judges: Categories = out["judge"]
    unknown = [name for name in scales if name and name not in judges.categories]
    if unknown:
        raise UsageError(
            f"{source}: a scale is declared for {quoted(unknown[0])}, which is not a judge of this table",
            hint=f"the judges are {listed(judges.categories)}",
        )
    if not scales:
        return
    for code, judge in enumerate(judges.categories):
        of_judge = judges.codes == code
        scale, flag = scales.get(judge, scales.get("")), f"--judge-scale {judge}="
        for role in (r for r in ("judge_score", "low", "high", *cells.draw_columns(out)) if r in out):
            values, own = out[role], rows[of_judge]
            values[of_judge] = to_unit(values[of_judge], scale, rows=own, role=role, source=source, flag=flag)
        if "ci_width" in out and scale is not None:
            width = Scale(0.0, scale.high - scale.low)
            out["ci_width"][of_judge] = to_unit(
                out["ci_width"][of_judge], width, rows=rows[of_judge], role="ci_width", source=source
            )


def refuse_two_clusters(prompt_ids: Categories, named: Categories, rows: npt.NDArray[Any], source: str) -> None:
    """Refuse a prompt whose rows (`prompt_ids`) name two clusters (`named`)."""
    prompts, clusters = prompt_ids.codes, named.codes
    first = np.full(len(prompt_ids.categories), -1, dtype=np.int64)
    # The last row of a prompt wins here, so that any other row in another cluster shows.
    first[prompts] = clusters
    apart = np.flatnonzero(first[prompts] != clusters)
    if apart.size:
        at = int(apart[0])
        names = [str(named.categories[code]) for code in (clusters[at], first[prompts[at]])]
        raise RowError(
            f"{source}, row {rows[at]}: {quoted(prompt_ids.categories[prompts[at]])} is in cluster "
            f"{quoted(names[0])} and in {quoted(names[1])}",
            hint="put every prompt in exactly one cluster",
        )


def _refuse_bad_ranges(out: Mapping[str, Any], rows: npt.NDArray[Any], source: str) -> None:
    if "propensity" in out:
        numbers.check_propensities(out["propensity"], rows, source)
    if "ci_width" in out and (out["ci_width"] < 0).any():
        raise RowError(
            f"{source}, row {rows[int(np.flatnonzero(out['ci_width'] < 0)[0])]}: ci_width is negative",
            hint="it is the width of the interval that the judge stated",
        )
    if "low" in out and "high" in out:
        crossed = out["low"] > out["high"]
        if crossed.any():
            raise RowError(
                f"{source}, row {rows[int(np.flatnonzero(crossed)[0])]}: low lies above high", hint="swap the two"
            )
