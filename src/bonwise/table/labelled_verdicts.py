"""Verdicts of judges on pairs beside the oracle's, of the same file or of human votes joined by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, RowError, UsageError
from bonwise.printable import quoted
from bonwise.table import checks, identifiers, nested, numbers, reading, vote_columns, vote_readings, vote_rows
from bonwise.table.facts import JoinedLabels
from bonwise.table.store import Categories

LABEL_REASONS = ("no verdict", "a model against itself", "prompt not judged", "pair not judged")
"""Why a label is left out."""


@dataclass(frozen=True, eq=False)
class VotedPairs:
    """Rows of votes by pair, the alphabetically first side as the first."""

    rows: vote_rows.VoteRows
    names: pd.DataFrame = field(repr=False)
    """``prompt``, ``apart``, ``low`` and ``high`` of each row, as text; the last two are empty where no column names
    the sides.
    """
    turned: Mask = field(repr=False)
    """Where the second column holds the first side."""
    worth: Floats = field(repr=False)

    @classmethod
    def of(cls, rows: vote_rows.VoteRows) -> VotedPairs:
        """Name the pair of each row."""
        raw, columns, source = rows.frame, rows.columns, rows.source
        blank = np.full(len(raw), "", dtype=object)
        prompt = np.asarray(identifiers.joined_names(raw, columns.prompt, "prompt_id", source), dtype=object)
        more = blank
        if columns.apart:
            more = np.asarray(identifiers.joined_names(raw, columns.apart, "pair", source), dtype=object)
        first, other = (
            [
                np.asarray(identifiers.as_categories(raw[name], role="model", source=source), dtype=object)
                for name in columns.pair
            ]
            if columns.pair
            else [blank, blank]
        )
        turned: Mask = np.asarray(first > other, dtype=bool)
        names = {"prompt": prompt, "apart": more, "low": np.where(turned, other, first)}
        names["high"] = np.where(turned, first, other)
        values: Floats = np.where(turned[:, None], 1 - rows.worth, rows.worth)
        return cls(rows, pd.DataFrame(names, index=raw.index), turned, values)

    @property
    def alone(self) -> Mask:
        """Which rows compare a side with itself."""
        if not self.rows.columns.pair:
            return np.zeros(len(self.names), dtype=bool)
        return np.asarray(self.names["low"] == self.names["high"], dtype=bool)


@dataclass(frozen=True, eq=False, slots=True)
class PairKeys:
    """The number of the pair, and of the prompt, of the rows of two files."""

    verdicts: Ints
    labels: Ints
    verdict_prompts: Ints
    label_prompts: Ints

    @classmethod
    def of(cls, verdicts: VotedPairs, labels: VotedPairs) -> PairKeys:
        """Number pairs alike in both; refused where only one file names the sides, or only one tells pairs apart."""
        _refuse_unlike(verdicts, labels)
        both = pd.concat([verdicts.names, labels.names], ignore_index=True)
        codes = pd.DataFrame({name: numbers.distinct(both[name])[0] for name in both.columns})
        pairs = codes.groupby(list(codes.columns), sort=False).ngroup().to_numpy().astype(np.int64)
        prompts, cut = codes["prompt"].to_numpy().astype(np.int64), len(verdicts.names)
        return cls(pairs[:cut], pairs[cut:], prompts[:cut], prompts[cut:])


@dataclass(frozen=True, eq=False, slots=True)
class JoinedVotes:
    """The labels of the judged pairs, and what became of every vote."""

    label: Floats = field(repr=False)
    """Of the pair of each verdict: 1 where more votes prefer the alphabetically first side, 0 where fewer, 1/2 where
    as many; NaN where there is no vote.
    """
    reason: npt.NDArray[np.object_] = field(repr=False)
    """Why there is no label; empty where there is one."""
    facts: JoinedLabels
    """What became of every vote."""


def join_votes(verdicts: VotedPairs, labels: VotedPairs, keys: PairKeys) -> JoinedVotes:
    """Return the majority of votes on each verdict's pair; sides in one file only, or no match, are an InputError."""
    worth, size = vote_rows.one_verdict(labels.worth), int(max(keys.verdicts.max(), keys.labels.max())) + 1
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
    joined = label[keys.verdicts]
    known = np.isin(keys.verdict_prompts, keys.label_prompts)
    first = np.full(size, -1)
    first[keys.verdicts[::-1]] = np.arange(len(keys.verdicts))[::-1]
    turned = labels.turned[counted] != verdicts.turned[first[pair]]
    alike = (np.abs(lead) == votes) | (decided == 0)
    return JoinedVotes(
        joined,
        np.where(~np.isnan(joined), "", np.where(known, "no label of the pair", "no label of the prompt")),
        JoinedLabels.model_validate(
            {
                "source": labels.rows.source,
                "rows": len(worth),
                "votes": int(counted.sum()),
                "turned": int(turned.sum()) if labels.rows.columns.pair else 0,
                "pairs": int((votes > 0).sum()),
                "several": int((votes > 1).sum()),
                "unanimous": int(((votes > 1) & alike).sum()),
                "no_majority": int(((votes > 0) & (lead == 0) & (decided > 0)).sum()),
                "left_out": {reason: count for reason, count in counts.items() if count},
            }
        ),
    )


