"""What a monitor may be asked, and which argument means something to which question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, get_args

from bonwise.data.wording import listed, shown
from bonwise.errors import UsageError
from bonwise.stats.sequential.confidence_sequence import EARLIEST
from bonwise.stats.sequential.sequential_precision import first_look

__all__ = ["TAKEN_BY", "Question", "check_arguments", "earliest_look"]

Question = Literal["precision", "significance", "preference"]

_OF_RECOVERY = ("planned", "first_look", "labels", "judge", "design", "exclude", "shape", "columns", "label_scale")

TAKEN_BY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "half_width": ("precision",),
        "than": ("significance", "preference"),
        **dict.fromkeys(_OF_RECOVERY, ("precision", "significance")),
        **dict.fromkeys(("verdict", "ties", "pair", "prompt", "margin"), ("preference",)),
    }
)
"""What only some questions take."""


def check_arguments(question: str, confidence: float, asked: Mapping[str, Any]) -> None:
    """Refuse arguments that mean nothing, alone or for the question.

    Parameters
    ----------
    question : str
    confidence : float
    asked : mapping
        The arguments of `TAKEN_BY`.

    Raises
    ------
    bonwise.errors.UsageError
        With the argument and what it may be.
    """
    if question not in get_args(Question):
        raise UsageError(f"no question {shown(question)}", hint=f"choose of {listed(get_args(Question))}")
    if not 0.5 <= confidence < 1:
        raise UsageError(f"confidence must lie in [0.5, 1), not {confidence:g}", hint="such as 0.95")
    for name, questions in TAKEN_BY.items():
        if question not in questions and _given(asked[name]):
            raise UsageError(f"{name} means nothing for {question}", hint=f"it is for {listed(questions)}")
    for name, question_of in (("half_width", "precision"), ("verdict", "preference")):
        if question == question_of and asked[name] is None:
            raise UsageError(f"{question} needs {name}", hint=_NEEDED[name])
    _check_numbers(question, asked)


def _given(value: object) -> bool:
    return value is not None and not (isinstance(value, Sequence | Mapping) and not len(value))


_NEEDED = {
    "half_width": "such as --half-width 0.06: how precisely recovery is to be known",
    "verdict": "such as --verdict-col winner: the column of the votes",
}


def _check_numbers(question: str, asked: Mapping[str, Any]) -> None:
    floor = 0.0 if question == "preference" else -float("inf")
    for name, low, high, words in (
        ("half_width", 0.0, float("inf"), "above 0"),
        ("than", floor, 1.0, "in (0, 1)" if question == "preference" else "below 1"),
        ("margin", 0.0, 0.5 + 1e-12, "above 0 and at most 0.5"),
        ("planned", 0, float("inf"), "above 0"),
    ):
        value = asked[name]
        if value is not None and not low < value < high:
            raise UsageError(
                f"{name.replace('_', '-')} must be {words}, not {value:g}", hint=f"mend --{name.replace('_', '-')}"
            )


def earliest_look(question: Question, planned: int | None, wanted: int | None) -> int:
    """Return the number of labelled prompts before which the rule does not look.

    Raises
    ------
    bonwise.errors.UsageError
        An earlier look is wanted.

    Examples
    --------
    >>> earliest_look("precision", 473, None), earliest_look("significance", None, 300)
    (48, 300)
    """
    least = first_look(planned) if question == "precision" else EARLIEST
    if wanted is not None and wanted < least:
        raise UsageError(
            f"a first look at {wanted:,} labelled prompts is too early",
            hint=f"{least:,} or later keeps what is claimed",
        )
    return least if wanted is None else wanted
