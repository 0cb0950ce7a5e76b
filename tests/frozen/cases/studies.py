"""Studies, routing, what is learnt of draws, stated confidence, and preferences."""

from __future__ import annotations

from frozen.case import Case

__all__ = ["CASES"]

_VERDICTS = "--verdict-col order1 --verdict-col order2 --label-col gold --prompt-col item --judge-col llm"

CASES = (
    Case(
        "study_requirements",
        """
        study requirements scores.csv --json study.json --html page.html
        study requirements judges.csv --target 0.4 --within-r 0.3 --json several.json
        """,
        inputs=("scores.csv", "judges.csv"),
    ),
    Case(
        "study_mix",
        "study mix control.csv --control unhelpful --json study.json --html page.html",
        inputs=("control.csv",),
    ),
    Case(
        "study_discretisation",
        "study discretisation scores.csv --draws 5 --json study.json --html page.html",
        inputs=("scores.csv",),
    ),
    Case(
        "study_readiness", "study readiness scores.csv --json readiness.json --html page.html", inputs=("scores.csv",)
    ),
    Case(
        "study_candidates",
        """
        study candidates control.csv --value 1 --candidate-cost 0.001 --json count.json --html page.html
        study transfer scores.csv --to many.csv --json transfer.json --html transfer.html
        """,
        inputs=("control.csv", "scores.csv", "many.csv"),
    ),
    Case(
        "study_strategies",
        "study strategies pilot.csv --seeds 2 --json study.json --html page.html",
        inputs=("pilot.csv",),
    ),
    Case(
        "audit_regimes",
        "audit scores.csv many.csv --compare-regimes --json regimes.json --html page.html",
        inputs=("scores.csv", "many.csv"),
    ),
    Case(
        "study_calibration",
        """
        study calibration judges.csv --folds 3 --json study.json --html page.html
        study calibration scores.csv --covariate length --pools arena.jsonl --json covariate.json
        """,
        inputs=("judges.csv", "scores.csv", "arena.jsonl"),
    ),
    Case(
        "study_label_strategy",
        f"""
        study label-strategy scores.csv --verdicts pairs.csv --json study.json --html page.html
        study label-strategy verdicts.csv {_VERDICTS} --json verdicts.json --html verdicts.html
        study label-strategy scores.csv --pairs 20 --pools arena.jsonl --out todo.jsonl --json drawn.json
        """,
        inputs=("scores.csv", "pairs.csv", "arena.jsonl", "verdicts.csv"),
    ),
    Case(
        "route",
        """
        route judges.csv --judge weak --save router.json --json route.json --html page.html
        route judges.csv --judge weak --first-pass-only --share 0.4 --save first_pass.json
        route judges.csv --judge weak --mean-calls 6 --strong-cost 4 --save split.json --json split_route.json
        """,
        inputs=("judges.csv",),
    ),
    Case(
        "factor",
        """
        factor fit ratings.csv --human human --rank 1 --prior 1 --holdout 0.4 --save fit.json --json factor.json \\
            --html page.html
        factor leaderboard fit.json --json leaderboard.json
        factor leaderboard fit.json --category law --html category.html
        factor compare fit.json m0 m1 --json comparison.json
        factor predict fit.json --json prediction.json
        factor explain fit.json m0 m1 --json explanation.json
        factor strengths fit.json m2 --json strengths.json --html strengths.html
        factor fit ratings.csv --human human --rank 1 --prior 1 --leave-one-out --save left.json
        factor predict left.json --leave-one-out --json left_out.json --html left_out.html
        factor compare left.json m0 m1 --equivalence 1 --prompts prompts.csv --save router.json \\
            --json replacement.json
        """,
        inputs=("ratings.csv", "prompts.csv"),
    ),
    Case(
        "factor_study",
        """
        factor study ratings.csv --human human --rank 1 --prior 1 --splits 2 --budget 0.3 --budget 0.6 \\
            --rater-share 0.5 --rater-share 1 --json study.json --html page.html
        """,
        inputs=("ratings.csv",),
    ),
    Case(
        "learn",
        """
        study draws pilot.csv --save model.json --json learnt.json
        study draws pilot.csv --mean-calls 7 --max-draws 5 --json - > printed.json
        """,
        inputs=("pilot.csv",),
    ),
    Case(
        "stack",
        """
        stack fit judges.csv --save stack.json --scores scores.csv --html page.html
        stack fit judges.csv --exclude clone --confidence 0.9 --seed 3 --json - > printed.json
        judge judges.csv --judge stack:stack.json --out applied.csv
        stack audit judges.csv --stack stack.json --json audited.json
        audit scores.csv --json audit.json
        """,
        inputs=("judges.csv",),
    ),
    Case(
        "confidence",
        """
        study confidence pairs.csv --labels labels.csv --json pairs.json
        study confidence pairs.csv --labels labels.csv --ties half --confidence 0.9 --json half.json
        study confidence statements.csv --json statements.json
        study confidence intervals.csv --json intervals.json
        """,
        inputs=("pairs.csv", "labels.csv", "statements.csv", "intervals.csv"),
    ),
    Case(
        "preferences",
        f"""
        preferences verdicts.csv {_VERDICTS} --context-col dataset --json verdicts.json
        preferences votes.csv --verdict-col winner --pair-col model_a,model_b --prompt-col question_id --ties drop \\
            --json drop.json
        preferences votes.csv --verdict-col winner --pair-col model_a,model_b --ties half --near-tie 0.05 \\
            --json half.json
        """,
        inputs=("verdicts.csv", "votes.csv"),
    ),
)
