"""What an audit says of each prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.auditing.judge_record import JudgeAudit
from bonwise.errors import FileError
from bonwise.stats import sums, top_of_scores
from bonwise.table.panel import Panel
from bonwise.table.text_files import file_errors

if TYPE_CHECKING:
    import pandas as pd


ROW_HEADER = ("judge", "prompt_id", "pick", "best", "value_pick", "value_best", "gain_lost")
"""Columns with which the table begins."""

SEPARATOR = " | "
"""Between names of tied candidates."""


def per_prompt(judges: Sequence[JudgeAudit]) -> pd.DataFrame:
    """Return one row per judge and prompt, the greatest loss first.

    Columns: ``judge``, ``prompt_id``, ``pick`` and ``best`` (names, several where tied), ``value_pick`` (label of the
    pick, ties in expectation), ``value_best``, ``gain_lost`` (the difference), ``tied`` (candidates with the top
    score), ``margin`` (top score minus the second), ``candidates``, ``score_pick`` (the top score). Label columns are
    missing where a prompt is not labelled completely, margin and score of logged picks.
    """
    import pandas as pd  # noqa: PLC0415 - loaded only for a DataFrame

    rows = pd.concat([_rows(judge.labelling.panel, logged=judge.logged) for judge in judges], ignore_index=True)
    return rows.sort_values(
        ["gain_lost", "judge", "prompt_id"], ascending=[False, True, True], na_position="last", ignore_index=True
    )


def values_of_picks(panel: Panel, picked: Mask) -> tuple[Floats, Floats]:
    """Return by prompt the label of the pick, ties in expectation, and the best label; NaN where one is missing."""
    starts = np.cumsum(panel.sizes) - panel.sizes
    labels = sums.compared(panel.labels)
    best: Floats = np.maximum.reduceat(labels, starts)
    value = np.add.reduceat(np.where(picked, labels, 0.0), starts) / np.add.reduceat(picked.astype(float), starts)
    return np.where(np.isnan(best), np.nan, value), best


def _rows(panel: Panel, *, logged: bool) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - loaded only for a DataFrame

    tops = top_of_scores.top_of_scores(panel.scores, panel.sizes, panel.ranked)
    picked = top_of_scores.at_top(panel.ranked, panel.sizes)
    value, best = values_of_picks(panel, picked)
    return pd.DataFrame(
        {
            "judge": panel.judge,
            "prompt_id": panel.prompt_ids,
            "pick": _names(panel, picked),
            "best": _names(panel, top_of_scores.at_top(panel.labels, panel.sizes)),
            "value_pick": value,
            "value_best": best,
            "gain_lost": best - value,
            "tied": tops.tied.astype(int),
            "margin": np.nan if logged else np.where(panel.scored_cells > 1, tops.margin, np.nan),
            "candidates": panel.sizes,
            "score_pick": np.nan if logged else np.where(panel.scored_cells > 0, tops.top, np.nan),
        }
    )


def _names(panel: Panel, chosen: np.ndarray) -> list[str]:
    """Return the names of the chosen cells of each prompt."""
    names = panel.candidates.to_numpy()[panel.names[chosen]].tolist()
    counts = np.add.reduceat(chosen.astype(np.int64), np.cumsum(panel.sizes) - panel.sizes)
    starts = (np.cumsum(counts) - counts).tolist()
    # Most prompts have one.
    return [
        names[start] if count == 1 else SEPARATOR.join(names[start : start + count])
        for start, count in zip(starts, counts.tolist(), strict=True)
    ]


def all_prompts_file(path: str | Path) -> Path:
    """Name the file beside a page that holds a row for every prompt, where the page cannot show them all."""
    return Path(path).with_name(f"{Path(path).stem}-prompts.csv")


def refuse_other_file(all_prompts: Path, header: str) -> None:
    """Refuse (`bonwise.errors.FileError`) to write over a file that no page left there: nobody typed this name."""
    if not all_prompts.is_file():
        return
    line = f"{header}\n".encode()
    with file_errors(all_prompts), all_prompts.open("rb") as stream:
        found = stream.read(len(line) + 1).replace(b"\r\n", b"\n")
    if not found.startswith(line):
        raise FileError(
            f"{all_prompts}: all prompts would be written here, but the file that exists is of another kind",
            hint="give the page another name, or move that file",
        )
