"""Strategies played on stored scores and verdicts by their own contests, what each is worth, and the choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints
from bonwise.auditing import label_interval, labelling, partial_metrics, simultaneous
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.judges.jury import Jury
from bonwise.printable import listed, quoted, shell_flag
from bonwise.progress import counting
from bonwise.results import given
from bonwise.routing import pool_features, signals
from bonwise.selection.entrants import ranked, seeded_order
from bonwise.selection.learnt_draws import DrawModel
from bonwise.selection.protocol import Draw, Entrants, Question, Strategy
from bonwise.selection.registry import StrategySpec
from bonwise.selection.strategies.matches import Knockout, RoundRobin, TieBreak
from bonwise.selection.strategies.scores import Adaptive, Greedy, Resample
from bonwise.stats import catalog, correlation, estimand, estimation, jackknife, laws, redraws, routing
from bonwise.stats.partial import label_features, label_sample
from bonwise.stats.sums import Sums
from bonwise.stats.top_of_scores import at_top
from bonwise.studies.label_strategy.judged_pairs import PairVerdicts
from bonwise.studies.labelled_panels import LabelledPanels
from bonwise.studies.strategies import result
from bonwise.table import cell_scores, checks, opening, reading_options, score_table
from bonwise.table.panel import Panel, PromptLeftOut, lay_out
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict

MARGINS = (0.02, 0.05, 0.1, 0.15, 0.2)
"""Of the adaptive rule, on scores from 0 to 1."""
PASSES = (1.25, 1.5, 2.0)
"""Mean calls of value of information, in first passes."""
SHARES = (0.1, 0.25, 0.5)
"""Of the prompts that are sent to a stronger judge."""
FOLDS = 10
_SLACK = 1.01  # a mean number of calls that was asked for is met up to chance
_CAP = 3  # draws of one candidate under the paper's rule
_UNREAD = Unscored("this score is blank in the file")

Answer = Callable[[Question], Verdict | Preference]


@dataclass(frozen=True)
class StoredJudge:
    """A judge whose answers are stored: of it only the name is needed."""

    name: str
    version: str = "stored"

    def judge(self, prompt: str, candidates: Sequence[str]) -> Any:  # noqa: ARG002 - as every judge
        """Refuse: nothing is judged anew."""
        raise UsageError(f"the answers of {quoted(self.name)} are stored, and it gives no others")


@dataclass(frozen=True, eq=False)
class StoredPools:
    """What judges said of the candidates of some prompts, cells grouped by prompt as in the panel."""

    panel: Panel
    """Of the judge that is asked first, with its first scores."""
    draws: Floats = field(repr=False)
    """Shape (cells, draws), the first score among them; NaN is one that could not be read."""
    width: Floats | None = field(default=None, repr=False)
    others: Mapping[str, Floats] = field(default_factory=dict, repr=False)
    """Scores of the other judges."""
    matches: Sequence[Mapping[tuple[int, int], Preference]] | None = field(default=None, repr=False)
    """Of each prompt, by two positions."""
    compares: str = "pairwise"
    """The judge that compares."""
    strong: str | None = None
    seeds: int = 20
    seed: int = 0

    @property
    def places(self) -> list[tuple[int, int]]:
        """The first cell of each prompt, and how many it has."""
        sizes = self.panel.sizes
        return list(zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True))

    def orders(self, at: int, start: int, size: int) -> list[tuple[int, ...]]:
        """Return the orders in which ties of a prompt are broken, one per seed."""
        names = list(map(str, self.panel.candidates[self.panel.names[start : start + size]]))
        salt = str(self.panel.prompt_ids[at])
        return [seeded_order(names, seed=self.seed + number, salt=salt) for number in range(self.seeds)]

    def answers(self, at: int, start: int, size: int) -> Answer:
        """Return what answers the questions about a prompt."""
        scores = [_verdicts(row) for row in self.draws[start : start + size].tolist()]
        matches = {} if self.matches is None else self.matches[at]
        return lambda asked: (
            scores[asked.candidate][asked.number] if isinstance(asked, Draw) else matches[asked.a, asked.b]
        )


def _verdicts(values: Sequence[float]) -> tuple[Verdict, ...]:
    return tuple([_UNREAD if np.isnan(value) else Score(value) for value in values])


@dataclass(frozen=True, eq=False)
class PlayedStrategy:
    """What a strategy picks of stored pools, and what it asks."""

    kind: result.StrategyKind
    strategy: str
    select: str
    """Flags of ``bonwise select``."""
    picks: Floats = field(repr=False)
    """Probability of each cell to be picked, over seeds and over ties that are left."""
    calls: Mapping[str, Floats] = field(repr=False)
    """Of each prompt, by judge."""


class PlayedRule(NamedTuple):
    """A strategy that is played by its contests."""

    kind: result.StrategyKind
    strategy: Strategy
    orders: Literal["none", "ties", "all"]
    """What the order of candidates decides: nothing, ties, or also who meets whom."""


def _rules(pools: StoredPools) -> Iterator[PlayedRule]:
    """Yield the strategies whose questions the file answers."""
    yield PlayedRule("greedy", Greedy(), "none")
    most, low, high = pools.draws.shape[1], float(np.nanmin(pools.draws)), float(np.nanmax(pools.draws))
    yield from (PlayedRule("resample", Resample(draws), "none") for draws in range(2, most + 1))
    unit = 1.0 if low >= 0 and high <= 1 else high - low
    for margin in MARGINS if most > 1 else ():
        for repick in (True, False):
            rule = Adaptive(float(f"{margin * unit:.3g}"), max_draws=min(_CAP, most), repick=repick)
            yield PlayedRule("adaptive", rule, "ties")
    if pools.matches is not None:
        judge = StoredJudge(pools.compares)
        yield PlayedRule("tie_break", TieBreak(judge), "none")
        yield PlayedRule("tie_break", TieBreak(judge, knockout=True), "all")
        yield PlayedRule("round_robin", RoundRobin(), "none")
        yield PlayedRule("round_robin", RoundRobin("matched"), "all")
        yield PlayedRule("knockout", Knockout(), "all")


class _PlayedContest(NamedTuple):
    winners: tuple[int, ...]
    scores: int
    comparisons: int


def played(pools: StoredPools, rules: Sequence[PlayedRule] | None = None) -> list[PlayedStrategy]:
    """Play strategies by their contests, prompt by prompt and order by order; all that the file allows, if None."""
    rules = list(_rules(pools)) if rules is None else rules
    picks, calls = np.zeros((len(rules), len(pools.panel.scores))), np.zeros((len(rules), 2, len(pools.panel.sizes)))
    with counting("prompt", len(pools.panel.sizes)) as step:
        for at, (start, size) in enumerate(pools.places):
            answer, orders = pools.answers(at, start, size), pools.orders(at, start, size)
            for number, rule in enumerate(rules):
                for outcome, times in _by_orders(rule, orders, size, answer).items():
                    share, winners = times / pools.seeds, [start + winner for winner in outcome.winners]
                    picks[number, winners] += share / len(winners)
                    calls[number, :, at] += share * outcome.scores, share * outcome.comparisons
            step()
    judges = pools.panel.judge, pools.compares
    return [
        PlayedStrategy(
            rule.kind,
            rule.strategy.name,
            _select(judges[rule.strategy.compares], rule.strategy.name),
            own,
            _by_judge(judges, of_judges),
        )
        for rule, own, of_judges in zip(rules, picks, calls, strict=True)
    ]


def _by_judge(judges: Sequence[str], calls: Floats) -> dict[str, Floats]:
    """Add up the calls of each judge: the one that scores may also compare."""
    alike = {judge: calls[[by == judge for by in judges]].sum(axis=0) for judge in judges}
    return {judge: asked for judge, asked in alike.items() if asked.any()}


def _select(judge: str, strategy: str) -> str:
    """Return the flags of ``bonwise select`` that run a strategy."""
    return f"{shell_flag('--judge', _spec(judge, 'JUDGE'))} {shell_flag('--strategy', strategy)}"


def _spec(judge: str, otherwise: str) -> str:
    """Return the text that makes a judge, and a word to be replaced where its name is not such a text."""
    return _inner(judge) if ":" in _inner(judge) else otherwise


def _inner(judge: str) -> str:
    """Return the judge whose scores are drawn again; itself where it resamples no other."""
    return judge.partition(",of=")[2] or judge


def _by_orders(
    rule: PlayedRule, orders: Sequence[tuple[int, ...]], size: int, answer: Answer
) -> Counter[_PlayedContest]:
    """Return outcomes with the number of orders that lead to each; an order that cannot matter is not played."""
    play = partial(_outcome, rule, size, answer, {})
    first = play(orders[0])
    # Where an order only breaks ties, what it and its reverse ask alike is asked under every order.
    if rule.orders == "none" or (rule.orders == "ties" and play(orders[0][::-1]) is first):
        return Counter({first: len(orders)})
    outcomes: Counter[_PlayedContest] = Counter()
    for order, times in Counter(orders).items():
        outcomes[play(order)] += times
    return outcomes


def _outcome(
    rule: PlayedRule,
    size: int,
    answer: Answer,
    known: dict[frozenset[tuple[int, ...]], _PlayedContest],
    order: tuple[int, ...],
) -> _PlayedContest:
    """Play one contest; of what was asked before under another order, take the outcome that is `known`."""
    contest, asked, comparisons = rule.strategy.contest(Entrants(size, order)), set[tuple[int, ...]](), 0
    while questions := contest.next():
        for question in questions:
            heard = answer(question)
            contest.hear(question, heard)
            if isinstance(heard, Preference):
                comparisons += (heard.shown_first is not None) + (heard.shown_second is not None)
            asked.add(_key(question))
    key = frozenset(asked)
    if key not in known or rule.orders == "all":  # what a bracket makes of the same matches depends on the order
        standing = contest.standing()
        scores = sum(len(question) == 2 for question in asked)
        known[key] = _PlayedContest(_winners(standing.verdicts, order, standing.second), scores, comparisons)
    return known[key]


def _key(question: Question) -> tuple[int, ...]:
    return (question.candidate, question.number) if isinstance(question, Draw) else (question.a, question.b, -1)


def _winners(
    verdicts: Sequence[Verdict], order: Sequence[int], second: Sequence[float | None] = ()
) -> tuple[int, ...]:
    """Return who is first or level with the first; all where nothing is scored."""
    top = ranked([verdict.value if isinstance(verdict, Score) else None for verdict in verdicts], order, second)
    return top.level or top.order[:1] or tuple(range(len(verdicts)))


def _value_of_information(pools: StoredPools) -> Iterator[PlayedStrategy]:
    """Play value of information at three prices; ValueError where the draws teach no prices."""
    most, sizes, judge = pools.draws.shape[1], pools.panel.sizes, pools.panel.judge
    there = np.arange(sizes.max()) < sizes[:, None]
    stored = np.full((*there.shape, most), np.nan)
    stored[there] = pools.draws
    model = DrawModel.fit(stored, max_draws=most, seed=pools.seed)
    steps = [redraws.replay(stored, model.prior, most=most, seed=pools.seed + seed) for seed in range(pools.seeds)]
    for mean_calls in (passes * model.mean_calls[0] for passes in PASSES):
        prices, picks, calls = model.prices_for(mean_calls), np.zeros(len(pools.draws)), np.zeros(len(sizes))
        for price, share in ((prices.lower, prices.share), (prices.higher, 1 - prices.share)):
            for stopped in (seed.at(price) for seed in steps):
                picks += (stopped.top / stopped.top.sum(axis=1, keepdims=True))[there] * share / pools.seeds
                calls += stopped.calls * share / pools.seeds
        options = {"mean_calls": f"{mean_calls:g}", "model": result.MODEL_FILE, "max_draws": str(most)}
        name = str(StrategySpec("value_of_information", options))
        yield PlayedStrategy("value_of_information", name, _select(judge, name), picks, {judge: calls})


def _picked(pools: StoredPools, heard: Callable[[slice], Sequence[Verdict]]) -> Floats:
    """Return the probability of each cell to be picked by verdicts on all candidates of a prompt."""
    won = np.zeros(len(pools.panel.scores))
    for start, size in pools.places:
        winners = _winners(heard(slice(start, start + size)), range(size))
        won[[start + winner for winner in winners]] = 1 / len(winners)
    return won


def _jury(pools: StoredPools) -> PlayedStrategy:
    """Play the jury of all judges of the file, one score of each."""
    judges = {pools.panel.judge: pools.panel.scores, **pools.others}
    jury = Jury(tuple(map(StoredJudge, judges)))

    def heard(cells: slice) -> Sequence[Verdict]:
        each = [_verdicts(scores[cells].tolist()) for scores in judges.values()]
        return jury.joined(["-"] * len(each[0]), each)

    calls = dict.fromkeys(judges, pools.panel.sizes.astype(np.float64))
    flags, name = _select(jury.name, "greedy"), f"jury of {listed(judges)}"
    return PlayedStrategy("jury", name, flags, _picked(pools, heard), calls)


def _routes(pools: StoredPools, strong: str, greedy: PlayedStrategy) -> Iterator[PlayedStrategy]:
    """Send shares of the prompts to a stronger judge: by interval widths where there are some, else by the margin."""
    panel, scores, signal = pools.panel, pools.others[strong], "margin" if pools.width is None else "interval_width"
    doubt = signals.SIGNALS[signal].value(pool_features.pool_features(panel.scores, panel.sizes, pools.width))
    silent = np.logical_and.reduceat(np.isnan(scores), [start for start, _ in pools.places])
    theirs = _picked(pools, lambda cells: _verdicts(scores[cells].tolist()))
    theirs = np.where(np.repeat(silent, panel.sizes), greedy.picks, theirs)
    for share in SHARES:
        sent = routing.routed_part(np.where(np.isnan(doubt), np.inf, doubt), share, np.ones(len(doubt)))
        by_cell, own = np.repeat(sent, panel.sizes), _select(panel.judge, "greedy")
        flags = f"{own} {shell_flag('--strong', _spec(strong, 'STRONG'))} --route {signal} --share {share:g}"
        picks, calls = (1 - by_cell) * greedy.picks + by_cell * theirs, {**greedy.calls, strong: sent * panel.sizes}
        yield PlayedStrategy("route", f"greedy, {share:.0%} to {strong}", flags, picks, calls)


def every_strategy(pools: StoredPools) -> tuple[list[PlayedStrategy], dict[str, str]]:
    """Play all strategies that a file allows, greedy first, and say why others cannot be played."""
    strategies, absent = played(pools), {}
    try:
        strategies += _value_of_information(pools)
    except ValueError as error:
        absent["value_of_information"] = str(error)
    if pools.draws.shape[1] == 1:
        absent["resample, adaptive"] = "there is one score per candidate"
    if pools.matches is None:
        absent["tie_break, round_robin, knockout"] = "no verdicts on pairs were given (--verdicts)"
    if pools.others:
        strategies.append(_jury(pools))
    else:
        absent["jury"] = "there is one judge"
    if pools.strong is None:
        absent["route"] = "no stronger judge of the file was named (--strong)"
    else:
        strategies += _routes(pools, pools.strong, strategies[0])
    return strategies, absent


_OF_EACH = ("gain", "top1_accuracy", "hit_rate", "calls", "cost")
_AT_MOST_PROMPTS = {e.name for e in catalog.ESTIMANDS if e.at_most_prompts}
_PLACES = (1, 3, 4)  # of J - R, top-1 and hit among the outcomes of a prompt; M - R is at 2


@dataclass(frozen=True, eq=False)
class StrategyOutcomes:
    """Means over prompts, with the labels there are: M - R, then each of `_OF_EACH` of all strategies."""

    influence: label_interval.Influence
    rows: Ints = field(repr=False)
    """Positions of the labelled prompts."""
    confidence: float
    method: str = "complete"
    ess: float = np.inf
    """Labels drawn alike that the labels are worth."""

    @classmethod
    def of(
        cls,
        strategies: Sequence[PlayedStrategy],
        panel: Panel,
        prices: Mapping[str, float],
        settings: Settings,
        *,
        sample: label_sample.LabelSample | None = None,
        method: str = "complete",
        others: Sequence[Floats] = (),
    ) -> StrategyOutcomes:
        """Combine what strategies pick with the labels of all prompts, or of the sample of them that is labelled."""
        sample = label_sample.LabelSample.uniform(panel.labelled_cells == panel.sizes) if sample is None else sample
        known, cells = panel.keep(sample.labelled), np.repeat(sample.labelled, panel.sizes)
        sums, starts = Sums(*known.sums()), np.cumsum(known.sizes) - known.sizes
        best = at_top(known.labels, known.sizes).astype(np.float64)
        shared, rule = best / np.repeat(np.add.reduceat(best, starts), known.sizes), settings.rule(known.labels)
        draw, parts = label_sample.ScaledSample.of(sample), []
        for strategy in strategies:
            picked = (np.add.reduceat(strategy.picks[cells] * of, starts) for of in (known.labels, shared, best))
            own = np.array(sums._replace(**dict(zip(("J", "same_top", "hit"), picked, strict=True))))
            if method == "aipw":
                features = label_features.label_features(strategy.picks, panel.sizes, others)
                estimated = partial_metrics.partial_estimates(own, features, sample, rule, seed=settings.seed)
                parts.append(estimated.fit.influence)
            else:
                Y = label_features.outcomes(own)
                parts.append(label_interval.influence(np.zeros((len(draw.q), Y.shape[1])), Y, draw))
        calls = [np.sum(list(each.calls.values()), axis=0) for each in strategies]
        costs = [sum(asked * prices.get(by, 1.0) for by, asked in each.calls.items()) for each in strategies]
        spent = np.array([*calls, *costs]).T
        # What was asked is known of every prompt; in a table of labelled prompts alone it is weighted as labels are.
        model = np.zeros_like(spent) if method == "weighted" else spent
        paid = label_interval.influence(model, spent[sample.labelled], draw)
        order = [(0, 2), *((at, place) for place in _PLACES for at in range(len(parts)))]

        def every(name: str) -> Floats:
            columns = [getattr(parts[at], name)[..., place][..., None] for at, place in order]
            return np.concatenate([*columns, getattr(paid, name)], axis=-1)

        influence = _influence(every("means"), every("spread"), every("pulls"))
        return cls(influence, np.flatnonzero(sample.labelled), settings.confidence, method, sample.ess)

    @property
    def strategies(self) -> int:
        """How many there are."""
        return len(self.influence.means) // len(_OF_EACH)

    @property
    def room(self) -> Floats:
        """The contrast that is M - R."""
        return np.asarray(np.eye(1, len(self.influence.means))[0])

    def column(self, what: str, at: int) -> Floats:
        """Return the contrast that is one of `_OF_EACH` of a strategy."""
        place = 1 + _OF_EACH.index(what) * self.strategies + at
        return np.asarray(np.eye(1, len(self.influence.means), place)[0])

    def lead(self, what: str, at: int) -> Floats:
        """Return the contrast that is one of `_OF_EACH` of a strategy less that of greedy."""
        return self.column(what, at) - self.column(what, 0)

    def value(self, contrast: Floats) -> float:
        """Return a contrast of the means."""
        return float(contrast @ self.influence.means)

    def ratio(
        self, above: Floats, below: Floats, confidence: float | None = None, most: float = np.inf
    ) -> EstimateRecord:
        """Estimate a ratio of two contrasts with Fieller's interval."""
        level, prompts = confidence or self.confidence, len(self.rows)
        unknown = estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, prompts).with_method(self.method)
        if self.value(below) <= 0:
            return EstimateRecord.of(unknown)
        law, se = label_interval.fieller(self.influence, above, below, (-np.inf, most))
        if law.at(level) is None:
            return EstimateRecord.of(unknown)
        return self._record(law.a / law.b, jackknife.Scatter(se, law.df), law, level)

    def share(self, what: str, at: int) -> EstimateRecord:
        """Estimate a mean of shares, one of `_OF_EACH` of a strategy, as an audit does."""
        law = label_interval.student(self.influence, self.column(what, at), (0.0, 1.0))
        value, se, df = law.estimate, law.se, law.df
        inner = 0 < value < 1 and se > 0
        most = self.ess if what in _AT_MOST_PROMPTS else np.inf
        drawn = laws.EffectiveShare(value, se, df, most=most) if inner else law
        return self._record(value, jackknife.Scatter(se, df), drawn, self.confidence)

    def difference(self, contrast: Floats) -> EstimateRecord:
        """Estimate a difference of two means of shares."""
        law = label_interval.student(self.influence, contrast, (-1.0, 1.0))
        return self._record(law.estimate, jackknife.Scatter(law.se, law.df), law, self.confidence)

    def _record(self, value: float, scatter: jackknife.Scatter, law: Any, level: float) -> EstimateRecord:
        ends = (-np.inf, np.inf)
        made = estimation.from_jackknife(value, scatter, len(self.rows), ends, level, exact=None, law=law)
        return EstimateRecord.of(made.with_method(self.method))


