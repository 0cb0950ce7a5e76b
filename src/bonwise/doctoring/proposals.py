"""What a file that is no table yet could be read as: columns and values within cells that fit a role, by flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bonwise.errors import BonwiseError, ColumnError, InputError, OtherFileError
from bonwise.printable import listed, quoted
from bonwise.table import identifiers, nested, other_files, row_labels, sources, vote_readings
from bonwise.table.columns import resolve_columns
from bonwise.table.label_words import fits_labels
from bonwise.table.numbers import is_blank
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.roles import all_claims, key_of, name_tokens, names_a_label
from bonwise.table.store import CodedColumn, Rows

LOWER = frozenset({"rank", "error", "errors", "loss", "perplexity", "ppl", "mqm", "distance"})
"""Words in names of values whose lower ones are usually better."""

_OF_JUDGES = frozenset(
    {
        *("judge", "predict", "predicted", "predictions", "prediction", "predicts", "pred", "llm", "gpt", "gpt4"),
        *("claude", "model", "auto", "metric", "metrics", "rm", "reward", "grader", "evaluator", "automatic"),
    }
)
_NO_SCORES = frozenset(
    {
        *("id", "idx", "index", "length", "len", "tokens", "token", "position", "seed", "time", "timestamp", "date"),
        *("year", "latency", "cost", "price", "duration", "count", "number", "no", "page", "size", "epoch", "turn"),
        *("weight", "propensity", "low", "high", "width", "age"),
    }
)
_WHOLE = "overall"
_MOST_JUDGES = 8
_CLEAR = 0.1
"""By which share of the rows one reading of a second order must agree more often than the other."""

_MOST_TRIED = 40


class Proposal(NamedTuple):
    """How a file could be read, and why, a sentence each."""

    options: ReadingOptions
    sentences: tuple[str, ...]


def proposed(source: Any, options: ReadingOptions, problem: ColumnError) -> Proposal:
    """Return the flags with which a file is a table of scores; where there are none, its `problem` is raised."""
    labels = options.labels
    if options.labels is not None and not options.join_col and not options.by_line:
        options = replace(options, labels=None)  # what joins them is looked for when the scores are known
    opened = sources.open_source(source, options.of_scores().named_columns)
    named = [part.strip() for names in options.named_columns.values() for part in [names, *names.split(",")]]
    if opened.imported is not None or (named and not {*named} & {*opened.rows.columns}):
        raise problem
    search, other = _OfColumns.of(opened.rows, options), isinstance(problem, OtherFileError)
    lists = search.lists()
    proposal = search.pairs(lists) if lists else None if other else search.long()
    if proposal is None:
        reason = None if other else search.lacking()
        if reason is None and not other and (verdicts := _of_verdicts(opened, labels)) is not None:
            raise verdicts
        raise problem if reason is None else OtherFileError(f"{opened.name}: {reason}", hint=problem.message)
    return proposal


def _of_verdicts(opened: sources.OpenedSource, labels: Any) -> OtherFileError | None:
    people = sources.open_source(labels, {}).rows if isinstance(labels, str | Path) else None
    return other_files.numbered_verdicts(opened.rows, opened.name, people)


@dataclass
class _OfColumns:
    """What is known of the columns of one file."""

    rows: Rows
    options: ReadingOptions
    inner: Mapping[str, CodedColumn]
    """Values within cells, by their path."""
    taken: dict[str, str] = field(default_factory=dict)
    """Role to column, each found alone."""

    @classmethod
    def of(cls, rows: Rows, options: ReadingOptions) -> _OfColumns:
        search = cls(rows, options, nested.leaves(rows), dict(options.named_columns))
        for role in ("prompt_id", "candidate", "judge_score", "oracle_label"):
            if role not in search.taken:
                with suppress(InputError):
                    search.taken |= resolve_columns(
                        rows, search.taken, source="", required=(), roles=(role,), worth=options.word_values
                    )
        return search

    def columns(self) -> Iterator[tuple[str, CodedColumn]]:
        """Yield every column and every value within cells, but for those that hold nothing else."""
        held = {path.partition(".")[0].partition("[")[0] for path in self.inner}
        yield from ((name, self.rows.column(name)) for name in self.rows.columns if name not in held)
        yield from self.inner.items()

    def lists(self) -> list[str]:
        """Return what lists numbers."""
        return [name for name, column in self.columns() if nested.lists_of(column) is not None]

    def pairs(self, lists: Sequence[str]) -> Proposal | None:
        """Read lists of scores of candidates, two of one judge as its two orders; prompts have an id each."""
        wanted = [name for name in lists if not names_a_label(name)]
        prompt = self.options.named_columns.get("prompt_id") or self._unique_id()
        if not wanted or prompt is None or "judge_score" in self.options.named_columns:
            return None
        orders = [name for name in wanted if name == wanted[0] or nested.are_places(wanted[0], name)][:2]
        columns: dict[str, str | list[str]] = {**self.options.named_columns, "prompt_id": prompt}
        columns["judge_score"] = orders if len(orders) > 1 else orders[0]
        reasons = [f"{listed(orders)} list{'s' if len(orders) == 1 else ''} the scores of the candidates of a row"]
        order, why = self._second_order(orders) if len(orders) == 2 else (None, "")
        label = self._label_of_pair()
        if label is not None:
            columns["oracle_label"] = label
        options = replace(self.options, columns=columns, second_order=self.options.second_order or order)
        return Proposal(options, tuple(filter(None, [*reasons, why])))

    def _unique_id(self) -> str | None:
        fitting = [
            name
            for name in self.rows.columns
            if len(self.rows.column(name).cells) == len(self.rows) and not is_blank(self.rows.column(name)).any()
        ]
        ids = [name for name in fitting if name_tokens(name)[-1:] in (["id"], ["idx"], ["uid"], ["uuid"])]
        return next(iter([*ids, *fitting]), None)

    def _label_of_pair(self) -> str | None:
        sides = nested.sides_of(list(self.rows.columns))
        for group in all_claims(["oracle_label"], self.rows.columns)["oracle_label"]:
            for name in group:
                if sides is None or name in self.options.named_columns.values():
                    continue
                frame = self.rows.only([name, *sides]).to_frame()
                if vote_readings.holds_votes(frame[name], sides=frame[list(sides)]):
                    return name
        return None

    def _second_order(self, orders: Sequence[str]) -> tuple[Any, str]:
        """Return what the second of two orders names, by how often it then agrees with the first."""
        of_rows = []
        for name in orders:
            column = self.inner.get(name, self.rows.columns.get(name))
            values = nested.lists_of(column) if column is not None else None
            of_rows.append([*column.where(values or [], None, object)] if column is not None else [])
        both = [
            (first, second)
            for first, second in zip(*of_rows, strict=True)
            if first and second and None not in first + second
        ]
        leads = [(np.sign(first[0] - first[-1]), np.sign(second[0] - second[-1])) for first, second in both]
        decided = [(first, second) for first, second in leads if first and second]
        if not decided:
            return None, ""
        alike = sum(first == second for first, second in decided) / len(decided)
        counts = (
            f"of {len(decided):,} rows the two orders agree in {alike:.0%} if it names answers, in {1 - alike:.0%}"
        )
        order = "as-named" if alike > 0.5 else "turned"
        if abs(2 * alike - 1) < _CLEAR:
            raise OtherFileError(
                f"what the second of {listed(orders)} names cannot be told: {counts} if it names places",
                hint="say --second-order turned (places) or --second-order as-named (answers)",
            )
        return order, f"the second order is {order}: {counts} if it names places"

    def long(self) -> Proposal | None:
        """Read a row per candidate, whose scores and labels are columns or stand within cells."""
        place = self._prompt_and_candidate()
        if place is None:
            return None
        prompt, candidate = place
        used = {prompt, candidate, *self.options.named_columns.values()}
        values = {name: column for name, column in self.columns() if name not in used and self._is_value(column)}
        scores, labels, why = self._scores_and_labels(values, prompt)
        if not scores:
            return None
        columns: dict[str, str | list[str]] = dict(self.options.named_columns)
        places = {"prompt_id": prompt, "candidate": candidate}
        columns |= {role: name for role, name in places.items() if self.taken.get(role) != name}
        columns.setdefault("judge_score", scores if len(scores) > 1 else scores[0])
        if labels and self.options.labels is None and self.options.oracle is None:
            columns.setdefault("oracle_label", labels if len(labels) > 1 else labels[0])
        lower = [name for name in scores if LOWER & {*name_tokens(name)}]
        reasons = [f"prompts are in {quoted(prompt)} and candidates in {quoted(candidate)}", *why]
        reasons += [f"lower values of {listed(lower)} are taken as better, by the name"] if lower else []
        directions = dict.fromkeys((*self.options.lower_is_better, *lower))
        return Proposal(replace(self.options, columns=columns, lower_is_better=tuple(directions)), tuple(reasons))

    def _prompt_and_candidate(self) -> tuple[str, str] | None:
        """Return the columns that tell rows apart together, of which prompts repeat."""
        words = [name for name in self.rows.columns if self.rows.column(name).kind in "Oiu"][:_MOST_TRIED]
        prompt, candidate = (self.taken.get(role) for role in ("prompt_id", "candidate"))
        known = [candidate] if candidate else words
        for name in known:
            for asked in [prompt] if prompt else [other for other in words if other != name]:
                if self._tell_apart(asked, name):
                    swap = not (prompt or candidate) and self._are_crossed(asked, name)
                    return (name, asked) if swap else (asked, name)
        return None

    def _are_crossed(self, few: str, many: str) -> bool:
        """Tell whether each value of a column meets each of another one that has more: then these are the prompts."""
        first, second = (len(self.rows.column(name).cells) for name in (few, many))
        return first < second and first * second == len(self.rows)

    def _tell_apart(self, prompt: str, candidate: str) -> bool:
        both = (prompt, candidate)
        if not all(name in self.rows.columns for name in both) or prompt == candidate:
            return False
        if any(isinstance(nested.plain_cell(self.rows.column(name).cell(0)), list | dict) for name in both):
            return False
        repeats = len(self.rows.column(prompt).cells) < len(self.rows)
        known = len(self.rows.column(candidate).cells) < len(self.rows) or candidate == self.taken.get("candidate")
        return repeats and known and identifiers.rows_told_apart(self.rows, both)

    def _is_value(self, column: CodedColumn) -> bool:
        return len(column.cells) > 1 and fits_labels(column, self.options.word_values)

    def _scores_and_labels(
        self, values: Mapping[str, CodedColumn], prompt: str
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the values of judges and those of people, by their names, and what is reasons of it."""
        codes = self.rows.column(prompt).codes
        telling = [
            name
            for name, column in values.items()
            if not {*name_tokens(name)[-1:]} & _NO_SCORES and _varies_within(codes, column.codes)
        ]
        labels = [name for name in telling if names_a_label(name)]
        known = self.taken.get("oracle_label")
        labels = labels or [name for name in telling if name == known]
        scores = [name for name in telling if name not in labels]
        if labels or known in self.rows.columns:
            if len(scores) > _MOST_JUDGES:
                scores = [name for name in scores if _OF_JUDGES & {*name_tokens(name)}] or scores[:0]
            labels = [] if labels == [known] else labels
            return scores, labels, [f"judges are {listed(scores)}"] if scores else []
        return self._by_metric(scores)

    def _by_metric(self, values: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Return one metric that two objects have, of which one is of a judge by its name."""
        by_root: dict[str, dict[str, str]] = {}
        for name in values:
            root, _, leaf = name.rpartition(".")
            by_root.setdefault(root, {})[key_of(leaf)] = name
        judged = [root for root in by_root if root and _OF_JUDGES & {*name_tokens(root)}]
        people = [root for root in by_root if root and root not in judged]
        if len(judged) != 1 or len(people) != 1:
            scores = list(values) if len(values) <= _MOST_JUDGES else []
            return scores, [], [f"judges are {listed(scores)}"] if scores else []
        of_judge, of_people = by_root[judged[0]], by_root[people[0]]
        shared = [leaf for leaf in of_judge if leaf in of_people]
        if not shared:
            return [], [], []
        leaf = _WHOLE if _WHOLE in shared else shared[0]
        others = [of_judge[other] for other in shared if other != leaf]
        more = f"; other judges may be named in its place: {listed(others)}" if others else ""
        reasons = f"the judge is {of_judge[leaf]} and the label {of_people[leaf]}{more}"
        return [of_judge[leaf]], [of_people[leaf]], [reasons]

    def lacking(self) -> str | None:
        """Say why there is nothing to audit; None where the columns are only not understood."""
        numbers = [name for name, column in self.columns() if self._is_value(column)]
        candidate = self.taken.get("candidate")
        once = candidate in self.rows.columns and len(self.rows.column(candidate).cells) == len(self.rows)
        prompts = [name for name in self.rows.columns if key_of(name) in ("prompt", "promptid", "question", "input")]
        if candidate and once and numbers and not prompts:
            return (
                f"a leaderboard, one row for each {quoted(candidate)}: it has no prompts, so that no judge picks "
                "among answers to one"
            )
        named = any(map(len, all_claims(["judge_score"], self.rows.columns)["judge_score"]))
        others = [name for name in numbers if name != self.taken.get("prompt_id")]
        if self.taken.get("prompt_id") and not named and not others:
            return "answers without scores: no column holds numbers or grades that a judge gave"
        return None


def _varies_within(prompts: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> bool:
    """Tell whether some prompt has two values."""
    size = int(values.max(initial=0)) + 2
    return len(np.unique(prompts.astype(np.int64) * size + values)) > len(np.unique(prompts))


def human_columns(rows: Rows, names: Sequence[str], worth: Mapping[str, float]) -> list[str]:
    """Return those of some columns that hold values of people, by their names."""
    return [
        name
        for name in names
        if name in rows.columns
        and names_a_label(name)
        and isinstance(rows.columns[name], CodedColumn)
        and len(rows.columns[name].cells) > 1
        and fits_labels(rows.columns[name], worth)
    ]


def how_labels_join(source: Any, options: ReadingOptions) -> Proposal:
    """Return by which columns the labels of a second file find their rows, or that they do by line."""
    scores = sources.open_source(source, options.of_scores().named_columns)
    labels = sources.open_labels(options.labels or "")
    shared = [name for name in labels.rows.columns if name in scores.rows.columns]
    unique = [name for name in shared if len(labels.rows.column(name).cells) == len(labels.rows)]
    for name in unique:
        option = replace(options, join_col=(name,))
        with suppress(BonwiseError):
            row_labels.with_row_labels(source, option)
            return Proposal(option, (f"labels join by {quoted(name)}, which both files have",))
    if not shared and len(labels.rows) == len(scores.rows):
        option = replace(options, by_line=True)
        row_labels.with_row_labels(source, option)
        why = f"{Path(labels.name).name} shares no column with the scores, and both have {len(labels.rows):,} rows"
        return Proposal(option, (f"{why}: labels join by line",))
    raise ColumnError(f"{labels.name}: no column tells which row a label is of", hint="name one with --join-col")
