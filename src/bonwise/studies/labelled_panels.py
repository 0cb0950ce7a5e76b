"""What a study is made on: each judge's labelled prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from bonwise.auditing.labelling import Labelling, label_state
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError
from bonwise.release import release
from bonwise.results import given
from bonwise.table import cell_scores, facts, opening, reading_options, score_table
from bonwise.table.panel import LabelsInPart, Panel, lay_out

_WHOLE_PROMPTS = (
    "a study changes scores and picks of prompts that are labelled whole. bonwise audit --design cells uses them, if "
    "the labelled candidates are a random sample of all."
)

S = TypeVar("S", bound=facts.StudySettings)
C = TypeVar("C", bound=facts.JudgeCounts)


@dataclass(frozen=True, eq=False)
class LabelledPanels:
    """The judges of a table, each on its prompts that are labelled."""

    table: score_table.ScoreTable = field(repr=False)
    panels: Mapping[str, Panel]
    """By judge; labels are complete."""
    prompts: Mapping[str, int]
    """Prompts of each judge, labelled or not."""
    methods: Mapping[str, str]
    """``complete``, or ``labelled_only`` where more prompts lack labels than may be dropped: figures then describe
    the labelled prompts alone.
    """
    not_studied: Mapping[str, str]
    """The judges without such a prompt, and why."""
    settings: Settings = field(repr=False)
    in_part: Mapping[str, LabelsInPart] = field(default_factory=dict, repr=False)
    """By judge: labels of prompts that are labelled in part."""

    def settings_as(self, kind: type[S], **own: Any) -> S:
        """Return the settings of a study's document, `own` among them, and where the scores came from."""
        asked, table = self.settings, self.table
        common = {
            "confidence": asked.confidence,
            "exclude": list(asked.exclude),
            "control": list(asked.control),
            "seed": asked.seed,
            "version": release(),
            "shape": next(iter(self.panels.values())).shape,
            "source": table.source,
            "columns": dict(table.columns),
            **table.declared_scales,
            **given(
                draws=table.draws if table.draws > 1 else None,
                labels_left_out=facts.labels_left_out(table.labels_left_out),
                unlabelled=table.unlabelled,
                reference=table.reference,
            ),
        }
        return kind(**common, **own)

    def counts_as(self, kind: type[C], judge: str, used: Panel | None = None, **own: Any) -> C:
        """Return the counts of a judge, of the prompts `used` where these are not all its own; `own` adds more."""
        panel, in_part = self.panels[judge] if used is None else used, self.in_part.get(judge)
        common = {
            "prompts": len(panel.sizes),
            "rows": int(panel.sizes.sum()),
            "unlabelled_prompts": self.prompts[judge] - len(self.panels[judge].sizes),
            "dropped": dict(Counter(one.reason for one in panel.dropped)),
            "method": self.methods[judge],
            **given(
                unused_labels=facts.unused_labels(in_part.told(_WHOLE_PROMPTS) if in_part is not None else {}),
                unscored=cell_scores.unscored_reasons(self.table, panel, np.isnan(panel.scores)) or None,
                prompts_under_two_scores=int((panel.scored_cells < 2).sum()) or None,
            ),
        }
        return kind(**common, **own)


def open_judged(
    source: opening.ScoreSource,
    settings: Settings,
    reading: reading_options.ReadingOptions = reading_options.AS_IT_STANDS,
    *,
    all_scored: bool = False,
) -> LabelledPanels:
    """Open a table for a study, less the control, excluded candidates and, with `all_scored`, prompts with gaps."""
    table = opening.open_table(source, reading)
    opening.refuse_clusters(table, "this study")
    refused = {judge: str(error) for judge, error in table.scale_errors().items()}
    if len(refused) == len(table.judges):
        table.check_scales()
    every = lay_out(table, exclude=(*settings.exclude, *settings.control), shape=settings.shape)
    panels = [panel for panel in every if panel.judge not in refused]
    return _judged(table, settings, [panel.all_scored() for panel in panels] if all_scored else panels, refused)


def _judged(
    table: score_table.ScoreTable, settings: Settings, panels: Sequence[Panel], refused: dict[str, str]
) -> LabelledPanels:
    found: dict[str, Labelling] = {}
    for panel in panels:
        labelling = label_state(panel) if len(panel.sizes) else None
        if labelling is None or not labelling.labelled.any():
            refused[panel.judge] = "none of its prompts with scores has labels for all candidates"
        elif not labelling.panel.keep(labelling.labelled).scored_cells.any():
            refused[panel.judge] = "no candidate of its labelled prompts has a score"
        else:
            found[panel.judge] = labelling
    if not found:
        first, reason = next(iter(refused.items()))
        raise InputError(f"{table.source}: no judge can be studied; {first!r}: {reason}", hint="see bonwise doctor")
    return LabelledPanels(
        table,
        {name: one.panel.keep(one.labelled) for name, one in found.items()},
        {name: len(one.panel.sizes) for name, one in found.items()},
        {name: one.method for name, one in found.items()},
        refused,
        settings,
        {panel.judge: LabelsInPart.of_panel(panel) for panel in panels},
    )