def _influence(means: Floats, spread: Floats, pulls: Floats) -> label_interval.Influence:
    units = len(spread)
    return label_interval.Influence(means, spread.T @ spread / max(units - 1, 1) / units, pulls, spread)


def best_within(gains: Floats, costs: Floats, budget: float) -> int:
    """Return the strategy with the most gain within a budget, up to 1 %; of equals the cheaper one."""
    order = np.argsort(costs, kind="stable")
    return int(order[np.argmax(np.where(costs <= budget * _SLACK, gains, -np.inf)[order])])


def chosen(
    outcomes: StrategyOutcomes, names: Sequence[str], budget: float, seed: int = 0
) -> tuple[result.StrategyChoice, list[list[float] | None]]:
    """Choose a strategy, and return the intervals of all leads over greedy that hold together."""
    S, influence, room = outcomes.strategies, outcomes.influence, outcomes.value(outcomes.room)
    leads = np.array([outcomes.lead("gain", at) for at in range(1, S)])
    moves = leads - np.outer(leads @ influence.means / (room or 1.0), outcomes.room)
    influences = moves @ influence.spread.T / (room or 1.0) / len(influence.spread)
    joint = simultaneous.joint_confidence(influences, outcomes.confidence, seed=seed)
    together: list[list[float] | None] = [None]
    for lead in leads:
        figure = outcomes.ratio(lead, outcomes.room, joint.simultaneous)
        together.append(None if figure.low is None or figure.high is None else [figure.low, figure.high])
    # Choosing is measured on prompts that did not choose: means of all but one part of them, ten times.
    by_prompt = influence.means + influence.spread
    gains, costs = by_prompt[:, 1 : S + 1], by_prompt[:, 1 + 4 * S :]
    parts, every = np.random.default_rng(seed).permutation(len(gains)) % FOLDS, np.arange(len(gains))
    best, *folds = (
        best_within(gains[rest].mean(axis=0), costs[rest].mean(axis=0), budget)
        for rest in (parts >= 0, *(parts != part for part in range(FOLDS)))
    )
    taken = np.array(folds)[parts]
    pulls = influence.pulls[np.arange(len(outcomes.rows)), 1 + taken[outcomes.rows]] - influence.pulls[:, 1]
    columns = [
        np.stack([own, shared], axis=1)
        for own, shared in ((gains[every, taken] - gains[:, 0], by_prompt[:, 0]), (pulls, influence.pulls[:, 0]))
    ]
    means = columns[0].mean(axis=0)
    made = replace(outcomes, influence=_influence(means, columns[0] - means, columns[1]))
    # Each part is measured by a choice that all others made: at the plain confidence this would hold too seldom.
    apart = made.ratio(np.array([1.0, 0.0]), np.array([0.0, 1.0]), joint.after)
    use = best if means[0] > 0 else 0
    choice = result.StrategyChoice(
        strategy=names[use],
        budget=budget,
        difference=outcomes.ratio(leads[use - 1], outcomes.room, joint.after) if use else None,
        out_of_fold=apart,
        out_of_fold_cost=float(costs[every, taken].mean()),
        folds={names[at]: many for at, many in Counter(folds).most_common()},
        best=names[best],
    )
    return choice, together


