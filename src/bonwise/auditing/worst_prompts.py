"""The prompts to look into, the greatest loss first: candidates with scores and labels, and what was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.per_prompt import per_prompt
from bonwise.auditing.result_exhibits import CandidateSeen, PromptSeen, WorstPrompts
from bonwise.printable import printable
from bonwise.report.page.environment import LONGEST_NAME, LONGEST_TEXT, MARKUP, page_bytes
from bonwise.stats.sums import TIE_DECIMALS
from bonwise.stats.top_of_scores import at_top
from bonwise.table.panel import Panel
from bonwise.table.words import PromptWords, Words

__all__ = ["AT_A_GLANCE", "MOST_BYTES", "MOST_CANDIDATES", "MOST_ROWS", "NAMED", "prompt_rows"]

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
    seen = [pools[line["judge"]].seen(line, spoken) for line in shown.to_dict("records")]
    room = MOST_BYTES
    for one in seen:
        room = one.fit_names(room)
    for one in seen:
        room = one.fit_words(room)
    return WorstPrompts(
        rows=[one.record() for one in seen],
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

    def seen(self, line: Mapping[Any, Any], spoken: Mapping[str, PromptWords]) -> _Seen:
        """Return what may be shown of one line of `per_prompt`, whole."""
        at = self.panel.prompt_ids.get_loc(line["prompt_id"])
        end = int(self.ends[at])
        pool = np.arange(end - int(self.panel.sizes[at]), end)
        cells = self._most_telling(pool)
        prompt_id, judge = str(line["prompt_id"]), str(line["judge"])
        words = spoken.get(prompt_id, PromptWords())
        return _Seen(
            line=line,
            judge=judge,
            prompt_id=prompt_id,
            pick=self._named(pool[self.picked[pool]]),
            best=self._named(pool[self.best[pool]]),
            prompt=_CutText(words.prompt),
            candidates=[self._candidate(cell, judge, words) for cell in cells.tolist()],
            candidates_left_out=len(pool) - len(cells),
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

    def _candidate(self, cell: int, judge: str, words: PromptWords) -> _CandidateShown:
        name = str(self.names[self.panel.names[cell]])
        return _CandidateShown(
            name=name,
            score=None if self.logged else float(self.panel.scores[cell]),
            label=_known(self.panel.labels[cell]),
            text=_CutText(words.texts.get(name)),
            raw=_CutText(words.raw.get((judge, name))),
            picked=bool(self.picked[cell]),
            best=bool(self.best[cell]),
        )


@dataclass(slots=True)
class _CutText:
    """Words, and how many characters of them were cut."""

    words: str | None
    left_out: int = 0

    def cut(self, longest: int) -> None:
        if self.words is not None:
            self.left_out = max(0, len(self.words) - longest)
            self.words = self.words[:longest]


@dataclass(slots=True)
class _CandidateShown:
    name: str
    score: float | None
    label: float | None
    text: _CutText
    raw: _CutText
    picked: bool
    best: bool

    def record(self) -> CandidateSeen:
        return CandidateSeen(
            id=self.name,
            score=self.score,
            label=self.label,
            text=self.text.words,
            text_left_out=self.text.left_out,
            raw=self.raw.words,
            raw_left_out=self.raw.left_out,
            picked=self.picked,
            best=self.best,
        )


@dataclass(slots=True)
class _Seen:
    """A prompt while it is found out what of it has room on a page."""

    line: Mapping[Any, Any]
    judge: str
    prompt_id: str
    pick: tuple[str, int]
    best: tuple[str, int]
    prompt: _CutText
    candidates: list[_CandidateShown]
    candidates_left_out: int
    words_left_out: bool = False

    def fit_names(self, room: int) -> int:
        """Cut the names, leave out the candidates whose names do not fit, and return the bytes that are left."""
        self.prompt_id = printable(self.prompt_id, longest=LONGEST_NAME)
        for one in self.candidates:
            one.name = printable(one.name, longest=LONGEST_NAME)
        # The name of the prompt stands there twice.
        room -= sum(page_bytes(name) for name in (self.prompt_id, self.prompt_id, self.pick[0], self.best[0]))
        taken = sum(page_bytes(one.name) + MARKUP for one in self.candidates)
        if taken > room:
            self.candidates_left_out += len(self.candidates)
            self.candidates, taken = [], 0
        return room - taken

    def fit_words(self, room: int) -> int:
        """Cut the texts and return the bytes that are left; below 0 there is no room, and none for later rows."""
        self.prompt.cut(LONGEST_TEXT)
        for candidate in self.candidates:
            longest = LONGEST_TEXT if candidate.picked or candidate.best else LONGEST_OF_OTHERS
            candidate.text.cut(longest)
            candidate.raw.cut(longest)
        texts = [one for one in self._texts() if one.words is not None]
        if room >= 0:
            room -= sum(page_bytes(one.words) for one in texts if one.words is not None)
        self.words_left_out = room < 0 and bool(texts)
        if room < 0:
            for one in texts:
                one.words, one.left_out = None, 0
        return room

    def _texts(self) -> Iterator[_CutText]:
        yield self.prompt
        for one in self.candidates:
            yield from (one.text, one.raw)

    def record(self) -> PromptSeen:
        (pick, pick_more), (best, best_more) = self.pick, self.best
        return PromptSeen(
            prompt_id=self.prompt_id,
            judge=self.judge,
            pick=pick,
            pick_more=pick_more,
            best=best,
            best_more=best_more,
            value_pick=_known(self.line["value_pick"]),
            value_best=_known(self.line["value_best"]),
            gain_lost=_known(self.line["gain_lost"]),
            margin=_known(self.line["margin"]),
            tied=int(self.line["tied"]),
            prompt=self.prompt.words,
            prompt_left_out=self.prompt.left_out,
            candidates=[one.record() for one in self.candidates],
            candidates_left_out=self.candidates_left_out,
            words_left_out=self.words_left_out,
        )


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
