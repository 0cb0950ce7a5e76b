"""What a process loads, and that no files import each other in a circle."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pandas as pd
import pytest

import bonwise
from bonwise.testing import simulate

# What a process of the command line loads: imports are nearly all the time of a small audit.


RUN = """
import contextlib, io, json, sys
from bonwise.cli.entry import run
with contextlib.redirect_stdout(io.StringIO()) as out:
    code = run(sys.argv[1:])
print(json.dumps({"code": code, "out": out.getvalue(), "modules": sorted(sys.modules)}))
"""

UNUSED = {
    *("pandas", "scipy.optimize", "scipy.stats", "scipy.sparse", "scipy.linalg", "sklearn", "threadpoolctl"),
    *("matplotlib", "jinja2", "openai", "anthropic", "httpx", "httpx2", "asyncio", "sqlite3"),
    *("bonwise.auditing.partial_metrics", "bonwise.auditing.weighted_metrics", "bonwise.auditing.drawn_labels"),
}
"""What a plain audit has no use for."""

UNUSED_FOLDERS = tuple(f"bonwise.{name}." for name in ("selection", "judges", "calls", "planning", "routing"))
"""Folders of which a plain audit has no use for any module."""

COMMANDS = {"demo", "doctor", "judge", "select", "audit", "compare", "route", "plan", "labels", "ledger"}


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Write 400 rows of scores and labels."""
    path = tmp_path_factory.mktemp("imports") / "scores.csv"
    simulate("arena", n=100, seed=1).frame().to_csv(path, index=False)
    assert len(pd.read_csv(path)) >= 400
    return path


def ran(*words):
    """Run a command in a process of its own; return what it loaded and printed."""
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, words)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["code"] == 0
    return set(found["modules"]), found["out"]


@pytest.mark.parametrize("form", [("--full",), ("--json", "-")])
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_an_audit_loads_only_what_it_uses(scores, tmp_path, ending, form):
    """A plain audit has its figures, and of the heavy libraries the compiled special functions alone."""
    table, file = pd.read_csv(scores), tmp_path / f"s.{ending}"
    file.write_bytes(
        table.to_parquet()
        if ending == "parquet"
        else table.to_json(orient="records", lines=True).encode()
        if ending == "jsonl"
        else scores.read_bytes()
    )
    loaded, out = ran("audit", file, *form)
    assert "recovery" in out
    assert "level_bias" in out
    assert "scipy.special" not in loaded
    assert loaded.isdisjoint(UNUSED)
    assert not [module for module in loaded if module.startswith(UNUSED_FOLDERS)]


def test_compiled_functions_alone_are_those_of_the_package():
    """Loaded alone they give the same values, and whoever imports the package later gets it whole."""
    code = (
        "import sys; from bonwise.stats import laws; laws.load_compiled(); t = laws.student_quantile(0.95, 9)\n"
        "assert 'scipy.special' not in sys.modules; from scipy import special, stats\n"
        "assert t == special.stdtrit(9, 0.975) and special.logsumexp([0.0]) == 0 and stats.norm.cdf(0) == 0.5"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("command", ["audit", "labels", "ledger", "select"])
def test_a_command_loads_no_other(command):
    """The help of one command is told by its module alone."""
    loaded, out = ran(command, "--help")
    assert f"Usage: bonwise {command}" in out
    assert f"bonwise.cli.{command}" in loaded
    assert loaded.isdisjoint(f"bonwise.cli.{other}" for other in COMMANDS - {command})
    assert "bonwise.results" not in loaded


def test_help_of_all_names_every_command():
    """Without the name of a command the help lists all of them, and loads no result."""
    loaded, out = ran("--help")
    assert "bonwise.results" not in loaded
    assert all(command in out for command in COMMANDS)


def test_picking_loads_no_document():
    """A pick is made without the models of documents and without what shows them."""
    code = (
        "import sys, bonwise as bw; bw.select('p', ['a', 'bb'], judge=lambda _, text: len(text)); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"bonwise.results", "bonwise.selection.result", "rich", "pandas"}.isdisjoint(done.stdout.split())


def test_the_end_of_a_process_searches_no_library_for_cycles():
    """The command line ends with every object set aside: else Python searches them all, for a fifth of the time."""
    code = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count(), len(gc.get_objects())))"
    ending = f"{code}\nfrom bonwise.cli.entry import main\nmain(['--version'])"
    done = subprocess.run([sys.executable, "-c", ending], capture_output=True, text=True, check=True)
    set_aside, left = map(int, done.stdout.split()[-2:])
    assert set_aside > 10_000
    assert left < set_aside / 10


# No files import each other in a circle, whether their imports stand at the top or within functions.
# Only the methods of a result reach up: called, they load what shows it or answers a question about it.


HOME = Path(bonwise.__file__).parent


def runs(tree):
    """Yield the imports that run: those for the type checker alone are left out."""
    typed = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for line in node.body
        for inner in ast.walk(line)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in typed:
            yield node


def without_methods_of_results(tree):
    """Leave out the methods of documents: classes with a schema of their own, and studies."""
    for node in tree.body:
        fields = {ast.unparse(line.target) for line in getattr(node, "body", ()) if isinstance(line, ast.AnnAssign)}
        if isinstance(node, ast.ClassDef) and fields & {"schema_", "study"}:
            node.body = [line for line in node.body if not isinstance(line, ast.FunctionDef)] or [ast.Pass()]
    return tree


def imported(source, modules):
    """Return which of the modules a source imports."""
    found = set()
    for node in runs(without_methods_of_results(ast.parse(source))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            # A name is a module of a package, or something that a module holds.
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules else node.module for name in full}
    return found & set(modules)


def circle_of(sources):
    """Return the modules of a circle, each of which imports the next; none where there is no circle."""
    graph = {name: imported(source, sources) - {name} for name, source in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def test_no_files_import_each_other_in_a_circle():
    """Every file can be read after those that it imports."""
    sources = {
        ".".join([HOME.name, *file.relative_to(HOME).with_suffix("").parts]).removesuffix(
            ".__init__"
        ): file.read_text(encoding="utf-8")
        for file in HOME.rglob("*.py")
    }
    assert len(sources) > 100
    assert circle_of(sources) == []


def test_a_circle_through_a_function_is_found():
    """What a function imports counts, what the type checker imports does not."""
    sources = {
        "house.a": "from house.b import name\n",
        "house.b": "def name():\n    from house import c\n",
        "house.c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import house.a\n",
    }
    assert circle_of(sources) == []
    sources["house.c"] = "import house.a\n"
    circle = circle_of(sources)
    assert sorted(circle[1:]) == ["house.a", "house.b", "house.c"]
    assert circle[0] == circle[-1]
