"""How many labels are enough: a question, an effect or a pilot, the study that answers it, and what to type next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Unpack

from bonwise.documented import DocumentedResult
from bonwise.planning import sizing as outcome
from bonwise.planning.questions import ERROR_CORRELATION, QUESTIONS, read_question
from bonwise.planning.request import Method, PilotSource, PlanRequest
from bonwise.planning.result import (
    Amounts,
    ClustersOfPilot,
    EffectName,
    EquivalenceRecord,
    PilotOfScores,
    PilotOfVotes,
    PlanDesign,
    PlanDocument,
    PlanQuestion,
    PlanSettings,
    PlanVerdict,
    PowerRow,
    RedrawnPilotRecord,
    SequentialRecord,
)
from bonwise.planning.sentences import sentences
from bonwise.planning.sizing import Layout, Sizing
from bonwise.printable import shell_word
from bonwise.release import release
from bonwise.results import given
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import PilotKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.table.opening import ScoreSource
    from bonwise.table.votes import Ties

__all__ = ["Plan", "commands", "plan"]

_USUAL = 0.95
"""Confidence of a monitor where none is given."""

_GATES = {"recovery>0": " --fail-under recovery=0", "recovery": ""}


def commands(found: Plan) -> Iterator[str]:
    """Yield the commands that draw, read and watch the labels of a plan; file names are to be put in.

    None where no number is enough, and where labels are chosen by what two judges disagree on.
    """
    if found.labels is None:
        return
    design, raters, reading = found.design, found.settings.raters or 1, _reading(found)
    if design == "two_label":
        # A draw of pairs counts candidates, each once, however many rate it.
        what = f"--design pair --labels {math.ceil(found.labels / raters):d}"
        yield from _drawn(what, " --fail-under gain=0", reading)
    elif design == "complete":
        gate = _GATES.get(found.question)
        if gate is None:
            gate = f" --fail-under within_r={found.effect['r0']:g}"
        yield from _drawn(f"--design uniform --labels {found.prompts:d}", gate, reading)
    yield from _watched(found, reading)


def _reading(found: Plan) -> str:
    """Return the flags with which the pilot was read; the table of the study is taken for one of the same kind."""
    if found.settings.verdict_col or found.settings.pair_col:
        return ""
    columns, exclude = found.settings.columns or {}, tuple(found.settings.exclude or ())
    kept = {role: name for role, name in columns.items() if role != "oracle_label"}  # the sheet has its own
    return "".join(f" {flag}" for flag in ReadingOptions(columns=kept, exclude=exclude).as_flags())


def _drawn(what: str, gate: str, reading: str) -> Iterator[str]:
    yield f"bonwise labels draw scores.csv {what} --out todo.csv --sheet labels.csv{reading}"
    yield f"bonwise audit scores.csv --labels labels.csv --design todo.csv{gate}{reading}"


def _watched(found: Plan, reading: str) -> Iterator[str]:
    settings, early, effect = found.settings, found.sequential, found.effect
    labelled = f"labels.csv --scores scores.csv{' --design todo.csv' if found.design == 'complete' else ''}"
    start = "bonwise monitor"
    at = "" if settings.confidence == _USUAL else f" --confidence {settings.confidence:g}"
    if found.question == "recovery":
        width = effect["half_width"]
        yield f"{start} {labelled} --half-width {width:g} --planned {found.prompts:d}{at}{reading}"
    elif early is None or not early.saves:
        return
    elif "margin" in effect:
        verdict = shell_word(settings.verdict_col or "winner")
        pair = f" --pair-col {shell_word(','.join(settings.pair_col))}" if settings.pair_col else ""
        ties = settings.ties or ("drop" if settings.tie_rate else None)
        tied = f" --ties {ties}" if ties else ""
        margin = abs(effect["margin"])
        yield (
            f"{start} votes.csv --question preference --verdict-col {verdict}{pair}{tied} --margin {margin:.3g}{at}"
        )
    else:
        yield f"{start} {labelled} --significance --planned {found.prompts:d}{at}{reading}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(DocumentedResult):
    """How many labels answer a question."""

    question: PlanQuestion
    settings: PlanSettings = field(repr=False)
    """The arguments, those that read the pilot among them, with the version."""
    design: PlanDesign
    """What is labelled of a prompt: ``two_label``, ``complete``, ``discordant``, ``discordant_preference`` or
    ``votes``.
    """
    sides: Literal[1, 2]
    """1 or 2."""
    prompts: int | None
    """What it takes, rounded up; None where no number is enough."""
    labels: int | None
    """What it takes, rounded up; None where no number is enough."""
    raw: Amounts | None = field(repr=False)
    """The same, not rounded."""
    cost: float | None
    """In the unit of the prices given; None without prices."""
    effect: Mapping[EffectName, float] = field(repr=False)
    """What was planned for."""
    mde: float | None
    """Smallest effect found with the labels and prompts there are, or with those of the plan where none were named.

    """
    mde_of: str = field(repr=False)
    """What the smallest effect is, with its unit."""
    interval: tuple[int | None, int | None] | None
    """Ends of the interval on labels from a pilot; an end is None where it is infinite. None without a pilot."""
    power_table: Sequence[PowerRow] = field(repr=False)
    """Labels, prompts and the power they give (or the half-width)."""
    sequential: SequentialRecord | None = field(repr=False)
    """Labels that an anytime-valid study takes; None where there is no such rule."""
    equivalence: EquivalenceRecord | None = field(repr=False)
    """Labels that show that there is no effect of the planned size."""
    design_effect: float | None = field(repr=False)
    """Labels needed over independent labels needed."""
    pilot: PilotOfScores | PilotOfVotes | None = field(repr=False)
    clusters: ClustersOfPilot | None = field(default=None, repr=False)
    """What the clusters of the pilot's prompts cost."""
    redrawn: RedrawnPilotRecord | None = field(default=None, repr=False)
    """What drawing the pilot again said; ``allowing`` holds the study that allows for the pilot."""
    verdict: PlanVerdict
    notes: tuple[str, ...] = field(repr=False)
    """Assumptions."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the plan says in words."""
        return tuple(sentences(self))

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type next, with file names to be put in; empty where there is nothing to type."""
        return tuple(commands(self))

    def document(self) -> PlanDocument:
        """Return the document of schema ``bonwise.plan/1``."""
        return PlanDocument(
            question=self.question,
            settings=self.settings,
            design=self.design,
            sides=self.sides,
            prompts=self.prompts,
            labels=self.labels,
            cost=self.cost,
            mde=self.mde,
            mde_of=self.mde_of,
            interval=None if self.interval is None else list(self.interval),
            verdict=self.verdict,
            raw=self.raw,
            effect=dict(self.effect),
            power_table=list(self.power_table),
            sequential=self.sequential,
            equivalence=self.equivalence,
            design_effect=self.design_effect,
            pilot=self.pilot,
            **given(clusters=self.clusters, redrawn=self.redrawn),
            sentences=list(self.sentences),
            commands=list(self.commands),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the power table, one row per number of labels; empty where no number is enough.

        Columns: ``question``, ``design``, ``labels``, ``prompts``, ``power``, ``half_width`` (one of the two is
        missing: questions are answered with a power or to a half-width) and ``planned``: whether it is the plan.
        """
        return self.document().to_frame()


