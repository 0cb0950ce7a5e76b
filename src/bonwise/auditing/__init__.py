"""What a judge is worth for choosing: metrics, verdict, gates, the page."""

DOCUMENTS = {
    "audit": ("result:AuditDocument", "view:describe"),
    "exhibits": ("result_exhibits:ExhibitsDocument", ""),
    "note": ("result_exhibits:NoteDocument", "view_exhibits:describe"),
}
