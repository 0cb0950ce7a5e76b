"""Verdicts, the words that say them, and ties."""

from __future__ import annotations

import json
import math
import unicodedata
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.flags import TIE_DECIMALS
from bonwise.printable import writable
from bonwise.stats import sums
from bonwise.table.verdict_words import parse_verdict_map, side_of
from bonwise.table.verdicts import LONGEST_RAW, Preference, Score, Unscored, kept, pool_decimals, preferred, rounded

NO_NUMBERS = [math.nan, math.inf, -math.inf, True, "1", 1j, [1.0], np.float64("nan"), np.bool_(True), 10**400]


@pytest.mark.parametrize("value", [*NO_NUMBERS, None], ids=lambda value: repr(value)[:20])
def test_a_score_is_finite(value):
    """What is no finite number is not a score: it has to be said as unscored, with a reason."""
    with pytest.raises(ValueError, match="use Unscored"):
        Score(value)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:20])
def test_what_stands_beside_a_score_is_finite(value):
    """Ends of an interval and draws are finite numbers."""
    for beside in ({"low": value}, {"high": value}, {"draws": (0.5, value)}):
        with pytest.raises(ValueError, match="must be a finite number"):
            Score(0.5, **beside)


@pytest.mark.parametrize(("low", "high"), [(0.6, 0.9), (0.1, 0.4), (0.9, 0.1), (0.6, None), (None, 0.4), (0.5, -3)])
def test_an_interval_holds_its_score(low, high):
    """A score outside its interval, or one whose ends are the wrong way round, is a mistake of whoever made it."""
    with pytest.raises(ValueError, match="must lie in its interval"):
        Score(0.5, low=low, high=high)


def test_an_interval_may_be_narrow_or_half_open():
    """Ends may meet, be apart by a rounding, lie beyond the scale, or be only one."""
    for low, high in ((0.5, 0.5), (0.5 + 1e-10, 0.5), (-2, 7), (0.1, None), (None, 0.9), (None, None)):
        assert (Score(0.5, low=low, high=high).low, Score(0.5, low=low, high=high).high) == (low, high)


@pytest.mark.parametrize("number", [1, np.int64(1), np.float32(1), np.float64(1), Fraction(1)], ids=type)
def test_numbers_of_any_library_become_plain_ones(number):
    """Whole numbers and those of numpy count as what they are, and come out as JSON knows them."""
    score = Score(number, low=number, high=number, draws=[number, None])
    assert (score, score.width) == (Score(1.0, 1.0, 1.0, (1.0, None)), 0.0)
    pair = Preference(0, 1, shown_first=number, shown_second=number - number)
    assert (pair.value, pair.order_effect) == (0.5, 1.0)
    found = [score.value, score.low, score.high, *score.draws[:1], pair.shown_first, pair.shown_second]
    assert {type(one) for one in found} == {float}
    assert json.dumps(found) == "[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]"


@pytest.mark.parametrize("earned", [*NO_NUMBERS, -0.1, 1.1, 2], ids=lambda value: repr(value)[:20])
def test_a_candidate_earns_from_nothing_to_one(earned):
    """What is not a number from 0 to 1 was not earned."""
    for side in ({"shown_first": earned, "shown_second": None}, {"shown_first": None, "shown_second": earned}):
        with pytest.raises(ValueError, match="from 0 to 1"):
            Preference(0, 1, **side)


@pytest.mark.parametrize(("a", "b"), [(1, 0), (1, 1), (-1, 0), (0, 1.5), (False, True), ("0", "1"), (None, 1)])
def test_a_preference_names_two_positions_in_order(a, b):
    """Positions are whole numbers from 0 on, the smaller one first."""
    with pytest.raises(ValueError, match=r"two positions, the smaller one first|must be a whole number"):
        Preference(a, b, 1.0, None)


def test_positions_of_numpy_are_positions():
    """Whole numbers of numpy count, and become plain ones."""
    pair = Preference(np.int64(0), np.int32(2), 1.0, None)
    assert pair == Preference(0, 2, 1.0, None)
    assert {type(pair.a), type(pair.b)} == {int}