@opens_a_table
def plan(  # noqa: PLR0913 - one argument a thing that a user may know, all of them named
    *,
    question: str,
    candidates: int | None = None,
    within_r: float | None = None,
    rival_r: float | None = None,
    error_correlation: float | None = None,
    effect: float | None = None,
    half_width: float | None = None,
    r0: float | None = None,
    pilot: ScoreSource | None = None,
    judge: str | Sequence[str] | None = None,
    verdict_col: str | None = None,
    pair_col: str | Sequence[str] = (),
    ties: Ties | None = None,
    design: str | None = None,
    labels: int | None = None,
    prompts: int | None = None,
    power: float = 0.9,
    confidence: float = CONFIDENCE,
    method: Method = "exact",
    label_cost: float | None = None,
    judge_cost: float | None = None,
    raters: int = 1,
    icc: float | None = None,
    one_cluster: bool = False,
    tie_rate: float | None = None,
    seed: int = SEED,
    **reading: Unpack[PilotKeywords],
) -> Plan:
    """Plan how many labels answer a question.

    Parameters
    ----------
    question : str
        ``recovery>0`` (is the judge better than a random pick?), ``recovery`` (to a half-width), ``within_r>=r0`` (or
        ``within_r>=0.4``), ``a-vs-b`` (whose picks are worth more?), ``margin`` (is one side preferred?) or
        ``equivalence`` (are both sides as good?).
    candidates : int, optional
        Candidates per prompt.
    within_r : float, optional
        Within-prompt correlation of score and label that is expected, in (0, 1); under normality it is the recovery.
    rival_r : float, optional
        The same of judge B.
    error_correlation : float, optional
        Correlation of the two judges' errors within a prompt; 0.5 where none is given.
    effect : float, optional
        Preference margin P(win) - 1/2, or the bound of an equivalence.
    half_width : float, optional
        Of the interval of the recovery.
    r0 : float, optional
        Threshold of ``within_r>=r0``.
    pilot : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings, optional
        In place of an effect: a labelled table of scores; for ``margin`` votes, such as ``28/50`` or a file.
    judge : str or sequence of str, optional
        Which judge of the pilot; two of them for ``a-vs-b``.
    verdict_col : str, optional
        Column of the pilot's votes.
    pair_col : sequence of str, optional
        The two columns that name the models. Without it those that are found by their names; the alphabetically first
        model is then the first side, and all votes must be on one pair.
    ties : {"drop", "half", "pessimistic"}, optional
        How ties among the pilot's votes count: not, half a vote for each side, or against the first side; needed
        where there are any.
    design : str, optional
        ``two_label`` (default) or ``complete`` for ``recovery>0``; ``discordant`` (default: both picks graded) or
        ``discordant_preference`` (one preference) for ``a-vs-b``.
    labels, prompts : int, optional
        What there is; decides the verdict.
    power : float
        In (0.5, 1).
    confidence : float
        Of the test, in (0.5, 1); one-sided for ``recovery>0`` and ``within_r>=r0``.
    method : {"exact", "paper"}
        For votes: exact binomial, or equation 8.
    label_cost, judge_cost : float, optional
        Price of one label and of one score of one judge.
    raters : int
        Labels per candidate, each by another rater; their mean is what is tested.
    icc : float, optional
        Correlation of two raters' labels (of their contrasts, or votes) on one prompt; needed with several raters.
    one_cluster : bool
        All labels resemble each other by `icc` (equation 10).
    tie_rate : float, optional
        Share of votes that decide nothing; a pilot brings its own.
    seed : int
        Of the samples that are drawn from a pilot of ``recovery>0``.
    **reading
        How the pilot is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    Plan

    Raises
    ------
    bonwise.errors.UsageError
        An unknown question, an argument out of range, missing, or without meaning for the question.
    bonwise.errors.InputError
        A pilot that cannot be read.

    Examples
    --------
    >>> found = plan(question="recovery>0", candidates=4, within_r=0.3)
    >>> found.design, found.prompts, found.labels, found.verdict
    ('two_label', 96, 192, 'feasible')
    """
    name, stated = read_question(question)
    request = PlanRequest(
        question=name,
        candidates=candidates,
        within_r=within_r,
        rival_r=rival_r,
        error_correlation=error_correlation,
        effect=effect,
        half_width=half_width,
        r0=r0 if stated is None else stated,
        design=design,
        labels=labels,
        prompts=prompts,
        power=power,
        confidence=confidence,
        method=method,
        label_cost=label_cost,
        judge_cost=judge_cost,
        raters=raters,
        icc=icc,
        one_cluster=one_cluster,
        tie_rate=tie_rate,
        seed=seed,
    )
    source = PilotSource.of(
        pilot,
        judge=judge,
        reading=ReadingOptions.of(plan, reading),
        verdict_col=verdict_col,
        pair_col=pair_col,
        ties=ties,
    )
    sizing = QUESTIONS[name].size(request, source)
    of_pilot = {} if source is None else source.settings()
    settings = PlanSettings(**_settings(request, sizing), **of_pilot, version=release())
    return _answered(request, sizing, settings)


