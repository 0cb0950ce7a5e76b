"""Which version a package gets beside bonwise, compared with the version that it gets alone.

Two packages may ask for different versions of a third. Then an installer refuses both or, worse, silently installs an
old version of one. This command builds the wheel of this checkout and lets uv choose versions without installing
anything: for each package alone, beside ``bonwise`` and beside ``bonwise[audit]``, named before bonwise and after it.
It prints a Markdown table. The exit code is 1 if a package that must keep its version gets another, 2 if uv fails.

Run ``python benchmarks/compatibility.py``; how to read the table: ``docs/install.md``.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from marked_page import MarkerError, markdown_table, write_between
from resolutions import Resolution, lowered, pins
from uv_commands import BuildError, Uv, UvError, Wheel, add_uv_option, uv_of

MUST_HOLD = (
    "llama-index",
    "crewai",
    "verifiers",
    "litellm",
    "dspy",
    "langchain",
    "langchain-openai",
    "pydantic-ai",
    "openai-agents",
    "garak",
    "arize-phoenix",
    "graphrag",
    "langroid",
    "snowflake-ml-python",
    "ydata-profiling",
)
"""Each of these must get the version that it gets alone."""

ALSO = (
    "inspect-ai",
    "haystack-ai",
    "trl",
    "promptflow",
    "guardrails-ai",
    "browser-use",
    "vllm",
    "sglang",
    "instructor",
    "mlflow",
    "langfuse",
    "deepeval",
)
"""These are shown, whatever they get."""

MARKER = "compatibility"
TIERS = ("bonwise", "bonwise[audit]")
HEADER = ("package", "alone", *(f"beside `{tier}`" for tier in TIERS), "bonwise then runs on", "note")


@dataclass(frozen=True, slots=True)
class Beside:
    """What a package gets beside one tier of bonwise.

    Parameters
    ----------
    before, after : Resolution
        The package is named before bonwise, and after it.
    pinned : Resolution or None
        With the version that it gets alone asked for; None where nobody had to ask.
    """

    before: Resolution
    after: Resolution
    pinned: Resolution | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """One package, alone and beside each tier of bonwise.

    Parameters
    ----------
    name : str
        The package.
    alone : Resolution
        What it gets alone.
    beside : dict of str to Beside
        What it gets beside each tier; empty where it gets nothing alone.
    built : bool
        Whether uv could build every source distribution whose requirements it had to read.
    """

    name: str
    alone: Resolution
    beside: dict[str, Beside]
    built: bool = True

    @property
    def version(self) -> str | None:
        """The version that it gets alone."""
        return self.alone.versions.get(self.name)

    @property
    def keeps_its_version(self) -> bool:
        """Whether it gets that version beside both tiers, whatever is named first."""
        tried = [one for tier in self.beside.values() for one in (tier.before, tier.after)]
        return bool(tried) and all(one.versions.get(self.name) == self.version for one in tried)


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolve packages beside one wheel.

    Parameters
    ----------
    uv : Uv
        Chooses the versions.
    python : str
        The version of Python to choose them for.
    wheel : Wheel
        The wheel of bonwise.
    """

    uv: Uv
    python: str
    wheel: Wheel

    def host(self, name: str) -> Host:
        """Resolve one package alone and beside bonwise.

        Where uv cannot build a source distribution, it chooses among wheels, alone and beside bonwise.
        """
        try:
            return self._host(name, build=True)
        except BuildError:
            return self._host(name, build=False)

    def _host(self, name: str, *, build: bool) -> Host:
        alone = self.uv.resolve([name], self.python, self.wheel, build=build)
        version = alone.versions.get(name)
        tiers = TIERS if version else ()
        return Host(name, alone, {tier: self._beside(name, version, tier, build=build) for tier in tiers}, build)

    def _beside(self, name: str, version: str | None, tier: str, *, build: bool) -> Beside:
        def resolve(*requirements: str) -> Resolution:
            return self.uv.resolve(list(requirements), self.python, self.wheel, build=build)

        before, after = resolve(name, tier), resolve(tier, name)
        kept = all(one.versions.get(name) == version for one in (before, after))
        return Beside(before, after, None if kept else resolve(f"{name}=={version}", tier))


