"""Which two columns name the sides of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bonwise.data.column_content import has_numbers
from bonwise.data.column_names import by_key
from bonwise.data.numbers import parse_numbers
from bonwise.data.structured_text import StructuredText
from bonwise.data.verdict_words import NOUNS, OPPOSITES, words_of

__all__ = ["OUTCOMES", "holds_lists", "pair_of"]

_MODELS = frozenset({"model", "system", "policy", "method", "generator", "candidate", "name", "chatbot", "assistant"})
_NO_NAMES = frozenset({"text", "generation", "response", "answer", "output", "completion", "choice", "option"})
OUTCOMES = (
    *(("winner", "loser"), ("winnermodel", "losermodel"), ("winningmodel", "losingmodel")),
    ("chosenmodel", "rejectedmodel"),
)
"""Columns of which one names the winner and the other the loser."""

_BASELINES = (("model", "baseline"), ("model", "opponent"))
_TEXTS = 2
"""Rank of columns that hold the texts of both answers."""


def pair_of(frame: pd.DataFrame, *, without: Sequence[str] | set[str] = (), texts: bool = True) -> tuple[str, ...]:
    """Return the two columns that name the sides of pairs, the first side first; nothing where there are none.

    Parameters
    ----------
    frame : pandas.DataFrame
    without : sequence or set of str
        Columns that are something else.
    texts : bool
        Whether texts of answers are sides too; names of models go before them.

    Examples
    --------
    >>> pair_of(pd.DataFrame({"response_b": ["t"], "generator_2": ["y"], "generator_1": ["x"], "response_a": ["u"]}))
    ('generator_1', 'generator_2')
    """
    free = [name for name in frame.columns if name not in without and not holds_lists(frame[name])]
    names = by_key(free)
    told = _known_pair(names, OUTCOMES) or _opposite_pair(frame, free, texts=texts)
    return told or _known_pair(names, _BASELINES)


def _known_pair(names: Mapping[str, Sequence[str]], pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    found = (tuple(names[key][0] for key in pair) for pair in pairs if all(key in names for key in pair))
    return next(found, ())


def _opposite_pair(frame: pd.DataFrame, free: Sequence[str], *, texts: bool) -> tuple[str, ...]:
    """Return two columns whose names differ in the side alone, those of models before those of texts."""
    stems: dict[tuple[str, ...], dict[str, str]] = {}
    for column in free:
        words = words_of(str(column))
        for at, word in enumerate(words):
            if any(word in pair for pair in OPPOSITES):
                stems.setdefault((*words[:at], "", *words[at + 1 :]), {}).setdefault(word, column)
    ranked = ((_rank({word for word in stem if word}), by_word) for stem, by_word in stems.items())
    likely = sorted((one for one in ranked if one[0] is not None and (texts or one[0] < _TEXTS)), key=_first_of)
    for _, by_word in likely:
        for one, other in OPPOSITES:
            if one in by_word and other in by_word and _could_name(frame, by_word[one], by_word[other]):
                return by_word[one], by_word[other]
    return ()


def _first_of(ranked: tuple[int | None, dict[str, str]]) -> int:
    return ranked[0] or 0


def _rank(stem: set[str]) -> int | None:
    """Return how likely two columns with these words and a side name the sides; None for other columns."""
    if not stem <= NOUNS | {"id"}:
        return None
    if not stem:
        return 1
    return 0 if stem & _MODELS and not stem & _NO_NAMES else _TEXTS


def _could_name(frame: pd.DataFrame, one: str, other: str) -> bool:
    """Tell whether two columns could name sides: they are no measured numbers."""
    return one != other and not any(_measured(frame[column]) for column in (one, other))


def _measured(column: pd.Series) -> bool:
    if not has_numbers(column):
        return False
    values = parse_numbers(column, role="", source="")
    return bool((values[~np.isnan(values)] % 1 != 0).any())


def holds_lists(column: pd.Series) -> bool:
    """Tell whether a column holds lists or objects, by its first cell."""
    return any(isinstance(cell, StructuredText | list | dict | np.ndarray) for cell in column.iloc[:1])
