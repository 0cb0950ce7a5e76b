"""Make the golden files anew, or say what differs from them.

::

    python tests/frozen/make.py             # writes what differs in text, pages and help
    python tests/frozen/make.py --data      # writes what differs in JSON, CSV, exit codes and ledger keys too
    python tests/frozen/make.py --check     # writes nothing; exit 1 where anything differs
    python tests/frozen/make.py audit plan  # these cases alone
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from frozen.differences import byte_differences
from frozen.every_case import CASES, DOCUMENTS, found, golden, keep
from frozen.pinned import otherwise

__all__ = ["main"]

_DATA = (".json", ".jsonl", ".csv")


def main(arguments: list[str] | None = None) -> int:
    """Make or check golden files and return the exit code."""
    asked = _parser().parse_args(arguments)
    for line in otherwise():
        sys.stderr.write(f"not the pinned environment: {line}\n")
    code = 0
    for name in asked.cases or [*CASES, DOCUMENTS]:
        kept, made = golden(name), _made(name)
        if made is None:
            sys.stdout.write(f"{name}: skipped, set BONWISE_SHARED\n")
            continue
        for inner in sorted(kept.keys() | made.keys()):
            before, after = ({inner: one[inner]} if inner in one else {} for one in (kept, made))
            told = list(byte_differences(before, after))
            if not told:
                continue
            code = max(code, _settle(asked, name, inner, made.get(inner), told))
    return code


def _settle(asked: argparse.Namespace, name: str, inner: str, text: str | None, told: list[str]) -> int:
    """Say what differs in a golden file, and write it where that was asked for."""
    if asked.check:
        sys.stdout.write(f"{name}/{''.join(told)}\n")
        return 1
    if inner.endswith(_DATA) and not asked.data:
        sys.stdout.write(f"{name}/{inner} holds data that differ; --data writes them too\n")
        return 1
    keep(name, inner, text)
    sys.stdout.write(f"{name}/{inner} {'deleted' if text is None else 'written'}\n")
    return 0


def _made(name: str) -> dict[str, str] | None:
    """Run a case, None where the shared data that it reads are absent."""
    data = Path(os.environ.get("BONWISE_SHARED", ""))
    if name in CASES and CASES[name].shared and not (data / "data").is_dir():
        return None
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        return found(name, Path(folder), data)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Make the golden files anew, or say what differs from them.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of cases; all of them if none is given")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where anything differs")
    parser.add_argument("--data", action="store_true", help="write JSON, CSV, exit codes and ledger keys too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
