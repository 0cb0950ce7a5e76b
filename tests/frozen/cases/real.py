"""The real data of the shared folder: figures alone, no words of it."""

from __future__ import annotations

from frozen.case import Case

__all__ = ["CASES"]

CASES = (
    Case(
        "real_arena",
        """
        audit arena.csv --exclude unhelpful --fail-under recovery=0 --json audit.json --per-prompt rows.csv
        audit arena.csv --control unhelpful --json control.json
        route arena.csv --json route.json
        """,
        shared={"arena.csv": "data/arena100/scores.csv"},
    ),
    Case(
        "real_votes",
        """
        preferences human.csv --verdict-col winner --pair-col model_a,model_b --prompt-col question_id --ties drop \\
            --json votes.json
        """,
        shared={"human.csv": "data/mt_bench_human.csv"},
    ),
    Case(
        "real_verdicts",
        """
        preferences llmbar.csv.gz --verdict-col winner_order1 --verdict-col winner_order2 --label-col gold \\
            --prompt-col dataset,item --judge-col llm,strategy --context-col dataset --json verdicts.json
        """,
        shared={"llmbar.csv.gz": "data/llmbar_verdicts.csv.gz"},
    ),
)
