"""A label sheet that shows words and no names, and the files of a draw, written so that no label is lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from bonwise.errors import InputError, UsageError
from bonwise.extras import PAGES
from bonwise.labels.result import PoolSheet, SheetCounts, SheetSettings
from bonwise.printable import quoted, writable
from bonwise.release import release
from bonwise.table import checks, label_design, numbers, reading, scales, sheet_keys, writing
from bonwise.table.pools import read_pools


def sheet_of_pools(
    pools: str | Path,
    *,
    labels: int | None = None,
    seed: int = checks.SEED,
    exclude: str | Sequence[str] = (),
    label_scale: scales.Scale | None = None,
) -> PoolSheet:
    """Choose prompts of pools to be labelled, all candidates of each: `labels` drawn uniformly, or all."""
    seed = checks.checked_whole("seed", seed, 0, "1")
    left_out = set(checks.names_of("exclude", exclude))
    kept, single = [], 0
    for pool in read_pools(pools):
        candidates = [candidate for candidate in pool.candidates if candidate.id not in left_out]
        if len(candidates) < 2:
            single += 1
        else:
            kept.append((pool, candidates))
    if not kept:
        raise InputError(f"{pools}: no pool has two candidates", hint="there is nothing to choose from")
    count = len(kept) if labels is None else checks.checked_whole("labels", labels, 1, "100")
    if count > len(kept):
        raise UsageError(
            f"{count:,} prompts are to be labelled, and {pools} holds {len(kept):,} with two candidates",
            hint="ask for fewer labels (--labels)",
        )
    rng = np.random.default_rng([seed, 0])
    rows = []
    for at in rng.permutation(len(kept))[:count]:
        pool, candidates = kept[at]
        shuffled = [candidates[place] for place in rng.permutation(len(candidates))]
        rows += [SheetRow(pool.prompt_id, candidate.id, pool.prompt, candidate.text) for candidate in shuffled]
    settings = SheetSettings(
        pools=str(pools),
        labels=labels,
        seed=seed,
        exclude=sorted(left_out),
        label_scale=None if label_scale is None else str(label_scale),
        version=release(),
    )
    counts = SheetCounts(prompts=len(kept), single=single, prompts_to_label=count, responses_to_label=len(rows))
    return PoolSheet(settings=settings, data=counts).computed_from(BlindSheet(tuple(rows), label_scale))


SheetKind = Literal["csv", "page", "tasks"]

_POINTS = scales.Scale(1, 5)
"""Labels that a page and Label Studio offer where no scale was declared."""

_MOST = 9
_STREAM = 0x5EE7
"""Tells the shuffle of a sheet from the draw of the same seed."""


def kind_of_sheet(path: str | Path) -> SheetKind:
    """Return what a sheet of this name is: ``.html`` a page, ``.json`` tasks for Label Studio, any other CSV."""
    kinds: dict[str, SheetKind] = {".html": "page", ".htm": "page", ".json": "tasks"}
    return kinds.get(Path(path).suffix.lower(), "csv")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One candidate to label."""

    prompt_id: str
    candidate: str
    prompt: str
    """The words of both."""
    response: str
    """The words of both."""
    label: float | None = None
    """The label so far."""


