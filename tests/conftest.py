"""What every test may rely on: no outside network, the shared data folder, one way to run hypothesis."""

from __future__ import annotations

import gc
import os
import socket
import sys
import time
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
LOOPBACK = {"127.0.0.1", "::1", "localhost"}

sys.path.append(str(TESTS))  # twins and strategies are imported as `stats.twins`, from any folder of tests

# Without bytecode each of the hundreds of processes that tests start compiles the package again, and each worker
# rewrites all assertions again. That takes longer than the tests, so a setting against bytecode does not reach them.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


# Every warning is an error. With BONWISE_WARNINGS=own only one about bonwise's own code is: versions other than the
# newest of the packages that it stands on warn about each other. A later filter goes before an earlier one.
OWN_ALONE = [("default", ""), ("error", r"bonwise(\.|$)")] if os.environ.get("BONWISE_WARNINGS") == "own" else []


def pytest_addoption(parser):
    """Let a run take a part of the tests, such as of the simulations, which take hours."""
    parser.addoption("--part", metavar="K/N", help="of N parts of the tests the K-th, from 0; K may be any number")
    parser.addoption("--minutes", type=float, metavar="M", help="begin no test after these minutes: it is skipped")


def pytest_configure(config):
    """Add the filters of warnings to those of pyproject.toml."""
    for action, module in OWN_ALONE:
        config.addinivalue_line("filterwarnings", f"{action}:::{module}")


def pytest_collection_modifyitems(config, items):
    """Keep the part that is asked for. A test stays in its part when others come or go.

    Under BONWISE_REQUIRE_TORCH=1 torch must be there: else its tests would be skipped without a word.
    """
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing and os.environ.get("BONWISE_REQUIRE_TORCH") == "1":
        raise pytest.UsageError(f"BONWISE_REQUIRE_TORCH is 1, and {' and '.join(missing)} not installed")
    part = config.getoption("--part")
    if part is None:
        return
    kept, parts = (int(number) for number in part.split("/"))
    others = [item for item in items if zlib.crc32(item.nodeid.encode()) % parts != kept % parts]
    config.hook.pytest_deselected(items=others)
    left_out = set(others)
    items[:] = [item for item in items if item not in left_out]


BEGUN = time.monotonic()


def pytest_runtest_setup(item):
    """Skip what would begin too late."""
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - BEGUN > 60 * minutes:
        pytest.skip(f"not begun: {minutes:g} minutes are over")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep what is collected out of the searches for cycles: a million objects that all stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session")
def filter_warnings():
    """Return the code that makes the same warnings errors in another process."""
    lines = [
        f"warnings.filterwarnings({action!r}, module={module!r})" for action, module in [("error", ""), *OWN_ALONE]
    ]
    return "\n".join(["import warnings", *lines, ""])


class OutsideNetworkError(RuntimeError):
    """A test tried to reach another machine."""


def is_outside(family, address):
    """Tell whether connecting there would leave this machine."""
    return family != socket.AF_UNIX and address[0] not in LOOPBACK


@pytest.fixture(autouse=True)
def outside_attempts():
    """Fail a test that connects to anything but this machine, even where the error was swallowed."""
    attempts = []
    real = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex")}

    def guarded(name):
        def connect(self, address):
            if is_outside(self.family, address):
                attempts.append(address)
                raise OutsideNetworkError(f"a test tried to connect to {address}")
            return real[name](self, address)

        return connect

    for name in real:
        setattr(socket.socket, name, guarded(name))
    yield attempts
    for name, method in real.items():
        setattr(socket.socket, name, method)
    if attempts:
        pytest.fail(f"a test tried to connect to {attempts}")


@pytest.fixture(scope="session")
def shared():
    """Return the folder that holds ``data/``; without it skip, or fail under BONWISE_REQUIRE_SHARED=1."""
    folder = Path(os.environ.get("BONWISE_SHARED") or TESTS.parent.parent / "shared")
    if (folder / "data").is_dir():
        return folder
    absent = "shared data not found: set BONWISE_SHARED"
    if os.environ.get("BONWISE_REQUIRE_SHARED") == "1":
        return pytest.fail(absent)
    return pytest.skip(absent)


@pytest.fixture
def routes():
    """Return a router that answers the requests of both SDKs instead of the network."""
    # Most tests ask no model, and the SDKs take most of a second to import.
    from http_libraries import routed  # noqa: PLC0415

    with routed() as router:
        yield router


_WITHOUT_AIOHTTP = pytest.mark.skipif(find_spec("aiohttp") is None, reason="bonwise[fast] is not installed")


@pytest.fixture(params=[None, pytest.param("aiohttp", marks=_WITHOUT_AIOHTTP)], ids=["usual", "aiohttp"])
def any_transport(request):
    """Return each transport that carries requests over a network, as a connection takes it."""
    return request.param
