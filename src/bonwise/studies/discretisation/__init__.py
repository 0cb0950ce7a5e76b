"""What coarse scores cost."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.studies.discretisation.result import DiscretisationStudy as DiscretisationStudy
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("DiscretisationStudy",)})

PUBLIC = {"front": ("study_discretisation",)}
