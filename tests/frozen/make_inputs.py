"""Write the small files that the frozen cases read; run once, their bytes are committed.

::

    python tests/frozen/make_inputs.py
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd

from bonwise.testing import simulate, simulate_ratings

__all__ = ["INPUTS", "make_inputs"]

INPUTS = Path(__file__).parent / "inputs"


def make_inputs() -> None:
    """Write every input."""
    INPUTS.mkdir(exist_ok=True)
    arena = simulate("arena", n=80, seed=11)
    scores = arena.frame()
    _save("scores.csv", scores)
    _save("labels.csv", scores[["prompt_id", "candidate", "oracle_label"]])
    _save("unlabelled.csv", scores.drop(columns="oracle_label"))
    _save("partial.csv", scores.assign(oracle_label=_some(scores["oracle_label"], 4, 28)))
    _save("pairs.csv", _pair_verdicts(arena))
    _save("judges.csv", _two_judges())
    _save("control.csv", _with_control())
    _save("dirty.csv", _dirty())
    _save("pilot.csv", simulate("pilot", n=40, seed=3, draws=4).frame())
    _save("statements.csv", _statements())
    _save("intervals.csv", _intervals(scores))
    votes = _votes()
    _save("votes.csv", votes)
    _save("one_pair.csv", votes[(votes["model_a"] == "ada") & (votes["model_b"] == "bee")].drop(columns="vote"))
    _save("short.csv", simulate("arena", n=15, seed=41).frame().drop(index=[9]))
    _save("many.csv", simulate("arena", n=240, seed=8, candidates=3).frame())
    _save("verdicts.csv", _verdicts())
    _pools()
    _save("picks_labels.csv", _pick_labels())
    _save("ratings.csv", _ratings())


def _ratings() -> pd.DataFrame:
    """Return ratings of three models by four judges and a human, of prompts in two categories."""
    found = simulate_ratings(5, prompts=40, models=3, judges=4, labelled=0.6).frame()
    return found.assign(category=np.where(found["prompt_id"].str[-1].isin(list("02468")), "maths", "law"))


def _save(name: str, frame: pd.DataFrame) -> None:
    frame.to_csv(INPUTS / name, index=False, lineterminator="\n")


def _some(labels: pd.Series, candidates: int, prompts: int) -> pd.Series:
    """Keep the labels of the first prompts."""
    return labels.where(np.arange(len(labels)) < prompts * candidates)


def _pair_verdicts(arena: object) -> pd.DataFrame:
    """Return what a judge of pairs says in both orders, with how sure it is."""
    rng, rows = np.random.default_rng(5), []
    for x, labels in enumerate(arena.labels[:50]):
        for a, b in itertools.combinations(range(4), 2):
            ahead = [labels[a] - labels[b] + 0.15 * rng.normal() + side for side in (0.03, -0.03)]
            shown = [round(float(1 / (1 + np.exp(-8 * one))), 2) for one in ahead]
            sure = rng.integers(1, 6, 2).tolist()
            rows.append((f"p{x:07d}", "probability:m", f"c{a}", f"c{b}", *shown, *sure))
    names = ["prompt_id", "judge", "a", "b", "shown_first", "shown_second", "confidence_first", "confidence_second"]
    return pd.DataFrame(rows, columns=names)


def _two_judges() -> pd.DataFrame:
    """Return a judge whose wide intervals go with what it loses, with draws, and a better one without."""
    rng, prompts, candidates = np.random.default_rng(7), 90, 3
    noise = np.repeat(rng.uniform(0.02, 0.4, prompts), candidates)
    truth = np.round(np.clip(rng.normal(0.6, 0.2, prompts * candidates), 0, 1), 2)
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{x:03d}" for x in range(prompts)], candidates),
            "candidate": np.tile(["base", "clone", "premium"], prompts),
            "oracle_label": truth,
            "topic": np.repeat(np.where(np.arange(prompts) % 3 == 0, "code", "prose"), candidates),
        }
    )
    calls = [np.clip(np.round(truth + noise * rng.normal(size=len(truth)), 2), 0, 1) for _ in range(4)]
    weak = frame.assign(judge="weak", judge_score=calls[0], ci_width=np.round(noise * rng.uniform(0.8, 1.2), 3))
    weak = weak.assign(**{f"draw_{k}": one for k, one in enumerate(calls)})
    better = np.clip(np.round(truth + 0.08 * rng.normal(size=len(truth)), 2), 0, 1)
    return pd.concat([weak, frame.assign(judge="strong", judge_score=better)])


def _with_control() -> pd.DataFrame:
    """Return pools with a candidate that is easy to tell apart."""
    frame = simulate("arena", n=50, seed=21).frame()
    bad = frame["candidate"] == "c3"
    frame.loc[bad, ["judge_score", "oracle_label"]] = [0.05, 0.02]
    return frame.assign(candidate=frame["candidate"].replace({"c3": "unhelpful"}))


def _dirty() -> pd.DataFrame:
    """Return a file with what files have: another name for a column, blanks, a short pool, a constant judge."""
    frame = simulate("arena", n=30, seed=31).frame()
    frame = frame.rename(columns={"judge_score": "score", "oracle_label": "human"})
    frame.loc[5, "score"] = np.nan
    frame.loc[[8, 9], "human"] = np.nan
    return frame.drop(index=[15]).assign(judge="gpt/judge, v2", words=range(len(frame) - 1))


def _pick_labels() -> pd.DataFrame:
    """Return labels of all candidates in the file of pools."""
    rng, rows = np.random.default_rng(9), []
    for line in (INPUTS / "pools.jsonl").read_text(encoding="utf-8").splitlines():
        pool = json.loads(line)
        names = [one["id"] if isinstance(one, dict) else f"c{i}" for i, one in enumerate(pool["candidates"])]
        rows += [(pool["prompt_id"], name, round(float(rng.uniform()), 2)) for name in names]
    return pd.DataFrame(rows, columns=["prompt_id", "candidate", "oracle_label"])


def _statements() -> pd.DataFrame:
    rng = np.random.default_rng(13)
    stated = np.round(rng.uniform(0.02, 0.98, 120), 2)
    return pd.DataFrame(
        {
            "prompt_id": [f"p{x // 2}" for x in range(120)],
            "probability": stated,
            "outcome": (rng.uniform(size=120) < 0.3 + 0.5 * stated).astype(int),
            "confidence": rng.integers(1, 6, 120),
        }
    )


def _intervals(scores: pd.DataFrame) -> pd.DataFrame:
    width = np.tile([0.1, 0.2, 0.3, 0.15], len(scores) // 4)
    low, high = (scores["judge_score"] - width).clip(0, 1), (scores["judge_score"] + width).clip(0, 1)
    return scores.assign(low=low.round(2), high=high.round(2)).head(160)


def _votes() -> pd.DataFrame:
    """Return votes on pairs of three models with ties, in the order in which they came."""
    rng, rows = np.random.default_rng(17), []
    for x in range(180):
        one, two = (("ada", "bee"), ("ada", "cyd"), ("bee", "cyd"))[x % 3]
        won = rng.choice(["model_a", "model_b", "tie"], p=[0.55, 0.3, 0.15])
        rows.append((x, x % 40, one, two, won))
    return pd.DataFrame(rows, columns=["vote", "question_id", "model_a", "model_b", "winner"])


def _verdicts() -> pd.DataFrame:
    """Return verdicts of two judges on pairs in both orders, with the oracle's."""
    rng, rows = np.random.default_rng(19), []
    for name, right in (("good", 0.85), ("poor", 0.6)):
        for x in range(70):
            gold = int(rng.integers(1, 3))
            said = [gold if rng.uniform() < right else 3 - gold for _ in range(2)]
            rows.append((name, x, "adversarial" if x % 2 else "natural", *said, gold))
    return pd.DataFrame(rows, columns=["llm", "item", "dataset", "order1", "order2", "gold"])


