"""The prompts to look into, the greatest loss first: candidates with scores and labels, and what was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.per_prompt import per_prompt
from bonwise.data.panel import Panel
from bonwise.data.words import PromptWords, Words
from bonwise.stats.top_of_scores import at_top

__all__ = ["prompt_rows"]

MOST_ROWS, MOST_CANDIDATES = 500, 40
AT_A_GLANCE = 8
"""Candidates that need no order: larger pools begin with what was picked and what is best."""

NAMED = 3
"""Tied candidates named in a row."""

LONGEST_TEXT, MOST_WORDS = 4_000, 4_000_000

_NUMBERS = ("value_pick", "value_best", "gain_lost", "margin")


def prompt_rows(judges: Sequence[JudgeAudit], words: Words | None) -> dict[str, Any]:
    """Return a row a judge and prompt in the order of `per_prompt`, at most 500 over all judges.

    A text is cut at 4,000 characters, and once the rows hold 4,000,000 of them further rows come without words; both
    are said in the row. Of a pool of more than 8 candidates those that were picked or are best stand first, then the
    others by score, and 40 are shown. Of tied picks, and of tied best candidates, a row names three and counts more.

    Parameters
    ----------
    judges : sequence of JudgeAudit
    words : Words or None

    Returns
    -------
    dict
        ``rows`` and how many there are in all, ``of``.
    """
    table = per_prompt(judges)
    shown = table.head(MOST_ROWS)
    spoken = {} if words is None else words.of(list(dict.fromkeys(shown["prompt_id"])))
    pools = {judge.judge: _Pools(judge) for judge in judges}
    rows = [pools[line["judge"]].row(line) for line in shown.to_dict("records")]
    _speak(rows, spoken)
    return {"rows": rows, "of": len(table)}


class _Pools:
    """The pools of one judge's panel, by prompt."""

    def __init__(self, judge: JudgeAudit) -> None:
        self.panel: Panel = judge.labelling.panel
        self.logged = judge.logged
        self.picked = at_top(self.panel.scores, self.panel.sizes)
        self.best = at_top(self.panel.labels, self.panel.sizes)
        self.ends = np.cumsum(self.panel.sizes)

    def row(self, line: Mapping[Any, Any]) -> dict[str, Any]:
        """Return what is shown of one line of `per_prompt`."""
        at = self.panel.prompt_ids.get_loc(line["prompt_id"])
        end = int(self.ends[at])
        pool = np.arange(end - int(self.panel.sizes[at]), end)
        cells = self._most_telling(pool)
        return {
            **{key: str(line[key]) for key in ("prompt_id", "judge")},
            **self._named("pick", pool[self.picked[pool]]),
            **self._named("best", pool[self.best[pool]]),
            **{key: _known(line[key]) for key in _NUMBERS},
            "tied": int(line["tied"]),
            "prompt": None,
            "prompt_left_out": 0,
            "candidates": [self._candidate(cell) for cell in cells.tolist()],
            "candidates_left_out": len(pool) - len(cells),
            "words_left_out": False,
        }

    def _most_telling(self, pool: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if len(pool) <= AT_A_GLANCE:
            return pool
        picked, best = self.picked[pool], self.best[pool]
        # Many ties on one side leave room for the other.
        early = (marked & (marked.cumsum() <= MOST_CANDIDATES // 2) for marked in (best, picked))
        order = np.lexsort((-self.panel.scores[pool], ~(picked | best), *(~marked for marked in early)))
        return pool[order[:MOST_CANDIDATES]]

    def _named(self, key: str, cells: npt.NDArray[np.int64]) -> dict[str, Any]:
        names = self.panel.candidates[self.panel.names[cells[:NAMED]]]
        return {key: " | ".join(map(str, names)), f"{key}_more": max(0, len(cells) - NAMED)}

    def _candidate(self, cell: int) -> dict[str, Any]:
        return {
            "id": str(self.panel.candidates[self.panel.names[cell]]),
            "score": None if self.logged else float(self.panel.scores[cell]),
            "label": _known(self.panel.labels[cell]),
            "text": None,
            "text_left_out": 0,
            "raw": None,
            "raw_left_out": 0,
            "picked": bool(self.picked[cell]),
            "best": bool(self.best[cell]),
        }


def _speak(rows: Sequence[dict[str, Any]], spoken: Mapping[str, PromptWords]) -> None:
    """Add the words to the rows, in their order, until there is no room for more."""
    room = MOST_WORDS
    for row in rows:
        said = list(_said(row, spoken.get(row["prompt_id"], PromptWords())))
        room -= sum(min(len(text), LONGEST_TEXT) for _, _, text in said)
        if room < 0:
            row["words_left_out"] = bool(said)
            continue
        for holder, key, text in said:
            holder[key] = text[:LONGEST_TEXT]
            holder[f"{key}_left_out"] = max(0, len(text) - LONGEST_TEXT)


def _said(row: dict[str, Any], words: PromptWords) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield where a text belongs, under which key, and the text."""
    if words.prompt is not None:
        yield row, "prompt", words.prompt
    for one in row["candidates"]:
        text, raw = words.texts.get(one["id"]), words.raw.get((row["judge"], one["id"]))
        if text is not None:
            yield one, "text", text
        if raw is not None:
            yield one, "raw", raw


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
