"""The ledger: one SQLite file that remembers every call, so that nothing is asked or paid for twice."""
