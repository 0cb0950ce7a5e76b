"""Pairs drawn to be judged pairwise, by strata of their gap, with the weights that undo the strata.

Their two files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import numpy as np
import pandas as pd

from bonwise.documented import DocumentedResult
from bonwise.errors import FileError, InputError, UsageError
from bonwise.printable import listed, quoted
from bonwise.release import release
from bonwise.report.numbers import counted
from bonwise.stats.sums import TIE_DECIMALS
from bonwise.studies.label_strategy.judged_pairs import RECORD_HEADER
from bonwise.studies.label_strategy.pairs import Pairs, draw_in_strata, every_pair, gap_strata
from bonwise.studies.label_strategy.result import GapOf, PairDrawDocument, PairDrawSettings, PairStratum
from bonwise.table.checks import SEED
from bonwise.table.opening import ScoreSource, join_labels, open_scores, refuse_clusters
from bonwise.table.panel import Panel, lay_out
from bonwise.table.pools import Pool, read_pools
from bonwise.table.reading import RowSource
from bonwise.table.reading_options import PoolKeywords, ReadingOptions, opens_a_table
from bonwise.table.score_table import ScoreTable
from bonwise.table.writing import csv_frame, write_whole

__all__ = ["PairDraw", "draw_pairs", "record_path"]


@dataclass(frozen=True, eq=False)
class PairDraw(DocumentedResult):
    """Pairs to have judged, as pools of two candidates."""

    record: pd.DataFrame = field(repr=False)
    """One row per pair: its id, prompt and candidates, its gap and whose that is, stratum, weight (1 over the
    probability with which it was drawn) and the seed.
    """
    pools: tuple[Pool, ...] = field(repr=False)
    """The same pairs with their words."""
    strata: tuple[PairStratum, ...] = field(repr=False)
    """``gap_of``, ``stratum``, ``pairs`` and ``drawn`` of each."""
    settings: PairDrawSettings = field(repr=False)
    prompts_left_out: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Prompts that were not drawn from, by reason."""
    labels_needed: int = 0
    """Labels that the study still needs on the prompts of the drawn pairs, which it uses only where all candidates
    have one; 0 where they have.
    """

    def __repr__(self) -> str:
        pairs, strata = counted(len(self.record), "pair"), len(self.strata)
        return f"<PairDraw of {pairs} in {strata} strat{'um' if strata == 1 else 'a'} from {self.settings.source}>"

    def to_frame(self) -> pd.DataFrame:
        """Return the record."""
        return self.record.copy()

    def document(self) -> PairDrawDocument:
        """Return the document of schema ``bonwise.study/1``, study ``label-strategy``; it holds no pair."""
        prompts = len(set(self.record["prompt_id"]))
        whole = sum(one.pairs for one in self.strata)
        return PairDrawDocument(
            settings=self.settings,
            judges={},
            not_studied={},
            strata=list(self.strata),
            prompts_left_out=dict(self.prompts_left_out),
            labels_needed=self.labels_needed,
            sentences=[
                _drawn(len(self.record), whole, prompts),
                *_lacking(self.labels_needed, prompts),
                *_others(sum(self.prompts_left_out.values())),
            ],
        )

    def write(self, out: str | Path) -> Path:
        """Write the pools, and beside them the record; return where the record lies.

        Parameters
        ----------
        out : str or pathlib.Path
            A name that ends in ``.jsonl``; the record's ends in ``.drawn.csv`` instead.

        Raises
        ------
        bonwise.errors.FileError
            Either stands there already, or its folder is absent or not writable.
        """
        pools, record = Path(out), record_path(out)
        for path in (pools, record):
            if path.exists():
                raise FileError(f"{path} is there already", hint="give the draw a name of its own")
        write_whole(record, csv_frame(self.record))
        write_whole(pools, _lines(self.pools))
        return record


def _drawn(drawn: int, whole: int, prompts: int) -> str:
    verb = "was" if drawn == 1 else "were"
    return f"{drawn:,} of {counted(whole, 'pair')} {verb} drawn, of {counted(prompts, 'prompt')}."


def _lacking(labels: int, prompts: int) -> Iterator[str]:
    if labels:
        whose = "that prompt" if prompts == 1 else f"these {prompts:,} prompts"
        yield f"There are no labels yet: the study will need {labels:,}, of all candidates of {whose}."


