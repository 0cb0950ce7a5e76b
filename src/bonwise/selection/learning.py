"""What repeated scores of a judge say of further calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Flag
from bonwise.table.checks import SEED
from bonwise.table.reading_options import ColumnKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.selection.learnt import LearnDocument


@opens_a_table
def learn(
    source: Annotated[str | Path, Flag("Scores with columns draw_0, draw_1 ... or a column draw.", "FILE", Path)],
    *,
    judge: Annotated[str | None, Flag("Whose draws, where several judges have some.")] = None,
    mean_calls: Annotated[float | None, Flag("Also tell the price for so many calls per pool.")] = None,
    max_draws: Annotated[int, Flag("Most draws of one candidate.")] = 8,
    seed: int = SEED,
    **reading: Unpack[ColumnKeywords],
) -> LearnDocument:
    """Learn from the draws of one judge, without labels, when another call is worth it.

    Parameters
    ----------
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.
    """
    from bonwise.selection.draw_model import learnt_document  # noqa: PLC0415 - the help of the command loads no engine
    from bonwise.table.score_table import ScoreTable  # noqa: PLC0415 - as above

    table = ScoreTable.opened(source, ReadingOptions.of(learn, reading))
    return learnt_document(table, judge=judge, mean_calls=mean_calls, max_draws=max_draws, seed=seed)
