"""Score pools with judges, many at once, in input order: as rows of tables, and what the order shown did."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bonwise.calls.bill import Bill
from bonwise.judges import calling, judging, pool_loop, protocol
from bonwise.printable import printable, writable
from bonwise.table.pools import Pool
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict, rounded

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine


@dataclass(frozen=True, slots=True)
class JudgedPool:
    """A pool with what each judge found."""

    pool: Pool
    judgments: tuple[protocol.Judgment, ...]
    """One a judge, in the order of the judges."""


def judge_pools(
    pools: Iterable[Pool] | pool_loop.ItemReader[Pool],
    judges: Sequence[protocol.Judge],
    engine: Engine,
    *,
    at_once: int = 64,
) -> AsyncGenerator[JudgedPool, None]:
    """Yield each pool with its judgments, in input order, up to `at_once` under way, or raise `JudgeError`."""

    async def judged(_position: int, pool: Pool) -> JudgedPool:
        return await _judged(pool, judges, engine)

    source = pool_loop.SyncReader(iter(pools)) if isinstance(pools, Iterable) else pools
    return pool_loop.work_on_many(source, judged, at_once=at_once)


def judge_pools_now(pools: Iterable[Pool], judges: Sequence[protocol.Judge]) -> list[JudgedPool]:
    """Judge pools one after the other from synchronous code."""
    return [
        JudgedPool(
            pool,
            tuple(
                judging.judge_now(
                    protocol.bound(judge, pool.variables or {}),
                    pool.prompt,
                    [candidate.text for candidate in pool.candidates],
                )
                for judge in judges
            ),
        )
        for pool in pools
    ]


def expected_answers(pools: Iterable[Pool], judges: Sequence[protocol.Judge]) -> int:
    """Return how many answers of models the judges will want, blank candidates counted as if they were not."""
    sizes = Counter(len(pool.candidates) for pool in pools)
    return sum(number * calling.calls_of(judge, size) for size, number in sizes.items() for judge in judges)


async def _judged(pool: Pool, judges: Sequence[protocol.Judge], engine: Engine) -> JudgedPool:
    texts = [candidate.text for candidate in pool.candidates]
    bound = [protocol.bound(judge, pool.variables or {}) for judge in judges]
    judgments = await asyncio.gather(*(judging.judge_with(engine, judge, pool.prompt, texts) for judge in bound))
    return JudgedPool(pool, tuple(judgments))


Cell = str | float | int
Table = tuple[tuple[str, ...], list[tuple[Cell, ...]]]

SCORE_HEADER = ("prompt_id", "candidate", "judge", "judge_score", "unscored")

PAIR_HEADER = (
    *("prompt_id", "judge", "a", "b", "shown_first", "shown_second", "value", "order_effect"),
    *("unscored", "confidence_first", "confidence_second"),
)


def score_table(
    judged: Sequence[JudgedPool], judges: Sequence[protocol.Judge], *, raw: bool = False, tokens: bool = False
) -> Table:
    """Return header and rows: one row per prompt, candidate and judge, in input order.

    Below a judge stand those that it is made of and that it tells apart, unless they are judges of the table too. An
    unscored candidate has a blank score, and the reason in the column ``unscored``. The columns ``low`` and
    ``high``, ``sd`` and ``draw_0``, ``draw_1`` ... stand there when a judge filled them; `raw` adds what it said,
    written out where it would make a file binary, and `tokens` what its answers on the pool took, spread evenly over
    the rows: a sum over a prompt is exact. An answer that several equal questions share counts for each of them.
    """
    by_pool = [_with_members(pool, judges) for pool in judged]
    verdicts = [verdict for judgments in by_pool for _, judgment in judgments for verdict in judgment.verdicts]
    scores = [verdict for verdict in verdicts if isinstance(verdict, Score)]
    interval = any(score.low is not None for score in scores)
    draws = max((len(score.draws) for score in scores), default=0)
    header = SCORE_HEADER + (("low", "high") if interval else ())
    if draws:
        header += ("sd", *(f"draw_{at}" for at in range(draws)))
    header += ("raw",) * raw + ("tokens",) * tokens
    rows = [
        (
            *(pool.pool.prompt_id, candidate.id, name),
            *_cells(judgment.verdicts[at], interval=interval, draws=draws),
            *((writable(judgment.verdicts[at].raw),) * raw),
            *((_tokens(judgment.bill, len(judgment.verdicts)),) * tokens),
        )
        for pool, judgments in zip(judged, by_pool, strict=True)
        for at, candidate in enumerate(pool.pool.candidates)
        for name, judgment in judgments
    ]
    return header, rows


def row_count(judged: Sequence[JudgedPool], judges: Sequence[protocol.Judge]) -> int:
    """Return how many rows `score_table` has."""
    return sum(len(pool.pool.candidates) * len(_with_members(pool, judges)) for pool in judged)


def _with_members(pool: JudgedPool, judges: Sequence[protocol.Judge]) -> list[tuple[str, protocol.Judgment]]:
    """Return each judge's judgment by its name, and after it those of its members that no judge is called alike."""
    by_name = {judge.name: judgment for judge, judgment in zip(judges, pool.judgments, strict=True)}
    named = []
    for judge, judgment in zip(judges, pool.judgments, strict=True):
        members = [member for member in judgment.members if by_name.setdefault(*member) is member[1]]
        # What the members took counts for them.
        apart = any(member.bill != judging.UNTOLD for _, member in members)
        named += [(judge.name, replace(judgment, bill=judging.UNTOLD) if apart else judgment), *members]
    return named


