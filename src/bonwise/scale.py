"""Judge more pools than one process can: blocks of a Ray dataset, each by the loop that judges a file."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from bonwise.calls import bill, portal
from bonwise.calls.ledger.place import is_address
from bonwise.calls.settings import CallSettings, EngineSettings
from bonwise.errors import BonwiseError, UsageError
from bonwise.extras import RAY
from bonwise.flags import shows
from bonwise.judges import pool_loop, protocol, scoring
from bonwise.selection.many_pools import judges_of
from bonwise.selection.pools import pools_of
from bonwise.selection.settings import Engines
from bonwise.table import checks

if TYPE_CHECKING:
    from ray.data import Dataset

    from bonwise.calls.engine import Engine
    from bonwise.table.pools import Pool

__all__ = ["BLOCK_SIZE", "WORKERS", "judge_blocks", "judge_dataset"]

BLOCK_SIZE = 200
WORKERS = 2


@shows(CallSettings)
def judge_dataset(
    dataset: Dataset,
    *,
    judge: protocol.Judge | Callable[[str, str], Any] | Sequence[protocol.Judge | Callable[[str, str], Any]],
    ledger: str | Path,
    block_size: int = BLOCK_SIZE,
    workers: int = WORKERS,
    **settings: Unpack[CallSettings],
) -> Dataset:
    """Score every candidate of the pools in a Ray dataset; what it returns is computed when it is read or written.

    Parameters
    ----------
    dataset : ray.data.Dataset
        One row per pool, with ``prompt``, ``candidates`` and ``prompt_id``, as a line of a file of pools.
    judge : Judge, callable, or sequence of these
        Judges, or functions ``(prompt, text) -> number``. Each needs a name of its own.
    ledger : str or pathlib.Path
        Where answers are kept: the address of a database, or on a single node a run folder. Answers that it holds
        are not paid again, so that reading the same dataset again resumes the work.
    block_size : int
        Pools in a block, the unit that Ray tries again: where a worker ends, its block's calls in flight are paid
        again, and no others.
    workers : int
        Processes that judge, each with `max_concurrency` calls at once.
    **settings
        Those of `CallSettings`; a limit on money needs a window, as in ``"5/day"``, which the ledger keeps for all.

    Returns
    -------
    ray.data.Dataset
        One row per prompt, candidate and judge, with the columns of ``bonwise judge --out``: ``judge_score`` is null
        where a candidate is unscored, and ``unscored`` says why.

    Raises
    ------
    bonwise.errors.UsageError
        A run folder on several nodes, a limit that one process keeps, or a setting that means nothing.
    bonwise.errors.MissingExtraError
        Ray is not installed.

    Examples
    --------
    >>> pools = ray.data.read_json("pools.jsonl", lines=True)  # doctest: +SKIP
    >>> scores = judge_dataset(pools, judge=bw.Pointwise("openai/gpt-5-mini"), ledger="runs/a")  # doctest: +SKIP
    >>> scores.write_parquet("scores")  # doctest: +SKIP
    """
    judges, given = judges_of(judge), EngineSettings(**settings, ledger=ledger)
    _check(judges, given, block_size, workers)
    judged = _judged(dataset, judges, given, block_size, workers)
    return judged.map_batches(_rows_of, fn_args=(judges,), batch_size=block_size)


def _check(judges: Sequence[protocol.Judge], settings: EngineSettings, block_size: int, workers: int) -> None:
    """Refuse, before a cluster is started, what would not hold in several processes."""
    checks.check_whole("block_size", block_size, least=1)
    checks.check_whole("workers", workers, least=1)
    RAY.require("judging by Ray")
    engines = Engines.of(**settings)
    limits, ledger = engines.spending, engines.settings["ledger"]
    if limits is not None and (limits.shared is None or limits.bounded):
        hint = "limit money within a window, such as 5/day: the ledger keeps it for all"
        raise UsageError("a limit on calls, on tokens or on money without a window is kept by one process", hint=hint)
    if ledger is None and any(map(protocol.is_asking, judges)):
        raise UsageError("Ray tries blocks again, and needs a ledger", hint="name a run folder or a database")


def judge_blocks(
    pools: Sequence[Pool],
    judges: Sequence[protocol.Judge],
    settings: EngineSettings,
    block_size: int = BLOCK_SIZE,
    workers: int = WORKERS,
) -> Iterator[tuple[scoring.JudgedPool, tuple[str, bill.CallTotals]]]:
    """Yield each pool with its judgments, in input order, and a worker with what its engine was asked so far."""
    _check(judges, settings, block_size, workers)
    ray = _started()
    rows = [{"pool": pickle.dumps(pool)} for pool in pools]
    dataset = ray.data.from_items(rows, override_num_blocks=-(-len(rows) // block_size))
    for row in _judged(dataset, judges, settings, block_size, workers).iter_rows():
        yield _opened(row["judged"]), pickle.loads(row["totals"])  # noqa: S301 - of our own worker


def _judged(
    dataset: Dataset, judges: Sequence[protocol.Judge], settings: EngineSettings, block_size: int, workers: int
) -> Dataset:
    """Return a dataset of pickled judged pools, in the order of the pools."""
    ray = _started()
    ledger = settings.get("ledger")
    if ledger is not None and not is_address(ledger) and sum(node["Alive"] for node in ray.nodes()) > 1:
        raise _on_one_node(ledger)
    dataset.context.execution_options.preserve_order = True
    return dataset.repartition(target_num_rows_per_block=block_size).map_batches(
        _BlockJudge,
        fn_constructor_args=(judges, settings, ray.get_runtime_context().get_node_id()),
        batch_size=block_size,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=0.5,
    )


class _BlockJudge:
    """A process that judges blocks, with one engine for all of them."""

    def __init__(self, judges: Sequence[protocol.Judge], settings: EngineSettings, home: str) -> None:
        ray = _started()
        node, ledger = ray.get_runtime_context().get_node_id(), settings.get("ledger")
        if ledger is not None and not is_address(ledger) and node != home:
            raise _on_one_node(ledger)
        self._name = f"{os.getpid()} on {node}"
        self._judges, self._wanted = judges, protocol.variables_of(judges)
        self._portal = portal.Portal(Engines.of(**settings).make)

    def __call__(self, batch: Any) -> dict[str, list[bytes]]:
        """Judge a block; what ends the work is handed on in the place of its pools."""

        def begin(reader: Any, engine: Engine) -> AsyncGenerator[scoring.JudgedPool, None]:
            return scoring.judge_pools(reader, self._judges, engine)

        async def totals(engine: Engine) -> bill.CallTotals:
            return engine.totals

        try:
            pools = pools_of(map(_pool, batch.to_pylist()), None, self._wanted)
            judged: list[Any] = list(pool_loop.from_callers_thread(pools, begin, self._portal.submit))
            asked = pickle.dumps((self._name, self._portal.run(totals)))
        except BonwiseError as error:
            judged, asked = [error], b""
        return {"judged": [*map(pickle.dumps, judged)], "totals": [asked] * len(judged)}


def _pool(row: Mapping[str, Any]) -> Any:
    if isinstance(pickled := row.get("pool"), bytes):
        return pickle.loads(pickled)  # noqa: S301 - of our own driver
    return {name: value for name, value in row.items() if value is not None}


def _opened(pickled: bytes) -> scoring.JudgedPool:
    judged: scoring.JudgedPool | BonwiseError = pickle.loads(pickled)  # noqa: S301 - of our own worker
    if isinstance(judged, BonwiseError):
        raise judged
    return judged


def _rows_of(batch: Mapping[str, Any], judges: Sequence[protocol.Judge]) -> Any:
    """Return the rows of judged pools as a table that has the same columns whatever was scored."""
    import pyarrow as pa  # noqa: PLC0415 - Ray brings it

    header, rows = scoring.score_table([_opened(pickled) for pickled in batch["judged"]], judges)
    columns = {name: [None if row[at] == "" else row[at] for row in rows] for at, name in enumerate(header)}
    texts = {*scoring.SCORE_HEADER} - {"judge_score"}
    return pa.table(
        {name: pa.array(values, pa.string() if name in texts else pa.float64()) for name, values in columns.items()}
    )


def _on_one_node(ledger: object) -> UsageError:
    return UsageError(
        f"the run folder {ledger} is on one node, and this Ray cluster has several",
        hint="keep answers in a database that all nodes reach: postgresql://USER@HOST/DATABASE",
    )


def _started() -> Any:
    """Return Ray with a cluster: that of this process, or of RAY_ADDRESS, else a new one on this machine."""
    import ray  # noqa: PLC0415 - an extra brings it

    if not ray.is_initialized():
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
    return ray
