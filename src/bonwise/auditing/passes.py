"""Audits in passes: a first pass fixes what all prompts share, a second adds up what each of them says."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal
from weakref import finalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, TypeAdapter

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.settings import Settings, label_range
from bonwise.errors import FileError, InputError
from bonwise.printable import printable
from bonwise.stats import estimation, no_gain, swept
from bonwise.stats.sums import ColumnScale, by_rank, prompt_sums, tie_decimals
from bonwise.table import checks, panel, scales, text_files, writing
from bonwise.table.batches import MOST_JUDGES, Batch, Batches, NotTogetherError, hashes

Row = dict[str, str | float | None]
_Hashes = np.typing.NDArray[np.uint64]

USABLE = ("complete", "labelled_only")
_USUAL, _OTHER, _ONE = range(3)  # pools with the most common names, with others, and of a single candidate
_WHOLE, _PART, _NONE = range(3)  # pools by their labels
_MOST_SETS = 20_000  # sets of names that are counted, the rarest left out: none that 90 % of the prompts carry is
_SAMPLE = 1_000  # prompts whose rows are kept, those with the smallest hashes

_ADDED = ("prompts", "cells", "lost", "lost_in", "lost_all", "scored", "sum_S", "sum_O")
_SUMMED = 6  # of these, what is counted; the others are sums of values
_MOST = ("high_S", "low_S", "high_O", "low_O", "high_size", "low_size")  # largest values, and smallest turned


@dataclass(eq=False)
class PassCounts:
    """What a first pass counts, by judge, kind of pool (`_ONE` ...) and labels of the pool."""

    added: Floats
    most: Floats
    dropped: Counter[str] = field(default_factory=Counter)
    """Prompts that are in no figure of any judge, by reason."""

    @classmethod
    def none(cls, judges: int = MOST_JUDGES) -> PassCounts:
        """Return what is counted of nothing."""
        return cls(np.zeros((judges, 3, 3, len(_ADDED))), np.full((judges, 3, 3, len(_MOST)), -np.inf))

    def of(self, name: str, judge: int, kinds: Sequence[int], labels: Sequence[int] = (_WHOLE,)) -> float:
        """Return a count of a judge over kinds of pools and of their labels."""
        at = np.ix_([judge], kinds, labels)
        if name in _ADDED:
            return float(self.added[at][..., _ADDED.index(name)].sum())
        largest = float(self.most[at][..., _MOST.index(name)].max())
        return -largest if name.startswith("low") else largest

    def label_ends(self, judge: int, kinds: Sequence[int]) -> tuple[float, float]:
        """Return the lowest and the highest label."""
        return self.of("low_O", judge, kinds), self.of("high_O", judge, kinds)


@dataclass(frozen=True)
class Fixed:
    """What all prompts share, and stats files that are merged; lists are by judge."""

    columns: dict[str, str]
    judges: list[str]
    shape: checks.Shape
    common: int  # hash of the names that every prompt of a rectangular table carries
    methods: list[str]  # of `USABLE`, or why it is not audited
    labelled: list[ColumnScale]  # of the prompts with all labels
    scored: list[ColumnScale]  # of all prompts
    label_ends: list[tuple[float, float]]
    exclude: list[str]
    scales: dict[str, str]  # declared ones, by judge; that of labels under ``oracle_label``

    @property
    def kinds(self) -> tuple[int, ...]:
        """The kinds of pools that count."""
        return (_USUAL,) if self.shape == "rectangular" else (_USUAL, _OTHER)


@dataclass(eq=False)
class Collected:
    """The sums of prompts of all judges, (judges * ROWS, prompts), 0 where a judge has none; or facts of them."""

    label_ranges: Sequence[tuple[float, float]]
    clusters: list[_Hashes] | None = None
    facts: dict[tuple[int, ...], swept.Facts] = field(default_factory=dict)
    """By judge, or pair of them."""
    prompts: int = 0
    _file: Any = None
    _chunks: int = 0

    @property
    def only_facts(self) -> bool:
        """Whether only facts are known."""
        return self._file is None

    @property
    def held(self) -> bool:
        """Whether the sums are held, so that all is computed as it is in memory."""
        return not self.only_facts and (self.clusters is not None or self.prompts <= swept.HELD)

    def add(self, sums: Floats, clusters: _Hashes | None) -> None:
        """Add the sums of some prompts, which a file without a name holds: it is gone however the process ends."""
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with what it belongs to
            finalize(self, self._file.close)
        np.save(self._file, sums)
        self._chunks += 1
        self.prompts += sums.shape[1]
        if self.clusters is not None and clusters is not None:
            self.clusters.append(clusters)

    def all_chunks(self) -> Iterator[Floats]:
        """Yield the sums that were added."""
        self._file.seek(0)
        yield from (np.load(self._file) for _ in range(self._chunks))

    def chunks(self, *judges: int) -> Iterator[Floats]:
        """Yield the sums of some judges, of the prompts that all of them have."""
        for chunk in self.all_chunks():
            rows = chunk.reshape(-1, swept.ROWS, chunk.shape[1])[list(judges)]
            there = (rows[:, 0] > 0).all(axis=0)
            if there.any():
                yield (rows if there.all() else rows[:, :, there]).reshape(len(rows) * swept.ROWS, -1)

    def sample(self, rule: estimation.IntervalRule, *judges: int) -> swept.HeldSums | swept.SweptSums | None:
        """Return the sums of one judge or two on the prompts that they have; None where there are none."""
        if not self.held:
            facts = self.facts_of(*judges)
            again = None if self.only_facts else partial(self.chunks, *judges)
            return None if facts is None else swept.SweptSums.of(facts, rule, again)
        every, codes = self._held_sums
        starts = np.array(judges) * swept.ROWS
        there = np.flatnonzero((every[starts] > 0).all(axis=0))
        if codes is not None:
            rule = replace(rule, clusters=codes[there])
        rows = every[np.ix_((starts[:, None] + np.arange(swept.ROWS)).ravel(), there)]
        return swept.HeldSums.of(rows, rule, there) if there.size else None

    @cached_property
    def _held_sums(self) -> tuple[Floats, Ints | None]:
        """The sums of all prompts and the codes of their clusters, read once all were added."""
        codes = None
        if self.clusters is not None:
            codes = np.unique(np.concatenate(self.clusters), return_inverse=True)[1].reshape(-1)
        return np.hstack(list(self.all_chunks())), codes

    def facts_of(self, *judges: int) -> swept.Facts | None:
        """Return the facts of some judges, None without a common prompt."""
        if judges not in self.facts and not self.only_facts:
            ends = self.label_ranges[judges[0]]
            parts = [swept.facts_of(chunk, ends) for chunk in self.chunks(*judges)]
            if parts:
                self.facts[judges] = swept.merged(parts)
        return self.facts.get(judges)


@dataclass(eq=False)
class Gathered:
    """What the passes over a table, or over a part of one, say of it."""

    name: str
    fixed: Fixed
    counts: PassCounts
    sums: Collected  # of prompts with all labels
    of_scores: Collected  # of all prompts, without labels, for judges that are labelled in part
    sample: list[Row]  # rows of some prompts
    hashes: _Hashes  # of the prompts, where they were asked for


def gathered(
    batches: Batches, settings: Settings, declared: Mapping[str, Any], like: Fixed | None, *, keep: bool
) -> Gathered:
    """Pass over a table, sorted first where prompts stand apart; `declared` holds scales, `keep` keeps hashes."""
    try:
        return _gathered(batches, settings, partial(_CountingPass, batches, declared, like, keep=keep))
    except NotTogetherError:
        with batches.sorted():
            return _gathered(batches, settings, partial(_CountingPass, batches, declared, like, keep=keep))


def _gathered(batches: Batches, settings: Settings, scanned: partial[_CountingPass]) -> Gathered:
    scan = scanned()
    fixed = scan.fixed(settings)
    if fixed.shape == "rectangular" and scan.guess != fixed.common:
        scan = scanned(guess=fixed.common)
        fixed = scan.fixed(settings)
    fixed = scan.like or fixed
    ends = [label_range(np.array(own)) for own in fixed.label_ends]
    sums, of_scores = (Collected(ends, [] if "cluster" in batches.columns else None) for _ in range(2))
    sample: dict[int, list[Row]] = {}
    for batch, kind, labelled in scan.batches():
        counted = np.isin(kind, fixed.kinds)
        whole = counted & (labelled == _WHOLE)
        if _add_sums(sums, batch, fixed, whole, fixed.labelled):
            sample = _smallest(sample, batch, whole, fixed.judges)
        if "labelled_only" in fixed.methods:
            _add_sums(of_scores, replace(batch, labels=np.zeros(len(batch.labels))), fixed, counted, fixed.scored)
        scan.note_dropped(batch, kind, labelled, fixed)
    rows = [row for own in sample.values() for row in own]
    return Gathered(batches.name, fixed, scan.counts, sums, of_scores, rows, scan.seen())


def _add_sums(to: Collected, batch: Batch, fixed: Fixed, kept: Mask, shared: Sequence[ColumnScale]) -> bool:
    """Add the sums of the prompts that are kept for some judge, and tell whether there are any."""
    usable = np.array([method in USABLE for method in fixed.methods])
    own = batch.asked & kept & usable[:, None]
    some = own.any(axis=0)
    if not some.any():
        return False
    out = np.zeros((len(fixed.judges), swept.ROWS, int(some.sum())))
    for judge in np.flatnonzero(own.any(axis=1)).tolist():
        here = own[judge]
        cells = slice(None) if here.all() else np.repeat(here, batch.sizes)
        sizes, scores, labels = batch.sizes[here], batch.scores[judge][cells], batch.labels[cells]
        moments = no_gain.dealt(by_rank(scores), labels, sizes)
        lowest = np.minimum.reduceat(labels, np.cumsum(sizes) - sizes)
        of_prompts = prompt_sums(scores, labels, sizes, shared=shared[judge])
        out[judge][:, here[some]] = np.vstack([of_prompts, lowest, moments.variance, moments.third])
    to.add(out.reshape(-1, out.shape[-1]), None if batch.clusters is None else hashes(batch.clusters)[some])
    return True


def _smallest(kept: dict[int, list[Row]], batch: Batch, some: Mask, judges: Sequence[str]) -> dict[int, list[Row]]:
    """Return the rows of the prompts with the smallest hashes: the same however a table is cut into parts."""
    keys = hashes(batch.prompts)
    below = keys < np.uint64(max(kept)) if len(kept) >= _SAMPLE else some
    at = np.flatnonzero(some & below)
    at = at[np.argsort(keys[at])][:_SAMPLE]
    if len(at):
        kept |= dict(zip(keys[at].tolist(), batch.rows(at.tolist(), judges), strict=True))
    return dict(sorted(kept.items())[:_SAMPLE])


class _CountingPass:
    """A pass that counts; afterwards it tells the second which pools are which."""

    def __init__(
        self, table: Batches, declared: Mapping[str, Any], like: Fixed | None, *, keep: bool, guess: int | None = None
    ) -> None:
        self._table, self._declared, self.like = table, declared, like
        self.guess = guess if like is None else like.common
        self._sets: Counter[tuple[int, int]] = Counter()
        self._hashes: list[_Hashes] | None = [] if keep else None
        if like is not None:
            table.judges[:] = like.judges
        self._pass_over()

    def _pass_over(self) -> None:
        last, self._sets, self.counts = "", Counter(), PassCounts.none()
        for batch, kind, labelled in self.batches():
            if self._hashes is not None:
                self._hashes.append(hashes(batch.prompts))
            elif not _rising(batch.prompts, last):
                # Only hashes tell whether a prompt comes again: begin anew with them.
                self._hashes = []
                self._pass_over()
                return
            last = batch.prompts[-1].as_py() if len(batch.prompts) else last
            self._count(batch, kind, labelled)
        judges = self._table.judges
        order = sorted(range(len(judges)), key=judges.__getitem__) if self.like is None else [*range(len(judges))]
        judges[:] = [judges[at] for at in order]
        self.counts.added, self.counts.most = self.counts.added[order], self.counts.most[order]
        every = np.sort(self.seen())
        if (every[1:] == every[:-1]).any():
            raise NotTogetherError(
                f"{self._table.name}: rows of a prompt stand apart", hint="sort the rows by prompt"
            )

    def seen(self) -> _Hashes:
        """Return the hashes of the prompts."""
        return np.concatenate(self._hashes) if self._hashes else np.zeros(0, dtype=np.uint64)

    def batches(self) -> Iterator[tuple[Batch, Ints, Ints]]:
        """Yield batches on declared scales, with the kind of each pool and of its labels."""
        for raw in self._table:
            batch = self._scaled(raw)
            sets, labels = batch.sizes.astype(np.uint64), batch.sizes
            if len(sets):
                sets = sets + np.add.reduceat(batch.names, batch.starts)
                labels = np.add.reduceat((~np.isnan(batch.labels)).astype(np.int64), batch.starts)
            unlike, at, counts = np.unique(sets, return_index=True, return_counts=True)
            for names, size, count in zip(unlike.tolist(), batch.sizes[at].tolist(), counts.tolist(), strict=True):
                self._sets[names, size] += count
            self.guess = self._usual()[0] if self.guess is None else self.guess
            if len(self._sets) > _MOST_SETS:
                self._sets = Counter(dict(self._sets.most_common(_MOST_SETS // 2)))
            kind = np.where(sets == np.uint64(self.guess or 0), _USUAL, np.where(batch.sizes > 1, _OTHER, _ONE))
            yield batch, kind, np.where(labels == batch.sizes, _WHOLE, np.where(labels > 0, _PART, _NONE))

    def _usual(self) -> tuple[int, int]:
        """Return the most common set of two names or more, of equally common ones the largest, and its prompts."""
        several = [(count, size, names) for (names, size), count in self._sets.items() if size > 1]
        count, _, names = max(several, key=lambda item: item[:2], default=(0, 0, 0))
        return names, count

    def _scaled(self, batch: Batch) -> Batch:
        def scaled(values: Floats, role: str, stated: Any) -> Floats:
            rows = np.arange(len(values))
            return scales.to_unit(values, stated, rows=rows, role=role, source=self._table.name)

        labels = scaled(batch.labels, "oracle_label", self._declared.get("oracle_label"))
        stated = [self._declared.get(judge, self._declared.get("")) for judge in self._table.judges]
        scores = [scaled(own, "judge_score", scale) for own, scale in zip(batch.scores, stated, strict=False)]
        return replace(batch, labels=labels, scores=np.stack(scores) if self._declared else batch.scores)

    def _count(self, batch: Batch, kind: Ints, labelled: Ints) -> None:
        self.counts.dropped["no candidate left"] += batch.emptied
        for judge in range(len(batch.scores)):
            group = np.where(batch.asked[judge], kind * 3 + labelled, -1)
            for code in np.unique(group[group >= 0]).tolist():
                some, at = group == code, (judge, code // 3, code % 3)
                cells = slice(None) if some.all() else np.repeat(some, batch.sizes)
                added, most = _of_group(batch.scores[judge][cells], batch.labels[cells], batch.sizes[some])
                self.counts.added[at] += added
                self.counts.most[at] = np.maximum(self.counts.most[at], most)

    def note_dropped(self, batch: Batch, kind: Ints, labelled: Ints, fixed: Fixed) -> None:
        """Count the prompts that are in no figure."""
        counted, complete = np.isin(kind, fixed.kinds), "complete" in fixed.methods
        reasons = {f"not judged by {fixed.judges[at]}": counted & ~own for at, own in enumerate(batch.asked)}
        others = {"one candidate": _ONE, "other candidates than most prompts": _OTHER}
        reasons |= {reason: ~counted & (kind == code) for reason, code in others.items()}
        lacking = {"partly labelled": _PART, "unlabelled": _NONE} if complete else {}
        reasons |= {reason: counted & (labelled == code) for reason, code in lacking.items()}
        self.counts.dropped.update({reason: int(np.count_nonzero(which)) for reason, which in reasons.items()})

    def fixed(self, settings: Settings) -> Fixed:
        """Return what all prompts share."""
        (names, prompts), own = self._usual(), range(len(self._table.judges))
        usual: checks.Shape = (
            "rectangular" if 0 < prompts >= panel.RECTANGULAR_SHARE * self._sets.total() else "ragged"
        )
        shape = settings.shape or usual
        kinds = (_USUAL,) if shape == "rectangular" else (_USUAL, _OTHER)
        scored = [self._shared(judge, kinds, (_WHOLE, _PART, _NONE)) for judge in own]
        return Fixed(
            dict(self._table.columns),
            list(self._table.judges),
            shape,
            names if shape == "rectangular" else 0,
            [method_of(self.counts, judge, kinds) for judge in own],
            [self._shared(judge, kinds, (_WHOLE,)) for judge in own],
            [scale._replace(decimals_O=9, middle_O=0.0) for scale in scored],
            [self.counts.label_ends(judge, kinds) for judge in own],
            sorted(self._table.exclude),
            {name: str(scale) for name, scale in self._declared.items()},
        )

    def _shared(self, judge: int, kinds: Sequence[int], labelled: Sequence[int]) -> ColumnScale:
        decimals, middles = [], []
        for side in "SO":
            low, high, total, scored = (
                self.counts.of(name, judge, kinds, labelled)
                for name in (f"low_{side}", f"high_{side}", f"sum_{side}", "scored")
            )
            decimals.append(tie_decimals(np.array((low, high))))
            # Centred at its own value a constant column is exactly 0.
            middles.append(low if low == high else total / max(scored, 1.0))
        return ColumnScale(*map(int, decimals), *middles)


def _of_group(scores: Floats, labels: Floats, sizes: Ints) -> tuple[list[float], list[float]]:
    """Return `_ADDED` and `_MOST` of pools of one kind; labels count on candidates that have a score."""
    known = ~np.isnan(scores)
    scored, beside = (scores, labels) if known.all() else (scores[known], labels[known])
    without = np.add.reduceat((~known).astype(np.int64), np.cumsum(sizes) - sizes)
    lost = len(scores) - len(scored), np.count_nonzero(without), np.count_nonzero(without == sizes)
    added = [len(sizes), len(scores), *lost, len(scored), scored.sum(), np.nansum(beside)]
    highest = [np.fmax.reduce(of, initial=-np.inf) for of in (scored, -scored, labels, -labels)]
    return [float(value) for value in added], [*map(float, highest), float(sizes.max()), -float(sizes.min())]


def method_of(counts: PassCounts, judge: int, kinds: Sequence[int]) -> str:
    """Return how a judge is labelled: ``complete``, ``labelled_only``, or why it cannot be audited."""
    whole, part, none = (counts.of("prompts", judge, kinds, (labels,)) for labels in (_WHOLE, _PART, _NONE))
    if not whole + part + none:
        return "no prompt has two candidates to choose between"
    if not whole:
        return "no prompt has labels for all its candidates"
    if not counts.of("scored", judge, kinds, (_WHOLE, _PART, _NONE)):
        return "it scored no candidate"
    return "complete" if not part and none <= panel.MAY_LACK * (whole + none) else "labelled_only"


def _rising(prompts: Any, last: str) -> bool:
    """Tell whether every id is greater than the one before it, so that none comes again."""
    every = pa.concat_arrays([pa.array([last], pa.string()), prompts.cast(pa.string())])
    return bool(pc.all(pc.less(every.slice(0, len(every) - 1), every.slice(1))).as_py())


def declared_scales(fixed: Fixed) -> dict[str, Any]:
    """Return the options of reading that say how scales were declared."""
    declared = {name: scales.parse_scale(text) for name, text in fixed.scales.items()}
    labels = declared.pop("oracle_label", None)
    return {"judge_scale": declared or None, "label_scale": labels}


def refuse_unlike(first: Fixed, other: Fixed, names: tuple[str, str]) -> None:
    """Refuse parts of a table for which different things were fixed."""
    for key, value in vars(first).items():
        if value != getattr(other, key):
            raise InputError(
                f"{names[1]} and {names[0]} were made with different {key.replace('_', ' ')}",
                hint=f"make it again with --like {names[0]}",
            )


_LARGEST = 1 << 32  # bytes of a stats file, taken apart, beyond which it is a mistake or an attack
_MOST_TEXT = 1 << 26


@dataclass(frozen=True)
class _StatsHead:
    """The words of a stats file."""

    schema: Literal["stats of bonwise, 1"]
    fixed: Fixed
    dropped: dict[str, Annotated[int, Field(ge=0)]]
    sample: list[Row]


def _keys(judges: int) -> list[tuple[int, ...]]:
    """Return the judges, and all pairs of them."""
    return [*((judge,) for judge in range(judges)), *combinations(range(judges), 2)]


def write_stats(path: Path, whole: Gathered) -> None:
    """Write what was gathered: sums of single prompts where these are few or in clusters, and facts otherwise."""
    head = _StatsHead("stats of bonwise, 1", whole.fixed, dict(whole.counts.dropped), whole.sample)
    arrays = {"added": whole.counts.added, "most": whole.counts.most, "hashes": whole.hashes}
    for name, sums in (("sums", whole.sums), ("of_scores", whole.of_scores)):
        if sums.held:
            arrays[name] = np.hstack(list(sums.all_chunks()))
            if sums.clusters is not None:
                arrays[f"{name}.clusters"] = np.concatenate(sums.clusters)
            continue
        for key in _keys(len(whole.fixed.judges)):
            if (facts := sums.facts_of(*key)) is not None:
                parts = facts._asdict().items()
                arrays |= {f"{name}.{'-'.join(map(str, key))}.{part}": np.asarray(value) for part, value in parts}
    content = io.BytesIO()
    np.savez_compressed(content, head=np.frombuffer(json.dumps(asdict(head)).encode(), dtype=np.uint8), **arrays)  # type: ignore[arg-type]  # no array has the name of a flag
    writing.write_whole(path, content.getvalue())


def read_stats(path: Path) -> Gathered:
    """Read a stats file; one that is damaged, or holds what no audit writes, is refused."""
    with text_files.file_errors(path), text_files.open_plain(path) as stream:
        content = stream.read()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
        if sum(sizes.values()) > _LARGEST or sizes.get("head.npy", 0) > _MOST_TEXT:
            raise ValueError("too large")  # noqa: TRY301 - refused like all the rest
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        head = TypeAdapter(_StatsHead).validate_json(arrays.pop("head").tobytes(), strict=True)
        return _checked(path, head, arrays)
    except Exception as error:  # a damaged file raises whatever the decoder stumbles on
        raise FileError(
            f"{path}: not a stats file that bonwise can read: {printable(str(error).partition('[type=')[0])}",
            hint="make it again with bonwise audit FILE --stats-out",
        ) from error


def _checked(path: Path, head: _StatsHead, arrays: dict[str, Any]) -> Gathered:
    """Return what a stats file holds; a ValueError or the like where it does not fit together."""
    fixed, judges = head.fixed, len(head.fixed.judges)
    by_judge = (fixed.methods, fixed.labelled, fixed.scored, fixed.label_ends)
    if not 0 < judges == len({*fixed.judges}) or any(len(of) != judges for of in by_judge):
        raise ValueError("its judges do not fit together")
    none = PassCounts.none(judges)
    added, most = (_array(arrays, name, of.shape) for name, of in (("added", none.added), ("most", none.most)))
    if (added[..., :_SUMMED] < 0).any() or np.isnan(most).any():
        raise ValueError("its counts are none")
    hashed = _array(arrays, "hashes", (None,), np.uint64)
    ends = [label_range(np.array(own)) for own in fixed.label_ends]
    collected = partial(_collected, arrays=arrays, ends=ends, clusters="cluster" in fixed.columns)
    sums, of_scores = collected("sums"), collected("of_scores")
    if arrays:
        raise ValueError(f"it holds {next(iter(arrays))}, which no stats file does")
    counts = PassCounts(added, most, Counter(head.dropped))
    return Gathered(str(path), fixed, counts, sums, of_scores, head.sample, hashed)


def _collected(name: str, arrays: dict[str, Any], ends: Sequence[tuple[float, float]], clusters: bool) -> Collected:
    out = Collected(ends, [] if clusters else None)
    if name in arrays:
        sums = _array(arrays, name, (len(ends) * swept.ROWS, None))
        out.add(sums, _array(arrays, f"{name}.clusters", sums.shape[1:], np.uint64) if clusters else None)
        return out
    for key in _keys(len(ends)):
        start = f"{name}.{'-'.join(map(str, key))}."
        if f"{start}prompts" not in arrays:
            continue
        such = swept.facts_of(np.ones((len(key) * swept.ROWS, 1)), (0.0, 1.0))._asdict()
        shapes = {part: np.shape(value) for part, value in such.items()} | {"extremes": (len(such["totals"]), None)}
        prompts, *others = (_array(arrays, start + part, shape) for part, shape in shapes.items())
        if not prompts >= 1 or not others[-1].shape[1]:
            raise ValueError("it holds no prompts")
        out.facts[key] = swept.Facts(float(prompts), *others)
        out.prompts = max(out.prompts, int(prompts))
    return out


def _array(arrays: dict[str, Any], name: str, shape: tuple[int | None, ...], kind: type = np.float64) -> Any:
    values = arrays.pop(name)
    fits = [want in (None, have) for want, have in zip(shape, values.shape, strict=True)]
    if values.dtype != kind or not all(fits) or (name != "most" and not np.isfinite(values).all()):
        raise ValueError(f"{name} is not what it should be")
    return values


def merged(parts: Sequence[Gathered]) -> Gathered:
    """Return what parts of one table say together; a prompt in two of them is refused, a cluster is added up."""
    first = parts[0]
    if len(parts) == 1:
        return first
    every, fixed = [part.counts for part in parts], first.fixed
    for part in parts[1:]:
        refuse_unlike(fixed, part.fixed, (first.name, part.name))
    most, dropped = np.max([own.most for own in every], axis=0), sum((own.dropped for own in every), Counter())
    counts = PassCounts(np.sum([own.added for own in every], axis=0), most, dropped)
    _refuse_twice(parts)
    name, again = f"{len(parts)} stats files", "make the files again, the first one from the part that has both"
    for judge, method in enumerate(fixed.methods):
        if method_of(counts, judge, fixed.kinds) != method:
            raise InputError(f"{name}: together they are labelled otherwise than {first.name}", hint=again)
        ends = (counts.label_ends(judge, fixed.kinds), fixed.label_ends[judge])
        if label_range(np.array(ends[0])) != label_range(np.array(ends[1])):
            raise InputError(f"{name}: some labels lie off the range of {first.name}", hint=again)
    sample: dict[Any, list[Row]] = {}
    for row in (row for part in parts for row in part.sample):
        sample.setdefault(row["prompt_id"], []).append(row)
    kept = [prompt for _, prompt in sorted(zip(hashes(list(sample)).tolist(), sample, strict=True))][:_SAMPLE]
    rows = [row for prompt in kept for row in sample[prompt]]
    sums, of_scores = (_together([getattr(part, which) for part in parts]) for which in ("sums", "of_scores"))
    return Gathered(name, fixed, counts, sums, of_scores, rows, np.zeros(0, dtype=np.uint64))


def _together(parts: Sequence[Collected]) -> Collected:
    parts = [part for part in parts if part.prompts]
    if not parts:
        return Collected([])
    out = Collected(parts[0].label_ranges, None if parts[0].clusters is None else [])
    few = sum(part.prompts for part in parts) <= swept.HELD
    if all(part.held for part in parts) and (few or out.clusters is not None):
        for part in parts:
            clusters = None if part.clusters is None else np.concatenate(part.clusters)
            out.add(np.hstack(list(part.all_chunks())), clusters)
        return out
    for key in _keys(len(out.label_ranges)):
        facts = [of for part in parts if (of := part.facts_of(*key)) is not None]
        if facts:
            out.facts[key] = swept.merged(facts)
    out.prompts = sum(part.prompts for part in parts)
    return out


def _refuse_twice(parts: Sequence[Gathered]) -> None:
    every = np.concatenate([part.hashes for part in parts])
    owner = np.repeat(np.arange(len(parts)), [len(part.hashes) for part in parts])
    order = np.argsort(every, kind="stable")
    again = np.flatnonzero(every[order][1:] == every[order][:-1])
    if again.size:
        files = sorted({parts[owner[order][at + step]].name for at in again.tolist() for step in (0, 1)})
        raise InputError(
            f"{again.size:,} prompts are in two files: {' and '.join(files)}",
            hint="give every prompt to one file alone",
        )
