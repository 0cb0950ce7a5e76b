"""A judge that says again what it said in a run: from the ledger, and from nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from bonwise.calls.engine import Engine
from bonwise.calls.portal import Portal
from bonwise.judges.judging import judge_with
from bonwise.judges.protocol import AskingJudge, Judgment
from bonwise.table.verdicts import Verdict

__all__ = ["ReplayJudge"]


class ReplayJudge:
    """Answers of a judge that asks a model, read anew from a ledger; nothing is sent and no key is needed.

    Parameters
    ----------
    of : AskingJudge
        The judge of that run, with the same settings: another prompt or temperature is another question.
    ledger : str or pathlib.Path
        The run folder, or its ``.sqlite`` file.
    reask : int
        As in the run: 1 where it asked again for what was unscored. More than the run had is owed.

    Examples
    --------
    >>> import tempfile
    >>> from bonwise.judges.pointwise import Pointwise
    >>> with tempfile.TemporaryDirectory() as run, ReplayJudge(Pointwise("openai/gpt-5-mini"), run) as judge:
    ...     judge.judge("Name a colour", ["red"])
    (Unscored(reason='owed: not in the ledger', raw=''),)
    """

    def __init__(self, of: AskingJudge, ledger: str | Path, reask: int = 0) -> None:
        self.of = of

        self._portal = Portal(partial(Engine, ledger, reask=reask, offline=True))

    @property
    def name(self) -> str:
        """The name of the judge it stands for."""
        return self.of.name

    @property
    def version(self) -> str:
        """The version of the judge it stands for."""
        return self.of.version

    def judge(self, prompt: str, candidates: Sequence[str]) -> tuple[Verdict, ...]:
        """Return its verdicts; what the ledger does not hold is unscored and owed."""
        return self.replay(prompt, candidates).verdicts

    def replay(self, prompt: str, candidates: Sequence[str]) -> Judgment:
        """Return verdicts, comparisons and the bill."""
        return self._portal.run(judge_with, self.of, prompt, candidates)

    def close(self) -> None:
        """Close the ledger."""
        self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
