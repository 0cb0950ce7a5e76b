"""``bonwise ledger``: what was asked, answered and paid, and what may be thrown away."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bonwise.calls.ledger import place
from bonwise.cli import model_flags, running
from bonwise.cli.arguments import Force, emit, refuse_overwriting, say
from bonwise.cli.shared_flags import TableOutput, shared_flags
from bonwise.errors import FileError, LedgerError, UsageError
from bonwise.printable import shell_path
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.calls.ledger import damage, ledger, records
    from bonwise.calls.ledger.postgres import PostgresLedger
    from bonwise.cli.accounts import LedgerDocument

app = typer.Typer(name="ledger", help="Look into the ledger of a run folder.", rich_markup_mode=None)

RunArgument = Annotated[Path, typer.Argument(help="Run folder, or its .sqlite file.")]
PlaceArgument = Annotated[
    Path, typer.Argument(parser=place.run_place, help="Run folder, its .sqlite file, or the address of a database.")
]
ModelFilter = Annotated[str | None, typer.Option("--model", help="Only this model, as the server knows it.")]
StateFilter = Annotated[
    str | None, typer.Option("--state", help="Only calls that are sent, answered, rejected, failed or unknown.")
]
EXPORT_HEADER = ("key", "choice", "reading", "call", "state")
"""Keys with which a row of an export begins."""

SHOWN = 10
"""Calls that a line names."""

STATES = ("sent", "answered", "rejected", "failed", "unknown")


@app.command("stats")
@shared_flags()
def stats(*, run: PlaceArgument = model_flags.RUN, output: TableOutput) -> int:
    """Sum up calls, answers, tokens and cost by model."""
    from bonwise.cli.accounts import describe_with

    with _any_opened(run) as ledger:
        output.refuse_overwriting(ledger.path)
        sums, verdict = ledger.stats(), ledger.integrity()
    with _damaged(run):
        document = _document(sums, verdict)
        described = describe_with(document, sums.models, sums.dropped)
    output.deliver(document, described=described)
    return 0


@app.command("show")
def show(
    run: PlaceArgument = model_flags.RUN,
    key: Annotated[str, typer.Option("--key", help="First hexadecimal digits of a key: the whole row.")] = "",
    model: ModelFilter = None,
    state: StateFilter = None,
    limit: Annotated[int, typer.Option("--limit", help="The most rows.", min=1)] = 20,
) -> int:
    """Show the rows, one line each.

    With --key it shows the request and the response in full.
    """
    from bonwise.printable import printable

    with _any_opened(run) as ledger:
        for row in ledger.rows(model=model, state=_state(state), key_prefix=key, limit=limit):
            if key:
                emit(_json(row, indent=2))
            else:
                emit(printable(_line(row), longest=200) + "\n")
    return 0


@app.command("export")
def export(
    run: PlaceArgument = model_flags.RUN,
    out: Annotated[str, typer.Option("--out", help="Where the rows go (JSONL); - for stdout.")] = "-",
    model: ModelFilter = None,
    state: StateFilter = None,
    force: Force = False,
) -> int:
    """Export every row as one JSON object per line.

    A row holds the request, the response and what was read from it.
    """
    with _any_opened(run) as ledger:
        refuse_overwriting((ledger.path,), (out,), headers=[EXPORT_HEADER], force=force)
        rows = running.shown_count(ledger.rows(model=model, state=_state(state)), "row")
        count = write_rows(out, map(_json, rows))
    say(counted(count, "row"))
    return 0


@app.command("check")
def check(run: RunArgument = model_flags.RUN) -> int:
    """Compare every stored answer with its digest.

    It names the calls that are damaged; the exit code is then 2.
    """
    with _opened(run) as ledger:
        found = ledger.check()
    for damage in found.damage:
        say(str(damage))
    if found.damage:
        raise LedgerError(
            f"{ledger.path} is damaged: {found.summary()}",
            hint=f"bonwise ledger repair {shell_path(run)} drops it, and the next run asks again",
        )
    say(_checked(found))
    return 0


@app.command("repair")
def repair(run: RunArgument = model_flags.RUN) -> int:
    """Drop damaged answers.

    The next run asks for them again. The damaged file is kept under another name.
    """
    from bonwise.calls.ledger.damage import repair as repaired
    from bonwise.calls.ledger.ledger import Ledger

    file = _file(run)
    with suppress(LedgerError), Ledger.open(file) as ledger:
        found = ledger.check()
        if not found.damage:
            say(f"{_checked(found)}; nothing was changed")
            return 0
    done = repaired(file)
    calls = "call" if len(done.calls) == 1 else "calls"
    named = f" of {calls} {', '.join(map(str, done.calls[:SHOWN]))}" if done.calls else ""
    more = f" and {len(done.calls) - SHOWN:,} more" if len(done.calls) > SHOWN else ""
    again = "nothing is asked again"
    if done.dropped:
        again = f"{counted(done.dropped, 'answer')}{named}{more} dropped: a run that needs them asks again"
    say(f"{counted(done.kept, 'answer')} kept; {again}")
    say(f"the damaged file is kept as {done.before}")
    return 0


@app.command("prune")
def prune(
    run: RunArgument = model_flags.RUN,
    state: Annotated[list[str] | None, typer.Option("--state", help="States to delete (repeatable).")] = None,
    before: Annotated[str | None, typer.Option("--before", help="Only calls before this day, YYYY-MM-DD.")] = None,
) -> int:
    """Delete calls that failed.

    With --state it also deletes calls that may have been billed, and with --before answered ones.
    """
    from bonwise.calls.ledger.ledger import FAILED

    states = [cast("records.State", _state(one)) for one in state or FAILED]
    with _opened(run) as ledger:
        deleted = ledger.prune(states, None if before is None else _day(before))
    say(f"{counted(deleted, 'call')} deleted")
    return 0


@app.command("forget")
def forget(
    run: RunArgument = model_flags.RUN,
    model: ModelFilter = None,
    parameter: Annotated[str | None, typer.Option("--parameter", help="Only this parameter.")] = None,
) -> int:
    """Forget which parameters a server refused.

    They are sent again.
    """
    with _opened(run) as ledger:
        forgotten = ledger.forget(model=model, parameter=parameter)
    say(f"{forgotten:,} parameters forgotten")
    return 0


def _opened(run: Path) -> ledger.Ledger:
    from bonwise.calls.ledger.ledger import Ledger

    return Ledger.open(_file(run))


def _any_opened(run: Path | str) -> ledger.Ledger | PostgresLedger:
    if isinstance(run, Path):
        return _opened(run)
    from bonwise.calls.ledger.postgres import PostgresLedger

    return PostgresLedger(run)


def _file(run: Path) -> Path:
    from bonwise.calls.ledger.place import ledger_file

    file = ledger_file(run)
    if not file.is_file():
        raise FileError(f"{run}: no ledger here", hint="name the folder given to --run")
    return file


def _checked(check: damage.LedgerCheck) -> str:
    return f"{counted(check.keys, 'answer')}: each is what was written"


def _state(text: str | None) -> records.State | None:
    if text is not None and text not in STATES:
        raise UsageError(f"no state {text!r}", hint=f"choose one of {', '.join(STATES)}")
    return cast("records.State | None", text)


def _day(text: str) -> float:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise UsageError(f"--before {text} is no day", hint="write it as 2026-11-21") from None


def _document(sums: records.LedgerStats, verdict: str) -> LedgerDocument:
    from bonwise.cli.accounts import LedgerDocument

    return LedgerDocument(
        calls=sums.calls,
        answers=sums.samples,
        input_tokens=sums.input_tokens,
        output_tokens=sums.output_tokens,
        cost=sums.cost,
        calls_without_a_price=sums.unpriced,
        lost_attempts=sums.lost_attempts,
        integrity=verdict,
    )


@contextmanager
def _damaged(run: Path) -> Iterator[None]:
    """Say of a figure that no ledger holds that the file is damaged."""
    from pydantic import ValidationError

    from bonwise.strict_json import refusal

    try:
        yield
    except ValidationError as error:
        raise LedgerError(f"{run} is damaged: {refusal(error)}") from None


def _line(row: records.LedgerRow) -> str:
    text = row.reading or row.note or ""
    return f"{row.key[:12] or '-':12}  {row.state:8}  {row.provider}/{row.model}  {text}"


def _json(row: records.LedgerRow, indent: int | None = None) -> str:
    try:
        return json.dumps(_row(row), indent=indent, allow_nan=False) + "\n"
    except (AttributeError, TypeError, ValueError) as error:
        raise LedgerError(
            f"call {row.call} is damaged: {error}", hint="leave it out by --model or --state, or prune it"
        ) from None


def _row(row: records.LedgerRow) -> dict[str, Any]:
    from bonwise.calls.ledger.schema import json_from

    usage = row.usage
    return {
        "key": row.key,
        "choice": row.choice,
        "reading": None if row.reading is None else json_from(row.reading, row.call, "reading"),
        "call": row.call,
        "state": row.state,
        "provider": row.provider,
        "base_url": row.base_url,
        "api_version": row.api_version,
        "endpoint": row.endpoint,
        "model": row.model,
        "body": json_from(row.body, row.call, "body"),
        "sent_at": row.sent_at,
        "answered_at": row.answered_at,
        "status": row.status,
        "request_id": row.request_id,
        "response": None if row.raw is None else row.raw.decode(errors="replace"),
        "answered_model": row.answered_model,
        "fingerprint": row.fingerprint,
        "input_tokens": None if usage is None else usage.input,
        "output_tokens": None if usage is None else usage.output,
        "cost": row.cost,
        "price_version": row.price_version,
        "effective": dict(row.effective),
        "attempts": row.attempts,
        "lost_attempts": row.lost_attempts,
        "note": row.note,
    }


def write_rows(target: str, lines: Iterable[str]) -> int:
    """Write lines to a file, or to standard output for ``-``, and return how many."""
    from bonwise.cli.arguments import emit
    from bonwise.table.writing import write_whole

    count = 0

    def counted() -> Iterator[str]:
        nonlocal count
        for line in lines:
            count += 1
            yield line

    if target == "-":
        for line in counted():
            emit(line)
    else:
        write_whole(Path(target), counted())
    return count
