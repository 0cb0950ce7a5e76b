"""A stack of judges, how good it is, and the weights that apply it: ``bonwise.stack/1``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from bonwise.auditing.result import ChoiceRecord
from bonwise.errors import FileError
from bonwise.estimates import EstimateRecord
from bonwise.loading import read_document
from bonwise.results import (
    Confidence,
    Count,
    Document,
    FrameRow,
    NonNegative,
    NotBlank,
    Number,
    Positive,
    Record,
    Share,
)
from bonwise.stacks.fitted_stack import FeatureScaling, JudgeStack, StackFeature
from bonwise.strict_json import json_object, refusal

__all__ = [
    "STACK_HINT",
    "CalibrationTenth",
    "FeatureRecord",
    "JudgeWorthRecord",
    "SmallerStack",
    "StackBaseline",
    "StackCalibration",
    "StackDocument",
    "StackModelRecord",
    "StackSettings",
    "prompt_digest",
    "read_stack",
    "read_stack_model",
]

SCHEMA = "bonwise.stack/1"

STACK_HINT = "make one with bonwise stack fit SCORES --out stack.json"

_Numbers = Annotated[list[Number], Field(min_length=1)]


class FeatureRecord(Record):
    """A column of features."""

    judge: str
    """Empty for a length, which is of no judge."""
    kind: Literal["score", "spread", "width", "length"]
    """The score, the standard deviation of the draws, the width of the stated interval, or the logarithm of the
    length of the text.
    """
    scale: NonNegative
    """What differences within a prompt are divided by, in the unit of the feature."""
    coefficient: Number
    """Weight of the feature on that scale."""


class StackModelRecord(Record):
    """A fitted stack."""

    features: Annotated[list[FeatureRecord], Field(min_length=1)]
    covariance: Annotated[list[_Numbers], Field(min_length=1)]
    """Of the features within prompts, on their scales: what gaps are filled by."""
    coefficient_covariance: Annotated[list[_Numbers], Field(min_length=1)]
    """Clustered by prompt."""
    temperature: Positive
    """Utilities are divided by it before they become chances."""
    unit: NonNegative
    """Labels per unit of expected regret."""
    seed: Count
    """Of the draws of the coefficients."""
    fallback: str | None
    """The judge that is taken alone, because cross-validation showed no gain of a stack."""
    digest: str
    """Of all of the above: a changed file is refused."""

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        count = len(self.features)
        for name in ("covariance", "coefficient_covariance"):
            rows = getattr(self, name)
            if len(rows) != count or any(len(row) != count for row in rows):
                raise ValueError(f"{name} is not {count} by {count}, one row a feature")
        columns = [(one.judge, one.kind) for one in self.features]
        if len(set(columns)) < len(columns):
            raise ValueError("a feature occurs twice")
        if not any(one.kind == "score" for one in self.features):
            raise ValueError("no feature is the score of a judge")
        if self.digest != _digest(self.to_dict()):
            raise ValueError("the model does not fit its digest: the file was changed after it was written")
        return self

    @classmethod
    def of(cls, stack: JudgeStack) -> StackModelRecord:
        """Return the record of a stack."""
        features = [
            FeatureRecord(judge=one.judge, kind=one.kind, scale=float(scale), coefficient=float(coefficient))
            for one, scale, coefficient in zip(stack.features, stack.scaling.scales, stack.coefficients, strict=True)
        ]
        values: dict[str, Any] = {
            "features": features,
            "covariance": stack.scaling.covariance.tolist(),
            "coefficient_covariance": stack.covariance.tolist(),
            "temperature": stack.temperature,
            "unit": stack.unit,
            "seed": stack.seed,
            "fallback": stack.fallback,
        }
        plain = {**values, "features": [one.to_dict() for one in features]}
        return cls(**values, digest=_digest(plain))

    def to_stack(self) -> JudgeStack:
        """Return the stack."""
        scaling = FeatureScaling(
            tuple(StackFeature(one.judge, one.kind) for one in self.features),
            np.array([one.scale for one in self.features], dtype=np.float64),
            np.array(self.covariance, dtype=np.float64),
        )
        return JudgeStack(
            scaling,
            np.array([one.coefficient for one in self.features], dtype=np.float64),
            np.array(self.coefficient_covariance, dtype=np.float64),
            float(self.temperature),
            float(self.unit),
            self.seed,
            self.fallback,
        )


class _StackFile(Record):
    """The part of a document that applies the stack."""

    model: StackModelRecord
    specs: dict[str, str] | None = None


def read_stack_model(path: str | Path) -> tuple[JudgeStack, Mapping[str, str]]:
    """Read what applies a stack from a document of schema ``bonwise.stack/1``; its figures are not looked at.

    Parameters
    ----------
    path : str or pathlib.Path

    Returns
    -------
    JudgeStack
    mapping of str to str
        The texts that make judges whose names do not.

    Raises
    ------
    bonwise.errors.FileError
        The file cannot be read, is another document, or its model was changed after it was written.
    """
    file = Path(path)
    found = json_object(file, STACK_HINT)
    if found.get("schema") != SCHEMA:
        raise FileError(f"{file}: not a document of schema {SCHEMA}", hint=STACK_HINT)
    told: dict[str, Any] = {key: found[key] for key in ("model", "specs") if key in found}
    try:
        read = _StackFile.model_validate(told)
    except ValidationError as error:
        raise FileError(f"{file}: {refusal(error, told)}", hint=STACK_HINT) from None
    return read.model.to_stack(), read.specs or {}


def _digest(values: dict[str, Any]) -> str:
    told = {key: value for key, value in values.items() if key != "digest"}
    # A whole number and the float that equals it are one number, whichever way a reader writes it.
    text = json.dumps(_plain(told), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


Metrics = dict[str, EstimateRecord]


class JudgeWorthRecord(Record):
    """What a judge is worth to the stack."""

    loss: EstimateRecord
    """Recovery of the stack less that of a stack of the other judges, paired by prompt; the interval does not count
    that stacks are fitted again.
    """
    recovery: Number | None
    """Of the stack of the other judges, out of fold."""
    calls: Share
    """Share of the calls that is saved without the judge."""
    cost: Share | None = None
    """Share of the cost that is saved, where prices were given."""


class SmallerStack(Record):
    """A stack of some of the judges."""

    judges: list[str]
    recovery: Number | None
    """Out of fold."""
    calls: Share
    """Share of the calls of all judges that it takes."""
    cost: Share | None = None
    """Share of the cost, where prices were given."""


class StackBaseline(Record):
    """Picks by another rule."""

    metrics: Metrics
    """Gain and recovery."""
    difference: Metrics
    """The stack less this rule, paired by prompt."""


class CalibrationTenth(Record):
    """Candidates whose P(best) lies in one tenth of the range."""

    low: Share
    """Ends of the tenth."""
    high: Share
    """Ends of the tenth."""
    predicted: Share
    """Mean P(best)."""
    observed: Share
    """Share of them that have the highest label."""
    candidates: Count


class StackCalibration(Record):
    """How P(best) agrees with the labels, out of fold."""

    tenths: list[CalibrationTenth]
    """Empty ones are left out."""
    largest_gap: Share | None
    """The largest distance of predicted and observed among tenths with 50 candidates or more."""


class StackSettings(Record):
    """What was asked for, and how prompts were dealt out."""

    confidence: Confidence
    """Of the two-sided intervals."""
    seed: Count
    further_features: list[str]
    """Features beside the scores."""
    folds: Count
    """Prompts are dealt into so many folds, so many times."""
    partitions: Count
    """Prompts are dealt into so many folds, so many times."""
    groups: Count
    """Of the jackknife behind the intervals."""
    ridge: Positive
    """That was chosen."""
    exclude: list[str]
    """Candidates left out."""
    shape: Literal["rectangular", "ragged"]
    version: str
    """Of bonwise."""


class StackDocument(Document):
    """A stack of judges, fitted to labelled candidates, and what it is worth on prompts it was not fitted to."""

    schema_: Literal["bonwise.stack/1"] = Field(default="bonwise.stack/1", alias="schema")
    source: str
    """Where the scores came from."""
    prompts: Count
    """Prompts behind the metrics: every candidate is labelled, and scored by one judge at least."""
    fitted_prompts: Count
    """What the stack was fitted to: prompts with two labelled candidates or more, and their labels."""
    fitted_labels: Count
    """What the stack was fitted to: prompts with two labelled candidates or more, and their labels."""
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
    missing: dict[str, Count]
    """Candidates without a score, by judge."""
    calibration: StackCalibration
    fitted_to: list[Annotated[str, NotBlank]]
    """Digests of the ids of the prompts that the stack was fitted to."""
    specs: dict[str, str] | None = None
    """The texts that make judges whose names do not, such as ``pointwise:openai/gpt-5-mini``."""
    model: StackModelRecord
    """What applies the stack."""
    settings: StackSettings

    frame_columns = ("who", "metric", "estimate", "low", "high", "se", "n")

    def to_stack(self) -> JudgeStack:
        """Return what applies the stack."""
        return self.model.to_stack()

    def fitted(self, prompt_ids: list[str]) -> int:
        """Count the prompts that the stack was fitted to.

        Parameters
        ----------
        prompt_ids : list of str
        """
        known = set(self.fitted_to)
        return sum(prompt_digest(one) in known for one in prompt_ids)

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield a row for each metric of the stack, of each judge and of each baseline."""
        everyone = {
            "stack": self.metrics,
            "best judge": self.best_out_of_fold,
            **self.judges,
            **{name: one.metrics for name, one in self.baselines.items()},
        }
        for who, metrics in everyone.items():
            for name, found in metrics.items():
                figures = {key: getattr(found, key) for key in ("estimate", "low", "high", "se", "n")}
                yield {"who": who, "metric": name, **figures}


def prompt_digest(prompt_id: str) -> str:
    """Return what a file keeps of the id of a prompt.

    Examples
    --------
    >>> prompt_digest("p1")
    'e81665c97894ce91'
    """
    return hashlib.blake2b(prompt_id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def read_stack(path: str | Path) -> StackDocument:
    """Read a stack that ``bonwise stack fit --out`` wrote.

    Parameters
    ----------
    path : str or pathlib.Path

    Raises
    ------
    bonwise.errors.FileError
        The file cannot be read, is another document, or was changed after it was written.
    """
    return read_document(path, StackDocument, hint=STACK_HINT)
