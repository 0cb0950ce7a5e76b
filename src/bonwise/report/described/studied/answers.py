"""The answers of studies: of each judge a word, its state, and one sentence with the figure that decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.label_strategy.strategies import StrategiesDocument, StrategiesJudge
from bonwise.documents.label_strategy.verdicts import VerdictsDocument, VerdictsJudge
from bonwise.documents.metrics import unit_of
from bonwise.documents.studies.calibration import CalibrationDocument, CalibrationJudge
from bonwise.documents.studies.mix import MixDocument, MixJudge
from bonwise.documents.studies.requirements import OwnFigures, RequirementsDocument, RequirementsJudge, Target
from bonwise.documents.study import StudyDocument
from bonwise.report.blocks import Said
from bonwise.report.described.agreement_answer import agreement_answer, agreement_words
from bonwise.report.described.answer import StatedVerdict, outcome_of
from bonwise.report.described.label_strategy.asking_columns import way_name
from bonwise.report.numbers import counted, percent, unit_of_difference, with_any_interval, with_interval

__all__ = ["answers_of", "next_of"]

_RECOVERY, _GLOBAL_R = "recovery", "global_r"

_NEXT: Mapping[str, str] = {
    "requirements": "For a better judge try another prompt or several draws per candidate, then audit it again.",
    "label-strategy": "Take the way that recovers most per call, then audit the judge with it.",
    "calibration": "Calibrate only if the change is shown and the picks gain; otherwise keep the raw scores.",
    "mix": "Quote the figures without the easy candidates where users never see such candidates.",
}


_TRUST = "Ask in both orders, and trust the verdicts that both orders together decide."
_OTHER_ORDER = "Ask in the other order too: one order alone does not show what the order does."


def answers_of(document: StudyDocument) -> dict[str, StatedVerdict]:
    """Return the answer of each judge; nothing of a study that asks no question with an answer."""
    if isinstance(document, RequirementsDocument):
        return {name: _reached(judge) for name, judge in document.judges.items() if judge.targets}
    if isinstance(document, CalibrationDocument):
        return {name: _calibrated(judge) for name, judge in document.judges.items() if judge.methods}
    if isinstance(document, MixDocument):
        return {name: _mixed(judge) for name, judge in document.judges.items() if judge.change}
    if isinstance(document, StrategiesDocument):
        return {
            name: _asked(judge, document) for name, judge in document.judges.items() if _compared(judge, document)
        }
    if isinstance(document, VerdictsDocument):
        return {name: _ordered(judge) for name, judge in document.judges.items()}
    return {}


def next_of(document: StudyDocument) -> list[Said]:
    """Return what to do after a study."""
    if isinstance(document, VerdictsDocument):
        two = len(document.settings.verdict_columns) > 1
        return [Said("finding", _TRUST if two else _OTHER_ORDER)]
    told = _NEXT.get(document.study_name())
    return [] if told is None else [Said("finding", told)]


def _reached(judge: RequirementsJudge) -> StatedVerdict:
    """Return the largest wanted recovery that the judge is shown to reach, or that it misses the smallest."""
    own, targets = judge.judge.recovery, sorted(judge.targets, key=lambda one: one.target)
    if own.estimate is None:
        return StatedVerdict("undefined", "open", "The recovery of this judge is undefined.")
    has = f"it recovers {_with_ends(own, _RECOVERY)}"
    reached = [one for one in targets if outcome_of(own, one.target) == "above"]
    if reached:
        most = reached[-1]
        wanted = f"a wanted recovery of {percent(most.target)}"
        return StatedVerdict(f"reaches {percent(most.target)}", "good", f"The judge reaches {wanted}: {has}.")
    least = targets[0]
    wanted, why = percent(least.target), _why_not(judge.judge, least)
    if outcome_of(own, least.target) == "below":
        says = f"The judge recovers less than {wanted} of the possible gain: {_with_ends(own, _RECOVERY)}. {why}"
        return StatedVerdict(f"recovers less than {wanted}", "bad", says)
    return StatedVerdict("not settled", "open", f"The judge is not shown to recover {wanted}: {has}. {why}")


def _why_not(own: OwnFigures, least: Target) -> str:
    """Say whether within_r is what a judge lacks that is not shown to reach a wanted recovery, or how it errs.

    The recovery decides; the within_r that is needed is that of a judge of plain noise, so a judge can have it and
    recover less.
    """
    needed, has, wanted = least.within_r, own.within_r, percent(least.target)
    if needed.estimate is None or has.estimate is None:
        return f"The within_r that {wanted} takes is undefined here, or this judge's is."
    takes = f"{with_interval(needed)} is enough for {wanted} where errors are plain noise"
    told = f"Its within_r is {with_interval(has)}; {takes}."
    if outcome_of(has, needed.estimate) == "below":
        told = f"Its within_r of {with_interval(has)} is too low: {wanted} takes {with_interval(needed)}."
    elif outcome_of(has, needed.estimate) == "above":
        told = f"Its within_r of {with_interval(has)} is not what it lacks: {takes}."
    if own.difference.high is not None and own.difference.high < 0:
        told += " Its errors cost more than plain noise would, as ties, coarse scores and uneven errors can."
    return told


def _calibrated(judge: CalibrationJudge) -> StatedVerdict:
    """Return whether a way of calibrating changes recovery."""
    changes = {
        method.replace("_", " "): found.changes[_RECOVERY]
        for method, found in judge.methods.items()
        if _RECOVERY in found.changes
    }
    shown = {name: outcome_of(one) for name, one in changes.items()}
    told = "; ".join(f"{name} {_change(one, _RECOVERY)}" for name, one in changes.items())
    says = f"Change of recovery by calibration: {told}."
    if "above" in shown.values():
        return StatedVerdict("better picks", "good", says)
    if shown and all(one == "below" for one in shown.values()):
        return StatedVerdict("worse picks", "bad", says)
    return StatedVerdict("no change shown", "open", says)


def _mixed(judge: MixJudge) -> StatedVerdict:
    """Return whether the easy candidates change the figures."""
    there = [name for name in (_RECOVERY, _GLOBAL_R) if name in judge.change]
    told = "; ".join(f"{name} {_change(judge.change[name], name)}" for name in there)
    says = f"With the easy candidates in every pool: {told}."
    moved = [name for name in there if outcome_of(judge.change[name]) != "open"]
    if moved:
        return StatedVerdict(f"{' and '.join(moved)} changed", "bad", says)
    return StatedVerdict("no change shown", "open", says)


def _compared(judge: StrategiesJudge, document: StrategiesDocument) -> dict[str, EstimateRecord]:
    """Return how ways of asking differ from scores: on the prompts with the most verdicts, else on single pairs."""
    groups = [group.by_name for group in judge.strategies.values()]
    return {
        way_name(name, document.settings): way.less[_RECOVERY]
        for ways in [*groups, judge.matched_pairs.by_name][:1]
        for name, way in ways.items()
        if _RECOVERY in way.less
    }


def _asked(judge: StrategiesJudge, document: StrategiesDocument) -> StatedVerdict:
    """Return whether a way of asking recovers more than scores."""
    apart = _compared(judge, document)
    better = [name for name, one in apart.items() if outcome_of(one) == "above"]
    worse = [name for name, one in apart.items() if outcome_of(one) == "below"]
    name, best = max(apart.items(), key=lambda one: float("-inf") if one[1].estimate is None else one[1].estimate)
    pairs = "" if judge.strategies else f", on {counted(judge.matched_pairs.pairs, 'pair')} judged both ways"
    says = f"The way furthest above scores is {name}: recovery {_change(best, _RECOVERY)}{pairs}."
    if better:
        return StatedVerdict("verdicts are better", "good", says)
    if len(worse) == len(apart):
        return StatedVerdict("scores are better", "good", f"Every other way recovers less. {says}")
    return StatedVerdict("no difference shown", "open", says)


def _ordered(judge: VerdictsJudge) -> StatedVerdict:
    """Return whether verdicts agree with the oracle's, and of those that do whether the order moves them."""
    order, agreement = judge.order, judge.best_known.agreement
    agreed = agreement_answer(agreement)
    if order is None:
        return agreed
    worth, flips = order.first_shown_advantage, order.flips
    flipped = f"{with_any_interval(flips, 'share')} of the verdicts change with the order"
    effect = f"being shown first is worth {_number(worth)}, and {flipped}"
    if agreed.state != "good":
        return replace(agreed, says=f"{agreed.says.rstrip('.')}; {effect}.")
    figure = f"{effect}; {agreement_words(agreement)}"
    if outcome_of(worth) == "open":
        return StatedVerdict("no position effect shown", "open", f"No side is shown to gain by its place: {figure}.")
    return StatedVerdict("the order matters", "bad", f"Verdicts depend on the order: {figure}.")


def _number(found: EstimateRecord) -> str:
    if found.estimate is None:
        return "undefined"
    return with_any_interval(found, sign=True)


def _with_ends(found: EstimateRecord, metric: str) -> str:
    return with_any_interval(found, unit_of(metric))


def _change(found: EstimateRecord, metric: str) -> str:
    unit = unit_of_difference(unit_of(metric))
    if found.estimate is None:
        return "undefined"
    return with_any_interval(found, unit, sign=True)