def _pools() -> None:
    """Write pools of words: markup, other scripts, equal answers, an empty one, a lone one."""
    words = ["Paris is the capital.", "It is Paris, of course: the city on the Seine.", "I do not know"]
    lines = []
    for x in range(24):
        answers = [f"{word} ({x})" for word in words[x % 3 :] + words[: x % 3]]
        lines.append({"prompt_id": f"q{x:02d}", "prompt": f"What is the capital? ({x})", "candidates": answers})
    lines[3]["candidates"] = ["<b>bold</b> & more", "\u041f\u0430\u0440\u0438\u0436 \u2014 \u5df4\u9ece", ""]
    lines[4]["candidates"] = ["same", "same", "x"]
    lines[5]["candidates"] = ["alone"]
    lines[6]["candidates"] = [{"id": "left, \u00e9", "text": "one"}, {"id": "right", "text": "two"}]
    named = "".join(json.dumps(one) + "\n" for one in lines)
    (INPUTS / "pools.jsonl").write_text(named, encoding="utf-8")
    (INPUTS / "two.jsonl").write_text("".join(named.splitlines(keepends=True)[0:7:6]), encoding="utf-8")
    (INPUTS / "few.jsonl").write_text("".join(named.splitlines(keepends=True)[:7]), encoding="utf-8")
    prompts = [f"p{x:07d}" for x in range(80)]
    texts = [{"id": f"c{i}", "text": f"answer {i}" + " and more" * i} for i in range(4)]
    arena = [{"prompt_id": one, "prompt": f"Say {one}", "candidates": texts} for one in prompts]
    (INPUTS / "arena.jsonl").write_text("".join(json.dumps(one) + "\n" for one in arena), encoding="utf-8")


if __name__ == "__main__":
    make_inputs()
