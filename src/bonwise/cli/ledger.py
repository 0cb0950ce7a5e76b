"""``bonwise ledger``: what was asked, answered and paid, and what may be thrown away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bonwise.cli.arguments import JsonTarget, deliver, emit, refuse_overwriting, say
from bonwise.cli.running import RUN
from bonwise.errors import FileError, LedgerError, UsageError
from bonwise.report.numbers import money

if TYPE_CHECKING:
    from bonwise.calls.ledger.ledger import Ledger
    from bonwise.calls.ledger.records import LedgerStats, Row, State

__all__ = ["app"]

app = typer.Typer(name="ledger", help="Look into the ledger of a run folder.", rich_markup_mode=None)

RunArgument = Annotated[Path, typer.Argument(help="Run folder, or its .sqlite file.")]
ModelFilter = Annotated[str | None, typer.Option("--model", help="Only this model, as the server knows it.")]
StateFilter = Annotated[
    str | None, typer.Option("--state", help="Only calls that are sent, answered, rejected, failed or unknown.")
]
STATES = ("sent", "answered", "rejected", "failed", "unknown")


@app.command("stats")
def stats(
    run: RunArgument = RUN,
    json_target: JsonTarget = None,
) -> int:
    """Sum up calls, answers, tokens and cost by model."""
    from rich.text import Text

    from bonwise.printable import printable

    with _opened(run) as books:
        found, verdict = books.stats(), books.integrity()
    lines = [Text(printable(line)) for line in _summary(found, verdict)]
    deliver(lines, _document(found, verdict), json_target)
    return 0


@app.command("show")
def show(
    run: RunArgument = RUN,
    key: Annotated[str, typer.Option("--key", help="First hexadecimal digits of a key: the whole row.")] = "",
    model: ModelFilter = None,
    state: StateFilter = None,
    limit: Annotated[int, typer.Option("--limit", help="The most rows.", min=1)] = 20,
) -> int:
    """Show rows, one line each; with --key the request and the response in full."""
    from bonwise.printable import printable

    with _opened(run) as books:
        for row in books.rows(model=model, state=_state(state), key_prefix=key, limit=limit):
            if key:
                emit(_json(row, indent=2))
            else:
                emit(printable(_line(row), longest=200) + "\n")
    return 0


@app.command("export")
def export(
    run: RunArgument = RUN,
    out: Annotated[str, typer.Option("--out", help="Where the rows go (JSONL); - for stdout.")] = "-",
    model: ModelFilter = None,
    state: StateFilter = None,
) -> int:
    """Write every row with request, response and what was read from it, one JSON object a line."""
    from bonwise.cli.row_file import write_rows

    with _opened(run) as books:
        refuse_overwriting((books.path,), (out,))
        count = write_rows(out, map(_json, books.rows(model=model, state=_state(state))))
    say(f"{count:,} rows")
    return 0


@app.command("prune")
def prune(
    run: RunArgument = RUN,
    state: Annotated[list[str] | None, typer.Option("--state", help="States to delete (repeatable).")] = None,
    before: Annotated[str | None, typer.Option("--before", help="Only calls before this day, YYYY-MM-DD.")] = None,
) -> int:
    """Delete calls that failed; with --state also those that may have been billed, or with --before answered ones."""
    from bonwise.calls.ledger.ledger import FAILED

    states = [cast("State", _state(one)) for one in state or FAILED]
    with _opened(run) as books:
        deleted = books.prune(states, None if before is None else _day(before))
    say(f"{deleted:,} calls deleted")
    return 0


@app.command("forget")
def forget(
    run: RunArgument = RUN,
    model: ModelFilter = None,
    parameter: Annotated[str | None, typer.Option("--parameter", help="Only this parameter.")] = None,
) -> int:
    """Forget which parameters servers were found not to take: they are sent again."""
    with _opened(run) as books:
        forgotten = books.forget(model=model, parameter=parameter)
    say(f"{forgotten:,} parameters forgotten")
    return 0


def _opened(run: Path) -> Ledger:
    from bonwise.calls.ledger.ledger import Ledger
    from bonwise.calls.ledger.place import ledger_file

    file = ledger_file(run)
    if not file.is_file():
        raise FileError(f"{run}: no ledger here", hint="name the folder given to --run")
    return Ledger.open(file)


def _state(text: str | None) -> State | None:
    if text is not None and text not in STATES:
        raise UsageError(f"no state {text!r}", hint=f"choose one of {', '.join(STATES)}")
    return cast("State | None", text)


def _day(text: str) -> float:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise UsageError(f"--before {text} is no day", hint="write it as 2026-11-21") from None


def _summary(found: LedgerStats, verdict: str) -> Iterator[str]:
    for tally in found.models:
        states = ", ".join(f"{count:,} {state}" for state, count in tally.calls.items() if count)
        cost = money(tally.cost if tally.cost or not tally.unpriced else None)
        unpriced = f" and {tally.unpriced:,} calls without a known price" if tally.unpriced else ""
        yield (
            f"{tally.provider}/{tally.model}: calls {states}; {tally.samples:,} answers, "
            f"{tally.usage.input:,} + {tally.usage.output:,} tokens, {cost}{unpriced}"
        )
    if found.lost_attempts:
        yield f"{found.lost_attempts:,} attempts were sent and never answered; the servers may bill them"
    for gone in found.dropped:
        since = _date(gone.learnt_at)
        yield f"{gone.model} at {gone.base_url} does not take {gone.parameter} (since {since}): {gone.message}"
    yield f"integrity: {verdict}"


def _date(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (TypeError, ValueError, OverflowError, OSError):  # a file can hold anything
        return "an unknown day"


def _document(found: LedgerStats, verdict: str) -> dict[str, Any]:
    return {
        "schema": "bonwise.ledger/1",
        "calls": found.calls,
        "answers": found.samples,
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
        "cost": found.cost,
        "calls_without_a_price": found.unpriced,
        "lost_attempts": found.lost_attempts,
        "integrity": verdict,
    }


def _line(row: Row) -> str:
    said = row.reading or row.note or ""
    return f"{row.key[:12] or '-':12}  {row.state:8}  {row.provider}/{row.model}  {said}"


def _json(row: Row, indent: int | None = None) -> str:
    try:
        return json.dumps(_row(row), indent=indent, allow_nan=False) + "\n"
    except (AttributeError, TypeError, ValueError) as error:
        raise LedgerError(
            f"call {row.call} is damaged: {error}", hint="leave it out by --model or --state, or prune it"
        ) from None


def _row(row: Row) -> dict[str, Any]:
    from bonwise.calls.ledger.entries import json_from

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
