"""How figures are written: in sentences, tables, on axes and in Markdown alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

__all__ = [
    "NOTHING",
    "Bounded",
    "Unit",
    "about_percent",
    "about_percents",
    "alike",
    "brief",
    "change",
    "count",
    "counted",
    "dollars",
    "estimate",
    "fine",
    "interval",
    "interval_title",
    "listed_counts",
    "money",
    "number",
    "one_decimal_percent",
    "per_unit",
    "percent",
    "price",
    "rare",
    "rate",
    "ratio",
    "relative_change",
    "rough",
    "score",
    "seconds",
    "setting",
    "signed",
    "signed_score",
    "signed_small",
    "significant",
    "small",
    "times",
    "tiny",
    "whole",
    "whole_percent",
]

NOTHING = "-"
"""Stands where there is no figure."""

Unit = Literal["number", "share"]
"""What a figure is: a ``share`` is a part of a whole, which people think of in percent."""

_DIGITS = 3
_LARGE, _SMALL = 100.0, 0.1
_VANISHES = 0.0005
_LONG, _EXACT = 10_000, 1e15
_VISIBLE = 0.001
_MOST_DECIMALS = 9
_WIDE = 0.02
"""An interval so wide says nothing of a fourth decimal."""


class Bounded(Protocol):
    """A figure with its interval, as every estimate of a document is."""

    @property
    def estimate(self) -> float | None:
        """The figure, None where it is undefined."""

    @property
    def low(self) -> float | None:
        """The lower end."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def estimate(found: Bounded | None, unit: Unit = "number") -> str:
    """Write an estimate; a dash where there is none."""
    return number(None if found is None else found.estimate, unit)


def interval(found: Bounded | None, unit: Unit = "number") -> str:
    """Write an interval; a dash where there is none."""
    if found is None or found.low is None:
        return NOTHING
    return f"[{number(found.low, unit)}, {number(found.high, unit)}]"


def number(value: float | None, unit: Unit = "number") -> str:
    """Write a figure that has no interval beside it.

    Examples
    --------
    >>> number(0.21258), number(-1e-9), number(None)
    ('0.213', '0.000', '-')
    """
    del unit
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return NOTHING if value is None else f"{round(value, 3) + 0.0:.3f}"


def fine(found: Bounded) -> tuple[str, str]:
    """Write an estimate that may be small, such as a gain per token, and its interval, with one number of decimals.

    Three decimals where the interval is at least 0.02 wide or all figures are 0.1 or more, else five; five too where
    three would write a figure as 0 that is none; one decimal where all are 100 or more.

    Examples
    --------
    >>> from bonwise.documents.estimate import EstimateRecord
    >>> small = EstimateRecord(
    ...     estimate=0.00526, low=0.00438, high=0.00613, se=None, n=9, interval="jackknife", method="complete"
    ... )
    >>> fine(small)
    ('0.00526', '[0.00438, 0.00613]')
    """
    low, high = found.low, found.high
    sizes = [abs(value) for value in (found.estimate, low, high) if value]
    decimals = _decimals(sizes, wide=low is not None and high is not None and high - low >= _WIDE)
    ends = NOTHING if low is None or high is None else f"[{_written(low, decimals)}, {_written(high, decimals)}]"
    return (NOTHING if found.estimate is None else _written(found.estimate, decimals)), ends


