"""What the page of a factor model draws: cohesion of categories, what each judge adds, prompts on a map."""

from __future__ import annotations

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.factor_leaderboard import CohesionRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, Number, Share

__all__ = ["CategoryCohesion", "JudgeInformation", "MapAxis", "PromptMap", "PromptPlace"]


class CategoryCohesion(Record):
    """How far one skill drives the prompts of a category."""

    category: str
    prompts: Count
    cohesion: CohesionRecord
    random: Share
    """Mean cohesion of the random sets of as many prompts."""


class JudgeInformation(Record):
    """What a judge adds to what is known of a prompt."""

    rater: str
    growth: EstimateRecord
    """By which share the variance of the human's gaps between models on a prompt would grow without the judge's
    ratings: 0.1 is 10 % more. As the fitted model sees it; clustered by prompt.
    """


class MapAxis(Record):
    """An axis of the map of prompts."""

    share: Share
    """Of the variance of the models' capabilities between prompts."""
    high: str
    """Models that gain most, and lose most, towards the high end."""
    low: str
    """Models that gain most, and lose most, towards the high end."""


class PromptPlace(Record):
    """A prompt on the map."""

    prompt_id: str
    category: str
    """Blank for none."""
    x: Number
    y: Number


class PromptMap(Record):
    """Prompts by what they ask of the models: near each other where the same models are better."""

    x: MapAxis
    """First and second principal axis of the human's capabilities of the models, less their mean on the prompt."""
    y: MapAxis
    """First and second principal axis of the human's capabilities of the models, less their mean on the prompt."""
    prompts: list[PromptPlace]
