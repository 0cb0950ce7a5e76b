"""The command line: each command parses, calls the public API, and prints."""

DOCUMENTS = {
    "error": ("accounts:ErrorDocument", "accounts:describe_error"),
    "ledger": ("accounts:LedgerDocument", "accounts:describe_ledger"),
}

COMMANDS = {
    "demo": (10, "first_steps:demo"),
    "doctor": (20, "first_steps:doctor"),
    "audit": (30, "audit:audit"),
    "select": (40, "select:select"),
    "route": (50, "judge_studies:route"),
    "judge": (110, "judge:judge"),
    "labels": (210, "labels:app"),
    "monitor": (230, "monitor:monitor"),
    "study": (310, "studies:app_for"),
    "study draws": (0, "judge_studies:draws"),
    "preferences": (320, "preferences:preferences"),
    "factor": (410, "fits:factor"),
    "stack": (420, "fits:stack"),
    "serve": (520, "servers:serve"),
    "mcp": (530, "servers:mcp"),
    "judges": (710, "lookups:judges"),
    "strategies": (720, "lookups:strategies"),
    "prompts": (730, "lookups:app"),
    "schema": (740, "lookups:schema"),
    "ledger": (750, "ledger:app"),
}
