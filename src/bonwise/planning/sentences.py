"""What a plan says in words, and what to type next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from bonwise.planning.pilot import FEW
from bonwise.planning.result import AllocationRecord, ClustersOfPilot, Plan, PlanDesign
from bonwise.printable import shell_word
from bonwise.report.numbers import brief, count_range, counted, number, percent
from bonwise.stats.repeated_looks import first_look
from bonwise.table.reading_options import ReadingOptions

_LABELLED: Mapping[PlanDesign, str] = {
    "two_label": (
        "Label the judge's pick and one candidate that it ranks below, drawn with equal chances; nothing where the "
        "judge ties all candidates."
    ),
    "complete": "Label all candidates of every prompt.",
    "discordant": "Let both judges score every prompt; label both picks where they differ, and nothing elsewhere.",
    "discordant_preference": "Let both judges score every prompt; where their picks differ, ask which is better.",
    "votes": "Ask which of the two sides is better.",
}

_GATE = 0.95

_NO_PROOF = "a result that is not detected is not a proof of equality"


def sentences(plan: Plan, notes: Sequence[str]) -> Iterator[str]:
    """Yield the sentences of a plan, the assumptions at the end."""
    yield _LABELLED[plan.design]
    if plan.question != "equivalence":
        yield _sides(plan)
    yield _verdict(plan)
    if plan.pilot is not None:
        yield from _drawn_again(plan)
        yield _from_pilot(plan)
    if plan.clusters is not None:
        yield from _clusters(plan.clusters)
    yield from _not_finding(plan)
    yield _stopping(plan)
    yield from notes


def of_allocation(record: AllocationRecord) -> Iterator[str]:
    """Yield what an allocation of votes over types is worth, and what would mend it."""
    worst = f"in the worst case these {record.votes:,} votes show as much as {brief(record.bottleneck)} in proportion"
    if more := sum(record.more.values()):
        yield f"Underpowered for {record.worst}: {worst}. {more:,} further votes would bring every type to its share."
    else:
        yield f"Feasible: {worst}, so no type has too few."


def _sides(plan: Plan) -> str:
    if plan.question == "recovery":
        return "Two-sided, as a printed interval."
    if plan.sides == 2:
        return "Two-sided."
    if plan.settings.confidence == _GATE:
        return "One-sided, as the gate of an audit."
    return "One-sided; the gate of an audit is so at 95%, whatever was planned for."


def _verdict(plan: Plan) -> str:
    settings = plan.settings
    if plan.verdict == "infeasible":
        return _infeasible(plan)
    amounts = (("labels", settings.labels), ("prompts", settings.prompts))
    there = [f"{amount:,} {what}" for what, amount in amounts if amount is not None]
    needed = f"{plan.labels:,} labels on {plan.prompts:,} prompts"
    if not there:
        return f"Feasible as far as known: it takes {needed}; you did not say how many labels you have."
    if plan.verdict == "feasible":
        return f"Feasible: it takes {needed}, and there are {' and '.join(there)}."
    return f"Underpowered: it takes {needed}, and there are {' and '.join(there)}. {_within_reach(plan)}"


def _within_reach(plan: Plan) -> str:
    if plan.mde is None:
        return "With those, no effect of any size is found with the power asked for."
    return f"With those the smallest that can be found is {brief(plan.mde)} ({plan.mde_of})."


def _infeasible(plan: Plan) -> str:
    if plan.settings.one_cluster and plan.raw is not None:
        return (
            "Infeasible: labels that all resemble each other by this correlation are never worth so many independent "
            "ones; more than 10,000 would be needed. Label prompts that have nothing in common."
        )
    if plan.redrawn is not None and plan.redrawn.sizes:
        most, asked = plan.redrawn.sizes[-1], percent(plan.settings.power or 0.0)
        return (
            f"Infeasible: of samples of up to {counted(most, plan.redrawn.unit[:-1])}, drawn again from the pilot, "
            f"fewer than {asked} pass the gate."
        )
    whose = "the pilot's own figure shows" if plan.pilot is not None else "the margins of the types show"
    return f"Infeasible: {whose} no effect of this kind, so no number of labels is planned for it."


def _drawn_again(plan: Plan) -> Iterator[str]:
    """Yield the number if the pilot is right, and the one that allows for the pilot."""
    drawn = plan.redrawn
    if drawn is None or plan.labels is None or plan.prompts is None:
        return
    gate = "gain" if plan.design == "two_label" else "recovery"
    power = percent(plan.settings.power or 0.0)
    enough = f"{counted(plan.labels, 'label')} on {counted(plan.prompts, 'prompt')} are enough"
    if drawn.draws:
        yield (
            f"If the pilot is right, {enough}: {power} of samples of that size, drawn again from the pilot's "
            f"{drawn.unit}, pass the gate {gate} > 0. {drawn.draws:,} samples were drawn, with seed {drawn.seed}."
        )
    else:
        yield f"If the pilot is right, {enough}, by the normal formula: so large a study was not drawn."
    if drawn.allowing is None:
        yield "No number of labels allows for the pilot: its effect may be 0."
        return
    more = f"{counted(drawn.allowing.labels, 'label')} on {counted(drawn.allowing.prompts, 'prompt')}"
    yield (
        f"To allow for the pilot, take {more}. In simulation this number is large enough for about 3 of 4 pilots, "
        "and the one above for about half of them."
    )


def _clusters(found: ClustersOfPilot) -> Iterator[str]:
    """Yield what the clusters of the pilot's prompts cost."""
    where = f"The pilot's {counted(found.prompts, 'prompt')} are in {counted(found.clusters, 'cluster')}"
    effect = f"a study of such clusters takes {number(found.design_effect)} times as many prompts"
    if found.clusters < FEW:
        yield (
            f"{where}, fewer than {FEW}: their correlation, {number(found.icc)}, is taken at the end of its "
            f"one-sided 80% interval, {number(found.icc_used)}, and {effect}."
        )
    else:
        yield f"{where} whose prompts correlate by {number(found.icc)}: {effect}."


