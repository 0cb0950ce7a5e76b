"""Labels as they come in: go on labelling, or stop?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import NO_FLAG, Flag, comma_separated
from bonwise.table.checks import CONFIDENCE
from bonwise.table.reading_options import LabelledInOrderKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.monitoring.result import Monitor, Question
    from bonwise.table.label_design import LabelDesign
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource
    from bonwise.table.votes import Ties


@opens_a_table
def monitor(  # noqa: PLR0913 - all but the source are named
    source: Annotated[ScoreSource, Flag("Labels or votes, their rows in the order they came.", "FILE", Path)],
    *,
    question: Annotated[Question, Flag("precision, significance or preference.", kind=str)],
    label_file: Annotated[RowSource | None, NO_FLAG] = None,
    half_width: Annotated[float | None, Flag("Stop when recovery is known to this half-width.")] = None,
    than: Annotated[float | None, Flag("Reference: a recovery [0], or a share of votes [0.5].", rare=True)] = None,
    planned: Annotated[int | None, Flag("Labelled prompts that a fixed design would take.", rare=True)] = None,
    first_look: Annotated[int | None, Flag("A later first look, in labelled prompts.", rare=True)] = None,
    judge: Annotated[str | None, Flag("Whose picks, where the table has several judges.")] = None,
    design: Annotated[
        str | Path | LabelDesign | None,
        Flag("How prompts were drawn: uniform, or the file of bonwise labels draw --design uniform.", kind=str),
    ] = None,
    verdict_col: Annotated[str | None, Flag("Column of the votes.")] = None,
    pair_col: Annotated[
        Sequence[str],
        Flag("Columns of the two models, a,b, where they change places.", "", str, comma_separated, rare=True),
    ] = (),
    ties: Annotated[Ties | None, Flag("How ties count: drop, half or pessimistic.", kind=str, rare=True)] = None,
    margin: Annotated[float | None, Flag("Expected distance of the share from one half [0.1].", rare=True)] = None,
    control: Annotated[
        str | Sequence[str], Flag("An easy or outstanding candidate: leave it out (repeatable).", kind=list[str])
    ] = (),
    keep_easy: Annotated[
        str | Sequence[str],
        Flag("An easy or outstanding candidate that counts like any other (repeatable).", kind=list[str], rare=True),
    ] = (),
    confidence: float = CONFIDENCE,
    **reading: Unpack[LabelledInOrderKeywords],
) -> Monitor:
    """Decide whether the labels so far are enough, by a rule that may be asked as often as one likes.

    All that the rule depends on (half-width, reference, plan, margin) is to be fixed before the first label. Of
    preferences `prompt_col` names the prompt, each with one vote at most.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores, and without `label_file` the labels too, its rows in the order of labelling; of preferences the
        votes.
    question : {"precision", "significance", "preference"}
        Recovery known to a half-width; recovery above `than`; first answer preferred by more than `than`.
    label_file : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Labels of the scores; the order of its rows is that of labelling.
    half_width : float, optional
        Precision: of recovery's interval, above 0; needed there.
    than : float, optional
        Significance: a recovery below 1, 0 unless given. Preference: a share in (0, 1), 0.5 unless given.
    planned : int, optional
        Labelled prompts that a fixed design would take. Precision: the first look is at max(30, a tenth of it);
        significance: the confidence sequence is narrowest there, at 400 unless given.
    first_look : int, optional
        A later first look, in labelled prompts; an earlier one is refused.
    judge : str, optional
        The audited judge; needed where the table holds several.
    design : str, pathlib.Path or LabelDesign, optional
        ``"uniform"`` states that the labelled prompts are a uniform draw from all; a record of such a draw proves it.
        Where more than 5 % of the prompts lack labels, the verdict is on the labelled ones alone without it.
    verdict_col : str, optional
        Preference: column of the votes; needed there.
    pair_col : sequence of str
        Preference: the two columns that name the models, where they change places.
    ties : {"drop", "half", "pessimistic"}, optional
        Preference: needed where there are ties.
    margin : float, optional
        Preference: the expected distance of the share from one half, 0.1 unless given; it tunes the mixture.
    control : str or sequence of str
        Named easy or outstanding candidates: left out of the figures.
    keep_easy : str or sequence of str
        Candidates that count like any other although they hold an end of the labels. An easy candidate that is
        named neither here nor in `control` leaves open what the rule says, and so do outstanding ones without which
        it says something else; see `docs/verdict.md`.
    confidence : float
        In [0.5, 1): of the interval, and 1 minus the chance of ever making a false claim.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    Monitor

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or argument, how to mend.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"winner": ["a"] * 30 + ["b"] * 2})
    >>> monitor(votes, question="preference", verdict_col="winner")
    <Monitor of preference: stop: better after 32>
    """
    arguments = dict(locals())
    from bonwise.monitoring.engine import decide

    arguments["pair"] = arguments.pop("pair_col")
    arguments["prompt"] = reading.pop("prompt_col", None) if question == "preference" else None
    options = ReadingOptions.of(monitor, arguments.pop("reading"), labels=arguments.pop("label_file"))
    return decide(arguments.pop("source"), arguments, options)