def _matches(panel: Panel, frame: pd.DataFrame) -> list[dict[tuple[int, int], Preference]]:
    """Return the verdicts on pairs of each prompt, by the positions of its candidates."""
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(panel.sizes) - panel.sizes, panel.sizes)
    names = zip(map(str, panel.prompt_ids[owner]), map(str, panel.candidates[panel.names]), strict=True)
    places = dict(zip(names, zip(owner.tolist(), within.tolist(), strict=True), strict=True))
    matches: list[dict[tuple[int, int], Preference]] = [{} for _ in panel.sizes]
    columns = [frame[name].tolist() for name in ("prompt_id", "a", "b", "first", "second", "lost")]
    for prompt, a, b, first, second, lost in zip(*columns, strict=True):
        (at, i), (_, j) = (places.get((prompt, name), (-1, -1)) for name in (a, b))
        earned = (first, second) if i < j else (1 - second, 1 - first)
        sides = [share if not np.isnan(share) else Unscored("lost") if lost else None for share in earned]
        if min(i, j) >= 0 and sides != [None, None]:
            pair = min(i, j), max(i, j)
            matches[at][pair] = Preference(*pair, sides[0], sides[1])
    return matches


def _drawn(table: score_table.ScoreTable, panel: Panel) -> tuple[Floats, Floats | None]:
    """Return every score of a judge by cell, the first one first, and the widths of its intervals."""
    repeats, inner = cell_scores.cell_repeats(table, panel), _inner(panel.judge)
    parts = [repeats.first if repeats.draws is None else repeats.draws]
    if inner != panel.judge and inner in table.judges:
        parts.insert(0, cell_scores.scores_of(table, panel, inner))
    elif repeats.draws is not None and repeats.first_of == "score":
        parts.insert(0, repeats.first)
    draws = np.column_stack(parts)
    return draws[:, ~np.isnan(draws).all(axis=0)], repeats.width


