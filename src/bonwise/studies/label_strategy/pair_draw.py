"""Pairs drawn to be judged pairwise, by strata of their gap, with the weights that undo the strata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Unpack

import numpy as np
import pandas as pd

from bonwise.errors import InputError, UsageError
from bonwise.printable import listed, quoted
from bonwise.release import release
from bonwise.report.numbers import counted
from bonwise.stats.sums import tie_decimals
from bonwise.studies.label_strategy.judged_pairs import RECORD_HEADER
from bonwise.studies.label_strategy.pairs import Pairs, draw_in_strata, every_pair, gap_strata
from bonwise.studies.label_strategy.result import GapOf, PairDraw, PairDrawSettings, PairStratum
from bonwise.table.checks import SEED
from bonwise.table.opening import ScoreSource, join_labels, open_scores, refuse_clusters
from bonwise.table.panel import Panel, lay_out
from bonwise.table.pools import Pool, read_pools
from bonwise.table.reading import RowSource
from bonwise.table.reading_options import PoolKeywords, ReadingOptions, opens_a_table
from bonwise.table.score_table import ScoreTable


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
        gap_of=gap_of, gap=gap[drawn], stratum=[names[h] for h in strata[drawn].tolist()], weight=weight, seed=seed
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
    prompts = len(set(record["prompt_id"]))
    draw = PairDraw(
        settings=settings,
        judges={},
        not_studied={},
        strata=_counts(strata, drawn, gap_of, names),
        prompts_left_out=left_out,
        labels_needed=needed,
        sentences=[
            _drawn(len(record), len(gap), prompts),
            *_lacking(needed, prompts),
            *_others(sum(left_out.values())),
        ],
    )
    return draw.computed_from((record[list(RECORD_HEADER)], _words(record, pools)))


def _counts(strata: np.ndarray, drawn: np.ndarray, gap_of: GapOf, names: Sequence[str]) -> list[PairStratum]:
    """Count the pairs of each stratum, and those drawn."""
    sizes, counts = (np.bincount(some, minlength=len(names)).tolist() for some in (strata, strata[drawn]))
    return [
        PairStratum(gap_of=gap_of, stratum=name, pairs=size, drawn=count)
        for name, size, count in zip(names, sizes, counts, strict=True)
    ]


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
    # The study compares scores with verdicts on the same pairs: it uses no prompt that lacks a score.
    panel = panels[name].all_scored()
    if not len(panel.sizes):
        raise InputError(f"{table.source}: {quoted(name)} scored no prompt completely", hint="see bonwise doctor")
    return panel


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
    gaps = np.abs(values[pairs.i] - values[pairs.j])
    return "score" if unlabelled else "oracle", np.round(gaps, tie_decimals(values))


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
        texts = {} if pool is None else {candidate.id: candidate for candidate in pool.candidates}
        if pool is None or a not in texts or b not in texts:
            lacking = "" if pool is None else f" with {quoted(a if a not in texts else b)}"
            raise InputError(
                f"{source}: no pool {quoted(prompt_id)}{lacking}", hint="give the pools that were scored (--pools)"
            )
        out.append(Pool(pair_id, pool.prompt, (texts[a], texts[b])))
    return tuple(out)
