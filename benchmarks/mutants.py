"""How many faults of one line the tests notice.

``python benchmarks/mutants.py [--count 200] [--seed 7] [--only WORDS] [--results FILE] [--whole]``, by an interpreter
with ``bonwise[dev]`` and cosmic-ray, which makes the mutants: another operator, a number one off, a condition turned
round, a loop that does not run. Lines are drawn by the seed from `FOLDERS`, and of each line one of its mutants.
Annotations are no such lines: nothing computes with them.

Each mutant is written into a copy of the package, and tests run until the first fails: those that name the module,
then those of its folder, then those of the folders that import it, with ``--whole`` all others too. It is noticed
where a test fails or does not end. Results are added to a file as they come, and a second run goes on from there. The
printed share counts as equivalent what ``tests/mutants.json`` lists, with the reason why no test could tell.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

HERE = Path(__file__).resolve().parents[1]
PACKAGE = HERE / "src" / "bonwise"
FOLDERS = ("stats", "auditing", "planning", "watching", "studies", "report")
EQUIVALENT = HERE / "tests" / "mutants.json"
LEFT_OUT = ("NoOp", "VariableReplacer", "VariableInserter", "RemoveDecorator")
"""Operators that change nothing, need a variable's name, or whose mutants fail on import."""
LONGEST_S = 900


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
    tree = get_ast(file.read_text("utf-8"))
    for name in plugins.operator_names():
        operator = plugins.get_operator(name)
        if operator.arguments() or name.partition("/")[2].startswith(LEFT_OUT):
            continue
        places = (start for node in ast_nodes(tree) for start, _ in operator().mutation_positions(node))
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


def naming(module: str) -> set[str]:
    """Return the test files that name a module."""
    tests = HERE / "tests"
    return {
        file.relative_to(HERE).as_posix() for file in tests.rglob("test_*.py") if module in file.read_text("utf-8")
    }


def importers(module: str) -> set[str]:
    """Return the folders of the package whose files import a module."""
    package, _, name = module.rpartition(".")
    forms = (f"from {module} import", f"from {package} import {name}", f"import {module}")
    return {
        file.relative_to(PACKAGE).parts[0]
        for file in PACKAGE.rglob("*.py")
        if any(form in file.read_text("utf-8") for form in forms)
    }


def stages(mutant: Mutant, *, whole: bool) -> Iterator[list[str]]:
    """Yield what runs, nearest first; a test runs once."""
    module = "bonwise." + mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    folder = module.split(".")[1]
    near = naming(module)
    yield sorted(near)
    folders = {f"tests/{name}" for name in (folder, *importers(module)) if (HERE / "tests" / name).is_dir()}
    yield [f"tests/{folder}"] if f"tests/{folder}" in folders else []
    yield sorted(folders - {f"tests/{folder}"})
    if whole:
        yield ["tests", "--ignore=tests/browser", "--ignore=tests/crash", *(f"--ignore={name}" for name in folders)]


def limited() -> None:
    """Limit the processor time of a run of tests."""
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_S, LONGEST_S + 10))


def noticed(mutant: Mutant, copy: Path, *, whole: bool) -> str | None:
    """Return the test that fails, or what else shows the mutant; None where nothing does."""
    target = copy / mutant.file
    code = mutated(mutant)
    assert code is not None
    target.write_text(code, "utf-8")
    paths = os.pathsep.join((str(copy.parent), str(HERE / "tests")))
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_MAX_EXAMPLES": "30"}
    flags = ["-x", "-q", "-p", "no:cacheprovider", "-n", "0"]
    try:
        for tests in stages(mutant, whole=whole):
            if not tests:
                continue
            command = [sys.executable, "-m", "pytest", *flags, *tests]
            # Of processor time, so that a busy machine does not look like a loop without an end.
            run = subprocess.run(
                command, cwd=HERE, env=environment, capture_output=True, text=True, check=False, preexec_fn=limited
            )
            if run.returncode in {-signal.SIGXCPU, -signal.SIGKILL}:
                return "does not end"
            if run.returncode not in {0, 5}:
                failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return failed[0][:200] if failed else "cannot be imported"
    finally:
        shutil.copyfile(PACKAGE / mutant.file, target)
    return None


def known(results: Path) -> dict[str, str | None]:
    """Return what an earlier run learnt, by mutant."""
    lines = results.read_text("utf-8").splitlines() if results.exists() else []
    return {row["key"]: row["noticed"] for row in map(json.loads, lines)}


def main() -> int:
    """Run the tests on each mutant and print the share that was noticed, and each one that was not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="mutants")
    parser.add_argument("--seed", type=int, default=7, help="of the lines that are drawn")
    parser.add_argument("--only", action="append", default=[], help="files whose path holds these words")
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"), help="where results are kept")
    parser.add_argument("--whole", action="store_true", help="all tests, before a mutant counts as not noticed")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    chosen = parser.parse_args()
    mutants = drawn(chosen.count, chosen.seed, chosen.only)
    if chosen.list:
        print(*(mutant.key for mutant in mutants), sep="\n")
        return 0
    learnt = known(chosen.results)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(PACKAGE, Path(folder) / "src" / "bonwise"))
        for mutant in mutants:
            if mutant.key not in learnt:
                learnt[mutant.key] = noticed(mutant, copy, whole=chosen.whole)
                row = asdict(mutant) | {"key": mutant.key, "noticed": learnt[mutant.key]}
                with chosen.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"{mutant.key}: {learnt[mutant.key] or 'NOT NOTICED'}", flush=True)
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
