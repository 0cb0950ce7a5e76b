"""The page of an audit: its document, what is shown beside it, and the file with the rest of the prompts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.auditing.exhibits.exhibits import exhibits
from bonwise.auditing.studies.judged import Judged
from bonwise.auditing.studies.mix import MixStudy, mix_of
from bonwise.auditing.studies.requirements import RequirementsStudy, requirements_of
from bonwise.data.words import Words
from bonwise.data.writing import csv_frame, write_whole
from bonwise.errors import InputError, UsageError
from bonwise.printable import printable
from bonwise.shown import Shown

if TYPE_CHECKING:
    from bonwise.auditing.audit import Audit

__all__ = ["rest_of_prompts", "write_page"]


def rest_of_prompts(path: str | Path) -> Path:
    """Name the file beside a page that holds a row for every prompt, where the page cannot show them all.

    Examples
    --------
    >>> rest_of_prompts("runs/audit.html").as_posix()
    'runs/audit-prompts.csv'
    """
    return Path(path).with_name(f"{Path(path).stem}-prompts.csv")


def write_page(
    audit: Audit,
    path: str | Path,
    *,
    pools: str | Path | None = None,
    gates: Mapping[str, float] | None = None,
    also: Sequence[Shown] = (),
) -> None:
    """Write the page; the parameters and errors are those of `Audit.to_html`.

    A study in `also` stands in place of the one of its name that every page makes.
    """
    from bonwise.report.page.pages import page  # noqa: PLC0415 - drawing loads matplotlib

    others = _documents(also)
    document = audit.to_dict()
    if gates:
        document["gates"] = [gate.to_dict() for gate in audit.check(gates)]
    words = None if audit.table is None else Words(audit.table, pools)
    shown = exhibits(
        tuple(audit.judges.values()),
        audit.table,
        words,
        seed=audit.settings.seed,
        confidence=audit.settings.confidence,
    )
    studies = [*_studies(audit, {one.get("study") for one in others}), *others]
    whole = len(shown["prompts"]["rows"]) == shown["prompts"]["of"]
    rest = None if whole else rest_of_prompts(path)
    text = page(document, exhibits=shown, studies=studies, more=None if rest is None else rest.name)
    if rest is not None:
        write_whole(rest, csv_frame(audit.per_prompt()))
    write_whole(Path(path), text)


def _documents(also: Sequence[Shown]) -> list[dict[str, Any]]:
    hint = "give a list of what bonwise functions return, such as also=[bonwise.study_mix(...)]"
    if isinstance(also, Shown | str | Mapping) or not isinstance(also, Iterable):
        raise UsageError(f"also={type(also).__name__} is no list of results", hint=hint)
    found = list(also)
    for one in found:
        if not isinstance(one, Shown):
            raise UsageError(
                f"also holds {printable(repr(one), longest=60)}, which is no result with a page", hint=hint
            )
    return [one.to_dict() for one in found]


def _studies(audit: Audit, given: Collection[str | None]) -> list[dict[str, Any]]:
    """Return the documents of the studies that every audit page shows where the data allow them, but for some."""
    judged = _judged(audit)
    if judged is None:
        return []
    wanted: dict[str, tuple[str, Callable[[Judged], RequirementsStudy | MixStudy]]] = {
        "requirements": ("What recovery takes", requirements_of)
    }
    if audit.settings.control:
        wanted["mix"] = ("What easy candidates do to the figures", mix_of)
    found = []
    for title, study in (wanted[name] for name in wanted if name not in given):
        try:
            found.append(study(judged).to_dict())
        except InputError as error:
            reason = f"Not studied: {error.message}."
            found.append({"schema": "bonwise.note/1", "title": title, "sentences": [reason]})
    return found


def _judged(audit: Audit) -> Judged | None:
    """Return the audit's own panels for a study; None where picks hold no scores, or no pool is labelled whole."""
    usable = {
        name: judge.labelling
        for name, judge in audit.judges.items()
        if not judge.logged and judge.labelling.labelled.any()
    }
    if audit.table is None or not usable:
        return None
    return Judged(
        audit.table,
        {name: one.panel.keep(one.labelled) for name, one in usable.items()},
        {name: len(one.panel.sizes) for name, one in usable.items()},
        {name: "complete" if one.method == "complete" else "labelled_only" for name, one in usable.items()},
        dict(audit.not_audited),
        audit.settings,
    )
