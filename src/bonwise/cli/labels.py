"""``bonwise labels``: which prompts to label, and what a way of choosing them would have saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NO_PROPENSITY, JsonOutput, Reading, shared_flags
from bonwise.data.checks import CONFIDENCE, SEED
from bonwise.data.reading_options import PoolKeywords
from bonwise.errors import UsageError
from bonwise.printable import printable, shell_path, shell_word

if TYPE_CHECKING:
    from bonwise.planning.sampling.label_draw import LabelDraw

__all__ = ["app"]

app = typer.Typer(name="labels", help="Choose which prompts to label.", rich_markup_mode=None)

Scores = Annotated[Path, typer.Argument(help="Scores: CSV, JSONL, Parquet or a folder.", show_default=False)]
JudgeName = Annotated[str | None, typer.Option("--judge", help="The audited judge, where the file holds several.")]
LabelFile = Annotated[Path | None, typer.Option("--label-file", help="Labels, joined on prompt and candidate.")]


@app.command("draw")
@shared_flags(NO_PROPENSITY)
def draw(
    *,
    file: Scores,
    labels: Annotated[
        int,
        typer.Option(
            help="Prompts to label, each with all its candidates; of pick, pair and --by cell, candidates. With "
            "--after in all.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Write the design here (CSV), for bonwise audit.", show_default=False)],
    design: Annotated[
        str | None,
        typer.Option(help="rule (the default), uniform, stratified, neyman; pick or pair for single candidates."),
    ] = None,
    judge: JudgeName = None,
    seed: given.Seed = SEED,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a label sheet (CSV) here, with the labels of earlier phases.")
    ] = None,
    after: Annotated[Path | None, typer.Option(help="An earlier draw, to be topped up.")] = None,
    label_file: LabelFile = None,
    by: Annotated[
        str | None, typer.Option("--by", help="prompt (the default), or cell: single candidates beside whole pools.")
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", help="With --by cell: recovery (the default, from 8 candidates per prompt) or gain."),
    ] = None,
    reading: Reading[PoolKeywords],
    output: JsonOutput,
) -> int:
    """Draw what to label, with the probability of each.

    It looks at what labels say only where an earlier draw is continued.
    """
    _refuse_dash(out=out, sheet=sheet)
    from bonwise.data.label_design import DESIGN_HEADER
    from bonwise.data.own_files import SHEET

    output.refuse_overwriting(file, after, label_file, also=(out, sheet), headers=[DESIGN_HEADER, SHEET])
    from bonwise.data.reading_options import ReadingOptions
    from bonwise.planning.sampling.label_draw import draw_labels
    from bonwise.report.blocks import Said

    keywords = reading.keywords()
    found = draw_labels(
        file,
        labels=labels,
        design=design,
        judge=judge,
        seed=seed,
        after=after,
        label_file=label_file,
        texts=sheet is not None,
        by=by,
        for_=for_,
        **keywords,
    )
    found.write(out, sheet=sheet)
    options = ReadingOptions.of(draw_labels, keywords)
    if sheet is not None and not found.settings.labels_in_table:
        options = options.without_label_column()  # the sheet names its own column of labels
    when, command = _next(found, file, out, sheet, options.as_flags())
    then = (Said("note", f"Next, {printable(when, longest=1000)}:"), Said("command", command))
    output.deliver(found.document(), then=then)
    return 0


@app.command("compare")
@shared_flags(NO_PROPENSITY)
def compare(
    *,
    file: Scores,
    share: Annotated[
        list[float] | None, typer.Option("--share", help="Part of the prompts to label (repeatable).")
    ] = None,
    judge: JudgeName = None,
    draws: Annotated[int, typer.Option(help="Repeated draws of each design.")] = 200,
    seed: given.Seed = SEED,
    label_file: LabelFile = None,
    reading: Reading[PoolKeywords],
    confidence: given.Confidence = CONFIDENCE,
    output: JsonOutput,
) -> int:
    """Compare label designs on a completely labelled file.

    Prints how much recovery would vary under each design.
    """
    output.refuse_overwriting(file, label_file)
    from bonwise.planning.sampling.design_comparison import SHARES, compare_designs

    document = compare_designs(
        file,
        shares=tuple(share) if share else SHARES,
        judge=judge,
        draws=draws,
        seed=seed,
        label_file=label_file,
        confidence=confidence,
        **reading.keywords(),
    ).document()
    output.deliver(document)
    return 0


def _refuse_dash(**outputs: Path | None) -> None:
    for name, path in outputs.items():
        if str(path) == "-":
            raise UsageError(
                f"--{name} is a file to be read again, not standard output", hint=f"such as --{name} {name}.csv"
            )


def _next(found: LabelDraw, file: Path, out: Path, sheet: Path | None, flags: list[str]) -> tuple[str, str]:
    """Return when, and the command that reads the design back, or of a pilot the one that draws the rest."""
    settings = found.settings
    filled = sheet or Path(settings.label_file or "labels.csv")
    if settings.labels_in_table:
        when = f"after you have added the labels to {file}"
    elif sheet is None and settings.phase > 1:
        when = f"after you have put the labels of all phases into {filled}"
    else:
        when = f"after you have filled in {filled}"
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
