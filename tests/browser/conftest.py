"""A real browser, started once, and the pages that it opens."""

from __future__ import annotations

import asyncio
import os
import shutil

import pytest

from browser.opened import opened

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
)


def absent(reason):
    """Skip where there is no browser; fail where one is asked for."""
    if os.environ.get("BONWISE_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def set_loop(loop):
    """Make a loop the running one of this thread; None gives the thread back to tests that run loops of their own."""
    asyncio.events._set_running_loop(loop)


@pytest.fixture(scope="session")
def chromium():
    """Start the system's Chromium, and yield it with the loop that its calls run in."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - pages can be made without it
    except ImportError:
        absent("playwright is not installed: pip install -e '.[dev]'")
    path = os.environ.get("BONWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        absent("no chromium found: install one, or name it in BONWISE_CHROMIUM")
    playwright = sync_playwright().start()
    loop = asyncio.events._get_running_loop()
    try:
        started = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS), timeout=180_000)
        set_loop(None)
        yield started, loop
        set_loop(loop)
        started.close()
    finally:
        playwright.stop()
        set_loop(None)


@pytest.fixture(scope="session")
def kinds_folder(tmp_path_factory):
    """Return the folder in which a page of a kind is made once, for all processes of a run."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return tmp_path_factory.mktemp("kinds")
    folder = tmp_path_factory.getbasetemp().parent / "kinds"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def browser(chromium):
    """Lend the browser to one test."""
    started, loop = chromium
    set_loop(loop)
    yield started
    set_loop(None)


@pytest.fixture
def show(browser):
    """Return a function that opens a file as a page, and hold the page to asking for nothing and breaking nothing."""

    def page_of(path, **settings):
        return opened(browser, path, **settings)

    return page_of