def _from_pilot(plan: Plan) -> str:
    ends, confidence = plan.interval, plan.settings.confidence
    if ends is None:
        return "The pilot gives no interval on the number of labels."
    low, high = ends
    start = f"The pilot's interval at {percent(confidence)} reaches"
    if low is None and high is None:
        return "The pilot gives no interval on the number of labels."
    if high is None:
        return (
            f"{start} from {low:,} labels to no end: the pilot does not rule out that there is no effect. Plan on "
            "the effect that would matter, not on the one the pilot happened to show."
        )
    if low is None:
        return f"{start} up to {high:,} labels."
    if low == high:
        return f"Both ends of the pilot's interval at {percent(confidence)} are {counted(low, 'label')}."
    return f"{start} from {low:,} to {high:,} labels: the pilot is uncertain, so this number is uncertain too."


def _not_finding(plan: Plan) -> Iterator[str]:
    if plan.question == "equivalence":
        yield f"Finding no difference is not enough: {_NO_PROOF}. Not showing equivalence does not show a difference."
        return
    if plan.question == "recovery":
        yield f"An interval that covers 0 does not show that the recovery is 0: {_NO_PROOF}."
        return
    equal = plan.equivalence
    more = ""
    if equal is not None:
        more = f" To show that {equal.shows} takes {equal.labels:,} labels (two one-sided tests)."
    yield f"If no effect is found, that does not show that there is none: {_NO_PROOF}.{more}"


