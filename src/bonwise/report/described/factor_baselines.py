"""Baselines of a factor model: how they are called, and which of them use no judge."""

from __future__ import annotations

from collections.abc import Mapping

from bonwise.printable import printable

__all__ = ["BASELINE_WORDS", "WITHOUT_JUDGES", "baseline_name"]

BASELINE_WORDS: Mapping[str, str] = {
    "frequencies": "shares of the categories",
    "constant": "strengths of the models",
    "prompt_specific": "strengths, and each prompt's own",
    "verdicts_only": "judges' verdicts alone",
    "constant_and_verdict": "strengths and mean verdict",
    "all_ratings": "strengths and every verdict",
}

WITHOUT_JUDGES = ("frequencies", "constant", "prompt_specific")
"""Baselines that are fitted to human ratings alone."""


def baseline_name(name: str) -> str:
    """Return what a baseline is called.

    Examples
    --------
    >>> baseline_name("constant"), baseline_name("mine")
    ('strengths of the models', 'mine')
    """
    return BASELINE_WORDS.get(name, printable(name))