@dataclass(frozen=True)
class BlindSheet:
    """The candidates to label under keys that show neither model nor judge."""

    rows: tuple[SheetRow, ...]
    """The rows of a prompt stand together, its candidates in random order."""
    scale: scales.Scale | None = None
    """Of the labels; 1 to 5 on a page where there is none."""

    @classmethod
    def of_frame(
        cls, sheet: pd.DataFrame, *, seed: int, phase: int = 1, scale: scales.Scale | None = None
    ) -> BlindSheet:
        """Return the blind sheet of candidates in words, prompts in order, candidates shuffled anew by `phase`."""
        text_column = next((name for name in ("text", "response") if name in sheet.columns), None)
        if text_column is None:
            raise InputError(
                "a label sheet without names shows words, and the scores hold none of the candidates",
                hint="give the file of pools with --pools",
            )
        columns = ["prompt_id", "candidate", "prompt", text_column, "oracle_label"]
        told = sheet.reindex(columns=columns).astype(object)
        told = told.where(told.notna(), None)
        rows = [
            SheetRow(str(name), str(candidate), str(prompt or ""), str(text or ""), _label(label))
            for name, candidate, prompt, text, label in told.itertuples(index=False, name=None)
        ]
        rng = np.random.default_rng([seed, phase, _STREAM])
        return cls(
            tuple(row for pool in _pools(rows) for row in (pool[at] for at in rng.permutation(len(pool)))), scale
        )

    @cached_property
    def digest(self) -> str:
        """What tells this sheet from any other: 16 hexadecimal digits of its keys, words and scale."""
        content = [[row.prompt_id, row.candidate, row.prompt, row.response] for row in self.rows]
        stated = json.dumps([str(self.scale or ""), content]).encode()
        return hashlib.sha256(stated).hexdigest()[:16]

    def text(self, path: str | Path) -> str:
        """Return what is written under a name, see `kind_of_sheet`; refused on a scale that it cannot offer."""
        kind = kind_of_sheet(path)
        if kind == "csv":
            return self.csv()
        return self.page(Path(path).stem) if kind == "page" else self.tasks()

    def beside(self, path: str | Path) -> dict[Path, str]:
        """Return what else is written: the labeling interface of tasks for Label Studio."""
        if kind_of_sheet(path) != "tasks":
            return {}
        return {Path(path).with_suffix(".xml"): self.labeling_interface()}

    def csv(self) -> str:
        """Return the rows as CSV: key, label, prompt and response; control characters are written out."""
        rows = [
            [row_key(row), _written(row.label), writable(row.prompt), writable(row.response)] for row in self.rows
        ]
        return writing.csv_text([*writing.BLIND_SHEET, "prompt", "response"], rows)

    def page(self, name: str = "sheet") -> str:
        """Return the page for a browser; the name of the exported file begins with `name`."""
        PAGES.require("a label sheet for a browser")
        from bonwise.report.page.label_page import label_page  # noqa: PLC0415 - jinja2 is needed for pages alone

        prompts = [
            (pool[0].prompt, [(row_key(row), row.response, row.label) for row in pool]) for pool in _pools(self.rows)
        ]
        return label_page(prompts, self._points("a label page"), self.digest, name)

    def tasks(self) -> str:
        """Return the tasks that Label Studio imports; labels so far are annotations."""
        self._points("Label Studio")
        lines = []
        for row in self.rows:
            data = {sheet_keys.SHEET_KEY: row_key(row), "prompt": row.prompt, "response": row.response}
            task: dict[str, object] = {"data": data}
            if row.label is not None:
                task["annotations"] = [{"result": [self._result(row.label)]}]
            lines.append(json.dumps(task, ensure_ascii=False))
        return "[\n" + ",\n".join(lines) + "\n]\n"

    def labeling_interface(self) -> str:
        """Return the labeling interface of the tasks, to be pasted into the settings of the project."""
        points = self._points("Label Studio")
        ask = (
            f'<Rating name="oracle_label" toName="response" maxRating="{points[-1]}" required="true"/>'
            if self._rated
            else f'<Number name="oracle_label" toName="response" min="{points[0]}" max="{points[-1]}" step="1" '
            'required="true"/>'
        )
        return (
            "<View><!-- bonwise label sheet -->\n"
            '  <Header value="Prompt"/>\n  <Text name="prompt" value="$prompt"/>\n'
            '  <Header value="Response"/>\n  <Text name="response" value="$response"/>\n'
            f'  <Header value="Label from {points[0]} (worst) to {points[-1]} (best)"/>\n  {ask}\n</View>\n'
        )

    @property
    def _rated(self) -> bool:
        return (self.scale or _POINTS).low == 1

    def _result(self, label: float) -> dict[str, object]:
        kind = "rating" if self._rated else "number"
        return {"from_name": "oracle_label", "to_name": "response", "type": kind, "value": {kind: label}}

    def _points(self, what: str) -> Sequence[int]:
        scale = self.scale or _POINTS
        low, high = int(scale.low), int(scale.high)
        if (low, high) != (scale.low, scale.high) or not 0 <= low < high <= _MOST:
            raise UsageError(
                f"{what} offers whole labels from 0 to {_MOST}, and the scale of the labels is {quoted(str(scale))}",
                hint="declare another one, such as --label-scale 1:5, or write the sheet as CSV",
            )
        return range(low, high + 1)


