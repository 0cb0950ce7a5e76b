"""What calibrating does to a judge, in plain words with the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import Unit, estimate, interval
from bonwise.studies.calibration.calibrators import COVARIATE_METHODS
from bonwise.studies.calibration.result import CalibratedMethod, RawFigures
from bonwise.table.facts import JudgeCounts

__all__ = ["calibration_sentences"]


_Methods = Mapping[str, CalibratedMethod]


def calibration_sentences(
    data: JudgeCounts,
    raw: RawFigures,
    methods: _Methods,
    left_out: Mapping[str, str],
    *,
    folds: int,
    prompts: int,
) -> list[str]:
    """Return the findings, the most important first.

    Parameters
    ----------
    data : JudgeCounts
    raw : RawFigures
    methods : mapping of str to CalibratedMethod
    left_out : mapping of str to str
        Methods that could not be used, and why.
    folds : int
    prompts : int
        That the judge scored completely, labelled or not.
    """
    return [
        *_recovery(methods),
        *(_picks(name, method, folds) for name, method in methods.items()),
        *(_correlations(name, method) for name, method in methods.items()),
        *_tie_breaks(methods),
        *_levels(raw, methods),
        *_described(data, prompts),
        *(f"{_called(name)} is left out: {why}." for name, why in left_out.items()),
    ]


def _recovery(methods: _Methods) -> Iterator[str]:
    """Say first whether any way of calibrating changes what is recovered."""
    changes = {name: method.changes["recovery"] for name, method in methods.items()}
    undefined = next((one.reason for one in changes.values() if one.estimate is None), None)
    if undefined is not None:
        yield f"Whether calibration changes recovery is not known: {undefined}."
        return
    better = {name: one for name, one in changes.items() if one.low is not None and one.low > 0}
    worse = {name: one for name, one in changes.items() if one.high is not None and one.high < 0}
    unseen = {name: one for name, one in changes.items() if name not in better and name not in worse}
    if better:
        yield f"Calibrating raises recovery with {_listed(better)}."
    if worse:
        yield f"Calibrating lowers recovery with {_listed(worse)}."
    if unseen:
        start = (
            "No change of recovery is detected" if better or worse else "Calibration is not found to change recovery"
        )
        yield f"{start}: {_listed(unseen)}."


def _picks(name: str, method: CalibratedMethod, folds: int) -> str:
    whole, untied = method.picks.all, method.picks.without_ties
    never_falls = method.rising_folds == folds and name not in COVARIATE_METHODS
    rises = ", a map that never falls," if never_falls else ""
    changed = f"{_called(name)}{rises} changes {whole.picks_changed:,} of {whole.prompts:,} picks"
    broken = f"ties at the top broken: {whole.ties_broken:,}"
    if not untied.prompts:
        return f"{changed}; the raw scores of every prompt tie at the top; {broken}."
    return (
        f"{changed}, {untied.picks_changed:,} of {untied.prompts:,} where no tie stood at the top; unique picks "
        f"newly tied: {whole.picks_newly_tied:,}, {broken}."
    )


def _correlations(name: str, method: CalibratedMethod) -> str:
    parts = [f"{metric} {_signed(method.relative[metric], 'share')}" for metric in ("global_r", "within_r")]
    parts.append(f"sign_agreement {_signed(method.changes['sign_agreement'], 'points')}")
    return f"{_called(name)}: {', '.join(parts)}."


def _tie_breaks(methods: _Methods) -> Iterator[str]:
    """Say whether ties are broken in favour of the better candidate; sign_agreement, over other pairs, cannot."""
    for name, method in methods.items():
        share = method.tie_breaks
        if name not in COVARIATE_METHODS or share.estimate is None or share.low is None or share.high is None:
            continue
        verdict = "better than" if share.low > 0.5 else "worse than" if share.high < 0.5 else "not told apart from"
        yield (
            f"{_called(name)} orders {_plain(share, 'share')} of the pairs that the raw scores tie as the labels do: "
            f"{verdict} guessing."
        )


def _levels(raw: RawFigures, methods: _Methods) -> Iterator[str]:
    if raw.level.estimate is None:
        yield f"Level: {raw.level.reason}."
        return
    after = ", ".join(f"{_plain(one.level.bias)} after {name.replace('_', ' ')}" for name, one in methods.items())
    before = _plain(raw.level)
    yield f"Level: the mean score of the worst candidate is off its mean label by {before} raw, {after}."


def _described(data: JudgeCounts, prompts: int) -> Iterator[str]:
    """Say of how many prompts the figures are where others lack labels."""
    used, unlabelled = data.prompts, data.unlabelled_prompts
    if data.method == "labelled_only":
        known = " and have every covariate" if used + unlabelled < prompts else ""
        yield (
            f"Figures describe {used:,} of {prompts:,} prompts, those that are labelled completely{known}, not all "
            "prompts."
        )


def _called(name: str) -> str:
    return (name[0].upper() + name[1:]).replace("_", " ")


def _listed(changes: dict[str, EstimateRecord]) -> str:
    return "; ".join(f"{name.replace('_', ' ')} {_signed(one, 'points')}" for name, one in changes.items())


def _signed(one: EstimateRecord, unit: Unit) -> str:
    if one.estimate is None:
        return f"unknown ({one.reason})"
    return f"{estimate(one, unit, sign=True)}{_ends(one, unit, sign=True)}"


def _plain(one: EstimateRecord, unit: Unit = "number") -> str:
    return f"{estimate(one, unit)}{_ends(one, unit)}"


def _ends(one: EstimateRecord, unit: Unit, *, sign: bool = False) -> str:
    return "" if one.low is None else f" {interval(one, unit, sign=sign)}"
