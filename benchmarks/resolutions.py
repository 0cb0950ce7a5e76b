"""What uv says about a set of requirements: the versions it chose, or why there are none.

Nothing here runs uv or reads a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["CANNOT_BUILD", "NO_SOLUTION", "Resolution", "lowered", "pins", "read_versions", "version_key"]

NO_SOLUTION = "No solution found"
"""How uv begins its explanation when the requirements exclude each other."""

CANNOT_BUILD = "Failed to build"
"""How uv begins when it must build a source distribution to read what it requires, and cannot."""

_PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(?P<version>\S+)")
_VERSION = re.compile(
    r"(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)(?:(?P<stage>a|b|rc)(?P<number>\d+))?"
    r"(?:\.post(?P<post>\d+))?(?:\.dev(?P<dev>\d+))?(?:\+.*)?"
)
_DEPENDS = re.compile(
    r"(?P<owner>[\w.\[\]-]+)(?P<range>[<>=!~]\S*)? depends? on "
    r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?(?P<wanted>[<>=!~]\S*)"
)
_STAGES = {"a": -3, "b": -2, "rc": -1}


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer of uv to one set of requirements.

    Parameters
    ----------
    versions : dict of str to str
        The version of each package; empty where the requirements exclude each other.
    message : str
        uv's explanation where they do.
    """

    versions: dict[str, str] = field(default_factory=dict)
    message: str = ""


def read_versions(printed: str) -> dict[str, str]:
    """Return the version of each package in what ``uv pip compile`` prints."""
    found = (_PINNED.match(line.strip()) for line in printed.splitlines())
    return {_normalized(one["name"]): one["version"] for one in found if one}


def version_key(version: str) -> tuple[object, ...]:
    """Return a key that sorts versions by age; a local part such as ``+cpu`` does not count."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ValueError(f"{version!r} is not a version as uv prints it")
    release = [int(part) for part in found["release"].split(".")]
    while release[-1:] == [0]:
        release.pop()
    only_dev = found["dev"] is not None and found["stage"] is None and found["post"] is None
    stage = -4 if only_dev else _STAGES.get(found["stage"], 0)
    post = int(found["post"]) if found["post"] else -1
    dev = (found["dev"] is None, int(found["dev"] or 0))
    return (int(found["epoch"] or 0), release, stage, int(found["number"] or 0), post, dev)


def lowered(alone: dict[str, str], beside: dict[str, str], *, but: Iterable[str] = ()) -> dict[str, tuple[str, str]]:
    """Return the packages that are older beside another package: name to the version alone and the one beside it."""
    both = [name for name in alone if name in beside and name not in set(but)]
    older = (name for name in both if version_key(beside[name]) < version_key(alone[name]))
    return {name: (alone[name], beside[name]) for name in older}


def pins(message: str, package: str) -> list[str]:
    """Return the requirements that exclude those of a package, in uv's explanation, each as a short clause.

    Parameters
    ----------
    message : str
        The explanation of uv.
    package : str
        The package whose requirements the others exclude.

    Examples
    --------
    >>> message = "Because bonwise==0.1.0 depends on openai>=3 and crewai>=1.15 depends on openai>=2.30,<3, we ..."
    >>> pins(message, "bonwise")
    ['crewai>=1.15 needs openai>=2.30,<3, bonwise needs openai>=3']
    """
    words = " ".join(message.split())
    clauses = [one.groupdict(default="") for one in _DEPENDS.finditer(words)]
    ours = {one["name"]: one["wanted"].rstrip(",") for one in clauses if one["owner"].split("[")[0] == package}
    found = [
        f"{one['owner']}{one['range']} needs {one['name']}{one['wanted'].rstrip(',')}, "
        f"{package} needs {one['name']}{ours[one['name']]}"
        for one in clauses
        if one["owner"].split("[")[0] != package and one["name"] in ours
    ]
    return list(dict.fromkeys(found))


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