def _refuse_unlike(verdicts: VotedPairs, labels: VotedPairs) -> None:
    """Refuse two files of which one alone names the sides, or tells the pairs of a prompt apart."""
    for role, what in (("pair", "names the sides of a pair"), ("apart", "tells the pairs of a prompt apart")):
        files = [(held.rows.source, getattr(held.rows.columns, role)) for held in (verdicts, labels)]
        named = [file for file in files if file[1]]
        if len(named) == 1:
            other = next(source for source, columns in files if not columns)
            raise UsageError(
                f"{named[0][0]} {what} by {' and '.join(map(quoted, named[0][1]))}, and {other} does not",
                hint="give both files such columns, and name them with --pair-col COLUMN,COLUMN",
            )


def _no_match(verdicts: VotedPairs, labels: VotedPairs) -> InputError:
    shown = [
        f"prompt {quoted(keyed.names['prompt'].iloc[0])}"
        + (
            f" with {quoted(keyed.names['low'].iloc[0])} and {quoted(keyed.names['high'].iloc[0])}"
            if columns.pair
            else ""
        )
        + f" (columns {', '.join((*columns.prompt, *columns.apart, *columns.pair))})"
        for keyed, columns in ((verdicts, verdicts.rows.columns), (labels, labels.rows.columns))
    ]
    return InputError(
        f"{labels.rows.source}: no vote is on a pair of {verdicts.rows.source}, which has {shown[0]}, and not "
        f"{shown[1]}",
        hint="name the columns that both files share with --prompt-col and --pair-col MODEL,MODEL",
    )


