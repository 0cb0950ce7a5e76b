"""Judges by the texts that name them, from the entry points that built-ins and plug-ins share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bonwise.errors import BonwiseError, UsageError
from bonwise.judges.protocol import Judge
from bonwise.judges.spec import Spec, read_spec
from bonwise.printable import printable

__all__ = ["Kind", "judge_from_spec", "judges_from_specs", "kinds"]

GROUP = "bonwise.judges"

_WORDS: dict[str, object] = {"none": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of judge that is installed.

    Parameters
    ----------
    name : str
    home : str
        Module and name of its factory.
    package : str
        The distribution that brings it.
    options : tuple of str
        What may stand behind a comma.
    problem : str
        Why it cannot be used, in one line; empty where it can.
    """

    name: str
    home: str
    package: str
    options: tuple[str, ...] = ()
    problem: str = ""


def judge_from_spec(spec: str, *, model: str | None = None, base_url: str | None = None, seed: int = 0) -> Judge:
    """Make the judge that a command line names.

    Parameters
    ----------
    spec : str
        ``KIND``, ``KIND:rest``, ``KIND,option=value:rest`` or ``KIND,option=value,of=SPEC``. The factory behind
        the kind is called with one argument and the options. A first parameter named ``model`` gets
        ``provider/model``, one named ``of`` gets the inner judge, any other gets the rest as it stands.
    model : str, optional
        ``provider/model`` for a spec that wants a model and names none.
    base_url, seed : str and int, optional
        Handed to a factory that has a parameter of this name.

    Raises
    ------
    bonwise.errors.UsageError
        No such kind or option, no model, or a plug-in that cannot be loaded.

    Examples
    --------
    >>> judge_from_spec("local:length").name
    'local:length'
    >>> judge_from_spec("pointwise", model="openai/gpt-5-mini").name
    'pointwise:openai/gpt-5-mini'
    """
    return _from_spec(read_spec(spec), {"base_url": base_url, "seed": seed}, model)


def _from_spec(spec: Spec, shared: Mapping[str, object], model: str | None) -> Judge:
    entry = _entry(spec.kind)
    factory = _factory(entry)
    first, *others = _parameters(entry, factory)
    options = _options(spec, others)
    options |= {name: value for name, value in shared.items() if name in others and name not in options}
    judge = _make(entry, factory, _first(first, spec, shared, model), options)
    if not isinstance(judge, Judge):
        raise UsageError(f"{str(spec)!r} made no judge", hint="see the contract in bonwise.judges.protocol")
    return judge


def _first(first: str, spec: Spec, shared: Mapping[str, object], model: str | None) -> object:
    """Return what the factory's first parameter, by its name, asks for."""
    if first == "of":
        inner = read_spec(spec.of) if spec.of else Spec("pointwise", rest=spec.rest)
        return _from_spec(inner, shared, model)
    if spec.of:
        raise UsageError(f"{spec.kind} is made of no other judge", hint=f"write {spec.kind}:provider/model")
    if first == "model" and not (spec.rest or model):
        raise UsageError(
            f"--judge {spec} names no model", hint=f"write {spec.kind}:provider/model, or add --model provider/model"
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
    return sorted(map(_kind, entry_points(group=GROUP)), key=lambda kind: kind.name)


def _entry(kind: str) -> EntryPoint:
    """Return the entry point behind a kind; no package takes the name of a built-in one."""
    entries = entry_points(group=GROUP)
    named = [entry for entry in entries if entry.name == kind]
    found = [entry for entry in named if _is_ours(entry)] or named
    if not found:
        known = sorted({entry.name for entry in entries})
        raise UsageError(f"no kind of judge {kind!r}", hint=f"the kinds are {', '.join(known)}")
    if len(found) > 1:
        homes = " and ".join(entry.value for entry in found)
        raise UsageError(f"two plug-ins are called {kind!r}: {homes}", hint="uninstall one of them")
    return found[0]


def _is_ours(entry: EntryPoint) -> bool:
    return entry.dist is not None and entry.dist.name == "bonwise"


def _kind(entry: EntryPoint) -> Kind:
    package = entry.dist.name if entry.dist is not None else "?"
    try:
        if _entry(entry.name) != entry:
            raise UsageError("a built-in judge has this name")
        parameters = _parameters(entry, _factory(entry))
    except BonwiseError as error:
        return Kind(entry.name, entry.value, package, problem=str(error))
    options = tuple(name for name in parameters[1:] if name not in {"base_url", "seed"})
    return Kind(entry.name, entry.value, package, options)


def _factory(entry: EntryPoint) -> Callable[..., object]:
    try:
        factory: object = entry.load()
    except Exception as error:
        raise _failed(entry, error) from error
    if not callable(factory):
        raise _failed(entry, TypeError("no callable"))
    return factory


def _make(entry: EntryPoint, factory: Callable[..., object], first: object, options: dict[str, Any]) -> object:
    try:
        return factory(first, **options)
    except BonwiseError:
        raise
    except Exception as error:
        raise _failed(entry, error) from error


def _failed(entry: EntryPoint, error: Exception) -> UsageError:
    why = printable(f"{type(error).__name__}: {error}", longest=200)
    return UsageError(f"the plug-in behind {entry.name!r} failed: {why}", hint=f"mend or uninstall {entry.value}")


def _parameters(entry: EntryPoint, factory: Callable[..., object]) -> list[str]:
    try:
        names = list(inspect.signature(factory).parameters)
    except (TypeError, ValueError) as error:
        raise _failed(entry, error) from error
    if not names:
        raise _failed(entry, TypeError("it takes no argument"))
    return names


def _options(spec: Spec, known: Sequence[str]) -> dict[str, Any]:
    for name in spec.options:
        if name not in known:
            raise UsageError(
                f"{spec.kind} has no option {name!r}", hint=f"its options are {', '.join(known) or 'none'}"
            )
    return {name: _value(text) for name, text in spec.options.items()}


def _value(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
