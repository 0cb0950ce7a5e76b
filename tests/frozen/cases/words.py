"""Lists, errors, the demo, and the help of every command."""

from __future__ import annotations

from frozen.case import Case

__all__ = ["CASES", "COMMANDS"]

COMMANDS = (
    *("", "demo", "doctor", "judge", "select", "audit", "compare", "route", "plan", "monitor", "watch"),
    *("serve", "mcp", "preferences", "judges", "strategies", "schema"),
    *("labels", "labels draw", "labels compare", "study"),
    *(
        "study candidates",
        "study discretisation",
        "study readiness",
        "study requirements",
        "study strategies",
        "study transfer",
        "study label-strategy",
        "study calibration",
        "study mix",
        "study draws",
        "study confidence",
    ),
    *("stack", "stack fit", "stack audit"),
    *("factor", "factor fit", "factor study", "factor leaderboard", "factor compare", "factor predict"),
    *("factor explain", "factor strengths"),
    *("prompts", "prompts list", "prompts show", "prompts check"),
    *(
        "ledger",
        "ledger stats",
        "ledger show",
        "ledger export",
        "ledger check",
        "ledger repair",
        "ledger prune",
        "ledger forget",
    ),
)
"""Every command and group of commands; the first is ``bonwise`` itself."""

CASES = (
    Case(
        "help",
        "".join(f"{one} --help > {one.replace(' ', '_') or 'bonwise'}.help\n" for one in COMMANDS),
        audit=False,
    ),
    Case(
        "lists",
        """
        --version
        judges
        judges --candidates 7
        strategies
        prompts list
        prompts show pairwise
        prompts show pointwise --pools few.jsonl --prompt-id q00
        prompts check few.jsonl
        """,
        inputs=("few.jsonl",),
        audit=False,
    ),
    Case(
        "errors",
        """
        audit absent.csv --json absent.json
        audit scores.csv --score-col nothing --json column.json
        audit scores.csv --rectangular --ragged --json - > flags.json
        audit scores.csv --unknown --json usage.json
        audit unlabelled.csv --json unlabelled.json
        audit scores.csv --fail-under nothing=1 --json metric.json
        plan --question which --json question.json
        judge few.jsonl --judge nothing:openai/m
        select few.jsonl --judge local:length --strategy nothing
        ledger stats nowhere --json ledger.json
        route scores.csv --share 2 --json share.json
        nothing
        """,
        inputs=("scores.csv", "unlabelled.csv", "few.jsonl"),
    ),
    Case("demo", "demo\ndemo --full", unkept=("bonwise-demo/audit.html", "bonwise-demo/pools.jsonl")),
)
