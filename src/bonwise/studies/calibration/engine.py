"""Would calibrating a judge's scores against labels help selection? Every metric and every pick, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.auditing.settings import Settings
from bonwise.errors import ColumnError, InputError, UsageError
from bonwise.printable import listed, quoted
from bonwise.progress import counting
from bonwise.studies.calibration import judge_calibration, result
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.table import cell_scores, facts, numbers, reading_options, score_table, words
from bonwise.table.panel import Panel, PromptLeftOut

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource

LENGTH = "length"

_NO_COVARIATES = frozenset({"prompt_id", "candidate", "judge", "judge_score", "oracle_label", "draw", "propensity"})


@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of a study."""

    table: score_table.ScoreTable = field(repr=False)
    names: tuple[str, ...] = ()
    """Columns of the table, and ``length``: the characters of the candidate's text, where no column has that name."""
    pools: str | Path | None = field(default=None, repr=False)
    """Where the texts are; otherwise they are those of the table."""

    def join(self, panel: Panel) -> tuple[Panel, Floats]:
        """Return the prompts with every covariate of each scored candidate, and the values, (cells, covariates)."""
        columns = [self._values(panel, name) for name in self.names]
        values = np.column_stack(columns) if columns else np.empty((len(panel.scores), 0))
        starts = np.cumsum(panel.sizes) - panel.sizes
        blank = np.isnan(values) & ~np.isnan(panel.scores)[:, None]
        lacking = np.logical_or.reduceat(blank, starts, axis=0)
        complete: Mask = ~np.asarray(lacking.any(axis=1))
        dropped = [
            PromptLeftOut(str(panel.prompt_ids[x]), f"no {self.names[int(lacking[x].argmax())]} of a candidate")
            for x in np.flatnonzero(~complete).tolist()
        ]
        return panel.keep(complete, dropped), values[np.repeat(complete, panel.sizes)]

    def _values(self, panel: Panel, name: str) -> Floats:
        if name in self.table.frame.columns:
            return _column(self.table, panel, name)
        return words.text_lengths(self.table, panel, self.pools)


def covariates_of(table: score_table.ScoreTable, named: Sequence[str], pools: str | Path | None) -> Covariates:
    """Find the numeric columns `named`, or ``length``; by default the length where the texts are known."""
    with_texts = pools is not None or words.holds_texts(table)
    names = tuple(dict.fromkeys(named)) or ((LENGTH,) if with_texts else ())
    for name in names:
        _refuse(table, name, with_texts=with_texts)
    return Covariates(table, names, pools)


def _refuse(table: score_table.ScoreTable, name: str, *, with_texts: bool) -> None:
    columns = table.frame.columns
    if name in _NO_COVARIATES:
        raise UsageError(
            f"{table.source}: {name} is no covariate", hint="name what is known of a candidate beside it"
        )
    if name not in columns:
        if name == LENGTH and with_texts:
            return
        if name == LENGTH:
            raise UsageError(
                f"{table.source}: the length needs the texts of the candidates",
                hint="give --pools POOLS.jsonl, or a table with a column text",
            )
        numeric = [one for one in table.strata if numbers.first_text_row(table.frame[one]) is None]
        hint = (
            f"the columns of numbers are {listed(numeric)}" if numeric else "the table has no column of numbers left"
        )
        raise ColumnError(f"{table.source}: no column named {quoted(name)} to serve as covariate", hint=hint)
    row = numbers.first_text_row(table.frame[name])
    if row is not None:
        raise ColumnError(
            f"{table.source}: the covariate {quoted(name)} holds text in row {row}", hint="a covariate is a number"
        )


def _column(table: score_table.ScoreTable, panel: Panel, name: str) -> Floats:
    """Return a column at the cells of a judge, averaged over its rows of a cell as its scores are."""
    values = numbers.parse_numbers(table.frame[name], role=name, source=table.source)
    return cell_scores.mean_of_judge(table, panel, values, panel.judge)


def calibration_study(
    source: ScoreSource,
    options: reading_options.ReadingOptions,
    *,
    covariates: str | Sequence[str],
    pools: str | Path | None,
    folds: int,
    confidence: float,
    seed: int,
) -> result.CalibrationStudy:
    """Calibrate each judge's scores against the labels, and tell what that does to its picks."""
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    judged = open_judged(source, settings, options)
    return calibration_of(
        judged, covariates=(covariates,) if isinstance(covariates, str) else covariates, pools=pools, folds=folds
    )


def calibration_of(
    judged: LabelledPanels, *, covariates: Sequence[str] = (), pools: str | Path | None = None, folds: int = 5
) -> result.CalibrationStudy:
    """Calibrate judges that are laid out already; parameters and errors are as of `study_calibration`."""
    if folds < 2:
        raise UsageError(f"2 folds or more are needed to learn a map on, not {folds}", hint="such as 5")
    joined = covariates_of(judged.table, covariates, pools)
    judges: dict[str, result.CalibrationJudge] = {}
    raw: list[judge_calibration.RawScores] = []
    refused = dict(judged.not_studied)
    with counting("judge", len(judged.panels)) as step:
        for name in judged.panels:
            try:
                judges[name], scores = _calibrated(judged, name, joined, folds)
                raw.append(scores)
            except InputError as error:
                refused[name] = error.message
            step()
    if not judges:
        first, reason = next(iter(refused.items()))
        raise InputError(
            f"{judged.table.source}: no judge can be calibrated; {first!r}: {reason}", hint="see bonwise doctor"
        )
    settings = judged.settings_as(
        result.CalibrationSettings,
        folds=folds,
        covariates=list(joined.names),
        pools=None if pools is None else str(pools),
    )
    means = judge_calibration.mean_changes(raw, list(judges.values()))
    return result.CalibrationStudy(settings=settings, judges=judges, not_studied=refused, **means)


def _calibrated(
    judged: LabelledPanels, name: str, covariates: Covariates, folds: int
) -> tuple[result.CalibrationJudge, judge_calibration.RawScores]:
    panel, values = covariates.join(judged.panels[name])
    if (scored := int((panel.scored_cells > 0).sum())) < 2 * folds:
        lost = len(judged.panels[name].sizes) - len(panel.sizes)
        without = f"; {lost:,} {'lacks' if lost == 1 else 'lack'} a covariate" if lost else ""
        raise InputError(f"{folds} folds need {2 * folds} labelled prompts, and it has {scored}{without}")
    columns = dict(zip(covariates.names, values.T, strict=True))
    counts = judged.counts_as(facts.JudgeCounts, name, panel)
    return judge_calibration.calibrate_judge(
        panel, columns, judged.settings, data=counts, folds=folds, prompts=judged.prompts[name]
    )
