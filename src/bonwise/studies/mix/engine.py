"""The study of mixed difficulty: how figures rise as easy candidates enter the pools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.metric_groups import unit_of
from bonwise.printable import listed, printable, quoted
from bonwise.progress import counting
from bonwise.report import numbers
from bonwise.stats import catalog, estimand, estimation, support
from bonwise.stats.sums import Sums, by_rank, prompt_sums
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.mix.result import CurveAt, MixCounts, MixJudge, MixSettings, MixStudy
from bonwise.table import checks, opening, reading_options, score_table
from bonwise.table.panel import Panel, lay_out

_HEADLINES = ("global_r", "recovery")

_STAYS = "goes"  # from one figure to another that it cannot be told from


def mix_findings(
    points: Sequence[CurveAt],
    change: Mapping[str, EstimateRecord],
    data: MixCounts,
    control: Sequence[str],
    confidence: float,
) -> list[str]:
    """Return the findings of one judge, the most important first; `change` is with the controls less without."""
    easy = " or ".join(printable(name, longest=40) for name in control[:3])
    easy += f" or {len(control) - 3} more" if len(control) > 3 else ""
    return [
        *_moves(points, change, easy, confidence),
        *_picks(change),
        *_pairs(points, easy),
        *_half(points, change, several=len(control) > 1),
        f"Where the pools to pick from hold nothing like {easy}, the figures without it are those to quote.",
        *_prompts(data, easy),
    ]


def _moves(
    points: Sequence[CurveAt], change: Mapping[str, EstimateRecord], easy: str, confidence: float
) -> Iterator[str]:
    without, whole = (_at(points, share).metrics for share in (0, 1))
    parts = [
        # Both ends have the decimals of the change, so that a reader can subtract.
        f"{name} {_verb(change[name])} from "
        f"{numbers.number(without[name].estimate, unit_of(name), like=change[name])} to "
        f"{numbers.number(whole[name].estimate, unit_of(name), like=change[name])} (change "
        f"{_signed(name, change[name])})"
        for name in _HEADLINES
        if change[name].estimate is not None
    ]
    if parts:
        certain = any(change[name].low is not None for name in _HEADLINES)
        at = f", at {numbers.percent(confidence)} confidence" if certain else ""
        yield (
            f"With {easy} in the pools {', and '.join(parts)}{at}; nothing about the choice among the other "
            "candidates changed."
        )
    for name in _HEADLINES:
        if change[name].estimate is None:
            yield f"The change of {name} has no figure: {change[name].reason}."


def _picks(change: Mapping[str, EstimateRecord]) -> Iterator[str]:
    judge, chance = change["value_judge"], change["value_random"]
    if judge.estimate is not None and chance.estimate is not None:
        by_chance = _signed("value_random", chance)
        yield f"The judge's pick changes in value by {_signed('value_judge', judge)}, a random pick by {by_chance}."


def _pairs(points: Sequence[CurveAt], easy: str) -> Iterator[str]:
    share = (
        f"Pairs of {easy} and another candidate are {numbers.number(_at(points, 1).easy_pairs, 'share')} of the pairs"
    )
    alone, without = points[-1].metrics["sign_agreement"], points[0].metrics["sign_agreement"]
    if alone.estimate is None or without.estimate is None:
        yield f"{share}."
        return
    correlation = points[-1].metrics["global_r"]
    also = "" if correlation.estimate is None else f" and global_r {_with_ends('global_r', correlation)}"
    yield (
        f"{share}; on them alone sign_agreement is {_with_ends('sign_agreement', alone)}{also}, "
        f"on the pairs of the others sign_agreement is {_with_ends('sign_agreement', without)}."
    )


def _half(points: Sequence[CurveAt], change: Mapping[str, EstimateRecord], *, several: bool) -> Iterator[str]:
    """Say how far half of the pools with a control go, of what moves at all."""
    middle = _at(points, 0.5).metrics
    moving = [name for name in _HEADLINES if _verb(change[name]) != _STAYS and middle[name].estimate is not None]
    if moving:
        parts = [f"{name} is {_with_ends(name, middle[name])}" for name in moving]
        it = "them" if several else "it"
        yield f"With {it} in half of the prompts that hold {it} {' and '.join(parts)}."


def _prompts(data: MixCounts, easy: str) -> Iterator[str]:
    mixed, holding = data.mixed_prompts, data.prompts_with_control
    if holding < mixed:
        hold = "holds" if holding == 1 else "hold"
        yield f"{holding:,} of {mixed:,} prompts {hold} {easy}; the others are the same at every point of the curve."
    if data.left_out:
        yield f"{_left_out(data['left_out'])}: {easy} is not there, or lacks a label."
    if data.only_with_control:
        yield f"{_left_out(data['only_with_control'])}: without {easy} no choice is left."
    if data.method == "labelled_only":
        whose = "whose candidates all have labels"
        yield f"Figures describe the {numbers.counted(mixed, 'prompt')} {whose}, not all prompts."


def _left_out(count: int) -> str:
    return f"{numbers.counted(count, 'prompt')} {'is' if count == 1 else 'are'} left out"


def _at(points: Sequence[CurveAt], share: float) -> CurveAt:
    return next(point for point in points if point.share == share)


def _verb(change: EstimateRecord) -> str:
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return _STAYS
    return "rises" if change.low > 0 else "falls"


def _with_ends(name: str, found: EstimateRecord) -> str:
    unit = unit_of(name)
    return numbers.estimate(found, unit) if found.low is None else numbers.with_interval(found, unit)


def _signed(name: str, found: EstimateRecord) -> str:
    unit = numbers.unit_of_difference(unit_of(name))
    ends = numbers.interval(found, unit, sign=True)
    size = numbers.estimate(found, unit, sign=True)
    return f"{size}, no interval" if ends == numbers.NOTHING else f"{size} {ends}"


SHARES = tuple(step / 10 for step in range(11))
"""At which the curve is calculated."""

OF_PAIRS = ("global_r", "sign_agreement", "effective_agreement")
"""Metrics of cells and pairs: they exist on easy pairs alone, of which no pool is made."""

_OF_CELLS = ("S", "O", "SS", "OO", "SO")
_COUNTS = ("apart_S", "apart_O", "apart_both", "concordant", "all_pairs", "all_apart_O", "decided", "decided_right")


class MixSums(NamedTuple):
    """Sums of the same prompts, each of shape (len(Sums._fields), prompts), centred at one value."""

    without: Floats  # pools without their control candidates
    whole: Floats  # pools with them
    easy: Floats  # pairs of a control and another candidate as pools of two; NaN but for cells and pairs
    lowest: Floats  # the lowest label of each pool, without its controls and with them


def mix_sums(
    scores: Floats, labels: Floats, sizes: Ints, control: Mask, ranked: tuple[Floats, Floats] | None = None
) -> MixSums:
    """Compute the sums of every prompt without its controls, with them, and of its easy pairs."""
    starts = np.cumsum(sizes) - sizes
    controls = np.add.reduceat(control.astype(np.int64), starts)
    lowest = np.minimum.reduceat(np.stack([np.where(control, np.inf, labels), labels]), starts, axis=1)
    several = controls > 1
    among = control & np.repeat(several, sizes)
    # One call, so that all are centred at one value.
    pieces = [(~control, sizes - controls), (np.ones_like(control), sizes), (among, controls[several])]
    found = prompt_sums(
        np.concatenate([scores[cells] for cells, _ in pieces]),
        np.concatenate([labels[cells] for cells, _ in pieces]),
        np.concatenate([counts for _, counts in pieces]),
        None if ranked is None else np.concatenate([*ranked, by_rank(scores[among])]),
    )
    without, whole, of_controls = np.split(found, [len(sizes), 2 * len(sizes)], axis=1)
    same = np.zeros_like(without)
    same[:, several] = of_controls
    return MixSums(without, whole, _easy_pairs(Sums(*without), Sums(*whole), Sums(*same)), lowest)


def _easy_pairs(without: Sums, whole: Sums, same: Sums) -> Floats:
    """Sum the pairs of a control and another candidate: each stands in as many pairs as there are of the others."""
    others, controls = without.cells, whole.cells - without.cells
    unknown = np.full_like(others, np.nan)
    found = Sums(*(unknown for _ in Sums._fields))._replace(
        prompts=without.prompts, cells=2 * controls * others, pairs=controls * others
    )
    cells = {
        name: others * (getattr(whole, name) - getattr(without, name)) + controls * getattr(without, name)
        for name in _OF_CELLS
    }
    # Where nothing has a score nothing is decided, whatever is picked there.
    whole, without = (
        t._replace(
            decided=np.where(t.cells > 0, t.decided, 0), decided_right=np.where(t.cells > 0, t.decided_right, 0)
        )
        for t in (whole, without)
    )
    pairs = {name: getattr(whole, name) - getattr(without, name) - getattr(same, name) for name in _COUNTS}
    return np.array(found._replace(**cells, **pairs))


def mix_curve(sums: MixSums, rule: estimation.IntervalRule, method: str = "complete") -> list[CurveAt]:
    """Estimate the metrics along both legs of the curve: on the second those of `OF_PAIRS` alone.

    First leg: a share m of the prompts shows its controls, sums ``(1 - m) without + m whole``. Second leg, from where
    the first ends: ``(1 - u) whole + u easy``, in the order of `easy_pairs`. Intervals have the prompt as their unit,
    and take the share as given. `method` says which prompts the estimates are of.
    """
    of_pairs = tuple(e for e in catalog.ESTIMANDS if e.name in OF_PAIRS)
    easy = Sums(*sums.easy).pairs
    points = []
    for share in SHARES:
        mixed = (1 - share) * sums.without + share * sums.whole
        figures = estimation.estimate(catalog.ESTIMANDS, mixed, rule)
        lowest = (1 - share) * sums.lowest[0] + share * sums.lowest[1]
        figures |= support.of_whole_prompts(figures, Sums(*mixed), lowest, rule)
        metrics = _records({name: replace(figure, support=None) for name, figure in figures.items()}, method)
        points.append(CurveAt(share=share, towards=0.0, easy_pairs=_share(share * easy, mixed), metrics=metrics))
    for towards in SHARES[1:]:
        mixed = (1 - towards) * sums.whole + towards * sums.easy
        # At the end a prompt without a control holds no pair, and counts for nothing.
        held = mixed[:, Sums(*mixed).pairs > 0]
        metrics = _records(estimation.estimate(of_pairs, held, rule), method)
        points.append(CurveAt(share=1.0, towards=towards, easy_pairs=_share(easy, mixed), metrics=metrics))
    return points


def _records(estimates: Mapping[str, estimand.Estimate], method: str) -> dict[str, EstimateRecord]:
    return estimate_records(estimand.under_method(estimates, method))


def _share(easy: Floats, mixed: Floats) -> float:
    return float(easy.sum() / Sums(*mixed).pairs.sum())


def mix_change(sums: MixSums, rule: estimation.IntervalRule, method: str = "complete") -> dict[str, EstimateRecord]:
    """Estimate by how much each metric differs with the controls from without, paired by prompt."""
    # The controls change what could be gained too, so the two recoveries share no denominator for Fieller's interval.
    estimands = [replace(e, parts=None) for e in catalog.ESTIMANDS]
    changes = estimation.difference(estimands, sums.whole, sums.without, rule)
    for ends in (estimation.estimate(catalog.ESTIMANDS, pools, rule) for pools in (sums.whole, sums.without)):
        for name, end in ends.items():
            if end.estimate is None and changes[name].estimate is not None:
                changes[name] = estimand.Estimate.undefined(end.reason or "", end.n)
    return _records(changes, method)


def mix_study(
    source: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    *,
    control: str | Sequence[str],
    confidence: float,
    seed: int,
) -> MixStudy:
    """Calculate how a judge's figures move as candidates that anyone can tell apart enter the pools."""
    settings = Settings(
        confidence=confidence,
        seed=seed,
        exclude=options.exclude,
        control=checks.names_of("control", control),
        shape=options.shape,
    )
    table = opening.open_table(source, options)
    opening.refuse_clusters(table, "this study")
    _check_left(table, settings)
    return mix_of(open_judged(table, settings, replace(reading_options.AS_IT_STANDS, unpicked=options.unpicked)))


