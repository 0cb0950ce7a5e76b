"""What the engine writes into: a ledger, or what stands in for one."""

from __future__ import annotations

from bonwise.calls.ledger.absent import NullLedger
from bonwise.calls.ledger.ledger import Ledger

__all__ = ["LedgerProtocol"]

LedgerProtocol = Ledger | NullLedger
