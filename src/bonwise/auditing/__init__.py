"""What a judge is worth for choosing: metrics, verdict, gates, the page."""

DOCUMENTS = {
    "audit": ("result:Audit", "view:describe", "view:describe_in_short"),
    "exhibits": ("result_exhibits:Exhibits", ""),
    "note": ("result_exhibits:Note", "view_exhibits:describe"),
}

PUBLIC = {"front": ("audit",), "result": ("Audit",)}
