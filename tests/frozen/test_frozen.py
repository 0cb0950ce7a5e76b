from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest
import typer

import bonwise
from bonwise.cli.app import app_for
from bonwise.studies.result import study_names
from frozen.cases.words import COMMANDS
from frozen.differences import byte_differences, value_differences
from frozen.every_case import CASES, DOCUMENTS, found, golden
from frozen.pinned import otherwise

AUDIT_PACKAGES = ("jinja2", "matplotlib", "pyarrow", "sklearn")
SCHEMA = re.compile(r'"(bonwise\.[a-z_]+/\d+)"')


def test_the_environment_is_the_pinned_one():
    """Bytes are compared only here; elsewhere this says what differs, or fails where it must not."""
    differs = otherwise()
    if differs and os.environ.get("BONWISE_REQUIRE_FROZEN") == "1":
        pytest.fail(f"not the pinned environment: {'; '.join(differs)}")
    if differs:
        pytest.skip(f"only keys and numbers are compared, not bytes: {'; '.join(differs)}")


@pytest.mark.parametrize("name", [*CASES, DOCUMENTS])
def test_nothing_that_is_frozen_changed(name, request, tmp_path):
    """Keys exactly and numbers to 1e-9 everywhere; in the pinned environment every byte but the masked words."""
    data = request.getfixturevalue("shared") if name in CASES and CASES[name].shared else None
    if (name == DOCUMENTS or CASES[name].audit) and (absent := absent_packages()):
        pytest.skip(f"needs bonwise[audit]: {', '.join(absent)} absent")
    kept, made = golden(name), found(name, tmp_path, data)
    assert kept
    differences = list(value_differences(kept, made))
    if not otherwise():
        differences += byte_differences(kept, made)
    assert not differences, "\n".join(differences[:20])


def absent_packages():
    """Return the packages of the extra that are not installed."""
    return [name for name in AUDIT_PACKAGES if importlib.util.find_spec(name) is None]


def test_every_schema_is_frozen():
    """Each schema that the source names is in a golden document."""
    source = Path(bonwise.__file__).parent
    named = {one for path in source.rglob("*.py") for one in SCHEMA.findall(path.read_text(encoding="utf-8"))}
    kept = {one for name in [*CASES, DOCUMENTS] for one in schemas(golden(name))}
    assert len(named) >= 20
    assert named <= kept


def schemas(files):
    """Yield the schemas of JSON documents, wherever they are in them."""
    for name, text in files.items():
        if name.endswith(".json"):
            yield from schemas_within(json.loads(text))


def schemas_within(value):
    """Yield the schemas in a JSON value."""
    if isinstance(value, dict):
        if isinstance(value.get("schema"), str):
            yield value["schema"]
        for one in value.values():
            yield from schemas_within(one)
    elif isinstance(value, list):
        for one in value:
            yield from schemas_within(one)


def test_the_help_of_every_command_is_frozen():
    """A command that is added belongs to the cases too."""

    def names(command, before):
        for name, one in sorted(getattr(command, "commands", {}).items()):
            yield f"{before} {name}".strip()
            yield from names(one, f"{before} {name}".strip())

    # Studies are looked up only when one of them is asked for.
    studies = {f"study {name}" for name in study_names()}
    assert set(names(typer.main.get_command(app_for([])), "")) | studies == set(COMMANDS) - {""}
