"""The prompts of an audit, the greatest loss first: the worst with candidates and words, others in a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bonwise.auditing.judge_record import JudgeAudit
from bonwise.auditing.per_prompt import SEPARATOR, per_prompt
from bonwise.auditing.result_exhibits import CandidateSeen, PromptKind, PromptLine, PromptSeen, WorstPrompts
from bonwise.printable import printable
from bonwise.report.page.environment import MARKUP, page_bytes
from bonwise.report.samples import LONGEST_NAME, LONGEST_TEXT
from bonwise.stats import sums, top_of_scores
from bonwise.table.panel import Panel
from bonwise.table.words import PromptWords, Words

MOST_ROWS, MOST_CANDIDATES = 200, 40

MOST_LINES, MOST_JUDGES = 20_000, 6
"""Prompts in a line, beside those with their candidates, and judges up to which there are any."""

MOST_BYTES = 1_200_000
"""Of names and texts: with its drawings a page takes less than 2 MB."""

BYTES_OF_LINES = 750_000
"""Of these, those that lines may take."""

_BYTES_OF_A_LINE = 52
"""Beside the name of its prompt, about; names of candidates stand there once."""

LONGEST_OF_OTHERS = 1_000
"""Characters of the text of a candidate that was neither picked nor is best."""

AT_A_GLANCE = 8
"""Candidates that need no order: larger pools begin with what was picked and what is best."""

NAMED = 3
"""Tied candidates named in a row."""


KindsOfPrompts = Mapping[PromptKind, np.typing.NDArray[np.bool_]]
"""Which prompts of a panel are of a kind."""


def prompt_rows(
    judges: Sequence[JudgeAudit], words: Words | None, kinds: Mapping[str, KindsOfPrompts] | None = None
) -> WorstPrompts:
    """Return rows of picks that lost, the greatest first, 200 and 1,200,000 bytes at most, then lines."""
    table = per_prompt(judges)
    # What rounding leaves of 0 is no loss.
    decimals = sums.tie_decimals(table[["value_pick", "value_best"]].to_numpy(dtype=float))
    lost = table[table["gain_lost"].round(decimals) > 0]
    unknown = int(table["gain_lost"].isna().sum())
    shown = lost.head(MOST_ROWS)
    spoken = {} if words is None else words.of(list(dict.fromkeys(shown["prompt_id"])))
    kinds = kinds if kinds and len(judges) <= MOST_JUDGES else {}
    known = list(dict.fromkeys(kind for of_judge in kinds.values() for kind in of_judge))
    pools = {judge.judge: _PoolsOfAJudge(judge, kinds.get(judge.judge, {}), known) for judge in judges}
    rows = [pools[line["judge"]].seen(line, spoken) for line in shown.to_dict("records")]
    rows, room = _fitted(rows, MOST_BYTES, _with_names_that_fit)
    others = table.drop(shown.index).head(MOST_LINES if rows and len(judges) <= MOST_JUDGES else 0).to_dict("records")
    lines, taken = _lines_that_fit((pools[line["judge"]].line(line) for line in others), min(room, BYTES_OF_LINES))
    rows, _ = _fitted(rows, room - taken, _with_words_that_fit)
    without = len(table) - len(lost) - unknown
    return WorstPrompts(rows=rows, of=len(lost), lines=lines, kinds=known, without_loss=without, unknown_loss=unknown)


class _PoolsOfAJudge:
    """The pools of one judge's panel, by prompt."""

    def __init__(self, judge: JudgeAudit, kinds: KindsOfPrompts, known: Sequence[PromptKind]) -> None:
        self.panel: Panel = judge.labelling.panel
        self.names = self.panel.candidates
        self.logged = judge.logged
        self.picked = top_of_scores.at_top(self.panel.ranked, self.panel.sizes)
        self.best = top_of_scores.at_top(self.panel.labels, self.panel.sizes)
        self.ends = np.cumsum(self.panel.sizes)
        self.kinds: list[list[int]] = [[] for _ in self.ends]
        for place, kind in enumerate(known):
            for at in np.flatnonzero(kinds.get(kind, ())).tolist():
                self.kinds[at].append(place)

    def line(self, line: Mapping[Any, Any]) -> PromptLine:
        """Return what one line of `per_prompt` says."""
        return PromptLine(**self._said_of(line))

    def seen(self, line: Mapping[Any, Any], spoken: Mapping[str, PromptWords]) -> PromptSeen:
        """Return what may be shown of one line of `per_prompt`, as if there were room for all of it."""
        pool = self._pool(int(self.panel.prompt_ids.get_loc(line["prompt_id"])))
        cells = self._most_telling(pool)
        words = spoken.get(str(line["prompt_id"]), PromptWords())
        prompt, prompt_left_out = _cut(words.prompt, LONGEST_TEXT)
        judge = str(line["judge"])
        return PromptSeen(
            **self._said_of(line),
            prompt=prompt,
            prompt_left_out=prompt_left_out,
            candidates=[self._candidate(cell, judge, words) for cell in cells.tolist()],
            candidates_left_out=len(pool) - len(cells),
            words_left_out=False,
        )

    def _pool(self, at: int) -> np.typing.NDArray[np.int64]:
        """Return the cells of a prompt."""
        end = int(self.ends[at])
        return np.arange(end - int(self.panel.sizes[at]), end)

    def _said_of(self, line: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the fields of `PromptLine`."""
        at = int(self.panel.prompt_ids.get_loc(line["prompt_id"]))
        return {
            "prompt_id": printable(str(line["prompt_id"]), longest=LONGEST_NAME),
            "judge": str(line["judge"]),
            **self._named(line, "pick", self.picked, at),
            **self._named(line, "best", self.best, at),
            **{name: _known(line[name]) for name in ("value_pick", "value_best", "gain_lost", "margin")},
            "tied": int(line["tied"]),
            "score": _known(line["score_pick"]),
            "kinds": self.kinds[at],
        }

    def _most_telling(self, pool: np.typing.NDArray[np.int64]) -> np.typing.NDArray[np.int64]:
        if len(pool) <= AT_A_GLANCE:
            return pool
        picked, best = self.picked[pool], self.best[pool]
        # Many ties on one side leave room for the other.
        early = (marked & (marked.cumsum() <= MOST_CANDIDATES // 2) for marked in (best, picked))
        order = np.lexsort((-self.panel.ranked[pool], ~(picked | best), *(~marked for marked in early)))
        return pool[order[:MOST_CANDIDATES]]

    def _named(
        self, line: Mapping[Any, Any], role: str, marked: np.typing.NDArray[np.bool_], at: int
    ) -> dict[str, str | int]:
        """Name a few of the marked candidates of a prompt, and count the others."""
        if len(line[role]) <= LONGEST_NAME // NAMED and SEPARATOR not in line[role]:
            return {role: printable(line[role]), f"{role}_more": 0}
        pool = self._pool(at)
        cells = pool[marked[pool]]
        names = self.names[self.panel.names[cells[:NAMED]]]
        shown = SEPARATOR.join(printable(name, longest=LONGEST_NAME // NAMED) for name in names)
        return {role: shown, f"{role}_more": max(0, len(cells) - NAMED)}

    def _candidate(self, cell: int, judge: str, words: PromptWords) -> CandidateSeen:
        name = str(self.names[self.panel.names[cell]])
        picked, best = bool(self.picked[cell]), bool(self.best[cell])
        longest = LONGEST_TEXT if picked or best else LONGEST_OF_OTHERS
        text, text_left_out = _cut(words.texts.get(name), longest)
        raw, raw_left_out = _cut(words.raw.get((judge, name)), longest)
        return CandidateSeen(
            id=printable(name, longest=LONGEST_NAME),
            score=None if self.logged else _known(self.panel.scores[cell]),
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


def _lines_that_fit(lines: Iterable[PromptLine], room: int) -> tuple[list[PromptLine], int]:
    """Return the first lines that fit, and the bytes that they take."""
    fitting: list[PromptLine] = []
    named: set[str] = set()
    taken = 0
    for line in lines:
        words = {line.judge, line.pick, line.best} - named
        taken_with_it = taken + _BYTES_OF_A_LINE + sum(map(page_bytes, (line.prompt_id, *words)))
        if taken_with_it > room:
            break
        named |= words
        taken = taken_with_it
        fitting.append(line)
    return fitting, taken


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
    return None if np.isnan(value) else float(value)
