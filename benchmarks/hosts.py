"""The adapters for other frameworks, tested with the real packages, each in an environment of its own.

For each host this command makes an environment with uv, where it is not there yet: this checkout, pytest and the
host at its newest version, or with ``--floor`` at the lowest version that the extra of bonwise admits. Then it runs
the tests of the adapter in it. Nothing but the package index is asked for anything.

Run ``python benchmarks/hosts.py``; ``--only langchain`` tests one host, ``--fresh`` makes its environment again. With
``--write docs/hosts.md`` the table on that page is made from the run. The exit code is 1 if a test failed, 2 if uv
did.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from marked_page import MarkerError, markdown_table, write_between
from uv_commands import CHECKOUT, Uv, UvError, add_uv_option, uv_of

MARKER = "hosts"
HEADER = (
    "host",
    "adapter",
    "newest tested",
    "floor tested",
    "tests",
    "what is exercised",
    "what is refused or left out",
)
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "starlette", "uvicorn")


@dataclass(frozen=True, slots=True)
class TestedHost:
    """One host, its adapter, and what its tests show.

    Parameters
    ----------
    extra : str
        The extra of bonwise, which is also the name on the command line.
    package : str
        The distribution whose version is shown.
    module : str
        The adapter.
    tests : str
        The files of tests, with a blank between two.
    exercised, refused : str
        What the page says.
    by_pip : str
        What pip installs before uv installs the rest, with a blank between two: pip may know an index of torch for
        processors alone.
    beside : str
        What is installed instead of the extra, with a blank between two, where there is none of that name.
    """

    extra: str
    package: str
    module: str
    tests: str
    exercised: str
    refused: str
    by_pip: str = ""
    beside: str = ""


TESTED = (
    TestedHost(
        "langchain",
        "langchain-core",
        "bonwise.hosts.langchain",
        "tests/hosts/test_langchain.py",
        "compressor, runnable, chat model (invoke, stream, tools, structured output), agents; sync and async",
        "LangChain's cache is not used for draws",
    ),
    TestedHost(
        "llama-index",
        "llama-index-core",
        "bonwise.hosts.llama_index",
        "tests/hosts/test_llama_index.py",
        "node postprocessor; sync and async",
        "nodes without a score are left out and listed",
    ),
    TestedHost(
        "haystack",
        "haystack-ai",
        "haystack_integrations.components.rankers.bonwise",
        "tests/hosts/test_haystack.py",
        "ranker in a pipeline, YAML; sync and async",
        "a judge that is a function is not written to YAML",
    ),
    TestedHost(
        "pydantic-ai",
        "pydantic-ai-slim",
        "bonwise.hosts.pydantic_ai",
        "tests/hosts/test_pydantic_ai.py",
        "model of an agent (run, run_sync, stream, tools, structured output, fallback); async, as the host is",
        "batches, responses finished later",
    ),
    TestedHost(
        "openai-agents",
        "openai-agents",
        "bonwise.hosts.openai_agents",
        "tests/hosts/test_openai_agents.py tests/serving/test_agents_client.py",
        "model of an agent (run, stream, tools, structured output, sessions, retries), endpoint; async, as the host",
        "conversations that the service keeps",
    ),
    TestedHost(
        "litellm",
        "litellm",
        "bonwise.hosts.litellm",
        "tests/hosts/test_litellm.py",
        "provider (completion, acompletion, streams, tools, router, callbacks, cost); sync and async",
        "`n` of a request; LiteLLM's cache is not used for draws",
    ),
    TestedHost(
        "dspy",
        "dspy",
        "bonwise.hosts.dspy",
        "tests/hosts/test_dspy.py",
        "module (call, acall, threads, trace, cache, usage), reward function; sync and async",
        "a reward is no error: what has no score gets the lowest number",
    ),
    TestedHost(
        "inspect-ai",
        "inspect-ai",
        "bonwise.hosts.inspect_ai",
        "tests/hosts/test_inspect_ai.py",
        "solver, scorers, reducer of epochs (tools, limits, retries, command, audit of a log); async, as the host is",
        "scores of several values, judges that only compare, epochs of other scorers",
    ),
    TestedHost(
        "mcp",
        "mcp",
        "bonwise.hosts.mcp_server",
        "tests/hosts/test_mcp_server.py",
        "doctor, audit, compare, plan, select by a client over standard streams",
        "files outside of the root, writing files",
    ),
    TestedHost(
        "pydantic-evals",
        "pydantic-evals",
        "bonwise.hosts.pydantic_evals",
        "tests/hosts/test_pydantic_evals.py",
        "evaluator (scores, intervals, failures, datasets in files); async, as the host is",
        "judges that only compare",
    ),
    TestedHost(
        "trl",
        "trl",
        "bonwise.hosts.trl",
        "tests/hosts/test_trl.py tests/hosts/test_trl_training.py",
        "reward function in a GRPOTrainer (12 steps of a model with random weights, failures, metrics); async",
        "a completion without a score has no reward",
        by_pip="torch requests",  # older versions of TRL import requests and do not ask for it
    ),
    TestedHost(
        "loops",
        "gevent",
        "bonwise",
        "tests/hosts/test_loops.py",
        "select, selectors, audit in gevent's greenlets; the async functions on uvloop; threads of trio",
        "the async functions on trio; several selectors at once, or half of the patches, under gevent",
        beside="gevent uvloop trio anyio",
    ),
)


@dataclass(frozen=True, slots=True)
class HostRun:
    """What the tests of one host came to in one environment.

    Parameters
    ----------
    version : str
        Of the host.
    passed, failed, skipped : int
        Tests.
    """

    version: str
    passed: int
    failed: int
    skipped: int


def floors(extra: str) -> list[str]:
    """Return the requirements of an extra, each at the lowest version that it admits."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = project["optional-dependencies"].get(extra, ())
    return [one.replace(">=", "==") for one in asked if not one.startswith("bonwise[")]


