"""What all kinds of the study ``label-strategy`` share."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.study import StudyDocument

__all__ = ["LabelStrategyDocument"]


class LabelStrategyDocument(StudyDocument):
    """Ways of asking a judge; a subclass narrows `kind` to its own."""

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
