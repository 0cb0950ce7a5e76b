"""Which prompts to send to a stronger judge: what each signal captures, why, and which to take."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.route import RouteDocument, RouteSettings
from bonwise.documents.routed.judge import BudgetRecord, CheckRecord, JudgeRoute, RecommendedRoute, RoutedData
from bonwise.printable import printable
from bonwise.report.amounts import brief
from bonwise.report.blocks import Block, Part, Said, Table
from bonwise.report.described.answer import StatedVerdict, outcome_of, verdict_of_judges
from bonwise.report.described.labels_left_out import labels_left_out
from bonwise.report.described.limits import limits
from bonwise.report.described.route_curves import captured_curves, value_curves
from bonwise.report.described.route_tables import curve_table, factor_tables, grid_table, signal_table
from bonwise.report.described.table_facts import table_facts
from bonwise.report.numbers import NOTHING, count, counted, estimate, interval, number, percent, setting

__all__ = ["describe"]

_LIVE = (
    Said("finding", "To route live, add --save router.json to the command of this study, then select with the rule:"),
    Said("command", "bonwise select pools.jsonl --judge KIND:MODEL --strong KIND:MODEL --route router.json"),
)
_NOT_YET = (
    Said(
        "finding",
        "Do not route by this signal yet. Label more prompts, or score each candidate again or by another judge, so "
        "that more signals can be studied.",
    ),
)

_MOST_REASONS = 3
"""Reasons for which prompts were dropped that are told."""

_NO_INTERVAL = "no interval: "

_QUESTIONS = ("Is a pick with a larger margin right more often?", "Does a larger margin mean less to gain?")


def describe(document: RouteDocument) -> Part:
    """Describe a study of routing: one part per judge, which ends with what to do."""
    settings, several = document.settings, len(document.judges) > 1
    against = "a perfect judge" if settings.reference is None else printable(settings.reference)
    return Part(
        f"Routing of {printable(settings.source)} to {against}",
        [
            Table.facts(_facts(document)),
            *_verdict(document),
            *labels_left_out(settings.labels_left_out),
            *(
                Part(
                    _title(name, judge.data),
                    list(_judge(judge, settings, f"route-{at}", several=several)),
                    anchor=f"route-{at}",
                )
                for at, (name, judge) in enumerate(document.judges.items(), start=1)
            ),
            *(
                Said("caveat", f"not studied: {printable(name)}: {printable(reason)}")
                for name, reason in document.not_studied.items()
            ),
            limits("route"),
        ],
    )


def _verdict(document: RouteDocument) -> Iterator[Part]:
    answers = {name: _answer(judge.recommendation) for name, judge in document.judges.items()}
    helps = any(one.state == "good" for one in answers.values())
    yield from verdict_of_judges(answers, _LIVE if helps else _NOT_YET)


def _facts(document: RouteDocument) -> Iterator[tuple[str, str]]:
    settings = document.settings
    yield "scores", settings.source
    yield "judges", count(len(document.judges))
    yield from table_facts(settings.shape, settings.exclude, settings.columns, None)
    yield "intervals", f"{percent(settings.confidence)}, clustered by prompt"
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _title(name: str, data: RoutedData) -> str:
    weighted = ", weighted by 1 / propensity" if data.method == "weighted" else ""
    return f"{printable(name)}: {count(data.labelled_prompts)} of {count(data.prompts)} prompts labelled{weighted}"


def _judge(judge: JudgeRoute, settings: RouteSettings, key: str, *, several: bool) -> Iterator[Block]:
    yield from _left_out(judge.data)
    yield Part("", list(_figures(judge, settings, key)), anchor=f"{key}-figures")
    # Of one judge the verdict says what its signal captures.
    answer = [Said("lead", _answer(judge.recommendation).says)] if several else []
    todo = [*answer, *_recommendation(judge.recommendation), *_budget(judge.budget)]
    yield Part("", todo, "outcomes", anchor=f"{key}-what-to-do")


def _figures(judge: JudgeRoute, settings: RouteSettings, key: str) -> Iterator[Block]:
    yield from captured_curves(judge, settings.share, f"{key}-captured")
    yield from value_curves(judge, settings.share, f"{key}-value")
    yield signal_table(judge, settings.share)
    for name, signal in judge.signals.items():
        if signal.reason is not None or signal.note is not None:
            yield Said("note", f"{name}: {signal.reason or signal.note}")
    yield from _without_interval(judge, settings.share)
    yield curve_table(judge, settings.share)
    yield from factor_tables(judge)
    if judge.gain_by_margin_and_level is not None:
        yield grid_table(judge.gain_by_margin_and_level)
    yield from _bound(judge, settings.share)
    for question, check in zip(_QUESTIONS, (judge.confidence_calibrated, judge.voi_calibrated), strict=True):
        yield _check(question, check)


def _left_out(data: RoutedData) -> Iterator[Said]:
    if data.method == "labelled_only":
        yield Said("caveat", "Figures describe the labelled prompts; why the others lack labels is unknown.")
    if data.dropped:
        reasons = sorted({printable(one.reason) for one in data.dropped})
        more = ", ..." if len(reasons) > _MOST_REASONS else ""
        told = ", ".join(reasons[:_MOST_REASONS])
        yield Said("caveat", f"dropped {counted(len(data.dropped), 'prompt')}: {told}{more}")


def _without_interval(judge: JudgeRoute, share: float) -> Iterator[Said]:
    """Say why figures at the share asked for have no interval, each reason once."""
    said: dict[str, list[str]] = {}
    for name, signal in judge.studied.items():
        corr = None if signal.corr_gain is None else signal.corr_gain.reason
        for figure, reason in (("captured", signal.at(share).reason), ("corr", corr)):
            if reason is not None and reason.startswith(_NO_INTERVAL):
                said.setdefault(f"{figure} has {reason}", []).append(name)
    for reason, names in said.items():
        yield Said("note", f"{', '.join(names)}: {reason}")


def _bound(judge: JudgeRoute, share: float) -> Iterator[Said]:
    for found in judge.bound:
        bound, achieved = found.bound, found.achieved
        if found.share != share or bound.estimate is None or achieved.estimate is None:
            continue
        reached = _with_ends(estimate(achieved, "share"), interval(achieved, "share"))
        yield Said(
            "note",
            "What these features predict here would lift the value by at most "
            f"{_with_ends(estimate(bound), interval(bound))}. A router that predicts more from them may lift it "
            f"further. expected_gain reaches {reached} of that bound; if expected gains were normally distributed it "
            f"would reach {number(found.gaussian, 'share')}.",
        )


def _check(question: str, found: CheckRecord) -> Said:
    evidence = found.correlation
    known = "" if evidence.estimate is None else f": {_with_ends(estimate(evidence), interval(evidence))}"
    return Said("note", f"{question} {found.answer}: {found.reason}{known}")


def _answer(found: RecommendedRoute) -> StatedVerdict:
    """Return whether the signal to take is shown to be better than a random choice of prompts."""
    captured, outcome = found.captured, outcome_of(found.captured)
    if captured.estimate is None:
        return StatedVerdict("undefined", "open", f"What routing by {found.signal} captures is undefined.")
    figure = _with_ends(estimate(captured, "share"), interval(captured, "share"))
    what = f"{percent(found.share)} of the prompts sent on by {found.signal} capture {figure} of the possible lift"
    if outcome == "above":
        return StatedVerdict(f"route by {found.signal}", "good", f"Routing helps: {what}.")
    if outcome == "below":
        return StatedVerdict("worse than random", "bad", f"Routing by {found.signal} does harm: {what}.")
    return StatedVerdict("no help shown", "open", f"Routing is not shown to be better than random: {what}.")


def _recommendation(found: RecommendedRoute) -> Iterator[Said]:
    sent = "to send on" if _answer(found).state == "good" else "that it would send on"
    # Adding 0 turns a negative zero into a plain 0.
    above = brief(found.threshold + 0.0)
    share = percent(found.share)
    yield Said(
        "finding", f"The {share} of the prompts {sent} are those with the highest {found.signal}, down to {above}."
    )
    for sentence in found.sentences:
        yield Said("finding", sentence)


def _budget(found: BudgetRecord | None) -> Iterator[Said]:
    if found is None:
        return
    gain = found.gain
    yield Said(
        "lead",
        f"Of {setting(found.mean_calls)} calls per prompt, a routed prompt costing {setting(found.strong_cost)}: "
        f"{found.sentence}",
    )
    yield Said(
        "finding",
        f"Expected gain in the mean label {_with_ends(estimate(gain), interval(gain))}; routing "
        f"alone {number(found.route_only, like=gain)}, further draws alone {number(found.redraw_only, like=gain)}.",
    )


def _with_ends(figure: str, ends: str) -> str:
    """Return a figure with its interval, where it has one."""
    return figure if ends == NOTHING else f"{figure} {ends}"
