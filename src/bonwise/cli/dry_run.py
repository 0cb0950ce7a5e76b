"""What ``--dry-run`` shows: calls, tokens and cost before anything is sent, looked at or counted by formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.calls.ask import Ask
from bonwise.cli import arguments, picks
from bonwise.judges.protocol import Judgment, has_words
from bonwise.printable import printable
from bonwise.report import numbers
from bonwise.selection import contest_run, entrants, judge_runner
from bonwise.selection.settings import SelectionSettings, default_strategy
from bonwise.table.pools import Pool
from bonwise.table.verdicts import Preference, Score

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.estimate import CostEstimate, FormCount, ModelEstimate
    from bonwise.judges.ask_forms import AskForm
    from bonwise.judges.judging import Result
    from bonwise.judges.protocol import Judge, Values
    from bonwise.selection.selection import Selection


def show_estimate(
    pools: Iterable[Pool],
    judges: Sequence[Judge],
    run: Path | str,
    reask: int | None,
    *,
    as_forms: bool,
    batch: bool = False,
) -> int:
    """Print what judging would use beside what the ledger holds; `as_forms` counts by the lengths of texts alone."""
    from bonwise.calls.estimate import estimate_asks
    from bonwise.judges import judging
    from bonwise.judges.protocol import bound, is_asking

    large = [LargePools(judge.name, calls_of_judge(judge)) for judge in judges]
    forms = _forms(run, judges) if as_forms else None
    asking = [(judge if is_asking(judge) else None, its) for judge, its in zip(judges, large, strict=True)]

    def written_out() -> Iterator[Ask]:
        for pool in pools:
            texts = _with_words(pool)
            for judge, its in asking:
                if its.note(len(texts)) or judge is None:
                    continue
                if forms is None:
                    texts_shown = [candidate.text for candidate in pool.candidates]
                    its_judge = bound(judge, pool.variables or {})
                    yield from judging.first_asked(its_judge, pool.prompt, texts_shown)
                    yield from judging.asked(its_judge, pool.prompt, texts_shown)
                else:
                    forms[id(judge)].add(pool.prompt, texts)

    with _engine(run, reask) as engine:
        cost_estimate = estimate_asks(engine, written_out(), _counts(forms), batch=batch)
    in_batches = [_IN_BATCHES] if batch and cost_estimate.asks else []
    _show([*_counted(_rows(cost_estimate), cost_estimate, large), *in_batches, *_remarks([cost_estimate])])
    _warn(large)
    return 0


_IN_BATCHES = "the cost expected is that in batches, where the provider has them; bounds are those of live calls"


def show_plan(
    source: Callable[[], Iterator[Pool]],
    plan: SelectionSettings,
    run: Path | str,
    reask: int | None,
    *,
    share: float,
    as_forms: bool,
) -> int:
    """Print what selecting would use: the first pass, then bounds; `share` may go to the stronger judge."""
    from bonwise.calls.estimate import estimate_asks

    large = LargePools(name_of_plan(plan), calls_of_plan(plan))
    first, further, stronger = FirstAsks(plan), LaterAsks(plan), StrongerAsks(plan)
    forms = _plan_forms(run, plan) if as_forms else None
    with _engine(run, reask) as engine:
        if forms is not None:
            stronger.pools = _count_all(source(), large, [form for part in forms for form in part.values()])
            found = [estimate_asks(engine, (), _counts(part)) for part in forms]
        else:
            small = (pool for pool in source() if not large.note(len(_with_words(pool))))
            found = [estimate_asks(engine, first.asks(small))]
            left = _undecided(
                lambda: (pool for pool in source() if not large.note(len(_with_words(pool)), seen=True)),
                *(plan, run, reask),
            )
            found.extend(estimate_asks(engine, part.asks(left())) for part in (further, stronger))
    later = not found[0].asks and any(one.asks for one in found)
    lines = ["the first pass asks no model"] if later else _counted(_rows(found[0]), found[0], [large])
    if further.more:
        lines.append(f"after the first pass up to {_bound(found[1], further.scale)}")
    if found[2].asks:
        most = min(stronger.pools, math.floor(share * stronger.pools) + 1)
        who = f"{stronger.name} decides at most {most:,} of {stronger.pools:,} pools"
        lines.append(f"{who}: about {_bound(found[2], most / stronger.pools)}")
    _show([*lines, *_remarks(found)])
    _warn([large])
    return 0


def _forms(run: Path | str, judges: Iterable[Judge]) -> dict[int, AskForm] | None:
    """Return what counts each judge's questions; None where stored answers, or a judge, need them written out."""
    from bonwise.calls.ledger.place import holds_ledger
    from bonwise.judges.ask_forms import AskForm
    from bonwise.judges.protocol import is_asking

    made = {id(judge): AskForm.of(judge) for judge in judges if is_asking(judge)}
    forms = {name: form for name, form in made.items() if form is not None}
    # Of two judges that ask alike each would count what the other asks.
    alike = len({form.asked_by for form in forms.values()}) < len(made)
    return None if alike or holds_ledger(run) else forms


