"""Ways of asking a judge: the study ``label-strategy``, of three kinds that the key ``kind`` tells apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bonwise.errors import FileError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import counted
from bonwise.results import Confidence, Count, FrameRow, NonNegative, Number, Record
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import JudgeCounts, Shape, StudyCounts, StudySettings

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.table.pools import Pool


class LabelStrategyStudy(StudyDocument):
    """Ways of asking a judge, compared with each other; a subclass narrows `kind` to its own.

    Notes
    -----
    `judges` holds what was found of each judge: ``data``, ``sentences`` and the figures. Of ``strategies``:
    ``strategies`` (groups of prompts, and in each the ways with their metrics), ``no_strategies`` (why a group is
    missing) and ``matched_pairs``; of ``verdicts``: ``ways``, ``minus_both_orders`` and ``order``.
    """

    study: Literal["label-strategy"] = "label-strategy"
    kind: Literal["strategies", "verdicts", "draw"]

    constants = ("schema_", "study", "kind")

    about = (
        "Compare ways of asking a judge.\n\n"
        "Scores are compared with comparisons of the same candidates, with calls and tokens counted."
        "\n\n"
        "With --verdict-col: verdicts alone, one order compared with both. With --pairs: draws pairs to be judged."
    )
    place = 2

    def _said_of(self, source: str) -> str:
        return f"<LabelStrategyStudy of {counted(len(self.judges), 'judge')} on {source}: {self.kind}>"


GapOf = Literal["oracle", "score"]
"""Whose gap pairs have."""


class PairStratum(Record):
    """Pairs with about one gap."""

    gap_of: GapOf
    """Whose gap it is."""
    stratum: str
    pairs: Count
    drawn: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _draws_from_its_pairs(self) -> Self:
        if self.drawn > self.pairs:
            raise ValueError("drawn are more than pairs")
        return self


class PairDrawSettings(Record):
    """What was asked for."""

    source: str
    judge: str
    pools: str
    pairs: Count
    exclude: list[str]
    seed: Count
    shape: Shape
    version: str


class PairDraw(LabelStrategyStudy):
    """Pairs to have judged, by strata of their gap.

    Notes
    -----
    The pairs themselves, `record` and `pools`, are in the two files of `write` alone.
    """

    settings: PairDrawSettings
    judges: Annotated[dict[str, StudyJudge], Field(max_length=0)]
    not_studied: dict[str, str]
    """Both: empty: no judge was studied."""
    kind: Literal["draw"] = "draw"
    strata: list[PairStratum]
    prompts_left_out: dict[str, Count]
    """By reason."""
    labels_needed: Count
    """Labels that the study still needs."""
    sentences: list[str]

    def __repr__(self) -> str:
        pairs, strata = counted(sum(stratum.drawn for stratum in self.strata), "pair"), len(self.strata)
        return f"<PairDraw of {pairs} in {strata} strat{'um' if strata == 1 else 'a'} from {self.settings.source}>"

    @property
    def record(self) -> pd.DataFrame:
        """One row per pair: its id, prompt and candidates, its gap and whose that is, stratum, weight and the seed.

        The weight is 1 over the probability with which the pair was drawn.
        """
        record: pd.DataFrame = self.source_of("record")[0]
        return record

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The same pairs with their words, as pools of two candidates."""
        pools: tuple[Pool, ...] = self.source_of("pools")[1]
        return pools

    def to_frame(self) -> pd.DataFrame:
        """Return the record; of a draw that was loaded, whose JSON holds no pair, the strata."""
        return super().to_frame() if self._source is None else self.record.copy()

    def write(self, out: str | Path) -> Path:
        """Write the pools, and beside them the record; return where the record lies.

        Parameters
        ----------
        out : str or pathlib.Path
            A name that ends in ``.jsonl``; the record's ends in ``.drawn.csv`` instead.

        Raises
        ------
        bonwise.errors.FileError
            Either stands there already, or its folder is absent or not writable.
        bonwise.errors.UsageError
            The draw was loaded from a file.
        """
        from bonwise.table.writing import csv_frame, write_whole  # noqa: PLC0415 - a document is read without pandas

        pools, record = Path(out), record_path(out)
        for path in (pools, record):
            if path.exists():
                raise FileError(f"{path} is there already", hint="give the draw a name of its own")
        write_whole(record, csv_frame(self.record))
        write_whole(pools, _lines(self.pools))
        return record

    def to_dict(self) -> dict[str, Any]:
        """Return the keys and values of the JSON; here the kind stands before the settings."""
        found = super().to_dict()
        return {**{key: found[key] for key in ("schema", "study", "kind")}, **found}

    frame_of = "strata"