@dataclass(frozen=True, eq=False)
class LabelledVerdicts:
    """Verdicts on pairs, one row per judge and pair."""

    source: str
    prompt: Categories = field(repr=False)
    judge: Categories = field(repr=False)
    context: Categories = field(repr=False)
    verdicts: Floats = field(repr=False)
    """1 for the first candidate, 0 for the second, 1/2 for a tie; NaN where there is none."""
    oracle: Floats = field(repr=False)
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Rows left out, by judge and reason."""
    asked: Mapping[str, frozenset[int]] = field(default_factory=dict, repr=False)
    """The pairs of each judge's rows, by number, those left out among them."""
    columns: vote_columns.VoteColumns = field(default_factory=lambda: vote_columns.VoteColumns(()))
    """Where verdicts, prompts, judges and sides stand; ``apart`` holds what tells pairs of a prompt apart."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """How the files were read, by column."""
    joined: JoinedVotes | None = None
    """Of labels in a second file."""
    both_orders: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    """Pairs that a judge saw in two rows, each side first in one of them; they are averaged."""
    label: str = ""
    """CodedColumn of the labels."""
    kept: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    """Positions of the rows in the source."""

    @classmethod
    def read(  # noqa: PLR0913 - one argument a role, all but the source named
        cls,
        source: reading.RowSource,
        *,
        verdicts: Sequence[str] = (),
        oracle: str,
        prompt: Sequence[str] = (),
        judge: Sequence[str] = (),
        context: Sequence[str] = (),
        pair: Sequence[str] = (),
        verdict_map: Mapping[str, str] | None = None,
        second_order: checks.SecondOrder | None = None,
        in_part: bool = False,
    ) -> LabelledVerdicts:
        """Read a file or frame, names perhaps of several columns; refuses pairs judged twice and no label at all."""
        taken = {"label": (oracle,), "prompt": prompt, "judge": judge, "context": context, "pair": pair}
        _refuse_twice(verdicts, taken)
        wanted = [*verdicts, oracle, *prompt, *judge, *context, *pair]
        raw, name = nested.open_frame(source, wanted, in_part=in_part)
        identifiers.require_columns(raw, wanted, name)
        meaning = vote_rows.check_verdict_map(verdict_map)
        named = vote_columns.NamedVoteColumns(
            verdicts=tuple(verdicts) or None,
            pair=vote_columns.pair_of(raw, without={*verdicts, oracle, *prompt, *judge}),
            prompt=tuple(prompt) or None,
            judge=tuple(judge),
        )
        rows = vote_rows.VoteRows.of(
            raw if verdicts else raw.drop(columns=oracle),
            name,
            named,
            needed=("verdicts", "prompt"),
            verdict_map=meaning,
        ).in_order(second_order)
        sides = raw[list(rows.columns.pair)] if rows.columns.pair else None
        gold = vote_readings.read_votes(raw[oracle], name, sides=sides, verdict_map=meaning)
        reason = np.where(np.isnan(gold.worth), "no label", "")
        columns = replace(rows.columns, apart=tuple(pair))
        read = {**rows.readings, oracle: gold.reading}
        pairs = identifiers.joined_names(raw, [*columns.prompt, *pair], "pair", name)
        table = _of_rows(
            replace(rows, columns=columns, readings=read), rows.worth, gold.worth, reason, pairs, context
        )
        _refuse_split_prompts(table)
        names = [str(pairs[at]) for at in table.kept]
        _refuse_repeats(table, pairs.codes[table.kept], raw.index[table.kept], names)
        return replace(table, label=oracle)

    @classmethod
    def joined_with(
        cls,
        source: reading.RowSource,
        labels: reading.RowSource,
        *,
        named: vote_columns.NamedVoteColumns,
        label: str | None = None,
        context: Sequence[str] = (),
        verdict_map: Mapping[str, str] | None = None,
        second_order: checks.SecondOrder | None = None,
    ) -> LabelledVerdicts:
        """Read a judge's verdicts, and the votes of a second file as their labels; the first side is alphabetical."""
        wanted = [*(named.verdicts or ()), *(named.prompt or ()), *context]
        raw, name = nested.open_frame(source, wanted, in_part=True)
        others, where = nested.open_frame(labels, [label], "labels")
        identifiers.require_columns(raw, context, name)
        others = _one_label_per_row(others, label, where)
        both = bool(vote_columns.rounds_of(raw)) and bool(vote_columns.rounds_of(others))
        meaning, needed = (
            vote_rows.check_verdict_map(verdict_map),
            ("verdicts", "prompt", *(["apart"] if both else [])),
        )
        rows = vote_rows.VoteRows.of(raw, name, named, needed=needed, verdict_map=meaning).in_order(second_order)
        of_labels = replace(named.present_in(others), verdicts=None if label is None else (label,), judge=())
        votes = vote_rows.VoteRows.of(others, where, of_labels, needed=needed, verdict_map=meaning)
        rows, votes = _sides_by_position(rows, votes, named)
        judged, voted = VotedPairs.of(rows), VotedPairs.of(votes)
        keys = PairKeys.of(judged, voted)
        joined_votes = join_votes(judged, voted, keys)
        in_one_order = _in_one_order(rows, judged.worth, keys.verdicts) & (joined_votes.reason == "")
        reason = np.where(in_one_order, "a verdict in one order only", joined_votes.reason)
        reason = np.where(judged.alone, "a model against itself", reason)
        pairs = identifiers.as_categories(pd.Series(keys.verdicts), role="pair", source=name)
        read = {**rows.readings, **{f"{where}: {key}": how for key, how in votes.readings.items()}}
        table = _of_rows(replace(rows, readings=read), judged.worth, joined_votes.label, reason, pairs, context)
        _refuse_split_prompts(table)
        return _averaged(replace(table, joined=joined_votes, label=",".join(votes.columns.verdicts)), pairs, judged)


