"""``bonwise study``: studies that decide between judges, and ways of asking, and a command no signature can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bonwise.cli import arguments as given
from bonwise.cli import shared_flags
from bonwise.declared import declared
from bonwise.errors import UsageError
from bonwise.table import checks, reading_options

if TYPE_CHECKING:
    from bonwise.report.blocks import Said


@shared_flags.shared_flags(reading_options.NO_PROPENSITY)
def label_strategy(
    *,
    file: Annotated[Path, typer.Argument(help="Scores; with --verdict-col a file of verdicts.", show_default=False)],
    verdicts: Annotated[Path | None, typer.Option(help="Verdicts, of bonwise judge --pairs.")] = None,
    reading: shared_flags.Reading[reading_options.ReadingKeywords],
    pairwise: Annotated[str | None, typer.Option(help="Whose verdicts, where there are several judges'.")] = None,
    bins: Annotated[int | None, given.rare(help="Of quantised scores; 20 if not given.")] = None,
    edges: Annotated[
        int | None, given.rare(help="Pairs a prompt of the sparse comparison; as many as candidates if not given.")
    ] = None,
    drawn: Annotated[Path | None, typer.Option(help="Record of drawn pairs, which the verdicts are on.")] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Draw so many pairs to have judged, by gap; --out takes them (.jsonl).")
    ] = None,
    pools: Annotated[Path | None, typer.Option(help="The words of prompts and candidates, for --pairs.")] = None,
    judge: Annotated[str | None, given.rare(help="Whose scores --pairs goes by, where there are several.")] = None,
    gap_groups: Annotated[int | None, given.rare(help="Groups of gaps; 4 if not given.")] = None,
    verdict_col: Annotated[
        list[str] | None, typer.Option(help="Verdicts alone: their column; twice for two presentation orders.")
    ] = None,
    pair_col: Annotated[str | None, given.rare(help="Verdicts alone: what tells a prompt's pairs apart.")] = None,
    confidence: given.Confidence = checks.CONFIDENCE,
    seed: given.Seed = checks.SEED,
    output: shared_flags.TableOutput,
) -> int:
    """Compare ways of asking; what the help says is in the document of the study."""
    output.refuse_overwriting(file, verdicts, drawn, pools, *reading.paths())
    asked = {"bins": bins, "edges": edges, "gap_groups": gap_groups, "pairwise": pairwise, "drawn": drawn}
    drawing = {"pools": pools, "judge": judge}
    if verdict_col:
        said = dict(reading.values)
        prompt, label, judged_by = (said.pop(flag, None) for flag in ("--prompt-col", "--label-col", "--judge-col"))
        others = {**asked, **drawing, "verdicts": verdicts, "pairs": pairs, **said}
        given.refuse_flags(others, "has no say over verdicts alone")
        roles = {"prompt": prompt, "judge": judged_by, "pair": pair_col}
        return _verdicts(file, verdict_col, label, roles, confidence, output)
    given.refuse_flags({"pair_col": pair_col}, "is only for verdicts alone")
    opened = {"seed": seed, **reading.keywords()}
    if pairs is not None:
        others = {name: value for name, value in asked.items() if name != "gap_groups"}
        given.refuse_flags(
            {**others, "verdicts": verdicts, "oracle": opened.get("oracle"), "html": output.html},
            "has no say over a draw",
        )
        return _draw(file, pairs, drawing, {**opened, **_said({"gap_groups": gap_groups})}, output)
    given.refuse_flags(drawing, "is only for a draw of --pairs")
    return _strategies(file, verdicts, {**opened, **_said(asked), "confidence": confidence}, output)


def _strategies(
    file: Path, verdicts: Path | None, settings: Mapping[str, Any], output: shared_flags.TableOutput
) -> int:
    if verdicts is None:
        raise UsageError(
            "no verdicts on pairs to compare the scores with",
            hint="add --verdicts FILE of bonwise judge --pairs, draw pairs with --pairs N, or name --verdict-col",
        )
    from bonwise.studies.label_strategy.front import study_label_strategy

    output.deliver(study_label_strategy(file, verdicts=verdicts, **settings))
    return 0


def _verdicts(
    file: Path,
    verdicts: list[str],
    oracle: Sequence[str] | None,
    roles: Mapping[str, str | None],
    confidence: float,
    output: shared_flags.TableOutput,
) -> int:
    for flag, value in {"--label-col": oracle, "--prompt-col": roles["prompt"]}.items():
        if not value:
            raise UsageError(f"verdicts are studied with {flag}, and none was named", hint=f"add {flag} COLUMN")
    if oracle and len(oracle) > 1:
        raise UsageError("verdicts are studied with one --label-col", hint="name the column of the oracle's verdict")
    from bonwise.studies.label_strategy.front import study_verdicts

    named = {f"{role}_col": tuple(text.split(",")) if text else () for role, text in roles.items()}
    label = oracle[0] if oracle else ""
    output.deliver(study_verdicts(file, verdict_col=verdicts, label_col=label, confidence=confidence, **named))
    return 0


def _draw(
    file: Path, pairs: int, drawing: Mapping[str, Any], settings: Mapping[str, Any], output: shared_flags.TableOutput
) -> int:
    out = output.out
    if drawing["pools"] is None or out is None:
        name = "pools" if out is not None else "out"
        raise UsageError(f"pairs are drawn with --{name}, and none was given", hint=f"add --{name} FILE.jsonl")
    from bonwise.studies.label_strategy.pair_draw import draw_pairs

    draw = draw_pairs(file, pairs=pairs, pools=drawing["pools"], judge=drawing["judge"], **settings)
    record = draw.write(out)
    replace(output, out=None).deliver(draw, then=shared_flags.steps_next(_next(file, out, record, settings)))
    given.say(f"pairs in {out}, their record in {record}")
    return 0


def _next(file: Path, drawn: Path, record: Path, settings: Mapping[str, Any]) -> list[Said]:
    """Say what to type next: judge the pairs, then study what was said of them."""
    from bonwise.printable import shell_path
    from bonwise.report.blocks import Said

    options = {one.name: settings[one.name] for one in fields(reading_options.ReadingOptions) if one.name in settings}
    study = ["bonwise study label-strategy", shell_path(file), "--verdicts verdicts.csv"]
    study.append(f"--drawn {shell_path(record)}")
    if settings.get("labels") is not None:
        study.append(f"--labels {shell_path(settings['labels'])}")
    return [
        Said("command", f"bonwise judge {shell_path(drawn)} --judge pairwise:PROVIDER/MODEL --pairs verdicts.csv"),
        Said("command", " ".join([*study, *reading_options.ReadingOptions(**options).as_flags()])),
    ]


def _said(flags: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def app_for(arguments: Sequence[str] | None) -> typer.Typer:
    """Return the group with the study that `arguments` name, or with the names of all for the help."""
    app = typer.Typer(
        name="study",
        help="Study a judge further: recovery, ways of asking, calibration.",
        rich_markup_mode=None,
        no_args_is_help=True,
        # A group of one command would be that command.
        callback=_studies,
    )
    if arguments is None:
        return app
    from bonwise.studies.result import study_class, study_names

    names = study_names()
    declared_names = ((name, package, place) for package, name, (_, place) in declared("COMMANDS"))
    elsewhere = {name.removeprefix("study "): place for name, *place in declared_names if name.startswith("study ")}
    asked = next((argument for argument in arguments if argument != "--"), None)
    listed = [*sorted(names, key=lambda name: (study_class(name).place, name)), *sorted(elsewhere)]
    for name in [asked] if asked in listed else listed:
        if name in elsewhere:
            command = shared_flags.made_at(*elsewhere[name])
            app.command(name, help=command.__doc__)(command)
        else:
            app.command(name, help=study_class(name).about)(_command(name) if name == asked else _listed)
    return app


def _studies() -> None:
    """Do nothing: each study is a command."""


def _listed() -> int:
    raise AssertionError("a study that is only listed cannot run")


def _command(name: str) -> Callable[..., int]:
    if name == "label-strategy":
        return label_strategy
    from bonwise.studies.registration import study_of

    return shared_flags.command_of(study_of(name).command)
