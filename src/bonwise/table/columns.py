"""Which column of a file plays which role, and which columns hold the labels of several annotators."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Self

from bonwise.errors import ColumnError, OtherFileError, RowError, UsageError
from bonwise.printable import listed, quoted, shell_path
from bonwise.table import identifiers, label_words, numbers
from bonwise.table.roles import CANDIDATE_ROLES, COLUMN_FLAGS, NUMERIC, PLAIN, ROLES, all_claims, name_tokens
from bonwise.table.store import Rows, StructuredText

_PEOPLE = frozenset(
    {
        *("annotator", "annotation", "rater", "labeler", "labeller", "worker", "crowdworker", "reviewer", "assessor"),
        *("coder", "expert"),
    }
)
_WHO = _PEOPLE | {"label", "human", "gold", "golden", "oracle"}
_WHAT = frozenset({"label", "rating", "score", "grade", "verdict", "oracle", "human", "value"})
_MARK = re.compile(r"\d{1,3}|[a-z]")
_MOST = 200
"""Columns that one candidate may have labels in; more are data of another kind."""


class LabelColumns(str):
    """Two or more columns of labels, one per annotator, that play ``oracle_label``; the text lists their names."""

    __slots__ = ("names",)
    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return several columns under the list of their names."""
        names = tuple(names)
        group = cls(", ".join(map(str, names)))
        group.names = names
        return group

    @classmethod
    def named(cls, named: str, columns: Collection[object]) -> Self | None:
        """Return the columns that a user named, joined by commas; None where one is not there, or is named twice."""
        parts = [part.strip() for part in named.split(",")]
        several = 1 < len(parts) == len({*parts}) and named not in columns
        return cls.of(parts) if several and all(part in columns for part in parts) else None


def names_of_columns(column: str) -> tuple[str, ...]:
    """Return the name of the column that plays a role, or those of several columns of labels."""
    return column.names if isinstance(column, LabelColumns) else (column,)


def label_column_groups(
    frame: Rows, candidate: str | None, worth: Mapping[str, float], taken: Collection[str]
) -> list[LabelColumns]:
    """Return groups of annotators' columns, as ``rater_a`` and ``rater_b``, but not of candidates' names."""
    groups: dict[tuple[str, ...], dict[str, str]] = {}
    for column in frame.columns:
        if column in taken or (parts := _stem_and_mark(column)) is None:
            continue
        groups.setdefault(parts[0], {}).setdefault(parts[1], column)
    names = _names(frame, candidate)
    return [
        LabelColumns.of(marked.values())
        for stem, marked in groups.items()
        if 2 <= len(marked) <= _MOST
        and (_PEOPLE & {*stem} or not set(marked) <= names)
        and all(label_words.fits_labels(frame.columns[column], worth) for column in marked.values())
    ]


def _stem_and_mark(name: object) -> tuple[tuple[str, ...], str] | None:
    """Return a name without the number or letter that marks an annotator, and that mark; None for another name."""
    tokens = name_tokens(re.sub(r"(?<=[a-zA-Z])(?=\d)", " ", str(name)[:_MOST]))
    marks = [token for token in tokens if _MARK.fullmatch(token)]
    stem = tuple(token for token in tokens if token not in marks)
    if len(marks) != 1 or not _WHO & {*stem} or not {*stem} <= _WHO | _WHAT:
        return None
    return stem, marks[0]


def _names(frame: Rows, candidate: str | None) -> frozenset[str]:
    if candidate is None or candidate not in frame.columns:
        return frozenset()
    return frozenset(str(cell).strip().casefold() for cell in frame.columns[candidate].cells)


_WHEN_NEEDED = ("judge", "draw")
"""Roles whose further names count only where rows cannot be told apart without them."""

_NO_WORDS: Mapping[str, float] = MappingProxyType({})


class _ColumnProblem(NamedTuple):
    """What is wrong with the column of a role, and how to mend it."""

    role: str
    message: str
    hint: str


