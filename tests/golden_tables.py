"""Golden tables as the tests read them."""

from __future__ import annotations

import csv
from pathlib import Path


def golden(name):
    """Return the rows of a golden table, figures as they are written."""
    with (Path(__file__).parent / "golden" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))
