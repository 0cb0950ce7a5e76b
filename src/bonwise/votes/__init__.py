"""Raw votes and preferences."""

DOCUMENTS = {
    "preferences": ("preferences_result:PreferencesDocument", "preferences_view:describe"),
    "votes": ("result:VotesDocument", "view:describe"),
}

PUBLIC = {
    "front": ("PreferenceStudy", "study_preferences"),
    "preferences": ("PreferenceAudit", "audit_preferences"),
}
