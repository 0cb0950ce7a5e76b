"""``bonwise audit``: how good is a judge at picking the best candidate?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.audit_studies import further_studies
from bonwise.cli.several_files import over_several_files
from bonwise.cli.shared_flags import Output, Reading, shared_flags
from bonwise.cli.summaries import errors_told, write_junit, write_markdown
from bonwise.data.checks import CONFIDENCE, SEED
from bonwise.data.reading_options import ReadingKeywords
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bonwise.auditing.result import Audit
    from bonwise.documented import DocumentedResult
    from bonwise.documents.audited.gate import Gate
    from bonwise.report.blocks import Said

__all__ = ["audit"]

NOT_MET, INCONCLUSIVE = 1, 3

TARGET, INTERVAL, RESAMPLES = "best-of-n", "default", 1000


@over_several_files("Scores (CSV, JSONL, Parquet, a folder of responses), or picks of bonwise select; one or more.")
@shared_flags()
def audit(
    *,
    file: Path,
    reading: Reading[ReadingKeywords],
    control: Annotated[
        list[str] | None, typer.Option(help="An easy candidate: report with and without (repeatable).")
    ] = None,
    keep_easy: Annotated[
        list[str] | None, typer.Option(help="An easy candidate that counts like any other (repeatable).")
    ] = None,
    target: Annotated[str, typer.Option(help="The decision: best-of-n or system.")] = TARGET,
    design: Annotated[
        str | None,
        typer.Option(
            help="How labels were drawn: uniform (prompts), cells or cells-by-score (candidates), or the file of "
            "bonwise labels draw."
        ),
    ] = None,
    interval: Annotated[str, typer.Option(help="default (jackknife, Fieller) or bootstrap.")] = INTERVAL,
    confidence: given.Confidence = CONFIDENCE,
    resamples: Annotated[int, typer.Option(help="Of the bootstrap.")] = RESAMPLES,
    seed: given.Seed = SEED,
    fail_under: Annotated[list[str] | None, typer.Option(help="Gate METRIC=VALUE (repeatable).")] = None,
    threshold: Annotated[
        list[str] | None, typer.Option(help="Replace a threshold of the verdict, NAME=VALUE.")
    ] = None,
    as_picked: Annotated[
        bool, typer.Option("--as-picked", help="Of logged picks: what the seed drew, not its expectation.")
    ] = False,
    output: Output,
    pools: Annotated[
        Path | None,
        typer.Option(help="Pools (JSONL) with the texts of candidates: their lengths, and the words for --html."),
    ] = None,
    judge_family: Annotated[
        list[str] | None,
        typer.Option(help="Model family of the judge, NAME or JUDGE=NAME (repeatable), for its own against others."),
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
    full: Annotated[
        bool, typer.Option("--full", help="Print every metric and what the verdict rests on, not the short form.")
    ] = False,
) -> int:
    """Audit a judge, or logged picks, against oracle labels.

    Prints a verdict, three figures with intervals, the gates, and what to do next.

    Exit codes: 0 every gate met, 1 a gate not met, 2 bad input, 3 inconclusive; of several files the gravest, in the
    order 2, 1, 3, 0.
    """
    record = None if design in (None, "uniform", "cells", "cells-by-score") else Path(design)
    html = output.html
    read = (file, *reading.paths(), record, pools, verdicts)
    written, beside = (output.json, per_prompt, html), _all_prompts_file(html)
    with errors_told(file, markdown=markdown, junit=junit, others=(*read, *written, beside)):
        _refuse_without("--html", output.html, {"--calibration": calibration, "--verdicts": verdicts})
        _refuse_without("--fail-under", fail_under, {"--junit": junit})
        _refuse_two_for_one({"--json": output.json, "--markdown": markdown, "--junit": junit})
        from bonwise.auditing.per_prompt import ROW_HEADER

        given.refuse_overwriting(
            (*read, beside), (*written, markdown, junit), headers=[ROW_HEADER], force=output.force
        )
        given.refuse_lost((output.json, per_prompt, markdown, junit))
        from bonwise.auditing.audit import audit as run

        found = run(
            file,
            control=given.names(control),
            keep_easy=given.names(keep_easy),
            target=target,  # type: ignore[arg-type]  # checked by the audit, with its own message
            interval=interval,  # type: ignore[arg-type]
            confidence=confidence,
            resamples=resamples,
            seed=seed,
            thresholds=given.numbers(threshold, "--threshold"),
            as_picked=as_picked,
            design=design,
            pools=pools,
            judge_family=given.judge_families(judge_family),
            **reading.keywords(),
        )
        values = given.numbers(fail_under, "--fail-under")
        gates = found.check(values)
        own: dict[str, object] = {
            "--control": control,
            "--keep-easy": keep_easy,
            "--design": design,
            "--threshold": threshold,
            "--pools": pools,
            "--judge-family": judge_family,
            "--as-picked": as_picked,
            **_unusual({"--target": (target, TARGET), "--interval": (interval, INTERVAL), "--seed": (seed, SEED)}),
            **_unusual({"--confidence": (confidence, CONFIDENCE), "--resamples": (resamples, RESAMPLES)}),
        }
        from bonwise.auditing.next_steps import next_steps
        from bonwise.cli.next_of_audit import AuditCommand

        command = AuditCommand(file, reading.as_flags(), own, gated=bool(values), shown=html is not None)
        then = next_steps(found.document(gates), command)
        if html is not None:
            also = further_studies(found, calibration=calibration, verdicts=verdicts, pools=pools)
            _write_page(found, html, pools=pools, gates=values, also=also, then=then)
        _deliver(found, gates, output, per_prompt=per_prompt, markdown=markdown, junit=junit, then=then, full=full)
    return _exit_code(gates)


def _unusual(values: Mapping[str, tuple[object, object]]) -> dict[str, object]:
    """Return the values of flags that are not their defaults."""
    return {flag: value for flag, (value, usual) in values.items() if value != usual}


def _all_prompts_file(html: Path | None) -> Path | None:
    from bonwise.auditing.exhibits.all_prompts_file import all_prompts_file

    return None if html is None else all_prompts_file(html)


def _write_page(
    found: Audit,
    html: Path,
    *,
    pools: Path | None,
    gates: Mapping[str, float],
    also: Sequence[DocumentedResult],
    then: Sequence[Said],
) -> None:
    """Write the page, and say where the prompts are that it cannot show: nobody named that file."""
    from bonwise.auditing.exhibits.page import write_page

    all_prompts = write_page(found, html, pools=pools, gates=gates, also=also, then=then)
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
    output: Output,
    *,
    per_prompt: Path | None,
    markdown: str | None,
    junit: str | None,
    then: Sequence[Said],
    full: bool,
) -> None:
    document = found.document(gates)
    if per_prompt is not None:
        _write_per_prompt(found, per_prompt)
    if junit is not None:
        write_junit(document, junit)
    if markdown is not None:
        write_markdown(document, markdown)
    given.deliver(document, output.json, aside="-" in (markdown, junit), then=then, full=full)


def _write_per_prompt(found: Audit, path: Path) -> None:
    from bonwise.data.writing import csv_frame, write_whole

    rows = found.per_prompt()
    write_whole(path, rows.to_json(orient="records", lines=True) if path.suffix == ".jsonl" else csv_frame(rows))


def _exit_code(gates: Sequence[Gate]) -> int:
    states = {gate.state for gate in gates}
    return NOT_MET if "not met" in states else INCONCLUSIVE if "inconclusive" in states else 0