def _stored(
    table: score_table.ScoreTable,
    panel: Panel,
    read: PairVerdicts | None,
    stated: labelling.StatedDraw | None,
    **asked: Any,
) -> tuple[StoredPools, labelling.Labelling]:
    """Return the prompts of a judge of which all is stored, with labels as an audit takes them."""
    (draws, width), pairs = _drawn(table, panel), panel.sizes * (panel.sizes - 1) // 2
    scored = np.logical_or.reduceat(~np.isnan(draws), np.cumsum(panel.sizes) - panel.sizes, axis=0).all(axis=1)
    matches = None if read is None else _matches(panel, read.frame)
    paired = scored | True if matches is None else np.array(list(map(len, matches))) == pairs
    reasons = np.where(scored, "no verdict on every pair", f"no score at one of {draws.shape[1]} draws")
    whole = np.asarray(scored & paired, dtype=bool)
    lost = [PromptLeftOut(str(panel.prompt_ids[at]), str(reasons[at])) for at in np.flatnonzero(~whole)]
    known = labelling.label_state(replace(panel, scores=draws[:, 0]).keep(whole, lost), stated)
    if known.method == "cells" or known.labelled.sum() < correlation.LEAST_CARRIERS:
        why = listed(sorted({drop.reason for drop in known.panel.dropped})) if known.panel.dropped else "no labels"
        rest = f"; of the others: {why}" if known.labelled.sum() < len(panel.sizes) else ""
        raise InputError(
            f"{table.source}: {int(known.labelled.sum())} prompts have all scores, verdicts and labels",
            hint=f"{correlation.LEAST_CARRIERS} are needed, with labels of all candidates{rest}",
        )
    used = known.panel
    if known.method == "labelled_only":
        bare = used.prompt_ids[~known.labelled]
        used = used.keep(known.labelled, [PromptLeftOut(str(prompt), "not labelled whole") for prompt in bare])
    prompts, own = np.asarray(panel.prompt_ids.isin(used.prompt_ids)), {panel.judge, _inner(panel.judge)}
    cells = np.repeat(prompts, panel.sizes)
    others = {name: cell_scores.scores_of(table, used, name) for name in table.judges if name not in own}
    kept = None if matches is None else [matches[at] for at in np.flatnonzero(prompts)]
    compares, width = "pairwise" if read is None else read.judge, None if width is None else width[cells]
    return StoredPools(used, draws[cells], width, others, kept, compares, **asked), known


