"""The kinds of the study ``label-strategy``: strategies, verdicts alone, a draw of pairs."""
