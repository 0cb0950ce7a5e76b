"""No files import each other in a circle, whether their imports stand at the top or within functions.

Only the methods of a result reach up: called, they load what shows it or answers a question about it.
"""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import bonwise

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
