"""The contract of a judge: which texts it is given, what it is asked, and what it found and cost."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar, cast, runtime_checkable

from bonwise.calls.ask import Answers, Ask
from bonwise.calls.bill import NOTHING_PAID, Bill
from bonwise.errors import UsageError
from bonwise.table.verdicts import Preference, Unscored, Verdict

if TYPE_CHECKING:
    # A type checker takes only a property for the property of a protocol, not one that is kept.
    cached_property = property
else:
    from functools import cached_property  # noqa: F401 - judges take it from here


@runtime_checkable
class Judge(Protocol):
    """Anything that scores the candidates of one prompt.

    Attributes
    ----------
    name : str
        Short, unique in a table; it fills the ``judge`` column.
    version : str
        Changes whenever the same texts may get other scores.

    Notes
    -----
    A judge whose score of a candidate depends on the other candidates also has an attribute ``listwise`` that is
    true: then it sees the whole pool each time it is asked again. Any other judge sees only the candidates to be
    redrawn.

    A judge that needs more of a pool than prompt and candidates, such as a reference answer, has an attribute
    ``variables``, the names of what it needs, and a method ``given(values)`` that returns the judge of one pool. By
    variable, `values` hold a text, or one for each candidate by the text of the candidate. Pools are refused that do
    not state the variables, and the judge is bound once per pool. A judge made of another, ``of``, needs neither.
    """

    @property
    def name(self) -> str:
        """Short and unique in a table."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same texts may get other scores."""
        ...

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Return one verdict per candidate, in candidate order; may be ``async``."""
        ...


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a judge makes of the answers to its questions."""

    verdicts: tuple[Verdict, ...]
    """One a candidate, in candidate order."""
    preferences: tuple[Preference, ...] = ()
    """Of a judge that compares pairs."""
    members: tuple[tuple[str, tuple[Verdict, ...]], ...] = ()
    """Of a judge whose score is made of several that are told apart: the name of each with its verdicts."""


class AskingJudge(Judge, Protocol):
    """A judge that asks a model: it says what to ask and what to make of the answers, and sends nothing itself.

    So the same judge runs against a server, a ledger or a script, can be estimated before a cent is spent,
    and can read stored answers anew. A judge made of another one may have no model to ask: it says so by an
    attribute ``asking`` that is false, and is then called as any other judge.

    A judge made of several others, some of which may ask no model, can have a coroutine method ``judged_by(engine,
    prompt, candidates, draw, temperature)`` that returns a `bonwise.judges.protocol.Judgment`. It is awaited in place
    of ``asks`` and ``conclude``, which estimates of calls and judges around it use.
    """

    def asks(self, prompt: str, candidates: Sequence[str]) -> Sequence[Ask]:
        """Return the questions about one prompt."""
        ...

    def calls(self, candidates: int) -> int:
        """Return how many answers judging so many candidates takes."""
        ...

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Turn the answers, in the order of the questions, into verdicts. Pure."""
        ...


def is_asking(judge: Judge) -> TypeGuard[AskingJudge]:
    """Tell whether a judge asks a model: a wrapper around one that asks none does not."""
    # By hand, name by name: a check against a protocol takes longer than reading a stored answer.
    return (
        callable(getattr(judge, "asks", None))
        and callable(getattr(judge, "calls", None))
        and callable(getattr(judge, "conclude", None))
        and bool(getattr(judge, "asking", True))
    )


def is_listwise(judge: Judge) -> bool:
    """Tell whether a judge's score of a candidate depends on the other candidates, as it says itself."""
    return getattr(judge, "listwise", False) is True


def refuse_images(judges: Iterable[Judge]) -> None:
    """Refuse judges that would read the names of images and not see them, before anything is asked."""
    for judge in judges:
        if not _takes_images(judge):
            hint = "pointwise, interval, pairwise, probability, decision and rubric can; or leave images out"
            raise UsageError(f"{judge.name} cannot see images", hint=hint)


def _takes_images(judge: Any) -> bool:
    parts: Any = getattr(judge, "judges", None) or getattr(judge, "parts", None) or [getattr(judge, "of", None)]
    own = getattr(judge, "takes_images", None)
    return judge is not None and (all(map(_takes_images, parts)) if own is None else own is True)


Values = Mapping[str, str | Mapping[str, str]]
"""By variable: a text, or one for each candidate by the text of the candidate."""

J = TypeVar("J", bound=Judge)


def variables_of(judges: Iterable[Judge]) -> tuple[str, ...]:
    """Return what judges need of a pool beyond prompt and candidates, each name once."""
    return tuple(dict.fromkeys(name for judge in judges for name in _needs(judge)))


def _needs(judge: Any) -> Sequence[str]:
    if callable(getattr(judge, "given", None)):
        variables: Sequence[str] = getattr(judge, "variables", ())
        return variables
    inner = getattr(judge, "of", None)
    return _needs(inner) if callable(getattr(inner, "judge", None)) else ()


def bound(judge: J, values: Values) -> J:
    """Return a judge, or one made of another, that has its variables from one pool; one without any as it is."""
    needs, made = _needs(judge), cast("Any", judge)
    if not needs:
        return judge
    if callable(getattr(made, "given", None)):
        return cast("J", made.given({name: values[name] for name in needs if name in values}))
    return changed(judge, of=bound(made.of, values))


def changed(judge: J, **parts: Any) -> J:
    """Return a copy of a judge with other parts: nothing is read or checked again."""
    copied = copy(judge)
    for name, part in parts.items():
        object.__setattr__(copied, name, part)
    return copied


def values_for(values: Values, text: str) -> dict[str, str]:
    """Return the values that hold for one candidate; a variable that has none for it is left out."""
    by_name = ((name, its if isinstance(its, str) else its.get(text)) for name, its in values.items())
    return {name: value for name, value in by_name if value is not None}


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdicts of one judge on one pool."""

    verdicts: tuple[Verdict, ...]
    """One a candidate, in candidate order."""
    preferences: tuple[Preference, ...] = ()
    """Of a judge that compares pairs; both presentation orders are kept."""
    bill: Bill = NOTHING_PAID
    """Calls, tokens and cost; all zero for a judge that asks no model."""
    effective: tuple[Mapping[str, Any], ...] = ()
    """The sampling parameters as they were really sent, each set of them once, in order of first appearance: there
    are several where a server refused a parameter, which is then absent, or where questions differ.
    """
    members: tuple[tuple[str, Judgment], ...] = ()
    """Of a judge made of others that are told apart: the name of each with its own judgment."""


EMPTY = Unscored("empty answer")
ALONE = Unscored("no other answer to compare with", alone=True)


def has_words(text: str) -> bool:
    r"""Tell whether a text has any visible character."""
    # Nearly every text begins with a letter or a digit, which is visible.
    return text[:1].isalnum() or any(character.isprintable() and character != " " for character in text)


def candidates_with_words(candidates: Sequence[str]) -> list[int]:
    """Return the positions of the candidates that can be judged at all."""
    return [position for position, text in enumerate(candidates) if has_words(text)]
