"""A stack of judges, how good it is, and the weights that apply it: ``bonwise.stack/1``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from bonwise import results
from bonwise.auditing.result import ChoiceRecord
from bonwise.errors import FileError
from bonwise.estimates import EstimateRecord
from bonwise.loading import read_document
from bonwise.stacks import STACK
from bonwise.stacks.fitted_stack import JudgeStack
from bonwise.strict_json import json_object, refusal
from bonwise.table.facts import DroppedPrompt, UnlabelledCandidates, ValuesRead
from bonwise.table.writing import write_whole

if TYPE_CHECKING:
    from bonwise.arrays import Floats
    from bonwise.table.panel import Panel
    from bonwise.table.score_table import ScoreTable

SCHEMA = "bonwise.stack/1"

STACK_HINT = "make one with bonwise stack fit SCORES --save stack.json"


class _StackFile(results.Record):
    """The part of a document that applies the stack."""

    model: JudgeStack
    specs: dict[str, str] | None = None


def read_stack_model(path: str | Path) -> tuple[JudgeStack, Mapping[str, str]]:
    """Read from ``bonwise.stack/1`` what applies a stack, and texts of judges; changed, it is a FileError."""
    file = Path(path)
    whole = json_object(file, STACK_HINT)
    if whole.get("schema") != SCHEMA:
        raise FileError(f"{file}: not a document of schema {SCHEMA}", hint=STACK_HINT)
    part: dict[str, Any] = {key: whole[key] for key in ("model", "specs") if key in whole}
    try:
        read = _StackFile.model_validate(part)
    except ValidationError as error:
        raise FileError(f"{file}: {refusal(error, part)}", hint=STACK_HINT) from None
    return read.model, read.specs or {}


Metrics = Annotated[dict[str, EstimateRecord], results.with_every(("recovery", "gain"))]


class JudgeWorthRecord(results.Record):
    """What a judge is worth to the stack."""

    loss: EstimateRecord
    """Recovery of the stack less that of a stack of the other judges, paired by prompt; the interval does not count
    that stacks are fitted again.
    """
    recovery: results.Number | None
    """Of the stack of the other judges, out of fold."""
    calls: results.Share
    """Share of the calls that is saved without the judge."""
    cost: results.Share | None = None
    """Share of the cost that is saved, where prices were given."""


class SmallerStack(results.Record):
    """A stack of some of the judges."""

    judges: list[str]
    recovery: results.Number | None
    """Out of fold."""
    calls: results.Share
    """Share of the calls of all judges that it takes."""
    cost: results.Share | None = None
    """Share of the cost, where prices were given."""


class StackBaseline(results.Record):
    """Picks by another rule."""

    metrics: Metrics
    """Gain and recovery."""
    difference: Metrics
    """The stack less this rule, paired by prompt."""


class CalibrationTenth(results.Record):
    """Candidates whose P(best) lies in one tenth of the range."""

    low: results.Share
    high: results.Share
    """Both: ends of the tenth."""
    predicted: results.Share
    """Mean P(best)."""
    observed: results.Share
    """Share of them that have the highest label."""
    candidates: results.Count


class StackCalibration(results.Record):
    """How P(best) agrees with the labels, out of fold."""

    tenths: list[CalibrationTenth]
    """Empty ones are left out."""
    largest_gap: results.Share | None
    """The largest distance of predicted and observed among tenths with 50 candidates or more."""


class StackSettings(ValuesRead):
    """What was asked for, and how prompts were dealt out."""

    confidence: results.Confidence
    """Of the two-sided intervals."""
    seed: results.Count
    further_features: list[str]
    """Features beside the scores."""
    folds: results.Count
    partitions: results.Count
    """Both: prompts are dealt into so many folds, so many times."""
    groups: results.Count
    """Of the jackknife behind the intervals."""
    ridge: results.Positive
    """That was chosen."""
    exclude: list[str]
    """Candidates left out."""
    shape: Literal["rectangular", "ragged"]
    version: str
    """Of bonwise."""
    unlabelled: UnlabelledCandidates | None = None


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """The table that a stack was fitted to, with its scores there."""

    table: ScoreTable
    panel: Panel
    """The cells of the table."""
    utilities: Floats
    """Of a prompt that the stack was fitted to by the fit to the other folds, of any other prompt by the stack
    itself; NaN of a cell without a score.
    """


class StackFit(results.Document):
    """A stack of judges, fitted to labelled candidates, and what it is worth on prompts it was not fitted to."""

    schema_: Literal["bonwise.stack/1"] = Field(default="bonwise.stack/1", alias="schema")
    source: str
    """Where the scores came from."""
    prompts: results.Count
    """Prompts behind the metrics: every candidate is labelled, and scored by one judge at least."""
    fitted_prompts: results.Count
    fitted_labels: results.Count
    """Both: what the stack was fitted to: prompts with two labelled candidates or more, and their labels."""
    metrics: Metrics
    """Of the stack, out of fold."""
    judges: dict[str, Metrics]
    """Of each judge, by the audit."""
    best_judge: str | None
    """The judge with the highest recovery; null where no judge has one."""
    choice: dict[str, ChoiceRecord] | None = None
    """The best judge by ``recovery`` and by ``gain``, with intervals that hold after the choice."""
    best_out_of_fold: Metrics
    """Gain and recovery of picking by the judge that is the best on the other folds."""
    difference: Metrics
    """Of gain and recovery: the stack less the best judge, both out of fold."""
    fallback: str | None
    """The judge that is taken alone, because cross-validation showed no gain of a stack."""
    baselines: dict[str, StackBaseline]
    worth: dict[str, JudgeWorthRecord]
    """What is lost without each judge; empty where the stack falls back."""
    smaller: list[SmallerStack]
    """Stacks of fewer and fewer judges."""
    smallest: SmallerStack | None
    """The one of the fewest judges that keeps .95 of the recovery."""
    left_out: dict[str, str]
    """Judges that are no part of the stack, and why."""
    missing: dict[str, results.Count]
    """Candidates without a score, by judge."""
    unscored: results.Count | None = None
    """Candidates that no judge scored: they have no utility, and are picked only where no other has one."""
    dropped: list[DroppedPrompt] | None = None
    """Prompts in no figure, because ``unpicked`` is ``drop`` and no judge scored a candidate."""
    calibration: StackCalibration
    fitted_to: list[Annotated[str, results.NotBlank]]
    """Digests of the ids of the prompts that the stack was fitted to."""
    specs: dict[str, str] | None = None
    """The texts that make judges whose names do not, such as ``pointwise:openai/gpt-5-mini``."""
    model: JudgeStack
    """What applies the stack."""
    settings: StackSettings

    frame_columns = ("who", "metric", "estimate", "low", "high", "se", "n")

    @model_validator(mode="after")
    def _check_worth(self) -> Self:
        if self.worth.keys() - {feature.judge for feature in self.model.features if feature.kind == "score"}:
            raise ValueError("has a worth of a judge whose scores are not among model.features")
        return self

    def __repr__(self) -> str:
        what = f"falls back to {self.fallback!r}" if self.fallback else f"{len(self.model.judges)} judges"
        return f"<StackFit: {what}, {self.fitted_labels} labels>"

    def __getitem__(self, key: str) -> Any:
        """Return a metric of the stack, out of fold; of any other name the value of the JSON key."""
        return self.metrics[key] if key in self.metrics else super().__getitem__(key)

    def to_stack(self) -> JudgeStack:
        """Return what applies the stack."""
        return self.model

    def save(self, path: str | Path) -> None:
        """Write the document, which ``bonwise.Stack`` and ``--judge stack:FILE`` read."""
        write_whole(Path(path), self.to_json())

    def scores(self, name: str = STACK) -> ScoreTable:
        """Return the table with the stack as a further judge.

        A prompt that the stack was fitted to is scored by the fit to the other folds; any other prompt by the stack
        itself. So the scores can be audited on the labels that the stack was fitted to.

        Parameters
        ----------
        name : str
            What the stack is called as a judge.
        """
        from bonwise.stacks.stack_table import with_judge  # noqa: PLC0415 - a stack is loaded without pandas

        scored: ScoredTable = self.source_of("scores()")
        return with_judge(scored.table, scored.panel, scored.utilities, name)

    def fitted(self, prompt_ids: list[str]) -> int:
        """Count the prompts that the stack was fitted to.

        Parameters
        ----------
        prompt_ids : list of str
        """
        known = set(self.fitted_to)
        return sum(prompt_digest(prompt) in known for prompt in prompt_ids)

    def frame_rows(self) -> Iterator[results.FrameRow]:
        """Yield a row for each metric of the stack, of each judge and of each baseline."""
        everyone = {
            "stack": self.metrics,
            "best judge": self.best_out_of_fold,
            **self.judges,
            **{name: rule.metrics for name, rule in self.baselines.items()},
        }
        for who, metrics in everyone.items():
            for name, metric in metrics.items():
                figures = {key: getattr(metric, key) for key in ("estimate", "low", "high", "se", "n")}
                yield {"who": who, "metric": name, **figures}


def prompt_digest(prompt_id: str) -> str:
    """Return what a file keeps of the id of a prompt."""
    return hashlib.blake2b(prompt_id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def read_stack(path: str | Path) -> StackFit:
    """Read a stack that ``bonwise stack fit --save`` wrote; one that was changed afterwards is a FileError."""
    return read_document(path, StackFit, hint=STACK_HINT)
