"""Labels as they come in: go on labelling, or stop?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from bonwise.data.names import names_of
from bonwise.data.panel import Shape
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable
from bonwise.data.votes import Ties
from bonwise.errors import UsageError
from bonwise.planning.monitoring.label_order import LabelledPrompts, labelled_in_order
from bonwise.planning.monitoring.request import Question, Request
from bonwise.planning.monitoring.sentences import of_order, of_prompts, of_verdict, of_votes
from bonwise.planning.monitoring.stopping_rules import (
    Look,
    Verdict,
    Watched,
    watch_precision,
    watch_significance,
    watch_votes,
)
from bonwise.planning.monitoring.vote_order import votes_in_order
from bonwise.release import release
from bonwise.shown import Shown
from bonwise.stats.sequential.e_process import log_wealth, mixture_weight
from bonwise.stats.sequential.running_ratio import RunningRatio, influence_kurtosis
from bonwise.stats.sequential.sequential_precision import STEP

if TYPE_CHECKING:
    from bonwise.data.label_design import LabelDesign

__all__ = ["Monitor", "Question", "monitor"]

_TARGET = 400
"""Labelled prompts after which the confidence sequence is narrowest where no number is planned."""

Describes = Literal["all prompts", "labelled prompts", "votes"]


@dataclass(frozen=True, eq=False)
class Monitor(Shown):
    """What the labels so far say about going on.

    Parameters
    ----------
    question : {"precision", "significance", "preference"}
    verdict : {"continue", "stop: precise enough", "stop: better", "stop: not better"}
    describes : {"all prompts", "labelled prompts", "votes"}
        Whom the verdict speaks of: labelled prompts alone where more than 5 % lack labels and nothing is stated of
        how the others were chosen.
    watched : Watched
        Estimate, interval and looks behind it.
    sentences : tuple of str
    data, settings : mapping
        Counts, and what was asked, read-only; `to_dict` repeats both.
    """

    question: Question
    verdict: Verdict
    describes: Describes
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
        return self.watched.expected.more

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
            "describes": self.describes,
            "now": self.now.to_dict(),
            "stopped": None if self.stopped is None else self.stopped.to_dict(),
            "next_look": self.watched.next_look,
            "expected_more": self.expected_more,
            **(
                {} if self.watched.expected.reason is None else {"expected_more_reason": self.watched.expected.reason}
            ),
            "looks": [look.to_dict() for look in self.watched.looks],
            "data": _writable(self.data),
            "settings": _writable(self.settings),
            "sentences": list(self.sentences),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the looks so far, one row a look, at most a dozen of them; empty before the first.

        Columns: ``question``, ``n`` (labelled prompts, or votes), ``estimate``, ``low``, ``high``, ``half_width``,
        ``stopped`` (whether the rule said stop there first) and ``reason``: why something is missing.
        """
        columns = ["question", "n", "estimate", "low", "high", "half_width", "stopped", "reason"]
        rows = [
            {**look.to_dict(), "question": self.question, "stopped": look == self.stopped}
            for look in self.watched.looks
        ]
        return pd.DataFrame(rows, columns=columns)


