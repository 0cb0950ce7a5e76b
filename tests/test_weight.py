"""Weight is a budget: a ceiling is what was reached. It may fall at any time, and rises only by what is granted."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

import bonwise

HOME = Path(bonwise.__file__).parent
FILES = sorted(HOME.rglob("*.py"))

CEILINGS = {"files": 543, "lines": 127_300, "files of table": 50, "files of calls": 43, "files of tests": 317}
MOST_IMPORTS = 0.08
"""Lines of imports among the lines of code."""
VAGUE = {"one", "found", "told", "said", "mine"}
"""Local names that do not say what they hold."""
MOST_VAGUE = 1134
"""Places where a function gives a variable or an argument such a name."""


def code_lines(source):
    """Return the numbers of the lines that hold code: neither blank, nor comment, nor docstring."""
    tree = ast.parse(source)
    texts = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in blank for line in range(token.start[0], token.end[0] + 1)}
    return lines - texts


def import_lines(source):
    """Return the numbers of the lines of imports."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, node.end_lineno + 1)
    }


def vague_names(source):
    """Return the places at which a vague name is given to a variable or an argument."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name | ast.arg)]
    stored = [node for node in nodes if isinstance(node, ast.arg) or isinstance(node.ctx, ast.Store)]
    return [node for node in stored if (node.arg if isinstance(node, ast.arg) else node.id) in VAGUE]


def weights():
    """Return what is weighed, by name."""
    return {
        "files": len(FILES),
        "lines": sum(len(path.read_text("utf-8").splitlines()) for path in FILES),
        "files of table": len(list((HOME / "table").rglob("*.py"))),
        "files of calls": len(list((HOME / "calls").rglob("*.py"))),
        "files of tests": len(list(Path(__file__).parent.rglob("test_*.py"))),
    }


@pytest.mark.parametrize("what", CEILINGS)
def test_nothing_is_heavier_than_its_ceiling(what):
    """A count above its ceiling says by how much."""
    weight = weights()[what]
    assert weight <= CEILINGS[what], f"{weight - CEILINGS[what]} too many {what}"


def test_imports_are_a_small_part_of_the_code():
    """Files of one topic import little of each other."""
    sources = [path.read_text("utf-8") for path in FILES]
    imports = sum(len(import_lines(source)) for source in sources)
    assert imports / sum(len(code_lines(source)) for source in sources) <= MOST_IMPORTS


def test_local_names_say_what_they_hold():
    """There are no more vague names than there were."""
    count = sum(len(vague_names(path.read_text("utf-8"))) for path in FILES)
    assert count <= MOST_VAGUE, f"{count - MOST_VAGUE} too many of {', '.join(sorted(VAGUE))}"


def test_names_are_counted_where_they_are_given():
    """A loop and an argument give a name; a use, an attribute and a keyword give none."""
    source = "def say(one, /, told=0):\n    found = [said for said in one]\n    return say(one, told=found).mine\n"
    assert sorted(node.lineno for node in vague_names(source)) == [1, 1, 2, 2]


def test_lines_are_counted_by_kind():
    """Docstrings, texts under fields, comments and blank lines are no code; imports are."""
    source = '"""A module."""\n\nimport os\n\n# why\nx = 1\n"""Of x."""\n'
    assert code_lines(source) == {3, 6}
    assert import_lines(source) == {3}