def _check_left(table: score_table.ScoreTable, settings: Settings) -> None:
    """Refuse controls beside which no two candidates are left."""
    out = {*settings.control, *settings.exclude}
    left = [name for name in table.candidates if name not in out]
    # Fewer than two from the start are told of when the table is laid out.
    if settings.control and len(left) < 2 <= len(table.candidates):
        beside = f"only {quoted(left[0])} is left" if left else "no candidate is left"
        raise UsageError(
            f"{table.source}: {beside} beside the control, and there is no choice to study",
            hint="name as --control what is easy to tell apart, and leave two or more others",
        )


def mix_of(judged: LabelledPanels) -> MixStudy:
    """Make the study on judges whose table is open, with the controls of the settings; none is a `UsageError`."""
    settings, table = judged.settings, judged.table
    easy = [name for name in settings.control if name not in settings.exclude]
    if not easy:
        raise UsageError(
            f"{table.source}: without a control there is nothing to mix in",
            hint=f"name the easy candidate with --control; the candidates are {listed(table.candidates)}",
        )
    judges, refused = {}, dict(judged.not_studied)
    with counting("judge", len(judged.panels)) as step:
        for panel in lay_out(table, exclude=settings.exclude, shape=settings.shape):
            if panel.judge in judged.panels:
                mixed = _mix(judged, panel, easy)
                if mixed is None:
                    refused[panel.judge] = "no labelled prompt holds a control"
                else:
                    judges[panel.judge] = mixed
                step()
    if not judges:
        raise InputError(
            f"{table.source}: no labelled prompt holds the control {quoted(easy[0])} with a score",
            hint="score and label the control in the pools of the other candidates",
        )
    return MixStudy(settings=judged.settings_as(MixSettings), judges=judges, not_studied=refused)