@dataclass
class _Search:
    """The search for the columns of one file."""

    frame: Rows
    source: str
    claims: Mapping[str, Sequence[Sequence[str]]]
    """Columns whose name fits a role, likeliest first."""
    overrides: Mapping[str, str]
    worth: Mapping[str, float]
    """What words among labels and scores are worth."""
    taken: dict[str, str] = field(default_factory=dict)
    """Role to column, as far as it is known."""
    problems: list[_ColumnProblem] = field(default_factory=list)
    passed_over: dict[str, list[str]] = field(default_factory=dict)
    """Columns with a known name whose content does not fit, by role."""
    missing: Sequence[str] = ()
    """Values of scores that mean that there is none."""

    def find(self, role: str, *, labels_elsewhere: bool) -> None:
        """Look for the column that plays a role, or for several columns of labels."""
        if role in self.overrides:
            self._take_named(role)
        elif role == "annotator":
            self._find_annotator()
        else:
            self._find_by_name(role, labels_elsewhere=labels_elsewhere)
            if role == "oracle_label" and role not in self.taken and not labels_elsewhere:
                self._find_label_columns()

    def _find_by_name(self, role: str, *, labels_elsewhere: bool) -> None:
        groups = [self._free(group, role) for group in self.claims[role]]
        if role == "candidate" and "prompt_id" not in self.taken:
            # Numbers of responses and their texts name candidates only where they stand beside a prompt.
            groups = groups[: PLAIN + 1]
        if any(groups[PLAIN:]) and not self._further(role, labels_elsewhere=labels_elsewhere):
            groups = groups[:PLAIN]
        if role in groups[0] and (role not in CANDIDATE_ROLES or self.fits(role, role)):
            self.taken[role] = role
            return
        weak: list[list[str]] = []
        for group in groups:
            fitting = [column for column in group if self.fits(role, column)]
            self.passed_over.setdefault(role, []).extend(column for column in group if column not in fitting)
            alone = sum(map(len, groups)) == 1
            telling = [column for column in fitting if alone or identifiers.telling(self.frame, role, column)]
            if telling:
                self._choose(role, telling)
                return
            weak.append(fitting)
        for fitting in weak:
            if fitting:
                self._choose(role, fitting)
                return

    def _further(self, role: str, *, labels_elsewhere: bool) -> bool:
        """Tell whether a role is looked for under further names too."""
        if role == "oracle_label":
            return not labels_elsewhere
        if role in _WHEN_NEEDED:
            cells = [self.taken[key] for key in ("prompt_id", "candidate", "judge") if key in self.taken]
            return len(cells) > 1 and not identifiers.rows_told_apart(self.frame, cells)
        return True

    def _find_annotator(self) -> None:
        """Take a column that names annotators where rows with one score and several labels are told apart by it."""
        known_roles = {**self.overrides, **self.taken}
        label, score = known_roles.get("oracle_label", ""), known_roles.get("judge_score", "")
        groups = [free for group in self.claims["annotator"] if (free := self._free(group, "annotator"))]
        known = [known_roles[key] for key in ("prompt_id", "candidate", "judge") if key in known_roles]
        if not groups or label not in self.frame.columns or len(known) < 2:
            return
        draws = [self._free(group, "draw") for group in self.claims["draw"]]
        cells = [*known, *(column for group in draws[:PLAIN] for column in group)]
        if identifiers.rows_told_apart(self.frame, cells) or (
            score in self.frame.columns and identifiers.varies_within(self.frame, cells, score)
        ):
            return  # one row per score, or several scores: those are of judges or draws
        drawn = any(
            identifiers.rows_told_apart(self.frame, [*cells, column]) for group in draws[PLAIN:] for column in group
        )
        if drawn and not identifiers.varies_within(self.frame, cells, label):
            return
        for group in groups:
            telling_apart = [column for column in group if identifiers.splits(self.frame, cells, column)]
            if telling_apart:
                self._choose(
                    "annotator", telling_apart[:1] if identifiers.alike(self.frame, telling_apart) else telling_apart
                )
                return

    def _find_label_columns(self) -> None:
        """Take the columns of labels of several annotators, where no single column holds the labels."""
        used = self._used("oracle_label")
        label_groups = label_column_groups(self.frame, self.taken.get("candidate"), self.worth, used)
        if not label_groups:
            return
        self.problems = [problem for problem in self.problems if problem.role != "oracle_label"]
        if len(label_groups) == 1:
            self.taken["oracle_label"] = label_groups[0]
            return
        trouble = f"{' and '.join(quoted(group) for group in label_groups)} both fit oracle_label"
        flags = " ".join(f"{COLUMN_FLAGS['oracle_label']} {column}" for column in label_groups[0].names)
        self.problems.append(_ColumnProblem("oracle_label", trouble, f"choose with {flags}"))

    def _take_named(self, role: str) -> None:
        column = self.overrides[role]
        if column in self.frame.columns or isinstance(column, LabelColumns):
            self.taken[role] = column
        else:
            parts = [part.strip() for part in column.split(",")] if role == "oracle_label" else [column]
            missing = [part for part in parts if part not in self.frame.columns]
            trouble = f"no column named {' and '.join(map(quoted, missing))} for {role}"
            if not missing:
                trouble = f"a column is named twice for {role}"
            self.problems.append(_ColumnProblem(role, trouble, f"the columns are {listed(self.frame.columns)}"))

    def _free(self, columns: Sequence[str], role: str) -> list[str]:
        used = self._used(role)
        free = [column for column in columns if column not in used]
        if role in _WHEN_NEEDED:  # objects and lists are looked into, and name no judge
            free = [
                name
                for name in free
                if not isinstance(self.frame.columns[name].cell(0), StructuredText | dict | list)
            ]
        return free

    def _used(self, role: str) -> set[str]:
        """Return the columns that the user named, and those that play another role."""
        used = [*self.overrides.values(), *(column for other, column in self.taken.items() if other != role)]
        several = (column.names for column in used if isinstance(column, LabelColumns))
        return {column for column in used if not isinstance(column, LabelColumns)}.union(*several)

    def fits(self, role: str, column: str) -> bool:
        """Tell whether the content of a column can play a role."""
        if role == "judge_score" and self.missing:
            return label_words.fits_labels(
                numbers.declared_missing(self.frame.columns[column], self.missing)[0], self.worth
            )
        if role in ("oracle_label", "judge_score"):
            return label_words.fits_labels(self.frame.columns[column], self.worth)
        return role not in NUMERIC or numbers.first_text_row(self.frame.columns[column]) is None

    def _choose(self, role: str, columns: list[str]) -> None:
        if role == "judge_score" and len(columns) > 1:
            # Numbers say more than pass and fail.
            columns = [column for column in columns if identifiers.has_numbers(self.frame.columns[column])] or columns
        if len(columns) > 1:
            columns = identifiers.tells_more(self.frame, role, columns, self.taken)
        if len(columns) == 1:
            self.taken[role] = columns[0]
            return
        trouble = f"{' and '.join(map(repr, columns))} {'all' if len(columns) > 2 else 'both'} fit {role}"
        flag = COLUMN_FLAGS.get(role)
        hint = f"choose one with {flag} {columns[0]}" if flag else "rename all but one"
        self.problems.append(_ColumnProblem(role, trouble, hint))