def _one_label_per_row(labels: pd.DataFrame, named: str | None, source: str) -> pd.DataFrame:
    """Return rows with one vote each where several columns hold votes, named with commas between."""
    if named is None or named in labels.columns or "," not in named:
        return labels
    columns = [column.strip() for column in named.split(",")]
    identifiers.require_columns(labels, columns, source)
    rest = labels.drop(columns=columns)
    return pd.concat([rest.assign(**{named: labels[column]}) for column in columns])


def _sides_by_position(
    verdicts: vote_rows.VoteRows, labels: vote_rows.VoteRows, named: vote_columns.NamedVoteColumns
) -> tuple[vote_rows.VoteRows, vote_rows.VoteRows]:
    """Compare by position, and say so, where one file has the texts of one pair per prompt and the other no sides."""
    with_sides = [rows for rows in (verdicts, labels) if rows.columns.pair]
    if len(with_sides) != 1 or named.pair is not None or not with_sides[0].columns.names_texts:
        return verdicts, labels
    columns = with_sides[0].columns
    pairs = with_sides[0].frame[[*columns.prompt, *columns.apart, *columns.pair]].astype(str).drop_duplicates()
    if pairs.duplicated([*columns.prompt, *columns.apart]).any():
        return verdicts, labels
    how = f"the first side is that of {columns.pair[0]} in both files"
    readings = {**with_sides[0].readings, "sides": how}
    bare = replace(with_sides[0], columns=columns.only(("prompt", "judge", "apart")), readings=readings)
    return (bare, labels) if with_sides[0] is verdicts else (verdicts, bare)


def _of_rows(
    rows: vote_rows.VoteRows,
    verdicts: Floats,
    gold: Floats,
    reason: npt.NDArray[np.object_],
    pairs: Categories,
    context: Sequence[str],
) -> LabelledVerdicts:
    """Leave out rows without a verdict or a label, and count them."""
    raw, name, columns = rows.frame, rows.source, rows.columns
    judges = (
        identifiers.joined_names(raw, columns.judge, "judge", name)
        if columns.judge
        else Categories.alike(len(raw), "judge")
    )
    reason = np.where((reason == "") & np.isnan(verdicts).any(axis=1), "no verdict", reason)
    kept = reason == ""
    if not kept.any():
        raise InputError(f"{name}: no row has both a verdict and a label", hint="check the columns that were named")
    dropped = {str(j): dict(Counter(reason[judges.are(j) & ~kept].tolist())) for j in judges.categories}
    return LabelledVerdicts(
        name,
        identifiers.joined_names(raw, columns.prompt, "prompt_id", name)[kept],
        judges[kept],
        (identifiers.joined_names(raw, context, "context", name) if context else Categories.alike(len(raw), "all"))[
            kept
        ],
        verdicts[kept],
        gold[kept],
        {j: counts for j, counts in dropped.items() if counts},
        {str(j): frozenset(pairs.codes[judges.are(j)].tolist()) for j in judges.categories},
        columns,
        rows.readings,
        both_orders=np.zeros(int(kept.sum()), dtype=bool),
        kept=np.flatnonzero(kept),
    )


