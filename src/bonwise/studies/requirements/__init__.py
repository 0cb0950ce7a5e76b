"""How good a judge has to be."""

from typing import TYPE_CHECKING

from bonwise.declared import lazily

if TYPE_CHECKING:
    from bonwise.studies.requirements.result import RequirementsStudy as RequirementsStudy
else:
    __getattr__, __dir__ = lazily(__name__, RESULTS := {"result": ("RequirementsStudy",)})

PUBLIC = {"front": ("study_requirements",)}
