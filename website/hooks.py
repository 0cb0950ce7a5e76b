"""What mkdocs calls while it builds the site: pages that are made from the code join the others, and the menu."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from website.api_pages import api_pages  # noqa: E402 - mkdocs loads this file by its path
from website.command_pages import command_pages  # noqa: E402
from website.json_keys import with_keys  # noqa: E402
from website.repository_pages import links_to_pages, repository_pages  # noqa: E402
from website.schema_pages import schema_files, schema_pages  # noqa: E402

ASSETS = ("offline_search.js", "site.css", "site.js")
_MADE = {"Python API": api_pages, "Command line": command_pages, "JSON Schema": schema_pages}
"""Entries of the menu whose pages are made here, and what makes them: titles and texts by path."""


def on_config(config: Any) -> Any:
    """Put the pages into the menu that it does not name: those that are made, and those that a ``*`` stands for."""
    named = set(_paths(config.nav))
    config.nav = [entry for item in config.nav for entry in _entries(item, named)]
    return config


def _paths(items: list[Any]) -> Iterator[str]:
    """Yield every path that the menu names."""
    for item in items:
        for value in item.values() if isinstance(item, dict) else [item]:
            yield from _paths(value) if isinstance(value, list) else [value]


def _entries(item: Any, named: set[str]) -> list[Any]:
    """Return what stands in the menu for one of its items."""
    if not isinstance(item, dict):
        return sorted({path.name for path in (ROOT / "docs").glob(item)} - named) if "*" in item else [item]
    ((title, value),) = item.items()
    if value == "made":
        return [{title: [{page.title: path} for path, page in _MADE[title]().items()]}]
    if isinstance(value, list):
        return [{title: [entry for one in value for entry in _entries(one, named)]}]
    return [item]


def on_files(files: Any, config: Any) -> Any:
    """Add the made pages, the schemas as files, and the style and script of the site."""
    texts = {path: page.text for make in _MADE.values() for path, page in make().items()}
    texts |= schema_files() | repository_pages()
    texts |= {f"assets/{name}": (ROOT / "website" / name).read_text("utf-8") for name in ASSETS}
    for path, text in texts.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to files of the repository to their pages on the site; complete two pages.

    The front page has no menu at its side, and the page of JSON documents lists their keys.
    """
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]
    if page.file.src_uri == "json.md":
        markdown = with_keys(markdown)
    return links_to_pages(markdown, page.file.src_uri)


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the search."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )
