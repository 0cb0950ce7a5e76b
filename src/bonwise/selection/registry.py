"""Strategies by the texts that name them, and the entry points that built-ins and plug-ins share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from typing import Any
from urllib.parse import unquote

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import protocol, registry
from bonwise.plugins import Factory, Group, Kind, option_values, with_options
from bonwise.selection.protocol import Strategy

_ESCAPES = str.maketrans({"%": "%25", ",": "%2C"})


@dataclass(frozen=True, slots=True)
class StrategySpec:
    """The parts of such a text."""

    kind: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """In their order, `of` not among them."""
    of: str = ""
    """The judge that it is made of, empty where there is none; see `bonwise.judges.registry`."""

    def __str__(self) -> str:
        parts = [f"{name}={value.translate(_ESCAPES)}" for name, value in self.options.items()]
        parts += [f"of={self.of}"] if self.of else []
        return f"{self.kind}:{','.join(parts)}" if parts else self.kind


def read_strategy(text: str) -> StrategySpec:
    """Take the text of a strategy apart; ``read_strategy(str(spec)) == spec``, or a `UsageError`."""
    kind, colon, behind = text.partition(":")
    if not kind or any(sign in kind for sign in ",="):
        raise UsageError(f"{text!r} names no strategy", hint="write KIND or KIND:option=value,option=value")
    # One comma more, so that a judge may also be all that is stated.
    stated, marked, of = (f",{behind}" if behind else "").partition(",of=")
    options: dict[str, str] = {}
    for option in stated.split(",")[1:]:
        name, equals, value = option.partition("=")
        if not (name and equals and value) or name in options:
            raise _unreadable(text, option)
        options[name] = unquote(value)
    if (colon and not (options or of)) or (marked and not of):
        raise _unreadable(text, behind)
    return StrategySpec(kind, options, of)


def _unreadable(text: str, option: str) -> UsageError:
    hint = "write each option once, as name=value, with commas between"
    return UsageError(f"{text!r}: the option {option!r} cannot be read", hint=hint)


GROUP = "bonwise.strategies"


@takes_numbers
def strategy_from_spec(
    spec: str,
    *,
    judge: protocol.Judge | Callable[[str, str], Any] | None = None,
    model: str | None = None,
    base_url: str | None = None,
    price: tuple[float, float] | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> Strategy:
    """Make the strategy that a text names, as ``--strategy`` on a command line does.

    Parameters
    ----------
    spec : str
        As on a command line. ``KIND``, ``KIND:option=value,option=value``, or with a judge behind ``of=``, which
        comes last. The factory behind the kind is called with the options as keywords; a first parameter without a
        default is a judge and gets the one behind ``of=``.
    judge : Judge or callable, optional
        For such a strategy, in place of ``of=``.
    model : str, optional
        ``provider/model`` for a judge that wants a model and names none.
    base_url, price, seed : str, tuple of float and int, optional
        Handed to every factory that has a parameter of this name, also to that of an inner judge.
    params : mapping, optional
        Fields of the body of every request, such as ``{"reasoning_effort": "low"}``. Of the judge behind ``of=``.
    **options
        Further options of the strategy, such as ``margin=0.2``.

    Raises
    ------
    bonwise.errors.UsageError
        No such kind or option, an option stated twice, a judge that is missing or not wanted, or a plug-in that
        cannot be loaded.

    Examples
    --------
    >>> strategy_from_spec("adaptive:margin=0.2,repick=false")
    Adaptive(margin=0.2, max_draws=3, repick=False, temperature=1.0)
    >>> strategy_from_spec("tie_break:of=pairwise", model="openai/gpt-5-mini").name
    'tie_break:of=pairwise:openai/gpt-5-mini'
    """
    if not isinstance(spec, str):
        raise UsageError(f"the spec of a strategy is {spec!r}", hint="write it as text, such as adaptive:margin=0.1")
    read = read_strategy(spec)
    factory = _group().factory(read.kind)
    known = _options(factory)
    values = with_options(read.kind, option_values(read.kind, read.options, known), options, known)
    if "seed" in factory.parameters:
        values.setdefault("seed", seed)
    judges: list[Any] = []
    if _wants(factory, read, judge):
        inner = partial(
            registry.judge_from_spec, model=model, base_url=base_url, price=price, seed=seed, params=params
        )
        judges = [inner(read.of) if judge is None else judge]
    made = factory.make(*judges, **values)
    with factory.guarded():
        if not isinstance(made, Strategy):
            raise UsageError(f"{spec!r} made no strategy", hint="see the contract in bonwise.selection.protocol")
    return made


def strategies() -> list[Kind]:
    """Return every kind of strategy that is installed; a broken one with the reason."""
    return _group().kinds(lambda factory: (name for name in _options(factory) if name != "seed"))


def _group() -> Group:
    return Group("strategy", tuple(entry_points(group=GROUP)))


def _options(factory: Factory) -> tuple[str, ...]:
    return factory.parameters[1:] if _takes_judge(factory) else factory.parameters


def _takes_judge(factory: Factory) -> bool:
    return bool(factory.required) and factory.required[0] == factory.parameters[0]


def _wants(factory: Factory, spec: StrategySpec, judge: object) -> bool:
    """Tell whether a strategy is made of a judge; refuse one that is missing, given twice, or not wanted."""
    takes = _takes_judge(factory)
    if takes and not spec.of and judge is None:
        raise UsageError(
            f"{str(spec)!r} names no judge", hint=f"write {spec.kind}:of=JUDGE, such as of=pairwise:openai/gpt-5-mini"
        )
    if takes and spec.of and judge is not None:
        raise UsageError(f"{str(spec)!r} names a judge, and judge= is another one", hint="leave one of them out")
    if not takes and (spec.of or judge is not None):
        raise UsageError(
            f"{spec.kind} is made of no judge", hint="leave out of=; --judge names the judge that selects"
        )
    return takes
