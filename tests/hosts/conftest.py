"""A host that is asked for must be there: otherwise its file of tests would be skipped without a word."""

from __future__ import annotations

import os

import pytest

from bonwise.hosts import HOSTS


def pytest_collection_modifyitems(session, config, items):
    """Fail where the host that `BONWISE_REQUIRE_HOST` names is not installed."""
    asked = os.environ.get("BONWISE_REQUIRE_HOST")
    missing = [one for feature in HOSTS.values() if feature.extra == asked for one in feature.missing()]
    if missing:
        raise pytest.UsageError(f"BONWISE_REQUIRE_HOST is {asked}, and {', '.join(missing)} is not installed")
