"""Raw votes and preferences."""

DOCUMENTS = {
    "preferences": ("preferences_result:PreferencesDocument", "preferences_view:describe"),
    "votes": ("result:VotesDocument", "view:describe"),
}
