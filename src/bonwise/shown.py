"""What every result can do: print itself, and be shown as a page, in a notebook, as Markdown, as figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.extras import FIGURES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from bonwise.report.answers import StatedVerdict
    from bonwise.report.blocks import Drawing, FigureData
    from bonwise.results import Document


class ShowsItself(ABC):
    """A document, or what has one."""

    @abstractmethod
    def _document(self) -> Document:
        """Return what is shown."""

    def __str__(self) -> str:
        return self.to_text()

    @property
    def answer(self) -> StatedVerdict | None:
        """The answer: a word, its colour, a sentence, and what to do next; None where nothing is asked."""
        from bonwise.report.show import answer  # noqa: PLC0415 - loaded only to be shown

        return answer(self._document())

    def to_text(self, *, full: bool = False) -> str:
        """Return the result as plain text, as a terminal shows it.

        Parameters
        ----------
        full : bool
            Whether to return everything where `str` gives a short form, as of an audit: all its metrics.
        """
        from bonwise.report.show import text  # noqa: PLC0415 - rendering loads rich

        return text(self._document(), full=full)

    def to_markdown(self) -> str:
        """Return the result as Markdown of GitHub's kind: headings, paragraphs, tables."""
        from bonwise.report.show import markdown  # noqa: PLC0415 - loaded only to be shown

        return markdown(self._document())

    def to_html(self, path: str | Path) -> None:
        """Write the page: one file that a browser shows without loading anything else.

        Parameters
        ----------
        path : str or pathlib.Path

        Raises
        ------
        bonwise.errors.FileError
            It cannot be written.
        """
        from bonwise.report.show import page  # noqa: PLC0415 - drawing loads matplotlib
        from bonwise.table.writing import write_whole  # noqa: PLC0415 - loaded only to be shown

        write_whole(Path(path), page(self._document()))

    @property
    def drawings(self) -> list[Drawing[FigureData]]:
        """The drawings of the page; each has ``plot(ax=)`` and ``to_frame()``."""
        from bonwise.report.show import drawings  # noqa: PLC0415 - loaded only to be shown

        return drawings(self._document())

    @property
    def figure_names(self) -> list[str]:
        """The names that `plot` and `figure_data` take, one per figure of the page, in its order."""
        from bonwise.report.show import by_name  # noqa: PLC0415 - loaded only to be shown

        return list(by_name(self.drawings))

    def plot(self, name: str, ax: Axes | None = None) -> Axes:
        """Draw a figure of the page on matplotlib axes, and return them.

        Parameters
        ----------
        name : str
            One of `figure_names`, or words of it between hyphens, for the first figure that has them: ``picks`` for
            ``picks-shares``. Of several judges the name says which one.
        ax : matplotlib.axes.Axes, optional
            Fonts and frames of given axes stay as they are. New ones look as on the page; their figure is
            ``ax.figure``.

        Raises
        ------
        bonwise.errors.UsageError
            A name that no figure of this result has.
        bonwise.errors.MissingExtraError
            matplotlib is not installed.
        """
        FIGURES.require(f"plot({name!r})")
        return self._figure(name).plot(ax)

    def figure_data(self, name: str) -> pd.DataFrame:
        """Return the numbers that a figure of the page shows.

        Parameters
        ----------
        name : str
            As in `plot`.

        Returns
        -------
        pandas.DataFrame
            One row per point, interval or bar.

        Raises
        ------
        bonwise.errors.UsageError
            A name that no figure of this result has.
        """
        return self._figure(name).to_frame()

    def _figure(self, name: str) -> Drawing[FigureData]:
        from bonwise.report.show import figure  # noqa: PLC0415 - loaded only to be shown

        return figure(self.drawings, name)

    def _repr_html_(self) -> str | None:
        from bonwise.report.show import notebook  # noqa: PLC0415 - loaded only to be shown

        return notebook(self._document())
