"""Send the pools that a cheap judge is least sure of to a stronger one, and see what that brings.

Runs as it is, without a key: ``python examples/route_to_stronger.py``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import bonwise as bw
from bonwise.routing.front import route
from bonwise.testing import simulate

# 1,500 prompts with 4 candidates each: what a cheap judge says of each candidate, and labels to go by.
TABLE = simulate("pilot", n=1500, seed=1, draws=1).frame().drop(columns="draw_0")
SAID = {(prompt, text): numbers for prompt, text, *numbers in TABLE.to_numpy().tolist()}


class Cheap:
    """Stands in for a judge such as ``bw.Interval("openai/gpt-5-mini")``: scores with intervals around them."""

    name, version = "cheap", "1"

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[bw.Score]:
        """Say again what was said."""
        said = [SAID[prompt, text] for text in candidates]
        return [bw.Score(score, low=score - width / 2, high=score + width / 2) for score, _, width in said]


def strong(prompt: str, text: str) -> float:
    """Stand in for a judge such as ``bw.Pairwise("anthropic/claude-opus-5")``: it is always right."""
    _, label, _ = SAID[prompt, text]
    return float(label)


with TemporaryDirectory() as folder:
    # Once: on 500 labelled prompts, which signal finds those that the cheap judge gets wrong?
    # On the command line: bonwise route scores.csv --share 0.25 --save router.json
    saved = Path(folder) / "router.json"
    study = route(TABLE[: 500 * 4], share=0.25)
    study.save(saved)

    # In production: every pool is judged once, and one in four goes to the stronger judge.
    live = TABLE[500 * 4 :]
    for router in (None, bw.Router(strong, saved)):
        winners = Path(folder) / "winners.jsonl"
        with bw.Selector(Cheap(), router=router) as selector, winners.open("w", encoding="utf-8") as log:
            for prompt in live["prompt_id"].unique():
                pool = [{"id": f"c{number}", "text": f"c{number}"} for number in range(4)]
                pick = selector.select(prompt, pool, prompt_id=prompt)
                log.write(json.dumps(pick.to_dict()) + "\n")

        # Afterwards: what did the logged picks recover of the gain that was there?
        # On the command line: bonwise audit winners.jsonl --labels labels.csv
        found = bw.audit(winners, labels=live[["prompt_id", "candidate", "oracle_label"]])["recovery"]
        print("with the router" if router else "without", end=": ")
        print(f"recovery {found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})")
        if router:
            report = router.report()
            print(f"sent {report.sent} of {report.seen} by {report.signal}, now above {report.threshold:.3f}")
            print(report.reasons)
