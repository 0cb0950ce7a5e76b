"""What production is compared with: picks of an earlier time, an audit, or the first periods of the log itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bonwise.auditing.watching.courses import AuditedLevel
from bonwise.auditing.watching.pick_log import LoggedPick, files_of
from bonwise.auditing.watching.signals import RECOVERY
from bonwise.data.wording import listed, quoted
from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.reading import read_document
from bonwise.errors import UsageError

__all__ = ["AuditBaseline", "audit_baseline", "audit_file", "baseline_files"]

_METRICS = {"tie_rate": "top1_tie_rate", RECOVERY: "recovery"}
"""Signals that an audit knows, and the metric that is the same."""

_HINT = "give the JSON of bonwise audit --json, or files of picks that end in .jsonl"


@dataclass(frozen=True, eq=False)
class AuditBaseline:
    """The signals that an audit knows."""

    source: str
    judge: str
    levels: Mapping[str, AuditedLevel] = field(repr=False)
    """By signal."""
    missing: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Why the audit lacks a signal that audits know."""


def baseline_files(named: str | Path | Sequence[str | Path]) -> tuple[Path | None, tuple[Path, ...]]:
    """Return the audit among the files of a baseline, and the files of picks.

    Raises
    ------
    bonwise.errors.UsageError
        Two audits.
    """
    files = files_of(named)
    audits = [path for path in files if audit_file(path)]
    if len(audits) > 1:
        raise UsageError(f"{len(audits)} audits are given as the baseline", hint="give one of them")
    return (audits[0] if audits else None), tuple(path for path in files if not audit_file(path))


def audit_file(path: Path) -> bool:
    """Tell whether a file is an audit by its ending."""
    return path.suffix.lower() == ".json"


def audit_baseline(path: Path, judge: str | None, picks: Sequence[LoggedPick]) -> AuditBaseline:
    """Read an audit.

    Parameters
    ----------
    path : pathlib.Path
    judge : str, optional
        Whose figures, where it holds several judges; without it the judge that the picks name.
    picks : sequence of LoggedPick
        The log that is watched.

    Raises
    ------
    bonwise.errors.FileError
        The file is not an audit.
    bonwise.errors.UsageError
        Several judges, and none is chosen.
    """
    document = read_document(path, AuditDocument, hint=_HINT)
    name = _judge_of(document, path, judge, picks)
    found = document.judges[name]
    levels = dict(_levels(found, str(path)))
    missing = {
        signal: f"{path} {_without(found, metric)}" for signal, metric in _METRICS.items() if signal not in levels
    }
    return AuditBaseline(str(path), name, levels, missing)


def _judge_of(document: AuditDocument, path: Path, judge: str | None, picks: Sequence[LoggedPick]) -> str:
    names = list(document.judges)
    if judge is not None and judge not in names:
        raise UsageError(f"{path}: no judge named {quoted(judge)}", hint=f"the judges are {listed(names)}")
    said = {str(pick.settings["judge"]) for pick in picks if pick.settings.get("judge")}
    matching = [name for name in names if name in said]
    if judge is None and len(names) > 1 and len(matching) != 1:
        raise UsageError(f"{path} holds {len(names)} judges", hint=f"choose one with --judge: {listed(names)}")
    return judge or (names[0] if len(names) == 1 else matching[0])


def _levels(found: JudgeFound, source: str) -> Iterator[tuple[str, AuditedLevel]]:
    for signal, metric in _METRICS.items():
        one = found.metrics.get(metric)
        room = _room(found) if signal == RECOVERY else None
        told = one is not None and (signal != RECOVERY or (room is not None and one.se is not None))
        if one is not None and one.estimate is not None and told:
            # A share has bounds also where no prompt differs from another.
            se = float(one.se or 0.0)
            draws = None if room is None else room * one.n
            yield signal, AuditedLevel(source, float(one.estimate), se, one.low, one.high, one.n, draws)


def _room(found: JudgeFound) -> float | None:
    """Return the mean possible gain of a prompt; None where labels are not seen to lie in [0, 1]."""
    oracle, random = (found.metrics.get(name) for name in ("value_oracle", "value_random"))
    if oracle is None or random is None or oracle.estimate is None or random.estimate is None:
        return None
    return oracle.estimate - random.estimate if 0 <= random.estimate < oracle.estimate <= 1 else None


def _without(found: JudgeFound, metric: str) -> str:
    one = found.metrics.get(metric)
    if one is None or one.estimate is None or metric != _METRICS[RECOVERY]:
        return f"holds no {metric}" if one is None else f"holds no {metric}: {one.reason or 'it is undefined'}"
    if one.se is None:
        return f"holds no {metric}: it has no standard error"
    return "has labels outside 0 to 1: state their scale in the audit, such as --label-scale 1:5"
