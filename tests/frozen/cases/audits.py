"""Audits of judges and of picks, their gates and summaries."""

from __future__ import annotations

from frozen.case import Case

__all__ = ["CASES"]

_GATES = "--fail-under recovery=0 --fail-under within_r=0.6 --fail-under gain=0.03"

CASES = (
    Case(
        "audit",
        f"""
        audit scores.csv {_GATES} --json audit.json --html page.html --per-prompt rows.csv --markdown summary.md \\
            --junit gates.xml
        audit scores.csv --fail-under recovery=0 --markdown - > printed.md
        audit scores.csv --fail-under recovery=0.3 --junit - > printed.xml
        audit scores.csv --json - > printed.json
        audit scores.csv --target system --confidence 0.9 --threshold within_r_useful=0.3 --json system.json
        """,
        inputs=("scores.csv",),
    ),
    Case(
        "audit_several_judges",
        """
        audit judges.csv --json audit.json --html page.html --markdown summary.md --per-prompt rows.jsonl
        audit judges.csv --oracle judge:strong --json reference.json
        audit judges.csv --interval bootstrap --resamples 50 --seed 4 --json bootstrap.json
        """,
        inputs=("judges.csv",),
    ),
    Case(
        "audit_in_full",
        """
        audit scores.csv --full
        audit judges.csv --full
        audit control.csv --control unhelpful --full
        audit partial.csv --design uniform --full
        """,
        inputs=("scores.csv", "judges.csv", "control.csv", "partial.csv"),
    ),
    Case(
        "audit_partly_labelled",
        """
        audit partial.csv --fail-under recovery=-1 --json labelled_only.json
        audit partial.csv --design uniform --fail-under recovery=-1 --json uniform.json --html page.html
        """,
        inputs=("partial.csv",),
    ),
    Case(
        "audit_drawn_labels",
        """
        labels draw unlabelled.csv --labels 30 --design stratified --seed 2 --out drawn.csv --sheet sheet.csv
        audit unlabelled.csv --labels labels.csv --design drawn.csv --json audit.json
        labels draw unlabelled.csv --labels 60 --design pair --out pairs.csv
        audit unlabelled.csv --labels labels.csv --design pairs.csv --fail-under gain=0 --json pairs.json
        """,
        inputs=("unlabelled.csv", "labels.csv"),
    ),
    Case(
        "audit_easy_candidate",
        """
        audit control.csv --control unhelpful --json audit.json --html page.html
        audit control.csv --exclude unhelpful --json without.json
        """,
        inputs=("control.csv",),
    ),
    Case(
        "audit_page_of_everything",
        "audit scores.csv --calibration --verdicts pairs.csv --pools arena.jsonl --html page.html",
        inputs=("scores.csv", "pairs.csv", "arena.jsonl"),
    ),
    Case(
        "audit_as_found",
        """
        audit dirty.csv --json audit.json
        audit dirty.csv --ragged --json ragged.json
        audit dirty.csv --rectangular --score-col words --judge-scale 0:200 --json words.json
        """,
        inputs=("dirty.csv",),
    ),
    Case(
        "audit_picks",
        """
        select pools.jsonl --judge local:length --seed 1 > length.jsonl
        select pools.jsonl --judge local:format --seed 1 > format.jsonl
        audit length.jsonl --labels picks_labels.csv --ragged --json audit.json --html page.html
        audit length.jsonl --labels picks_labels.csv --ragged --as-picked --json as_picked.json
        compare length.jsonl format.jsonl --labels picks_labels.csv --json compare.json --html compare.html
        """,
        inputs=("pools.jsonl", "picks_labels.csv"),
        unkept=("length.jsonl", "format.jsonl"),
    ),
    Case(
        "doctor",
        """
        doctor scores.csv --json scores.json
        doctor judges.csv --json judges.json
        doctor short.csv --json short.json
        doctor unlabelled.csv --json - > unlabelled.json
        """,
        inputs=("scores.csv", "judges.csv", "short.csv", "unlabelled.csv"),
    ),
)
