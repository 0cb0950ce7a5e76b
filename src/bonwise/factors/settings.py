"""The settings that every fit of a factor model has: each is declared here, once."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from bonwise.errors import UsageError
from bonwise.flags import Flag, Option
from bonwise.table.checks import CONFIDENCE, SEED, check_confidence, check_number, check_seed, check_whole

Backend = Literal["auto", "numpy", "torch"]
"""What is asked to compute stage 1."""

Binning = Literal["equal_count", "equal_width"]
"""How a rater's numbers are binned: into groups of about equal size, or into intervals of equal width."""

MOST_CATEGORIES = 10
"""Distinct numbers beyond which a rater's numbers are binned, and the most bins: the ten of the paper."""


def _check_count(name: str, value: Any) -> None:
    if value is not None:
        check_whole(name, value, least=1)


def _check_prior(name: str, value: Any) -> None:
    if value is not None:
        check_number(name, value, low=1e-6, high=1e6)


def _words(texts: Sequence[str], _: str) -> dict[str, list[str]]:
    """Read ``NAME=poor,fair,good``."""
    by_rater: dict[str, list[str]] = {}
    for text in texts:
        name, _, words = text.rpartition("=")
        if not name or "," not in words:
            raise UsageError(f"not categories of a rater: {text!r}", hint="write NAME=poor,fair,good")
        by_rater[name] = [word.strip() for word in words.split(",")]
    return by_rater


class FactorKeywords(TypedDict, total=False):
    """How a factor model is chosen and fitted, and how ratings become categories."""

    rank: Annotated[int | None, Option(None, _check_count, Flag("Skills; cross-validation chooses if not given."))]
    """Skills K; cross-validation on human ratings chooses where it is None."""
    prior: Annotated[
        float | None,
        Option(
            None,
            _check_prior,
            Flag("Precision of the factors' prior; cross-validation chooses if not given.", rare=True),
        ),
    ]
    """Precision of the Gaussian prior of the factors, above 0; cross-validation chooses where it is None."""
    restarts: Annotated[int, Option(2, _check_count, Flag("Starts of stage 1; the best is kept.", rare=True))]
    """Starts of stage 1, of which the best is kept."""
    backend: Annotated[
        Backend,
        Option(
            "auto",
            flag=Flag("auto, numpy or torch. auto: torch above 300,000 ratings if installed.", kind=str, rare=True),
        ),
    ]
    """What computes stage 1. ``auto`` is torch for more than 300,000 ratings of judges where it is installed
    (``pip install 'bonwise[torch]'``), otherwise numpy.
    """
    categories: Annotated[
        Mapping[str, Sequence[str]] | None,
        Option(
            flag=Flag(
                "Words of a rater, lowest first: NAME=poor,fair,good (repeatable).", kind=list[str], read=_words
            )
        ),
    ]
    """The words that a rater uses, lowest first."""
    pairs: Annotated[
        Any, Option(flag=Flag("What judge --pairs wrote, in place of the scores of its judges.", kind=Path))
    ]
    """Comparisons that ``bonwise judge --pairs`` wrote; a judge in them is a rater by these and not by its scores."""
    bins: Annotated[
        int, Option(MOST_CATEGORIES, flag=Flag("Bins of a rater with more different numbers.", rare=True))
    ]
    """A rater's numbers are binned where there are more distinct ones."""
    binning: Annotated[Binning, Option("equal_count", flag=Flag("equal_count or equal_width.", kind=str, rare=True))]
    """Into groups of about equal size, or into intervals of equal width."""
    confidence: Annotated[float, Option(CONFIDENCE, lambda _, value: check_confidence(value))]
    """Of the two-sided intervals, in [0.5, 1)."""
    seed: Annotated[int, Option(SEED, lambda _, value: check_seed(value))]
    """Of everything that is drawn."""
    say: Annotated[Callable[[str], None] | None, Option()]
    """Called with advice in one line: which package would need less time."""
