"""Which candidates to label: a draw of some, and what ways of drawing them would have saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import NO_FLAG, Command, Flag, as_share
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import NO_PROPENSITY, PoolKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.labels.result import DesignComparison, LabelDraw
    from bonwise.table.label_design import LabelDesign
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource

SHARES = (0.1, 0.25, 0.5)

_JUDGE = Flag("The audited judge, where the file holds several.")
_LABEL_FILE = Flag("Labels, joined on prompt and candidate.", kind=Path)


@opens_a_table
def draw_labels(  # noqa: PLR0913 - the one front door of the draw; all but the source are named
    source: Annotated[ScoreSource, NO_FLAG],
    *,
    labels: Annotated[int, NO_FLAG],
    design: Annotated[
        str | None, Flag("rule (the default), uniform, stratified, neyman; pick or pair for single candidates.")
    ] = None,
    judge: Annotated[str | None, _JUDGE] = None,
    seed: int = SEED,
    texts: Annotated[bool, NO_FLAG] = False,
    pools: Annotated[
        str | Path | None,
        Flag("Pools (JSONL) with the words of prompts and candidates; the sheet then shows no names."),
    ] = None,
    after: Annotated[str | Path | LabelDesign | None, Flag("An earlier draw, to be topped up.", kind=Path)] = None,
    label_file: Annotated[RowSource | None, _LABEL_FILE] = None,
    by: Annotated[str | None, Flag("prompt (the default), or cell: single candidates beside whole pools.")] = None,
    for_: Annotated[
        str | None,
        Flag("With --by cell: recovery (the default, from 8 candidates per prompt) or gain.", "--for", rare=True),
    ] = None,
    **reading: Unpack[PoolKeywords],
) -> LabelDraw:
    """Draw what to label.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table ``prompt_id, candidate, judge_score``. Its oracle labels are looked at in a second phase only.
    labels : int
        By a rule for prompts: prompts to label, each with all its candidates. By ``pick`` and ``pair``, and by cell:
        candidates. With `after` the total over all phases.
    design : {"rule", "uniform", "stratified", "neyman", "pick", "pair"}, optional
        ``rule`` where nothing is named, or the rule of `after`.
    judge : str, optional
        The audited judge; needed where the table holds several. The spread of the others helps to choose.
    seed : int
        0 or more.
    texts : bool
        Whether the sheet holds the words of prompts and candidates too, where the source has columns of them.
    pools : str or pathlib.Path, optional
        Pools (JSONL) with the words of prompts and candidates. The sheet is then blind: it shows words under keys, in
        random order.
    after : str, pathlib.Path or LabelDesign, optional
        An earlier phase: what it drew stays drawn.
    label_file : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Labels of the earlier phases, where the table does not hold them; by cell also labels from before the first.
    by : {"prompt", "cell"}, optional
        Whether prompts are drawn, or cells: the candidates of a prompt. That of `after`, or prompts, where nothing is
        said. Labels that drawn cells have already are used, and count among `labels`.
    for_ : {"recovery", "gain"}, optional
        What labels by cell are for. Recovery, the default, needs 8 candidates per prompt: some prompts are labelled
        whole, and of others one candidate with the highest score and one other. For gain all labels go to such pairs.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    LabelDraw

    Raises
    ------
    bonwise.errors.InputError
        One line: an unknown rule, fewer than two prompts, more than there are, several judges and none named, a
        first phase of another table, rule or judge, an argument of the wrong kind.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> draw_labels(simulate("arena", n=300, seed=1).frame(), labels=60, seed=1)
    <LabelDraw by rule: 60 of 300 prompts, phase 1>
    """
    from bonwise.labels.engine import drawn_labels

    return drawn_labels(
        source,
        ReadingOptions.of(draw_labels, reading, labels=label_file),
        labels=labels,
        design=design,
        judge=judge,
        seed=seed,
        after=after,
        label_file=label_file,
        texts=texts,
        by=by,
        for_=for_,
        pools=pools,
    )


@opens_a_table
def compare_designs(
    source: Annotated[ScoreSource, Flag("Scores: CSV, JSONL, Parquet or a folder.", "FILE", Path)],
    *,
    shares: Annotated[
        Sequence[float], Flag("Part of the prompts to label (repeatable).", "--share", parse=as_share)
    ] = SHARES,
    judge: Annotated[str | None, _JUDGE] = None,
    draws: Annotated[int, Flag("Repeated draws of each design.")] = 200,
    seed: int = SEED,
    label_file: Annotated[RowSource | None, _LABEL_FILE] = None,
    confidence: float = CONFIDENCE,
    **reading: Unpack[PoolKeywords],
) -> DesignComparison:
    """Compare label designs on a completely labelled table.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table ``prompt_id, candidate, judge_score, oracle_label``.
    shares : sequence of float
        Parts of the prompts to label, each in (0, 1).
    judge : str, optional
        The audited judge; needed where the table holds several.
    draws : int
        Repeated draws behind the simulated column, 2 or more.
    seed : int
    label_file : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Labels from elsewhere, joined on prompt and candidate.
    confidence : float
        Of the two-sided intervals, in [0.5, 1). They are those of the correlations.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    DesignComparison

    Raises
    ------
    bonwise.errors.InputError
        Labels are missing or leave recovery undefined; a share labels fewer than two prompts; several judges; an
        argument of the wrong kind.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = compare_designs(simulate("arena", n=400, seed=1).frame(), shares=[0.25], draws=20)
    >>> found.designs["uniform"].shares[0].labels_only
    1.0
    """
    from bonwise.labels.design_comparison import compared_designs

    return compared_designs(
        source,
        ReadingOptions.of(compare_designs, reading, labels=label_file),
        shares=shares,
        judge=judge,
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


COMPARE = Command(
    compare_designs,
    """Compare label designs on a completely labelled file.

    Prints how much recovery would vary under each design.
    """,
    without=NO_PROPENSITY,
)
