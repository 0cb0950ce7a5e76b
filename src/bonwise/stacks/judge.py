"""A judge made of several, weighed as their scores were fitted to labels."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling, protocol, registry
from bonwise.judges.protocol import EMPTY, Judge, has_words
from bonwise.judges.several import SeveralJudges, Verdicts, words_of
from bonwise.printable import listed, quoted
from bonwise.stacks.fitted_stack import FeatureRecord, JudgeStack
from bonwise.table.verdicts import Score, Unscored, Verdict, kept

_DEEPEST = 8

_HINT = "give it in Python, judges={name: judge}, or name the text that makes it: bonwise stack fit --spec NAME=SPEC"


def opened(source: object) -> tuple[JudgeStack, Mapping[str, str]]:
    """Return the weights, and texts that make judges where names do not; a changed file is a FileError."""
    if isinstance(source, str | Path) and str(source):
        # A stack that was made in Python needs no documents.
        from bonwise.stacks.result import read_stack_model  # noqa: PLC0415

        return read_stack_model(source)
    to_stack = getattr(source, "to_stack", None)
    if not callable(to_stack):
        what = "no file of a stack is named" if source == "" else f"{type(source).__name__} holds no stack"
        raise UsageError(what, hint="name the file that bonwise stack fit --save wrote: stack:stack.json")
    return to_stack(), getattr(source, "specs", None) or {}


def judge_of(name: str, made: Any, *, model: str | None, base_url: str | None, seed: int) -> Judge:
    """Make a judge of a stack, called `name`, of a judge, a function ``(prompt, text) -> number``, or a text."""
    if not isinstance(made, str):
        return calling.as_judge(made)
    try:
        _check_spec(made)
        return registry.judge_from_spec(made, model=model, base_url=base_url, seed=seed)
    except UsageError as error:
        of_part = "" if made == name else f" of {quoted(made)}"
        raise UsageError(
            f"the judge {quoted(name)} of the stack cannot be made{of_part}: {error.message}", hint=_HINT
        ) from None


def _check_spec(spec: str) -> None:
    for depth, part in enumerate(_nested(spec)):
        if depth == _DEEPEST:
            raise UsageError(f"it holds more than {_DEEPEST} judges, one within the other")
        if part.kind == "stack":
            raise UsageError("a stack is made of judges, not of stacks")
        if "base_url" in part.options:
            # A file from elsewhere must not say where prompts and keys are sent.
            raise UsageError("it states an address (base_url)")


def names_no_model(spec: str) -> bool:
    """Tell whether a text leaves it to its caller which model is asked."""
    return not list(_nested(spec))[-1].rest


def _nested(spec: str) -> Iterator[registry.Spec]:
    read = registry.read_spec(spec)
    yield read
    while read.of:
        read = registry.read_spec(read.of)
        yield read


VERSION = 1

_DECIMALS = 12


@takes_numbers
@dataclass(frozen=True)
class Stack(SeveralJudges):
    """Several judges as one, weighed by a stack that was fitted to labels.

    All its judges judge the whole pool, each by its own questions, so that a run that holds their answers pays
    nothing again. The score of a candidate is its utility, on the scale of a logit: a difference of 1 between two
    candidates of a prompt means that the better one has odds of e to 1. Utilities of different prompts cannot be
    compared. `Score.p_best` and `Score.expected_regret` are those of the stack.

    What a judge does not score, because it fails, refuses or was left out, is filled by what the other judges let
    expect of it: `Score.filled` names these judges, and `Score.raw` says why, beside the score of every judge. A
    candidate that no judge scores is unscored, and while an answer is owed, so is the candidate's verdict.

    Parameters
    ----------
    stack : str, pathlib.Path, StackFit or JudgeStack
        The file that ``bonwise stack fit --save`` wrote, or what holds a stack.
    judges : mapping of str to Judge, str, callable or None, optional
        The judges by their names in the stack; None leaves one out. Of a name that is not given here, the text that
        the file states for it, or the name itself, makes the judge.
    model : str, optional
        ``provider/model`` for a judge that wants a model and names none.
    base_url, seed : str and int, optional
        Handed to every factory that has a parameter of this name. That of an inner judge is one of them.

    Raises
    ------
    bonwise.errors.UsageError
        A name that makes no judge, a judge that the stack does not take, or no judge at all.
    bonwise.errors.FileError
        The file cannot be read, or was changed after it was written.

    Examples
    --------
    >>> from bonwise.stacks.fitted_stack import FeatureScaling, StackFeature
    >>> features = StackFeature("longer", "score"), StackFeature("local:length", "score")
    >>> judge = Stack(
    ...     JudgeStack.of(FeatureScaling(features, np.ones(2), np.eye(2)), np.array([1.0, 0.0]), np.zeros((2, 2))),
    ...     judges={"longer": lambda prompt, text: len(text)})
    >>> [round(one.value, 3) for one in judge.judge("Say hi", ["hi", "hello"])]
    [-1.5, 1.5]
    """

    stack: Any
    _: KW_ONLY
    judges: Mapping[str, Any] | None = field(default=None, hash=False)
    model: str | None = None
    # It may hold a login.
    base_url: str | None = field(default=None, repr=False)
    seed: int = 0
    weights: JudgeStack = field(init=False, repr=False, compare=False)
    named_parts: tuple[tuple[str, Judge], ...] = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "stack"
    not_in_texts: ClassVar[frozenset[str]] = frozenset({"judges"})
    """Settings that no text can state."""

    def __post_init__(self) -> None:
        weights, specs = opened(self.stack)
        object.__setattr__(self, "weights", weights)
        if isinstance(self.stack, str | Path):
            object.__setattr__(self, "stack", str(self.stack))
        given = dict(self.judges or {})
        strange = [name for name in given if name not in weights.judges]
        if strange:
            raise UsageError(
                f"{quoted(strange[0])} is not a judge of the stack", hint=f"it takes {listed(weights.judges)}"
            )
        if all(name in given and given[name] is None for name in weights.judges):
            raise UsageError("every judge of the stack is left out", hint="leave out all but one at most")
        made = {name: given.get(name, specs.get(name, name)) for name in weights.judges}
        made = {name: made_of for name, made_of in made.items() if made_of is not None}
        settings: dict[str, Any] = {"model": self.model, "base_url": self.base_url, "seed": self.seed}
        parts = tuple((name, judge_of(name, part, **settings)) for name, part in made.items())
        object.__setattr__(self, "named_parts", parts)
        if not any(isinstance(part, str) and names_no_model(part) for part in made.values()):
            # Of no effect, it is no part of the name.
            object.__setattr__(self, "model", None)

    @protocol.cached_property
    def name(self) -> str:
        """What makes this judge on a command line; ``stack`` where it was made of no file."""
        stated = asking.options_text(self, never=("stack", "judges", "base_url", "seed"))
        return str(registry.Spec(self.kind, stated, rest=self.stack if isinstance(self.stack, str) else ""))

    @protocol.cached_property
    def version(self) -> str:
        """The weights, and the versions of all judges."""
        stack = self.weights
        scaling, digest = stack.scaling, hashlib.blake2b(digest_size=8)
        for values in (stack.coefficients, scaling.scales, scaling.covariance, stack.coefficient_covariance):
            digest.update(np.ascontiguousarray(values, dtype=np.float64).tobytes())
        settings = scaling.features, float(stack.temperature), float(stack.unit), stack.seed
        digest.update(repr(settings).encode("utf-8", "backslashreplace"))
        return f"stack{VERSION} {digest.hexdigest()} " + " ".join(part.version for part in self.parts)

    @property
    def parts(self) -> tuple[Judge, ...]:
        """The judges that are heard, in the order of the stack."""
        return tuple(part for _, part in self.named_parts)

    def given(self, values: protocol.Values) -> Self:
        """Return this stack of one pool."""
        parts = tuple((name, protocol.bound(part, values)) for name, part in self.named_parts)
        return protocol.changed(self, named_parts=parts)

    def joined(self, candidates: Sequence[str], heard: Sequence[Verdicts]) -> Verdicts:
        """Return the verdict on each candidate from those of the parts; of equal texts the first one's count."""
        first = {text: at for at, text in reversed(list(enumerate(candidates)))}
        own = {at: [verdicts[at] for verdicts in heard] for at in sorted(first.values())}
        known: dict[int, Verdict | None] = {
            at: self._not_yet(candidates[at], verdicts) for at, verdicts in own.items()
        }
        at_hand = [at for at, verdict in known.items() if verdict is None]
        if at_hand:
            weighed = self._scores([candidates[at] for at in at_hand], [own[at] for at in at_hand])
            known |= dict(zip(at_hand, weighed, strict=True))
        return tuple(known[first[text]] or EMPTY for text in candidates)

    def _not_yet(self, text: str, verdicts: Sequence[Verdict]) -> Unscored | None:
        """Return why a candidate is not weighed with the others."""
        # What has words only for judges that ask no model is not judged by one that does.
        return EMPTY if self.asking and not has_words(text) else asking.owed_among(verdicts)

    def _scores(self, texts: Sequence[str], by_text: Sequence[Sequence[Verdict]]) -> list[Verdict]:
        names = [name for name, _ in self.named_parts]
        place = {name: at for at, name in enumerate(names)}
        values = np.array(
            [
                [
                    _value(feature, text, its[place[feature.judge]] if feature.judge in place else None)
                    for feature in self.weights.features
                ]
                for text, its in zip(texts, by_text, strict=True)
            ]
        )
        with np.errstate(over="ignore", invalid="ignore"):  # scores near the largest double: said below
            judged = self.weights.judged(values)
        left_out = tuple(name for name in self.weights.judges if name not in place)
        rows = zip(*(figures.tolist() for figures in judged), by_text, strict=True)
        return [_verdict(names, left_out, its, *figures) for *figures, its in rows]


