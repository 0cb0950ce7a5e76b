"""What scores took: answers and tokens, prompt by prompt, as far as the table says so."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.data.numbers import parse_numbers
from bonwise.data.panel import Panel
from bonwise.data.repeats import draw_columns
from bonwise.data.table import ScoreTable
from bonwise.stats.sums import Floats

__all__ = ["ScoringUsage", "added_up", "scoring_usage"]


@dataclass(frozen=True, eq=False)
class ScoringUsage:
    """Answers and tokens behind the scores of a panel.

    Parameters
    ----------
    answers : ndarray of float64, shape (prompts,)
        One a score; where scores are means of draws, as many as were averaged.
    tokens : ndarray of float64, shape (prompts,), or None
    no_tokens : str
        Why they are unknown.
    """

    answers: Floats = field(repr=False)
    tokens: Floats | None = field(repr=False)
    no_tokens: str = ""


def scoring_usage(table: ScoreTable, panel: Panel) -> ScoringUsage:
    """Count what the scores of a panel took."""
    frame = table.frame
    position = panel.prompt_ids.get_indexer(table.prompts)[frame["prompt_id"].cat.codes.to_numpy()]
    used = np.zeros(len(table.candidates), dtype=bool)
    used[table.candidates.get_indexer(panel.candidates[np.unique(panel.names)])] = True
    mine = (
        (position >= 0) & (frame["judge"] == panel.judge).to_numpy() & used[frame["candidate"].cat.codes.to_numpy()]
    )
    n, owner = len(panel.sizes), position[mine]
    answers = added_up(owner, _answers(table)[mine], n)
    columns = _columns(table)
    if not columns:
        return ScoringUsage(answers, None, f"{table.source} has no column tokens; bonwise judge --tokens writes one")
    rows = frame[mine]
    tokens = np.sum([parse_numbers(rows[name], role=name, source=table.source) for name in columns], axis=0)
    if np.isnan(tokens).any():
        return ScoringUsage(answers, None, f"{table.source} does not say the tokens of every score")
    return ScoringUsage(answers, added_up(owner, tokens, n))


def added_up(owner: npt.NDArray[np.int64], values: Floats, prompts: int) -> Floats:
    """Add values up by prompt."""
    return np.bincount(owner, weights=values, minlength=prompts).astype(np.float64)


def _answers(table: ScoreTable) -> Floats:
    scored = table.frame["judge_score"].notna().to_numpy().astype(np.float64)
    if table.draws == 1 or "draw" in table.frame.columns:
        return scored
    drawn: Floats = table.frame[list(draw_columns(table.frame.columns))].notna().sum(axis=1).to_numpy(np.float64)
    return drawn


def _columns(table: ScoreTable) -> tuple[str, ...]:
    if "tokens" in table.frame.columns:
        return ("tokens",)
    both = ("input_tokens", "output_tokens")
    return both if set(both) <= set(table.frame.columns) else ()
