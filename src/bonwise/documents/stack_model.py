"""What applies a stack of judges: features, weights and their covariance, as a file holds them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from bonwise.data.feature_scaling import FeatureScaling, StackFeature
from bonwise.data.judge_stack import JudgeStack
from bonwise.documents.record import Record
from bonwise.documents.refusal import refusal
from bonwise.documents.strict_json import json_object
from bonwise.documents.values import Count, NonNegative, Number, Positive
from bonwise.errors import FileError

__all__ = ["STACK_HINT", "FeatureRecord", "StackModelRecord", "read_stack_model"]

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
