"""JudgedPool pools as the rows of long tables: one of scores, one of comparisons."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Preference, Score, Unscored, Verdict
from bonwise.judges.protocol import Judge
from bonwise.judges.scoring import JudgedPool
from bonwise.printable import printable, writable

__all__ = ["PAIR_HEADER", "SCORE_HEADER", "pair_rows", "score_table"]

Cell = str | float | int
Table = tuple[tuple[str, ...], list[tuple[Cell, ...]]]

SCORE_HEADER = ("prompt_id", "candidate", "judge", "judge_score", "unscored")

PAIR_HEADER = (
    *("prompt_id", "judge", "a", "b", "shown_first", "shown_second", "value", "order_effect"),
    *("unscored", "confidence_first", "confidence_second"),
)


def score_table(
    judged: Sequence[JudgedPool], judges: Sequence[Judge], *, raw: bool = False, tokens: bool = False
) -> Table:
    """Return header and rows: one row per prompt, candidate and judge, in input order.

    An unscored candidate has a blank score, and the reason in the column ``unscored``. The columns ``low``
    and ``high``, ``sd`` and ``draw_0``, ``draw_1`` ... stand there when a judge filled them; `raw` adds what it said,
    and `tokens` what its answers on the pool took, spread evenly over the rows: a sum over a prompt is exact.
    An answer that several equal questions share counts for each of them, whoever paid for it.
    In `raw` and in the reasons the characters that make a file binary are written out; see
    `bonwise.printable.writable`.
    """
    verdicts = [verdict for one in judged for found in one.judgments for verdict in found.verdicts]
    scores = [verdict for verdict in verdicts if isinstance(verdict, Score)]
    interval = any(score.low is not None for score in scores)
    draws = max((len(score.draws) for score in scores), default=0)
    header = SCORE_HEADER + (("low", "high") if interval else ())
    if draws:
        header += ("sd", *(f"draw_{at}" for at in range(draws)))
    header += ("raw",) * raw + ("tokens",) * tokens
    rows = [
        (
            *(one.pool.prompt_id, candidate.id, judge.name),
            *_cells(found.verdicts[at], interval=interval, draws=draws),
            *((writable(found.verdicts[at].raw),) * raw),
            *((_tokens(found.bill, len(found.verdicts)),) * tokens),
        )
        for one in judged
        for at, candidate in enumerate(one.pool.candidates)
        for judge, found in zip(judges, one.judgments, strict=True)
    ]
    return header, rows


def pair_rows(
    judged: Iterable[JudgedPool], judges: Sequence[Judge], *, tokens: bool = False
) -> Iterator[tuple[Cell, ...]]:
    """Yield one row per prompt, judge and compared pair; the columns are `PAIR_HEADER`.

    ``shown_first`` is what candidate ``a`` earned (1 won, 0 lost, 0.5 tied, or a stated probability) when it
    was shown first, ``shown_second`` when it was shown second; ``order_effect`` is their difference, and
    ``confidence_first`` and ``confidence_second`` are the confidences (1 to 5) that a judge stated beside them.
    `tokens` adds what the judge's answers on the pool took, spread evenly over its pairs.
    """
    for one in judged:
        names = [candidate.id for candidate in one.pool.candidates]
        for judge, found in zip(judges, one.judgments, strict=True):
            took = (_tokens(found.bill, len(found.preferences)),) * tokens if found.preferences else ()
            for pair in found.preferences:
                yield one.pool.prompt_id, judge.name, names[pair.a], names[pair.b], *_pair_cells(pair), *took


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
    reasons = "; ".join(printable(one.reason) for one in orders if isinstance(one, Unscored))
    earned = (_blank(one if isinstance(one, float) else None) for one in orders)
    return (*earned, _blank(pair.value), _blank(pair.order_effect), reasons, *map(_blank, pair.confidence))


def _tokens(bill: Bill, rows: int) -> Cell:
    """Return the tokens of one row; blank where answers are owed, or a server did not count them."""
    paid = bill.input_tokens + bill.output_tokens
    unknown = bill.owed or (bill.calls and not paid) or (bill.from_ledger and not bill.reused_tokens)
    return "" if unknown else (paid + bill.reused_tokens) / rows


def _blank(value: float | None) -> Cell:
    return "" if value is None else value