def _plan_forms(run: Path | str, plan: SelectionSettings) -> list[dict[int, AskForm]] | None:
    """Return what counts the first questions, later ones, and the stronger judge's, where all are asked about all."""
    from bonwise.judges.protocol import is_asking
    from bonwise.selection.strategies import matches, scores

    if plan.strategy not in (scores.Greedy(), matches.RoundRobin()) or not is_asking(plan.judge):
        return None
    router = plan.router
    others = [] if router is None or router.second is None else [router.second]
    forms = [_forms(run, part) for part in ([plan.judge, *others], [], [] if router is None else [router.strong])]
    known = [part for part in forms if part is not None]
    return known if len(known) == len(forms) else None


def _count_all(pools: Iterable[Pool], large: LargePools, forms: Sequence[AskForm]) -> int:
    """Count what is asked about pools, and return how many have something to judge."""
    contested = 0
    for pool in pools:
        words = _with_words(pool)
        texts = list(dict.fromkeys(words))
        if not large.note(len(words)) and len(texts) > 1:
            contested += 1
            for form in forms:
                form.add(pool.prompt, texts)
    return contested


def _counts(forms: Mapping[int, AskForm] | None) -> Iterator[FormCount]:
    """Yield what was counted until this is iterated, in the order in which the questions began."""
    begun = [form for form in (forms or {}).values() if form.begins_at]
    for form in sorted(begun, key=lambda form: form.begins_at):
        yield form.counted()


def _undecided(
    source: Callable[[], Iterator[Pool]], plan: SelectionSettings, run: Path | str, reask: int | None
) -> Callable[[], Iterator[Pool]]:
    """Return what yields the pools that stored answers leave undecided: what is asked later depends on these."""
    from bonwise.calls.ledger.place import holds_ledger

    if not holds_ledger(run) or not plan.asks_models:
        return source
    decided = list(_decided(source(), plan, run, reask))
    return lambda: (pool for pool, is_decided in zip(source(), decided, strict=True) if not is_decided)


def refuse_plan_without_key(
    source: Callable[[], Iterator[Pool]] | None, plan: SelectionSettings, run: Path | str, reask: int | None
) -> None:
    """Do what `bonwise.selection.many_pools.refuse_without_key` does; None for pools that come only once."""
    from bonwise.calls.ledger.place import holds_ledger
    from bonwise.judges.judging import missing_key

    judges = [*plan.judges, getattr(plan.strategy, "pairwise", None)]
    error = next((why for judge in judges if judge is not None and (why := missing_key(judge)) is not None), None)
    stored = run if holds_ledger(run) else None
    if error is None or (source is None and stored):
        return
    # A copy of the router has seen no pool, and this one is to see each of them once.
    tried = replace(plan, router=deepcopy(plan.router))
    with picks.without_router_warnings():
        if source is None or not all(_decided(source(), tried, stored, reask)):
            raise error


