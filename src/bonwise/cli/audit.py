"""``bonwise audit``: how good is a judge at picking the best candidate?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.audit_studies import further_studies
from bonwise.cli.summaries import errors_told, write_junit, write_markdown
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bonwise.auditing.result import Audit
    from bonwise.documented import DocumentedResult
    from bonwise.documents.audited.gate import Gate

__all__ = ["audit"]

NOT_MET, INCONCLUSIVE = 1, 3


def audit(
    file: Annotated[
        Path,
        typer.Argument(
            help="Scores (CSV, JSONL, Parquet, a folder of responses), or picks of bonwise select.",
            show_default=False,
        ),
    ],
    labels: Annotated[Path | None, typer.Option(help="Oracle labels, joined on prompt and candidate.")] = None,
    oracle: Annotated[str | None, typer.Option(help="judge:NAME takes a judge as the reference.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave a candidate name out (repeatable).")] = None,
    control: Annotated[
        list[str] | None, typer.Option(help="An easy candidate: report with and without (repeatable).")
    ] = None,
    target: Annotated[str, typer.Option(help="The decision: best-of-n or system.")] = "best-of-n",
    design: Annotated[
        str | None,
        typer.Option(help="How prompts were drawn for labelling: uniform, or the file of bonwise labels draw."),
    ] = None,
    interval: Annotated[str, typer.Option(help="default (jackknife, Fieller) or bootstrap.")] = "default",
    confidence: given.Confidence = 0.95,
    resamples: Annotated[int, typer.Option(help="Of the bootstrap.")] = 1000,
    seed: given.Seed = 0,
    fail_under: Annotated[list[str] | None, typer.Option(help="Gate METRIC=VALUE (repeatable).")] = None,
    threshold: Annotated[
        list[str] | None, typer.Option(help="Replace a threshold of the verdict, NAME=VALUE.")
    ] = None,
    rectangular: Annotated[bool, typer.Option("--rectangular", help="Every prompt must carry all names.")] = False,
    ragged: Annotated[bool, typer.Option("--ragged", help="A shorter pool is a pool.")] = False,
    as_picked: Annotated[
        bool, typer.Option("--as-picked", help="Of logged picks: what the seed drew, not its expectation.")
    ] = False,
    json: given.JsonTarget = None,
    html: given.HtmlTarget = None,
    pools: Annotated[
        Path | None, typer.Option(help="Pools (JSONL) with the words of prompts and candidates, for --html.")
    ] = None,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Study on the page what calibrating the scores would change.")
    ] = False,
    verdicts: Annotated[
        Path | None,
        typer.Option(help="Verdicts on pairs (judge --pairs): study on the page how else to ask the judge."),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(help="Write a summary in Markdown here, - for stdout; appended to $GITHUB_STEP_SUMMARY if set."),
    ] = None,
    junit: Annotated[str | None, typer.Option(help="Write the gates as JUnit XML here; - for stdout.")] = None,
    per_prompt: Annotated[
        Path | None, typer.Option(help="Write one row per prompt here (CSV or JSONL), the worst first.")
    ] = None,
    prompt_col: given.PromptCol = None,
    candidate_col: given.CandidateCol = None,
    score_col: given.ScoreCol = None,
    label_col: given.LabelCol = None,
    judge_col: given.JudgeCol = None,
    propensity_col: given.PropensityCol = None,
    judge_scale: given.ScoreScales = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Audit a judge, or logged picks, against oracle labels.

    Prints figures with intervals, a verdict and the gates.

    Exit codes: 0 every gate met, 1 a gate not met, 2 bad input, 3 inconclusive.
    """
    record = None if design in (None, "uniform") else Path(design)
    all_prompts = _all_prompts_file(html)
    read, written = (file, labels, record, pools, verdicts), (json, per_prompt, html, all_prompts)
    with errors_told(file, markdown=markdown, junit=junit, others=(*read, *written)):
        shape = given.forced_shape(rectangular, ragged)
        _refuse_without("--html", html, {"--pools": pools, "--calibration": calibration, "--verdicts": verdicts})
        _refuse_without("--fail-under", fail_under, {"--junit": junit})
        _refuse_two_for_one({"--json": json, "--markdown": markdown, "--junit": junit})
        given.refuse_overwriting(read, (*written, markdown, junit))
        given.refuse_lost((json, per_prompt, markdown, junit))
        from bonwise.auditing.audit import audit as run
        from bonwise.data.scales import parse_scale

        found = run(
            file,
            labels=labels,
            oracle=oracle,
            exclude=given.names(exclude),
            control=given.names(control),
            target=target,  # type: ignore[arg-type]  # checked by the audit, with its own message
            interval=interval,  # type: ignore[arg-type]
            confidence=confidence,
            resamples=resamples,
            seed=seed,
            shape=shape,
            thresholds=given.numbers(threshold, "--threshold"),
            columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, propensity_col),
            judge_scale=given.scales(judge_scale),
            label_scale=None if label_scale is None else parse_scale(label_scale),
            as_picked=as_picked,
            design=design,
        )
        values = given.numbers(fail_under, "--fail-under")
        gates = found.check(values)
        if html is not None:
            also = further_studies(found, calibration=calibration, verdicts=verdicts, pools=pools)
            _write_page(found, html, pools=pools, gates=values, also=also)
        _deliver(found, gates, json=json, per_prompt=per_prompt, markdown=markdown, junit=junit)
    return _exit_code(gates)


