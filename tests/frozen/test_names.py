from __future__ import annotations

import importlib
import json
from importlib import metadata
from pathlib import Path

import pytest

import bonwise

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
