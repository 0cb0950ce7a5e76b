"""One weak judge, several ways to use it: what each recovered, and what it cost."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bonwise.auditing.front import audit
from bonwise.demo.tasks import Task, label
from bonwise.estimates import EstimateRecord
from bonwise.judges.local import Consensus
from bonwise.routing.router import Router
from bonwise.selection.front import select
from bonwise.selection.protocol import Strategy
from bonwise.selection.selection import Selection
from bonwise.selection.strategies.scores import Adaptive, Greedy, Resample
from bonwise.selection.strategies.value_of_information import ValueOfInformation
from bonwise.table.pools import Candidate
from bonwise.table.verdicts import Score, Verdict
from bonwise.table.writing import write_whole

__all__ = ["Policy", "json_lines", "pick_lines", "run_policies"]

READ = 0.75
"""Share of the words that it reads."""

LEVELS = 20
"""Steps of its scale from 0 to 1: coarse scales tie."""

STRATEGIES: tuple[Strategy, ...] = (Greedy(), Adaptive(), ValueOfInformation(mean_calls=8), Resample(draws=5))

SHARE = 0.25
"""Part of the tasks that a stronger judge decides."""

SIGNALS = ("margin", "interval_width")


@dataclass(frozen=True, slots=True)
class Policy:
    """One way to pick, as its logged picks were audited."""

    name: str
    scores: float
    """Scores of the weak judge a task."""
    strong: float
    """Part of the tasks that the stronger judge decided."""
    value: EstimateRecord
    recovery: EstimateRecord
    file: Path
    """The picks."""


def run_policies(tasks: Sequence[Task], folder: Path, labels: Path, seed: int) -> Iterator[Policy]:
    """Pick by each policy, log the picks, and audit the log.

    Parameters
    ----------
    tasks : sequence of Task
    folder : pathlib.Path
        Where the picks go.
    labels : pathlib.Path
        The label file.
    seed : int
    """
    for strategy in STRATEGIES:
        yield _audited(strategy.name, _picks(tasks, seed, strategy, None), folder, labels)
    for signal in SIGNALS:
        router = Router(_checker(tasks), signal=signal, share=SHARE, seed=seed)
        name = f"greedy, {SHARE:.0%} to the checker by {signal}"
        yield _audited(name, _picks(tasks, seed, Greedy(), router), folder, labels)


def pick_lines(picks: Iterable[Selection]) -> str:
    """Return the log of picks, without the time they took: the same seed writes the same file."""
    records = (pick.to_dict() for pick in picks)
    return json_lines({key: value for key, value in record.items() if key != "latency"} for record in records)


def json_lines(records: Iterable[object]) -> str:
    """Return one line of JSON a record."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _checker(tasks: Sequence[Task]) -> Callable[[str, str], float]:
    """Return the stronger judge: it computes the labels themselves."""
    by_prompt = {task.pool.prompt: task for task in tasks}

    def checker(prompt: str, text: str) -> float:
        return label(by_prompt[prompt], Candidate("", text))

    return checker


def _picks(tasks: Sequence[Task], seed: int, strategy: Strategy, router: Router | None) -> list[Selection]:
    judge = Hurried(seed)
    return [
        select(
            task.pool.prompt,
            task.pool.candidates,
            judge=judge,
            strategy=strategy,
            router=router,
            seed=seed,
            prompt_id=task.pool.prompt_id,
            on_failure="owe",
        )
        for task in tasks
    ]


def _audited(name: str, picks: Sequence[Selection], folder: Path, labels: Path) -> Policy:
    word = "".join(letter if letter.isalnum() else "-" for letter in name.replace("%", "")).strip("-")
    file = folder / f"picks-{word}.jsonl"
    write_whole(file, pick_lines(picks))
    found = audit(file, labels=labels)
    scores = sum(sum(pick.draws) for pick in picks) / len(picks)
    strong = sum(pick.routed is not None and pick.routed.strong is not None for pick in picks) / len(picks)
    return Policy(name, scores, strong, found["value_judge"], found["recovery"], file)


@dataclass(frozen=True)
class Hurried:
    """How much an answer has in common with the others, judged by about three quarters of each one's words.

    Examples
    --------
    >>> judge = Hurried()
    >>> texts = ["The sky is blue today.", "The sky is grey today.", "Bananas."]
    >>> judge.judge("How is the sky?", texts) == judge.judge("How is the sky?", texts)
    False
    """

    seed: int = 0
    """Together with the prompt, the answer and how often it was asked, fixes which words are read."""
    asked: Counter[tuple[str, str]] = field(default_factory=Counter, init=False, repr=False, compare=False)

    name = "hurried"
    version = "1"

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:
        """Skim every answer and score it, with an interval that is wider the less there was to read."""
        skimmed = [self._skimmed(prompt, text) for text in candidates]
        verdicts = Consensus().judge(prompt, [" ".join(words) for words in skimmed])
        return [_coarse(verdict, words) for verdict, words in zip(verdicts, skimmed, strict=True)]

    def _skimmed(self, prompt: str, text: str) -> list[str]:
        times = self.asked[prompt, text]
        self.asked[prompt, text] += 1
        chance = random.Random(f"{self.seed}\0{prompt}\0{text}\0{times}")  # noqa: S311 - repeatable, no secret
        words = text.split()
        return [word for word in words if chance.random() < READ] or words[:1]


def _coarse(verdict: Verdict, words: Sequence[str]) -> Verdict:
    if not isinstance(verdict, Score):
        return verdict
    value, half = round(verdict.value * LEVELS) / LEVELS, 1 / (len(words) + 1) ** 0.5
    return Score(value, low=value - half, high=value + half)
