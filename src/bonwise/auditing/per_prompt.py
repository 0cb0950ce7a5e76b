"""What an audit says of each prompt, and of the prompts where the judge did worst."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.auditing.judge_record import JudgeAudit
from bonwise.auditing.result_exhibits import CandidateSeen, PromptSeen, WorstPrompts
from bonwise.errors import FileError
from bonwise.printable import printable
from bonwise.report.page.environment import LONGEST_NAME, LONGEST_TEXT, MARKUP, page_bytes
from bonwise.stats.sums import TIE_DECIMALS
from bonwise.stats.top_of_scores import at_top, top_of_scores
from bonwise.table.panel import Panel
from bonwise.table.text_files import file_errors
from bonwise.table.words import PromptWords, Words

__all__ = [
    "AT_A_GLANCE",
    "MOST_BYTES",
    "MOST_CANDIDATES",
    "MOST_ROWS",
    "NAMED",
    "ROW_HEADER",
    "all_prompts_file",
    "per_prompt",
    "prompt_rows",
    "refuse_other_file",
]


MOST_ROWS, MOST_CANDIDATES = 200, 40

MOST_BYTES = 1_200_000
"""Of names and texts: with its drawings a page takes less than 2 MB."""

LONGEST_OF_OTHERS = 1_000
"""Characters of the text of a candidate that was neither picked nor is best."""

AT_A_GLANCE = 8
"""Candidates that need no order: larger pools begin with what was picked and what is best."""

NAMED = 3
"""Tied candidates named in a row."""


def prompt_rows(judges: Sequence[JudgeAudit], words: Words | None) -> WorstPrompts:
    """Return a row per judge and prompt whose pick lost something, the greatest loss first, at most 200 in all.

    A text is cut at 4,000 characters, that of a candidate that is neither picked nor best at 1,000, and a name at
    300. Once the rows take 1,200,000 bytes of a page further ones come without words, and where names alone take as
    much without candidates; a row says what it lacks. Of a pool of more than 8 candidates those that were picked or
    are best come first, then the others by score, and 40 are shown. Of tied picks, and of tied best candidates, a
    row names three and counts more.

    Parameters
    ----------
    judges : sequence of JudgeAudit
    words : Words or None
    """
    table = per_prompt(judges)
    # What rounding leaves of 0 is no loss.
    lost = table[table["gain_lost"].round(TIE_DECIMALS) > 0]
    unknown = int(table["gain_lost"].isna().sum())
    shown = lost.head(MOST_ROWS)
    spoken = {} if words is None else words.of(list(dict.fromkeys(shown["prompt_id"])))
    pools = {judge.judge: _PoolsOfAJudge(judge) for judge in judges}
    rows = [pools[line["judge"]].seen(line, spoken) for line in shown.to_dict("records")]
    rows, room = _fitted(rows, MOST_BYTES, _with_names_that_fit)
    rows, _ = _fitted(rows, room, _with_words_that_fit)
    return WorstPrompts(
        rows=rows,
        of=len(lost),
        without_loss=len(table) - len(lost) - unknown,
        unknown_loss=unknown,
    )


class _PoolsOfAJudge:
    """The pools of one judge's panel, by prompt."""

    def __init__(self, judge: JudgeAudit) -> None:
        self.panel: Panel = judge.labelling.panel
        # Single names are taken thousands of times, and an index of pandas gives them slowly.
        self.names = self.panel.candidates.to_numpy()
        self.logged = judge.logged
        self.picked = at_top(self.panel.scores, self.panel.sizes)
        self.best = at_top(self.panel.labels, self.panel.sizes)
        self.ends = np.cumsum(self.panel.sizes)

    def seen(self, line: Mapping[Any, Any], spoken: Mapping[str, PromptWords]) -> PromptSeen:
        """Return what may be shown of one line of `per_prompt`, as if there were room for all of it."""
        at = self.panel.prompt_ids.get_loc(line["prompt_id"])
        end = int(self.ends[at])
        pool = np.arange(end - int(self.panel.sizes[at]), end)
        cells = self._most_telling(pool)
        prompt_id, judge = str(line["prompt_id"]), str(line["judge"])
        words = spoken.get(prompt_id, PromptWords())
        pick, pick_more = self._named(pool[self.picked[pool]])
        best, best_more = self._named(pool[self.best[pool]])
        prompt, prompt_left_out = _cut(words.prompt, LONGEST_TEXT)
        return PromptSeen(
            prompt_id=printable(prompt_id, longest=LONGEST_NAME),
            judge=judge,
            pick=pick,
            pick_more=pick_more,
            best=best,
            best_more=best_more,
            value_pick=_known(line["value_pick"]),
            value_best=_known(line["value_best"]),
            gain_lost=_known(line["gain_lost"]),
            margin=_known(line["margin"]),
            tied=int(line["tied"]),
            prompt=prompt,
            prompt_left_out=prompt_left_out,
            candidates=[self._candidate(cell, judge, words) for cell in cells.tolist()],
            candidates_left_out=len(pool) - len(cells),
            words_left_out=False,
        )

    def _most_telling(self, pool: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if len(pool) <= AT_A_GLANCE:
            return pool
        picked, best = self.picked[pool], self.best[pool]
        # Many ties on one side leave room for the other.
        early = (marked & (marked.cumsum() <= MOST_CANDIDATES // 2) for marked in (best, picked))
        order = np.lexsort((-self.panel.scores[pool], ~(picked | best), *(~marked for marked in early)))
        return pool[order[:MOST_CANDIDATES]]

    def _named(self, cells: npt.NDArray[np.int64]) -> tuple[str, int]:
        """Name a few candidates, and count the others."""
        names = self.names[self.panel.names[cells[:NAMED]]]
        told = " | ".join(printable(one, longest=LONGEST_NAME // NAMED) for one in names)
        return told, max(0, len(cells) - NAMED)

    def _candidate(self, cell: int, judge: str, words: PromptWords) -> CandidateSeen:
        name = str(self.names[self.panel.names[cell]])
        picked, best = bool(self.picked[cell]), bool(self.best[cell])
        longest = LONGEST_TEXT if picked or best else LONGEST_OF_OTHERS
        text, text_left_out = _cut(words.texts.get(name), longest)
        raw, raw_left_out = _cut(words.raw.get((judge, name)), longest)
        return CandidateSeen(
            id=printable(name, longest=LONGEST_NAME),
            score=None if self.logged else float(self.panel.scores[cell]),
            label=_known(self.panel.labels[cell]),
            text=text,
            text_left_out=text_left_out,
            raw=raw,
            raw_left_out=raw_left_out,
            picked=picked,
            best=best,
        )


def _cut(words: str | None, longest: int) -> tuple[str | None, int]:
    """Return words, and how many characters of them were cut."""
    return (None, 0) if words is None else (words[:longest], max(0, len(words) - longest))


def _fitted(
    rows: Sequence[PromptSeen], room: int, fit: Callable[[PromptSeen, int], tuple[PromptSeen, int]]
) -> tuple[list[PromptSeen], int]:
    """Return the rows with what of each has room, one after the other, and the bytes that are left."""
    fitted = []
    for row in rows:
        fitting, room = fit(row, room)
        fitted.append(fitting)
    return fitted, room


def _with_names_that_fit(row: PromptSeen, room: int) -> tuple[PromptSeen, int]:
    """Leave out the candidates if their names do not fit."""
    # The name of the prompt stands there twice.
    room -= sum(page_bytes(name) for name in (row.prompt_id, row.prompt_id, row.pick, row.best))
    taken = sum(page_bytes(candidate.id) + MARKUP for candidate in row.candidates)
    if taken <= room:
        return row, room - taken
    left_out = row.candidates_left_out + len(row.candidates)
    return row.model_copy(update={"candidates": [], "candidates_left_out": left_out}), room


def _with_words_that_fit(row: PromptSeen, room: int) -> tuple[PromptSeen, int]:
    """Leave out the words if they do not fit; below 0 there is no room, and none for later rows."""
    texts = [row.prompt, *(text for candidate in row.candidates for text in (candidate.text, candidate.raw))]
    there = [text for text in texts if text is not None]
    if room >= 0:
        room -= sum(map(page_bytes, there))
    if room >= 0 or not there:
        return row, room
    wordless = {"text": None, "text_left_out": 0, "raw": None, "raw_left_out": 0}
    candidates = [candidate.model_copy(update=wordless) for candidate in row.candidates]
    without = {"prompt": None, "prompt_left_out": 0, "candidates": candidates, "words_left_out": True}
    return row.model_copy(update=without), room


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)


ROW_HEADER = ("judge", "prompt_id", "pick", "best", "value_pick", "value_best", "gain_lost")
"""Columns with which the table begins."""

_SEPARATOR = " | "


def per_prompt(judges: Sequence[JudgeAudit]) -> pd.DataFrame:
    """Return one row per judge and prompt, the greatest loss first.

    Columns: ``judge``, ``prompt_id``, ``pick`` and ``best`` (names, several where tied),
    ``value_pick`` (label of the pick, ties in expectation), ``value_best``, ``gain_lost`` (the
    difference), ``tied`` (candidates with the top score), ``margin`` (top score minus the second),
    ``candidates``. Label columns are missing where a prompt is not labelled completely, and the margin of logged
    picks, which hold no scores.
    """
    rows = pd.concat([_rows(judge.labelling.panel, logged=judge.logged) for judge in judges], ignore_index=True)
    return rows.sort_values(
        ["gain_lost", "judge", "prompt_id"],
        ascending=[False, True, True],
        na_position="last",
        ignore_index=True,
    )


def _rows(panel: Panel, *, logged: bool) -> pd.DataFrame:
    starts = np.cumsum(panel.sizes) - panel.sizes
    tops = top_of_scores(panel.scores, panel.sizes)
    labels = np.round(panel.labels, TIE_DECIMALS)
    picked = at_top(panel.scores, panel.sizes)
    best = np.maximum.reduceat(labels, starts)
    value = np.add.reduceat(np.where(picked, labels, 0.0), starts) / tops.tied
    value[np.isnan(best)] = np.nan
    return pd.DataFrame(
        {
            "judge": panel.judge,
            "prompt_id": panel.prompt_ids,
            "pick": _names(panel, picked),
            "best": _names(panel, at_top(panel.labels, panel.sizes)),
            "value_pick": value,
            "value_best": best,
            "gain_lost": best - value,
            "tied": tops.tied.astype(int),
            "margin": np.nan if logged else tops.margin,
            "candidates": panel.sizes,
        }
    )


def _names(panel: Panel, chosen: np.ndarray) -> list[str]:
    """Return the names of the chosen cells of each prompt."""
    names = panel.candidates.to_numpy()[panel.names[chosen]].tolist()
    counts = np.add.reduceat(chosen.astype(np.int64), np.cumsum(panel.sizes) - panel.sizes)
    starts = (np.cumsum(counts) - counts).tolist()
    # Most prompts have one.
    return [
        names[start] if count == 1 else _SEPARATOR.join(names[start : start + count])
        for start, count in zip(starts, counts.tolist(), strict=True)
    ]


def all_prompts_file(path: str | Path) -> Path:
    """Name the file beside a page that holds a row for every prompt, where the page cannot show them all.

    Examples
    --------
    >>> all_prompts_file("runs/audit.html").as_posix()
    'runs/audit-prompts.csv'
    """
    return Path(path).with_name(f"{Path(path).stem}-prompts.csv")


def refuse_other_file(all_prompts: Path, header: str) -> None:
    """Refuse to write over a file that no page left there: nobody typed this name.

    Parameters
    ----------
    all_prompts : pathlib.Path
    header : str
        First line of the file that a page leaves.

    Raises
    ------
    bonwise.errors.FileError
        A file that begins with another line.
    """
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
