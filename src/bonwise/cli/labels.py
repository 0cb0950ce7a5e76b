"""``bonwise labels``: which prompts to label, and what a way of choosing them would have saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from bonwise.cli import arguments as given
from bonwise.cli import shared_flags
from bonwise.errors import UsageError
from bonwise.labels.front import COMPARE, draw_labels
from bonwise.printable import printable, shell_path, shell_word
from bonwise.table import reading_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bonwise.labels.result import LabelDraw
    from bonwise.report.blocks import Said

app = typer.Typer(name="labels", help="Choose which prompts to label.", rich_markup_mode=None)

_EXAMPLE = "bonwise labels draw scores.csv --labels 100 --out design.csv"


@app.command("draw")
@shared_flags.shared_flags(reading_options.NO_PROPENSITY, of=draw_labels)
def draw(
    *,
    call: shared_flags.TypedCall,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Scores: CSV, JSONL, Parquet or a folder. With --pools alone none are needed.", show_default=False
        ),
    ] = None,
    labels: Annotated[
        int | None,
        typer.Option(
            help="Prompts to label, each with all its candidates; of pick, pair and --by cell, candidates. With "
            "--after in all. Without scores all prompts, where nothing is said.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the design here (CSV), for bonwise audit; needed with scores.", show_default=False),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            help="Write a label sheet here, with the labels of earlier phases: .csv, .html (a page to label on) or "
            ".json (Label Studio)."
        ),
    ] = None,
    output: shared_flags.Output,
) -> int:
    """Draw what to label, with the probability of each.

    It looks at what labels say only where an earlier draw is continued.
    """
    pools, after, label_file = (call.values[name] for name in ("pools", "after", "label_file"))
    if file is None:
        named = ("design", "judge", "after", "label_file", "by", "for_")
        asked = {f"--{name.rstrip('_').replace('_', '-')}": call.values[name] for name in named}
        _refuse_without_scores(pools, sheet, {"--out": out, **asked}, call.reading)
    _refuse_dash(out=out, sheet=sheet)
    _refuse_overwriting(output, (file, after, label_file, pools), out, sheet)
    if file is None:
        drawn_from, written = cast("Path", pools), cast("Path", sheet)
        return _draw_of_pools(drawn_from, written, labels, call.values["seed"], call.reading, output)
    if labels is None or out is None:
        flag, why = ("--labels", "how many") if labels is None else ("--out", "where the design goes")
        raise UsageError(f"a draw from scores needs {flag}", hint=f"say {why}, such as {_EXAMPLE}")

    found = call.run(source=file, labels=labels, texts=sheet is not None)
    found.write(out, sheet=sheet)
    options = reading_options.ReadingOptions.of(draw_labels, call.reading.keywords())
    if sheet is not None and not found.settings.labels_in_table:
        options = options.without_label_column()  # the sheet names its own column of labels
    output.deliver(found, then=_then(*_next(found, file, out, sheet, options.as_flags())))
    return 0


app.command("compare", help=COMPARE.help)(shared_flags.command_of(COMPARE))


def _draw_of_pools(
    pools: Path,
    sheet: Path,
    labels: int | None,
    seed: int,
    reading: shared_flags.Reading[reading_options.PoolKeywords],
    output: shared_flags.Output,
) -> int:
    """Write a sheet of pools that have no scores yet."""
    from bonwise.labels.blind_sheet import sheet_of_pools

    said = reading.keywords()
    scale = said.get("label_scale")
    pool_sheet = sheet_of_pools(pools, labels=labels, seed=seed, exclude=said.get("exclude", ()), label_scale=scale)
    pool_sheet.write(sheet)
    when, filled = _filled(sheet)
    words = ["bonwise audit SCORES.csv --labels", shell_path(filled), "" if pool_sheet.of_all else "--design uniform"]
    if scale is not None:
        words.append(f"--label-scale {shell_word(str(scale))}")
    output.deliver(pool_sheet, then=_then(when, " ".join(filter(None, words))))
    return 0


def _refuse_without_scores(
    pools: Path | None,
    sheet: Path | None,
    flags: Mapping[str, object],
    reading: shared_flags.Reading[reading_options.PoolKeywords],
) -> None:
    """Refuse what a sheet of pools cannot do."""
    if pools is None or sheet is None:
        raise UsageError(
            "neither scores to draw from, nor --pools and --sheet for a sheet of pools",
            hint=f"such as {_EXAMPLE}, or bonwise labels draw --pools pools.jsonl --sheet sheet.html",
        )
    meant = {name: value for name, value in flags.items() if value is not None}
    meant |= {name: value for name, value in reading.values.items() if name not in ("--exclude", "--label-scale")}
    if meant:
        raise UsageError(
            f"{next(iter(meant))} needs scores, and none were given",
            hint="name the file of scores first; without scores, prompts are drawn uniformly at random",
        )


def _refuse_overwriting(
    output: shared_flags.Output, inputs: Sequence[Path | None], out: Path | None, sheet: Path | None
) -> None:
    from bonwise.table import label_design, writing

    output.refuse_overwriting(*inputs, also=(out,), headers=[label_design.DESIGN_HEADER])
    targets = (*output.targets.values(), out)
    files = (sheet, sheet.with_suffix(".xml") if sheet is not None and sheet.suffix.lower() == ".json" else None)
    given.refuse_overwriting(
        (*inputs, *targets), files, headers=[writing.SHEET, writing.BLIND_SHEET], force=output.force
    )


def _then(when: str, command: str) -> tuple[Said, ...]:
    from bonwise.report.blocks import Said

    return Said("note", f"Next, {printable(when, longest=1000)}:"), Said("command", command)


def _filled(sheet: Path) -> tuple[str, Path]:
    """Return when a sheet is filled in, and the file that then holds the labels."""
    kind = sheet.suffix.lower()
    exported = sheet.with_name(f"{sheet.stem}-labels{'.json' if kind == '.json' else '.csv'}")
    if kind in (".html", ".htm"):
        return f"after you have labelled on {sheet} in a browser and exported {exported.name}", exported
    if kind == ".json":
        interface = sheet.with_suffix(".xml")
        when = (
            f"after you have imported {sheet} into Label Studio, with {interface} as the labeling interface, and "
            f"exported JSON as {exported.name}"
        )
        return when, exported
    return f"after you have filled in {sheet}", sheet


def _refuse_dash(**outputs: Path | None) -> None:
    for name, path in outputs.items():
        if str(path) == "-":
            raise UsageError(
                f"--{name} is a file to be read again, not standard output", hint=f"such as --{name} {name}.csv"
            )


def _next(found: LabelDraw, file: Path, out: Path, sheet: Path | None, flags: list[str]) -> tuple[str, str]:
    """Return when, and the command that reads the design back, or of a pilot the one that draws the rest."""
    settings = found.settings
    filled = Path(settings.label_file or "labels.csv")
    when = f"after you have filled in {filled}"
    if sheet is not None:
        when, filled = _filled(sheet)
    if settings.labels_in_table:
        when = f"after you have added the labels to {file}"
    elif sheet is None and settings.phase > 1:
        when = f"after you have put the labels of all phases into {filled}"
    inside = settings.labels_in_table
    if settings.design == "neyman" and settings.phase == 1:
        labels = "" if inside else f"--label-file {shell_path(filled)}"
        words = ["bonwise labels draw", shell_path(file), *_of_the_rest(found, out, sheet, labels)]
    else:
        labels = "" if inside else f"--labels {shell_path(filled)}"
        words = ["bonwise audit", shell_path(file), labels, f"--design {shell_path(out)}"]
    return when, " ".join([*filter(None, words), *flags])


def _of_the_rest(found: LabelDraw, out: Path, sheet: Path | None, labels: str) -> list[str]:
    settings = found.settings
    judge = f"--judge {shell_word(settings.judge)}" if settings.further_judges else ""
    return [
        f"--labels {settings.labels} --design neyman --seed {settings.seed}",
        judge,
        f"--after {shell_path(out)}",
        labels,
        f"--out {shell_path(out.with_name(f'more-{out.name}'))}",
        "" if sheet is None else f"--sheet {shell_path(sheet.with_name(f'more-{sheet.name}'))}",
    ]
