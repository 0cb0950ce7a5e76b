"""How good a judge has to be."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.studies.requirements.result import RequirementsStudy as RequirementsStudy
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("RequirementsStudy",)})

PUBLIC = {"front": ("study_requirements",)}
