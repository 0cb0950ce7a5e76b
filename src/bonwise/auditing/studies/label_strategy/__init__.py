"""Ways of asking one judge, compared on the same prompts and pairs."""

from __future__ import annotations

from bonwise.auditing.studies.label_strategy.study import study_label_strategy
from bonwise.auditing.studies.registration import Study
from bonwise.documents.label_strategy.of_any_kind import LabelStrategyDocument

__all__ = ["STUDY"]

STUDY = Study(study_label_strategy, LabelStrategyDocument)