def _decided(
    pools: Iterator[Pool], plan: SelectionSettings, run: Path | str | None, reask: int | None
) -> Iterator[bool]:
    from bonwise.selection.selector import Selector

    stored = Selector(
        plan.judge,
        strategy=plan.strategy,
        router=plan.router,
        on_failure="owe",
        seed=plan.seed,
        ledger=run,
        reask=reask,
        offline=True,
    )
    with stored:
        yield from map(_is_decided, stored.select_many(pools, ordered=True))


def _is_decided(pick: Selection) -> bool:
    if pick.decided_by == "owed" or pick.bill.owed:  # a second judge's answer that is missing shows in the bill alone
        return False
    return not any(reason.startswith("owed") for reason in pick.unscored.values())


@contextmanager
def _engine(run: Path | str, reask: int | None) -> Iterator[Engine]:
    from bonwise.calls.engine import Engine
    from bonwise.calls.ledger.place import holds_ledger

    engine = Engine(run if holds_ledger(run) else None, reask=reask)
    try:
        yield engine
    finally:
        engine.ledger.close()


def _show(lines: Sequence[str]) -> None:
    arguments.emit("".join(f"{line}\n" for line in lines))


def _counted(rows: Iterator[str], found: CostEstimate, large: Sequence[LargePools]) -> list[str]:
    """Return the rows of what was looked at, then what was counted by formula."""
    lines = [line for one in large for line in one.lines(besides=found.asks > 0)]
    return [*(rows if found.asks or not lines else ()), *lines]


def _warn(large: Sequence[LargePools]) -> None:
    for one in large:
        if one.calls:
            arguments.say(f"warning: {one.warning()}")


def _rows(found: CostEstimate) -> Iterator[str]:
    if not found.asks:
        yield "no call of a model: these judges ask none"
        return
    for row in found.by_model:
        yield f"{row.model}: {_figures(row)}"
    yield f"in all {_figures(found)}"


def _remarks(found: Sequence[CostEstimate]) -> Iterator[str]:
    if not any(one.asks for one in found):
        return
    unknown = dict.fromkeys(row.model for one in found for row in one.by_model if row.cost is None)
    for address in dict.fromkeys(model.base_url for model in unknown):
        names = ", ".join(dict.fromkeys(str(model) for model in unknown if model.base_url == address))
        yield f"price not known: {names}{_elsewhere(address)}; name a price file in BONWISE_PRICES"
    if any(one.assumed_output_models for one in found):
        yield "the length of answers is assumed, without any reasoning of the model, which is billed as output"
    yield f"prices of {found[0].prices}; input tokens are about right to a third; nothing was sent"


def _elsewhere(address: str | None) -> str:
    """Say why a model whose price is built in has none at an address of the user's."""
    if address is None:
        return ""
    from bonwise.calls.prices import server_of

    return f" at {printable(server_of(address))}, where the built-in prices of the provider do not hold"


def _bound(found: CostEstimate, scale: float) -> str:
    """Return the calls of some asks, and the most that they can take, times a factor."""
    tokens = math.ceil((found.input_tokens_most + found.output_tokens_most) * scale)
    cost = "cost unknown" if found.cost_most is None else numbers.money(found.cost_most * scale)
    calls = numbers.counted(math.ceil(found.calls * scale), "more call")
    return f"{calls}; at most {_calls_most(found, scale)}, {tokens:,} tokens and {cost}"


def _calls_most(found: CostEstimate | ModelEstimate, scale: float = 1.0) -> str:
    most = numbers.counted(math.ceil(found.calls_most * scale), "call")
    return f"{most} with second asks" if found.calls_most > found.calls else most


def _figures(row: ModelEstimate | CostEstimate) -> str:
    most = f"{row.input_tokens_most + row.output_tokens_most:,} tokens"
    cost = "cost unknown"
    if row.cost is not None and row.cost_most is not None:
        cost, most = f"about {numbers.money(row.cost)}", f"{most} and {numbers.money(row.cost_most)}"
    return (
        f"{numbers.counted(row.calls, 'call')} ({row.stored:,} of {row.samples:,} answers are cached or duplicate), "
        f"about {row.input_tokens:,} input and {row.output_tokens_expected:,} output tokens, {cost}; at most "
        f"{_calls_most(row)}, {most}"
    )


