"""Documents for the tests of pages, made by real audits."""

import pandas as pd

import bonwise as bw

SCRIPT = "<script>alert(1)</script>"


def table(prompts=30, judge=None, *, shift=0):
    """Return a table of three candidates per prompt with scores that are mostly right."""
    rows = [
        (f"p{i}", name, ((i * k + shift) % 5) / 4, ((i * k) % 7) / 6)
        for i in range(prompts)
        for k, name in enumerate(("a", "b", "c"), start=1)
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])
    return frame if judge is None else frame.assign(judge=judge)


def audited(**given):
    """Return the document of an audit of one judge."""
    return bw.audit(table(), **given).to_dict()


def several(names):
    """Return the document of an audit of several judges."""
    tables = [table(judge=name, shift=at) for at, name in enumerate(names)]
    return bw.audit(pd.concat(tables, ignore_index=True)).to_dict()


def exhibits(judges, rows=3, text="hello"):
    """Return exhibits with a few prompts, in the form of schema bonwise.exhibits/1."""
    candidates = [
        dict(
            zip(
                ("id", "score", "label", "text", "raw", "picked", "best", "text_left_out", "raw_left_out"),
                (name, 0.5, 1.0 - at / 2, text, text, at == 1, at == 0, 12 * at, 0),
                strict=True,
            )
        )
        for at, name in enumerate((text, "b"))
    ]
    prompt = {
        "judge": judges[0],
        "pick": "b",
        "best": text,
        "pick_more": 0,
        "best_more": 9,
        "value_pick": 0.5,
        "value_best": 1.0,
        "gain_lost": 0.5,
        "tied": 2,
        "margin": None,
        "prompt": text,
        "candidates": candidates,
        "words_left_out": False,
        "prompt_left_out": 0,
        "candidates_left_out": 0,
    }
    prompts = [{**prompt, "prompt_id": f"{text}{at}"} for at in range(rows)]
    shown = {
        "chance": {"top1_accuracy": 0.33, "hit_rate": None},
        "differences": None,
        "spread": None,
        "strata": [],
        "strata_left_out": [{"column": text, "reason": "too many values"}],
    }
    return {
        "schema": "bonwise.exhibits/1",
        "judges": dict.fromkeys(judges, shown),
        "prompts": {"rows": prompts, "of": 10 * rows},
    }
