"""An installation without the audit extra: a real one, or this one with its modules forbidden."""

from __future__ import annotations

import os
from functools import partial

import pytest

from tiers.running import AUDIT_MODULES, in_child, installed


@pytest.fixture(params=["absent", "forbidden"], scope="module")
def without_audit(request):
    """Return what runs commands without the audit extra.

    ``absent`` is an installation without it; elsewhere that skips, or fails under BONWISE_REQUIRE_BASE=1.
    ``forbidden`` is an import hook, for the installation of who develops.
    """
    here = installed()
    if request.param == "absent" and here:
        why = f"needs an installation without bonwise[audit], and here are {', '.join(here)}"
        if os.environ.get("BONWISE_REQUIRE_BASE") == "1":
            pytest.fail(why)
        pytest.skip(why)
    if request.param == "forbidden" and not here:
        pytest.skip("nothing to forbid: the modules of the audit extra are not installed")
    return partial(in_child, absent=AUDIT_MODULES, forbidden=request.param == "forbidden")
