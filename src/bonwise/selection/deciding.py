"""From what was found about a pool to the pick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Preference, Score, Unscored, Verdict
from bonwise.errors import BonwiseError, CallError, LedgerError
from bonwise.judges.words import EMPTY
from bonwise.release import release
from bonwise.selection.field import Field
from bonwise.selection.plan import Plan
from bonwise.selection.play import Play
from bonwise.selection.protocol import Standing
from bonwise.selection.ranking import Ranked, ranked
from bonwise.selection.selection import Comparison, Routed, Selection

__all__ = ["Found", "decide"]

NOBODY = Ranked((), (), ())


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a pool when nothing more is asked.

    Parameters
    ----------
    standing : Standing or None
        None where nothing had to be asked.
    bill, effective
        As of a `Judgment`.
    draws : mapping of int to int
        Scores asked of each entrant.
    preferences : tuple of Preference
        Between entrants.
    late : bool
        Whether the time was up.
    error : BonwiseError or None
        What failed first.
    routed : Routed or None
    owed : mapping of int to Unscored
        Why an answer about an entrant is missing, where that is known.
    """

    standing: Standing | None = None
    bill: Bill = field(default_factory=Bill)
    effective: Sequence[Mapping[str, Any]] = ()
    draws: Mapping[int, int] = field(default_factory=dict)
    preferences: tuple[Preference, ...] = ()
    late: bool = False
    error: BonwiseError | None = None
    routed: Routed | None = None
    owed: Mapping[int, Unscored] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        play: Play,
        standing: Standing,
        routed: Routed | None = None,
        strong: Play | None = None,
        some: Sequence[int] = (),
    ) -> Self:
        """Put together what a play found, and the one of a stronger judge among some of the entrants."""
        plays = [play] if strong is None else [play, strong]
        theirs = [] if strong is None else strong.preferences
        among = [replace(one, a=some[one.a], b=some[one.b]) for one in theirs]
        return cls(
            standing,
            sum((one.bill for one in plays), Bill()),
            [one for its in plays for one in its.effective],
            play.draws,
            (*play.preferences, *among),
            late=any(one.late for one in plays),
            error=next((one.error for one in plays if one.error is not None), None),
            routed=routed,
            owed=play.owed,
        )


def decide(
    plan: Plan,
    field: Field,
    found: Found,
    *,
    prompt_id: str | None = None,
    originals: Sequence[Any] | None = None,
    latency: float = 0.0,
) -> Selection:
    """Pick the best candidate.

    Parameters
    ----------
    plan : Plan
    field : Field
    found : Found
    prompt_id : str, optional
    originals : sequence, optional
        The candidates as the caller holds them.
    latency : float
        Seconds.

    Raises
    ------
    bonwise.errors.CallError
        An answer is missing, and `on_failure` is ``raise``.
    bonwise.errors.JudgeError
        The judge or the strategy failed, and `on_failure` is ``raise``.
    bonwise.errors.LedgerError
        An answer cannot be kept, and `on_failure` is ``raise`` or ``owe``.
    """
    verdicts, spread = _verdicts(field, found), _spread(field, found.standing)
    scores = [one.value if isinstance(one, Score) else None for one in verdicts]
    ranking = _unjudged(field) if found.standing is None else ranked(scores, field.order, spread["second"])
    best, how, failure = _decided(plan, field, found, ranking)
    if how in {"owed", "first", "random"}:
        ranking = NOBODY
    ids, held = [one.id for one in field.pool], field.pool if originals is None else originals
    return Selection(
        prompt_id=prompt_id,
        best=None if best is None else held[best],
        best_id=None if best is None else ids[best],
        index=best,
        text=None if best is None else field.pool[best].text,
        ids=tuple(ids),
        scores=tuple(scores),
        ranking=tuple(ids[one] for one in ranking.order),
        tied=tuple(ids[one] for one in ranking.tied),
        decided_by=how,
        unscored={ids[at]: one.reason for at, one in enumerate(verdicts) if isinstance(one, Unscored)},
        settings=_settings(plan, found),
        standard_errors=spread["standard_errors"],
        p_best=spread["p_best"],
        expected_regret=None if found.standing is None else found.standing.expected_regret,
        draws=tuple(found.draws.get(-1 if one is None else one, 0) for one in field.entrant) if found.draws else (),
        level=tuple(ids[one] for one in ranking.level),
        stopped=_stopped(found),
        comparisons=_comparisons(field, found.preferences),
        routed=found.routed,
        failure=failure,
        latency=latency,
        bill=found.bill,
    )


