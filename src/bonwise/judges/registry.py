"""Judges by the texts that name them, and the entry points that built-ins and plug-ins share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any
from urllib.parse import unquote

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges.protocol import Judge, is_asking, is_listwise
from bonwise.plugins import Factory, Group, Kind, option_values, with_options

_ESCAPES = str.maketrans({"%": "%25", ",": "%2C", ":": "%3A", "\n": "%0A", "\r": "%0D", "\t": "%09"})


@dataclass(frozen=True, slots=True)
class Spec:
    """The parts of such a text."""

    kind: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """In their order, `of` not among them."""
    of: str = ""
    """The inner judge, itself such a text; empty where there is none."""
    rest: str = ""
    """What stands behind the colon, such as ``openai/gpt-5-mini``; empty where there is an inner judge."""

    def __str__(self) -> str:
        options = "".join(f",{name}={value.translate(_ESCAPES)}" for name, value in self.options.items())
        if self.of:
            return f"{self.kind}{options},of={self.of}"
        return f"{self.kind}{options}:{self.rest}" if self.rest else f"{self.kind}{options}"


def read_spec(text: str) -> Spec:
    """Take such a text apart; ``read_spec(str(spec)) == spec``; an option without a value or twice: `UsageError`."""
    # A colon of the inner judge is not this judge's own.
    own, marked, of = text.partition(",of=")
    if ":" in own:
        own, marked, of = text, "", ""
    head, _, rest = own.partition(":")
    kind, *stated = head.split(",")
    if not kind or (marked and not of):
        raise UsageError(f"{text!r} names no judge", hint="write KIND:provider/model or KIND,of=JUDGE")
    options: dict[str, str] = {}
    for option in stated:
        name, equals, value = option.partition("=")
        if not (name and equals and value) or name in options:
            hint = "write each option once, as name=value, with commas between"
            raise UsageError(f"{text!r}: the option {option!r} cannot be read", hint=hint)
        options[name] = unquote(value)
    return Spec(kind, options, of, rest)


GROUP = "bonwise.judges"

_SHARED = ("base_url", "price", "seed", "params")


@takes_numbers
def judge_from_spec(
    spec: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    price: tuple[float, float] | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> Judge:
    """Make the judge that a text names, as ``--judge`` on a command line does.

    Parameters
    ----------
    spec : str
        As on a command line. ``KIND``, ``KIND:rest``, ``KIND,option=value:rest`` or ``KIND,option=value,of=SPEC``.
        The factory behind the kind is called with one argument and the options. A first parameter named ``model``
        gets ``provider/model``, one named ``of`` gets the inner judge, any other gets the rest as it stands.
    model : str, optional
        ``provider/model`` for a judge that wants a model and names none. Also of one that is part of a stack.
    base_url, price, seed : str, tuple of float and int, optional
        Handed to every factory that has a parameter of this name, also to that of an inner judge.
    params : mapping, optional
        Fields of the body of every request, such as ``{"reasoning_effort": "low"}``. Handed on likewise.
    **options
        Further options of the outermost judge, such as ``client=`` or ``temperature=0.7``.

    Raises
    ------
    bonwise.errors.UsageError
        No such kind or option, an option stated twice, no model, or a plug-in that cannot be loaded.

    Examples
    --------
    >>> judge_from_spec("local:length").name
    'local:length'
    >>> judge_from_spec("pointwise", model="openai/gpt-5-mini").name
    'pointwise:openai/gpt-5-mini'
    >>> judge_from_spec("pairwise,orders=1:openai/gpt-5-mini", temperature=0.7).name
    'pairwise,temperature=0.7,orders=1:openai/gpt-5-mini'
    """
    if not isinstance(spec, str):
        raise UsageError(
            f"the spec of a judge is {spec!r}", hint="write it as text, such as pointwise:openai/gpt-5-mini"
        )
    shared = {"base_url": base_url, "price": price, "seed": seed, "params": params}
    return _from_spec(read_spec(spec), shared, model, options)


def _from_spec(
    spec: Spec, shared: Mapping[str, object], model: str | None, given: Mapping[str, Any] | None = None
) -> Judge:
    factory = _group().factory(spec.kind)
    first, *others = _parameters(factory) or ("",)
    stated = option_values(spec.kind, spec.options, others)
    options = with_options(spec.kind, stated, given or {}, factory.parameters[1:])
    further = shared if model is None else {**shared, "model": model}
    options |= {name: value for name, value in further.items() if name in others and name not in options}
    judge = factory.make(*([_first(first, spec, shared, model)] if first else _nothing(spec)), **options)
    with factory.guarded():
        if not isinstance(judge, Judge):
            raise UsageError(f"{str(spec)!r} made no judge", hint="see the contract in bonwise.judges.protocol")
        # A judge that fails when it is looked at fails here, before anything is asked.
        _ = judge.name, is_asking(judge), is_listwise(judge)
    return judge


def _nothing(spec: Spec) -> tuple[()]:
    """Refuse what a text says after the name of a factory without arguments."""
    if spec.rest or spec.of:
        raise UsageError(f"{spec.kind} takes nothing after its name", hint=f"write {spec.kind}")
    return ()


def _first(first: str, spec: Spec, shared: Mapping[str, object], model: str | None) -> object:
    """Return what the factory's first parameter, by its name, asks for."""
    if first == "of":
        inner = read_spec(spec.of) if spec.of else Spec("pointwise", rest=spec.rest)
        return _from_spec(inner, shared, model)
    if spec.of:
        raise UsageError(f"{spec.kind} is made of no other judge", hint=f"write {spec.kind}:provider/model")
    if first == "model" and not (spec.rest or model):
        raise UsageError(
            f"the judge {str(spec)!r} names no model",
            hint=f"write {spec.kind}:provider/model, or give the model apart: --model, in Python model=",
        )
    return spec.rest or model if first == "model" else spec.rest


def judges_from_specs(
    specs: Iterable[str],
    *,
    model: str | None = None,
    base_url: str | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
) -> list[Judge]:
    """Make several judges as `judge_from_spec` does; two of one name raise `UsageError`."""
    judges: dict[str, Judge] = {}
    for spec in specs:
        judge = judge_from_spec(spec, model=model, base_url=base_url, seed=seed, params=params)
        if judge.name in judges:
            raise UsageError(f"--judge names {judge.name!r} twice", hint="name each judge once")
        judges[judge.name] = judge
    return list(judges.values())


def kinds() -> list[Kind]:
    """Return every kind of judge that is installed; a broken one with the reason."""
    return _group().kinds(lambda factory: (name for name in _parameters(factory)[1:] if name not in _SHARED))


def _group() -> Group:
    return Group("judge", tuple(entry_points(group=GROUP)))


def _parameters(factory: Factory) -> tuple[str, ...]:
    """Return the parameters that a text can state."""
    with factory.guarded():
        without: frozenset[str] = getattr(factory.function, "not_in_texts", frozenset())
    return tuple(name for name in factory.parameters if name not in without)
