"""From the long table to what a study of routing needs of one judge: features, outcomes and weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.errors import InputError
from bonwise.routing.pool_features import disagreement, pool_features
from bonwise.stats.routing import Outcomes
from bonwise.stats.sums import Sums
from bonwise.table import cell_scores, score_table
from bonwise.table.panel import MAY_LACK, Panel, PromptLeftOut


@dataclass(frozen=True, eq=False)
class JudgedPrompts:
    """One judge's prompts after the first judging."""

    panel: Panel
    """The prompts that were judged."""
    features: dict[str, Floats] = field(repr=False)
    """As `bonwise.routing.pool_features` names them, and ``disagreement`` where there are other judges."""
    labelled: Mask = field(repr=False)
    """Whether all candidates of the prompt are labelled."""
    outcomes: Outcomes = field(repr=False)
    """Of the labelled prompts."""
    wrong: Floats = field(repr=False)
    """Probability, over ties broken at random, that the pick is not among the best candidates."""
    weighted: bool = False
    """Whether the table states with which probability prompts were labelled."""
    draws: Floats | None = field(default=None, repr=False)
    """Repeated scores of the cells of `panel`, whether or not the features look at them."""
    first: cell_scores.First = "score"
    """What the first pass said of each candidate: features, pick and gain rest on it."""
    unscored: dict[str, int] = field(default_factory=dict)
    """Candidates that the first pass left without a score, by reason."""
    differs: Floats | None = field(default=None, repr=False)
    """Probability, over ties, that a stronger judge of the table picks another candidate; None without one."""
    without_strong: int = 0
    """Labelled prompts of which that judge scored nothing."""

    @property
    def settled(self) -> Mask:
        """Whether two candidates or more have a first score: the other prompts have no pick worth keeping."""
        return np.asarray(~np.isnan(self.features["margin"]))

    def some(self, which: Mask) -> JudgedPrompts:
        """Return some of the prompts."""
        if which.all():
            return self
        known = which[self.labelled]
        return replace(
            self,
            panel=self.panel.keep(which),
            features={name: values[which] for name, values in self.features.items()},
            labelled=self.labelled[which],
            outcomes=self.outcomes.some(known),
            wrong=self.wrong[known],
            differs=None if self.differs is None else self.differs[known],
            draws=None if self.draws is None else self.draws[np.repeat(which, self.panel.sizes)],
        )

    def sent_first(self, signal: Floats) -> Floats:
        """Return a signal of all prompts, those that are not settled above all others."""
        return np.where(self.settled, signal, np.inf)

    @property
    def gain(self) -> Floats:
        """Gain of every prompt, NaN where it is not labelled."""
        return self._of_all(self.outcomes.gain)

    @property
    def apart(self) -> Floats:
        """Probability, over ties, that the stronger judge picks another candidate: one that never errs, a better."""
        return self.wrong if self.differs is None else self.differs

    @property
    def random(self) -> Floats:
        """Expected label of a random pick, of the labelled prompts."""
        known = self.panel.keep(self.labelled)
        return np.add.reduceat(known.labels, np.cumsum(known.sizes) - known.sizes) / known.sizes

    @property
    def weights(self) -> Floats | None:
        """Weight of every prompt, None where prompts were labelled alike."""
        return self._of_all(self.outcomes.weights, 0.0) if self.weighted else None

    @property
    def population(self) -> Floats | None:
        """Weight of every prompt as a part of all; None where each stands for itself: the table is the whole."""
        return self.outcomes.weights if self.weighted and bool(self.labelled.all()) else None

    def _of_all(self, values: Floats, blank: float = np.nan) -> Floats:
        of_all = np.full(len(self.labelled), blank)
        of_all[self.labelled] = values
        return of_all


