"""Runs: judge many pools, or select from them, with limits, progress and a ledger that resumes them."""
