"""Look a file over before an audit: what it was taken for, what is odd about it, what to type next."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse import csgraph

from bonwise.auditing import candidate_attributes, labelling, suspected
from bonwise.doctoring import fixing, proposals, result
from bonwise.errors import ColumnError, InputError, OtherFileError, RowError, UsageError
from bonwise.printable import listed, quoted, shell_flag, shell_path, shell_word
from bonwise.report import numbers, table_facts
from bonwise.results import given
from bonwise.stats import catalog, support, top_of_scores
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.table import annotators, cells, opening, reading_options, sources
from bonwise.table.columns import LabelColumns, names_of_columns, resolve_columns
from bonwise.table.label_words import label_words
from bonwise.table.numbers import distinct, is_blank, read_numbers, without_missing
from bonwise.table.panel import (
    MEANT_BY_NONE,
    USED_BY_CELLS,
    LabelsInPart,
    Panel,
    PromptLeftOut,
    easy_of_panel,
    lay_out,
)
from bonwise.table.reading import RowSource, name_of
from bonwise.table.roles import IDENTIFIERS, ROLES, WORDS, name_tokens
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import CodedColumn, Rows, StructuredText
from bonwise.table.writing import csv_frame, is_in_place, write_whole

SHARED = 0.8
"""Part of the words of two prompts together that both must have."""

_FEWEST_WORDS = 4
_TEMPLATE = 0.2
_FEWEST_PROMPTS = 50
"""Prompts from which on words that `_TEMPLATE` of them have count as those of a template."""

_MOST_COMPARED = 200
"""Prompts with one rare word in common that are compared with each other."""

_LONGEST = 20_000
"""Characters of a prompt that are looked at."""

_WORD = re.compile(r"\w+")


def near_duplicates(table: ScoreTable) -> tuple[tuple[str, ...], ...]:
    """Return groups of prompts whose texts are nearly the same, by id, largest first; none without a ``prompt``.

    Letter case and punctuation aside, the texts are the same, or have four words or more and a Jaccard similarity of
    80 %. Words that a fifth of the prompts have are those of a template and count only where a prompt has no others.
    """
    if table.words is None or "prompt" not in table.words.columns:
        return ()
    codes = table.rows.columns["prompt_id"].codes
    _, first = np.unique(codes, return_index=True)
    texts = {
        str(table.prompts[code]): value
        for code, value in enumerate(table.words.columns["prompt"].take(first).to_numpy())
        if isinstance(value, str)
    }
    return _grouped(list(texts), [tuple(_WORD.findall(text[:_LONGEST].casefold())) for text in texts.values()])


def _grouped(ids: Sequence[str], texts: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    by_text: dict[tuple[str, ...], int] = {}
    of_text = [by_text.setdefault(words, len(by_text)) for words in texts]
    pairs = list(_alike([frozenset(words) for words in by_text]))
    joined = sparse.coo_array(
        (np.ones(len(pairs)), tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)), shape=(len(by_text),) * 2
    )
    _, group = csgraph.connected_components(joined, directed=False)
    members: defaultdict[int, list[str]] = defaultdict(list)
    for name, text, words in zip(ids, of_text, texts, strict=True):
        if words:
            members[int(group[text])].append(name)
    found = [tuple(names) for names in members.values() if len(names) > 1]
    return tuple(sorted(found, key=lambda names: -len(names)))


def _alike(texts: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Yield pairs of different texts that share enough words.

    Two sets that share the part s of their words have one in common among the first ``n - ceil(s n) + 1`` of each,
    whatever the order; in that of rarity few others share it.
    """
    times = Counter(word for words in texts for word in words)
    own = [_without_template(words, times, len(texts)) for words in texts]
    held: defaultdict[str, list[int]] = defaultdict(list)
    known: dict[frozenset[str], int] = {}
    for at, words in enumerate(own):
        if len(words) < _FEWEST_WORDS:
            continue
        if (first := known.setdefault(words, at)) != at:
            yield first, at
        else:
            rarest = sorted(words, key=lambda word: (times[word], word))
            for word in rarest[: len(words) - ceil(SHARED * len(words)) + 1]:
                held[word].append(at)
    for together in held.values():
        for one, other in combinations(together[:_MOST_COMPARED], 2):
            both = len(own[one] & own[other])
            if both >= SHARED * (len(own[one]) + len(own[other]) - both):
                yield one, other


