"""Pairwise verdicts compared with an oracle's: ``bonwise.preferences/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count

__all__ = [
    "MODEL",
    "ContextCount",
    "JoinedLabels",
    "JudgePreferences",
    "PreferenceCounts",
    "PreferenceMetrics",
    "PreferenceSettings",
    "PreferencesDocument",
]


DroppedVerdict = Literal[
    "no verdict", "no label", "no label of the pair", "no label of the prompt", "a model against itself"
]
"""Why a judge's row is left out; the middle two where labels are in a second file."""

LeftOutLabel = Literal["no verdict", "a model against itself", "prompt not judged", "pair not judged"]
"""Why a row of labels in a second file is left out."""


class ContextCount(Record):
    """What all judges share.

    Parameters
    ----------
    contexts : int
        Of the rows that are used.
    """

    contexts: Count


class PreferenceCounts(Record):
    """The counts behind the figures of a judge.

    Parameters
    ----------
    prompts, pairs : int
    dropped : dict of str to int
        Rows left out, by reason.
    contexts_of_one_pair : int, optional
        Contexts with a single pair of this judge, where there are any: they count in the totals and are lent the part
        within of the others.
    pairs_in_both_orders : int, optional
        Pairs in two rows, each side first in one of them: their verdicts are averaged.
    """

    prompts: Count
    pairs: Count
    dropped: dict[DroppedVerdict, Count]
    contexts_of_one_pair: Count | None = None
    pairs_in_both_orders: Count | None = None


class PreferenceMetrics(Record):
    """The figures of a judge.

    Parameters
    ----------
    agreement, judge_tie_rate : EstimateRecord
        Share of the oracle's verdicts that the judge shares, a tie counting half; share of its own that are ties.
    phi, phi_within : EstimateRecord
        Correlation of the verdicts, over all pairs and within contexts.
    covariance, covariance_between, covariance_within, covariance_between_share : EstimateRecord
        Of judge and oracle: the whole, the part between contexts and that within them, and the share of the part
        between, which may be negative. The chance scatter of the means of contexts is no part between.
    oracle_variance, oracle_variance_between, oracle_variance_within, oracle_between_share : EstimateRecord
        The same of the oracle alone.
    order_agreement : EstimateRecord, optional
        How often all presentation orders agree, where there are several.
    """

    agreement: EstimateRecord
    judge_tie_rate: EstimateRecord
    phi: EstimateRecord
    phi_within: EstimateRecord
    covariance: EstimateRecord
    covariance_between: EstimateRecord
    covariance_within: EstimateRecord
    covariance_between_share: EstimateRecord
    oracle_variance: EstimateRecord
    oracle_variance_between: EstimateRecord
    oracle_variance_within: EstimateRecord
    oracle_between_share: EstimateRecord
    order_agreement: EstimateRecord | None = None


class JudgePreferences(Record):
    """What was found of one judge."""

    data: PreferenceCounts
    metrics: PreferenceMetrics


class JoinedLabels(Record):
    """Labels of a second file, joined by pair whichever side stands first.

    Parameters
    ----------
    source : str
    rows : int
        Of the file.
    votes, turned : int
        Votes on judged pairs, and those of them that have the sides in the other order than the verdict.
    pairs : int
        Judged pairs with a vote.
    several, unanimous : int
        Pairs with two votes or more, and those of them whose votes are all alike; of the others the majority counts.
    no_majority : int
        Pairs with as many votes for either side: their label is a tie.
    left_out : dict of str to int
        Rows that are not on a judged pair, by reason.
    """

    source: str
    rows: Count
    votes: Count
    turned: Count
    pairs: Count
    several: Count
    unanimous: Count
    no_majority: Count
    left_out: dict[LeftOutLabel, Count]


class PreferenceSettings(Record):
    """What was asked for.

    Parameters
    ----------
    confidence : float
    verdicts : list of str
        Columns of the judge's verdict, one per presentation order.
    oracle : str
        Column of the oracle's verdict.
    prompt, judge, context, pair : list of str
        Columns that together name each of these.
    source, version : str
    readings : dict of str to str, optional
        How the files were read, by column; ``columns`` says which play a role.
    verdict_map : dict of str to str, optional
        What verdicts say, where the user said it.
    """

    confidence: Confidence
    verdicts: Annotated[list[str], Field(min_length=1)]
    oracle: str
    prompt: list[str]
    judge: list[str]
    context: list[str]
    pair: list[str]
    source: str
    version: str
    readings: dict[str, str] | None = None
    verdict_map: dict[str, Literal["first", "second", "tie", "none"]] | None = None


class PreferencesDocument(Document):
    """Agreement of pairwise verdicts with an oracle's, split between and within contexts.

    Parameters
    ----------
    data : ContextCount
    settings : PreferenceSettings
    judges : dict of str to JudgePreferences
    labels : JoinedLabels, optional
        What became of the labels, where these are in a second file.
    """

    schema_: Literal["bonwise.preferences/1"] = Field(default="bonwise.preferences/1", alias="schema")
    data: ContextCount
    settings: PreferenceSettings
    judges: Annotated[dict[str, JudgePreferences], Field(min_length=1)]
    labels: JoinedLabels | None = None

    frame_columns = ("judge", "metric", "estimate", "low", "high", "se", "n", "interval", "method", "reason")

    @model_validator(mode="after")
    def _orders_agree_where_there_are_several(self) -> PreferencesDocument:
        several = len(self.settings.verdicts) > 1
        for name, judge in self.judges.items():
            if (judge.metrics.order_agreement is not None) != several:
                raise ValueError(f"should have order_agreement of {name!r} where there are several orders alone")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge and metric."""
        for name, judge in self.judges.items():
            for metric, found in judge.metrics.to_dict().items():
                yield {"judge": name, "metric": metric, **found}


MODEL = PreferencesDocument
