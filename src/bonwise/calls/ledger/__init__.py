"""The ledger: every call that was paid, and what it answered."""
