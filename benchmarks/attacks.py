"""How many attacks the tests behind each promise try, and how many held; ``--write`` puts both into docs/security.md.

``python benchmarks/attacks.py [--full] [--write] [--only WORDS]``: a row of the page's table names tests of this
checkout. They are run, with ``--full`` in the number that is marked slow. A test counts as one attack, or as many as
its property ``attacks`` says, which is for tests that try many in a loop; a test that fails held none of its own.
``--only`` runs the rows that hold these words, and may be repeated: such as those of an assistant's tools, by an
interpreter with `bonwise[mcp]`. A row that was not run, or tried nothing, keeps its counts.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

HERE = Path(__file__).resolve().parents[1]
PAGE = HERE / "docs" / "security.md"
ROW = re.compile(
    r"^\| (?P<promise>[^|]+) \| (?P<tests>`tests/[^|]+`) \| *(?P<tried>[\d,]*) *\| *(?P<held>[\d,]*) *\|$"
)


def promises(page: str) -> dict[str, list[str]]:
    """Return the tests of each promise, by the line of the page."""
    rows = (ROW.match(line) for line in page.splitlines())
    return {row[0]: re.findall(r"`([^`]+)`", row["tests"]) for row in rows if row}


def run(tests: Iterable[str], *, full: bool) -> tuple[Counter[str], Counter[str]]:
    """Run tests; return the attacks that each tried, and those that held, by file and by ``file::name``."""
    tried: Counter[str] = Counter()
    held: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        chosen = ["-m", "not realserver"] if full else []
        flags = ["-q", "--junitxml", str(report), "-o", "junit_family=xunit1", *chosen]
        subprocess.run([sys.executable, "-m", "pytest", *sorted(set(tests)), *flags], cwd=HERE, check=False)
        if not report.exists():
            sys.exit("pytest ended before it reported: see above")
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
            if case.find("skipped") is not None:
                continue
            attacks = {item.get("name"): item.get("value") for item in case.iter("property")}.get("attacks")
            failed = case.find("failure") is not None or case.find("error") is not None
            for name in (str(case.get("file")), f"{case.get('file')}::{str(case.get('name')).partition('[')[0]}"):
                tried[name] += int(attacks or 1)
                held[name] += 0 if failed else int(attacks or 1)
    return tried, held


def rewritten(page: str, tried: Mapping[str, int], held: Mapping[str, int]) -> str:
    """Return the page with the counts in its table."""
    for line, tests in promises(page).items():
        row = ROW.match(line)
        assert row is not None
        if not any(tried[test] for test in tests):
            continue
        counts = " | ".join(f"{sum(each[test] for test in tests):,}" for each in (tried, held))
        page = page.replace(line, f"| {row['promise']} | {row['tests']} | {counts} |")
    return page


def main() -> int:
    """Run what the page names, print the table, and end with 1 where a promise did not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="what is marked slow, too: about an hour")
    parser.add_argument("--write", action="store_true", help=f"write the counts into {PAGE.relative_to(HERE)}")
    parser.add_argument("--only", action="append", metavar="WORDS", help="run the rows that hold these words")
    wanted = parser.parse_args()
    os.environ.setdefault("BONWISE_SHARED", str(HERE.parent / "shared"))
    page = PAGE.read_text("utf-8")
    named = {
        line: tests for line, tests in promises(page).items() if any(word in line for word in wanted.only or [""])
    }
    tried, held = run((test for tests in named.values() for test in tests), full=wanted.full)
    page = rewritten(page, tried, held)
    print(*promises(page), sep="\n")
    if wanted.write:
        PAGE.write_text(page, "utf-8")
    tests = {test for tests in named.values() for test in tests}
    absent = sorted(test for test in tests if not tried[test])
    print(*(f"{test}: tried nothing here" for test in absent), sep="\n")
    return int(bool(absent) or any(tried[test] != held[test] for test in tests))


if __name__ == "__main__":
    sys.exit(main())
