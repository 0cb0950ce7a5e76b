"""The pages of the Python API: every public name stands on the page of its family."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import bonwise
import bonwise.hosts
import bonwise.testing
from bonwise.declared import result_homes
from website.made_page import MadePage

__all__ = ["api_pages", "families"]


@dataclass(frozen=True)
class Family:
    """A page of public names."""

    title: str
    """Its heading."""
    about: str
    """The sentence below the heading."""
    homes: tuple[str, ...]
    """Packages and modules below ``bonwise`` where its names are defined; the longest match counts."""


_FAMILIES = {
    "auditing": Family(
        "Auditing",
        "Audit a judge, logged picks or stated confidence against labels, and read a result back from JSON.",
        (
            *("auditing", "comparing", "confidence", "doctoring", "watching", "loading"),
            *("votes.preferences", "votes.preferences_result"),
        ),
    ),
    "studies": Family(
        "Studies",
        "What recovery takes, how to ask a judge, what calibration changes, what easy candidates hide, votes.",
        ("studies", "votes"),
    ),
    "judges": Family(
        "Judges",
        "What scores candidates, what a judge returns, and judges by name.",
        ("judges", "stacks.judge", "table.verdicts"),
    ),
    "selection": Family("Selection", "Pick the best of the candidates of one prompt or of many.", ("selection",)),
    "strategies": Family(
        "Strategies",
        "What to ask a judge next, and when to stop.",
        ("selection.strategies", "selection.protocol", "selection.registry", "selection.learnt_draws"),
    ),
    "runs": Family(
        "Runs",
        "Score or select many pools, with progress, limits and resumption.",
        ("selection.many_pools", "selection.run"),
    ),
    "routing": Family("Routing", "Send the prompts to a stronger judge where it brings most.", ("routing",)),
    "planning": Family(
        "Planning and labels",
        "How many labels, which ones, and when they are enough.",
        ("planning", "labels", "monitoring", "table.label_design"),
    ),
    "factors": Family(
        "Several judges",
        "Weigh several judges by labels; fuse their ratings with few human ratings.",
        ("factors", "stacks"),
    ),
    "data": Family("Tables and pools", "What the functions read.", ("table", "factors.ratings")),
    "errors": Family("Errors", "What is raised where the input, a judge, a call or the ledger fails.", ("errors",)),
}
_OTHER = Family("Other", "Public names of no other page.", ())


@cache
def families() -> dict[str, list[str]]:
    """Return the public names on each page, such as ``bonwise.watch`` and ``bonwise.watching.Watch``.

    One whose home no family lists is on the page ``other``.
    """
    found: dict[str, list[str]] = {key: [] for key in (*_FAMILIES, "other")}
    results = [f"{package}.{name}" for name, package in result_homes().items()]
    for path in (*(f"bonwise.{name}" for name in bonwise.__all__ if name != "__version__"), *results):
        found[_family_of(path)].append(path)
    return {key: sorted(paths, key=_class_last) for key, paths in found.items() if paths}


def _class_last(path: str) -> tuple[bool, str]:
    name = path.rpartition(".")[2]
    return name[0].isupper(), name


def _family_of(path: str) -> str:
    package, _, name = path.rpartition(".")
    home = getattr(import_module(package), name).__module__.removeprefix("bonwise.")
    matches = [
        (len(prefix), key)
        for key, family in _FAMILIES.items()
        for prefix in family.homes
        if home == prefix or home.startswith(f"{prefix}.")
    ]
    return max(matches)[1] if matches else "other"


@cache
def api_pages() -> dict[str, MadePage]:
    """Return title and text of each page of the Python API by its path."""
    pages = {f"api/{key}.md": _page(_FAMILIES.get(key, _OTHER), paths) for key, paths in families().items()}
    return {"api/index.md": _index(), **pages, "api/testing.md": _testing(), "api/hosts.md": _hosts()}


def _page(family: Family, paths: list[str]) -> MadePage:
    text = "\n\n".join(f"::: {path}" for path in paths)
    return MadePage(family.title, f"# {family.title}\n\n{family.about}\n\n{text}\n")


def _index() -> MadePage:
    rows = []
    for key, paths in families().items():
        links = ", ".join(f"[`{path.removeprefix('bonwise.')}`]({key}.md#{path})" for path in paths)
        rows.append(f"| [{_FAMILIES.get(key, _OTHER).title}]({key}.md) | {links} |")
    return MadePage(
        "All names",
        "# Python API\n\nEvery public name of `import bonwise as bw`, and classes of what functions return, imported "
        "from their feature: `from bonwise.watching import Watch`. Doubles for tests are in "
        "[`bonwise.testing`](testing.md), adapters for other frameworks in [`bonwise.hosts`](hosts.md).\n\n"
        "| page | names |\n|---|---|\n" + "\n".join(rows) + "\n",
    )


def _testing() -> MadePage:
    text = "\n\n".join(f"::: bonwise.testing.{name}" for name in bonwise.testing.__all__)
    return MadePage(
        "Testing",
        "# bonwise.testing\n\nDoubles of judges and services, and simulated data with known truth. "
        f"See [testing without a model](../testing.md).\n\n{text}\n",
    )


def _hosts() -> MadePage:
    rules = {"adapters", "generation", "reranking", "mcp_server", "pytest_audit"}
    modules = [one.name for one in iter_modules(bonwise.hosts.__path__) if one.name not in rules]
    parts = [f"::: bonwise.hosts.{name}\n    options:\n      show_root_full_path: true\n" for name in modules]
    shared = "::: bonwise.hosts.generation.BestOfN\n"
    return MadePage(
        "Adapters",
        "# bonwise.hosts\n\nAdapters for other frameworks, one module per framework. "
        f"See [inside other frameworks](../hosts.md).\n\n{shared}\n" + "\n".join(parts),
    )
