"""Every command by its tier, with files for it to work on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bonwise.factors.human_view import DrawnArray, HumanView
from bonwise.judges.prompt_loading import prompts_folder
from cli.commands import pool_file, scored, written

PROMPTS = 4
"""In the files that are written."""

DOCUMENT = "document"
"""Stands for a file of each command's own: see `document_of`."""

ERROR = ("--json", DOCUMENT)
ASKED = ("--judge", "pointwise:openai/m", "--run", "run")

AUDIT_TIER = {
    "audit": ("audit", "scores.csv", "--labels", "labels.csv", *ERROR),
    "audit of JSON Lines": ("audit", "scores.jsonl"),
    "audit of picks": ("audit", "picks.jsonl", *ERROR),
    "audit with a page": ("audit", "scores.csv", "--labels", "labels.csv", "--html", "page.html"),
    "compare": ("compare", "picks.jsonl", "others.jsonl", "--labels", "labels.csv", *ERROR),
    "study confidence": ("study", "confidence", "pairs.csv", *ERROR),
    "demo": ("demo", "--out", "demo"),
    "doctor": ("doctor", "scores.csv", *ERROR),
    "factor fit": (
        *("factor", "fit", "ratings.csv", "--human", "ann", "--rank", "1", "--prior", "1", "--save", "fit.json"),
        *ERROR,
    ),
    "factor explain by a table": ("factor", "explain", "fitted.json", "m0", "m1", "--prompts", "tags.csv", *ERROR),
    "factor study": (
        *("factor", "study", "ratings.csv", "--human", "ann", "--rank", "1", "--prior", "1", "--splits", "1"),
        *("--budget", "0.5", *ERROR),
    ),
    "labels compare": ("labels", "compare", "scores.csv", "--label-file", "labels.csv", *ERROR),
    "labels draw": ("labels", "draw", "scores.csv", "--labels", "2", "--out", "design.csv", *ERROR),
    "study draws": ("study", "draws", "scores.csv", "--save", "draws.json", *ERROR),
    "mcp": ("mcp",),
    "monitor": ("monitor", "labels.csv", "--scores", "scores.csv", "--significance", *ERROR),
    "monitor of votes": ("monitor", "votes.csv", "--question", "preference", "--verdict-col", "winner"),
    "plan from a file": ("plan", "--question", "recovery>0", "--pilot", "scores.csv", *ERROR),
    "plan with a page": (
        *("plan", "--question", "recovery>0", "--candidates", "4", "--within-r", "0.3"),
        *("--html", "page.html", *ERROR),
    ),
    "preferences": (
        *("preferences", "votes.csv", "--verdict-col", "winner", "--pair-col", "model_a,model_b"),
        *ERROR,
    ),
    "preferences against labels": (
        *(
            "preferences",
            "votes.csv",
            "--verdict-col",
            "winner",
            "--label-col",
            "oracle",
            "--prompt-col",
            "prompt_id",
        ),
        *ERROR,
    ),
    "route": ("route", "scores.csv", "--labels", "labels.csv", "--save", "router.json", *ERROR),
    "select with a page": ("select", "pools.jsonl", *ASKED, "--html", "page.html"),
    "stack fit": ("stack", "fit", "scores.csv", "--labels", "labels.csv", "--save", "stack.json", *ERROR),
    "judge by a stack": ("judge", "scores.csv", "--judge", "stack:loaded.json", "--out", "applied.csv"),
    "stack audit": ("stack", "audit", "scores.csv", "--stack", "loaded.json", "--labels", "labels.csv", *ERROR),
    "study calibration": ("study", "calibration", "scores.csv", "--labels", "labels.csv", *ERROR),
    "study candidates": ("study", "candidates", "scores.csv", "--labels", "labels.csv", *ERROR),
    "study transfer": ("study", "transfer", "scores.csv", "--to", "scores.csv", "--labels", "labels.csv", *ERROR),
    "study label-strategy": (
        *("study", "label-strategy", "scores.csv", "--verdicts", "pairs.csv", "--labels", "labels.csv"),
        *ERROR,
    ),
    "study label-strategy draws": (
        *("study", "label-strategy", "scores.csv", "--pairs", "2", "--pools", "pools.jsonl", "--out", "drawn.jsonl"),
    ),
    "study discretisation": ("study", "discretisation", "scores.csv", "--labels", "labels.csv", *ERROR),
    "study readiness": ("study", "readiness", "scores.csv", "--labels", "labels.csv", *ERROR),
    "study mix": ("study", "mix", "scores.csv", "--labels", "labels.csv", "--control", "c0", *ERROR),
    "watch": ("watch", "picks.jsonl", *ERROR),
    "study requirements": ("study", "requirements", "scores.csv", "--labels", "labels.csv", *ERROR),
}