def _in_one_order(rows: vote_rows.VoteRows, worth: Floats, pairs: Ints) -> Mask:
    """Tell which verdicts are on a pair whose other order, a row of its own, has none."""
    missing = pd.Series(np.isnan(worth).any(axis=1))
    judge = [rows.frame[name].astype(str).to_numpy() for name in rows.columns.judge]
    some_missing = missing.groupby([*judge, pairs]).transform("any")
    return np.asarray(some_missing & ~missing, dtype=bool)


def _refuse_twice(verdicts: Sequence[str], taken: Mapping[str, Sequence[str]]) -> None:
    """Refuse a column of verdicts that would be two orders, or is something else already."""
    for at, column in enumerate(verdicts):
        if column in verdicts[:at]:
            raise UsageError(
                f"verdict column {quoted(column)} is named twice",
                hint="two presentation orders are two columns; of one order name its column once",
            )
        role = next((role for role, columns in taken.items() if column in columns), None)
        if role is not None:
            raise UsageError(
                f"verdict column {quoted(column)} is a {role} column too",
                hint="name the column that holds the verdicts",
            )


def _refuse_split_prompts(table: LabelledVerdicts) -> None:
    pairs = pd.DataFrame({"prompt": table.prompt.codes, "context": table.context.codes}).drop_duplicates()
    again = np.flatnonzero(pairs["prompt"].duplicated())
    if again.size:
        prompt = table.prompt.categories[pairs["prompt"].to_numpy()[again[0]]]
        raise InputError(
            f"{table.source}: prompt {quoted(prompt)} is in two contexts",
            hint="name the context among the prompt columns too, such as --prompt-col dataset,item",
        )


def _refuse_repeats(table: LabelledVerdicts, pairs: npt.NDArray[np.intp], rows: pd.Index, names: list[str]) -> None:
    again = pd.DataFrame({"p": pairs, "j": table.judge.codes}).duplicated().to_numpy()
    if again.any():
        at = int(np.flatnonzero(again)[0])
        raise RowError(
            f"{table.source}, row {rows[at]}: {quoted(table.judge[at])} judges {quoted(names[at])} again",
            hint="name all columns of the judge with --judge-col a,b; what tells its pairs apart, with --pair-col",
        )


def _averaged(table: LabelledVerdicts, pairs: Categories, judged: VotedPairs) -> LabelledVerdicts:
    """Average the verdicts on a pair that a judge saw in both orders, a row each; refuse any other repeated pair."""
    pair, turned = np.asarray(pairs.codes)[table.kept].astype(np.int64), judged.turned[table.kept]
    shown = judged.names.iloc[table.kept]
    names = [" / ".join(part for part in row if part) for row in shown.itertuples(index=False, name=None)]
    _refuse_repeats(table, 2 * pair + turned, shown.index, names)
    keys = pd.DataFrame({"j": table.judge.codes, "p": pair})
    again = keys.duplicated().to_numpy()
    if not again.any():
        return table
    group = keys.groupby(["j", "p"], sort=False).ngroup().to_numpy()
    counts = np.bincount(group)
    sums = np.column_stack([np.bincount(group, column) for column in table.verdicts.T])
    is_first = ~again
    return replace(
        table,
        prompt=table.prompt[is_first],
        judge=table.judge[is_first],
        context=table.context[is_first],
        verdicts=(sums / counts[:, None])[group[is_first]],
        oracle=table.oracle[is_first],
        kept=table.kept[is_first],
        both_orders=(counts > 1)[group[is_first]],
    )
