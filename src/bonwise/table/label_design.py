"""Label designs, the record beside a file of labels: which prompts were drawn, how likely, by which rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.printable import listed, quoted, shell_path
from bonwise.table import draw_records, identifiers, reading, store, text_files, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from bonwise.table.score_table import ScoreTable

BY_PROMPT = ("rule", "uniform", "stratified", "neyman")
"""Rules that draw prompts, all of whose candidates are labelled."""

BY_CANDIDATE = ("pick", "pair")
"""Rules that have the judge's pick of a drawn prompt labelled: alone, or with one other candidate."""

WHOLE_AND_PAIR = "whole-and-pair"
"""Rule that has some prompts labelled whole and, of others, a pair: one top candidate and one of the others."""

_RULES = (*BY_PROMPT, *BY_CANDIDATE, WHOLE_AND_PAIR)


DESIGN_HEADER = ("prompt_id", "phase", "propensity", "stratum", "seed", "rule", "judge")
_DRAWN = ("pick", "other")

_TOO_LARGE = 2.0**63
"""No phase, stratum or seed."""


@dataclass(frozen=True, eq=False)
class LabelDesign:
    """A draw of prompts, or of candidates, from all prompts of a table.

    Parameters
    ----------
    prompt_ids : pandas.Index, shape (prompts,)
        All prompts that could have been drawn.
    phase : ndarray of int64, shape (prompts,)
        Draw in which a prompt was taken: 1, 2, ...; 0 for one that was not.
    propensity : ndarray of float64, shape (prompts,)
        Probability of being drawn, up to the last phase, in (0, 1]; 0 only for a prompt that no draw could take.
    stratum : ndarray of int64, shape (prompts,)
        Prompts of a stratum were drawn alike, a fixed number of them without replacement.
    rule : str
        One of `BY_PROMPT` or `BY_CANDIDATE`, or `WHOLE_AND_PAIR`.
    seed : int
        Of the last phase.
    judge : str
        Whose scores the rule looked at.
    picks, others : sequence of str
        By candidate: the drawn pick of each prompt, and for pairs the drawn other candidate; empty strings where
        nothing was drawn, or all. Empty for the rules by prompt.
    source : str
        File it was read from.
    seeds : ndarray of int64, shape (prompts,), optional
        Seed of the phase in which each prompt was drawn, that of the last phase where it was not; `seed` for all
        where nothing is given.
    cells : CellChances, optional
        Of a draw by cell: what was drawn whole, and the probabilities of cells and pairs.
    clusters : sequence of str
        Of each prompt, where clusters of prompts were drawn whole; then the propensity of a prompt is that of its
        cluster. Empty where prompts were drawn one by one.
    """

    prompt_ids: store.Names = field(repr=False)
    phase: Ints = field(repr=False)
    propensity: Floats = field(repr=False)
    stratum: Ints = field(repr=False)
    rule: str
    seed: int
    judge: str
    picks: Sequence[str] = field(default=(), repr=False)
    others: Sequence[str] = field(default=(), repr=False)
    source: str = "design"
    seeds: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    cells: draw_records.CellChances | None = field(default=None, repr=False)
    clusters: Sequence[str] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not len(self.seeds):
            object.__setattr__(self, "seeds", np.full(len(self.phase), self.seed, dtype=np.int64))

    @property
    def drawn(self) -> Mask:
        """Whether each prompt was drawn, shape (prompts,)."""
        return self.phase > 0

    @property
    def by_candidate(self) -> bool:
        """Whether single candidates were drawn, not whole pools alone."""
        return self.rule in (*BY_CANDIDATE, WHOLE_AND_PAIR)

    @property
    def whole(self) -> Mask:
        """Whether each prompt was drawn with all its candidates, shape (prompts,)."""
        return self.drawn & (not self.by_candidate) if self.cells is None else self.cells.whole

    def frame(self) -> pd.DataFrame:
        """Return one row per prompt, in `order`."""
        import pandas as pd  # noqa: PLC0415 - loaded only for a DataFrame

        columns = {
            "prompt_id": self.prompt_ids.to_numpy(),
            "phase": self.phase,
            "propensity": self.propensity,
            "stratum": self.stratum,
            "seed": self.seeds,
            "rule": self.rule,
            "judge": self.judge,
        }
        if self.by_candidate:
            columns |= {"pick": list(self.picks), "other": list(self.others)}
        if self.cells is not None:
            columns |= self.cells.columns(self.drawn)
        if len(self.clusters):
            columns |= {"cluster": list(self.clusters)}
        return pd.DataFrame(columns).iloc[self.order].reset_index(drop=True)

    @property
    def order(self) -> Ints:
        """Prompts as they are to be labelled: the drawn ones first, phase by phase, each in a random order.

        Whoever labels from the top has labelled prompts in random order whenever they stop. A later phase leaves the
        order of the earlier ones as it was, and so does the order in which the prompts of the table stand. Prompts
        that were not drawn come last, by name. The prompts of a drawn cluster stand together.
        """
        by_name = np.argsort(self.prompt_ids.to_numpy(), kind="stable")
        place = np.empty(len(by_name), dtype=np.int64)
        place[by_name] = np.arange(len(by_name))
        if len(self.clusters):
            place = np.unique(np.asarray(self.clusters, dtype=str), return_inverse=True)[1].reshape(-1)
        for phase in np.unique(self.phase[self.drawn]).tolist():
            of_phase = self.phase == phase
            stream = np.random.default_rng([int(self.seeds[of_phase][0]), phase, 1])
            place[of_phase] = stream.permutation(len(place))[place[of_phase]]
        order: Ints = np.lexsort(
            (by_name.argsort(), place, np.where(self.drawn, self.phase, self.phase.max(initial=0) + 1))
        )
        return order

    def write(self, path: str | Path) -> None:
        """Write the design as CSV, whole or not at all."""
        writing.write_whole(Path(path), writing.csv_frame(self.frame()))

    @classmethod
    def read(cls, path: str | Path) -> LabelDesign:
        """Read a design that `write` wrote.

        Raises
        ------
        bonwise.errors.InputError
            A column is absent, a rule is unknown, a propensity lies outside (0, 1], a prompt occurs twice, a phase
            has two seeds or is missing, or a stratum has another propensity than the part of it that was drawn.
        """
        source = str(path)
        raw = reading.read_raw(Path(path)).to_frame()
        _require(raw, source)
        rule, judge = (_one(raw, column, source) for column in ("rule", "judge"))
        if rule not in _RULES:
            raise InputError(f"{source}: unknown rule {quoted(rule)}", hint=f"the rules are {listed(_RULES)}")
        if rule not in BY_PROMPT:
            _require(raw, source, (*_DRAWN, *(draw_records.CHANCE_COLUMNS if rule == WHOLE_AND_PAIR else ())))
        prompts = identifiers.as_categories(raw["prompt_id"], role="prompt_id", source=source)
        _refuse_twice(prompts, raw.index, source)
        phase, stratum, seeds = (_whole(raw, column, source) for column in ("phase", "stratum", "seed"))
        seed = _last_seed(phase, seeds, source)
        propensity = draw_records.draw_numbers(raw["propensity"], role="propensity", source=source)
        _refuse_impossible(propensity, phase, raw.index, source)
        draw_records.refuse_phases(phase, source)
        draw_records.refuse_other_seeds(phase, seeds, seed, raw.index, source)
        clusters = _words(raw["cluster"]) if "cluster" in raw.columns else []
        own = draw_records.refuse_split_clusters(clusters, (phase, propensity, stratum), raw.index, source)
        draw_records.refuse_strata(stratum[own], propensity[own], phase[own] > 0, source)
        cells = None
        if rule in (WHOLE_AND_PAIR, "pair") and set(draw_records.CHANCE_COLUMNS) <= set(raw.columns):
            cells = draw_records.read_chances(raw, phase > 0, source, pools=rule == WHOLE_AND_PAIR)
        paired = phase > 0 if cells is None else (phase > 0) & ~cells.whole
        picks, others = _candidates(raw, rule, paired, source)
        names = store.Names(prompts.to_numpy())
        return cls(
            names, phase, propensity, stratum, rule, seed, judge, picks, others, source, seeds, cells, clusters
        )

    def refuse_other_clusters(self, at: Ints, clusters: Ints | None) -> None:
        """Refuse a draw of clusters for a table of none or of others; `at` is the row here of each of its prompts."""
        if not len(self.clusters):
            return
        if clusters is None:
            raise InputError(
                f"{self.source} drew clusters of prompts, and the table names none",
                hint="name the column of clusters with --cluster-col (columns={'cluster': ...})",
            )
        own_clusters = np.unique(np.asarray(self.clusters, dtype=str), return_inverse=True)[1].reshape(-1)[at]
        both = len(np.unique(np.column_stack((own_clusters, clusters)), axis=0))
        if both != len(np.unique(own_clusters)) or both != len(np.unique(clusters)):
            raise InputError(
                f"{self.source} drew other clusters of prompts than those of the table",
                hint="give the table from which it was drawn, with the same column of clusters",
            )

    @staticmethod
    def stands_in(path: str | Path) -> bool:
        """Return whether a file is there that looks like a design, whole or damaged."""
        if not Path(path).is_file():
            return False
        try:
            return set(DESIGN_HEADER) <= set(reading.read_raw(Path(path)).columns)
        except InputError:
            return False


