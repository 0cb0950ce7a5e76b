"""Raw votes and preferences."""

DOCUMENTS = {
    "preferences": ("preferences_result:PreferenceAudit", "preferences_view:describe"),
    "votes": ("result:PreferenceStudy", "view:describe"),
}

PUBLIC = {
    "front": ("audit_preferences", "study_preferences"),
    "preferences_result": ("PreferenceAudit",),
    "result": ("PreferenceStudy",),
}
