"""What would change the verdict on the judge that leads: other gates, other numbers of labels, prompts sent on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from bonwise.auditing.exhibits.label_steps import label_steps
from bonwise.auditing.exhibits.verdict_elsewhere import RECOVERY, VerdictElsewhere, step_figures
from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.settings import Settings
from bonwise.auditing.verdict_sentences import ORACLE
from bonwise.documents.record import given
from bonwise.documents.route import RouteSettings
from bonwise.documents.what_if import GateStep, GateSteps, ShareStep, ShareSteps, WhatIf
from bonwise.report.numbers import percent, setting, with_interval
from bonwise.stats.estimate import Estimate
from bonwise.stats.routed_recovery import RoutedRecovery

__all__ = ["gate_steps", "share_steps", "what_if"]

_GATES = tuple(step / 20 for step in range(21))


class _Studied(NamedTuple):
    """What tells whether two results are of the same table and candidates."""

    source: str
    left_out: frozenset[str]


@runtime_checkable
class _StudiesShares(Protocol):
    """A result that knows what sending prompts to a stronger judge does to recovery, as a study of routing does."""

    @property
    def settings(self) -> RouteSettings: ...

    def recovery_by_share(self) -> Mapping[str, RoutedRecovery]: ...


def what_if(
    judges: Mapping[str, JudgeAudit],
    settings: Settings,
    *,
    source: str,
    reference: str | None = None,
    also: Iterable[object] = (),
) -> WhatIf | None:
    """Return what would change the verdict; of several judges on the one with the largest recovery.

    Parameters
    ----------
    judges : mapping of str to JudgeAudit
    settings : Settings
    source : str
        Where the scores came from.
    reference : str, optional
        The judge that stood in for oracle labels.
    also : iterable
        Results that the page shows too; a study of routing on the same candidates tells of shares.

    Returns
    -------
    WhatIf or None
        None where the verdict does not rest on a recovery with an interval.
    """
    judge = _leading(judges)
    if judge is None or settings.target != "best-of-n":
        return None
    verdicts = VerdictElsewhere(judge, settings, reference or ORACLE)
    own = _Studied(source, frozenset((*settings.exclude, *settings.control)))
    return WhatIf(
        judge=judge.judge,
        confidence=settings.confidence,
        gate_value=verdicts.gate,
        gate=gate_steps(verdicts),
        **given(share=_routed(verdicts, own, also), labels=label_steps(verdicts)),
    )


def _leading(judges: Mapping[str, JudgeAudit]) -> JudgeAudit | None:
    """Return the judge with the largest recovery; None where none has one with an interval, or it ties every pair."""
    known = [(one.metrics[RECOVERY], one) for one in judges.values()]
    some = [(found.estimate, one) for found, one in known if found.estimate is not None and found.low is not None]
    if not some:
        return None
    judge = max(some, key=lambda pair: pair[0])[1]
    return None if judge.verdict.level == "random" else judge


def gate_steps(verdicts: VerdictElsewhere) -> GateSteps:
    """Return the verdict at each gate from 0 to 1, that of the audit among them."""
    gates = sorted({*_GATES, verdicts.gate})
    figures = step_figures(verdicts.recovery)
    steps = []
    for gate in gates:
        level, sentence = verdicts.answer(gate=gate)
        held = verdicts.judge.gate(RECOVERY, gate)
        steps.append(
            GateStep(
                **figures, level=level, sentence=sentence, gate=gate, state=held.state, gate_sentence=held.sentence
            )
        )
    return GateSteps(steps=steps, current=gates.index(verdicts.gate))


def share_steps(verdicts: VerdictElsewhere, routed: RoutedRecovery) -> ShareSteps:
    """Return the verdict at each share of the prompts that goes to a judge that never errs."""
    steps = [
        _share_step(verdicts, share, found) for share, found in zip(routed.shares, routed.recoveries, strict=True)
    ]
    return ShareSteps(signal=routed.signal, steps=steps, current=0)


def _share_step(verdicts: VerdictElsewhere, share: float, found: Estimate) -> ShareStep:
    level, _ = verdicts.answer(recovery=found)
    sent = f"{percent(share)} of the prompts" if 0 < share < 1 else "all prompts" if share else "no prompt"
    figure = "undefined" if found.estimate is None else with_interval(found, "share")
    if share == 1:
        figure = percent(1.0)
    sentence = (
        f"With {sent} sent to a judge that never errs, recovery {'would be' if share else 'is'} {figure} and the "
        f"verdict {level}; the gate is {setting(verdicts.gate, 'share')}."
    )
    return ShareStep(**step_figures(found), level=level, sentence=sentence, share=share)


def _routed(verdicts: VerdictElsewhere, own: _Studied, also: Iterable[object]) -> ShareSteps | None:
    """Return the shares of the first study of routing that was made on the candidates of the audit."""
    for one in also:
        if not isinstance(one, _StudiesShares):
            continue
        if _Studied(one.settings.source, frozenset(one.settings.exclude)) != own:
            continue
        routed = one.recovery_by_share().get(verdicts.judge.judge)
        if routed is not None and routed.recoveries[0].estimate is not None:
            return share_steps(verdicts, routed)
    return None