def test_a_preference_has_no_value_while_an_order_is_owed():
    """One readable order of two is none, whether the other could not be read or is still to come."""
    unread, owed = Unscored("empty reply"), Unscored("owed: not yet", owed=True)
    for first, second, lost in (
        (1.0, unread, True),
        (unread, unread, True),
        (unread, None, True),
        (None, unread, True),
    ):
        assert (Preference(0, 1, first, second).value, Preference(0, 1, first, second).lost) == (None, lost)
    for first, second in ((1.0, owed), (owed, None), (unread, owed)):
        assert (Preference(0, 1, first, second).value, Preference(0, 1, first, second).lost) == (None, False)


def test_where_one_order_was_asked_it_is_the_value():
    """An order that was not asked is not missing."""
    for first, second in ((1.0, None), (None, 1.0), (1.0, 1.0)):
        assert (Preference(0, 1, first, second).value, Preference(0, 1, first, second).lost) == (1.0, False)


def test_verdicts_are_values():
    """Equal verdicts are one, and none can be changed afterwards."""
    assert {Score(0.5), Score(0.5), Unscored("blank"), Unscored("blank")} == {Score(0.5), Unscored("blank")}
    with pytest.raises(AttributeError):
        Score(0.5).value = 1.0


def test_of_a_long_reply_beginning_and_end_are_kept():
    """A reply of up to so many characters is kept whole; of a longer one the middle is left out, with a note."""
    assert kept("a" * LONGEST_RAW) == "a" * LONGEST_RAW
    half = LONGEST_RAW // 2
    cut = kept("a" * LONGEST_RAW + "b" * LONGEST_RAW)
    assert cut == f"{'a' * half}\n[{LONGEST_RAW} characters left out here]\n{'b' * half}"


def test_what_was_said_is_writable_whatever_it_holds():
    """Every character but tab and line end that is a control or half a pair is written out; all others stay."""
    every = "".join(map(chr, [*range(0x100), *range(0xD7F0, 0xE010)]))
    found = writable(every)
    assert [one for one in found if unicodedata.category(one) in ("Cc", "Cs")] == ["\t", "\n"]
    assert found.encode().decode() == found
    plain = "\tcaf\u00e9\n\u4e2d\u6587 \u200c \U0001f600 \\x00"
    assert writable(plain) is plain
    assert writable("a\r\nb\rc") == "a\nb\\rc"
    assert writable("\ud83d\ude00\x00") == r"\ud83d\ude00\x00"


# Words of verdicts: every spelling says its side, and the spelling of the other side says the other.


