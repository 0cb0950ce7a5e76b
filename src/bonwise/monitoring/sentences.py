"""What a monitor says in words: the verdict, what it rests on, and what it does not mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.monitoring.order import Described
from bonwise.monitoring.result import LabelCounts, RecoverySettings, VoteCounts, VoteMonitorSettings
from bonwise.monitoring.stopping_rules import Watched
from bonwise.printable import quoted, shell_word
from bonwise.report.amounts import brief
from bonwise.report.numbers import number, setting
from bonwise.table.panel import EasyCandidate, LabelsInPart

__all__ = ["of_easy", "of_order", "of_part", "of_prompts", "of_verdict", "of_votes"]

_HEAVY = 20.0
_LATER = 100
"""First look where a few prompts carry much of the variance."""
_FEW = 10


def of_easy(easy: Sequence[EasyCandidate]) -> Iterator[str]:
    """Yield which candidates any judge can reject, and what settles them."""
    for one in easy:
        word = shell_word(one.name)
        yield (
            f"Candidate {quoted(one.name)} has the lowest label in {number(one.lowest, 'share')} of prompts, which "
            f"raises recovery: nothing is settled. --control {word} leaves it out of the figures. --keep-easy {word} "
            "counts it like any other candidate."
        )


def of_verdict(watched: Watched, first: int, unit: str) -> Iterator[str]:
    """Yield when the rule said stop, or how far it is from it."""
    if watched.stopped is not None:
        n, more = watched.stopped.n, watched.now.n - watched.stopped.n
        yield f"The rule said stop after {n:,} {unit}" + (
            f"; the {more:,} labelled since then do not change that." if more else "."
        )
        return
    if watched.now.n < first:
        yield f"Too early: {watched.now.n:,} of the {first:,} {unit} before the first look."
    elif watched.expected.more is not None:
        yield (f"If estimate and spread stay as they are, about {watched.expected.more:,} more {unit} are expected.")
    else:
        yield f"No number of further {unit} can be named: {watched.expected.reason}."


def of_prompts(
    watched: Watched, data: LabelCounts, settings: RecoverySettings, described: Described
) -> Iterator[str]:
    """Yield what the rules on recovery rest on."""
    than = settings.than
    if than is not None:
        bound = setting(than)
        whose = "Recovery" if described.all_prompts else "Recovery on the labelled prompts"
        if watched.verdict == "stop: better":
            yield f"{whose} is above {bound}: the confidence sequence excludes {bound} from above."
        elif watched.verdict == "stop: not better":
            yield f"{whose} is not above {bound}: the whole confidence sequence lies below it."
        else:
            yield (
                f"That {bound} is not excluded does not show equivalence. Where recovery is {bound} this "
                "rule seldom stops: set a largest number of labels beforehand."
            )
        yield (
            "The sequence holds at all looks together; it is asymptotic, so it starts at "
            f"{settings.first_look:,} labelled prompts."
        )
    if data.clusters is not None:
        yield (
            f"Prompts of one cluster count together: the rule rests on {data.clusters:,} clusters. It is valid if "
            "clusters were labelled in random order."
        )
    kurtosis = data.kurtosis
    if kurtosis is not None and kurtosis > _HEAVY:
        early = settings.half_width is not None and settings.first_look < _LATER
        advice = f" Take a first look at {_LATER} (--first-look {_LATER})." if early else ""
        yield (
            f"A few prompts carry much of the variance (kurtosis {brief(kurtosis)}): intervals hold a little less "
            f"than they say.{advice}"
        )


def of_part(labels: LabelsInPart) -> Iterator[str]:
    """Yield how many labels wait for the rest of their prompts."""
    if labels.prompts:
        yield (
            f"{labels.unused}: the rule counts a prompt when its last label is there. Once labelling has ended "
            "bonwise audit --design cells uses them, if the labelled candidates are a random sample of all."
        )


def of_order(sorted_by_id: bool, prompts: int) -> Iterator[str]:
    """Yield what is assumed of the draw and of the order of labelling."""
    yield (
        "Valid if prompts were drawn uniformly and labelled in random order, and all settings were fixed before the "
        "first label."
    )
    if sorted_by_id and prompts >= _FEW:
        yield "They were completed in the order of their ids, which is not random if ids follow topic or date."


def of_votes(watched: Watched, data: VoteCounts, settings: VoteMonitorSettings) -> Iterator[str]:
    """Yield what the rule on votes rests on."""
    first, second = settings.sides
    bound = setting(settings.than)
    if watched.verdict == "stop: better":
        yield f"The share of votes for {first} over {second} is above {bound}."
    elif watched.verdict == "stop: not better":
        yield f"The share of votes for {first} over {second} is below {bound}."
    else:
        yield (f"Not having excluded {bound} is no sign of equivalence: where that is the share, it seldom stops.")
    if data.ties:
        how = {"drop": "are left out", "half": "count half", "pessimistic": f"count against {first}"}
        yield f"{data.ties:,} ties {how[settings.ties or 'drop']}."
    each = (
        "with one vote per prompt" if settings.prompt is not None else "one vote per prompt (--prompt-col checks it)"
    )
    yield f"Valid for independent votes, {each}, with all settings fixed before the first vote."
