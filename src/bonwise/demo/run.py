"""The whole journey on bundled tasks: judge, select, label by checkers, audit, all at run time."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bonwise.auditing import front, page, per_prompt, result
from bonwise.demo.tasks import Task, label, load_tasks
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.extras import PAGES, TABLES, Feature
from bonwise.judges import protocol, scoring
from bonwise.judges.local import NAMES, Consensus, from_name
from bonwise.report.blocks import Said
from bonwise.routing.router import Router
from bonwise.selection import selection
from bonwise.selection.front import select
from bonwise.selection.protocol import Strategy
from bonwise.selection.strategies import scores, value_of_information
from bonwise.table import pools, text_files, writing
from bonwise.table.verdicts import Score, Verdict

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


READ = 0.75
"""Share of the words that it reads."""

LEVELS = 20
"""Steps of its scale from 0 to 1: coarse scales tie."""

STRATEGIES: tuple[Strategy, ...] = (
    scores.Greedy(),
    scores.Adaptive(),
    value_of_information.ValueOfInformation(mean_calls=8),
    scores.Resample(draws=5),
)

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
    """Pick by each policy, log the picks in `folder`, and audit the log."""
    for strategy in STRATEGIES:
        yield _audited(strategy.name, _picks(tasks, Hurried(seed), seed, strategy), folder, labels)
    for signal in SIGNALS:
        router = Router(_checker(tasks), signal=signal, share=SHARE, seed=seed)
        name = f"greedy, {SHARE:.0%} to the checker by {signal}"
        yield _audited(name, _picks(tasks, Hurried(seed), seed, scores.Greedy(), router), folder, labels)


def pick_lines(picks: Iterable[selection.Selection]) -> str:
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
        return label(by_prompt[prompt], pools.Candidate("", text))

    return checker


def _audited(name: str, picks: Sequence[selection.Selection], folder: Path, labels: Path) -> Policy:
    word = "".join(letter if letter.isalnum() else "-" for letter in name.replace("%", "")).strip("-")
    file = folder / f"picks-{word}.jsonl"
    writing.write_whole(file, pick_lines(picks))
    audit = front.audit(file, labels=labels)
    scores = sum(sum(pick.draws) for pick in picks) / len(picks)
    strong = sum(pick.routed is not None and pick.routed.strong is not None for pick in picks) / len(picks)
    return Policy(name, scores, strong, audit["value_judge"], audit["recovery"], file)


@dataclass(frozen=True)
class Hurried:
    """How much an answer has in common with the others, judged by about three quarters of each one's words."""

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


BETWEEN_SHARE = 0.7
"""Share of the variance that lies between prompts, for both judges and the oracle."""

GLOBAL_R = 0.63
"""The correlation with the oracle over all rows, for both judges, in the population."""

_FLAT = {"prompt_r": GLOBAL_R / BETWEEN_SHARE, "deviation_r": 0.0}
_SHARP = {"prompt_r": (GLOBAL_R - (1 - BETWEEN_SHARE) * 0.6) / BETWEEN_SHARE, "deviation_r": 0.6}


@dataclass(frozen=True, eq=False)
class TwoJudges:
    """Scores of two judges and of the oracle, one row per prompt and one column per candidate."""

    flat: NDArray[np.float64] = field(repr=False)
    """A judge that knows which prompts went well and nothing about which candidate did."""
    sharp: NDArray[np.float64] = field(repr=False)
    """A judge that tells the candidates of a prompt apart."""
    oracle: NDArray[np.float64] = field(repr=False)
    """The quality both are compared with."""
    seed: int
    """The seed they were drawn with."""


def two_judges(prompts: int = 5000, candidates: int = 4, seed: int = 0) -> TwoJudges:
    """Draw two judges of equal global correlation, of recovery 0 and about 0.6; the arrays are read-only."""
    if prompts < 1 or candidates < 2:
        raise UsageError(
            f"cannot draw {prompts} prompts of {candidates} candidates",
            hint="give at least 1 prompt and 2 candidates",
        )
    generator = np.random.default_rng(seed)
    effects = generator.standard_normal((prompts, 1))
    deviations = generator.standard_normal((prompts, candidates))
    scores = [_echo(effects, deviations, generator, **strength) for strength in (_FLAT, _SHARP)]
    flat, sharp, oracle = (_frozen(*parts) for parts in (*scores, (effects, deviations)))
    return TwoJudges(flat=flat, sharp=sharp, oracle=oracle, seed=seed)


