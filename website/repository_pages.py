"""Files of the repository that are pages of the site too, and links between them and the docs."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

__all__ = ["REPOSITORY_PAGES", "links_to_pages", "repository_pages"]

ROOT = Path(__file__).parents[1]
REPOSITORY_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Path in the repository, and on the site."""
_LINK = re.compile(r"\]\(([^)#\s]+\.md)(#[^)]*)?\)")


def repository_pages() -> dict[str, str]:
    """Return the text of each page by its path on the site."""
    return {site: (ROOT / path).read_text("utf-8") for path, site in REPOSITORY_PAGES.items()}


def links_to_pages(markdown: str, page: str) -> str:
    """Return the text of a page with links that lead to pages of the site.

    Parameters
    ----------
    markdown : str
        Text of the page, with links as they are in the repository.
    page : str
        Path of the page on the site.
    """
    source = {site: path for path, site in REPOSITORY_PAGES.items()}.get(page, f"docs/{page}")
    folder = posixpath.dirname(page)

    def led(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
        site = REPOSITORY_PAGES.get(target) or target.removeprefix("docs/")
        if "://" in link[1] or (target not in REPOSITORY_PAGES and page not in REPOSITORY_PAGES.values()):
            return link[0]
        return f"]({posixpath.relpath(site, folder or '.')}{link[2] or ''})"

    return _LINK.sub(led, markdown)
