"""The verdict: the decision target first, then the four levels of validity, in plain sentences.

Levels after Landesberg (2026), Tables 9 and 10: they are complementary, so a judge can pass one
and fail another. A level is open ("inconclusive") where the interval covers its threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from bonwise.auditing.thresholds import Thresholds
from bonwise.documents.audited.verdict import Check, CheckState, Level, Target, Verdict
from bonwise.documents.metrics import unit_of
from bonwise.report.numbers import Ends, estimate, interval, setting
from bonwise.stats.estimate import Estimate

__all__ = ["TARGETS", "Target", "Verdict", "candidate_validity", "judge_validity", "pick_validity"]

TARGETS: tuple[Target, ...] = get_args(Target)

_Metrics = Mapping[str, Estimate]


def judge_validity(metrics: _Metrics, thresholds: Thresholds, target: Target, *, against: str, scope: str) -> Verdict:
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
    """
    checks: dict[Check, CheckState] = {
        "correlation": _above(metrics["global_r"], thresholds.global_r),
        "level": _below(metrics["level_bias"], thresholds.level_bias),
        "directional": _above(metrics["within_r"], 0.0),
        "decision": _above(metrics["recovery"], thresholds.recovery_useful),
    }
    level = _best_of_n_level(metrics, thresholds) if target == "best-of-n" else _system_level(checks)
    opening = (_target_sentence(target, level), *([scope] if scope else []))
    levels: dict[Check, str] = {
        "correlation": _correlation_sentence(metrics, thresholds, checks, against),
        "level": _level_sentence(metrics, thresholds, checks),
        "directional": _directional_sentence(metrics, thresholds, checks),
        "decision": _decision_sentence(metrics, thresholds, checks),
    }
    deciding = len(opening) + list(levels).index("decision" if target == "best-of-n" else _of_systems(checks))
    return _verdict(target, level, checks, [*opening, *levels.values()], deciding)


def pick_validity(metrics: _Metrics, thresholds: Thresholds, *, scope: str) -> Verdict:
    """Read the metrics of logged picks as a verdict: of the four levels only the decision follows from picks.

    The parameters are those of `judge_validity`.
    """
    checks = _decision_alone(metrics, thresholds)
    level = _best_of_n_level(metrics, thresholds)
    sentences = [
        f"Decision target: picking the best candidate of one prompt (best of n); {_MEANING_OF_PICKS[level]}.",
        *([scope] if scope else []),
        "Correlation, level and directional validity: undefined on these data, for a logged pick holds no scores.",
        _decision_sentence(metrics, thresholds, checks),
    ]
    return _verdict("best-of-n", level, checks, sentences, len(sentences) - 1)


def candidate_validity(
    metrics: _Metrics,
    thresholds: Thresholds,
    target: Target,
    *,
    scope: str,
    bounds: Mapping[str, tuple[float, float]],
) -> Verdict:
    """Read the metrics of labels of single candidates as a verdict: these tell of none of the four levels.

    Parameters
    ----------
    metrics, thresholds, target, scope
        As those of `judge_validity`.
    bounds : mapping of str to tuple of float
        Of metrics that the labels do not estimate, recovery among them.
    """
    checks = _decision_alone(metrics, thresholds)
    level = _best_of_n_level(metrics, thresholds) if target == "best-of-n" else _system_level(checks)
    worst = interval(Ends(None, *bounds["recovery"]), "share")
    bound = f"Whatever the missing labels are, recovery lies in {worst}."
    sentences = [
        _target_sentence(target, level),
        scope,
        "Correlation, level and directional validity: undefined on these data, for whole pools are not labelled.",
        f"{_decision_sentence(metrics, thresholds, checks)} {bound}",
    ]
    # Of whole systems such labels tell nothing, and the sentence before the last says why.
    deciding = len(sentences) - (1 if target == "best-of-n" else 2)
    return _verdict(target, level, checks, sentences, deciding)


def _verdict(
    target: Target, level: Level, checks: dict[Check, CheckState], sentences: list[str], deciding: int
) -> Verdict:
    return Verdict(target=target, level=level, checks=checks, sentences=sentences, deciding=deciding)


def _decision_alone(metrics: _Metrics, thresholds: Thresholds) -> dict[Check, CheckState]:
    decision = _above(metrics["recovery"], thresholds.recovery_useful)
    return {"correlation": "undefined", "level": "undefined", "directional": "undefined", "decision": decision}


def _figure(metrics: _Metrics, name: str) -> str:
    """Write a metric with its interval, or why there is none."""
    found, unit = metrics[name], unit_of(name)
    if found.estimate is None:
        return found.reason or "undefined"
    ends = f"({found.reason})" if found.low is None else interval(found, unit)
    return f"{estimate(found, unit)} {ends}"


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


_MEANING: Mapping[Level, str] = {
    "useful": "the judge is useful for it",
    "weak": "the judge is weak for it",
    "harmful": "the judge's picks are worse than random picks",
    "random": "the judge ties every pair, so its picks are random picks",
    "inconclusive": "the data do not settle whether the judge is useful for it",
}


