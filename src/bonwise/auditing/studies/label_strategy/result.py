"""What a study of ways of asking found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bonwise.documented import DocumentedResult
from bonwise.documents.label_strategy.strategies import StrategiesDocument, StrategiesJudge, StrategiesSettings
from bonwise.documents.label_strategy.verdicts import VerdictsDocument, VerdictsJudge, VerdictsSettings
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LabelStrategyStudy"]


@dataclass(frozen=True, eq=False)
class LabelStrategyStudy(DocumentedResult):
    """Ways of asking a judge, compared with each other."""

    found: StrategiesDocument | VerdictsDocument = field(repr=False)
    """Whether scores and verdicts were compared, or verdicts alone were studied."""

    @property
    def kind(self) -> Literal["strategies", "verdicts"]:
        """Whether scores and verdicts were compared, or verdicts alone were studied."""
        return self.found.kind

    @property
    def judges(self) -> Mapping[str, StrategiesJudge] | Mapping[str, VerdictsJudge]:
        """What was found of each judge: ``data``, ``sentences`` and the figures.

        Of ``strategies``: ``strategies`` (groups of prompts, and in each the ways with their metrics),
        ``no_strategies`` (why a group is missing) and ``matched_pairs``; of ``verdicts``: ``ways``,
        ``minus_both_orders`` and ``order``.
        """
        return self.found.judges

    @property
    def settings(self) -> StrategiesSettings | VerdictsSettings:
        """What was asked for."""
        return self.found.settings

    @property
    def not_studied(self) -> Mapping[str, str]:
        """Judges left out, and why."""
        return self.found.not_studied

    @property
    def sentences(self) -> Sequence[str]:
        """Of ``verdicts``: what holds of the judges together, beside each other."""
        return self.found.sentences if isinstance(self.found, VerdictsDocument) else ()

    def __repr__(self) -> str:
        return f"<LabelStrategyStudy of {counted(len(self.judges), 'judge')} on {self.settings.source}: {self.kind}>"

    def document(self) -> StrategiesDocument | VerdictsDocument:
        """Return the document of schema ``bonwise.study/1``, study ``label-strategy``."""
        return self.found

    def to_frame(self) -> pd.DataFrame:
        """Return one row per judge, part, way and metric, with the estimate and, where there is one, the difference.

        Columns: ``judge``, ``part`` (``every_pair``, ``some_pairs``, ``matched_pairs``, ``by_gap`` or ``verdicts``),
        ``way``, ``metric``, ``estimate``, ``low``, ``high``, ``n`` and ``difference``, ``difference_low``,
        ``difference_high``: to ``pointwise``, or of verdicts alone to both orders.
        """
        return super().to_frame()
