"""What the curve of mixed difficulty says, in plain words with its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import printable
from bonwise.report.numbers import (
    NOTHING,
    counted,
    estimate,
    interval,
    number,
    percent,
    unit_of_difference,
    with_interval,
)
from bonwise.studies.mix.result import CurveAt, MixCounts

__all__ = ["mix_findings"]

_HEADLINES = ("global_r", "recovery")

_STAYS = "goes"  # from one figure to another that it cannot be told from


def mix_findings(
    points: Sequence[CurveAt],
    change: Mapping[str, EstimateRecord],
    data: MixCounts,
    control: Sequence[str],
    confidence: float,
) -> list[str]:
    """Return the findings of one judge, the most important first.

    Parameters
    ----------
    points : sequence of CurveAt
        As `bonwise.studies.mix.mixture.mix_curve` gives them.
    change : mapping of str to EstimateRecord
        With the controls less without.
    data : MixCounts
    control : sequence of str
        Names of the controls.
    confidence : float
    """
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
        f"{name} {_verb(change[name])} from {number(without[name].estimate, unit_of(name), like=change[name])} "
        f"to {number(whole[name].estimate, unit_of(name), like=change[name])} "
        f"(change {_signed(name, change[name])})"
        for name in _HEADLINES
        if change[name].estimate is not None
    ]
    if parts:
        certain = any(change[name].low is not None for name in _HEADLINES)
        at = f", at {percent(confidence)} confidence" if certain else ""
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
    share = f"Pairs of {easy} and another candidate are {number(_at(points, 1).easy_pairs, 'share')} of the pairs"
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
        yield f"{_left_out(data['left_out'])}: {easy} is not there, or lacks a score or a label."
    if data.only_with_control:
        yield f"{_left_out(data['only_with_control'])}: without {easy} no choice is left."
    if data.method == "labelled_only":
        whose = "whose candidates all have labels"
        yield f"Figures describe the {counted(mixed, 'prompt')} {whose}, not all prompts."


def _left_out(count: int) -> str:
    return f"{counted(count, 'prompt')} {'is' if count == 1 else 'are'} left out"


def _at(points: Sequence[CurveAt], share: float) -> CurveAt:
    return next(point for point in points if point.share == share)


def _verb(change: EstimateRecord) -> str:
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return _STAYS
    return "rises" if change.low > 0 else "falls"


def _with_ends(name: str, found: EstimateRecord) -> str:
    unit = unit_of(name)
    return estimate(found, unit) if found.low is None else with_interval(found, unit)


def _signed(name: str, found: EstimateRecord) -> str:
    unit = unit_of_difference(unit_of(name))
    ends = interval(found, unit, sign=True)
    size = estimate(found, unit, sign=True)
    return f"{size}, no interval" if ends == NOTHING else f"{size} {ends}"
