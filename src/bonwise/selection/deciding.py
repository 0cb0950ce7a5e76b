"""From what is known about a pool to the pick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bonwise.calls.bill import NOTHING_PAID, Bill
from bonwise.calls.cost_limit import LIMIT_REACHED
from bonwise.errors import BonwiseError, CallError, JudgeError, LedgerError
from bonwise.judges import comparing, protocol
from bonwise.release import release
from bonwise.selection import selection
from bonwise.selection.draws import verdict_of
from bonwise.selection.entrants import DistinctTexts, Ranked, ranked
from bonwise.selection.protocol import Standing
from bonwise.selection.settings import SelectionSettings
from bonwise.table.pools import Candidate
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict

if TYPE_CHECKING:
    from bonwise.selection.result import ComparisonRecord, RoutedRecord

NOBODY = Ranked((), (), ())


@dataclass(slots=True)
class Evidence:
    """What is known of a pool when nothing more is asked."""

    standing: Standing | None = None
    """None where nothing had to be asked."""
    bill: Bill = NOTHING_PAID
    effective: Sequence[Mapping[str, Any]] = ()
    """Both: as of a `Judgment`."""
    draws: Mapping[int, int] = field(default_factory=dict)
    """Scores asked of each entrant."""
    preferences: tuple[Preference, ...] = ()
    """Between entrants."""
    late: bool = False
    """Whether the time was up."""
    error: BonwiseError | None = None
    """What failed first."""
    routed: RoutedRecord | None = None
    owed: Mapping[int, Unscored] = field(default_factory=dict)
    """Why an answer about an entrant is missing, where that is known."""
    evaluations: int = 0
    """Candidates that judges which ask no model have judged."""
    members: Mapping[str, Mapping[int, Sequence[Verdict]]] = field(default_factory=dict)
    """What each member of the judge that decided said of each entrant, one verdict per draw."""


def decide(
    settings: SelectionSettings,
    distinct: DistinctTexts,
    evidence: Evidence,
    *,
    prompt_id: str | None = None,
    originals: Sequence[Any] | None = None,
    latency: float = 0.0,
) -> selection.Selection:
    """Pick the best candidate of `originals`; `on_failure` says which errors are raised. `latency` in seconds."""
    verdicts, spread = _verdicts(distinct, evidence), _spread(distinct, evidence.standing)
    scores = [verdict.value if isinstance(verdict, Score) else None for verdict in verdicts]
    ranking = _unjudged(distinct) if evidence.standing is None else ranked(scores, distinct.order, spread["second"])
    best, how, failure = _decided(settings, distinct, evidence, ranking)
    if how in {"owed", "first", "random"}:
        ranking = NOBODY
    ids, held = [candidate.id for candidate in distinct.pool], distinct.pool if originals is None else originals
    return selection.Selection(
        prompt_id=prompt_id,
        best=None if best is None else held[best],
        best_id=None if best is None else ids[best],
        index=best,
        text=None if best is None else distinct.pool[best].text,
        ids=tuple(ids),
        scores=tuple(scores),
        ranking=tuple([ids[at] for at in ranking.order]),
        tied=tuple([ids[at] for at in ranking.tied]),
        decided_by=how,
        unscored={ids[at]: verdict.reason for at, verdict in enumerate(verdicts) if isinstance(verdict, Unscored)},
        settings=_settings_used(settings, evidence),
        standard_errors=spread["standard_errors"],
        p_best=spread["p_best"],
        expected_regret=None if evidence.standing is None else evidence.standing.expected_regret,
        draws=tuple([evidence.draws.get(-1 if entrant is None else entrant, 0) for entrant in distinct.entrant])
        if evidence.draws
        else (),
        level=tuple([ids[at] for at in ranking.level]),
        stopped=_stopped(evidence),
        comparisons=_comparisons(distinct, evidence.preferences),
        lost=sum([preference.lost for preference in evidence.preferences]),
        routed=evidence.routed,
        failure=failure,
        latency=latency,
        bill=evidence.bill,
        verdicts=tuple(verdicts),
        evaluations=evidence.evaluations,
        p_best_reason="" if evidence.standing is None else evidence.standing.p_best_reason,
        members={name: _by_member(distinct, heard) for name, heard in evidence.members.items()},
    )


def _by_member(distinct: DistinctTexts, heard: Mapping[int, Sequence[Verdict]]) -> tuple[float | str | None, ...]:
    """Return a member's score of each candidate or why it has none, None where it was not asked."""
    known = {entrant: verdict_of(drawn) for entrant, drawn in heard.items()}
    cells = {at: its.value if isinstance(its, Score) else its.reason for at, its in known.items()}
    return tuple(None if entrant is None else cells.get(entrant) for entrant in distinct.entrant)


def _verdicts(distinct: DistinctTexts, evidence: Evidence) -> list[Verdict | None]:
    """Return what is known of each candidate, None where no judge was needed."""
    if evidence.standing is None:
        # A single answer without words is kept unjudged; one that is none is not.
        alone = len(distinct.pool) == 1
        return [
            _blank(candidate) if its is None and (candidate.missing or not alone) else None
            for candidate, its in zip(distinct.pool, distinct.entrant, strict=True)
        ]
    known: Sequence[Verdict] = evidence.standing.verdicts
    if evidence.owed:
        known = [
            evidence.owed.get(at, verdict) if isinstance(verdict, Unscored) and verdict.owed else verdict
            for at, verdict in enumerate(known)
        ]
    return [
        _blank(candidate) if its is None else known[its]
        for candidate, its in zip(distinct.pool, distinct.entrant, strict=True)
    ]


