"""How often a warm pick and a warm audit go from one file of bonwise to another.

A call counts if the nearest frame of bonwise above it lies in another file, or if no frame of bonwise is above it: a
function that `sorted` calls has the function that sorts above it, a task of an event loop may have none. Calls of all
threads count. A generator or a coroutine is called again each time it is resumed, as `sys.setprofile` reports it. Not
counted are module bodies, lambdas, comprehensions, and the methods that `dataclass` generates, which have no file.

A type is met where a method or a property of a class of bonwise runs. A class of which only a generated method runs,
and a function within a method, do not count.

What runs: the second `bonwise.select` of 4 candidates, by `Pointwise` over loopback with a run folder, another prompt
than the first; and the second `bonwise.audit` of a table with its oracle labels, with `exclude`, `to_dict()` and
`str()`. The script uses public names alone, so that it runs with any version.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import bonwise as bw
from scripted_model import served

HOME = Path(bw.__file__).parent
TABLE = Path(os.environ.get("BONWISE_SHARED", "../shared")) / "data" / "arena100" / "scores.csv"
EXCLUDE = ["unhelpful"]
CANDIDATES = [f"Answer {at}: " + "so many words " * at for at in range(1, 5)]
LEFT_OUT = {"<module>", "<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
SMALL = 100
"""Lines below which a file with one importer is small."""


def folder_of(code_file: str) -> str | None:
    """Return a file's path within bonwise; None of any other file."""
    prefix = f"{HOME}{os.sep}"
    return code_file[len(prefix) :] if code_file.startswith(prefix) else None


@dataclass
class Passed:
    """What calls passed through.

    Parameters
    ----------
    pairs : collections.Counter
        Changes of file by caller's file (empty where no frame of bonwise is above) and called file.
    functions : set of tuple of str
        File and name of each function that was called.
    """

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    functions: set[tuple[str, str]] = field(default_factory=set)

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Take one event of `sys.setprofile`."""
        if event != "call":
            return
        called = folder_of(frame.f_code.co_filename)
        name = frame.f_code.co_qualname
        if called is None or name.rsplit(".", 1)[-1] in LEFT_OUT:
            return
        self.functions.add((called, name))
        caller, above = None, frame.f_back
        while above is not None and caller is None:
            caller, above = folder_of(above.f_code.co_filename), above.f_back
        if caller != called:
            self.pairs[caller or "", called] += 1

    @property
    def types(self) -> list[str]:
        """File and name of each class of which a method was called."""
        # The class of a method stands before its name; a function within a function belongs to no class.
        owners = {(file, name.rpartition(".")[0]) for file, name in self.functions if "<locals>" not in name}
        return sorted(f"{file} {owner}" for file, owner in owners if owner)

    @property
    def document(self) -> dict[str, Any]:
        """What was counted, for a JSON document."""
        files = {file for file, _ in self.functions}
        return {
            "changes": self.pairs.total(),
            "files": len(files),
            "types": len(self.types),
            "type_names": self.types,
            "functions": len(self.functions),
            "pairs": [[*pair, count] for pair, count in self.pairs.most_common()],
        }


def passed_by(work: Callable[[], object]) -> Passed:
    """Do the work once as a warm-up, and once with every thread watched."""
    work()
    passed = Passed()
    threading.setprofile(passed.note)  # threads that the work starts
    sys.setprofile(passed.note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return passed


def pick() -> Passed:
    """Select twice; another prompt each time, so that the model is asked for both."""
    os.environ.setdefault("OPENAI_API_KEY", "scripted")
    prompts = iter(["Which is shorter?", "Which is longer?"])
    with served(0.02) as url, tempfile.TemporaryDirectory() as folder:
        judge = bw.Pointwise("openai/scripted", base_url=f"{url}/v1")
        return passed_by(lambda: bw.select(next(prompts), CANDIDATES, judge=judge, ledger=Path(folder) / "run"))


def audit(table: Path) -> Passed:
    """Audit twice."""

    def work() -> None:
        audited = bw.audit(table, exclude=EXCLUDE)
        audited.to_dict()
        str(audited)

    return passed_by(work)


def house() -> dict[str, int]:
    """Count lines and files of the package, and its small files that one file of the same folder imports alone."""
    lines = {file: len(file.read_text("utf-8").splitlines()) for file in HOME.rglob("*.py")}
    named = {".".join([HOME.name, *file.relative_to(HOME).with_suffix("").parts]): file for file in lines}
    importers: dict[Path, set[Path]] = {file: set() for file in lines}
    for importer in lines:
        for name in imported(importer):
            file = named.get(name) or named.get(name.rpartition(".")[0])
            if file is not None:
                importers[file].add(importer)
    small = [
        file
        for file, by in importers.items()
        if file.name != "__init__.py"
        and lines[file] < SMALL
        and {importer.parent for importer in by} == {file.parent}
    ]
    return {
        "lines": sum(lines.values()),
        "files": len(lines),
        "single_importer": sum(len(importers[file]) == 1 for file in small),
    }


def imported(file: Path) -> set[str]:
    """Return the full names that a file imports, wherever the import stands."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def main(argv: Sequence[str] | None = None) -> None:
    """Count, and print a line for each workload."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, default=TABLE, help="of scores and labels, with a candidate unhelpful")
    parser.add_argument("--only", choices=["pick", "audit"], help="one of the two workloads")
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="print the N commonest pairs of files")
    parser.add_argument("--types", action="store_true", help="print the types that are met")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts there too")
    asked = parser.parse_args(argv)
    works = {"pick": pick, "audit": lambda: audit(asked.table)}
    counted = {name: work().document for name, work in works.items() if asked.only in {None, name}}
    for name, counts in counted.items():
        print(f"{name}: {counts['changes']} changes of file; ", end="")
        print(f"{counts['files']} files, {counts['types']} types, {counts['functions']} functions")
        for caller, called, count in counts["pairs"][: asked.pairs]:
            print(f"{count:6} {caller or '(outside)'} -> {called}")
        if asked.types:
            print("\n".join(counts["type_names"]))
    package = house()
    print(f"package: {package['lines']} lines, {package['files']} files, ", end="")
    print(f"{package['single_importer']} below {SMALL} lines with one importer, in the same folder")
    if asked.json is not None:
        asked.json.write_text(json.dumps({**counted, "package": package}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