def _others(left_out: int) -> Iterator[str]:
    if left_out:
        uses = "which the study cannot use" if left_out == 1 else "none of which the study can use"
        yield f"No pair is of the other {counted(left_out, 'prompt')}, {uses}."


def record_path(out: str | Path) -> Path:
    """Return where the record of a draw lies.

    Raises
    ------
    bonwise.errors.UsageError
        The name of the pools does not end in ``.jsonl``.

    Examples
    --------
    >>> str(record_path("todo.jsonl"))
    'todo.drawn.csv'
    """
    path = Path(out)
    if path.suffix != ".jsonl":
        raise UsageError(f"{path} does not end in .jsonl", hint="pools are JSON Lines, such as todo.jsonl")
    return path.with_suffix(".drawn.csv")


def _lines(pools: Sequence[Pool]) -> Iterator[str]:
    for pool in pools:
        candidates = [{"id": one.id, "text": one.text} for one in pool.candidates]
        yield json.dumps({"prompt_id": pool.prompt_id, "prompt": pool.prompt, "candidates": candidates}) + "\n"


@opens_a_table
def draw_pairs(
    source: ScoreSource,
    *,
    pairs: int,
    pools: str | Path,
    labels: RowSource | None = None,
    judge: str | None = None,
    gap_groups: int = 4,
    seed: int = SEED,
    **reading: Unpack[PoolKeywords],
) -> PairDraw:
    """Draw pairs of candidates to have judged pairwise, the same number in each stratum as far as it goes.

    Where there are labels, pairs are of prompts whose candidates all have one, as the study uses no others, and
    strata are gaps of labels; where there are none at all, gaps of scores. Ties are a stratum of their own, other
    gaps are cut at their quantiles.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores; prompts that were not scored completely are left out, and counted.
    pairs : int
        How many, at least one a stratum.
    pools : str or pathlib.Path
        The words of prompts and candidates, as `bonwise judge` reads them.
    labels : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Labels from elsewhere, joined on prompt and candidate.
    judge : str, optional
        The audited judge; needed where the table holds several.
    gap_groups : int
        Strata of the gaps other than ties, at most.
    seed : int
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Raises
    ------
    bonwise.errors.InputError
        One line: more pairs than there are, fewer than strata, labels but no prompt that is labelled completely, or a
        candidate whose words are not in the pools.
    """
    _check(seed, gap_groups)
    options = ReadingOptions.of(draw_pairs, reading, labels=labels)
    table = open_scores(source, options)
    refuse_clusters(table, "this study")
    if labels is not None:
        table = join_labels(table, labels, options)
    panel, left_out = _of_use(table, _panel(table, judge, options))
    every = every_pair(panel.sizes)
    gap_of, gap = _gaps(panel, every)
    strata, names = gap_strata(gap, gap_groups)
    _check_count(pairs, len(gap), len(names))
    drawn, weight = draw_in_strata(strata, pairs, seed)
    some = every.some(drawn)
    record = _record(panel, some).assign(
        gap_of=gap_of,
        gap=gap[drawn],
        stratum=[names[h] for h in strata[drawn].tolist()],
        weight=weight,
        seed=seed,
    )
    settings = PairDrawSettings(
        source=table.source,
        judge=panel.judge,
        pools=str(pools),
        pairs=pairs,
        exclude=list(options.exclude),
        seed=seed,
        shape=panel.shape,
        version=release(),
    )
    needed = 0 if gap_of == "oracle" else int(panel.sizes[np.unique(some.prompt)].sum())
    counts = _counts(strata, drawn, gap_of, names)
    return PairDraw(record[list(RECORD_HEADER)], _words(record, pools), counts, settings, left_out, needed)


def _counts(strata: np.ndarray, drawn: np.ndarray, gap_of: GapOf, names: Sequence[str]) -> tuple[PairStratum, ...]:
    """Count the pairs of each stratum, and those drawn."""
    sizes, counts = (np.bincount(some, minlength=len(names)).tolist() for some in (strata, strata[drawn]))
    return tuple(
        PairStratum(gap_of=gap_of, stratum=name, pairs=size, drawn=count)
        for name, size, count in zip(names, sizes, counts, strict=True)
    )


