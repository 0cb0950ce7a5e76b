"""The verdict by the number of labels: what the audit would say with more or fewer, if the estimate stayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from bonwise.auditing.exhibits.verdict_elsewhere import RECOVERY, VerdictElsewhere, step_figures
from bonwise.auditing.gates import Labelled
from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.suspected import FEWEST_POOLS, Suspected, few_pools
from bonwise.documents.audited.verdict import Level
from bonwise.documents.record import given
from bonwise.documents.what_if import FEWEST_STEPS, LabelsNeeded, LabelStep, LabelSteps
from bonwise.report.numbers import counted, percent
from bonwise.stats.clusters import cluster_codes
from bonwise.stats.power.pilot_effect import Shift
from bonwise.stats.power.settled import POWER, Settling, gate_shift
from bonwise.stats.projection import distance, projected
from bonwise.stats.sums import Sums, prompt_sums

__all__ = ["label_counts", "label_steps", "would_be"]

_BELOW, _ABOVE = 6, 15
"""Steps below and above the number there is; three of them double it."""

_FEWEST = 2


def label_counts(now: int) -> list[int]:
    """Return the labelled prompts that the slider steps through: from a quarter of those there are to 32 times.

    Each is rounded to two digits, but for the number there is.

    Examples
    --------
    >>> label_counts(99)[:8], label_counts(99)[-1], len(label_counts(99)), len(label_counts(2))
    ([25, 31, 39, 50, 62, 79, 99, 120], 3200, 22, 21)
    """
    below = {_rounded(now * 2 ** (-step / 3)) for step in range(1, _BELOW + 1)}
    found = {one for one in below if _FEWEST <= one < now} | {now}
    step = 0
    while step < _ABOVE or len(found) < FEWEST_STEPS:
        step += 1
        found.add(max(_rounded(now * 2 ** (step / 3)), now))
    return sorted(found)


def _rounded(value: float) -> int:
    unit = 10 ** max(floor(log10(value)) - 1, 0) if value >= 1 else 1
    return round(value / unit) * unit


def label_steps(verdicts: VerdictElsewhere) -> LabelSteps | None:
    """Return the verdict at each number of labelled prompts; None where the interval cannot be projected.

    The projection is that of `bonwise.stats.projection.projected`. The chance, and the number that it takes, are
    those of `bonwise.stats.power.settled.Settling`.
    """
    labelled, found = verdicts.judge.labelled_for(RECOVERY), verdicts.recovery
    if labelled.prompts < _FEWEST or projected(found, 1.0, verdicts.settings.confidence) is None:
        return None
    settling = _settling(verdicts, labelled)
    counts = label_counts(labelled.prompts)
    steps = [_step(verdicts, labelled, settling, prompts) for prompts in counts]
    return LabelSteps(
        steps=steps,
        current=counts.index(labelled.prompts),
        sampled=not _labelled_whole(verdicts.judge),
        **given(needed=_needed(verdicts, settling)),
    )


def _settling(verdicts: VerdictElsewhere, labelled: Labelled) -> Settling | None:
    z = distance(verdicts.recovery, verdicts.gate)
    if z is None:
        return None
    panel = verdicts.judge.labelling.panel
    units = labelled.prompts
    if panel.clusters is not None:
        units = min(units, cluster_codes(panel.clusters[panel.labelled_cells > 0])[1])
    return Settling(z, labelled.prompts, units, verdicts.settings.confidence)


def _step(verdicts: VerdictElsewhere, labelled: Labelled, settling: Settling | None, prompts: int) -> LabelStep:
    now, confidence = labelled.prompts, verdicts.settings.confidence
    found = projected(verdicts.recovery, prompts / now, confidence)
    if found is None:
        raise AssertionError("what can be projected once can be projected again")
    suspected = tuple(_suspected(verdicts.judge, prompts / now))
    level, _ = verdicts.answer(recovery=found, suspected=suspected)
    chance = None if settling is None or _stays_open(verdicts, suspected) else settling.chance(prompts)
    labels = ceil(round(prompts * labelled.labels_each, 6))
    return LabelStep(
        **step_figures(found),
        level=level,
        sentence=" ".join(_sentences(verdicts, level, prompts, labels, chance, suspected, now=prompts == now)),
        prompts=prompts,
        labels=labels,
        chance=chance,
    )


def _suspected(judge: JudgeAudit, ratio: float) -> Iterator[Suspected]:
    """Yield what would still keep the verdict open on `ratio` times as many prompts."""
    yield from (one for one in judge.suspected if one.kind != "few pools")
    pools = _pools(judge) * ratio
    if pools < FEWEST_POOLS:
        yield few_pools(max(floor(pools), 1))


def _pools(judge: JudgeAudit) -> int:
    """Return the pools that a verdict needs twenty of."""
    if judge.cells is not None:
        counts = judge.cells.figures.counts.get(RECOVERY)
        return 0 if counts is None else counts.pools
    return judge.labelled_for(RECOVERY).prompts


def _stays_open(verdicts: VerdictElsewhere, suspected: Sequence[Suspected]) -> bool:
    estimate = verdicts.recovery.estimate
    return bool(suspected) and estimate is not None and estimate >= verdicts.gate


def _sentences(
    verdicts: VerdictElsewhere,
    level: Level,
    prompts: int,
    labels: int,
    chance: float | None,
    suspected: Sequence[Suspected],
    *,
    now: bool,
) -> Iterator[str]:
    with_labels = f"{counted(prompts, 'labelled prompt')} ({counted(labels, 'label')})"
    if now:
        yield f"The audit has {with_labels}."
    else:
        yield f"With {with_labels} and the same recovery, {would_be(level, verdicts.who)}."
    if _stays_open(verdicts, suspected):
        facts = "; ".join(one.fact for one in suspected)
        yield (
            f"More labels alone do not settle it: {facts}." if prompts >= FEWEST_POOLS else f"It stays open: {facts}."
        )
    elif chance is not None:
        yield (
            f"An audit of that size settles the verdict with a chance of {_chance(chance)}, if this recovery is the "
            "true one."
        )


def would_be(level: Level, who: str) -> str:
    """Return what a verdict would say, as a clause.

    Examples
    --------
    >>> would_be("weak", "this judge"), would_be("inconclusive", "this judge")
    ('this judge would be weak', 'it would not be settled whether this judge is useful')
    """
    if level == "inconclusive":
        return f"it would not be settled whether {who} is useful"
    return f"{who} would be {level}"


def _chance(value: float) -> str:
    """Write a chance in whole percent, never as certain."""
    return "more than 99%" if value > 0.99 else "less than 1%" if value < 0.01 else percent(round(value, 2))


def _needed(verdicts: VerdictElsewhere, settling: Settling | None) -> LabelsNeeded | None:
    """Return the labelled prompts that settle the verdict; None where none do, or where labels are a sample."""
    prompts = None if settling is None else settling.needed()
    pilot = _pilot(verdicts)
    many = tuple(_suspected(verdicts.judge, float("inf")))
    if settling is None or prompts is None or pilot is None or _stays_open(verdicts, many):
        return None
    low, high = settling.needed_between(pilot)
    return LabelsNeeded(power=POWER, prompts=prompts, low=low, high=high)


def _pilot(verdicts: VerdictElsewhere) -> Shift | None:
    """Return the distance to the gate with its standard error, from prompts that are labelled whole."""
    judge = verdicts.judge
    if not _labelled_whole(judge):
        return None
    panel = judge.labelling.panel.keep(judge.labelling.labelled)
    t = Sums(*prompt_sums(panel.scores, panel.labels, panel.sizes))
    return gate_shift(t.J - t.R, t.M - t.R, verdicts.gate, panel.clusters)


def _labelled_whole(judge: JudgeAudit) -> bool:
    """Tell whether the figures are those of prompts that are labelled whole, and nothing is estimated for others."""
    return judge.labelling.method in ("complete", "labelled_only") and judge.drawn is None
