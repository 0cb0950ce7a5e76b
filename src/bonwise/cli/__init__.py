"""The command line: each command parses, calls the public API, and prints."""

DOCUMENTS = {
    "error": ("accounts:ErrorDocument", "accounts:describe_error"),
    "ledger": ("accounts:LedgerDocument", "accounts:describe_ledger"),
}

COMMANDS = {
    "demo": (10, "first_steps:demo"),
    "doctor": (20, "first_steps:doctor"),
    "judge": (40, "judge:judge"),
    "select": (50, "select:select"),
    "audit": (60, "audit:audit"),
    "route": (80, "judge_studies:route"),
    "learn": (90, "judge_studies:learn"),
    "monitor": (120, "monitor:monitor"),
    "serve": (140, "servers:serve"),
    "mcp": (150, "servers:mcp"),
    "preferences": (160, "preferences:preferences"),
    "judges": (170, "lookups:judges"),
    "strategies": (180, "lookups:strategies"),
    "schema": (190, "lookups:schema"),
    "labels": (200, "labels:app"),
    "factor": (210, "fits:factor"),
    "study": (220, "studies:app_for"),
    "stack": (230, "fits:stack"),
    "prompts": (240, "lookups:app"),
    "ledger": (250, "ledger:app"),
}