def cell(host: Host, beside: Beside | None) -> str:
    """Return what a package gets beside one tier, in a few words."""
    if beside is None:
        return "-"
    before, after = (
        "same" if found == host.version else found or "no solution"
        for found in (one.versions.get(host.name) for one in (beside.before, beside.after))
    )
    return before if before == after else f"{before}; {after} if bonwise is named first"


def notes(host: Host) -> str:
    """Return why a package gets another version, and which others get older beside bonwise."""
    found = [] if host.built else ["resolved without building source distributions"]
    if not host.beside:
        return "; ".join([*found, f"no solution alone: {_first_sentence(host.alone.message)}"])
    for beside in host.beside.values():
        if beside.pinned is not None:
            found += _reasons(host, beside.pinned)
    older: dict[str, tuple[str, str]] = {}
    for beside in host.beside.values():
        for one in (beside.before, beside.after, beside.pinned):
            if one is not None and one.versions.get(host.name) == host.version:
                older |= lowered(host.alone.versions, one.versions, but=[host.name])
    found += [f"{name} {now}, alone {was}" for name, (was, now) in sorted(older.items())]
    return "; ".join(dict.fromkeys(found))


def _reasons(host: Host, pinned: Resolution) -> list[str]:
    if pinned.versions:
        return [f"name it before bonwise, or ask for `{host.name}=={host.version}`"]
    return pins(pinned.message, "bonwise") or [_first_sentence(pinned.message)]


def _first_sentence(message: str) -> str:
    words = " ".join(message.partition("hint:")[0].split())
    return words.partition("cause: ")[2].partition(" And because")[0] or words


def older_needs(host: Host, fresh: Resolution, wheel: Wheel) -> str:
    """Return the packages of bonwise that are older beside this one than in an environment of their own."""
    if not host.beside:
        return ""
    versions = host.beside[TIERS[-1]].before.versions
    found = lowered({name: fresh.versions[name] for name in wheel.needs}, versions)
    return ", ".join(f"{name} {version}" for name, (_, version) in sorted(found.items()))


def table(hosts: Sequence[Host], fresh: Resolution, wheel: Wheel) -> str:
    """Return the Markdown table of all packages."""
    rows = [
        (
            host.name,
            host.version or "no solution",
            *(cell(host, host.beside.get(tier)) for tier in TIERS),
            older_needs(host, fresh, wheel),
            notes(host),
        )
        for host in hosts
    ]
    return markdown_table(HEADER, rows)


def arguments(argv: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_uv_option(parser)
    parser.add_argument("--only", action="append", metavar="NAME", help="check this package alone; may be repeated")
    parser.add_argument(
        "--python", default="3.11", help="the version of Python to resolve for (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="how many packages to resolve at once (default: %(default)s)"
    )
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help=f"replace what PAGE holds between its two '{MARKER}' markers"
    )
    asked = parser.parse_args(argv)
    if asked.only and asked.write:
        parser.error("--write replaces the whole table, so it cannot be used with --only")
    return parser, asked


def main(argv: Sequence[str] | None = None) -> int:
    """Resolve every package, print the table, and return the exit code."""
    parser, asked = arguments(argv)
    uv = uv_of(parser, asked.uv)
    try:
        with tempfile.TemporaryDirectory() as folder:
            wheel = uv.wheel(Path(folder))
            resolver = Resolver(uv, asked.python, wheel)
            fresh = uv.resolve([TIERS[-1]], asked.python, wheel)
            with ThreadPoolExecutor(asked.jobs) as pool:
                hosts = []
                for host in pool.map(resolver.host, asked.only or MUST_HOLD + ALSO):
                    hosts.append(host)
                    print(f"{len(hosts)}. {host.name} {host.version or 'has no solution'}", file=sys.stderr)
        today = datetime.now(UTC).date()
        made = f"Resolved on {today} with uv {uv.version()}, Python {asked.python}, {platform.system()}."
        content = f"{made}\n\n{table(hosts, fresh, wheel)}"
        print(content)
        if asked.write:
            write_between(asked.write, MARKER, content)
    except (UvError, MarkerError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    changed = [host.name for host in hosts if host.name in MUST_HOLD and not host.keeps_its_version]
    for name in changed:
        print(f"{name} does not get the version that it gets alone", file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