def _verdicts(field: Field, found: Found) -> list[Verdict | None]:
    """Return what is known of each candidate, None where no judge was needed."""
    if found.standing is None:
        return [EMPTY if one is None and len(field.pool) > 1 else None for one in field.entrant]
    known = [
        found.owed.get(at, one) if isinstance(one, Unscored) and one.owed else one
        for at, one in enumerate(found.standing.verdicts)
    ]
    return [EMPTY if one is None else known[one] for one in field.entrant]


def _spread(field: Field, standing: Standing | None) -> dict[str, tuple[float | None, ...]]:
    """Give each candidate what its entrant has; candidates of one text share the probability of being the best."""
    names = ("standard_errors", "p_best", "second")
    if standing is None:
        return dict.fromkeys(names, ())
    found: dict[str, tuple[float | None, ...]] = {}
    twins = Counter(field.entrant)
    for name in names:
        values = getattr(standing, name)
        placed = (None if one is None else values[one] for one in field.entrant) if values else ()
        found[name] = tuple(placed)
    found["p_best"] = tuple(
        None if value is None else value / twins[one]
        for value, one in zip(found["p_best"], field.entrant, strict=False)
    )
    return found


def _unjudged(field: Field) -> Ranked:
    """Rank the candidates of one text, among which only the seed can decide."""
    alone = len(field.pool) == 1
    order = tuple(at for at in field.order if alone or field.entrant[at] is not None)
    level = tuple(sorted(order)) if len(order) > 1 else ()
    return Ranked(order, level, level)


def _decided(plan: Plan, field: Field, found: Found, ranking: Ranked) -> tuple[int | None, str, str]:
    """Return the pick, what decided, and what went wrong."""
    best = ranking.order[0] if ranking.order else None
    error = found.error
    if found.late:
        if best is not None:
            return best, "deadline", f"the time of {plan.deadline:g} s was up before every answer was there"
        late = CallError(f"no answer within {plan.deadline:g} s", hint="allow more time, or set on_failure")
        return _failed(plan, field, late)
    if error is not None:
        # What a broken ledger owes no later run could pay for once.
        if plan.on_failure == "raise" or (plan.on_failure == "owe" and isinstance(error, LedgerError)):
            raise error
        return (
            _failed(plan, field, error)
            if best is None or plan.on_failure == "owe"
            else (best, "partial", error.message)
        )
    if best is None and plan.on_failure in {"first", "random"}:
        return _failed(plan, field, CallError("nothing could be scored"))
    return best, _how(found, ranking), ""


def _failed(plan: Plan, field: Field, error: BonwiseError) -> tuple[int | None, str, str]:
    """Do what is to be done where nothing can be picked by merit."""
    if plan.on_failure == "raise":
        raise error
    if plan.on_failure == "owe":
        return None, "owed", error.message
    best = 0 if plan.on_failure == "first" else field.order[0]
    return best, plan.on_failure, error.message


def _how(found: Found, ranking: Ranked) -> str:
    if not ranking.order:
        return "nothing scored"
    if found.standing is None:
        return "same text" if ranking.level else "only candidate"
    if not ranking.tied:
        return "score"
    return "tie-break" if ranking.level else "comparison"


def _stopped(found: Found) -> str:
    if found.late:
        return "the time was up"
    if found.error is not None:
        return found.error.message
    return "no question was needed" if found.standing is None else found.standing.stopped


def _comparisons(field: Field, preferences: Sequence[Preference]) -> tuple[Comparison, ...]:
    return tuple(
        Comparison(field.ids(one.a)[0], field.ids(one.b)[0], one.value, one.order_effect) for one in preferences
    )


def _settings(plan: Plan, found: Found) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "judge": plan.judge.name,
        "judge_version": plan.judge.version,
        "strategy": plan.strategy.name,
        "seed": plan.seed,
        "parameters": [dict(one) for one in found.effective],
        "on_failure": plan.on_failure,
        "version": release(),
    }
    if plan.deadline is not None:
        settings["deadline"] = plan.deadline
    if plan.router is not None:
        settings["strong"] = plan.router.strong.name
    return settings