def record_path(out: str | Path) -> Path:
    """Return where the record of a draw lies; a `UsageError` refuses pools whose name does not end in ``.jsonl``."""
    path = Path(out)
    if path.suffix != ".jsonl":
        raise UsageError(f"{path} does not end in .jsonl", hint="pools are JSON Lines, such as todo.jsonl")
    return path.with_suffix(".drawn.csv")


def _lines(pools: Sequence[Pool]) -> Iterator[str]:
    for pool in pools:
        candidates = [{"id": candidate.id, "text": candidate.text} for candidate in pool.candidates]
        yield json.dumps({"prompt_id": pool.prompt_id, "prompt": pool.prompt, "candidates": candidates}) + "\n"


PairWay = Literal["pointwise", "pairwise", "pairwise_one_order"]


class OrderEffects(Record):
    """What the order of presentation did."""

    first_shown_advantage: EstimateRecord
    """What being shown first is worth."""
    flips: EstimateRecord
    """Share of the pairs whose verdict changes with the order."""


class WayMetrics(Record):
    """Metrics of one way, and how they differ from those of scores."""

    metrics: dict[str, EstimateRecord]
    minus_pointwise: dict[str, EstimateRecord] | None = None
    """Of every way but scores."""

    @model_validator(mode="after")
    def _has_recovery(self) -> Self:
        if "recovery" not in self.metrics:
            raise ValueError("metrics lack recovery, by which ways are compared")
        strange = [key for key in self.less if key not in self.metrics]
        if strange:
            raise ValueError(f"the difference of {strange[0]} is told, and {strange[0]} is not a metric")
        return self

    @property
    def less(self) -> dict[str, EstimateRecord]:
        """The differences; none of scores themselves."""
        return self.minus_pointwise or {}


class GapGroup(Record):
    """Pairs with about one gap of labels."""

    low: NonNegative
    high: NonNegative
    """Both: ends of the gap; the first group holds its lower end."""
    pairs: Count
    decided_pairs: Count
    accuracy: EstimateRecord
    """Of the decided pairs."""

    @model_validator(mode="after")
    def _decides_its_pairs(self) -> Self:
        if self.decided_pairs > self.pairs:
            raise ValueError("decided_pairs are more than pairs")
        return self


class WhereTied(Record):
    """What verdicts decide on the pairs that scores tie and the oracle does not."""

    pairs: Count
    decided_pairs: Count
    decided: EstimateRecord
    """Share, weighted where pairs were drawn."""
    accuracy: EstimateRecord
    """Of the decided pairs."""
    by_gap: list[GapGroup]

    @model_validator(mode="after")
    def _decides_its_pairs(self) -> Self:
        if self.decided_pairs > self.pairs:
            raise ValueError("decided_pairs are more than pairs")
        return self


class MatchedPairs(Record):
    """The pairs that were judged both ways, as pools of two."""

    prompts: Count
    pairs: Count
    oracle_decided_pairs: Count
    """All three: plain counts."""
    orders: Annotated[int, Field(ge=1, le=2)]
    """Presentation orders of the verdicts."""
    weighted: bool
    """Whether pairs were drawn, and shares are weighted."""
    ways: dict[PairWay, WayMetrics]
    order: OrderEffects | None = None
    """Of verdicts in two orders."""
    where_pointwise_tied: WhereTied

    @property
    def by_name(self) -> dict[str, WayMetrics]:
        """The ways under names of any kind."""
        return {name: way for name, way in self.ways.items()}  # noqa: C416 - keys of another type