def monitor(  # noqa: PLR0913 - all but the source are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    question: Question,
    label_file: str | Path | pd.DataFrame | None = None,
    half_width: float | None = None,
    than: float | None = None,
    planned: int | None = None,
    first_look: int | None = None,
    confidence: float = 0.95,
    judge: str | None = None,
    exclude: str | Sequence[str] = (),
    shape: Shape | None = None,
    columns: Mapping[str, str] | None = None,
    label_scale: Scale | None = None,
    design: str | Path | LabelDesign | None = None,
    verdict_col: str | None = None,
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
        Scores, and without `label_file` the labels too, its rows in the order of labelling; of preferences the
        votes.
    question : {"precision", "significance", "preference"}
        Recovery known to a half-width; recovery above `than`; first answer preferred by more than `than`.
    label_file : str, pathlib.Path or pandas.DataFrame, optional
        Labels of the scores; the order of its rows is that of labelling.
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
    exclude : str or sequence of str
        Candidate names to leave out.
    shape : {"rectangular", "ragged"}, optional
        Forced.
    columns : mapping of str to str, optional
        Role to column name.
    label_scale : Scale, optional
        Declared scale of the labels.
    design : str, pathlib.Path or LabelDesign, optional
        ``"uniform"`` states that the labelled prompts are a uniform draw from all; a record of such a draw proves it.
        Where more than 5 % of the prompts lack labels, the verdict is on the labelled ones alone without it.
    verdict_col : str, optional
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
    >>> monitor(votes, question="preference", verdict_col="winner")
    <Monitor of preference: stop: better after 32>
    """
    request = Request(
        question=question,
        half_width=half_width,
        than=than,
        planned=planned,
        first_look=first_look,
        confidence=confidence,
        label_file=label_file,
        judge=judge,
        exclude=names_of("exclude", exclude),
        shape=shape,
        columns=columns,
        label_scale=label_scale,
        design=design,
        verdict_col=verdict_col,
        ties=ties,
        pair=pair,
        prompt=prompt,
        margin=margin,
    )
    if request.question != "preference":
        first = request.earliest_look
        return _recovery(labelled_in_order(source, request), request, first)
    if isinstance(source, ScoreTable):
        raise UsageError("a table of scores holds no votes", hint="give the file or frame of the votes")
    return _preference(source, request)


def _recovery(prompts: LabelledPrompts, request: Request, first: int) -> Monitor:
    running, described = RunningRatio.of(prompts.gained, prompts.possible), prompts.described
    confidence, rule = float(request.confidence), _rule_settings(request)
    if request.question == "precision":
        found = watch_precision(running, half_width=rule["half_width"], first=first, confidence=confidence)
    else:
        found = watch_significance(
            running, than=rule["than"], first=first, target=rule["target"], confidence=confidence
        )
    settings = {
        "confidence": confidence,
        "planned": None if request.planned is None else int(request.planned),
        "first_look": first,
        **rule,
        **_table_settings(prompts, request),
        "version": release(),
    }
    data = _counts(prompts)
    sentences = (
        *filter(None, [described.sentence]),
        *of_verdict(found, settings, "labelled prompts"),
        *of_prompts(request.question, found, data, settings, described),
        *of_order(prompts.sorted_by_id, described.labelled),
    )
    describes: Describes = "all prompts" if described.all_prompts else "labelled prompts"
    return _made(request.question, describes, found, sentences, data, settings)


def _rule_settings(request: Request) -> dict[str, Any]:
    if request.half_width is not None:
        return {"half_width": float(request.half_width), "step": STEP}
    return {"than": float(request.than or 0.0), "target": int(request.planned or _TARGET), "step": 1}


def _table_settings(prompts: LabelledPrompts, request: Request) -> dict[str, Any]:
    file = request.label_file
    return {
        "label_file": "labels" if isinstance(file, pd.DataFrame) else file and str(file),
        "judge": prompts.judge,
        "exclude": request.exclude,
        "shape": prompts.shape,
        "columns": prompts.columns,
        "label_scale": None if request.label_scale is None else str(request.label_scale),
        "design": prompts.described.stated,
    }


def _counts(prompts: LabelledPrompts) -> dict[str, Any]:
    kurtosis = influence_kurtosis(prompts.gained, prompts.possible) if len(prompts.gained) else float("nan")
    return {
        "source": prompts.source,
        "prompts": prompts.described.prompts,
        "labelled_prompts": prompts.described.labelled,
        "partly_labelled_prompts": prompts.partly,
        "dropped": tuple(
            MappingProxyType({"prompt_id": one.prompt_id, "reason": one.reason}) for one in prompts.dropped
        ),
        "labels_left_out": MappingProxyType(dict(prompts.labels_left_out)),
        "kurtosis": kurtosis if kurtosis == kurtosis else None,  # noqa: PLR0124 - NaN
    }


def _preference(source: str | Path | pd.DataFrame, request: Request) -> Monitor:
    votes = votes_in_order(
        source, verdict_col=str(request.verdict_col), ties=request.ties, pair=request.pair, prompt=request.prompt
    )
    than = 0.5 if request.than is None else float(request.than)
    margin = 0.1 if request.margin is None else float(request.margin)
    weight, confidence = mixture_weight(margin), float(request.confidence)
    found = watch_votes(votes.worth, than=than, weight=weight, confidence=confidence)
    settings = {
        "confidence": confidence,
        "than": than,
        "margin": margin,
        "mixture": weight,
        "verdict_col": request.verdict_col,
        "ties": request.ties,
        "pair": tuple(request.pair),
        "prompt": request.prompt,
        "sides": votes.sides,
        "version": release(),
    }
    data = {
        "source": votes.source,
        "votes": len(votes.worth),
        "ties": votes.tied,
        "blank": votes.blank,
        "log_e_value": float(log_wealth(float(votes.worth.sum()), float(len(votes.worth)), weight, than)),
    }
    sentences = (*of_verdict(found, settings, "votes"), *of_votes(found, data, settings))
    return _made("preference", "votes", found, sentences, data, settings)


def _made(
    question: Question,
    describes: Describes,
    found: Watched,
    sentences: tuple[str, ...],
    data: dict[str, Any],
    settings: dict[str, Any],
) -> Monitor:
    return Monitor(
        question, found.verdict, describes, found, sentences, MappingProxyType(data), MappingProxyType(settings)
    )


def _writable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return read-only values as JSON knows them, none of them shared."""
    return {key: _plain(one) for key, one in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _writable(value)
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
