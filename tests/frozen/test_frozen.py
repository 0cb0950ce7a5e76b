from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
from importlib import metadata
from pathlib import Path

import pytest
import typer

import bonwise
from bonwise.cli.app import app_for
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
    studies = {f"study {name}" for name in typer.main.get_command(app_for(["study"])).commands["study"].commands}
    assert set(names(typer.main.get_command(app_for([])), "")) | studies == set(COMMANDS) - {""}


# Names that others import stay.


NAMES = json.loads((Path(__file__).parent / "names.json").read_text("utf-8"))


@pytest.mark.parametrize("module", NAMES["testing"])
def test_names_of_the_public_doubles_stay(module):
    """Each name that 0.1.0 exported for tests of one's own is exported, and there."""
    found = importlib.import_module(module)
    assert set(NAMES["testing"][module]) <= set(found.__all__)
    assert all(hasattr(found, name) for name in NAMES["testing"][module])


def test_public_names_stay():
    """Each name of the package itself is exported, and there."""
    assert set(NAMES["package"]) <= set(bonwise.__all__)
    assert all(hasattr(bonwise, name) for name in NAMES["package"])


@pytest.mark.parametrize("group", NAMES["entry_points"])
def test_entry_points_stay(group):
    """Each group holds the names that it held, and they load."""
    found = {one.name: one for one in metadata.distribution("bonwise").entry_points if one.group == group}
    assert set(NAMES["entry_points"][group]) <= set(found)
    assert all(found[name].load() is not None for name in NAMES["entry_points"][group])
