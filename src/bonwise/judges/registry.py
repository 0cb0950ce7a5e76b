"""Judges by the texts that name them, from the entry points that built-ins and plug-ins share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any

from bonwise.entry_points import Factory, Group, Kind, option_values, with_options
from bonwise.errors import UsageError
from bonwise.judges.protocol import Judge, is_asking, is_listwise
from bonwise.judges.spec import Spec, read_spec

__all__ = ["Kind", "judge_from_spec", "judges_from_specs", "kinds"]

GROUP = "bonwise.judges"

_SHARED = ("base_url", "seed")


def judge_from_spec(
    spec: str, *, model: str | None = None, base_url: str | None = None, seed: int = 0, **options: Any
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
    base_url, seed : str and int, optional
        Handed to every factory that has a parameter of this name, also to that of an inner judge.
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
    return _from_spec(read_spec(spec), {"base_url": base_url, "seed": seed}, model, options)


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
    specs: Iterable[str], *, model: str | None = None, base_url: str | None = None, seed: int = 0
) -> list[Judge]:
    """Make several judges, each with a name of its own.

    Raises
    ------
    bonwise.errors.UsageError
        As `judge_from_spec`, or two judges of one name.
    """
    judges: dict[str, Judge] = {}
    for spec in specs:
        judge = judge_from_spec(spec, model=model, base_url=base_url, seed=seed)
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
