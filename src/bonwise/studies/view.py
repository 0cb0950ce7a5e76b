"""A study put into blocks, on a page of its own or on the page of an audit, and the answer of each judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import takewhile

from bonwise.auditing.result import AuditDocument
from bonwise.auditing.result_labels import AuditData
from bonwise.auditing.view_judges import MOST_DRAWN
from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import printable
from bonwise.report.answers import StatedVerdict, agreement_answer, agreement_words, outcome_of, verdict_of_judges
from bonwise.report.blocks import Block, Part, Said, Table, drawings_of
from bonwise.report.limits import limits
from bonwise.report.numbers import counted, percent, unit_of_difference, with_any_interval, with_interval
from bonwise.report.table_facts import labels_left_out
from bonwise.studies.calibration.result import CalibrationDocument, CalibrationJudge
from bonwise.studies.description import DescribedStudy, data_blocks, left_out, study_facts, undrawn
from bonwise.studies.label_strategy.result import StrategiesDocument, StrategiesJudge, VerdictsDocument, VerdictsJudge
from bonwise.studies.label_strategy.view import way_name
from bonwise.studies.mix.result import MixDocument, MixJudge
from bonwise.studies.requirements.result import OwnFigures, RequirementsDocument, RequirementsJudge, Target
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import JudgeCounts, StudyCounts, StudySettings

__all__ = ["BesideAudit", "answers_of", "beside_audit", "describe", "described", "next_of", "not_studied"]

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


_UNDRAWN = f"No judge is drawn: up to {MOST_DRAWN} judges are. Every figure is in the JSON document (--json FILE)."


def describe(document: StudyDocument) -> Part:
    """Describe a study of any kind, on a page of its own."""
    found, settings = described(document), document.settings
    judges = [
        replace(
            part,
            blocks=_answer_first(part.blocks, document.judges[name].data),
            anchor=f"{found.anchor}-{at}" if len(found.judges) > 1 else found.anchor,
        )
        for at, (name, part) in enumerate(found.judges.items(), start=1)
    ]
    blocks: list[Block] = [Table.facts(found.facts or _facts(document)), *found.notes]
    if isinstance(settings, StudySettings):
        blocks += labels_left_out(settings.labels_left_out)
    if len(judges) > MOST_DRAWN and any(drawings_of(judges)):
        judges = [undrawn(part) for part in judges]
        blocks.append(Part("", [Said("note", _UNDRAWN)], "detail"))
    if found.instead is not None and len(judges) > MOST_DRAWN:
        blocks.append(replace(found.instead, role="detail"))
    blocks += [*judges, *found.together, *_data(document, told=found.judges), *not_studied(document)]
    reference = settings.reference if isinstance(settings, StudySettings) else None
    blocks += [
        *verdict_of_judges(answers_of(document), next_of(document)),
        limits(document.study_name(), reference=reference),
    ]
    return Part(found.title, blocks)


def described(document: StudyDocument) -> DescribedStudy:
    """Return what the module of a study says of its document."""
    module = import_module(f"bonwise.studies.{document.study_name().replace('-', '_')}.view")
    made: Callable[[StudyDocument], DescribedStudy] = module.described
    return made(document)


def not_studied(document: StudyDocument) -> Iterator[Part]:
    """Yield the judges that were not studied, and why; nothing where there are none."""
    said = [
        Said("caveat", f"{printable(name, longest=60)}: {printable(why, longest=200)}")
        for name, why in document.not_studied.items()
    ]
    if said:
        yield Part("Not studied", said, anchor="not-studied")


def _answer_first(blocks: Sequence[Block], data: StudyCounts) -> list[Block]:
    """Put what was left out of the figures of a judge below the sentences that its blocks begin with."""
    found = takewhile(lambda one: isinstance(one, Said) and one.role in {"lead", "finding"}, blocks)
    many = len(list(found))
    return [*blocks[:many], *left_out(data), *_unused(data), *blocks[many:]]


def _unused(data: StudyCounts) -> Iterator[Said]:
    """Yield how many labels are in no figure because their prompts are labelled in part."""
    if isinstance(data, JudgeCounts) and data.unused_labels is not None:
        yield Said("caveat", data.unused_labels.sentence)


def _facts(document: StudyDocument) -> list[tuple[str, str]]:
    settings = document.settings
    return list(study_facts(settings, len(document.judges))) if isinstance(settings, StudySettings) else []


def _data(document: StudyDocument, told: Collection[str]) -> Iterator[Part]:
    """Yield the counts behind the figures, and what was left out of judges without a part that tells it."""
    counts = {name: judge.data.plain() for name, judge in document.judges.items()}
    losses = {name: judge.data.lost() for name, judge in document.judges.items() if name not in told}
    blocks = list(data_blocks(counts, losses))
    if blocks:
        yield Part("Data", blocks, "detail", anchor="data")


_DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class BesideAudit:
    """The parts of a study on the page of an audit."""

    by_judge: Mapping[str, Sequence[Part]] = field(default_factory=dict)
    """Those for the part of each judge; empty where the study compares judges, or was made on another table."""
    whole: Sequence[Part] = ()
    """Those that are no judge's own."""


