"""Pairs drawn to be judged pairwise, by strata of their gap, with the weights that undo the strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bonwise.auditing.studies.label_strategy.pair_draw import PairDraw
from bonwise.data.labels import join_labels
from bonwise.data.pair_record import RECORD_HEADER
from bonwise.data.panel import Panel, Shape, lay_out
from bonwise.data.pool import Pool
from bonwise.data.pool_file import read_pools
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed, shown
from bonwise.errors import InputError, UsageError
from bonwise.release import release
from bonwise.stats.label_strategy.borda import Pairs, every_pair
from bonwise.stats.label_strategy.gap_strata import draw_in_strata, gap_strata
from bonwise.stats.sums import TIE_DECIMALS

__all__ = ["draw_pairs"]


def draw_pairs(  # noqa: PLR0913 - all but the scores are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    pairs: int,
    pools: str | Path,
    labels: str | Path | pd.DataFrame | None = None,
    judge: str | None = None,
    exclude: Sequence[str] = (),
    gap_groups: int = 4,
    seed: int = 0,
    shape: Shape | None = None,
    columns: Mapping[str, str] | None = None,
    judge_scale: Mapping[str, Scale] | Scale | None = None,
    label_scale: Scale | None = None,
) -> PairDraw:
    """Draw pairs of candidates to have judged pairwise, the same number in each stratum as far as it goes.

    Strata are the oracle gap of a pair where both candidates have labels, and the gap of their scores where not: ties
    are a stratum of their own, other gaps are cut at their quantiles.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
        Scores; prompts that were not scored completely are left out.
    pairs : int
        How many, at least one a stratum.
    pools : str or pathlib.Path
        The words of prompts and candidates, as `bonwise judge` reads them.
    labels : str, pathlib.Path or pandas.DataFrame, optional
    judge : str, optional
        Whose scores; needed where the table holds several judges.
    exclude : sequence of str
        Candidate names left out.
    gap_groups : int
        Strata of the gaps other than ties, at most.
    seed : int
    shape, columns, judge_scale, label_scale
        As of `bonwise.audit`.

    Raises
    ------
    bonwise.errors.InputError
        One line: more pairs than there are, fewer than strata, or a candidate whose words are not in the pools.
    """
    _check(seed, gap_groups)
    table = _opened(source, labels, dict(columns or {}), judge_scale, label_scale)
    panel = _panel(table, judge, exclude, shape)
    every = every_pair(panel.sizes)
    gap_of, gap = _gaps(panel, every)
    strata, names = _strata(gap_of, gap, gap_groups)
    if not len(names) <= pairs <= len(gap):
        raise UsageError(
            f"{pairs:,} pairs cannot be drawn from {len(gap):,} in {len(names)} strata",
            hint=f"draw {len(names)} to {len(gap):,}",
        )
    drawn, weight = draw_in_strata(strata, pairs, seed)
    record = _record(panel, every.some(drawn)).assign(
        gap_of=gap_of[drawn],
        gap=gap[drawn],
        stratum=[names[h][1] for h in strata[drawn].tolist()],
        weight=weight,
        seed=seed,
    )
    settings = {
        "source": table.source,
        "judge": panel.judge,
        "pools": str(pools),
        "pairs": pairs,
        "exclude": list(exclude),
        "seed": seed,
        "shape": panel.shape,
        "dropped_prompts": len(panel.dropped),
        "version": release(),
    }
    return PairDraw(record[list(RECORD_HEADER)], _words(record, pools), _counts(strata, drawn, names), settings)


def _counts(strata: np.ndarray, drawn: np.ndarray, names: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], ...]:
    """Count the pairs of each stratum, and those drawn."""
    sizes, counts = (np.bincount(some, minlength=len(names)).tolist() for some in (strata, strata[drawn]))
    return tuple(
        {"gap_of": kind, "stratum": name, "pairs": size, "drawn": count}
        for (kind, name), size, count in zip(names, sizes, counts, strict=True)
    )


def _check(seed: int, gap_groups: int) -> None:
    if seed < 0 or gap_groups < 1:
        wrong = f"seed {seed}" if seed < 0 else f"{gap_groups} groups of gaps"
        raise UsageError(f"{wrong} means nothing", hint="a seed is 0 or more, groups are 1 or more")


def _opened(
    source: str | Path | pd.DataFrame | ScoreTable,
    labels: str | Path | pd.DataFrame | None,
    columns: dict[str, str],
    judge_scale: Mapping[str, Scale] | Scale | None,
    label_scale: Scale | None,
) -> ScoreTable:
    """Return scores with the labels that there are."""
    own = {role: column for role, column in columns.items() if labels is None or role != "oracle_label"}
    scale = label_scale if labels is None else None
    if isinstance(source, ScoreTable):
        table = source
    elif isinstance(source, str | Path):
        table = ScoreTable.read(source, columns=own, judge_scale=judge_scale, label_scale=scale)
    else:
        table = ScoreTable.from_frame(source, columns=own, judge_scale=judge_scale, label_scale=scale)
    return table if labels is None else join_labels(table, labels, columns=columns, label_scale=label_scale)


def _panel(table: ScoreTable, judge: str | None, exclude: Sequence[str], shape: Shape | None) -> Panel:
    panels = {panel.judge: panel for panel in lay_out(table, exclude=exclude, shape=shape)}
    if judge is None and len(panels) > 1:
        raise UsageError(
            f"{table.source}: scores of {len(panels)} judges: {listed(panels)}", hint="name one (--judge NAME)"
        )
    name = next(iter(panels)) if judge is None else judge
    if name not in panels:
        raise UsageError(f"{table.source}: no judge named {shown(name)}", hint=f"the judges are {listed(panels)}")
    if not len(panels[name].sizes):
        raise InputError(f"{table.source}: {shown(name)} scored no prompt completely", hint="see bonwise doctor")
    return panels[name]


def _gaps(panel: Panel, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Return whose gap each pair has, and how large it is."""
    oracle = np.abs(panel.labels[pairs.i] - panel.labels[pairs.j])
    score = np.abs(panel.scores[pairs.i] - panel.scores[pairs.j])
    known = ~np.isnan(oracle)
    return np.where(known, "oracle", "score"), np.round(np.where(known, oracle, score), TIE_DECIMALS)


def _strata(gap_of: np.ndarray, gap: np.ndarray, groups: int) -> tuple[np.ndarray, list[tuple[str, str]]]:
    strata, names = np.zeros(len(gap), dtype=np.int64), list[tuple[str, str]]()
    for kind in ("oracle", "score"):
        mine = gap_of == kind
        if mine.any():
            found, its = gap_strata(gap[mine], groups)
            strata[mine] = found + len(names)
            names += [(kind, name) for name in its]
    return strata, names


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
            lacking = "" if pool is None else f" with {shown(a if a not in texts else b)}"
            raise InputError(
                f"{source}: no pool {shown(prompt_id)}{lacking}", hint="give the pools that were scored (--pools)"
            )
        out.append(Pool(pair_id, pool.prompt, (texts[a], texts[b])))
    return tuple(out)