Estimates = Mapping[str, EstimateRecord]


def way_rows(judge: str, part: str, way: str, metrics: Estimates, less: Estimates) -> Iterator[FrameRow]:
    """Yield a row per metric of a way of asking."""
    for metric, found in metrics.items():
        yield {"judge": judge, "part": part, "way": way, "metric": metric, **estimate_cells(found, less.get(metric))}


def estimate_cells(found: EstimateRecord, less: EstimateRecord | None = None) -> FrameRow:
    """Return the cells of an estimate and of its difference."""
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "difference": None if less is None else less.estimate,
        "difference_low": None if less is None else less.low,
        "difference_high": None if less is None else less.high,
    }


Way = Literal[
    "pointwise", "quantised", "pairwise", "pairwise_one_order", "sparse", "sparse_one_order", "tie_break", "partial"
]
"""Scores as they are and in bins; every pair and some, in both orders and one; tied tops; the pairs there are."""

PromptsWithVerdicts = Literal["every_pair", "some_pairs"]
"""Prompts with a verdict on every pair of candidates, and those with one on some pair."""


RangeFrom = Literal["declared scale", "lowest and highest score"]


class ScoreRange(Record):
    """The range of scores that is cut into bins."""

    low: Number
    high: Number
    from_: RangeFrom = Field(alias="from")


class StrategyCounts(JudgeCounts):
    """Counts, and how many pairs the study is made on."""

    pairs: Count
    """With scores, labels and a verdict."""
    pairs_left_out: dict[str, Count]
    """By reason."""
    prompts_without_verdicts: Count
    score_range: ScoreRange


class PromptGroup(Record):
    """The ways of asking on some of the prompts."""

    prompts: Count
    pairs: Count
    candidates_in_no_pair: Count
    strategies: dict[Way, WayMetrics]
    """By way; scores, ``pointwise``, are among them."""

    @model_validator(mode="after")
    def _compares_with_scores(self) -> Self:
        if "pointwise" not in self.strategies:
            raise ValueError("strategies lack pointwise, which the others are compared with")
        return self

    @property
    def by_name(self) -> dict[str, WayMetrics]:
        """The ways under names of any kind."""
        return {name: way for name, way in self.strategies.items()}  # noqa: C416 - keys of another type


class StrategiesJudge(StudyJudge):
    """What was found of one judge."""

    data: StrategyCounts
    strategies: dict[PromptsWithVerdicts, PromptGroup]
    """By how many of a prompt's pairs have a verdict."""
    no_strategies: dict[PromptsWithVerdicts, str]
    """Which group there is not, and why."""
    matched_pairs: MatchedPairs
    sentences: list[str]


class StrategiesSettings(StudySettings):
    """What was asked for."""

    verdicts: str
    pairwise: str
    """Both: file of the verdicts, and whose they are."""
    drawn: str | None
    """Record of the pairs, where they were drawn."""
    bins: Annotated[int, Field(ge=2)]
    """Of quantised scores."""
    edges: Annotated[int, Field(ge=1)] | None
    """Pairs per prompt of the sparse comparison; as many as candidates where None."""


