"""Run a command in this process and hold what it says to strict JSON."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path

from bonwise.cli.app import app_for
from bonwise.cli.entry import run

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]")
"""What must never reach a terminal from a file; a line end is the terminal's own."""


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


def typed(capsys, *arguments):
    """Run a command as if it had been typed, and return its exit code and both streams."""
    capsys.readouterr()
    code = run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Done(code, captured.out, captured.err)


def strict(text):
    """Parse exactly one JSON document, without NaN or infinity."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def written(path, rows):
    """Write rows of a mapping each as CSV and return the path."""
    with Path(path).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def rows_of(path):
    """Read a CSV as a list of mappings."""
    with Path(path).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def scored(scores, labels, judge="j", **columns):
    """Make rows of pools given as lists of scores and labels."""
    return [
        {
            "prompt_id": f"p{x:03d}",
            "candidate": f"c{i}",
            "judge": judge,
            "judge_score": score,
            "oracle_label": label,
            **columns,
        }
        for x, (mine, known) in enumerate(zip(scores, labels, strict=True))
        for i, (score, label) in enumerate(zip(mine, known, strict=True))
    ]


def pool_file(path, pools):
    """Write pools, prompt id to candidates, as JSONL and return the path."""
    lines = [
        json.dumps({"prompt_id": prompt_id, "prompt": f"The prompt {prompt_id}", "candidates": candidates})
        for prompt_id, candidates in pools.items()
    ]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def every_command():
    """Return every command of the command line by its words."""
    names = [one.name for one in app_for([]).registered_commands]
    found = {name: app_for([name]).registered_commands[0].callback for name in names}
    for group in ("labels", "prompts", "ledger", "stack", "factor"):
        inner = app_for([group]).registered_groups[0].typer_instance
        found |= {f"{group} {one.name}": one.callback for one in inner.registered_commands}
    for study in (
        "calibration",
        "candidates",
        "confidence",
        "discretisation",
        "draws",
        "label-strategy",
        "mix",
        "readiness",
        "requirements",
        "strategies",
        "transfer",
    ):
        inner = app_for(["study", study]).registered_groups[0].typer_instance
        found[f"study {study}"] = inner.registered_commands[0].callback
    return found
