"""What the page of a factor model draws: cohesion of categories, what each judge adds, prompts on a map."""

from __future__ import annotations

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.factor_leaderboard import CohesionRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, Number, Share

__all__ = ["CategoryCohesion", "JudgeInformation", "MapAxis", "PromptMap", "PromptPlace"]


class CategoryCohesion(Record):
    """How far one skill drives the prompts of a category.

    Parameters
    ----------
    category : str
    prompts : int
    cohesion : CohesionRecord
    random : float
        Mean cohesion of the random sets of as many prompts.
    """

    category: str
    prompts: Count
    cohesion: CohesionRecord
    random: Share


class JudgeInformation(Record):
    """What a judge adds to what is known of a prompt.

    Parameters
    ----------
    rater : str
    growth : EstimateRecord
        By which share the variance of the human's gaps between models on a prompt would grow without the judge's
        ratings: 0.1 is 10 % more. As the fitted model sees it; clustered by prompt.
    """

    rater: str
    growth: EstimateRecord


class MapAxis(Record):
    """An axis of the map of prompts.

    Parameters
    ----------
    share : float
        Of the variance of the models' capabilities between prompts.
    high, low : str
        Models that gain most, and lose most, towards the high end.
    """

    share: Share
    high: str
    low: str


class PromptPlace(Record):
    """A prompt on the map.

    Parameters
    ----------
    prompt_id : str
    category : str
        Blank for none.
    x, y : float
    """

    prompt_id: str
    category: str
    x: Number
    y: Number


class PromptMap(Record):
    """Prompts by what they ask of the models: near each other where the same models are better.

    Parameters
    ----------
    x, y : MapAxis
        First and second principal axis of the human's capabilities of the models, less their mean on the prompt.
    prompts : list of PromptPlace
    """

    x: MapAxis
    y: MapAxis
    prompts: list[PromptPlace]