def _blank(candidate: Candidate) -> Unscored:
    """Return why a candidate was not judged."""
    return Unscored(candidate.missing) if candidate.missing else protocol.EMPTY


def _spread(distinct: DistinctTexts, standing: Standing | None) -> dict[str, tuple[float | None, ...]]:
    """Give each candidate what its entrant has; candidates of one text share the probability of being the best."""
    names = ("standard_errors", "p_best", "second")
    if standing is None or not (standing.standard_errors or standing.p_best or standing.second):
        return dict.fromkeys(names, ())
    placed_values: dict[str, tuple[float | None, ...]] = {}
    for name in names:
        values = getattr(standing, name)
        placed = [None if entrant is None else values[entrant] for entrant in distinct.entrant] if values else ()
        placed_values[name] = tuple(placed)
    if placed_values["p_best"]:
        copies = Counter(distinct.entrant)
        placed_values["p_best"] = tuple(
            None if value is None else value / copies[entrant]
            for value, entrant in zip(placed_values["p_best"], distinct.entrant, strict=True)
        )
    return placed_values


def _unjudged(distinct: DistinctTexts) -> Ranked:
    """Rank the candidates of one text, among which only the seed can decide."""
    alone = len(distinct.pool) == 1 and not distinct.pool[0].missing
    order = tuple(at for at in distinct.order if alone or distinct.entrant[at] is not None)
    level = tuple(sorted(order)) if len(order) > 1 else ()
    return Ranked(order, level, level)


def _decided(
    settings: SelectionSettings, distinct: DistinctTexts, evidence: Evidence, ranking: Ranked
) -> tuple[int | None, str, str]:
    """Return the pick, what decided, and what went wrong."""
    best = ranking.order[0] if ranking.order else None
    error = evidence.error
    if evidence.late:
        if best is not None:
            return best, "deadline", f"the time of {settings.deadline:g} s was up before every answer was there"
        hint = "allow more time, or set on_failure" if settings.on_failure == "raise" else ""
        late = CallError(f"no answer within {settings.deadline:g} s", hint=hint)
        return _failed(settings, distinct, late)
    if error is not None:
        # What a broken ledger owes no later run could pay for once.
        if settings.on_failure == "raise" or (settings.on_failure == "owe" and isinstance(error, LedgerError)):
            raise error
        return (
            _failed(settings, distinct, error)
            if best is None or settings.on_failure == "owe"
            else (best, "limit" if LIMIT_REACHED.search(error.message) else "partial", str(error))
        )
    if best is None:
        lost = comparing.words_of_loss(evidence.preferences)
        # What was lost is kept as it is: no later run asks again, so that nothing is owed.
        if settings.on_failure not in {"first", "random"}:
            return None, "nothing scored", lost
        return _failed(settings, distinct, JudgeError(": ".join(filter(None, ["nothing could be scored", lost]))))
    return best, _how(evidence, ranking), ""


def _failed(settings: SelectionSettings, distinct: DistinctTexts, error: BonwiseError) -> tuple[int | None, str, str]:
    """Do what is to be done where nothing can be picked by merit."""
    if settings.on_failure == "raise":
        raise error
    if settings.on_failure == "owe":
        return None, "owed", str(error)
    with_words = [at for at in distinct.order if distinct.entrant[at] is not None]
    best = 0 if settings.on_failure == "first" else (with_words or distinct.order)[0]
    return best, settings.on_failure, str(error)


def _how(evidence: Evidence, ranking: Ranked) -> str:
    if evidence.standing is None:
        return "same text" if ranking.level else "only candidate"
    if evidence.standing.lost_may_decide:
        return "partial"
    if not ranking.tied:
        return "score"
    return "tie-break" if ranking.level else "comparison"


def _stopped(evidence: Evidence) -> str:
    if evidence.late:
        return "the time was up"
    if evidence.error is not None:
        return str(evidence.error)
    return "no question was needed" if evidence.standing is None else evidence.standing.stopped


def _comparisons(distinct: DistinctTexts, preferences: Sequence[Preference]) -> tuple[ComparisonRecord, ...]:
    if not preferences:
        return ()
    from bonwise.selection.result import ComparisonRecord  # noqa: PLC0415 - of judges that compare

    return tuple(
        ComparisonRecord(
            a=distinct.ids(preference.a)[0],
            b=distinct.ids(preference.b)[0],
            value=preference.value,
            order_effect=preference.order_effect,
        )
        for preference in preferences
    )


def _settings_used(settings: SelectionSettings, evidence: Evidence) -> dict[str, Any]:
    used: dict[str, Any] = {
        "judge": settings.judge.name,
        "judge_version": settings.judge.version,
        "strategy": settings.strategy.name,
        "seed": settings.seed,
        "parameters": [dict(parameters) for parameters in evidence.effective],
        "on_failure": settings.on_failure,
        "version": release(),
    }
    if settings.deadline is not None:
        used["deadline"] = settings.deadline
    if settings.router is not None:
        used["strong"] = settings.router.strong.name
        name = getattr(settings.router, "name", None)  # a router may be anybody's
        if isinstance(name, str) and name:
            used["router"] = name
    return used