def _echo(
    effects: NDArray[np.float64],
    deviations: NDArray[np.float64],
    generator: np.random.Generator,
    *,
    prompt_r: float,
    deviation_r: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw parts that correlate with the oracle's by the given amounts."""
    return (
        prompt_r * effects + math.sqrt(1 - prompt_r**2) * generator.standard_normal(effects.shape),
        deviation_r * deviations + math.sqrt(1 - deviation_r**2) * generator.standard_normal(deviations.shape),
    )


def _frozen(effects: NDArray[np.float64], deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    scores = math.sqrt(BETWEEN_SHARE) * effects + math.sqrt(1 - BETWEEN_SHARE) * deviations
    scores.setflags(write=False)
    return scores


_WRITTEN = ("scores.csv", "per_prompt.csv", "audit.json", "audit.html")
_PICK_HEADER = ("prompt_id", "best", "index", "text", "ids", "scores")
"""Keys with which a line of picks begins."""

_AUDITED_ON_A_PAGE = Feature((*TABLES.modules, *PAGES.modules))


@dataclass(frozen=True)
class Demo:
    """What the demo did."""

    folder: Path
    """Where the files are."""
    tasks: int
    answers: int
    local: result.Audit
    """The local judges on the bundled tasks, against the checkers."""
    picked: dict[str, float]
    """Mean label of the answers that each judge's selection picked."""
    paradox: result.Audit
    """Two simulated judges of equal global correlation."""
    policies: tuple[Policy, ...]
    """Ways to use one weak judge."""


def run_demo(
    folder: Path,
    *,
    seed: int = 0,
    force: bool = False,
    full: bool = True,
    begun: Callable[[], object] = lambda: None,
    then: Callable[[result.Audit], Sequence[Said]] | None = None,
) -> Demo:
    """Judge the bundled tasks, pick, audit, and write every file of the journey.

    `folder` is made if absent; a file there that no demo wrote is refused, and nothing written, unless `force`
    replaces it; `begun` is called when nothing is refused. Policies are tried where it is `full`. `then` returns what
    to type after an audit, for its page; calls of Python where it is None.
    """
    _AUDITED_ON_A_PAGE.require("the demo")
    if seed < 0:
        raise UsageError(f"a seed must not be negative, as {seed} is", hint="such as 0")
    tasks, judges = load_tasks(), [from_name(name) for name in NAMES]
    labels = {(t.pool.prompt_id, c.id): label(t, c) for t in tasks for c in t.pool.candidates}
    bundled = {
        "pools.jsonl": json_lines(_pool_line(task) for task in tasks),
        "labels.csv": writing.csv_text(writing.SHEET, ((*cell, value) for cell, value in labels.items())),
    }
    _refuse_foreign_files(folder, bundled, force=force)
    with text_files.file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    begun()
    for name, text in bundled.items():
        writing.write_whole(folder / name, text)
    judged = scoring.judge_pools_now([task.pool for task in tasks], judges)
    writing.write_whole(folder / "scores.csv", writing.csv_text(*scoring.score_table(judged, judges)))
    picked = {}
    for judge in judges:
        picks = _picks(tasks, judge, seed)
        name = judge.name.replace(":", "-")
        writing.write_whole(folder / f"winners-{name}.jsonl", pick_lines(picks))
        made = [labels[pick.prompt_id or "", pick.best_id] for pick in picks if pick.best_id is not None]
        picked[judge.name] = sum(made) / len(made)
    audit = front.audit(folder / "scores.csv", labels=folder / "labels.csv", pools=folder / "pools.jsonl")
    writing.write_whole(folder / "audit.json", json.dumps(audit.to_dict(), indent=2, allow_nan=False) + "\n")
    writing.write_whole(folder / "per_prompt.csv", writing.csv_frame(audit.per_prompt()))
    page.write_page(audit, folder / "audit.html", then=None if then is None else then(audit))
    paradox = front.audit(_long(two_judges(seed=seed)))
    policies = tuple(run_policies(tasks, folder, folder / "labels.csv", seed)) if full else ()
    answers = sum(len(task.pool.candidates) for task in tasks)
    return Demo(folder, len(tasks), answers, audit, picked, paradox, policies)


def _refuse_foreign_files(folder: Path, bundled: Mapping[str, str], *, force: bool) -> None:
    """Refuse a folder in which something of another kind stands where the demo writes."""
    for name, text in bundled.items():
        place = folder / name
        with text_files.file_errors(place):
            if not place.is_file() or place.read_bytes() != text.encode():
                writing.refuse_foreign(place, force=force)
    logs = (*folder.glob("winners-*.jsonl"), *folder.glob("picks-*.jsonl"))
    for place in (*(folder / name for name in _WRITTEN), *logs):
        writing.refuse_foreign(place, (scoring.SCORE_HEADER, per_prompt.ROW_HEADER, _PICK_HEADER), force=force)


def _pool_line(task: Task) -> dict[str, object]:
    return {
        "prompt_id": task.pool.prompt_id,
        "prompt": task.pool.prompt,
        "candidates": [{"id": candidate.id, "text": candidate.text} for candidate in task.pool.candidates],
    }


def _picks(
    tasks: Sequence[Task],
    judge: protocol.Judge,
    seed: int,
    strategy: Strategy | None = None,
    router: Router | None = None,
) -> list[selection.Selection]:
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


def _long(drawn: TwoJudges) -> pd.DataFrame:
    import numpy as np  # noqa: PLC0415 - with pandas, only where a frame is made
    import pandas as pd  # noqa: PLC0415

    prompts, candidates = drawn.oracle.shape
    cells = {
        "prompt_id": np.repeat([f"p{x:05d}" for x in range(prompts)], candidates),
        "candidate": np.tile([f"c{i}" for i in range(candidates)], prompts),
        "oracle_label": drawn.oracle.ravel(),
    }
    scores = {"flat": drawn.flat, "sharp": drawn.sharp}
    return pd.concat(
        [pd.DataFrame({**cells, "judge": name, "judge_score": values.ravel()}) for name, values in scores.items()]
    )
