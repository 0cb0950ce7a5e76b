"""``bonwise audit``: how good a judge is at picking the best, which studies join its page, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bonwise.auditing.front import audit as run_audit
from bonwise.cli import arguments as given
from bonwise.cli import build_server, shared_flags
from bonwise.errors import InputError, UsageError
from bonwise.extras import PAGES
from bonwise.flags import shares
from bonwise.printable import shell_path, shell_word
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.auditing import result, result_verdict
    from bonwise.report.blocks import Said
    from bonwise.results import Document


def further_studies(
    audit: result.Audit, *, calibration: bool, verdicts: Path | None, pools: Path | None
) -> list[Document]:
    """Return the results beside the audit's own on the page; studies of the scores of picks are a UsageError."""
    table, settings = audit.table, audit.settings
    left_out = (*settings.exclude, *settings.control)
    asked: dict[str, Any] = {"exclude": left_out, "confidence": settings.confidence, "shape": settings.shape}
    studies: list[Document] = []
    if settings.picks is not None:
        if calibration or verdicts is not None:
            raise UsageError(
                "logged picks are no table of scores to study", hint="leave --calibration and --verdicts out"
            )
        return studies
    if verdicts is not None:
        from bonwise.studies.label_strategy.front import study_label_strategy

        asking = partial(study_label_strategy, table, verdicts=verdicts, seed=settings.seed, **asked)
        studies.append(_or_why("Ways of asking the judge", asking))
    if calibration:
        from bonwise.studies.calibration.front import study_calibration

        mapped = partial(study_calibration, table, pools=pools, seed=settings.seed, **asked)
        studies.append(_or_why("Calibration", mapped))
    # What the scores alone tell of a prompt is not a signal that a judge gave, and bonwise route studies it.
    if settings.draws > 1 or {"ci_width", "low", "high"} & set(table.rows.columns):
        from bonwise.routing.front import route

        studies.append(_or_why("Routing", partial(route, table, strong="none", seed=settings.seed, **asked)))
    return studies


def _or_why(title: str, study: Callable[[], Document]) -> Document:
    """Return a study, or a note where the data are too poor for it: the audit stands without."""
    from bonwise.auditing.result_exhibits import Note

    try:
        return study()
    except InputError as error:
        if type(error) is not InputError:
            raise  # a file, a column or a row to mend
        return Note.on(title, error.message)


NOT_MET, INCONCLUSIVE = 1, 3

_NEXT_FIRST = (
    *("--control", "--keep-easy", "--design", "--threshold", "--pools", "--judge-family", "--as-picked"),
    *("--target", "--stratum", "--interval", "--gate", "--seed"),
)
"""Flags in the order in which a next command has them; others follow."""