def _without_template(words: frozenset[str], times: Mapping[str, int], texts: int) -> frozenset[str]:
    if texts < _FEWEST_PROMPTS:
        return words
    return frozenset(word for word in words if times[word] <= _TEMPLATE * texts) or words


_MOST_EXAMPLES = 3
_LONGEST_EXAMPLE = 24
_LONG_TEXT = 40
"""Characters from which the middle cell of a column is taken for text rather than for a name."""


def column_facts(frame: pd.DataFrame, taken: Mapping[str, str], *, strata: bool) -> Iterator[result.ColumnFacts]:
    """Yield what each column of a file holds; `taken` is role to column, and with `strata` the others are strata."""
    roles = {name: role for role, column in taken.items() for name in names_of_columns(column)}
    draws = cells.draw_columns(frame.columns)
    for name in frame.columns:
        column = frame[name]
        role = ""
        if name in roles:
            role = roles[name]
        elif name in draws:
            role = "draws"
        elif name in WORDS:
            role = "words"
        elif strata:
            role = "stratum"
        missing = _without_words(column) if role in IDENTIFIERS else is_blank(column)
        kind = "blank" if missing.all() else _kind(column[~missing])
        if role in IDENTIFIERS and not missing.all() and is_blank(column[~missing]).any():
            kind = "names"
        yield result.ColumnFacts(
            name=str(name),
            kind=kind,
            missing=int(missing.sum()),
            examples=_examples(column[~missing]),
            taken=role,
            rows=len(frame),
        )


def _without_words(column: pd.Series) -> np.typing.NDArray[np.bool_]:
    """Tell which identifiers are missing: of these a word such as NA is one like any other."""
    empty = column.isna() | (column.astype(str).str.strip() == "")
    return empty.to_numpy(dtype=bool)


def _kind(column: pd.Series) -> str:
    if column.dtype.kind == "b":
        return "true or false"
    try:
        _, reading = read_numbers(column, role="", source="")
    except RowError:
        return _kind_of_words(column)
    return f"numbers ({reading})" if reading else "numbers"