def _stopping(plan: Plan) -> str:
    early = plan.sequential
    if early is None:
        if plan.question == "recovery":
            return (
                "Stopping once the interval is narrow enough (bonwise monitor) takes about as many labels, and never "
                f"fewer than {first_look(plan.prompts)} prompts."
            )
        return (
            f"No stopping rule is offered for the design {plan.design} here: label as many as planned, then "
            "test once."
        )
    mean = f"{count_range(early.mean)} labels on average where the effect is as planned, {early.reserve:,}"
    saved = "" if early.saves else " On average this saves nothing here."
    first = early.first_look_prompts
    if first is not None:
        return (
            f"Repeated looks need a test that allows them; that of bonwise monitor starts at {first:,} "
            f"completely labelled prompts, below which nothing is gained. It takes {mean} or more in the worst tenth "
            f"of studies.{saved}"
        )
    return (
        f"Repeated looks need a test that allows them, that of bonwise monitor: {mean} in reserve for the "
        f"worst tenth of studies. The rule of thumb for its prior is a = {number(early.prior)}.{saved}"
    )


_USUAL = 0.95
"""Confidence of a monitor where none is given."""

_GATES = {"recovery>0": " --fail-under recovery=0", "recovery": ""}


def commands(plan: Plan) -> Iterator[str]:
    """Yield the commands that draw, read and watch a plan's labels, files to be put in; none where none is enough."""
    if plan.labels is None:
        return
    design, raters, reading = plan.design, plan.settings.raters or 1, _reading(plan)
    if design == "two_label":
        # A draw of pairs counts candidates, each once, however many rate it.
        what = f"--design pair --labels {math.ceil(plan.labels / raters):d}"
        yield from _drawn(what, " --fail-under gain=0", reading)
    elif design == "complete":
        gate = _GATES.get(plan.question)
        if gate is None:
            gate = f" --fail-under within_r={plan.effect['r0']:g}"
        yield from _drawn(f"--design uniform --labels {plan.prompts:d}", gate, reading)
    yield from _watched(plan, reading)


def _reading(plan: Plan) -> str:
    """Return the flags with which the pilot was read; the table of the study is taken for one of the same kind."""
    if plan.settings.verdict_col or plan.settings.pair_col:
        return ""
    columns, exclude = plan.settings.columns or {}, tuple(plan.settings.exclude or ())
    kept = {role: name for role, name in columns.items() if role != "oracle_label"}  # the sheet has its own
    own = ("oracle_label", columns.get("oracle_label"))
    lower = tuple(name for name in plan.settings.lower_is_better or () if name not in own)
    missing = tuple(plan.settings.missing or ())
    options = ReadingOptions(columns=kept, exclude=exclude, lower_is_better=lower, missing=missing)
    return "".join(f" {flag}" for flag in options.as_flags())


def _drawn(what: str, gate: str, reading: str) -> Iterator[str]:
    yield f"bonwise labels draw scores.csv {what} --out todo.csv --sheet labels.csv{reading}"
    yield f"bonwise audit scores.csv --labels labels.csv --design todo.csv{gate}{reading}"


def _watched(plan: Plan, reading: str) -> Iterator[str]:
    settings, early, effect = plan.settings, plan.sequential, plan.effect
    labelled = f"labels.csv --scores scores.csv{' --design todo.csv' if plan.design == 'complete' else ''}"
    start = "bonwise monitor"
    at = "" if settings.confidence == _USUAL else f" --confidence {settings.confidence:g}"
    if plan.question == "recovery":
        width = effect["half_width"]
        yield f"{start} {labelled} --half-width {width:g} --planned {plan.prompts:d}{at}{reading}"
    elif early is None or not early.saves:
        return
    elif "margin" in effect:
        verdict = shell_word(settings.verdict_col or "winner")
        pair = f" --pair-col {shell_word(','.join(settings.pair_col))}" if settings.pair_col else ""
        ties = settings.ties or ("drop" if settings.tie_rate else None)
        tied = f" --ties {ties}" if ties else ""
        margin = abs(effect["margin"])
        yield (
            f"{start} votes.csv --question preference --verdict-col {verdict}{pair}{tied} --margin {margin:.3g}{at}"
        )
    else:
        yield f"{start} {labelled} --significance --planned {plan.prompts:d}{at}{reading}"
