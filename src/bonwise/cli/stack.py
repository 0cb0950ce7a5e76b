"""``bonwise stack``: weigh several judges by labels, and pick by all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import Output, Reading, flags_of, shared_flags
from bonwise.flags import numbers, texts
from bonwise.printable import shell_path
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingKeywords

if TYPE_CHECKING:
    from bonwise.report.blocks import Said
    from bonwise.stacks.result import StackFit

__all__ = ["app"]

app = typer.Typer(name="stack", help="Weigh several judges by labels.", rich_markup_mode=None)

Scores = Annotated[Path, typer.Argument(help="Scores of two judges or more.", show_default=False)]
StackFile = Annotated[Path, typer.Option("--stack", help="What bonwise stack fit --out wrote.", show_default=False)]
Name = Annotated[str, typer.Option("--name", help="What the stack is called as a judge.")]


@app.command("fit")
@shared_flags()
def fit(
    *,
    file: Scores,
    reading: Reading[ReadingKeywords],
    feature: Annotated[
        list[str] | None,
        typer.Option(help="A feature beside the scores: spread, width or length (repeatable)."),
    ] = None,
    price: Annotated[
        list[str] | None, typer.Option(help="Price of a call, JUDGE=PRICE, for every judge (repeatable).")
    ] = None,
    spec: Annotated[
        list[str] | None,
        typer.Option(help="How a judge is made whose name does not say it, JUDGE=SPEC (repeatable)."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the stack here (JSON).")] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Write the scores with the stack as a further judge here (CSV), out of fold.")
    ] = None,
    confidence: given.Confidence = CONFIDENCE,
    seed: given.Seed = SEED,
    output: Output,
) -> int:
    """Fit a stack of the judges of a file to its labels.

    Prints what its picks are worth on prompts it was not fitted to, beside each judge and other rules.
    """
    output.refuse_overwriting(file, *reading.paths(), also=(out, scores))
    from bonwise.stacks.front import fit_stack
    from bonwise.stacks.stack_table import score_file
    from bonwise.table.writing import write_whole

    fitted = fit_stack(
        file,
        features=given.names(feature),  # type: ignore[arg-type]  # checked there, with its own message
        prices=numbers(price, "--price"),
        specs=texts(spec, "--spec"),
        confidence=confidence,
        seed=seed,
        **reading.keywords(),
    )
    if scores is not None:
        write_whole(scores, score_file(fitted.scores()))
    if out is not None:
        fitted.save(out)
    again = {
        **reading.values, "--feature": feature, "--price": price, "--spec": spec,
        "--confidence": None if confidence == CONFIDENCE else confidence, "--seed": None if seed == SEED else seed,
    }  # fmt: skip
    output.deliver(fitted, then=_next(fitted, " ".join([shell_path(file), *flags_of(again)]), out))
    return 0


@app.command("apply")
@shared_flags()
def apply(
    *,
    file: Scores,
    stack: StackFile,
    out: Annotated[Path, typer.Option(help="Write the scores here (CSV), with the stack as a further judge.")],
    name: Name = "stack",
    reading: Reading[ReadingKeywords],
    force: given.Force = False,
) -> int:
    """Add the scores of a stack to a file, as those of a further judge.

    Every command that reads scores reads the file: audit, route, study, plan.
    """
    given.refuse_overwriting((file, stack, *reading.paths()), (out,), force=force)
    from bonwise.stacks.front import apply_stack
    from bonwise.stacks.stack_table import score_file
    from bonwise.table.writing import write_whole

    found = apply_stack(file, stack, name=name, **reading.keywords())
    write_whole(out, score_file(found.table))
    for caveat in found.caveats:
        given.say(caveat)
    given.say(f"{out}: the scores of {len(found.table.judges)} judges, {name} among them.")
    return 0


@app.command("audit")
@shared_flags()
def audit(
    *,
    file: Scores,
    stack: StackFile,
    name: Name = "stack",
    reading: Reading[ReadingKeywords],
    design: Annotated[
        str | None,
        typer.Option(
            help="How labels were drawn: uniform, cells, cells-by-score, or the file of bonwise labels draw."
        ),
    ] = None,
    confidence: given.Confidence = CONFIDENCE,
    seed: given.Seed = SEED,
    output: Output,
) -> int:
    """Audit a stack on labels that it was not fitted to, beside its judges.

    Prompts that the stack was fitted to are refused: stack fit --scores writes their scores out of fold.
    """
    output.refuse_overwriting(file, stack, *reading.paths())
    from bonwise.stacks.front import audit_stack

    keywords = reading.keywords()
    output.deliver(audit_stack(file, stack, name=name, design=design, confidence=confidence, seed=seed, **keywords))
    return 0


def _next(fitted: StackFit, arguments: str, out: Path | None) -> list[Said]:
    """Say how to save a stack and to pick by it; nothing where the document itself says something else."""
    from bonwise.report.blocks import Said
    from bonwise.stacks.view import is_better

    if not is_better(fitted):
        return []
    if out is None:
        again = f"bonwise stack fit {arguments} --out stack.json"
        return [Said("note", "Next:"), Said("finding", "Save the stack:"), Said("command", again)]
    return [Said("note", "Next:"), Said("command", f"bonwise select POOLS.jsonl --judge stack:{shell_path(out)}")]
