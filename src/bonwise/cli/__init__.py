"""The command line: each command parses, calls the public API, and prints."""

DOCUMENTS = {
    "convert": ("convert_account:ConvertDocument", "convert_account:describe"),
    "error": ("error:ErrorDocument", "error:describe"),
    "ledger": ("ledger_account:LedgerDocument", "ledger_account:describe"),
}