def replayed(  # noqa: PLR0913 - all but the source are named
    source: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    *,
    verdicts: Any,
    prices: Mapping[str, float],
    budget: float | None,
    strong: str | None,
    judge: str | None,
    pairwise: str | None,
    design: Any,
    seeds: int,
    confidence: float,
    seed: int,
) -> result.StrategyReplay:
    """Play strategies on every judge with repeated scores, or on the one that is named."""
    checks.check_whole("seeds", seeds, least=1)
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    table = opening.open_table(source, options)
    opening.refuse_clusters(table, "this study")
    table.check_scales()
    read = None if verdicts is None else PairVerdicts.read(verdicts, pairwise)
    priced = [*table.judges, *([] if read is None else [read.judge])]
    for name, names in [
        *((each, table.judges) for each in (strong, judge) if each),
        *((each, priced) for each in prices),
    ]:
        if name not in names:
            raise UsageError(f"{table.source}: no judge named {quoted(name)}", hint=f"the judges are {listed(names)}")
    panels = {panel.judge: panel for panel in lay_out(table, exclude=options.exclude, shape=options.shape)}
    several = [name for name, panel in panels.items() if _drawn(table, panel)[0].shape[1] > 1]
    asked = [judge] if judge else several or [name for name in panels if name != strong]
    refused = {name: "its strategies were not asked for (--judge)" for name in panels if name not in asked}
    stated, judges = labelling.stated_draw(design, table), {}
    for name in asked:
        other = strong if strong != name else None
        try:
            pools, known = _stored(table, panels[name], read, stated, strong=other, seeds=seeds, seed=seed)
            judges[name] = _judge(pools, known, prices, budget, settings)
        except InputError as error:
            if isinstance(error, UsageError) or len(asked) == 1:
                raise
            refused[name] = error.message
    if not judges:
        raise InputError(f"{table.source}: no judge can be studied; {'; '.join(refused.values())}")
    laid = LabelledPanels(table, panels, {}, {}, refused, settings)
    own = given(prices=dict(prices) or None, verdicts=None if read is None else read.source, strong=strong)
    settings_used = laid.settings_as(result.ReplaySettings, seeds=seeds, **own)
    return result.StrategyReplay(settings=settings_used, judges=judges, not_studied=refused)


