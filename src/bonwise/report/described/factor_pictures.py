"""What the page of a factor model draws: cohesion of categories, what each judge adds, prompts on a map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.factor_pictures import CategoryCohesion, JudgeInformation, PromptMap
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.figures.forest import ReferenceMark, forest_figure
from bonwise.report.figures.prompt_map import Places, axis_words, prompt_map_figure
from bonwise.report.numbers import Ends, count, counted, estimate, interval, number, setting, with_interval

__all__ = ["cohesion_part", "information_part", "map_part"]

_LONGEST = 32


def cohesion_part(found: Sequence[CategoryCohesion]) -> Part:
    """Describe how far one skill drives the prompts of each category."""
    return Part("Cohesion of the categories", list(_cohesion(found)), "detail")


def _cohesion(found: Sequence[CategoryCohesion]) -> Iterator[Block]:
    yield Said(
        "note",
        "Cohesion is the share of what the prompts of a category ask for that is one skill. p is the share of random "
        "sets of as many prompts that are as cohesive. Only a category with a small p is more than a set of prompts.",
    )
    few = sum(one.cohesion.p <= 0.05 for one in found)
    by_chance = setting(round(0.05 * len(found), 1))
    yield Said(
        "finding",
        f"Categories with p of at most 0.05: {count(few)} of {count(len(found))}. By chance it would be about "
        f"{by_chance}.",
    )
    columns = (
        Column("category", "name"),
        Column("prompts"),
        Column("cohesion", sorted=True),
        Column("interval"),
        Column("random sets"),
        Column("p"),
    )
    rows = [
        (
            printable(one.category, longest=_LONGEST),
            count(one.prompts),
            estimate(_share(one), "share"),
            interval(_share(one), "share"),
            number(one.random, "share"),
            _p(one),
        )
        for one in found
    ]
    best = found[0]
    yield from forest_figure(
        [(one.category, one.cohesion.share, one.cohesion.low, one.cohesion.high) for one in found],
        "factor-cohesion",
        "Cohesion of the categories",
        f"Share of one skill by category, most cohesive first: {printable(best.category, longest=_LONGEST)}, "
        f"{with_interval(_share(best), 'share')}, p = {_p(best)}.",
        across="cohesion: share of one skill",
        marks=[ReferenceMark(at, one.random, "random", "random sets of prompts") for at, one in enumerate(found)],
        said=[f"{with_interval(_share(one), 'share')}, p = {_p(one)}" for one in found],
        unit="share",
        bars=True,
    )
    yield Table.of(columns, rows)


def _share(one: CategoryCohesion) -> Ends:
    return Ends(one.cohesion.share, one.cohesion.low, one.cohesion.high)


def _p(one: CategoryCohesion) -> str:
    return setting(round(one.cohesion.p, 3))


def information_part(found: Sequence[JudgeInformation]) -> Part:
    """Describe what is lost without each judge."""
    return Part("What each judge adds", list(_information(found)), "detail")


def _information(found: Sequence[JudgeInformation]) -> Iterator[Block]:
    yield Said(
        "note",
        "By how much the variance of the human's gaps between models on a prompt would grow without the ratings of "
        "the judge. The model takes judges' errors as independent: judges that err alike add less than this says.",
    )
    columns = (Column("judge", "name"), Column("variance without it", sorted=True), Column("interval"))
    rows = [
        (
            printable(one.rater, longest=_LONGEST),
            estimate(one.growth, "share", sign=True),
            interval(one.growth, "share", sign=True),
        )
        for one in found
    ]
    first = found[0]
    yield from forest_figure(
        [(one.rater, one.growth.estimate, one.growth.low, one.growth.high) for one in found],
        "factor-judges",
        "What each judge adds",
        "Growth of the variance of the human's gaps without each judge. Most: "
        f"{printable(first.rater, longest=_LONGEST)}, {with_interval(first.growth, 'share', sign=True)}.",
        across="growth of the variance without the judge, as a share",
        said=[with_interval(one.growth, "share", sign=True) for one in found],
        unit="share",
        bars=True,
    )
    yield Table.of(columns, rows)


def map_part(found: PromptMap) -> Part:
    """Describe where the prompts stand."""
    return Part("Map of the prompts", [_map_note(found), _map(found)], "detail")


def _map_note(found: PromptMap) -> Said:
    shares = f"{number(found.x.share, 'share')} and {number(found.y.share, 'share')}"
    return Said(
        "note",
        "Prompts stand near each other where the same models are better. The axes are the principal axes of the "
        f"human's capabilities of the models, less their mean on the prompt; they hold {shares} of the variance.",
    )


def _map(found: PromptMap) -> Drawing[Places]:
    places = [(one.prompt_id, one.category, one.x, one.y) for one in found.prompts]
    x, y = (
        axis_words(at, number(axis.share, "share"), axis.high, up=at == 2)
        for at, axis in ((1, found.x), (2, found.y))
    )
    coloured = len({one.category for one in found.prompts if one.category})
    by = f", in the colours of {count(coloured)} categories" if coloured > 1 else ""
    says = f"{counted(len(places), 'prompt')}{by}. {_ends(found)}"
    return prompt_map_figure(Places(places, x, y), "factor-map", "Map of the prompts", says)


def _ends(found: PromptMap) -> str:
    right, left = (printable(one, longest=_LONGEST) for one in (found.x.high, found.x.low))
    up, down = (printable(one, longest=_LONGEST) for one in (found.y.high, found.y.low))
    return f"To the right {right} is better and {left} worse; upwards {up} is better and {down} worse."
