"""What sending a share to a stronger judge of the table is worth and what it takes: value, recovery, calls, money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.printable import printable
from bonwise.results import given
from bonwise.routing import judged_prompts, result, signals
from bonwise.stats import routing
from bonwise.table import cell_scores
from bonwise.table.panel import Panel
from bonwise.table.score_table import ScoreTable

_PER = 1000
"""Prompts that calls, tokens and money are given for."""


def wanted_of(
    target: Mapping[str, float], budget: float | str | None, reference: str | None
) -> dict[result.Wanted, float]:
    """Read a target such as ``recovery=0.6``, or a budget such as ``3.50`` or ``6000calls``; empty for neither."""
    if budget is not None:
        amount = str(budget).strip().removeprefix("$")
        try:
            number = float(amount.removesuffix("calls"))
        except ValueError:
            number = np.nan
        if target or not 0 <= number < np.inf:
            raise UsageError(
                f"not a budget: {printable(str(budget))}"
                if not target
                else "a target and a budget: each chooses the share",
                hint="dollars or calls per 1,000 prompts, such as 3.50 or 6000calls",
            )
        return {"calls" if amount.endswith("calls") else "cost": number}
    measure: result.Wanted = "recovery" if reference is None else "agreement"
    for name, value in target.items():
        if name != measure or not 0 < value <= 1:
            written = f"{value / 100:g} or {value:g}%" if name == measure and 1 < value <= 100 else "0.6 or 60%"
            raise UsageError(
                f"the target is one {measure}, above 0 and at most 1, not {printable(name)}={value:g}",
                hint=f"write {measure}={written}",
            )
    return {measure: next(iter(target.values()))} if target else {}


def stronger_judge(
    table: ScoreTable, strong: str | None, judge: str | None, prices: Mapping[str, float]
) -> tuple[str, result.FoundBy] | None:
    """Find the stronger judge: the one named, the reference, or the most expensive; None for one that never errs."""
    names = [*table.judges, *([table.reference] if table.reference else [])]
    for name in (judge, *prices, None if strong == "none" else strong):
        if name is not None and name not in names:
            raise UsageError(f"no judge {name!r} in {table.source}", hint=f"the judges are {', '.join(names)}")
    if strong is not None and strong == judge:
        raise UsageError(f"{strong!r} would be routed to itself", hint="name two judges: --judge and --strong")
    if strong == "none":
        return None
    if strong is not None or table.reference is not None:
        name = strong or str(table.reference)
        return name, "reference" if name == table.reference else "named"
    known = prices or {name: price for name in table.judges if (price := _list_price(name)) is not None}
    ranked = sorted((price, name) for name, price in known.items())
    alone = len(ranked) < len(table.judges) or len(ranked) < 2 or ranked[-1][0] == ranked[-2][0]
    return None if alone or ranked[-1][1] == judge else (ranked[-1][1], "price")


def _list_price(judge: str, into: float = 1.0, out: float = 1.0) -> float | None:
    """Return what so many tokens cost, where the name of a judge ends with a model whose price is known."""
    from bonwise.calls.prices import Prices  # noqa: PLC0415 - it reads a file

    provider, _, model = judge.rpartition(":")[2].partition("/")
    price = Prices.load().price(provider, model) if model else None
    return None if price is None else (into * price.rates.input + out * price.rates.output) / 1e6


@dataclass(frozen=True, eq=False)
class JudgeSpending:
    """What one judge takes."""

    calls: Floats = field(repr=False)
    """Of each prompt."""
    tokens: float | None
    """Per call; None where the table does not say."""
    price: float | None
    """US dollars per call; None where it is not known."""

    @classmethod
    def of(
        cls, table: ScoreTable, panel: Panel, judge: str, prices: Mapping[str, float], *, draws: bool = True
    ) -> JudgeSpending:
        """Count the calls of a judge on the prompts of a panel: one per candidate, or with `draws` one per draw."""
        calls, starts = np.ones(len(panel.scores)), np.cumsum(panel.sizes) - panel.sizes
        repeats = cell_scores.cell_repeats(table, replace(panel, judge=judge)).draws if draws else None
        if repeats is not None:
            calls = np.maximum((~np.isnan(repeats)).sum(axis=1), 1.0)
        rows = table.rows.columns["judge"].are(judge)
        spent = {name: _tokens(table, name, rows) for name in ("tokens", "input_tokens", "output_tokens")}
        into, out = spent["input_tokens"], spent["output_tokens"]
        price, tokens = prices.get(judge), spent["tokens"]
        if into is not None and out is not None:
            price, tokens = _list_price(judge, into, out) if price is None else price, into + out
        return cls(np.add.reduceat(calls, starts), tokens, price)


def _tokens(table: ScoreTable, column: str, rows: Mask) -> float | None:
    """Return the mean of a column of tokens over rows, which are calls; None where one lacks it."""
    if column not in table.rows.columns or not rows.any():
        return None
    import pandas as pd  # noqa: PLC0415 - only tables that say what scores took need it

    mean = float(pd.to_numeric(table.frame[column], errors="coerce").to_numpy(dtype=float)[rows].mean())
    return None if np.isnan(mean) else mean


@dataclass(frozen=True, eq=False)
class RouteQuestion:
    """What is asked of every route of a study: to whom, for what, and at what prices."""

    table: ScoreTable
    strong: str
    found_by: result.FoundBy
    prices: Mapping[str, float]
    wanted: Mapping[result.Wanted, float]
    share: float
    confidence: float

    def worth(
        self, prompts: judged_prompts.JudgedPrompts, sent: Floats, features: Sequence[str], level: float
    ) -> result.RouteWorth:
        """Compare first judge, route and stronger one, and recommend a wanted share; `level` counts the choice."""
        (outcomes, random), (cheap, first, strong) = self._outcomes(prompts), self._spending(prompts, features)
        route = _RoutedPanel(sent, outcomes, random, cheap, first, strong, level, self.confidence)
        share: float | None = self.share
        shown = reason = None
        for name, limit in self.wanted.items():
            share, shown, reason = _recommended(route, name, limit)
        return result.RouteWorth(
            strong=self.strong,
            found_by=self.found_by,
            frontier=[
                route.at(at) for at in sorted({*routing.SHARES, self.share, *([] if share is None else [share])})
            ],
            share=share,
            **given(shown_share=shown, reason=reason),
        )

    def _outcomes(self, prompts: judged_prompts.JudgedPrompts) -> tuple[routing.Outcomes, Floats | None]:
        """Return outcomes and the value of random picks; of a reference the agreement with it, which has none."""
        if self.found_by == "reference":
            return routing.Outcomes(1 - prompts.wrong, prompts.wrong, prompts.outcomes.weights), None
        return prompts.outcomes, prompts.random

    def _spending(
        self, prompts: judged_prompts.JudgedPrompts, features: Sequence[str]
    ) -> tuple[JudgeSpending, list[JudgeSpending], JudgeSpending]:
        """Return what the first pass takes, what the signal takes of every prompt, and the stronger judge."""
        panel, draws = prompts.panel.keep(prompts.labelled), prompts.first == "score"
        also = draws or bool({*signals.DRAW_FEATURES, "p_best"} & {*features})
        others = [name for name in self.table.judges if name not in (panel.judge, self.strong)]
        further = others if "disagreement" in features else []
        first = [JudgeSpending.of(self.table, panel, panel.judge, self.prices, draws=also)]
        first += [JudgeSpending.of(self.table, panel, name, self.prices) for name in further]
        cheap = JudgeSpending.of(self.table, panel, panel.judge, self.prices, draws=draws)
        return cheap, first, JudgeSpending.of(self.table, panel, self.strong, self.prices)


@dataclass(frozen=True, eq=False)
class _RoutedPanel:
    sent: Floats
    outcomes: routing.Outcomes
    random: Floats | None
    cheap: JudgeSpending
    first: Sequence[JudgeSpending]
    strong: JudgeSpending
    level: float
    confidence: float

    def amounts(self, share: float) -> tuple[float, float | None, float | None]:
        """Return calls, tokens and cost per 1,000 prompts; of 0 and 1 those of one judge alone."""
        judges = [self.strong] if share >= 1 else [self.cheap] if share <= 0 else [*self.first]
        parts = [(judge, np.ones(len(self.sent))) for judge in judges]
        if 0 < share < 1:
            parts.append((self.strong, routing.routed_part(self.sent, share, self.outcomes.relative)))
        calls = [_PER * float(np.average(part * by.calls, weights=self.outcomes.weights)) for by, part in parts]
        tokens, prices = [judge.tokens for judge, _ in parts], [judge.price for judge, _ in parts]
        return sum(calls), _total(calls, tokens), _total(calls, prices)

    def at(self, share: float) -> result.RoutedValue:
        """Return the figures of a share."""
        confidence = self.level if 0 < share < 1 else self.confidence
        value, over, under = routing.routed_differences(self.sent, self.outcomes, share, confidence=confidence)
        calls, tokens, cost = self.amounts(share)
        recovery = None
        if self.random is not None:
            recovery = EstimateRecord.of(
                routing.routed_recovery(self.sent, self.outcomes, self.random, share, confidence=confidence)
            )
        return result.RoutedValue(
            share=share,
            value=EstimateRecord.of(value),
            over_cheap=EstimateRecord.of(over),
            under_strong=EstimateRecord.of(under),
            calls=calls,
            **given(recovery=recovery, tokens=tokens, cost=cost),
        )

    def fits(self, share: float, wanted: result.Wanted, limit: float) -> bool:
        """Tell whether a share reaches the target, or is paid for by the budget."""
        if wanted not in _BUDGETS:
            figure = self.at(share).main.estimate
            return figure is not None and figure >= limit
        calls, _, cost = self.amounts(share)
        amount = calls if wanted == "calls" else cost
        if amount is None:
            raise UsageError(
                "a budget of money takes the price of every judge",
                hint="add --price JUDGE=DOLLARS_PER_CALL for each, or give calls: --budget 6000calls",
            )
        return amount <= limit


_BUDGETS = ("calls", "cost")


def _total(calls: Sequence[float], each: Sequence[float | None]) -> float | None:
    known = [amount for amount in each if amount is not None]
    return None if len(known) < len(each) else float(np.dot(calls, known))


def _recommended(
    route: _RoutedPanel, wanted: result.Wanted, limit: float
) -> tuple[float | None, float | None, str | None]:
    """Return the least share that reaches a target, or the largest paid for; the least shown to; or why none."""
    fitting = [share for share in routing.SHARES if route.fits(share, wanted, limit)]
    if not fitting:
        return (
            None,
            None,
            "no share is paid for by the budget" if wanted in _BUDGETS else "no share reaches the target",
        )
    if wanted in _BUDGETS:
        finer = [round(fitting[-1] + step / 100, 2) for step in range(5) if fitting[-1] < 1]
        return max([fitting[-1], *(share for share in finer if route.fits(share, wanted, limit))]), None, None
    finer = [round(fitting[0] - step / 100, 2) for step in range(5) if fitting[0] > 0]
    shown = None
    for share in reversed(routing.SHARES):  # from the top down until one is not shown: no test is one too many
        low = route.at(share).main.low
        if low is None or low < limit:
            break
        shown = share
    return min([fitting[0], *(share for share in finer if route.fits(share, wanted, limit))]), shown, None
