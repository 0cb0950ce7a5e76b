"""Judges as plain values, such as stand in a JSON or YAML file, and judges made of such values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NoReturn

from bonwise.errors import BonwiseError, UsageError
from bonwise.judges import calling, protocol, registry


def judge_values(field: str, judge: protocol.Judge) -> str | dict[str, Any]:
    """Return the text that makes a judge, or a mapping with what no text states, such as ``base_url``.

    A `UsageError` names `field` where the values would not make the same judge, or would hold a secret.
    """
    return spec_values(field, judge, registry.judge_from_spec)


def judge_from_values(field: str, written: object) -> protocol.Judge:
    """Return the judge that `judge_values` has written; values that mean nothing raise `UsageError`."""
    return registry.judge_from_spec(**spec_arguments(field, written))


def spec_values(field: str, made: Any, make: Callable[..., object]) -> str | dict[str, Any]:
    """Return the text of a judge or strategy, or a mapping as of `judge_values`; `make` makes one of it."""
    beside: dict[str, Any] = {}
    for part in _parts(made):
        _check_part(field, part)
        address, seed = getattr(part, "base_url", None), getattr(part, "seed", None)
        beside |= {"base_url": address} if isinstance(address, str) and address else {}
        beside |= {"price": list(part.price)} if isinstance(getattr(part, "price", None), tuple) else {}
        beside |= {"seed": seed} if isinstance(seed, int) and seed else {}
    if "base_url" in beside:
        _check_address(field, beside["base_url"])
    name = getattr(made, "name", None)
    spec = name if isinstance(name, str) else type(made).__name__
    try:
        again = make(spec, **beside)
    except BonwiseError as error:
        refuse(
            field,
            f"cannot be made again from its name {spec!r}: {error.message}",
            "name in it files that are there, or install it as a plug-in (see CONTRIBUTING)",
        )
    if not _is_same(made, again):
        refuse(
            field,
            f"{spec!r} has settings that its name does not state",
            "make it by bw.judge_from_spec or bw.strategy_from_spec, which take the same values",
        )
    return {"spec": spec, **beside} if beside else spec


def spec_arguments(field: str, written: object) -> Mapping[str, Any]:
    """Return keywords of `judge_from_spec` or `strategy_from_spec`; what is neither text nor mapping is refused."""
    if isinstance(written, str):
        return {"spec": written}
    given = checked_mapping(field, written, ("spec", "base_url", "price", "seed", "params"), "spec")
    address, seed = given.get("base_url"), given.get("seed", 0)
    if not isinstance(address, str | None):
        refuse(field, f"has the base_url {address!r}", "write it like http://127.0.0.1:8000/v1")
    if isinstance(seed, bool) or not isinstance(seed, int):
        refuse(field, f"has the seed {seed!r}", "give a whole number")
    return given


def checked_mapping(field: str, mapping: object, known: tuple[str, ...], needed: str) -> dict[str, Any]:
    """Return a mapping whose keys are some of those known, among them the one needed; else raise `UsageError`."""
    keys = f"its keys are {', '.join(known)}"
    if not isinstance(mapping, Mapping):
        refuse(field, f"must be a mapping, not {type(mapping).__name__}", keys)
    unknown = [name for name in mapping if name not in known]
    if unknown:
        refuse(field, f"has no key {unknown[0]!r}", keys)
    if mapping.get(needed) is None:
        refuse(field, f"has no {needed}", f"state {needed}, such as pointwise:openai/gpt-5-mini")
    return dict(mapping)


def refuse(field: str, what: str, mend: str) -> NoReturn:
    """Say what is wrong with a setting, by a `UsageError`."""
    raise UsageError(f"{field} {what}", hint=mend)


def _parts(made: Any) -> Iterator[Any]:
    """Yield a judge or a strategy, and the judges it is made of."""
    yield made
    if is_dataclass(made):
        for setting in fields(made):
            inner = getattr(made, setting.name, None)
            if callable(getattr(inner, "judge", None)):
                yield from _parts(inner)
    for part in getattr(made, "parts", ()):
        yield from _parts(part)


def _check_part(field: str, part: object) -> None:
    if isinstance(part, calling.FunctionJudge):
        refuse(
            field,
            f"is the Python function {part.name}, which no plain value states",
            "install the function as a plug-in (see CONTRIBUTING), or make the selector in Python",
        )
    if getattr(part, "client", None) is not None:
        refuse(
            field,
            "holds a client (client=), which no plain value states",
            "leave client= out, or make the selector in Python",
        )


def _check_address(field: str, address: str) -> None:
    # Loaded only where an address is written.
    from bonwise.calls.providers.secrets import is_secret  # noqa: PLC0415
    from bonwise.calls.providers.service import read_address  # noqa: PLC0415

    read = read_address(address, f"base_url of {field}")
    if read.login is not None or read.secrets or is_secret("base_url", address):
        refuse(
            field,
            "has an address (base_url) with a login or a key, and secrets are not written",
            "leave base_url out, and state the address in the environment, such as OPENAI_BASE_URL",
        )


def _is_same(made: Any, again: Any) -> bool:
    """Tell whether two judges, strategies or settings are alike; of plug-ins without equality, name and version."""
    if isinstance(made, str | Path) and isinstance(again, str | Path):
        return Path(made) == Path(again)  # a path of one word is written as ./word
    if isinstance(made, int | float) and isinstance(again, int | float):
        return made == again
    if type(made) is not type(again):
        return False
    if is_dataclass(made):
        compared = (setting.name for setting in fields(made) if setting.compare)
        return all(_is_same(getattr(made, name), getattr(again, name)) for name in compared)
    kind: Any = type(made)
    if kind.__eq__ is object.__eq__:
        return all(getattr(made, name, None) == getattr(again, name, None) for name in ("name", "version"))
    return bool(made == again)
