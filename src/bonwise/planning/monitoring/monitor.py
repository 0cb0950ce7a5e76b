"""Labels as they come in: go on labelling, or stop?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bonwise.data.panel import Shape
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable
from bonwise.data.votes import Ties
from bonwise.errors import UsageError
from bonwise.planning.monitoring.arguments import TAKEN_BY, Question, check_arguments, earliest_look
from bonwise.planning.monitoring.label_order import LabelledPrompts, labelled_in_order
from bonwise.planning.monitoring.vote_order import votes_in_order
from bonwise.planning.monitoring.watching import (
    Look,
    Verdict,
    Watched,
    watch_precision,
    watch_significance,
    watch_votes,
)
from bonwise.planning.monitoring.words import of_order, of_prompts, of_verdict, of_votes
from bonwise.release import release
from bonwise.stats.sequential.e_process import log_wealth, mixture_weight
from bonwise.stats.sequential.running_ratio import RunningRatio, influence_kurtosis
from bonwise.stats.sequential.sequential_precision import STEP

if TYPE_CHECKING:
    from bonwise.data.label_design import LabelDesign

__all__ = ["Monitor", "Question", "monitor"]

_TARGET = 400
"""Labelled prompts after which the confidence sequence is narrowest where no number is planned."""


@dataclass(frozen=True, eq=False)
class Monitor:
    """What the labels so far say about going on.

    Parameters
    ----------
    question : {"precision", "significance", "preference"}
    verdict : {"continue", "stop: precise enough", "stop: better", "stop: not better"}
    watched : Watched
        Estimate, interval and looks behind it.
    sentences : tuple of str
    data, settings : mapping
        Counts, and what was asked; `to_dict` repeats both.
    """

    question: Question
    verdict: Verdict
    watched: Watched = field(repr=False)
    sentences: tuple[str, ...] = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)

    @property
    def now(self) -> Look:
        """Estimate and interval after all labels."""
        return self.watched.now

    @property
    def stopped(self) -> Look | None:
        """The first look at which the rule said stop."""
        return self.watched.stopped

    @property
    def expected_more(self) -> int | None:
        """About how many more prompts or votes are to be expected; None where no number can be named."""
        return self.watched.expected_more

    def __repr__(self) -> str:
        return f"<Monitor of {self.question}: {self.verdict} after {self.now.n}>"

    def __str__(self) -> str:
        from bonwise.report.monitor_text import monitor_text  # noqa: PLC0415 - rendering loads rich

        return monitor_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.monitor/1``; it holds no NaN."""
        return {
            "schema": "bonwise.monitor/1",
            "question": self.question,
            "verdict": self.verdict,
            "now": self.now.to_dict(),
            "stopped": None if self.stopped is None else self.stopped.to_dict(),
            "next_look": self.watched.next_look,
            "expected_more": self.expected_more,
            "looks": [look.to_dict() for look in self.watched.looks],
            "data": dict(self.data),
            "settings": dict(self.settings),
            "sentences": list(self.sentences),
        }


def monitor(  # noqa: PLR0913 - all but the source are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    question: Question,
    labels: str | Path | pd.DataFrame | None = None,
    half_width: float | None = None,
    than: float | None = None,
    planned: int | None = None,
    first_look: int | None = None,
    confidence: float = 0.95,
    judge: str | None = None,
    exclude: Sequence[str] = (),
    shape: Shape | None = None,
    columns: Mapping[str, str] | None = None,
    label_scale: Scale | None = None,
    design: str | Path | LabelDesign | None = None,
    verdict: str | None = None,
    ties: Ties | None = None,
    pair: Sequence[str] = (),
    prompt: str | None = None,
    margin: float | None = None,
) -> Monitor:
    """Decide whether the labels so far are enough, by a rule that may be asked as often as one likes.

    All that the rule depends on (half-width, reference, plan, margin) is to be fixed before the first label.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
        Scores, and without `labels` the labels too, its rows in the order of labelling; for preferences the votes.
    question : {"precision", "significance", "preference"}
        Recovery known to a half-width; recovery above `than`; first answer preferred by more than `than`.
    labels : str, pathlib.Path or pandas.DataFrame, optional
        Label file; the order of its rows is that of labelling.
    half_width : float, optional
        Precision: of recovery's interval, above 0; needed there.
    than : float, optional
        Significance: a recovery below 1, 0 unless given. Preference: a share in (0, 1), 0.5 unless given.
    planned : int, optional
        Labelled prompts that a fixed design would take. Precision: the first look is at max(30, a tenth of it);
        significance: the confidence sequence is narrowest there, at 400 unless given.
    first_look : int, optional
        A later first look, in labelled prompts; an earlier one is refused.
    confidence : float
        In [0.5, 1): of the interval, and 1 minus the chance of ever making a false claim.
    judge : str, optional
        Needed where the table has several.
    exclude : sequence of str
        Candidate names to leave out.
    shape : {"rectangular", "ragged"}, optional
        Forced.
    columns : mapping of str to str, optional
        Role to column name.
    label_scale : Scale, optional
        Declared scale of the labels.
    design : str, pathlib.Path or LabelDesign, optional
        Uniform draw that the labelled prompts come from.
    verdict : str, optional
        Preference: column of the votes; needed there.
    ties : {"drop", "half", "pessimistic"}, optional
        Preference: needed where there are ties.
    pair : sequence of str
        Preference: the two columns that name the models, where they change places.
    prompt : str, optional
        Preference: column of the prompt, each with one vote at most.
    margin : float, optional
        Preference: the expected distance of the share from one half, 0.1 unless given; it tunes the mixture.

    Returns
    -------
    Monitor

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or argument, how to mend.

    Examples
    --------
    >>> votes = pd.DataFrame({"winner": ["a"] * 30 + ["b"] * 2})
    >>> monitor(votes, question="preference", verdict="winner")
    <Monitor of preference: stop: better after 32>
    """
    asked = {name: value for name, value in locals().items() if name in TAKEN_BY}
    check_arguments(question, confidence, asked)
    if question == "preference":
        return _preference(source, confidence, asked)
    first = earliest_look(question, planned, first_look)
    prompts = labelled_in_order(
        source,
        labels=labels,
        judge=judge,
        exclude=exclude,
        shape=shape,
        columns=columns,
        label_scale=label_scale,
        design=design,
    )
    return _recovery(prompts, question, confidence, {**asked, "first_look": first, "exclude": list(exclude)})