BASE_TIER = {
    "judge": ("judge", "pools.jsonl", *ASKED, "--out", "judged.csv", "--raw", "--tokens"),
    "judge pairs": (
        *("judge", "pools.jsonl", "--judge", "pairwise:openai/m", "--run", "run"),
        *("--out", "compared.csv", "--pairs", "compared-pairs.csv"),
    ),
    "judge draws": ("judge", "pools.jsonl", "--judge", "resampled,draws=3,of=pointwise:openai/m", "--run", "run"),
    "judge, estimated": ("judge", "pools.jsonl", *ASKED, "--dry-run"),
    "select": ("select", "pools.jsonl", *ASKED),
    "select by value of information": ("select", "pools.jsonl", *ASKED, "--strategy", "value_of_information"),
    "select routed": (
        *("select", "pools.jsonl", "--judge", "interval:openai/m", "--run", "run"),
        *("--strong", "pairwise:openai/n", "--route", "interval_width", "--share", "0.5"),
    ),
    "select, estimated": ("select", "pools.jsonl", *ASKED, "--dry-run"),
    "plan": ("plan", "--question", "recovery>0", "--candidates", "4", "--within-r", "0.3", "--json", "plan.json"),
    "plan from votes": ("plan", "--question", "margin", "--pilot", "28/50"),
    "factor leaderboard": ("factor", "leaderboard", "fitted.json"),
    "factor compare": ("factor", "compare", "fitted.json", "m0", "m1"),
    "factor predict": ("factor", "predict", "fitted.json"),
    "factor explain": ("factor", "explain", "fitted.json", "m0", "m1"),
    "factor strengths": ("factor", "strengths", "fitted.json", "m0"),
    "judges": ("judges",),
    "strategies": ("strategies",),
    "serve": ("serve", "--config", "serve.toml", "--check"),
    "schema": ("schema",),
    "schema of a document": ("schema", "confidence"),
    "prompts list": ("prompts", "list"),
    "prompts show": ("prompts", "show", "pointwise"),
    "prompts check": ("prompts", "check", "own.md"),
    "ledger stats": ("ledger", "stats", "run"),
    "ledger show": ("ledger", "show", "run"),
    "ledger export": ("ledger", "export", "run", "--out", "export.jsonl"),
    "ledger check": ("ledger", "check", "run"),
    "ledger repair": ("ledger", "repair", "run"),
    "ledger prune": ("ledger", "prune", "run"),
    "ledger forget": ("ledger", "forget", "run"),
}


def document_of(name):
    """Return where a command of the audit tier writes its document; None where it writes none."""
    return f"{name}.json" if DOCUMENT in AUDIT_TIER[name] else None


def words_of(name):
    """Return the words of a command of the audit tier."""
    return [document_of(name) if word == DOCUMENT else word for word in AUDIT_TIER[name]]


def fill(folder):
    """Write what the commands read."""
    folder = Path(folder)
    pool_file(folder / "pools.jsonl", {f"p{x:03d}": ["a", "quite long", "longer than that"] for x in range(PROMPTS)})
    rows = scored([[0.2, 0.9, 0.5]] * PROMPTS, [[0, 1, 0.5]] * PROMPTS)
    written(folder / "scores.csv", [{k: v for k, v in row.items() if k != "oracle_label"} for row in rows])
    written(folder / "labels.csv", [{k: row[k] for k in ("prompt_id", "candidate", "oracle_label")} for row in rows])
    lines(folder / "scores.jsonl", rows)
    settings = '[models.fast]\nupstream = "openai/m"\njudge = "pointwise:openai/m"\n'
    (folder / "serve.toml").write_text(settings, encoding="utf-8")
    votes = [
        {"prompt_id": f"p{x}", "model_a": "one", "model_b": "other", "winner": "a", "oracle": "b"} for x in range(12)
    ]
    written(folder / "votes.csv", votes)
    pair = {"a": "c0", "b": "c1", "shown_first": 0.2, "shown_second": 0.3, "value": 0.25, "order_effect": -0.1}
    written(
        folder / "pairs.csv",
        [{"prompt_id": f"p{x:03d}", "judge": "j", **pair, "unscored": ""} for x in range(PROMPTS)],
    )
    ratings = [
        {"prompt_id": f"p{x}", "model": f"m{m}", "rater": rater, "rating": (x * (m + 1) + len(rater)) % 3}
        for x in range(24)
        for m in range(2)
        for rater in ("ann", "judge")
    ]
    written(folder / "ratings.csv", ratings)
    written(folder / "tags.csv", [{"prompt_id": f"p{x}", "hard": x % 3 == 0} for x in range(24)])
    (folder / "fitted.json").write_text(fitted().to_json(), encoding="utf-8")
    picks = [{"prompt_id": f"p{x:03d}", "ids": ["c0", "c1", "c2"], "best": "c1"} for x in range(PROMPTS)]
    lines(folder / "picks.jsonl", picks)
    lines(folder / "others.jsonl", [{**pick, "best": "c0"} for pick in picks])
    golden = Path(__file__).parents[1] / "frozen" / "golden" / "confidence" / "pairs.json"
    (folder / "loaded.json").write_bytes(golden.read_bytes())
    (folder / "own.md").write_bytes((prompts_folder() / "pointwise.md").read_bytes())


def fitted():
    """Return draws of two models on prompts of two categories, as a fit saves them."""
    rng = np.random.default_rng(0)
    return HumanView(
        human="ann",
        side_by_side=False,
        categories=["0", "1"],
        points=[0.0, 1.0],
        prompts=[f"p{x}" for x in range(24)],
        models=["m0", "m1"],
        prompt_categories=["law", "maths"] * 12,
        human_ratings=[12, 12],
        of_models=DrawnArray.of(rng.standard_normal((50, 2, 1))),
        of_prompts=DrawnArray.of(rng.standard_normal((50, 24, 1))),
        cutoffs=DrawnArray.of(rng.standard_normal((50, 1))),
        confidence=0.95,
        seed=0,
        source="ratings.csv",
        version="0",
    )


def lines(path, rows):
    """Write rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
