"""Logged picks: what is read of their files, and the judge they are, which scores what it kept above the rest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from bonwise.auditing import judge_audit, judge_record, labelling, unlabelled, verdict
from bonwise.auditing.settings import Settings
from bonwise.errors import FileError, InputError, RowError, UsageError
from bonwise.extras import TABLES
from bonwise.printable import quoted
from bonwise.results import Count, Number, Record, given
from bonwise.strict_json import refusal
from bonwise.table import checks, facts, identifiers, label_design, numbers, opening, roles, store, text_files
from bonwise.table.panel import Panel, PromptLeftOut, lay_out
from bonwise.table.picks import NOTHING, OWED, Pick, PickRows, Picks
from bonwise.table.reading import RowSource
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.score_table import ScoreTable


def logged_judge(
    picks: Picks,
    settings: Settings,
    reading: ReadingOptions,
    design: str | Path | label_design.LabelDesign | None = None,
) -> tuple[judge_record.JudgeAudit, ScoreTable]:
    """Audit the picks of one policy; what `reading` says of columns is of the labels. The table comes along."""
    if settings.exclude or settings.control:
        raise UsageError(
            f"{picks.source}: a logged pick was made among all its candidates, so none can be left out afterwards",
            hint="pick again without it, or audit the scores",
        )
    if settings.target != "best-of-n":
        raise UsageError(
            f"{picks.source}: logged picks are no table of scores to compare systems by", hint="audit the scores"
        )
    table = logged_table([(picks.name, picks)], reading)
    named = [(picks.name, picks.reasons)]
    (panel,) = logged_panels(table, named, settings.shape)
    label_design.refuse_other_draw(design, reading.labels, table)
    stated = labelling.stated_draw(design, table)
    if stated is not None and stated.design is not None and stated.design.by_candidate:
        raise UsageError(
            f"{picks.source}: labels of single candidates were drawn, which audit the scores of a judge",
            hint="audit the table of scores that the design was drawn from",
        )
    scored = None
    rows, labels = picks.scored_rows(), reading.labels
    if labels is not None and rows is not None and any(row["judge_score"] is not None for row in rows):
        (of_scores,) = logged_panels(_labelled_rows(rows, picks.source, labels, reading), named, settings.shape)
        scored = of_scores.keep(np.asarray(of_scores.prompt_ids.isin(panel.prompt_ids)))
    judge = judge_audit.audit_judge(
        panel,
        None,
        settings,
        table=table,
        against=verdict.ORACLE,
        stated=stated,
        picked=replace(_picked(picks, table.unpicked), scores=scored),
    )
    return judge, table


def _picked(picks: Picks, unpicked: checks.Unpicked) -> unlabelled.Picked:
    """Count the pools that lack a pick; one of a single candidate needs none."""
    pools = [pick for pick in picks.picks if len(pick.ids) > 1]
    without = [pick.prompt_id for pick in pools if not pick.kept]
    left_out = [prompt for prompt in without if unpicked == "drop" or picks.reasons[prompt].startswith(OWED)]
    return unlabelled.Picked(len(pools), len(without), len(left_out), unpicked)


def logged_table(named: Sequence[tuple[str, Picks]], reading: ReadingOptions) -> ScoreTable:
    """Return the picks of policies, by name, as one table; `bonwise.errors.InputError` for no labels that fit."""
    source = " and ".join(dict.fromkeys(picks.source for _, picks in named))
    if reading.labels is None:
        raise InputError(f"{source}: no oracle labels to compare the picks with", hint="add --labels FILE")
    strange = [role for role in reading.named_columns if role not in roles.OF_LABELS]
    if strange:
        raise UsageError(
            f"{source}: logged picks have no column for {strange[0]}", hint="name the label file's alone"
        )
    rows = [row for name, picks in named for row in picks.rows(name)]
    return _labelled_rows(rows, source, reading.labels, reading)


def _labelled_rows(rows: PickRows, source: str, labels: RowSource, reading: ReadingOptions) -> ScoreTable:
    # Picks have no columns of scores, so a column that is named can only be the label file's.
    table = replace(ScoreTable.opened(rows, ReadingOptions(), source), columns={}, unpicked=reading.unpicked)
    return opening.with_unlabelled(opening.join_labels(table, labels, reading), reading)


def logged_panels(
    table: ScoreTable, named: Sequence[tuple[str, Mapping[str, str]]], shape: checks.Shape | None
) -> tuple[Panel, ...]:
    """Lay picks out, a panel a policy in the order of `named`; prompts without a pick are dropped with a reason."""
    panels = {panel.judge: panel for panel in lay_out(table, shape=shape)}
    return tuple(_explained(panels[name], reasons) for name, reasons in named)


def _explained(panel: Panel, reasons: Mapping[str, str]) -> Panel:
    """Leave out the prompts of which no pick can be known; one where nothing was picked stays, by `unpicked`."""
    out = {prompt: why for prompt, why in reasons.items() if why.startswith(OWED) or not why.startswith(NOTHING)}
    gone = panel.prompt_ids.isin(list(out))
    kept = panel.keep(
        ~np.asarray(gone), [PromptLeftOut(str(prompt), out[prompt]) for prompt in panel.prompt_ids[gone]]
    )
    dropped = tuple(PromptLeftOut(one.prompt_id, reasons.get(one.prompt_id, one.reason)) for one in kept.dropped)
    return replace(kept, dropped=dropped)


def picks_made(picks: Picks, behind: Collection[str] | None = None) -> facts.PicksMade:
    """Return how picks were taken and decided; those of prompts not `behind` the figures are ``left_out``."""
    mine = None if behind is None else frozenset(behind)
    counted: Counter[str] = Counter()
    rest: Counter[str] = Counter()
    for pick in picks.picks:
        (counted if mine is None or pick.prompt_id in mine else rest)[pick.decided_by or "not said"] += 1
    return facts.PicksMade(
        by={key: value for key, value in picks.settings.items() if isinstance(value, str | int)},
        as_picked=picks.as_picked,
        decided_by=dict(counted.most_common()),
        **given(left_out=None if mine is None else dict(rest.most_common())),
    )


Name = str | int
"""How a file names a candidate; a number is the text that it is written as."""


class PickSettings(Record):
    """What a line says of the policy that picked; lines of one file have the same settings."""

    model_config = ConfigDict(extra="allow")

    strategy: str | None = None
    judge: str | None = None
    """Both: they name the picks."""


class PickLine(Record):
    """One line of a file of picks. Further keys are not read."""

    model_config = ConfigDict(extra="ignore")

    prompt_id: str | int | float
    """One line per prompt."""
    ids: Annotated[list[Name], Field(min_length=1)]
    """All candidates of the pool."""
    best: Name | None
    """The one that was kept; null where nothing was picked."""
    level: list[Name] | None = None
    """Candidates among which a seed decided."""
    decided_by: str | None = None
    """What decided, in the words of whoever picked."""
    answers: Count | None = None
    """Answers of a model that were used."""
    from_ledger: Count | None = None
    """Those of them that came from a ledger."""
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    """Both: tokens of the answers that were sent for."""
    reused_tokens: Count | None = None
    """Tokens of the answers that came from a ledger."""
    scores: list[Number | None] | None = None
    """Scores in the order of `ids`, null where a candidate has none; what they tell is audited beside the picks."""
    routed: Any = None
    """What a router made of the pool: the scores of one that went to the stronger judge are of two judges."""
    text: Any = None
    """What was picked, where it is a text."""
    settings: PickSettings | None = None
    """The policy."""

    @field_validator("ids", "level")
    @classmethod
    def _check_names(cls, names: list[Name] | None) -> list[Name] | None:
        texts = [str(name) for name in names or ()]
        if not all(map(str.strip, texts)):
            raise ValueError("should not hold a blank name")
        if len(set(texts)) < len(texts):
            twice = next(name for name, times in Counter(texts).items() if times > 1)
            raise ValueError(f"names {twice[:40]!r} twice")
        return names

    @model_validator(mode="after")
    def _check_pick(self) -> PickLine:
        ids, level = {str(one) for one in self.ids}, {str(one) for one in self.level or ()}
        if self.best is not None and str(self.best) not in ids:
            raise ValueError(f"has a best, {str(self.best)[:40]!r}, that is none of its ids")
        if not level <= ids:
            raise ValueError("has a level with a name that is none of its ids")
        if self.scores is not None and len(self.scores) != len(self.ids):
            raise ValueError("should have scores for its ids: one score per candidate")
        if any(abs(score) > numbers.LARGEST for score in self.scores or () if score is not None):
            raise ValueError(f"has a score beyond {numbers.LARGEST:g}")
        if level and (self.best is None or str(self.best) not in level):
            raise ValueError("has a level that its best is not one of")
        if self.answers is not None and self.from_ledger is not None and self.from_ledger > self.answers:
            raise ValueError("has more answers from_ledger than answers")
        return self


_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

_MAY_DIFFER = frozenset({"parameters", "version", "seed"})
"""Settings that may change within a file without making the picks those of another policy."""

_ADDED = frozenset({"router"})
"""Settings that picks of earlier versions do not state: lines differ in one only where both state it."""

_HINT = 'a line needs prompt_id, ids of all candidates, and best: one of ids, or null; such as {"ids": ["a", "b"]}'


def holds_picks(path: Path) -> bool:
    """Tell whether a file holds picks: JSON Lines whose first object names the ``best`` of its ``ids``."""
    if not path.name.lower().endswith(_ENDINGS) or not path.is_file():
        return False
    return any({"best", "ids"} <= record.keys() for _, record in islice(text_files.json_lines(path), 1))


def read_picks(path: str | Path, *, as_picked: bool = False) -> Picks:
    """Read logged picks, JSON Lines of `PickLine` of one setting; `as_picked` takes what a seed drew."""
    TABLES.require(f"reading {path}")
    source, rows, lines = str(path), [], []
    policy = _OnePolicy(source)
    for row, record in text_files.json_lines(Path(path)):
        rows.append(row)
        lines.append(_line(record, f"{source}, row {row}"))
        policy.refuse_another(row, record.get("settings") or {})
    if not lines:
        raise FileError(f"{source}: no picks", hint="check that whatever wrote it has finished")
    prompts = _prompts(rows, lines, source)
    picks = tuple(_pick(line, prompt, as_picked=as_picked) for line, prompt in zip(lines, prompts, strict=True))
    return Picks(source, picks, MappingProxyType(policy.settings), as_picked)


@dataclass(slots=True)
class _OnePolicy:
    """Holds every line to the settings of the first one."""

    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    row: int = 0

    def refuse_another(self, row: int, settings: Mapping[str, Any]) -> None:
        """Refuse a line of another policy."""
        if not self.row:
            self.row, self.settings = row, settings
        if settings == self.settings:
            return
        usual, mine = _policy(self.settings), _policy(settings)
        for key in _ADDED - (usual.keys() & mine.keys()):
            usual.pop(key, None)
            mine.pop(key, None)
        if mine != usual:
            differing = sorted(key for key in usual.keys() | mine.keys() if usual.get(key) != mine.get(key))
            raise RowError(
                f"{self.source}, row {row}: picked with another {', '.join(differing)} than row {self.row}",
                hint="audit the picks of one policy at a time: write each to a file of its own",
            )


def _policy(settings: Mapping[str, Any]) -> dict[str, str]:
    return {key: json.dumps(value, sort_keys=True) for key, value in settings.items() if key not in _MAY_DIFFER}


def _prompts(rows: list[int], lines: Sequence[PickLine], source: str) -> list[str]:
    column = store.CodedColumn.of_cells([line.prompt_id for line in lines], np.array(rows))
    prompts = list(identifiers.as_categories(column, role="prompt_id", source=source))
    first: dict[str, int] = {}
    for row, prompt in zip(rows, prompts, strict=True):
        if prompt in first:
            raise RowError(
                f"{source}, row {row}: {quoted(prompt)} is picked again (first in row {first[prompt]})",
                hint="keep one pick per prompt; put two policies into two files for bonwise compare",
            )
        first[prompt] = row
    return prompts


def _line(record: dict[str, Any], where: str) -> PickLine:
    try:
        return PickLine.model_validate(record)
    except ValidationError as error:
        raise RowError(f"{where}: {refusal(error, record, whole='the line')}", hint=_HINT) from None


def _pick(line: PickLine, prompt: str, *, as_picked: bool) -> Pick:
    kept = () if line.best is None else (str(line.best),)
    return Pick(
        prompt,
        _texts(line.ids),
        _texts(line.level) if line.level and not as_picked else kept,
        line.decided_by or "",
        line.answers,
        _all_tokens(line),
        None if line.scores is None or _of_two_judges(line.routed) else tuple(line.scores),
        line.text if isinstance(line.text, str) else None,
    )


def _of_two_judges(routed: Any) -> bool:
    return bool(routed.get("strong") if isinstance(routed, Mapping) else routed)


def _texts(names: Sequence[str | int]) -> tuple[str, ...]:
    return tuple(map(str, names))


def _all_tokens(line: PickLine) -> int | None:
    """Add the tokens up; an answer from a ledger whose tokens are not said leaves the sum unknown."""
    if line.input_tokens is None or line.output_tokens is None:
        return None
    if line.reused_tokens is None and line.from_ledger:
        return None
    return line.input_tokens + line.output_tokens + (line.reused_tokens or 0)
