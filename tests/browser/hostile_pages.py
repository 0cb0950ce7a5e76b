"""Pages of other kinds than audits, of tables in which judges, candidates, prompts and strata have hostile names."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

import bonwise as bw
from bonwise.factors.front import compare_models, explain_gaps, find_strengths, predict_averages, rank_models
from bonwise.judges.scoring import PAIR_HEADER
from bonwise.testing import simulate, simulate_ratings
from browser.hostile_tables import FILE_NAMES, renamed, text_at
from docs.stock import pairs
from watching.logs import line

__all__ = ["FIRST", "PAGES"]

FIRST = (0, 16, 32, 48)
"""Places of the first text of a page: what is named by sixteen of them takes all."""

_MODELS, _DAYS, _PICKS, _POOLS = 16, 24, 8, 60


def _watch(folder, first):
    picks, labels = folder / "picks", []
    picks.mkdir()
    names = [FILE_NAMES[(first + day) % len(FILE_NAMES)] for day in range(_DAYS)]
    for day, name in enumerate(names):
        chance = np.random.default_rng((5, day))
        judge = text_at(first + day)
        settings = {"judge": judge, text_at(day): day}
        made = [
            line(
                text_at(day * _PICKS + at),
                chance,
                gap=0.3 if day < 18 else 0.02,
                settings=settings,
                text=text_at(day + at),
            )
            for at in range(_PICKS)
        ]
        labels += [one for _, own in made[:3] for one in own]
        (picks / name).write_text("".join(json.dumps(pick) + "\n" for pick, _ in made), encoding="utf-8")
    label_table = pd.DataFrame(labels).drop_duplicates(["prompt_id", "candidate"])
    found = bw.watch([picks / name for name in names], labels=label_table, by="file", first=8)
    moved = [found.signals[name].alarm for name in found.moved]
    return found, [name for alarm in moved for name in (alarm.since, alarm.period)]


def _compare(folder, first):
    ids = [text_at(first + 7 + at) for at in range(4)]
    files = [folder / FILE_NAMES[(first + at) % len(FILE_NAMES)] for at in range(2)]
    for file, move in zip(files, (0, 1), strict=True):
        rows = [{"prompt_id": text_at(at), "ids": ids, "best": ids[(at + move) % 4]} for at in range(_POOLS)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    labels = [
        {"prompt_id": text_at(at), "candidate": name, "oracle_label": (at * 7 + place * 3) % 10 / 10}
        for at in range(_POOLS)
        for place, name in enumerate(ids)
    ]
    pools = folder / "pools.jsonl"
    texts = [{"id": name, "text": text_at(first + at)} for at, name in enumerate(ids)]
    words = [{"prompt_id": text_at(at), "prompt": text_at(at + 1), "candidates": texts} for at in range(_POOLS)]
    pools.write_text("".join(json.dumps(pool) + "\n" for pool in words), encoding="utf-8")
    return bw.compare(*files, labels=pd.DataFrame(labels), pools=pools), [file.name for file in files]


def _scores(first):
    frame = renamed(simulate("pilot", n=_POOLS, seed=20261121).frame(), prompt_id=first, candidate=first + 7)
    stratum = [text_at(first + 20 + at // 4 % 3) for at in range(len(frame))]
    return frame.assign(judge=text_at(first), **{text_at(first + 30): stratum})


def _label_strategy(_, first):
    drawn = simulate("pilot", n=_POOLS, seed=20261121)
    plain = drawn.frame()
    frame = renamed(plain, prompt_id=first, candidate=first + 7).assign(judge=text_at(first))
    ids = list(dict.fromkeys(frame["prompt_id"]))
    verdicts = pd.DataFrame(pairs(ids, drawn.draws[:, :, 1]), columns=PAIR_HEADER)
    for side in ("a", "b"):
        verdicts[side] = [text_at(first + 7 + int(name[1:])) for name in verdicts[side]]
    found = bw.study_label_strategy(frame, verdicts=verdicts.assign(judge=text_at(first + 1)))
    return found, [text_at(first), text_at(first + 1)]


def _of_scores(make):
    def of(_, first):
        return make(_scores(first), first), [text_at(first)]

    return of


def _ratings(first):
    plain = simulate_ratings(1, prompts=24, judges=4, models=_MODELS, labelled=0.5).frame()
    frame = renamed(plain, prompt_id=first, model=first, rater=first + 3)
    frame["category"] = [text_at(first + 40 + int(name[-1]) % 3) for name in plain["prompt_id"]]
    human = dict(zip(plain["rater"], frame["rater"], strict=True))["human"]
    return frame, human


def _fitted(first):
    frame, human = _ratings(first)
    return bw.fit_factors(frame, human=human, rank=1, prior=1.0), list(dict.fromkeys(frame["model"]))


def _factor(make):
    def of(_, first):
        found, models = _fitted(first)
        return make(found, models)

    return of


def _tags(found, first):
    names = found.view.prompts
    tag = [at % 2 for at in range(len(names))]
    return pd.DataFrame(
        {"prompt_id": names, text_at(first): tag, "prompt": [text_at(at) for at in range(len(names))]}
    )


PAGES = {
    "watch": _watch,
    "compare": _compare,
    "route": _of_scores(lambda frame, _: bw.route(frame.assign(text=frame["candidate"], prompt=frame["prompt_id"]))),
    "requirements": _of_scores(lambda frame, _: bw.study_requirements(frame)),
    "calibration": _of_scores(lambda frame, _: bw.study_calibration(frame)),
    "candidates": _of_scores(lambda frame, _: bw.study_candidates(frame)),
    "transfer": _of_scores(lambda frame, _: bw.study_transfer(frame, to=frame)),
    "strategies": _of_scores(lambda frame, _: bw.study_strategies(frame, seeds=1)),
    "discretisation": _of_scores(lambda frame, _: bw.study_discretisation(frame, draws=2)),
    "readiness": _of_scores(lambda frame, _: bw.study_readiness(frame)),
    "mix": _of_scores(lambda frame, first: bw.study_mix(frame, control=text_at(first + 7))),
    "label-strategy": _label_strategy,
    "factor": _factor(lambda found, models: (found, models)),
    "factor-leaderboard": _factor(lambda found, models: (rank_models(found.view), models)),
    "factor-predict": _factor(lambda found, models: (predict_averages(found.view), models)),
    "factor-compare": _factor(lambda found, models: (compare_models(found.view, *models[:2]), models[:2])),
    "factor-explain": _factor(
        lambda found, models: (explain_gaps(found.view, *models[:2], prompts=_tags(found, 3)), models[:2])
    ),
    "factor-strengths": _factor(
        lambda found, models: (find_strengths(found.view, models[0], prompts=_tags(found, 3)), models[:1])
    ),
}
"""Kind to a function of a folder and the place of the first text: the result, and names that its page shows."""