_MEANING_OF_PICKS: Mapping[Level, str] = {
    "useful": "what picked is useful for it",
    "weak": "what picked is weak for it",
    "harmful": "the picks are worse than random picks",
    "inconclusive": "the data do not settle whether what picked is useful for it",
}


def _target_sentence(target: Target, level: Level) -> str:
    if target == "best-of-n":
        return f"Decision target: picking the best candidate of one prompt (best of n); {_MEANING[level]}."
    return (
        f"Decision target: comparing whole systems on averages over prompts; {_MEANING[level]}. "
        "Global agreement is the right figure for this target and says nothing about picks within a prompt."
    )


def _state(state: CheckState) -> str:
    return {
        "pass": "passes",
        "fail": "fails",
        "inconclusive": "inconclusive",
        "undefined": "undefined on these data",
    }[state]


def _correlation_sentence(
    metrics: _Metrics, thresholds: Thresholds, checks: Mapping[Check, CheckState], against: str
) -> str:
    found = metrics["global_r"]
    tail = f" against a threshold of {setting(thresholds.global_r)}" if found.estimate is not None else ""
    sentence = (
        f"Correlation validity: {_state(checks['correlation'])}. Agreement with {against} over all cells is "
        f"{_figure(metrics, 'global_r')}{tail}."
    )
    judge, oracle = metrics["judge_between_share"], metrics["oracle_between_share"]
    if judge.estimate is not None and oracle.estimate is not None:
        sentence += (
            f" Between prompts lie {estimate(judge, 'share')} of the judge's variance and "
            f"{estimate(oracle, 'share')} of that of {against}, which no pick within a prompt can use."
        )
    return sentence


def _level_sentence(metrics: _Metrics, thresholds: Thresholds, checks: Mapping[Check, CheckState]) -> str:
    found = metrics["level_bias"]
    if found.estimate is None:
        return f"Level validity: {_state(checks['level'])} ({found.reason})."
    return (
        f"Level validity: {_state(checks['level'])}. After calibration the worst per-candidate bias is "
        f"{_figure(metrics, 'level_bias')}, against a threshold of {setting(thresholds.level_bias)}."
    )


def _directional_sentence(metrics: _Metrics, thresholds: Thresholds, checks: Mapping[Check, CheckState]) -> str:
    found, ties = metrics["within_r"], metrics["tie_rate"]
    sentence = (
        f"Directional validity: {_state(checks['directional'])} against 0. Within prompts the correlation is "
        f"{_figure(metrics, 'within_r')}"
    )
    grade = _within_grade(found, thresholds)
    sentence += f"; {grade}" if grade else ""
    if ties.estimate is not None:
        sentence += f"; the judge ties {estimate(ties, 'share')} of the pairs within prompts"
    return sentence + "."


def _within_grade(found: Estimate, thresholds: Thresholds) -> str:
    weak, useful = thresholds.within_r_weak, thresholds.within_r_useful
    if found.low is None or found.high is None:
        return ""
    if found.high < 0:
        return "it orders candidates against the labels"
    if found.low > useful:
        return f"it lies above {setting(useful)}, where best of 4 becomes useful"
    if found.high < weak:
        return f"it is weak (below {setting(weak)})"
    if found.low > weak and found.high < useful:
        return f"it lies between weak ({setting(weak)}) and useful ({setting(useful)})"
    return f"it could be weak or useful: the interval spans {_covered(found.low, found.high, weak, useful)}"


def _covered(low: float, high: float, weak: float, useful: float) -> str:
    gates = {f"{setting(weak)} (weak below)": weak, f"{setting(useful)} (useful above)": useful}
    return " and ".join(name for name, gate in gates.items() if low <= gate <= high)


def _decision_sentence(metrics: _Metrics, thresholds: Thresholds, checks: Mapping[Check, CheckState]) -> str:
    found = metrics["recovery"]
    if found.estimate is None:
        why = (found.reason or "undefined").removeprefix("undefined: ")
        return f"Decision validity: {_state(checks['decision'])}. Recovery: {why}. {_worth(metrics)}".strip()
    against_random = ""
    if found.low is not None and found.high is not None:
        against_random = (
            "better than a random pick"
            if found.low > 0
            else "worse than a random pick"
            if found.high < 0
            else "not shown to differ from a random pick"
        )
    return (
        f"Decision validity: {_state(checks['decision'])}. The picks recover {_figure(metrics, 'recovery')} of "
        f"what perfect selection gains over random, against a threshold of "
        + setting(thresholds.recovery_useful, "share")
        + (f"; that is {against_random}" if against_random else "")
        + f". Top-1 accuracy is {_figure(metrics, 'top1_accuracy')}."
    )


def _worth(metrics: _Metrics) -> str:
    """Say what is known of values where recovery is not."""
    owners = {
        "value_random": "A random pick",
        "value_judge": "The judge's pick",
        "value_oracle": "The best candidate",
    }
    known = [f"{who} is worth {_figure(metrics, name)}." for name, who in owners.items() if _known(metrics[name])]
    if not known and _known(metrics["gain"]):
        known = [f"The judge's pick is worth {_figure(metrics, 'gain')} more than a random one."]
    return " ".join(known)


def _known(found: Estimate) -> bool:
    return found.estimate is not None
