"""Look a file over before an audit: what it was taken for, what is odd about it, what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bonwise.auditing.labelling import label_state
from bonwise.auditing.stated_draw import StatedDraw, stated_draw
from bonwise.auditing.suspicions import Suspicion, suspicions
from bonwise.data.flags import table_flags
from bonwise.data.panel import Dropped, Panel, lay_out
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable
from bonwise.printable import shell_path, shell_word
from bonwise.stats.sums import Sums, prompt_sums

__all__ = ["Diagnosis", "diagnose"]


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found.

    Parameters
    ----------
    source : str
    columns : mapping of str to str
        Role to column.
    strata : tuple of str
    counts : mapping of str to int
        Rows, prompts, candidates, judges.
    shape : str
    dropped : mapping of str to int
        Prompts an audit would leave out, by reason.
    judges : tuple of mapping
        For each judge: prompts, range of scores, distinct scores, tie rates.
    labels : mapping
        Coverage and range of the oracle labels.
    suspicious : tuple of str
    next_command : str
    """

    source: str
    columns: Mapping[str, str]
    strata: tuple[str, ...]
    counts: Mapping[str, int]
    shape: str
    dropped: Mapping[str, int]
    judges: tuple[Mapping[str, Any], ...]
    labels: Mapping[str, Any]
    suspicious: tuple[str, ...] = field(default=())
    next_command: str = ""

    def __str__(self) -> str:
        from bonwise.report.doctor_text import doctor_text  # noqa: PLC0415 - rendering loads rich

        return doctor_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.doctor/1``."""
        return {
            "schema": "bonwise.doctor/1",
            "source": self.source,
            "columns": dict(self.columns),
            "strata": list(self.strata),
            "counts": dict(self.counts),
            "shape": self.shape,
            "dropped": dict(self.dropped),
            "judges": [dict(judge) for judge in self.judges],
            "labels": dict(self.labels),
            "suspicious": list(self.suspicious),
            "next_command": self.next_command,
        }


def diagnose(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    judge_scale: Mapping[str, Scale] | Scale | None = None,
    label_scale: Scale | None = None,
) -> Diagnosis:
    """Look a file over.

    Parameters
    ----------
    path : str or pathlib.Path
        What `audit` reads.
    columns : mapping of str to str, optional
        Role to column.
    judge_scale, label_scale : optional
        Declared scales.

    Raises
    ------
    bonwise.errors.InputError
        The file cannot be read as a table of scores at all.
    """
    table = ScoreTable.read(path, columns=columns, judge_scale=judge_scale, label_scale=label_scale)
    panels = lay_out(table)
    found, stated = suspicions(table, panels), stated_draw(None, table)
    dropped = {(drop.prompt_id, drop.reason) for panel in panels for drop in _dropped(panel, stated)}
    return Diagnosis(
        source=str(path),
        columns=table.columns,
        strata=table.strata,
        counts={
            "rows": len(table.frame),
            "prompts": len(table.prompts),
            "candidates": len(table.candidates),
            "judges": len(table.judges),
        },
        shape=panels[0].shape,
        dropped=Counter(reason for _, reason in dropped),
        judges=tuple(_judge(panel) for panel in panels),
        labels=_labels(table, max(panels, key=lambda panel: len(panel.sizes))),
        suspicious=tuple(one.sentence for one in found),
        next_command=_next_command(table, str(path), columns or {}, found),
    )


def _dropped(panel: Panel, stated: StatedDraw | None) -> tuple[Dropped, ...]:
    """Return what an audit would leave out, for want of scores or, of a few prompts, of labels."""
    audited = bool(len(panel.sizes)) and bool((panel.labelled_cells == panel.sizes).any())
    return label_state(panel, stated).panel.dropped if audited else panel.dropped


def _judge(panel: Panel) -> dict[str, Any]:
    if not len(panel.sizes):
        return {"judge": panel.judge, "prompts": 0}
    sums = Sums(*prompt_sums(panel.scores, np.zeros(len(panel.scores)), panel.sizes))
    return {
        "judge": panel.judge,
        "prompts": len(panel.sizes),
        "lowest": float(panel.scores.min()),
        "highest": float(panel.scores.max()),
        "distinct": len(np.unique(panel.scores)),
        "tie_rate": float(1 - sums.apart_S.sum() / sums.pairs.sum()),
        "top1_tie_rate": float(sums.tied_top.mean()),
    }


def _labels(table: ScoreTable, panel: Panel) -> dict[str, Any]:
    values = table.frame["oracle_label"].dropna()
    found = panel.labelled_cells
    out: dict[str, Any] = {
        "labelled_rows": len(values),
        "labelled_prompts": int((found == panel.sizes).sum()),
        "partly_labelled_prompts": int(((found > 0) & (found < panel.sizes)).sum()),
        "unlabelled_prompts": int((found == 0).sum()),
    }
    if len(values):
        out.update(lowest=float(values.min()), highest=float(values.max()), distinct=int(values.nunique()))
    return out


def _next_command(table: ScoreTable, path: str, columns: Mapping[str, str], found: Sequence[Suspicion]) -> str:
    flags = table_flags(columns, table.judge_scales, table.label_scale)
    if not table.has_labels:
        several = len(table.judges) > 1
        flags.append("--oracle " + shell_word(f"judge:{table.judges[0]}") if several else "--labels LABELS.csv")
    suggested = (flag for one in found for flag in one.flags)
    return " ".join(["bonwise audit", shell_path(path), *dict.fromkeys([*flags, *suggested])])
