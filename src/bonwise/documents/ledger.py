"""What a ledger of calls holds in all: ``bonwise.ledger/1``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bonwise.documents.document import Document
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative

__all__ = ["MODEL", "CallState", "LedgerDocument", "ModelCalls", "RefusedParameter"]

CallState = Literal["sent", "answered", "rejected", "failed", "unknown"]
"""What became of a call."""


class ModelCalls(Record):
    """What one model was asked: a line of ``bonwise ledger stats``; the document holds the sums."""

    name: str
    """Provider and model."""
    calls: dict[CallState, Count]
    """How many there are, by what became of them."""
    answers: Count
    input_tokens: Count
    output_tokens: Count
    cost: NonNegative | None
    """US dollars of the calls whose price is known, None where none is."""
    unpriced: Count
    """The other calls."""


class RefusedParameter(Record):
    """A parameter that a server was found not to take: a line of ``bonwise ledger stats``."""

    model: str
    base_url: str
    parameter: str
    since: str
    """The day."""
    message: str
    """In the server's words."""


class LedgerDocument(Document):
    """The sums of a ledger."""

    schema_: Literal["bonwise.ledger/1"] = Field(default="bonwise.ledger/1", alias="schema")
    calls: dict[CallState, Count]
    """How many there are, by what became of them."""
    answers: Count
    """Samples that were answered."""
    input_tokens: Count
    """As far as the servers counted them."""
    output_tokens: Count
    """As far as the servers counted them."""
    cost: NonNegative
    """US dollars of the calls whose price is known."""
    calls_without_a_price: Count
    """The other calls."""
    lost_attempts: Count
    """Attempts that were sent and never answered."""
    integrity: str
    """SQLite's own verdict on the file, ``ok`` where nothing is wrong."""


MODEL = LedgerDocument