def count(value: int | None) -> str:
    """Write a count, thousands apart.

    Examples
    --------
    >>> count(1200)
    '1,200'
    """
    return NOTHING if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """Write a count with its noun in the singular or the plural.

    Examples
    --------
    >>> counted(1, "pair"), counted(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def listed_counts(counts: Iterable[tuple[str, int]]) -> str:
    """Write reasons with how often each holds.

    Examples
    --------
    >>> listed_counts([("no label", 3), ("not scored", 1200)])
    'no label (3), not scored (1,200)'
    """
    return ", ".join(f"{what} ({times:,})" for what, times in counts)


def percent(share: float) -> str:
    """Write a share that was set or is known exactly, in percent.

    Examples
    --------
    >>> percent(0.95), percent(0.125)
    ('95%', '12.5%')
    """
    return f"{100 * share:g}%"


def one_decimal_percent(share: float) -> str:
    """Write a share that was counted, in percent to one decimal.

    Examples
    --------
    >>> one_decimal_percent(133 / 200), one_decimal_percent(1)
    ('66.5%', '100.0%')
    """
    return f"{100 * share:.1f}%"


def rate(share: float) -> str:
    """Write a share that was counted, in percent.

    Examples
    --------
    >>> rate(0.5854), rate(1.0)
    ('58.5%', '100.0%')
    """
    return f"{share:.1%}"


def interval_title(confidence: float) -> str:
    """Name a column of intervals.

    Examples
    --------
    >>> interval_title(0.95)
    '95% interval'
    """
    return f"{percent(confidence)} interval"


def setting(value: float) -> str:
    """Write a number that a user set, as short as it is exact to six digits.

    Examples
    --------
    >>> setting(0.25), setting(20.0)
    ('0.25', '20')
    """
    return f"{value:g}"


def score(value: float | None) -> str:
    """Write the score of a candidate: four digits, and large ones to the last before the point.

    Four digits do not tell the scores of long texts apart, and would be followed by a power of ten.

    Examples
    --------
    >>> score(0.041533), score(-2.0), score(-12361.0), score(None)
    ('0.04153', '-2', '-12,361', '-')
    """
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if _LONG <= abs(value) < _EXACT else f"{value:.4g}"


def signed_score(value: float | None) -> str:
    """Write a difference of scores.

    Examples
    --------
    >>> signed_score(0.25), signed_score(None)
    ('+0.25', '-')
    """
    return NOTHING if value is None else f"{value:+.4g}"


def per_unit(amount: float, units: int) -> str:
    """Write what falls to one of several, whole from 100 up.

    Examples
    --------
    >>> per_unit(24_716, 2), per_unit(1, 3), per_unit(1, 20_000), per_unit(0, 2)
    ('12,358', '0.333', 'under 0.001', '0')
    """
    value = amount / units
    if value >= _LARGE:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= _VISIBLE or not value else f"under {_VISIBLE:g}"


def seconds(value: float) -> str:
    """Write a time.

    Examples
    --------
    >>> seconds(1.2345)
    '1.23 s'
    """
    return f"{value:.3g} s"


def dollars(amount: float) -> str:
    """Write US dollars, small amounts to four decimals.

    Examples
    --------
    >>> dollars(0.75), dollars(123.456), dollars(0.0)
    ('$0.7500', '$123.46', '$0.00')
    """
    return f"${amount:,.2f}" if amount >= _LARGE or amount == 0 else f"${amount:.4f}"


def money(cost: float | None) -> str:
    """Write US dollars as a running command does.

    Examples
    --------
    >>> money(0.01234), money(12.3), money(None)
    ('$0.0123', '$12.30', 'cost unknown')
    """
    if cost is None:
        return "cost unknown"
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def significant(value: float) -> str:
    """Write a figure to three significant digits, those before the point in full.

    Examples
    --------
    >>> [significant(value) for value in (0.00514, 0.0000102, 1.2, 123.4, 12345.0, 0.0, -0.0)]
    ['0.00514', '1.02e-05', '1.20', '123', '12,345', '0', '0']
    """
    if value == 0:
        return "0"
    if abs(value) >= 10**_DIGITS:
        return f"{value:,.0f}"
    return f"{value:#.{_DIGITS}g}".removesuffix(".")


def brief(value: float) -> str:
    """Write a figure that something was planned for, to four significant digits.

    Examples
    --------
    >>> brief(0.0612345), brief(20.0)
    ('0.06123', '20')
    """
    return f"{value:.4g}"


def price(value: float) -> str:
    """Write a price in the unit that the user gave prices in.

    Examples
    --------
    >>> price(1234.5)
    '1,234.50'
    """
    return f"{value:,.2f}"


def rough(value: float) -> str:
    """Write a figure of which the size alone matters, to two significant digits.

    Examples
    --------
    >>> rough(0.15), rough(12.0)
    ('0.15', '12')
    """
    return f"{value:.2g}"


def ratio(value: float | None) -> str:
    """Write how many times one figure is another, to two decimals.

    Examples
    --------
    >>> ratio(0.8512), ratio(None)
    ('0.85', '-')
    """
    return NOTHING if value is None else f"{value:.2f}"


def small(value: float | None) -> str:
    """Write a figure that is mostly below 0.1, to four decimals.

    Examples
    --------
    >>> small(0.05123), small(-1e-9), small(None)
    ('0.0512', '0.0000', '-')
    """
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return NOTHING if value is None else f"{round(value, 4) + 0.0:.4f}"


def tiny(value: float) -> str:
    """Write a figure that is mostly below 0.01, to five decimals.

    Examples
    --------
    >>> tiny(0.0098893)
    '0.00989'
    """
    return f"{value:.5f}"


def whole(value: float) -> str:
    """Write an amount without its fraction.

    Examples
    --------
    >>> whole(1234.4)
    '1,234'
    """
    return f"{value:,.0f}"


def signed(value: float, unit: Unit = "number") -> str:
    """Write a difference with its sign.

    Examples
    --------
    >>> signed(0.0612), signed(-0.5)
    ('+0.061', '-0.500')
    """
    del unit
    return f"{value:+.3f}"


def signed_small(value: float | None) -> str:
    """Write a difference that is mostly below 0.1 with its sign.

    Examples
    --------
    >>> signed_small(0.0023), signed_small(-1e-9), signed_small(None)
    ('+0.0023', '+0.0000', '-')
    """
    return NOTHING if value is None else f"{round(value, 4) + 0.0:+.4f}"


def change(found: Bounded, unit: Unit = "number") -> str:
    """Write by how much a figure changed, with its sign; a dash where that is unknown.

    Examples
    --------
    >>> from bonwise.documents.estimate import EstimateRecord
    >>> change(EstimateRecord(estimate=-1e-9, low=None, high=None, se=None, n=9, interval=None, method="complete"))
    '+0.000'
    """
    del unit
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return NOTHING if found.estimate is None else f"{round(found.estimate, 3) + 0.0:+.3f}"


def relative_change(found: Bounded) -> tuple[str, str]:
    """Write by what part a figure changed, in percent with its sign, and the interval of that.

    Examples
    --------
    >>> from bonwise.documents.estimate import EstimateRecord
    >>> relative_change(
    ...     EstimateRecord(estimate=0.051, low=0.02, high=0.08, se=None, n=9, interval="jackknife", method="complete")
    ... )
    ('+5.1%', '[2.0, 8.0]')
    """
    value, low, high = (
        None if one is None else round(100 * one, 1) + 0.0 for one in (found.estimate, found.low, found.high)
    )
    ends = NOTHING if low is None or high is None else f"[{low:.1f}, {high:.1f}]"
    return (NOTHING if value is None else f"{value:+.1f}%"), ends


def alike(values: Sequence[float | None]) -> list[str]:
    """Write small figures of one column with the same decimals.

    Five decimals, more only where five would leave no three digits of the largest; where that takes more than nine
    each is written for itself.

    Examples
    --------
    >>> alike([9.55e-05, 0.00184]), alike([9.55e-06, None]), alike([1e-9])
    (['0.00010', '0.00184'], ['0.00000955', '-'], ['1.00e-09'])
    """
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    decimals = 5 if largest == 0 else max(5, 2 - math.floor(math.log10(largest)))
    if decimals > _MOST_DECIMALS:
        return [NOTHING if value is None else significant(value) for value in values]
    return [NOTHING if value is None else f"{value:,.{decimals}f}" for value in values]


def times(value: float) -> str:
    """Write how many others something stands for, to three significant digits.

    Examples
    --------
    >>> times(16.5), times(4.0)
    ('16.5', '4')
    """
    return f"{value:.3g}"


def rare(share: float) -> str:
    """Write a share that is mostly below one percent.

    Examples
    --------
    >>> rare(0.00123)
    '0.12%'
    """
    return f"{share:.2%}"


def whole_percent(share: float) -> int:
    """Return a share in whole percent.

    Examples
    --------
    >>> whole_percent(0.126), whole_percent(-0.004)
    (13, 0)
    """
    return round(100 * share)


def about_percent(share: float | None) -> str:
    """Write a part of what is possible, of which whole percent are known at best.

    Examples
    --------
    >>> about_percent(0.6412), about_percent(-0.004), about_percent(None)
    ('64%', '0%', '-')
    """
    return NOTHING if share is None else f"{whole_percent(share)}%"


def about_percents(low: float | None, high: float | None) -> str:
    """Write the ends of such a part.

    Examples
    --------
    >>> about_percents(0.4, 0.934), about_percents(None, None)
    ('[40%, 93%]', '-')
    """
    return NOTHING if low is None else f"[{about_percent(low)}, {about_percent(high)}]"


def _decimals(sizes: list[float], *, wide: bool) -> int:
    if sizes and min(sizes) >= _LARGE:
        return 1
    return 5 if any(size < (_VANISHES if wide else _SMALL) for size in sizes) else 3


def _written(value: float, decimals: int) -> str:
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"