def _require(raw: pd.DataFrame, source: str, columns: Sequence[str] = DESIGN_HEADER) -> None:
    for column in columns:
        if column not in raw.columns:
            raise ColumnError(
                f"{source}: no column named {quoted(column)}, so this is not a label design",
                hint="give the file that draw_labels(...).write (bonwise labels draw --out) wrote, or uniform",
            )
    if not len(raw):
        raise InputError(f"{source}: the design holds no prompt", hint="draw it again")


def _words(column: pd.Series) -> list[str]:
    """Return the cells as text, empty where there is none."""
    return column.astype(object).where(column.notna(), "").astype(str).tolist()


def _one(raw: pd.DataFrame, column: str, source: str) -> str:
    stated = list(dict.fromkeys(word.strip() for word in _words(raw[column])))
    if len(stated) > 1:
        raise InputError(
            f"{source}: {column} holds {quoted(stated[0])} and {quoted(stated[1])}",
            hint="a design is one draw by one rule for one judge: keep its file as it was written",
        )
    if not stated[0]:
        raise InputError(f"{source}: {column} is blank", hint=draw_records.AS_WRITTEN)
    return str(stated[0])


def _candidates(raw: pd.DataFrame, rule: str, drawn: Mask, source: str) -> tuple[list[str], ...]:
    """Return the drawn picks and other candidates, empty for rules by prompt, which draw no candidate."""
    wanted = {"pick": rule not in BY_PROMPT, "other": rule in ("pair", WHOLE_AND_PAIR)}
    sides = []
    for column, any_drawn in wanted.items():
        words = _words(raw[column]) if column in raw.columns else [""] * len(raw)
        draw_records.refuse_words(words, drawn & any_drawn, role=column, rows=raw.index, source=source)
        sides.append(words)
    if rule in BY_PROMPT:
        return [], []
    same = np.flatnonzero([bool(pick) and pick == other for pick, other in zip(*sides, strict=True)])
    if same.size:
        raise RowError(
            f"{source}, row {raw.index[same[0]]}: {quoted(sides[0][same[0]])} is both the pick and the other one",
            hint=draw_records.AS_WRITTEN,
        )
    return sides[0], sides[1]


