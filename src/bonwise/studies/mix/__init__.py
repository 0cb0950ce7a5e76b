"""What the controls of a pool hide."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.studies.mix.result import MixStudy as MixStudy
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("MixStudy",)})

PUBLIC = {"front": ("study_mix",)}
