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
from bonwise.printable import printable
from bonwise.report.page.environment import LONGEST_NAME, LONGEST_TEXT, MARKUP, MOST_BYTES, page_bytes
from bonwise.stats.top_of_scores import at_top

__all__ = ["AT_A_GLANCE", "MOST_CANDIDATES", "MOST_ROWS", "NAMED", "prompt_rows"]

MOST_ROWS, MOST_CANDIDATES = 500, 40
AT_A_GLANCE = 8
"""Candidates that need no order: larger pools begin with what was picked and what is best."""

NAMED = 3
"""Tied candidates named in a row."""

_NAMES = ("prompt_id", "prompt_id", "pick", "best")
"""Names of a row as often as a page writes them."""

_NUMBERS = ("value_pick", "value_best", "gain_lost", "margin")


def prompt_rows(judges: Sequence[JudgeAudit], words: Words | None) -> dict[str, Any]:
    """Return a row a judge and prompt in the order of `per_prompt`, at most 500 over all judges.

    A text is cut at 4,000 characters and a name at 300. Once the rows take 6,000,000 bytes of a page further ones
    come without words, and where names alone take as much without candidates; a row says what it lacks. Of a pool of
    more than 8 candidates those that were picked or are best stand first, then the others by score, and 40 are shown.
    Of tied picks, and of tied best candidates, a row names three and counts more.

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
    for row in rows:
        _speak(row, spoken.get(row["prompt_id"], PromptWords()))
    _fit_words(rows, _fit_names(rows, MOST_BYTES))
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
        return {
            key: " | ".join(printable(one, longest=LONGEST_NAME // NAMED) for one in names),
            f"{key}_more": max(0, len(cells) - NAMED),
        }

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


def _speak(row: dict[str, Any], words: PromptWords) -> None:
    """Add the words to a row, whole."""
    row["prompt"] = words.prompt
    for one in row["candidates"]:
        one["text"], one["raw"] = words.texts.get(one["id"]), words.raw.get((row["judge"], one["id"]))


def _fit_names(rows: Sequence[dict[str, Any]], room: int) -> int:
    """Cut the names, leave out the candidates whose names do not fit, and return the bytes that are left."""
    for row in rows:
        row["prompt_id"] = printable(row["prompt_id"], longest=LONGEST_NAME)
        for one in row["candidates"]:
            one["id"] = printable(one["id"], longest=LONGEST_NAME)
        room -= sum(page_bytes(row[name]) for name in _NAMES)
        taken = sum(page_bytes(one["id"]) + MARKUP for one in row["candidates"])
        if taken > room:
            row["candidates_left_out"] += len(row["candidates"])
            row["candidates"], taken = [], 0
        room -= taken
    return room


def _fit_words(rows: Sequence[dict[str, Any]], room: int) -> None:
    """Cut the texts; from the row on where there is no room for all of its own there are none."""
    for row in rows:
        texts = list(_texts(row))
        if room >= 0:
            room -= sum(page_bytes(text[:LONGEST_TEXT]) for _, _, text in texts)
        row["words_left_out"] = room < 0 and bool(texts)
        for holder, key, text in texts:
            holder[key] = None if room < 0 else text[:LONGEST_TEXT]
            holder[f"{key}_left_out"] = 0 if room < 0 else max(0, len(text) - LONGEST_TEXT)


def _texts(row: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield where a text stands, under which key, and the text."""
    for holder, keys in ((row, ("prompt",)), *((one, ("text", "raw")) for one in row["candidates"])):
        yield from ((holder, key, holder[key]) for key in keys if holder[key] is not None)


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
