"""Ways of asking a judge: the study ``label-strategy``, of three kinds that the key ``kind`` tells apart."""

from __future__ import annotations

from bonwise.documents.label_strategy.draw import PairDrawDocument
from bonwise.documents.label_strategy.of_any_kind import LabelStrategyDocument
from bonwise.documents.label_strategy.strategies import StrategiesDocument
from bonwise.documents.label_strategy.verdicts import VerdictsDocument

__all__ = ["MODEL", "MODELS"]

MODEL = LabelStrategyDocument

MODELS = (StrategiesDocument, VerdictsDocument, PairDrawDocument)