def _kind_of_words(column: pd.Series) -> str:
    _, cells = distinct(column)
    if any(isinstance(cell, StructuredText | list | dict | tuple | np.ndarray) for cell in cells[:20]):
        return "objects or lists"
    words = label_words(CodedColumn.of(column))
    if words and all(str(cell).strip().lower() in words for cell in cells):
        return f"words ({', '.join(f'{word} = {worth:g}' for word, worth in words.items())})"
    lengths = sorted(len(str(cell)) for cell in cells[:1000])
    return "text" if lengths[len(lengths) // 2] > _LONG_TEXT else "names"


def _examples(column: pd.Series) -> list[str]:
    _, cells = distinct(column.iloc[:1000])
    texts = [str(cell)[: _LONGEST_EXAMPLE + 1] for cell in cells[:_MOST_EXAMPLES]]
    return [text if len(text) <= _LONGEST_EXAMPLE else f"{text[: _LONGEST_EXAMPLE - 3]}..." for text in texts]


FEW = 4
"""Fewer distinct scores than this cannot rank candidates finely."""


class Suspicion(NamedTuple):
    """One finding."""

    sentence: str
    flags: tuple[str, ...] = ()
    reading: reading_options.ReadingOptions = reading_options.AS_IT_STANDS
    """How the table would be read, of which there are flags too."""

    @classmethod
    def of(cls, sentence: str, reading: reading_options.ReadingOptions) -> Suspicion:
        """Return a finding that other flags of reading settle."""
        return cls(sentence, tuple(reading.as_flags()), reading)


def suspicions(table: ScoreTable, panels: Sequence[Panel]) -> tuple[Suspicion, ...]:
    """Collect what looks wrong."""
    as_read = (
        *_names(table),
        *(score for panel in panels for score in _scores(panel)),
        *(loss for panel in panels for loss in _losses(table, panel)),
    )
    marks = [
        Suspicion.of(said, reading_options.ReadingOptions(missing=(flag.partition(" ")[2],)))
        for judge in table.judges
        for said, flag in table_facts.off_scale_words(table, judge)
    ]
    if marks:  # directions and scales are those of the scores that are left
        table = _without_marks(table)
        panels = lay_out(table)
    fullest = max(panels, key=lambda panel: len(panel.sizes))
    return (
        *as_read,
        *marks,
        *_directions(table, panels),
        *_scales(table),
        *_larger_pools(fullest),
        *_suspicions_of_labels(table, fullest),
        *_easy(table, fullest),
        *_outstanding(table, fullest),
    )


def _names(table: ScoreTable) -> Iterator[Suspicion]:
    for what, names in (("prompt ids", table.prompts), ("candidate names", table.candidates)):
        folded: dict[str, list[str]] = {}
        for name in names:
            folded.setdefault(unicodedata.normalize("NFC", name).strip().lower(), []).append(name)
        several = next((alike for alike in folded.values() if len(alike) > 1), None)
        if several is not None:
            alike = [ascii(str(name)) if not name.isascii() else repr(str(name)) for name in several[:2]]
            yield Suspicion(f"Two {what} differ only in case, blanks or Unicode form: {' and '.join(alike)}.")


def _scores(panel: Panel) -> Iterator[Suspicion]:
    scores = panel.scores[~np.isnan(panel.scores)]
    if not len(scores):
        yield Suspicion(f"{panel.judge!r} scored nothing.")
        return
    distinct = np.unique(scores)
    if len(distinct) == 1:
        yield Suspicion(
            f"{panel.judge!r} is constant: every score is {distinct[0]:g}, so its picks are random picks."
        )
    elif len(distinct) < FEW:
        yield Suspicion(f"{panel.judge!r} uses {len(distinct)} distinct scores, so most candidates will tie.")


_BEYOND_CHANCE = 3.0
"""Standard errors by which the loss in a group exceeds that elsewhere before it is said."""


def _losses(table: ScoreTable, panel: Panel) -> Iterator[Suspicion]:
    """Say how many candidates have no score, and what the loss is concentrated on."""
    lost = np.isnan(panel.scores)
    if not lost.any() or lost.all():
        return
    where = max(_lost_in_groups(table, panel, lost), default=None)
    most = f" It falls on {where[1]}." if where is not None and where[0] > _BEYOND_CHANCE else ""
    none = int((panel.scored_cells == 0).sum())
    without = (
        f"; {none:,} prompts have no score at all" if none > 1 else "; 1 prompt has no score at all" if none else ""
    )
    yield Suspicion(
        f"{panel.judge!r} gave no score to {int(lost.sum()):,} of {len(lost):,} candidates "
        f"({numbers.number(float(lost.mean()), 'share')}): they cannot be picked, and cost recovery where they were "
        f"good{without}.{most}"
    )


def _lost_in_groups(table: ScoreTable, panel: Panel, lost: np.ndarray) -> Iterator[tuple[float, str]]:
    """Yield by how many standard errors the loss in a group exceeds that elsewhere, and which group it is."""
    groups = [(f"candidate {quoted(str(name))}", panel.names == code) for code, name in enumerate(panel.candidates)]
    if len(panel.labels) and not np.isnan(panel.labels).all():
        groups.append(
            (
                "the candidates with the best label",
                top_of_scores.at_top(panel.labels, panel.sizes) & ~np.isnan(panel.labels),
            )
        )
    lengths = candidate_attributes.candidate_lengths(table, panel, None)
    if lengths is not None:
        groups.append(("long answers", lengths > np.nanquantile(lengths, 2 / 3)))
    rate = lost.mean()
    for name, inside in groups:
        count = int(inside.sum())
        if not 0 < count < len(lost):
            continue
        here, elsewhere = float(lost[inside].mean()), float(lost[~inside].mean())
        error = np.sqrt(rate * (1 - rate) * (1 / count + 1 / (len(lost) - count)))
        yield (
            (here - elsewhere) / error,
            f"{name}: {numbers.number(here, 'share')} of them, {numbers.number(elsewhere, 'share')} of others",
        )


def _without_marks(table: ScoreTable) -> ScoreTable:
    """Return a table as the flags for its marks read it: they are those of every judge."""
    values = [value for judge in table.judges for value, _ in table.off_scale(judge)]
    scores, turned = table.rows.columns["judge_score"], table.rows.columns["judge"].categories.isin(table.turned)
    as_written = np.where(turned[table.rows.columns["judge"].codes], -scores, scores)
    return replace(
        table, rows=table.rows.assign({"judge_score": np.where(np.isin(as_written, values), np.nan, scores)})
    )


def _scales(table: ScoreTable) -> Iterator[Suspicion]:
    for judge, scores, labels, row in table.scale_mismatches():
        # Of these an audit gives every figure, those of labels in their own unit; the reverse it refuses.
        remedy = "to have figures on [0, 1], " if np.nanmax(labels) > 1 else ""
        likely = table.likely_scales(judge)
        remedy += "declare both scales" if table.declares_no_scale(judge) else "declare the other scale too"
        yield Suspicion.of(
            f"Scores of {judge!r} run from {np.nanmin(scores):g} to {np.nanmax(scores):g}, labels from "
            f"{np.nanmin(labels):g} to {np.nanmax(labels):g} (see row {row}): {remedy}.",
            likely,
        )


def _directions(table: ScoreTable, panels: Sequence[Panel]) -> Iterator[Suspicion]:
    """Look for names of values whose lower ones are better, where picks do not show the opposite."""
    column, label = (table.columns.get(role, "") for role in ("judge_score", "oracle_label"))

    def is_low(what: str, values: np.ndarray, name: str) -> bool:
        # Numbers that are all 0 or less were reversed before.
        return what not in table.turned and bool(proposals.LOWER & {*name_tokens(name)}) and bool((values > 0).any())

    low_labels = is_low("oracle_label", table.frame["oracle_label"].to_numpy(), label)
    found: dict[str, bool] = {}
    for panel in panels:
        low = is_low(panel.judge, panel.scores, f"{panel.judge} {column}")
        whole = panel.keep(panel.labelled_cells == panel.sizes)
        if not len(whole.sizes) or (_recovery(whole) > 0) == (low == low_labels):
            found |= {table.named_scores(panel.judge): low, label: low_labels}
    for name in (name for name, low in found.items() if low):
        reading = reading_options.ReadingOptions(lower_is_better=(name,))
        (flag,) = reading.as_flags()
        yield Suspicion.of(
            f"Lower values of {quoted(name)} may be better, by its name: {flag} reverses them.", reading
        )


def _larger_pools(panel: Panel) -> Iterator[Suspicion]:
    """Look for prompts that a rectangular table leaves out because they have more candidates than others."""
    larger = [left for left in panel.dropped if left.reason.startswith("has extra ")]
    if larger:
        seen = f"{len(larger):,} of {len(panel.sizes) + len(panel.dropped):,} prompts"
        yield Suspicion(
            f"{seen} are left out for a further candidate (such as {quoted(larger[0].prompt_id)}): --ragged keeps "
            "them, a larger pool being a pool.",
            ("--ragged",),
        )


def _suspicions_of_labels(table: ScoreTable, panel: Panel) -> Iterator[Suspicion]:
    found = panel.labelled_cells
    lacking = found < panel.sizes
    unstated = "propensity" not in table.rows.columns
    if found.any() and labelling.label_state(panel).method == "labelled_only":
        will = "describe the others" if unstated else "estimate figures for all of them, by the propensities"
        seen = f"{int(lacking.sum()):,} of {len(lacking):,} prompts lack labels; an audit will {will}"
        state = "No verdict is useful until --design states how these were chosen." if unstated else ""
        part = LabelsInPart.of_panel(panel)
        in_part = f"{part.unused}: {USED_BY_CELLS} {MEANT_BY_NONE}" if part.prompts and unstated else ""
        yield Suspicion(" ".join(filter(None, [f"{seen}.", state, in_part])))
    complete = int((~lacking).sum())
    if 0 < complete < support.FEWEST:
        yield Suspicion(suspected.few_pools(complete).sentence)
    known = panel.labels[~np.isnan(panel.labels)]
    if known.size and known.min() == known.max():
        yield Suspicion(f"Every label is {known[0]:g}: there is nothing to recover.")


def _easy(table: ScoreTable, panel: Panel) -> Iterator[Suspicion]:
    """Look for candidates that are worst almost everywhere: they flatter every metric."""
    complete = panel.keep(panel.labelled_cells == panel.sizes)
    for easy in easy_of_panel(panel):
        what = "label" if easy.by_labels else "score"
        seen = (
            f"Candidate {quoted(easy.name)} has the lowest {what} in {numbers.number(easy.lowest, 'share')} of "
            "prompts"
        )
        inflated = _with_and_without(table, [easy.name], complete) if easy.by_labels else ""
        control, keep = (shell_flag(flag, easy.name) for flag in ("--control", "--keep-easy"))
        yield Suspicion(
            f"{seen}: such a control inflates recovery and every correlation{inflated}. No verdict is useful until "
            f"{control} leaves it out or {keep} counts it like any other candidate.",
            (control,),
        )


def _outstanding(table: ScoreTable, panel: Panel) -> Iterator[Suspicion]:
    """Look for candidates that no other one reaches: they approve, or fail, any judge."""
    complete = panel.keep(panel.labelled_cells == panel.sizes)
    for outstanding_end in suspected.first_of_ends(suspected.outstanding_of(panel, (), lambda *_: {})):
        _, holds, flags = table_facts.outstanding_words(outstanding_end.group)
        seen = f"{holds[0].upper()}{holds[1:]}{_with_and_without(table, outstanding_end.group.names, complete)}"
        them = "it" if len(outstanding_end.group.names) == 1 else "them"
        yield Suspicion(f"{seen}. Where a judge is useful only with {them}, its verdict stays open. {flags}")


def _with_and_without(table: ScoreTable, names: Sequence[str], with_it: Panel) -> str:
    them = "it" if len(names) == 1 else "them"
    try:
        without = next(panel for panel in lay_out(table, exclude=names) if panel.judge == with_it.judge)
    except InputError:
        return ""
    without = without.keep(without.labelled_cells == without.sizes)
    if not len(without.sizes):
        return ""
    found = [_recovery(panel) for panel in (without, with_it)]
    return (
        f" (recovery {numbers.number(found[0], 'share')} without {them}, {numbers.number(found[1], 'share')} with "
        f"{them})"
    )


def _recovery(panel: Panel) -> float:
    sums = panel.sums()
    return float(catalog.recovery(Sums(*sums.sum(axis=1))))


_UNNAMED, _UNNAMED_LABELS = "SCORES.csv", "LABELS.csv"
"""Stand in a command for tables that were no file."""


class _LookedAt(NamedTuple):
    """A table that was understood, and how."""

    table: ScoreTable
    opened: sources.OpenedSource | None
    options: reading_options.ReadingOptions
    """With the flags that were proposed."""
    proposed: tuple[str, ...]


def looked_over(
    source: opening.ScoreSource, options: reading_options.ReadingOptions, fix: Path | None = None
) -> result.DoctorDocument:
    """Look a table over before an audit: columns, what is odd, what to type next; `fix` gets it as understood."""
    if fix is not None and (fix.suffix.lower() != ".csv" or is_in_place(fix)):
        raise UsageError(f"{fix}: the table is written as CSV, and read again", hint="name a file that ends in .csv")
    try:
        looked_at = understood(source, options)
    except OtherFileError as other:
        if fix is not None:
            raise
        return _of_other_file(source, options, other)
    table = looked_at.table
    if len(np.unique(table.cell_keys())) == len(table.prompts):
        alone = OtherFileError(f"{table.source}: no prompt has two candidates to choose between")
        return _of_other_file(source, looked_at.options, alone)
    document, reading = _looked_at(source, looked_at)
    if fix is None:
        return document
    # What the next command would say of reading is in what is written.
    if not isinstance(source, ScoreTable | opening.HoldsScores):
        table = understood(source, reading).table
    elif reading.as_flags() == looked_at.options.as_flags():
        table = looked_at.table
    else:
        why = f"it was read before, and {' '.join(reading.as_flags())} would read it otherwise"
        raise UsageError(f"{document.source}: {why}", hint="read it that way, or mend it, then write it")
    table = opening.with_unlabelled(table, reading)
    write_whole(fix, csv_frame(fixing.table_rows(table).to_frame()))
    then, _ = _looked_at(fix, understood(fix, fixing.reading_of_written(table, reading)))
    lost = [*document.suspicious, *fixing.labels_lost(table)]
    return document.model_copy(update={"fixed": str(fix), "next_command": then.next_command, "suspicious": lost})


def _looked_at(
    source: opening.ScoreSource, looked_at: _LookedAt
) -> tuple[result.DoctorDocument, reading_options.ReadingOptions]:
    """Describe a table, and return how the next command reads it."""
    table, opened, options, why = looked_at
    columns = _columns_of(table)
    held = None
    if opened is not None:
        rows = {name: opened.rows.column(name) for name in opened.rows.columns}
        held = without_missing(Rows(rows, opened.rows.index), columns, options.missing).only(rows).to_frame()
    table = opening.with_unlabelled(table, options).weighted_by(None)
    panels = lay_out(table)
    found, stated = suspicions(table, panels), labelling.stated_draw(None, table)
    # In the order in which they are found, each once: judges of one table lack the same prompts.
    dropped = dict.fromkeys((one.prompt_id, one.reason) for panel in panels for one in _dropped(panel, stated))
    refused = _not_audited(table, panels)
    reading = options
    for suspicion in () if refused else found:
        reading = reading.also(suspicion.reading)
    document = result.DoctorDocument(
        source=table.source,
        columns={role: str(column) for role, column in table.columns.items()},
        strata=[str(column) for column in table.strata],
        counts=result.TableCounts(
            rows=len(table.rows),
            prompts=len(table.prompts),
            candidates=len(table.candidates),
            judges=len(table.judges),
        ),
        shape=panels[0].shape,
        dropped=dict(Counter(reason for _, reason in dropped)),
        judges=[_judge(panel) for panel in panels],
        labels=_label_coverage(table, max(panels, key=lambda panel: len(panel.sizes))),
        suspicious=[*(one.sentence for one in found), *_near_duplicates(table), *_unread_labels(table)],
        next_command=_next_command(table, name_of(source, _UNNAMED), options, found, refused=bool(refused)),
        supports=_supports(table, refused),
        **given(column_facts=None if held is None else list(column_facts(held, columns, strata=True))),
        **given(readings=dict(table.readings) or None, unlabelled=table.unlabelled),
        **given(proposed=list(why) or None, not_audited=refused or None),
    )
    return document, reading


def understood(source: opening.ScoreSource, options: reading_options.ReadingOptions) -> _LookedAt:
    """Return the table of a file, with the flags that a reader would need for it; OtherFileError for no table."""
    if isinstance(source, ScoreTable | opening.HoldsScores):
        table = opening.open_scores(source, options)
        if options.labels is not None:
            table = opening.join_labels(table, options.labels, options)
        return _LookedAt(table, None, options, ())
    why: tuple[str, ...] = ()
    try:
        opened = _opened(source, options)
    except ColumnError as problem:
        options, why = proposals.proposed(source, options, problem)
        opened = _opened(source, options)
    if options.labels is not None:
        try:
            table, _ = opening.open_labelled(source, options)
        except ColumnError:
            if options.join_col or options.by_line:
                raise
            options, how = proposals.how_labels_join(source, options)
            table, why = opening.open_labelled(source, options)[0], (*why, *how)
        return _LookedAt(table, opened, options, why)
    table = ScoreTable.validated(opened, options)
    people = [] if options.oracle else proposals.human_columns(table.rows, table.strata, options.word_values)
    if people and not table.has_labels and not table.unread_labels:
        named = {**options.named_columns, "oracle_label": people if len(people) > 1 else people[0]}
        options = replace(options, columns=named)
        why = (*why, f"labels are in {listed(people)}, which hold values of people by their names")
        table = ScoreTable.validated(_opened(source, options), options)
    return _LookedAt(table, opened, options, why)


def _opened(source: RowSource, options: reading_options.ReadingOptions) -> sources.OpenedSource:
    own = options.of_scores()
    return sources.with_columns(sources.open_source(source, own.named_columns), own)[0]


def _of_other_file(
    source: opening.ScoreSource, options: reading_options.ReadingOptions, other: OtherFileError
) -> result.DoctorDocument:
    """Describe a file that is no table of scores: what it is, what its columns hold, and what to type."""
    command, labels = other.command, options.labels
    if not command and labels is not None and isinstance(labels, str | Path) and "picks" in other.message:
        command = f"bonwise audit {shell_path(name_of(source, _UNNAMED))} --labels {shell_path(labels)}"
    elif command.startswith("bonwise preferences") and isinstance(labels, str | Path):
        command += f" --labels {shell_path(labels)}"
    facts = columns_of(source, **(options.columns or {}))  # type: ignore[arg-type]
    why = other.message if not other.hint or command else f"{other.message}: {other.hint}"
    return result.DoctorDocument(
        source=name_of(source, "table"),
        columns={},
        strata=[],
        counts=result.TableCounts(
            rows=max((fact.rows for fact in facts), default=0), prompts=0, candidates=0, judges=0
        ),
        dropped={},
        judges=[],
        labels=result.LabelCoverage(
            labelled_rows=0, labelled_prompts=0, partly_labelled_prompts=0, unlabelled_prompts=0
        ),
        suspicious=[],
        next_command=command,
        not_audited=why,
        column_facts=facts,
        supports={},
    )


def _not_audited(table: ScoreTable, panels: Sequence[Panel]) -> str:
    """Return why an audit of a table would say nothing; empty where it would."""
    labels = table.rows.columns["oracle_label"]
    known = labels[~np.isnan(labels)]
    if known.size and known.min() == known.max():
        return f"every label is {known[0]:g}, so that no pick is better than another"
    if known.size and not any((panel.labelled_cells == panel.sizes).any() for panel in panels):
        return (
            "no prompt has labels for all its candidates; add --design cells if those with a label are a random "
            "sample, or --unlabelled-is 0 if no label means not relevant"
        )
    if not known.size and sum(bool((~np.isnan(panel.scores)).any()) for panel in panels) < 2:
        return "there is no label of a person to compare the judge with; first draw some candidates to label"
    return ""


_RECUR = 0.5
"""Share of the prompts that names of candidates stand in, of a file whose models can be told apart."""


def _supports(table: ScoreTable, refused: str) -> dict[str, str]:
    """Say of each kind of analysis ``yes``, or ``no: `` and why."""
    pairs = len(np.unique(table.cell_keys()))
    recur = len(table.candidates) > 1 and pairs >= _RECUR * len(table.candidates) * len(table.prompts)
    signal = table.draws > 1 or len(table.judges) > 1 or {"low", "ci_width"} & set(table.rows.columns)
    reasons = {
        "audit": refused,
        "comparison of judges": "" if len(table.judges) > 1 else "one judge",
        "factor model": "" if recur else "one model" if len(table.candidates) == 1 else "names of candidates differ",
        "routing": "" if signal else "no second judge, repeated scores or intervals",
    }
    if not table.has_labels:
        reasons["factor model"] = reasons["factor model"] or "no labels of people"
    return {what: f"no: {why}" if why else "yes" for what, why in reasons.items()}


def columns_of(source: RowSource, **columns: str | Sequence[str]) -> list[result.ColumnFacts]:
    """Describe the columns of a file that may be no table of scores; `columns` are role to column, or to several."""
    named = reading_options.ReadingOptions(columns=columns).named_columns
    opened = sources.open_source(source, named)
    rows, name = opened.rows, opened.name
    taken: dict[str, str] = {}
    for role, column in named.items():
        several = LabelColumns.named(column, rows.columns)
        if several is not None or column in rows.columns:
            taken[role] = column if several is None else several
    for role in ROLES:
        # Alone each role is found that can be; which of several columns plays it is then open.
        with suppress(InputError):
            taken |= resolve_columns(rows, taken, source=name, required=(), roles=(role,))
    return list(column_facts(opened.frame, taken, strata=False))


def _columns_of(table: ScoreTable) -> dict[str, str]:
    """Return the columns by role, several columns of labels as such."""
    columns = dict(table.columns)
    if table.annotators is not None and not table.annotators.in_rows:
        columns["oracle_label"] = LabelColumns.of(table.annotators.columns)
    return columns


def _unread_labels(table: ScoreTable) -> Iterator[str]:
    """Yield why a column that has a name of labels holds none."""
    if table.unread_labels and not table.has_labels:
        yield f"No column is taken for the labels: {table.unread_labels}."


def _near_duplicates(table: ScoreTable) -> Iterator[str]:
    """Yield how many prompts are wordings of one another, where no column says so."""
    if table.clusters is None and (groups := near_duplicates(table)):
        prompts, (one, other, *_) = sum(map(len, groups)), groups[0]
        said = "1 group" if len(groups) == 1 else f"{len(groups):,} groups"
        yield (
            f"{prompts:,} prompts have nearly the same text as another one, in {said}, such as {quoted(one)} and "
            f"{quoted(other)}: intervals take them as independent. A column 'cluster' (or --cluster-col NAME) that "
            "is equal where prompts belong together makes each group one unit."
        )


def _dropped(panel: Panel, stated: labelling.StatedDraw | None) -> tuple[PromptLeftOut, ...]:
    """Return what an audit would leave out, for lack of scores or, of a few prompts, of labels."""
    audited = bool(len(panel.sizes)) and bool((panel.labelled_cells == panel.sizes).any())
    return labelling.label_state(panel, stated).panel.dropped if audited else panel.dropped


def _judge(panel: Panel) -> result.JudgeScores:
    if not len(panel.sizes):
        return result.JudgeScores(judge=panel.judge, prompts=0)
    scores = panel.scores[~np.isnan(panel.scores)]
    if not len(scores):
        return result.JudgeScores(judge=panel.judge, prompts=0)
    sums = Sums(*prompt_sums(panel.scores, np.zeros(len(panel.scores)), panel.sizes))
    return result.JudgeScores(
        judge=panel.judge,
        prompts=int((panel.scored_cells > 0).sum()),
        lowest=float(scores.min()),
        highest=float(scores.max()),
        distinct=len(np.unique(scores)),
        tie_rate=float(1 - sums.apart_S.sum() / max(sums.pairs.sum(), 1)),
        top1_tie_rate=float(sums.tied_top.sum() / max(sums.judged.sum(), 1)),
        **given(unscored=(len(panel.scores) - len(scores)) or None),
    )


def _label_coverage(table: ScoreTable, panel: Panel) -> result.LabelCoverage:
    values = table.frame["oracle_label"].dropna()
    found, some = panel.labelled_cells, bool(len(values))
    return result.LabelCoverage(
        labelled_rows=len(values),
        labelled_prompts=int((found == panel.sizes).sum()),
        partly_labelled_prompts=int(((found > 0) & (found < panel.sizes)).sum()),
        unlabelled_prompts=int((found == 0).sum()),
        **given(
            lowest=float(values.min()) if some else None,
            highest=float(values.max()) if some else None,
            distinct=int(values.nunique()) if some else None,
            words=dict(table.label_words) or None,
            annotators=_annotators(table.annotators),
        ),
    )


def _annotators(found: annotators.AnnotatorLabels | None) -> result.AnnotatorCounts | None:
    if found is None:
        return None
    return result.AnnotatorCounts(
        layout="rows" if found.in_rows else "columns",
        columns=list(map(str, found.columns)),
        annotators=len(found.names),
        labels=len(found.values),
        several_labels=found.several,
        kind=found.kind,
        rule=found.rule,
        split=found.split,
    )


def _next_command(
    table: ScoreTable,
    path: str,
    reading: reading_options.ReadingOptions,
    found: Sequence[Suspicion],
    *,
    refused: bool,
) -> str:
    flags = reading.as_flags()
    # Labels of retrieval name what is relevant: all that was not judged counts as not relevant by its convention.
    if refused and table.unretrieved is not None and reading.unlabelled_is is None:
        flags.append("--unlabelled-is 0")
    elif refused:
        settled = [finding for finding in found if finding.reading != reading_options.AS_IT_STANDS]
        flags += [flag for finding in settled for flag in finding.flags]
        return _to_label(table, path, flags) if not table.has_labels and len(table.candidates) > 1 else ""
    if reading.labels is not None:
        flags.append("--labels " + shell_path(name_of(reading.labels, _UNNAMED_LABELS)))
    elif not table.has_labels:
        flags.append("--oracle " + shell_word(f"judge:{table.judges[0]}"))
    suggested = (flag for one in found for flag in one.flags)
    return " ".join(["bonwise audit", shell_path(path), *dict.fromkeys([*flags, *suggested])])


_TO_LABEL = 100


def _to_label(table: ScoreTable, path: str, flags: Sequence[str]) -> str:
    """Return the command that draws what people label first."""
    stem = Path(path).name.partition(".")[0] or "labels"
    out = f"--out {shell_path(stem + '_design.csv')} --sheet {shell_path(stem + '_sheet.csv')}"
    count = min(_TO_LABEL, len(table.prompts))
    scored = table.rows.columns["judge"].codes[~np.isnan(table.rows.columns["judge_score"])]
    if len(table.judges) > 1 and len(scored):
        flags = [*flags, shell_flag("--judge", table.judges[scored[0]])]
    return " ".join(["bonwise labels draw", shell_path(path), *dict.fromkeys(flags), f"--labels {count}", out])