def resolve_columns(  # noqa: PLR0913 - all but the frame and what the user named are named
    frame: Rows,
    overrides: Mapping[str, str],
    *,
    source: str,
    required: tuple[str, ...],
    roles: tuple[str, ...] = ROLES,
    worth: Mapping[str, float] = _NO_WORDS,
    missing: Sequence[str] = (),
    labels_elsewhere: bool = False,
) -> dict[str, str]:
    """Map each role to the column that plays it, if any; a ColumnError names every problem at once."""
    overrides = _with_label_columns(overrides, frame)
    _refuse_bad_overrides(overrides, source)
    claims = all_claims({*roles, "draw"}, frame.columns)
    search = _Search(frame, source, claims, overrides, worth, missing=missing)
    for role in roles:
        search.find(role, labels_elsewhere=labels_elsewhere)
    known = {*search.taken, *(problem.role for problem in search.problems)}
    lacking = [role for role in required if role not in known]
    if search.problems or lacking:
        raise _refusal(search, lacking)
    return search.taken


def unread_labels(frame: Rows, taken: Mapping[str, str], worth: Mapping[str, float], source: str) -> str:
    """Say why a column with a name of labels is not taken for the labels; nothing where there is no such column."""
    for column in (
        column for group in all_claims(["oracle_label"], frame.columns)["oracle_label"] for column in group
    ):
        if column not in taken.values():
            try:
                label_words.read_labels(frame.columns[column], source=source, worth=worth, role=repr(column))
            except RowError as error:
                return str(error)
    return ""