def beside_audit(study: StudyDocument, audit: AuditDocument) -> BesideAudit:
    """Describe a study beside an audit.

    Nothing is drawn of an audit of more than `MOST_DRAWN` judges. What the study rests on is told only where it
    differs from the data of the audit.

    Parameters
    ----------
    study : StudyDocument
        Of any study.
    audit : AuditDocument
        Of one judge or of several.
    """
    many = len(audit.judges) > MOST_DRAWN
    left = list(not_studied(study))
    if not _is_by_judge(study, audit):
        return BesideAudit(whole=[*_parts(described(study), many=many), *_data_beside(study, audit), *left])
    if many and len(study.judges) > MOST_DRAWN and (instead := described(study).instead) is not None:
        return BesideAudit(whole=[_in_place_of_all(instead, study), *_data_beside(study, audit), *left])
    by_judge = {}
    for name in study.judges:
        alone = study.of_one_judge(name)
        by_judge[name] = [*_parts(described(alone), many=many), *_data_beside(alone, audit)]
    return BesideAudit(by_judge, left)


def _is_by_judge(study: StudyDocument, audit: AuditDocument) -> bool:
    """Tell whether each judge of the study has a part of its own on the page."""
    same = isinstance(study.settings, StudySettings) and study.settings.source == audit.settings.source
    return audit.several and same and bool(study.judges) and set(study.judges) <= set(audit.judges)


def _parts(found: DescribedStudy, *, many: bool) -> Iterator[Part]:
    several = len(found.judges) > 1
    for at, (name, part) in enumerate(found.judges.items(), start=1):
        title = f"{found.heading}: {printable(name, longest=60)}" if several else found.heading
        anchor = f"{found.anchor}-{at}" if several else found.anchor
        shown = undrawn(part) if many else part
        yield Part(title, [*found.notes, *shown.blocks], anchor=anchor)
    if found.together:
        yield Part(found.heading, [*found.notes, *found.together], anchor=found.anchor)


def _in_place_of_all(part: Part, study: StudyDocument) -> Part:
    told = f"What was found of each judge, with every interval, is printed by bonwise study {study.study_name()}."
    return replace(part, blocks=[*part.blocks, Said("note", told)])


def _data_beside(study: StudyDocument, audit: AuditDocument) -> Iterator[Part]:
    """Yield the counts of a study that the page of the audit does not say already."""
    counts: dict[str, Mapping[str, int]] = {}
    losses: dict[str, Mapping[str, Mapping[str, int]]] = {}
    for name, judge in study.judges.items():
        known = audit.judges.get(name)
        counts[name] = _untold(judge, None if known is None else known.data)
        losses[name] = _lost(judge, None if known is None else known.data)
    counts = {name: some for name, some in counts.items() if some}
    blocks: list[Block] = list(data_blocks(counts, losses))
    if blocks:
        name = study.study_name()
        said = (
            f"What the study of {name}{_whose(study, audit)} rests on, where that differs from the data of the audit."
        )
        yield Part(f"Data of the study of {name}", [Said("note", said), *blocks], anchor=f"{name}-data")


def _whose(study: StudyDocument, audit: AuditDocument) -> str:
    settings = study.settings
    if not isinstance(settings, StudySettings) or settings.source == audit.settings.source:
        return ""
    return f" of {printable(settings.source, longest=120)}"


def _untold(judge: StudyJudge, known: AuditData | None) -> dict[str, int]:
    told = {} if known is None else _told(known)
    return {key: many for key, many in judge.data.plain().items() if many and many not in told.get(key, ())}


def _lost(judge: StudyJudge, known: AuditData | None) -> dict[str, dict[str, int]]:
    lost = judge.data.lost()
    # Prompts that the audit dropped too stand among its own data.
    if known is not None and lost.get(_DROPPED) == Counter(one.reason for one in known.dropped):
        lost.pop(_DROPPED, None)
    return lost


def _told(data: AuditData) -> dict[str, set[int]]:
    """Return, by the key of a study, the counts that the audit's own part tells.

    By key, for a count is not told because a number of something else happens to be the same.
    """
    prompts = {data.prompts, data.labelled_prompts}
    return {
        **dict.fromkeys(("prompts", "studied_prompts", "mixed_prompts"), prompts),
        "rows": {data.rows},
        "unlabelled_prompts": {data.prompts - data.labelled_prompts},
    }