@build_server.over_several_files
@shared_flags.shared_flags(of=run_audit)
def audit(
    *,
    call: shared_flags.TypedCall,
    fail_under: Annotated[
        list[str] | None, typer.Option(help="Gate METRIC=VALUE, such as recovery=20% (repeatable).")
    ] = None,
    output: shared_flags.TableOutput,
    calibration: Annotated[
        bool, given.rare("--calibration", help="Study on the page what calibrating the scores would change.")
    ] = False,
    verdicts: Annotated[
        Path | None,
        given.rare(help="Verdicts on pairs (judge --pairs): study on the page how else to ask the judge."),
    ] = None,
    compare_regimes: Annotated[
        bool,
        given.rare("--compare-regimes", help="Print two files side by side, with the differences of their figures."),
    ] = False,
    junit: Annotated[str | None, given.rare(help="Write the gates as JUnit XML here; - for stdout.")] = None,
    per_prompt: Annotated[
        Path | None, given.rare(help="Write one row per prompt here (CSV or JSONL), the worst first.")
    ] = None,
    examples: Annotated[
        Path | None,
        given.rare(help="Write examples for a rubric here, and NAME-heldout.csv beside it: labels for its audit."),
    ] = None,
) -> int:
    """Audit a judge, or logged picks, against oracle labels.

    Prints a verdict, three figures with intervals, the gates, and what to do next.

    Exit codes: 0 every gate met, 1 a gate not met, 2 bad input, 3 inconclusive; of several files the gravest, in the
    order 2, 1, 3, 0. What --markdown writes is added to $GITHUB_STEP_SUMMARY, if set.
    """
    if compare_regimes:
        of_one = {"fail_under": fail_under, "calibration": calibration, "verdicts": verdicts, "junit": junit}
        given.refuse_flags({**of_one, "per_prompt": per_prompt, "examples": examples}, "has no say over two audits")
        return _regimes(call, output)
    source, pools, design = (call.values[name] for name in ("source", "pools", "design"))
    files = source if isinstance(source, list) else [source]
    file, passes = files[0], [call.values[name] for name in ("stats_out", "like")]
    record = None if design in (None, "uniform", "cells", "cells-by-score") else Path(design)
    html, markdown = output.html, output.markdown
    read = (*files, *call.reading.paths(), record, pools, verdicts, passes[1])
    held_out, headers_held_out = _held_out(examples)
    written = (output.json, per_prompt, html, output.out, passes[0], examples, held_out)
    beside = _all_prompts_file(html)
    with build_server.errors_told(file, markdown=markdown, junit=junit, others=(*read, *written, beside)):
        _refuse_without("--html", output.html, {"--calibration": calibration, "--verdicts": verdicts})
        _refuse_without("--fail-under", fail_under, {"--junit": junit})
        given.refuse_two_for_one({"--json": output.json, "--markdown": markdown, "--junit": junit})
        from bonwise.auditing.per_prompt import ROW_HEADER

        given.refuse_overwriting(
            (*read, beside), (*written, markdown, junit), headers=[ROW_HEADER, *headers_held_out], force=output.force
        )
        given.refuse_lost((output.json, per_prompt, markdown, junit, passes[0], examples))
        from bonwise.stats.laws import load_compiled

        load_compiled()
        audited = call.run().check(shares(fail_under, "--fail-under"))
        typed = call.unusual()
        own = {flag: typed[flag] for flag in (*_NEXT_FIRST, *typed) if flag in typed}
        from bonwise.auditing.next_steps import next_steps

        command = AuditCommand(file, call.reading.as_flags(), own, gated=bool(audited.gates), shown=html is not None)
        in_memory = audited.settings.not_in_passes is None
        then = next_steps(audited, command) if in_memory else []
        if html is not None and not in_memory:
            audited.to_html(html)
        elif html is not None:
            also = further_studies(audited, calibration=calibration, verdicts=verdicts, pools=pools)
            _write_page(audited, html, pools=pools, also=also, then=then)
        if examples is not None:
            _write_examples(audited, examples, pools, call.values["seed"], held_out)
        _deliver(audited, output, per_prompt=per_prompt, markdown=markdown, junit=junit, then=then)
    return _exit_code(audited.gates)


def _regimes(call: shared_flags.TypedCall, output: shared_flags.TableOutput) -> int:
    """Print two audits side by side."""
    files = call.values["source"]
    if len(files) != 2:
        raise UsageError(f"--compare-regimes takes two files, not {len(files)}", hint="name two tables of scores")
    output.refuse_overwriting(*files, *call.paths())
    from bonwise.comparing.front import compare_regimes

    output.deliver(compare_regimes(*(call.run(source=file) for file in files)))
    return 0


def _all_prompts_file(html: Path | None) -> Path | None:
    from bonwise.auditing.per_prompt import all_prompts_file

    return None if html is None else all_prompts_file(html)


def _write_page(
    audit: result.Audit, html: Path, *, pools: Path | None, also: Sequence[Document], then: Sequence[Said]
) -> None:
    """Write the page, and say where the prompts are that it cannot show: nobody named that file."""
    from bonwise.auditing.page import write_page

    all_prompts = write_page(audit, html, pools=pools, also=also, then=then)
    if all_prompts is not None:
        given.say(f"{html} shows the prompts that lost most; all prompts are in {all_prompts}")


def _held_out(examples: Path | None) -> tuple[Path | None, Sequence[Sequence[str]]]:
    """Return where the labels go that examples hold out, and what such a file begins with."""
    if examples is None:
        return None, ()
    from bonwise.auditing.examples import LABEL_HEADER, held_out_file

    return held_out_file(examples), [LABEL_HEADER]


