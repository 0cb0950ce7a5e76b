"""A draw of pairs: what was drawn, and its two files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from bonwise.data.pool import Pool
from bonwise.data.writing import csv_frame, write_whole
from bonwise.documented import DocumentedResult
from bonwise.documents.label_strategy.draw import PairDrawDocument, PairDrawSettings, PairStratum
from bonwise.errors import FileError, UsageError
from bonwise.report.numbers import counted

__all__ = ["PairDraw", "record_path"]


@dataclass(frozen=True, eq=False)
class PairDraw(DocumentedResult):
    """Pairs to have judged, as pools of two candidates."""

    record: pd.DataFrame = field(repr=False)
    """One row per pair: its id, prompt and candidates, its gap and whose that is, stratum, weight (1 over the
    probability with which it was drawn) and the seed.
    """
    pools: tuple[Pool, ...] = field(repr=False)
    """The same pairs with their words."""
    strata: tuple[PairStratum, ...] = field(repr=False)
    """``gap_of``, ``stratum``, ``pairs`` and ``drawn`` of each."""
    settings: PairDrawSettings = field(repr=False)
    prompts_left_out: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Prompts that were not drawn from, by reason."""
    labels_needed: int = 0
    """Labels that the study still needs on the prompts of the drawn pairs, which it uses only where all candidates
    have one; 0 where they have.
    """

    def __repr__(self) -> str:
        pairs, strata = counted(len(self.record), "pair"), len(self.strata)
        return f"<PairDraw of {pairs} in {strata} strat{'um' if strata == 1 else 'a'} from {self.settings.source}>"

    def to_frame(self) -> pd.DataFrame:
        """Return the record."""
        return self.record.copy()

    def document(self) -> PairDrawDocument:
        """Return the document of schema ``bonwise.study/1``, study ``label-strategy``; it holds no pair."""
        prompts = len(set(self.record["prompt_id"]))
        whole = sum(one.pairs for one in self.strata)
        return PairDrawDocument(
            settings=self.settings,
            judges={},
            not_studied={},
            strata=list(self.strata),
            prompts_left_out=dict(self.prompts_left_out),
            labels_needed=self.labels_needed,
            sentences=[
                _drawn(len(self.record), whole, prompts),
                *_lacking(self.labels_needed, prompts),
                *_others(sum(self.prompts_left_out.values())),
            ],
        )

    def write(self, out: str | Path) -> Path:
        """Write the pools, and beside them the record; return where the record lies.

        Parameters
        ----------
        out : str or pathlib.Path
            A name that ends in ``.jsonl``; the record's ends in ``.drawn.csv`` instead.

        Raises
        ------
        bonwise.errors.FileError
            Either stands there already, or its folder is absent or not writable.
        """
        pools, record = Path(out), record_path(out)
        for path in (pools, record):
            if path.exists():
                raise FileError(f"{path} is there already", hint="give the draw a name of its own")
        write_whole(record, csv_frame(self.record))
        write_whole(pools, _lines(self.pools))
        return record


def _drawn(drawn: int, whole: int, prompts: int) -> str:
    verb = "was" if drawn == 1 else "were"
    return f"{drawn:,} of {counted(whole, 'pair')} {verb} drawn, of {counted(prompts, 'prompt')}."


def _lacking(labels: int, prompts: int) -> Iterator[str]:
    if labels:
        whose = "that prompt" if prompts == 1 else f"these {prompts:,} prompts"
        yield f"There are no labels yet: the study will need {labels:,}, of all candidates of {whose}."


def _others(left_out: int) -> Iterator[str]:
    if left_out:
        uses = "which the study cannot use" if left_out == 1 else "none of which the study can use"
        yield f"No pair is of the other {counted(left_out, 'prompt')}, {uses}."


def record_path(out: str | Path) -> Path:
    """Return where the record of a draw lies.

    Raises
    ------
    bonwise.errors.UsageError
        The name of the pools does not end in ``.jsonl``.

    Examples
    --------
    >>> str(record_path("todo.jsonl"))
    'todo.drawn.csv'
    """
    path = Path(out)
    if path.suffix != ".jsonl":
        raise UsageError(f"{path} does not end in .jsonl", hint="pools are JSON Lines, such as todo.jsonl")
    return path.with_suffix(".drawn.csv")


def _lines(pools: Sequence[Pool]) -> Iterator[str]:
    for pool in pools:
        candidates = [{"id": one.id, "text": one.text} for one in pool.candidates]
        yield json.dumps({"prompt_id": pool.prompt_id, "prompt": pool.prompt, "candidates": candidates}) + "\n"
