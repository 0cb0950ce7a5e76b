"""The command of a study, made from the signature of its function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from sys import modules
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from bonwise.auditing.studies.registration import Flag, NoFlag, Study
from bonwise.cli import arguments as given
from bonwise.data.scales import parse_scale

__all__ = ["command_of"]


@dataclass(frozen=True)
class _Option:
    """A flag, or a few, and what becomes of them.

    Parameters
    ----------
    parameters : mapping of str to tuple
        Annotation and default of each, by its name in the command.
    read : callable
        Makes the keywords of the study from their values; a keyword that is not made keeps its default.
    """

    parameters: Mapping[str, tuple[Any, Any]]
    read: Callable[[Mapping[str, Any]], Mapping[str, Any]]


def command_of(study: Study) -> Callable[..., int]:
    """Return the command: it reads the flags, makes the study, and writes what was asked for."""
    options = list(_options(study))
    file = Annotated[Path, typer.Argument(help=study.source, show_default=False)]
    parameters = {"file": (file, ...)} | {name: one for option in options for name, one in option.parameters.items()}

    def command(**values: Any) -> int:
        keywords = {name: value for option in options for name, value in option.read(values).items()}
        inputs = [value for name, value in values.items() if isinstance(value, Path) and name != "html"]
        given.refuse_overwriting(inputs, (values["json"], values["html"]))
        document = study.function(values["file"], **keywords).document()
        given.deliver(document, values["json"], html=values["html"])
        return 0

    command.__annotations__ = {name: annotation for name, (annotation, _) in parameters.items()} | {"return": int}
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if default is ... else default,
                annotation=annotation,
            )
            for name, (annotation, default) in parameters.items()
        ],
        return_annotation=int,
    )
    return command


def _options(study: Study) -> Iterator[_Option]:
    """Yield the flags in the order of the parameters; where results go, and how columns are called, come last."""
    targets = _Option({"json": (given.JsonTarget, None), "html": (given.HtmlTarget, None)}, lambda _: {})
    last: list[_Option] = [targets]
    for name, parameter in list(signature(study.function).parameters.items())[1:]:
        kind, flag = _annotated(name, parameter, study.function)
        if isinstance(flag, Flag):
            yield _own(name, kind, flag, parameter.default)
        elif flag is None and name in _LAST:
            last.append(_LAST[name])
        elif flag is None and name in _SHARED:
            yield _SHARED[name]
        elif flag is None:
            raise TypeError(f"the parameter {name} of {study.function.__name__} has no Flag")
    yield from last


def _annotated(name: str, parameter: Parameter, function: Callable[..., object]) -> tuple[Any, Flag | NoFlag | None]:
    """Return the type of a parameter and its flag; without an own flag neither is looked at."""
    # Others cannot be evaluated: they name what is imported for type checkers alone.
    if "Annotated[" not in str(parameter.annotation):
        return None, None
    holder = SimpleNamespace(__annotations__={name: parameter.annotation})
    hint = get_type_hints(holder, vars(modules[function.__module__]), include_extras=True)[name]
    kind, *said = get_args(hint)
    return kind, next((one for one in said if isinstance(one, Flag | NoFlag)), None)


def _own(name: str, hint: Any, flag: Flag, default: Any) -> _Option:
    """Return the flag of a parameter that is the study's own."""
    names, required = ((flag.name,) if flag.name else ()), default is Parameter.empty
    kinds = [one for one in _members(hint) if one is not NoneType]
    inner = next((get_args(one)[0] for one in kinds if get_origin(one) is not None), None)
    if inner is not None:
        option = typer.Option(*names, help=flag.help, show_default=False)
        repeated: Any = Annotated[list[inner] | None, option]  # type: ignore[valid-type]
        return _Option({name: (repeated, None)}, lambda found: _sequence(name, found[name], required=required))
    kind: Any = Path if Path in kinds else kinds[0]
    option = typer.Option(*names, help=flag.help)
    single: Any = Annotated[kind | None if default is None else kind, option]
    return _Option({name: (single, ... if required else default)}, lambda found: {name: found[name]})


def _sequence(name: str, values: Sequence[Any] | None, *, required: bool) -> dict[str, Any]:
    return {name: tuple(values or ())} if values or required else {}


def _members(hint: Any) -> Sequence[Any]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


_COLUMNS = {
    "prompt_col": given.PromptCol,
    "candidate_col": given.CandidateCol,
    "score_col": given.ScoreCol,
    "label_col": given.LabelCol,
    "judge_col": given.JudgeCol,
}


def _plain(name: str, annotation: Any, default: Any = None) -> _Option:
    return _Option({name: (annotation, default)}, lambda found: {name: found[name]})


def _shape(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"shape": given.forced_shape(found["rectangular"], found["ragged"])}


def _columns(found: Mapping[str, Any]) -> dict[str, Any]:
    prompt, candidate, score, label, judge = (found[flag] for flag in _COLUMNS)
    return {"columns": given.columns(prompt, candidate, score, label, judge, None)}


_SHARED = {
    "labels": _plain(
        "labels", Annotated[Path | None, typer.Option(help="Oracle labels, joined on prompt and candidate.")]
    ),
    "oracle": _plain(
        "oracle", Annotated[str | None, typer.Option(help="judge:NAME takes a judge as the reference.")]
    ),
    "exclude": _Option(
        {
            "exclude": (
                Annotated[list[str] | None, typer.Option(help="Leave a candidate name out (repeatable).")],
                None,
            )
        },
        lambda found: {"exclude": given.names(found["exclude"])},
    ),
    "confidence": _plain("confidence", given.Confidence, 0.95),
    "seed": _plain("seed", given.Seed, 0),
    "shape": _Option(
        {
            "rectangular": (
                Annotated[bool, typer.Option("--rectangular", help="Every prompt must carry all names.")],
                False,
            ),
            "ragged": (Annotated[bool, typer.Option("--ragged", help="A shorter pool is a pool.")], False),
        },
        _shape,
    ),
}
"""Flags of parameters that several studies share, by the parameter."""

_LAST = {
    "columns": _Option(
        {name: (annotation, None) for name, annotation in _COLUMNS.items()},
        _columns,
    ),
    "judge_scale": _Option(
        {"judge_scale": (given.ScoreScales, None)},
        lambda found: {"judge_scale": given.scales(found["judge_scale"])},
    ),
    "label_scale": _Option(
        {"label_scale": (given.LabelScale, None)},
        lambda found: {"label_scale": None if found["label_scale"] is None else parse_scale(found["label_scale"])},
    ),
}
"""Those that stand behind where the results go."""
