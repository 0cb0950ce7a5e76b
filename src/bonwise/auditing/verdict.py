"""The verdict: what the figures mean for the decision at hand, first in one sentence, then level by level.

Levels after Landesberg (2026), Tables 9 and 10: they are complementary, so a judge can pass one
and fail another. A level is open ("inconclusive") where the interval covers its threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from bonwise.auditing.suspected import Suspected
from bonwise.auditing.thresholds import Thresholds
from bonwise.auditing.verdict_sentences import ORACLE, VerdictSentences, recovery_bounds
from bonwise.documents.audited.verdict import Check, CheckState, Level, Target, Verdict
from bonwise.stats.estimate import Estimate

__all__ = [
    "TARGETS",
    "Target",
    "Verdict",
    "best_of_n_answer",
    "candidate_validity",
    "judge_validity",
    "pick_validity",
]

TARGETS: tuple[Target, ...] = get_args(Target)

_Metrics = Mapping[str, Estimate]


def judge_validity(
    metrics: _Metrics,
    thresholds: Thresholds,
    target: Target,
    *,
    against: str,
    scope: str,
    suspected: Sequence[Suspected] = (),
    label_width: float = 1.0,
) -> Verdict:
    """Read the metrics as a verdict.

    Parameters
    ----------
    metrics : mapping of str to Estimate
    thresholds : Thresholds
    target : {"best-of-n", "system"}
    against : str
        What the judge is compared with, as a noun: ``the oracle labels``, or another judge.
    scope : str
        A sentence on what the figures describe, empty where they describe every prompt.
    suspected : sequence of Suspected
        What keeps the figures from settling anything: then no level passes and the verdict is not ``useful``.
    label_width : float
        Width of the scale of the labels, in which the threshold of the level bias is stated.
    """
    checks: dict[Check, CheckState] = {
        "correlation": _above(metrics["global_r"], thresholds.global_r),
        "level": _below(metrics["level_bias"], thresholds.level_bias * label_width),
        "directional": _above(metrics["within_r"], 0.0),
        "decision": _above(metrics["recovery"], thresholds.recovery_useful),
    }
    said = VerdictSentences(metrics, thresholds, against, label_width=label_width)
    if target == "best-of-n":
        rests_on: Check = "decision"
        level = _best_of_n_level(metrics, thresholds)
        answer = said.for_best_of_n(level)
    else:
        rests_on = _of_systems(checks)
        level = _system_level(checks)
        answer = said.for_systems(level, rests_on)
    opening = [answer, *([scope] if scope else [])]
    levels: dict[Check, str] = {
        "correlation": said.correlation(),
        "level": said.level(),
        "directional": said.directional(),
        "decision": said.decision(),
    }
    deciding = len(opening) + list(levels).index(rests_on)
    settled = _verdict(target, level, checks, [*opening, *levels.values()], deciding)
    return _unsettled(settled, said, suspected)


def pick_validity(
    metrics: _Metrics, thresholds: Thresholds, *, scope: str, suspected: Sequence[Suspected] = ()
) -> Verdict:
    """Read the metrics of logged picks as a verdict: of the four levels only the decision follows from picks.

    The parameters are those of `judge_validity`.
    """
    checks = _decision_alone(metrics, thresholds)
    level = _best_of_n_level(metrics, thresholds)
    said = VerdictSentences(metrics, thresholds, who="what picked")
    sentences = [
        said.for_best_of_n(level),
        *([scope] if scope else []),
        "Correlation, level and directional validity need scores, and a logged pick holds none.",
        said.decision(),
    ]
    return _unsettled(_verdict("best-of-n", level, checks, sentences, len(sentences) - 1), said, suspected)


def candidate_validity(
    metrics: _Metrics,
    thresholds: Thresholds,
    target: Target,
    *,
    scope: str,
    bounds: Mapping[str, tuple[float, float]],
    suspected: Sequence[Suspected] = (),
    some_whole: bool = False,
) -> Verdict:
    """Read the metrics of labels of single candidates as a verdict: these tell of none of the four levels.

    Parameters
    ----------
    metrics, thresholds, target, scope, suspected
        As those of `judge_validity`.
    bounds : mapping of str to tuple of float
        Of metrics that the labels do not estimate; empty where they estimate recovery.
    some_whole : bool
        Whether some pools are labelled whole.
    """
    lacking = "some prompts have the labels of a pair alone" if some_whole else "none is"
    checks = _decision_alone(metrics, thresholds)
    said = VerdictSentences(metrics, thresholds, ORACLE)
    best_of_n = target == "best-of-n"
    level = _best_of_n_level(metrics, thresholds) if best_of_n else _system_level(checks)
    sentences = [
        said.for_best_of_n(level) if best_of_n else said.for_systems_undefined(),
        scope,
        f"Correlation, level and directional validity need pools that are labelled whole, and {lacking}.",
        " ".join([said.decision(), *([recovery_bounds(bounds)] if bounds else [])]),
    ]
    # Of whole systems such labels tell nothing, and the sentence before the last says why.
    deciding = len(sentences) - (1 if best_of_n else 2)
    return _unsettled(_verdict(target, level, checks, sentences, deciding), said, suspected)


def best_of_n_answer(said: VerdictSentences, suspected: Sequence[Suspected] = ()) -> tuple[Level, str]:
    """Return the word of a verdict on picks within a prompt, and its first sentence, as every audit has them.

    Parameters
    ----------
    said : VerdictSentences
        Of the metrics and the thresholds.
    suspected : sequence of Suspected
        What keeps the figures from settling anything.
    """
    level = _best_of_n_level(said.metrics, said.thresholds)
    if suspected and level == "useful":
        return "inconclusive", said.not_settled("best-of-n", suspected)
    return level, said.for_best_of_n(level)


def _unsettled(settled: Verdict, said: VerdictSentences, suspected: Sequence[Suspected]) -> Verdict:
    """Return a verdict as far as what is suspected leaves it: nothing passes, and the answer says why."""
    if not suspected:
        return settled
    answer, *others = settled.sentences
    level, deciding = settled.level, settled.deciding
    if level == "useful":
        level, answer = "inconclusive", said.not_settled(settled.target, suspected)
    elif easy := [one.sentence for one in suspected if one.easy is not None]:
        scope, on_checks = settled.opening[1:], settled.sentences[len(settled.opening) :]
        others = [" ".join([*scope, *easy]), *on_checks]
        deciding += 1 - len(scope)
    checks: dict[Check, CheckState] = {
        name: "inconclusive" if state == "pass" else state for name, state in settled.checks.items()
    }
    return _verdict(settled.target, level, checks, [answer, *others], deciding)


def _verdict(
    target: Target, level: Level, checks: dict[Check, CheckState], sentences: list[str], deciding: int
) -> Verdict:
    return Verdict(target=target, level=level, checks=checks, sentences=sentences, deciding=deciding)


def _decision_alone(metrics: _Metrics, thresholds: Thresholds) -> dict[Check, CheckState]:
    decision = _above(metrics["recovery"], thresholds.recovery_useful)
    return {"correlation": "undefined", "level": "undefined", "directional": "undefined", "decision": decision}


def _above(found: Estimate, gate: float) -> CheckState:
    if found.estimate is None:
        return "undefined"
    if found.low is None or found.high is None:
        return "inconclusive"
    return "pass" if found.low > gate else "fail" if found.high < gate else "inconclusive"


def _below(found: Estimate, gate: float) -> CheckState:
    turned: Mapping[CheckState, CheckState] = {"pass": "fail", "fail": "pass"}
    state = _above(found, gate)
    return turned.get(state, state)


def _best_of_n_level(metrics: _Metrics, thresholds: Thresholds) -> Level:
    recovery, ties = metrics["recovery"], metrics["tie_rate"]
    if ties.estimate == 1.0:
        return "random"
    if recovery.low is None or recovery.high is None:
        return "inconclusive"
    if recovery.high < 0:
        return "harmful"
    if recovery.low > thresholds.recovery_useful:
        return "useful"
    return "weak" if recovery.high < thresholds.recovery_useful else "inconclusive"


def _of_systems(checks: Mapping[Check, CheckState]) -> Check:
    """Return the check that the level of a judge of whole systems rests on: the one that fails, or else is open."""
    both: dict[Check, CheckState] = {"correlation": checks["correlation"], "level": checks["level"]}
    failing = [name for name, state in both.items() if state == "fail"]
    return next((name for name in (*failing, *both) if both[name] != "pass"), "correlation")


def _system_level(checks: Mapping[Check, CheckState]) -> Level:
    states = {checks["correlation"], checks["level"]}
    if states == {"pass"}:
        return "useful"
    return "weak" if "fail" in states else "inconclusive"
