"""What a study of requirements found, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import Ends, counted, estimate, percent, setting, with_interval
from bonwise.studies.requirements.result import Inverse, OwnFigures, RequirementCounts, Target

__all__ = ["requirement_sentences"]


def requirement_sentences(
    data: RequirementCounts, own: OwnFigures, targets: Sequence[Target], inverse: Sequence[Inverse], seed: int
) -> list[str]:
    """Return the findings of one judge, the most important first.

    Parameters
    ----------
    data : RequirementCounts
    own : OwnFigures
    targets : sequence of Target
    inverse : sequence of Inverse
    seed : int
        Of the draw of prompts, where not all were used.
    """
    return [*_own(own), *_targets(targets), *_inverse(inverse), *_described(data, seed)]


def _described(data: RequirementCounts, seed: int) -> Iterator[str]:
    """Say which prompts the figures describe, where not all."""
    prompts, used, too_large = data.prompts, data.studied_prompts, data.too_large_prompts
    if data.method == "labelled_only":
        scored = counted(prompts + data.unlabelled_prompts, "prompt")
        yield f"The figures describe {prompts:,} of {scored}: those whose candidates all have labels."
    if too_large:
        yield (
            f"{counted(too_large, 'prompt')} with more candidates than can be computed with "
            f"{'is' if too_large == 1 else 'are'} set aside and in no figure."
        )
    if used < prompts - too_large:
        yield f"All this is computed from {used:,} of the {prompts - too_large:,} prompts, drawn with seed {seed}."


def _own(own: OwnFigures) -> Iterator[str]:
    expected, difference = own.expected_recovery, own.difference
    if expected.estimate is None:
        yield f"No figure for a judge of plain noise with this within_r: {expected.reason}."
        return
    yield (
        f"At within_r {estimate(own.within_r)} a judge whose errors are plain noise recovers "
        f"{_with_ends(expected)} of the possible gain here; this judge recovers {_with_ends(own.recovery)}."
    )
    yield _verdict(difference)


def _verdict(difference: EstimateRecord) -> str:
    low, high = difference.low, difference.high
    if high is not None and high < 0:
        turned = Ends(*(None if end is None else -end for end in (difference.estimate, high, low)))
        less = with_interval(turned, "points")
        return (
            f"It recovers {less} less than a judge of plain noise with its within_r would: ties, "
            "coarse scores, skewed errors or errors that are uneven between prompts can do that; this study does not "
            "tell which."
        )
    if low is not None and low > 0:
        return (
            f"It recovers {with_interval(difference, 'points')} more than a judge of plain noise with its within_r "
            "would: scales that differ between prompts, or errors where they do the picks little harm, can do that; "
            "this study does not tell which."
        )
    return (
        "Whether it recovers more or less than a judge of plain noise with its within_r would cannot be told: the "
        f"difference is {with_interval(difference, 'points', sign=True)}."
    )


def _targets(targets: Sequence[Target]) -> Iterator[str]:
    known = [one for one in targets if one.within_r.estimate is not None]
    if known:
        first, *others = ((percent(one.target), *_needed(one)) for one in known)
        gain, within_r, agreement = first
        opening = (
            f"To recover {gain} of the possible gain here a judge needs a within_r of {within_r} and an effective "
            f"agreement of {agreement}."
        )
        further = (f"For {gain} it needs {within_r} and {agreement}." for gain, within_r, agreement in others)
        yield " ".join((opening, *further))
    for one in targets:
        if one not in known:
            yield f"No figure for {percent(one.target)} of the possible gain: {one.within_r.reason}."


def _needed(one: Target) -> tuple[str, str]:
    return estimate(one.within_r), estimate(one.effective_agreement, "share")


def _inverse(inverse: Sequence[Inverse]) -> Iterator[str]:
    for one in inverse:
        found = one.recovery
        if found.estimate is None:
            yield f"No figure for a judge at within_r {setting(one.within_r)}: {found.reason}."
        else:
            yield f"A judge at within_r {setting(one.within_r)} recovers about {_with_ends(found)} here."


def _with_ends(found: EstimateRecord) -> str:
    return with_interval(found, "share")