def _all_prompts_file(html: Path | None) -> Path | None:
    from bonwise.auditing.exhibits.all_prompts_file import all_prompts_file

    return None if html is None else all_prompts_file(html)


def _write_page(
    found: Audit, html: Path, *, pools: Path | None, gates: Mapping[str, float], also: Sequence[DocumentedResult]
) -> None:
    """Write the page, and say where the prompts are that it cannot show: nobody named that file."""
    from bonwise.auditing.exhibits.page import write_page

    all_prompts = write_page(found, html, pools=pools, gates=gates, also=also)
    if all_prompts is not None:
        given.say(f"{html} shows the prompts that lost most; all prompts are in {all_prompts}")


def _refuse_without(flag: str, given_there: object, others: Mapping[str, object]) -> None:
    """Refuse flags that would be passed over without another one."""
    for name, value in others.items():
        if value and not given_there:
            raise UsageError(
                f"{name} without {flag}", hint=f"it only matters with {flag}: add it, or leave {name} out"
            )


def _refuse_two_for_one(targets: Mapping[str, str | None]) -> None:
    """Refuse two documents on standard output, which no program could take apart."""
    there = [flag for flag, target in targets.items() if target == "-"]
    if len(there) > 1:
        raise UsageError(f"{there[0]} - and {there[1]} - both take standard output", hint="write one to a file")


def _deliver(
    found: Audit,
    gates: Sequence[Gate],
    *,
    json: str | None,
    per_prompt: Path | None,
    markdown: str | None,
    junit: str | None,
) -> None:
    document = found.document(gates)
    if per_prompt is not None:
        _write_per_prompt(found, per_prompt)
    if junit is not None:
        write_junit(document, junit)
    if markdown is not None:
        write_markdown(document, markdown)
    given.deliver(document, json, aside="-" in (markdown, junit))


def _write_per_prompt(found: Audit, path: Path) -> None:
    from bonwise.data.writing import csv_frame, write_whole

    rows = found.per_prompt()
    write_whole(path, rows.to_json(orient="records", lines=True) if path.suffix == ".jsonl" else csv_frame(rows))


def _exit_code(gates: Sequence[Gate]) -> int:
    states = {gate.state for gate in gates}
    return NOT_MET if "not met" in states else INCONCLUSIVE if "inconclusive" in states else 0
