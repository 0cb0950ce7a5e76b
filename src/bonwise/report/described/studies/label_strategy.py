"""The study of ways of asking a judge, of whichever kind."""

from __future__ import annotations

from bonwise.documents.label_strategy.draw import PairDrawDocument
from bonwise.documents.label_strategy.of_any_kind import LabelStrategyDocument
from bonwise.documents.label_strategy.strategies import StrategiesDocument
from bonwise.documents.label_strategy.verdicts import VerdictsDocument
from bonwise.report.described.label_strategy.draw import pair_draw
from bonwise.report.described.label_strategy.strategies import strategies
from bonwise.report.described.label_strategy.verdicts import verdicts
from bonwise.report.described.studied.described_study import DescribedStudy

__all__ = ["described"]


def described(document: LabelStrategyDocument) -> DescribedStudy:
    """Describe ways of asking a judge, verdicts alone, or pairs that were drawn."""
    if isinstance(document, StrategiesDocument):
        return strategies(document)
    if isinstance(document, VerdictsDocument):
        return verdicts(document)
    if isinstance(document, PairDrawDocument):
        return pair_draw(document)
    raise TypeError(f"{type(document).__name__} is no kind of this study")
