"""What commands say of a conversion, of a ledger, and of an error: documents, and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from bonwise.report import numbers
from bonwise.report.blocks import Part, Said
from bonwise.results import Count, Document, NonNegative

if TYPE_CHECKING:
    from bonwise.calls.ledger.records import DroppedParameter, ModelTally


class ErrorDocument(Document):
    """Why a command ended without a result."""

    schema_: Literal["bonwise.error/1"] = Field(default="bonwise.error/1", alias="schema")
    error: str
    """What is wrong, and where."""
    hint: str
    """What to do about it; empty where nothing is known."""


def describe_error(document: ErrorDocument) -> Part:
    """Describe an error: what is wrong, and what to do about it."""
    hint = [Said("note", document.hint)] if document.hint else []
    return Part("There is no result", [Said("bad", document.error), *hint])


CallState = Literal["sent", "answered", "rejected", "failed", "unknown"]
"""What became of a call."""


class LedgerDocument(Document):
    """The sums of a ledger."""

    schema_: Literal["bonwise.ledger/1"] = Field(default="bonwise.ledger/1", alias="schema")
    calls: dict[CallState, Count]
    """How many there are, by what became of them."""
    answers: Count
    """Samples that were answered."""
    input_tokens: Count
    output_tokens: Count
    """Both: as far as the servers counted them."""
    cost: NonNegative
    """US dollars of the calls whose price is known."""
    calls_without_a_price: Count
    """The other calls."""
    lost_attempts: Count
    """Attempts that were sent and never answered."""
    integrity: str
    """SQLite's own verdict on the file, ``ok`` where nothing is wrong."""


def describe_ledger(document: LedgerDocument) -> Part:
    """Describe a ledger by its sums."""
    return describe_with(document)


def describe_with(
    document: LedgerDocument, models: Sequence[ModelTally] = (), dropped: Sequence[DroppedParameter] = ()
) -> Part:
    """Describe a ledger with what stands beside its sums; `models` take their place."""
    return Part("Ledger", list(_lines(document, models, dropped)))


def _lines(
    document: LedgerDocument, models: Sequence[ModelTally], dropped: Sequence[DroppedParameter]
) -> Iterator[Said]:
    for tally in models:
        tokens, name = (tally.usage.input, tally.usage.output), f"{tally.provider}/{tally.model}"
        yield Said("finding", _asked(name, tally.calls, tally.samples, tokens, tally.cost, tally.unpriced))
    if not models:
        tokens, unpriced = (document.input_tokens, document.output_tokens), document.calls_without_a_price
        yield Said("finding", _asked("all models", document.calls, document.answers, tokens, document.cost, unpriced))
    if document.lost_attempts:
        lost = numbers.counted(document.lost_attempts, "attempt")
        were = "was" if document.lost_attempts == 1 else "were"
        yield Said("caveat", f"{lost} {were} sent and never answered; the servers may bill them")
    for parameter in dropped:
        taken = f"{parameter.model} at {parameter.base_url} does not take {parameter.parameter}"
        yield Said("note", f"{taken} (since {_day(parameter.learnt_at)}): {parameter.message}")
    yield Said("good" if document.integrity == "ok" else "bad", f"integrity: {document.integrity}")


def _asked(
    name: str,
    calls: Mapping[CallState, int],
    answers: int,
    tokens: tuple[int, int],
    cost: float | None,
    unpriced: int,
) -> str:
    without_price = f" and {numbers.counted(unpriced, 'call')} without a known price" if unpriced else ""
    money = numbers.money(cost if cost or not unpriced else None)
    counts = f"{numbers.counted(answers, 'answer')}, {numbers.count(tokens[0])} + {numbers.count(tokens[1])} tokens"
    return f"{name}: calls {_states(calls) or 'none'}; {counts}, {money}{without_price}"


def _day(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (TypeError, ValueError, OverflowError, OSError):  # a file can hold anything
        return "an unknown day"


def _states(calls: Mapping[CallState, int]) -> str:
    return ", ".join(f"{numbers.count(times)} {state}" for state, times in calls.items() if times)
