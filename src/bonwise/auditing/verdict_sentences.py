"""The sentences of a verdict: the answer, and what each of the four levels says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bonwise.auditing.suspected import Suspected
from bonwise.auditing.thresholds import Thresholds
from bonwise.documents.audited.verdict import DECIDES, Check, Level, Target
from bonwise.documents.metrics import unit_of
from bonwise.report.numbers import Ends, estimate, interval, setting
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate

__all__ = ["ORACLE", "VerdictSentences", "recovery_bounds"]

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
        return f"{opening}: {recovers}; the gate is {setting(self.thresholds.recovery_useful, 'share')}."

    def for_systems(self, level: Level, rests_on: Check) -> str:
        """Return the answer for averages over prompts, with the figure of the check it rests on, and its gate."""
        if rests_on == "level":
            what, name = "after calibration the largest bias of a candidate's mean", "level_bias"
            gate, unit = self._level_gate, f" {self._points}"
        else:
            what, name = f"its correlation with {self.against} over all cells", "global_r"
            gate, unit = self.thresholds.global_r, ""
        found = self.metrics[name]
        figure = f"{self._figure(name)}{unit}; the gate is {setting(gate)}{unit}"
        says = _undefined(found) if found.estimate is None else figure
        return f"{self._opening(level, _SYSTEMS)}: {what} is {says}. {_NOT_WITHIN}"

    def not_settled(self, target: Target, suspected: Sequence[Suspected]) -> str:
        """Return the answer where the figures would do and what is suspected keeps them from it."""
        purpose = _BEST_OF_N if target == "best-of-n" else _SYSTEMS
        first, *others = suspected
        said = [f"{self._opening('inconclusive', purpose)}: {first.fact}."]
        figures = "" if first.figures else f"The labels that are there say: {self._deciding_figure(target)}"
        gate = f"the gate is {self._deciding_gate(target)}."
        said.append(f"{_capital(first.figures) or figures}; {gate}")
        said += [one.finding for one in others]
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
        ends = f"({found.reason})" if found.low is None else interval(found, unit)
        return f"{estimate(found, unit)} {ends}"

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
        owners = {
            "value_random": "A random pick",
            "value_judge": "The pick",
            "value_oracle": "The best candidate",
        }
        known = [f"{who} has a {mean} of {self._figure(name)}." for name, who in owners.items() if self._known(name)]
        if not known and self._known("gain"):
            return [f"The pick is worth {self._figure('gain')} {self._points} more than a random one."]
        return known

    def _known(self, name: str) -> bool:
        return self.metrics[name].estimate is not None


def recovery_bounds(bounds: Mapping[str, tuple[float, float]]) -> str:
    """Say between which ends recovery lies.

    Examples
    --------
    >>> recovery_bounds({"recovery": (-1.75, 0.945)})
    'Whatever the missing labels are, recovery lies in [-175%, 94%].'
    """
    return f"Whatever the missing labels are, recovery lies in {interval(Ends(None, *bounds['recovery']), 'share')}."


def _capital(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}" if clause else ""


def _undefined(found: Estimate) -> str:
    """Say that a metric is undefined and why, after its name and the word "is".

    Examples
    --------
    >>> _undefined(Estimate.undefined("undefined: needs labels that vary", 3))
    'undefined because it needs labels that vary'
    >>> _undefined(Estimate.undefined("denominator not distinguishable from 0", 3))
    'undefined: denominator not distinguishable from 0'
    """
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
    """Say which grades an interval leaves open.

    Examples
    --------
    >>> _could_be(0.15, 0.41, 0.25, 0.4)
    'It could be weak or useful: the interval spans 0.25 (weak below) and 0.4 (useful above).'
    >>> _could_be(0.3, 0.5, 0.25, 0.4)
    'It could be useful: the interval spans 0.4 (useful above).'
    """
    gates = {"weak": (weak, "below"), "useful": (useful, "above")}
    spanned = {grade: side for grade, side in gates.items() if low <= side[0] <= high}
    where = " and ".join(f"{setting(gate)} ({grade} {side})" for grade, (gate, side) in spanned.items())
    return f"It could be {' or '.join(spanned)}: the interval spans {where}."