def _check_count(pairs: int, whole: int, strata: int) -> None:
    if not strata <= pairs <= whole:
        of = f"{whole:,} in {strata} strat{'um' if strata == 1 else 'a'}"
        raise UsageError(
            f"{counted(pairs, 'pair')} cannot be drawn from {of}",
            hint=f"draw {strata} to {whole:,}" if strata < whole else f"draw {whole:,}",
        )


def _check(seed: int, gap_groups: int) -> None:
    if seed < 0 or gap_groups < 1:
        wrong = f"seed {seed}" if seed < 0 else f"{gap_groups} groups of gaps"
        raise UsageError(f"{wrong} means nothing", hint="a seed is 0 or more, groups are 1 or more")


def _panel(table: ScoreTable, judge: str | None, reading: ReadingOptions) -> Panel:
    panels = {panel.judge: panel for panel in lay_out(table, exclude=reading.exclude, shape=reading.shape)}
    if judge is None and len(panels) > 1:
        raise UsageError(
            f"{table.source}: scores of {len(panels)} judges: {listed(panels)}", hint="name one (--judge NAME)"
        )
    name = next(iter(panels)) if judge is None else judge
    if name not in panels:
        raise UsageError(f"{table.source}: no judge named {quoted(name)}", hint=f"the judges are {listed(panels)}")
    if not len(panels[name].sizes):
        raise InputError(f"{table.source}: {quoted(name)} scored no prompt completely", hint="see bonwise doctor")
    return panels[name]


def _of_use(table: ScoreTable, panel: Panel) -> tuple[Panel, dict[str, int]]:
    """Return the prompts that the study will keep, or all where there are no labels yet; and count the others."""
    found = panel.labelled_cells
    whole = found == panel.sizes
    if found.any():
        if not whole.any():
            raise InputError(
                f"{table.source}: no prompt that {quoted(panel.judge)} scored has labels for all candidates",
                hint="label all candidates of some prompts, or draw without the labels",
            )
        reasons = np.where(found > 0, "some of its candidates lack labels", "no labels")[~whole].tolist()
        kept = panel.keep(whole)
    else:
        kept, reasons = panel, []
    return kept, dict(Counter([*(one.reason for one in panel.dropped), *reasons]))


def _gaps(panel: Panel, pairs: Pairs) -> tuple[GapOf, np.ndarray]:
    """Return whose gap pairs have, and how large each is."""
    unlabelled = np.isnan(panel.labels).any()
    values = panel.scores if unlabelled else panel.labels
    return "score" if unlabelled else "oracle", np.round(np.abs(values[pairs.i] - values[pairs.j]), TIE_DECIMALS)


def _record(panel: Panel, pairs: Pairs) -> pd.DataFrame:
    names = np.asarray(panel.candidates, dtype=object)[panel.names]
    count = len(pairs.prompt)
    width = max(5, len(str(count)))
    return pd.DataFrame(
        {
            "pair_id": [f"pair{at:0{width}d}" for at in range(1, count + 1)],
            "prompt_id": np.asarray(panel.prompt_ids, dtype=object)[pairs.prompt],
            "a": names[pairs.i],
            "b": names[pairs.j],
        }
    )


def _words(record: pd.DataFrame, source: str | Path) -> tuple[Pool, ...]:
    """Return each pair as a pool of two, with its words."""
    wanted = set(record["prompt_id"])
    found = {pool.prompt_id: pool for pool in read_pools(source) if pool.prompt_id in wanted}
    out = []
    for pair_id, prompt_id, a, b in record[["pair_id", "prompt_id", "a", "b"]].itertuples(index=False, name=None):
        pool = found.get(prompt_id)
        texts = {} if pool is None else {one.id: one for one in pool.candidates}
        if pool is None or a not in texts or b not in texts:
            lacking = "" if pool is None else f" with {quoted(a if a not in texts else b)}"
            raise InputError(
                f"{source}: no pool {quoted(prompt_id)}{lacking}", hint="give the pools that were scored (--pools)"
            )
        out.append(Pool(pair_id, pool.prompt, (texts[a], texts[b])))
    return tuple(out)
