"""``bonwise preferences``: a study of votes, or an audit of verdicts against labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import JsonOutput, shared_flags
from bonwise.errors import UsageError
from bonwise.table.checks import CONFIDENCE
from bonwise.table.verdict_words import parse_verdict_map

__all__ = ["preferences"]


@shared_flags()
def preferences(
    *,
    file: Annotated[Path, typer.Argument(help="Votes or verdicts: CSV, JSONL or Parquet.", show_default=False)],
    verdict_col: Annotated[
        list[str] | None,
        typer.Option(help="Column of the verdict; twice for two presentation orders.", show_default=False),
    ] = None,
    label_col: Annotated[str | None, typer.Option(help="Column of the oracle's verdict, in LABELS if given.")] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Votes of people on the same pairs, joined by prompt and sides.", show_default=False),
    ] = None,
    prompt_col: Annotated[
        str | None, typer.Option(help="Column of the pair's prompt; a,b joins columns, here and below.")
    ] = None,
    judge_col: Annotated[str | None, typer.Option(help="Column of the judge's name.")] = None,
    context_col: Annotated[str | None, typer.Option(help="Column of the context.")] = None,
    pair_col: Annotated[
        str | None,
        typer.Option(
            help="The two columns of the sides, then what tells a prompt's pairs apart; with --label-col only that."
        ),
    ] = None,
    verdict_map: Annotated[
        str | None,
        typer.Option(help="What verdicts say, such as 1=first,0=second (first, second, tie or none)."),
    ] = None,
    ties: Annotated[
        str | None,
        typer.Option(help="How ties among votes count: drop, half, or pessimistic (for the second model)."),
    ] = None,
    near_tie: Annotated[float | None, typer.Option(help="Largest margin of a near tie; 0.1 if not given.")] = None,
    power: Annotated[float | None, typer.Option(help="Of the votes to plan for; 0.9 if not given.")] = None,
    fewest_votes: Annotated[
        int | None, typer.Option(help="Pairs with fewer votes are left out; 10 if not given.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of resampled pairs and permutations; 0 if not given.")] = None,
    confidence: given.Confidence = CONFIDENCE,
    output: JsonOutput,
) -> int:
    """Study votes, or audit pairwise verdicts.

    Of votes it prints margins, near ties and the votes needed. With --labels or --label-col it audits verdicts
    against labels. Columns that are not named are found, and the page says how the file was read.
    """
    output.refuse_overwriting(file, labels)
    of_votes = {"ties": ties, "near_tie": near_tie, "power": power, "fewest_votes": fewest_votes, "seed": seed}
    asked = {name: value for name, value in of_votes.items() if value is not None}
    verdicts, meaning = tuple(verdict_col or ()), None if verdict_map is None else parse_verdict_map(verdict_map)
    if label_col is None and labels is None:
        _refuse(
            "is only for verdicts compared with labels",
            "name the labels with --labels or --label-col, or leave it out",
            {"--judge-col": judge_col, "--context-col": context_col},
        )
        votes = {"pair_col": _columns(pair_col), "prompt_col": _columns(prompt_col), "verdict_map": meaning}
        return _votes(file, verdicts, {**votes, **asked, "confidence": confidence}, output)
    _refuse(
        "is only for votes without labels",
        "leave it out, or leave out the labels",
        {f"--{name.replace('_', '-')}": value for name, value in of_votes.items()},
    )
    named = {"prompt": prompt_col, "pair": pair_col, "judge": judge_col, "context": context_col}
    roles = {role: _columns(text) or () for role, text in named.items()}
    from bonwise.votes.preferences import audit_preferences

    result = audit_preferences(
        file,
        verdicts=verdicts,
        oracle=label_col,
        labels=labels,
        verdict_map=meaning,
        confidence=confidence,
        **roles,
    )
    output.deliver(result)
    return 0


def _votes(file: Path, verdicts: tuple[str, ...], settings: Mapping[str, Any], output: JsonOutput) -> int:
    """Study the votes themselves."""
    if len(verdicts) > 1:
        raise UsageError(
            "a vote has one verdict, and several columns were named",
            hint="give --verdict-col once; two presentation orders are audited with --label-col or --labels",
        )
    from bonwise.votes.front import study_preferences

    output.deliver(study_preferences(file, verdict_col=next(iter(verdicts), None), **settings))
    return 0


def _columns(text: str | None) -> tuple[str, ...] | None:
    """Return the columns that a flag names; none where it is empty, None where it was not given."""
    return None if text is None else tuple(text.split(",")) if text else ()


def _refuse(message: str, hint: str, flags: Mapping[str, object]) -> None:
    """Refuse a flag that would be passed over."""
    for flag, value in flags.items():
        if value is not None:
            raise UsageError(f"{flag} {message}", hint=hint)