def judged_prompts(
    table: score_table.ScoreTable,
    panel: Panel,
    *,
    strong: str | None = None,
    first_pass_only: bool = False,
    one_draw: bool = False,
) -> JudgedPrompts:
    """Compute features and outcomes of a judge's prompts; `strong` is the judge they are sent to, else perfect."""
    weighted = "propensity" in table.frame.columns
    panel = _with_first_scores(table, panel, one_draw=one_draw)
    if not weighted:
        panel = _without_stray_blanks(panel)
    repeats = cell_scores.cell_repeats(table, panel, one_draw=one_draw)
    draws = None if first_pass_only else repeats.draws
    features = pool_features(repeats.first, panel.sizes, repeats.width, draws)
    others = [judge for judge in table.judges if judge not in (panel.judge, strong)]
    if others and not first_pass_only:
        features["disagreement"] = disagreement(
            repeats.first, panel.sizes, [cell_scores.scores_of(table, panel, other) for other in others]
        )
    labelled = panel.labelled_cells == panel.sizes
    stronger, without_strong = None if strong is None else cell_scores.scores_of(table, panel, strong), 0
    if stronger is not None:
        scored = np.logical_or.reduceat(~np.isnan(stronger), np.cumsum(panel.sizes) - panel.sizes)
        without_strong = int((labelled & ~scored).sum())
        labelled = labelled & scored
    if not labelled.any():
        raise InputError(
            f"no prompt of {panel.judge!r} has labels for all its candidates"
            f"{'' if strong is None else f', and a score of {strong!r}'}",
            hint="add an oracle_label column, --labels FILE, or --oracle judge:NAME",
        )
    known, cells = panel.keep(labelled), np.repeat(labelled, panel.sizes)
    sums = Sums(*known.sums(repeats.first[cells]))
    everywhere = np.ones(len(known.sizes), dtype=bool)
    weights = (
        1 / cell_scores.propensities(table, known.prompt_ids, everywhere) if weighted else np.ones(len(known.sizes))
    )
    # Only rounding can carry a gain below 0.
    outcomes, differs = Outcomes(sums.J, np.maximum(sums.M - sums.J, 0.0), weights), None
    if stronger is not None:
        picked = Sums(*known.sums(stronger[cells])).J
        outcomes = Outcomes(sums.J, picked - sums.J, weights, sums.M)
        apart = disagreement(repeats.first[cells], known.sizes, [stronger[cells]])
        differs = np.nan_to_num(apart, nan=1.0)
    unscored = cell_scores.unscored_reasons(table, panel, np.isnan(repeats.first))
    wrong = 1 - sums.hit
    return JudgedPrompts(
        panel,
        features,
        labelled,
        outcomes,
        wrong,
        weighted,
        repeats.draws,
        repeats.first_of,
        unscored,
        differs,
        without_strong,
    )


def _with_first_scores(table: score_table.ScoreTable, panel: Panel, *, one_draw: bool) -> Panel:
    if not len(panel.sizes):
        reasons = sorted({drop.reason for drop in panel.dropped})
        raise InputError(
            f"no prompt is left for {panel.judge!r}: {'; '.join(reasons[:3])}",
            hint="score the candidates, or force --ragged",
        )
    first = replace(panel, scores=cell_scores.cell_repeats(table, panel, one_draw=one_draw).first)
    if not (first.scored_cells > 1).any():
        raise InputError(
            f"{table.source}: no prompt of {panel.judge!r} has two first scores",
            hint="score the candidates, and keep the first draw of each",
        )
    if table.unpicked != "drop":
        return panel
    return panel.keep(first.scored_cells > 0, first.with_a_score().dropped[len(panel.dropped) :])


def _without_stray_blanks(panel: Panel) -> Panel:
    """Drop the prompts without complete labels where they are few; many of them are a design, and stay."""
    labelled = panel.labelled_cells
    lacking = labelled < panel.sizes
    if lacking.mean() > MAY_LACK:
        return panel
    reasons = np.where(labelled > 0, "partly labelled", "unlabelled")
    dropped = [
        PromptLeftOut(str(prompt), str(reason))
        for prompt, reason in zip(panel.prompt_ids[lacking], reasons[lacking], strict=True)
    ]
    return panel.keep(~lacking, dropped)