class StrategiesStudy(LabelStrategyStudy):
    """Ways of asking a judge, compared on the same prompts and pairs."""

    settings: StrategiesSettings
    judges: dict[str, StrategiesJudge]
    kind: Literal["strategies"] = "strategies"

    @property
    def sentences(self) -> Sequence[str]:
        """None: nothing holds of the judges together."""
        return ()

    def __repr__(self) -> str:
        return self._said_of(self.settings.source)

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, part, way and metric, with the estimate and the difference to scores.

        Columns: ``judge``, ``part`` (``every_pair``, ``some_pairs``, ``matched_pairs`` or ``by_gap``), ``way``,
        ``metric``, ``estimate``, ``low``, ``high``, ``n`` and ``difference``, ``difference_low``,
        ``difference_high``: to ``pointwise``.
        """
        for name, judge in self.judges.items():
            for part, group in judge.strategies.items():
                for way, found in group.strategies.items():
                    yield from way_rows(name, part, way, found.metrics, found.less)
            for pair_way, one in judge.matched_pairs.ways.items():
                yield from way_rows(name, "matched_pairs", pair_way, one.metrics, one.less)
            for row in judge.matched_pairs.where_pointwise_tied.by_gap:
                key = {"judge": name, "part": "by_gap", "way": f"{row.low:g} to {row.high:g}", "metric": "accuracy"}
                yield {**key, **estimate_cells(row.accuracy)}


VerdictsWay = Literal["first_order", "second_order", "both_orders"]


class VerdictCounts(StudyCounts):
    """Counts behind the figures of a judge."""

    prompts: Count
    pairs: Count
    oracle_ties: Count
    dropped: dict[str, Count]
    """Rows by reason."""


class VerdictMetrics(Record):
    """How the verdicts of one way fare against the oracle's."""

    tie_rate: EstimateRecord
    agreement: EstimateRecord
    accuracy_decided: EstimateRecord
    """All three: agreement counts ties one half, the accuracy leaves them out."""

    def by_name(self) -> dict[str, EstimateRecord]:
        """Return the metrics by name."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class VerdictsJudge(StudyJudge):
    """What was found of one judge."""

    data: VerdictCounts
    ways: dict[VerdictsWay, VerdictMetrics]
    minus_both_orders: dict[VerdictsWay, VerdictMetrics]
    """Each order less both together; empty of one order."""
    order: OrderEffects | None
    no_order: str | None = None
    """Why it is None."""
    sentences: list[str]

    @model_validator(mode="after")
    def _has_its_orders(self) -> Self:
        wanted = {"first_order"} if self.order is None else {"first_order", "second_order", "both_orders"}
        if set(self.ways) != wanted:
            raise ValueError(f"ways must be {', '.join(sorted(wanted))}")
        return self

    @property
    def best_known(self) -> VerdictMetrics:
        """The metrics of both orders, of the one order where there is no other."""
        return self.ways["first_order" if self.order is None else "both_orders"]


class VerdictsSettings(Record):
    """What was asked for."""

    confidence: Confidence
    source: str
    verdict_columns: Annotated[list[str], Field(min_length=1, max_length=2)]
    """One or two, for two presentation orders."""
    oracle: str
    """Column with the oracle's verdict."""
    prompt: list[str]
    """Columns that together name a pair's prompt, its judge, and what tells the pairs of a prompt apart."""
    judge: list[str]
    """Columns that together name a pair's prompt, its judge, and what tells the pairs of a prompt apart."""
    pair: list[str]
    """Columns that together name a pair's prompt, its judge, and what tells the pairs of a prompt apart."""
    version: str


class VerdictsStudy(LabelStrategyStudy):
    """Verdicts on pairs, one presentation order against both."""

    settings: VerdictsSettings
    judges: dict[str, VerdictsJudge]
    kind: Literal["verdicts"] = "verdicts"
    sentences: list[str]
    """What holds of the judges together."""

    @model_validator(mode="after")
    def _has_the_orders_asked_for(self) -> Self:
        two = len(self.settings.verdict_columns) > 1
        strange = [name for name, judge in self.judges.items() if (judge.order is not None) != two]
        if strange:
            raise ValueError(f"judges.{strange[0]}.order does not fit the number of settings.verdict_columns")
        return self

    def __repr__(self) -> str:
        return self._said_of(self.settings.source)

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield a row per judge, way and metric, as `StrategiesStudy.frame_rows`; ``part`` is ``verdicts``."""
        for name, judge in self.judges.items():
            for way, metrics in judge.ways.items():
                less = judge.minus_both_orders.get(way)
                yield from way_rows(name, "verdicts", way, metrics.by_name(), {} if less is None else less.by_name())
            if judge.order is not None:
                effects = {"first_shown_advantage": judge.order.first_shown_advantage, "flips": judge.order.flips}
                yield from way_rows(name, "verdicts", "order", effects, {})


MODEL = LabelStrategyStudy
MODELS = (StrategiesStudy, VerdictsStudy, PairDraw)
