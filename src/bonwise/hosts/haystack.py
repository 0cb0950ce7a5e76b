"""Haystack: the ranker by a judge, under the name by which the other hosts are found."""

from __future__ import annotations

from haystack_integrations.components.rankers.bonwise import JudgeRanker

__all__ = ["JudgeRanker"]