def _judge(
    pools: StoredPools,
    known: labelling.Labelling,
    prices: Mapping[str, float],
    budget: float | None,
    settings: Settings,
) -> result.ReplayedJudge:
    """Play, measure and choose."""
    strategies, absent = every_strategy(pools)
    if len(strategies) == 1:
        hint = "score each candidate several times: --judge resampled,draws=5,of=JUDGE"
        raise InputError("only greedy can be played on these scores", hint=hint)
    if lacking := [name for each in strategies for name in each.calls if prices and name not in prices]:
        raise UsageError(
            f"no price is given for {quoted(lacking[0])}", hint="give --price JUDGE=PRICE of every judge"
        )
    others = [pools.panel.scores, np.nanmean(pools.draws, axis=1), *pools.others.values()]
    drawn: dict[str, Any] = {"sample": known.sample, "method": known.method, "others": others}
    measured = StrategyOutcomes.of(strategies, pools.panel, prices, settings, **drawn)
    first = measured.value(measured.column("cost", 0))
    budget = 2 * first if budget is None else budget
    if budget < first * (1 - 1e-9):
        what = f"a budget of {budget:g} per prompt does not pay for one score of each candidate"
        raise UsageError(what, hint=f"give {first:.4g} or more")
    choice, together = chosen(measured, [each.strategy for each in strategies], budget, settings.seed)
    rows = [_row(measured, at, each, ends) for at, (each, ends) in enumerate(zip(strategies, together, strict=True))]
    data: dict[str, Any] = {
        "prompts": len(pools.panel.sizes),
        "labelled_prompts": len(measured.rows),
        "rows": len(pools.draws),
        "draws": pools.draws.shape[1],
        "dropped": dict(Counter(drop.reason for drop in pools.panel.dropped)),
        "method": known.method,
    }
    rows = [rows[0], *sorted(rows[1:], key=lambda row: row.cost)]
    return result.ReplayedJudge(data=result.ReplayCounts(**data), rows=rows, choice=choice, absent=absent)


def _row(measured: StrategyOutcomes, at: int, each: PlayedStrategy, ends: list[float] | None) -> result.StrategyRow:
    shares, further, gain = ("top1_accuracy", "hit_rate"), measured.lead("calls", at), measured.lead("gain", at)
    leads = {name: measured.difference(measured.lead(name, at)) for name in shares if at}
    return result.StrategyRow(
        strategy=each.strategy,
        kind=each.kind,
        select=each.select,
        calls=measured.value(measured.column("calls", at)),
        cost=measured.value(measured.column("cost", at)),
        recovery=measured.ratio(measured.column("gain", at), measured.room, most=1.0),
        **{name: measured.share(name, at) for name in shares},
        over_greedy={"recovery": measured.ratio(gain, measured.room), **leads} if at else {},
        simultaneous=ends,
        gain_per_call=measured.ratio(gain, further) if measured.value(further) > 1e-9 else None,
    )
