"""What a plan says in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bonwise.planning.pilot import FEW
from bonwise.planning.result import ClustersOfPilot, PlanDesign
from bonwise.report.amounts import brief
from bonwise.report.numbers import counted, number, percent
from bonwise.stats.repeated_looks import first_look

if TYPE_CHECKING:
    from bonwise.planning.front import Plan

__all__ = ["sentences"]

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


def sentences(found: Plan) -> Iterator[str]:
    """Yield the sentences of a plan's document."""
    yield _LABELLED[found.design]
    if found.question != "equivalence":
        yield _sides(found)
    yield _verdict(found)
    if found.pilot is not None:
        yield from _drawn_again(found)
        yield _from_pilot(found)
    if found.clusters is not None:
        yield from _clusters(found.clusters)
    yield from _not_finding(found)
    yield _stopping(found)
    yield from found.notes


def _sides(found: Plan) -> str:
    if found.question == "recovery":
        return "Two-sided, as a printed interval."
    if found.sides == 2:
        return "Two-sided."
    if found.settings.confidence == _GATE:
        return "One-sided, as the gate of an audit."
    return "One-sided; the gate of an audit is so at 95%, whatever was planned for."


def _verdict(found: Plan) -> str:
    settings = found.settings
    if found.verdict == "infeasible":
        return _infeasible(found)
    amounts = (("labels", settings.labels), ("prompts", settings.prompts))
    there = [f"{amount:,} {what}" for what, amount in amounts if amount is not None]
    needed = f"{found.labels:,} labels on {found.prompts:,} prompts"
    if not there:
        return f"Feasible as far as known: it takes {needed}; you did not say how many labels you have."
    if found.verdict == "feasible":
        return f"Feasible: it takes {needed}, and there are {' and '.join(there)}."
    return f"Underpowered: it takes {needed}, and there are {' and '.join(there)}. {_within_reach(found)}"


def _within_reach(found: Plan) -> str:
    if found.mde is None:
        return "With those, no effect of any size is found with the power asked for."
    return f"With those the smallest that can be found is {brief(found.mde)} ({found.mde_of})."


def _infeasible(found: Plan) -> str:
    if found.settings.one_cluster and found.raw is not None:
        return (
            "Infeasible: labels that all resemble each other by this correlation are never worth so many independent "
            "ones; more than 10,000 would be needed. Label prompts that have nothing in common."
        )
    if found.redrawn is not None and found.redrawn.sizes:
        most, asked = found.redrawn.sizes[-1], percent(found.settings.power or 0.0)
        return (
            f"Infeasible: of samples of up to {counted(most, found.redrawn.unit[:-1])}, drawn again from the pilot, "
            f"fewer than {asked} pass the gate."
        )
    return (
        "Infeasible: the pilot's own figure shows no effect of this kind, so no number of labels is planned for it."
    )


def _drawn_again(found: Plan) -> Iterator[str]:
    """Yield the number if the pilot is right, and the one that allows for the pilot."""
    drawn = found.redrawn
    if drawn is None or found.labels is None or found.prompts is None:
        return
    gate = "gain" if found.design == "two_label" else "recovery"
    power = percent(found.settings.power or 0.0)
    enough = f"{counted(found.labels, 'label')} on {counted(found.prompts, 'prompt')} are enough"
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


def _from_pilot(found: Plan) -> str:
    ends, confidence = found.interval, found.settings.confidence
    if ends is None:
        return "The pilot gives no interval on the number of labels."
    low, high = ends
    start = f"The pilot's interval at {percent(confidence)} reaches from"
    if low is None and high is None:
        return "The pilot gives no interval on the number of labels."
    if high is None:
        return (
            f"{start} {low:,} labels to no end: the pilot does not rule out that there is no effect. Plan on the "
            "effect that would matter, not on the one the pilot happened to show."
        )
    if low is None:
        return f"The pilot's interval at {percent(confidence)} reaches up to {high:,} labels."
    return f"{start} {low:,} to {high:,} labels: the pilot is uncertain, so this number is uncertain too."


def _not_finding(found: Plan) -> Iterator[str]:
    if found.question == "equivalence":
        yield f"Finding no difference is not enough: {_NO_PROOF}. Not showing equivalence does not show a difference."
        return
    if found.question == "recovery":
        yield f"An interval that covers 0 does not show that the recovery is 0: {_NO_PROOF}."
        return
    equal = found.equivalence
    more = ""
    if equal is not None:
        more = f" To show that {equal.shows} takes {equal.labels:,} labels (two one-sided tests)."
    yield f"If no effect is found, that does not show that there is none: {_NO_PROOF}.{more}"


def _stopping(found: Plan) -> str:
    early = found.sequential
    if early is None:
        if found.question == "recovery":
            return (
                "Stopping once the interval is narrow enough (bonwise monitor) takes about as many labels, and never "
                f"fewer than {first_look(found.prompts)} prompts."
            )
        return (
            f"No stopping rule is offered for the design {found.design} here: label as many as planned, then "
            "test once."
        )
    low, high = early.mean
    about = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    mean = f"{about} labels on average where the effect is as planned, {early.reserve:,}"
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
