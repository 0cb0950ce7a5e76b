"""The drawings of a study of routing: what is captured, and the mean label, by the share sent on."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.routed.judge import JudgeRoute
from bonwise.documents.routed.signal import RoutedShareRecord, SignalRecord
from bonwise.documents.router import SignalName
from bonwise.report.blocks import Drawing
from bonwise.report.figures.curves import Curve, Curves, Guide, curves_figure
from bonwise.report.numbers import Ends, interval, number, percent, with_any_interval

__all__ = ["captured_curves", "value_curves"]

_PANELS = 3
"""Signals whose values are drawn, the one to take and the best of the others; the table holds them all."""

_ACROSS = "share of the prompts sent on"

_NO_FIGURE = "no figure"


def captured_curves(judge: JudgeRoute, share: float, key: str) -> list[Drawing[Curves]]:
    """Draw the part of the possible lift that each signal captures."""
    names = _ranked(judge, share)
    said = ", ".join(f"{name} {_captured(judge.studied[name].at(share))}" for name in reversed(names))
    return curves_figure(
        [_captured_by(name, judge.studied[name], foremost=name == names[-1]) for name in names],
        key,
        "Captured by share sent on",
        "Part of the possible lift over random routing that each signal captures; a perfect order captures 100%, a "
        f"random one 0%. With {percent(share)} sent on: {said}.",
        across=_ACROSS,
        up="part of the possible lift",
        guides=[Guide(percent(share), x=share), Guide("random", y=0.0)],
        units=("share", "share"),
        at_ends=True,
    )


def value_curves(judge: JudgeRoute, share: float, key: str) -> Iterator[Drawing[Curves]]:
    """Draw the mean label by share sent on, for the signal to take and the best of the others."""
    for at, name in enumerate(_ranked(judge, share)[: -_PANELS - 1 : -1], start=1):
        yield from _value(name, judge, share, f"{key}-{at}")


def _ranked(judge: JudgeRoute, share: float) -> list[SignalName]:
    """Return the signals with figures; the one to take comes last and is drawn on top, before it the better ones."""
    studied, taken = judge.studied, judge.recommendation.signal
    return sorted(studied, key=lambda name: (name == taken, studied[name].at(share).captured or 0.0))


def _value(name: SignalName, judge: JudgeRoute, share: float, key: str) -> list[Drawing[Curves]]:
    shares = judge.studied[name].shares
    across = [one.share for one in shares]
    at, best = judge.studied[name].at(share), judge.perfect_at(share)
    value = Ends(at.value, at.value_low, at.value_high)
    chance = "" if at.at_random is None else f", {number(at.at_random, like=value)} at random"
    ends = "" if value.low is None else f" {interval(value)}"
    return curves_figure(
        [
            Curve("random order", across, [one.at_random for one in shares], role="random", dashed=True),
            Curve(
                "perfect order",
                [one.share for one in judge.perfect],
                [one.value for one in judge.perfect],
                role="oracle",
            ),
            Curve(
                name,
                across,
                [one.value for one in shares],
                [one.value_low for one in shares],
                [one.value_high for one in shares],
            ),
        ],
        key,
        f"Value by share sent on: {name}",
        f"Mean label with {percent(share)} sent on by {name}: {_mean(at.value, value)}{ends}, "
        f"{_mean(best.value, value)} in the perfect order{chance}.",
        across=_ACROSS,
        up="mean label",
        guides=[Guide(percent(share), x=share)],
        units=("share", "number"),
    )


def _captured_by(name: SignalName, signal: SignalRecord, *, foremost: bool) -> Curve:
    across, captured = [one.share for one in signal.shares], [one.captured for one in signal.shares]
    if not foremost:
        return Curve(name, across, captured, role="other", points=True)
    return Curve(name, across, captured, [one.low for one in signal.shares], [one.high for one in signal.shares])


def _captured(found: RoutedShareRecord) -> str:
    if found.captured is None:
        return _NO_FIGURE
    captured = Ends(found.captured, found.low, found.high)
    return with_any_interval(captured, "share")


def _mean(value: float | None, like: Ends) -> str:
    return _NO_FIGURE if value is None else number(value, like=like)
