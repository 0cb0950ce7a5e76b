"""Logged picks: the lines of ``bonwise select``, or of anything else that keeps one candidate of each pool."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from bonwise.data.identifiers import as_categories
from bonwise.data.lines import json_lines
from bonwise.data.wording import shown
from bonwise.errors import FileError, RowError
from bonwise.extras import TABLES

__all__ = ["Pick", "Picks", "holds_picks", "read_picks"]

_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

_MAY_DIFFER = frozenset({"parameters", "version", "seed"})
"""Settings that may change within a file without making the picks those of another policy."""

_TOKENS = ("input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Pick:
    """What was kept of one pool.

    Parameters
    ----------
    prompt_id : str
    ids : tuple of str
        The candidates of the pool.
    kept : tuple of str
        Of which the pick is one, each with the same chance: one id, or those among which a seed decided; empty where
        nothing was picked.
    decided_by : str
        As the line says it; empty where it says nothing.
    answers : int or None
        Answers of a model that were used, from a ledger or not; None where the line does not say.
    tokens : int or None
        What all of them took; None where the line does not say, also of those that came from a ledger.
    """

    prompt_id: str
    ids: tuple[str, ...]
    kept: tuple[str, ...]
    decided_by: str = ""
    answers: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, eq=False)
class Picks:
    """The picks of one policy, one a prompt.

    Parameters
    ----------
    source : str
    picks : tuple of Pick
    settings : mapping
        What the first line says of the policy.
    as_picked : bool
        Whether a pick among equals is the drawn one, and not taken in expectation over the draw.

    Examples
    --------
    >>> one = Pick("p", ("a", "b", "c"), ("a", "c"))
    >>> Picks("logged", (one,)).rows()["judge_score"].tolist()
    [1.0, 0.0, 1.0]
    """

    source: str
    picks: tuple[Pick, ...] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    as_picked: bool = False

    @property
    def name(self) -> str:
        """Who picked, as far as the file says so."""
        said = [str(self.settings[key]) for key in ("strategy", "judge") if self.settings.get(key)]
        return " of ".join(said) or "picks"

    @property
    def decided_by(self) -> dict[str, int]:
        """Prompts by what decided them, the most frequent first."""
        return dict(Counter(pick.decided_by or "not said" for pick in self.picks).most_common())

    @property
    def reasons(self) -> dict[str, str]:
        """Why a prompt has no pick to audit, by prompt."""
        found = {}
        for pick in self.picks:
            if not pick.kept:
                found[pick.prompt_id] = "nothing picked" + (f": {pick.decided_by}" if pick.decided_by else "")
            elif len(pick.ids) < 2:
                found[pick.prompt_id] = "one candidate"
        return found

    def rows(self, judge: str | None = None) -> pd.DataFrame:
        """Return the picks as the scores of a judge: 1 for what was kept, 0 for the rest, none where nothing was.

        The expected pick of such a judge, its ties broken at random, is the logged pick.
        """
        cells = [
            (pick.prompt_id, one, float(one in pick.kept) if pick.kept else None)
            for pick in self.picks
            for one in pick.ids
        ]
        frame = pd.DataFrame(cells, columns=["prompt_id", "candidate", "judge_score"])
        return frame.assign(judge=self.name if judge is None else judge)


def holds_picks(path: Path) -> bool:
    """Tell whether a file holds picks: JSON Lines whose first object names the ``best`` of its ``ids``."""
    if not path.name.lower().endswith(_ENDINGS) or not path.is_file():
        return False
    return any({"best", "ids"} <= record.keys() for _, record in islice(json_lines(path), 1))


def read_picks(path: str | Path, *, as_picked: bool = False) -> Picks:
    """Read logged picks.

    Parameters
    ----------
    path : str or pathlib.Path
        JSON Lines: ``prompt_id``, ``ids`` (of all candidates of the pool) and ``best`` (one of them, or null), and
        what else ``bonwise select`` writes; ``level``, ``decided_by``, ``answers``, ``from_ledger``,
        ``input_tokens``, ``output_tokens``, ``reused_tokens`` and ``settings`` are read where they are there.
    as_picked : bool
        Take the drawn pick where a seed decided, not its expectation over ``level``.

    Raises
    ------
    bonwise.errors.FileError
        Absent, empty, or no text.
    bonwise.errors.RowError
        A line that is no pick, a prompt that is picked twice, or a line of other settings than the first.
    bonwise.errors.MissingExtraError
        The extra that picks are audited with is not installed.
    """
    TABLES.require(f"reading {path}")
    source = str(path)
    lines = list(json_lines(Path(path)))
    if not lines:
        raise FileError(f"{source}: no picks", hint="check that whatever wrote it has finished")
    _refuse_mixed(lines, source)
    prompts = _prompts(lines, source)
    picks = tuple(
        _pick(record, prompt, f"{source}, row {row}", as_picked=as_picked)
        for (row, record), prompt in zip(lines, prompts, strict=True)
    )
    settings = lines[0][1].get("settings")
    return Picks(source, picks, MappingProxyType(settings if isinstance(settings, dict) else {}), as_picked)


def _prompts(lines: list[tuple[int, dict[str, Any]]], source: str) -> list[str]:
    rows = [row for row, _ in lines]
    column = pd.Series([record.get("prompt_id") for _, record in lines], index=rows, dtype=object)
    prompts = list(as_categories(column, role="prompt_id", source=source))
    first: dict[str, int] = {}
    for row, prompt in zip(rows, prompts, strict=True):
        if prompt in first:
            raise RowError(
                f"{source}, row {row}: {shown(prompt)} is picked again (first in row {first[prompt]})",
                hint="keep one pick a prompt; two policies belong in two files, for bonwise compare",
            )
        first[prompt] = row
    return prompts


def _refuse_mixed(lines: Iterable[tuple[int, dict[str, Any]]], source: str) -> None:
    (first, start), *others = lines
    usual = _policy(start)
    for row, record in others:
        mine = _policy(record)
        if mine != usual:
            differing = sorted(key for key in usual.keys() | mine.keys() if usual.get(key) != mine.get(key))
            raise RowError(
                f"{source}, row {row}: picked with another {', '.join(differing)} than row {first}",
                hint="audit the picks of one policy at a time: write each to a file of its own",
            )


def _policy(record: dict[str, Any]) -> dict[str, str]:
    settings = record.get("settings")
    if not isinstance(settings, dict):
        return {}
    return {key: json.dumps(value, sort_keys=True) for key, value in settings.items() if key not in _MAY_DIFFER}


def _pick(record: dict[str, Any], prompt: str, where: str, *, as_picked: bool) -> Pick:
    ids = _names(record.get("ids"), "ids", where)
    if not ids:
        raise RowError(f"{where}: no ids", hint="name all candidates of the pool in ids, not the pick alone")
    best = record.get("best")
    level = _names(record.get("level") or [], "level", where)
    kept = () if best is None else (str(best),)
    if not {*kept, *level} <= set(ids) or (level and kept and kept[0] not in level):
        wrong = shown(best) if not set(kept) <= set(ids) else "its level"
        raise RowError(
            f"{where}: {wrong} does not fit the candidates of {shown(prompt)}",
            hint="best must be one of ids, and one of level where a seed decided among equals",
        )
    return Pick(
        prompt,
        ids,
        level if kept and level and not as_picked else kept,
        str(record.get("decided_by") or ""),
        _count(record, "answers", where),
        _all_tokens(record, where),
    )


def _names(found: object, what: str, where: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(one, str | int) and str(one).strip() for one in found):
        raise RowError(f"{where}: {what} is no list of candidates", hint="such as " + f'"{what}": ["a", "b"]')
    names = tuple(map(str, found))
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise RowError(f"{where}: {what} names {shown(twice)} twice", hint="give each candidate an id of its own")
    return names


def _all_tokens(record: dict[str, Any], where: str) -> int | None:
    """Add the tokens up; an answer from a ledger whose tokens are not said leaves the sum unknown."""
    sent = [_count(record, key, where) for key in _TOKENS]
    reused = _count(record, "reused_tokens", where)
    if None in sent or (reused is None and _count(record, "from_ledger", where)):
        return None
    return sum(one or 0 for one in (*sent, reused))


def _count(record: dict[str, Any], key: str, where: str) -> int | None:
    value = record.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RowError(f"{where}: {key} is {shown(value)}, which is no count", hint="a whole number, 0 or more")
    return value
