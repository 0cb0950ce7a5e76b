"""Documents of audits for the tests of their descriptions, made by real audits and changed here and there."""

from __future__ import annotations

import pandas as pd

import bonwise as bw
from bonwise.auditing.result import Audit
from bonwise.auditing.result_exhibits import Exhibits

__all__ = ["audited", "changed", "exhibits", "several", "table"]


def table(prompts=30, judge=None, *, shift=0):
    """Return a table of three candidates per prompt with scores that are mostly right."""
    rows = [
        (f"p{i}", name, ((i * k + shift) % 5) / 4, ((i * k) % 7) / 6)
        for i in range(prompts)
        for k, name in enumerate(("a", "b", "c"), start=1)
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])
    return frame if judge is None else frame.assign(judge=judge)


def audited(gates=None, source=None, **given):
    """Return the document of an audit of one judge."""
    found = bw.audit(table() if source is None else source, **given)
    return found.check(gates or {})


def several(names, gates=None):
    """Return the document of an audit of several judges."""
    tables = [table(judge=name, shift=at) for at, name in enumerate(names)]
    found = bw.audit(pd.concat(tables, ignore_index=True))
    return found.check(gates or {})


def changed(document, **parts):
    """Return a document with some of its JSON keys changed; a mapping is laid over what is there."""
    there = document.to_dict()
    for key, value in parts.items():
        there[key] = {**there[key], **value} if isinstance(value, dict) and key in {"settings", "data"} else value
    return Audit.model_validate(there)


def exhibits(judges, rows=3, text="hello"):
    """Return exhibits with a few prompts."""
    candidates = [
        {
            "id": name,
            "score": 0.5,
            "label": 1.0 - at / 2,
            "text": text,
            "text_left_out": 12 * at,
            "raw": text,
            "raw_left_out": 0,
            "picked": at == 1,
            "best": at == 0,
        }
        for at, name in enumerate((text, "b"))
    ]
    prompt = {
        "judge": judges[0],
        "pick": "b",
        "pick_more": 0,
        "best": text,
        "best_more": 9,
        "value_pick": 0.5,
        "value_best": 1.0,
        "gain_lost": 0.5,
        "margin": None,
        "tied": 2,
        "prompt": text,
        "prompt_left_out": 0,
        "candidates": candidates,
        "candidates_left_out": 7,
        "words_left_out": False,
    }
    shown = {
        "chance": {"top1_accuracy": 0.33, "hit_rate": None},
        "differences": None,
        "spread": None,
        "strata": [],
        "strata_left_out": [{"column": text, "reason": "too many values"}],
    }
    return Exhibits.model_validate(
        {
            "schema": "bonwise.exhibits/1",
            "judges": dict.fromkeys(judges, shown),
            "prompts": {"rows": [{**prompt, "prompt_id": f"{text}{at}"} for at in range(rows)], "of": 10 * rows},
        }
    )
