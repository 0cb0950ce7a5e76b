"""Which tests run which lines of the package: a plug-in for pytest, with which `mutants.py` chooses tests.

``python -m pytest -p lines_of_tests --lines-of FILE`` writes, per test that passed, its processor seconds and the
lines of `FOLDERS` that it ran. Lines that run in a fixture of a module or a session count for each test that uses the
fixture. It needs coverage. Examples of hypothesis are few, and a test that takes long is stopped.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Never

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "bonwise"
FOLDERS = ("stats", "auditing", "planning", "watching", "studies", "report")
MOST_EXAMPLES = 20
LONGEST_S = 20.0
"""Of processor time, in a test."""


class TooLong(BaseException):
    """A test took its time; no Exception, so that hypothesis does not look for a simpler example."""


def stop(_signal: int, _frame: FrameType | None) -> Never:
    """End the test that runs."""
    raise TooLong


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add where to write; without it only the number of examples changes."""
    parser.addoption("--lines-of", metavar="FILE", help="write the tests of each line there")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the tests, where that is asked for."""
    if config.getoption("--lines-of"):
        config.pluginmanager.register(LinesOfTests(Path(config.getoption("--lines-of"))), "lines of tests")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each property have few examples, the same ones each time, and look for no simpler one."""
    if "hypothesis" not in sys.modules:
        return
    from hypothesis import Phase, settings  # noqa: PLC0415

    for item in items:
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)
        wanted = getattr(test, "_hypothesis_internal_use_settings", None)
        if wanted is not None:
            few = min(wanted.max_examples, MOST_EXAMPLES)
            kept = {"derandomize": True, "database": None, "phases": [Phase.explicit, Phase.generate]}
            test._hypothesis_internal_use_settings = settings(wanted, max_examples=few, **kept)  # noqa: SLF001


class LinesOfTests:
    """Records lines while tests run."""

    def __init__(self, file: Path) -> None:
        """Start to record."""
        from coverage import Coverage  # noqa: PLC0415

        self.file = file
        self.seconds: dict[str, float] = {}
        self.passed: set[str] = set()
        self.users: defaultdict[str, set[str]] = defaultdict(set)
        files = [f"{PACKAGE}/{folder}/*.py" for folder in FOLDERS]
        self.coverage = Coverage(data_file=None, config_file=False, include=files, context="")
        self.coverage.start()
        self.context = ""
        signal.signal(signal.SIGVTALRM, stop)

    def switch(self, context: str) -> None:
        """Count what runs from here on for a test or a fixture."""
        self.coverage.switch_context(context)
        self.context = context

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Record one test with its fixtures."""
        begun = time.process_time()
        self.switch(item.nodeid)
        try:
            return (yield)
        finally:
            self.switch("outside")
            self.seconds[item.nodeid] = round(time.process_time() - begun, 3)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Function) -> Generator[None, object, object]:
        """Stop a test that takes long, and note which fixtures it used."""
        for name in item.fixturenames:
            for fixture in item._fixtureinfo.name2fixturedefs.get(name, ())[-1:]:  # noqa: SLF001
                self.users[named(fixture)].add(item.nodeid)
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """Count what a fixture of many tests runs for the fixture."""
        before = self.context
        if fixturedef.scope != "function":
            self.switch(named(fixturedef))
        try:
            return (yield)
        finally:
            self.switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep which tests passed."""
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write which lines each test runs."""
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, defaultdict[str, list[int]]] = {name: defaultdict(list) for name in sorted(self.passed)}
        for file in sorted(data.measured_files()):
            name = Path(file).relative_to(PACKAGE).as_posix()
            for line, contexts in sorted(data.contexts_by_lineno(file).items()):
                for test in {
                    test for context in contexts for test in self.users.get(context, {context})
                } & self.passed:
                    lines[test][name].append(line)
        rows = {name: {"seconds": self.seconds[name], "lines": of_test} for name, of_test in lines.items()}
        self.file.write_text(json.dumps(rows), "utf-8")


def named(fixture: pytest.FixtureDef[object]) -> str:
    """Return what names a fixture among contexts."""
    return f"fixture {fixture.baseid} {fixture.argname}"
