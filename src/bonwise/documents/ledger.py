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
    """What one model was asked: a line of ``bonwise ledger stats``; the document holds the sums.

    Parameters
    ----------
    name : str
        Provider and model.
    calls : dict of str to int
        How many there are, by what became of them.
    answers, input_tokens, output_tokens : int
    cost : float or None
        US dollars of the calls whose price is known, None where none is.
    unpriced : int
        The other calls.
    """

    name: str
    calls: dict[CallState, Count]
    answers: Count
    input_tokens: Count
    output_tokens: Count
    cost: NonNegative | None
    unpriced: Count


class RefusedParameter(Record):
    """A parameter that a server was found not to take: a line of ``bonwise ledger stats``.

    Parameters
    ----------
    model, base_url, parameter : str
    since : str
        The day.
    message : str
        In the server's words.
    """

    model: str
    base_url: str
    parameter: str
    since: str
    message: str


class LedgerDocument(Document):
    """The sums of a ledger.

    Parameters
    ----------
    calls : dict of str to int
        How many there are, by what became of them.
    answers : int
        Samples that were answered.
    input_tokens, output_tokens : int
        As far as the servers counted them.
    cost : float
        US dollars of the calls whose price is known.
    calls_without_a_price : int
        The other calls.
    lost_attempts : int
        Attempts that were sent and never answered.
    integrity : str
        SQLite's own verdict on the file, ``ok`` where nothing is wrong.
    """

    schema_: Literal["bonwise.ledger/1"] = Field(default="bonwise.ledger/1", alias="schema")
    calls: dict[CallState, Count]
    answers: Count
    input_tokens: Count
    output_tokens: Count
    cost: NonNegative
    calls_without_a_price: Count
    lost_attempts: Count
    integrity: str


MODEL = LedgerDocument
