"""Documents that no command writes: what is drawn on a page, notes, single picks, and the pages of results.

Where these are made may move; what they hold is frozen.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import bonwise as bw
from bonwise.judges.local import from_name
from frozen.masks import settled_output
from frozen.running import INPUTS, here

__all__ = ["documents"]

_FILES = ("scores.csv", "judges.csv", "labels.csv", "votes.csv", "verdicts.csv", "pairs.csv", "unlabelled.csv")


def documents(folder: Path) -> dict[str, str]:
    """Make every document and page in an empty folder and return them by file name."""
    for name in _FILES:
        shutil.copy(INPUTS / name, folder / name)
    with here(folder):
        made = {f"{name}.json": json.dumps(one, indent=2) + "\n" for name, one in _from_python().items()}
        for name, result in _results().items():
            result.to_html(f"{name}.html")
            made[f"{name}.html"] = Path(f"{name}.html").read_text(encoding="utf-8")
            made[f"{name}.txt"] = f"{result!r}\n{result}\n"
    return {name: settled_output(name, text) for name, text in made.items()}


def _from_python() -> dict[str, dict[str, Any]]:
    from bonwise.auditing.exhibits import exhibits  # noqa: PLC0415 - drawing needs the extra audit
    from bonwise.auditing.result_exhibits import Note  # noqa: PLC0415 - the same

    audited = bw.audit("judges.csv")
    pick = bw.select("What?", ["It is so.", "no", "It is so, and here is why."], judge=from_name("length"), seed=3)
    return {
        "exhibits": exhibits(
            tuple(audited.source_of("exhibits").judges.values()), audited.table, None, seed=0
        ).to_dict(),
        "note": Note.on("A study", "it could not be made").to_dict(),
        "selection": pick.to_dict(),
        "selections": pick.document().to_dict(),
    }


def _results() -> dict[str, Any]:
    """Return results whose page no command writes."""
    return {
        "confidence": bw.audit_confidence("pairs.csv", labels="labels.csv"),
        "preferences": bw.audit_preferences(
            "verdicts.csv", verdict_col=["order1", "order2"], label_col="gold", prompt_col=["item"], judge_col=["llm"]
        ),
        "votes": bw.study_preferences(
            "votes.csv", verdict_col="winner", pair_col=["model_a", "model_b"], ties="drop"
        ),
        "labels": bw.draw_labels("unlabelled.csv", labels=20),
        "monitor": bw.monitor("scores.csv", question="precision", half_width=0.3),
        "designs": bw.compare_designs("scores.csv", shares=[0.25], draws=5),
    }
