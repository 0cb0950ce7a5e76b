"""Labels as they come in: go on labelling, or stop?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd

from bonwise.documented import DocumentedResult
from bonwise.errors import UsageError
from bonwise.monitoring.order import LabelledPrompts, labelled_in_order, votes_in_order
from bonwise.monitoring.request import MonitorRequest, Question
from bonwise.monitoring.result import (
    Describes,
    LabelCounts,
    Look,
    MonitorDocument,
    MonitorVerdict,
    NothingLeftOut,
    RecoverySettings,
    VoteCounts,
    VoteMonitorSettings,
)
from bonwise.monitoring.sentences import of_easy, of_order, of_part, of_prompts, of_verdict, of_votes
from bonwise.monitoring.stopping_rules import Watched, watch_precision, watch_significance, watch_votes
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.repeated_looks import STEP, log_wealth, mixture_weight
from bonwise.stats.running_ratio import RunningRatio
from bonwise.table.checks import CONFIDENCE, names_of
from bonwise.table.facts import DroppedPrompt, labels_left_out
from bonwise.table.opening import HoldsScores
from bonwise.table.reading import name_of
from bonwise.table.reading_options import LabelledInOrderKeywords, ReadingOptions, opens_a_table
from bonwise.table.score_table import ScoreTable
from bonwise.table.votes import Ties

if TYPE_CHECKING:
    from bonwise.table.label_design import LabelDesign
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource

__all__ = ["Monitor", "Question", "monitor"]

_TARGET = 400
"""Labelled prompts after which the confidence sequence is narrowest where no number is planned."""


@dataclass(frozen=True, eq=False)
class Monitor(DocumentedResult):
    """What the labels so far say about going on."""

    question: Question
    verdict: MonitorVerdict
    describes: Describes
    """Whom the verdict speaks of: labelled prompts alone where more than 5 % lack labels and nothing is stated of how
    the others were chosen.
    """
    watched: Watched = field(repr=False)
    """Estimate, interval and looks behind it."""
    sentences: tuple[str, ...] = field(repr=False)
    data: LabelCounts | VoteCounts = field(repr=False)
    settings: RecoverySettings | VoteMonitorSettings = field(repr=False)
    suspicions: tuple[str, ...] = field(default=(), repr=False)
    """Easy candidates that nothing settles: what the rule says may be theirs."""

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

    def document(self) -> MonitorDocument:
        """Return the document of schema ``bonwise.monitor/1``."""
        return MonitorDocument(
            question=self.question,
            verdict=self.verdict,
            describes=self.describes,
            now=self.now,
            stopped=self.stopped,
            next_look=self.watched.next_look,
            expected_more=self.expected_more,
            **given(expected_more_reason=self.watched.expected.reason),
            looks=list(self.watched.looks),
            data=self.data,
            settings=self.settings,
            sentences=list(self.sentences),
            **given(suspicions=list(self.suspicions) or None),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the looks so far, one row per look, at most a dozen of them; empty before the first.

        Columns: ``question``, ``n`` (labelled prompts, or votes), ``estimate``, ``low``, ``high``, ``half_width``,
        ``stopped`` (whether the rule said stop there first) and ``reason``: why something is missing.
        """
        return super().to_frame()


