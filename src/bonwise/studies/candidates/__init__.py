"""How many candidates to ask for, and what an audit says of other candidates."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.studies.candidates.result import CandidateCountStudy as CandidateCountStudy
    from bonwise.studies.candidates.result import TransferStudy as TransferStudy
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("CandidateCountStudy", "TransferStudy")})

PUBLIC = {"front": ("study_candidates", "study_transfer")}

COMMANDS = {"study transfer": (0, "front:TRANSFER")}