def _refuse_twice(prompts: store.Categories, rows: pd.Index, source: str) -> None:
    _, first, of_prompt = np.unique(prompts.codes, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[of_prompt] != np.arange(len(prompts)))
    if again.size:
        raise RowError(
            f"{source}, row {rows[again[0]]}: {quoted(prompts[int(again[0])])} is in the design twice",
            hint="keep one row per prompt",
        )


def _whole(raw: pd.DataFrame, column: str, source: str) -> Ints:
    values = draw_records.draw_numbers(raw[column], role=column, source=source)
    whole = np.isfinite(values) & (values >= 0) & (values < _TOO_LARGE) & (values == np.round(values))
    bad = np.flatnonzero(~whole)
    if bad.size:
        raise RowError(
            f"{source}, row {raw.index[bad[0]]}: {column} is {quoted(raw[column].iloc[bad[0]])}",
            hint=f"{column} is a whole number, 0 or more",
        )
    return values.astype(np.int64)


def _last_seed(phase: Ints, seeds: Ints, source: str) -> int:
    """Return the seed of the last phase, refusing a phase with two."""
    for number in np.unique(phase[phase > 0]).tolist():
        stated = np.unique(seeds[phase == number])
        if len(stated) > 1:
            raise InputError(
                f"{source}: phase {number} has the seeds {stated[0]} and {stated[1]}",
                hint="a phase is one draw with one seed: keep its file as it was written",
            )
    return int(seeds[np.argmax(phase)])


def _refuse_impossible(propensity: Floats, phase: Ints, rows: pd.Index, source: str) -> None:
    possible = (propensity > 0) & (propensity <= 1)
    bad = np.flatnonzero(~np.where(phase > 0, possible, possible | (propensity == 0)))
    if bad.size:
        raise RowError(
            f"{source}, row {rows[bad[0]]}: a propensity of {propensity[bad[0]]:g} is not the probability of a draw",
            hint="a drawn prompt has a propensity above 0 and at most 1",
        )


_MOST_FILES = 1000
"""Files of a folder that are looked at: each by its first line."""


def refuse_other_draw(design: object, labels: object, table: ScoreTable) -> None:
    """Refuse a uniform draw, of prompts or cells, stated of `labels` whose record beside them says otherwise."""
    if str(design) not in ("uniform", "cells") or not isinstance(labels, str | Path):
        return
    labelled = table.frame.loc[table.frame["oracle_label"].notna(), "prompt_id"].astype(object).unique()
    drew = [
        record for record in _records(Path(labels).parent) if set(labelled) <= set(record.prompt_ids[record.drawn])
    ]
    if not len(labelled) or not drew or any(draw.rule == "uniform" for draw in drew):
        return
    first = min(drew, key=lambda draw: (int(draw.drawn.sum()), draw.source))
    raise UsageError(
        f"{labels}: {first.source} beside it is the record of a draw by the rule {first.rule!r}, which drew these "
        "prompts with unequal chances, so they are no random sample",
        hint=f"give --design {shell_path(first.source)}",
    )


def _records(folder: Path) -> Iterator[LabelDesign]:
    """Yield the records of draws in a folder; what is none, or cannot be read, is passed over."""
    beginning = ",".join(DESIGN_HEADER).encode()
    try:
        files = sorted(folder.glob("*.csv"))[:_MOST_FILES]
    except OSError:
        return
    for path in files:
        try:
            with text_files.open_plain(path) as stream:
                is_record = stream.read(len(beginning)) == beginning
            if is_record:
                yield LabelDesign.read(path)
        except (OSError, InputError):
            continue
