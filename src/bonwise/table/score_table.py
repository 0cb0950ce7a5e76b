"""The one validated long table: a row is one judge's score of one candidate of one prompt."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Ints
from bonwise.errors import ColumnError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import canonical, checks, facts, numbers, retrieval, roles, sources
from bonwise.table.annotators import AnnotatorLabels, with_one_label_each
from bonwise.table.cells import averaged, cell_words, distinct_cells, draw_columns, mean_by_cell, positions
from bonwise.table.reading import RowSource
from bonwise.table.reading_options import ReadingOptions, TableKeywords, opens_a_table, values_read
from bonwise.table.scales import Scale, likely_scale, mismatch, off_scale, parse_scale
from bonwise.table.store import Categories, Names, Rows, is_missing

if TYPE_CHECKING:
    import pandas as pd


class LabelRows(NamedTuple):
    """Where the labels of a file of labels stand in it."""

    source: str
    keys: Ints
    """The cell key of each label."""
    rows: npt.NDArray[Any]
    """Its row number."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores and oracle labels of candidates, validated.

    Make one with `read` or `from_frame`; the constructor trusts its arguments.

    Parameters
    ----------
    rows : Rows
        Canonical columns: ``prompt_id``, ``candidate``, ``judge`` (names by position), ``judge_score``,
        ``oracle_label`` (float64, NaN where missing) and, where the source has them, ``draw``,
        ``draw_0``, ``draw_1`` ..., ``low``, ``high``, ``ci_width``, ``propensity``, ``cluster``,
        ``length``, ``family``, ``position``, ``judge_family`` and strata, and the row numbers of the source. They
        are a DataFrame in `frame`.
    source : str
        The file's name, or ``table``.
    columns : mapping of str to str
        Role to the column of the source that plays it; columns of draws together play ``draws``, and their mean
        ``judge_score`` where no column does.
    judge_scales : mapping of str to Scale
        Declared scales by judge; ``""`` holds the scale of every judge not named.
    label_scale : Scale, optional
        Declared scale of the labels; values are mapped to [0, 1].
    reference : str, optional
        The judge whose scores stand in for oracle labels.
    labels_left_out : mapping of str to int
        Of a label file that covers more prompts: how many of them the table does not hold, ``prompts``, and in how
        many ``rows``; empty where there are none.
    label_rows : LabelRows, optional
        Of a label file: its row numbers in their order, by cell key, under the file's name.
    words : Rows, optional
        The columns ``prompt``, ``text``, ``response`` and ``raw`` of the source as they stand, in the same rows.
    label_words : mapping of str to float
        What the words of the labels were taken for, such as pass for 1; empty where labels are numbers.
    readings : mapping of str to str
        By role: how numbers are read that are not written plainly, such as ``percent, 85% = 0.85``.
    unread_labels : str
        Why a column with a name of labels was not taken for them; empty where there is none.
    annotators : AnnotatorLabels, optional
        The labels of several annotators, of which ``oracle_label`` holds one per candidate.
    unpicked : {"random", "first", "drop"}
        What a prompt is worth of which no candidate has a score: a random pick, its first candidate, or, with
        ``drop``, nothing: it is left out, named and counted.
    unlabelled : UnlabelledCandidates, optional
        The candidates that have a label because it was stated which one unlabelled candidates have.
    lower_is_better, turned : tuple of str, frozenset of str
        Names that were given, and the judges, or ``oracle_label``, that they stand for. Lower values are better:
        the frame holds them negated, or on a declared scale as 1 minus the value.
    missing : tuple of str
        Values of scores that were taken for no score.
    weights : numpy.ndarray, optional
        What each prompt weighs in the figures of an audit, in the order of `prompts`.
    unretrieved : Unretrieved, optional
        Of labels of retrieval (qrels): the documents that they label and the table does not hold.

    Examples
    --------
    >>> import pandas as pd
    >>> table = ScoreTable.from_frame(pd.DataFrame({
    ...     "prompt_id": ["p1", "p1"], "candidate": ["a", "b"],
    ...     "judge_score": [0.9, 0.4], "oracle_label": [1, 0]}))
    >>> table
    <ScoreTable: 2 rows, 1 prompts, 1 judges, 2 labelled>
    """

    rows: Rows = field(repr=False)
    source: str = "table"
    columns: Mapping[str, str] = field(default_factory=dict, repr=False)
    judge_scales: Mapping[str, Scale] = field(default_factory=dict, repr=False)
    label_scale: Scale | None = None
    reference: str | None = None
    labels_left_out: Mapping[str, int] = field(default_factory=dict, repr=False)
    label_rows: LabelRows | None = field(default=None, repr=False)
    words: Rows | None = field(default=None, repr=False)
    label_words: Mapping[str, float] = field(default_factory=dict, repr=False)
    readings: Mapping[str, str] = field(default_factory=dict, repr=False)
    unread_labels: str = field(default="", repr=False)
    annotators: AnnotatorLabels | None = field(default=None, repr=False)
    unpicked: checks.Unpicked = "random"
    unlabelled: facts.UnlabelledCandidates | None = field(default=None, repr=False)
    lower_is_better: tuple[str, ...] = ()
    turned: frozenset[str] = field(default=frozenset(), repr=False)
    missing: tuple[str, ...] = ()
    weights: Floats | None = field(default=None, repr=False)
    unretrieved: retrieval.Unretrieved | None = field(default=None, repr=False)

    @classmethod
    @opens_a_table
    def read(cls, path: str | Path, **reading: Unpack[TableKeywords]) -> ScoreTable:
        """Read CSV, TSV, JSONL, Parquet (each also gzipped), a folder of responses, or what an importer knows.

        Parameters
        ----------
        path : str or pathlib.Path
            The file, or a folder of ``<policy>_responses.jsonl``.
        **reading
            How its columns are read, see `bonwise.table.reading_options.ReadingOptions`.

        Raises
        ------
        bonwise.errors.InputError
            One line with file, row and remedy.
        """
        return cls.opened(path, ReadingOptions.of(cls.read, reading))

    @classmethod
    @opens_a_table
    def from_frame(
        cls, frame: pd.DataFrame, *, source: str = "table", **reading: Unpack[TableKeywords]
    ) -> ScoreTable:
        """Validate a DataFrame, its rows counted from 0.

        Parameters
        ----------
        frame : pandas.DataFrame
        source : str
            How to name it in an error.
        **reading
            How its columns are read, see `bonwise.table.reading_options.ReadingOptions`.

        Raises
        ------
        bonwise.errors.InputError
            One line with row and remedy.
        """
        return cls.opened(frame, ReadingOptions.of(cls.from_frame, reading), source)

    @classmethod
    def opened(cls, source: RowSource, reading: ReadingOptions, name: str = "table") -> ScoreTable:
        """Read a file as `read` does, or validate a frame, under this name, as `from_frame` does."""
        return cls.validated(sources.open_source(source, reading.named_columns, name), reading)

    @classmethod
    def validated(cls, opened: sources.OpenedSource, reading: ReadingOptions) -> ScoreTable:
        """Validate rows that `open_source` returned."""
        opened, taken = sources.with_columns(opened, reading)
        if reading.depth is not None:
            first, cut = retrieval.to_depth(opened.rows, taken, reading.depth, opened.name)
            opened = replace(opened, rows=first, notes=(*opened.notes, cut))
        rows, source = numbers.without_missing(opened.rows, taken, reading.missing), opened.name
        several = with_one_label_each(rows, taken, reading, source)
        if several is not None:
            rows, taken = several.rows, several.taken
        made = canonical.canonical(rows, taken, reading, source)
        table = cls(
            made.rows,
            source,
            MappingProxyType(taken),
            MappingProxyType(dict(reading.judge_scales)),
            reading.label_scale,
            words=canonical.spoken_columns(rows, taken),
            label_words=made.label_words,
            readings={**({"file": opened.said} if opened.said else {}), **made.readings},
            unread_labels=made.unread_labels,
            unpicked=reading.unpicked,
            missing=reading.missing,
        )
        if reading.missing:
            table = table.with_reading("judge_score", f"no score where {', '.join(reading.missing)}")
        if several is not None:
            readings = {**table.readings, "oracle_label": several.reading}
            table = replace(table, label_words=several.words, readings=readings, annotators=several.annotators)
        _refuse_duplicates(table)
        return table.with_directions(reading, taken.get("oracle_label", ""), complete=reading.labels is None)

    def with_reading(self, role: str, how: str) -> ScoreTable:
        """Add to what is said of how a role was read."""
        every = "; ".join(filter(None, (self.readings.get(role), how)))
        return replace(self, readings={**self.readings, role: every})

    def weighted_by(self, column: str | None) -> ScoreTable:
        """Take a column as weights of the prompts; without one, say of a column ``weight`` that it weighs nothing."""
        if column is None:
            unused = [name for name in self.strata if str(name).strip().lower() == "weight"]
            reading = "a column like any other: no figure is weighted by it; --weight-col of bonwise audit does that"
            return self.with_reading(str(unused[0]), reading) if unused else self
        if column not in self.strata:
            role = next((role for role, name in self.columns.items() if name == column), "")
            what = f"{quoted(column)} is the column of {role} already, so it cannot weigh prompts"
            hint = f"the columns are {listed(self.strata)}" if self.strata else "add such a column to the table"
            raise ColumnError(
                f"{self.source}: {what if role else f'no column named {quoted(column)} to weigh prompts by'}",
                hint="copy it into a column of its own" if role else hint,
            )
        codes, weights = self.rows.columns["prompt_id"].codes, np.zeros(len(self.prompts))
        values = numbers.plain_numbers(self.rows.columns[column])
        weights[codes] = values
        wrong, apart = ~(np.isfinite(values) & (values >= 0)), values != weights[codes]
        if wrong.any() or apart.any():
            at = int(wrong.argmax() if wrong.any() else apart.argmax())
            cell, prompt = self.rows.columns[column].cell(at), quoted(self.prompts[codes[at]])
            value = "blank" if is_missing(cell) or not str(cell).strip() else str(cell).strip()
            two = f"prompt {prompt} weighs {value} here and {weights[codes[at]]:g} elsewhere"
            fault = f"the weight of prompt {prompt} is {value}" if wrong.any() else two
            raise RowError(
                f"{self.source}, row {self.rows.index[at]}, column {quoted(column)}: {fault}",
                hint="give every prompt one number, 0 or more, in all its rows",
            )
        if not weights.any():
            raise ColumnError(f"{self.source}: every weight in {quoted(column)} is 0", hint="give some prompts more")
        weights = weights / weights.max()  # only their proportions count, and squares of large ones are no doubles
        worth = f"{weights.sum() ** 2 / (weights @ weights):,.1f} of equal weight"
        reading = (
            f"the weight of a prompt in every figure: {len(weights):,} prompts are worth {worth}; what cannot be "
            "weighted is left out (unscored_cost, alpha, effects of candidates, missing labels)"
        )
        return replace(self, weights=weights, rows=self.rows.without(column)).with_reading(column, reading)

    def with_directions(self, reading: ReadingOptions, label_column: str, *, complete: bool = True) -> ScoreTable:
        """Reverse what lower values are better of; a name of nothing is refused if `complete`."""
        if not reading.lower_is_better:
            return self
        column, labels = self.columns.get("judge_score"), ("oracle_label", label_column) if label_column else ()
        # Picks have no column of scores, and nothing to reverse.
        judges = self.judges if self.columns else ()
        meant: dict[str, set[str]] = {}
        for name in reading.lower_is_better:
            whose = (name, (roles.score_of(name) or ("",))[0])
            own = {judge for judge in judges if judge in whose or name in ("judge_score", column)}
            meant[name] = own | ({"oracle_label"} if name in labels else set())
            if complete and not meant[name]:
                raise UsageError(
                    f"{self.source}: {quoted(name)} is neither a judge nor a column of scores or labels",
                    hint=f"lower may be better for {listed(filter(None, (*judges, column, label_column)))}",
                )
        new = set[str]().union(*meant.values()) - self.turned
        changed = replace(self, rows=self._reversed(new), turned=self.turned | new) if new else self
        for role, every in (("oracle_label", {"oracle_label"}), ("judge_score", {*self.judges})):
            if said := [name for name, those in meant.items() if those & every & new]:
                changed = changed.with_reading(role, f"lower is better ({listed(said)}): reversed")
        if "oracle_label" in new and self.annotators is not None:
            values = float(self.label_scale is not None) - self.annotators.values  # noqa: PD011
            changed = replace(changed, annotators=replace(self.annotators, values=values))
        matched = (name for name, those in meant.items() if those)
        return replace(changed, lower_is_better=tuple(dict.fromkeys((*self.lower_is_better, *matched))))

    def _reversed(self, names: Collection[str]) -> Rows:
        rows, judges = self.rows, self.rows.columns["judge"]
        # From 1 on a declared scale, which is [0, 1] by now; from 0 otherwise, because the negative of 0 is -0.
        top = np.array([float(bool({judge, ""} & set(self.judge_scales))) for judge in self.judges])[judges.codes]
        is_turned = judges.categories.isin(names)[judges.codes]
        turned: dict[str, Any] = {}
        for role in ("judge_score", "low", "high", *draw_columns(rows.columns)):
            if role in rows.columns:
                both = {"low", "high"} <= set(rows.columns)
                other = {"low": "high", "high": "low"}.get(role, role) if both else role
                turned[role] = np.where(is_turned, top - rows.columns[other], rows.columns[role])
        if "oracle_label" in names:
            turned["oracle_label"] = float(self.label_scale is not None) - rows.columns["oracle_label"]
        return rows.assign(turned)

    def __repr__(self) -> str:
        return (
            f"<ScoreTable: {len(self.rows)} rows, {len(self.prompts)} prompts, {len(self.judges)} judges, "
            f"{int((~np.isnan(self.rows.columns['oracle_label'])).sum())} labelled>"
        )

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame, its index their numbers in the source, made when it is first asked for."""
        return self.rows.to_frame()

    @cached_property
    def prompts(self) -> Names:
        """Prompt ids, sorted."""
        named: Categories = self.rows.columns["prompt_id"]
        return named.categories

    @cached_property
    def candidates(self) -> Names:
        """Candidate names, sorted."""
        named: Categories = self.rows.columns["candidate"]
        return named.categories

    @cached_property
    def clusters(self) -> Ints | None:
        """The code of each prompt's cluster, in the order of `prompts`; None without a column of clusters."""
        if "cluster" not in self.rows.columns:
            return None
        clusters = np.zeros(len(self.prompts), dtype=np.int64)
        clusters[self.rows.columns["prompt_id"].codes] = self.rows.columns["cluster"].codes
        return clusters

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """Judge names, sorted."""
        return tuple(self.rows.columns["judge"].categories)

    @cached_property
    def has_labels(self) -> bool:
        """Whether any row carries an oracle label."""
        return bool((~np.isnan(self.rows.columns["oracle_label"])).any())

    @cached_property
    def label_width(self) -> float:
        """Width of the scale of the labels: 1 where it is declared, because labels are then mapped to [0, 1].

        Otherwise the distance from the lowest to the highest label of the table; 1 where labels do not differ.
        """
        of_reference = self.reference is not None and bool({self.reference, ""} & set(self.judge_scales))
        labels = self.rows.columns["oracle_label"]
        labels = labels[~np.isnan(labels)]
        if self.label_scale is not None or of_reference or not labels.size:
            return 1.0
        return float(labels.max() - labels.min()) or 1.0

    @property
    def draws(self) -> int:
        """Most scores that one judge gave one candidate and that were averaged; 1 where none were."""
        wide = draw_columns(self.rows.columns)
        if wide and self.columns.get("judge_score") == averaged(wide):
            return int(sum((~np.isnan(self.rows.columns[name])).astype(int) for name in wide).max())
        if "draw" not in self.rows.columns:
            return 1
        _, counts = np.unique(
            self.cell_keys() * len(self.judges) + self.rows.columns["judge"].codes, return_counts=True
        )
        return int(counts.max())

    def __getstate__(self) -> dict[str, Any]:
        # What only shows a mapping cannot be pickled; the frame is made anew.
        held = {name: value for name, value in vars(self).items() if name != "frame"}
        return {**held, "columns": dict(self.columns), "judge_scales": dict(self.judge_scales)}

    @property
    def declared_scales(self) -> dict[str, Any]:
        """What was declared, as documents hold it: ``judge_scale`` by judge, and ``label_scale``."""
        declared: dict[str, Any] = {}
        if self.judge_scales:
            scales = self.judge_scales.items()
            declared["judge_scale"] = {judge or "every judge": str(scale) for judge, scale in scales}
        if self.label_scale is not None:
            declared["label_scale"] = str(self.label_scale)
        return declared | values_read(self)

    def named_scores(self, judge: str) -> str:
        """Return what a user calls the scores of a judge: its name, or that of the only column of scores."""
        return judge if {"judge", "draws"} & set(self.columns) else self.columns.get("judge_score", judge)

    def off_scale(self, judge: str) -> list[tuple[float, int]]:
        """Return the scores of a judge that may mean that there is none, and how many there are of each."""
        scores = self.rows.columns["judge_score"][self.rows.columns["judge"].are(judge)]
        scores = scores * (-1 if judge in self.turned else 1)
        return [(value, int((scores == value).sum())) for value in off_scale(scores)]

    @property
    def strata(self) -> tuple[str, ...]:
        """Columns that may say one thing of each prompt: no other role, no draws, no words and no costs."""
        # Who gave a label is no column of a table: one of that name that plays no role is a stratum.
        known = {*roles.ROLES, *roles.SPENT, *draw_columns(self.rows.columns)} - {*roles.CANDIDATE_ROLES, "annotator"}
        return tuple(c for c in self.rows.columns if c not in known)

    def with_reference(self, judge: str) -> ScoreTable:
        """Take one judge's scores as the labels of all the others.

        Raises
        ------
        bonwise.errors.UsageError
            No such judge, or no other judge is left to audit.
        """
        if judge not in self.judges:
            raise UsageError(
                f"{self.source}: no judge named {quoted(judge)}", hint=f"the judges are {listed(self.judges)}"
            )
        if len(self.judges) < 2:
            raise UsageError(
                f"{self.source}: {quoted(judge)} is the only judge",
                hint="score the same pools with another judge too",
            )
        is_reference = self.rows.columns["judge"].are(judge)
        keys = self.cell_keys()
        cells = distinct_cells(keys[~is_reference])
        scores = self.rows.columns["judge_score"][is_reference]
        reference_scores = mean_by_cell(positions(keys[is_reference], cells), scores, len(cells))
        others = self.rows.take(~is_reference)
        of_others = reference_scores[positions(keys[~is_reference], cells)]
        others = others.assign({"oracle_label": of_others, "judge": others.columns["judge"].used()})
        words = None if self.words is None else self.words.take(~is_reference)
        return replace(
            self, rows=others, reference=judge, label_rows=None, words=words, label_words={}, annotators=None
        )

    def cell_keys(self) -> Ints:
        """One integer a row that is equal exactly where prompt and candidate are."""
        prompts = self.rows.columns["prompt_id"].codes.astype(np.int64)
        return np.asarray(prompts * len(self.candidates) + self.rows.columns["candidate"].codes)

    def scale_mismatches(self) -> Iterator[tuple[str, Floats, Floats, Hashable]]:
        """Yield each judge whose scores and labels look like different scales.

        Yields
        ------
        judge, scores, labels, row
            The row number is that of the first value that gives it away; of a label file its name follows.
        """
        for judge, scores, labels, at in self._mismatches():
            source, row = self._giveaway(at)
            yield judge, scores, labels, row if source == self.source else f"{row} of {source}"

    def _mismatches(self) -> Iterator[tuple[str, Floats, Floats, int]]:
        """Yield what `scale_mismatches` does, with the position of the giveaway in place of its row number."""
        scores, labels, codes = (
            *(self.rows.columns[role] for role in ("judge_score", "oracle_label")),
            self.rows.columns["judge"].codes,
        )
        for code, judge in enumerate(self.judges):
            of_judge = np.flatnonzero(codes == code) if len(self.judges) > 1 else slice(None)
            at = mismatch(scores[of_judge], labels[of_judge])
            if at is not None:
                yield judge, scores[of_judge], labels[of_judge], int(np.arange(len(codes))[of_judge][at])

    def _giveaway(self, at: int) -> tuple[str, Hashable]:
        """Return the file and the row number of a value that no scale of the other column holds."""
        # Scores in [0, 1] leave the label to give it away, and that may be in a file of its own.
        if self.label_rows is None or self.rows.columns["judge_score"][at] > 1:
            return self.source, self.rows.index[at]
        source, keys, rows = self.label_rows
        return source, rows[int((keys == self.cell_keys()[at]).argmax())]

    def check_scales(self, *, alike: bool = True) -> None:
        """Refuse scores and labels that look like different scales while neither is declared, by the row that tells.

        Unless figures need both `alike`, scores from 0 to 1 may stand beside ratings: a rating is no such score.
        Scores above 1 beside labels from 0 to 1 are refused all the same: these may be labels or chances.
        """
        for error in self.scale_errors(alike=alike).values():
            raise error

    def scale_errors(self, *, alike: bool = True) -> dict[str, RowError]:
        """Return, by judge, what `check_scales` raises the first of."""
        errors = {}
        for judge, scores, labels, at in self._mismatches():
            if not alike and (np.nanmax(labels) > 1 or self.label_scale is not None):
                continue
            source, row = self._giveaway(at)
            flags = self.likely_scales(judge).as_flags()
            such = f", such as {' '.join(flags)}" if flags else ""
            errors[judge] = RowError(
                f"{source}, row {row}: scores of {quoted(judge)} run to {np.nanmax(scores):g} but labels "
                f"to {np.nanmax(labels):g}: another scale",
                hint=f"declare {'both' if self.declares_no_scale(judge) else 'that one too'}{such}",
            )
        return errors

    def likely_scales(self, judge: str) -> ReadingOptions:
        """Return the likely scales of a judge and of the labels, but for one that is declared; none if one is odd."""
        own = self.rows.take(self.rows.columns["judge"].are(judge))
        ranges = [
            own.columns[role]
            for role in ("judge_score", "low", "high", *draw_columns(own.columns))
            if role in own.columns
        ]
        # A declared scale holds each draw and the label of each annotator, and not only what is made of them.
        of_labels = own.columns["oracle_label"] if self.annotators is None else self.annotators.values  # noqa: PD011
        scores, labels = likely_scale(np.concatenate(ranges)), likely_scale(of_labels)
        is_declared = bool({judge, ""} & set(self.judge_scales))
        if not ((scores or is_declared) and (labels or self.label_scale is not None)):
            return ReadingOptions()
        whose = judge if len(self.judges) > 1 else ""
        return ReadingOptions(
            judge_scale=None if is_declared else {whose: parse_scale(scores)},
            label_scale=parse_scale(labels) if self.label_scale is None else None,
        )

    def declares_no_scale(self, judge: str) -> bool:
        """Tell whether neither the scale of a judge nor that of the labels is declared."""
        return self.label_scale is None and not {judge, ""} & set(self.judge_scales)


def _refuse_duplicates(table: ScoreTable) -> None:
    keys, rows = table.cell_keys(), table.rows
    for role in ("judge", "draw"):
        if role in rows.columns:
            codes = rows.columns[role].codes
            keys = keys * (int(codes.max()) + 1) + codes
    if (np.diff(keys) > 0).all():
        return
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if again.size:
        at = again[np.argmin(order[again + 1])]
        first, second = order[at], order[at + 1]
        pair = cell_words(rows.columns["prompt_id"][second], rows.columns["candidate"][second])
        raise RowError(
            f"{table.source}, row {rows.index[second]}: {pair} is scored again by "
            f"{quoted(rows.columns['judge'][second])} (first in row {rows.index[first]})",
            hint="remove one of the rows, or number repeated scores in a column named draw",
        )
