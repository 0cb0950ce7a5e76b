"""A stack of judges fitted to labels, and put to a table: its scores as those of a further judge, and their audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Unpack

from bonwise.errors import InputError, UsageError
from bonwise.extras import linear_algebra
from bonwise.flags import Command, Flag, numbers, texts
from bonwise.printable import listed, quoted, shell_word
from bonwise.report.numbers import count, counted
from bonwise.stacks import STACK
from bonwise.table.checks import CONFIDENCE, SEED, check_number, names_of
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit
    from bonwise.auditing.settings import Settings
    from bonwise.stacks.fitted_stack import FeatureKind, JudgeStack
    from bonwise.stacks.result import StackFit
    from bonwise.stacks.stack_table import StackTable
    from bonwise.table.label_design import LabelDesign
    from bonwise.table.opening import ScoreSource
    from bonwise.table.score_table import ScoreTable

_MOST = 1e12
"""The highest price of a call, in any currency."""

_SCORES = Flag("Scores of two judges or more.", "FILE", Path)
_STACK = Flag("What bonwise stack fit --save wrote.", "--stack", Path)
_NAME = Flag("What the stack is called as a judge.")


@linear_algebra
@opens_a_table
def fit_stack(
    source: Annotated[ScoreSource, _SCORES],
    *,
    features: Annotated[
        FeatureKind | Sequence[FeatureKind],
        Flag("A feature beside the scores: spread, width or length (repeatable).", "--feature", list[str]),
    ] = (),
    prices: Annotated[
        Mapping[str, float] | None,
        Flag("Price of a call, JUDGE=PRICE, for every judge (repeatable).", "--price", list[str], numbers),
    ] = None,
    specs: Annotated[
        Mapping[str, str] | None,
        Flag("How a judge is made whose name does not say it, JUDGE=SPEC (repeatable).", "--spec", list[str], texts),
    ] = None,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> StackFit:
    """Fit a stack of the judges of a table to its labels.

    The stack is a logit of which of two labelled candidates of a prompt is the better one, on how much the judges'
    scores differ, centred within prompts; see `docs/stack.md`. Everything reported of it is out of fold.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table of two judges or more: ``prompt_id, candidate, judge, judge_score, oracle_label``.
    features : str or sequence of str
        Beside the scores: ``spread`` of draws, ``width`` of stated intervals, ``length`` of the text.
    prices : mapping of str to float, optional
        Price of a call by judge, in any one currency; for all judges or for none.
    specs : mapping of str to str, optional
        The texts that make judges whose names in the table do not, such as ``pointwise:openai/gpt-5-mini``.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of folds and draws.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    StackFit

    Raises
    ------
    bonwise.errors.InputError
        Fewer than two judges that tell candidates apart, or too few labels; one line: what, and how to mend.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bonwise as bw
    >>> rng = np.random.default_rng(1)
    >>> label = rng.normal(size=240)
    >>> cells = pd.DataFrame({"prompt_id": np.repeat(np.arange(80), 3), "candidate": np.tile(list("abc"), 80)})
    >>> judges = [cells.assign(judge=name, judge_score=label + rng.normal(size=240), oracle_label=label)
    ...           for name in ("first", "second")]
    >>> found = bw.fit_stack(pd.concat(judges))
    >>> found["recovery"].n, found.model.judges
    (80, ('first', 'second'))
    """
    from bonwise.auditing.settings import Settings
    from bonwise.stacks import measures, procedure
    from bonwise.stacks.stack_table import stack_table
    from bonwise.table.opening import open_table

    options = ReadingOptions.of(fit_stack, reading)
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    table = open_table(source, options)
    laid = stack_table(table, options, names_of("features", features))
    checked = _prices(prices or {}, laid)
    pools = laid.pools()
    dealt = procedure.deal(len(pools.sizes), pools.clusters, seed=seed)
    paths = procedure.Paths.of(pools, dealt, seed=seed)
    trained = procedure.train(pools, paths, dealt)
    measured = measures.StackMeasures(laid, pools, paths, dealt, trained, settings, checked)
    return measured.fit(None if measured.too_few else _audited(table, settings), _specs(specs or {}, laid))


def _audited(table: ScoreTable, settings: Settings) -> Audit:
    from bonwise.auditing.front import audit

    kept = {name: getattr(settings, name) for name in ("confidence", "seed", "exclude", "shape")}
    return audit(table, unpicked=table.unpicked, **kept)


def _prices(prices: Mapping[str, float], laid: StackTable) -> Mapping[str, float]:
    """Return the prices, of all judges or of none."""
    _refuse_strangers("a price", prices, laid)
    lacking = [judge for judge in laid.judges if judge not in prices]
    if prices and lacking:
        raise UsageError(
            f"no price is given for {quoted(lacking[0])}", hint="give the price of a call of every judge"
        )
    for judge, price in prices.items():
        check_number(f"the price of {quoted(judge)}", price, low=0, high=_MOST)
    return dict(prices)


def _specs(specs: Mapping[str, str], laid: StackTable) -> Mapping[str, str]:
    _refuse_strangers("a spec", specs, laid)
    return dict(specs)


def _refuse_strangers(what: str, given: Mapping[str, object], laid: StackTable) -> None:
    unknown = [judge for judge in given if judge not in laid.table.judges]
    if unknown:
        raise UsageError(
            f"{what} is given for {quoted(unknown[0])}, which is not a judge of this table",
            hint=f"the judges are {listed(laid.table.judges)}",
        )


class HoldsStack(Protocol):
    """Something that applies a stack, such as a fit."""

    def to_stack(self) -> JudgeStack:
        """Return what applies the stack."""
        ...


StackSource = str | Path | HoldsStack
"""A stack: the path of a file that ``bonwise stack fit --save`` wrote, a fit, or a `JudgeStack`."""


@dataclass(frozen=True, eq=False)
class AppliedStack:
    """A table with the scores of a stack, as a further judge."""

    table: ScoreTable
    lacking: tuple[str, ...]
    """Judges of the stack that the table does not have."""
    seen: int
    """Prompts of the table that the stack was fitted to."""

    @property
    def caveats(self) -> list[str]:
        """What limits the scores, one sentence each."""
        sentences = []
        if self.lacking:
            sentences.append(
                f"The table lacks {listed(self.lacking)}: their scores are filled by what the others let expect."
            )
        if self.seen:
            sentences.append(
                f"{counted(self.seen, 'prompt')} of {count(len(self.table.prompts))} are those that the stack was "
                "fitted to: figures on them are too good. bonwise stack fit --scores writes their scores out of fold."
            )
        return sentences


@opens_a_table
def apply_stack(
    source: Annotated[ScoreSource, _SCORES],
    stack: Annotated[StackSource, _STACK],
    *,
    name: Annotated[str, _NAME] = STACK,
    **reading: Unpack[ReadingKeywords],
) -> AppliedStack:
    """Add the scores of a stack to a table, as those of a further judge.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores of the judges of the stack; labels are not needed.
    stack : str, pathlib.Path, StackFit or JudgeStack
    name : str
        What the stack is called as a judge.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    AppliedStack

    Raises
    ------
    bonwise.errors.InputError
        The table has none of the judges, or a judge of this name.
    """
    from bonwise.stacks import result, stack_table
    from bonwise.table.opening import open_scores, open_table

    options = ReadingOptions.of(apply_stack, reading)
    labelled = options.labels is not None or options.oracle is not None
    table = open_table(source, options) if labelled else open_scores(source, options)
    held = result.read_stack(stack) if isinstance(stack, str | Path) else stack
    if isinstance(held, result.StackFit):
        _refuse_other_direction(held, table)
    scored, lacking = stack_table.with_stack(
        table, held.to_stack(), name=name, exclude=options.exclude, shape=options.shape
    )
    seen = held.fitted([str(prompt) for prompt in table.prompts]) if isinstance(held, result.StackFit) else 0
    return AppliedStack(scored, lacking, seen)


def _refuse_other_direction(fitted: StackFit, table: ScoreTable) -> None:
    there = set(fitted.settings.lower_is_better or ())
    for judge in sorted((there ^ table.turned) & {*fitted.to_stack().judges} & {*table.judges}):
        raise UsageError(
            f"{table.source}: the stack was fitted to scores of {quoted(judge)} in the other direction",
            hint=f"{'add' if judge in there else 'leave out'} --lower-is-better {shell_word(judge)}",
        )


@linear_algebra
@opens_a_table
def audit_stack(
    source: Annotated[ScoreSource, _SCORES],
    stack: Annotated[StackSource, _STACK],
    *,
    name: Annotated[str, _NAME] = STACK,
    design: Annotated[
        str | Path | LabelDesign | None,
        Flag("How labels were drawn: uniform, cells, cells-by-score, or the file of bonwise labels draw.", kind=str),
    ] = None,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> Audit:
    """Audit a stack, beside its judges, on prompts that it was not fitted to.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores of the judges of the stack, with labels.
    stack : str, pathlib.Path, StackFit or JudgeStack
    name : str
        What the stack is called as a judge.
    design : str, pathlib.Path or LabelDesign, optional
        How the labels were drawn, as in `bonwise.audit`.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        As in `bonwise.audit`.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    Audit

    Raises
    ------
    bonwise.errors.InputError
        Prompts that the stack was fitted to, or none of its judges.
    """
    from bonwise.auditing.front import audit
    from bonwise.table.opening import open_table

    options = ReadingOptions.of(audit_stack, reading)
    kept: dict[str, Any] = {"exclude": options.exclude, "shape": options.shape, "unpicked": options.unpicked}
    applied = apply_stack(open_table(source, options), stack, name=name, **kept)
    if applied.seen:
        raise InputError(
            f"{applied.table.source}: {counted(applied.seen, 'prompt')} of {count(len(applied.table.prompts))} are "
            "those that the stack was fitted to, and figures on them would be too good",
            hint="audit other prompts, or the file that bonwise stack fit --scores writes",
        )
    return audit(applied.table, design=design, confidence=confidence, seed=seed, **kept)


AUDIT = Command(
    audit_stack,
    """Audit a stack on labels that it was not fitted to, beside its judges.

    Prompts that the stack was fitted to are refused: stack fit --scores writes their scores out of fold.
    """,
)
