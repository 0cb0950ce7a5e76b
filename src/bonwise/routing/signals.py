"""The signals by which a prompt may be sent to a stronger judge, of a table and of one pool; higher means send."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from bonwise.arrays import Floats
from bonwise.errors import UsageError
from bonwise.routing import control, gain_model, pool_features, result_router
from bonwise.stats.sums import pool_decimals, rounded_each
from bonwise.table.cell_scores import First
from bonwise.table.verdicts import Score, Verdict

FIRST_PASS_FEATURES = ("top", "level", "spread", "margin", "tied", "width", "disagreement")
"""Features that one judging of each candidate gives, the last two where intervals or further judges are at hand."""

DRAW_FEATURES = ("draw_sd_mean", "draw_sd_max", "resampled_margin", "resampled_spread")
"""Features that need repeated scores of each candidate."""

LEAST_LABELS = 20
"""Labelled prompts below which nothing is learnt: no share of them carries an interval."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A figure of a prompt, known before the stronger judge is asked, by which prompts are ranked."""

    name: result_router.SignalName
    needs: tuple[str, ...]
    """Features, as `bonwise.routing.pool_features` names them, without which it has no value."""
    meaning: str
    """In one line."""
    learnt: bool = False
    """Whether it is a model of the gain, fitted to labelled prompts."""
    also: tuple[str, ...] = ()
    """Features that a learnt signal looks at where they are given."""
    _of: Callable[..., Floats] | None = field(default=None, repr=False)

    def value(self, features: Mapping[str, Floats], model: result_router.GainModel | None = None) -> Floats:
        """Compute the signal, NaN where a feature lacks; the higher, the sooner a prompt is sent on."""
        wanted = tuple(model.names) if self.learnt and model is not None else self.needs
        if lacking := [name for name in wanted if name not in features]:
            raise UsageError(
                f"the signal {self.name} needs {_WORDS[lacking[0]]}",
                hint=f"{_REMEDIES[lacking[0]]}, or another signal",
            )
        if self._of is not None:
            return self._of(*(np.asarray(features[name], dtype=float) for name in self.needs))
        if model is None:
            raise UsageError(
                f"the signal {self.name} is learnt from labelled prompts",
                hint="fit it with bonwise route SCORES --save FILE and give that file to the router",
            )
        return model.predict(features)

    def lacks(self, feature: str) -> str:
        """Say what is lacking without one feature."""
        return f"needs {_WORDS[feature]}"

    def looks_at(self, features: Mapping[str, Floats]) -> tuple[str, ...]:
        """Return the features that it is computed from."""
        given = [*self.needs, *(name for name in self.also if name in features)]
        return tuple(name for name in given if not np.isnan(features[name]).all())


@dataclass(frozen=True, slots=True)
class FittedSignal:
    """A signal that is ready for use."""

    signal: Signal
    model: result_router.GainModel | None = None
    """Of a learnt signal."""

    def value(self, features: Mapping[str, Floats]) -> Floats:
        """Compute the signal, as `Signal.value`."""
        return self.signal.value(features, self.model)


def find_signal(name: str) -> Signal:
    """Return a signal by name; an unknown name is a UsageError."""
    if name not in SIGNALS:
        raise UsageError(f"no signal {name!r}", hint=f"the signals are {', '.join(SIGNALS)}")
    return SIGNALS[name]


def fit_signal(
    name: str, features: Mapping[str, Floats], gain: Floats, weights: Floats | None = None
) -> FittedSignal:
    """Make a signal ready, a learnt one by 20 labelled prompts or more; `gain` is NaN without labels."""
    signal = find_signal(name)
    labelled = int(np.count_nonzero(~np.isnan(gain)))
    if not signal.learnt:
        signal.value(features)
        return FittedSignal(signal)
    if labelled < LEAST_LABELS:
        raise UsageError(
            f"{labelled} labelled prompts are fewer than the {LEAST_LABELS} that {name} takes to be learnt",
            hint="label more prompts, or choose a signal that is not learnt",
        )
    known = {feature: features[feature] for feature in signal.looks_at(features)}
    return FittedSignal(signal, gain_model.fit_gain(known, gain, weights))


_WORDS = {
    **dict.fromkeys(("top", "level", "spread", "margin", "tied"), "a score of each candidate"),
    "width": "intervals of the scores",
    **dict.fromkeys(DRAW_FEATURES, "repeated scores"),
    "p_best": "the probability that the pick is the best",
    "disagreement": "scores of the same candidates by another judge",
}

_REMEDIES = {
    **dict.fromkeys(("top", "level", "spread", "margin", "tied"), "score them"),
    "width": "give columns low and high or a width, as the judge interval:MODEL does",
    **dict.fromkeys(DRAW_FEATURES, "score each candidate several times"),
    "p_best": "score each candidate several times",
    "disagreement": "score them with a second judge too",
}

SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        signal.name: signal
        for signal in (
            Signal("margin", ("margin",), "the two highest scores are close", _of=np.negative),
            Signal("margin_level", ("margin", "level"), "expected gain given margin and mean score", learnt=True),
            Signal("interval_width", ("width",), "the intervals of the scores are wide", _of=np.positive),
            Signal("draw_sd", ("draw_sd_mean",), "repeated scores of a candidate scatter", _of=np.positive),
            Signal("disagreement", ("disagreement",), "other judges pick other candidates", _of=np.positive),
            Signal("p_best", ("p_best",), "1 - P(the pick is the best)", _of=lambda p: 1 - p),
            Signal(
                "expected_gain",
                ("top", "level", "spread", "margin", "tied"),
                "expected gain given all features",
                learnt=True,
                also=("width", "disagreement", *DRAW_FEATURES),
            ),
        )
    }
)
"""Every signal by name."""


_FROM_DRAWS = frozenset({*DRAW_FEATURES, "p_best"})

_ABSENT = {
    "width": "no score came with an interval",
    "disagreement": "no second judge scored two candidates",
    "p_best": "the probability of being the best is unknown",
    **dict.fromkeys(DRAW_FEATURES, "no score came with repeated draws"),
}


def live_features(first_pass: control.FirstPass, needs: Sequence[str], first: First = "score") -> dict[str, Floats]:
    """Compute the `needs` of one pool, arrays of length 1; `first` says what scores a candidate drawn often."""
    verdicts = first_pass.verdicts
    sizes = np.array([len(verdicts)], dtype=np.int64)
    values = _values(verdicts) if first == "score" else _first_draws(verdicts)
    widths = _widths(verdicts) if "width" in needs else None
    draws = _draws(verdicts) if _FROM_DRAWS.intersection(needs) else None
    features = pool_features.pool_features(values, sizes, widths, draws)
    stated = [chance for chance in first_pass.p_best if chance is not None]
    if "p_best" in needs and stated:
        # A strategy's posterior knows more than the draws of one pool.
        features["p_best"] = np.array([max(stated)])
    if "disagreement" in needs:
        features["disagreement"] = pool_features.disagreement(
            values, sizes, [_values(other) for other in first_pass.others]
        )
    return features


def compared_signals(values: Floats) -> Floats:
    """Return signals as they are compared; each is rounded by itself, so that a pool gives what a table does."""
    return rounded_each(values, pool_decimals(values, np.ones(len(values), dtype=np.int64)))


def live_signal(
    first_pass: control.FirstPass,
    needs: Sequence[str],
    value: Callable[[Mapping[str, Floats]], Floats],
    first: First = "score",
) -> tuple[float | None, str]:
    """Return the signal of one pool, rounded so that equal widths tie, or None and why."""
    scored = sum(isinstance(verdict, Score) for verdict in first_pass.verdicts)
    if scored < 2:
        return None, "only one candidate was scored" if scored else "nothing was scored"
    with np.errstate(over="ignore", invalid="ignore"):  # scores near the largest double: no signal, said below
        features = live_features(first_pass, needs, first)
        for name in needs:
            if not math.isfinite(features[name][0]):
                return None, _ABSENT.get(name, f"the feature {name} is unknown")
        number = float(compared_signals(value(features))[0])
    return (number, "") if math.isfinite(number) else (None, "the signal is not finite")


def _values(verdicts: Sequence[Verdict]) -> Floats:
    return np.array([verdict.value if isinstance(verdict, Score) else math.nan for verdict in verdicts], dtype=float)


def _first_draws(verdicts: Sequence[Verdict]) -> Floats:
    """Return the first draws; the score of a candidate that was drawn once is its first draw."""
    firsts = [verdict.draws[0] if isinstance(verdict, Score) and verdict.draws else None for verdict in verdicts]
    drawn = np.array([math.nan if first is None else first for first in firsts], dtype=float)
    once = [not (isinstance(verdict, Score) and verdict.draws) for verdict in verdicts]
    return np.where(once, _values(verdicts), drawn)


def _widths(verdicts: Sequence[Verdict]) -> Floats:
    widths = [verdict.width if isinstance(verdict, Score) else None for verdict in verdicts]
    return np.array([math.nan if width is None else width for width in widths], dtype=float)


def _draws(verdicts: Sequence[Verdict]) -> Floats:
    drawn = [verdict.draws if isinstance(verdict, Score) else () for verdict in verdicts]
    table = np.full((len(drawn), max(map(len, drawn), default=0)), math.nan)
    for row, values in zip(table, drawn, strict=True):
        row[: len(values)] = [math.nan if value is None else value for value in values]
    return table
