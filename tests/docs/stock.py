"""The files that the pages' commands name beside the pools: scores with draws, labels, picks, comparisons."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd

from bonwise.auditing.front import audit
from bonwise.confidence.front import audit_confidence
from bonwise.factors.front import fit_factors
from bonwise.judges.scoring import PAIR_HEADER
from bonwise.labels.front import draw_labels
from bonwise.stacks.front import fit_stack
from bonwise.stacks.stack_table import score_file
from bonwise.testing import simulate, simulate_ratings
from watching.logs import write_log

PROMPTS = 120


def stock():
    """Write them into the working folder."""
    drawn = simulate("pilot", n=PROMPTS, seed=20261121)
    table = named(drawn.frame())
    table.to_csv("scores.csv", index=False)
    table[["prompt_id", "candidate", "oracle_label"]].to_csv("labels.csv", index=False)
    table.drop(columns="oracle_label").to_csv("judged.csv", index=False)
    write_pools(Path("scored_pools.jsonl"), table)
    many = simulate("arena", n=400, seed=20261122, candidates=8).frame()
    many.drop(columns="oracle_label").to_csv("many.csv", index=False)
    ids = list(dict.fromkeys(table["prompt_id"]))
    for name, scores in {
        "winners": drawn.draws[:, :, 0],
        "greedy": drawn.draws[:, :, 0],
        "others": drawn.draws[:, :, :3].mean(axis=2),
        "adaptive": drawn.draws[:, :, :5].mean(axis=2),
    }.items():
        write_picks(Path(f"{name}.jsonl"), ids, scores)
    write_judges(Path("judges.csv"), drawn)
    write_two_judges(Path("two-judges.csv"), table, drawn.draws.mean(axis=2).ravel())
    write_annotators(table)
    pd.DataFrame(pairs(ids, drawn.draws[:, :, 1]), columns=PAIR_HEADER).to_csv("pairs.csv", index=False)
    write_stated(Path("stated.csv"), ids)
    found = json.dumps(audit_confidence("stated.csv").to_dict())
    Path("confidence.json").write_text(found, encoding="utf-8")
    write_five_judges(Path("five-judges.csv"), table)
    words = pd.cut(table["oracle_label"], 4, labels=["poor", "fair", "good", "very good"])
    table[["prompt_id", "candidate", "judge_score"]].assign(oracle_label=words).to_csv("worded.csv", index=False)
    tool = Path(__file__).parents[1] / "table" / "importers" / "files" / "promptfoo.json.gz"
    Path("results.json").write_bytes(gzip.decompress(tool.read_bytes()))
    write_production(table)
    write_votes(Path("votes.csv"))
    some = pd.read_csv("votes.csv")
    some[(some["question_id"] < 40) | (some["model_b"] != "m2")].to_csv("some.csv", index=False)
    types = {
        "type": ["chat", "code", "maths"],
        "weight": [5, 3, 2],
        "votes": [300, 150, 50],
        "margin": [0.02, 0.02, 0.2],
    }
    pd.DataFrame(types).to_csv("types.csv", index=False)
    ratings = simulate_ratings(1, prompts=60, judges=4, labelled=0.5).frame()
    topic = np.where(ratings["prompt_id"].str[-1].isin(list("02468")), "maths", "law")
    ratings.assign(category=topic).to_csv("ratings.csv", index=False)
    write_prompts(Path("prompts.csv"), sorted(set(ratings["prompt_id"])))
    fit_factors("ratings.csv", human="human", rank=1, prior=1.0, interval="propagated").view.save("fit.json")
    draw_labels("scores.csv", labels=60, seed=1).write("todo.csv")
    half = table.pop("ci_width") / 2
    stated = table[["prompt_id", "candidate"]].assign(judge_score=table["draw_0"])
    stated.assign(low=stated["judge_score"] - half, high=stated["judge_score"] + half).to_csv(
        "intervals.csv", index=False
    )


def write_pools(path, table):
    """Write the pools whose candidates a table scores."""
    pools = [
        {
            "prompt_id": name,
            "prompt": "Name a colour",
            "candidates": [{"id": one, "text": f"{one} blue"} for one in rows],
        }
        for name, rows in table.groupby("prompt_id", sort=False)["candidate"]
    ]
    path.write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")


def write_two_judges(path, table, stronger):
    """Write the scores of a cheap judge, and of a stronger one."""
    cheap = table[["prompt_id", "candidate", "judge_score", "oracle_label"]].assign(judge="mini")
    pd.concat([cheap, cheap.assign(judge="gpt-5", judge_score=stronger)]).to_csv(path, index=False)


def write_judges(path, drawn):
    """Write scores of three judges that their names make, the stack of them, and the scores of that."""
    table = named(drawn.frame())[["prompt_id", "candidate", "oracle_label"]]
    rng = np.random.default_rng(20261124)
    scores = {
        "pointwise:openai/gpt-5-mini": drawn.draws[:, :, 0].ravel(),
        "pointwise:openai/gpt-5-nano": drawn.draws[:, :, 1].ravel(),
        "local:length": rng.integers(20, 400, size=len(table)),
    }
    judged = [table.assign(judge=judge, judge_score=values) for judge, values in scores.items()]
    pd.concat(judged).to_csv(path, index=False)
    fit = fit_stack(str(path))
    fit.save("stack.json")
    Path("with_stack.csv").write_text(score_file(fit.scores()), encoding="utf-8")


def write_five_judges(path, table):
    """Write scores of five judges, each with less noise than the one before it."""
    rng = np.random.default_rng(20261126)
    label = table["oracle_label"].to_numpy()
    kept = table[["prompt_id", "candidate", "oracle_label"]]
    scores = [label + rng.normal(scale=noise, size=len(label)) for noise in (2.0, 1.0, 0.5, 0.2, 0.05)]
    judged = [kept.assign(judge=f"j{at}", judge_score=values.clip(0, 1)) for at, values in enumerate(scores)]
    pd.concat(judged).to_csv(path, index=False)


def write_annotators(table):
    """Write ratings from 1 to 5 by three annotators: beside the scores, in a file of their own, and in columns."""
    rng = np.random.default_rng(20261125)
    scored = table[["prompt_id", "candidate", "judge_score"]]
    seen = {
        name: scored.assign(
            rating=(table["oracle_label"] * 4 + 1 + rng.normal(0, 0.4, len(table))).round().clip(1, 5).astype(int)
        )
        for name in ("ann", "bo", "cy")
    }
    rows = pd.concat([one.assign(rater=name) for name, one in seen.items()]).sort_index(kind="stable")
    rated = rows.rename(columns={"rating": "oracle_label"})
    rated.rename(columns={"rater": "annotator"}).to_csv("rated.csv", index=False)
    rated.drop(columns="judge_score").to_csv("ratings_of_people.csv", index=False)
    scored.to_csv("scored.csv", index=False)
    scored.assign(**{name: one["rating"] for name, one in seen.items()}).to_csv("by_rater.csv", index=False)


def named(table):
    """Return a table whose prompts bear the names of the pools': p0, p1 and so on."""
    return table.assign(prompt_id="p" + table["prompt_id"].str[1:].astype(int).astype(str))


