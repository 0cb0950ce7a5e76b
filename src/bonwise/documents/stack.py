"""A stack of judges and how good it is: ``bonwise.stack/1``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from bonwise.data.judge_stack import JudgeStack
from bonwise.documents.choice import ChoiceRecord
from bonwise.documents.document import Document, FrameRow
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.reading import read_document
from bonwise.documents.record import Record
from bonwise.documents.stack_model import STACK_HINT, StackModelRecord
from bonwise.documents.values import Confidence, Count, NotBlank, Number, Positive, Share

__all__ = [
    "MODEL",
    "CalibrationTenth",
    "JudgeWorthRecord",
    "SmallerStack",
    "StackBaseline",
    "StackCalibration",
    "StackDocument",
    "StackSettings",
    "prompt_digest",
    "read_stack",
]

Metrics = dict[str, EstimateRecord]


class JudgeWorthRecord(Record):
    """What a judge is worth to the stack.

    Parameters
    ----------
    loss : EstimateRecord
        Recovery of the stack less that of a stack of the other judges, paired by prompt; the interval does not count
        that stacks are fitted again.
    recovery : float or None
        Of the stack of the other judges, out of fold.
    calls : float
        Share of the calls that is saved without the judge.
    cost : float, optional
        Share of the cost that is saved, where prices were given.
    """

    loss: EstimateRecord
    recovery: Number | None
    calls: Share
    cost: Share | None = None


class SmallerStack(Record):
    """A stack of some of the judges.

    Parameters
    ----------
    judges : list of str
    recovery : float or None
        Out of fold.
    calls : float
        Share of the calls of all judges that it takes.
    cost : float, optional
        Share of the cost, where prices were given.
    """

    judges: list[str]
    recovery: Number | None
    calls: Share
    cost: Share | None = None


class StackBaseline(Record):
    """Picks by another rule.

    Parameters
    ----------
    metrics : dict of str to EstimateRecord
        Gain and recovery.
    difference : dict of str to EstimateRecord
        The stack less this rule, paired by prompt.
    """

    metrics: Metrics
    difference: Metrics


class CalibrationTenth(Record):
    """Candidates whose P(best) lies in one tenth of the range.

    Parameters
    ----------
    low, high : float
        Ends of the tenth.
    predicted : float
        Mean P(best).
    observed : float
        Share of them that have the highest label.
    candidates : int
    """

    low: Share
    high: Share
    predicted: Share
    observed: Share
    candidates: Count


class StackCalibration(Record):
    """How P(best) agrees with the labels, out of fold.

    Parameters
    ----------
    tenths : list of CalibrationTenth
        Empty ones are left out.
    largest_gap : float or None
        The largest distance of predicted and observed among tenths with 50 candidates or more.
    """

    tenths: list[CalibrationTenth]
    largest_gap: Share | None


class StackSettings(Record):
    """What was asked for, and how prompts were dealt out.

    Parameters
    ----------
    confidence : float
        Of the two-sided intervals.
    seed : int
    further_features : list of str
        Features beside the scores.
    folds, partitions : int
        Prompts are dealt into so many folds, so many times.
    groups : int
        Of the jackknife behind the intervals.
    ridge : float
        That was chosen.
    exclude : list of str
        Candidates left out.
    shape : {"rectangular", "ragged"}
    version : str
        Of bonwise.
    """

    confidence: Confidence
    seed: Count
    further_features: list[str]
    folds: Count
    partitions: Count
    groups: Count
    ridge: Positive
    exclude: list[str]
    shape: Literal["rectangular", "ragged"]
    version: str


class StackDocument(Document):
    """A stack of judges, fitted to labelled candidates, and what it is worth on prompts it was not fitted to.

    Parameters
    ----------
    source : str
        Where the scores came from.
    prompts : int
        Prompts behind the metrics: every candidate is labelled, and scored by one judge at least.
    fitted_prompts, fitted_labels : int
        What the stack was fitted to: prompts with two labelled candidates or more, and their labels.
    metrics : dict of str to EstimateRecord
        Of the stack, out of fold.
    judges : dict of str to dict of str to EstimateRecord
        Of each judge, by the audit.
    best_judge : str or None
        The judge with the highest recovery; null where no judge has one.
    choice : dict of str to ChoiceRecord, optional
        The best judge by ``recovery`` and by ``gain``, with intervals that hold after the choice.
    best_out_of_fold : dict of str to EstimateRecord
        Gain and recovery of picking by the judge that is the best on the other folds.
    difference : dict of str to EstimateRecord
        Of gain and recovery: the stack less the best judge, both out of fold.
    fallback : str or None
        The judge that is taken alone, because cross-validation showed no gain of a stack.
    baselines : dict of str to StackBaseline
    worth : dict of str to JudgeWorthRecord
        What is lost without each judge; empty where the stack falls back.
    smaller : list of SmallerStack
        Stacks of fewer and fewer judges.
    smallest : SmallerStack or None
        The one of the fewest judges that keeps .95 of the recovery.
    left_out : dict of str to str
        Judges that are no part of the stack, and why.
    missing : dict of str to int
        Candidates without a score, by judge.
    calibration : StackCalibration
    fitted_to : list of str
        Digests of the ids of the prompts that the stack was fitted to.
    specs : dict of str to str, optional
        The texts that make judges whose names do not, such as ``pointwise:openai/gpt-5-mini``.
    model : StackModelRecord
        What applies the stack.
    settings : StackSettings
    """

    schema_: Literal["bonwise.stack/1"] = Field(default="bonwise.stack/1", alias="schema")
    source: str
    prompts: Count
    fitted_prompts: Count
    fitted_labels: Count
    metrics: Metrics
    judges: dict[str, Metrics]
    best_judge: str | None
    choice: dict[str, ChoiceRecord] | None = None
    best_out_of_fold: Metrics
    difference: Metrics
    fallback: str | None
    baselines: dict[str, StackBaseline]
    worth: dict[str, JudgeWorthRecord]
    smaller: list[SmallerStack]
    smallest: SmallerStack | None
    left_out: dict[str, str]
    missing: dict[str, Count]
    calibration: StackCalibration
    fitted_to: list[Annotated[str, NotBlank]]
    specs: dict[str, str] | None = None
    model: StackModelRecord
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


MODEL = StackDocument