_EQUAL = 0.5


class _EqualAnswers:
    """Answers that all candidates are equally good: about these a strategy asks longest. It sends nothing."""

    def __init__(self, values: Values | None) -> None:
        self._values = values
        self.asks: list[Ask] = []
        """What models would be asked in the round that was answered last."""

    def now(self) -> float:
        """Return a time that stands still."""
        return 0.0

    async def begin(self) -> None:
        """Begin at once."""

    async def judge(self, calls: Sequence[judge_runner.Call], until: float | None) -> list[Result]:
        """Note what would be asked, and answer."""
        del until
        bound = judge_runner.bound_calls(calls, self._values)
        self.asks = [ask for call in bound for ask in contest_run.asks_of(call)]
        equal = (Preference(0, 1, _EQUAL, _EQUAL),)
        return [Judgment((Score(_EQUAL),) * len(call.texts), equal[: len(call.texts) - 1]) for call in calls]


@dataclass(frozen=True, slots=True)
class FirstAsks:
    """The first questions about each pool."""

    plan: SelectionSettings

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield what models will be asked, blank and single candidates left out."""
        second = None if self.plan.router is None else self.plan.router.second
        for pool, its in _contested(self.plan, pools):
            yield from next(_rounds(self.plan, pool, its, second), ())


@dataclass(slots=True)
class LaterAsks:
    """What a strategy asks later if candidates stay equal: `more` answers at most, `simulated` of them yielded."""

    plan: SelectionSettings
    more: int = field(default=0, init=False)
    simulated: int = field(default=0, init=False)

    @property
    def scale(self) -> float:
        """What stands for all answers that it may want, in units of those that are yielded."""
        return self.more / self.simulated if self.simulated else 1.0

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield what models would be asked if all candidates of a pool were equal."""
        for pool, its in _contested(self.plan, pools):
            rounds = list(_rounds(self.plan, pool, its))
            first = rounds[0] if rounds else []
            asked = sum(ask.samples for ask in first)
            left = max(0, contest_run.most_calls_of(self.plan.strategy, self.plan.judge, len(its.texts)) - asked)
            self.more += left
            # A strategy that asks nothing more about equal candidates: its first questions stand for further ones.
            further = list(chain.from_iterable(rounds[1:])) or (_again(first, left) if left else [])
            self.simulated += sum(ask.samples for ask in further)
            yield from further


