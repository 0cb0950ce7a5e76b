"""``bonwise preferences``: votes studied as they are, or pairwise verdicts compared with oracle preferences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import JsonOutput, shared_flags
from bonwise.data.checks import CONFIDENCE
from bonwise.errors import UsageError

__all__ = ["preferences"]


@shared_flags()
def preferences(
    *,
    file: Annotated[Path, typer.Argument(help="Votes or verdicts: CSV, JSONL or Parquet.", show_default=False)],
    verdict_col: Annotated[
        list[str],
        typer.Option(help="Column of the verdict; twice for two presentation orders.", show_default=False),
    ],
    label_col: Annotated[
        str | None, typer.Option(help="Column of the oracle's verdict; without it the votes themselves are studied.")
    ] = None,
    prompt_col: Annotated[
        str | None, typer.Option(help="Column of the pair's prompt; a,b joins columns, here and below.")
    ] = None,
    judge_col: Annotated[str | None, typer.Option(help="Column of the judge's name.")] = None,
    context_col: Annotated[str | None, typer.Option(help="Column of the context.")] = None,
    pair_col: Annotated[
        str | None,
        typer.Option(help="Of votes: the two columns of the models. With labels: what tells a prompt's pairs apart."),
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

    Of votes it prints margins, near ties and the votes needed. With --label-col it audits verdicts against labels.
    """
    output.refuse_overwriting(file)
    of_votes = {"ties": ties, "near_tie": near_tie, "power": power, "fewest_votes": fewest_votes, "seed": seed}
    asked = {name: value for name, value in of_votes.items() if value is not None}
    prompt, pair = _columns(prompt_col), _columns(pair_col)
    if label_col is None:
        _refuse(
            "is only for verdicts compared with labels",
            "name the labels with --label-col, or leave it out",
            {"--judge-col": judge_col, "--context-col": context_col},
        )
        return _votes(file, verdict_col, pair, prompt, {**asked, "confidence": confidence}, output)
    _refuse(
        "is only for votes without labels",
        "leave it out, or leave out --label-col",
        {f"--{name.replace('_', '-')}": value for name, value in of_votes.items()},
    )
    roles = {"prompt": prompt, "pair": pair, "judge": _columns(judge_col), "context": _columns(context_col)}
    return _verdicts(file, verdict_col, label_col, roles, confidence, output)


def _verdicts(
    file: Path,
    verdicts: list[str],
    oracle: str,
    roles: Mapping[str, tuple[str, ...]],
    confidence: float,
    output: JsonOutput,
) -> int:
    """Audit verdicts against the oracle's."""
    if not roles["prompt"]:
        raise UsageError("verdicts are audited by prompt, and none was named", hint="add --prompt-col COLUMN")
    from bonwise.auditing.preferences import audit_preferences

    found = audit_preferences(file, verdicts=verdicts, oracle=oracle, confidence=confidence, **roles)
    output.deliver(found.document())
    return 0


def _votes(
    file: Path,
    verdicts: list[str],
    pair: tuple[str, ...],
    prompt: tuple[str, ...],
    settings: Mapping[str, Any],
    output: JsonOutput,
) -> int:
    """Study the votes themselves."""
    if not pair:
        raise UsageError(
            "votes are studied by pair of models, and none was named",
            hint="name the models with --pair-col model_a,model_b, or an oracle's verdict with --label-col",
        )
    if len(verdicts) != 1:
        raise UsageError(
            "a vote has one verdict, and several columns were named",
            hint="give --verdict-col once; two presentation orders are audited with --label-col",
        )
    from bonwise.planning.studies.preference_study import study_preferences

    document = study_preferences(
        file, verdict_col=verdicts[0], pair_col=pair, prompt_col=prompt, **settings
    ).document()
    output.deliver(document)
    return 0


def _columns(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _refuse(message: str, hint: str, flags: Mapping[str, object]) -> None:
    """Refuse a flag that would be passed over."""
    for flag, value in flags.items():
        if value is not None:
            raise UsageError(f"{flag} {message}", hint=hint)