@opens_a_table
def monitor(  # noqa: PLR0913 - all but the source are named
    source: ScoreSource,
    *,
    question: Question,
    label_file: RowSource | None = None,
    half_width: float | None = None,
    than: float | None = None,
    planned: int | None = None,
    first_look: int | None = None,
    confidence: float = CONFIDENCE,
    judge: str | None = None,
    design: str | Path | LabelDesign | None = None,
    verdict_col: str | None = None,
    ties: Ties | None = None,
    pair: Sequence[str] = (),
    prompt: str | None = None,
    margin: float | None = None,
    control: str | Sequence[str] = (),
    keep_easy: str | Sequence[str] = (),
    **reading: Unpack[LabelledInOrderKeywords],
) -> Monitor:
    """Decide whether the labels so far are enough, by a rule that may be asked as often as one likes.

    All that the rule depends on (half-width, reference, plan, margin) is to be fixed before the first label.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores, and without `label_file` the labels too, its rows in the order of labelling; of preferences the
        votes.
    question : {"precision", "significance", "preference"}
        Recovery known to a half-width; recovery above `than`; first answer preferred by more than `than`.
    label_file : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
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
        The audited judge; needed where the table holds several.
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
    control : str or sequence of str
        Named easy candidates: left out of the figures.
    keep_easy : str or sequence of str
        Candidates that count like any other although they are worst almost everywhere. An easy candidate that is
        named neither here nor in `control` leaves open what the rule says; see `docs/verdict.md`.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

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
    request = MonitorRequest(
        question=question,
        half_width=half_width,
        than=than,
        planned=planned,
        first_look=first_look,
        confidence=confidence,
        judge=judge,
        reading=ReadingOptions.of(monitor, reading, labels=label_file),
        design=design,
        verdict_col=verdict_col,
        ties=ties,
        pair=pair,
        prompt=prompt,
        margin=margin,
        control=names_of("control", control),
        keep_easy=names_of("keep_easy", keep_easy),
    )
    if request.question != "preference":
        first = request.earliest_look
        return _recovery(labelled_in_order(source, request), request, first)
    if isinstance(source, HoldsScores | ScoreTable):
        raise UsageError("a table of scores holds no votes", hint="give the file or frame of the votes")
    return _preference(source, request)


def _recovery(prompts: LabelledPrompts, request: MonitorRequest, first: int) -> Monitor:
    running, described = RunningRatio.of(prompts.gained, prompts.possible, prompts.clusters), prompts.described
    if request.half_width is not None:
        found = watch_precision(
            running, half_width=float(request.half_width), first=first, confidence=float(request.confidence)
        )
    else:
        found = watch_significance(
            running,
            than=float(request.than or 0.0),
            first=first,
            target=int(request.planned or _TARGET) * prompts.units_per_prompt,
            confidence=float(request.confidence),
        )
    settings, data = _recovery_settings(prompts, request, first), _counts(prompts, running)
    # Before the first look nothing is claimed, and of a few prompts one candidate is often the lowest.
    suspicions = tuple(of_easy(prompts.easy)) if found.now.n >= first else ()
    sentences = (
        *filter(None, [described.sentence]),
        *suspicions,
        *of_verdict(found, first, "labelled prompts"),
        *of_prompts(found, data, settings, described),
        *of_part(prompts.in_part),
        *of_order(prompts.sorted_by_id, described.labelled),
    )
    describes: Describes = "all prompts" if described.all_prompts else "labelled prompts"
    return Monitor(request.question, found.verdict, describes, found, sentences, data, settings, suspicions)


def _recovery_settings(prompts: LabelledPrompts, request: MonitorRequest, first: int) -> RecoverySettings:
    labels = request.reading.labels
    reading, precise = request.reading, request.half_width is not None
    than, target = (None, None) if precise else (float(request.than or 0.0), int(request.planned or _TARGET))
    return RecoverySettings(
        confidence=float(request.confidence),
        planned=None if request.planned is None else int(request.planned),
        first_look=first,
        **given(half_width=request.half_width and float(request.half_width), than=than, target=target),
        step=STEP if precise else 1,
        label_file=None if labels is None else name_of(labels, "labels"),
        judge=prompts.judge,
        exclude=list(reading.exclude),
        shape=prompts.shape,
        columns=dict(prompts.columns),
        label_scale=None if reading.label_scale is None else str(reading.label_scale),
        design=prompts.described.stated,
        version=release(),
        **given(control=list(request.control) or None, keep_easy=list(request.keep_easy) or None),
    )


def _counts(prompts: LabelledPrompts, running: RunningRatio) -> LabelCounts:
    kurtosis = running.kurtosis[-1:]
    return LabelCounts(
        source=prompts.source,
        prompts=prompts.described.prompts,
        labelled_prompts=prompts.described.labelled,
        partly_labelled_prompts=prompts.partly,
        dropped=[DroppedPrompt(prompt_id=one.prompt_id, reason=one.reason) for one in prompts.dropped],
        labels_left_out=labels_left_out(prompts.labels_left_out) or NothingLeftOut(),
        kurtosis=float(kurtosis[0]) if np.isfinite(kurtosis).any() else None,
        **given(clusters=None if prompts.clusters is None else len(np.unique(prompts.clusters))),
    )


def _preference(source: RowSource, request: MonitorRequest) -> Monitor:
    votes = votes_in_order(
        source, verdict_col=str(request.verdict_col), ties=request.ties, pair=request.pair, prompt=request.prompt
    )
    than = 0.5 if request.than is None else float(request.than)
    margin = 0.1 if request.margin is None else float(request.margin)
    weight, confidence = mixture_weight(margin), float(request.confidence)
    found = watch_votes(votes.worth, than=than, weight=weight, confidence=confidence)
    settings = VoteMonitorSettings(
        confidence=confidence,
        than=than,
        margin=margin,
        mixture=float(weight),
        verdict_col=str(request.verdict_col),
        ties=request.ties,
        pair=list(request.pair),
        prompt=request.prompt,
        sides=list(votes.sides),
        version=release(),
    )
    data = VoteCounts(
        source=votes.source,
        votes=len(votes.worth),
        ties=votes.tied,
        blank=votes.blank,
        log_e_value=float(log_wealth(float(votes.worth.sum()), float(len(votes.worth)), weight, than)),
    )
    sentences = (*of_verdict(found, 1, "votes"), *of_votes(found, data, settings))
    return Monitor("preference", found.verdict, "votes", found, sentences, data, settings)
