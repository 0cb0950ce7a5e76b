"""A ledger: what was asked and paid, by model, and what servers were found not to take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.documents.ledger import CallState, LedgerDocument, ModelCalls, RefusedParameter
from bonwise.report.amounts import money
from bonwise.report.blocks import Part, Said
from bonwise.report.numbers import count, counted

__all__ = ["describe", "describe_with"]


def describe(document: LedgerDocument) -> Part:
    """Describe a ledger by its sums."""
    return describe_with(document)


def describe_with(
    document: LedgerDocument, models: Sequence[ModelCalls] = (), refused: Sequence[RefusedParameter] = ()
) -> Part:
    """Describe a ledger with what stands beside its sums.

    Parameters
    ----------
    document : LedgerDocument
    models : sequence of ModelCalls
        They take the place of the sums.
    refused : sequence of RefusedParameter
    """
    return Part("Ledger", list(_lines(document, models, refused)))


def _lines(
    document: LedgerDocument, models: Sequence[ModelCalls], refused: Sequence[RefusedParameter]
) -> Iterator[Said]:
    sums = ModelCalls(
        name="all models",
        calls=document.calls,
        answers=document.answers,
        input_tokens=document.input_tokens,
        output_tokens=document.output_tokens,
        cost=document.cost if document.cost or not document.calls_without_a_price else None,
        unpriced=document.calls_without_a_price,
    )
    for one in models or [sums]:
        yield Said("finding", _asked(one))
    if document.lost_attempts:
        lost = counted(document.lost_attempts, "attempt")
        were = "was" if document.lost_attempts == 1 else "were"
        yield Said("caveat", f"{lost} {were} sent and never answered; the servers may bill them")
    for gone in refused:
        taken = f"{gone.model} at {gone.base_url} does not take {gone.parameter}"
        yield Said("note", f"{taken} (since {gone.since}): {gone.message}")
    yield Said("good" if document.integrity == "ok" else "bad", f"integrity: {document.integrity}")


def _asked(one: ModelCalls) -> str:
    unpriced = f" and {counted(one.unpriced, 'call')} without a known price" if one.unpriced else ""
    tokens = f"{count(one.input_tokens)} + {count(one.output_tokens)} tokens"
    states = _states(one.calls) or "none"
    return f"{one.name}: calls {states}; {counted(one.answers, 'answer')}, {tokens}, {money(one.cost)}{unpriced}"


def _states(calls: Mapping[CallState, int]) -> str:
    return ", ".join(f"{count(times)} {state}" for state, times in calls.items() if times)
