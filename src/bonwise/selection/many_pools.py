"""``bw.judge`` and ``bw.select_many``: many pools in, verdicts or one pick per pool out, in input order."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from bonwise.calls.bill import Bill
from bonwise.calls.portal import Portal
from bonwise.calls.settings import BATCH_OPTIONS, CallSettings, JudgeSettings
from bonwise.errors import UsageError
from bonwise.flags import shows
from bonwise.judges import calling, judging, pool_loop, scoring
from bonwise.judges.protocol import Judge, is_asking, variables_of
from bonwise.report.numbers import counted
from bonwise.selection.pools import PoolSource, beside_the_loop, opened, pools_of, reader_of, text_with_images
from bonwise.selection.run import Counted, Progress, RunControl, RunSummary, Stop
from bonwise.selection.selection import Selection
from bonwise.selection.selector import Selector
from bonwise.selection.settings import Engines, SelectorSettings
from bonwise.table.pools import Pool
from bonwise.table.verdicts import Score, Unscored
from bonwise.table.writing import csv_text, write_whole
from bonwise.tracing import logger

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.table.score_table import ScoreTable

_SERVED_EVERY = 0.02
"""Seconds."""


@dataclass(frozen=True, slots=True, repr=False)
class JudgedPools(Sequence[scoring.JudgedPool]):
    """Pools with the verdicts of each judge, in input order; `bonwise.audit` takes them together with labels.

    Parameters
    ----------
    judged : tuple of JudgedPool
        Each has its `pool`, and one of `judgments` per judge, which has `verdicts` in candidate order.
    judges : tuple of Judge
    bill : Bill
        Calls, tokens and cost.
    run : pathlib.Path, str or None
        The run folder, or the address of the database, that keeps the answers.
    """

    judged: tuple[scoring.JudgedPool, ...]
    judges: tuple[Judge, ...]
    bill: Bill = field(default_factory=Bill)
    run: Path | str | None = None

    def __len__(self) -> int:
        return len(self.judged)

    def __getitem__(self, at: int) -> scoring.JudgedPool:  # type: ignore[override]  # no slices: they would not be JudgedPools
        return self.judged[at]

    @property
    def verdicts(self) -> int:
        """How many verdicts there are, scored or not: one per prompt, candidate and judge."""
        return sum(len(judgment.verdicts) for pool in self.judged for judgment in pool.judgments)

    @property
    def cost(self) -> float | None:
        """US dollars that this run spent; None where a price is not known."""
        return self.bill.cost

    @property
    def pending(self) -> dict[str, int]:
        """Why verdicts are missing that a later run on the same run folder asks for, with how many, most first."""
        reasons = (verdict.reason.removeprefix("owed: ") for verdict in self._missing() if verdict.owed)
        return dict(Counter(reasons).most_common())

    @property
    def unscored(self) -> dict[str, int]:
        """Why verdicts have no score although the judge was asked, with how many, most first."""
        return dict(Counter(verdict.reason for verdict in self._missing() if not verdict.owed).most_common())

    @property
    def filled(self) -> dict[str, int]:
        """Candidates that judges of a stack did not score, by judge: filled by what the other judges let expect."""
        verdicts = (verdict for pool in self.judged for judgment in pool.judgments for verdict in judgment.verdicts)
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
        return _written(csv_text(*scoring.score_table(self.judged, self.judges, raw=raw, tokens=tokens)), path)

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
        header = (*scoring.PAIR_HEADER, *("tokens",) * tokens)
        return _written(csv_text(header, scoring.pair_rows(self.judged, self.judges, tokens=tokens)), path)

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

        from bonwise.table.reading_options import ReadingOptions  # noqa: PLC0415
        from bonwise.table.score_table import ScoreTable  # noqa: PLC0415

        header, rows = scoring.score_table(self.judged, self.judges)
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
        verdicts = [verdict for pool in self.judged for verdict in pool.judgments[at].verdicts]
        missing = [verdict.owed for verdict in verdicts if isinstance(verdict, Unscored)]
        scored, pending = len(verdicts) - len(missing), sum(missing)
        lost = scoring.words_of_lost(self.judged, at)
        counts = f"{scored:,} scored, {len(missing) - pending:,} unscored, {pending:,} pending"
        return f"{judge.name}: {counts}, {lost}" if lost else f"{judge.name}: {counts}"

    def _counts(self) -> list[str]:
        candidates = sum(len(judged.pool.candidates) for judged in self.judged)
        counts = {"pool": len(self), "candidate": candidates, "judge": len(self.judges)}
        return [counted(count, name) for name, count in counts.items()]

    def _missing(self) -> Iterator[Unscored]:
        verdicts = (verdict for pool in self.judged for judgment in pool.judgments for verdict in judgment.verdicts)
        return (verdict for verdict in verdicts if isinstance(verdict, Unscored))


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_whole(Path(path), text)
    return text


Judging = Judge | Callable[[str, str], Any] | Sequence[Judge | Callable[[str, str], Any]]


@shows(JudgeSettings)
def judge(
    pools: PoolSource,
    *,
    judge: Judging,
    run: str | Path | None = None,
    text: Callable[[Any], str] | None = None,
    images: str | Path | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
    **settings: Unpack[JudgeSettings],
) -> JudgedPools:
    """Score every candidate of many pools with one or several judges.

    Parameters
    ----------
    pools : str, pathlib.Path or iterable
        A file of pools (JSONL); or pools, each a `Pool`, a mapping with ``prompt``, ``candidates`` and perhaps
        ``prompt_id``, or a pair ``(prompt, candidates)``. A pool without an id is named by its position, from 0.
    judge : Judge, callable, or sequence of these
        Judges, or functions ``(prompt, text) -> number``. Each needs a name of its own.
    run : str or pathlib.Path, optional
        A run folder: answers are kept there and never paid twice, so that the same call resumes a run.
    text : callable, optional
        Candidate to the text the judge sees.
    images : str or pathlib.Path, optional
        The folder of images. See `bonwise.select`.
    progress : callable, optional
        Called several times a second with a `bonwise.selection.run.RunProgress`.
    stop : bonwise.selection.run.Stop, optional
        Ends the run from outside.
    deadline : float, optional
        Seconds for one question; after them it is not tried again, but pending.
    **settings
        Those of `JudgeSettings`: limits, attempts, reask, offline, batch ...

    Returns
    -------
    JudgedPools
        What did not arrive is `pending`, with its reasons: the same call on the same run folder asks for it.

    Raises
    ------
    bonwise.errors.UsageError
        Something that is no pool, a prompt id that occurs twice, two judges of one name, or a setting that means
        nothing.
    bonwise.errors.InputError
        A file that holds no pools.
    bonwise.errors.JudgeError
        A judge that fails or does not keep its contract.
    bonwise.errors.CallError
        There is no key for a model's provider.

    Examples
    --------
    >>> found = judge([("Name a colour", ["red", "sky blue"])], judge=lambda prompt, text: len(text))
    >>> found, found.cost
    (<JudgedPools: 1 pool, 2 candidates, 1 judge>, 0.0)
    """
    judges, in_batches = judges_of(judge), batch_options(settings)
    engines = Engines.of(ledger=run, **_without_batches(settings))
    text = text_with_images(images, judges, text)
    if in_batches is not None:
        pools, text = list(pools_of(pools, text, variables_of(judges))), None
    before = rounds_before(in_batches, pools, judges)
    control = RunControl(progress, stop or Stop(), _expected(pools, judges, text))
    if not control.stop.requests:
        refuse_without_key(pools, judges, engines, text)
    portal = Portal(engines.make)

    def begin(reader: pool_loop.ItemReader[Pool], engine: Engine) -> AsyncGenerator[scoring.JudgedPool, None]:
        return judged_by(judges, reader, engine, control, before=before)

    try:
        judged = tuple(
            pool_loop.from_callers_thread(pools_of(pools, text, variables_of(judges)), begin, portal.submit)
        )
    finally:
        _end(portal.close)
    return JudgedPools(judged, judges, control.how_it_went.engine.totals.bill, engines.run)


@shows(JudgeSettings)
async def ajudge(
    pools: PoolSource | AsyncIterable[Any],
    *,
    judge: Judging,
    run: str | Path | None = None,
    text: Callable[[Any], str] | None = None,
    images: str | Path | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
    **settings: Unpack[JudgeSettings],
) -> JudgedPools:
    """Do what `judge` does, in the running event loop; pools may come from an asynchronous iterable too.

    A file, or an iterator that may block, is read in a thread of its own.

    Examples
    --------
    >>> import asyncio
    >>> async def judge_length(prompt, text):
    ...     return len(text)
    >>> asyncio.run(ajudge([("Name a colour", ["red", "sky blue"])], judge=judge_length))
    <JudgedPools: 1 pool, 2 candidates, 1 judge>
    """
    judges, in_batches = judges_of(judge), batch_options(settings)
    engines = Engines.of(ledger=run, **_without_batches(settings))
    text = text_with_images(images, judges, text)
    if in_batches is not None:
        at_hand = [pool async for pool in pools] if isinstance(pools, AsyncIterable) else pools
        pools, text = list(pools_of(at_hand, text, variables_of(judges))), None
    before = rounds_before(in_batches, pools, judges)
    expected = None if isinstance(pools, AsyncIterable) else _expected(pools, judges, text)
    control = RunControl(progress, stop or Stop(), expected)
    if not control.stop.requests:
        refuse_without_key(pools, judges, engines, text)
    reader, coming = reader_of(pools, text, variables_of(judges))
    try:
        async with engines.make() as engine:
            judged = tuple([pool async for pool in judged_by(judges, reader, engine, control, before=before)])
    finally:
        if coming is not None:
            await coming.aclose()
    return JudgedPools(judged, judges, control.how_it_went.engine.totals.bill, engines.run)


Before = Callable[["Engine", asyncio.Event], Awaitable[None]]
"""What is done with an engine before it is asked anything; the event is set when the run is told to end."""


def batch_options(settings: Mapping[str, Any]) -> tuple[bool, bool] | None:
    """Return whether batches are awaited, and whether they are sent again; None where none are wanted."""
    for name in ("no_wait", "resubmit"):
        if settings.get(name) and not settings.get("batch"):
            raise UsageError(f"{name} is of batches, and batch is not set", hint="give both, or none")
    return (not settings.get("no_wait"), bool(settings.get("resubmit"))) if settings.get("batch") else None


def _without_batches(settings: JudgeSettings) -> CallSettings:
    return cast("CallSettings", {name: value for name, value in settings.items() if name not in BATCH_OPTIONS})


def rounds_before(
    options: tuple[bool, bool] | None, pools: Any, judges: Sequence[Judge], tell: Callable[[str], None] | None = None
) -> Before | None:
    """Return what puts questions into batches, by `batch_options`; its lines go to `tell`, else the log."""
    if options is None:
        return None
    from bonwise.judges.batch_rounds import answer_in_batches  # noqa: PLC0415 - few ask in batches

    wait, resubmit = options
    return partial(answer_in_batches, pools, judges, wait=wait, resubmit=resubmit, tell=tell or logger("calls").info)


async def judged_by(
    judges: Sequence[Judge],
    pools: pool_loop.ItemReader[Pool],
    engine: Engine,
    control: RunControl,
    run: Path | str | None = None,
    before: Before | None = None,
) -> AsyncGenerator[scoring.JudgedPool, None]:
    """Yield each pool with its verdicts, in input order; after a stop, pending where the ledger has no answer."""
    summary = RunSummary(engine, judges, run)
    counted: Counted = "answers" if any(map(is_asking, judges)) else "pools"
    async with (
        control.over(summary, counted) as stopped,
        aclosing(scoring.judge_pools(pools, judges, engine)) as coming,
    ):
        if before is not None and not engine.stopped:
            await before(engine, stopped)
        async for judged in coming:
            summary.note(judged)
            yield judged


def judges_of(given: Judging) -> tuple[Judge, ...]:
    """Return judges as they are asked; none, or two of one name, are refused."""
    several = given if isinstance(given, Sequence) else [given]
    judges = tuple(map(calling.as_judge, several))
    if not judges:
        raise UsageError("no judge", hint="pass a judge, a function, or a sequence of them")
    names: set[str] = set()
    for judge in judges:
        if judge.name in names:
            raise UsageError(f"two judges are named {judge.name!r}", hint="give each judge a name of its own")
        names.add(judge.name)
    return judges


def _expected(pools: PoolSource, judges: Sequence[Judge], text: Callable[[Any], str] | None) -> int | None:
    """Return how many answers of models, else pools, there will be, or None; what is no pool is found here."""
    if not isinstance(pools, str | Path | Collection):
        return None
    checked = pools_of(pools, text, variables_of(judges))
    return scoring.expected_answers(checked, judges) if any(map(is_asking, judges)) else sum(1 for _ in checked)


def refuse_without_key(
    pools: PoolSource | AsyncIterable[Any],
    judges: Sequence[Judge],
    engines: Engines,
    text: Callable[[Any], str] | None = None,
) -> None:
    """Raise `CallError` where a model without a key is to be asked; stored answers need none."""
    lacking = [(judge, error) for judge in judges if (error := judging.missing_key(judge)) is not None]
    if not lacking or engines.settings["offline"]:
        return
    from bonwise.calls.ledger.place import holds_ledger  # noqa: PLC0415 - with all keys at hand nothing is looked up

    run = engines.run if engines.run is not None and holds_ledger(engines.run) else None
    if isinstance(pools, str | Path | Collection):
        without_key, reask = [judge for judge, _ in lacking], engines.settings["reask"]
        needed = bool(judge(pools, judge=without_key, run=run, text=text, reask=reask, offline=True).pending)
    else:
        needed = run is None
    if needed:
        raise lacking[0][1]


def _end(close: Callable[..., None]) -> None:
    """Wait a while for the calls on the wire, which are paid; who interrupts that as well leaves them."""
    try:
        close()
    except KeyboardInterrupt:
        close(wait=False)
        raise


@shows(SelectorSettings)
def select_many(
    pools: PoolSource,
    *,
    judge: Judge | Callable[[str, str], Any],
    images: str | Path | None = None,
    **settings: Unpack[SelectorSettings],
) -> Iterator[Selection]:
    """Pick the best candidate of each of many pools, and yield the picks in the order of the pools.

    Parameters
    ----------
    pools : str, pathlib.Path or iterable
        A file of pools (JSONL); or pools, each a `Pool`, a mapping with ``prompt``, ``candidates`` and perhaps
        ``prompt_id``, or a pair ``(prompt, candidates)``. A pool without an id is named by its position, from 0.
    judge : Judge or callable
        A judge, or a function ``(prompt, text) -> number``.
    images : str or pathlib.Path, optional
        The folder of images. See `bonwise.select`.
    **settings
        Those of `SelectorSettings`: strategy, router, deadline, on_failure, ledger, limits, seed ...

    Raises
    ------
    Exception
        As `bonwise.Selector.aselect`; the pools under way are then given up.

    Examples
    --------
    >>> pools = [("Name a colour", ["red", "sky blue"]), ("Name a fish", ["cod", "salmon"])]
    >>> [pick.best for pick in select_many(pools, judge=lambda prompt, text: len(text))]
    ['sky blue', 'salmon']
    """
    with Selector(judge, **settings) as selector:
        text = text_with_images(images, selector.settings.all_judges, settings.get("text"))
        coming = opened(pools, selector.settings.variables, text)
        yield from selector.select_many(coming, ordered=True, images=images)


@shows(SelectorSettings)
async def aselect_many(
    pools: PoolSource | AsyncIterable[Any],
    *,
    judge: Judge | Callable[[str, str], Any],
    images: str | Path | None = None,
    **settings: Unpack[SelectorSettings],
) -> AsyncIterator[Selection]:
    """Do what `select_many` does, in the running event loop; pools may come from an asynchronous iterable too.

    A file, or an iterator that may block, is read in a thread of its own.
    """
    async with Selector(judge, **settings) as selector:
        text = text_with_images(images, selector.settings.all_judges, settings.get("text"))
        coming = beside_the_loop(pools, selector.settings.variables, text)
        async with aclosing(selector.aselect_many(coming, ordered=True, images=images)) as picks:
            async for pick in picks:
                yield pick


async def selected_by(
    selector: Selector, pools: Iterator[Any] | AsyncIterable[Any], control: RunControl, run: Path | str | None = None
) -> AsyncGenerator[Selection, None]:
    """Yield the picks of many pools in input order, by a selector of the caller's; after a stop no pool is begun."""
    summary = RunSummary(await selector.engine(), [selector.settings.judge], run)
    async with control.over(summary, "pools") as stopped:
        if isinstance(pools, AsyncIterable):
            async with aclosing(selector.aselect_many(pools, ordered=True, stop=stopped)) as picks:
                async for pick in picks:
                    summary.note_pick(pick)
                    yield pick
            return
        # Picks that take no time have no task each; between them the event loop serves all else.
        served = time.monotonic()
        for pick in selector.select_many(pools, ordered=True):
            summary.note_pick(pick)
            yield pick
            if time.monotonic() > served + _SERVED_EVERY:
                await asyncio.sleep(0)
                served = time.monotonic()
            if stopped.is_set():
                return
