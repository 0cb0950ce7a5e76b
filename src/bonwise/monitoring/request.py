"""What a monitor is asked: every argument checked once, for its own range and for the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import pandas as pd

from bonwise.errors import UsageError
from bonwise.monitoring.result import Question
from bonwise.printable import listed, quoted
from bonwise.stats.repeated_looks import EARLIEST, first_look
from bonwise.table import checks, label_design, reading_options, votes

_TAKEN = reading_options.LabelledInOrderKeywords.__annotations__
_OF_READING = ("labels", *(one.name for one in fields(reading_options.ReadingOptions) if one.name in _TAKEN))

_OF_RECOVERY = ("planned", "first_look", "judge", "design", "control", "keep_easy", *_OF_READING)

_TAKEN_BY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "half_width": ("precision",),
        "than": ("significance", "preference"),
        **dict.fromkeys(_OF_RECOVERY, ("precision", "significance")),
        **dict.fromkeys(("verdict_col", "ties", "pair", "prompt", "margin"), ("preference",)),
    }
)
"""What only some questions take."""

_NEEDED = {
    "half_width": ("precision", "such as 0.06: how precisely recovery is to be known"),
    "verdict_col": ("preference", "such as winner: the column of the votes"),
}

_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = MappingProxyType(
    {
        "labels": ((str, Path, pd.DataFrame), "a file of labels, or a frame"),
        "judge": ((str,), "the name of a judge"),
        "design": ((str, Path, label_design.LabelDesign), "uniform, or the file of a uniform draw"),
        "pair": ((list, tuple), "two columns, such as model_a and model_b"),
    }
)

_LIMITS: Mapping[str, checks.Limit] = MappingProxyType(
    {
        "confidence": checks.number(lambda value: 0.5 <= value < 1, "a number from 0.5 to below 1, such as 0.95"),
        "half_width": checks.number(lambda value: value > 0, "a number above 0, such as 0.06"),
        "margin": checks.number(lambda value: 0 < value <= 0.5, "a number above 0 and at most 0.5, such as 0.1"),
        "planned": checks.whole(1, "a whole number of prompts, 1 or more"),
        "first_look": checks.whole(1, "a whole number of prompts, 1 or more"),
    }
)

_SHARE = checks.number(lambda value: 0 < value < 1, "a share of votes, above 0 and below 1")
_RECOVERY = checks.number(lambda value: value < 1, "a recovery, below 1")
"""What ``than`` may be, of votes and of recovery."""

_FLAGS = {
    "labels": "--scores",
    "columns": "--candidate-col and the like",
    "shape": "--rectangular, --ragged",
    "pair": "--pair-col",
    "prompt": "--prompt-col",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MonitorRequest:
    """The arguments of `bonwise.monitoring.front.monitor`, which describes them; None: not given."""

    question: Question
    half_width: float | None = None
    than: float | None = None
    planned: int | None = None
    first_look: int | None = None
    confidence: float = checks.CONFIDENCE
    judge: str | None = None
    reading: reading_options.ReadingOptions = field(default=reading_options.AS_IT_STANDS, repr=False)
    design: str | Path | label_design.LabelDesign | None = None
    verdict_col: str | None = None
    ties: votes.Ties | None = None
    pair: Sequence[str] = ()
    prompt: str | None = None
    margin: float | None = None
    control: Sequence[str] = ()
    keep_easy: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.question not in get_args(Question):
            raise UsageError(f"no question {quoted(self.question)}", hint=f"choose of {listed(get_args(Question))}")
        self._check_question()
        self._check_numbers()
        for name, (kinds, words) in _KINDS.items():
            value = self._given(name)
            if value is not None and not isinstance(value, kinds):
                raise UsageError(f"{_spelt(name)} is {quoted(value)}", hint=f"it is {words}")
        if self.ties is not None:
            votes.tie_value(self.ties)

    def _check_question(self) -> None:
        for name, questions in _TAKEN_BY.items():
            if self.question not in questions and _is_given(self._given(name)):
                raise UsageError(
                    f"{_spelt(name)} means nothing for {self.question}", hint=f"it is for {listed(questions)}"
                )
        for name, (question, words) in _NEEDED.items():
            if self.question == question and getattr(self, name) is None:
                raise UsageError(f"{question} needs {_spelt(name)}", hint=words)

    def _given(self, name: str) -> object:
        return getattr(self.reading if name in _OF_READING else self, name)

    def _check_numbers(self) -> None:
        than = _SHARE if self.question == "preference" else _RECOVERY
        for name, limit in {**_LIMITS, "than": than}.items():
            if getattr(self, name) is not None:
                checks.check(_spelt(name), getattr(self, name), limit, it="it")

    @property
    def earliest_look(self) -> int:
        """Number of labelled prompts before which the rule does not look."""
        least = first_look(self.planned) if self.question == "precision" else EARLIEST
        if self.first_look is not None and self.first_look < least:
            raise UsageError(
                f"a first look at {self.first_look:,} labelled prompts is too early",
                hint=f"{least:,} or later keeps what is claimed",
            )
        return least if self.first_look is None else int(self.first_look)


def _is_given(value: object) -> bool:
    return value is not None and not (isinstance(value, Sequence | Mapping) and not len(value))


def _spelt(name: str) -> str:
    """Name an argument as both Python and the command line know it."""
    keyword = {"labels": "label_file", "pair": "pair_col", "prompt": "prompt_col"}.get(name, name)
    return f"{keyword} ({_FLAGS.get(name, '--' + name.replace('_', '-'))})"
