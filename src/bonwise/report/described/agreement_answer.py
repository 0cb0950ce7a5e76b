"""Whether pairwise verdicts agree with the oracle's more than a coin does, or than a judge that names one side."""

from __future__ import annotations

from bonwise.documents.estimate import EstimateRecord
from bonwise.printable import printable
from bonwise.report.described.answer import StatedVerdict, outcome_of
from bonwise.report.numbers import with_interval

__all__ = ["agreement_answer", "agreement_words"]

_COIN = 0.5
"""Agreement of a coin with any oracle, ties counting one half."""


def agreement_answer(agreement: EstimateRecord, phi: EstimateRecord | None = None) -> StatedVerdict:
    """Return whether the agreement is shown to be above that of a coin.

    A judge that always names the same side agrees more than a coin where the oracle prefers that side; its
    correlation with the oracle is 0.

    Parameters
    ----------
    agreement : EstimateRecord
        Share of the oracle's verdicts that the judge shares, a tie counting one half.
    phi : EstimateRecord, optional
        Correlation of the verdicts, where it is known.
    """
    if agreement.estimate is None:
        why = printable(agreement.reason or "no reason is known", longest=200)
        return StatedVerdict("undefined", "open", f"The agreement with the oracle is undefined: {why}.")
    figure = agreement_words(agreement)
    outcome = outcome_of(agreement, _COIN)
    if outcome == "below":
        return StatedVerdict("worse than a coin", "bad", f"The verdicts contradict the oracle's: {figure}.")
    if outcome == "open":
        return StatedVerdict("no agreement shown", "open", f"No agreement beyond that of a coin is shown: {figure}.")
    if phi is not None and outcome_of(phi) != "above":
        told = "undefined" if phi.estimate is None else f"{with_interval(phi)}, and 0 for such a judge"
        return StatedVerdict(
            "one side may do",
            "open",
            f"A judge that always names the same side may agree as often: {figure}; the correlation phi is {told}.",
        )
    return StatedVerdict("better than a coin", "good", f"The verdicts agree with the oracle's: {figure}.")


def agreement_words(agreement: EstimateRecord) -> str:
    """Write the agreement beside that of a coin."""
    return f"the agreement is {with_interval(agreement, 'share')}, a coin's is 50%"