def pair_rows(
    judged: Iterable[JudgedPool], judges: Sequence[protocol.Judge], *, tokens: bool = False
) -> Iterator[tuple[Cell, ...]]:
    """Yield one row per prompt, judge and compared pair; the columns are `PAIR_HEADER`.

    ``shown_first`` is what candidate ``a`` earned (1 won, 0 lost, 0.5 tied, or a stated probability) when shown
    first, ``shown_second`` when shown second, ``order_effect`` their difference; confidences go from 1 to 5. `tokens`
    adds what the judge's answers on the pool took, spread evenly over its pairs.
    """
    for pool in judged:
        names = [candidate.id for candidate in pool.pool.candidates]
        for judge, judgment in zip(judges, pool.judgments, strict=True):
            took = (_tokens(judgment.bill, len(judgment.preferences)),) * tokens if judgment.preferences else ()
            for pair in judgment.preferences:
                yield pool.pool.prompt_id, judge.name, names[pair.a], names[pair.b], *_pair_cells(pair), *took


def _cells(verdict: Verdict, *, interval: bool, draws: int) -> tuple[Cell, ...]:
    if isinstance(verdict, Unscored):
        return ("", printable(verdict.reason), *[""] * (2 * interval + (draws + 1 if draws else 0)))
    cells: list[Cell] = [verdict.value, ""]
    if interval:
        cells += [_blank(verdict.low), _blank(verdict.high)]
    if draws:
        scored = [draw for draw in verdict.draws if draw is not None]
        cells.append(statistics.stdev(scored) if len(scored) > 1 else "")
        cells += [_blank(draw) for draw in verdict.draws] + [""] * (draws - len(verdict.draws))
    return tuple(cells)


def _pair_cells(pair: Preference) -> tuple[Cell, ...]:
    orders = (pair.shown_first, pair.shown_second)
    reasons = "; ".join(printable(order.reason) for order in orders if isinstance(order, Unscored))
    earned = (_blank(order if isinstance(order, float) else None) for order in orders)
    return (*earned, _blank(pair.value), _blank(pair.order_effect), reasons, *map(_blank, pair.confidence))


def _tokens(bill: Bill, rows: int) -> Cell:
    """Return the tokens of one row; blank where answers are owed, or a server did not count them."""
    paid = bill.input_tokens + bill.output_tokens
    unknown = bill.owed or (bill.calls and not paid) or (bill.from_ledger and not bill.reused_tokens)
    return "" if unknown else (paid + bill.reused_tokens) / rows


def _blank(value: float | None) -> Cell:
    return "" if value is None else value


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """What being shown first was worth to a candidate, over pairs judged in both orders, or in one that was drawn."""

    judge: str
    pairs: int
    """Pairs scored in both orders, or in one."""
    advantage: float
    """Mean of what a candidate earned when shown first minus what it earned when shown second, in [-1, 1]."""
    differing: int | None
    """Pairs whose verdict (one candidate, the other or a tie) was not the same in both orders; None of one order."""

    def __str__(self) -> str:
        advantage = rounded(self.advantage) + 0.0  # "+0.000" where rounding alone left something below 0
        effect = f"{self.judge}: position effect {advantage:+.3f}"
        if self.differing is None:
            return f"{effect}, over {self.pairs:,} pairs each shown in one order that was drawn"
        return (
            f"{effect}; the verdict on {self.differing:,} of {self.pairs:,} "
            "pairs judged in both orders changes with the order"
        )


def order_effects(judged: Sequence[JudgedPool], judges: Sequence[protocol.Judge]) -> list[OrderEffect]:
    """Return the effect of each judge that compared pairs, by those in both orders, else by the order drawn."""
    effects_by_judge = []
    for at, judge in enumerate(judges):
        pairs = [pair for pool in judged for pair in pool.judgments[at].preferences]
        effects = [pair.order_effect for pair in pairs if pair.order_effect is not None]
        if effects:
            differing = sum(pair.verdict_changes is True for pair in pairs)
            mean = math.fsum(effects) / len(effects)
            effects_by_judge.append(OrderEffect(judge.name, len(effects), mean, differing))
        elif drawn := [lead for pair in pairs if (lead := _lead_of_first(pair)) is not None]:
            effects_by_judge.append(OrderEffect(judge.name, len(drawn), math.fsum(drawn) / len(drawn), None))
    return effects_by_judge


def _lead_of_first(pair: Preference) -> float | None:
    """Return what the one shown first earned less what the other did, of a pair in one order; else None."""
    match pair.shown_first, pair.shown_second:
        case float(earned), None:
            return 2 * earned - 1
        case None, float(earned):
            return 1 - 2 * earned
    return None


def words_of_lost(judged: Iterable[JudgedPool], at: int) -> str:
    """Return how many comparisons of a judge were lost; empty where none was."""
    pairs = [pair for pool in judged for pair in pool.judgments[at].preferences]
    lost = sum(pair.lost for pair in pairs)
    return f"{lost:,} of {len(pairs):,} comparisons lost" if lost else ""
