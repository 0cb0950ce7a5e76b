"""Raw votes and preferences."""

DOCUMENTS = {
    "preferences": ("preferences_result:PreferenceAudit", "preferences_view:describe"),
    "votes": ("result:PreferenceStudy", "view:describe"),
}

PUBLIC = {
    "front": ("study_preferences",),
    "preferences": ("audit_preferences",),
    "preferences_result": ("PreferenceAudit",),
    "result": ("PreferenceStudy",),
}
