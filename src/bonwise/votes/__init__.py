"""Raw votes and preferences."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.votes.preferences_result import PreferenceAudit as PreferenceAudit
    from bonwise.votes.result import PreferenceStudy as PreferenceStudy
else:
    __getattr__, __dir__ = lazy(
        __name__, RESULTS := {"preferences_result": ("PreferenceAudit",), "result": ("PreferenceStudy",)}
    )

DOCUMENTS = {
    "preferences": ("preferences_result:PreferenceAudit", "preferences_view:describe", "preferences_view:answer"),
    "votes": ("result:PreferenceStudy", "view:describe", "view:answer"),
}

PUBLIC = {"front": ("audit_preferences", "study_preferences")}
