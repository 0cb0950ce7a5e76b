"""A label sheet made from pools alone, before there are scores: of all prompts, or of some drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bonwise.errors import InputError, UsageError
from bonwise.labels.blind_sheet import BlindSheet, SheetRow
from bonwise.labels.result import PoolSheet, SheetCounts, SheetSettings
from bonwise.release import release
from bonwise.table.checks import SEED, checked_whole, names_of
from bonwise.table.pools import read_pools
from bonwise.table.scales import Scale

__all__ = ["sheet_of_pools"]


def sheet_of_pools(
    pools: str | Path,
    *,
    labels: int | None = None,
    seed: int = SEED,
    exclude: str | Sequence[str] = (),
    label_scale: Scale | None = None,
) -> PoolSheet:
    """Choose prompts of a file of pools to be labelled, all candidates of each.

    Parameters
    ----------
    pools : str or pathlib.Path
        JSONL, a pool per line.
    labels : int, optional
        Prompts to label, drawn uniformly at random; all where nothing is said.
    seed : int
        0 or more.
    exclude : str or sequence of str
        Candidates to leave out.
    label_scale : Scale, optional

    Raises
    ------
    bonwise.errors.InputError
        The file cannot be read, no pool has two candidates, or there are fewer prompts than asked for.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pools.jsonl")
    ...     _ = path.write_text('{"prompt_id": "p", "prompt": "Say hi", "candidates": ["hi", "no"]}')
    ...     sheet_of_pools(path).data
    SheetCounts(prompts=1, single=0, prompts_to_label=1, responses_to_label=2)
    """
    seed = checked_whole("seed", seed, 0, "1")
    left_out = set(names_of("exclude", exclude))
    kept, single = [], 0
    for pool in read_pools(pools):
        candidates = [one for one in pool.candidates if one.id not in left_out]
        if len(candidates) < 2:
            single += 1
        else:
            kept.append((pool, candidates))
    if not kept:
        raise InputError(f"{pools}: no pool has two candidates", hint="there is nothing to choose from")
    count = len(kept) if labels is None else checked_whole("labels", labels, 1, "100")
    if count > len(kept):
        raise UsageError(
            f"{count:,} prompts are to be labelled, and {pools} holds {len(kept):,} with two candidates",
            hint="ask for fewer labels (--labels)",
        )
    rng = np.random.default_rng([seed, 0])
    rows = []
    for at in rng.permutation(len(kept))[:count]:
        pool, candidates = kept[at]
        shuffled = [candidates[one] for one in rng.permutation(len(candidates))]
        rows += [SheetRow(pool.prompt_id, one.id, pool.prompt, one.text) for one in shuffled]
    settings = SheetSettings(
        pools=str(pools),
        labels=labels,
        seed=seed,
        exclude=sorted(left_out),
        label_scale=None if label_scale is None else str(label_scale),
        version=release(),
    )
    counts = SheetCounts(prompts=len(kept), single=single, prompts_to_label=count, responses_to_label=len(rows))
    return PoolSheet(settings=settings, data=counts).computed_from(BlindSheet(tuple(rows), label_scale))