PAIRS = [
    *(("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("one", "two"), ("1st", "2nd")),
    *(("model_a", "model_b"), ("modela", "modelb"), ("model a", "model b"), ("Response 1", "Response 2")),
    *(("assistant_a", "assistant_b"), ("output_1", "output_2"), ("answer A", "answer B"), ("option1", "option2")),
    *(("A>>B", "B>>A"), ("A>B", "B>A"), ("A > B", "A < B"), ("A<<B", "A>>B"), ("A≫B", "B≫A"), ("1>2", "2>1")),
    *(("A is better", "B is better"), ("A wins", "B wins"), ("prefer left", "prefer right")),
    *(("A is slightly better", "B is slightly better"), ("winner: model_a", "winner: model_b")),
]
PAIRS = [pair if pair[0] != "A<<B" else ("B<<A", "A<<B") for pair in PAIRS]
TIES = [
    *("tie", "Tie", "tied", "both", "neither", "draw", "equal", "A=B", "A==B", "A = B", "both bad", "both_bad"),
    *("bothbad", "tie (bothbad)", "tie (both bad)", "tie (inconsistent)", "[[C]]", "no preference", "equally good"),
]
around = st.sampled_from(["{}", " {} ", "[[{}]]", "[{}]", '"{}"', "{}.", "({})", "**{}**"])


@given(st.sampled_from(PAIRS), around, st.sampled_from([str.lower, str.upper, str.title, str]))
def test_every_spelling_says_its_side(pair, frame, case):
    """Capitals, blanks, brackets and quotes around a word change nothing."""
    assert [side_of(frame.format(case(word))) for word in pair] == ["first", "second"]


@pytest.mark.parametrize("word", TIES)
def test_ties(word):
    """Neither side is preferred."""
    assert side_of(word) == "tie"


@pytest.mark.parametrize("word", ["error", "Invalid"])
def test_words_for_no_verdict(word):
    """What a judge's program writes where it could not read the answer."""
    assert side_of(word) == "none"


@pytest.mark.parametrize(
    "word",
    [
        *(
            "",
            "c",
            "C",
            "d",
            "not A",
            "A is worse",
            "A and B",
            "A>A",
            "A>C",
            "A>=B",
            "tied?",
            "a?",
            "yes",
            "model",
            "0",
        ),
        *("wrong", "a b", "model_c", "better", "3", "-1", "1.5", "A" * 10_000, "A>B" * 10_000, "\x1b[31mA", "=A1"),
    ],
)
def test_what_is_no_verdict(word):
    """A word that names no side, both, or says more than that one is better is never guessed."""
    assert side_of(word) is None


@given(st.text(max_size=200))
def test_any_text_is_a_side_or_nothing(text):
    """No text stops the reading."""
    assert side_of(text) in {"first", "second", "tie", "none", None}


def test_a_map_of_verdicts():
    """Words in lower case, numbers in one way of writing; a part that says nothing is refused."""
    assert parse_verdict_map("1.0=first, Bad =none,x=y=tie") == {"1": "first", "bad": "none", "x=y": "tie"}
    for text in ("1", "1=", "=first", "1=left", ""):
        with pytest.raises(UsageError, match="not a verdict and what it says"):
            parse_verdict_map(text)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.integers(-30, 30))
def test_a_pool_is_compared_by_the_same_decimals_everywhere(values, power):
    """A pool that is picked from, and the same one in a table, are compared by the same decimals in any unit."""
    scores = [value * 10.0**power for value in values]
    decimals = pool_decimals(scores)
    assert sums.pool_decimals(np.array(scores), np.array([len(scores)])).tolist() == [decimals]
    compared = sums.rounded_each(np.array(scores), np.full(len(scores), decimals))
    assert [rounded(score, decimals) for score in scores] == pytest.approx(compared.tolist(), rel=1e-14)


@pytest.mark.parametrize("power", [-20, -12, 0, 9, 20])
def test_scores_of_any_unit_tie_alike(power):
    """What rounding alone tells apart is a tie, and a difference that is none of rounding is not one."""
    unit = 10.0**power
    scores = [(0.1 + 0.2) * unit, 0.3 * unit, 0.3000001 * unit, 0.1 * unit]
    first, second, third, last = (rounded(score, pool_decimals(scores)) for score in scores)
    assert first == second < third
    assert last < first


@given(st.floats(-1e6, 1e6), st.integers(0, 5))
def test_scores_are_rounded_as_numpy_rounds(value, shift):
    """A score is compared as the audit compares it, to the last bit."""
    value += shift * 10.0**-TIE_DECIMALS / 2
    assert rounded(value) == np.round(value, TIE_DECIMALS)


@pytest.mark.parametrize("value", [1e15, -1e300, 1.7976931348623157e308, 0.0, -0.0, 5e-324])
def test_extreme_scores_stay_numbers(value):
    """No finite score becomes infinite by being rounded."""
    assert np.isfinite(rounded(value))
    assert rounded(value) == pytest.approx(value, abs=1e-9)


@given(st.integers(0, 100))
def test_a_verdict_and_its_mirror_image_prefer_the_same_candidate(hundredths):
    """A judge that says p of one order and 1 - p of the other has one verdict in both orders."""
    stated = hundredths / 100
    assert preferred(stated) == -preferred(1 - stated)
    assert Preference(0, 1, stated, 1 - (1 - stated)).verdict_changes is False


@pytest.mark.parametrize(
    ("first", "second", "changes"),
    [
        (0.9, 0.6, False),  # surer when shown first, for the same candidate
        (0.6, 0.4, True),
        (0.5, 0.6, True),  # a tie is a preference of its own
        (0.5, 0.5 + 1e-12, False),
        (0.5, None, None),
    ],
)
def test_the_verdict_changes_where_another_candidate_is_preferred(first, second, changes):
    """A change of strength alone changes no verdict."""
    assert Preference(0, 1, first, second).verdict_changes is changes