def _mix(judged: LabelledPanels, panel: Panel, easy: Sequence[str]) -> MixJudge | None:
    """Mix one judge's pools, given its panel with the controls; None where no pool holds one."""
    without = judged.panels[panel.judge]
    labelled = panel.labelled_cells == panel.sizes
    common = panel.prompt_ids.isin(without.prompt_ids)
    whole = panel.keep(labelled & common)
    control = whole.candidates.isin(easy)[whole.names]
    if not (control & ~np.isnan(whole.scores)).any():
        return None
    others = without.keep(np.asarray(without.prompt_ids.isin(whole.prompt_ids)))
    sums = mix_sums(whole.scores, whole.labels, whole.sizes, control, (others.ranked, whole.ranked))
    # The interval of the curve is the jackknife's, whatever the audit's own: it is made at twenty points.
    rule = replace(judged.settings.rule(whole.labels), kind="default")
    method = judged.methods[panel.judge]
    points, change = mix_curve(sums, rule, method), mix_change(sums, rule, method)
    holding = np.add.reduceat(control.astype(np.int64), np.cumsum(whole.sizes) - whole.sizes) > 0
    data = judged.counts_as(
        MixCounts,
        panel.judge,
        mixed_prompts=len(whole.sizes),
        prompts_with_control=int(holding.sum()),
        left_out=len(without.sizes) - len(whole.sizes),
        only_with_control=int((labelled & ~common).sum()),
    )
    findings = mix_findings(points, change, data, easy, judged.settings.confidence)
    return MixJudge(data=data, points=points, change=change, sentences=findings)
