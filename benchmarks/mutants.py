"""How many faults of one line the tests notice.

``python benchmarks/mutants.py [--count 200] [--seed 7] [--only WORDS] [--results FILE] [--list]``, by an interpreter
with ``bonwise[dev]``, coverage, and cosmic-ray, which makes the mutants: another operator, a number one off, a
condition turned round, a loop that does not run. Lines are drawn by the seed from `FOLDERS`, and of each line one of
its mutants. Annotations are no such lines: nothing computes with them.

First the tests of `TESTS` run once, and which lines each runs is kept beside the results (`lines_of_tests.py`). A
later run only adds the test files that changed since; all run again where the package changed. Each mutant is then
written into a copy of the package, and the tests that run its line run until the first fails, those that name the
module first. It is noticed where a test fails or does not end; at last those tests run on the package as it is, and
must pass. Results are added to a file as they come. A second run goes on from there, and tries again what no test
noticed. The printed share counts as equivalent what ``tests/mutants.json`` lists, with the reason why no test could
tell.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

import lines_of_tests
from lines_of_tests import FOLDERS, PACKAGE

HERE = PACKAGE.parents[1]
TESTS = (*FOLDERS, "comparing", "confidence", "labels", "monitoring", "routing", "table", "votes")
"""Folders of tests that may notice a mutant."""
EQUIVALENT = HERE / "tests" / "mutants.json"
LEFT_OUT = ("NoOp", "VariableReplacer", "VariableInserter", "RemoveDecorator")
"""Operators that change nothing, need a variable's name, or whose mutants fail on import."""
FLAGS = ("-q", "-n", "0", "-p", "no:cacheprovider")
WARM = ("numpy", "scipy.optimize", "scipy.stats", "pandas", "sklearn.isotonic", "matplotlib.figure", "pyarrow")
"""What most tests import, and a mutant does not change: each run is a fork of a process that holds them."""
MOST_TESTS = 60
LONGEST_S = 45.0
"""Of processor time, of all tests of a mutant by what they took when lines were recorded."""
MOST_BYTES = 8 * 2**30


@dataclass(frozen=True)
class Mutant:
    """One changed place, named so that a later run meets it again."""

    file: str
    line: int
    operator: str
    occurrence: int

    @property
    def key(self) -> str:
        """What names it in files of results."""
        return f"{self.file}:{self.line} {self.operator} #{self.occurrence}"


def without_annotations(code: str) -> str:
    """Return the tree of a module as text, without annotations and docstrings."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if isinstance(getattr(node, name, None), ast.expr):
                setattr(node, name, ast.Constant(None))
    return ast.dump(tree)


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    nodes = list(ast_nodes(get_ast(file.read_text("utf-8"))))
    for name in plugins.operator_names():
        operator = plugins.get_operator(name)
        if operator.arguments() or name.partition("/")[2].startswith(LEFT_OUT):
            continue
        places = (start for node in nodes for start, _ in operator().mutation_positions(node))
        for occurrence, (line, _) in enumerate(places):
            yield Mutant(file.relative_to(PACKAGE).as_posix(), line, name, occurrence)


def mutated(mutant: Mutant) -> str | None:
    """Return the file with the change; None where what runs is the same."""
    code = (PACKAGE / mutant.file).read_text("utf-8")
    changed = mutate_code(code, plugins.get_operator(mutant.operator)(), mutant.occurrence)
    if changed is None:
        return None
    try:
        same = without_annotations(changed) == without_annotations(code)
    except SyntaxError:
        return None
    return None if same else changed


def drawn(count: int, seed: int, words: Sequence[str]) -> list[Mutant]:
    """Draw lines by the seed, and of each line a mutant."""
    by_line = defaultdict(list)
    for folder in FOLDERS:
        for file in sorted((PACKAGE / folder).rglob("*.py")):
            if all(word in file.as_posix() for word in words):
                for mutant in mutants_of(file):
                    by_line[mutant.file, mutant.line].append(mutant)
    generator = random.Random(seed)  # noqa: S311 - not for secrets
    lines = sorted(by_line)
    generator.shuffle(lines)
    chosen = []
    for line in lines:
        mutants = by_line[line]
        generator.shuffle(mutants)
        mutant = next((mutant for mutant in mutants if mutated(mutant) is not None), None)
        if mutant is not None:
            chosen.append(mutant)
        if len(chosen) == count:
            break
    return chosen


def digest(files: Iterable[Path]) -> str:
    """Return what changes where a file does."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


