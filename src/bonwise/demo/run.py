"""The whole journey on bundled tasks: judge, select, label by checkers, audit, all at run time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bonwise.auditing.front import audit
from bonwise.auditing.page import write_page
from bonwise.auditing.per_prompt import ROW_HEADER
from bonwise.auditing.result import Audit
from bonwise.demo.policies import Policy, json_lines, pick_lines, run_policies
from bonwise.demo.tasks import Task, label, load_tasks
from bonwise.errors import UsageError
from bonwise.extras import PAGES, TABLES, Feature
from bonwise.judges.local import NAMES, from_name
from bonwise.judges.protocol import Judge
from bonwise.judges.scoring import SCORE_HEADER, judge_pools_now, score_table
from bonwise.report.blocks import Said
from bonwise.selection.front import select
from bonwise.selection.selection import Selection
from bonwise.table.text_files import file_errors
from bonwise.table.writing import SHEET, csv_frame, csv_text, refuse_foreign, write_whole

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


__all__ = ["BETWEEN_SHARE", "GLOBAL_R", "Demo", "TwoJudges", "run_demo", "two_judges"]


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
    """Draw two judges of equal global correlation, of recovery 0 and about 0.6.

    Parameters
    ----------
    prompts : int
        How many prompts to draw.
    candidates : int
        How many candidates each prompt has, at least 2.
    seed : int
        Fixes the draw.

    Returns
    -------
    TwoJudges
        The scores and the oracle, as read-only arrays.

    Raises
    ------
    UsageError
        If there would be no prompt, or nothing to choose from.

    Examples
    --------
    >>> drawn = two_judges(prompts=3, candidates=2)
    >>> drawn.flat.shape
    (3, 2)
    """
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
    local: Audit
    """The local judges on the bundled tasks, against the checkers."""
    picked: dict[str, float]
    """Mean label of the answers that each judge's selection picked."""
    paradox: Audit
    """Two simulated judges of equal global correlation."""
    policies: tuple[Policy, ...]
    """Ways to use one weak judge."""


def run_demo(
    folder: Path, *, seed: int = 0, force: bool = False, then: Callable[[Audit], Sequence[Said]] | None = None
) -> Demo:
    """Judge the bundled tasks, pick, audit, and write every file of the journey.

    Parameters
    ----------
    folder : pathlib.Path
        Made if absent; holds ``pools.jsonl``, ``labels.csv``, ``scores.csv``, one file of winners a
        judge, one of picks a policy, ``audit.json``, ``audit.html`` and ``per_prompt.csv`` afterwards.
    seed : int
        Breaks ties and draws the two simulated judges.
    force : bool
        Whether to replace files there that bonwise did not write.
    then : callable, optional
        Returns what to type after an audit, for its page; calls of Python where it is None.

    Raises
    ------
    bonwise.errors.FileError
        A file stands there that no demo wrote; nothing is written.
    bonwise.errors.MissingExtraError
        The extra that audits and draws the page is not installed; no file is written.
    """
    _AUDITED_ON_A_PAGE.require("the demo")
    if seed < 0:
        raise UsageError(f"a seed must not be negative, as {seed} is", hint="such as 0")
    tasks, judges = load_tasks(), [from_name(name) for name in NAMES]
    labels = {(t.pool.prompt_id, c.id): label(t, c) for t in tasks for c in t.pool.candidates}
    bundled = {
        "pools.jsonl": json_lines(_pool_line(task) for task in tasks),
        "labels.csv": csv_text(SHEET, ((*cell, value) for cell, value in labels.items())),
    }
    _refuse_foreign_files(folder, bundled, force=force)
    with file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in bundled.items():
        write_whole(folder / name, text)
    judged = judge_pools_now([task.pool for task in tasks], judges)
    write_whole(folder / "scores.csv", csv_text(*score_table(judged, judges)))
    picked = {}
    for judge in judges:
        picks = _picks(tasks, judge, seed)
        name = judge.name.replace(":", "-")
        write_whole(folder / f"winners-{name}.jsonl", pick_lines(picks))
        made = [labels[pick.prompt_id or "", pick.best_id] for pick in picks if pick.best_id is not None]
        picked[judge.name] = sum(made) / len(made)
    found = audit(folder / "scores.csv", labels=folder / "labels.csv", pools=folder / "pools.jsonl")
    write_whole(folder / "audit.json", json.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n")
    write_whole(folder / "per_prompt.csv", csv_frame(found.per_prompt()))
    write_page(found, folder / "audit.html", then=None if then is None else then(found))
    paradox = audit(_long(two_judges(seed=seed)))
    policies = tuple(run_policies(tasks, folder, folder / "labels.csv", seed))
    answers = sum(len(task.pool.candidates) for task in tasks)
    return Demo(folder, len(tasks), answers, found, picked, paradox, policies)


def _refuse_foreign_files(folder: Path, bundled: Mapping[str, str], *, force: bool) -> None:
    """Refuse a folder in which something of another kind stands where the demo writes."""
    for name, text in bundled.items():
        place = folder / name
        with file_errors(place):
            if not place.is_file() or place.read_bytes() != text.encode():
                refuse_foreign(place, force=force)
    logs = (*folder.glob("winners-*.jsonl"), *folder.glob("picks-*.jsonl"))
    for place in (*(folder / name for name in _WRITTEN), *logs):
        refuse_foreign(place, (SCORE_HEADER, ROW_HEADER, _PICK_HEADER), force=force)


def _pool_line(task: Task) -> dict[str, object]:
    return {
        "prompt_id": task.pool.prompt_id,
        "prompt": task.pool.prompt,
        "candidates": [{"id": candidate.id, "text": candidate.text} for candidate in task.pool.candidates],
    }


def _picks(tasks: Sequence[Task], judge: Judge, seed: int) -> list[Selection]:
    return [
        select(
            task.pool.prompt,
            task.pool.candidates,
            judge=judge,
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
