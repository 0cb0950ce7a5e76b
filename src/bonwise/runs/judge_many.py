"""``bw.judge`` and ``bw.ajudge``: many pools in, the verdicts of one or several judges out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from bonwise.data.pool import Pool
from bonwise.errors import UsageError
from bonwise.judges.calling import as_judge
from bonwise.judges.pool_loop import ItemReader, from_callers_thread
from bonwise.judges.protocol import Judge, is_asking
from bonwise.judges.scoring import JudgedPool, expected_answers, judge_pools
from bonwise.runs.control import RunControl, Stop
from bonwise.runs.judged_pools import JudgedPools
from bonwise.runs.pools import PoolSource, pools_of, reader_of
from bonwise.runs.progress import Counted, Progress
from bonwise.runs.summary import RunSummary
from bonwise.selection.engine_settings import EngineSettings

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection

__all__ = ["ajudge", "judge", "judged_by"]

Judging = Judge | Callable[[str, str], Any] | Sequence[Judge | Callable[[str, str], Any]]


class JudgeSettings(TypedDict, total=False):
    """What a run of judges may use; the keywords of `judge`."""

    max_concurrency: int
    max_calls: int | None
    max_tokens: int | None
    max_cost: float | None
    deadline: float | None
    reask: int
    offline: bool
    connection: Connection | None


def judge(
    pools: PoolSource,
    *,
    judge: Judging,
    run: str | Path | None = None,
    text: Callable[[Any], str] | None = None,
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
    progress : callable, optional
        Called several times a second with a `bonwise.runs.progress.RunProgress`.
    stop : bonwise.runs.control.Stop, optional
        Ends the run from outside.
    max_concurrency : int
        Calls in flight at once at each model, 64 unless given.
    max_calls, max_tokens, max_cost : optional
        Hard limits on what is spent: calls, tokens, US dollars.
    deadline : float, optional
        Seconds for one question; after them it is not tried again, but pending.
    reask : int
        1 asks again, once, where the stored answer is unscored.
    offline : bool
        Whether to take answers from the ledger only.
    connection : Connection, optional
        Timeouts, and the transport that carries the requests.

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
    from bonwise.calls.portal import Portal  # noqa: PLC0415 - loads what talks to services, when first needed

    judges, engine_settings = _judges(judge), EngineSettings(run, **settings)
    control = RunControl(progress, stop or Stop(), _expected(pools, judges, text))
    portal = Portal(partial(engine_settings.engine, ()))

    def begin(reader: ItemReader[Pool], engine: Engine) -> AsyncGenerator[JudgedPool, None]:
        return judged_by(judges, reader, engine, control)

    try:
        judged = tuple(from_callers_thread(pools_of(pools, text), begin, portal.submit))
    finally:
        _end(portal.close)
    return JudgedPools(judged, judges, control.how_it_went.engine.totals.bill, engine_settings.run)


async def ajudge(
    pools: PoolSource | AsyncIterable[Any],
    *,
    judge: Judging,
    run: str | Path | None = None,
    text: Callable[[Any], str] | None = None,
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
    judges, engine_settings = _judges(judge), EngineSettings(run, **settings)
    expected = None if isinstance(pools, AsyncIterable) else _expected(pools, judges, text)
    control = RunControl(progress, stop or Stop(), expected)
    reader, coming = reader_of(pools, text)
    try:
        async with engine_settings.engine(()) as engine:
            judged = tuple([one async for one in judged_by(judges, reader, engine, control)])
    finally:
        if coming is not None:
            await coming.aclose()
    return JudgedPools(judged, judges, control.how_it_went.engine.totals.bill, engine_settings.run)


async def judged_by(
    judges: Sequence[Judge],
    pools: ItemReader[Pool],
    engine: Engine,
    control: RunControl,
    run: Path | None = None,
) -> AsyncGenerator[JudgedPool, None]:
    """Yield each pool with the verdicts of the judges, in input order, by an engine of the caller's.

    After a stop the pools that are left come too: their verdicts are pending, unless the ledger holds the answers.
    """
    summary = RunSummary(engine, judges, run)
    counted: Counted = "answers" if any(map(is_asking, judges)) else "pools"
    async with control.over(summary, counted), aclosing(judge_pools(pools, judges, engine)) as found:
        async for judged in found:
            summary.note(judged)
            yield judged


def _judges(given: Judging) -> tuple[Judge, ...]:
    several = given if isinstance(given, Sequence) else [given]
    judges = tuple(map(as_judge, several))
    if not judges:
        raise UsageError("no judge", hint="pass a judge, a function, or a sequence of them")
    names: set[str] = set()
    for one in judges:
        if one.name in names:
            raise UsageError(f"two judges are named {one.name!r}", hint="give each judge a name of its own")
        names.add(one.name)
    return judges


def _expected(pools: PoolSource, judges: Sequence[Judge], text: Callable[[Any], str] | None) -> int | None:
    """Return how many answers of models, or else pools, there will be; None where nobody knows beforehand.

    What is no pool is found here, before anything is paid.
    """
    if not isinstance(pools, str | Path | Collection):
        return None
    found = pools_of(pools, text)
    return expected_answers(found, judges) if any(map(is_asking, judges)) else sum(1 for _ in found)


def _end(close: Callable[..., None]) -> None:
    """Wait a while for the calls on the wire, which are paid; who interrupts that as well leaves them."""
    try:
        close()
    except KeyboardInterrupt:
        close(wait=False)
        raise