def _value(feature: FeatureRecord, text: str, verdict: Verdict | None) -> float:
    """Return a feature of one candidate, NaN where there is none."""
    if feature.kind == "length":
        return math.log(max(len(text), 1))
    if not isinstance(verdict, Score):
        return math.nan
    if feature.kind == "score":
        return verdict.value
    if feature.kind == "width":
        return math.nan if verdict.width is None else verdict.width
    drawn = [draw for draw in verdict.draws if draw is not None]
    return statistics.stdev(drawn) if len(drawn) > 1 else math.nan


def _verdict(
    names: Sequence[str],
    left_out: tuple[str, ...],
    verdicts: Sequence[Verdict],
    utility: float,
    chance: float,
    regret: float,
) -> Verdict:
    unscored = [verdict for verdict in verdicts if isinstance(verdict, Unscored)]
    if len(unscored) == len(verdicts):
        return unscored[0] if len({verdict.reason for verdict in unscored}) == 1 else _of_no_judge(unscored)
    raw = kept("\n".join([*map(words_of, names, verdicts), *(f"{name}: left out" for name in left_out)]))
    if not (math.isfinite(utility) and math.isfinite(chance) and math.isfinite(regret)):
        return Unscored("the scores of the judges are too large to be weighed", raw)
    filled = (
        *(name for name, verdict in zip(names, verdicts, strict=True) if isinstance(verdict, Unscored)),
        *left_out,
    )
    # Candidates that are equal differ by rounding alone; a mean of shares may exceed 1 by it.
    value, expected = (round(number, _DECIMALS) + 0.0 for number in (utility, regret))
    return Score(value, raw=raw, p_best=min(round(chance, _DECIMALS), 1.0), expected_regret=expected, filled=filled)


def _of_no_judge(unscored: Sequence[Unscored]) -> Unscored:
    return Unscored(f"no judge scored it: {asking.counted_reasons(unscored)}")
