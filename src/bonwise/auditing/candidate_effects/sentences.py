"""The sentences on what a judge prefers at equal label."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.audited.candidate_effects import CandidateEffect
from bonwise.documents.estimate import EstimateRecord
from bonwise.report.numbers import Bounded, Ends, counted, estimate, interval

__all__ = ["effect_sentences"]

_PREFERS = {
    "length": ("longer answers", "shorter answers"),
    "family": ("answers of its own family", "answers of other families"),
    "position": ("the first place", "later places"),
}

_NONE = {
    "length": "No preference for longer or shorter answers is detected",
    "family": "No preference for its own family, or against it, is detected",
    "position": "No preference for the first place, or for later ones, is detected",
}

_UNTOLD = {
    "length": "A preference for longer or shorter answers cannot be told",
    "family": "A preference for its own family cannot be told",
    "position": "A preference for the first place cannot be told",
}

_UNKNOWN = {"length": "the length", "family": "the family", "position": "the place"}

_CONTRAST = {
    "length": "per doubling of length",
    "family": "against other families",
    "position": "against later places",
}


def effect_sentences(found: CandidateEffect) -> Iterator[str]:
    """Yield what was found of one attribute, the effect on scores first.

    Parameters
    ----------
    found : CandidateEffect
    """
    if found.score is None or found.score.estimate is None:
        yield f"{_UNTOLD[found.attribute]}: {found.reason or (found.score and found.score.reason)}."
        return
    amount = f"{estimate(found.score, sign=True)} sd {_CONTRAST[found.attribute]} at equal label"
    ends = interval(found.score, sign=True)
    counts = f"({counted(found.prompts, 'prompt')}, {counted(found.candidates, 'candidate')})"
    if found.score.low is None or found.score.high is None:
        yield f"At equal label the scores differ by {amount} {counts}; {found.score.reason}."
    elif found.score.low > 0 or found.score.high < 0:
        yield f"This judge prefers {_PREFERS[found.attribute][found.score.high < 0]}: {amount} {ends} {counts}."
    else:
        yield f"{_NONE[found.attribute]}: {amount} {ends} {counts}."
    yield _cost(found)
    jointly = found.score_jointly
    if jointly is not None and jointly.estimate is not None and jointly.low is not None:
        amount = f"{estimate(jointly, sign=True)} sd {interval(jointly, sign=True)}"
        yield f"With the other attributes equal too the effect is {amount}."
    if found.prompts_left_out:
        left_out = counted(found.prompts_left_out, "prompt")
        yield f"{left_out} left out: {_UNKNOWN[found.attribute]} is not known of every candidate."


def _cost(found: CandidateEffect) -> str:
    cost, regret = found.recovery_cost, found.regret_cost
    if cost is None or cost.estimate is None or regret is None:
        return f"What it costs the picks cannot be told: {(cost and cost.reason) or 'no label differs'}."
    if not found.picks_changed:
        return f"Taking the average effect out of the scores changes none of {counted(cost.n, 'pick')}."
    changed = f"taking the average effect out of the scores changes {counted(found.picks_changed, 'pick')}"
    if cost.low is None or cost.high is None:
        return f"It costs {_amounts(cost, regret)} ({cost.reason}); {changed}."
    if cost.low > 0:
        return f"It costs {_amounts(cost, regret)}; {changed}."
    if cost.high < 0:
        return f"The picks gain by it {_amounts(_turned(cost), _turned(regret))}; {changed}."
    return f"A cost is not detected: {_amounts(cost, regret, sign=True)}; {changed}."


def _amounts(cost: Bounded, regret: Bounded, *, sign: bool = False) -> str:
    recovery = f"{estimate(cost, 'points', sign=sign)} of recovery {interval(cost, 'points', sign=sign)}"
    return f"{recovery} and {estimate(regret, sign=sign)} label points per pick {interval(regret, sign=sign)}"


def _turned(found: EstimateRecord) -> Ends:
    """Return a figure of the other sign."""
    return Ends(*(None if value is None else -value for value in (found.estimate, found.high, found.low)))