def _answered(request: PlanRequest, sizing: Sizing, settings: PlanSettings) -> Plan:
    layout = Layout.of(sizing, request)
    needed = layout.counts(sizing.n)
    groups = None if sizing.n is None else layout.groups(sizing.n)
    raw: Amounts | None = None
    if groups is not None:
        raw = {"prompts": groups / sizing.share, "labels": groups * sizing.each * request.raters}
    elif sizing.n is not None:
        raw = {"independent": sizing.n}
    ends = outcome.interval(sizing, layout)
    inflated = None if sizing.n is None else layout.dependence.inflated(sizing.n)
    equal = layout.counts(sizing.equal)
    return Plan(
        question=request.question,
        settings=settings,
        design=sizing.design,
        sides=sizing.sides,
        prompts=None if needed is None else needed.prompts,
        labels=None if needed is None else needed.labels,
        raw=raw,
        cost=outcome.cost(request, sizing, needed),
        effect=sizing.effect,
        mde=outcome.detectable(sizing, layout, request, needed),
        mde_of=sizing.reach_of,
        interval=None if ends is None else (ends[0], ends[1]),
        power_table=outcome.power_table(sizing, layout, request, needed),
        sequential=outcome.sequential(request, sizing, layout, needed),
        equivalence=None
        if equal is None
        else EquivalenceRecord(prompts=equal.prompts, labels=equal.labels, shows=sizing.equal_to),
        design_effect=None
        if inflated is None or not sizing.n
        else inflated / sizing.n * (1.0 if sizing.clusters is None else sizing.clusters.design_effect),
        pilot=sizing.pilot,
        clusters=sizing.clusters,
        redrawn=outcome.redrawn(sizing, layout),
        verdict=outcome.verdict(request, needed),
        notes=(*sizing.notes, *outcome.small_study(sizing, needed)),
    )


def _settings(request: PlanRequest, sizing: Sizing) -> dict[str, Any]:
    given = {name: value for name, value in request.given().items() if name != "question"}
    given["design"] = sizing.design
    if sizing.design in {"votes", "discordant_preference"}:
        given["tie_rate"] = sizing.tie_rate
    else:
        del given["method"]
    if sizing.redrawn is None or sizing.redrawn.found is None:
        del given["seed"]
    if sizing.shows == "half_width":
        del given["power"]
    if request.question == "a-vs-b" and sizing.pilot is None:
        given.setdefault("error_correlation", ERROR_CORRELATION)
    return given
