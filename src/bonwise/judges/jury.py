"""Several judges as one without labels: by their mean or median rank, by a vote for the best, or by their scores."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling, protocol, registry
from bonwise.judges.protocol import ALONE, EMPTY, Judge, Judgment, has_words
from bonwise.judges.several import SeveralJudges, Verdicts, heard, paid_by, words_of
from bonwise.printable import quoted
from bonwise.table.checks import check_whole
from bonwise.table.verdicts import Score, Unscored, Verdict, compared, kept

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

JuryRule = Literal["mean", "median", "majority", "borda"]
"""How members are joined."""

VERSION = 1

_APART = "+"
"""Between the members on a command line; within a member it is written %2B."""


@takes_numbers
@dataclass(frozen=True)
class Jury(SeveralJudges):
    """Several judges as one, without labels: each judges the whole pool by its own questions.

    Judges use scales of their own, so that members are joined by ranks within the pool: a member gives a candidate
    the share of the others that it scores lower, a tie counting one half (Borda's count). Of ``same_scale`` members
    the scores themselves are joined. A candidate that fewer members than the quorum have scored is unscored, and
    while an answer is owed, so is every verdict of the pool. Candidates that the rule leaves level are level.

    `Score.low` and `Score.high` are the lowest and the highest of what members give a candidate, but with
    ``majority``: their distance is how much members disagree, by which ``interval_width`` routes. `Score.raw` says
    what each member said, `Score.filled` names those without a score, and ``bonwise judge`` writes each member as a
    judge of its own. A stack weighs judges by labels: `bonwise.Stack`.

    Parameters
    ----------
    judges : sequence of Judge, str or callable, or str
        At least two. In one text the members stand with ``+`` between them.
    rule : {"mean", "median", "majority", "borda"}
        Of what members give a candidate its mean or median; or, by ``majority``, the share of members that put it
        first, who divide their vote among candidates that they tie. ``borda`` is the mean of ranks, also of members
        on the same scale.
    quorum : int, optional
        Members that must have scored a candidate; more than half of them unless given.
    spares : int
        How many of the judges, the last ones, are asked only where a member scores none of a pool's candidates, one
        for each such member. Within another judge no spare is asked.
    same_scale : bool
        Whether all members score on the same scale, so that ``mean`` and ``median`` are those of scores.
    model : str, optional
        ``provider/model`` for a judge that wants a model and names none.
    base_url, seed : str and int, optional
        Handed to every factory that has a parameter of this name.

    Raises
    ------
    bonwise.errors.UsageError
        Fewer than two judges, two of one name, no such rule, or a quorum that is never reached.

    Examples
    --------
    >>> judge = Jury([lambda prompt, text: len(text), "local:format", "local:lexical"], rule="median")
    >>> judge.rule, judge.needed, judge.calls(candidates=4)
    ('median', 2, 0)
    """

    judges: Any = field(hash=False)
    _: KW_ONLY
    rule: JuryRule = "mean"
    quorum: int | None = None
    spares: int = 0
    same_scale: bool = False
    model: str | None = None
    # It may hold a login.
    base_url: str | None = field(default=None, repr=False)
    seed: int = 0

    kind: ClassVar[str] = "jury"

    def __post_init__(self) -> None:
        texts = self.judges.split(_APART) if isinstance(self.judges, str) else self.judges
        settings: dict[str, Any] = {"model": self.model, "base_url": self.base_url, "seed": self.seed}
        made = tuple(_made(judge, settings) for judge in texts)
        object.__setattr__(self, "judges", made)
        names = [judge.name for judge in made]
        twice = [name for at, name in enumerate(names) if name in names[:at]]
        if twice:
            raise UsageError(f"{quoted(twice[0])} is in the jury twice", hint="name each judge once")
        if self.rule not in get_args(JuryRule):
            raise UsageError(f"no rule {self.rule!r}", hint=f"choose of {', '.join(get_args(JuryRule))}")
        check_whole("spares", self.spares, least=0)
        if len(self.members) < 2:
            given = f"{len(made)} judges, {self.spares} of them spare" if self.spares else f"{len(made)} judges"
            raise UsageError(f"a jury of {given}", hint=f"name two members or more, with {_APART} between them")
        if self.quorum is not None:
            check_whole("quorum", self.quorum, least=1, most=len(self.members))

    @property
    def asking(self) -> bool:
        """Always: what runs judges then keeps the members' judgments apart, whether or not these ask a model."""
        return True

    @property
    def parts(self) -> tuple[Judge, ...]:
        """The members; the spares are not among them."""
        return self.members

    @property
    def members(self) -> tuple[Judge, ...]:
        """The judges that are always heard."""
        judges: tuple[Judge, ...] = self.judges
        return judges[: len(judges) - self.spares]

    @property
    def variables(self) -> tuple[str, ...]:
        """What members and spares need of a pool beyond prompt and candidates."""
        return protocol.variables_of(self.judges)

    def given(self, values: protocol.Values) -> Self:
        """Return this jury of one pool."""
        return protocol.changed(self, judges=tuple(protocol.bound(judge, values) for judge in self.judges))

    @property
    def needed(self) -> int:
        """How many members must have scored a candidate."""
        return len(self.members) // 2 + 1 if self.quorum is None else self.quorum

    @protocol.cached_property
    def name(self) -> str:
        """What makes this judge on a command line."""
        stated = asking.options_text(self, never=("judges", "model", "base_url", "seed"))
        members = _APART.join(judge.name.replace(_APART, "%2B") for judge in self.judges)
        return str(registry.Spec(self.kind, stated, rest=members))

    @protocol.cached_property
    def version(self) -> str:
        """The rule's, and the versions of all judges."""
        return f"jury{VERSION} " + " ".join(judge.version for judge in self.judges)

    async def judged_by(
        self, engine: Engine, prompt: str, candidates: Sequence[str], draw: int, temperature: float | None
    ) -> Judgment:
        """Let the members judge, and a spare for each that scores nothing; costs are summed."""
        judges = list(self.members)
        judgments = await heard(engine, judges, prompt, candidates, draw, temperature)
        failed = [at for at, judgment in enumerate(judgments) if _scores_nothing(judgment)]
        spares = self.judges[len(self.members) :][: len(failed)]
        in_place = await heard(engine, spares, prompt, candidates, draw, temperature)
        lost = [judgments[at] for at in failed[: len(spares)]]
        for at, spare, judgment in zip(failed, spares, in_place, strict=False):
            judges[at], judgments[at] = spare, judgment
        names = [judge.name for judge in judges]
        verdicts = self._joined(names, candidates, [judgment.verdicts for judgment in judgments])
        paid = paid_by([*judgments, *lost], verdicts)
        return replace(paid, members=tuple(zip(names, judgments, strict=True)))

    def joined(self, candidates: Sequence[str], heard: Sequence[Verdicts]) -> Verdicts:
        """Return the verdict of the jury on each candidate, from those of the members."""
        return self._joined([judge.name for judge in self.members], candidates, heard[: len(self.members)])

    def _joined(self, names: Sequence[str], candidates: Sequence[str], heard: Sequence[Verdicts]) -> Verdicts:
        # What has no words is no rival, whatever a judge that asks no model makes of it.
        words = [has_words(text) for text in candidates]
        given = [
            self._given([verdict if own else EMPTY for verdict, own in zip(verdicts, words, strict=True)])
            for verdicts in heard
        ]
        # A score that is still to come may turn the ranks of the others.
        owed = asking.owed_among(verdict for verdicts in heard for verdict in verdicts)
        voters = sum(any(value is not None for value in its) for its in given)
        return tuple(
            (owed or self._verdict(names, [verdicts[at] for verdicts in heard], [its[at] for its in given], voters))
            if own
            else EMPTY
            for at, own in enumerate(words)
        )

    def _given(self, verdicts: Sequence[Verdict]) -> list[float | None]:
        """Return what a member gives each candidate, None where it has no score or, by ranks, no other one."""
        scores = [verdict.value if isinstance(verdict, Score) else None for verdict in verdicts]
        if self.same_scale and self.rule in ("mean", "median"):
            return scores
        level = compared(scores)
        known = [score for score in level if score is not None]
        if self.rule == "majority":
            best = max(known, default=None)
            return [None if score is None else (score == best) / known.count(score) for score in level]
        return [None if score is None else _share_below(score, known) for score in level]

    def _verdict(
        self, names: Sequence[str], verdicts: Sequence[Verdict], given: Sequence[float | None], voters: int
    ) -> Verdict:
        values = [value for value in given if value is not None]
        raw = kept("\n".join(map(words_of, names, verdicts)))
        if len(values) < self.needed:
            unscored = [verdict for verdict in verdicts if isinstance(verdict, Unscored)]
            why = f": {asking.counted_reasons(unscored)}" if unscored else f": {ALONE.reason}"
            reason = f"{len(values)} of {len(names)} members scored it, and the quorum is {self.needed}{why}"
            return Unscored(reason, raw, alone=all(verdict.alone for verdict in unscored))
        filled = tuple(name for name, value in zip(names, given, strict=True) if value is None)
        if self.rule == "majority":
            return Score(math.fsum(values) / voters, raw=raw, filled=filled)
        join: Callable[[Sequence[float]], float] = statistics.median if self.rule == "median" else statistics.fmean
        low, high = min(values), max(values)
        return Score(min(max(join(values), low), high), low, high, raw=raw, filled=filled)


def _made(judge: Any, settings: dict[str, Any]) -> Judge:
    if isinstance(judge, str):
        return registry.judge_from_spec(judge.replace("%2B", _APART), **settings)
    return calling.as_judge(judge)


def _scores_nothing(judgment: Judgment) -> bool:
    """Tell whether a member has no score of any candidate, and none is still to come."""
    return not any(isinstance(verdict, Score) or verdict.owed for verdict in judgment.verdicts)


def _share_below(score: float, known: Sequence[float]) -> float | None:
    """Return the share of the other candidates that are scored lower, a tie counting one half."""
    if len(known) < 2:
        return None
    below, level = sum(other < score for other in known), known.count(score) - 1
    return (below + level / 2) / (len(known) - 1)