class TestedLines:
    """Which tests run which lines, kept in a file."""

    def __init__(self, file: Path) -> None:
        """Read what is kept, and bring it up to date."""
        self.file = file
        held = json.loads(file.read_text("utf-8")) if file.exists() else {}
        package = digest(file for folder in FOLDERS for file in (PACKAGE / folder).rglob("*.py"))
        self.by_file: dict[str, Any] = held.get("tests", {}) if held.get("package") == package else {}
        for folder in TESTS:
            now = {name: digest([HERE / name]) for name in test_files(folder)}
            stale = [name for name, own in now.items() if self.by_file.get(name, {}).get("digest") != own]
            if stale:
                found = recorded(stale)
                for name in stale:
                    tests = {test: of_test for test, of_test in found.items() if test.partition("::")[0] == name}
                    self.by_file[name] = {"digest": now[name], "tests": tests}
                file.write_text(json.dumps({"package": package, "tests": self.by_file}), "utf-8")
                print(f"lines of tests/{folder}: {len(found)} tests", flush=True)

    def running(self, file: str, lines: range) -> dict[str, float]:
        """Return the tests that run any of the lines, with their seconds."""
        return {
            test: found["seconds"]
            for own in self.by_file.values()
            for test, found in own["tests"].items()
            if not set(lines).isdisjoint(found["lines"].get(file, ()))
        }

    def tests_for(self, mutant: Mutant) -> list[str]:
        """Return the tests to run: of the statement, else of its function, else of the file."""
        code = (PACKAGE / mutant.file).read_text("utf-8")
        found: dict[str, float] = {}
        for lines in (*around(code, mutant.line), range(1, code.count("\n") + 2)):
            found = found or self.running(mutant.file, lines)
        module = "bonwise." + mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        near = {name for name in self.by_file if names(HERE / name, module)}
        order = sorted(found, key=lambda test: (test.partition("::")[0] not in near, found[test]))
        chosen, spent = [], 0.0
        for test in order[:MOST_TESTS]:
            if spent + found[test] <= LONGEST_S:
                chosen.append(test)
                spent += found[test]
        # Those of one file together, as fixtures of a module are made once.
        files = list(dict.fromkeys(test.partition("::")[0] for test in chosen))
        return sorted(chosen, key=lambda test: files.index(test.partition("::")[0]))


def test_files(folder: str) -> list[str]:
    """Return the test files of a folder."""
    return sorted(file.relative_to(HERE).as_posix() for file in (HERE / "tests" / folder).rglob("test_*.py"))


def names(file: Path, module: str) -> bool:
    """Tell whether a test file names a module."""
    package, _, name = module.rpartition(".")
    text = file.read_text("utf-8")
    return module in text or any(f"from {package} import {before}{name}" in text for before in ("", "("))


