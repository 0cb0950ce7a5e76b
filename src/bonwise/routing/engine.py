"""The study of routing: a table of scores and labels in, what each signal is worth out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.progress import counting
from bonwise.release import release
from bonwise.report import blocks, numbers, samples
from bonwise.results import given
from bonwise.routing import gain_model, judged_prompts, result, signal_study, signals, worth
from bonwise.stats import correlation, draw_prior, estimand, redraws, routing, top_of_scores
from bonwise.table import cell_scores, checks, facts, opening, reading_options, score_table
from bonwise.table.panel import Panel, lay_out
from bonwise.table.words import Words


class RedrawPaths(NamedTuple):
    """Every step of the redraws of each pool as if calls were free; a price says at which step it ends."""

    opportunity: Floats
    """Lowest expected opportunity cost so far, in score units: a pool goes on while it reaches the price."""
    gained: Floats
    """Highest posterior mean minus that after the first draws, in score units."""

    def at(self, calls: float, weights: Floats | None = None) -> Floats:
        """Return the expected gain of each pool for so many further calls on average; 0 for one not redrawn."""
        w = np.ones(len(self.opportunity)) if weights is None else weights
        possible = np.isfinite(self.opportunity) & (w > 0)[:, None]
        wanted = calls * float(w.sum())
        if wanted <= 0 or not possible.any():
            return np.zeros(len(w))
        prices, at = np.unique(-self.opportunity[possible], return_inverse=True)
        spent = np.cumsum(np.bincount(at, weights=np.broadcast_to(w[:, None], possible.shape)[possible]))
        edge = min(int(np.searchsorted(spent, wanted)), len(prices) - 1)
        before = float(spent[edge - 1]) if edge else 0.0
        part = min((wanted - before) / (float(spent[edge]) - before), 1.0)
        return (1 - part) * self._stopped(-prices[edge], over=True) + part * self._stopped(-prices[edge])

    def _stopped(self, price: float, *, over: bool = False) -> Floats:
        """Return the gain of each pool that goes on while its cost reaches a price, or lies over it."""
        steps = (self.opportunity > price) if over else (self.opportunity >= price)
        taken = np.minimum(steps.sum(axis=1), self.opportunity.shape[1] - 1)
        gained: Floats = self.gained[np.arange(len(taken)), taken]
        return gained


def label_slope(labels: Floats, draws: Floats, weights: Floats | None = None) -> float:
    """Return how much the label rises with the true score: cov_w(O, y) / cov_w(y, y') over later draws."""
    later = draws[:, :, 1:]
    whole = ~np.isnan(later).any(axis=2) & ~np.isnan(labels)
    count = np.maximum(whole.sum(axis=1), 1)

    def centred(values: Floats) -> Floats:
        known = np.where(whole, values, 0.0)
        return np.where(whole, known - (known.sum(axis=1) / count)[:, None], 0.0)

    each = [centred(later[:, :, k]) for k in range(later.shape[2])]
    total = np.sum(each, axis=0)
    freedom = np.maximum(count - 1, 1)[:, None]
    if weights is not None:
        freedom = freedom / weights[:, None]
    m = len(each)
    alike = float(np.sum((total**2 - np.sum(np.square(each), axis=0)) / freedom)) / (m * (m - 1))
    if alike <= 0:
        raise ValueError("later draws of a candidate do not agree with each other beyond chance")
    return float(np.sum(centred(labels) * total / freedom)) / m / alike


def redraw_paths(draws: Floats, prior: draw_prior.DrawPrior, *, most: int = 8, seed: int = 0) -> RedrawPaths:
    """Simulate the redraws of every pool, (n, K, k), until the rule stops; `most` counts the first draw too."""
    played = redraws.replay(draws, prior, most=most, seed=seed)
    return RedrawPaths(np.minimum.accumulate(played.opportunity, axis=1), played.highest - played.highest[:, :1])


_LEAST_DRAWS = 3
_LEAST_LABELS = 75
_NOTHING = 1e-12  # a gain below it is rounding
_SHARES = (0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1)


def split_budget(
    prompts: judged_prompts.JudgedPrompts,
    mean_calls: float,
    strong_cost: float,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> result.BudgetSplit:
    """Split a budget by the plug-in rule.

    Over the routed share rho, maximise the mean of the cross-fitted expected gain over the routed prompts plus
    ``a (max_i m_i after - before)`` over the others, redrawn with ``(B - K - rho C) / (1 - rho)`` further calls each;
    m is the posterior mean score of the value-of-information rule and a the slope of label on score.

    Redraws and routing are played on all prompts; labels teach the expected gain and a. In a table of labelled
    prompts alone, drawn with stated propensities, each stands for 1 / propensity of them. Each has two first scores,
    three or more scores of each candidate, the first that of the first pass, and 75 or more are labelled.
    `mean_calls` is B, calls of the weak judge a prompt, the K first among them; `strong_cost` is C, in such calls.
    Too few draws, labels or calls are an InputError.
    """
    panel, labelled = prompts.panel, prompts.labelled
    weights = prompts.population if prompts.population is not None else np.ones(len(panel.sizes))
    weights = weights / weights.mean()
    first = float(np.average(panel.sizes, weights=weights))
    drawn = _padded(_check(prompts, mean_calls, strong_cost, first), panel.sizes)
    labels = _padded(panel.labels[:, None], panel.sizes)[labelled, :, 0]
    try:
        # Prompts that are drawn again and again would make the test of the first call reject too often.
        alike = draw_prior.first_call_test(drawn).averaged_in
        sample = drawn if prompts.population is None else _as_weighted(drawn, weights, seed)
        prior = draw_prior.learn_prior(sample, first_counts=alike)
        slope = label_slope(labels, drawn[labelled], prompts.outcomes.relative)
    except ValueError as error:
        raise InputError(
            f"{panel.judge}: {error}", hint="further draws are not expected to help here: spend on routing"
        ) from error
    features = {name: prompts.features[name] for name in signals.FIRST_PASS_FEATURES if name in prompts.features}
    expected = gain_model.cross_fitted(features, prompts.gain, prompts.weights)
    plan = _BudgetUse(
        np.maximum(np.nan_to_num(expected, nan=0.0), 0.0),
        redraw_paths(drawn, prior, seed=seed),
        weights,
        slope,
        mean_calls - first,
        strong_cost,
    )
    return _best(plan, mean_calls, confidence)


@dataclass(frozen=True, eq=False)
class _BudgetUse:
    expected: Floats
    paths: RedrawPaths
    weights: Floats
    slope: float
    spare: float
    cost: float

    @property
    def most(self) -> float:
        """The largest share that the budget can route."""
        return min(1.0, self.spare / self.cost)

    def calls(self, share: float) -> float:
        return max(0.0, (self.spare - share * self.cost) / (1 - share)) if share < 1 else 0.0

    def gains(self, share: float, *, redraw: bool = True) -> Floats:
        """Return the expected gain of each prompt."""
        routed = routing.routed_part(self.expected, share, self.weights)
        gains_now: Floats = routed * self.expected
        if redraw and share < 1:
            left = 1 - routed
            gains_now = gains_now + left * self.slope * self.paths.at(self.calls(share), self.weights * left)
        return gains_now

    def total(self, share: float, *, redraw: bool = True) -> float:
        return float(np.mean(self.weights * self.gains(share, redraw=redraw)))


def _best(plan: _BudgetUse, mean_calls: float, confidence: float) -> result.BudgetSplit:
    share, calls = _taken(plan)
    gains = plan.gains(share, redraw=calls > 0)
    over = gains - plan.gains(plan.most, redraw=False)
    return result.BudgetSplit(
        mean_calls=mean_calls,
        strong_cost=plan.cost,
        share=share,
        further_calls=calls,
        gain=EstimateRecord.of(_mean(plan.weights, gains, confidence)),
        route_only=plan.total(plan.most, redraw=False),
        redraw_only=plan.total(0.0),
        over_routing=EstimateRecord.of(_mean(plan.weights, over, confidence)),
        sentence=_sentence(share, calls, plan),
    )


def _taken(plan: _BudgetUse) -> tuple[float, float]:
    """Return the best share and the further calls on each of the others; neither where nothing can be gained."""
    shares = sorted({share for share in _SHARES if share < plan.most} | {plan.most})
    totals = [plan.total(share) for share in shares]
    if max(totals) <= _NOTHING:
        return 0.0, 0.0
    # Where the budget routes every prompt to a judge that never errs, nothing is left to gain.
    alone = plan.most == 1 or totals[-1] >= max(totals) - _NOTHING
    share = plan.most if alone else shares[int(np.argmax(totals))]
    return share, plan.calls(share)


def _mean(weights: Floats, values: Floats, confidence: float) -> estimand.Estimate:
    mean = float(np.mean(weights * values))
    return correlation.from_influence(mean, weights * (values - mean), confidence=confidence)


def _sentence(share: float, calls: float, plan: _BudgetUse) -> str:
    if share == 0 and calls == 0:
        return "Spend nothing beyond the first scores: neither use is expected to gain anything."
    if share == 0:
        return "Spend all of it on further draws: routing at this price is expected to bring less."
    if share == plan.most:
        sent = numbers.number(plan.most, "share")
        return f"Routing alone is best: send {sent} of the prompts to the stronger judge and draw nothing further."
    further = f"{numbers.brief(calls)} further calls on each of the others"
    return f"Send {numbers.number(share, 'share')} of the prompts to the stronger judge and spend {further}."


def _as_weighted(drawn: Floats, weights: Floats, seed: int) -> Floats:
    """Return as many pools, each as often as its weight says: what is learnt without weights is then weighted."""
    places = (np.arange(len(drawn)) + np.random.default_rng(seed).random()) / len(drawn)
    again: Floats = drawn[np.searchsorted(np.cumsum(weights) / weights.sum(), places).clip(max=len(drawn) - 1)]
    return again


def _check(prompts: judged_prompts.JudgedPrompts, mean_calls: float, strong_cost: float, first: float) -> Floats:
    if not 0 < strong_cost < np.inf:
        raise UsageError(
            f"the price of a routed prompt must be above 0, not {strong_cost:g}", hint="such as 20 calls"
        )
    if not first < mean_calls < np.inf:
        raise UsageError(
            f"{mean_calls:g} calls per prompt leave nothing beyond the {first:g} first scores", hint="give more calls"
        )
    if prompts.draws is None or prompts.draws.shape[1] < _LEAST_DRAWS:
        raise InputError(
            f"the budget of {prompts.panel.judge!r} cannot be split without {_LEAST_DRAWS} scores of each candidate",
            hint="give columns draw_0, draw_1, draw_2 ..., as the judge resampled:MODEL does",
        )
    if (labelled := len(prompts.outcomes.gain)) < _LEAST_LABELS:
        raise InputError(
            f"{labelled} labelled prompts are fewer than the {_LEAST_LABELS} it takes to split a budget",
            hint="label more prompts",
        )
    # What has no first score was not drawn, whatever came later.
    return np.where(np.isnan(prompts.draws[:, :1]), np.nan, prompts.draws)


def _padded(cells: Floats, sizes: Ints) -> Floats:
    """Return cells grouped by prompt as (prompts, most candidates, k), NaN where a pool is smaller."""
    padded = np.full((len(sizes), int(sizes.max()), cells.shape[1]), np.nan)
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)
    padded[owner, np.arange(len(cells)) - starts[owner]] = cells
    return padded


def _cheaper(
    table: score_table.ScoreTable, options: reading_options.ReadingOptions, judge: str | None, stronger: str | None
) -> list[Panel]:
    """Return the panels of the judges that may send prompts on: of one that is named, or of all but the stronger."""
    panels = lay_out(table, exclude=options.exclude, shape=options.shape)
    cheaper = [panel for panel in panels if panel.judge == judge or (judge is None and panel.judge != stronger)]
    if not cheaper:
        raise UsageError(f"{table.source} holds no judge but {stronger}", hint="add the scores of a cheaper judge")
    return cheaper


def routed(  # noqa: PLR0913 - all but the source are named
    source: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    *,
    share: float,
    first_pass_only: bool,
    mean_calls: float | None,
    strong_cost: float | None,
    strong: str | None,
    judge: str | None,
    target: Mapping[str, float],
    budget: float | str | None,
    prices: Mapping[str, float],
    pools: str | Path | None,
    confidence: float,
    seed: int,
) -> result.RouteStudy:
    """Study which prompts to send to a stronger judge."""
    _check_settings(share, confidence, seed, mean_calls, strong_cost)
    table = _opened(source, options)
    stronger = worth.stronger_judge(table, strong, judge, prices)
    wanted = worth.wanted_of(target, budget, table.reference)
    _check_stronger(stronger, wanted)
    question = None if stronger is None else worth.RouteQuestion(table, *stronger, prices, wanted, share, confidence)
    judges: dict[str, result.JudgeRoute] = {}
    studied: dict[str, signal_study.StudiedJudge] = {}
    refused: dict[str, str] = {}
    panels = _cheaper(table, options, judge, None if stronger is None else stronger[0])
    in_table = stronger[0] if stronger is not None and stronger[1] != "reference" else None
    read = partial(judged_prompts.judged_prompts, table, strong=in_table, first_pass_only=first_pass_only)
    with counting("judge", len(panels)) as step:
        for panel in panels:
            try:
                prompts, split = read(panel), None
                if mean_calls is not None and strong_cost is not None:
                    # By the first draw: further ones follow it, also where a study is of the mean.
                    single = prompts if prompts.first == "draw_0" else read(panel, one_draw=True)
                    settled = single.some(single.settled)
                    split = split_budget(settled, mean_calls, strong_cost, confidence=confidence, seed=seed)
                judges[panel.judge], studied[panel.judge] = signal_study.study_judge(
                    prompts,
                    share,
                    confidence=confidence,
                    seed=seed,
                    budget=split,
                    scale=_scale_of(table, panel.judge),
                    question=question,
                )
            except InputError as error:
                if len(panels) == 1:
                    raise
                refused[panel.judge] = error.message
            step()
    _check_some(table, judges, refused)
    settings = result.RouteSettings(
        source=table.source,
        columns=dict(table.columns),
        share=share,
        confidence=confidence,
        seed=seed,
        exclude=list(options.exclude),
        first_pass_only=first_pass_only,
        mean_calls=mean_calls,
        strong_cost=strong_cost,
        shape=panels[0].shape,
        reference=table.reference,
        version=release(),
        **given(
            labels_left_out=facts.labels_left_out(table.labels_left_out),
            unlabelled=table.unlabelled,
            strong=None if stronger is None else stronger[0],
            prices=dict(prices) or None,
            wanted=wanted or None,
        ),
        **reading_options.values_read(table),
    )
    made = result.RouteStudy.of(judges, settings, refused).computed_from(studied)
    return made.with_samples(list(_samples(judges, studied, in_table, Words(table, pools))))


def _samples(
    judges: Mapping[str, result.JudgeRoute],
    studied: Mapping[str, signal_study.StudiedJudge],
    strong: str | None,
    words: Words,
) -> Iterator[blocks.Row]:
    """Yield the prompts where the stronger judge gains or loses most, those sent on first."""
    if words.pools is None and words.table.words is None:
        return
    name, route = next((name, judge.recommendation) for name, judge in judges.items())
    prompts, outcomes = studied[name].prompts, studied[name].prompts.outcomes
    gain, value = outcomes.gain, outcomes.value
    sent = routing.routed_part(studied[name].signals[route.signal], route.share, outcomes.relative)
    most = [at for at in np.lexsort((-np.abs(gain), sent == 0)).tolist() if gain[at]][: samples.MOST]
    panel = prompts.panel.keep(prompts.labelled)
    scores = {"picked by the first judge": cell_scores.cell_repeats(words.table, panel).first}
    if strong is not None:
        scores["picked by the stronger judge"] = cell_scores.scores_of(words.table, panel, strong)
    tops = {name: top_of_scores.at_top(panel.rank(own), panel.sizes) for name, own in scores.items()}
    by_prompt = words.of(str(panel.prompt_ids[at]) for at in most)
    for at in most:
        tied = {name: [who for who, top in panel.by_candidate(at, own).items() if top] for name, own in tops.items()}
        figures = [float(column[at]) for column in (gain, value, value + gain, sent)]
        labels = panel.by_candidate(at, panel.labels)
        yield from samples.sample(str(panel.prompt_ids[at]), figures, by_prompt, tied, labels)


def _check_settings(
    share: float, confidence: float, seed: int, mean_calls: float | None, strong_cost: float | None
) -> None:
    checks.check_share(share)
    checks.check_confidence(confidence)
    checks.check_seed(seed)
    if (mean_calls is None) != (strong_cost is None):
        raise UsageError(
            "a joint budget takes the mean calls and the price of a routed prompt",
            hint="give --mean-calls and --strong-cost, or neither",
        )


def _opened(source: opening.ScoreSource, options: reading_options.ReadingOptions) -> score_table.ScoreTable:
    table = opening.open_table(source, options)
    opening.refuse_clusters(table, "routing")
    table.check_scales(alike=False)
    return table


def _scale_of(table: score_table.ScoreTable, judge: str) -> str:
    scale = table.judge_scales.get(judge, table.judge_scales.get(""))
    return "" if scale is None else str(scale)


def _check_stronger(stronger: object, wanted: object) -> None:
    if wanted and stronger is None:
        raise UsageError("a target or a budget takes a stronger judge of the table", hint="name it: --strong NAME")


def _check_some(table: score_table.ScoreTable, judges: Mapping[str, object], refused: Mapping[str, str]) -> None:
    if not judges:
        first, reason = next(iter(refused.items()))
        what = f"{table.source}: no judge can be studied; {first!r}: {reason}"
        raise InputError(what, hint="see bonwise doctor")
