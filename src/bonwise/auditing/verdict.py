"""The verdict: what the figures mean for the decision at hand, first in one sentence, then level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from bonwise.auditing.result import Thresholds
from bonwise.auditing.result_verdict import DECIDES, Check, CheckState, Level, Target, Verdict
from bonwise.auditing.suspected import Suspected, words_of_support
from bonwise.metric_groups import unit_of
from bonwise.report.numbers import Ends, estimate, interval, setting, with_interval
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.support import open_ground

ORACLE = "the oracle labels"
"""What a judge is compared with where no other judge is the reference."""

_BEST_OF_N, _SYSTEMS = "best-of-n", "comparing systems"
_NOT_WITHIN = "These figures say nothing about picks within a prompt."


@dataclass(frozen=True, slots=True)
class VerdictSentences:
    """Writes metrics as the sentences of a verdict."""

    metrics: Mapping[str, Estimate]
    thresholds: Thresholds
    against: str = ORACLE
    """What the judge is compared with, as a noun."""
    who: str = "this judge"
    """What the verdict is on."""
    label_width: float = 1.0
    """Width of the scale of the labels, in which the threshold of the level bias is stated."""

    def for_best_of_n(self, level: Level) -> str:
        """Return the answer for picks within a prompt, with recovery and its gate."""
        opening = self._opening(level, _BEST_OF_N)
        if level == "random":
            return f"{opening}: it ties every pair of candidates, so its picks are random picks."
        found = self.metrics["recovery"]
        if found.estimate is None:
            return f"{opening}: {self._recovery_undefined(found)}."
        recovers = f"it recovers {self._figure('recovery')} of what {self._perfect} would gain"
        if level == "harmful":
            return f"{opening}: {recovers}, so random picks are better."
        gate = self.thresholds.recovery_useful
        thin = words_of_support(found, gate, "a verdict") if level == "inconclusive" else ""
        return f"{opening}: {recovers}{f', but {thin}' if thin else ''}; the gate is {setting(gate, 'share')}."

    def for_systems(self, level: Level, rests_on: Check) -> str:
        """Return the answer for averages over prompts, with the figure of the check it rests on, and its gate."""
        if rests_on == "level":
            what, name = "after calibration the largest bias of a candidate's mean", "level_bias"
            gate, unit = self._level_gate, f" {self._points}"
        else:
            what, name = f"its correlation with {self.against}", "global_r"
            gate, unit = self.thresholds.global_r, ""
        found = self.metrics[name]
        thin = words_of_support(found, gate, "a verdict") if level == "inconclusive" else ""
        figure = f"{self._figure(name)}{unit}{f', but {thin}' if thin else ''}; the gate is {setting(gate)}{unit}"
        says = _undefined(found) if found.estimate is None else figure
        return f"{self._opening(level, _SYSTEMS)}: {what} is {says}. {_NOT_WITHIN}"

    def not_settled(self, target: Target, suspected: Sequence[Suspected]) -> str:
        """Return the answer where the figures would do and what is suspected keeps them from it."""
        purpose = _BEST_OF_N if target == "best-of-n" else _SYSTEMS
        first, *others = suspected
        said = [f"{self._opening('inconclusive', purpose)}: {first.answer or first.fact}."]
        thin = words_of_support(self.metrics["recovery"], self.thresholds.recovery_useful, "a verdict")
        if target == "best-of-n" and thin and all(one.kind != "few pools" for one in suspected):
            said.append(f"{_capital(thin)}.")
        figures = "" if first.figures else f"The labels that are there say: {self._deciding_figure(target)}"
        gate = f"the gate is {self._deciding_gate(target)}."
        said.append(f"{_capital(first.figures) or figures}; {gate}")
        said += [f"{_capital(first.fact)}."] if first.answer else []
        said += [other.finding for other in others]
        said += [one.advice for one in suspected]
        return " ".join(said)

    def _deciding_figure(self, target: Target) -> str:
        name = DECIDES[target]
        return f"{name} is {self._figure(name)}"

    def _deciding_gate(self, target: Target) -> str:
        if target == "best-of-n":
            return setting(self.thresholds.recovery_useful, "share")
        return setting(self.thresholds.global_r)

    def for_systems_undefined(self) -> str:
        """Return the answer for averages over prompts where single candidates are labelled."""
        why = "labels of single candidates show neither its correlation nor its level"
        return f"{self._opening('inconclusive', _SYSTEMS)}: {why}."

    def correlation(self) -> str:
        """Say how scores agree with labels over all cells."""
        found, what = self.metrics["global_r"], f"The correlation with {self.against} over all cells"
        if found.estimate is None:
            sentence = f"{what} is {_undefined(found)}."
        else:
            compared = _compared(found, self.thresholds.global_r, setting(self.thresholds.global_r))
            sentence = f"{what} is {self._figure('global_r')}{compared}."
        judge, oracle = self.metrics["judge_between_share"], self.metrics["oracle_between_share"]
        if judge.estimate is None or oracle.estimate is None:
            return sentence
        return (
            f"{sentence} No pick within a prompt can use the variance between prompts: "
            f"{estimate(judge, 'share')} of the judge's and {estimate(oracle, 'share')} of that of {self.against}."
        )

    def level(self) -> str:
        """Say by how much a candidate's mean is off after calibration."""
        found, what = self.metrics["level_bias"], "After calibration the largest bias of a candidate's mean"
        if found.estimate is None:
            return f"{what} is {_undefined(found)}."
        gate = self._level_gate
        compared = _compared(found, gate, f"{setting(gate)} {self._points}{self._of_the_range}")
        return f"{what} is {self._figure('level_bias')} {self._points}{compared}."

    def directional(self) -> str:
        """Say how the judge orders the candidates of a prompt."""
        found, what = self.metrics["within_r"], f"The correlation with {self.against} within prompts"
        figure = _undefined(found) if found.estimate is None else self._figure("within_r") + _compared_with_0(found)
        sentences = [f"{what} is {figure}.", self._grade(found)]
        ties = self.metrics["tie_rate"]
        if ties.estimate is not None:
            sentences.append(f"The judge ties {estimate(ties, 'share')} of the pairs within prompts.")
        return " ".join(filter(None, sentences))

    def decision(self) -> str:
        """Say what the picks gain."""
        found = self.metrics["recovery"]
        if found.estimate is None:
            return " ".join([f"Recovery is {_undefined(found)}.", *self._worth()])
        gate = self.thresholds.recovery_useful
        recover = (
            f"The picks recover {self._figure('recovery')} of what {self._perfect} would gain over random picks"
            f"{_compared(found, gate, setting(gate, 'share'))}."
        )
        top1 = f"Top-1 accuracy, the share of prompts with the best pick, is {self._figure('top1_accuracy')}."
        return " ".join(filter(None, (recover, _beside_random(found), top1)))

    @property
    def _perfect(self) -> str:
        return "perfect picking" if self.against == ORACLE else f"picking by {self.against}"

    @property
    def _level_gate(self) -> float:
        """The threshold of the level bias, in the unit of the labels."""
        return self.thresholds.level_bias * self.label_width

    @property
    def _of_the_range(self) -> str:
        """Which part of the label scale that is, where the scale is not of width 1."""
        if self.label_width == 1:
            return ""
        return f" ({setting(self.thresholds.level_bias, 'share')} of their range)"

    @property
    def _points(self) -> str:
        """The unit of a bias."""
        return "label points" if self.against == ORACLE else "score points"

    def _opening(self, level: Level, purpose: str) -> str:
        if level == "inconclusive":
            return f"It is not settled whether {self.who} is useful for {purpose}"
        return f"{self.who.capitalize()} is {level} for {purpose}"

    def _figure(self, name: str) -> str:
        """Write a metric with its interval, or why there is none."""
        found, unit = self.metrics[name], unit_of(name)
        if found.estimate is None:
            return _undefined(found)
        return f"{estimate(found, unit)} ({found.reason})" if found.low is None else with_interval(found, unit)

    def _recovery_undefined(self, found: Estimate) -> str:
        if NOT_DISTINGUISHABLE in (found.reason or ""):
            return f"recovery is undefined because what {self._perfect} would gain may be 0"
        return f"recovery is {_undefined(found)}"

    def _grade(self, found: Estimate) -> str:
        """Grade the correlation within prompts; empty where it cannot be graded or goes the wrong way."""
        weak, useful = self.thresholds.within_r_weak, self.thresholds.within_r_useful
        if found.low is None or found.high is None or found.high < 0:
            return ""
        if found.low > useful:
            return f"It lies above {setting(useful)}, where best of 4 becomes useful."
        if found.high < weak:
            return f"It is weak: it lies below {setting(weak)}."
        if found.low > weak and found.high < useful:
            return f"It lies between weak (below {setting(weak)}) and useful (above {setting(useful)})."
        return _could_be(found.low, found.high, weak, useful)

    def _worth(self) -> list[str]:
        """Say what is known of values where recovery is not."""
        mean = "mean label" if self.against == ORACLE else f"mean score of {self.against}"
        owners = {"value_random": "A random pick", "value_judge": "The pick", "value_oracle": "The best candidate"}
        known = [f"{who} has a {mean} of {self._figure(name)}." for name, who in owners.items() if self._known(name)]
        if not known and self._known("gain"):
            return [f"The pick is worth {self._figure('gain')} {self._points} more than a random one."]
        return known

    def _known(self, name: str) -> bool:
        return self.metrics[name].estimate is not None