def _refuse_bad_overrides(overrides: Mapping[str, str], source: str) -> None:
    roles: dict[str, str] = {}
    for role, column in overrides.items():
        if role not in ROLES:
            raise UsageError(
                f"{source}: a column is named for {quoted(role)}, which is not a role",
                hint=f"the roles are {', '.join(ROLES)}",
            )
        for name in names_of_columns(column):
            if name in roles:
                raise ColumnError(
                    f"{source}: {quoted(name)} is named for both {roles[name]} and {role}",
                    hint="name one column for each",
                )
            roles[name] = role


def _with_label_columns(overrides: Mapping[str, str], frame: Rows) -> Mapping[str, str]:
    """Take several columns of labels that the user named for what they are."""
    named = overrides.get("oracle_label")
    several = None if named is None else LabelColumns.named(named, frame.columns)
    return overrides if several is None else {**overrides, "oracle_label": several}


def pools_or_picks(frame: Rows, source: str) -> OtherFileError | None:
    """Return what to say of a file of pools or picks; None for any other."""
    if {"prompt", "candidates"} <= set(frame.columns):
        command = f"bonwise judge {shell_path(source)} --judge local:length --out scores.csv"
        return OtherFileError(
            f"{source}: pools of candidates, not a table of scores",
            hint=f"score them first: {command.replace(shell_path(source), 'POOLS')}",
            command=command,
        )
    if {"best", "ids"} <= set(frame.columns):
        return OtherFileError(
            f"{source}: picks of bonwise select, not a table of scores",
            hint="picks are audited from their file: bonwise audit PICKS.jsonl --labels LABELS.csv",
        )
    return None


def _refusal(search: _Search, lacking: Sequence[str]) -> ColumnError:
    """Say everything that is wrong with the columns, and how to mend it."""
    frame, source = search.frame, search.source
    if lacking:
        from bonwise.table.other_files import votes_file  # noqa: PLC0415 - votes are read with pandas

        refused = pools_or_picks(frame, source) or votes_file(frame, source)
        if refused is not None:
            return refused
    troubles, hints = [problem.message for problem in search.problems], [problem.hint for problem in search.problems]
    if lacking:
        roles = " or ".join([", ".join(lacking[:-1]), lacking[-1]] if len(lacking) > 1 else lacking)
        troubles.append(f"no column for {roles}; the columns are {listed(frame.columns)}")
        for role in lacking:
            for column in search.passed_over.get(role, [])[:1]:
                row = numbers.first_text_row(frame.columns[column])
                troubles.append(f"{column!r} would fit, but row {row} holds text")
        # Required roles all have a flag.
        hints.append("name " + _flags(lacking))
        if "judge_score" in lacking and search.passed_over.get("judge_score"):
            hints.append("--missing VALUE names text that means no score")
    return ColumnError(f"{source}: {'; '.join(troubles)}", hint="; ".join(dict.fromkeys(hints)))


def _flags(roles: Sequence[str]) -> str:
    if len(roles) == 1:
        return f"it with {COLUMN_FLAGS[roles[0]]} COLUMN"
    return "them with " + " ".join(f"{COLUMN_FLAGS[role]} COLUMN" for role in roles)
