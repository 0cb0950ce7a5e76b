"""``bonwise labels``: which prompts to label, and what a way of choosing them would have saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.data.panel import Shape
    from bonwise.planning.drawing.label_draw import LabelDraw

__all__ = ["app"]

app = typer.Typer(name="labels", help="Choose the prompts to label, and record how.", rich_markup_mode=None)

Scores = Annotated[Path, typer.Argument(help="Scores: CSV, JSONL, Parquet or a folder.", show_default=False)]
JudgeName = Annotated[str | None, typer.Option("--judge", help="The audited judge, where the file holds several.")]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", help="Leave a candidate name out (repeatable).")]
Rectangular = Annotated[bool, typer.Option("--rectangular", help="Every prompt must carry all names.")]
Ragged = Annotated[bool, typer.Option("--ragged", help="A shorter pool is a pool.")]
LabelFile = Annotated[Path | None, typer.Option("--label-file", help="Labels, joined on prompt and candidate.")]


@app.command("draw")
def draw(
    file: Scores,
    labels: Annotated[
        int,
        typer.Option(
            help="Prompts to label, each with all its candidates; of pick and pair, candidates. With --after in all.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Write the design here (CSV), for bonwise audit.", show_default=False)],
    design: Annotated[
        str | None,
        typer.Option(help="rule (the default), uniform, stratified, neyman; pick or pair for single candidates."),
    ] = None,
    judge: JudgeName = None,
    seed: given.Seed = 0,
    sheet: Annotated[Path | None, typer.Option(help="Write an empty label sheet (CSV) here.")] = None,
    after: Annotated[Path | None, typer.Option(help="An earlier draw, to be topped up.")] = None,
    label_file: LabelFile = None,
    exclude: Exclude = None,
    rectangular: Rectangular = False,
    ragged: Ragged = False,
    json: given.JsonTarget = None,
    prompt_col: given.PromptCol = None,
    candidate_col: given.CandidateCol = None,
    score_col: given.ScoreCol = None,
    label_col: given.LabelCol = None,
    judge_col: given.JudgeCol = None,
    judge_scale: given.ScoreScales = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Draw the prompts to label, with the probability of each; labels are looked at after an earlier draw only."""
    shape = _shape(rectangular, ragged)
    given.refuse_overwriting((file, after, label_file), (out, sheet, json))
    from bonwise.data.scales import parse_scale
    from bonwise.planning.drawing.label_draw import draw_labels
    from bonwise.report.labels_text import draw_parts

    found = draw_labels(
        file,
        labels=labels,
        design=design,
        judge=judge,
        seed=seed,
        after=after,
        label_file=label_file,
        exclude=given.names(exclude),
        shape=shape,
        columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, None),
        judge_scale=given.scales(judge_scale),
        label_scale=None if label_scale is None else parse_scale(label_scale),
        texts=sheet is not None,
    )
    found.write(out)
    if sheet is not None:
        found.write_sheet(sheet)
    document = found.to_dict()
    given.deliver(draw_parts(document, _next(found, file, out, sheet, label_file)), document, json)
    return 0


@app.command("compare")
def compare(
    file: Scores,
    share: Annotated[
        list[float] | None, typer.Option("--share", help="Part of the prompts to label (repeatable).")
    ] = None,
    judge: JudgeName = None,
    draws: Annotated[int, typer.Option(help="Repeated draws of each design.")] = 200,
    seed: given.Seed = 0,
    label_file: LabelFile = None,
    exclude: Exclude = None,
    rectangular: Rectangular = False,
    ragged: Ragged = False,
    confidence: given.Confidence = 0.95,
    json: given.JsonTarget = None,
    prompt_col: given.PromptCol = None,
    candidate_col: given.CandidateCol = None,
    score_col: given.ScoreCol = None,
    label_col: given.LabelCol = None,
    judge_col: given.JudgeCol = None,
    judge_scale: given.ScoreScales = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Compare label designs on a completely labelled file: how much each would make recovery vary."""
    shape = _shape(rectangular, ragged)
    given.refuse_overwriting((file, label_file), (json,))
    from bonwise.data.scales import parse_scale
    from bonwise.planning.drawing.design_comparison import SHARES, compare_designs
    from bonwise.report.labels_text import comparison_parts

    document = compare_designs(
        file,
        shares=tuple(share) if share else SHARES,
        judge=judge,
        draws=draws,
        seed=seed,
        labels=label_file,
        exclude=given.names(exclude),
        shape=shape,
        columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, None),
        judge_scale=given.scales(judge_scale),
        label_scale=None if label_scale is None else parse_scale(label_scale),
        confidence=confidence,
    ).to_dict()
    given.deliver(comparison_parts(document), document, json)
    return 0


def _shape(rectangular: bool, ragged: bool) -> Shape | None:
    if rectangular and ragged:
        raise UsageError("--rectangular and --ragged contradict each other", hint="give one of them")
    return "rectangular" if rectangular else "ragged" if ragged else None


def _next(found: LabelDraw, file: Path, out: Path, sheet: Path | None, label_file: Path | None) -> str:
    """Return the command that reads the design back, or of a pilot the one that draws the rest."""
    from bonwise.printable import shell_path, shell_word

    settings = found.settings
    filled = shell_path(label_file or sheet or "labels.csv")
    inside = settings["labels_in_table"]
    left_out = "".join(f" --exclude {shell_word(name)}" for name in settings["exclude"])
    if settings["design"] == "neyman" and settings["phase"] == 1:
        judge = f" --judge {shell_word(settings['judge'])}" if settings["further_judges"] else ""
        return (
            f"bonwise labels draw {shell_path(file)} --labels {settings['labels']} --design neyman{judge}{left_out} "
            f"--after {shell_path(out)}{'' if inside else f' --label-file {filled}'} "
            f"--out {shell_path(out.with_name(f'more-{out.name}'))}"
        )
    given_labels = "" if inside else f" --labels {filled}"
    return f"bonwise audit {shell_path(file)}{given_labels} --design {shell_path(out)}{left_out}"
