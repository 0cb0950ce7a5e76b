"""What is described is typed: nothing that makes words or figures of a document reads it by guess."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bonwise

HOME = Path(bonwise.__file__).parent
MODULES = sorted({*HOME.glob("report/**/*.py"), *HOME.rglob("*view*.py"), *HOME.rglob("figures.py")})

SEAMS = {
    "report/blocks.py": {"Any"},  # a row may be anything that the columns of its table read
    "report/page/view.py": {"object"},  # a cell of a frame
    "report/page/canvas.py": {"Any", "cast"},  # settings of matplotlib, whose stubs name every key
    "report/page/environment.py": {"object"},  # what jinja hands to its finalizer
}
"""Where another library's types end."""

LOOSE = {"Any", "object", "cast"}

TABLES = {"COLOURS", "spines"}
"""What is read by a constant name and is not a document: colours, and the sides of matplotlib's axes."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(HOME).as_posix())
def test_no_type_is_loose(path):
    """No Any, object or cast stands where a type belongs, but at the named seams."""
    allowed = SEAMS.get(path.relative_to(HOME).as_posix(), set())
    used = {node.id for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Name)}
    assert used & LOOSE <= allowed


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(HOME).as_posix())
def test_no_document_is_read_by_a_string(path):
    """Documents have attributes: no constant key in brackets, none given to ``get``."""
    told = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if _reads_by_string(node)
    ]
    assert not told


def test_every_seam_is_still_one():
    """A seam that nothing uses is not named."""
    for name, words in SEAMS.items():
        tree = ast.parse((HOME / name).read_text("utf-8"))
        assert words <= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _reads_by_string(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return _is_text(node.slice) and _named(node.value) not in {"Literal", "Callable", *TABLES}
    is_get = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"
    return is_get and bool(node.args) and _is_text(node.args[0])


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