def write_prompts(path, ids):
    """Write a table of prompts: a tag, and words of different length."""
    rng = np.random.default_rng(20261125)
    words = ["Say why. " * repeats for repeats in rng.integers(1, 30, len(ids))]
    pd.DataFrame({"prompt_id": ids, "code": rng.integers(0, 2, len(ids)), "prompt": words}).to_csv(path, index=False)


def write_production(table):
    """Write sixty days of picks, whose ties become frequent on 15 November, labels of some, and an audit."""
    labels = write_log("picks", 60, shift_at=45, shifted={"tied": 0.2})
    pd.DataFrame(labels).to_csv("picks_labels.csv", index=False)
    audited = audit(table[["prompt_id", "candidate", "judge_score", "oracle_label"]])
    Path("audit.json").write_text(audited.to_json(), encoding="utf-8")


def write_votes(path):
    """Write votes on pairs of three models: some ties, a question in several pairs."""
    draw, taste, rows = np.random.default_rng(2), {"m1": 0.0, "m2": 0.2, "m3": 0.9}, []
    for question in range(80):
        for one, other in itertools.combinations(taste, 2):
            for _ in range(draw.integers(1, 5)):
                lead = taste[one] - taste[other] + draw.logistic()
                winner = "tie" if abs(lead) < 0.3 else "model_a" if lead > 0 else "model_b"
                rows.append((question, one, other, winner))
    pd.DataFrame(rows, columns=["question_id", "model_a", "model_b", "winner"]).to_csv(path, index=False)


def write_picks(path, ids, scores):
    """Write the lines of a policy that keeps the highest score, the seed deciding between equal ones."""
    lines = []
    for name, row in zip(ids, np.round(scores, 9), strict=True):
        top = [f"c{at}" for at in np.flatnonzero(row == row.max())]
        line = {"prompt_id": name, "ids": [f"c{at}" for at in range(len(row))], "best": top[0]}
        spent = {"answers": 4, "input_tokens": 400, "output_tokens": 40, "from_ledger": 0, "reused_tokens": 0}
        lines.append(json.dumps({**line, "level": top if len(top) > 1 else [], **spent}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def pairs(ids, scores):
    """Yield comparisons of a judge that states probabilities in both orders."""
    for name, row in zip(ids, scores, strict=True):
        for a, b in itertools.combinations(range(len(row)), 2):
            value = float(np.clip(0.5 + row[a] - row[b], 0, 1))
            cells = {"prompt_id": name, "judge": "probability:openai/m", "a": f"c{a}", "b": f"c{b}"}
            cells |= {"shown_first": value, "shown_second": value, "value": value, "order_effect": 0.0}
            yield [cells.get(column, "") for column in PAIR_HEADER]


def write_stated(path, ids):
    """Write plain statements: a probability and what came true."""
    chance = np.random.default_rng(1)
    probability = chance.random(len(ids)).round(2)
    outcome = (chance.random(len(ids)) < probability).astype(int)
    pd.DataFrame({"prompt_id": ids, "probability": probability, "outcome": outcome}).to_csv(path, index=False)