def around(code: str, line: int) -> list[range]:
    """Return the lines of the innermost statement with a line, of a compound one its head, and of its function."""
    nodes = [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    inner = max(nodes, key=lambda node: node.lineno, default=None)
    if inner is None:
        return []
    body = getattr(inner, "body", None)
    ends = [range(inner.lineno, body[0].lineno if body else (inner.end_lineno or inner.lineno) + 1)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return ends + [range(node.body[0].lineno, (node.end_lineno or 0) + 1) for node in functions[-1:]]


def recorded(files: Sequence[str]) -> dict[str, Any]:
    """Run tests and return what each took and the lines that it ran."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines.json"
        flags = (*FLAGS, "-p", "lines_of_tests", "--lines-of", str(file))
        command = [sys.executable, "-m", "pytest", *flags, *files]
        # A test that fails here is not kept, so it notices no mutant.
        subprocess.run(command, cwd=HERE, env=environment(PACKAGE), check=False, stdout=subprocess.DEVNULL)
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return found


def environment(package: Path) -> dict[str, str]:
    """Return the environment in which a copy of the package is tested, each run on one processor."""
    paths = (package.parent, HERE / "tests", HERE / "benchmarks")
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return os.environ | one | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "CI": "1"}


class FirstFailure:
    """Keeps which test failed first, or which file of tests could not be read."""

    found = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a test."""
        if report.failed and not self.found:
            self.found = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep a file."""
        if report.failed and not self.found:
            self.found = f"cannot be imported: {report.nodeid}"


def failure(tests: Sequence[str], package: Path, limit: float) -> str | None:
    """Run tests on a copy of the package in a fork; return what failed first, None where nothing did."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.write(writer, outcome(tests, package, limit).encode()[:500])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        found = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "does not end"
    return None if found == "passed" else found


def outcome(tests: Sequence[str], package: Path, limit: float) -> str:
    """Run tests in this process, which ends then."""
    seconds = int(limit) + 1
    # Of processor time, so that a busy machine does not look like a loop without an end.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    os.environ.update(environment(package))
    sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
    os.chdir(HERE)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):
        os.dup2(nowhere, output)
    first = FirstFailure()
    try:
        code = pytest.main([*FLAGS, "-x", *tests], plugins=[first, lines_of_tests])
    except BaseException as error:  # noqa: BLE001 - whatever a mutant raises before tests begin
        return f"cannot be imported: {type(error).__name__}"
    if first.found or code == pytest.ExitCode.OK:
        return first.found or "passed"
    return f"pytest ended with {int(code)}"


def noticed(mutant: Mutant, copy: Path, lines: TestedLines, time: int) -> str | None:
    """Return the test that fails, or what else shows the mutant; None where nothing does."""
    target, tests = copy / mutant.file, lines.tests_for(mutant)
    code = mutated(mutant)
    assert code is not None
    target.write_text(code, "utf-8")
    # Bytecode is named by the time of its source: that of another mutant must not be taken for this one's.
    os.utime(target, (time, time))
    try:
        return failure(tests, copy, 3 * LONGEST_S) if tests else None
    finally:
        shutil.copy2(PACKAGE / mutant.file, target)


def unreliable(learnt: Mapping[str, str | None], package: Path) -> set[str]:
    """Return the mutants whose tests fail on the package as it is too: nothing noticed them."""
    tests = {found for found in learnt.values() if found and "::" in found}
    failing = set()
    while tests and (found := failure(sorted(tests), package, 60 * LONGEST_S)) is not None:
        if found not in tests:
            raise RuntimeError(f"the tests do not run on the package as it is: {found}")
        tests.remove(found)
        failing.add(found)
    return {key for key, found in learnt.items() if found in failing}


def known(results: Path) -> dict[str, str | None]:
    """Return what an earlier run learnt, by mutant; what it did not notice may be noticed by newer tests."""
    rows = [json.loads(line) for line in results.read_text("utf-8").splitlines()] if results.exists() else []
    return {row["key"]: row["noticed"] for row in rows if row["noticed"] and row["code"] == code_of(row["file"])}


def code_of(file: str) -> str:
    """Return what names the state of a file of the package; empty where it is gone."""
    path = PACKAGE / file
    return digest([path])[:16] if path.exists() else ""


def main() -> int:
    """Run the tests on each mutant and print the share that was noticed, and each one that was not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="mutants")
    parser.add_argument("--seed", type=int, default=7, help="of the lines that are drawn")
    parser.add_argument("--only", action="append", default=[], help="files whose path holds these words")
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"), help="where results are kept")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    chosen = parser.parse_args()
    mutants = drawn(chosen.count, chosen.seed, chosen.only)
    if chosen.list:
        print(*(mutant.key for mutant in mutants), sep="\n")
        return 0
    lines, learnt = TestedLines(chosen.results.with_suffix(".lines.json")), known(chosen.results)
    for name in WARM:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(PACKAGE, Path(folder) / "src" / "bonwise"))
        for time, mutant in enumerate(mutants, start=1):
            if mutant.key not in learnt:
                learnt[mutant.key] = noticed(mutant, copy, lines, time)
                row = asdict(mutant) | {
                    "key": mutant.key,
                    "code": code_of(mutant.file),
                    "noticed": learnt[mutant.key],
                }
                with chosen.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"{mutant.key}: {learnt[mutant.key] or 'NOT NOTICED'}", flush=True)
        learnt |= dict.fromkeys(unreliable(learnt, PACKAGE))
    return summary([mutant.key for mutant in mutants], learnt)


def summary(keys: Sequence[str], learnt: dict[str, str | None]) -> int:
    """Print the share; return 1 where a mutant that is not equivalent was not noticed."""
    equivalent = json.loads(EQUIVALENT.read_text("utf-8")) if EQUIVALENT.exists() else {}
    counted = [key for key in keys if key not in equivalent]
    missed = [key for key in counted if learnt[key] is None]
    seen = len(counted) - len(missed)
    print(
        f"{seen} of {len(counted)} noticed ({seen / max(len(counted), 1):.3f}); {len(keys) - len(counted)} equivalent"
    )
    print(*missed, sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
