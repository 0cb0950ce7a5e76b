"""Drift in production: whether the picks of a log moved away from a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bonwise.auditing.result import Audit, JudgeFound
from bonwise.errors import FileError, UsageError
from bonwise.extras import TABLES
from bonwise.loading import read_document
from bonwise.printable import listed, printable, quoted
from bonwise.release import release
from bonwise.results import given
from bonwise.table import checks, reading, reading_options
from bonwise.watching import result, sentences
from bonwise.watching.courses import AuditedLevel, WatchRule, by_bound, by_ranks, not_watched
from bonwise.watching.pick_log import DividedLog, LoggedPick, divided, files_of, latest_picks, read_log, way_of
from bonwise.watching.signals import RECOVERY, SIGNALS, LabelledPicks, LoggedSignal, labelled_picks, signal_of

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
    """Return the audit among the files of a baseline, and the files of picks; two audits are refused."""
    files = files_of(named)
    audits = [path for path in files if audit_file(path)]
    if len(audits) > 1:
        raise UsageError(f"{len(audits)} audits are given as the baseline", hint="give one of them")
    return (audits[0] if audits else None), tuple(path for path in files if not audit_file(path))


def audit_file(path: Path) -> bool:
    """Tell whether a file is an audit by its ending."""
    return path.suffix.lower() == ".json"


def audit_baseline(path: Path, judge: str | None, picks: Sequence[LoggedPick]) -> AuditBaseline:
    """Read an audit of one judge: the one named, else the only one, else the one that the picks of the log name."""
    document = read_document(path, Audit, hint=_HINT)
    name = _judge_of(document, path, judge, picks)
    judged = document.judges[name]
    levels = dict(_levels(judged, str(path)))
    missing = {
        signal: f"{path} {_without(judged, metric)}" for signal, metric in _METRICS.items() if signal not in levels
    }
    return AuditBaseline(str(path), name, levels, missing)


def _judge_of(document: Audit, path: Path, judge: str | None, picks: Sequence[LoggedPick]) -> str:
    names = list(document.judges)
    if judge is not None and judge not in names:
        raise UsageError(f"{path}: no judge named {quoted(judge)}", hint=f"the judges are {listed(names)}")
    logged = {str(pick.settings["judge"]) for pick in picks if pick.settings.get("judge")}
    matching = [name for name in names if name in logged]
    if judge is None and len(names) > 1 and len(matching) != 1:
        raise UsageError(f"{path} holds {len(names)} judges", hint=f"choose one with --judge: {listed(names)}")
    return judge or (names[0] if len(names) == 1 else matching[0])


def _levels(audited: JudgeFound, source: str) -> Iterator[tuple[str, AuditedLevel]]:
    for signal, metric in _METRICS.items():
        estimate = audited.metrics.get(metric)
        room = _room(audited) if signal == RECOVERY else None
        usable = estimate is not None and (signal != RECOVERY or (room is not None and estimate.se is not None))
        if estimate is not None and estimate.estimate is not None and usable:
            # A share has bounds also where no prompt differs from another.
            se = float(estimate.se or 0.0)
            draws = None if room is None else room * estimate.n
            yield (
                signal,
                AuditedLevel(source, float(estimate.estimate), se, estimate.low, estimate.high, estimate.n, draws),
            )


def _room(audited: JudgeFound) -> float | None:
    """Return the mean possible gain of a prompt; None where labels are not seen to lie in [0, 1]."""
    oracle, random = (audited.metrics.get(name) for name in ("value_oracle", "value_random"))
    if oracle is None or random is None or oracle.estimate is None or random.estimate is None:
        return None
    return oracle.estimate - random.estimate if 0 <= random.estimate < oracle.estimate <= 1 else None


def _without(audited: JudgeFound, metric: str) -> str:
    estimate = audited.metrics.get(metric)
    if estimate is None or estimate.estimate is None or metric != _METRICS[RECOVERY]:
        return (
            f"holds no {metric}" if estimate is None else f"holds no {metric}: {estimate.reason or 'it is undefined'}"
        )
    if estimate.se is None:
        return f"holds no {metric}: it has no standard error"
    return "has labels outside 0 to 1: state their scale in the audit, such as --label-scale 1:5"


FIRST = 14
"""Periods of the log that are the baseline where none is given."""


def watched(  # noqa: PLR0913 - all but the files are named
    picks: str | Path | Sequence[str | Path],
    options: reading_options.ReadingOptions,
    *,
    baseline: str | Path | Sequence[str | Path] | None,
    by: str | int | None,
    time: str | None,
    first: int | None,
    baseline_from: str | None,
    judge: str | None,
    pools: str | Path | None,
    year: int,
    confidence: float,
    seed: int,
) -> result.Watch:
    """Tell whether the picks of a log moved away from a baseline, by a rule that may be asked every day."""
    TABLES.require("watching picks")
    _check(confidence, year, seed, first)
    audit, earlier = baseline_files(baseline) if baseline is not None else (None, ())
    files = _watched_files(picks, earlier)
    if earlier and first is not None:
        raise UsageError("both a baseline of picks and the first periods are named", hint="drop --first or the files")
    if earlier and baseline_from is not None:
        raise UsageError(
            "both a baseline of picks and its first period are named", hint="drop --baseline-from or the files"
        )
    log, begins, way = _log(files, earlier, by, time, first or FIRST, baseline_from)
    if _watched_files(picks, earlier) != files:
        raise FileError("files were renamed while they were read", hint="run the command again")
    audited = None if audit is None else audit_baseline(audit, judge, log.picks)
    if judge is not None and audited is None:
        raise UsageError("a judge is named, and the baseline is no audit", hint="drop --judge, or give the audit")
    labelled = None if options.labels is None else labelled_picks(log, options, str(files[0]))
    settings = result.WatchSettings(
        confidence=float(confidence),
        by=str(way[0]),
        year=int(year),
        seed=int(seed),
        version=release(),
        **reading_options.values_read(options),
        **given(
            time=way[1],
            first=None if earlier else int(first or FIRST),
            baseline_from=baseline_from,
            audit=None if audited is None else audited.source,
            labels=None if options.labels is None else reading.name_of(options.labels, "labels"),
        ),
    )
    since = "" if baseline_from is None else f" since {printable(baseline_from, longest=60)}"
    own = f"the first {begins} periods of the log{since}" if not earlier else "files of earlier picks"
    rule = WatchRule(settings, log.names, begins)
    signals = dict(_signals(log, rule, audited, labelled, own, ranked_first=bool(earlier)))
    data = result.WatchData.of(log, begins, files, earlier, labelled)
    made = result.Watch(
        verdict=sentences.verdict_of(signals),
        sentences=list(sentences.sentences(signals, data, settings)),
        signals=signals,
        data=data,
        settings=settings,
    )
    return made.with_samples(list(latest_picks(log, {} if labelled is None else labelled.by_candidate, pools)))


def _check(confidence: float, year: int, seed: int, first: int | None) -> None:
    checks.check_confidence(confidence)
    checks.check_seed(seed)
    checks.check_whole("year", year, least=1)
    if first is not None:
        checks.check_whole("first", first, least=1)


def _watched_files(picks: str | Path | Sequence[str | Path], earlier: Sequence[Path]) -> tuple[Path, ...]:
    known = {path.resolve() for path in earlier}
    files = tuple(path for path in files_of(picks) if path.resolve() not in known)
    if not files:
        raise UsageError("no file is left to watch: all of them are the baseline", hint="name files of later picks")
    documents = [path for path in files if audit_file(path)]
    if documents:
        raise UsageError(f"{documents[0]} is no file of picks", hint="an audit follows --baseline")
    return files


def _log(
    files: Sequence[Path],
    earlier: Sequence[Path],
    by: str | int | None,
    time: str | None,
    first: int,
    baseline_from: str | None,
) -> tuple[DividedLog, int, tuple[str | int, str | None]]:
    """Return all picks in their periods, how many of these are the baseline, and what a period is."""
    (before, early), (after, late) = read_log(earlier, time), read_log(files, time)
    for paths, lines in ((earlier, before), (files, after)):
        if paths and not lines:
            raise FileError(f"{paths[0]}: no picks", hint="check that whatever wrote it has finished")
    way = way_of(by, time, [*before, *after])
    later = replace(divided(after, *way), unread=(*early, *late))
    later = later if baseline_from is None else later.since(baseline_from)
    if not earlier:
        return later, min(first, len(later.names)), way
    reference = divided(before, *way)
    if reference.names and later.names and way[1] is not None and reference.names[-1] >= later.names[0]:
        raise UsageError(
            f"the baseline ends at {reference.names[-1]} and the watched picks begin at {later.names[0]}",
            hint="watch picks of a later time than the baseline",
        )
    return reference.before(later), len(reference.names), way


def _signals(
    log: DividedLog,
    rule: WatchRule,
    audited: AuditBaseline | None,
    labelled: LabelledPicks | None,
    own: str,
    *,
    ranked_first: bool,
) -> Iterator[tuple[str, result.WatchedSignal]]:
    lines = [pick.line for pick in log.picks]
    for name in SIGNALS:
        if name == RECOVERY:
            yield name, _recovery(rule, audited, labelled, own, ranked_first=ranked_first)
            continue
        signal = signal_of(name, lines, log.period)
        if not signal.period.size:
            reason = next(iter(signal.undefined), "there is no pick")
            yield name, not_watched(signal, f"{reason}")
        elif audited is not None and name in audited.levels and not ranked_first:
            yield name, by_bound(signal, _against_audit(rule, own=True), audited.levels[name])
        else:
            yield name, _ranked(signal, rule, _source(name, audited, own, ranked_first=ranked_first))


def _ranked(signal: LoggedSignal, rule: WatchRule, source: str) -> result.WatchedSignal:
    if rule.baseline == len(rule.names):
        return not_watched(signal, "all periods are the baseline", early=True)
    return by_ranks(signal, rule, source)


def _recovery(
    rule: WatchRule, audited: AuditBaseline | None, labelled: LabelledPicks | None, own: str, *, ranked_first: bool
) -> result.WatchedSignal:
    nothing = np.empty(0)
    none = LoggedSignal(RECOVERY, nothing, nothing, np.empty(0, dtype=np.int64))
    if labelled is None:
        return not_watched(none, "no labels were given: add --labels FILE")
    signal = labelled.signal
    if not signal.period.size:
        return not_watched(signal, "no pool is labelled completely")
    if audited is None or RECOVERY not in audited.levels:
        return _ranked(signal, rule, _source(RECOVERY, audited, own))
    if not labelled.unit_scale:
        return not_watched(signal, "labels lie outside 0 to 1: state their scale, such as --label-scale 1:5")
    return by_bound(signal, _against_audit(rule, own=not ranked_first), audited.levels[RECOVERY])


def _source(name: str, audited: AuditBaseline | None, own: str, *, ranked_first: bool = False) -> str:
    """Name the baseline of a signal, and why it is not the audit where one was given that should tell it."""
    missing = None if audited is None or ranked_first else audited.missing.get(name)
    return own if missing is None else f"{own}, because {missing}"


def _against_audit(rule: WatchRule, *, own: bool) -> WatchRule:
    """Watch every period of a log that would be its own baseline: the audit takes that place."""
    return replace(rule, baseline=0 if own else rule.baseline)
