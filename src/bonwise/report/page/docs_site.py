"""Where the documentation is: what BONWISE_DOCS names, or the address that the installed package states."""

from __future__ import annotations

import os
from importlib.metadata import metadata
from pathlib import Path

from bonwise.errors import UsageError
from bonwise.printable import printable

ENVIRONMENT_VARIABLE = "BONWISE_DOCS"

_SCHEMES = ("https://", "http://", "file://")
_STATED = "documentation"
"""Label of a project's address, in small letters."""


def docs_site(named: str | None = None) -> str | None:
    """Return the documentation's address or folder, `named`, else by ``BONWISE_DOCS``; None for neither."""
    named_site = os.getenv(ENVIRONMENT_VARIABLE, "") if named is None else named
    address = _address(named_site) if named_site else _stated()
    return address if address is None or address.endswith("/") else f"{address}/"


def _address(site: str) -> str:
    if site.startswith(_SCHEMES) and site.isprintable() and " " not in site:
        return site
    folder = Path(site)
    try:
        built = (folder / "index.html").is_file()
    except (OSError, ValueError):  # too long for a name, or with a letter that no name holds
        built = False
    if built:
        return folder.resolve().as_uri()
    raise UsageError(
        f"{ENVIRONMENT_VARIABLE} is neither an address nor a folder of a built site: {printable(site, longest=200)}",
        hint="such as https://docs.example.org/bonwise/, or the folder that mkdocs build wrote",
    )


def _stated() -> str | None:
    for line in metadata("bonwise").get_all("Project-URL") or ():
        label, _, address = line.partition(",")
        if label.strip().lower() == _STATED:
            return str(address).strip()
    return None
