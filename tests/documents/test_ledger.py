from __future__ import annotations

import pytest

from bonwise.cli.accounts import ErrorDocument, LedgerDocument
from documents.round_trips import read_back, refusal


def sums(**more):
    """Return the sums of a ledger, with other values where they are given."""
    return LedgerDocument.model_validate(
        {
            "calls": {"answered": 16, "failed": 1},
            "answers": 16,
            "input_tokens": 12364,
            "output_tokens": 128,
            "cost": 0.0136,
            "calls_without_a_price": 0,
            "lost_attempts": 0,
            "integrity": "ok",
            **more,
        }
    )


def test_what_is_written_is_read_back(tmp_path):
    """Sums and errors are read back; the sum of no costs is the integer 0."""
    read_back(sums(), tmp_path)
    assert '"cost": 0,' in read_back(sums(cost=0, calls={}), tmp_path).to_json()
    read_back(ErrorDocument(error="no such file", hint=""), tmp_path)


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ("calls", {"lost": 1}, "calls.lost"),
        ("calls.answered", -1, "calls.answered"),
        ("cost", None, "cost"),
        ("integrity", ..., "integrity"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, named):
    """A sum that no ledger has is refused by its key."""
    assert f"tampered.json: {named} " in refusal(sums(), tmp_path, keys, value)