def _recovery(prompts: LabelledPrompts, question: Question, confidence: float, asked: Mapping[str, Any]) -> Monitor:
    planned, first = asked["planned"], asked["first_look"]
    running = RunningRatio.of(prompts.gained, prompts.possible)
    settings: dict[str, Any] = {"confidence": confidence, "planned": planned, "first_look": first}
    if question == "precision":
        settings |= {"half_width": float(asked["half_width"]), "step": STEP}
        found = watch_precision(running, half_width=settings["half_width"], first=first, confidence=confidence)
    else:
        target = planned or _TARGET
        settings |= {"than": float(asked["than"] or 0.0), "target": target, "step": 1}
        found = watch_significance(running, than=settings["than"], first=first, target=target, confidence=confidence)
    settings |= {"judge": prompts.judge, "exclude": asked["exclude"], "shape": prompts.shape, "version": release()}
    kurtosis = influence_kurtosis(prompts.gained, prompts.possible) if len(prompts.gained) else float("nan")
    data = {
        "source": prompts.source,
        "prompts": prompts.pools,
        "labelled_prompts": len(prompts.gained),
        "partly_labelled_prompts": prompts.partly,
        "dropped": [{"prompt_id": one.prompt_id, "reason": one.reason} for one in prompts.dropped],
        "labels_left_out": dict(prompts.labels_left_out),
        "kurtosis": kurtosis if kurtosis == kurtosis else None,  # noqa: PLR0124 - NaN
    }
    sentences = (
        *of_verdict(found, settings, "labelled prompts"),
        *of_prompts(question, found, data, settings),
        *of_order(asked["design"] is not None, prompts.sorted_by_id, len(prompts.gained)),
    )
    return Monitor(question, found.verdict, found, sentences, data, settings)


def _preference(source: Any, confidence: float, asked: Mapping[str, Any]) -> Monitor:
    if isinstance(source, ScoreTable):
        raise UsageError("a table of scores holds no votes", hint="give the file or frame of the votes")
    votes = votes_in_order(
        source, verdict=asked["verdict"], ties=asked["ties"], pair=asked["pair"], prompt=asked["prompt"]
    )
    than = 0.5 if asked["than"] is None else float(asked["than"])
    margin = 0.1 if asked["margin"] is None else float(asked["margin"])
    weight = mixture_weight(margin)
    found = watch_votes(votes.worth, than=than, weight=weight, confidence=confidence)
    evidence = float(log_wealth(float(votes.worth.sum()), float(len(votes.worth)), weight, than))
    settings = {
        "confidence": confidence,
        "than": than,
        "margin": margin,
        "mixture": weight,
        "ties": asked["ties"],
        "sides": list(votes.sides),
        "version": release(),
    }
    data = {
        "source": votes.source,
        "votes": len(votes.worth),
        "ties": votes.tied,
        "blank": votes.blank,
        "log_e_value": evidence,
    }
    sentences = (*of_verdict(found, settings, "votes"), *of_votes(found, data, settings, asked["prompt"] is not None))
    return Monitor("preference", found.verdict, found, sentences, data, settings)
