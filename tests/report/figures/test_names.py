"""Names with stacked marks as labels of a drawing."""

from __future__ import annotations

import unicodedata
from itertools import groupby

import pytest

from bonwise.report.figures.forest import forest_figure
from bonwise.report.figures.names import pair, short, told_apart
from report.figures.painted import svg

ZALGO = ["e" + "\u0301" * 5000, "a" + "\u0300" * 3000 + "1", "\u0336" * 5000, "z\u0301\u0302" * 900, "\u1160" * 900]


def most_marks(text):
    """Return how many marks stand on one letter at most."""
    return max((len(list(run)) for mark, run in groupby(text, unicodedata.combining) if mark), default=0)


@pytest.mark.parametrize("name", ZALGO, ids=range(len(ZALGO)))
def test_a_letter_keeps_four_marks(name):
    """However many marks a name stacks, its label is short in every direction, and is drawn without a warning."""
    for label in (short(name), short(name, 60), pair(name, "b"), *told_apart([name, name])):
        assert most_marks(label) <= 4
        assert len(label) < 400
    (figure,) = forest_figure([(label, 0.5, 0.2, 0.8) for label in told_apart([name, f"{name}2"])], "k", "t", "Said.")
    assert "<svg" in svg(figure)


WRITTEN = ["Vie\u0302\u0323t ngu\u031b\u0303", "\u0e17\u0e35\u0e48\u0e19\u0e31\u0e48\u0e19", "caf\u00e9"]


@pytest.mark.parametrize("name", WRITTEN, ids=range(len(WRITTEN)))
def test_the_marks_of_a_language_stay(name):
    """Names as they are written are labels as they are."""
    assert short(name) == name


def test_a_long_name_without_letters_of_its_own_is_told_apart():
    """Names that differ in their last letter alone, after thousands of marks, have two labels."""
    names = ["a" + "\u0300" * 3000 + end for end in "12"]
    assert len(set(told_apart(names))) == 2
    assert [label[-1] for label in told_apart(names)] == ["1", "2"]
