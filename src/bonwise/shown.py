"""What every result can do that has a document: show itself as a page, and in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from bonwise.extras import PAGES

__all__ = ["Shown"]


class Shown(ABC):
    """A result with a document that a page shows.

    Examples
    --------
    >>> import tempfile
    >>> import bonwise as bw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bw.plan(question="recovery>0", candidates=4, within_r=0.3).to_html(f"{folder}/plan.html")
    ...     "Plan for recovery" in Path(folder, "plan.html").read_text("utf-8")
    True
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the document."""

    def to_html(self, path: str | Path) -> None:
        """Write the page: one file that a browser shows without asking anyone for anything.

        Parameters
        ----------
        path : str or pathlib.Path

        Raises
        ------
        bonwise.errors.FileError
            It cannot be written.
        """
        from bonwise.data.writing import write_whole  # noqa: PLC0415 - a page loads what draws
        from bonwise.report.page.pages import page  # noqa: PLC0415

        write_whole(Path(path), page(self._page_document()))

    def _repr_html_(self) -> str | None:
        if PAGES.missing():
            return None  # the notebook shows the text
        from bonwise.report.page.pages import fragment  # noqa: PLC0415 - a page loads what draws

        return fragment(self._page_document())

    def _page_document(self) -> dict[str, Any]:
        """Return the document that the page shows."""
        return self.to_dict()