def environment(uv: Uv, host: TestedHost, folder: Path, *, floor: bool, fresh: bool) -> Path:
    """Return the interpreter of the environment of a host, which is made where it is not there yet."""
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    interpreter = folder / "bin" / "python"
    if not interpreter.exists():
        uv.checked("venv", "--quiet", "--seed", "--python", sys.executable, str(folder))
        if host.by_pip:
            subprocess.run([str(interpreter), "-m", "pip", "install", "--quiet", *host.by_pip.split()], check=True)
        extra = "audit" if host.beside else host.extra
        asked = ["--editable", f"{CHECKOUT}[{extra}]", *TOOLS, *host.beside.split()]
        asked += floors(host.extra) if floor else []
        try:
            uv.checked("pip", "install", "--quiet", "--python", str(interpreter), *asked)
        except UvError:
            shutil.rmtree(folder)
            raise
    return interpreter


def tested(host: TestedHost, interpreter: Path, version: str, report: Path, *, whole: bool) -> HostRun:
    """Run the tests of an adapter."""
    # A skipped file would be a host that was not tested.
    beside = {"BONWISE_REQUIRE_HOST": host.extra, "BONWISE_WARNINGS": "own", "OMP_NUM_THREADS": "1"}
    command = [str(interpreter), "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *host.tests.split()]
    command += [f"--junit-xml={report}", "-m", "slow or not slow" if whole else "not slow"]
    done = subprocess.run(command, cwd=CHECKOUT, env=os.environ | beside, check=False, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-2000:], file=sys.stderr)
    suite = ET.parse(report).getroot().find("testsuite") if report.exists() else None  # noqa: S314 - pytest wrote it
    if suite is None:
        return HostRun(version, 0, 1, 0)
    count = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    return HostRun(version, count["tests"] - failed - count["skipped"], failed, count["skipped"])


def cell(run: HostRun | None) -> str:
    """Return the counts of a run in a few words."""
    if run is None:
        return "-"
    more = [f"{number} {word}" for number, word in ((run.failed, "failed"), (run.skipped, "skipped")) if number]
    return ", ".join([f"{run.passed} passed", *more])


def table(rows: Sequence[tuple[TestedHost, HostRun, HostRun | None]]) -> str:
    """Return the Markdown table of all hosts."""
    found = [
        (
            f"{host.package}",
            f"`{host.module}`",
            newest.version,
            lowest.version if lowest else "-",
            cell(newest)
            if lowest is None or cell(lowest) == cell(newest)
            else f"{cell(newest)}; floor {cell(lowest)}",
            host.exercised,
            host.refused,
        )
        for host, newest, lowest in rows
    ]
    return markdown_table(HEADER, found)


def arguments(argv: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_uv_option(parser)
    names = [host.extra for host in TESTED]
    parser.add_argument("--only", action="append", choices=names, help="test this host alone; may be repeated")
    parser.add_argument("--without", action="append", choices=names, help="leave this host out; may be repeated")
    parser.add_argument("--floor", action="store_true", help="test the lowest versions beside the newest")
    parser.add_argument("--fresh", action="store_true", help="make the environments again")
    parser.add_argument("--whole", action="store_true", help="run the slow tests too")
    parser.add_argument(
        "--envs",
        type=Path,
        metavar="DIR",
        default=Path.home() / ".cache" / "bonwise-hosts",
        help="where the environments are kept (default: %(default)s)",
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help=f"replace the table '{MARKER}' of PAGE")
    asked = parser.parse_args(argv)
    if (asked.only or asked.without) and asked.write:
        parser.error("--write replaces the whole table, so it cannot be used with --only or --without")
    return parser, asked


def main(argv: Sequence[str] | None = None) -> int:
    """Test every host, print the table, and return the exit code."""
    parser, asked = arguments(argv)
    uv = uv_of(parser, asked.uv)
    rows = []
    try:
        for host in TESTED:
            if (asked.only and host.extra not in asked.only) or host.extra in (asked.without or ()):
                continue
            runs: list[HostRun | None] = []
            for floor in (False, True) if asked.floor and not host.beside else (False,):
                folder = asked.envs / f"{host.extra}{'-floor' if floor else ''}"
                interpreter = environment(uv, host, folder, floor=floor, fresh=asked.fresh)
                version = uv.installed(interpreter)[re.sub(r"[-_.]+", "-", host.package)]
                run = tested(host, interpreter, version, folder / "report.xml", whole=asked.whole)
                print(f"{host.package} {version}: {cell(run)}", file=sys.stderr)
                runs.append(run)
            rows.append((host, runs[0], runs[1] if len(runs) > 1 else None))
        today = datetime.now(UTC).date()
        python = platform.python_version()
        content = f"Tested on {today} with Python {python}, {platform.system()}.\n\n{table(rows)}"
        print(content)
        if asked.write:
            write_between(asked.write, MARKER, content)
    except (UvError, MarkerError, OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if any(run is not None and run.failed for _, *both in rows for run in both) else 0


if __name__ == "__main__":
    sys.exit(main())
