"""The audit: a table of scores and labels in, figures with intervals and a verdict out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bonwise.auditing import (
    candidate_attributes,
    comparison,
    judge_audit,
    labelling,
    result_labels,
    result_verdict,
    verdict,
)
from bonwise.auditing.judge_record import AuditParts, JudgeAudit
from bonwise.auditing.logged_picks import holds_picks, logged_judge, picks_made, read_picks
from bonwise.auditing.result import Audit, AuditSettings, GateRule, IntervalKind, JudgesCompared, Thresholds
from bonwise.auditing.result_labels import GainOfLabel
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.extras import TABLES
from bonwise.printable import listed, quoted
from bonwise.progress import counting
from bonwise.release import release
from bonwise.results import given
from bonwise.table import checks, facts, label_design, opening, reading, reading_options, score_table
from bonwise.table.panel import Panel, lay_out


def audited(  # noqa: PLR0913 - the one front door of the audit; all but the source are named
    source: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    *,
    control: str | Sequence[str],
    keep_easy: str | Sequence[str],
    target: result_verdict.Target,
    stratum: str | Sequence[str],
    weight_col: str | None,
    interval: IntervalKind,
    gate: GateRule,
    confidence: float,
    resamples: int,
    seed: int,
    thresholds: Mapping[str, float] | None,
    as_picked: bool,
    design: str | Path | label_design.LabelDesign | None,
    outcome_model: Any,
    pools: str | Path | None,
    judge_family: str | Mapping[str, str] | None,
    top: int | None,
    gain: GainOfLabel,
    in_passes: bool,
    stats_out: str | Path | None,
    like: str | Path | None,
) -> Audit:
    """Audit one or several judges, or the picks that were made with one, against oracle labels."""
    settings = Settings(
        confidence=confidence,
        interval=interval,
        gate=gate,
        resamples=resamples,
        seed=seed,
        exclude=options.exclude,
        control=checks.names_of("control", control),
        keep_easy=checks.names_of("keep_easy", keep_easy),
        target=target,
        stratum=checks.names_of("stratum", stratum),
        weight_col=weight_col,
        shape=options.shape,
        thresholds=Thresholds.usual().override(thresholds or {}),
        outcome_model=outcome_model,
        pools=pools,
        top=top,
        gain=gain,
        judge_family={"": judge_family} if isinstance(judge_family, str) else dict(judge_family or {}),
    )
    if in_passes or stats_out is not None or like is not None or reading.in_batches(source):
        TABLES.require("passing over a table")
        from bonwise.auditing.passed_audit import passed_over  # noqa: PLC0415 - few audits need it

        unlike = {"design": design, "as_picked": as_picked}
        parts, pairs, refused = passed_over(source, options, settings, stats_out=stats_out, like=like, unlike=unlike)
        return _result(parts, not_audited=refused, pairs=pairs)
    if isinstance(source, str | Path) and holds_picks(Path(source)):
        picks = read_picks(source, as_picked=as_picked)
        of_tables = (options.oracle, options.judge_scale, judge_family, weight_col, top)
        if any(value not in (None, {}, "") for value in of_tables):
            raise UsageError(
                f"{picks.source}: logged picks are no table of scores",
                hint="leave --oracle, --judge-scale, --judge-family, --weight-col and --top out",
            )
        judge, table = logged_judge(picks, settings, options, design)
        _refuse_unknown(settings, table)
        return _result(AuditParts({judge.judge: judge}, settings, table, picks))
    if as_picked:
        raise UsageError("as_picked works only with logged picks", hint="leave --as-picked out")
    table = opening.open_table(source, options).weighted_by(weight_col)
    candidate_attributes.check_judge_family(table, settings)
    label_design.refuse_other_draw(design, source if options.labels is None else options.labels, table)
    stated = labelling.stated_draw(design, table)
    if stated is not None and weight_col is not None:
        draw = "a column of propensities" if stated.kind == "propensity" else "--design"
        raise UsageError(f"{table.source}: {draw} and --weight-col both weigh prompts", hint="leave one of them out")
    return _audit(table, settings, stated)


def _audit(table: score_table.ScoreTable, settings: Settings, stated: labelling.StatedDraw | None) -> Audit:
    table.check_scales(alike=False)
    panels = lay_out(table, exclude=(*settings.exclude, *settings.control), shape=settings.shape)
    _refuse_unknown(settings, table)
    others = judge_audit.FurtherPanels(table, settings)
    against = f"{table.reference}" if table.reference is not None else verdict.ORACLE
    judges, refused, covariates = [], {}, _covariates(panels, stated)
    with counting("judge", len(panels) - len(covariates)) as step:
        for panel in panels:
            if panel.judge in covariates:
                continue
            try:
                judge = judge_audit.audit_judge(panel, others, settings, table=table, against=against, stated=stated)
                judges.append(judge)
            except InputError as error:
                if len(panels) == 1 + len(covariates):
                    raise
                refused[panel.judge] = error.message
            step()
    if not judges:
        first, reason = next(iter(refused.items()))
        raise InputError(f"{table.source}: no judge can be audited; {first!r}: {reason}", hint="see bonwise doctor")
    by_name = {judge.judge: judge for judge in judges}
    return _result(AuditParts(by_name, settings, table), not_audited=refused, covariates=covariates)


def _result(
    parts: AuditParts,
    *,
    not_audited: Mapping[str, str] | None = None,
    covariates: Mapping[str, str] | None = None,
    pairs: comparison.JudgePairs | None = None,
) -> Audit:
    judges = tuple(parts.judges.values())
    pairs = comparison.compare_judges(judges, parts.settings) if pairs is None else pairs
    return Audit.of(
        {name: judge.record for name, judge in parts.judges.items()},
        _settings(parts),
        comparisons=_compared(pairs),
        not_audited=not_audited,
        covariates=covariates,
        choice=comparison.choice_of_judges(judges, pairs, parts.settings),
        annotators=_annotators(parts.table, judges, parts.settings),
    ).computed_from(parts)


def _settings(parts: AuditParts) -> AuditSettings:
    """Return what was asked for, and what the table was taken for."""
    asked, table = parts.settings, parts.table
    labelling = next(iter(parts.judges.values())).labelling
    of_picks = parts.picks is not None
    return AuditSettings(
        confidence=asked.confidence,
        interval=asked.interval,
        exclude=list(asked.exclude),
        control=list(asked.control),
        target=asked.target,
        seed=asked.seed,
        thresholds=asked.thresholds,
        version=release(),
        shape=labelling.panel.shape,
        source=table.source,
        columns={} if of_picks else dict(table.columns),
        draws=1 if of_picks else table.draws,
        **table.declared_scales,
        **given(
            resamples=asked.resamples if asked.interval == "bootstrap" else None,
            outcome_model=None if asked.outcome_model is None else type(asked.outcome_model).__name__,
            reference=None if of_picks else table.reference,
            picks=None
            if parts.picks is None
            else picks_made(parts.picks, labelling.panel.prompt_ids[labelling.labelled]),
            labels_left_out=facts.labels_left_out(table.labels_left_out),
            unlabelled=table.unlabelled,
            keep_easy=list(asked.keep_easy) or None,
            stratum=list(asked.stratum) or None,
            weight_col=asked.weight_col,
            gate=None if asked.gate == "default" else asked.gate,
            pools=None if asked.pools is None else str(asked.pools),
            judge_family=dict(asked.judge_family) or None,
            label_words=dict(table.label_words) or None,
            readings=dict(table.readings) or None,
            not_in_passes=None if parts.not_in_passes is None else list(parts.not_in_passes),
        ),
    )


def _compared(pairs: comparison.JudgePairs) -> tuple[JudgesCompared, ...]:
    return tuple(
        JudgesCompared.model_validate(
            {"first": first, "second": second, "prompts": pair.prompts, "differences": pair.records}
        )
        for (first, second), pair in pairs.items()
    )


def _annotators(
    table: score_table.ScoreTable, judges: Sequence[JudgeAudit], settings: Settings
) -> result_labels.Annotators | None:
    if table.annotators is None:
        return None
    from bonwise.auditing.annotators import annotators_of  # noqa: PLC0415 - few tables have annotators

    return annotators_of(table, table.annotators, judges, settings)


def _refuse_unknown(settings: Settings, table: score_table.ScoreTable) -> None:
    for name in settings.stratum:
        if name not in table.strata:
            raise UsageError(
                f"{table.source}: no column named {quoted(name)} to form subsets of the prompts by",
                hint=f"the columns are {listed(table.strata)}" if table.strata else "add such a column to the table",
            )
    unknown = [name for name in settings.keep_easy if name not in table.candidates]
    if unknown:
        raise UsageError(
            f"{table.source}: no candidate named {quoted(unknown[0])} to keep",
            hint=f"the candidates are {listed(table.candidates)}",
        )


def _covariates(panels: Sequence[Panel], stated: labelling.StatedDraw | None) -> dict[str, str]:
    """Return the judges that a draw of single candidates was not made for: none of their picks were drawn."""
    if stated is None or stated.design is None or not stated.design.judge:
        return {}
    drawn_for = stated.design.judge
    if all(panel.judge != drawn_for for panel in panels):
        return {}
    return {
        panel.judge: f"serves as covariate: the design was drawn for {drawn_for}"
        for panel in panels
        if panel.judge != drawn_for and judge_audit.of_candidates(stated, panel)
    }
