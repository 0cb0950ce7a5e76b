"""What judging many pools returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Score, Unscored
from bonwise.data.writing import csv_text, write_whole
from bonwise.judges.judged_table import PAIR_HEADER, pair_rows, score_table
from bonwise.judges.protocol import Judge
from bonwise.judges.scoring import JudgedPool
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.data.table import ScoreTable

__all__ = ["JudgedPools"]


@dataclass(frozen=True, slots=True, repr=False)
class JudgedPools(Sequence[JudgedPool]):
    """Pools with the verdicts of each judge, in input order; `bonwise.audit` takes them together with labels.

    Parameters
    ----------
    judged : tuple of JudgedPool
        Each has its `pool`, and one of `judgments` per judge, which has `verdicts` in candidate order.
    judges : tuple of Judge
    bill : Bill
        Calls, tokens and cost.
    run : pathlib.Path or None
        The run folder that keeps the answers.

    Examples
    --------
    >>> import bonwise as bw
    >>> found = bw.judge([("Name a colour", ["red", "sky blue"])], judge=lambda prompt, text: len(text))
    >>> found
    <JudgedPools: 1 pool, 2 candidates, 1 judge>
    >>> [verdict.value for verdict in found[0].judgments[0].verdicts]
    [3.0, 8.0]
    >>> print(found.to_csv(), end="")
    prompt_id,candidate,judge,judge_score,unscored
    0,c0,<lambda>,3.0,
    0,c1,<lambda>,8.0,
    """

    judged: tuple[JudgedPool, ...]
    judges: tuple[Judge, ...]
    bill: Bill = field(default_factory=Bill)
    run: Path | None = None

    def __len__(self) -> int:
        return len(self.judged)

    def __getitem__(self, at: int) -> JudgedPool:  # type: ignore[override]  # no slices: they would not be JudgedPools
        return self.judged[at]

    @property
    def verdicts(self) -> int:
        """How many verdicts there are, scored or not: one per prompt, candidate and judge."""
        return sum(len(found.verdicts) for one in self.judged for found in one.judgments)

    @property
    def cost(self) -> float | None:
        """US dollars that this run spent; None where a price is not known."""
        return self.bill.cost

    @property
    def pending(self) -> dict[str, int]:
        """Why verdicts are missing that a later run on the same run folder asks for, with how many, most first."""
        reasons = (one.reason.removeprefix("owed: ") for one in self._missing() if one.owed)
        return dict(Counter(reasons).most_common())

    @property
    def unscored(self) -> dict[str, int]:
        """Why verdicts have no score although the judge was asked, with how many, most first."""
        return dict(Counter(one.reason for one in self._missing() if not one.owed).most_common())

    @property
    def filled(self) -> dict[str, int]:
        """Candidates that judges of a stack did not score, by judge: filled by what the other judges let expect."""
        verdicts = (verdict for one in self.judged for found in one.judgments for verdict in found.verdicts)
        names = (name for verdict in verdicts if isinstance(verdict, Score) for name in verdict.filled)
        return dict(Counter(names).most_common())

    def to_csv(self, path: str | Path | None = None, *, raw: bool = False, tokens: bool = False) -> str:
        """Return the scores as ``bonwise judge --out`` writes them: one row per prompt, candidate and judge.

        Parameters
        ----------
        path : str or pathlib.Path, optional
            Where to write them too.
        raw : bool
            Whether to add what the judge said.
        tokens : bool
            Whether to add what the answers took.

        Raises
        ------
        bonwise.errors.FileError
            It cannot be written.
        """
        return _written(csv_text(*score_table(self.judged, self.judges, raw=raw, tokens=tokens)), path)

    def pairs_to_csv(self, path: str | Path | None = None, *, tokens: bool = False) -> str:
        """Return the single comparisons as ``bonwise judge --pairs`` writes them: one row per judge and pair.

        Parameters
        ----------
        path : str or pathlib.Path, optional
            Where to write them too.
        tokens : bool
            Whether to add what the answers took.

        Raises
        ------
        bonwise.errors.FileError
            It cannot be written.
        """
        header = (*PAIR_HEADER, *("tokens",) * tokens)
        return _written(csv_text(header, pair_rows(self.judged, self.judges, tokens=tokens)), path)

    def to_table(self) -> ScoreTable:
        """Return the scores as a table, which every function that reads a table of scores takes.

        Raises
        ------
        bonwise.errors.MissingExtraError
            The extra that reads tables is not installed.
        bonwise.errors.InputError
            Nothing was scored.
        """
        from bonwise.extras import TABLES  # noqa: PLC0415 - judging needs no table

        TABLES.require("a table of judged pools")
        import pandas as pd  # noqa: PLC0415

        from bonwise.data.reading_options import ReadingOptions  # noqa: PLC0415
        from bonwise.data.table import ScoreTable  # noqa: PLC0415

        header, rows = score_table(self.judged, self.judges)
        return ScoreTable.opened(pd.DataFrame(rows, columns=list(header)), ReadingOptions(), "judged pools")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self._counts())}>"

    def __str__(self) -> str:
        calls, kept = counted(self.bill.calls, "call"), counted(self.bill.from_ledger, "answer")
        lines = [", ".join([*self._counts(), calls, f"{kept} from the ledger"])]
        lines += [self._line(at, judge) for at, judge in enumerate(self.judges)]
        lines += [f"unscored ({count:,}): {reason}" for reason, count in self.unscored.items()]
        lines += [f"pending ({count:,}): {reason}" for reason, count in self.pending.items()]
        return "\n".join(lines)

    def _line(self, at: int, judge: Judge) -> str:
        verdicts = [verdict for one in self.judged for verdict in one.judgments[at].verdicts]
        missing = [verdict.owed for verdict in verdicts if isinstance(verdict, Unscored)]
        scored, pending = len(verdicts) - len(missing), sum(missing)
        return f"{judge.name}: {scored:,} scored, {len(missing) - pending:,} unscored, {pending:,} pending"

    def _counts(self) -> list[str]:
        candidates = sum(len(one.pool.candidates) for one in self.judged)
        counts = {"pool": len(self), "candidate": candidates, "judge": len(self.judges)}
        return [counted(count, name) for name, count in counts.items()]

    def _missing(self) -> Iterator[Unscored]:
        verdicts = (verdict for one in self.judged for found in one.judgments for verdict in found.verdicts)
        return (verdict for verdict in verdicts if isinstance(verdict, Unscored))


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_whole(Path(path), text)
    return text