def row_key(row: SheetRow) -> str:
    """Return the key of a row."""
    return sheet_keys.sheet_key(row.prompt_id, row.candidate)


def _pools(rows: Sequence[SheetRow]) -> list[list[SheetRow]]:
    by_prompt: dict[str, list[SheetRow]] = {}
    for row in rows:
        by_prompt.setdefault(row.prompt_id, []).append(row)
    return list(by_prompt.values())


def _label(cell: object) -> float | None:
    return None if cell is None else float(cell)  # type: ignore[arg-type]  # a column of numbers


def _written(label: float | None) -> object:
    if label is None:
        return ""
    return int(label) if label.is_integer() else label


@dataclass(frozen=True)
class SheetFile:
    """A label sheet to be written."""

    path: Path
    text: str
    beside: Mapping[Path, str] = field(default_factory=dict)
    """Files that go with it."""


def write_draw(design: label_design.LabelDesign, out: Path, sheet: SheetFile | None = None) -> None:
    """Write a design and perhaps a sheet, or neither where labels or another design would be lost."""
    drawn = writing.csv_frame(design.frame())
    if _differs(out, drawn) and label_design.LabelDesign.stands_in(out):
        raise UsageError(
            f"{out} holds another draw already",
            hint="give another name (--out); to draw more on top of it, name it as the earlier draw (--after)",
        )
    if sheet is not None:
        _refuse_lost_labels(sheet)
    writing.write_whole(out, drawn)
    if sheet is not None:
        _write(sheet)


def write_sheet(sheet: SheetFile) -> None:
    """Write a sheet, unless one stands there with labels."""
    _refuse_lost_labels(sheet)
    _write(sheet)


def _write(sheet: SheetFile) -> None:
    writing.write_whole(sheet.path, sheet.text)
    for path, text in sheet.beside.items():
        writing.write_whole(path, text)


def _refuse_lost_labels(sheet: SheetFile) -> None:
    path = sheet.path
    if not _differs(path, sheet.text):
        return
    hint = "give the sheet another name (--sheet); to draw more on top of an earlier draw, name that (--after)"
    if writing.is_label_page(path):
        raise UsageError(f"{path} is the page of another sheet, and a browser may hold labels for it", hint=hint)
    if _holds_labels(path):
        raise UsageError(f"{path} holds labels already, and a new sheet would erase them", hint=hint)


def _differs(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() != text.encode()


def _holds_labels(path: Path) -> bool:
    """Return whether anything but an empty sheet stands there; what cannot be read may hold labels."""
    if not path.stat().st_size:
        return False
    if kind_of_sheet(path) == "tasks":
        return _holds_annotations(path)
    if kind_of_sheet(path) == "page":
        return False
    try:
        raw = reading.read_raw(path)
    except InputError:
        return True
    return "oracle_label" not in raw.columns or not numbers.is_blank(raw.columns["oracle_label"]).all()


def _holds_annotations(path: Path) -> bool:
    try:
        tasks = json.loads(path.read_text("utf-8"))
        return any(set(task) != {"data"} for task in tasks)
    except (ValueError, TypeError, RecursionError):
        return True
