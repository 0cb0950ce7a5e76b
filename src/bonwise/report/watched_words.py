"""How signals of production and their levels are written."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from bonwise.report.numbers import NOTHING, Bounded, Unit, estimate, interval, number

__all__ = ["TITLES", "WatchUnit", "level_ends", "level_figure", "level_words", "plain_unit"]

WatchUnit = Literal["share", "number", "dollars", "characters"]

TITLES: Mapping[str, str] = MappingProxyType(
    {
        "tie_rate": "tie rate",
        "margin": "margin",
        "order_effect": "order effect",
        "unscored_share": "unscored share",
        "cost_per_pick": "cost per pick",
        "length": "length",
        "recovery": "recovery",
    }
)
"""What a signal is called in a sentence."""


def plain_unit(unit: WatchUnit) -> Unit:
    """Return the unit in which `bonwise.report.numbers` writes a figure.

    Examples
    --------
    >>> plain_unit("share"), plain_unit("dollars")
    ('share', 'number')
    """
    return "share" if unit == "share" else "number"


def level_figure(found: Bounded | None, unit: WatchUnit) -> str:
    """Write a level; a dash where there is none.

    Examples
    --------
    >>> from bonwise.report.numbers import Ends
    >>> level_figure(Ends(0.0123, 0.0101, 0.0152), "dollars"), level_figure(Ends(0.12, 0.09, 0.15), "share")
    ('$0.0123', '12.0%')
    """
    if found is None or found.estimate is None:
        return NOTHING
    whole = found.low is None or found.high is None
    written = number(found.estimate, plain_unit(unit)) if whole else estimate(found, plain_unit(unit))
    return f"${written}" if unit == "dollars" else written


def level_ends(found: Bounded | None, unit: WatchUnit) -> str:
    """Write the interval of a level; a dash where there is none."""
    return interval(found, plain_unit(unit))


def level_words(found: Bounded | None, unit: WatchUnit) -> str:
    """Write a level and its interval, for a sentence.

    Examples
    --------
    >>> from bonwise.report.numbers import Ends
    >>> level_words(Ends(812.0, 780.0, 841.0), "characters"), level_words(Ends(0.0, None, None), "share")
    ('812 [780, 841] characters', '0% (no interval)')
    """
    ends = level_ends(found, unit)
    after = " characters" if unit == "characters" else ""
    return f"{level_figure(found, unit)} {'(no interval)' if ends == NOTHING else ends}{after}"