@dataclass(slots=True)
class StrongerAsks:
    """What the stronger judge of a router would be asked; `pools` counts those with something to judge."""

    plan: SelectionSettings
    pools: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        """Name of the judge, empty without a router."""
        return "" if self.plan.router is None else self.plan.router.strong.name

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield them; none without a router."""
        if self.plan.router is None:
            return
        plan = SelectionSettings(
            self.plan.router.strong, default_strategy(self.plan.router.strong), seed=self.plan.seed
        )
        for pool, its in _contested(self.plan, pools):
            self.pools += 1
            for asks in _rounds(plan, pool, its):
                yield from asks


def _contested(plan: SelectionSettings, pools: Iterable[Pool]) -> Iterator[tuple[Pool, entrants.DistinctTexts]]:
    for pool in pools:
        its = entrants.distinct_texts(
            pool.candidates,
            plan.judge,
            seed=plan.seed,
            salt=pool.prompt_id,
            first_pass_alone=plan.router is not None,
            compares=plan.strategy.compares,
        )
        if len(its.texts) > 1:
            yield pool, its


def _rounds(
    plan: SelectionSettings, pool: Pool, its: entrants.DistinctTexts, second: Judge | None = None
) -> Iterator[list[Ask]]:
    """Yield what each round asks, every answer being the same."""
    answers = _EqualAnswers(pool.variables)
    contest = contest_run.ContestRun(
        plan.strategy, its.entrants, plan.judge, answers, pool.prompt, its.texts, until=None, second=second
    )
    most, asked = contest_run.most_calls_of(plan.strategy, plan.judge, len(its.texts)), 0
    while judge_runner.returned_at_once(contest.round()):
        yield answers.asks
        asked += sum(ask.samples for ask in answers.asks)
        if asked >= most:
            return
    if contest.error is not None:
        raise contest.error


def _again(asks: Sequence[Ask], answers: int) -> list[Ask]:
    return [replace(ask, first_sample=ask.first_sample + ask.samples) for ask in asks][:answers]


MOST_LOOKED_AT = 200_000
"""Calls of one pool up to which each question is looked at: that takes some ten seconds."""


@dataclass(slots=True)
class LargePools:
    """The large ones among pools, for a judge or a way of selecting."""

    name: str
    """Of the judge or the strategy."""
    formula: Callable[[int], int]
    """Returns the calls about so many candidates."""
    calls: list[int] = field(default_factory=list, init=False)
    """Of each large pool, by formula."""
    candidates: int = field(default=0, init=False)
    """Of the largest pool."""
    _by_count: dict[int, int] = field(default_factory=dict, init=False)

    def note(self, candidates: int, *, seen: bool = False) -> bool:
        """Tell whether a pool of so many candidates is large, and take it in if it was not `seen` before."""
        if candidates not in self._by_count:
            self._by_count[candidates] = self.formula(candidates)
        calls = self._by_count[candidates]
        if calls > MOST_LOOKED_AT and not seen:
            self.calls.append(calls)
            self.candidates = max(self.candidates, candidates)
        return calls > MOST_LOOKED_AT

    def lines(self, *, besides: bool) -> Iterator[str]:
        """Yield what there is to say of them; nothing where there is none."""
        if self.calls:
            calls, pools = numbers.counted(sum(self.calls), "call"), numbers.counted(len(self.calls), "pool")
            yield (
                f"{'besides, ' if besides else ''}{self.name}: at most {calls} by formula in {pools} of up to "
                f"{numbers.counted(self.candidates, 'candidate')}; tokens, cost and cached answers of these are not "
                "estimated"
            )

    def warning(self) -> str:
        """Return what to do about them."""
        return (
            f"{self.name} asks up to {numbers.counted(max(self.calls), 'question')} about a pool of "
            f"{numbers.counted(self.candidates, 'candidate')}; score each candidate alone (pointwise), or compare "
            "some pairs (bonwise select --strategy round_robin:pairs=matched)"
        )


def calls_of_judge(judge: Judge) -> Callable[[int], int]:
    """Return the calls that judging so many candidates takes."""
    from bonwise.judges.calling import calls_of

    return lambda candidates: calls_of(judge, candidates)


def calls_of_plan(plan: SelectionSettings) -> Callable[[int], int]:
    """Return the calls that selecting from so many candidates takes at most, a stronger judge's among them."""
    from bonwise.judges.calling import calls_of
    from bonwise.selection import contest_run, settings

    def calls(candidates: int) -> int:
        if candidates < 2:
            return 0
        most = contest_run.most_calls_of(plan.strategy, plan.judge, candidates)
        if plan.router is not None:
            strong = plan.router.strong
            most += contest_run.most_calls_of(settings.default_strategy(strong), strong, candidates)
            most += 0 if plan.router.second is None else calls_of(plan.router.second, candidates)
        return most

    return calls


def name_of_plan(plan: SelectionSettings) -> str:
    """Return how messages name a way of selecting."""
    strong = "" if plan.router is None else f" and {plan.router.strong.name}"
    return f"{plan.strategy.name} of {plan.judge.name}{strong}"


def _with_words(pool: Pool) -> list[str]:
    texts = [candidate.text for candidate in pool.candidates]
    return [text for text in texts if text[:1].isalnum() or has_words(text)]
