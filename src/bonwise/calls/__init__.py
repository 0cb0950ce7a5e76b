"""One call of a model done well: ledger, limits, retries, prices, providers."""
