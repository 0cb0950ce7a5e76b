"""Plans, draws of labels, and looks at the labels so far."""

from __future__ import annotations

from collections.abc import Mapping

from frozen.case import Case

__all__ = ["CASES"]

_QUESTIONS = {
    "better": "'recovery>0' --candidates 4 --within-r 0.3 --labels 150",
    "complete": "'recovery>0' --candidates 4 --within-r 0.3 --design complete --prompts 500",
    "width": "recovery --candidates 4 --within-r 0.3 --half-width 0.1 --label-cost 0.5 --judge-cost 0.001",
    "threshold": "'within_r>=0.4' --candidates 4 --within-r 0.5",
    "infeasible": "'recovery>0' --candidates 4 --within-r 0.3 --prompts 10",
    "rivals": "a-vs-b --candidates 8 --within-r 0.5 --rival-r 0.4 --error-correlation 0.5",
    "preferred": "a-vs-b --candidates 8 --within-r 0.6 --rival-r 0.4 --design discordant_preference",
    "margin": "margin --effect 0.06 --labels 500 --raters 3 --icc 0.2 --tie-rate 0.1",
    "paper": "margin --effect 0.06 --method paper --label-cost 0.4",
    "cluster": "margin --effect 0.05 --one-cluster --icc 0.01",
    "votes": "margin --pilot 28/50 --tie-rate 0.1",
    "equivalence": "equivalence --effect 0.05 --power 0.8 --confidence 0.9",
}
_PILOTS = {
    "pilot": "'recovery>0' --pilot scores.csv",
    "pilot_of_two": "a-vs-b --pilot judges.csv --judge strong --judge weak",
    "pilot_of_votes": "margin --pilot one_pair.csv --ties half --verdict-col winner",
}


def _plans(asked: Mapping[str, str]) -> str:
    return "".join(f"plan --question {words} --json {name}.json\n" for name, words in asked.items())


CASES = (
    Case("plan", _plans(_QUESTIONS) + "plan --question margin --effect 0.1 --json - > printed.json", audit=False),
    Case("plan_pilots", _plans(_PILOTS), inputs=("scores.csv", "judges.csv", "one_pair.csv")),
    Case("plan_page", f"plan --question {_QUESTIONS['better']} --html page.html"),
    Case(
        "labels",
        """
        labels draw unlabelled.csv --labels 20 --out rule.csv --sheet sheet.csv --json rule.json
        labels draw unlabelled.csv --labels 20 --design uniform --seed 3 --out uniform.csv --json uniform.json
        labels draw unlabelled.csv --labels 40 --design pick --out pick.csv --json pick.json
        labels draw unlabelled.csv --labels 60 --design neyman --out first.csv --json first.json
        labels draw unlabelled.csv --labels 60 --after first.csv --label-file labels.csv --out second.csv \\
            --json second.json
        labels draw unlabelled.csv --labels 20 --seed 5 --out rule.csv
        """,
        inputs=("unlabelled.csv", "labels.csv"),
    ),
    Case(
        "label_sheets",
        """
        judge pools.jsonl --judge local:length --out scores.csv
        labels draw scores.csv --labels 4 --pools pools.jsonl --out design.csv --sheet sheet.csv --json draw.json
        labels draw --pools pools.jsonl --labels 3 --seed 2 --sheet some.csv --json some.json
        labels draw --pools pools.jsonl --sheet tasks.json --json all.json
        """,
        inputs=("pools.jsonl",),
        unkept=("scores.csv",),
    ),
    Case(
        "fixed", "doctor scores.csv --fix whole.csv --json whole.json", inputs=("scores.csv",), unkept=("whole.csv",)
    ),
    Case(
        "labels_compare",
        "labels compare scores.csv --share 0.25 --share 0.5 --draws 10 --json designs.json",
        inputs=("scores.csv",),
    ),
    Case(
        "monitor",
        """
        monitor scores.csv --half-width 0.3 --planned 70 --json width.json
        monitor scores.csv --half-width 0.01 --json on.json
        monitor labels.csv --scores unlabelled.csv --half-width 0.4 --json split.json
        monitor many.csv --significance --json significant.json
        monitor many.csv --question significance --than 0.7 --json worse.json
        monitor partial.csv --half-width 0.5 --json part.json
        monitor partial.csv --half-width 0.5 --design uniform --json drawn.json
        monitor one_pair.csv --question preference --verdict-col winner --ties drop --pair-col model_a,model_b \\
            --margin 0.2 --json votes.json
        """,
        inputs=("scores.csv", "labels.csv", "unlabelled.csv", "partial.csv", "many.csv", "one_pair.csv"),
    ),
    Case(
        "watch",
        """
        select arena.jsonl --judge local:length > picks.jsonl
        watch picks.jsonl --by 4 --first 6 --json watch.json --html watch.html
        watch picks.jsonl --json early.json
        """,
        inputs=("arena.jsonl",),
        unkept=("picks.jsonl",),
    ),
)
