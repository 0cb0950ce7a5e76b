"""Logs of picks with known truth, as files of days."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np

FIRST_DAY = date(2026, 10, 1)


def day_name(day):
    """Return the name of a day, counted from the first one."""
    return (FIRST_DAY + timedelta(day)).isoformat()


def line(name, chance, *, tied=0.05, gap=0.3, right=0.7, unscored=0.02, cost=0.01, length=400, **more):
    """Return a line of three candidates, and their labels: the pick is the best one with chance `right`."""
    low, middle = sorted(chance.uniform(0.1, 0.4, 2).round(3))
    top = middle if chance.random() < tied else round(middle + gap * chance.uniform(0.5, 1.5), 3)
    pick = {
        "prompt_id": name,
        "ids": ["a", "b", "c"],
        "best": "c",
        "scores": [low, None if chance.random() < 3 * unscored else middle, top],
        "comparisons": [{"a": "a", "b": "b", "value": 0.5, "order_effect": round(chance.normal(0.05, 0.2), 3)}],
        "cost": cost * chance.lognormal(),
        "text": "x" * int(length * chance.uniform(0.5, 1.5)),
        "settings": {"judge": "j", "strategy": "greedy"},
        **more,
    }
    best = "c" if chance.random() < right else "a"
    labels = [{"prompt_id": name, "candidate": one, "oracle_label": float(one == best)} for one in "abc"]
    return pick, labels


def write_log(folder, days, picks=40, *, seed=1, shift_at=None, shifted=None, start=0, **usual):
    """Write a file per day; return the labels of five picks a day."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    labels = []
    for day in range(start, start + days):
        chance = np.random.default_rng((seed, day))
        kind = {**usual, **(shifted if shift_at is not None and day >= shift_at else {})}
        made = [line(f"{day_name(day)}-{at}", chance, **kind) for at in range(picks)]
        text = "".join(json.dumps(pick) + "\n" for pick, _ in made)
        (folder / f"{day_name(day)}.jsonl").write_text(text, encoding="utf-8")
        labels += [one for _, mine in made[:5] for one in mine]
    return labels
