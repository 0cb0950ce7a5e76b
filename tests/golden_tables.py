"""Golden tables as the tests read them, each from the folder of its feature."""

from __future__ import annotations

import csv
from pathlib import Path


def golden(name):
    """Return the rows of a golden table, figures as they are written."""
    (path,) = Path(__file__).parent.glob(f"*/golden/{name}.csv")
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))
