"""Every printed figure goes through `bonwise.report.numbers` or `amounts`: no sentence has a format of its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import bonwise

ROOT = Path(bonwise.__file__).parent
SENTENCES = (
    "report/figures/*.py",
    "**/view*.py",
    "**/figures.py",
    "**/sentences.py",
    "auditing/verdict.py",
    "auditing/gates.py",
)

OF_A_FLOAT = re.compile(r"(\.\d+[fgeEG%]?|[fgeEG%])$")
"""Format specifications that round; those of counts and texts, such as ``,``, ``d`` or ``<20``, do not."""

IN_A_COMMAND = {"planning/sentences.py": 4}
"""Values of flags in a command that is to be typed."""

ON_AN_AXIS = {"report/figures/curves.py": 1, "report/figures/percent.py": 1}
"""Ticks of an axis have a formatter of their own, which matplotlib calls."""


def files():
    """Return the modules that write figures for people."""
    found = []
    for pattern in SENTENCES:
        some = sorted(ROOT.glob(pattern))
        assert some, pattern
        found += some
    assert len(found) > 40
    return sorted(set(found))


def formats(source):
    """Return the format specifications of floats in f-strings, in `format` and in `round`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = "".join(one.value if isinstance(one, ast.Constant) else "9" for one in node.format_spec.values)
            found += [spec] if OF_A_FLOAT.search(spec) else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += re.findall(r"\{\w*:[^{}]*(?:\.\d+|[fgeEG%])\}|%[-+]?\d*\.\d+[fge]", node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "format":
            found.append("format()")
    return found


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_module_writes_a_float_by_a_format_of_its_own(path):
    """One policy holds only where nothing goes past it."""
    name = path.relative_to(ROOT).as_posix()
    assert len(found := formats(path.read_text(encoding="utf-8"))) == {**ON_AN_AXIS, **IN_A_COMMAND}.get(name, 0), (
        found
    )


@pytest.mark.parametrize(
    "source",
    [
        'f"{x:.3f}"',
        'f"{x:.1%}"',
        'f"{x:g}"',
        'f"{x:+.1f}"',
        'f"{x:,.0f}"',
        '"{:.2f}".format(x)',
        '"%.3f" % x',
        "format(x, '.2f')",
        'f"{x:.{n}f}"',
    ],
)
def test_a_format_of_a_float_is_seen(source):
    """Each way to write one is found."""
    assert formats(source)


@pytest.mark.parametrize("source", ['f"{x:,}"', 'f"{x:d}"', 'f"{x:>20}"', 'f"{x}"', '"100% of {}"', 'f"{x!r:<4}"'])
def test_a_count_is_none(source):
    """Counts and texts may be laid out."""
    assert not formats(source)