def recovery_bounds(bounds: Mapping[str, tuple[float, float]]) -> str:
    """Say between which ends recovery lies."""
    return f"Whatever the missing labels are, recovery lies in {interval(Ends(None, *bounds['recovery']), 'share')}."


def _capital(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}" if clause else ""


def _undefined(found: Estimate) -> str:
    """Say that a metric is undefined and why, after its name and the word "is"."""
    why = (found.reason or "").removeprefix("undefined: ")
    if not why:
        return "undefined"
    return f"undefined because it {why}" if why.startswith("needs ") else f"undefined: {why}"


def _compared(found: Estimate, gate: float, written: str) -> str:
    """Say on which side of a threshold an interval lies."""
    if found.low is None or found.high is None:
        return f"; the threshold is {written}"
    if found.low > gate:
        return f", above the threshold of {written}"
    if found.high < gate:
        return f", below the threshold of {written}"
    return f"; the interval spans the threshold of {written}"


def _compared_with_0(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return ""
    if found.low > 0:
        return ", above 0: the judge orders candidates better than chance"
    if found.high < 0:
        return ", below 0: the judge orders candidates worse than chance"
    return "; the interval spans 0, the order of chance"


def _beside_random(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return ""
    if found.low > 0:
        return "They are better than random picks."
    if found.high < 0:
        return "They are worse than random picks."
    return "They are not shown to differ from random picks."


def _could_be(low: float, high: float, weak: float, useful: float) -> str:
    """Say which grades an interval leaves open."""
    gates = {"weak": (weak, "below"), "useful": (useful, "above")}
    spanned = {grade: side for grade, side in gates.items() if low <= side[0] <= high}
    where = " and ".join(f"{setting(gate)} ({grade} {side})" for grade, (gate, side) in spanned.items())
    return f"It could be {' or '.join(spanned)}: the interval spans {where}."


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
    """Read the metrics as a verdict; with anything `suspected` no level passes. `scope` says of what."""
    level, checks = judge_level(metrics, thresholds, target, label_width=label_width)
    said = VerdictSentences(metrics, thresholds, against, label_width=label_width)
    rests_on: Check = "decision" if target == "best-of-n" else _of_systems(checks)
    answer = said.for_best_of_n(level) if target == "best-of-n" else said.for_systems(level, rests_on)
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


def judge_level(
    metrics: _Metrics, thresholds: Thresholds, target: Target, *, label_width: float = 1.0
) -> tuple[Level, dict[Check, CheckState]]:
    """Return the level of a verdict on which nothing is suspected, and its checks, without its sentences."""
    checks: dict[Check, CheckState] = {
        "correlation": _above(metrics["global_r"], thresholds.global_r),
        "level": _below(metrics["level_bias"], thresholds.level_bias * label_width),
        "directional": _above(metrics["within_r"], 0.0),
        "decision": _above(metrics["recovery"], thresholds.recovery_useful),
    }
    return _best_of_n_level(metrics, thresholds) if target == "best-of-n" else _system_level(checks), checks


def pick_level(metrics: _Metrics, thresholds: Thresholds) -> tuple[Level, dict[Check, CheckState]]:
    """Return the same of logged picks."""
    return _level_of_picks(metrics, thresholds), _decision_alone(metrics, thresholds)


def pick_validity(
    metrics: _Metrics, thresholds: Thresholds, *, scope: str, suspected: Sequence[Suspected] = ()
) -> Verdict:
    """Read the metrics of logged picks as a verdict: of the four levels only the decision follows from picks."""
    level, checks = pick_level(metrics, thresholds)
    said = VerdictSentences(metrics, thresholds, who="what picked")
    sentences = [
        said.for_best_of_n(level),
        *([scope] if scope else []),
        "Correlation, level and directional validity are of scores; of picks only the decision is judged.",
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
    """Read the metrics of labels of single candidates as a verdict; `bounds` are of what these do not estimate."""
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
    """Return the word of a verdict on picks within a prompt, and its first sentence, as every audit has them."""
    level = _best_of_n_level(said.metrics, said.thresholds)
    if suspected and figures_useful(level, said.metrics, said.thresholds, "best-of-n"):
        return "inconclusive", said.not_settled("best-of-n", suspected)
    return level, said.for_best_of_n(level)


def _unsettled(settled: Verdict, said: VerdictSentences, suspected: Sequence[Suspected]) -> Verdict:
    """Return a verdict as far as what is suspected leaves it: nothing passes, and the answer says why."""
    if not suspected:
        return settled
    answer, *others = settled.sentences
    level, deciding = settled.level, settled.deciding
    if figures_useful(level, said.metrics, said.thresholds, settled.target):
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
    if found.low is None or found.high is None or (found.support is not None and open_ground(found, gate)):
        return "inconclusive"
    return "pass" if found.low > gate else "fail" if found.high < gate else "inconclusive"


def _below(found: Estimate, gate: float) -> CheckState:
    turned: Mapping[CheckState, CheckState] = {"pass": "fail", "fail": "pass"}
    state = _above(found, gate)
    return turned.get(state, state)


def _best_of_n_level(metrics: _Metrics, thresholds: Thresholds) -> Level:
    # Of equal scores a missing one still decides: it cannot be picked.
    if metrics["tie_rate"].estimate == 1.0 and "unscored_rate" not in metrics:
        return "random"
    return _level_of_picks(metrics, thresholds)


def _level_of_picks(metrics: _Metrics, thresholds: Thresholds) -> Level:
    recovery = metrics["recovery"]
    gate = thresholds.recovery_useful
    if recovery.low is None or recovery.high is None or open_ground(recovery, gate):
        return "inconclusive"
    if recovery.high < 0:
        return "harmful"
    if recovery.low > gate:
        return "useful"
    return "weak" if recovery.high < gate else "inconclusive"


def figures_useful(level: Level, metrics: _Metrics, thresholds: Thresholds, target: Target) -> bool:
    """Tell whether the intervals say useful, whatever they rest on."""
    if target == "best-of-n" and level == "inconclusive":
        alone = {**metrics, "recovery": replace(metrics["recovery"], support=None)}
        return _level_of_picks(alone, thresholds) == "useful"
    return level == "useful"


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