def _write_examples(audit: result.Audit, path: Path, pools: Path | None, seed: int, held_out: Path | None) -> None:
    """Write examples for a rubric, and say what to do with them."""
    made = audit.to_examples(path, pools=pools, seed=seed)
    where = f"{counted(len(made.prompt_ids), 'example')} of {made.judge} to {path}"
    given.say(f"{where}, from {counted(made.training, 'training prompt')}")
    given.say(f"labels of {counted(made.held_out_prompts, 'held-out prompt')} to {held_out}")
    given.say(
        "put the examples at the end of [system] of a rubric, let both judges score the pools into one file, and "
        f"audit it: bonwise audit BOTH.csv --labels {shell_path(str(held_out))} --design uniform --full"
    )


def _refuse_without(flag: str, given_there: object, others: Mapping[str, object]) -> None:
    """Refuse flags that would be passed over without another one."""
    for name, value in others.items():
        if value and not given_there:
            raise UsageError(
                f"{name} without {flag}", hint=f"it only matters with {flag}: add it, or leave {name} out"
            )


def _deliver(
    audit: result.Audit,
    output: shared_flags.TableOutput,
    *,
    per_prompt: Path | None,
    markdown: str | None,
    junit: str | None,
    then: Sequence[Said],
) -> None:
    if per_prompt is not None:
        given.write_table(audit.per_prompt(), per_prompt)
    if junit is not None:
        build_server.write_junit(audit, junit)
    if markdown is not None:
        build_server.write_markdown(audit, markdown)
    given.deliver(audit, output.json, out=output.out, aside="-" in (markdown, junit), then=then, full=output.full)


def _exit_code(gates: Sequence[result_verdict.Gate]) -> int:
    states = {gate.state for gate in gates}
    return NOT_MET if "not met" in states else INCONCLUSIVE if "inconclusive" in states else 0


_PAGE, _ROWS = "audit.html", "worst.csv"


@dataclass(frozen=True)
class AuditCommand:
    """An audit as it was typed, and how `bonwise.auditing.next_steps` types what comes next."""

    file: Path
    reading: Sequence[str] = ()
    """Flags that open the table, quoted for a shell."""
    own: Mapping[str, object] = field(default_factory=dict)
    """Those of the audit alone, see `bonwise.cli.shared_flags.flags_of`."""
    gated: bool = False
    shown: bool = False
    """Both: whether gates were asked for, and a page."""

    @property
    def design_stated(self) -> bool:
        """Whether a draw of labels was stated."""
        return bool(self.own.get("--design"))

    def with_control(self, *candidates: str) -> str:
        """Return the same audit with easy or outstanding candidates as its control."""
        return self._again(*(f"--control {shell_word(candidate)}" for candidate in candidates))

    def with_design(self, design: str) -> str:
        """Return the same audit where a draw of labels is stated."""
        return self._again(f"--design {design}")

    def with_gate(self, metric: str, limit: float) -> str:
        """Return the same audit with a gate."""
        return self._again(f"--fail-under {metric}={limit:g}")

    def plan(self, candidates: int, within_r: float) -> str:
        """Return what says how many labels to collect."""
        return f"bonwise plan --question 'recovery>0' --candidates {candidates} --within-r {within_r:g}"

    def requirements(self, left_out: Sequence[str]) -> str:
        """Return the study of what a useful judge needs, without candidates that the figures leave out."""
        return self._on_the_table("study requirements", left_out)

    def route(self, left_out: Sequence[str]) -> str:
        """Return what says which prompts to send to a stronger judge."""
        return self._on_the_table("route", left_out)

    def together(self, left_out: Sequence[str]) -> str:
        """Return what fits the judges together, without candidates that the figures leave out."""
        return self._on_the_table("stack fit", left_out)

    def look(self) -> tuple[str, str]:
        """Return a sentence, and what shows the prompts where the picks lost most."""
        if PAGES.missing():
            return "See the prompts where the picks lost most:", self.rows()
        return "See the prompts where the picks lost most, on a page:", self._again(f"--html {_PAGE}")

    def rows(self) -> str:
        """Return what writes a row per prompt."""
        return self._again(f"--per-prompt {_ROWS}")

    def _again(self, *flags: str) -> str:
        return self._typed("audit", *self.reading, *shared_flags.flags_of(self.own), *flags)

    def _on_the_table(self, command: str, left_out: Sequence[str]) -> str:
        return self._typed(command, *self.reading, *shared_flags.flags_of({"--exclude": list(left_out)}))

    def _typed(self, command: str, *flags: str) -> str:
        return " ".join(["bonwise", command, shell_path(self.file), *flags])
