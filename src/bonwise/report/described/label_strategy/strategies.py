"""Scores and verdicts of the same candidates compared: the ways of asking, and the pairs judged both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from bonwise.documents.label_strategy.strategies import (
    PromptGroup,
    StrategiesDocument,
    StrategiesJudge,
    StrategiesSettings,
)
from bonwise.printable import printable
from bonwise.report.blocks import Block, Drawing, Part, Said
from bonwise.report.described.label_strategy.asking_columns import (
    RECOVERY,
    asking_table,
    missing_figures,
    missing_intervals,
    partly_labelled,
    way_name,
)
from bonwise.report.described.label_strategy.pairs import matched_pairs
from bonwise.report.described.studied.described_study import DescribedStudy
from bonwise.report.figures.forest import Forest, Row, forest_figure
from bonwise.report.numbers import Ends, count, counted, estimate, percent

__all__ = ["strategies"]

_SCORING: Literal["pointwise"] = "pointwise"

_COLUMNS: Mapping[str, str] = {
    "calls_per_prompt": "calls",
    "tokens_per_prompt": "tokens",
    "within_r": "within_r",
    "tie_rate": "ties",
    "effective_agreement": "agreement",
    "top1_accuracy": "top-1",
    "gain_per_call": "gain / call",
    "gain_per_1000_tokens": "gain / 1,000 tokens",
    RECOVERY: "recovery",
}

_EACH = {"every_pair": "every", "some_pairs": "some"}

_HOW = (
    "Ties are broken at random, in expectation. Verdicts of both orders are averaged, so that orders which "
    "contradict each other tie. A candidate's score from verdicts is what it earned on average over its pairs."
)


def strategies(document: StrategiesDocument) -> DescribedStudy:
    """Describe ways of asking: one part per judge."""
    settings = document.settings
    judges = {
        name: Part(_title(name, judge), list(_judge(judge, settings, str(at))))
        for at, (name, judge) in enumerate(document.judges.items(), start=1)
    }
    return DescribedStudy(
        title=f"Ways of asking a judge: {printable(settings.source)}",
        heading="Ways of asking the judge",
        anchor="label-strategy",
        judges=judges,
        notes=[
            Said(
                "note",
                f"scores compared with {_verdicts_of(settings)}; in brackets {percent(settings.confidence)} "
                "intervals, clustered by prompt",
            )
        ],
    )


def _title(name: str, judge: StrategiesJudge) -> str:
    data = judge.data
    lone = data.prompts_without_verdicts
    without = f", {count(lone)} of them without verdicts" if lone else ""
    prompts, pairs = counted(data.prompts, "prompt"), counted(data.pairs, "pair")
    return f"{printable(name, longest=60)}: {prompts}{without}; {pairs}"


def _verdicts_of(settings: StrategiesSettings) -> str:
    """Say whose verdicts were compared with scores, and which pairs they are on."""
    whose, file = (printable(one, longest=60) for one in (settings.pairwise, settings.verdicts))
    drawn = "" if settings.drawn is None else f", on the pairs drawn in {printable(settings.drawn, longest=60)}"
    return f"verdicts of {whose} in {file}{drawn}"


def _judge(judge: StrategiesJudge, settings: StrategiesSettings, suffix: str) -> Iterator[Block]:
    for sentence in judge.sentences:
        yield Said("finding", printable(sentence, longest=1000))
    for part, group in judge.strategies.items():
        title = f"Best of n on {counted(group.prompts, 'prompt')} with a verdict on {_EACH[part]} pair"
        yield from _figure(title, group, settings, f"label-strategy-{part.replace('_', '-')}-{suffix}")
        yield asking_table(title, group.by_name, judge, settings, _COLUMNS)
        if part == "some_pairs" and group.candidates_in_no_pair:
            alone = counted(group.candidates_in_no_pair, "candidate")
            yield Said("note", f"In no pair, and counted as 1/2: {alone}.")
    for part, why in judge.no_strategies.items():
        yield Said("note", f"No table of {part.replace('_', ' ')}: {why}.")
    yield from (Said("note", line) for line in _missing(judge, settings))
    yield Part("", [Said("note", _HOW)], "detail")
    yield matched_pairs(judge, settings, suffix)
    # What a star says holds of both tables.
    yield from (Said("note", line) for line in partly_labelled(judge, settings))


def _missing(judge: StrategiesJudge, settings: StrategiesSettings) -> Iterator[str]:
    """Yield why figures and intervals are missing, each line once."""
    compared = [group.by_name for group in judge.strategies.values()]
    lines = [line for ways in compared for line in missing_figures(ways, settings, _COLUMNS)]
    lines += [line for ways in compared for line in missing_intervals(ways, settings)]
    yield from dict.fromkeys(lines)


def _figure(title: str, group: PromptGroup, settings: StrategiesSettings, key: str) -> list[Drawing[Forest]]:
    rows: list[Row] = []
    for name, way in group.strategies.items():
        found = way.metrics[RECOVERY]
        rows.append((way_name(name, settings), found.estimate, found.low, found.high))
    scores = estimate(group.strategies[_SCORING].metrics[RECOVERY], "share")
    return forest_figure(
        rows,
        key,
        "Recovery by the way of asking",
        f"{title}: scores recover {scores}, the highest is {_highest(rows)}.",
        across="recovery",
        roles=["judge" if name == "pointwise" else "other" for name in group.strategies],
        unit="share",
    )


def _highest(rows: list[Row]) -> str:
    known = [(value, name, Ends(value, low, high)) for name, value, low, high in rows if value is not None]
    if not known:
        return "unknown"
    _, name, found = max(known, key=lambda one: one[:2])
    return f"{estimate(found, 'share')} ({name})"
