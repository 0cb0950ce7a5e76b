"""What the controls of a pool hide."""

from typing import TYPE_CHECKING

from bonwise.declared import lazily

if TYPE_CHECKING:
    from bonwise.studies.mix.result import MixStudy as MixStudy
else:
    __getattr__, __dir__ = lazily(__name__, RESULTS := {"result": ("MixStudy",)})

PUBLIC = {"front": ("study_mix",)}
