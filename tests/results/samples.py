"""Real documents of every schema: the golden files of the commands, and files that were kept.

A schema that is added later has its samples here as soon as a golden case writes it.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FROZEN = Path(__file__).parents[1] / "frozen"
_FOLDERS = (FROZEN / "golden", Path(__file__).parent / "kept")
_TIME = re.compile(r'("latency": )"<time>"')
"""Where a golden file hides what a clock says."""


@dataclass(frozen=True)
class Sample:
    """A document as a command wrote it.

    Parameters
    ----------
    name : str
        Of the golden file.
    word : str
        Of its schema.
    document : dict
    """

    name: str
    word: str
    document: dict

    @property
    def shape(self):
        """What tells one kind of document of a schema from another."""
        kinds = [str(self.document.get(key)) for key in ("study", "kind", "question", "describes")]
        return (self.word, *kinds, *sorted(self.document))

    def write(self, folder):
        """Write it to a file and return its path."""
        path = Path(folder) / "document.json"
        path.write_text(json.dumps(self.document, indent=2), encoding="utf-8")
        return path


@cache
def samples():
    """Return every document, the smallest of a schema first."""
    found = []
    for folder in _FOLDERS:
        for path in sorted(folder.rglob("*.json*")):
            text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text("utf-8")
            if path.name.removesuffix(".gz").endswith(".jsonl"):
                continue
            document = json.loads(_TIME.sub(r"\g<1>0.0", text))
            schema = document.get("schema") if isinstance(document, dict) else None
            if isinstance(schema, str) and (word := re.fullmatch(r"bonwise\.([a-z_]+)/1", schema)):
                found.append((len(text), Sample(path.relative_to(folder.parent).as_posix(), word[1], document)))
    return [sample for _, sample in sorted(found, key=lambda pair: (pair[1].word, pair[0], pair[1].name))]


def samples_of(words):
    """Return the documents of some schemas."""
    return [sample for sample in samples() if sample.word in words]


def shapes_of(words):
    """Return the smallest document of every kind, of some schemas."""
    kept = {}
    for sample in samples_of(words):
        kept.setdefault(sample.shape, sample)
    return list(kept.values())
