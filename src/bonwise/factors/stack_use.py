"""A stack at a table: its scores as those of a further judge, and the audit of that judge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from bonwise.auditing.audit import audit
from bonwise.data.checks import CONFIDENCE, SEED
from bonwise.data.judge_stack import JudgeStack
from bonwise.data.label_design import LabelDesign
from bonwise.data.opening import ScoreSource, open_scores, open_table
from bonwise.data.reading_options import ReadingKeywords, ReadingOptions, opens_a_table
from bonwise.data.stack_scores import STACK, with_stack
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed
from bonwise.documents.stack import StackDocument, read_stack
from bonwise.errors import InputError
from bonwise.report.numbers import count, counted

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit

__all__ = ["AppliedStack", "StackSource", "apply_stack", "audit_stack"]


class HoldsStack(Protocol):
    """Something that applies a stack, such as a fit or its document."""

    def to_stack(self) -> JudgeStack:
        """Return what applies the stack."""
        ...


StackSource = str | Path | HoldsStack | JudgeStack
"""A stack: the path of a file that ``bonwise stack fit --out`` wrote, a fit, its document, or a `JudgeStack`."""


@dataclass(frozen=True, eq=False)
class AppliedStack:
    """A table with the scores of a stack.

    Parameters
    ----------
    table : ScoreTable
        With the stack as a further judge.
    lacking : tuple of str
        Judges of the stack that the table does not have.
    seen : int
        Prompts of the table that the stack was fitted to.
    """

    table: ScoreTable
    lacking: tuple[str, ...]
    seen: int

    @property
    def caveats(self) -> list[str]:
        """What limits the scores, one sentence each."""
        found = []
        if self.lacking:
            found.append(
                f"The table lacks {listed(self.lacking)}: their scores are filled by what the others let expect."
            )
        if self.seen:
            found.append(
                f"{counted(self.seen, 'prompt')} of {count(len(self.table.prompts))} are those that the stack was "
                "fitted to: figures on them are too good. bonwise stack fit --scores writes their scores out of fold."
            )
        return found


@opens_a_table
def apply_stack(
    source: ScoreSource, stack: StackSource, *, name: str = STACK, **reading: Unpack[ReadingKeywords]
) -> AppliedStack:
    """Add the scores of a stack to a table, as those of a further judge.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores of the judges of the stack; labels are not needed.
    stack : str, pathlib.Path, StackFit, StackDocument or JudgeStack
    name : str
        What the stack is called as a judge.
    **reading
        How the table is opened, see `bonwise.data.reading_options.ReadingOptions`.

    Returns
    -------
    AppliedStack

    Raises
    ------
    bonwise.errors.InputError
        The table has none of the judges, or a judge of this name.
    """
    options = ReadingOptions.of(apply_stack, reading)
    labelled = options.labels is not None or options.oracle is not None
    table = open_table(source, options) if labelled else open_scores(source, options)
    document = _opened(stack)
    found, lacking = with_stack(table, document.to_stack(), name=name, exclude=options.exclude, shape=options.shape)
    seen = document.fitted([str(one) for one in table.prompts]) if isinstance(document, StackDocument) else 0
    return AppliedStack(found, lacking, seen)


@opens_a_table
def audit_stack(
    source: ScoreSource,
    stack: StackSource,
    *,
    name: str = STACK,
    design: str | Path | LabelDesign | None = None,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> Audit:
    """Audit a stack, beside its judges, on prompts that it was not fitted to.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores of the judges of the stack, with labels.
    stack : str, pathlib.Path, StackFit, StackDocument or JudgeStack
    name : str
        What the stack is called as a judge.
    design : str, pathlib.Path or LabelDesign, optional
        How the labels were drawn, as in `bonwise.audit`.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        As in `bonwise.audit`.
    **reading
        How the table is opened, see `bonwise.data.reading_options.ReadingOptions`.

    Returns
    -------
    Audit

    Raises
    ------
    bonwise.errors.InputError
        Prompts that the stack was fitted to, or none of its judges.
    """
    options = ReadingOptions.of(audit_stack, reading)
    found = apply_stack(open_table(source, options), stack, name=name, exclude=options.exclude, shape=options.shape)
    if found.seen:
        raise InputError(
            f"{found.table.source}: {counted(found.seen, 'prompt')} of {count(len(found.table.prompts))} are those "
            "that the stack was fitted to, and figures on them would be too good",
            hint="audit other prompts, or the file that bonwise stack fit --scores writes",
        )
    kept: dict[str, Any] = {"exclude": options.exclude, "shape": options.shape}
    return audit(found.table, design=design, confidence=confidence, seed=seed, **kept)


def _opened(stack: StackSource) -> HoldsStack:
    if isinstance(stack, str | Path):
        return read_stack(stack)
    return _BareStack(stack) if isinstance(stack, JudgeStack) else stack


@dataclass(frozen=True, eq=False)
class _BareStack:
    stack: JudgeStack

    def to_stack(self) -> JudgeStack:
        return self.stack
